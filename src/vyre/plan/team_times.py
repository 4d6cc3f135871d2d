"""What schedules of programs with reductions are expected to take on a processor.

These are guesses of which only the order counts, until something is measured. GPUs have a model of
their own (`plan.guess.teams`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from math import log, prod

import numpy as np
from numpy.typing import NDArray

from vyre.analysis.forms import ONE, Form, Launch, Linear, Poly
from vyre.analysis.reader import Touch, read_for
from vyre.ir.fold import BLOCK
from vyre.ir.node import Reduce
from vyre.ir.program import Program
from vyre.ir.team.relay import Relay
from vyre.ir.walk import statements
from vyre.model import Code, DeviceInfo, Dim3, Schedule, Simd
from vyre.plan import simd
from vyre.plan.geometry import tile_grid
from vyre.plan.launch_numbers import NumberNotKnown
from vyre.plan.shares import shared_relay, without_shared


def log_times(
    schedules: Sequence[Schedule], program: Program, device: DeviceInfo, launch: Launch
) -> NDArray[np.float64]:
    """The logarithm of what each schedule is expected to take, in no unit."""
    amounts, extent = Amounts.of(program, launch), simd.extent_of(launch)
    units = max(device.compute_units, 1)
    several = any(schedule.code.shares > 1 for schedule in schedules)
    last = Amounts.of(without_shared(program), launch) if several else amounts
    parts = shared_relay(program) if several else None

    def nanoseconds(schedule: Schedule) -> float:
        if parts is not None and schedule.code.shares > 1:
            given = schedule, amounts, last, extent, units, device.simd
            return PROCESSOR.shared_ns(*given, parts)
        return PROCESSOR.nanoseconds(schedule, amounts, extent, units, device.simd)

    found: NDArray[np.float64] = np.log([nanoseconds(schedule) for schedule in schedules])
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Amounts:
    """What an invocation does, all rounds of all its loops and reductions counted."""

    operations: float
    functions: float
    along: float  # loads whose rounds lie side by side
    shared: float  # the same, where all results read the same elements
    beside: float  # loads whose results lie side by side
    alike: float  # loads that neighbours share, by rounds or by results
    apart: float  # all others
    bytes: float  # that an element of those has
    reductions: int
    rounds: float  # of the longest

    @classmethod
    def of(cls, program: Program, launch: Launch) -> Amounts:
        def number(length: Poly) -> int | None:
            try:
                return length.at(launch)
            except (KeyError, NumberNotKnown):
                return None

        reading = read_for(program, number)
        loads = {"along": 0.0, "shared": 0.0, "beside": 0.0, "alike": 0.0, "apart": 0.0}
        size = 4
        inner = _inner_counters(program)
        for touch in reading.touches:
            loads[_lies(touch, inner)] += touch.rounds
            size = max(size, program.buffer(touch.buffer).element.min_bytes)
        count = sum(isinstance(node, Reduce) for node in statements(program.entry))
        return cls(
            operations=reading.operations,
            functions=reading.transcendental,
            bytes=size,
            reductions=count,
            rounds=max((touch.rounds for touch in reading.touches), default=1),
            **loads,
        )

    def less(self, other: Amounts) -> Amounts:
        """What is left of it without another."""
        return replace(self, **{n: getattr(self, n) - getattr(other, n) for n in _COUNTED})

    def divided(self, parts: int) -> Amounts:
        """One of so many parts of it."""
        each = {name: getattr(self, name) / parts for name in _COUNTED}
        return replace(self, rounds=self.rounds / parts, **each)


_COUNTED = ("operations", "functions", "along", "shared", "beside", "alike", "apart")
"""Amounts that add up."""


def _inner_counters(program: Program) -> set[str]:
    """What counts the rounds of reductions in rounds of others: those no team shares."""
    every = [node for node in statements(program.entry) if isinstance(node, Reduce)]
    inner = {node.var for one in every for node in statements(one.body) if isinstance(node, Reduce)}
    return inner - {one.var for one in every if one.var not in inner}


def _lies(touch: Touch, inner: Collection[str] = ()) -> str:
    """What of an access lies side by side; of those of a team's lanes, what they do not share."""
    last: Form = touch.indices[-1]
    if touch.rounds <= 1 or not all(isinstance(form, Linear) for form in touch.indices):
        return "alike" if touch.rounds <= 1 else "apart"
    assert isinstance(last, Linear)
    rows = [form for form in touch.indices[:-1] if isinstance(form, Linear)]
    counters = {counter.name for form in (*rows, last) for counter in form.counters()}
    if not counters.isdisjoint(inner):
        if counters.issubset(inner):
            return "alike"  # each round around reads it again
        if not any(form.gids() for form in (*rows, last)):
            return "beside"  # or in one place: results read the same
    counted = any(factor == ONE for factor in last.counters().values())
    if counted and not any(form.counters() for form in rows):
        return "along" if any(form.gids() for form in (*rows, last)) else "shared"
    if last.gids().get(0) == ONE:
        return "beside"
    return "alike" if not last.terms and not any(form.counters() for form in rows) else "apart"


_USUAL = 256  # invocations of a workgroup by which others are measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What things cost on a processor, in nanoseconds: guesses, whose order is what counts."""

    operation: float  # of one lane, where all its neighbours do the same
    function: float
    load: float  # of an element beside its neighbours
    apart: float  # of one that lies elsewhere
    agreeing: float  # of a row of lanes, on what they come to
    begin: float  # an invocation, or a team
    arriving: float  # of the last of several teams, until it goes on

    def result_ns(self, code: Code, a: Amounts, extent: Dim3, lanes: Simd | None) -> float:
        """What one result takes, or a row of them, if the machine did nothing else."""
        wide = lanes.lanes if lanes is not None else 1
        operations = a.operations * self.operation + a.functions * self.function
        if code.lanes > 1:
            moved = (a.along + a.shared + 0.25 * a.alike) * self.load
            moved += (a.beside + a.apart) * self.apart
            used = min(1.0, a.rounds / code.lanes)
            work = (operations / max(used, 1 / 32)) / wide + moved
            work += extent[0] * 4 * self.load if code.across else 0.0
            return self.begin + work + a.reductions * self.agreeing * (1 + code.lanes / 256)
        if code.across:  # one invocation goes along its row, as a cache likes it
            moved = (a.along + a.shared + 0.25 * a.alike) * self.load
            moved += (a.beside + a.apart) * self.apart
            return self.begin + operations + moved + extent[0] * 4 * self.load
        vector = code.vector if lanes is not None else wide
        # One load of it serves a whole vector.
        shared = 0.25 * self.load if lanes is not None and vector > 1 else self.apart
        moved = (a.beside + 0.25 * a.alike) * self.load + a.shared * shared
        moved += (a.along + a.apart) * self.apart
        share = 1.0 if vector > 1 or lanes is None else float(wide)
        return self.begin + operations * share / wide + moved

    def nanoseconds(
        self, schedule: Schedule, a: Amounts, extent: Dim3, units: int, lanes: Simd | None
    ) -> float:
        """What a launch takes."""
        code = schedule.code
        results = prod(extent) / (extent[0] if code.across else 1)
        each = self.result_ns(code, a, extent, lanes)
        groups = prod(tile_grid(extent, schedule))
        if lanes is not None:
            busy = min(units, groups)
            late = each * prod(schedule.workgroup) / max(code.lanes, 1)  # of the last to end
            return results * each / busy + 0.1 * late * (groups > 1) + 100 * groups / busy
        steady = results * each / min(units, groups)
        return steady + 1000 + 2 * abs(log(prod(schedule.workgroup) / _USUAL))

    def shared_ns(
        self,
        schedule: Schedule,
        a: Amounts,
        last: Amounts,
        extent: Dim3,
        units: int,
        lanes: Simd | None,
        parts: Relay,
    ) -> float:
        """What a launch takes whose results are shared; `last` is what is left of it then."""
        shares = schedule.code.shares
        one = replace(schedule, code=replace(schedule.code, shares=1, across=False))
        kept = max(a.rounds / BLOCK, shares)
        folded = replace(last.less(last), along=kept, rounds=kept)
        split = a.less(last).divided(shares)
        teams = (prod(extent) // (extent[0] if schedule.code.across else 1), 1, shares)
        # Each position of a row is some loads and stores of its own.
        left = replace(last, along=last.along + 4 * extent[0] * schedule.code.across)
        took = self.nanoseconds(one, split, teams, units, lanes)
        took += len(parts.legs) * self.nanoseconds(one, folded, (teams[0], 1, 1), units, lanes)
        if parts.spreads:
            took += self.nanoseconds(one, left.divided(shares), teams, units, lanes)
        else:
            took += self.nanoseconds(one, left, (teams[0], 1, 1), units, lanes)
        return took + self.arriving * parts.launches


PROCESSOR = Machine(
    operation=0.3,
    function=4.0,
    load=0.06,
    apart=0.6,
    agreeing=12.0,
    begin=8.0,
    arriving=2_000.0,
)
"""Of one core with vectors of 64 bytes: set by hand after row sums on a Zen 5, and not fitted."""
