"""What of an argument tells launches apart: it is asked for at every call, so it is quick."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from operator import call
from typing import Any

import numpy as np

Look = Callable[[Any], Hashable]


@dataclass(frozen=True, slots=True)
class Arrays:
    """How a library's arrays of one type are looked at.

    Args:
        exact: at every call, by attributes, or another way that runs no line of Python: with the
            type it says no less than `look`.
        look: what launches that share a choice have in common.
    """

    exact: Look
    look: Look


Among = tuple[Look, ...]
Kinds = tuple[type, ...]


class Looks:
    """By the types of a call's arguments, what of them tells launches apart.

    A whole number may say how often a loop goes round, so it counts by its doublings; others by
    their types, unless somebody says how to look at one.

    >>> looks = Looks()
    >>> looks.at([1000]) == looks.at([1023]), looks.at([1000]) == looks.at([1024])
    (True, False)
    """

    __slots__ = ("_arrays", "_exact", "_looks")

    def __init__(self, arrays: Callable[[type], Arrays | None] = lambda _: None) -> None:
        """Look at arrays as a library's adapter says; it has nothing to say of what is none."""
        self._arrays = arrays
        self._exact: dict[Kinds, Among] = {}
        self._looks: dict[type, Look] = {}

    def exactly(self, args: Sequence[Any]) -> tuple[Hashable, ...]:
        """What tells calls apart, as quickly as it can be had: sizes of arrays count exactly."""
        kinds = tuple(map(type, args))
        looks = self._exact.get(kinds)
        if looks is None:
            looks = self._exact[kinds] = tuple(map(self._exactly, kinds))
        return (kinds, *map(call, looks, args))

    def at(self, args: Sequence[Any]) -> tuple[Hashable, ...]:
        """What calls have in common that share a choice."""
        return tuple(self._look(type(one))(one) for one in args)

    def _look(self, kind: type) -> Look:
        look = self._looks.get(kind)
        if look is None:
            arrays = self._arrays(kind)
            look = self._looks[kind] = self._plain(kind) if arrays is None else arrays.look
        return look

    def _exactly(self, kind: type) -> Look:
        arrays = self._arrays(kind)
        if arrays is not None:
            return arrays.exact
        if kind is int:
            return int.bit_length
        if kind is bool:
            return bool
        if _is_whole(kind):
            return lambda n: int(n).bit_length()
        return self._look(kind) if kind is tuple else type  # of which the types alone count

    def _plain(self, kind: type) -> Look:
        name = f"{kind.__module__}.{kind.__qualname__}"
        if kind is int:
            return lambda n: (kind, n.bit_length())
        if kind is bool:
            return lambda n: (kind, n)
        if _is_whole(kind):
            return lambda n: (kind, int(n).bit_length())
        if kind is tuple:
            return lambda held: (kind, *self.at(held))
        return lambda _: name


def _is_whole(kind: type) -> bool:
    return issubclass(kind, np.integer) and not issubclass(kind, np.timedelta64)
