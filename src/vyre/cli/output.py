"""How commands speak: tables and sentences for people, JSON for programs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from vyre.plain import escaped, plain
from vyre.report.values import to_json

CELL = 120
"""Letters of a cell: more would push what stands beside it from the screen."""


class _Console(Console):
    """Prints what can be printed: names of others command no terminal."""

    def print(self, *objects: Any, **options: Any) -> None:
        super().print(*(_lines(one) if isinstance(one, str) else one for one in objects), **options)

    def on_broken_pipe(self) -> None:
        """Say that nobody reads any more; what to do about it is decided for all commands."""
        raise BrokenPipeError


def console(*, stderr: bool = False) -> Console:
    """Where people read; what they named is no markup."""
    return _Console(stderr=stderr, highlight=False, markup=False, emoji=False)


def say(text: str) -> None:
    """Print lines, however long; what cannot be printed is escaped."""
    sys.stdout.write(f"{_lines(text)}\n")


def say_json(value: Any) -> None:
    """Print a value for a program to read."""
    sys.stdout.write(f"{to_json(value, indent=2)}\n")


def _lines(text: str) -> str:
    return "\n".join(map(escaped, text.split("\n")))


def table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[str] = ()
) -> Table:
    """Rows under a head; what is too wide is folded in the last column, so that nothing is lost."""
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False)
    for number, name in enumerate(columns):
        last = number == len(columns) - 1
        made.add_column(
            name, justify="right" if name in right else "left", overflow="fold", no_wrap=not last
        )
    for row in rows:
        made.add_row(*(Text(plain(cell, CELL)) for cell in row))
    return made


def give_up_on_stdout() -> None:
    """Let the interpreter end in peace after whoever read our output has gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
