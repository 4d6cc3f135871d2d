"""Arrays of one invocation, for many lanes at once."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vyre.backend.reference.lanes import Lanes
from vyre.backend.reference.memory import Mask, flat_index
from vyre.ir.arithmetic import Value
from vyre.ir.expr import Array
from vyre.ir.storage import COMPUTED

Places = tuple[Value, ...]
"""The indices of an element along each axis, of each lane or of all."""


@dataclass(slots=True)
class Columns:
    """The elements of each lane's array: a column for each, or one for all while they agree."""

    shape: tuple[int, ...]
    columns: NDArray[Any]

    @classmethod
    def of(cls, array: Array) -> Columns:
        return cls(array.shape, constants(array).reshape(-1, 1))

    @property
    def is_shared(self) -> bool:
        """Whether one column serves all lanes."""
        return bool(self.columns.shape[1] == 1)

    def picked(self, places: NDArray[np.intp]) -> Columns:
        """Those of the lanes of some places, in that order, and as often as they stand there."""
        return self if self.is_shared else Columns(self.shape, self.columns[:, places])

    def at(self, places: Places) -> Value:
        """What each lane has at a place; 0 where it is out of bounds."""
        flat, inside = self._found(places)
        if self.is_shared:
            found = self.columns[flat, 0]
        else:
            found = self.columns[flat, np.arange(self.columns.shape[1])]
        return np.asarray(np.where(inside, found, self.columns.dtype.type(0)))

    def within(self, places: Places) -> Value:
        """Which lanes' places are inside."""
        return self._found(places)[1]

    def put(self, places: Places, value: Value, lanes: Lanes, mask: Mask) -> None:
        """Give the lanes of `mask` another element; where it is out of bounds nothing happens."""
        flat, inside = self._found(places)
        if self.is_shared and mask is True and flat.ndim == 0 and value.ndim == 0:
            if inside:
                self.columns[flat, 0] = value
            return
        self._part(lanes)
        taking = np.flatnonzero(np.broadcast_to(inside & mask, lanes.count))
        rows = np.broadcast_to(flat, lanes.count)[taking]
        self.columns[rows, taking] = np.broadcast_to(value, lanes.count)[taking]

    def refill(self, array: Array, lanes: Lanes, mask: Mask) -> None:
        """Give the lanes of `mask` other elements, all of them."""
        whole = constants(array).reshape(-1, 1)
        if mask is True:
            self.columns = whole
            return
        self._part(lanes)
        np.copyto(self.columns, whole, where=mask)

    def _part(self, lanes: Lanes) -> None:
        if self.is_shared:
            self.columns = np.repeat(self.columns, lanes.count, axis=1)

    def _found(self, places: Places) -> tuple[Value, Value]:
        """Where elements lie, counted row by row, and whether they are inside."""
        flat = flat_index(self.shape, places)
        inside = flat < prod(self.shape)
        return np.where(inside, flat, 0).astype(np.intp), np.asarray(inside)


def constants(array: Array) -> NDArray[Any]:
    """The elements of an array of constants, row by row."""
    found = np.zeros(array.count, COMPUTED[array.dtype.tag])
    known = np.frombuffer(array.data, found.dtype)
    found[: known.size] = known
    return found
