"""`vyre scan`: print where literal patterns stand in files, as `grep -Fob` does."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from vyre.errors import InvalidInput
from vyre.kernels.search import Literals, find_in, leftmost_longest
from vyre.plain import plain

LARGE_BYTES = 64 << 20
"""Input from which a bar is shown, where a person watches and the matches go elsewhere."""

FOUND, NOT_FOUND, TROUBLE = 0, 1, 2
"""How grep ends."""


def patterns_of(text: str) -> list[bytes]:
    """Patterns as grep takes them: one a line."""
    return os.fsencode(text).split(b"\n")


def patterns_in(path: Path) -> list[bytes]:
    """The lines of a file as patterns.

    Raises:
        InvalidInput: the file cannot be read.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InvalidInput(
            f"patterns in {path}: {error.strerror}", "name a file that can be read"
        ) from None
    return data.removesuffix(b"\n").split(b"\n") if data else []


def scan_files(patterns: Sequence[bytes], files: Sequence[str], out: BinaryIO) -> int:
    """Print each match as its offset and its text, with the file's name if there are several.

    In each line, matches are the longest from the left and do not overlap. An empty pattern stands
    in every line and prints nothing.

    Returns:
        The status to exit with, as grep's: 0 for matches, 1 for none, 2 for trouble.
    """
    wanted = [pattern for pattern in patterns if pattern]
    search = _Search(
        literals=Literals.of(wanted) if wanted else None,
        empty=len(wanted) < len(patterns),
        named=len(files) > 1,
        out=out,
    )
    with _bar(files) as bar:
        for name in files or ("-",):
            try:
                if name == "-":
                    search.stream(sys.stdin.buffer, "(standard input)", bar)
                else:
                    with Path(name).open("rb") as stream:
                        search.stream(stream, name, bar)
            except BrokenPipeError:
                raise
            except OSError as error:
                print(f"vyre: {plain(name)}: {error.strerror}", file=sys.stderr)  # noqa: T201
                search.trouble = True
    out.flush()
    return TROUBLE if search.trouble else FOUND if search.found else NOT_FOUND


@dataclass(slots=True)
class _Bar:
    """How far the search is, for a person; silent where there is none."""

    progress: Progress | None = None
    done: int = 0

    def add(self, count: int) -> None:
        self.done += count
        if self.progress is not None:
            self.progress.update(self.progress.task_ids[0], completed=self.done)


@dataclass(slots=True, kw_only=True)
class _Search:
    literals: Literals | None
    empty: bool
    named: bool
    out: BinaryIO
    found: bool = field(default=False)
    trouble: bool = field(default=False)

    def stream(self, stream: BinaryIO, name: str, bar: _Bar) -> None:
        if self.literals is None:
            self.found |= self.empty and bool(stream.read(1))
            return
        prefix = os.fsencode(name) + b":" if self.named else b""
        words, lengths = self.literals.numbered, self.literals.lengths
        free = before = 0
        for part in find_in(stream, self.literals):
            kept = leftmost_longest(part.offsets, lengths[part.numbers], free)
            lines = []
            for offset, number in zip(
                part.offsets[kept].tolist(), part.numbers[kept].tolist(), strict=True
            ):
                word = words[number]
                lines.append(b"%b%d:%b\n" % (prefix, offset, word))
                free = offset + len(word)
            self.out.write(b"".join(lines))
            self.found |= bool(lines) or (self.empty and part.read_bytes > 0)
            bar.add(part.read_bytes - before)
            before = part.read_bytes


@contextmanager
def _bar(files: Sequence[str]) -> Iterator[_Bar]:
    """A bar on the error stream, if there is much to read and the matches do not go there too."""
    total = sum(Path(name).stat().st_size for name in files if Path(name).is_file())
    console = Console(stderr=True)
    if total < LARGE_BYTES or sys.stdout.isatty() or not console.is_terminal:
        yield _Bar()
        return
    with Progress(
        TextColumn("scanning"),
        BarColumn(bar_width=24),
        DownloadColumn(),
        TransferSpeedColumn(),
        console=console,
        transient=True,
    ) as progress:
        progress.add_task("", total=total)
        yield _Bar(progress)
