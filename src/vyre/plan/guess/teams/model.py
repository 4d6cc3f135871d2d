"""How long a launch of a program with reductions takes on a GPU, by what it does.

What units compute, the lines that their caches look up, what comes to them and out of memory, and
the time of a team itself, as many waves of them as there are, go on side by side, so that the
slowest decides, softly. Around it is what a launch takes, and what teams take that share results.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from vyre.plan.guess.model import Figures
from vyre.plan.guess.teams.amounts import Amounts, Numbers

_LONGEST = 1e30  # ns; its powers are still numbers
_LEAST = 1e-6  # ns: powers of nothing have no slope
_REGISTERS = 32.0  # of a thread: what compilers gave most of what was recorded


@dataclass(frozen=True, slots=True, kw_only=True)
class Constants:
    """What an amount costs, in nanoseconds; fitted by a script."""

    launch: float
    # a team's own time
    block: float
    block_some: float
    block_all: float
    rest: float
    rest_some: float
    free: float
    free_some: float
    crowded: float  # more
    single: float
    take: float
    keep: float
    lonely: float
    solo: float
    begun: float
    long: float
    far: float  # times longer, of loads that no unit keeps
    missing: float  # times longer, of loads from memory
    computed: float
    spread: float
    agreed: float
    met: float
    meeting: float
    gathered: float
    walk: float
    ordered: float
    placed: float
    start: float
    warp: float  # by which one warp of a group starts after the other
    # a unit's time for 32 lanes
    turn: float
    operation: float
    function: float
    inner: float
    load: float
    agreeing: float
    looking: float
    walking: float
    team: float
    line: float
    # the device's time
    fetched: float
    request: float
    kept: float  # bytes of lines that a unit keeps
    memory: float
    cache: float  # bytes that stay on the device between launches
    cliff: float
    room: float  # bytes that stay there from one walk to the next
    group: float
    handed: float
    last_wave: float
    uneven: float
    # teams that share a result
    arrival: float
    folded: float
    folded_met: float
    relaunch: float
    overlap: float
    overlap_memory: float


def nanoseconds(a: Amounts, c: Any, device: Figures) -> Numbers:
    """How long a launch takes under each schedule."""
    share = np.ceil(a.groups / device.units)
    resident = np.minimum(_fitting(a, device), share)
    waves = share / resident
    waves = waves + c.last_wave * (np.ceil(waves) - waves)
    missing = 1.0 / (1.0 + (c.cache * device.scale / np.maximum(a.footprint, 1.0)) ** c.cliff)
    busy = device.units / (1.0 + c.uneven * (share * device.units / a.groups - 1.0))
    issue = _issued(a, c) / busy
    lines = c.line * a.lines / busy
    crowd = (a.kept * resident * a.threads / c.kept) ** 2
    torn = crowd / (1.0 + crowd)
    fetched = c.fetched * (a.fetched + a.torn * torn) + c.request * a.requests
    fetched = fetched / device.scale
    back = (a.row * resident * np.minimum(a.groups, device.units) / (c.room * device.scale)) ** 2
    memory = missing * c.memory * (a.memory + a.again * back / (1.0 + back)) / device.scale
    own = _own(a, c, missing)
    moved = _slowest(c.overlap_memory, fetched + _LEAST, memory + _LEAST, own * waves)
    body = _slowest(c.overlap, issue, lines + _LEAST, moved)
    body = _slowest(c.overlap, body, c.group * a.groups / device.scale)
    handed = c.handed * np.minimum(a.groups, device.units)
    return c.launch + handed + body + _sharing(a, c)


def _slowest(sharp: Any, *spans: Numbers) -> Numbers:
    """About the longest of several spans; where some are alike, more."""
    power = 1.0 + sharp
    total: Numbers = 0.0
    for span in spans:
        total = total + np.minimum(span, _LONGEST) ** power
    return total ** (1.0 / power)


def _fitting(a: Amounts, device: Figures) -> Numbers:
    """The groups that a unit holds at once."""
    by_threads = np.floor(device.unit_threads / a.threads)
    by_registers = np.floor(device.unit_registers / ((_REGISTERS + a.held) * a.threads))
    held = np.minimum(np.minimum(by_threads, by_registers), device.unit_groups)
    return np.maximum(held, 1.0)


def _own(a: Amounts, c: Any, missing: Numbers) -> Numbers:
    """What a group takes that has a unit for itself."""
    rounds = (
        c.block * a.blocks
        + c.block_some * a.blocks_some
        + c.block_all * a.blocks_all
        + c.rest * a.rests
        + c.rest_some * a.rests_some
        + c.free * a.frees
        + c.free_some * a.frees_some
        + c.crowded * a.crowded
        + c.single * a.singles
        + c.take * a.taken
        + c.lonely * a.alone
        + c.solo * a.solos
        + c.long * a.long
    )
    far = a.far / np.maximum(a.rounds, 1.0)
    return (
        c.start
        + c.warp * a.threads / 32.0
        + rounds * (1.0 + far * (c.far + c.missing * missing))
        + c.begun * a.begun
        + c.computed * a.computed
        + c.keep * a.kept_rounds
        + c.spread * a.spread
        + c.agreed * a.agreed
        + c.met * a.met
        + c.meeting * a.meetings
        + c.gathered * a.gathered
        + c.walk * a.walks
        + c.ordered * a.ordered
        + c.placed * a.placed
    )


def _issued(a: Amounts, c: Any) -> Numbers:
    """What units take for all instructions, if nothing waited."""
    return (
        c.turn * a.turns
        + c.operation * a.operations
        + c.function * a.functions
        + c.inner * a.inner
        + c.load * a.loads
        + c.agreeing * a.agreeing
        + c.looking * a.meeting
        + c.walking * a.walking
        + c.team * a.teams
    )


def _sharing(a: Amounts, c: Any) -> Numbers:
    """What it takes beside that teams share results."""
    return (
        c.arrival * a.arrivals
        + c.folded * a.folded
        + c.folded_met * a.folded_met
        + c.relaunch * a.launches
    )
