"""Loads: whole vectors where neighbours lie side by side, else lane by lane."""

from __future__ import annotations

from vyre.emit.llvm.arithmetic import Instructions, loaded
from vyre.emit.llvm.builder import BOOL, U64, stored_type
from vyre.emit.llvm.memory.buffers import Buffer, Place, align, held_as
from vyre.emit.llvm.memory.places import address, addresses, row_address
from vyre.emit.llvm.values import Shape, Value

ZEROS = "@zeros"
"""Where a load from outside reads its 0: no element of the buffer need exist."""


def load(do: Instructions, buffer: Buffer, place: Place, mask: Value | None) -> Value:
    """The elements at a place; 0 where it is outside, anything where `mask` is not."""
    element = buffer.decl.element
    kind = stored_type(element)
    match place.index.shape:
        case Shape.UNIFORM if place.inside is None or place.inside.shape is Shape.UNIFORM:
            stored = _load_one(do, buffer, place, kind)
        case Shape.LINEAR:
            stored = _load_row(do, buffer, place, mask, kind)
        case _:
            stored = _gather(do, buffer, place, mask, kind)
    return loaded(do, element, stored)


def _load_one(do: Instructions, buffer: Buffer, place: Place, kind: str) -> Value:
    b = do.b
    at = address(do, buffer, place.index)
    if place.inside is not None:
        at = b.map(
            U64,
            Shape.UNIFORM,
            lambda ok, p: b.op(f"select i1 {ok}, ptr {p}, ptr {ZEROS}"),
            place.inside,
            at,
        )
    return b.map(
        held_as(buffer.decl.element),
        Shape.UNIFORM,
        lambda p: b.op(f"load {kind}, ptr {p}, align {align(kind)}"),
        at,
    )


def _load_row(
    do: Instructions, buffer: Buffer, place: Place, mask: Value | None, kind: str
) -> Value:
    b, whole = do.b, do.b.vector(kind)
    stored = held_as(buffer.decl.element)
    lanes = b.both(mask, place.inside)
    if lanes is None:
        return b.map(
            stored,
            Shape.VECTOR,
            lambda p: b.op(f"load {whole}, ptr {p}, align {align(kind)}"),
            address(do, buffer, place.index),
        )
    at = row_address(do, buffer, place.index)
    name = f"llvm.masked.load.{b.suffix(kind)}.p0"
    types = ["ptr", "i32", b.type(BOOL), whole]

    def make(p: str, m: str) -> str:
        return b.call(whole, name, types, [p, str(align(kind)), m, "zeroinitializer"])

    return b.map(stored, Shape.VECTOR, make, at, b.vectors(lanes))


def _gather(do: Instructions, buffer: Buffer, place: Place, mask: Value | None, kind: str) -> Value:
    b, whole = do.b, do.b.vector(kind)
    lanes = b.mask(b.both(mask, place.inside))
    pointers = b.vector("ptr")
    name = f"llvm.masked.gather.{b.suffix(kind)}.v{b.width}p0"
    types = [pointers, "i32", b.type(BOOL), whole]

    def make(p: str, m: str) -> str:
        return b.call(whole, name, types, [p, str(align(kind)), m, "zeroinitializer"])

    found = addresses(do, buffer, place.index)
    return b.map(held_as(buffer.decl.element), Shape.VECTOR, make, found, lanes)
