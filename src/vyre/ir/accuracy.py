"""How far the functions that devices round differently may be from the exact value.

Devices that compile the definitions of `vyre.ir.functions` come closer, to `functions.ULP`.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from types import MappingProxyType

from vyre.ir.expr import BinaryOp, UnaryOp
from vyre.ir.functions import ULP
from vyre.ir.types import DataType

ULP_BOUND: Mapping[UnaryOp | BinaryOp, int] = MappingProxyType(
    {
        UnaryOp.EXP: 3,
        UnaryOp.EXP2: 3,
        UnaryOp.LOG: 3,
        UnaryOp.LOG2: 3,
        UnaryOp.SIN: 4,
        UnaryOp.COS: 4,
        UnaryOp.TAN: 5,
        UnaryOp.ASIN: 4,
        UnaryOp.ACOS: 4,
        UnaryOp.ATAN: 5,
        UnaryOp.SINH: 4,
        UnaryOp.COSH: 4,
        UnaryOp.TANH: 5,
        UnaryOp.LOG10: 3,
        UnaryOp.LOG1P: 2,
        UnaryOp.EXPM1: 3,
        UnaryOp.ASINH: 4,
        UnaryOp.ACOSH: 4,
        UnaryOp.ATANH: 5,
        UnaryOp.CBRT: 2,
        UnaryOp.ERF: 16,
        UnaryOp.ERFC: 16,
        BinaryOp.POW: 16,
        BinaryOp.ATAN2: 6,
        BinaryOp.HYPOT: 4,
    }
)
"""The most units in the last place of f32, on any device: what the OpenCL full profile promises.

Every operator that is not here is exact, or rounded once as IEEE 754 says.
"""


def apart_at_most(op: UnaryOp | BinaryOp, dtype: DataType) -> int:
    """How many units a device's own function and the reference's definition can be apart."""
    return ceil(ULP_BOUND[op] + ULP[op, dtype])
