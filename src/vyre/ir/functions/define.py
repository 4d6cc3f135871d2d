"""Which operators have a definition, and how exact each is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from vyre.ir.expr import BinaryOp, Expr, UnaryOp
from vyre.ir.functions import exponential, hyperbolic, logarithm, power, special, trigonometry
from vyre.ir.functions.code import Code, Real
from vyre.ir.node import Node
from vyre.ir.types import DataType


@dataclass(frozen=True, slots=True)
class Definition:
    """A function as statements that bind names and an expression for its result.

    The statements are `Let`, `Assign`, `If` and `While` of exact operators and fused
    multiply-adds alone: every device that is exact about those computes the same bits.
    """

    parameters: tuple[str, ...]
    body: tuple[Node, ...]
    result: Expr


Op = UnaryOp | BinaryOp
Function = Callable[..., Real]

_SINGLE: Mapping[Op, tuple[Function, float]] = {
    UnaryOp.EXP: (exponential.exp, 1.0),
    UnaryOp.EXP2: (exponential.exp2, 1.0),
    UnaryOp.EXPM1: (exponential.expm1, 1.5),
    UnaryOp.LOG: (logarithm.log, 1.0),
    UnaryOp.LOG2: (logarithm.log2, 1.0),
    UnaryOp.LOG10: (logarithm.log10, 1.0),
    UnaryOp.LOG1P: (logarithm.log1p, 1.5),
    UnaryOp.SIN: (trigonometry.sin, 1.0),
    UnaryOp.COS: (trigonometry.cos, 1.5),
    UnaryOp.TAN: (trigonometry.tan, 1.0),
    UnaryOp.TANH: (hyperbolic.tanh, 1.5),
    UnaryOp.SINH: (hyperbolic.sinh, 1.5),
    UnaryOp.COSH: (hyperbolic.cosh, 1.5),
    UnaryOp.ERF: (special.erf_single, 1.5),
    BinaryOp.POW: (power.pow_single, 1.0),
}
_DOUBLE: Mapping[Op, tuple[Function, float]] = {}

_TABLES = {DataType.F32: _SINGLE, DataType.F64: _DOUBLE}

ULP: Mapping[tuple[Op, DataType], float] = MappingProxyType(
    {(op, dtype): bound for dtype, table in _TABLES.items() for op, (_, bound) in table.items()}
)
"""The most units in the last place that the result of a definition is from the exact value."""


@cache
def definition(op: Op, dtype: DataType) -> Definition | None:
    """How to compute `op` of operands of `dtype`; None where it needs no definition."""
    found = _TABLES.get(dtype, {}).get(op)
    if found is None:
        return None
    function, _ = found
    code = Code()
    names = ("x",) if isinstance(op, UnaryOp) else ("x", "y")
    result = function(*(code.parameter(name, dtype) for name in names))
    return Definition(names, code.body, result.expr)
