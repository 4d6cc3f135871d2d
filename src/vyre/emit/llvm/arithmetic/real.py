"""Operators on floats."""

from __future__ import annotations

from collections.abc import Mapping
from math import copysign

from vyre.emit.llvm.arithmetic.fused import fma
from vyre.emit.llvm.arithmetic.instructions import Instructions
from vyre.emit.llvm.builder import F32, F64, float_of
from vyre.emit.llvm.values import Value
from vyre.ir.expr import BinaryOp, UnaryOp
from vyre.ir.types import DataType

_PLAIN: Mapping[BinaryOp, str] = {
    BinaryOp.ADD: "fadd",
    BinaryOp.SUB: "fsub",
    BinaryOp.MUL: "fmul",
    BinaryOp.DIV: "fdiv",
}
_ROUNDED: Mapping[UnaryOp, str] = {
    UnaryOp.SQRT: "sqrt",
    UnaryOp.FLOOR: "floor",
    UnaryOp.CEIL: "ceil",
    UnaryOp.ROUND: "roundeven",
    UnaryOp.TRUNC: "trunc",
}


def binary(do: Instructions, op: BinaryOp, a: Value, b: Value) -> Value | None:
    """`a op b` of floats; None where it is a function that has a definition."""
    if op in _PLAIN:
        return do.plain(_PLAIN[op], a, b)
    match op:
        case BinaryOp.MIN | BinaryOp.MAX:
            return extreme(do, op, a, b)
        case BinaryOp.ABS_DIFF:
            return do.intrinsic("fabs", do.plain("fsub", a, b))
        case BinaryOp.COPYSIGN:
            return do.intrinsic("copysign", a, b)
        case _:
            return None


def extreme(do: Instructions, op: BinaryOp, a: Value, b: Value) -> Value:
    """The smaller or larger float: one NaN loses, and -0 is below +0."""
    before = "olt" if op is BinaryOp.MIN else "ogt"
    if _wins_ties(op, a) and not _wins_ties(op, b):
        a, b = b, a
    first = do.compare(before, a, b)
    if _wins_ties(op, b):
        return do.select(first, a, b)
    # Equal floats have the same bits, or are zeros, of which one sign or both count. Each waits for
    # the one before in a reduction: one comparison and two choices take 0.8 of what masks that are
    # joined take (2^20 f32 on a Zen 5).
    whole = DataType.I32 if a.dtype == F32 else DataType.I64
    joined = "or" if op is BinaryOp.MIN else "and"
    both = do.bits(do.plain(joined, do.bits(a, whole), do.bits(b, whole)), a.dtype)
    found = do.select(do.compare("oeq", a, b), both, do.select(first, a, b))
    return do.select(do.compare("uno", b, b), a, found)


def _wins_ties(op: BinaryOp, value: Value) -> bool:
    """Whether it is a constant that may be taken whenever the other is not before it.

    It is no NaN, and no zero that the other zero would be before.
    """
    if not value.is_constant:
        return False
    number = float_of(value.registers[0])
    return abs(number) > 0 or (number == 0 and copysign(1, number) == (-1, 1)[op is BinaryOp.MAX])


def unary(do: Instructions, op: UnaryOp, a: Value) -> Value | None:
    """`op a` of a float; None where it is a function that has a definition."""
    if op in _ROUNDED:
        return do.intrinsic(_ROUNDED[op], a)
    match op:
        case UnaryOp.NEGATE:
            kind = do.b.type(a.dtype, a.shape)
            return do.b.map(a.dtype, a.shape, lambda r: do.b.op(f"fneg {kind} {r}"), a)
        case UnaryOp.ABS:
            return do.intrinsic("fabs", a)
        case UnaryOp.SIGN:
            return _sign(do, a)
        case UnaryOp.IS_NAN:
            return do.compare("uno", a, a)
        case UnaryOp.IS_INF:
            return do.compare("oeq", do.intrinsic("fabs", a), _infinity(do, a))
        case UnaryOp.IS_FINITE:
            return do.compare("olt", do.intrinsic("fabs", a), _infinity(do, a))
        case UnaryOp.RECIPROCAL:
            return do.plain("fdiv", do.number(a.dtype, 1.0), a)
        case UnaryOp.INVERSE_SQRT:
            return _inverse_sqrt(do, a)
        case _:
            return None


def _inverse_sqrt(do: Instructions, a: Value) -> Value:
    """`1 / sqrt(a)`; of f32 rounded once, which scripts/check_rsqrt.py proves number by number."""
    if a.dtype == F32 and not do.b.parts.features.fma:
        wide = do.convert("fpext", a, F64)
        return do.convert("fptrunc", _inverse_sqrt(do, wide), F32)
    one = do.number(a.dtype, 1.0)
    near = do.plain("fdiv", one, do.intrinsic("sqrt", a))
    if a.dtype != F32:
        return near

    def minus(value: Value) -> Value:
        return unary(do, UnaryOp.NEGATE, value) or value

    product = do.plain("fmul", a, near)
    lost = fma(do, a, near, minus(product))
    rest = fma(do, minus(lost), near, fma(do, minus(product), near, one))  # 1 - a * near**2
    slope = fma(do, do.number(F32, 0.375), rest, do.number(F32, 0.5))
    nearest = fma(do, do.plain("fmul", near, rest), slope, near)
    usual = do.compare("olt", do.intrinsic("fabs", rest), one)  # not of 0, infinity and NaN
    return do.select(usual, nearest, near)


def _infinity(do: Instructions, a: Value) -> Value:
    return do.number(a.dtype, float("inf"))


def _sign(do: Instructions, a: Value) -> Value:
    zero = do.number(a.dtype, 0)
    rest = do.select(do.compare("oeq", a, zero), zero, a)  # NaN stays
    rest = do.select(do.compare("olt", a, zero), do.number(a.dtype, -1.0), rest)
    return do.select(do.compare("ogt", a, zero), do.number(a.dtype, 1.0), rest)
