"""Stores: whole vectors where neighbours lie side by side, else lane by lane."""

from __future__ import annotations

from functools import partial

from vyre.emit.llvm.arithmetic import Instructions, stored
from vyre.emit.llvm.builder import BOOL, stored_type
from vyre.emit.llvm.memory.buffers import Buffer, Place, align, given
from vyre.emit.llvm.memory.places import address, addresses, row_address
from vyre.emit.llvm.shapes import where
from vyre.emit.llvm.values import Shape, Value


def store(do: Instructions, buffer: Buffer, place: Place, value: Value, mask: Value | None) -> None:
    """Write the lanes of `mask` that are inside; where lanes meet, the last one's stays."""
    b = do.b
    element = buffer.decl.element
    kind = stored_type(element)
    held = stored(do, element, value)
    rows = max(len(v.registers) for v in (held, place.index, *given(place.inside, mask)))
    index = place.index
    one = index.shape is Shape.UNIFORM and held.shape is Shape.UNIFORM
    if one and (place.inside is None or place.inside.shape is Shape.UNIFORM):
        _store_one(do, buffer, place, held, mask, kind)
        return
    lanes, vectors = b.both(mask, place.inside), b.vectors(held)
    whole = b.vector(kind)
    if index.shape is Shape.LINEAR and lanes is None:
        at = address(do, buffer, index)
        for row in range(rows):
            b.emit(f"store {whole} {vectors.at(row)}, ptr {at.at(row)}, align {align(kind)}")
        return
    chosen, bytes_ = b.mask(lanes), str(align(kind))
    if index.shape is Shape.LINEAR:
        at = row_address(do, buffer, index)
        name = f"llvm.masked.store.{b.suffix(kind)}.p0"
        types = [whole, "ptr", "i32", b.type(BOOL)]
    else:
        at = addresses(do, buffer, index)
        name = f"llvm.masked.scatter.{b.suffix(kind)}.v{b.width}p0"
        types = [whole, b.vector("ptr"), "i32", b.type(BOOL)]
    for row in range(rows):
        parts = [vectors.at(row), at.at(row), bytes_, chosen.at(row)]
        b.call("void", name, types, parts)


def _store_one(
    do: Instructions, buffer: Buffer, place: Place, held: Value, mask: Value | None, kind: str
) -> None:
    """One element for all lanes, if there are any; of rows, one after the other."""
    b = do.b
    at = address(do, buffer, place.index)
    values = (held, at, *given(place.inside, mask))
    for row in range(max(len(value.registers) for value in values)):
        tests = [] if place.inside is None else [place.inside.at(row)]
        if mask is not None:
            tests.append(b.any(Value(BOOL, Shape.VECTOR, (b.mask(mask).at(row),))))
        line = f"store {kind} {held.at(row)}, ptr {at.at(row)}, align {align(kind)}"
        where(b, tests, partial(b.emit, line))
