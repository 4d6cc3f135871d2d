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


def family(x: Real) -> Logarithm:
    """The constants for the type of `x`."""
    return SINGLE if x.dtype == DataType.F32 else DOUBLE


def split(x: Real) -> tuple[Real, Real]:
    """The exponent e as an integer and 1 + r, for normal `x`."""
    form = format_of(x)
    bits = to_bits(x)
    e = (bits - family(x).root_half) >> form.mantissa
    return e, from_bits(bits - (e << form.mantissa))


def combined(e: Real, r: Real, base: Base) -> Real:
    """log(2**e * (1 + r)) to a base."""
    of = family(r)
    tail = polynomial(r, of.polynomial) * (r * r)
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
    return _logarithm(x, family(x).natural)


def log2(x: Real) -> Real:
    return _logarithm(x, family(x).binary)


def log10(x: Real) -> Real:
    return _logarithm(x, family(x).decimal)


def log1p(x: Real) -> Real:
    form = format_of(x)
    u, lost = two_sum(x.lift(1.0), x)
    e, m = split(u)
    r = fma(lost, _inverse_power(e, form), m - 1.0)
    result = combined(to_real(e), r, family(x).natural)
    result = select(x < inf, result, x)
    result = select(x.eq(-1.0), -inf, result)
    result = select(x < -1.0, nan, result)
    return select(abs(x) < 2.0 ** -(form.mantissa + 2), x, result)


def _inverse_power(e: Real, form: Format) -> Real:
    """2.0 ** -e, but not subnormal: what is scaled is nothing beside 1 long before."""
    return power_of_two(0 - e.binary(BinaryOp.MIN, form.bias - 1), form)
