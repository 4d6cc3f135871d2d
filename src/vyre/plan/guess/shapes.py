"""Schedules, column by column, as counting for many at once asks for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from math import prod
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from vyre.emit.dialect import WARP
from vyre.model import Order, Schedule

Vector = NDArray[np.float64]

Kind = tuple[int, int, int, int, int, bool]
"""Neighbours along x, vector, items, lines and planes of a thread, and whether lanes pass on."""

_PARTS = (
    *("items", "vector", "lines", "planes", "depth", "loaders", "unroll", "checked", "fitted"),
    "streamed",
)
_told = attrgetter(*_PARTS, "order")
_UNROLLED = 16  # rounds of a chunk that are written one after the other where nothing is said

LANES = float(WARP)  # threads that access memory together
LINE, SECTOR = 128.0, 32.0  # bytes that caches look up, and that they fetch


@dataclass(frozen=True, slots=True, kw_only=True)
class Shapes:
    """What schedules say, and the kinds of threads among them."""

    x: Vector
    y: Vector
    z: Vector
    items: Vector
    vector: Vector  # elements of a thread's own accesses
    brings: Vector  # of what workgroups bring
    lines: Vector
    planes: Vector
    depth: Vector
    loaders: Vector
    unroll: Vector
    checked: Vector  # 1 where every index is tested
    fitted: Vector  # 1 where tiles are whole
    streamed: Vector  # 1 where caches are told to give up what is stored
    run: Vector  # neighbours along x that one thread takes
    kinds: tuple[Kind, ...]  # each once
    kind: NDArray[np.intp]  # of each schedule

    @classmethod
    def of(cls, schedules: Sequence[Schedule]) -> Shapes:
        # A first call waits for this: rows are taken apart as columns, not one by one.
        count = len(schedules)
        codes = [schedule.code for schedule in schedules]
        *parts, orders = zip(*map(_told, codes), strict=True)
        columns = {
            name: np.fromiter(column, np.float64, count)
            for name, column in zip(_PARTS, parts, strict=True)
        }
        sizes = chain.from_iterable([schedule.workgroup for schedule in schedules])
        x, y, z = np.fromiter(sizes, np.float64, 3 * count).reshape(-1, 3).T.copy()
        items, brings = columns["items"], columns["vector"]
        vector = columns["vector"] = np.minimum(brings, items)
        run = np.where([order is Order.BLOCKED for order in orders], items, vector)
        passing = (columns["fitted"] > 0.0) & (columns["depth"] == 0.0) & (x % LANES == 0.0)
        told = np.stack([run, vector, items, columns["lines"], columns["planes"], passing])
        kinds, kind = _each_once(told)
        return cls(x=x, y=y, z=z, run=run, brings=brings, kinds=kinds, kind=kind, **columns)

    @property
    def lanes(self) -> Vector:
        """Threads of a group that compute."""
        return self.x * self.y * self.z

    @property
    def threads(self) -> Vector:
        """All of them."""
        return self.lanes * (1.0 + self.loaders)

    @property
    def each(self) -> Vector:
        """Positions of a thread."""
        return self.items * self.lines * self.planes

    @property
    def rounds_at_once(self) -> Vector:
        """Rounds of a loop that cost one turn of it."""
        own = np.where(self.depth > 0.0, np.minimum(self.depth, _UNROLLED), 1.0)
        found: Vector = np.where(self.unroll > 1.0, self.unroll, own)
        return found

    def by_kind(self, count: Callable[[Kind], Sequence[float]]) -> NDArray[np.float64]:
        """What is counted of each kind of thread, as one column for each schedule."""
        found = np.array([count(kind) for kind in self.kinds], np.float64)
        spread: NDArray[np.float64] = found[self.kind].T
        return spread


def _each_once(told: NDArray[np.float64]) -> tuple[tuple[Kind, ...], NDArray[np.intp]]:
    """The different columns, and which one each is."""
    scale = np.cumprod([1.0, *(told[:-1].max(axis=1) + 1.0)])
    _, first, which = np.unique(scale @ told, return_index=True, return_inverse=True)
    kinds = tuple(
        (int(run), int(vector), int(items), int(lines), int(planes), bool(passing))
        for run, vector, items, lines, planes, passing in told[:, first].T
    )
    return kinds, which


def positions_of(kind: Kind) -> int:
    """Positions of a thread of a kind."""
    return prod(kind[2:5])
