"""Definitions keep the bounds that are stated for them, on a seeded share of all arguments.

`scripts/function_accuracy.py` tries more of them, or all.
"""

import numpy as np
import pytest

from vyre.ir.expr import UnaryOp
from vyre.ir.functions import ULP
from vyre.ir.types import DataType
from vyre.testing.accuracy import DOUBLE, arguments, errors, evaluate

COUNT = 6_000


def worst(op, dtype, *given):
    found = evaluate(op, dtype, *given)
    with np.errstate(all="ignore"):
        exact = DOUBLE[op](*(argument.astype(np.float64) for argument in given))
    away = errors(found, exact)
    place = int(np.argmax(away))
    return float(away[place]), [float(argument[place]) for argument in given]


@pytest.mark.parametrize("op", DOUBLE, ids=lambda op: op.name.lower())
def test_an_f32_function_keeps_its_bound(op):
    given = arguments(op, DataType.F32, COUNT, np.random.default_rng(20))
    away, where = worst(op, DataType.F32, *given)

    assert away <= ULP[op, DataType.F32], where


@pytest.mark.parametrize("op", DOUBLE, ids=lambda op: op.name.lower())
def test_an_f64_function_is_as_near_to_another_library_as_both_bounds_allow(op):
    given = arguments(op, DataType.F64, COUNT, np.random.default_rng(21))
    away, where = worst(op, DataType.F64, *given)

    assert away <= ULP[op, DataType.F64] + 2, where


HARD_F64 = {  # exact values to 25 digits
    UnaryOp.SIN: [(1e22, -0.8522008497671888017727706), (6381956970095103 * 2.0**797, 1.0)],
    UnaryOp.COS: [
        (1e22, 0.5232147853951389454975944),
        (6381956970095103 * 2.0**797, -4.687165924254627611122e-19),
    ],
    UnaryOp.TAN: [(1.5707963267948966, 1.633123935319536975596774e16)],
    UnaryOp.EXP: [(-745.13, 5e-324), (709.782712893384, 1.797693134862273196746681e308)],
    UnaryOp.LOG: [(5e-324, -744.4400719213812), (1.0000000000000002, 2.220446049250312834e-16)],
}


@pytest.mark.parametrize("op", HARD_F64, ids=lambda op: op.name.lower())
def test_hard_arguments_of_f64_come_out_right(op):
    given = np.array([x for x, _ in HARD_F64[op]])
    exact = np.array([y for _, y in HARD_F64[op]])

    assert errors(evaluate(op, DataType.F64, given), exact).max() <= ULP[op, DataType.F64] + 0.5
