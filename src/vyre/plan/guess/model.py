"""How long a launch takes by what it does: the slowest of a few machines, and what adds to it.

Arithmetic, caches, memory and the handing out of groups work side by side, so that the slowest of
them decides, softly: near the turning point both count. Waiting is a machine, too: as many threads
as a unit holds wait at once, so it takes waves of them, each as long as a thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from vyre.plan.guess.amounts import Amounts, Numbers

_LONGEST = 1e30  # ns; its powers are still numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What a device says of itself, as far as the model asks."""

    units: float
    unit_threads: float
    unit_groups: float = 32.0
    unit_registers: float = 65_536.0
    scale: float = 1.0  # by which memory and caches are larger and faster than the constants say


@dataclass(frozen=True, slots=True, kw_only=True)
class Constants:
    """What an amount costs, in nanoseconds of one unit or of the device; fitted by a script."""

    launch: float  # before the first group runs, and after the last
    operation: float  # instructions each
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
    item: float
    thread: float
    issue: float  # ns for one instruction of one thread
    line_loaded: float
    line_stored: float
    fetched: float  # ns for a byte
    walked: float
    stored: float
    memory: float
    scattered: float
    torn: float
    kept: float  # bytes of lines that a unit keeps
    refetched: float
    cache: float  # bytes that stay on the device between launches
    near_wait: float  # ns until a load comes
    far_wait: float
    more_inputs: float
    flight: float  # registers that compilers spend on loads that are under way
    start: float
    warp: float  # ns by which one warp starts after the other
    chained: float  # ns for an operation that waits for the last
    round: float  # ns for a round of a walk, and for each load in it
    round_load: float
    wander: float  # ns for a round whose loads go where others say
    own: float  # ns for an instruction in a thread's own time
    one_by_one: float  # more, where the items of a thread run one by one
    group: float  # ns for handing out a group
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
    register: float
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
    mean = a.groups * a.threads * a.items / device.units
    on_unit = mean + c.uneven * (share * a.threads * a.items - mean)
    instructions = _instructions(a, c)
    alone = instructions + c.load * (a.single - a.loads)  # where no neighbour shares a load
    mixed = instructions + a.partial * (alone - instructions)
    issue = on_unit * (mixed + c.thread / a.items) * c.issue
    lines = on_unit * (c.line_loaded * a.lines_loaded + c.line_stored * a.lines_stored)
    missing = 1.0 / (1.0 + (c.cache * device.scale / a.footprint) ** 3)
    cache, memory = _moving(a, c, device, missing, resident)
    waiting, tail = _waiting(a, c, instructions, alone, missing, waves)
    moved = _slowest(c.overlap_memory, cache, memory, waiting)
    near, far, more = _atomics(a, c, device, share, waves)
    body = _slowest(c.overlap, issue, lines, moved) + near
    body = _slowest(c.overlap_groups, body, c.group * a.groups / device.scale)
    body = body * (1.0 + c.drain * a.threads / device.unit_threads * np.minimum(waves, 2.0))
    body = _slowest(c.overlap_adds, body + tail + more, far)
    return c.launch + c.first * resident + body


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
    guessed = np.maximum(c.registers + c.register * a.held * a.items, 32.0)
    registers = np.ceil(np.where(a.registers > 0.0, a.registers, guessed) / 8.0) * 8.0
    by_registers = np.floor(device.unit_registers / (registers * a.threads))
    by_threads = np.floor(device.unit_threads / a.threads)
    return np.maximum(np.minimum(np.minimum(by_threads, by_registers), device.unit_groups), 1.0)


def _instructions(a: Amounts, c: Any) -> Numbers:
    """Of one position, without what a thread does once."""
    arithmetic = (
        a.operations + c.heavy * a.heavy + c.function * a.functions + c.conversion * a.converted
    )
    arithmetic = arithmetic * (1.0 + c.wide * a.wide) * (1.0 + c.part * a.parted * (a.items - 1.0))
    return (
        c.operation * arithmetic
        + c.load * a.loads
        + c.store * a.stores
        + c.address * a.addresses
        + c.check * a.checks
        + c.check_run * a.check_runs
        + c.turn * (a.rounds - 1.0) / (a.items + a.looped * (1.0 - a.items))
        + c.item
    )


def _waiting(
    a: Amounts, c: Any, instructions: Numbers, single: Numbers, missing: Numbers, waves: Numbers
) -> tuple[Numbers, Numbers]:
    """Waves of threads, each as long as one takes; and what the last group takes longer."""
    wait = (c.near_wait + c.far_wait * missing) * (
        1.0 + c.more_inputs * np.log2(np.maximum(a.inputs, 1.0))
    )
    at_once = np.maximum(a.held_loads / c.flight, 1.0)
    chain = c.chained * a.chain + c.wander * a.wandered + c.round * (a.rounds - 1.0)
    each = c.round_load * (a.rounds - 1.0)
    begin = c.start + c.warp * np.ceil(a.threads / 32.0)
    together = 1.0 + a.looped * (a.items - 1.0)
    full = (
        begin
        + wait * at_once
        + chain * together
        + each * a.round_loads
        + c.own * instructions * a.items
    )
    one = wait + chain + each * a.single_round + c.own * single
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
