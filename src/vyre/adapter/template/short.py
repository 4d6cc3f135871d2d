"""Calls like an earlier one: what they are launched from, found by a token of their arguments.

For arrays of Vyre: 3 us a call in the place of 12 (Python 3.11, PoCL on one core of an EPYC).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vyre.adapter.calls import Entry
from vyre.adapter.template.arguments import Bound, converter
from vyre.adapter.template.recipe import Recipe
from vyre.adapter.template.sizes import Size
from vyre.backend.base import Backend
from vyre.learn.rules import Rule, rule
from vyre.runtime.arrays.array import DeviceArray

_MOST = 4096
"""Calls that are told apart; a stream of ever-new ones forgets all."""


@dataclass(frozen=True, slots=True)
class _Known:
    by: Rule
    entry: Entry
    size: Size | None
    takes: tuple[Any, ...]  # of each argument: what converts it, None of an array
    backend: Backend


class Short:
    """The calls of one template that have been made."""

    def __init__(self) -> None:
        self._known: dict[Hashable, _Known] = {}

    def launch(self, args: Sequence[Any], size: Any) -> bool:
        """Launch a call like an earlier one, and say whether this is one."""
        token = _token(args, size)
        known = None if token is None else self._known.get(token)
        if known is None or known.by != rule():
            return False
        values = []
        for take, one in zip(known.takes, args, strict=True):
            values.append(one.argument if take is None else take(one))
        if known.backend.streams is not None and any(
            take is None and one.memory.stream for take, one in zip(known.takes, args, strict=True)
        ):
            return False  # streams have to be ordered
        known.entry.launch(Bound(known.size, tuple(values), tuple(args)), 0)
        return True

    def add(
        self,
        recipe: Recipe,
        args: Sequence[Any],
        given: Any,
        entry: Entry,
        size: Size | None,
        backend: Backend,
    ) -> None:
        """Remember a call that was launched on the device's own stream."""
        token = _token(args, given)
        if token is None:
            return
        if len(self._known) >= _MOST:
            self._known.clear()
        takes = tuple(
            None if isinstance(one, DeviceArray) else converter(recipe, n, one)
            for n, one in enumerate(args)
        )
        self._known[token] = _Known(entry.by, entry, size, takes, backend)


def _token(args: Sequence[Any], size: Any) -> Hashable | None:
    """What of a call tells which are alike; None of one that needs a look at each argument."""
    if type(size) is not int and type(size) is not tuple and size is not None:
        return None
    token: list[Hashable] = [size]
    for one in args:
        kind: Any = type(one)
        if kind is DeviceArray:
            token.append(one.key)
        elif kind is int:
            token.append(-1 - one.bit_length())  # no array's key is below 0
        elif kind is float or kind is np.float32 or kind is np.float64:
            token.append(kind)
        elif kind is np.int32 or kind is np.int64:
            token += (kind, -1 - int(one).bit_length())
        else:
            return None
    return tuple(token)
