"""Which invocations run together, and where each of them stands in the launch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from vyre.ir.arithmetic import Value
from vyre.ir.declare import Dim3
from vyre.ir.expr import IdKind, Ordering
from vyre.ir.node import Barrier
from vyre.ir.program import Program
from vyre.ir.walk import statements

LANES_AT_ONCE = 65_536
"""So few that the temporaries of a chunk stay in cache, so many that Python's share is small."""

_LARGE_BLOCK = 16 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Lanes:
    """A run of consecutive invocations, x fastest.

    They are counted over the extent, or, `grouped`, over the lanes of whole workgroups: workgroup
    by workgroup, the ones beyond the extent too.
    """

    extent: Dim3
    workgroup: Dim3
    grouped: bool
    first: int
    count: int
    picked_from: tuple[Lanes, NDArray[np.intp]] | None = None  # and which of them these are
    _known: dict[tuple[IdKind, int], Value] = field(default_factory=dict, init=False, repr=False)

    def picked(self, places: NDArray[np.intp]) -> Lanes:
        """The lanes of those places, in that order, and as often as they stand there."""
        return replace(self, first=0, count=places.size, picked_from=(self, places))

    @property
    def grid(self) -> Dim3:
        return grid_of(self.extent, self.workgroup)

    @property
    def groups(self) -> int:
        """How many workgroups these are, where they are whole ones."""
        return self.count // prod(self.workgroup)

    def id(self, kind: IdKind, axis: int) -> Value:
        """The position or size asked for: the same object every time."""
        if (kind, axis) not in self._known:
            self._known[kind, axis] = self._find(kind, axis)
        return self._known[kind, axis]

    def is_own_x(self, index: Value) -> bool:
        """Whether lane after lane `index` counts up from `first`, known without looking at it."""
        if self.picked_from is not None:
            return False
        plain = self.extent[1:] == (1, 1) and (not self.grouped or self.workgroup[1:] == (1, 1))
        return plain and index.ndim > 0 and index is self._known.get((IdKind.INVOCATION, 0))

    def _find(self, kind: IdKind, axis: int) -> Value:
        if self.picked_from is not None:
            lanes, places = self.picked_from
            return picked(lanes.id(kind, axis), places)
        match kind:
            case IdKind.EXTENT:
                return np.asarray(self.extent[axis], np.uint32)
            case IdKind.WORKGROUP_SIZE:
                return np.asarray(self.workgroup[axis], np.uint32)
            case IdKind.INVOCATION if not self.grouped:
                return _coordinate(self._linear(), self.extent, axis)
            case IdKind.INVOCATION:
                group, local = self.id(IdKind.WORKGROUP, axis), self.id(IdKind.LOCAL, axis)
                return np.asarray(group * np.uint32(self.workgroup[axis]) + local)
            case IdKind.LOCAL if self.grouped:
                size = prod(self.workgroup)
                return _coordinate(self._linear() % size, self.workgroup, axis)
            case IdKind.LOCAL:
                return self.id(IdKind.INVOCATION, axis) % np.uint32(self.workgroup[axis])
            case IdKind.WORKGROUP if self.grouped:
                return _coordinate(self._linear() // prod(self.workgroup), self.grid, axis)
            case IdKind.WORKGROUP:
                return self.id(IdKind.INVOCATION, axis) // np.uint32(self.workgroup[axis])

    def _linear(self) -> Value:
        end = self.first + self.count
        return np.arange(self.first, end, dtype=np.uint32 if end <= 1 << 32 else np.int64)


def picked(value: Value, places: NDArray[np.intp]) -> Value:
    """What the lanes of those places have of a value; the same where all lanes agree."""
    return value[places] if value.ndim else value


def _coordinate(linear: Value, shape: Dim3, axis: int) -> Value:
    """The coordinate along `axis` of positions in a box of `shape`; uniform where it is 1 wide."""
    if shape[axis] == 1:
        return np.asarray(0, np.uint32)
    stride = prod(shape[:axis])
    place = linear if stride == 1 else linear // stride
    if prod(shape[axis + 1 :]) > 1:
        place = place % shape[axis]
    return place.astype(np.uint32, copy=False)


def grid_of(extent: Dim3, workgroup: Dim3) -> Dim3:
    """How many workgroups cover the extent."""
    x, y, z = (-(-n // size) for n, size in zip(extent, workgroup, strict=True))
    return x, y, z


def chunks(program: Program, extent: Dim3, workgroup: Dim3) -> Iterator[Lanes]:
    """The launch, cut into runs of lanes that can go one after the other."""
    grouped = program.runs_whole_workgroups
    size = prod(workgroup)
    total, step = prod(extent), LANES_AT_ONCE
    if grouped:
        total = prod(grid_of(extent, workgroup)) * size
        step = max(1, LANES_AT_ONCE // size) * size
    if any(_waits_for_the_grid(program)):
        step = total
    if total > step:
        # glibc returns large blocks to the system when they are freed, and a chunk would fault in
        # fresh pages for every temporary; having freed a larger one, it keeps them. saxpy of 2**24
        # f32 took 76 ms without this line and 21 ms with it (2-core x86-64, glibc 2.36).
        np.empty(_LARGE_BLOCK, np.uint8)
    for first in range(0, total, step):
        yield Lanes(
            extent=extent,
            workgroup=workgroup,
            grouped=grouped,
            first=first,
            count=min(step, total - first),
        )


def _waits_for_the_grid(program: Program) -> Iterator[bool]:
    for node in statements(program.entry):
        yield isinstance(node, Barrier) and node.ordering is Ordering.GRID_SYNC
