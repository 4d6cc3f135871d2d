"""Operators of the language as LLVM's: the same bits on every processor."""

from __future__ import annotations

from collections.abc import Mapping

from vyre.emit.llvm.arithmetic import real, whole
from vyre.emit.llvm.arithmetic.instructions import Instructions
from vyre.emit.llvm.values import Value
from vyre.ir.expr import BinaryOp, UnaryOp
from vyre.ir.typing import COMPARISONS

_COMPARED: Mapping[BinaryOp, tuple[str, str, str]] = {  # floats, signed, unsigned
    BinaryOp.EQ: ("oeq", "eq", "eq"),
    BinaryOp.NE: ("une", "ne", "ne"),
    BinaryOp.LT: ("olt", "slt", "ult"),
    BinaryOp.GT: ("ogt", "sgt", "ugt"),
    BinaryOp.LE: ("ole", "sle", "ule"),
    BinaryOp.GE: ("oge", "sge", "uge"),
}


def binary(do: Instructions, op: BinaryOp, a: Value, b: Value) -> Value | None:
    """`a op b`; None where it is a function that has a definition."""
    dtype = a.dtype
    if op in COMPARISONS:
        names = _COMPARED[op]
        place = 0 if dtype.is_float else 1 if dtype.is_signed else 2
        return do.compare(names[place], a, b)
    return real.binary(do, op, a, b) if dtype.is_float else whole.binary(do, op, a, b)


def unary(do: Instructions, op: UnaryOp, a: Value) -> Value | None:
    """`op a`; None where it is a function that has a definition."""
    if op is UnaryOp.LOGICAL_NOT:
        return do.b.neither(a)
    return real.unary(do, op, a) if a.dtype.is_float else whole.unary(do, op, a)
