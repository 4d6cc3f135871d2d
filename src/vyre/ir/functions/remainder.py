"""fmod, and the quotient and remainder of flooring division, all exact, and copysign."""

from __future__ import annotations

from math import inf, nan

from vyre.ir.expr import Binary, BinaryOp, Lit, UnaryOp
from vyre.ir.functions.code import Real, fma, select
from vyre.ir.functions.formats import (
    F64,
    Format,
    format_of,
    power_of_two,
    sign_of,
    to_bits,
    with_sign,
)
from vyre.ir.types import DataType


def copysign(x: Real, y: Real) -> Real:
    """The magnitude of x with the sign of y."""
    return with_sign(abs(x), sign_of(y))


def fmod(x: Real, y: Real) -> Real:
    """What a whole multiple of y leaves of x: of the sign of x, and less than |y|."""
    form = format_of(x)
    a, b = abs(x), abs(y)
    quotient = (a / b).unary(UnaryOp.TRUNC)
    rest = fma(-quotient, b, a)  # exact, and negative where the quotient was rounded up
    result = select(rest < 0.0, rest + b, rest).variable()
    far = (quotient >= 2.0**form.mantissa) & (a < inf) & (b > 0.0)
    with x.code.when(far):
        x.code.assign(result, _long_division(a, b, form))
    result = select(b.eq(inf) & (a < inf), a, result)
    result = select(b.eq(0.0) | a.eq(inf), nan, result)
    return with_sign(result, sign_of(x))


def _long_division(a: Real, b: Real, form: Format) -> Real:
    """The remainder of whole mantissas, with as many bits of the dividend at a time as fit."""
    top, power = _mantissa(a, form)
    bottom, less = _mantissa(b, form)
    rest = (top % bottom).variable()
    left = (power - less).variable()
    code = a.code
    with code.while_(Binary(BinaryOp.GT, left.expr, Lit.of(left.dtype, 0))):
        shift = left.binary(BinaryOp.MIN, 63 - form.mantissa)
        code.assign(rest, (rest << shift.bits(DataType.U64)) % bottom)
        code.assign(left, left - shift)
    # Scaled in two steps, as one power of two may be too small to be a float.
    exponent = less - (form.bias + form.mantissa)
    half = exponent >> 1
    scaled = rest.bits(DataType.I64).cast(DataType.F64) * power_of_two(half, F64)
    return (scaled * power_of_two(exponent - half, F64)).cast(form.dtype)


def _mantissa(a: Real, form: Format) -> tuple[Real, Real]:
    """A positive float as a whole number and the exponent that goes with it."""
    bits = to_bits(a).cast(DataType.I64)
    exponent = bits >> form.mantissa
    stored = bits & ((1 << form.mantissa) - 1)
    normal = exponent > 0
    whole = select(normal, stored | (1 << form.mantissa), stored)
    return whole.bits(DataType.U64), select(normal, exponent, 1)


def floor_mod(x: Real, y: Real) -> Real:
    """What a whole multiple of y leaves of x: of the sign of y."""
    return _floored(fmod(x, y), y)[0]


def _floored(rest: Real, y: Real) -> tuple[Real, Real]:
    """The remainder of flooring from that of truncating, and whether they differ."""
    zero = rest.eq(0.0)
    differ = (rest < 0.0).ne(y < 0.0) & ~zero
    moved = select(differ, rest + y, rest)
    return select(zero, copysign(rest, y), moved), differ


def floor_div(x: Real, y: Real) -> Real:
    """The largest whole number not above x / y."""
    rest = fmod(x, y)
    _, differ = _floored(rest, y)
    quotient = (x - rest) / y
    quotient = select(differ, quotient - 1.0, quotient)
    floor = quotient.unary(UnaryOp.FLOOR)
    floor = select(quotient - floor > 0.5, floor + 1.0, floor)
    plain = x / y
    result = select(quotient.eq(0.0), copysign(x.lift(0.0), plain), floor)
    return select(y.eq(0.0), plain, result)
