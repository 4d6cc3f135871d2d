"""Which operators have a definition, and how exact each is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from vyre.ir.expr import BinaryOp, Expr, UnaryOp, Var
from vyre.ir.functions import (
    exponential,
    hyperbolic,
    inverse,
    logarithm,
    power,
    remainder,
    special,
    trigonometry,
)
from vyre.ir.functions.code import Code, Real
from vyre.ir.node import Let, Node
from vyre.ir.types import DataType
from vyre.ir.walk import all_expressions, expressions


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
    UnaryOp.EXP: (exponential.exp, 1.1),
    UnaryOp.EXP2: (exponential.exp2, 1.0),
    UnaryOp.EXPM1: (exponential.expm1, 1.5),
    UnaryOp.LOG: (logarithm.log, 1.0),
    UnaryOp.LOG2: (logarithm.log2, 1.25),
    UnaryOp.LOG10: (logarithm.log10, 1.0),
    UnaryOp.LOG1P: (logarithm.log1p, 1.0),
    UnaryOp.SIN: (trigonometry.sin, 1.25),
    UnaryOp.COS: (trigonometry.cos, 1.25),
    UnaryOp.TAN: (trigonometry.tan, 1.25),
    UnaryOp.TANH: (hyperbolic.tanh, 1.5),
    UnaryOp.SINH: (hyperbolic.sinh, 1.25),
    UnaryOp.COSH: (hyperbolic.cosh, 1.0),
    UnaryOp.ASINH: (hyperbolic.asinh, 1.25),
    UnaryOp.ACOSH: (hyperbolic.acosh, 1.0),
    UnaryOp.ATANH: (hyperbolic.atanh, 1.25),
    UnaryOp.ASIN: (inverse.asin, 1.25),
    UnaryOp.ACOS: (inverse.acos, 1.25),
    UnaryOp.ATAN: (inverse.atan, 1.25),
    BinaryOp.ATAN2: (inverse.atan2, 1.75),
    UnaryOp.CBRT: (power.cbrt, 0.75),
    BinaryOp.HYPOT: (power.hypot_single, 0.75),
    BinaryOp.MOD: (remainder.fmod, 0.0),
    BinaryOp.FLOOR_MOD: (remainder.floor_mod, 0.0),
    BinaryOp.FLOOR_DIV: (remainder.floor_div, 0.0),
    BinaryOp.COPYSIGN: (remainder.copysign, 0.0),
    UnaryOp.ERF: (special.erf_single, 1.25),
    UnaryOp.ERFC: (special.erfc, 1.75),
    BinaryOp.POW: (power.pow_single, 0.75),
}
_DOUBLE: Mapping[Op, tuple[Function, float]] = {
    UnaryOp.EXP: (exponential.exp, 1.1),
    UnaryOp.EXP2: (exponential.exp2, 1.0),
    UnaryOp.EXPM1: (exponential.expm1, 1.5),
    UnaryOp.LOG: (logarithm.log, 1.0),
    UnaryOp.LOG2: (logarithm.log2, 1.25),
    UnaryOp.LOG10: (logarithm.log10, 1.0),
    UnaryOp.LOG1P: (logarithm.log1p, 1.0),
    UnaryOp.SIN: (trigonometry.sin, 1.25),
    UnaryOp.COS: (trigonometry.cos, 1.25),
    UnaryOp.TAN: (trigonometry.tan, 1.5),
    UnaryOp.ASIN: (inverse.asin, 1.25),
    UnaryOp.ACOS: (inverse.acos, 1.25),
    UnaryOp.ATAN: (inverse.atan, 1.5),
    UnaryOp.SINH: (hyperbolic.sinh, 1.25),
    UnaryOp.COSH: (hyperbolic.cosh, 1.25),
    UnaryOp.TANH: (hyperbolic.tanh, 1.5),
    UnaryOp.ASINH: (hyperbolic.asinh, 1.25),
    UnaryOp.ACOSH: (hyperbolic.acosh, 1.25),
    UnaryOp.ATANH: (hyperbolic.atanh, 1.25),
    UnaryOp.CBRT: (power.cbrt, 0.75),
    UnaryOp.ERF: (special.erf_double, 1.25),
    UnaryOp.ERFC: (special.erfc, 1.75),
    BinaryOp.POW: (power.pow_double, 1.25),
    BinaryOp.ATAN2: (inverse.atan2, 1.75),
    BinaryOp.HYPOT: (power.hypot_double, 0.75),
    BinaryOp.MOD: (remainder.fmod, 0.0),
    BinaryOp.FLOOR_MOD: (remainder.floor_mod, 0.0),
    BinaryOp.FLOOR_DIV: (remainder.floor_div, 0.0),
    BinaryOp.COPYSIGN: (remainder.copysign, 0.0),
}

_TABLES = {DataType.F32: _SINGLE, DataType.F64: _DOUBLE}

ULP: Mapping[tuple[Op, DataType], float] = MappingProxyType(
    {(op, dtype): bound for dtype, table in _TABLES.items() for op, (_, bound) in table.items()}
)
"""The most units in the last place that the result of a definition is from the exact value.

Measured, and rounded up: f32 functions of one argument over all of 2**-14 <= |x| < 2**7 and every
41st of the others, f64 functions and those of two arguments over 10,000,000 drawn arguments.
"""


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
    return Definition(names, _needed(code.body, result.expr), result.expr)


def _needed(body: tuple[Node, ...], result: Expr) -> tuple[Node, ...]:
    """The statements without the names that nothing reads."""
    used = {part.name for part in expressions(result) if isinstance(part, Var)}
    kept = []
    for node in reversed(body):
        if isinstance(node, Let) and node.name not in used:
            continue
        kept.append(node)
        used |= {part.name for part in all_expressions([node]) if isinstance(part, Var)}
    return tuple(reversed(kept))
