"""Copies of what a call is given: who works on purpose changes nothing of the caller's."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from vyre.adapter.alike import see
from vyre.adapter.places import cuda
from vyre.adapter.trial.laid import Laid, overlapping
from vyre.adapter.trial.together import Together
from vyre.adapter.trial.views import views_of
from vyre.backend import host
from vyre.errors import InvalidInput
from vyre.plain import shown
from vyre.runtime.arrays.array import DeviceArray
from vyre.runtime.arrays.foreign_kinds import UNREADABLE, kind_of
from vyre.runtime.devices.device import Device

SHARE = 4
"""Copies take at most this part of the memory that is free."""


def copied(value: Any) -> Any:
    """A copy of an argument, and of what it holds, that shares no memory with it.

    What it holds shares as much memory with each other in the copy, and what was one stays one.

    Raises:
        InvalidInput: nobody knows how to copy it.

    >>> x = np.zeros(3)
    >>> one, _, other = copied((x, 1, x[1:]))
    >>> np.shares_memory(one, x), np.shares_memory(one, other)
    (False, True)
    """
    return replaced(value, shared_copies([*held_in(value)]), _copy_of)


def shared_copies(values: Sequence[Any]) -> dict[int, Any]:
    """Copies of those arrays among values that share memory with another, by their numbers."""
    made: dict[int, Any] = {
        number: view.within(view.memory) for number, view in views_of(values, alone=False).items()
    }
    wholes: dict[int, Any] = {}
    for number, one in overlapping(values).items():
        if id(one.whole) not in wholes:
            wholes[id(one.whole)] = one.whole.surrounded().array
        made[number] = one.within(wholes[id(one.whole)])
    return made


def held_in(value: Any, met: set[int] | None = None) -> Iterator[Any]:
    """What lists and the like hold, and the value itself where it is none, each once."""
    met = set() if met is None else met
    if id(value) in met:
        return
    met.add(id(value))
    if type(value) in (tuple, list, dict):
        for one in value.values() if type(value) is dict else value:
            yield from held_in(one, met)
    else:
        yield value


def replaced(value: Any, made: dict[int, Any], make: Callable[[Any], Any]) -> Any:
    """The same with something else in the place of what lists and the like hold.

    Args:
        value: it.
        made: that of values by their numbers, which grows: what was one stays one.
        make: gives that of any other.
    """
    if id(value) in made:
        return made[id(value)]
    if type(value) is list:
        there: Any = []
        made[id(value)] = there  # before what it holds, because it may hold itself
        there.extend(replaced(one, made, make) for one in value)
    elif type(value) is dict:
        there = {}
        made[id(value)] = there
        there.update({name: replaced(one, made, make) for name, one in value.items()})
    elif type(value) is tuple:
        there = tuple([replaced(one, made, make) for one in value])
    else:
        there = make(value)
    made[id(value)] = there
    return there


def _copy_of(value: Any) -> Any:
    """A copy of what is no list, tuple or dictionary."""
    kind = type(value)
    if kind is np.ndarray and not value.dtype.hasobject:
        return value.copy(order="K")
    if kind_of(value) is not None:
        if hasattr(value, "requires_grad"):  # torch's, and outside of any graph of the caller's
            return value.detach().clone().requires_grad_(value.requires_grad)
        if callable(getattr(value, "copy", None)):  # CuPy's and those like it
            return value.copy()
    try:
        return copy.deepcopy(value)
    except Exception as error:
        raise InvalidInput(
            f"{shown(value)} cannot be copied: {type(error).__name__}: {error}",
            "pass arrays and plain values, or call it and let it learn",
        ) from error


def refuse_to_copy_much(value: Any, asked: str, beside: int = 0) -> None:
    """Refuse what would take more than a quarter of the memory that is free where it is.

    Args:
        value: what is to be copied.
        asked: what asks for that, as its caller wrote it.
        beside: bytes that a copy of an array takes besides.

    Raises:
        InvalidInput: it would.
    """
    needed: dict[Device | None, int] = {}
    for where, nbytes in _arrays_in(value):
        needed[where] = needed.get(where, 0) + nbytes + beside
    for where, total in needed.items():
        free = host.free_bytes() if where is None else where.backend.free_bytes()
        refuse_beyond(total, free, asked, beside)


def refuse_beyond(needed: int, free: int | None, asked: str, beside: int = 0) -> None:
    """Refuse to copy so many bytes where they are more than a quarter of what is free.

    Raises:
        InvalidInput: they are.
    """
    if free is not None and needed > free // SHARE:
        around = f" with {beside:,} around each array" if beside else ""
        raise InvalidInput(
            f"{asked} copies {needed:,} bytes of arguments{around}, and {free:,} bytes of memory "
            "are free",
            f"try it on smaller arguments: at most {free // SHARE:,} bytes may be copied",
        )


def _bytes_in(value: Any) -> int:
    """What an array of another library takes; 0 where it does not say, as a sparse one of torch."""
    try:
        return int(getattr(value, "nbytes", 0))
    except UNREADABLE:
        return 0


def _arrays_in(value: Any) -> Iterator[tuple[Device | None, int]]:
    """Where the arrays of a value are, and what they take; None is the host."""
    if type(value) in (tuple, list):
        for one in value:
            yield from _arrays_in(one)
    elif type(value) is dict:
        yield from _arrays_in(list(value.values()))
    elif isinstance(value, np.ndarray):
        yield None, value.nbytes
    elif isinstance(value, DeviceArray):
        yield value.device, value.nbytes
    elif isinstance(value, (Laid, Together)):
        yield None, value.held.nbytes
    elif (kind := kind_of(value)) is not None:
        seen = see(kind, value)
        nbytes = 0 if seen is None else _bytes_in(value)
        yield (None if seen is None or seen.device < 0 else cuda(seen.device).device), nbytes
