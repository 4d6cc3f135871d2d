"""sinh, cosh and tanh.

The coefficients are from `scripts/fit_functions.py`.
"""

from __future__ import annotations

from vyre.ir.functions import exponential
from vyre.ir.functions.code import Real, at_most, fma, polynomial, select
from vyre.ir.functions.formats import F32, format_of, power_of_two, sign_of, with_sign

# tanh_f32: tanh(x) on [1b-20, 0.625], error 2^-27.7
TANH_F32 = (-0.3333328, 0.13331416, -0.05373794, 0.020634118, -0.005700092)
# sinh_f32: sinh(x) on [1b-20, 0.34665], error 2^-34.1
SINH_F32 = (0.16666667, 0.008333192, 0.00019958479)
# cosh_f32: cosh(x) on [1b-20, 0.34665], error 2^-33.3
COSH_F32 = (0.5, 0.04166646, 0.001393542)


def tanh(x: Real) -> Real:
    form = format_of(x)
    a = abs(x)
    square = a * a
    near = fma(polynomial(square, TANH_F32) * square, a, a)
    clamped = at_most(a, 10.0 if form is F32 else 20.0)
    far = 1.0 - 2.0 / (exponential.exp_normal(clamped + clamped) + 1.0)
    return with_sign(select(a < 0.625, near, far), sign_of(x))


def _halves(a: Real) -> tuple[Real, Real, Real, Real]:
    """A quarter of 2**n + 2**-n and of 2**n - 2**-n, sinh r, and cosh r - 1.

    A quarter, because the result can be finite where e**a is not.
    """
    form = format_of(a)
    clamped = at_most(a, exponential.family(a).highest + 1.0)
    whole, _, r = exponential.reduce(clamped)
    square = r * r
    sinh_terms, cosh_terms = (SINH_F32, COSH_F32) if form is F32 else (SINH_F64, COSH_F64)
    odd = fma(polynomial(square, sinh_terms), square * r, r)
    even = polynomial(square, cosh_terms) * square
    grow = power_of_two(whole, form, -2)
    # 2**-n is nothing beside 2**n long before it is subnormal.
    shrink = power_of_two(0 - whole, form, -2)
    shrink = select(a < form.mantissa + 3.0, shrink, 0.0)
    return grow + shrink, grow - shrink, odd, even


def sinh(x: Real) -> Real:
    a = abs(x)
    plus, minus, odd, even = _halves(a)
    half = fma(minus, even, plus * odd) + minus
    result = with_sign(half + half, sign_of(x))
    return select(a < 2.0 ** -(format_of(x).mantissa // 2 + 1), x, result)


def cosh(x: Real) -> Real:
    plus, minus, odd, even = _halves(abs(x))
    half = fma(plus, even, minus * odd) + plus
    return half + half
