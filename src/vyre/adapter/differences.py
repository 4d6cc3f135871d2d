"""How what one config wrote differs from what another did."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def differ(
    wanted: Sequence[Any], found: Sequence[Any], names: Sequence[str], rtol: float, atol: float
) -> str | None:
    """How what one config wrote differs from what another did; None where it does not.

    A NaN is a NaN, whatever its payload. What comes after the names is called result 1, 2, and so
    on.

    >>> differ([np.float32([1, 2])], [np.float32([1, 3])], ("out",), 0.0, 0.0)
    'out has 1 of 2 elements that differ, such as 3.0 at 1, where it should be 2.0'
    """
    if len(wanted) != len(found):
        return f"it gave {len(found)} results, and not {len(wanted)}"
    for number, (one, other) in enumerate(zip(wanted, found, strict=True)):
        name = names[number] if number < len(names) else f"result {number - len(names) + 1}"
        problem = _differ(np.asarray(one), np.asarray(other), rtol, atol)
        if problem is not None:
            return f"{name} {problem}"
    return None


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
        f"has {wrong:,} of {prod(same.shape):,} elements that differ, such as {found[place]!s} at "
        f"{at}, where it should be {wanted[place]!s}"
    )


def _same(wanted: Array, found: Array, rtol: float, atol: float) -> NDArray[np.bool_]:
    """Which elements agree, for a config whose results are compared."""
    if wanted.dtype.kind in "fc" and (rtol or atol):
        with np.errstate(all="ignore"):
            return np.isclose(found, wanted, rtol=rtol, atol=atol, equal_nan=True)
    if wanted.dtype.hasobject or not wanted.dtype.itemsize:
        return np.asarray(wanted == found, dtype=bool).reshape(wanted.shape)
    size = wanted.dtype.itemsize
    bits = [
        np.ascontiguousarray(one).reshape(-1).view(np.uint8).reshape(*wanted.shape, size)
        for one in (wanted, found)
    ]
    same = np.asarray((bits[0] == bits[1]).all(axis=-1))
    if wanted.dtype.kind in "fc":
        same |= np.isnan(wanted) & np.isnan(found)
    return same
