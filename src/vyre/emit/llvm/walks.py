"""Loops that walk arrays by their counter: one check before them, instead of one in every round."""

from __future__ import annotations

from collections.abc import Sequence

from vyre.emit.llvm.arithmetic import Instructions
from vyre.emit.llvm.builder import U32, U64
from vyre.emit.llvm.context import Access, Context
from vyre.emit.llvm.values import Value
from vyre.ir.expr import Load, Var
from vyre.ir.node import Loop, Store, While
from vyre.ir.text import statement_text
from vyre.ir.walk import expressions, statements


def walked(context: Context, loop: Loop) -> frozenset[Access]:
    """Accesses at an innermost loop's own counter, whose checks one before it can replace."""
    inside = tuple(statements(loop.body))
    if any(isinstance(one, (Loop, While)) for one in inside):
        return frozenset()
    found = (
        (touch.buffer, statement_text(one), touch.index)
        for one in inside
        for touch in (one, *expressions(one))
        if isinstance(touch, (Load, Store)) and touch.index == Var(loop.var)
    )
    return frozenset(
        access for access in found if access[0] in context.buffers and not context.is_free(*access)
    )


def stays_inside(
    do: Instructions, mask: Value | None, start: Value, stop: Value, lengths: Sequence[Value]
) -> str:
    """Whether no lane's counter can leave the arrays that its loop walks."""
    b, dtype = do.b, stop.dtype
    end = do.bits(stop, {32: U32, 64: U64}[dtype.bits])
    tests = [do.compare("ule", end, do.whole(length, dtype)) for length in lengths]
    if dtype.is_signed:
        tests.append(do.compare("sge", start, do.number(dtype, 0)))
    inside = tests[0]
    for test in tests[1:]:
        inside = do.plain("and", inside, test)
    if inside.is_scalar:
        return inside.registers[0]
    outside = b.both(mask, b.neither(b.vectors(inside)))
    assert outside is not None
    return b.op(f"xor i1 {b.any(outside)}, true")
