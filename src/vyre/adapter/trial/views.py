"""Arrays of NumPy's as they lie in memory, which pickling forgets: their steps, what they share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from vyre.adapter.trial.around import lies_at
from vyre.adapter.trial.differences import Array
from vyre.adapter.trial.together import SPARSEST, share


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


def views_of(values: Iterable[Any], *, alone: bool = True) -> dict[int, View]:
    """The views of NumPy's arrays among values, by their numbers.

    Those that overlap have one memory; one that does not has a view if those `alone` are asked for.
    """
    arrays = [*{id(one): one for one in values if _is_plain(one)}.values()]
    views: dict[int, View] = {}
    group: list[Array] = []
    end = 0
    for array in sorted(arrays, key=lambda one: byte_bounds(one)[0]):
        low, high = byte_bounds(array)
        if low >= end and group:
            views |= _group(group, alone=alone)
            group = []
        group.append(array)
        end = max(end, high)
    return views | (_group(group, alone=alone) if group else {})


def _group(arrays: list[Array], *, alone: bool) -> dict[int, View]:
    if len(arrays) == 1 and not alone:
        return {}
    first = min(byte_bounds(one)[0] for one in arrays)
    last = max(byte_bounds(one)[1] for one in arrays)
    sparse = last - first > SPARSEST * sum(one.nbytes for one in arrays)
    if sparse and not share(arrays):  # of a large one, a few
        return {id(one): _alone(one) for one in arrays} if alone else {}
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
