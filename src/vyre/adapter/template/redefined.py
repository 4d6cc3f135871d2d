"""Words that a source gives a meaning of its own, such as a `half` that is a float there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)([^\n]*)$", re.MULTILINE)
_ALIAS = re.compile(r"\busing\s+(\w+)\s*=([^;]*);")
_DECLARED = re.compile(r"\b(?:typename|class|struct|union|enum)\s+(\w+)")
_TYPEDEF = re.compile(r"\btypedef\b")
_WORD = re.compile(r"[A-Za-z_]\w*")


def redefined(code: str) -> Mapping[str, frozenset[str]]:
    """What a source's own words stand for there: all that it may be, under whatever condition.

    Args:
        code: without comments, and without texts in quotes.

    >>> dict(redefined("typedef unsigned int uint;"))
    {'uint': frozenset({'unsigned int'})}
    """
    found: dict[str, set[str]] = {}
    for name, meaning in _meanings(code):
        found.setdefault(name, set()).add(" ".join(meaning.split()))
    return {name: frozenset(meanings) for name, meanings in found.items()}


def _meanings(code: str) -> Iterator[tuple[str, str]]:
    for name, meaning in (*_MACRO.findall(code), *_ALIAS.findall(code)):
        yield name, meaning
    for name in _DECLARED.findall(code):
        yield name, f"struct {name}"
    for begin in _TYPEDEF.finditer(code):
        first, *others = _statement(code, begin.end()).split(",")
        words = list(_WORD.finditer(first.partition("[")[0]))
        if words:
            yield words[-1][0], first[: words[-1].start()] + first[words[-1].end() :]
        for one in others:
            words = list(_WORD.finditer(one.partition("[")[0]))
            if words:
                yield words[-1][0], f"{first}, {one}"


def _statement(code: str, at: int) -> str:
    """What stands up to the semicolon, but for what stands in braces."""
    kept, depth = "", 0
    for letter in code[at:]:
        if letter == ";" and depth == 0:
            break
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if depth == 0 and letter != "}":
            kept += letter
        elif letter == "{":
            kept += " struct "
    return kept
