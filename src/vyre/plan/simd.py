"""Schedules of a processor whose invocations are lanes: how wide, how many rows, which tiles.

`vector` is how many invocations run in lockstep: several registers' worth, so that one chain of
arithmetic does not wait for its own results. `rows` more of them run beside each other, and share
what they load. A workgroup is the tile that one task covers, and `order` how it is walked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from vyre.analysis import Facts
from vyre.analysis.facts import Pattern
from vyre.analysis.forms import Launch, Poly, Symbol
from vyre.analysis.reader import ATOMIC, LOAD, read_for
from vyre.emit.llvm import loops_part, rows_side_by_side, stages
from vyre.ir.expr import Load
from vyre.ir.node import Loop, While
from vyre.ir.program import Program
from vyre.ir.walk import all_expressions, statements
from vyre.model import Code, DeviceInfo, Dim3, Order, Schedule, Simd
from vyre.plan.geometry import tile_grid, wrapping_axis
from vyre.plan.launch_numbers import NumberNotKnown
from vyre.plan.space import Fit, Refused, Resources, Space, why_not_free

_REGISTERS = (0.5, 1, 2, 4, 8)  # of lanes in lockstep
_ROWS = (1, 2, 4, 8)
_UNROLLS = (1, 4)
_ALONE_NS = 12_000  # less work than this is done before a second thread has woken
_TASK_NS = 40_000  # of work in a task, so that handing it out costs nothing beside it
_BESIDE_ATOMICS = 64  # operations, for each atomic one, are worth lanes although it has to wait
_TASKS = 4  # for each thread at least, so that none waits long for the last
_UNEVEN_TASKS = 16  # where some take much longer than others


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a position costs, as far as it decides how to run it."""

    ns: float  # on one core, roughly
    atomic: bool  # one lane after the other is most of it
    counters: int  # elements that a thread adds up on its own
    parts: bool  # lanes leave loops at different times
    loops: bool
    chains: bool  # loops that load nothing: each round waits for the one before
    gathers: bool
    reuses_rows: bool  # neighbours along y read the same elements, or elements beside them
    wide: bool  # some elements have 64 bits


def work_of(facts: Facts, program: Program, launch: Launch, simd: Simd) -> Work:
    """What one position of a program does in a launch."""

    def number(length: Poly) -> int | None:
        try:
            return length.at(launch)
        except (KeyError, NumberNotKnown):
            return None

    reading = read_for(program, number)
    patterns = [access.pattern for access in facts.accesses]
    touches = list(zip(reading.touches, patterns, strict=True))
    loads = [touch for touch in reading.touches if touch.kind == LOAD]
    apart = (Pattern.GATHER, Pattern.STRIDED)
    scattered = sum(touch.rounds for touch, pattern in touches if pattern in apart)
    rounds = sum(touch.rounds for touch in reading.touches)
    arithmetic = reading.operations + 20 * reading.transcendental + rounds
    atomics = sum(touch.rounds for touch in reading.touches if touch.kind == ATOMIC)
    atomic = atomics * _BESIDE_ATOMICS > arithmetic
    streams = {(t.kind, t.buffer) for t, pattern in touches if pattern is not Pattern.UNIFORM}
    written = _written(facts, program)
    loops = [node for node in statements(written.entry) if isinstance(node, (Loop, While))]
    return Work(
        ns=0.3 * arithmetic / (1 if atomic else simd.lanes) + 0.4 * scattered + 0.25 * len(streams),
        atomic=atomic,
        counters=sum(facts.counters.values()),
        parts=loops_part(written),
        loops=bool(loops),
        chains=bool(loops) and not any(_loads(loop) for loop in loops),
        gathers=any(pattern in apart for pattern in patterns),
        reuses_rows=len(loads) > len({touch.buffer for touch in loads})
        or any(t.kind == LOAD and t.rounds > 1 and p is Pattern.UNIFORM for t, p in touches),
        wide=any(decl.element.min_bytes == 8 for decl in program.buffers),
    )


def _written(facts: Facts, program: Program) -> Program:
    """The program without reductions, as its invocations go through them alone.

    How much there is to do, and what lies where, is told by the program as it is: the loops of one
    reduction stand in each other, and nobody knows their rounds.
    """
    return program if facts.alone is None else facts.alone[0]


def _loads(loop: Loop | While) -> bool:
    return any(isinstance(expr, Load) for expr in all_expressions(loop.body))


def default_schedule(
    facts: Facts,
    program: Program,
    launch: Launch,
    declared: Dim3 | None,
    device: DeviceInfo,
    *,
    unchecked: bool,
) -> Schedule:
    """What losses are counted against: the declared workgroup, else a tile by the work in it."""
    assert device.simd is not None
    extent = extent_of(launch)
    work = work_of(facts, program, launch, device.simd)
    written = _written(facts, program)
    code = replace(_code(work, extent, written, device.simd), checked=not unchecked)
    if program.runs_whole_workgroups:
        return Schedule(declared or (64, 1, 1), replace(code, rows=1))
    if extent[0] == 1:
        code = Code(checked=code.checked)  # of the lanes of a vector one would have work
    if declared is not None:
        return Schedule(declared, _fitting(code, declared, device.simd))
    return Schedule(_within(_tile(work, extent, code, device), extent), code)


def _within(tile: Dim3, extent: Dim3) -> Dim3:
    """The tile, or one of powers of two where the last would reach beyond 2**32."""
    if wrapping_axis(tile, tile_grid(extent, Schedule(tile))) is None:
        return tile
    x, y, z = (1 << (size.bit_length() - 1) for size in tile)
    return x, y, z


def extent_of(launch: Launch) -> Dim3:
    """What a launch covers."""
    x, y, z = (launch.value(Symbol("extent", axis=axis)) for axis in range(3))
    return x, y, z


def _code(work: Work, extent: Dim3, program: Program, simd: Simd) -> Code:
    """The width and the rows that such work asks for."""
    if work.atomic:
        return Code(unroll=4)
    registers = 4.0
    if work.chains and not work.wide:
        registers = 8  # as many as an addition takes cycles, times what a core begins in one
    elif work.parts and work.gathers:
        registers = 0.5  # each round waits for the slowest lane, and loads one by one all the same
    elif work.parts or work.gathers or work.wide:
        registers = 2
    lanes = int(simd.lanes * registers)
    while lanes > simd.lanes and lanes >= 2 * extent[0]:
        lanes //= 2
    tall = extent[1] >= 4 and work.reuses_rows and not work.parts and rows_side_by_side(program)
    if not tall:
        return Code(vector=lanes)
    return Code(
        vector=min(lanes, 2 * simd.lanes),
        rows=4,
        order=Order.BLOCKED if work.loops else Order.STRIDED,
        staged=work.loops and stages(program),
    )


def _fitting(code: Code, declared: Dim3, simd: Simd) -> Code:
    """The code with no more lanes and rows than a workgroup has positions."""
    vector, rows = code.vector, code.rows
    while vector > simd.lanes and vector > declared[0]:
        vector //= 2
    while rows > declared[1]:
        rows //= 2
    return replace(code, vector=vector, rows=max(rows, 1))


def _tile(work: Work, extent: Dim3, code: Code, device: DeviceInfo) -> Dim3:
    """What one task covers: enough to be worth handing out, little enough for all threads."""
    x, y, z = (max(size, 1) for size in extent)
    total = x * y * z
    threads = max(device.compute_units, 1)
    if threads == 1 or total * work.ns <= _ALONE_NS:
        return x, y, z
    tasks = _UNEVEN_TASKS if work.parts else _TASKS
    wanted = min(_TASK_NS / work.ns, total / (threads * tasks))
    # A thread's own counters are cleared before a task and added up behind it.
    wanted = max(wanted, 0.5 * _ALONE_NS / work.ns / threads, 16 * work.counters, 1)
    return (
        panels_of_about(wanted, extent, code)
        if code.staged
        else tile_of_about(wanted, extent, code)
    )


def panels_of_about(elements: float, extent: Dim3, code: Code, panels: int = 4) -> Dim3:
    """A tile of a few panels with many rows, each of which what was brought together serves."""
    x, y, _ = (max(size, 1) for size in extent)
    wide = min(x, panels * code.vector)
    rows = max(int(elements / wide), 16 * code.rows)
    return wide, min(y, -(-rows // code.rows) * code.rows), 1


def tile_of_about(elements: float, extent: Dim3, code: Code) -> Dim3:
    """A tile of about so many positions: whole rows where rows are short, else a part of one."""
    x, y, z = (max(size, 1) for size in extent)
    step = code.vector * (code.unroll if code.vector == 1 else 1)
    if elements < x and not (code.rows > 1 and y > 1):
        return max(step, _even(elements, step)), 1, 1
    if elements < x * code.rows:
        wide = min(x, max(4 * step, _even(elements / code.rows, step)))
        return wide, min(y, code.rows), 1
    rows = max(1, round(elements / x))
    if rows < y or z == 1:
        return x, min(y, max(code.rows, rows // code.rows * code.rows)), 1
    return x, y, min(z, max(1, rows // y))


def _even(elements: float, step: int) -> int:
    """The multiple of a step next below, at least one."""
    return max(1, int(elements) // step) * step


def space(
    facts: Facts,
    program: Program,
    launch: Launch,
    declared: Dim3 | None,
    device: DeviceInfo,
    *,
    unchecked: bool,
    resources: Resources | None = None,
    among: Collection[Code] | None = None,
) -> Space:
    """Every schedule, of some codes or all, that gives the default's bits, which comes first."""
    extent = extent_of(launch)
    default = default_schedule(facts, program, launch, declared, device, unchecked=unchecked)
    why_not = tuple(why_not_free(facts, launch))
    known = resources or Resources()
    fits = Fit(extent, device.limits, known)
    fits.require(default)
    if why_not or prod(extent) <= 1:
        why_not = why_not or (f"the extent {extent} holds {prod(extent) or 'nothing'}",)
        refused = tuple(Refused("every other schedule", why, 1) for why in why_not)
        return Space(default, (default,), refused, known)
    assert device.simd is not None
    every = _codes(_written(facts, program), extent, default.code, device.simd)
    codes = [code for code in every if among is None or code in among]
    others = (Schedule(tile, c) for c in codes for tile in _tiles(extent, c, default))
    found = dict.fromkeys([default, *(one for one in others if fits.problem(one) is None)])
    return Space(default, tuple(found), (), known)


def _codes(program: Program, extent: Dim3, default: Code, simd: Simd) -> Iterator[Code]:
    plain = Code(checked=default.checked)
    loops = any(isinstance(node, Loop) for node in statements(program.entry))
    unrolls = _UNROLLS if loops else (1,)
    ways = [(Order.STRIDED, False)]
    if extent[1] > 1:
        ways += [
            (Order.BLOCKED, staged) for staged in (False, True) if not staged or stages(program)
        ]
    tall = extent[1] > 1 and rows_side_by_side(program)
    widths = [int(simd.lanes * registers) for registers in _REGISTERS]
    widths = [width for width in widths if width <= simd.lanes or width < 2 * extent[0]]
    for unroll in _UNROLLS:
        yield replace(plain, unroll=unroll)
    for width, rows, unroll, (order, staged) in product(widths, _ROWS, unrolls, ways):
        if rows > 1 and (not tall or rows > extent[1] or width * rows > 16 * simd.lanes):
            continue
        yield replace(plain, vector=width, rows=rows, unroll=unroll, order=order, staged=staged)


def _tiles(extent: Dim3, code: Code, default: Schedule) -> Iterator[Dim3]:
    """The default's tile, a few larger and smaller ones, and the whole."""
    yield default.workgroup
    total = prod(extent)
    usual = prod(default.workgroup)
    for factor in (0.0625, 0.25, 4, 16):
        elements = usual * factor
        if code.vector <= elements < total:
            yield tile_of_about(elements, extent, code)
    if extent[1] > 1 and code.order is Order.BLOCKED:
        for panels, factor in product((1, 4, 16), (1, 4)):
            yield panels_of_about(usual * factor, extent, code, panels)
    yield extent


def order(space: Space) -> tuple[Schedule, ...]:
    """All of a space, the default first, then what lies nearest to it."""
    usual = space.default.place()

    def apart(schedule: Schedule) -> tuple[object, ...]:
        place = schedule.place()
        return (
            sum(abs(a - b) for a, b in zip(place, usual, strict=True)),
            schedule.code.order is Order.BLOCKED,
            schedule.workgroup,
        )

    return tuple(sorted(space.legal, key=apart))
