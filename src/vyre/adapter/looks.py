"""What of an argument tells launches apart: it is asked for at every call, so it is quick."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

Look = Callable[[Any], Hashable]


class Looks(dict[type, Look]):
    """By the type of an argument, what of it tells launches apart.

    A whole number may say how often a loop goes round, so it counts by its doublings; others by
    their types, unless somebody says how to look at one.

    >>> looks = Looks()
    >>> looks[int](1000) == looks[int](1023), looks[int](1000) == looks[int](1024)
    (True, False)
    """

    def __init__(self, arrays: Callable[[type], Look | None] = lambda _: None) -> None:
        """Look at arrays as a library's adapter says; it has nothing to say of what is none."""
        super().__init__()
        self._arrays = arrays

    def __missing__(self, kind: type) -> Look:
        look = self[kind] = self._arrays(kind) or self._plain(kind)
        return look

    def _plain(self, kind: type) -> Look:
        name = f"{kind.__module__}.{kind.__qualname__}"
        if kind is int:
            return lambda n: (kind, n.bit_length())
        if kind is bool:
            return lambda n: (kind, n)
        if issubclass(kind, np.integer) and not issubclass(kind, np.timedelta64):
            return lambda n: (kind, int(n).bit_length())
        if kind is tuple:
            return lambda held: (kind, *(self[type(one)](one) for one in held))
        return lambda _: name
