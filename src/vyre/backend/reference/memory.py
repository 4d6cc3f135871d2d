"""Buffers as the lanes see them: loads, stores and atomics that no index can break."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vyre.backend.reference.convert import (
    brain_to_single,
    half_to_single,
    single_to_brain,
    single_to_half,
)
from vyre.backend.reference.lanes import Lanes
from vyre.ir.arithmetic import BINARY, Value
from vyre.ir.expr import AtomicOp, BinaryOp
from vyre.ir.types import DataType, Tag

Mask = bool | NDArray[np.bool_]
"""Which lanes take part: all (True), none (False), or those that are set."""

NOWHERE = np.uint32(0xFFFF_FFFF)
"""The flat index of what is out of bounds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """A buffer's elements, end to end."""

    element: DataType
    data: NDArray[Any]
    shape: tuple[int, ...]
    length: int
    constant: bool = False  # nothing that the program writes shares its memory
    base: NDArray[np.intp] | None = None  # in workgroup memory, where each lane's copy starts

    def picked(self, places: NDArray[np.intp]) -> Cells:
        """The same elements, as the lanes of those places see them."""
        return self if self.base is None else replace(self, base=self.base[places])

    def within(self, index: Value) -> Value:
        return _below(index, self.length)

    def address(self, index: Value) -> Value:
        place = index.astype(np.intp)
        return place if self.base is None else self.base + place

    def window(self, index: Value, lanes: Lanes) -> NDArray[Any] | None:
        """The elements that `index` walks one by one, where it is known to."""
        end = lanes.first + lanes.count
        if self.base is None and end <= self.length and lanes.is_own_x(index):
            return self.data[lanes.first : end]
        return None


def _below(index: Value, limit: int) -> Value:
    inside = index < limit
    return inside & (index >= 0) if index.dtype.kind == "i" else inside


def load(cells: Cells, index: Value, lanes: Lanes) -> Value:
    """The elements at `index`; 0 where it is out of bounds."""
    window = cells.window(index, lanes)
    if window is not None:
        return _loaded(cells.element, window if cells.constant else window.copy())
    inside = cells.within(index)
    if cells.length == 0 or not inside.any():
        return _loaded(cells.element, np.zeros(index.shape, cells.data.dtype))
    if inside.all():
        return _loaded(cells.element, cells.data[cells.address(index)])
    zero = cells.data.dtype.type(0)
    found = cells.data[cells.address(np.where(inside, index, index.dtype.type(0)))]
    return _loaded(cells.element, np.where(inside, found, zero))


def store(cells: Cells, index: Value, value: Value, lanes: Lanes, mask: Mask) -> None:
    """Writes `value` at `index`; where it is out of bounds nothing, where lanes meet the last."""
    stored = _stored(cells.element, value)
    window = cells.window(index, lanes)
    if window is not None:
        if mask is True:  # told apart, because `where` costs a pass even where it is true
            window[...] = stored
        else:
            np.copyto(window, stored, where=mask)
        return
    chosen, at = _chosen(cells, index, lanes, mask)
    cells.data[at] = np.broadcast_to(stored, lanes.count)[chosen]


def _chosen(cells: Cells, index: Value, lanes: Lanes, mask: Mask) -> tuple[Value, Value]:
    """The lanes that take part and are in bounds, in order, and the elements they touch."""
    taking_part = np.broadcast_to(cells.within(index) & mask, lanes.count)
    chosen = np.flatnonzero(taking_part)
    return chosen, np.broadcast_to(cells.address(index), lanes.count)[chosen]


def flat_index(shape: tuple[int, ...], indices: tuple[Value, ...]) -> Value:
    """The row-major position in an array of `shape`; `NOWHERE` where an axis is out of bounds."""
    inside: Value = np.asarray(True)
    place: Value = np.asarray(0, np.int64)
    for index, extent in zip(indices, shape, strict=True):
        inside = inside & _below(index, extent)
        place = place * extent + index.astype(np.int64)
    return np.where(inside, place.astype(np.uint32), NOWHERE)


def _exchange(_old: Value, value: Value) -> Value:
    return value


def _nand(old: Value, value: Value) -> Value:
    return ~(old & value)


_COMBINE: Mapping[AtomicOp, Callable[..., Value]] = {
    AtomicOp.ADD: np.add,
    AtomicOp.OR: np.bitwise_or,
    AtomicOp.AND: np.bitwise_and,
    AtomicOp.XOR: np.bitwise_xor,
    AtomicOp.MIN: BINARY[BinaryOp.MIN],
    AtomicOp.MAX: BINARY[BinaryOp.MAX],
    AtomicOp.EXCHANGE: _exchange,
    AtomicOp.FETCH_NAND: _nand,
}

# On whole numbers the order of these cannot be seen, unless somebody asks for the old values.
_COMMUTATIVE: Mapping[AtomicOp, np.ufunc] = {
    AtomicOp.ADD: np.add,
    AtomicOp.OR: np.bitwise_or,
    AtomicOp.AND: np.bitwise_and,
    AtomicOp.XOR: np.bitwise_xor,
    AtomicOp.MIN: np.minimum,
    AtomicOp.MAX: np.maximum,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """The operands of an atomic; `expected` is for compare-exchange alone."""

    op: AtomicOp
    index: Value
    value: Value
    expected: Value | None = None
    is_read: bool = True  # whether anybody looks at what stood there before


def update(cells: Cells, change: Update, lanes: Lanes, mask: Mask) -> Value:
    """What stood at each lane's element before it changed it, lane after lane; 0 out of bounds."""
    chosen, at = _chosen(cells, change.index, lanes, mask)
    values = np.broadcast_to(change.value, lanes.count)[chosen]
    if not change.is_read and change.op in _COMMUTATIVE and cells.element.is_int:
        _COMMUTATIVE[change.op].at(cells.data, at, values)
        return np.zeros((), cells.data.dtype)
    old = np.zeros(lanes.count, cells.data.dtype)
    if change.expected is None:
        combine = _COMBINE[change.op]
        for lane, place, value in zip(chosen, at, values, strict=True):
            old[lane] = cells.data[place]
            cells.data[place] = combine(cells.data[place], value)
        return old
    wanted = np.broadcast_to(change.expected, lanes.count)[chosen]
    for lane, place, value, expected in zip(chosen, at, values, wanted, strict=True):
        old[lane] = cells.data[place]
        if old[lane] == expected:
            cells.data[place] = value
    return old


def _loaded(element: DataType, stored: Value) -> Value:
    match element.tag:
        case Tag.BOOL:
            return np.not_equal(stored, 0)
        case Tag.F16:
            return half_to_single(stored)
        case Tag.BF16:
            return brain_to_single(stored)
        case _:
            return stored


def _stored(element: DataType, value: Value) -> Value:
    match element.tag:
        case Tag.BOOL:
            return value.astype(np.uint32)
        case Tag.F16:
            return single_to_half(value)
        case Tag.BF16:
            return single_to_brain(value)
        case _:
            return value
