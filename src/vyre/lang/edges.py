"""What an index becomes where loads go on beyond the edge of an array.

Every index ends up inside the array, unless the array is empty along that axis: then it is as far
outside as it was, and the load gives 0.
"""

from __future__ import annotations

from collections.abc import Callable

from vyre.ir.expr import Binary, BinaryOp, Cast, Expr, Lit, Select
from vyre.ir.types import DataType
from vyre.lang.params import Edge

U32 = DataType.U32

Noted = Callable[[Expr], Expr]
"""Remembers where an expression is written, as of an author's own."""


def at_edge(edge: Edge, index: Expr, dtype: DataType, extent: Expr, noted: Noted) -> Expr:
    """The index to load from instead of `index`, which costs nothing to read again.

    Args:
        edge: what is beyond the edge.
        index: a whole number of type `dtype`.
        dtype: its type.
        extent: the size of the array along that axis, as u32.
        noted: called with what takes a number for a large one that may have wrapped around.
    """
    match edge:
        case Edge.ZERO:
            return index
        case Edge.CLAMP:
            return _clamped(index, dtype, extent, noted)
        case Edge.WRAP:
            return _wrapped(index, dtype, extent, noted)
        case Edge.BROADCAST:
            only = Binary(BinaryOp.EQ, extent, Lit.of(U32, 1))
            return Select(only, Lit.of(dtype, 0), index)


def _clamped(index: Expr, dtype: DataType, extent: Expr, noted: Noted) -> Expr:
    # Of an empty axis the last place is beyond every array, and so is what is clamped to it.
    last: Expr = Binary(BinaryOp.SUB, extent, Lit.of(U32, 1))
    if dtype.is_signed:
        index = Binary(BinaryOp.MAX, index, Lit.of(dtype, 0))
    if dtype.bits > U32.bits:
        return Cast(U32, noted(Binary(BinaryOp.MIN, index, Cast(dtype, last))))
    if dtype != U32:
        index = Cast(U32, index)
    return noted(Binary(BinaryOp.MIN, index, last))


def _wrapped(index: Expr, dtype: DataType, extent: Expr, noted: Noted) -> Expr:
    wide = DataType.U64 if dtype.bits > U32.bits else U32
    size = extent if wide == U32 else Cast(wide, extent)
    if not dtype.is_signed:
        place = index if dtype == wide else Cast(wide, index)
        return _narrow(noted(Binary(BinaryOp.MOD, place, size)), wide)
    # Counted from -1 downwards, what is below 0 repeats backwards; so no number has to be as
    # large as the array in a signed type, which may not have it.
    below = Binary(BinaryOp.LT, index, Lit.of(dtype, 0))
    turned = Binary(BinaryOp.BIT_XOR, index, Select(below, Lit.of(dtype, -1), Lit.of(dtype, 0)))
    rest = Binary(BinaryOp.MOD, Cast(wide, turned), size)
    last = Binary(BinaryOp.SUB, size, Lit.of(wide, 1))
    return _narrow(Select(below, Binary(BinaryOp.SUB, last, rest), rest), wide)


def _narrow(index: Expr, dtype: DataType) -> Expr:
    return index if dtype == U32 else Cast(U32, index)


def place_at(edge: Edge, number: int, extent: int) -> int | None:
    """Where a known index leads in a known extent; None where it stays beyond the edge."""
    match edge:
        case Edge.CLAMP:
            return min(max(number, 0), extent - 1)
        case Edge.WRAP:
            return number % extent
        case Edge.BROADCAST if extent == 1:
            return 0
        case _:
            return number if 0 <= number < extent else None
