"""A product and a sum rounded once, also on processors that have no such instruction."""

from __future__ import annotations

from vyre.emit.llvm.arithmetic.instructions import Instructions
from vyre.emit.llvm.builder import F32, F64
from vyre.emit.llvm.values import Value
from vyre.ir.types import DataType


def fma(do: Instructions, a: Value, b: Value, c: Value) -> Value:
    """`a * b + c` rounded once, also where the processor has no such instruction.

    LLVM calls the C library there, lane by lane; an f32 is quicker through f64, whose sum is
    rounded to odd so that narrowing it cannot round twice.
    """
    if do.b.parts.features.fma or a.dtype == F64:
        return do.intrinsic("fma", a, b, c)
    x, y, z = (do.convert("fpext", part, F64) for part in (a, b, c))
    product = do.plain("fmul", x, y)  # exact: 24 + 24 bits
    total = do.plain("fadd", product, z)
    shift = do.plain("fsub", total, product)
    lost = do.plain(
        "fadd",
        do.plain("fsub", product, do.plain("fsub", total, shift)),
        do.plain("fsub", z, shift),
    )
    whole = DataType.I64
    bits = do.bits(total, whole)
    even = do.compare("eq", do.plain("and", bits, do.number(whole, 1)), do.number(whole, 0))
    size = do.intrinsic("fabs", total)
    finite = do.compare("olt", size, do.number(F64, float("inf")))
    inexact = do.plain("and", finite, do.compare("one", lost, do.number(F64, 0.0)))
    # A step away from 0 is one up in the pattern, whatever the sign.
    apart = do.plain("xor", bits, do.bits(lost, whole))
    toward_zero = do.compare("slt", apart, do.number(whole, 0))
    step = do.select(toward_zero, do.number(whole, -1), do.number(whole, 1))
    odd = do.bits(do.plain("add", bits, step), F64)
    rounded = do.select(do.plain("and", inexact, even), odd, total)
    return do.convert("fptrunc", rounded, F32)
