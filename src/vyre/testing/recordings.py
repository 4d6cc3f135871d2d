"""Recorded spaces, as `benchmarks/record_spaces.py` keeps them: what every schedule took."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from vyre.model import PARTS, Schedule
from vyre.plan.space import Space
from vyre.runtime.devices.launcher import Numbers

_DISTURBED = {"spaces-cpu12.json.gz": 5}
"""The first spaces of a file, which were timed while codes were compiled on the same cores."""

_FIRST = ("items", "vector", "unroll", "order", "checked", "rows", "staged")
"""Parts that every row has, by their places; others were added later, and have their names."""

Recording = Mapping[str, Any]
"""One kernel at one size."""


def row_of(schedule: Schedule) -> list[Any]:
    """A schedule as a row of a recording begins with it; later parts where they say something.

    >>> from vyre.model import Code
    >>> row_of(Schedule((64, 4, 1), Code(items=2)))
    [64, 4, 1, 2, 1, 1, 'strided', True, 1, False]
    >>> row_of(Schedule((64, 4, 1), Code(items=2, lines=4)))[9:]
    [False, {'lines': 4}]
    """
    said = schedule.code.value()
    later = {name: part for name, part in said.items() if name not in _FIRST}
    first = [said.get(name, PARTS[name]) for name in _FIRST]
    return [*schedule.workgroup, *first, *([later] if later else [])]


def schedule_of(row: Sequence[Any]) -> Schedule:
    """The schedule that a row begins with; what follows, such as its time, is left.

    >>> schedule_of([64, 4, 1, 2, 1, 1, "strided", True, 1, False, 5120.0]).text
    '64x4, 2 items strided'
    """
    end = 3 + len(_FIRST)
    parts = dict(zip(_FIRST, row[3:end], strict=True))
    later = row[end] if len(row) > end and isinstance(row[end], dict) else {}
    return Schedule.of({"workgroup": row[:3], **parts, **later})


def times_of(recording: Recording) -> dict[Schedule, float]:
    """What each schedule took, in nanoseconds, in the order of the rows."""
    return {schedule_of(row): row[-1] for row in recording["rows"]}


def space_of(recording: Recording) -> Space:
    """The schedules that were timed, in the order of the rows."""
    return Space(schedule_of(recording["default"]), tuple(times_of(recording)), ())


def with_default(space: Space, default: Schedule) -> Space:
    """The same with the default of now, which may be another than when it was recorded.

    One that was not timed leaves the space as it is.
    """
    return replace(space, default=default) if default in space.legal else space


def numbers_of(recording: Recording) -> Numbers:
    """The numbers of its launches."""
    shapes = {name: tuple(shape) for name, shape in recording["shapes"].items()}
    return Numbers(tuple(recording["extent"]), shapes, recording["scalars"])


def read(path: Path) -> dict[str, Any]:
    """What a file holds: its `spaces`, and what it says of its `device`."""
    with gzip.open(path, "rt") as file:
        found: dict[str, Any] = json.load(file)
    return found


def write(path: Path, found: Mapping[str, Any]) -> None:
    """Keep this in a file, whole or not at all; the same is the same file."""
    partial = path.with_suffix(".part")
    with gzip.GzipFile(partial, "wb", mtime=0) as file:
        file.write(json.dumps(found, separators=(",", ":")).encode())
    partial.replace(path)


def undisturbed(path: Path) -> list[Recording]:
    """The recordings of a file, but for those that were timed beside compilers."""
    found: list[Recording] = read(path)["spaces"]
    return found[_DISTURBED.get(path.name, 0) :]
