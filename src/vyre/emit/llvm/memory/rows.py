"""Rows of a loop brought together, and loaded from there."""

from __future__ import annotations

from vyre.emit.llvm.arithmetic import Instructions, loaded
from vyre.emit.llvm.builder import stored_type
from vyre.emit.llvm.memory.buffers import Buffer, align, element_bytes, held_as
from vyre.emit.llvm.values import Shape, StagedAt, Value


def load_staged(do: Instructions, buffer: Buffer, staged: StagedAt, number: Value) -> Value:
    """The vector of one round of a loop, from where its vectors were brought together."""
    b, element = do.b, buffer.decl.element
    kind = stored_type(element)
    skip = b.op(f"mul i64 {number.registers[0]}, {staged.stride}")
    at = b.op(f"getelementptr i8, ptr {staged.base}, i64 {skip}")
    text = f"load {b.vector(kind)}, ptr {at}, align {align(kind)}"
    return loaded(do, element, Value(held_as(element), Shape.VECTOR, (b.op(text),)))


def row_bytes(do: Instructions, buffer: Buffer) -> int:
    """What the lanes' elements take, side by side."""
    return do.b.width * element_bytes(buffer)


def copy_row(do: Instructions, buffer: Buffer, source: str, target: str) -> None:
    """Copy the lanes' elements as they are."""
    b, kind = do.b, stored_type(buffer.decl.element)
    whole = b.vector(kind)
    row = b.op(f"load {whole}, ptr {source}, align {align(kind)}")
    b.emit(f"store {whole} {row}, ptr {target}, align {align(kind)}")
