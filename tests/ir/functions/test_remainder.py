"""The exact definitions: remainders, flooring division and the copied sign."""

import math

import numpy as np
import pytest

from vyre.backend.reference.functions import run
from vyre.ir.expr import BinaryOp
from vyre.ir.functions import definition
from vyre.ir.storage import STORAGE
from vyre.ir.types import DataType

INF, NAN = math.inf, math.nan
FLOATS = (DataType.F32, DataType.F64)
BY_NUMPY = {
    BinaryOp.MOD: np.fmod,
    BinaryOp.FLOOR_MOD: np.mod,
    BinaryOp.FLOOR_DIV: np.floor_divide,
    BinaryOp.COPYSIGN: np.copysign,
}
SPECIALS = [0.0, 1.0, 2.0, 3.0, 0.5, 7.25, 0.1, 0.3, 1e-40, 5e-324, 1e30, 3.4e38, INF]


def pairs(dtype):
    """Dividends and divisors: special ones, any bits, near multiples and far apart."""
    rng, kind, count = np.random.default_rng(7), STORAGE[dtype], 4000
    specials = np.array([*SPECIALS, *(-x for x in SPECIALS), NAN]).astype(kind)
    yield tuple(grid.ravel().copy() for grid in np.meshgrid(specials, specials))
    bits = rng.integers(0, 1 << dtype.bits, (2, count), dtype=f"u{kind.itemsize}").view(kind)
    yield tuple(bits)
    yield (rng.normal(size=count) * 100).astype(kind), rng.normal(size=count).astype(kind)
    divisor = rng.normal(size=count).astype(kind)
    yield divisor * rng.integers(1, 1 << 20, count).astype(kind), divisor
    apart = rng.integers(0, np.finfo(kind).nmant + 8, count)
    top = np.ldexp(rng.uniform(1, 2, count), rng.integers(-100, 100, count))
    yield top.astype(kind), np.ldexp(top * rng.uniform(0.5, 1, count), -apart).astype(kind)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("op", BY_NUMPY, ids=lambda op: op.name.lower())
def test_an_exact_definition_has_the_bits_of_numpy(op, dtype):
    bits = f"u{STORAGE[dtype].itemsize}"
    with np.errstate(all="ignore"):
        for a, b in pairs(dtype):
            found, expected = run(definition(op, dtype), a, b), BY_NUMPY[op](a, b)
            wrong = (found.view(bits) != expected.view(bits)) & ~(
                np.isnan(found) & np.isnan(expected)
            )

            cases = zip(a[wrong], b[wrong], found[wrong], expected[wrong], strict=True)
            assert wrong.sum() == 0, list(cases)[:3]


def test_a_remainder_is_exact_across_the_whole_range_of_exponents():
    largest, least = np.finfo(np.float64).max, 3 * 5e-324
    with np.errstate(all="ignore"):
        found = run(definition(BinaryOp.MOD, DataType.F64), np.array([largest]), np.array([least]))

    assert found.tolist() == [math.fmod(largest, least)]
