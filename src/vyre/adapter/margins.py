"""Copies of arrays with a margin on each side, which shows what was written beyond them."""

from __future__ import annotations

from typing import Any

import numpy as np

from vyre.adapter.differences import Array, Part

MARGIN = 4096
"""Bytes on each side; who writes further away than that goes unseen, or is ended by the system."""

UNTOUCHED = 0xA5


class Margins:
    """The margins of the copies that one run is given."""

    def __init__(self) -> None:
        self._around: list[tuple[Array, int]] = []
        self._moved: dict[int, tuple[Any, Any]] = {}  # with what was there, or its number is reused

    def within(self, value: Any) -> Any:
        """The same value, its arrays moved to where they have margins; what was one stays one."""
        if id(value) in self._moved:
            return self._moved[id(value)][1]
        kind = type(value)
        moved = value
        if kind is np.ndarray and not value.dtype.hasobject:
            moved = self._move(value)
        elif kind is tuple:
            moved = tuple(map(self.within, value))
        elif kind is list or kind is dict:  # moved in place, because it may hold itself
            self._moved[id(value)] = value, value
            for place in range(len(value)) if kind is list else [*value]:
                value[place] = self.within(value[place])
        self._moved[id(value)] = value, moved
        return moved

    def _move(self, array: Array) -> Array:
        whole = np.full(array.nbytes + 2 * MARGIN, UNTOUCHED, np.uint8)
        self._around.append((whole, array.nbytes))
        order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
        inside = whole[MARGIN : MARGIN + array.nbytes]
        moved = np.ndarray(array.shape, array.dtype, buffer=inside.data, order=order)  # type: ignore[call-overload]  # one of two
        moved[...] = array
        moved.flags.writeable = array.flags.writeable
        return moved

    @property
    def parts(self) -> list[Part]:
        """What stands in them, as it is compared."""
        return [
            around(f"array {number}", np.concatenate((whole[:MARGIN], whole[MARGIN + size :])))
            for number, (whole, size) in enumerate(self._around)
        ]


def around(name: str, margin: Array) -> Part:
    """What stands beside an array, as it is compared."""
    return Part(name=f"the memory beside {name}", kind="", array=margin)
