"""Buffers as one function sees them, and the types of what they hold."""

from __future__ import annotations

from dataclasses import dataclass

from vyre.emit.llvm.builder import U32, stored_type
from vyre.emit.llvm.values import Value
from vyre.ir.declare import BufferDecl
from vyre.ir.types import DataType


@dataclass(frozen=True, slots=True)
class Buffer:
    """A buffer as one function sees it."""

    decl: BufferDecl
    pointer: str
    length: Value
    dims: tuple[Value, ...] = ()  # of an array of several axes
    tables: tuple[str, ...] = ()  # a thread's own counters, several so that they do not wait


@dataclass(frozen=True, slots=True)
class Place:
    """An element's position, and the lanes for which it is inside; None is all of them."""

    index: Value
    inside: Value | None


def held_as(element: DataType) -> DataType:
    """The type of what memory holds of an element."""
    if element.is_bool:
        return U32
    return element if element == element.computed else DataType.U16


def align(kind: str) -> int:
    """The bytes of an element: no vector lies on more than that."""
    return {"float": 4, "double": 8}.get(kind) or int(kind[1:]) // 8


def element_bytes(buffer: Buffer) -> int:
    """What one element takes in memory."""
    return align(stored_type(buffer.decl.element))


def given(*values: Value | None) -> tuple[Value, ...]:
    """Those that there are."""
    return tuple(value for value in values if value is not None)
