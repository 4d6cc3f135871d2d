"""Calls that are watched: run on the reference, and what is seldom meant told at its line."""

from __future__ import annotations

import ast
import sys
import textwrap
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vyre.backend import reference
from vyre.backend.reference.watch import Doubt, Found, Stop, Watch
from vyre.errors import DoubtFound, InvalidInput
from vyre.ir.among import declared_for
from vyre.ir.expr import Expr
from vyre.ir.storage import STORAGE
from vyre.ir.text import statement_text
from vyre.lang import Role, Translation
from vyre.lang.source import Place
from vyre.learn.rules import Watching
from vyre.plain import shown
from vyre.runtime.arrays.array import AnyArray, DeviceArray
from vyre.runtime.arrays.overlap import copies_needed
from vyre.runtime.call.blame import position_text
from vyre.runtime.call.bound import Bound

WIDE = 80
"""Columns that a report keeps to."""

_TITLES = {
    Doubt.LOADS: "a load out of bounds, which gives 0",
    Doubt.STORES: "a store out of bounds, which does nothing",
    Doubt.UNWRITTEN: "workgroup memory is read before it was written",
    Doubt.CASTS: "a cast changes the number",
    Doubt.RACES: "a race: invocations meet at one element",
}
_FIXES = {
    Doubt.LOADS: 'test or clamp the index, or accept the zeros with vyre.debug(accept="loads")',
    Doubt.STORES: "test the index, or give the kernel a larger array",
    Doubt.UNWRITTEN: "write every element that is read, with a vyre.barrier() in between",
    Doubt.CASTS: "cast to a wider type, or clamp the number first",
    Doubt.RACES: "let each invocation keep to elements of its own, use atomics, or put a "
    "vyre.barrier() in between",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is seldom meant, at one line of a kernel.

    `positions` are the first at which it happened, in NumPy's order, and `details` what was there.
    """

    kernel: str
    kind: str
    file: str
    line: int
    source: str
    column: int
    width: int
    called_from: str
    count: int
    positions: tuple[tuple[int, ...], ...]
    details: tuple[str, ...]

    @property
    def fix(self) -> str:
        return _FIXES[Doubt(self.kind)]

    @property
    def problem(self) -> str:
        """What was found, without how to change it."""
        where = f"{_short(self.file)}:{self.line}: " if self.line else ""
        times = f"{self.count:,} times" if self.count > 1 else "once"
        lines = [f"{where}{self.kernel}: {_TITLES[Doubt(self.kind)]}, {times}"]
        lines = textwrap.wrap(
            lines[0], WIDE, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
        )
        lines += [f"    {line}" for line in _excerpt(self.source, self.column, self.width)]
        if self.called_from:
            lines.append(f"    called from {self.called_from}")
        for detail in self.details:
            lines += textwrap.wrap(detail, WIDE, initial_indent="    ", subsequent_indent="      ")
        if self.count > len(self.details):
            lines.append(f"    and {self.count - len(self.details):,} more")
        return "\n".join(lines)

    def __str__(self) -> str:
        fix = textwrap.wrap(f"Fix: {self.fix}", WIDE, subsequent_indent="  ")
        return "\n".join([self.problem, *fix])


class Report:
    """What was found in the calls of a `with vyre.debug()` block, each line once."""

    def __init__(self) -> None:
        self._findings: dict[tuple[object, ...], Finding] = {}
        self._calls: dict[str, int] = {}
        self._lock = threading.Lock()

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(self._findings.values())

    @property
    def calls(self) -> int:
        """How many calls were watched."""
        return sum(self._calls.values())

    def __len__(self) -> int:
        return len(self._findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def add(self, kernel: str, findings: Iterable[Finding]) -> None:
        """A call of a kernel was watched, and this was found."""
        with self._lock:
            self._calls[kernel] = self._calls.get(kernel, 0) + 1
            for one in findings:
                key = one.kernel, one.kind, one.file, one.line, one.column, one.called_from
                before = self._findings.get(key)
                if before is not None:
                    one = replace(before, count=before.count + one.count)
                self._findings[key] = one

    def __str__(self) -> str:
        if not self._calls:
            return "vyre.debug: no kernel was called"
        names = ", ".join(self._calls)
        calls = "1 call" if self.calls == 1 else f"{self.calls:,} calls"
        of = f"{calls} of {names}"
        if not self._findings:
            return "\n".join(_wrapped(f"vyre.debug: nothing found in {of}"))
        count = len(self)
        found = "1 finding" if count == 1 else f"{count} findings"
        head = "\n".join(_wrapped(f"vyre.debug: {found} in {of}"))
        return "\n\n".join([head, *map(str, self.findings)])

    def __repr__(self) -> str:
        return f"<vyre.debug report: {len(self)} findings in {self.calls} calls>"


class Debugging(Watching):
    """What `vyre.debug` returns: a block whose calls are watched."""

    __slots__ = ("_doubts", "_reports", "_show", "_stop")

    def __init__(self, doubts: frozenset[Doubt], *, stop: bool, show: bool) -> None:
        super().__init__(self)
        self._doubts, self._stop, self._show = doubts, stop, show
        self._reports: list[Report] = []

    def __enter__(self) -> Report:  # type: ignore[override]  # what a block is entered for
        super().__enter__()
        self._reports.append(Report())
        return self._reports[-1]

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        report = self._reports.pop()
        if self._show and sys.stdout is not None:
            sys.stdout.write(f"{report}\n")

    def run(self, kernel: Translation, bound: Bound) -> None:
        """Run a call on the reference, on copies of what it writes, and watch it."""
        watch = Watch(
            self._doubts,
            self._stop,
            is_written=partial(_is_written, kernel),
            gid=partial(position_text, kernel),
        )
        copies_needed(kernel, bound.arrays)  # refuses outputs that overlap
        written = {p.name for p in kernel.params if p.role in (Role.OUT, Role.INOUT)}
        arrays = {name: _host(kernel, name, array) for name, array in bound.arrays.items()}
        arrays |= {name: arrays[name].copy() for name in written}
        scalars = {name: np.array([value]) for name, value in bound.call.scalars.items()}
        program, workgroup = kernel.program, kernel.program.workgroup_size
        if program.options.among:  # the first of the workgroups that its author names
            program = declared_for(program, workgroup)
        given = {**arrays, **scalars}
        report = self._reports[-1]
        try:
            reference.run(program, given, bound.call.extent, workgroup, watch)
        except Stop:
            (found,) = watch.found.values()
            finding = _finding(kernel, found)
            raise DoubtFound(
                finding.problem, f"{finding.fix}; what was stored before is as it is"
            ) from None
        finally:
            for name in written:
                _put_back(bound.arrays[name], arrays[name])
            report.add(kernel.name, [_finding(kernel, found) for found in watch.found.values()])


def debug(*, stop: bool = False, accept: str | Iterable[str] = (), show: bool = True) -> Debugging:
    """Watch the calls of a block: they run on the reference, and what is seldom meant is told.

    Found are loads and stores out of bounds, workgroup memory that is read before it was written,
    casts that change a number, and invocations that meet at one element.

    Args:
        stop: raise a `DoubtFound` at the first, instead of going on.
        accept: what is meant after all, one or several of "loads", "stores", "unwritten", "casts"
            and "races".
        show: print the report where the block ends.

    Returns:
        Something to use in `with`; what it is entered as is the report.

    >>> with debug() as report:
    ...     pass
    vyre.debug: no kernel was called
    """
    for name, value in (("stop", stop), ("show", show)):
        if not isinstance(value, bool):
            raise InvalidInput(f"{name}= of vyre.debug is {shown(value)}", "pass True or False")
    words: Iterable[object] = (accept,) if isinstance(accept, str) else accept
    known = ", ".join(f'"{doubt}"' for doubt in Doubt)
    if not isinstance(words, Iterable):
        raise InvalidInput(
            f"accept= of vyre.debug is {shown(accept)}", f"pass one or several of {known}"
        )
    accepted = set[Doubt]()
    for word in words:
        if not isinstance(word, str) or word not in list(Doubt):
            raise InvalidInput(
                f"accept= of vyre.debug names {shown(word)}", f"pass one or several of {known}"
            )
        accepted.add(Doubt(word))
    return Debugging(frozenset(Doubt) - accepted, stop=stop, show=show)


def _is_written(kernel: Translation, cast: Expr) -> bool:
    """Whether a cast is its author's, not one that an index at an edge needs."""
    place = kernel.places.of(cast)
    return place is not None and isinstance(place.node, ast.Call)


def _host(kernel: Translation, name: str, array: AnyArray) -> NDArray[Any]:
    """An array as the reference takes it."""
    found = np.asarray(array)
    found = found.view(STORAGE[kernel.program.buffer(name).element])
    return np.ascontiguousarray(found)


def _put_back(array: AnyArray, values: NDArray[Any]) -> None:
    if isinstance(array, DeviceArray):
        array.device.backend.upload(array.memory, values.view(array.dtype))
    else:
        np.copyto(array, values.view(array.dtype))


def _finding(kernel: Translation, found: Found) -> Finding:
    place = kernel.places.of(found.item) or kernel.places.of(found.statement)
    positions = tuple(at[kernel.rank - 1 :: -1] for at, _ in found.places)
    details = tuple(f"{position_text(kernel, at)}: {text}" for at, text in found.places)
    file, line, source, column, width, called = _written(place, statement_text(found.statement))
    return Finding(
        kernel=kernel.name,
        kind=found.doubt.value,
        file=file,
        line=line,
        source=source,
        column=column,
        width=width,
        called_from=called,
        count=found.count,
        positions=positions,
        details=details,
    )


def _written(place: Place | None, otherwise: str) -> tuple[str, int, str, int, int, str]:
    """Where a part of a program is written: file, line, text, what to look at, and the caller."""
    if place is None:
        return "", 0, otherwise, 0, len(otherwise), ""
    _, line, caret, *_ = place.pointed("").splitlines()
    column = len(caret) - len(caret.lstrip()) - 4
    called = "" if place.called_from is None else _short(str(place.called_from))
    return place.source.file, place.line, line[4:], column, caret.count("^"), called


def _excerpt(source: str, column: int, width: int) -> tuple[str, str]:
    """A line of source and a caret below it, cut to what a report has room for."""
    room = WIDE - 4
    if len(source) <= room:
        return source, " " * column + "^" * width
    width = min(width, room - 6)
    first = max(0, min(column - (room - width) // 2, len(source) - room))
    cut = source[first : first + room]
    cut = f"...{cut[3:]}" if first else cut
    cut = f"{cut[:-3]}..." if first + room < len(source) else cut
    return cut, " " * (column - first) + "^" * width


def _short(file: str) -> str:
    """A file by its name from here, where it is below, else as it is."""
    try:
        return str(Path(file).relative_to(Path.cwd()))
    except (ValueError, OSError):
        return file


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDE, subsequent_indent="  ")
