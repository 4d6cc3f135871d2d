"""The elements that items of an invocation want, and which of them lie side by side."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from vyre.analysis.facts import MemoryAccess
from vyre.analysis.forms import Gid, Linear, Poly
from vyre.analysis.reader import LOAD
from vyre.emit.dialect import WIDTHS
from vyre.emit.here import Element, Here
from vyre.ir.declare import BufferDecl
from vyre.ir.expr import Load
from vyre.ir.types import DataType

_FIXED_BYTES = 16  # of a vector of elements that all positions read
_APART = 4  # elements between neighbours that vectors of all of them are worth


@dataclass(frozen=True, slots=True)
class Form:
    """An index along one axis: what it counts with, what is added, and its type."""

    terms: frozenset[tuple[object, Poly]]
    offset: Poly
    dtype: DataType


@dataclass(frozen=True, slots=True)
class Row:
    """A row of an array, or a part of one that moves with the same names."""

    buffer: str
    outer: tuple[Form, ...]  # its place along the axes before the last
    along: Form  # what its elements have in common along the last
    block: int | None  # which neighbours along x look at it; None where all do

    def numbered(self) -> tuple[Row, int]:
        """The row that those around it are counted from, and how far from there it is."""
        *planes, own = self.outer
        symbols, number = split(own.offset)
        return replace(self, outer=(*planes, replace(own, offset=symbols))), number


@dataclass(frozen=True, slots=True)
class Wanted:
    """An element to be loaded, by one of the items that need it."""

    load: Load
    item: int
    element: Element
    row: Row
    column: int  # where it is there, from the column of the first item
    apart: int  # columns between neighbouring items
    inside: frozenset[int]  # axes of its array along which it needs no check
    in_vectors: bool
    is_fixed: bool  # whether it is the same one for all positions, its column its place
    access: MemoryAccess

    def at(self, here: Here) -> Here:
        """Where its text stands: a statement that follows may have asked for it."""
        return replace(here, item=self.item, statement=self.access.statement)


def apart(access: MemoryAccess) -> int:
    """How far neighbours along x are apart in a row of an array; 0 where that is not known."""
    *outer, last = access.forms
    if any(not isinstance(form, Linear) or 0 in form.gids() for form in outer):
        return 0
    step = last.gids().get(0) if isinstance(last, Linear) else None
    return (step.constant or 0) if step is not None else 0


def in_vectors(access: MemoryAccess, width: int) -> bool:
    """Whether an access is part of vectors of that width: those of a few neighbours' elements.

    Neighbours lie side by side, or a few elements apart, such as one colour of pixels: loads of the
    others fill the vectors. What only a launch knows of it, such as the length of a row, is left to
    the launch.
    """
    last = access.forms[-1]
    most = _APART if access.kind == LOAD else 1
    if not isinstance(last, Linear) or not 0 < apart(access) <= most:
        return False
    steps = (factor.constant for variable, factor in last.terms.items() if variable != Gid(0))
    return all(step is None or step % width == 0 for step in steps)


def fixed_place(access: MemoryAccess, decl: BufferDecl) -> int | None:
    """The place of an element that all positions read, where that is known."""
    if access.kind != LOAD or access.in_bounds is None or decl.is_shared:
        return None
    place = 0
    for axis, form in enumerate(access.forms):
        length = decl.shape[axis] if axis else 1
        constant = form.offset.constant if isinstance(form, Linear) and not form.terms else None
        if not length or constant is None or constant < 0:
            return None
        place = place * length + constant
    return place


def fixed_vectors(places: Iterable[int], width: int, size: int) -> set[int]:
    """The vectors, counted from the first of an array, all of whose elements all positions read.

    >>> fixed_vectors(range(9), 4, 4), fixed_vectors(range(9), 4, 8)
    ({0, 1}, set())
    """
    if width not in WIDTHS or not 0 < width * size <= _FIXED_BYTES:
        return set()
    known = set(places)
    return {
        place // width
        for place in known
        if all(place // width * width + k in known for k in range(width))
    }


def split(poly: Poly) -> tuple[Poly, int]:
    """The symbols of a number, and the plain number that is added to them."""
    plain = sum(factor for symbols, factor in poly.terms if not symbols)
    return poly - Poly.of(plain), plain
