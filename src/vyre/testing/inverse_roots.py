"""Whether `1 / sqrt(x)` of f32 is the nearest there is, by whole numbers alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vyre.backend.reference.fused import fma

Array = NDArray[np.float32]
FIRST, LAST = 0x3F80_0000, 0x4080_0000
"""The bits of 1 and of 4: all other arguments are those between, times powers of 4."""

FARTHEST = 3
"""Units in the last place that an estimate may be from the nearest result.

Of CUDA's instruction 2.2 are promised, 2**-22.9 of the value.
"""

_ONE, _HALF, _SLOPE = (np.asarray(number, np.float32) for number in (1.0, 0.5, 0.375))
_NEAR = 1e-4  # relative; nearer than that, differences of products fit 64 bits


def numbers(bits: NDArray[np.integer]) -> Array:
    """The f32 numbers of these bits."""
    return np.asarray(bits, np.uint32).view(np.float32)


def not_nearest(x: Array, y: Array) -> NDArray[np.bool_]:
    """Where `y` is not the f32 nearest to `1 / sqrt(x)`, of positive finite `x`.

    With `x` in [1, 4) and `y` as whole numbers X / 2**23 and Y / 2**24, the midpoints beside `y`
    have to lie on both sides of the root: X (2Y - 1)**2 < 2**73 < X (2Y + 1)**2. Products wrap, and
    so does 2**73, to 0: what is left of a difference is its sign.
    """
    wide, result = x.astype(np.float64), y.astype(np.float64)
    power = (np.frexp(wide)[1] - 1) // 2
    whole_x = (np.ldexp(wide, 23 - 2 * power)).astype(np.uint64)
    scaled = np.ldexp(result, 24 + power)
    near = np.abs(result * np.sqrt(wide) - 1) < _NEAR
    whole_y = np.where(near, scaled, 1 << 24).astype(np.uint64)
    below, above = (
        (whole_x * (2 * whole_y + step) ** 2).view(np.int64)
        for step in (np.uint64(2**64 - 1), np.uint64(1))
    )
    right: NDArray[np.bool_] = near & (whole_y == scaled) & (below < 0) & (above > 0)
    return ~right


def last_step(x: Array, y: Array) -> Array:
    """What emitted code makes of a result that is 1 unit away at most."""
    product = x * y
    lost = fma(x, y, -product)
    rest = fma(-lost, y, fma(-product, y, _ONE))
    return fma(y * rest, fma(_SLOPE, rest, _HALF), y)


def both_steps(x: Array, estimate: Array) -> Array:
    """What emitted code makes of an estimate that is `FARTHEST` away at most."""
    rest = fma(-(x * estimate), estimate, _ONE)
    return last_step(x, fma(estimate * _HALF, rest, estimate))


def failures(x: Array) -> dict[str, int]:
    """How many results of each way are not the nearest, for `x` in [1, 4)."""
    wide = (1 / np.sqrt(x.astype(np.float64))).astype(np.float32)
    found = {
        "by way of f64": wide,
        "1 / sqrt and the last step": last_step(x, np.asarray(_ONE / np.sqrt(x), np.float32)),
    }
    for away in range(-FARTHEST, FARTHEST + 1):
        start = numbers(wide.view(np.uint32) + np.uint32(away % 2**32))
        found[f"both steps from {away:+} units"] = both_steps(x, start)
    return {way: int(not_nearest(x, y).sum()) for way, y in found.items()}
