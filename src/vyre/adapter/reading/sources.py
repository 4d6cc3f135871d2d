"""What stands in a source of C's kind, but for comments and texts in quotes."""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"""
      (?P<gone>//[^\n]*|/\*.*?(?:\*/|\Z))
    | (?P<text>(?:u8|[uUL])?R"(?P<mark>[^()\\\s"]{0,16})\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*")
    | (?P<kept>[A-Za-z_]\w*|\.?\d(?:'?[\w.])*)
    | (?P<letter>'(?:\\.|[^'\\\n])+')
    """,
    re.DOTALL | re.VERBOSE,
)
"""Names and numbers are taken whole: an apostrophe within a number begins no letter."""


def bare(text: str) -> str:
    """A source without comments, with nothing in its quotes, and lines that go on made one.

    >>> bare("a = b; /* c */ d;").split()
    ['a', '=', 'b;', 'd;']
    """
    return _TOKEN.sub(_replaced, re.sub(r"\\\r?\n", "", text))


def _replaced(token: re.Match[str]) -> str:
    match token.lastgroup:
        case "gone":
            return " "
        case "kept":
            return token[0]
        case "letter":
            return "0"
        case _:
            return '""'
