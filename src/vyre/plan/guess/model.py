"""How long a launch takes by what it does: the slowest of a few machines, and what adds to it.

Arithmetic, caches, memory and the handing out of groups work side by side, so that the slowest of
them decides, softly: near the turning point both count. Waiting is a machine, too: as many threads
as a unit holds wait at once, so it takes waves of them, each as long as a thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from vyre.emit.c import RESIDENT
from vyre.plan.guess.amounts import Amounts, Numbers
from vyre.plan.guess.shapes import LANES

_LONGEST = 1e30  # ns; its powers are still numbers
_SET_ASIDE = 1024.0  # bytes of a unit's memory that every group takes beside its own


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What a device says of itself, as far as the model asks."""

    units: float
    unit_threads: float
    unit_groups: float = 32.0
    unit_registers: float = 65_536.0
    unit_memory: float = 233_472.0  # bytes that the groups of a unit have of their own
    scale: float = 1.0  # by which memory and caches are larger and faster than the constants say


@dataclass(frozen=True, slots=True, kw_only=True)
class Constants:
    """What an amount costs, in nanoseconds of one unit or of the device; fitted by a script."""

    launch: float  # before the first group runs, and after the last
    operation: float  # instructions each
    placing: float
    heavy: float
    function: float
    conversion: float
    wide: float  # more, for 8 bytes
    part: float  # more, for each further item whose way parts
    load: float
    store: float
    address: float
    check: float
    check_run: float
    turn: float  # instructions for one more round of a loop, whatever it does
    turning: float  # the same of a loop that only computes, for each of its operations
    leaving: float  # of a loop that lanes leave one by one, each time that it goes back
    longest: float  # more rounds there than one lane has: a warp goes on until its last has left
    wasted: float  # more instructions there, where rounds are written out: for lanes that have left
    item: float
    thread: float
    guarded: float  # more of a thread, where it has to look at the extent
    passed: float  # for an element of a neighbouring lane
    brought: float  # for one that goes to a group's own memory, or a vector of them
    ends: float  # more, for a vector within which an array may end
    near_load: float  # from there
    fast: float  # the share of functions and divisions where they are the device's own
    issue: float  # ns for one instruction of one thread
    line_loaded: float
    line_stored: float
    near_line: float
    fetched: float  # ns for a byte
    walked: float
    stored: float
    memory: float
    scattered: float
    torn: float
    kept: float  # bytes of lines that a unit keeps
    refetched: float
    cache: float  # bytes that stay on the device between launches
    cliff: float  # how suddenly nothing stays there
    streaming: float  # the share of what is streamed that takes nobody's place there
    near_wait: float  # ns until a load comes
    far_wait: float
    more_inputs: float
    flight: float  # registers that compilers spend on loads that are under way
    start: float
    guard: float  # more, where nothing is known of the extent beforehand
    warp: float  # ns by which one warp starts after the other
    chained: float  # ns for an operation that waits for the last
    round: float  # ns for a round of a walk, and for each load in it
    asked: float  # the power of rounds asked for together by which that is less
    round_load: float
    round_alone: float  # more, where no pointer to its row serves several
    round_held: float  # and for each register of it: the more, the fewer rounds are under way
    wander: float  # ns for a round whose loads go where others say
    own: float  # ns for an instruction in a thread's own time
    beside: float  # the power of items by which that is less: those side by side overlap
    near_beside: float  # and more of it, where they read a group's own memory
    each: float  # ns for one that computes: all items take turns
    alone: float  # more, for what it waits for, unless items beside it go on meanwhile
    near_round: float  # ns for a read of a group's own memory, in each round
    coming: float  # ns until what is brought next comes: no launch hides it, as it does the first
    chunk: float  # ns for waiting for each other, each time that it is filled
    bring: float  # ns in the time of a thread that brings, for each load
    ragged: float  # more, where not all have as many
    ended: float  # more, for such a vector
    one_by_one: float  # more, where the items of a thread run one by one
    group: float  # ns for handing out a group
    handed: float  # and for each of the units that get their first one
    first: float  # ns by which the groups of a unit begin one after the other
    uneven: float
    last_wave: float
    last_group: float
    drain: float
    near_atomic: float
    crowded: float
    clear: float
    far_add: float  # ns for adding one counter of a group to all others'
    slices: float  # the power of further counters: they are spread over parts of the cache
    barrier: float
    atomic: float
    register: float  # for a name of an item
    register_load: float  # for a register's worth of what a thread loads at once
    registers: float
    overlap: float  # how sharply the slowest decides
    overlap_memory: float
    overlap_groups: float
    overlap_adds: float


def nanoseconds(a: Amounts, c: Any, device: Figures) -> Numbers:
    """How long a launch takes under each schedule."""
    share = np.ceil(a.groups / device.units)
    resident = np.minimum(_fitting(a, c, device), share)
    waves = share / resident
    tile = a.threads * a.items
    mean = a.groups * tile / device.units
    on_unit = mean + c.uneven * (share * tile - mean)
    instructions = _instructions(a, c)
    alone = instructions + c.load * (a.single - a.loads)  # where no neighbour shares a load
    mixed = instructions + a.partial * (alone - instructions)
    thread = (c.thread + c.guarded * (1.0 - a.fitted)) * (1.0 + a.loaders)
    lanes = np.ceil(a.threads / LANES) * LANES / a.threads  # those that a warp lacks take as long
    issue = (
        on_unit
        * lanes
        * (mixed + c.brought * a.brought + c.ends * a.ends + thread / a.items)
        * c.issue
    )
    lines = on_unit * (
        c.line_loaded * a.lines_loaded + c.line_stored * a.lines_stored + c.near_line * a.near_lines
    )
    there = np.maximum(a.footprint - c.streaming * a.streamed, 1.0)
    missing = 1.0 / (1.0 + (c.cache * device.scale / there) ** c.cliff)
    cache, memory = _moving(a, c, device, missing, resident)
    waiting, tail = _waiting(a, c, instructions, alone, missing, waves)
    moved = _slowest(c.overlap_memory, cache, memory, waiting)
    near, far, more = _atomics(a, c, device, share, waves)
    body = _slowest(c.overlap, issue, lines, moved) + near
    body = _slowest(c.overlap_groups, body, c.group * a.groups / device.scale)
    block = a.threads * (1.0 + a.loaders)
    body = body * (1.0 + c.drain * block / device.unit_threads * np.minimum(waves, 2.0))
    body = _slowest(c.overlap_adds, body + tail + more, far)
    handed = c.handed * np.minimum(a.groups, device.units)
    return c.launch + handed + c.first * resident + body


_LEAST = 1e-6  # ns: powers of nothing have no slope


def _slowest(sharp: Any, *spans: Numbers) -> Numbers:
    """About the longest of several spans; where some are alike, more."""
    total: Numbers = 0.0
    for span in spans:
        total = total + np.minimum(span, _LONGEST) ** sharp
    return total ** (1.0 / sharp)


def _moving(
    a: Amounts, c: Any, device: Figures, missing: Numbers, resident: Numbers
) -> tuple[Numbers, Numbers]:
    """What caches and memory take; lines that no unit can keep are fetched again."""
    crowd = (a.kept * resident * a.threads / c.kept) ** 2
    again = 1.0 + c.refetched * crowd / (1.0 + crowd)
    cache = (c.fetched * a.fetched + c.walked * a.walked) * again + c.stored * a.stored
    memory = c.memory * a.memory + c.scattered * (a.scattered + c.torn * a.torn)
    on_device = a.positions / device.scale
    return on_device * cache, on_device * missing * memory * again


def _fitting(a: Amounts, c: Any, device: Figures) -> Numbers:
    """The groups that a unit holds at once."""
    block = a.threads * (1.0 + a.loaders)
    guessed = c.registers + c.register * a.held * a.items
    guessed = guessed + c.register_load * (a.held_loads * (a.chunks > 0.0) + a.ahead)
    guessed = np.minimum(np.maximum(guessed, 32.0), _bound(a, device))
    registers = np.ceil(np.where(a.registers > 0.0, a.registers, guessed) / 8.0) * 8.0
    by_registers = np.floor(device.unit_registers / (registers * block))
    by_threads = np.floor(device.unit_threads / block)
    by_memory = np.floor(device.unit_memory / (a.near_bytes + _SET_ASIDE))
    held = np.minimum(np.minimum(by_threads, by_registers), by_memory)
    return np.maximum(np.minimum(held, device.unit_groups), 1.0)


def _bound(a: Amounts, device: Figures) -> Numbers:
    """Registers that compilers are told to keep to: of fitted lines, by what a thread holds."""
    held = a.held_loads + a.items
    told = a.fitted * (a.lined > 0.0) * (a.chunks == 0.0)
    most: Numbers = 255.0
    for registers, room in reversed(RESIDENT):
        by = device.unit_registers / room if room else 255.0
        most = np.where(held <= registers, by, most)
    return np.where(told > 0.0, most, 255.0)


def _arithmetic(a: Amounts, c: Any) -> Numbers:
    """Instructions of one position that compute."""
    exact = c.fast**a.fast
    arithmetic = (
        a.operations
        + exact * (c.heavy * a.heavy + c.function * a.functions)
        + c.conversion * a.converted
    )
    arithmetic = arithmetic * (1.0 + c.wasted * a.looped * (a.written > 1.0))
    arithmetic = arithmetic * _longest(a, c)
    arithmetic = arithmetic * (1.0 + c.wide * a.wide) * (1.0 + c.part * a.parted * (a.items - 1.0))
    return c.operation * arithmetic


def _instructions(a: Amounts, c: Any) -> Numbers:
    """Of one position, without what a thread does once."""
    arithmetic = _arithmetic(a, c)
    return (
        arithmetic
        + c.placing * a.placing
        + c.load * a.loads
        + c.store * a.stores
        + c.address * a.addresses
        + c.check * a.checks
        + c.check_run * a.check_runs
        + c.turn * (a.rounds - 1.0) / a.at_once / (a.items + a.looped * (1.0 - a.items))
        + c.turning * a.chain / a.at_once * _longest(a, c)
        + c.passed * a.passed
        + c.near_load * a.near_loads
        + c.item
    )


def _longest(a: Amounts, c: Any) -> Numbers:
    """Rounds of a warp over those of a lane, in a loop that lanes leave one by one."""
    return 1.0 + c.longest * a.looped * (a.chain > 0.0)


def _waiting(
    a: Amounts, c: Any, instructions: Numbers, single: Numbers, missing: Numbers, waves: Numbers
) -> tuple[Numbers, Numbers]:
    """Waves of threads, each as long as one takes; and what the last group takes longer."""
    wait = (c.near_wait + c.far_wait * missing) * (
        1.0 + c.more_inputs * np.log2(np.maximum(a.inputs, 1.0))
    )
    at_once = np.maximum(a.held_loads / c.flight, 1.0)
    turning = c.turning / a.at_once + c.leaving * a.looped / a.written
    dependent = c.chained * a.chain * (1.0 + turning) * _longest(a, c)
    chain = c.wander * a.wandered + c.round * (a.rounds - 1.0) / a.ahead_of**c.asked
    each = c.round_load * (a.rounds - 1.0)
    begin = (
        c.start
        + c.guard * (1.0 - a.fitted)
        + c.warp * np.ceil(a.threads * (1.0 + a.loaders) / LANES)
    )
    together = 1.0 + a.looped * (a.items - 1.0)
    near = 1.0 * (a.chunks > 0.0)
    beside = np.maximum(a.items / together, 1.0)
    overlapped = beside ** (c.beside + c.near_beside * near)
    arithmetic = _arithmetic(a, c)
    computing = (
        chain * together
        + each * a.round_loads
        + (a.rounds - 1.0) * (c.round_alone * a.round_alone + c.round_held * a.round_held)
        + c.near_round * (a.rounds - 1.0) * a.near_loads * a.items / a.rounds / overlapped
        # What waits for the last result leaves turns for the items beside it.
        + _slowest(
            c.overlap,
            dependent * together + _LEAST,
            c.own * (instructions - arithmetic) * a.items / overlapped
            + (c.each + c.alone / beside) * arithmetic * a.items,
        )
    )
    staged = 1.0 * (a.chunks > 0.0)
    bringing = a.chunks * (wait + c.bring * a.turns + c.ragged * a.ragged + c.ended * a.ended)
    bringing = bringing + c.coming * np.maximum(a.chunks - 1.0, 0.0)
    bringing = bringing / (1.0 + 1.0 * (a.loaders > 0.0))  # they are further ahead
    in_chunks = a.chunks * c.chunk + _slowest(c.overlap, computing, bringing)
    full = begin + wait * at_once + computing + staged * (in_chunks - computing)
    one = wait + chain + each * a.single_round
    computed = c.own * (single - arithmetic) + (c.each + c.alone) * arithmetic
    one = one + _slowest(c.overlap, dependent + _LEAST, computed)
    alone = begin + (1.0 + c.one_by_one * (a.items > 1.0)) * a.left * one
    waves = waves + c.last_wave * (np.ceil(waves) - waves)
    waiting = waves * (full + a.partial * (alone - full))
    some = (a.partial > 0.0) * (a.partial < 1.0)
    return waiting, c.last_group * some * np.maximum(alone - full, 0.0)


def _atomics(
    a: Amounts, c: Any, device: Figures, share: Numbers, waves: Numbers
) -> tuple[Numbers, Numbers, Numbers]:
    """Of a unit's own counters, of those of all, and what a group waits for.

    A group of several items adds up its counters on its own, and then to all others'.
    """
    if not np.any(a.atomics):
        return 0.0, 0.0, 0.0
    own = (a.counters > 0.0) * (a.items > 1.0)
    counters = np.maximum(a.counters, 1.0)
    added = np.minimum(counters, a.threads * a.items)
    near = share * a.threads * a.items * a.atomics * c.near_atomic * (1.0 + c.crowded / counters)
    flushed = a.groups * c.far_add * added**c.slices
    far = own * flushed + (1.0 - own) * a.positions / device.scale * a.atomics * c.atomic
    more = share * c.clear * counters / a.threads + waves * c.barrier
    return own * near, far, own * more
