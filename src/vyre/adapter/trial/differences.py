"""How what one config wrote differs from what another did."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of what a function left or gave: what it is called, what it is, and its numbers.

    Args:
        name: for people.
        kind: its type, and whatever else of it has no numbers: keys, whose memory it shares.
        array: its numbers; None where it only holds others.
    """

    name: str
    kind: str
    array: Array | None = None


def differ(
    wanted: Sequence[Any], found: Sequence[Any], names: Sequence[str], rtol: float, atol: float
) -> str | None:
    """How what one config wrote differs from what another did; None where it does not.

    A NaN is a NaN, whatever its payload. What comes after the names is called result 1, 2, and so
    on, but for what says its name itself.

    >>> differ([np.float32([1, 2])], [np.float32([1, 3])], ("out",), 0.0, 0.0)
    'out has 1 of 2 elements that differ, such as 3.0 at 1, where it should be 2.0'
    """
    named = [_named(n, one, names) for n, one in enumerate(wanted)]
    for one, other in zip(named, (_named(n, one, names) for n, one in enumerate(found))):  # noqa: B905  # a part says how many it holds before they come
        if one.kind != other.kind:
            return f"{one.name} is {_brief(other.kind)}, and not {_brief(one.kind)}"
        if one.array is not None and other.array is not None:
            problem = _differ(one.array, other.array, rtol, atol)
            if problem is not None:
                return f"{one.name} {problem}"
    if len(wanted) != len(found):
        return f"it gave {len(found)} results, and not {len(wanted)}"
    return None


def _named(number: int, value: Any, names: Sequence[str]) -> Part:
    if isinstance(value, Part):
        return value
    name = names[number] if number < len(names) else f"result {number - len(names) + 1}"
    return Part(name=name, kind="", array=np.asarray(value))


def _differ(wanted: Array, found: Array, rtol: float, atol: float) -> str | None:
    if wanted.shape != found.shape or wanted.dtype != found.dtype:
        return (
            f"is {found.dtype} of shape {found.shape}, and not {wanted.dtype} of "
            f"shape {wanted.shape}"
        )
    same = _same(wanted, found, rtol, atol)
    wrong = prod(same.shape) - int(np.count_nonzero(same))
    if not wrong:
        return None
    place = np.unravel_index(int(np.argmin(same)), same.shape)
    at = ", ".join(str(int(index)) for index in place) or "its one place"
    # As texts: formatting would cast, and what is signalling, or not finite, would warn of it.
    return (
        f"has {wrong:,} of {prod(same.shape):,} elements that differ, such as "
        f"{_brief(found[place])} at {at}, where it should be {_brief(wanted[place])}"
    )


def _brief(value: Any) -> str:
    text = str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


_SHOWN = 200


def _same(wanted: Array, found: Array, rtol: float, atol: float) -> NDArray[np.bool_]:
    """Which elements agree, for a config whose results are compared."""
    kind = wanted.dtype.kind
    if wanted.dtype.names is not None:  # what lies between fields is nobody's
        fields = [_same(wanted[one], found[one], rtol, atol) for one in wanted.dtype.names]
        return _all((_within(one, wanted.ndim) for one in fields), wanted.shape)
    if wanted.dtype.hasobject:
        pairs = zip(wanted.ravel(), found.ravel(), strict=True)
        return np.fromiter((_equal(a, b) for a, b in pairs), bool).reshape(wanted.shape)
    if kind == "c":
        parts = _all(
            (_same(wanted.real, found.real, 0, 0), _same(wanted.imag, found.imag, 0, 0)),
            wanted.shape,
        )
        return parts if not (rtol or atol) else parts | _close(wanted, found, rtol, atol)
    if kind == "f":
        if rtol or atol:
            return _close(wanted, found, rtol, atol) | (np.isnan(wanted) & np.isnan(found))
        with np.errstate(all="ignore"):
            bits = (wanted == found) & (np.signbit(wanted) == np.signbit(found))
            return np.asarray(bits | (np.isnan(wanted) & np.isnan(found)))
    size = wanted.dtype.itemsize
    if not size:
        return np.ones(wanted.shape, bool)
    bits = [
        np.ascontiguousarray(one).reshape(-1).view(np.uint8).reshape(*wanted.shape, size)
        for one in (wanted, found)
    ]
    return np.asarray((bits[0] == bits[1]).all(axis=-1))


def _close(wanted: Array, found: Array, rtol: float, atol: float) -> NDArray[np.bool_]:
    with np.errstate(all="ignore"):
        return np.asarray(np.isclose(found, wanted, rtol=rtol, atol=atol))


def _within(same: NDArray[np.bool_], axes: int) -> NDArray[np.bool_]:
    """Which elements agree of a field that holds arrays itself."""
    return np.asarray(same.all(axis=tuple(range(axes, same.ndim))))


def _all(parts: Iterable[NDArray[np.bool_]], shape: tuple[int, ...]) -> NDArray[np.bool_]:
    same = np.ones(shape, bool)
    for one in parts:
        same &= one
    return same


def _equal(wanted: Any, found: Any) -> bool:
    """Whether two objects are the same to whoever looks at them: 1, 1.0 and True are three."""
    if type(wanted) is not type(found):
        return False
    if isinstance(wanted, (float, complex, np.generic, np.ndarray)):
        return differ([np.asarray(wanted)], [np.asarray(found)], (), 0.0, 0.0) is None
    return bool(wanted is found or wanted == found)
