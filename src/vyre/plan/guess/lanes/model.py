"""How long a launch takes on a processor's threads, by what it does there.

Instructions, chains of results that wait for each other, and lines that come into the first cache
work side by side in a core, so that the slowest of them decides, softly; what comes from beyond the
second cache is beside all that. Around it are what a step, a tile, a piece and a launch cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from vyre.plan.guess.amounts import Numbers
from vyre.plan.guess.lanes.amounts import Amounts

_LONGEST = 1e30  # ns; its powers are still numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Constants:
    """What an amount costs, in nanoseconds of one core; fitted by a script."""

    launch: float
    wake: float  # until others work beside the caller
    operation: float
    heavy: float  # operations each
    function: float
    conversion: float
    check: float
    scalar: float  # of an operation, where there are no lanes
    scalar_function: float
    skipped: float  # share of what some lanes skip that is skipped without lanes
    waits: float
    narrow: float  # share of an operation that half a register costs
    load: float  # ns
    store: float
    broadcast: float
    single: float
    gather: float
    small: float
    scatter: float
    split: float
    spill: float
    step: float
    round: float
    chained: float
    series: float
    added: float
    staged: float
    near: float
    far: float
    far_shared: float  # more, for each thread
    memory: float  # times more, from beyond all caches
    cache: float  # bytes that all of them hold
    count: float
    waiting: float
    counted: float
    crowded: float
    masked: float
    atomic: float
    edge: float
    tile: float
    piece: float
    late: float
    uneven: float
    clear: float
    flush: float
    overlap: float  # how sharply the slowest decides: 0 where all add up
    overlap_far: float


def nanoseconds(a: Amounts, c: Any) -> Numbers:
    """How long a launch takes under each schedule."""
    issue = _instructions(a, c)
    chain = c.chained * a.chain + c.added * a.adds + c.series * a.series
    near = c.near * a.near
    core = _slowest(c.overlap, issue, chain * (1.0 + c.waits * a.waits), near)
    missing = 1.0 / (1.0 + (c.cache / a.footprint) ** 2)
    far = a.far * (c.far + c.far_shared * a.threads) * (1.0 + c.memory * missing)
    body = _slowest(c.overlap_far, core * (1.0 + c.edge * a.edge), far)
    mean = a.positions / a.threads
    own = mean + c.uneven * (a.longest - mean) + c.late * a.piece * a.together
    flush = a.pieces * (c.clear * a.counters + c.flush * a.flushed * a.threads)
    return (
        c.launch
        + c.wake * a.together
        + body * own
        + c.tile * a.tiles
        + c.piece * a.pieces * a.together
        + flush
    )


def _slowest(sharp: Any, *spans: Numbers) -> Numbers:
    """About the longest of several spans; where some are alike, more."""
    power = 1.0 + sharp
    total: Numbers = 0.0
    for span in spans:
        total = total + np.minimum(span, _LONGEST) ** power
    return total ** (1.0 / power)


def _instructions(a: Amounts, c: Any) -> Numbers:
    """What one position takes to be begun, in a core that waits for nothing."""
    wide = (
        a.arithmetic * (1.0 + a.scalar * (c.scalar - 1.0))
        + c.function * a.functions * (1.0 + a.scalar * (c.scalar_function - 1.0))
        + c.conversion * a.converted
        + c.check * a.checks
    )
    wide = wide * (1.0 - a.narrow * (1.0 - c.narrow)) + c.heavy * a.heavy
    wide = wide * (1.0 - c.skipped * a.parted * a.scalar) * (1.0 + c.waits * a.waits)
    return (
        c.operation * wide
        + c.load * a.loads
        + c.store * a.stores
        + c.broadcast * a.broadcasts
        + c.single * a.singles
        + c.gather * a.gathers
        + c.small * a.small
        + c.scatter * a.scatters
        + c.split * a.split
        + c.spill * a.spilled
        + c.step * a.step
        + c.round * a.rounds
        + c.staged * a.staging
        + c.count * a.counts
        + c.waiting * a.waiting
        + c.counted * a.counted
        + c.crowded * a.crowded
        + c.masked * a.masked
        + c.atomic * a.atomics
    )
