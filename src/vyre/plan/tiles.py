"""Schedules for programs whose positions share what they read: curated, and refused with a reason.

Each is a workgroup with a code, because the two belong together here: how many lines a thread
takes, how deep a loop is staged, what a workgroup's memory holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod

from vyre.analysis import Facts
from vyre.analysis.facts import MemoryAccess
from vyre.analysis.forms import ZERO, Launch, Linear, Poly
from vyre.analysis.reader import LOAD, extent_of
from vyre.emit.staging import Stage, arranged, bytes_of, lanes_of, stages, why_no_stages
from vyre.emit.wanted import split
from vyre.ir.expr import Id, IdKind
from vyre.ir.program import Program
from vyre.ir.walk import all_expressions
from vyre.model import Code, DeviceKind, Dim3, Limits, Schedule
from vyre.plan.vectors import LaunchTraits

GROUP_BYTES = 32 << 10
"""Workgroup memory that a kernel may ask for where a device does not say: OpenCL's least."""

MOST_TURNS = 64
"""How often a lane may bring something for one chunk: each is source to compile."""

SMALL = 1 << 22
"""Positions up to which what a launch costs shows, so that codes are fitted to workgroups."""

_ROWS: tuple[Dim3, ...] = ((64, 1, 1), (128, 1, 1), (256, 1, 1), (512, 1, 1), (1024, 1, 1))
_TALL: tuple[Dim3, ...] = (
    *((32, 4, 1), (32, 8, 1), (64, 2, 1), (64, 4, 1)),
    *((128, 1, 1), (128, 2, 1), (256, 1, 1)),
)


def _of(shapes: Iterable[Dim3], *codes: Code) -> tuple[Schedule, ...]:
    return tuple(Schedule(shape, code) for code in codes for shape in shapes)


def _code(items: int = 1, vector: int = 1, lines: int = 1, **more: int) -> Code:
    return Code(items=items, vector=vector, lines=lines, checked=False, **more)  # type: ignore[arg-type]


def _fitted(schedules: Iterable[Schedule]) -> tuple[Schedule, ...]:
    return tuple(
        Schedule(s.workgroup, Code(**{**s.code.parts(), "fitted": True})) for s in schedules
    )


def _both(schedules: tuple[Schedule, ...]) -> tuple[Schedule, ...]:
    return (*schedules, *_fitted(schedules))


_SMALL = _fitted(_of(_ROWS, _code(), _code(2, 2), _code(4, 2), _code(4, 4), _code(8, 4)))
_SMALL_TALL = _fitted(_of(_TALL, _code(), _code(2, 2), _code(4, 4)))
_LINES = (
    *_of(_TALL, *(_code(items, items, lines) for lines in (2, 4) for items in (1, 2, 4))),
    *_fitted(_of(_TALL, _code(4, 4), _code(4, 4, 2), _code(4, 4, 4))),
)
_PLANES = (
    *_of(_TALL, *(_code(items, items, planes=2) for items in (1, 4))),
    *_of(_TALL, *(_code(items, items, 2, planes=2) for items in (1, 4))),
    *_fitted(_of(_TALL, _code(4, 4, planes=2), _code(4, 4, 2), _code(4, 4, 2, planes=2))),
)
_PRODUCTS = _both(
    (
        *_of([(16, 16, 1)], *(_code(8, 4, 8, depth=d, unroll=u) for d in (8, 16) for u in (1, 2))),
        *_of([(32, 8, 1)], *(_code(4, 4, 16, depth=16, unroll=u) for u in (1, 2))),
        *_of([(8, 16, 1), (16, 8, 1)], _code(8, 4, 8, depth=16)),
        *_of([(16, 16, 1)], *(_code(4, 4, lines, depth=16) for lines in (2, 4, 8))),
        *_of([(16, 8, 1), (16, 16, 1)], _code(2, 2, 2, depth=32), _code(1, 1, depth=32)),
        *_of([(16, 16, 1)], _code(4, 1, 4, depth=16), _code(8, 1, 8, depth=8)),
    )
)
_COMMON = (
    *_of([(32, 1, 1)], _code(depth=64), _code(2, depth=64)),
    *_of(
        [(32, 1, 1), (64, 1, 1), (128, 1, 1), (256, 1, 1)],
        *(_code(items, depth=256, unroll=unroll) for items in (1, 2) for unroll in (1, 32)),
    ),
)
_WALKS = _both(
    (
        *_of([(8, 1, 1)], *(_code(depth=depth, loaders=63) for depth in (256, 512))),
        *_of([(16, 1, 1)], _code(depth=256, loaders=63)),
        *_of([(32, 1, 1)], *(_code(depth=128, loaders=loaders) for loaders in (8, 16))),
        *_of([(32, 1, 1), (64, 1, 1)], _code(depth=32)),
        *_of([(128, 1, 1)], _code(depth=16)),
    )
)
_TURNED = _both(
    (
        *_of([(32, 8, 1), (32, 16, 1)], _code(lines=4, depth=1)),
        *_of([(32, 4, 1), (32, 8, 1), (64, 4, 1), (64, 8, 1)], _code(lines=8, depth=1)),
    )
)
_TURNED_BYTES = _both(
    (
        *_of([(16, 8, 1), (16, 16, 1)], _code(4, 4, 4, depth=1)),
        *_of([(16, 16, 1)], _code(4, 4, 2, depth=1)),
        *_of([(32, 4, 1), (32, 8, 1)], _code(lines=8, depth=1)),
    )
)


def tiles(facts: Facts, program: Program, through: Through, extent: Dim3) -> Iterator[Schedule]:
    """What is worth trying on a GPU beside rows of items, before anything is ruled out."""
    if program.runs_whole_workgroups:
        return
    if facts.written_out is not None:
        program, facts = facts.written_out
    used = _axes(program)
    if extent[0] * extent[1] * extent[2] <= SMALL and not facts.counters:
        yield from _SMALL_TALL if 1 in used else _SMALL
    shared = _shared(facts, program)
    if 1 in shared:
        yield from _LINES
    if 2 in shared:
        yield from _PLANES
    found = through.stages
    turned = [stage.size for stage in found if stage.loop is None]
    if turned and max(turned) > 1:
        yield from _TURNED
    if turned and min(turned) <= 2:
        yield from _TURNED_BYTES
    if any(stage.loop is not None for stage in found):
        yield from _of_loops(found, used)


def _of_loops(found: tuple[Stage, ...], used: frozenset[int]) -> tuple[Schedule, ...]:
    if 1 in used:
        return _PRODUCTS
    return _WALKS if any(0 in stage.moves for stage in found) else _COMMON


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
        for one in arrangements if kind is DeviceKind.GPU else ():
            buffer, width = one.stage.buffer, one.brought
            aligned = traits.alignment.get(buffer, 1)
            if aligned % (width * one.stage.size):
                return f"{buffer} starts at a multiple of {aligned} bytes"
            decl = self.program.buffer(buffer)
            pitch = extent_of(decl, decl.rank - 1).at(launch)
            if len(one.sizes) > 1 and pitch % width:
                return f"a row of {buffer} has {pitch} elements"
        return None
