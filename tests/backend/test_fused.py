"""The reference's fused multiply-add against exact fractions."""

from fractions import Fraction
from math import inf, isfinite, nan

import numpy as np
import pytest

from vyre.backend.reference.fused import fma

COUNT = 3_000


def exact(a, b, c):
    """`a * b + c` of Python floats, rounded once."""
    if not (isfinite(a) and isfinite(b)):
        return a * b + c
    if not isfinite(c):
        return c  # even where a * b alone would overflow
    total = Fraction(a) * Fraction(b) + Fraction(c)
    if total == 0:
        return a * b + c  # exact as well, and it has the right sign
    try:
        return float(total)
    except OverflowError:
        return inf if total > 0 else -inf


def spread(rng, low, high):
    """Floats of some exponents; half of them have few bits, which makes ties."""
    mantissa = rng.integers(0, 1 << 52, COUNT)
    cut = np.where(rng.random(COUNT) < 0.5, rng.integers(0, 53, COUNT), 0)
    mantissa = (mantissa >> cut) << cut
    size = np.ldexp(1 + mantissa / 2**52, rng.integers(low, high, COUNT))
    return size * rng.choice((-1.0, 1.0), COUNT)


def any_bits(rng):
    return [rng.integers(0, 1 << 64, COUNT, dtype=np.uint64).view(np.float64) for _ in range(3)]


def special(rng):
    numbers = [0.0, 1.0, inf, 5e-324, 2.0**-1022, 1.7976931348623157e308, 2.0**-537, 3 * 2.0**-538]
    choices = np.array([*numbers, *(-x for x in numbers), nan])
    return [rng.choice(choices, COUNT) for _ in range(3)]


def cancelling(rng):
    a, b = spread(rng, -30, 30), spread(rng, -30, 30)
    return a, b, -(a * b) * (1 + rng.choice((0, 2.0**-52, -(2.0**-52), 2.0**-30), COUNT))


CASES = {
    "any bits": any_bits,
    "special": special,
    "cancelling": cancelling,
    "near": lambda rng: (spread(rng, -1, 2), spread(rng, -1, 2), spread(rng, -110, 60)),
    "ties": lambda rng: (
        spread(rng, -3, 3),
        np.ldexp(1.0, -53 - rng.integers(0, 3, COUNT)),
        spread(rng, -3, 3),
    ),
    "subnormal": lambda rng: (
        spread(rng, -540, -500),
        spread(rng, -540, -500),
        spread(rng, -1074, -1015),
    ),
    "subnormal of one": lambda rng: (
        spread(rng, -3, 3),
        spread(rng, -1074, -1018),
        spread(rng, -1074, -1000),
    ),
    "overflowing": lambda rng: (
        spread(rng, 500, 520),
        spread(rng, 490, 515),
        spread(rng, 1000, 1023),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_fma_of_f64_rounds_once(case):
    a, b, c = CASES[case](np.random.default_rng(3))
    expected = np.array(
        [exact(*each) for each in zip(a.tolist(), b.tolist(), c.tolist(), strict=True)]
    )
    with np.errstate(all="ignore"):
        found = fma(a, b, c)
    wrong = found.view(np.uint64) != expected.view(np.uint64)
    wrong &= ~(np.isnan(found) & np.isnan(expected))

    assert wrong.sum() == 0, (a[wrong][0], b[wrong][0], c[wrong][0])


def nearest_single(total: Fraction) -> float:
    """The f32 next to a fraction, ties to even, by way of whole numbers of its last unit."""
    if total == 0:
        return 0.0
    size = abs(total)
    power = size.numerator.bit_length() - size.denominator.bit_length()
    power -= size < Fraction(2) ** power
    unit = Fraction(2) ** max(power - 23, -149)
    value = float(round(size / unit) * unit)
    value = inf if value >= 2.0**128 else value
    return value if total > 0 else -value


@pytest.mark.parametrize("low", [-3, -70, -78, 60])
def test_the_fma_of_f32_rounds_once(low):
    rng = np.random.default_rng(5)
    a, b = (spread(rng, low, low + 5).astype(np.float32) for _ in range(2))
    c = spread(rng, 2 * low - 30, 2 * low + 30).clip(-3e38, 3e38).astype(np.float32)
    expected = [
        nearest_single(Fraction(x) * Fraction(y) + Fraction(z))
        for x, y, z in zip(*map(np.ndarray.tolist, (a, b, c)), strict=True)
    ]
    with np.errstate(all="ignore"):
        found = fma(a, b, c)

    assert found.tolist() == expected


def test_an_fma_of_what_all_lanes_share_is_shared():
    for kind in (np.float32, np.float64):
        a = np.asarray(kind(1) + np.finfo(kind).eps)
        found = fma(a, a, np.asarray(kind(-1)))

        assert found.ndim == 0
        assert float(found) == float(2 * np.finfo(kind).eps + np.finfo(kind).eps ** 2)
