"""Division of whole numbers: total, and by the vector where a processor can."""

from __future__ import annotations

from vyre.emit.llvm.arithmetic.instructions import Instructions
from vyre.emit.llvm.builder import F32, F64
from vyre.emit.llvm.values import Shape, Value
from vyre.ir.expr import BinaryOp

DIVISIONS = (BinaryOp.DIV, BinaryOp.MOD, BinaryOp.FLOOR_DIV, BinaryOp.FLOOR_MOD)


def divide(do: Instructions, op: BinaryOp, a: Value, b: Value) -> Value:
    """Total division: 0 where `b` is 0, and the lowest number by -1 wraps."""
    dtype = a.dtype
    zero, one = do.number(dtype, 0), do.number(dtype, 1)
    of_zero = do.compare("eq", b, zero)
    safe = do.select(of_zero, one, b)
    wants_quotient = op in (BinaryOp.DIV, BinaryOp.FLOOR_DIV)
    floors = op in (BinaryOp.FLOOR_DIV, BinaryOp.FLOOR_MOD) and dtype.is_signed
    if dtype.is_signed:
        by_minus = do.compare("eq", b, do.number(dtype, -1))
        safe = do.select(by_minus, one, safe)
    whole = quotient(do, a, safe)
    rest = do.plain("sub", a, do.plain("mul", whole, safe))
    if floors:
        apart = do.plain("xor", a, safe)
        signs = do.compare("slt", apart, zero)
        down = do.plain("and", signs, do.compare("ne", rest, zero))
        whole = do.select(down, do.plain("sub", whole, one), whole)
        rest = do.select(down, do.plain("add", rest, safe), rest)
    found = whole if wants_quotient else rest
    if dtype.is_signed:
        wrapped = do.plain("sub", zero, a) if wants_quotient else zero
        found = do.select(by_minus, wrapped, found)
    return do.select(of_zero, zero, found)


def quotient(do: Instructions, a: Value, b: Value) -> Value:
    """`a / b` toward 0, for a `b` that is neither 0 nor -1.

    Processors divide whole numbers one by one, floats by the vector. A quotient of numbers of
    32 bits that is no whole number is further from one than an f64 can round it.
    """
    dtype = a.dtype
    signed = dtype.is_signed
    by_lane = a.shape is Shape.UNIFORM and b.shape is Shape.UNIFORM
    wide = do.b.parts.features.vector_bytes >= 64
    if by_lane or b.is_constant or dtype.bits == 64 or not (signed or wide or dtype.bits < 32):
        return do.plain("sdiv" if signed else "udiv", a, b)
    real = F32 if dtype.bits < 32 else F64
    to_real, back = ("sitofp", "fptosi") if signed else ("uitofp", "fptoui")
    x, y = (do.convert(to_real, part, real) for part in (a, b))
    return do.convert(back, do.plain("fdiv", x, y), dtype)
