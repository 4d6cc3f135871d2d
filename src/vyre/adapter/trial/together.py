"""Arrays of a call that share memory: copies of them share as much of a copy of it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod
from types import SimpleNamespace
from typing import Any

import numpy as np

from vyre.adapter.trial.differences import Array

SPARSEST = 2
"""Bytes between the first and the last that are taken along for each byte of an array, at most."""

_MOST_WORK = 10_000  # to tell whether two arrays share an element


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """How an array lies in memory.

    Args:
        where: which memory.
        at: where in it its first element is, in bytes.
        shape: of the array.
        strides: in bytes.
        dtype: of its elements, as its library has it.
        itemsize: bytes of one.
    """

    where: Hashable
    at: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: Any
    itemsize: int

    @classmethod
    def of(cls, array: Any, where: Hashable, at: int) -> Form:
        """That of an array which says what NumPy's do."""
        dtype = np.dtype(array.dtype)
        return cls(
            where=where,
            at=at,
            shape=tuple(array.shape),
            strides=tuple(array.strides),
            dtype=dtype,
            itemsize=dtype.itemsize,
        )

    @classmethod
    def rows(cls, shape: tuple[int, ...], dtype: np.dtype[Any], where: Hashable, at: int) -> Form:
        """That of a contiguous array, whose last axis is the fastest."""
        strides = tuple(prod(shape[axis + 1 :]) * dtype.itemsize for axis in range(len(shape)))
        return cls(
            where=where,
            at=at,
            shape=shape,
            strides=strides,
            dtype=dtype,
            itemsize=dtype.itemsize,
        )

    @property
    def bounds(self) -> tuple[int, int]:
        """From its lowest byte to beyond its highest."""
        steps = [(size - 1) * step for size, step in zip(self.shape, self.strides, strict=True)]
        low = self.at + sum(step for step in steps if step < 0)
        return low, self.at + sum(step for step in steps if step > 0) + self.itemsize

    @property
    def ghost(self) -> Array:
        """An array of the host that lies so, and whose elements nobody may read."""
        bare: Any = SimpleNamespace(
            __array_interface__={
                "version": 3,
                "data": (self.at or 1, False),
                "typestr": f"|V{self.itemsize}",
                "shape": self.shape,
                "strides": self.strides,
            }
        )
        return np.asarray(bare)


def groups(forms: Mapping[int, Form]) -> Iterator[tuple[int, ...]]:
    """The numbers of arrays that share memory, or may: two or more in each.

    >>> x, y = (Form.of(np.zeros(4), "here", at) for at in (0, 16))
    >>> list(groups({0: x, 1: Form.of(np.zeros(4), "here", 32), 2: y, 3: x}))
    [(0, 1, 2, 3)]
    >>> list(groups({0: x, 1: Form.of(np.zeros(4), "here", 32), 2: Form.of(np.zeros(4), "", 0)}))
    []
    """
    group: list[int] = []
    where: Hashable = None
    end = 0
    places: dict[Hashable, int] = {}
    for number, one in forms.items():
        places.setdefault(one.where, number)
    for number in sorted(forms, key=lambda n: (places[forms[n].where], forms[n].bounds)):
        low, high = forms[number].bounds
        if forms[number].where != where or low >= end:
            if _is_together(forms, group):
                yield tuple(sorted(group))
            group, where, end = [], forms[number].where, high
        group.append(number)
        end = max(end, high)
    if _is_together(forms, group):
        yield tuple(sorted(group))


def _is_together(forms: Mapping[int, Form], group: Sequence[int]) -> bool:
    """Whether there are several, and little besides them, or they do share elements."""
    if len(group) < 2:
        return False
    held = [forms[number] for number in group]
    whole = max(one.bounds[1] for one in held) - begins(held)
    taken = sum(prod(one.shape) * one.itemsize for one in held)
    return whole <= SPARSEST * taken or share([one.ghost for one in held])


def share(arrays: Sequence[Array]) -> bool:
    """Whether some of these have an element in common, as far as that is quickly told."""
    try:
        return any(
            np.shares_memory(one, other, max_work=_MOST_WORK)  # type: ignore[arg-type]  # any number
            for one, other in combinations(arrays, 2)
        )
    except np.exceptions.TooHardError:
        return True


def begins(forms: Sequence[Form]) -> int:
    """Where the lowest byte of arrays in one memory is."""
    return min(one.bounds[0] for one in forms)


@dataclass(frozen=True, slots=True, eq=False)
class Together:
    """Memory that arguments share, in the place of the first of them.

    Args:
        held: its bytes.
        lies: how it is aligned.
        parts: how each lies in it, by its number.
    """

    held: Array
    lies: int
    parts: Mapping[int, Form]

    @classmethod
    def of(cls, forms: Mapping[int, Form], hosts: Mapping[int, Array], lies: int) -> Together:
        """The memory of these, with what copies of them on the host hold."""
        first = begins([*forms.values()])
        held = np.zeros(max(one.bounds[1] for one in forms.values()) - first, np.uint8)
        parts = {
            number: replace(one, where=None, at=one.at - first) for number, one in forms.items()
        }
        for number, one in parts.items():
            view: Array = np.ndarray(one.shape, one.dtype, held.data, one.at, one.strides)
            view[...] = hosts[number]
        return cls(held, lies, parts)

    def within(self, memory: Any, view: Callable[[Any, Form], Any]) -> dict[int, Any]:
        """Its arrays in a copy of it, by their numbers; what was one stays one."""
        made: dict[tuple[object, ...], Any] = {}
        found: dict[int, Any] = {}
        for number, one in self.parts.items():
            key = one.at, one.shape, one.strides, str(one.dtype)
            if key not in made:
                made[key] = view(memory, one)
            found[number] = made[key]
        return found


def taken_together(
    hosts: Sequence[Any], forms: Mapping[int, Form], lies: Mapping[int, int]
) -> tuple[Any, ...]:
    """Arguments of which those that share memory are one `Together`, and then None.

    Args:
        hosts: all of them, arrays as copies on the host.
        forms: how arrays lie, by their numbers.
        lies: how each is aligned.
    """
    given = list(hosts)
    for group in groups(forms):
        shared = {number: forms[number] for number in group}
        lowest = min(group, key=lambda number: forms[number].bounds)
        for number in group:
            given[number] = None
        held = {number: hosts[number] for number in group}
        given[group[0]] = Together.of(shared, held, lies[lowest])
    return tuple(given)


def sliced(memory: Any, form: Form) -> Any:
    """A contiguous array in an array of bytes that is sliced and viewed as NumPy's."""
    nbytes = form.bounds[1] - form.bounds[0]
    order = "C" if is_rows(form) else "F"
    part = memory[form.at : form.at + nbytes].view(form.dtype)
    return part.reshape(form.shape, order=order)


def is_rows(form: Form) -> bool:
    """Whether its elements lie one after the other, the last axis fastest."""
    step = form.itemsize
    for size, stride in zip(reversed(form.shape), reversed(form.strides), strict=True):
        if size > 1 and stride != step:
            return False
        step *= size
    return True
