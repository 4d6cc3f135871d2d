"""Workgroup memory that starts at zero."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vyre.emit.terms import Terms
from vyre.ir.expr import IdKind


def zeroed(terms: Terms, counts: Mapping[str, int]) -> Iterator[str]:
    """Declares memory for as many elements of each array, all at zero when a lane goes on."""
    if not counts:
        return
    pointers = terms.pointers
    for name, count in counts.items():
        stored = terms.stored(terms.buffers[name])
        yield f"    {terms.dialect.local} {stored} {pointers[name]}[{count}];"
    yield from _lanes(terms)
    for name, count in counts.items():
        yield f"    for (u32 at = lane; at < {count}u; at += lanes) {pointers[name]}[at] = 0;"
    yield f"    {terms.dialect.barrier}"


def _lanes(terms: Terms) -> Iterator[str]:
    """The invocation's place in its workgroup, and how many there are."""
    lane = [terms.id(IdKind.LOCAL, axis) for axis in range(3)]
    size = [terms.id(IdKind.WORKGROUP_SIZE, axis) for axis in range(3)]
    yield f"    const u32 lane = ({lane[2]} * {size[1]} + {lane[1]}) * {size[0]} + {lane[0]};"
    yield f"    const u32 lanes = {size[0]} * {size[1]} * {size[2]};"
