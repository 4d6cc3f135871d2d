"""Vyre's own sides: schedules pinned, swept, learned from live calls, and those of the space."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from cuda.bindings import driver
from gpu_cells import Cell
from gpu_compile import Compilers
from gpu_journal import packed
from gpu_kernels import kernel_of
from gpu_replay import capture, replays, seconds_of

from vyre.errors import VyreError
from vyre.learn import process
from vyre.model import Schedule

SPACE_REPLAY_S, MOST_QUICK = 4e-4, 300
NEAR = 1.35
"""What takes longer than the best so far by this factor is measured well enough by one replay."""

COMPILE_S = 30.0
"""How long codes are waited for; what is not compiled by then is left out."""

QUIET_S = 1.0
"""Without anything new for so long, a learner wants no more candidates."""

COUNTED = 1000
"""Dispatches after the last candidate was ready, when the choice is taken."""

ALONE = 8
"""Schedules that are tried where nobody compiles beside this process."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds of a launch with a schedule."""

    schedule: Schedule
    seconds: float


class Target:
    """A kernel of Vyre on the arrays of a cell."""

    def __init__(self, cell: Cell, *, fast_math: bool = False) -> None:
        self.cell, self.fast_math = cell, fast_math
        self.kernel = kernel_of(cell.kernel, fast_math)
        out = None if cell.updates else cell.out
        bound = self.kernel._dispatcher.bind(cell.arrays, out, None, None, cell.options)
        self.launcher = bound.launcher
        self.device = self.launcher.device
        self.backend: Any = self.device.backend
        self.numbers, self.alignment, self.workload = bound.numbered
        scalars, arrays = bound.call.scalars, bound.arrays
        self.arguments = [
            scalars[name] if name in scalars else arrays[name].argument
            for name in self.launcher.order
        ]
        self.space = self.launcher.space(self.numbers, self.alignment)

    @property
    def default(self) -> Schedule:
        return self.space.default

    @property
    def guessed(self) -> Schedule:
        """What a first call runs, as far as the guess decides."""
        first: Schedule = self.launcher.guess(self.space, self.numbers).ordered[0]
        return first

    def run_of(self, schedule: Schedule) -> Callable[[], None]:
        """A launch with this schedule, on torch's current stream: the driver's call alone."""
        made = self.launcher.prepare(self.numbers, self.alignment, schedule)
        start = self.backend.fix(made.binary, made.grid, made.workgroup, made.words, self.arguments)
        return lambda: start(torch.cuda.current_stream().cuda_stream)

    def call(self, **more: Any) -> Any:
        """The plain call of the kernel, as a user writes it."""
        cell = self.cell
        if cell.updates:
            return self.kernel(*cell.arrays, **cell.options, **more)
        return self.kernel(*cell.arrays, out=cell.out, **cell.options, **more)

    def occupancy(self) -> Schedule:
        """The default code at the workgroup that CUDA suggests for it."""
        code = self.default.code
        function = self.device.binary(self.launcher.program, code).function
        answer, _, threads = driver.cuOccupancyMaxPotentialBlockSize(function, None, 0, 0)
        if answer:
            raise RuntimeError(f"cuOccupancyMaxPotentialBlockSize: {answer.name}")
        return Schedule((int(threads), 1, 1), code)

    def swept(self, budget_s: float) -> Schedule:
        """What a sweep chooses."""
        cell = self.cell
        out = {} if cell.updates else {"out": cell.out}
        decision = self.kernel.tune(
            *cell.arrays, **out, **cell.options, budget_s=budget_s, again=True
        )
        return decision.schedule

    def is_program_of(self, other: Target) -> bool:
        """Whether both are compiled from the same source, so that times of one are of both."""
        code = self.default.code
        sources = (one.device.source(one.launcher.program, code) for one in (self, other))
        return len(set(sources)) == 1

    def leaders(self, count: int) -> list[Schedule]:
        """The default, and the first schedules in the order of the guess."""
        ordered = self.launcher.guess(self.space, self.numbers).ordered
        return list(dict.fromkeys([self.default, *ordered[:count]]))

    def compiled(self, schedules: Iterable[Schedule], compilers: Compilers) -> list[Schedule]:
        """Those of the schedules whose code is compiled, many at a time, and can be loaded."""
        wanted = list(schedules)
        codes = dict.fromkeys(schedule.code for schedule in wanted)
        ready = compilers.compile(self.cell.kernel, self.fast_math, codes, COMPILE_S)
        return [schedule for schedule in wanted if schedule.code in ready] or wanted[:ALONE]

    def measured(
        self,
        schedules: Iterable[Schedule],
        limit_s: float,
        refused: Callable[[Schedule, Callable[[], None]], bool],
    ) -> Iterator[Timing]:
        """Each schedule by a replay or a few, until the time is over, but for those refused."""
        until = time.monotonic() + limit_s
        # The best so far says how many launches make a replay: of a few, what one costs shows.
        best = likely = seconds_of(self.run_of(self.default))
        for schedule in schedules:
            if time.monotonic() > until:
                return
            try:
                run = self.run_of(schedule)
            except VyreError:  # its registers do not allow so many threads, say
                continue
            if refused(schedule, run):
                continue
            launches = max(1, min(MOST_QUICK, round(SPACE_REPLAY_S / likely)))
            graph = capture(run, launches)
            times = replays(graph, 1)
            if times[0] * launches < SPACE_REPLAY_S / 2 and launches < MOST_QUICK:
                likely = times[0]
                graph = capture(run, min(MOST_QUICK, round(SPACE_REPLAY_S / likely)))
                times = replays(graph, 1)
            if times[0] < NEAR * best:
                times += replays(graph, 2)
            seconds = sorted(times)[len(times) // 2]
            best = likely = min(best, seconds)
            yield Timing(schedule, seconds)


def live(target: Target, limit_s: float) -> dict[str, Any]:
    """Call plainly until the learner has settled; what it chose `COUNTED` dispatches later.

    Dispatches are counted from when the last candidate it asked for was ready. A new one, within
    the time, starts the count again.
    """
    began = time.monotonic()
    target.call()
    torch.cuda.synchronize()
    first_ms = 1e3 * (time.monotonic() - began)
    each_s = seconds_of(target.call, 5)
    batch = max(1, min(50, int(0.02 / each_s)))
    learner = _learner(target)
    if learner is None:
        return {"schedule": packed(target.default), "settled": True, "learner": "left alone"}
    seen: Any = None
    since = calls = 0
    quiet = time.monotonic()
    choice: Schedule | None = None
    slowest_s = 0.0
    while True:
        for _ in range(batch):
            start = time.perf_counter()
            target.call()
            slowest_s = max(slowest_s, time.perf_counter() - start)
        torch.cuda.synchronize()
        calls += batch
        standing = learner.standing
        now = (standing.ledger.fetches, standing.ledger.fetching)
        if now != seen:
            seen, since, quiet, choice = now, 0, time.monotonic(), None
        else:
            since += batch
        if standing.ledger.fetching == 0 and since >= COUNTED and choice is None:
            choice = standing.decision.schedule
        rested = time.monotonic() - quiet > QUIET_S or bool(standing.stopped)
        if (choice is not None and rested) or time.monotonic() - began > limit_s:
            break
    standing = learner.standing
    ledger = standing.ledger
    return {
        "schedule": packed(choice or standing.decision.schedule),
        "settled": choice is not None,
        "counted": since,
        "calls": calls,
        "seconds": round(time.monotonic() - began, 3),
        "first_ms": round(first_ms, 3),
        "slowest_call_ms": round(1e3 * slowest_s, 3),
        "compiled": ledger.fetches,
        "pending": ledger.fetching,
        "timings": ledger.timings,
        "probes": ledger.probes,
        "reason": standing.decision.reason.value,
        "stopped": standing.stopped,
        "explained": str(target.kernel.explain()).splitlines()[-12:],
    }


def _learner(target: Target) -> Any:
    """Who learns for such calls, if anybody does."""
    found = [one for one in process.deciders().all() if one.workload == target.workload]
    return found[-1] if found else None
