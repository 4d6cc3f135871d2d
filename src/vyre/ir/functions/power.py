"""pow, cbrt and hypot.

The coefficients are from `scripts/fit_functions.py`.
"""

from __future__ import annotations

from math import inf, nan

from vyre.ir.expr import UnaryOp
from vyre.ir.functions.code import Real, at_least, at_most, fma, polynomial, select, sqrt
from vyre.ir.functions.exponential import EXP2_F64
from vyre.ir.functions.formats import (
    F32,
    F64,
    flipped,
    format_of,
    from_bits,
    power_of_two,
    scaled,
    sign_of,
    to_bits,
    to_real,
    with_sign,
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
_LOG2_E_LOW = 2.0355273740931033e-17
_LN2 = 0.6931471805599453
_THIRDS = (0.6666666666666666, 3.700743415417188e-17)  # 2/3


def log2_wide(x: Real) -> Real:
    """The logarithm to base 2 of a positive f32 in f64, about as exact as 2**-44."""
    bits = to_bits(x)
    e = (bits - 0x3FE6A09E667F3BCD) >> 52
    m = from_bits(bits - (e << 52))
    s = (m - 1.0) / (m + 1.0)
    return fma(polynomial(s * s, LOG_WIDE) * s, _LOG2_E, to_real(e))


def exp2_wide(x: Real) -> Real:
    """The power x of 2 in f64 for |x| < 1000, about as exact as 2**-34."""
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
    """The power y of x by way of f64, whose digits more than suffice."""
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


# cbrt: x^(-1/3) on [0.5, 1], error 2^-14.7
CBRT = (
    2.1040757,
    -2.955468,
    3.5050035,
    -2.2299302,
    0.57635665,
)
# log_tail_f64: 2*atanh(x) on [1b-20, 0.17158], error 2^-73.5
LOG_TAIL_F64 = (
    0.3999999999999998,
    0.2857142857144381,
    0.2222222221780144,
    0.18181818842363326,
    0.1538455854462676,
    0.13336260008917294,
    0.11675870567022816,
    0.11981023629830176,
)


def cbrt(x: Real) -> Real:
    """The cube root: a guess at x**(-1/3), refined, and the root corrected by what it lacks."""
    form = format_of(x)
    a = abs(x)
    small = a < form.least_normal
    up = 3 * ((form.mantissa + 3) // 3)
    bits = to_bits(select(small, a * 2.0**up, a))
    e = (bits >> form.mantissa) - (form.bias - 1)
    m = from_bits((bits & ((1 << form.mantissa) - 1)) | ((form.bias - 1) << form.mantissa))
    e = e - select(small, e.lift(up), 0)
    # e = 3 third + over with over of -1, 0, 1
    rounded = fma(to_real(e), 1.0 / 3.0, form.magic)
    third = to_bits(rounded)
    over = to_real(e) - (rounded - form.magic) * 3.0
    m = m * select(over > 0.0, m.lift(2.0), select(over < 0.0, m.lift(0.5), 1.0))
    scale = select(
        over > 0.0, m.lift(2.0 ** (-1 / 3)), select(over < 0.0, m.lift(2.0 ** (1 / 3)), 1.0)
    )
    base = m * select(over > 0.0, m.lift(0.5), select(over < 0.0, m.lift(2.0), 1.0))
    r = polynomial(base, CBRT) * scale
    for _ in range(1 if form is F32 else 2):
        wrong = fma(-(m * r), r * r, 1.0)
        r = fma(r * wrong, fma(wrong, 2.0 / 9.0, 1.0 / 3.0), r)
    square = r * r
    y = m * square
    y_square = y * y
    left = fma(-y_square, y, m) - fma(y, y, -y_square) * y
    y = fma(left, square * (1.0 / 3.0), y)
    result = with_sign(y * power_of_two(third, form), sign_of(x))
    return select(a.eq(0.0) | ~(a < inf), x, result)


def hypot_single(x: Real, y: Real) -> Real:
    """The length of (x, y), by way of f64, which has room for the squares."""
    wide_x, wide_y = x.cast(DataType.F64), y.cast(DataType.F64)
    return _length(x, y, sqrt(fma(wide_x, wide_x, wide_y * wide_y)).cast(DataType.F32))


def hypot_double(x: Real, y: Real) -> Real:
    """The length of (x, y), scaled where the squares would leave the range."""
    a, b = abs(x), abs(y)
    long, short = select(a > b, a, b), select(a > b, b, a)
    big, small = long > 2.0**500, long < 2.0**-500
    down = select(big, x.lift(2.0**-600), select(small, x.lift(2.0**600), 1.0))
    up = select(big, x.lift(2.0**600), select(small, x.lift(2.0**-600), 1.0))
    long, short = long * down, short * down
    most, least = long * long, short * short
    total = most + least
    lost = ((most - total) + least) + (fma(long, long, -most) + fma(short, short, -least))
    root = sqrt(total)
    lost = fma(-root, root, total) + lost
    return _length(x, y, select(root.eq(0.0), root, fma(lost, 0.5 / root, root)) * up)


def _length(x: Real, y: Real, result: Real) -> Real:
    """The result, but infinity where either is infinite even if the other is NaN."""
    return select(abs(x).eq(inf) | abs(y).eq(inf), inf, result)


def _log2_pair(x: Real) -> tuple[Real, Real]:
    """The logarithm to base 2 of a positive f64 in two floats, about as exact as 2**-65."""
    small = x < F64.least_normal
    bits = to_bits(select(small, x * 2.0**54, x))
    e = (bits - 0x3FE6A09E667F3BCD) >> 52
    m = from_bits(bits - (e << 52))
    e = e - select(small, e.lift(54), 0)
    over, under = m - 1.0, m + 1.0
    inverse = 1.0 / under
    s = over * inverse
    s_low = (fma(-s, under, over) - s * (m - (under - 1.0))) * inverse
    square = s * s
    square_low = fma(s, s, -square) + 2.0 * s * s_low
    cube = square * s
    cube_low = fma(square, s, -cube) + fma(square, s_low, square_low * s)
    inner = polynomial(square, LOG_TAIL_F64)
    part = square * inner
    part_low = fma(square, inner, -part) + square_low * inner
    weight = part + _THIRDS[0]
    weight_low = ((_THIRDS[0] - weight) + part) + (part_low + _THIRDS[1])
    term = cube * weight
    term_low = fma(cube, weight, -term) + fma(cube, weight_low, cube_low * weight)
    double = s + s
    high = double + term
    low = ((double - high) + term) + (term_low + (s_low + s_low))
    scaled_high = high * _LOG2_E
    scaled_low = fma(high, _LOG2_E, -scaled_high) + fma(high, _LOG2_E_LOW, low * _LOG2_E)
    whole = to_real(e)
    total = whole + scaled_high
    rest = ((whole - total) + scaled_high) + scaled_low
    result = total + rest
    return result, (total - result) + rest


def pow_double(x: Real, y: Real) -> Real:
    """The power y of x, with its exponent in two floats."""
    high, low = _log2_pair(abs(x))
    product = y * high
    rest = fma(y, high, -product) + y * low
    wild = ~(abs(product) < 1100.0)
    limit = at_least(at_most(product, 1100.0), -1100.0)
    rest = select(wild, 0.0, rest)
    rounded = limit + F64.magic
    r = limit - (rounded - F64.magic)
    slope = polynomial(r, EXP2_F64)
    less = fma(slope, r, 1.0) * (rest * _LN2)
    power = fma(slope, r, less) + 1.0
    return _with_limits(x, y, scaled(power, to_bits(rounded)))
