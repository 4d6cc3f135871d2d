"""The exact operators: what integers, comparisons and IEEE 754 leave no choice about.

A value is a NumPy array with an element per lane, or of no dimension where all lanes agree.
Operators keep the operand's own type, and expect NumPy's floating-point warnings to be off.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vyre.ir.expr import BinaryOp, UnaryOp

Value = NDArray[Any]
Operator = Callable[..., Value]


def is_float(value: Value) -> bool:
    """Whether a value is of a float type."""
    return value.dtype.kind == "f"


def _bits(value: Value) -> int:
    return value.dtype.itemsize * 8


def _unsigned(value: Value) -> Value:
    """The same bits as an unsigned integer of the same width."""
    return value.view(f"u{value.dtype.itemsize}")


def _by_number(whole: Operator, real: Operator) -> Operator:
    """An operator that is one function on whole numbers and another on floats."""

    def operator(a: Value, b: Value) -> Value:
        return real(a, b) if is_float(a) else whole(a, b)

    return operator


def _divides(quotient: Operator, by_minus_one: Operator) -> Operator:
    """Whole-number division made total: 0 where `b` is 0, and INT_MIN / -1 wraps."""

    def divide(a: Value, b: Value) -> Value:
        one = a.dtype.type(1)
        zero = b == 0
        minus = b == -1 if a.dtype.kind == "i" else np.False_
        odd = zero | minus
        if not odd.any():
            return quotient(a, b)
        found = quotient(a, np.where(odd, one, b))
        return np.where(zero, a.dtype.type(0), np.where(minus, by_minus_one(a), found))

    return divide


def _truncating(a: Value, b: Value) -> Value:
    if a.dtype.kind == "u":
        return a // b
    return (a - np.fmod(a, b)) // b


def _nothing_left(a: Value) -> Value:
    return np.zeros_like(a)


def _minimum(a: Value, b: Value) -> Value:
    first = (a < b) | np.isnan(b) | ((a == b) & np.signbit(a))
    return np.where(first, a, b)


def _maximum(a: Value, b: Value) -> Value:
    first = (a > b) | np.isnan(b) | ((a == b) & np.signbit(b))
    return np.where(first, a, b)


def _count(a: Value, b: Value) -> Value:
    """A shift count: masked by the width of what is shifted, and of its type."""
    count: Value = b & b.dtype.type(_bits(a) - 1)
    return count.astype(a.dtype)


def _shift_left(a: Value, b: Value) -> Value:
    return np.left_shift(a, _count(a, b))


def _shift_right(a: Value, b: Value) -> Value:
    return np.right_shift(a, _count(a, b))


def _rotate_left(a: Value, b: Value) -> Value:
    bits = _unsigned(a)
    count = _count(bits, b)
    back = (bits.dtype.type(0) - count) & bits.dtype.type(_bits(a) - 1)
    turned: Value = (bits << count) | (bits >> back)
    return turned.view(a.dtype)


def _rotate_right(a: Value, b: Value) -> Value:
    return _rotate_left(a, b.dtype.type(0) - (b & b.dtype.type(_bits(a) - 1)))


def mul_high(a: Value, b: Value) -> Value:
    """The upper half of the exact product."""
    bits = _bits(a)
    if bits < 64:
        wide = a.dtype.kind + "8"
        product = a.astype(wide) * b.astype(wide)
        upper: Value = product >> product.dtype.type(bits)
        return upper.astype(a.dtype)
    x, y = _unsigned(a), _unsigned(b)
    half, low = np.uint64(32), np.uint64(0xFFFF_FFFF)
    cross = (x & low) * (y >> half)
    middle = (x >> half) * (y & low) + (((x & low) * (y & low)) >> half)
    carry = (middle & low) + (cross & low)
    high: Value = (x >> half) * (y >> half) + (middle >> half) + (cross >> half) + (carry >> half)
    if a.dtype.kind == "i":  # a negative operand counted as itself plus 2**64
        high = high - np.where(a < 0, y, np.uint64(0)) - np.where(b < 0, x, np.uint64(0))
    return high.view(a.dtype)


def _saturated(a: Value, negative: Value) -> Value:
    """The end of the type's range that an overflow runs into."""
    ends = np.iinfo(a.dtype)
    end: Value = np.where(negative, a.dtype.type(ends.min), a.dtype.type(ends.max))
    return end


def _sat_add(a: Value, b: Value) -> Value:
    total = a + b
    over = total < a if a.dtype.kind == "u" else ((a ^ total) & (b ^ total)) < 0
    return np.where(over, _saturated(a, a < 0), total)


def _sat_sub(a: Value, b: Value) -> Value:
    rest = a - b
    if a.dtype.kind == "u":
        return np.where(a < b, a.dtype.type(0), rest)
    return np.where(((a ^ b) & (a ^ rest)) < 0, _saturated(a, a < 0), rest)


def _sat_mul(a: Value, b: Value) -> Value:
    low, high = a * b, mul_high(a, b)
    fits = high == (0 if a.dtype.kind == "u" else low >> a.dtype.type(_bits(a) - 1))
    return np.where(fits, low, _saturated(a, (a < 0) != (b < 0)))


def _whole_difference(a: Value, b: Value) -> Value:
    return np.where(a > b, a - b, b - a)


def _real_difference(a: Value, b: Value) -> Value:
    difference: Value = np.abs(a - b)
    return difference


def _reverse(a: Value) -> Value:
    bits = _unsigned(a)
    kind = bits.dtype.type
    everything = (1 << _bits(a)) - 1
    step = _bits(a) // 2
    while step:
        lower = kind(everything // ((1 << step) + 1))  # `step` ones, `step` zeros, and so on
        bits = ((bits >> kind(step)) & lower) | ((bits & lower) << kind(step))
        step //= 2
    return bits.view(a.dtype)


def _ones(bits: Value, dtype: np.dtype[Any]) -> Value:
    return np.bitwise_count(bits).astype(dtype)


def _popcount(a: Value) -> Value:
    return _ones(_unsigned(a), a.dtype)


def _leading_zeros(a: Value) -> Value:
    bits = _unsigned(a)
    step = 1
    while step < _bits(a):
        bits = bits | (bits >> bits.dtype.type(step))
        step *= 2
    return _ones(~bits, a.dtype)


def _trailing_zeros(a: Value) -> Value:
    bits = _unsigned(a)
    return _ones(~bits & (bits - bits.dtype.type(1)), a.dtype)


def _reciprocal(a: Value) -> Value:
    quotient: Value = np.divide(a.dtype.type(1), a)
    return quotient


def _inverse_sqrt(a: Value) -> Value:
    """Of f32 rounded once: by way of f64 no f32 is rounded to another (scripts/check_rsqrt.py)."""
    if a.dtype != np.float32:
        return _reciprocal(np.sqrt(a))
    return _reciprocal(np.sqrt(a, dtype=np.float64)).astype(np.float32)


BINARY: Mapping[BinaryOp, Operator] = {
    BinaryOp.ADD: np.add,
    BinaryOp.SUB: np.subtract,
    BinaryOp.WRAP_ADD: np.add,
    BinaryOp.WRAP_SUB: np.subtract,
    BinaryOp.MUL: np.multiply,
    BinaryOp.DIV: _by_number(_divides(_truncating, np.negative), np.divide),
    BinaryOp.MOD: _by_number(_divides(np.fmod, _nothing_left), np.fmod),
    BinaryOp.FLOOR_DIV: _by_number(_divides(np.floor_divide, np.negative), np.floor_divide),
    BinaryOp.FLOOR_MOD: _by_number(_divides(np.mod, _nothing_left), np.mod),
    BinaryOp.BIT_AND: np.bitwise_and,
    BinaryOp.BIT_OR: np.bitwise_or,
    BinaryOp.BIT_XOR: np.bitwise_xor,
    BinaryOp.SHL: _shift_left,
    BinaryOp.SHR: _shift_right,
    BinaryOp.ROT_L: _rotate_left,
    BinaryOp.ROT_R: _rotate_right,
    BinaryOp.EQ: np.equal,
    BinaryOp.NE: np.not_equal,
    BinaryOp.LT: np.less,
    BinaryOp.GT: np.greater,
    BinaryOp.LE: np.less_equal,
    BinaryOp.GE: np.greater_equal,
    BinaryOp.AND: np.logical_and,
    BinaryOp.OR: np.logical_or,
    BinaryOp.ABS_DIFF: _by_number(_whole_difference, _real_difference),
    BinaryOp.MIN: _by_number(np.minimum, _minimum),
    BinaryOp.MAX: _by_number(np.maximum, _maximum),
    BinaryOp.SAT_ADD: _sat_add,
    BinaryOp.SAT_SUB: _sat_sub,
    BinaryOp.SAT_MUL: _sat_mul,
    BinaryOp.MUL_HIGH: mul_high,
    BinaryOp.COPYSIGN: np.copysign,
}

UNARY: Mapping[UnaryOp, Operator] = {
    UnaryOp.NEGATE: np.negative,
    UnaryOp.BIT_NOT: np.invert,
    UnaryOp.LOGICAL_NOT: np.logical_not,
    UnaryOp.POPCOUNT: _popcount,
    UnaryOp.CLZ: _leading_zeros,
    UnaryOp.CTZ: _trailing_zeros,
    UnaryOp.REVERSE_BITS: _reverse,
    UnaryOp.ABS: np.abs,
    UnaryOp.SIGN: np.sign,
    UnaryOp.SQRT: np.sqrt,
    UnaryOp.FLOOR: np.floor,
    UnaryOp.CEIL: np.ceil,
    UnaryOp.ROUND: np.rint,
    UnaryOp.TRUNC: np.trunc,
    UnaryOp.IS_NAN: np.isnan,
    UnaryOp.IS_INF: np.isinf,
    UnaryOp.IS_FINITE: np.isfinite,
    UnaryOp.RECIPROCAL: _reciprocal,
    UnaryOp.INVERSE_SQRT: _inverse_sqrt,
}
