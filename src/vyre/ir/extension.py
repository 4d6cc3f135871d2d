"""Our extensions on the wire: every kind and id that vyre's revision 4 has no tag for."""

from __future__ import annotations

from enum import StrEnum

from vyre.ir.expr import BinaryOp, IdKind, Lit, UnaryOp
from vyre.ir.types import DataType

EXTENSION_TAG = 0x80
"""Introduces an extension wherever a tag can stand: node, expression, operator."""


class ExprExtension(StrEnum):
    """An expression of ours; the value is its kind string."""

    LIT = "vyre.py.lit"  # type tag, then the bit pattern, little-endian
    ID = "vyre.py.id"  # code from ID_CODES, then the axis, a byte each
    FLAT_INDEX = "vyre.py.flat_index"  # buffer, u32 count, indices
    BUF_DIM = "vyre.py.buf_dim"  # buffer, u32 axis
    BITCAST = "vyre.py.bitcast"  # type, value
    ARRAY = "vyre.py.array"  # type tag, u8 rank, u32 extents, then the bit patterns, little-endian
    ELEMENT = "vyre.py.element"  # array, u32 count, indices
    PUT = "vyre.py.put"  # array, u32 count, indices, value


class NodeExtension(StrEnum):
    """A statement of ours; the value is its kind string."""

    WHILE = "vyre.py.while"  # condition, body
    BREAK = "vyre.py.break"
    CONTINUE = "vyre.py.continue"
    REDUCE = "vyre.py.reduce"  # name, u8 operation, type of an element, counter, rounds, body
    YIELD = "vyre.py.yield"  # value
    # u32 count of values, then a text, and after each value (its type, the value, its format) one
    PRINT = "vyre.py.print"
    # The last record of a program whose options or shapes are not the default: u8 fast_math,
    # u32 count and names of unique_writes, u32 count and entries of shapes (u32 buffer index,
    # u8 rank, u32 extents); where workgroups are named, u32 count and entries of them (u32 x, y
    # and z, u32 count and entries of arrays: name, u8 rank, u32 extents).
    OPTIONS = "vyre.py.options"


ID_CODES = {IdKind.EXTENT: 0, IdKind.WORKGROUP_SIZE: 1}

BINARY_OPS = frozenset(op for op in BinaryOp if op.value > 0xFF)
UNARY_OPS = frozenset(op for op in UnaryOp if op.value > 0xFF)
"""Operators written as the extension tag and their value as u32."""

_NATIVE_TYPES = (DataType.U32, DataType.I32, DataType.BOOL)


def is_native_literal(lit: Lit) -> bool:
    """Whether a literal has a tag of its own; vyre flushes f32 -0.0 and subnormals, we do not."""
    if lit.dtype == DataType.F32:
        exponent, sign_or_fraction = lit.bits & 0x7F80_0000, lit.bits & 0x807F_FFFF
        return exponent != 0 or sign_or_fraction == 0
    return lit.dtype in _NATIVE_TYPES
