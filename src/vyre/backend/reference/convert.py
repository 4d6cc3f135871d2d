"""Conversions between the types that values are computed and stored in."""

from __future__ import annotations

from typing import Any

import numpy as np

from vyre.ir.arithmetic import Value
from vyre.ir.storage import COMPUTED
from vyre.ir.types import DataType, Tag


def convert(value: Value, target: DataType) -> Value:
    """`value` as `target`; f16 and bf16 are rounded to and stay f32."""
    dtype = COMPUTED[target.tag]
    if target.is_bool:
        return np.not_equal(value, 0)
    if target.is_int and value.dtype.kind == "f":
        return _float_to_int(value, dtype)
    # Whole numbers wrap, and a number becomes a float in one rounding, 64-bit ones included.
    result = value.astype(dtype, copy=False)
    if target.tag is Tag.F16:
        return half_to_single(single_to_half(result))
    if target.tag is Tag.BF16:
        return brain_to_single(single_to_brain(result))
    return result


def _float_to_int(value: Value, dtype: np.dtype[Any]) -> Value:
    ends = np.iinfo(dtype)
    whole = np.trunc(value)
    high = whole >= float(ends.max + 1)  # a power of two, so exact in every float type
    low = whole < float(ends.min)
    inside = np.where(high | low | np.isnan(whole), value.dtype.type(0), whole).astype(dtype)
    return np.where(high, dtype.type(ends.max), np.where(low, dtype.type(ends.min), inside))


def half_to_single(bits: Value) -> Value:
    """The f32 values of f16 ones."""
    return bits.astype(np.float32)


def single_to_half(value: Value) -> Value:
    """The f16 values nearest to f32 ones, ties to even."""
    return value.astype(np.float16)


def brain_to_single(bits: Value) -> Value:
    """The f32 values of bf16 patterns."""
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def single_to_brain(value: Value) -> Value:
    """The bf16 pattern nearest to an f32, ties to even; NaN becomes the quiet one."""
    bits = value.view(np.uint32)
    nearest = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    return np.where(np.isnan(value), np.uint32(0x7FC0), nearest).astype(np.uint16)
