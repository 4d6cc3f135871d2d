"""TOML text by its statements, so that errors have lines and what is not ours is kept."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vyre.errors import StoreFailed

MOST_BYTES = 4 << 20
"""The Rust crate reads no file beyond this."""

_TEXTS = (
    r'''"""(?:\\.|[^\\])*?"{3,5}(?!")'''
    r"""|'''.*?'{3,5}(?!')"""
    r'''|"(?:\\.|[^"\\\n])*"'''
    r"""|'[^'\n]*'"""
    r"""|\#[^\n]*"""
)
_PART = re.compile(_TEXTS + r"|[\[{]|[\]}]|\n", re.DOTALL)
_KEYS = re.compile(_TEXTS + r"|[\[\]{}=,\n.]", re.DOTALL)
_DEEPEST = 64  # parts of a key; the crate's files have two
_SHORT = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


@dataclass(frozen=True, slots=True)
class Statement:
    """A key with its value, the head of a table, or a comment; and the line it starts on."""

    line: int
    text: str

    @property
    def is_comment(self) -> bool:
        return self.text.startswith("#")

    @property
    def is_table(self) -> bool:
        return self.text.startswith("[")


def parse(text: str, path: Path) -> dict[str, Any]:
    """What a file says.

    Raises:
        StoreFailed: it is not TOML; the message has the line.
    """
    _refuse_long_keys(text, path)
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, ValueError, RecursionError) as error:
        # A number of 5,000 digits is a plain ValueError, deep nesting a RecursionError.
        raise StoreFailed(
            f"{path} is not TOML: {str(error)[:200] or 'it nests too deeply'}",
            "mend that place, or move the file away; it is left as it is",
        ) from None


def _refuse_long_keys(text: str, path: Path) -> None:
    """Raise for a key of very many parts: reading one takes time by the square of their number."""
    line, dots = 1, 0
    for part in _KEYS.finditer(text):
        found = part[0]
        dots = dots + 1 if found == "." else dots if found[0] in "\"'" else 0
        if dots > _DEEPEST:
            raise StoreFailed(
                f"{path} line {line} has a key of more than {_DEEPEST} parts",
                "mend that line, or move the file away; it is left as it is",
            )
        line += found.count("\n")


def statements(text: str) -> Iterator[Statement]:
    """Cut valid TOML into its statements; empty lines are left out."""
    line, start, begin_line, depth = 1, 0, 1, 0
    for part in _PART.finditer(text):
        found = part[0]
        if found in ("[", "{"):
            depth += 1
        elif found in ("]", "}"):
            depth -= 1
        elif found == "\n" and depth == 0:
            if statement := text[start : part.start()].strip():
                yield Statement(begin_line, statement)
            start, begin_line = part.end(), line + 1
        line += found.count("\n")
    if statement := text[start:].strip():
        yield Statement(begin_line, statement)


def key_of(statement: Statement) -> str | None:
    """The key that a statement gives a value to, or None for a comment, a table or a dotted key."""
    if statement.is_comment or statement.is_table:
        return None
    try:
        found = tomllib.loads(statement.text)
    except RecursionError:  # it nests as deeply as the whole could be read from a shorter stack
        return None
    (key, value), *_ = found.items()
    dotted = isinstance(value, dict) and not statement.text.rstrip().endswith("}")
    return None if dotted else key


def quoted(text: str) -> str:
    r"""A TOML string; what can be printed stands as it is.

    >>> print(quoted('a "b"\n\u202e'))
    "a \"b\"\n\u202E"
    """
    return '"' + "".join(_SHORT.get(letter) or _escaped(letter) for letter in text) + '"'


def _escaped(letter: str) -> str:
    code = ord(letter)
    if letter.isprintable():
        return letter
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"
