"""Which of the menus for GPUs a launch is offered, and what may go through workgroup memory."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from vyre.analysis import Facts
from vyre.analysis.facts import MemoryAccess
from vyre.analysis.forms import ZERO, Launch, Linear, Poly, Symbol, extent_of
from vyre.analysis.reader import LOAD, STORE
from vyre.emit.staging import Stage, arranged, bytes_of, lanes_of, stages, why_no_stages
from vyre.emit.wanted import split
from vyre.ir.expr import Id, IdKind
from vyre.ir.loops import loops_to_unroll, rounds_of
from vyre.ir.node import Loop, While
from vyre.ir.program import Program
from vyre.ir.walk import all_expressions, statements
from vyre.model import Code, DeviceKind, Dim3, Limits, Schedule
from vyre.plan import tile_menus as menus
from vyre.plan.vectors import LaunchTraits

GROUP_BYTES = 32 << 10
"""Workgroup memory that a kernel may ask for where a device does not say: OpenCL's least."""

MOST_TURNS = 64
"""How often a lane may bring something for one chunk: each is source to compile."""

FEW = 1 << 22
"""Positions up to which what a launch costs shows, so that codes are fitted to workgroups."""

_KEPT = 0.45, 1.5
"""Shares of a cache: what launches touch between these stays there if what they store does not.

Measured on one H200, whose cache holds 60 MB: sums of two arrays of 2^22 took 15 % less, other
kernels of 32 to 85 MB 1 to 19 %; below and above they took up to 3 % longer."""


def tiles(
    facts: Facts, program: Program, through: Through, extent: Dim3, *, streams: bool = False
) -> Iterator[Schedule]:
    """What is worth trying on a GPU beside rows of items, before anything is ruled out.

    Args:
        facts: what is proved of `program`.
        program: what is launched.
        through: what of it can go through workgroup memory.
        extent: what the launch covers.
        streams: whether a cache may keep what is read by giving up what is stored.
    """
    if program.runs_whole_workgroups:
        return
    if facts.written_out is not None:
        program, facts = facts.written_out
    used = _axes(program)
    if extent[0] * extent[1] * extent[2] <= FEW and not facts.counters:
        yield from menus.SMALL_TALL if 1 in used else menus.SMALL
    shared = _shared(facts, program)
    if 1 in shared:
        yield from menus.LINES
    if 2 in shared:
        yield from menus.PLANES
    found = through.stages
    turned = [stage.size for stage in found if stage.loop is None]
    if turned and max(turned) > 1:
        yield from menus.TURNED
    if turned and min(turned) <= 2:
        yield from menus.TURNED_BYTES
    if any(stage.loop is not None for stage in found):
        yield from _of_loops(found, used)
        return
    yield from _unrolled(program, used)
    if streams and not any(isinstance(node, (Loop, While)) for node in statements(program.entry)):
        yield from menus.STREAMED_LINES if 1 in shared else ()
        yield from menus.STREAMED_TURNED if turned else ()
        yield from menus.STREAMED_ROWS if 1 not in used else ()


def _unrolled(program: Program, used: frozenset[int]) -> Iterator[Schedule]:
    """Codes that write more rounds of a loop out than a compiler does."""
    loops = list(loops_to_unroll(program))
    known = [rounds for loop in loops if (rounds := rounds_of(loop)) is not None]
    tall = menus.TALL[:4] if 1 in used else None
    if any(isinstance(loop, While) for loop in loops):
        yield from menus.parting_loops(tall or (*menus.ROWS[:3], menus.ROWS[-1]))
    elif len(known) < len(loops):
        yield from menus.counted_loops(tall or menus.ROWS[:3])
    elif known and max(known) >= menus.LONG:
        yield from menus.long_loops(max(known), tall or menus.ROWS[1:4])


def _of_loops(found: tuple[Stage, ...], used: frozenset[int]) -> tuple[Schedule, ...]:
    if 1 in used:
        return menus.PRODUCTS
    return menus.WALKS if any(0 in stage.moves for stage in found) else menus.COMMON


def _axes(program: Program) -> frozenset[int]:
    """The axes that a program's positions are asked along."""
    return frozenset(
        expr.axis
        for expr in all_expressions(program.entry)
        if isinstance(expr, Id) and expr.kind is IdKind.INVOCATION
    )


def _shared(facts: Facts, program: Program) -> frozenset[int]:
    """The axes along which neighbours read some of the same elements."""
    loads = [
        access
        for access in facts.accesses
        if access.kind == LOAD and not program.buffer(access.buffer).is_written
    ]
    return frozenset(axis for axis in (1, 2) if axis in _axes(program) and _meet(loads, axis))


def _meet(loads: list[MemoryAccess], axis: int) -> bool:
    """Whether positions one apart along an axis read the same row, whichever part of it."""
    known = [a for a in loads if all(isinstance(form, Linear) for form in a.forms)]
    here = {_row(access, axis, 0) for access in known}
    return any(
        _row(access, axis, 1) in here
        for access in known
        if any(isinstance(form, Linear) and form.terms for form in access.forms)
    )


def _row(access: MemoryAccess, axis: int, step: int) -> object:
    """What an access reads some steps along an axis, wherever along x."""
    forms = []
    for form in access.forms:
        assert isinstance(form, Linear)
        offset = form.offset + form.gids().get(axis, ZERO) * Poly.of(step)
        forms.append(
            (frozenset(form.terms.items()), split(offset)[0] if 0 in form.gids() else offset)
        )
    return access.buffer, tuple(forms)


def may_stream(facts: Facts, program: Program, launch: Launch, limits: Limits) -> bool:
    """Whether a cache may keep what a launch reads by giving up what it stores."""
    bound = [decl for decl in program.buffers if not decl.is_shared and not decl.is_scalar_argument]
    touched = sum(
        decl.element.min_bytes * (decl.count or launch.value(Symbol("len", decl.name)))
        for decl in bound
    )
    least, most = (share * limits.cache_bytes for share in _KEPT)
    stores = any(access.kind == STORE for access in facts.accesses)
    return stores and least <= touched <= most and limits.cache_bytes > 0


class Through:
    """What of a program can go through workgroup memory."""

    def __init__(self, facts: Facts, program: Program) -> None:
        if facts.written_out is not None:
            program, facts = facts.written_out
        self.program = program
        self.why_not_any = why_no_stages(program, facts)
        self.stages = tuple(dict.fromkeys(stages(program, facts).values()))

    def why_not(
        self, code: Code, launch: Launch, kind: DeviceKind, traits: LaunchTraits, limits: Limits
    ) -> str | None:
        """Why a code may not bring a launch's reads to workgroup memory."""
        if not code.depth or self.why_not_any is not None:
            return self.why_not_any if code.depth else None
        if code.group is not None and code.group[2] > 1:
            return f"the workgroup {code.group} is wider than 1 along z"
        arrangements = [arranged(stage, code) for stage in self.stages]
        _, _, lanes = lanes_of(code)
        turns = max(prod(one.sizes) // one.brought // lanes for one in arrangements)
        if turns > MOST_TURNS:
            return f"a lane would bring {turns} times in a row, more than {MOST_TURNS}"
        size, room = bytes_of(arrangements), limits.group_bytes or GROUP_BYTES
        if size > room:
            return f"{size} bytes of workgroup memory are more than the {room} there are"
        if code.vector > code.items and max(one.brought for one in arrangements) == 1:
            return f"nothing is brought in vectors of {code.vector}"
        for one in arrangements:
            buffer, width = one.stage.buffer, one.brought
            aligned = traits.alignment.get(buffer, 1)
            if kind is DeviceKind.GPU and aligned % (width * one.stage.size):
                return f"{buffer} starts at a multiple of {aligned} bytes"
            decl = self.program.buffer(buffer)
            pitch = extent_of(decl, decl.rank - 1).at(launch)
            if len(one.sizes) > 1 and pitch % width:
                return f"a row of {buffer} has {pitch} elements"
        return None
