"""What rounds: transcendental functions, the fused multiply-add and conversions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import erf, erfc, inf, isfinite
from typing import Any

import numpy as np

from vyre.ir.arithmetic import Operator, Value
from vyre.ir.expr import BinaryOp, UnaryOp
from vyre.ir.storage import COMPUTED
from vyre.ir.types import DataType, Tag


def _through_f64(function: Operator) -> Operator:
    """`function`, which for f32 is computed in f64 and rounded once: right but for rare ties."""

    def rounded(*operands: Value) -> Value:
        return function(*operands, dtype=np.float64).astype(operands[0].dtype)

    return rounded


def _each(function: Callable[[float], float]) -> Operator:
    """A function of one Python float, which NumPy lacks, for every element."""
    calls = np.frompyfunc(function, 1, 1)

    def applied(operand: Value) -> Value:
        return np.asarray(calls(operand.astype(np.float64)), np.float64).astype(operand.dtype)

    return applied


UNARY: Mapping[UnaryOp, Operator] = {
    UnaryOp.EXP: _through_f64(np.exp),
    UnaryOp.EXP2: _through_f64(np.exp2),
    UnaryOp.LOG: _through_f64(np.log),
    UnaryOp.LOG2: _through_f64(np.log2),
    UnaryOp.SIN: _through_f64(np.sin),
    UnaryOp.COS: _through_f64(np.cos),
    UnaryOp.TAN: _through_f64(np.tan),
    UnaryOp.ASIN: _through_f64(np.arcsin),
    UnaryOp.ACOS: _through_f64(np.arccos),
    UnaryOp.ATAN: _through_f64(np.arctan),
    UnaryOp.SINH: _through_f64(np.sinh),
    UnaryOp.COSH: _through_f64(np.cosh),
    UnaryOp.TANH: _through_f64(np.tanh),
    UnaryOp.LOG10: _through_f64(np.log10),
    UnaryOp.LOG1P: _through_f64(np.log1p),
    UnaryOp.EXPM1: _through_f64(np.expm1),
    UnaryOp.ASINH: _through_f64(np.arcsinh),
    UnaryOp.ACOSH: _through_f64(np.arccosh),
    UnaryOp.ATANH: _through_f64(np.arctanh),
    UnaryOp.CBRT: _through_f64(np.cbrt),
    UnaryOp.ERF: _each(erf),
    UnaryOp.ERFC: _each(erfc),
}


def _power(base: Value, exponent: Value, dtype: np.dtype[Any]) -> Value:
    """`base ** exponent` by the rules of IEEE 754 for every operand.

    NumPy takes a square root where the exponent is one 0.5 for all, which has another result at
    -inf and -0; an exponent for each element keeps it from that.
    """
    shape = np.broadcast_shapes(base.shape, exponent.shape)
    each = np.broadcast_to(exponent, shape or (1,)).copy()
    raised: Value = np.power(np.broadcast_to(base, each.shape), each, dtype=dtype)
    return raised.reshape(shape)


BINARY: Mapping[BinaryOp, Operator] = {
    BinaryOp.POW: _through_f64(_power),
    BinaryOp.ATAN2: _through_f64(np.arctan2),
    BinaryOp.HYPOT: _through_f64(np.hypot),
}


def fma(a: Value, b: Value, c: Value) -> Value:
    """`a * b + c`, rounded once."""
    if a.dtype == np.float64:
        return _fma_f64(a, b, c)
    product = np.multiply(a, b, dtype=np.float64)  # 24 + 24 bits: exact
    total = product + c
    # The sum is rounded to odd, not to even: its last bit then says that something was lost, and
    # narrowing to f32 cannot take a neighbour of a tie for the tie itself.
    shift = total - product
    lost = (product - (total - shift)) + (c - shift)
    even = (np.asarray(total).view(np.int64) & 1) == 0
    inexact = np.isfinite(total) & (lost != 0)
    towards = np.nextafter(total, np.copysign(np.inf, lost))
    return np.where(inexact & even, towards, total).astype(np.float32)


def _fma_one(a: float, b: float, c: float) -> float:
    if not (isfinite(a) and isfinite(b)):
        return a * b + c
    if not isfinite(c):
        return c  # even where a * b alone would overflow
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return a * b + c  # exact as well, and it has the right sign
    try:
        return float(exact)
    except OverflowError:
        return inf if exact > 0 else -inf


_FMA_EACH = np.frompyfunc(_fma_one, 3, 1)


def _fma_f64(a: Value, b: Value, c: Value) -> Value:
    return np.asarray(_FMA_EACH(a, b, c), dtype=np.float64)


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
