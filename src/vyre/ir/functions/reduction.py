"""The argument of a trigonometric function less the nearest multiple of pi / 2."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from vyre.ir.expr import BinaryOp
from vyre.ir.functions.code import Real, fma, select
from vyre.ir.functions.formats import F32, format_of, to_bits, two_sum
from vyre.ir.types import DataType

TWO_OVER_PI = 0.6366197723675814
_PI_F32 = (1.57079637050628662109375, -4.37113882867379288655e-8, -1.71512451000588187280e-15)
_PI_F64 = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
_NEAR_F32 = 2.0**15
_NEAR_F64 = 2.0**20
"""Below these three parts of pi / 2 are enough: as far as a float can be from its multiples."""

# 2 / pi in binary after a word of zeros, as `mpmath` prints it.
_WORDS_32 = (
    0x00000000,
    0xA2F9836E,
    0x4E441529,
    0xFC2757D1,
    0xF534DDC0,
    0xDB629599,
    0x3C439041,
    0xFE5163AB,
)
_WORDS_64 = (
    0x0000000000000000,
    0xA2F9836E4E441529,
    0xFC2757D1F534DDC0,
    0xDB6295993C439041,
    0xFE5163ABDEBBC561,
    0xB7246E3A424DD2E0,
    0x06492EEA09D1921C,
    0xFE1DEB1CB129A73E,
    0xE88235F52EBB4484,
    0xE99C7026B45F7E41,
    0x3991D639835339F4,
    0x9C845F8BBDF9283B,
    0x1FF897FFDE05980F,
    0xEF2F118B5A0A6D1F,
    0x6D367ECF27CB09B7,
    0x4F463F669E5FEA2D,
    0x7527BAC7EBE5F17B,
    0x3D0739F78A5292EA,
    0x6BFB5FB11F8D5D08,
    0x56033046FC7B6BAB,
)


@dataclass(frozen=True, slots=True)
class Reduced:
    """x = quadrant * pi / 2 + high + low, of whose quadrant only the lowest two bits count."""

    quadrant: Real
    high: Real
    low: Real


def pi_halves(x: Real) -> tuple[float, float]:
    """Half of pi as the sum of two floats of the type of `x`."""
    high, low, _ = _PI_F32 if format_of(x) is F32 else _PI_F64
    return high, low


def reduce(a: Real) -> Reduced:
    """`a`, which is not negative, near the nearest multiple of pi / 2."""
    form = format_of(a)
    single = form is F32
    first, second, third = _PI_F32 if single else _PI_F64
    rounded = fma(a, TWO_OVER_PI, form.magic)
    n = rounded - form.magic
    start = fma(n, -first, a)  # exact
    part = n * second
    high = start - part
    low = ((start - high) - part) + fma(n, -third, -fma(n, second, -part))
    near = Reduced(to_bits(rounded).variable(), high.variable(), low.variable())
    far = a >= (_NEAR_F32 if single else _NEAR_F64)
    with a.code.when(far):
        exact = _far_single(a) if single else _far_double(a)
        nothing = a - a  # 0, or NaN of infinity
        a.code.assign(near.quadrant, exact.quadrant)
        a.code.assign(near.high, exact.high + nothing)
        a.code.assign(near.low, exact.low)
    return near


def _far_single(a: Real) -> Reduced:
    """Payne and Hanek: only the bits of 2 / pi that the last two bits of n and r depend on."""
    bits = to_bits(a).bits(DataType.U32).cast(DataType.U64)
    place = (bits >> 23) - 120  # of the first bit that counts: what is before adds multiples of 4
    m = (bits & 0x7F_FFFF) | 0x80_0000
    words = _window(place >> 5, _WORDS_32, 4)
    shift = place & 31
    top, middle, rest = ((((left << 32) | right) << shift) >> 32 for left, right in pairwise(words))
    product = ((top * m) << 32) + middle * m + ((rest * m) >> 32)
    quadrant = (product + (1 << 61)) >> 62
    part = (product - (quadrant << 62)).bits(DataType.I64)
    r = part.cast(DataType.F64) * (_PI_F64[0] * 2.0**-62)
    high = r.cast(DataType.F32)
    low = (r - high.cast(DataType.F64)).cast(DataType.F32)
    return Reduced(quadrant.cast(DataType.I32), high, low)


def _far_double(a: Real) -> Reduced:
    """The same with words of 64 bits, and r in two floats."""
    bits = to_bits(a).bits(DataType.U64)
    place = (bits >> 52) - 1013
    m = (bits & 0xF_FFFF_FFFF_FFFF) | 0x10_0000_0000_0000
    words = _window(place >> 6, _WORDS_64, 4)
    shift = place & 63
    # In two steps, as a shift by 64 is one by 0.
    top, middle, rest = (
        (left << shift) | ((right >> 1) >> (63 - shift)) for left, right in pairwise(words)
    )
    low = middle * m
    lowest = rest.binary(BinaryOp.MUL_HIGH, m)
    fraction = low + lowest
    carry = select(fraction < low, fraction.lift(1), 0)
    product = top * m + middle.binary(BinaryOp.MUL_HIGH, m) + carry
    quadrant = (product + (1 << 61)) >> 62
    part = (product - (quadrant << 62)).bits(DataType.I64)
    real = DataType.F64
    upper = (part >> 32).cast(real) * 2.0**-30
    lower = (part & 0xFFFF_FFFF).cast(real) * 2.0**-62
    high, rest_of = two_sum(upper, lower)
    high, rest_of = two_sum(high, rest_of + (fraction >> 11).cast(real) * 2.0**-115)
    r = high * _PI_F64[0]
    tail = fma(high, _PI_F64[0], -r) + fma(high, _PI_F64[1], rest_of * _PI_F64[0])
    return Reduced(quadrant.bits(DataType.I64), r, tail)


def _window(index: Real, words: tuple[int, ...], count: int) -> list[Real]:
    """`count` words from `index` on, chosen without a table."""
    starts = len(words) - count + 1
    found = [index.lift(word) for word in words[:count]]
    for start in range(1, starts):
        here = index.eq(start)
        found = [
            select(here, index.lift(words[start + place]), word) for place, word in enumerate(found)
        ]
    return found
