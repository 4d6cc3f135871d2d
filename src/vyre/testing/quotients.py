"""Whether quotients by one divisor's reciprocal round as a division does, by whole numbers alone.

A dividend is `X / 2**23`, a divisor `Y / 2**23`, both in [1, 2): others are those times powers of
2, and exponents leave room. What is rounded last is at most 2**-46 away from the quotient, so it
can only round elsewhere where a midpoint of two numbers is as near: where `X * 2**24` or, of less
than 1, `X * 2**25` is next to an odd number times `Y`. Such dividends are found, not searched for.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]
Floats = NDArray[np.float32]
FIRST, LAST = 1 << 23, 1 << 24
"""The first of the mantissas, and the end of them."""

NEXT = 8
"""How near `X * 2**24` or `X * 2**25` is to a midpoint's product, to be looked at.

A step of it is more than 2**-48 or 2**-49 of the quotient. In front of the last rounding is the
quotient but for a reciprocal's error, at most 2**-25, times `y`, times what `q` is away, and for
what a remainder of 25 bits loses: at most 2**-46 for those from 1 on, and 7 * 2**-49 below.
"""


def reciprocals(y: Whole) -> Whole:
    """`1 / y` to the nearest, in units of 2**-24."""
    found: Whole = ((1 << 48) // y + 1) // 2
    return found


def nearest(x: Whole, y: Whole) -> Whole:
    """`x / y` to the nearest, in units of 2**-24."""
    step = np.where(x < y, 1, 2)  # numbers from 1 are twice as far apart
    whole, rest = np.divmod(x * (1 << 24), y * step)
    found: Whole = (whole + (2 * rest > y * step)) * step  # no quotient is a midpoint
    return found


def by_reciprocal(x: Whole, y: Whole) -> Whole:
    """What emitted code makes of them, in units of 2**-24.

    >>> by_reciprocal(np.array([3 << 22]), np.array([5 << 21])) / 2**24  # 1.5 / 1.25
    array([1.20000005])
    """
    inverse = reciprocals(y)
    q = _rounded(np.zeros_like(x), x * inverse, 23)
    rest = _in_24_bits(x * (1 << 24) - q * y)
    return _rounded(q, rest * inverse, 47)


def _rounded(whole: Whole, part: Whole, bits: int) -> Whole:
    """`whole + part / 2**bits`, of units of 2**-24, as the nearest number; ties to even."""
    floor, rest = whole + (part >> bits), part & ((1 << bits) - 1)
    double = floor >= LAST
    base = np.where(double, floor & ~1, floor)
    rest = rest + np.where(double, (floor & 1) << bits, 0)
    half = np.where(double, 1 << bits, 1 << (bits - 1))
    step = np.where(double, 2, 1)
    up = (rest > half) | ((rest == half) & (base // step % 2 == 1))
    found: Whole = base + np.where(up, step, 0)
    return found


def _in_24_bits(rest: Whole) -> Whole:
    """A remainder as an f32: of 25 bits the last is rounded away, ties to even."""
    size = np.abs(rest)
    assert (size < 1 << 25).all(), "a remainder has 25 bits at most"
    odd = (size > LAST) & (size % 2 == 1)
    size = np.where(odd, size + np.where(size % 4 == 3, 1, -1), size)
    found: Whole = np.sign(rest) * size
    return found


def hard_dividends(y: Whole) -> Iterator[tuple[Whole, Whole]]:
    """All dividends in [1, 2) whose quotient by one of `y` is next to a midpoint, with those `y`.

    `M * Y` is so many short of `X * 2**bits`, with `M` odd and of 25 bits: `M` is found by the
    inverse of an odd `Y` modulo that power of 2; of an even one, each bit leaves two.
    """
    twos = np.zeros_like(y)
    for bit in range(NEXT.bit_length()):
        twos += y % (2 << bit) == 0
    for two in range(NEXT.bit_length()):
        some = y[twos == two]
        odd = some >> two
        inverse = odd.copy()  # right to 3 bits, then to 6, 12, 24 and 48
        for _ in range(4):
            inverse = inverse * (2 - odd * inverse & 0x3FFFFFF) & 0x3FFFFFF
        for bits in (24, 25):
            modulus = 1 << (bits - two)
            for short in range(-NEXT, NEXT + 1):
                if short == 0 or short % (1 << two) or (short >> two) % 2 == 0:
                    continue
                least = (-(short >> two) * inverse) % modulus
                for start in range(LAST, 2 * LAST, modulus):
                    midpoint = start + (least - start) % modulus
                    x = (midpoint * some + short) >> bits
                    right = (midpoint < 2 * LAST) & (x >= FIRST) & (x < LAST)
                    right &= (x < some) == (bits == 25)
                    yield x[right], some[right]


def wrong(y: Whole) -> list[tuple[int, int]]:
    """Dividends next to a midpoint, and divisors, whose quotient is another one."""
    found = []
    for x, by in hard_dividends(y):
        off = by_reciprocal(x, by) != nearest(x, by)
        found += list(zip(x[off].tolist(), by[off].tolist(), strict=True))
    return found


def drawn(random: np.random.Generator) -> tuple[Floats, Floats]:
    """Dividends and divisors of all exponents, the ends of the range among them, and near 1."""
    ends = [0.0, -0.0, 1.0, -3.0, np.inf, -np.inf, np.nan, 1e-45, -1e-38, 3e38, 2.0**-100, 2.0**100]
    of_all = random.integers(0, 1 << 32, 1_000, dtype=np.uint32).view(np.float32)
    near = (random.random(1_000, np.float32) + 1) * (1 << 20)
    x = np.concatenate([np.array(ends, np.float32), of_all, near])
    by = np.concatenate([np.array(ends, np.float32), of_all[-100:], near[-100:]])
    return x, by
