"""How much work schedules are on a CPU that runs OpenCL, in the time it takes to move a byte.

The efforts are in no unit, and never compared with a measurement. The constants say which of two
effects is the larger on machines of a kind, not how long one takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp2, log2, prod

import numpy as np

from vyre.analysis import Facts
from vyre.analysis.facts import Pattern
from vyre.analysis.forms import Launch, Symbol
from vyre.analysis.reader import ATOMIC
from vyre.model import DeviceInfo, Dim3, Order, Schedule
from vyre.plan.geometry import ceil_div, tile_grid
from vyre.plan.guess.shapes import Vector
from vyre.plan.space import Space

_SECTOR = 32  # bytes fetched for an element whose neighbours are not used


def efforts(space: Space, facts: Facts, info: DeviceInfo, launch: Launch) -> Vector:
    """The logarithm of each legal schedule's effort."""
    x, y, z = (launch.value(Symbol("extent", axis=axis)) for axis in range(3))
    job = _Job(
        extent=(x, y, z),
        work=_work(facts),
        units=max(info.compute_units, 1),
        unrollable=any(code.unroll > 1 for code in space.codes),
    )
    found: Vector = np.log([_effort(schedule, job) for schedule in space.legal])
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    """What one position costs."""

    moved: float  # bytes from and to memory, each array once: the rest comes from a cache
    operations: int  # and accesses; all rounds of all loops
    functions: int  # such as exp and sin
    divergent: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """One launch on one device."""

    extent: Dim3
    work: _Work
    units: int
    unrollable: bool  # the program has a counted loop

    def groups(self, schedule: Schedule) -> int:
        return prod(tile_grid(self.extent, schedule))


def _work(facts: Facts) -> _Work:
    cost = facts.cost
    rounds = sum(access.rounds for access in facts.accesses)
    size = (cost.loaded_bytes + cost.stored_bytes) / max(rounds, 1)
    bytes_of: dict[tuple[str, str], float] = {}
    for access in facts.accesses:
        if access.pattern is not Pattern.UNIFORM:
            apart = access.pattern is not Pattern.CONTIGUOUS or access.kind == ATOMIC
            place = (access.kind, access.buffer)
            bytes_of[place] = max(bytes_of.get(place, 0), _SECTOR if apart else size)
    return _Work(
        moved=sum(bytes_of.values()),
        operations=cost.operations + rounds,
        functions=cost.transcendental,
        divergent=bool(cost.divergent),
    )


def _effort(schedule: Schedule, job: _Job) -> float:
    """How long the busiest core is busy, in the time it takes to move a byte."""
    work, code = job.work, schedule.code
    share = job.groups(schedule) / job.units
    # An unrolled chain of lanes is what keeps the units of a core busy inside a loop, because
    # compilers vectorise across invocations only where there is no loop in them.
    loops = job.unrollable and work.operations > 2 * work.moved
    if loops and not work.divergent:
        overlap = exp2(0.75 * log2(code.items)) * (1.25 if code.vector >= 8 else 1)
        if code.order is Order.BLOCKED:
            overlap *= 0.95
        plain = 2 * work.operations / overlap + work.moved
    elif work.divergent:
        # Invocations take turns whatever the code, and one that gathers several only grows.
        plain = 2 * work.operations * (1 + 0.05 * log2(code.items * code.vector)) + work.moved
    else:
        # There the plain loop over neighbouring invocations becomes the machine's own vectors, as
        # long as neighbours stay beside each other and few arrays are walked at once.
        plain = work.operations / 4 + work.moved
        plain *= 1 + 0.02 * (code.items - 1)
        plain *= 1.5 if code.vector > 1 else 1
        plain *= 1.15 if code.order is Order.BLOCKED else 1
    # A function is called for one element at a time, and takes far longer than moving it.
    position = plain + 512 * work.functions
    position *= 1 + 1 / schedule.workgroup[0]  # a row is a loop; rows cost their start
    # A group is a call with its own bookkeeping; cores that finish early wait for the last group,
    # the longer the fewer there are and the more they differ.
    effort = ceil_div(job.groups(schedule), job.units) * (384 + prod(schedule.tile) * position)
    return effort * (1 + (2 if work.divergent else 0.5) / share)
