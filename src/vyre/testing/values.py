"""Values and arrays that find the corners: zeros, limits, NaN, subnormals, ordinary numbers."""

from __future__ import annotations

import math
from random import Random

import numpy as np
from numpy.typing import NDArray

from vyre.ir.expr import Lit
from vyre.ir.storage import STORAGE
from vyre.ir.types import DataType, int_range

_FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 3.0, 1e-3, 255.5, 1e9, -1e9, 4294967296.0)
_EXTREMES = (math.inf, -math.inf, math.nan, 1e-40, -1e-40, 3e38, -3e38, 1.1754944e-38, 9.2e18)


def literal(rng: Random, dtype: DataType) -> Lit:
    """A literal of `dtype`, often a corner of it."""
    if dtype.is_bool:
        return Lit.of(dtype, rng.random() < 0.5)
    if dtype.is_float:
        pool = _FLOATS if rng.random() < 0.7 else _EXTREMES
        return Lit.of(dtype, rng.choice(pool) if rng.random() < 0.8 else rng.gauss(0, 100))
    low, high = int_range(dtype)
    if rng.random() < 0.3:
        return Lit.of(dtype, rng.choice((low, high, high // 2, 0)))
    return Lit.of(dtype, max(low, min(high, rng.randint(-3, 12))))


def array(rng: Random, dtype: DataType, shape: int | tuple[int, ...]) -> NDArray[np.generic]:
    """An array that a buffer of `dtype` can hold: one third corners, the rest ordinary."""
    random = np.random.default_rng(rng.getrandbits(32))
    storage = STORAGE[dtype]
    if dtype.is_bool:
        return random.integers(0, 2, shape).astype(storage)
    if dtype == DataType.BF16:
        return (array(rng, DataType.F32, shape).view(np.uint32) >> 16).astype(np.uint16)
    corners = random.random(shape) < 0.33
    if dtype.is_float:
        pool = np.array(_FLOATS + _EXTREMES)
        values = np.where(corners, random.choice(pool, shape), random.normal(0, 100, shape))
        with np.errstate(all="ignore"):
            return values.astype(storage)
    low, high = int_range(dtype)
    ordinary = random.integers(max(low, -20), 20, shape, dtype=np.int64).astype(storage)
    pool = np.array([low, high, high // 2, 0, 1], dtype=storage)
    return np.where(corners, random.choice(pool, shape), ordinary)
