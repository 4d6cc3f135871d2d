"""Conversions between types, and between values and what memory holds of them."""

from __future__ import annotations

from vyre.emit.llvm.arithmetic.halves import narrowed, widened
from vyre.emit.llvm.arithmetic.instructions import Instructions
from vyre.emit.llvm.builder import U32
from vyre.emit.llvm.values import Value
from vyre.ir.types import DataType


def cast(do: Instructions, target: DataType, value: Value) -> Value:
    """A value converted to `target`; to f16 or bf16 it is rounded and stays f32."""
    to, source = target.computed, value.dtype
    if target.is_bool:
        if source.is_bool:
            return value
        zero = do.number(source, 0)
        return do.compare("une" if source.is_float else "ne", value, zero)
    if source.is_bool:
        made = do.convert("uitofp" if to.is_float else "zext", value, to)
    elif source.is_int and to.is_int:
        made = do.whole(value, to)
    elif source.is_int:
        made = do.convert("sitofp" if source.is_signed else "uitofp", value, to)
    elif to.is_int:
        made = do.saturated(value, to)
    elif to.bits == source.bits:
        made = value
    else:
        made = do.convert("fpext" if to.bits > source.bits else "fptrunc", value, to)
    return widened(do, target, narrowed(do, target, made)) if target != to else made


def loaded(do: Instructions, element: DataType, stored: Value) -> Value:
    """The value of what an element holds in memory."""
    if element.is_bool:
        return do.compare("ne", stored, do.number(U32, 0))
    return widened(do, element, stored) if element != element.computed else stored


def stored(do: Instructions, element: DataType, value: Value) -> Value:
    """What an element holds in memory for a value."""
    if element.is_bool:
        return do.convert("zext", value, U32)
    return narrowed(do, element, value) if element != element.computed else value
