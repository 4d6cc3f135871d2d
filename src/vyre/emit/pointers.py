"""Pointers to rows of arrays: one that is accessed twice is found once, by a neighbour if it may.

From one row to the next is one addition; a position's own row takes a multiplication and more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vyre.analysis.forms import ONE, Gid, Linear
from vyre.emit.expressions import Expressions
from vyre.emit.here import Here
from vyre.emit.names import Kind
from vyre.emit.operations import bare
from vyre.emit.wanted import Row, Wanted, split
from vyre.ir.types import DataType

_NEAR = 1 << 16  # elements between two that one pointer serves
_STEPS = 64  # rows between two that are found by each other


@dataclass(frozen=True, slots=True)
class Pointer:
    """A pointer to an element of a row, and its column."""

    name: str
    column: int


@dataclass(frozen=True, slots=True)
class _Neighbour:
    """A row that others, so many rows away, are found by."""

    pointer: Pointer
    number: int


class Pointers:
    """Writes where rows are."""

    def __init__(self, expressions: Expressions) -> None:
        self.expressions, self.terms = expressions, expressions.terms

    def to(
        self, rows: Mapping[Row, Sequence[Wanted]], here: Here
    ) -> tuple[list[str], dict[Row, Pointer]]:
        """The lines that say where rows are, and the pointers, of those that may have one."""
        # To the last element: where that is before the array, so are all others. A neighbour
        # reaches at least as far along its row, so that the same holds of it.
        last = {
            row: max(members, key=lambda one: one.column)
            for row, members in rows.items()
            if self._may_point(members, here)
        }
        lines: list[str] = []
        found: dict[Row, Pointer] = {}
        neighbours: dict[Row, list[_Neighbour]] = {}
        for row in sorted(last, key=lambda row: -last[row].column):
            one = last[row]
            pointer = found[row] = Pointer(
                self.terms.names.fresh(Kind.FROM, one.load.buffer), one.column
            )
            others: list[_Neighbour] = []
            number = 0
            if row.outer and _is_inside(rows[row]):
                first, number = row.numbered()
                others = neighbours.setdefault(first, [])
            near = min(others, key=lambda other: abs(other.number - number), default=None)
            others.append(_Neighbour(pointer, number))
            if near is not None and abs(number - near.number) <= _STEPS:
                at = self._beside(one, near, number - near.number)
            else:
                at = self._place(one, here)
            decl = self.terms.buffers[one.load.buffer]
            form = self.terms.dialect.pointer.format(const="const ", type=self.terms.stored(decl))
            lines.append(f"{here.pad}{form} {pointer.name} = {at};")
        return lines, found

    def _may_point(self, members: Sequence[Wanted], here: Here) -> bool:
        """Whether the index of the last element cannot begin again at 0 where others are inside.

        Only positions, and a little more or less, are followed. Along one axis an index could begin
        again in an array of nearly 2**32 elements; a row of many is shorter.
        """
        decl = self.terms.buffers[members[0].load.buffer]
        *outer, last = members[0].access.forms
        assert isinstance(last, Linear)
        plain = all(isinstance(v, Gid) and factor == ONE for v, factor in last.terms.items())
        if not plain or split(last.offset)[0].terms:
            return False
        if any(abs(one.column) > _NEAR for one in members):
            return False
        if outer:
            return True
        for one in members:
            ((check, _),) = self.expressions.by_axis(decl, one.load.index, one.at(here))
            if check:
                return False
        return True

    def _beside(self, one: Wanted, near: _Neighbour, rows: int) -> str:
        """The place of an element, by that of a row near it."""
        decl = self.terms.buffers[one.load.buffer]
        length = self.terms.word_dim(decl, decl.rank - 1)
        if abs(rows) > 1:
            length = f"{abs(rows)}u * ({self.terms.use(DataType.U64)}){length}"
        along = one.column - near.pointer.column
        sign = "+" if rows > 0 else "-"
        return f"{near.pointer.name} {sign} {length}" + (f" - {-along}" if along else "")

    def _place(self, one: Wanted, here: Here) -> str:
        """The place of an element, by its index."""
        terms, decl = self.terms, self.terms.buffers[one.load.buffer]
        *outer, (_, at) = self.expressions.by_axis(decl, one.load.index, one.at(here))
        above = ""
        for axis, (_, text) in enumerate(outer):
            above = f"({above} * {terms.word_dim(decl, axis)} + {text})" if axis else text
        if outer:
            terms.use(DataType.U64)
            at = f"((u64){above} * {terms.word_dim(decl, len(outer))} + {at})"
        return f"{terms.pointers[decl.name]} + ({bare(at)})"


def _is_inside(members: Sequence[Wanted]) -> bool:
    """Whether a row that these are elements of is one of its array's, for sure."""
    known = frozenset().union(*(one.inside for one in members))
    return all(axis in known for axis in range(len(members[0].row.outer)))
