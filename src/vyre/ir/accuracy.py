"""How far the functions that devices round differently may be from the exact value."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from vyre.ir.expr import BinaryOp, UnaryOp

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
        BinaryOp.POW: 16,
        BinaryOp.ATAN2: 6,
    }
)
"""The most units in the last place of f32, on any device: what the OpenCL full profile promises.

Every operator that is not here is exact, or rounded once as IEEE 754 says.
"""
