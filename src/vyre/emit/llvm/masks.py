"""Masks in memory, one for each row: lanes leave them, and never come back."""

from __future__ import annotations

from vyre.emit.llvm.builder import BOOL, Builder
from vyre.emit.llvm.values import Shape, Value

Places = tuple[str, ...]
"""Where a mask is kept, row by row."""


def new_mask(b: Builder, value: Value | None) -> Places:
    """A mask of its own that begins as `value`."""
    places = tuple(b.alloca(b.type(BOOL)) for _ in range(b.rows))
    put_mask(b, places, b.mask(value))
    return places


def mask_at(b: Builder, places: Places) -> Value:
    """The lanes that a mask holds now."""
    kind = b.type(BOOL)
    return Value(BOOL, Shape.VECTOR, tuple(b.op(f"load {kind}, ptr {at}") for at in places))


def put_mask(b: Builder, places: Places, value: Value) -> None:
    """Replace what a mask holds."""
    for row, place in enumerate(places):
        b.emit(f"store {b.type(BOOL)} {value.at(row)}, ptr {place}")
