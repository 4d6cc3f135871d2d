"""What definitions give at zeros, infinities, NaN, subnormals and the ends of their domains.

They are as NumPy's, and those of C: to the sign of a zero, and NaN wherever NumPy has NaN.
"""

import math

import numpy as np
import pytest

from vyre.ir.expr import BinaryOp, UnaryOp
from vyre.ir.storage import STORAGE
from vyre.ir.types import DataType
from vyre.testing.accuracy import DOUBLE, evaluate

FLOATS = (DataType.F32, DataType.F64)
INF, NAN = math.inf, math.nan
UNARY = [op for op in DOUBLE if isinstance(op, UnaryOp)]
BINARY = [op for op in DOUBLE if isinstance(op, BinaryOp)]


def values(dtype):
    """The numbers at which functions have something special to say."""
    ends = np.finfo(STORAGE[dtype])
    least, most = float(ends.smallest_subnormal), float(ends.max)
    positive = [0.0, least, 3 * least, float(ends.tiny), 1e-20, 0.5, 1.0, 1.5, 2.0, 3.0, 8.0]
    positive += [1 + float(ends.eps), 1 - float(ends.epsneg), 20.0, 2.0**40, most, INF]
    return np.array([*positive, *(-x for x in positive), NAN], STORAGE[dtype])


def agrees(found, expected):
    """Specials to the bit, other numbers to some digits, subnormals to a unit."""
    special = np.isnan(expected) | np.isinf(expected) | (expected == 0)
    same = (found == expected) & (np.signbit(found) == np.signbit(expected))
    same |= np.isnan(found) & np.isnan(expected)
    unit = np.finfo(expected.dtype).smallest_subnormal
    with np.errstate(all="ignore"):
        near = np.abs(found - expected) <= 4 * np.finfo(expected.dtype).eps * np.abs(expected)
        near |= np.abs(found - expected) <= unit
    return np.where(special, same, near)


def by_numpy(op, *given):
    with np.errstate(all="ignore"):
        wide = DOUBLE[op](*(argument.astype(np.float64) for argument in given))
        return wide.astype(given[0].dtype)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("op", UNARY, ids=lambda op: op.name.lower())
def test_a_function_has_the_special_values_of_numpy(op, dtype):
    given = values(dtype)
    found, expected = evaluate(op, dtype, given), by_numpy(op, given)
    wrong = ~agrees(found, expected)

    assert wrong.sum() == 0, list(zip(given[wrong], found[wrong], expected[wrong], strict=True))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("op", BINARY, ids=lambda op: op.name.lower())
def test_a_function_of_two_numbers_has_the_special_values_of_numpy(op, dtype):
    a, b = (grid.ravel().copy() for grid in np.meshgrid(values(dtype), values(dtype)))
    found, expected = evaluate(op, dtype, a, b), by_numpy(op, a, b)
    wrong = ~agrees(found, expected)

    cases = zip(a[wrong], b[wrong], found[wrong], expected[wrong], strict=True)
    assert wrong.sum() == 0, list(cases)
