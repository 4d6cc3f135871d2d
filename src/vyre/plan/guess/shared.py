"""What the positions of one thread load together: each element once, neighbours in vectors.

The same rules as `emit.loads` has: elements of a row of an array, by how far they are from the
column of the first position.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection
from functools import lru_cache
from typing import NamedTuple

from vyre.emit.wanted import fixed_vectors
from vyre.plan.guess.shapes import Kind, positions_of
from vyre.plan.guess.streams import Offset, Steps, Stream

_BASE = 16  # columns are counted from a multiple of this, which every vector divides
_FAR = 64  # columns apart that no vector and no window joins


class Loaded(NamedTuple):
    """Of one thread, in one round."""

    vectors: int  # loads of several neighbours
    singles: int  # loads of one element
    passed: int  # elements that come from a neighbouring lane
    elements: int
    rows: int  # of arrays, each of which has an address of its own


def loaded(stream: Stream, kind: Kind) -> Loaded:
    """What a thread loads of a stream; its positions' elements are different ones, or the same."""
    if stream.in_turn and any(map(any, stream.steps)):
        each, taps = positions_of(kind), len(stream.offsets)
        return Loaded(0, each * taps, 0, each * taps, each * stream.rows)
    if stream.fixed:
        whole = len(fixed_vectors(stream.fixed, kind[1], stream.size))
        alone = len(stream.fixed) - whole * kind[1]
        return Loaded(whole, alone, 0, len(stream.fixed), 1)
    if not any(map(any, stream.steps)):  # all positions load the same
        kind = (1, 1, 1, 1, 1, False)
    return _loaded(stream.offsets, stream.steps, stream.size == 4, stream.wide, kind)


@lru_cache(maxsize=4096)
def _loaded(
    offsets: tuple[Offset, ...], steps: Steps, is_word: bool, wide: bool, kind: Kind
) -> Loaded:
    run, vector, items, lines, planes, passing = kind
    start, rows = _rows(offsets, steps, (run, lines, planes))
    width = vector if wide else 1
    few, every = max(2, width // 2), (1 << width) - 1
    apart = run * steps[0][0]  # columns between what neighbouring lanes begin with
    before, after = (1 << -start) - 1, ~((1 << (max(apart, run) - start)) - 1)
    vectors = singles = passed = elements = 0
    for columns in rows:
        elements += columns.bit_count()
        whole = alone = 0
        for first in range(0, columns.bit_length(), width):
            part = columns & (every << first)
            if part.bit_count() >= few and width > 1:
                whole |= part
                vectors += 1
            else:
                alone |= part
        if passing and is_word:
            given = alone & (((whole >> apart) & before) | ((whole << apart) & after))
            passed += given.bit_count()
            alone &= ~given
        singles += alone.bit_count()
    times = items // run if any(steps[0]) else 1  # runs lie apart
    return Loaded(
        times * vectors, times * singles, times * passed, times * elements, times * len(rows)
    )


@lru_cache(maxsize=256)
def _near(offsets: tuple[Offset, ...], steps: Steps) -> tuple[list[Offset], Steps]:
    """The same with columns near each other: what is far along a row counts as another row."""
    bases: list[int] = []
    for column in sorted({offset[0] for offset in offsets}):
        if not bases or column - bases[-1] > _FAR:
            bases.append(column)
    firsts = [0 if abs(base) <= _FAR else base // _BASE * _BASE for base in bases]
    near = []
    for column, *row in offsets:
        part = bisect_right(bases, column) - 1
        near.append((column - firsts[part], *row, part, 0, 0, 0))
    moved = []
    for axis, (step, *row) in enumerate(steps):
        far = abs(step) > _FAR
        moved.append((0 if far else step, *row, 0, *(int(far and axis == own) for own in range(3))))
    return near, (moved[0], moved[1], moved[2])


@lru_cache(maxsize=1024)
def _rows(
    given: tuple[Offset, ...], given_steps: Steps, counts: tuple[int, int, int]
) -> tuple[int, Collection[int]]:
    """The columns of each row that a run's positions need, as bits, and the column of the first."""
    offsets, steps = _near(given, given_steps)
    reach = sum(min(0, step[0] * (n - 1)) for step, n in zip(steps, counts, strict=True))
    start = min(0, min(offset[0] for offset in offsets) + reach) // _BASE * _BASE
    taps: dict[Offset, int] = {}
    for column, *row in offsets:
        key = tuple(row)
        taps[key] = taps.get(key, 0) | 1 << (column - start)
    for step, count in zip(steps, counts, strict=True):
        if any(step[1:]):
            taps = _along_rows(taps, step, count)
        elif step[0]:
            taps = {row: _along_columns(columns, step[0], count) for row, columns in taps.items()}
    return start, tuple(taps.values())


def _along_columns(columns: int, step: int, count: int) -> int:
    found = 0
    for place in range(count):
        by = place * step
        found |= columns << by if by >= 0 else columns >> -by
    return found


def _along_rows(taps: dict[Offset, int], step: Offset, count: int) -> dict[Offset, int]:
    found: dict[Offset, int] = {}
    for place in range(count):
        by = place * step[0]
        for row, columns in taps.items():
            key = tuple(a + place * b for a, b in zip(row, step[1:], strict=True))
            found[key] = found.get(key, 0) | (columns << by if by >= 0 else columns >> -by)
    return found
