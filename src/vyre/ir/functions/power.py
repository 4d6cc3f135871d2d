"""pow, cbrt and hypot.

The coefficients are from `scripts/fit_functions.py`.
"""

from __future__ import annotations

from math import inf, nan

from vyre.ir.expr import UnaryOp
from vyre.ir.functions.code import Real, at_least, at_most, fma, polynomial, select
from vyre.ir.functions.formats import (
    F64,
    format_of,
    from_bits,
    power_of_two,
    sign_of,
    to_bits,
    to_real,
    flipped,
)
from vyre.ir.types import DataType

# exp2_wide: 2^x on [-0.5, 0.5], error 2^-34.3
EXP2_WIDE = (
    1.0,
    0.6931471807045329,
    0.24022651066561124,
    0.05550410365989937,
    0.00961803813204503,
    0.0013333935056236833,
    0.00015466756323632904,
    1.5196156477064335e-05,
)
# log_wide: 2*atanh(x) on [1b-20, 0.17158], error 2^-44.9
LOG_WIDE = (
    2.0,
    0.6666666667577257,
    0.39999995631335583,
    0.2857210817224375,
    0.2217622897690391,
    0.19583584940305285,
)
_LOG2_E = 1.4426950408889634


def log2_wide(x: Real) -> Real:
    """log2 of a positive normal f64, about as exact as 2**-44."""
    bits = to_bits(x)
    e = (bits - 0x3FE6A09E667F3BCD) >> 52
    m = from_bits(bits - (e << 52))
    s = (m - 1.0) / (m + 1.0)
    return fma(polynomial(s * s, LOG_WIDE) * s, _LOG2_E, to_real(e))


def exp2_wide(x: Real) -> Real:
    """2**x in f64 for |x| < 1000, about as exact as 2**-34."""
    rounded = x + F64.magic
    r = x - (rounded - F64.magic)
    return polynomial(r, EXP2_WIDE) * power_of_two(to_bits(rounded), F64)


def _pow_single(x: Real, y: Real) -> Real:
    """|x| ** y by way of f64; |x| and y are any."""
    wide = abs(x).cast(DataType.F64)
    exponent = y.cast(DataType.F64) * log2_wide(wide)
    # NaN, of an infinite y and |x| = 1 for example, is put right by the caller.
    limited = at_least(at_most(exponent, 200.0), -200.0)
    return exp2_wide(limited).cast(DataType.F32)


def pow_single(x: Real, y: Real) -> Real:
    return _with_limits(x, y, _pow_single(x, y))


def _with_limits(x: Real, y: Real, result: Real) -> Real:
    """`result`, which is |x| ** y for positive finite x, by the rules of C for all others."""
    a = abs(x)
    is_whole = y.unary(UnaryOp.FLOOR).eq(y)
    half = y * 0.5
    is_odd = is_whole & half.unary(UnaryOp.FLOOR).ne(half)
    edge = a.eq(0.0) | a.eq(inf)
    outward = (a > 1.0).ne(y < 0.0)
    limit = select(outward, x.lift(inf), 0.0)
    result = select(edge | abs(y).eq(inf), limit, result)
    negative = sign_of(x).ne(0)
    sign = select(is_odd, sign_of(x), 0)
    result = flipped(result, sign)
    bad = negative & ~is_whole & (a > 0.0) & (a < inf)
    result = select(bad, nan, result)
    result = select(x.is_nan() | y.is_nan(), nan, result)
    one = x.eq(1.0) | y.eq(0.0) | (x.eq(-1.0) & abs(y).eq(inf))
    return select(one, 1.0, result)
