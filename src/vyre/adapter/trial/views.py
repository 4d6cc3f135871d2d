"""Arrays of NumPy's as they lie in memory, which pickling forgets: their steps, what they share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from vyre.adapter.trial.around import lies_at
from vyre.adapter.trial.copying import copied
from vyre.adapter.trial.differences import Array
from vyre.adapter.trial.laid import laid

_SPARSEST = 2
"""Bytes between the first and the last that are taken along for each byte of an array, at most."""


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """An array by where it lies in memory that is taken along beside it, perhaps with others."""

    memory: Array  # of bytes; all arrays that overlap have the same
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]
    writeable: bool
    lies: int  # how the memory is aligned

    def within(self, memory: Array) -> Array:
        """The array in a copy of its memory."""
        made: Array = np.ndarray(self.shape, self.dtype, memory.data, self.offset, self.strides)
        made.flags.writeable = self.writeable
        return made

    def blank(self, memory: Array) -> None:
        """Fill its elements in a copy of its memory with zeros, and nothing between them."""
        bytes_of = np.dtype((np.void, self.dtype.itemsize))
        np.ndarray(self.shape, bytes_of, memory.data, self.offset, self.strides)[...] = b""


def _is_plain(value: Any) -> bool:
    """Whether it is an array that lies in memory as numbers do, and nothing besides."""
    return type(value) is np.ndarray and not value.dtype.hasobject and value.size > 0


def viewed(value: Any) -> Any:
    """A copy of a value, with how they lie in the place of its arrays.

    Raises:
        InvalidInput: nobody knows how to copy something in it.
    """
    arrays = {id(one): one for one in _arrays_in(value, set())}
    return _replaced(value, _views_of([*arrays.values()]), {})


def _arrays_in(value: Any, met: set[int]) -> Iterator[Array]:
    if id(value) in met:
        return
    met.add(id(value))
    if _is_plain(value):
        yield value
    elif type(value) in (tuple, list, dict):
        for one in value.values() if type(value) is dict else value:
            yield from _arrays_in(one, met)


def _views_of(arrays: list[Array]) -> dict[int, View]:
    """The views of arrays by their numbers; those that overlap have one memory."""
    views: dict[int, View] = {}
    group: list[Array] = []
    end = 0
    for array in sorted(arrays, key=lambda one: byte_bounds(one)[0]):
        low, high = byte_bounds(array)
        if low >= end and group:
            views |= _group(group)
            group = []
        group.append(array)
        end = max(end, high)
    return views | (_group(group) if group else {})


def _group(arrays: list[Array]) -> dict[int, View]:
    first = min(byte_bounds(one)[0] for one in arrays)
    last = max(byte_bounds(one)[1] for one in arrays)
    if last - first > _SPARSEST * sum(one.nbytes for one in arrays):  # of a large one, a few
        return {id(one): _alone(one) for one in arrays}
    memory = np.zeros(last - first, np.uint8)
    lies = lies_at(first)
    return {id(one): _placed(one, memory, byte_bounds(one)[0] - first, lies) for one in arrays}


def _alone(array: Array) -> View:
    copy, lies = array.copy(order="K"), lies_at(byte_bounds(array)[0])
    memory = np.zeros(copy.nbytes, np.uint8)
    return _placed(copy, memory, 0, lies, writeable=array.flags.writeable)


def _placed(
    array: Array, memory: Array, low: int, lies: int, *, writeable: bool | None = None
) -> View:
    """Where an array lies in memory, from which its lowest byte is so far; it is copied there."""
    steps = zip(array.shape, array.strides, strict=True)
    back = sum((size - 1) * step for size, step in steps if step < 0)
    view = View(
        memory=memory,
        offset=low - back,
        shape=array.shape,
        strides=array.strides,
        dtype=array.dtype,
        writeable=array.flags.writeable if writeable is None else writeable,
        lies=lies,
    )
    np.ndarray(view.shape, view.dtype, memory.data, view.offset, view.strides)[...] = array
    return view


def _replaced(value: Any, views: dict[int, View], met: dict[int, Any]) -> Any:
    """The same, with views in the place of arrays; what was one stays one."""
    if id(value) in views:
        return views[id(value)]
    if id(value) in met:
        return met[id(value)]
    if type(value) is list:
        made: Any = []
        met[id(value)] = made
        made.extend(_replaced(one, views, met) for one in value)
    elif type(value) is dict:
        made = {}
        met[id(value)] = made
        made.update({name: _replaced(one, views, met) for name, one in value.items()})
    elif type(value) is tuple:
        made = tuple([_replaced(one, views, met) for one in value])
    else:
        found = laid(value)
        made = copied(value) if found is None else found
    met[id(value)] = made
    return made
