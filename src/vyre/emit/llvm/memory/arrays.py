"""Arrays of one invocation, and tables of constants.

Where lanes hold different elements, each element is a vector of all lanes: at an index that is one
for all of them it is one load, and where every index is a number LLVM keeps it in a register.
Nobody else sees such memory, so what a mask leaves out is written back as it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from blake3 import blake3

from vyre.emit.llvm.arithmetic import Instructions, loaded, stored
from vyre.emit.llvm.builder import BOOL, U32, Builder, constant, stored_type
from vyre.emit.llvm.memory.buffers import Buffer, Place, align, held_as
from vyre.emit.llvm.memory.loads import load
from vyre.emit.llvm.memory.places import address, addresses, flat_place, place
from vyre.emit.llvm.memory.stores import store
from vyre.emit.llvm.values import Shape, Value
from vyre.ir.declare import BufferDecl
from vyre.ir.expr import Array
from vyre.ir.types import DataType


@dataclass(frozen=True)
class Cells:
    """Where a name keeps an array: an element for all lanes, or a vector for each element."""

    dtype: DataType
    shape: tuple[int, ...]
    pointer: str
    stride: str = ""  # elements in memory from one element's vector to the next; empty for no lanes

    @cached_property
    def decl(self) -> BufferDecl:
        count = 1
        for extent in self.shape:
            count *= extent
        return BufferDecl.workgroup("array", count, self.dtype)

    def buffer(self, b: Builder) -> Buffer:
        dims = tuple(b.literal(U32, extent) for extent in self.shape)
        return Buffer(self.decl, self.pointer, b.literal(U32, self.decl.count), dims)


def new_cells(b: Builder, array: Array, *, by_lane: bool) -> Cells:
    """Room for an array, for as long as the function runs."""
    count = array.count * (b.width if by_lane else 1)
    pointer = b.first(f"alloca [{count} x {stored_type(array.dtype)}], align 64")
    return Cells(array.dtype, array.shape, pointer, str(b.width) if by_lane else "")


def table(b: Builder, array: Array) -> Cells:
    """Constants of the module, each table once."""
    name, kind = f"@table_{_digest(array)}", stored_type(array.dtype)
    if array.data:
        numbers = (
            constant(held_as(array.dtype), array.element(n).bits) for n in range(array.count)
        )
        contents = "[" + ", ".join(f"{kind} {number}" for number in numbers) + "]"
    else:
        contents = "zeroinitializer"
    whole = f"[{array.count} x {kind}] {contents}"
    b.parts.declared[f"{name} = internal unnamed_addr constant {whole}, align 64"] = None
    return Cells(array.dtype, array.shape, name)


def _digest(array: Array) -> str:
    return blake3(f"{array.dtype}{array.count}".encode() + array.data).hexdigest(8)


def fill(do: Instructions, cells: Cells, array: Array, mask: Value | None) -> None:
    """Give all elements of the lanes of `mask` the constants of an array."""
    b = do.b
    if mask is None and not array.data and cells.stride in ("", str(b.width)):
        size = array.count * (b.width if cells.stride else 1) * align(stored_type(array.dtype))
        types = ["ptr", "i8", "i64", "i1"]
        b.call("void", "llvm.memset.p0.i64", types, [cells.pointer, "0", str(size), "false"])
        return
    for number in range(array.count):
        value = b.literal(array.dtype, array.element(number).bits)
        flat = Place(b.literal(U32, number), None)
        _put(do, cells, flat, value, mask)


def element(do: Instructions, cells: Cells, indices: tuple[Value, ...]) -> Value:
    """The element at indices; 0 where one is outside."""
    found = _place(do, cells, indices)
    if not cells.stride:
        return load(do, cells.buffer(do.b), found, None)
    b, kind = do.b, stored_type(cells.dtype)
    whole, at = b.vector(kind), _inside(do, found)
    row = _row(do, cells, at)
    if at.shape is Shape.UNIFORM:
        start = address(do, cells.buffer(b), row)
        line = f"load {whole}, ptr {start.registers[0]}, align {align(kind)}"
        held = Value(held_as(cells.dtype), Shape.VECTOR, (b.op(line),))
    else:
        places = addresses(do, cells.buffer(b), row)
        name = f"llvm.masked.gather.{b.suffix(kind)}.v{b.width}p0"
        types = [b.vector("ptr"), "i32", b.type(BOOL), whole]
        every = b.mask(None).registers[0]
        given = [places.registers[0], str(align(kind)), every, "zeroinitializer"]
        held = Value(held_as(cells.dtype), Shape.VECTOR, (b.call(whole, name, types, given),))
    value = loaded(do, cells.dtype, held)
    if found.inside is None:
        return value
    return do.select(found.inside, value, b.literal(cells.dtype, 0))


def put(
    do: Instructions,
    cells: Cells,
    indices: tuple[Value, ...],
    value: Value,
    mask: Value | None,
) -> None:
    """Give the lanes of `mask` another element; where an index is outside nothing happens."""
    _put(do, cells, _place(do, cells, indices), value, mask)


def _put(do: Instructions, cells: Cells, found: Place, value: Value, mask: Value | None) -> None:
    if not cells.stride:
        store(do, cells.buffer(do.b), found, value, None)
        return
    b, kind = do.b, stored_type(cells.dtype)
    whole, at = b.vector(kind), _inside(do, found)
    row = _row(do, cells, at)
    new = b.vectors(stored(do, cells.dtype, value))
    lanes = b.both(mask, found.inside)
    if at.shape is Shape.UNIFORM:
        start = address(do, cells.buffer(b), row).registers[0]
        if lanes is not None:
            old = b.op(f"load {whole}, ptr {start}, align {align(kind)}")
            new = do.select(b.vectors(lanes), new, Value(new.dtype, Shape.VECTOR, (old,)))
        b.emit(f"store {whole} {new.registers[0]}, ptr {start}, align {align(kind)}")
        return
    places = addresses(do, cells.buffer(b), row)
    name = f"llvm.masked.scatter.{b.suffix(kind)}.v{b.width}p0"
    types = [whole, b.vector("ptr"), "i32", b.type(BOOL)]
    given = [new.registers[0], places.registers[0], str(align(kind)), b.mask(lanes).registers[0]]
    b.call("void", name, types, given)


def _place(do: Instructions, cells: Cells, indices: tuple[Value, ...]) -> Place:
    """Where indices lead, counted row by row, and the lanes for which they are inside."""
    buffer = cells.buffer(do.b)
    if len(indices) == 1:
        return place(do, buffer, indices[0], free=False)
    return flat_place(do, buffer, indices, free=False)


def _inside(do: Instructions, found: Place) -> Value:
    """An index that is inside whatever it was, in 32 bits."""
    at = found.index
    if found.inside is not None:
        at = do.select(found.inside, at, do.number(at.dtype, 0))
    return do.whole(at, U32)


def _row(do: Instructions, cells: Cells, at: Value) -> Value:
    """Where the lanes' own parts of an element lie: the first lane's, or each lane's."""
    b = do.b
    stride = Value(U32, Shape.UNIFORM, (cells.stride,), is_constant=cells.stride.isdecimal())
    if at.shape is Shape.UNIFORM:
        if at.is_constant and stride.is_constant:
            return b.literal(U32, int(at.registers[0]) * int(cells.stride))
        return do.plain("mul", at, stride)
    first = do.plain("mul", b.vectors(at), stride)
    return do.plain("add", first, Value(U32, Shape.VECTOR, (b.lanes("i32"),)))
