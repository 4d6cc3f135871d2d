"""Copies of arrays with a margin on each side, which shows what was written beyond them."""

from __future__ import annotations

from typing import Any

import numpy as np

from vyre.adapter.trial.differences import Array, Part
from vyre.adapter.trial.views import View

MARGIN = 4096
"""Bytes on each side; who writes further away than that goes unseen, or is ended by the system."""

UNTOUCHED = 0xA5


class Margins:
    """The margins of the copies that one run is given, and what lies between their elements."""

    def __init__(self) -> None:
        self._wholes: dict[int, tuple[Array, list[View]]] = {}  # by the memory that is within
        self._moved: dict[int, tuple[Any, Any]] = {}  # with what was there, or its number is reused

    def within(self, value: Any) -> Any:
        """The same value, with arrays that have margins for its views; what was one stays one."""
        if id(value) in self._moved:
            return self._moved[id(value)][1]
        kind = type(value)
        moved = value
        if kind is View:
            moved = self._moved_to(value)
        elif kind is tuple:
            moved = tuple(map(self.within, value))
        elif kind is list or kind is dict:  # moved in place, because it may hold itself
            self._moved[id(value)] = value, value
            for place in range(len(value)) if kind is list else [*value]:
                value[place] = self.within(value[place])
        self._moved[id(value)] = value, moved
        return moved

    def _moved_to(self, view: View) -> Array:
        size = view.memory.nbytes
        if id(view.memory) not in self._wholes:
            whole = np.pad(view.memory, MARGIN, constant_values=UNTOUCHED)
            self._wholes[id(view.memory)] = whole, []
        whole, views = self._wholes[id(view.memory)]
        views.append(view)
        return view.within(whole[MARGIN : MARGIN + size])

    @property
    def parts(self) -> list[Part]:
        """What stands beside the arrays, and between their elements, as it is compared."""
        return [
            around(f"array {number}", _beside(whole, views))
            for number, (whole, views) in enumerate(self._wholes.values())
        ]


def _beside(whole: Array, views: list[View]) -> Array:
    kept = whole.copy()
    for view in views:
        view.blank(kept[MARGIN : len(kept) - MARGIN])
    return kept


def around(name: str, margin: Array) -> Part:
    """What stands beside an array, as it is compared."""
    return Part(name=f"the memory beside {name}", kind="", array=margin)
