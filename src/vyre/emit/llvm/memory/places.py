"""Where elements lie: indices, whether they are inside, and addresses."""

from __future__ import annotations

from vyre.emit.llvm.arithmetic import Instructions, binary
from vyre.emit.llvm.builder import BOOL, U32, U64, scalar_type, stored_type
from vyre.emit.llvm.memory.buffers import Buffer, Place
from vyre.emit.llvm.values import Shape, Value
from vyre.ir.expr import BinaryOp
from vyre.ir.types import DataType

NOWHERE = 0xFFFF_FFFF
"""The flat index of what is out of bounds."""


def _position(do: Instructions, index: Value) -> Value:
    """An index in 32 or 64 bits."""
    if index.dtype.bits == 64:
        return do.bits(index, U64)
    if index.dtype.is_unsigned:
        return do.whole(index, U32)
    return index if index.dtype.bits == 32 else do.whole(index, DataType.I32)


def _below(do: Instructions, index: Value, limit: Value) -> Value:
    """Whether an index is at least 0 and below a limit."""
    if index.dtype == DataType.I32:
        plain = do.compare("ult", do.bits(index, U32), limit)
        return do.plain("and", plain, do.compare("sge", index, do.number(DataType.I32, 0)))
    return do.compare("ult", index, do.whole(limit, index.dtype))


def place(do: Instructions, buffer: Buffer, index: Value, *, free: bool) -> Place:
    """The place of one index."""
    at = _position(do, index)
    if free or _surely_inside(buffer, at):
        return Place(at, None)
    return Place(at, _below(do, at, buffer.length))


def _surely_inside(buffer: Buffer, at: Value) -> bool:
    count = buffer.decl.count
    return at.is_constant and 0 <= int(at.registers[0]) < count


def flat_place(
    do: Instructions, buffer: Buffer, indices: tuple[Value, ...], *, free: bool
) -> Place:
    """The row-major place of indices, each axis checked."""
    inside: Value | None = None
    flat: Value | None = None
    for index, dim in zip(indices, buffer.dims, strict=True):
        at = _position(do, index)
        if not free:
            ok = _below(do, at, dim)
            inside = ok if inside is None else do.plain("and", inside, ok)
        narrow = do.whole(at, U32)
        if flat is None:
            flat = narrow
        else:
            row = do.plain("mul", flat, dim)
            flat = binary(do, BinaryOp.ADD, row, narrow)
    assert flat is not None
    return Place(flat, inside)


def reached(do: Instructions, place: Place, mask: Value | None) -> Place:
    """A place that is inside where some lane comes to it.

    Lanes that have left may leave nobody behind, and what all lanes load is loaded regardless.
    """
    b, index = do.b, place.index
    if mask is None or place.inside is not None or index.shape is not Shape.UNIFORM:
        return place
    lanes = b.mask(mask)
    if len(index.registers) == 1:
        return Place(index, Value(BOOL, Shape.UNIFORM, (b.any(lanes),)))
    some = b.map(BOOL, Shape.UNIFORM, lambda row: b.any(Value(BOOL, Shape.VECTOR, (row,))), lanes)
    return Place(index, some)


def flat_number(do: Instructions, place: Place) -> Value:
    """A place as the number it is where a program computes with it."""
    if place.inside is None:
        return place.index
    return do.select(place.inside, place.index, do.number(U32, NOWHERE))


def address(do: Instructions, buffer: Buffer, index: Value) -> Value:
    """The address of one element for all lanes, or of the first lane's."""
    b, kind = do.b, stored_type(buffer.decl.element)
    source = scalar_type(index.dtype)

    def make(register: str) -> str:
        wide = register
        if index.dtype.bits < 64 and not index.is_constant:
            name = "sext" if index.dtype.is_signed else "zext"
            wide = b.op(f"{name} {source} {register} to i64")
        return b.op(f"getelementptr {kind}, ptr {buffer.pointer}, i64 {wide}")

    return b.map(U64, Shape.UNIFORM, make, index)


def row_address(do: Instructions, buffer: Buffer, index: Value) -> Value:
    """The address of the first lane, also where that lane lies before the buffer.

    A position of 32 bits that has wrapped below 0 is near 2**32: the lanes after it are at the
    buffer's first elements, so it counts as negative.
    """
    b = do.b
    if index.dtype != U32:
        return address(do, buffer, index)
    kind = stored_type(buffer.decl.element)

    def make(register: str) -> str:
        before = b.op(f"icmp ugt i32 {register}, {-b.width - 1}")
        below = b.op(f"sext i32 {register} to i64")
        above = b.op(f"zext i32 {register} to i64")
        wide = b.op(f"select i1 {before}, i64 {below}, i64 {above}")
        return b.op(f"getelementptr {kind}, ptr {buffer.pointer}, i64 {wide}")

    return b.map(U64, Shape.UNIFORM, make, index)


def addresses(do: Instructions, buffer: Buffer, index: Value) -> Value:
    """The address of each lane's element."""
    b, kind = do.b, stored_type(buffer.decl.element)
    at = b.vectors(index)
    source, wide = b.type(at.dtype), b.vector("i64")
    name = "sext" if at.dtype.is_signed else "zext"

    def make(register: str) -> str:
        if at.dtype.bits < 64:
            register = b.op(f"{name} {source} {register} to {wide}")
        return b.op(f"getelementptr {kind}, ptr {buffer.pointer}, {wide} {register}")

    return b.map(U64, Shape.VECTOR, make, at)
