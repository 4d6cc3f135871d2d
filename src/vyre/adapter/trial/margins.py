"""Copies of arrays with a margin on each side, which shows what was written beyond them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from vyre.adapter.trial.around import BESIDE, MARGIN, UNTOUCHED, Surrounded, around, start_of
from vyre.adapter.trial.differences import Array, Part
from vyre.adapter.trial.laid import Among, Contiguous, Tensor
from vyre.adapter.trial.views import View


class Margins:
    """The margins of the copies that one run is given, and what lies between their elements."""

    def __init__(self) -> None:
        self._wholes: dict[int, _Whole] = {}  # by the memory that is within
        self._held: list[_Whole | Surrounded] = []
        self._moved: dict[int, tuple[Any, Any]] = {}  # with what was there, or its number is reused

    def within(self, value: Any) -> Any:
        """The same value, with arrays that have margins; what was one stays one."""
        if id(value) in self._moved:
            return self._moved[id(value)][1]
        kind = type(value)
        moved = value
        if kind is View:
            moved = self._moved_to(value)
        elif kind is Tensor or kind is Contiguous:
            made = value.surrounded()
            self._held.append(made)
            moved = made.array
        elif kind is Among:
            moved = value.within(self.within(value.whole))
        elif kind is tuple:
            moved = tuple(map(self.within, value))
        elif kind is list or kind is dict:  # moved in place, because it may hold itself
            self._moved[id(value)] = value, value
            for place in range(len(value)) if kind is list else [*value]:
                value[place] = self.within(value[place])
        self._moved[id(value)] = value, moved
        return moved

    def _moved_to(self, view: View) -> Array:
        whole = self._wholes.get(id(view.memory))
        if whole is None:
            whole = self._wholes[id(view.memory)] = _Whole.of(view)
            self._held.append(whole)
        whole.views.append(view)
        return view.within(whole.inside)

    @property
    def parts(self) -> list[Part]:
        """What stands beside the arrays, and between their elements, as it is compared."""
        return [one.beside(f"array {number}") for number, one in enumerate(self._held)]


@dataclass(frozen=True, slots=True)
class _Whole:
    """Memory with a margin on each side, and the views that lie in it."""

    memory: Array
    views: list[View]

    @classmethod
    def of(cls, view: View) -> _Whole:
        """A copy of a view's memory, aligned as what it was taken from."""
        size = view.memory.nbytes
        room = np.empty(size + BESIDE, np.uint8)
        start = start_of(view.lies, room.ctypes.data)
        whole = room[start - MARGIN : start + size + MARGIN]
        whole[...] = UNTOUCHED
        whole[MARGIN : MARGIN + size] = view.memory
        return cls(whole, [])

    @property
    def inside(self) -> Array:
        return self.memory[MARGIN : len(self.memory) - MARGIN]

    def beside(self, name: str) -> Part:
        """All of it but for the elements of the views."""
        kept = self.memory.copy()
        for view in self.views:
            view.blank(kept[MARGIN : len(kept) - MARGIN])
        return around(name, kept)
