"""The argument of a trigonometric function less the nearest multiple of pi / 2."""

from __future__ import annotations

from dataclasses import dataclass

from vyre.ir.functions.code import Real, fma, select
from vyre.ir.functions.formats import F32, format_of, to_bits
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


@dataclass(frozen=True, slots=True)
class Reduced:
    """x = quadrant * pi / 2 + high + low, of whose quadrant only the lowest two bits count."""

    quadrant: Real
    high: Real
    low: Real


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
    top, middle, rest = (
        (((left << 32) | right) << shift) >> 32
        for left, right in zip(words, words[1:], strict=False)
    )
    product = ((top * m) << 32) + middle * m + ((rest * m) >> 32)
    quadrant = (product + (1 << 61)) >> 62
    part = (product - (quadrant << 62)).bits(DataType.I64)
    r = part.cast(DataType.F64) * (_PI_F64[0] * 2.0**-62)
    high = r.cast(DataType.F32)
    low = (r - high.cast(DataType.F64)).cast(DataType.F32)
    return Reduced(quadrant.cast(DataType.I32), high, low)


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
