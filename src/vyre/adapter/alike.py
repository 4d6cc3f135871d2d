"""Which calls are alike: what of their arguments tells kinds of calls apart where nobody says."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from enum import Enum
from math import prod
from typing import Any

import numpy as np

from vyre.runtime.arrays.array import DeviceArray
from vyre.runtime.arrays.foreign_kinds import UNREADABLE, Seen, kind_of
from vyre.runtime.arrays.foreign_kinds import Kind as ArrayKind

_LONGEST_WORD, _MOST_INSIDE = 64, (32, 32, 8, 2)
"""Beyond these, what a text says and what a list holds tells nothing apart; by how deep it is."""


def alike(values: Iterable[Any]) -> tuple[tuple[Hashable, ...], ...]:
    """What calls have in common that are launched alike: types, axes, sizes; last, where it is one.

    A plain number counts by its doublings: it may be anything, and go up with every call.

    >>> alike((np.zeros(1000, "f4"), 3, "fast", 0.5))
    (('ndarray', '<f4', 'C', 1, 1000), ('int', 3), ('str', 'fast'), ('float',))
    """
    return _all_of(values, 0)


def _all_of(values: Iterable[Any], depth: int) -> tuple[tuple[Hashable, ...], ...]:
    return tuple([_of(one, depth) for one in values])


def named(name: str, value: Any) -> tuple[Hashable, ...]:
    """The same of an argument that is passed by a name."""
    return (f"{name}=", *_of(value))


def sizes_in(common: Iterable[Any]) -> tuple[int, ...]:
    """The sizes that stand in what calls have in common; those of one doubling share a choice."""
    return tuple(part[-1] for part in _leaves(common) if type(part[-1]) is int)


def elements_in(common: Iterable[Any]) -> int:
    """The elements of the largest array; 1 where there is none."""
    return max((part[-1] for part in _leaves(common) if _is_array(part)), default=1) or 1


def traits_in(common: Iterable[Any]) -> tuple[str, ...]:
    """All else that stands there, as texts."""
    return tuple(
        " ".join(_written(one) for one in (part[:-1] if type(part[-1]) is int else part))
        for part in _leaves(common)
    )


def _written(one: Hashable) -> str:
    """A text as it can be kept, halves of surrogate pairs included."""
    return str(one).encode(errors="backslashreplace").decode()


def _leaves(common: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    """What stands there of each value, and of those that others hold."""
    for part in common:
        inner = tuple(one for one in part if type(one) is tuple)
        yield part[: len(part) - len(inner)]
        yield from _leaves(inner)


def _is_array(part: Sequence[Any]) -> bool:
    """Whether it ends with axes and a size; a number alone has no axes."""
    return len(part) > 1 and type(part[-1]) is type(part[-2]) is int


def _doubled(number: int) -> int:
    return (1 << abs(number).bit_length()) - 1


def see(kind: ArrayKind, value: Any) -> Seen | None:
    """What a library says of its array; None of one that has no place, or none to tell."""
    try:
        return kind.see(value)
    except UNREADABLE:
        return None


def _order(array: np.ndarray[Any, Any]) -> str:
    return "C" if array.flags.c_contiguous else _by_strides(array.strides)


def _order_of(value: Any, seen: Seen) -> str:
    """The same of an array of others, as far as its library tells."""
    layout = str(getattr(value, "layout", "torch.strided"))
    if layout != "torch.strided":
        return layout
    try:
        if seen.contiguous or value.is_contiguous():
            return "C"
        return _by_strides(value.stride())
    except UNREADABLE:  # it has none, or its library has other words for it
        return "strided"


def _by_strides(strides: Sequence[int]) -> str:
    """The axes, that of the longest steps first."""
    axes = sorted(range(len(strides)), key=lambda axis: -abs(strides[axis]))
    return f"strided {''.join(map(str, axes))}"


def _of(value: Any, depth: int = 0) -> tuple[Hashable, ...]:
    kind = type(value)
    if kind is np.ndarray:
        return ("ndarray", value.dtype.str, _order(value), value.ndim, int(value.size))
    if kind is int:
        return ("int", _doubled(value))
    if kind is float or kind is complex:
        return (kind.__name__,)
    if value is None or kind is bool:
        return (str(value),)
    if kind is str or kind is bytes:
        return (kind.__name__, value if len(value) <= _LONGEST_WORD else "long")
    if isinstance(value, Enum):
        return (kind.__qualname__, value.name)
    if isinstance(value, np.ndarray):
        return (kind.__name__, value.dtype.str, _order(value), value.ndim, int(value.size))
    if isinstance(value, DeviceArray):
        return (kind.__name__, value.dtype.str, value.ndim, value.size)
    if isinstance(value, np.generic):
        counts = isinstance(value, np.integer) and not isinstance(value, np.timedelta64)
        size = (_doubled(int(value)),) if counts else ()
        return (kind.__name__, *size)
    foreign = kind_of(value)
    if foreign is not None:
        seen = see(foreign, value)
        if seen is None:
            return (foreign.name, kind.__qualname__)
        where = "host" if seen.device < 0 else "device"
        order = _order_of(value, seen)
        wants = ("gradients",) if getattr(value, "requires_grad", False) else ()
        return (foreign.name, seen.dtype, where, order, *wants, len(seen.shape), prod(seen.shape))
    if isinstance(value, (tuple, list)):
        if depth == len(_MOST_INSIDE) or len(value) > _MOST_INSIDE[depth]:
            return (f"a long {kind.__name__}", len(value))
        return (f"{kind.__name__} of {len(value)}", *_all_of(value, depth + 1))
    return (kind.__qualname__,)
