"""sinh, cosh and tanh.

The coefficients are from `scripts/fit_functions.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, nan

from vyre.ir.functions import exponential
from vyre.ir.functions.code import Real, at_most, fma, polynomial, select, sqrt
from vyre.ir.functions.formats import F32, format_of, power_of_two, sign_of, with_sign
from vyre.ir.functions.logarithm import sum_log

# tanh_f32: tanh(x) on [1b-20, 0.625], error 2^-27.7
TANH_F32 = (-0.3333328, 0.13331416, -0.05373794, 0.020634118, -0.005700092)
# sinh_f32: sinh(x) on [1b-20, 0.34665], error 2^-34.1
SINH_F32 = (0.16666667, 0.008333192, 0.00019958479)
# cosh_f32: cosh(x) on [1b-20, 0.34665], error 2^-33.3
COSH_F32 = (0.5, 0.04166646, 0.001393542)
# tanh_f64: tanh(x) on [1b-20, 0.625], error 2^-61.2
TANH_F64 = (
    -0.33333333333333315,
    0.13333333333329966,
    -0.05396825396615323,
    0.02186948847080388,
    -0.008863234340338467,
    0.0035921142371675204,
    -0.001455727298669684,
    0.0005894569740575024,
    -0.000237024924123099,
    9.157987188863248e-05,
    -3.0207371497610835e-05,
    6.0507809015570265e-06,
)
# sinh_f64: sinh(x) on [1b-20, 0.34665], error 2^-64.8
SINH_F64 = (
    0.16666666666666666,
    0.008333333333334211,
    0.00019841269838348776,
    2.7557323653319722e-06,
    2.5048969911275623e-08,
    1.6912281931200639e-10,
)
# cosh_f64: cosh(x) on [1b-20, 0.34665], error 2^-70.0
COSH_F64 = (
    0.5,
    0.041666666666666685,
    0.0013888888888873331,
    2.480158734902539e-05,
    2.755725202891047e-07,
    2.092169009431236e-09,
)


def tanh(x: Real) -> Real:
    """Near 0 a polynomial, beyond it 1 - 2 / (e**2x + 1)."""
    form = format_of(x)
    a = abs(x)
    square = a * a
    near = fma(polynomial(square, TANH_F32 if form is F32 else TANH_F64) * square, a, a)
    clamped = at_most(a, 10.0 if form is F32 else 20.0)
    far = 1.0 - 2.0 / (exponential.exp_normal(clamped + clamped) + 1.0)
    return with_sign(select(a < 0.625, near, far), sign_of(x))


@dataclass(frozen=True, slots=True)
class _Parts:
    """Half of 2**n and of 2**-n, r, sinh r - r, and cosh r - 1, for x = n ln 2 + r.

    Both halves are halved again: the result can be finite where e**x is not.
    """

    grow: Real
    shrink: Real
    r: Real
    odd: Real
    even: Real


def _parts(a: Real) -> _Parts:
    form = format_of(a)
    whole, r, lost = exponential.reduce(at_most(a, exponential.family(a).highest_half))
    square = r * r
    sinh_terms, cosh_terms = (SINH_F32, COSH_F32) if form is F32 else (SINH_F64, COSH_F64)
    odd = fma(polynomial(square, sinh_terms), square * r, lost)
    even = polynomial(square, cosh_terms) * square
    # 2**-n is nothing beside 2**n long before it is subnormal.
    shrink = power_of_two(0 - whole, form, -2)
    shrink = select(a < form.mantissa + 3.0, shrink, 0.0)
    return _Parts(power_of_two(whole, form, -2), shrink, r, odd, even)


def sinh(x: Real) -> Real:
    """The hyperbolic sine, by its theorem of addition."""
    a = abs(x)
    at = _parts(a)
    plus, minus = at.grow + at.shrink, at.grow - at.shrink
    lost = (at.grow - minus) - at.shrink
    half = fma(plus, at.r, fma(minus, at.even, fma(plus, at.odd, lost))) + minus
    result = with_sign(half + half, sign_of(x))
    return select(a < 2.0 ** -(format_of(x).mantissa // 2 + 1), x, result)


def cosh(x: Real) -> Real:
    """The hyperbolic cosine, by its theorem of addition."""
    at = _parts(abs(x))
    plus, minus = at.grow + at.shrink, at.grow - at.shrink
    lost = (at.grow - plus) + at.shrink
    half = fma(minus, at.r, fma(plus, at.even, fma(minus, at.odd, lost))) + plus
    return half + half


def asinh(x: Real) -> Real:
    """The inverse of sinh: log(a + sqrt(a a + 1)), written so that little a keep their bits."""
    form = format_of(x)
    a = abs(x)
    huge = a > 2.0 ** (form.mantissa // 2 + 4)
    square = select(huge, a.lift(0.0), a * a)
    more = square / (sqrt(square + 1.0) + 1.0)
    u = a + more
    result = sum_log(select(huge, u.lift(0.0), 1.0), u, (a - u) + more, huge)
    result = select(a < inf, result, a)
    return with_sign(select(a < 2.0 ** -(form.mantissa // 2 + 2), a, result), sign_of(x))


def acosh(x: Real) -> Real:
    """The inverse of cosh for x >= 1: log(1 + t + sqrt(t t + 2 t)) with t = x - 1."""
    form = format_of(x)
    huge = x > 2.0 ** (form.mantissa // 2 + 4)
    t = select(huge, x.lift(0.0), x - 1.0)
    double, square = t + t, t * t
    inner = double + square
    root = sqrt(inner)
    # The logarithm of nearly 1 shows all that the root and what is under it were rounded by.
    less = ((double - inner) + square) + fma(-root, root, inner)
    less = select(t > 0.0, less * (0.5 / root), 0.0)
    root = select(huge, x, root)
    u = root + t
    result = sum_log(select(huge, u.lift(0.0), 1.0), u, ((root - u) + t) + less, huge)
    result = select(x < inf, result, x)
    return select(x < 1.0, nan, result)


def atanh(x: Real) -> Real:
    """The inverse of tanh: half of log(1 + 2 a / (1 - a))."""
    form = format_of(x)
    a = abs(x)
    double = a + a
    rest = 1.0 - a
    near = a < 0.5
    quotient = select(near, a, 1.0) / rest * double
    u = select(near, double + quotient, quotient)
    lost = select(near, (double - u) + quotient, 0.0)
    result = sum_log(u.lift(1.0), u, lost) * 0.5
    result = select(a.eq(1.0), inf, result)
    result = select(a > 1.0, nan, result)
    return with_sign(select(a < 2.0 ** -(form.mantissa // 2 + 2), a, result), sign_of(x))
