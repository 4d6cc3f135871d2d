"""Whether the arrays of a launch can be accessed in vectors: how they are laid out and aligned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from vyre.analysis import Facts
from vyre.analysis.facts import MemoryAccess
from vyre.analysis.forms import Gid, Launch, Linear, Poly, extent_of
from vyre.analysis.reader import ATOMIC, LOAD
from vyre.emit.dialect import WIDTHS
from vyre.emit.wanted import fixed_place, fixed_vectors, in_vectors, split
from vyre.ir.declare import BufferDecl
from vyre.ir.program import Program
from vyre.model import Code, DeviceKind

# PoCL 3.0 crashes on vectors of 64 bytes where the CPU has AVX-512 (measured: float16, double8 and
# long8 bring its process down; 32 bytes of any type do not).
_WIDEST = {DeviceKind.CPU: 32, DeviceKind.GPU: 16}  # bytes of a load or store


@dataclass(frozen=True, slots=True)
class LaunchTraits:
    """What is known of a launch's arrays beside their sizes: how their first bytes are aligned."""

    alignment: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Row:
    """An access that a vector can replace: its neighbours lie side by side."""

    buffer: str
    size: int  # of an element, in bytes
    access: MemoryAccess
    steps: tuple[Poly, ...]  # by which it moves away from the position along x
    pitch: Poly | None  # the elements of one row of an array of several axes

    def is_cut(self, vector: int) -> bool:
        """Whether vectors around it may reach out of its row, unless rows are made of vectors."""
        last = self.access.forms[-1]
        shifted = isinstance(last, Linear) and split(last.offset)[1] % vector
        return self.access.by_axis[-1] is None or bool(shifted)


def rows_of(facts: Facts, program: Program) -> list[Row]:
    """Every access of a program that vectors can replace, its small loops written out."""
    if facts.written_out is not None:
        program, facts = facts.written_out
    buffers = {decl.name: decl for decl in program.buffers}
    return [row for access in facts.accesses for row in _row(access, buffers[access.buffer])]


def _row(access: MemoryAccess, decl: BufferDecl) -> Iterator[Row]:
    last = access.forms[-1]
    whole = decl.element.is_scalar and not decl.is_shared and access.kind != ATOMIC
    # A load may be cut to whole vectors around it; a store has to be one, and to need no check.
    if not whole or not in_vectors(access, 1) or not isinstance(last, Linear):
        return
    offset = last.offset
    if access.kind == LOAD:
        offset = split(offset)[0]
    elif access.in_bounds is None:
        return
    steps = [factor for variable, factor in last.terms.items() if variable != Gid(0)]
    pitch = extent_of(decl, decl.rank - 1) if len(access.forms) > 1 else None
    yield Row(decl.name, decl.element.min_bytes, access, (*steps, offset), pitch)


def why_not_vectors(
    code: Code,
    facts: Facts,
    program: Program,
    launch: Launch,
    kind: DeviceKind,
    traits: LaunchTraits,
) -> str | None:
    """Why the device cannot make the accesses of a launch in vectors as wide as the code's."""
    why_never = why_never_vectors(code, facts, program, kind)
    if why_never is not None or code.at_once == 1 or code.checked:
        return why_never
    rows = rows_of(facts, program)
    why_not = why_not_vector(code.at_once, rows, launch, kind, traits) if rows else None
    return why_not or why_not_fixed(code.at_once, facts, program, kind, traits)


def why_not_fixed(
    vector: int, facts: Facts, program: Program, kind: DeviceKind, traits: LaunchTraits
) -> str | None:
    """Why vectors of that width cannot bring the elements that all positions read."""
    if kind is DeviceKind.CPU:
        return None  # it loads vectors from any address
    if facts.written_out is not None:
        program, facts = facts.written_out
    for decl in program.buffers:
        places = (fixed_place(a, decl) for a in facts.accesses if a.buffer == decl.name)
        known, size = (place for place in places if place is not None), decl.element.min_bytes
        aligned, wanted = traits.alignment.get(decl.name, 1), vector * size
        if fixed_vectors(known, vector, size) and aligned % wanted:
            return _misaligned(decl.name, aligned, wanted)
    return None


def _misaligned(buffer: str, aligned: int, wanted: int) -> str:
    return f"{buffer} starts at a multiple of {aligned} bytes, not {wanted}"


def why_never_vectors(code: Code, facts: Facts, program: Program, kind: DeviceKind) -> str | None:
    """Why the device cannot make them so in any launch."""
    if code.vector > code.items and not code.depth:
        return f"{code.items} items fill none"
    rows = _rows_for(code, facts, program)
    if not rows:
        return None  # elements are accessed one by one
    if code.at_once not in WIDTHS:
        return f"vectors have {', '.join(map(str, WIDTHS))} elements, not {code.at_once}"
    return _why_never(code.at_once, _in_vectors(rows, code.at_once), kind)


def _rows_for(code: Code, facts: Facts, program: Program) -> list[Row]:
    return [] if code.at_once == 1 or code.checked else rows_of(facts, program)


def why_not_vector(
    vector: int, rows: Sequence[Row], launch: Launch, kind: DeviceKind, traits: LaunchTraits
) -> str | None:
    """Why vectors of that width cannot replace these accesses."""
    rows = _in_vectors(rows, vector)
    if (why_never := _why_never(vector, rows, kind)) is not None:
        return why_never
    for row in rows:
        aligned = traits.alignment.get(row.buffer, 1)
        if kind is DeviceKind.CPU and not row.is_cut(vector):
            continue  # it loads vectors from any address
        if kind is DeviceKind.GPU and aligned % (vector * row.size):
            return _misaligned(row.buffer, aligned, vector * row.size)
        if row.pitch is not None and row.pitch.at(launch) % vector:
            return f"a row of {row.buffer} has {row.pitch.at(launch)} elements"
        for step in row.steps:
            if step.at(launch) % vector:
                return f"an index of {row.buffer} is shifted by {step.at(launch)} elements"
    return None


def _in_vectors(rows: Sequence[Row], vector: int) -> list[Row]:
    return [row for row in rows if row.access.kind != LOAD or in_vectors(row.access, vector)]


def _why_never(vector: int, rows: Sequence[Row], kind: DeviceKind) -> str | None:
    """Why vectors of that width can replace these accesses in no launch."""
    if not rows:
        return "no access is known to stay inside and to have its neighbours side by side"
    size, widest = max(row.size for row in rows), _WIDEST[kind]
    if vector * size > widest:
        return f"{vector} elements of {size} bytes are more than the {widest} of one access"
    return None
