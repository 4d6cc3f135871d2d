"""log, log2, log10 and log1p.

x = 2**e (1 + r) with sqrt(1/2) <= 1 + r < sqrt(2); log(1 + r) is a polynomial.
The coefficients are from `scripts/fit_functions.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, nan

from vyre.ir.expr import BinaryOp
from vyre.ir.functions.code import Real, fma, polynomial, select
from vyre.ir.functions.formats import (
    Format,
    format_of,
    from_bits,
    power_of_two,
    to_bits,
    to_real,
    two_sum,
)
from vyre.ir.types import DataType

# log_f32: log1p(x) on [-0.2929, 0.41422], error 2^-30.3
LOG_F32 = (
    -0.5,
    0.33333313,
    -0.25000012,
    0.20002073,
    -0.16667852,
    0.1422023,
    -0.12408278,
    0.11886325,
    -0.11660118,
    0.06731994,
)
# log_f64: log1p(x) on [-0.2929, 0.41422], error 2^-59.3
LOG_F64 = (
    -0.5,
    0.33333333333333454,
    -0.24999999999998926,
    0.199999999999458,
    -0.16666666666912985,
    0.14285714293873436,
    -0.12499999982163434,
    0.11111110514520943,
    -0.10000000375583123,
    0.09090933544735876,
    -0.08333345995304764,
    0.07691713968026359,
    -0.07141995809308428,
    0.06675149961145166,
    -0.06269845762091615,
    0.0581781449359097,
    -0.053265391594699146,
    0.054155551818874804,
    -0.06275431676249055,
    0.05698270439715122,
    -0.024285317568491088,
)


@dataclass(frozen=True, slots=True)
class Base:
    """A base b: log 2 and log e to it, each as the sum of two floats."""

    of_two: tuple[float, float]
    of_e: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Logarithm:
    """What the functions of this family need for one float type."""

    polynomial: tuple[float, ...]  # log(1 + r) = r + r * r * polynomial
    root_half: int  # the bits of sqrt(1/2)
    natural: Base
    binary: Base
    decimal: Base


SINGLE = Logarithm(
    polynomial=LOG_F32,
    root_half=0x3F3504F3,
    natural=Base((0.693147182464599609375, -1.9046542121259335545e-9), (1.0, 0.0)),
    binary=Base((1.0, 0.0), (1.44269502162933349609375, 1.9259630335000110790e-8)),
    decimal=Base(
        (0.3010300099849700927734375, -1.4320988839244819246e-8),
        (0.4342944920063018798828125, -1.0103049952192577621e-8),
    ),
)

DOUBLE = Logarithm(
    polynomial=LOG_F64,
    root_half=0x3FE6A09E667F3BCD,
    natural=Base((0.6931471805599453, 2.3190468138462996e-17), (1.0, 0.0)),
    binary=Base((1.0, 0.0), (1.4426950408889634, 2.0355273740931033e-17)),
    decimal=Base(
        (0.3010299956639812, -2.8037281277851704e-18), (0.4342944819032518, 1.098319650216765e-17)
    ),
)


def family(x: Real) -> Logarithm:
    """The constants for the type of `x`."""
    return SINGLE if x.dtype == DataType.F32 else DOUBLE


def split(x: Real) -> tuple[Real, Real]:
    """The exponent e as an integer and 1 + r, for normal `x`."""
    form = format_of(x)
    bits = to_bits(x)
    e = (bits - family(x).root_half) >> form.mantissa
    return e, from_bits(bits - (e << form.mantissa))


def combined(e: Real, r: Real, base: Base, less: Real | None = None) -> Real:
    """The logarithm of 2**e (1 + r + less) to a base; `less` is nothing beside r."""
    of = family(r)
    tail = polynomial(r, of.polynomial) * (r * r)
    if less is not None:
        tail = tail + fma(-r, less, less)
    high, low = r, tail
    if base.of_e != (1.0, 0.0):
        one, rest = base.of_e
        high = r * one
        low = fma(tail, one, fma(r, rest, fma(r, one, -high)))
    two, rest = base.of_two
    total = fma(e, two, high)
    lost = fma(e, two, -total) + high
    if rest:
        low = fma(e, rest, low)
    return total + (lost + low)


def _with_limits(x: Real, result: Real) -> Real:
    """The result with those at 0, infinity and NaN, and below 0."""
    result = select(x < inf, result, x)
    result = select(x.eq(0.0), -inf, result)
    return select(x < 0.0, nan, result)


def _logarithm(x: Real, base: Base) -> Real:
    form = format_of(x)
    small = x < form.least_normal
    up = form.mantissa + 1
    e, m = split(select(small, x * 2.0**up, x))
    e = e - select(small, e.lift(up), 0)
    return _with_limits(x, combined(to_real(e), m - 1.0, base))


def log(x: Real) -> Real:
    """The natural logarithm."""
    return _logarithm(x, family(x).natural)


def log2(x: Real) -> Real:
    """The logarithm to base 2."""
    return _logarithm(x, family(x).binary)


def log10(x: Real) -> Real:
    """The logarithm to base 10."""
    return _logarithm(x, family(x).decimal)


def log1p(x: Real) -> Real:
    """The natural logarithm of 1 + x."""
    form = format_of(x)
    result = sum_log(x.lift(1.0), x)
    result = select(x < inf, result, x)
    result = select(x.eq(-1.0), -inf, result)
    result = select(x < -1.0, nan, result)
    return select(abs(x) < 2.0 ** -(form.mantissa + 2), x, result)


def sum_log(a: Real, b: Real, rest: Real | None = None, double: Real | None = None) -> Real:
    """The natural logarithm of a + b + rest, which is normal; of twice that where `double`.

    `rest` is nothing beside b.
    """
    form = format_of(a)
    u, lost = two_sum(a, b)
    if rest is not None:
        lost = lost + rest
    e, m = split(u)
    start = m - 1.0
    more = lost * _inverse_power(e, form)
    r = start + more
    less = (start - r) + more
    if double is not None:
        e = e + select(double, e.lift(1), 0)
    return combined(to_real(e), r, family(a).natural, less)


def _inverse_power(e: Real, form: Format) -> Real:
    """2.0 ** -e, but not subnormal: what is scaled is nothing beside 1 long before."""
    return power_of_two(0 - e.binary(BinaryOp.MIN, form.bias - 1), form)
