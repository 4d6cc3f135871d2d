"""What is proved of each access of a program, and so which of them need no check."""

from __future__ import annotations

from dataclasses import replace

from vyre.analysis import Facts
from vyre.analysis.facts import MemoryAccess, Pattern
from vyre.analysis.forms import Unknown
from vyre.emit.here import Here
from vyre.emit.windows import window_of
from vyre.ir.declare import BufferDecl
from vyre.ir.expr import Expr, FlatIndex
from vyre.ir.node import Node
from vyre.ir.text import statement_text
from vyre.model import Code

Spot = tuple[str, str, Expr]
"""Where an access stands in a program: its buffer, its statement, its index."""


def spot_of(access: MemoryAccess) -> Spot:
    """Where an access stands."""
    return access.buffer, access.statement, access.index


class Accesses:
    """Answers what holds of the accesses of a statement, where that stands."""

    def __init__(self, facts: Facts, code: Code) -> None:
        self.code, self.by_spot = code, _alike(facts)
        # Of statements, which several items ask for again. Each is kept, so that its id stays its.
        self._texts: dict[int, tuple[Node, str]] = {}

    def at(self, node: Node, here: Here) -> Here:
        """`here` with `node` as the statement at hand."""
        known = self._texts.get(id(node))
        if known is None:
            known = self._texts[id(node)] = node, statement_text(node)
        return replace(here, statement=known[1])

    def of(self, decl: BufferDecl, index: Expr, here: Here) -> MemoryAccess | None:
        """What is proved of an access of the statement at hand, if that is one thing."""
        return self.by_spot.get((decl.name, here.statement, index))

    def is_free(self, decl: BufferDecl, index: Expr, here: Here) -> bool:
        """Whether an access needs no check at all."""
        access = self.of(decl, index, here)
        axes = range(1 if access is None else len(access.by_axis))
        return all(self.is_free_along(decl, index, axis, here) for axis in axes)

    def is_free_along(self, decl: BufferDecl, index: Expr, axis: int, here: Here) -> bool:
        """Whether it needs no check along one axis of its array."""
        access = self.of(decl, index, here)
        if decl.kept:
            return True  # there is as much of it as is asked for
        if self.code.checked or access is None:
            return False
        proof = access.by_axis[axis]
        if proof is None:
            return here.interior and window_of(access, axis) is not None
        # Positions beyond the extent have no proof.
        beyond = here.beyond and not self.code.fitted
        follows = proof.is_guarded and proof.follows_positions
        return not (beyond and (follows or here.differ.axes(parts_of(decl, index)[axis])))

    def is_whole_row(self, decl: BufferDecl, index: Expr, here: Here) -> bool:
        """Whether items within the extent access neighbours, without a check."""
        access = self.of(decl, index, here)
        if access is None or self.code.checked:
            return False
        return access.pattern is Pattern.CONTIGUOUS and access.in_bounds is not None


def parts_of(decl: BufferDecl, index: Expr) -> tuple[Expr, ...]:
    """An index by the axes of its array."""
    if isinstance(index, FlatIndex) and index.buffer == decl.name:
        return index.indices
    return (index,)


def _alike(facts: Facts) -> dict[Spot, MemoryAccess]:
    """What is proved of each access, by where it stands in the text.

    Of accesses that read alike and are not (in two loops that count by one name), what holds of
    all of them: no form, and no proof.
    """
    found: dict[Spot, MemoryAccess] = {}
    for access in facts.accesses:
        before = found.setdefault(spot_of(access), access)
        if (before.forms, before.by_axis) != (access.forms, access.by_axis):
            both = zip(before.by_axis, access.by_axis, strict=True)
            found[spot_of(access)] = replace(
                before,
                forms=tuple(Unknown() for _ in before.forms),
                by_axis=tuple(a if b is not None else None for a, b in both),
                pattern=before.pattern if before.pattern is access.pattern else Pattern.GATHER,
            )
    return found
