"""Tuning a call on purpose: `kernel.tune`, and calls under mode `on`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from random import Random
from statistics import median

import numpy as np

from vyre.backend.base import TimesBlocks
from vyre.errors import VyreError
from vyre.ir.printing import speaks
from vyre.learn.conclude import conclude
from vyre.learn.recorder import Recorder
from vyre.model import (
    Config,
    Decision,
    Failed,
    Outcome,
    Reason,
    Schedule,
    Workload,
    scheduled,
)
from vyre.plan.geometry import tile_grid
from vyre.plan.guess import order
from vyre.policy.contest import Contest, Late, Progress
from vyre.policy.measured import is_time
from vyre.runtime.arrays.array import DeviceArray
from vyre.runtime.compile.bundle import Bundle, Warm
from vyre.runtime.compile.helper import CompileHelper, Ready
from vyre.runtime.compile.worker import Pending, Refused
from vyre.runtime.devices.launcher import Launcher, Numbers, Prepared

MOST_CODES = 14
"""Codes that a sweep compiles at most; on PoCL one costs a third of a second (measured)."""

BLOCK_S = 0.001
MOST_LAUNCHES = 12
"""A sample is the median of launches that last this long together: a timer's steps drop out."""

FEW_LAUNCHES, MOST_IN_ROW = 4, 100
"""Launches of a block, where a device runs and times them on its own."""


def answers(known: Decision, budget_s: float) -> bool:
    """Whether what is remembered is as good as what a sweep of so many seconds would find.

    Where one was cut short, whoever gives more time looks again.
    """
    return known.unfinished_s is None or budget_s <= known.unfinished_s


def idle(launcher: Launcher, numbers: Numbers, workload: Workload) -> Decision:
    """The default, for a call that covers no element: nothing of it is launched or remembered."""
    x, y, z = (max(1, axis) for axis in numbers.extent)  # plans share time out among elements
    return Decision(
        workload=workload,
        config=launcher.default(replace(numbers, extent=(x, y, z))),
        reason=Reason.DEFAULT,
        detail="the call covers no element, so there is nothing to launch",
    )


def tune(
    launcher: Launcher,
    numbers: Numbers,
    workload: Workload,
    alignment: Mapping[str, int],
    arrays: Mapping[str, DeviceArray],
    scalars: Mapping[str, np.generic],
    recorder: Recorder,
    helper: CompileHelper | None,
    *,
    budget_s: float,
    progress: Callable[[Progress], None] | None = None,
    seed: int = 0,
) -> Decision:
    """Sweep the space of a launch on `arrays`, which are the sweep's to change, and remember.

    What was measured is recorded as it comes, so that an interrupted sweep is not lost. A sweep
    that measured nothing beside the default decides nothing: what was remembered before stands.
    Where it does not write, what it decides holds for this process alone. A program that prints or
    asserts is not launched: nobody asked to hear it.

    Raises:
        KeyboardInterrupt: the user's own, after what was found by then is safe.
    """
    if speaks(launcher.program):
        return Decision(
            workload=workload,
            config=launcher.default(numbers),
            reason=Reason.NOT_FREE,
            detail=launcher.why_alone(numbers) or "",
        )
    candidates = launcher.space(numbers, alignment)
    known = recorder.get(workload)
    ordered = candidates.legal
    if not launcher.is_named:
        info = launcher.device.info
        ordered = order(candidates, launcher.program, launcher.facts, info, numbers)
    if known is not None and known.config in candidates.legal:
        ordered = tuple(dict.fromkeys((known.schedule, *ordered)))
    codes = dict.fromkeys([candidates.default.code, *(schedule.code for schedule in ordered)])
    chosen = set(list(codes)[:MOST_CODES])
    size = launcher.size(numbers)
    recorder.name(workload, launcher.kernel.name, launcher.device.info)
    ahead = _Ahead(launcher, numbers, helper, lambda: sweep.left_s)
    sweep = Contest(
        default=candidates.default,
        candidates=tuple(s for s in ordered if s.code in chosen),
        ready=ahead,
        measure=lambda s: _measure(launcher, numbers, alignment, arrays, scalars, scheduled(s)),
        clock=time.monotonic,
        budget_s=budget_s,
        rng=Random(seed),
        report=progress,
        told=lambda outcome: recorder.record(workload, _clocked(outcome, launcher), size),
    )
    return conclude(
        sweep,
        workload,
        candidates.legal,
        recorder,
        over=ahead.cancel,
        put=recorder.put,
        why_not=launcher.why_alone(numbers),
    )


class _Ahead:
    """Compiles in the helper process what is announced, in order, while others are measured."""

    def __init__(
        self,
        launcher: Launcher,
        numbers: Numbers,
        helper: CompileHelper | None,
        left_s: Callable[[], float],
    ) -> None:
        self.launcher, self.numbers, self.helper = launcher, numbers, helper
        self.left_s = left_s  # for how long one of them may be waited for
        self.pending: dict[Schedule, Pending[Ready]] = {}

    def announce(self, configs: Sequence[Config]) -> None:
        if self.helper is None:
            return
        for schedule in map(scheduled, configs):
            if schedule not in self.pending:
                grid = tile_grid(self.numbers.extent, schedule)
                warm = Warm(0, schedule.block, grid)
                bundle = Bundle(program=self.launcher.program, codes=(schedule.code,), warm=(warm,))
                self.pending[schedule] = self.helper.submit(bundle)

    def cancel(self) -> None:
        """Leave the helper free for the next sweep."""
        for pending in self.pending.values():
            pending.cancel()

    def wait(self, config: Config) -> Failed | Late | None:
        pending = self.pending.get(scheduled(config))
        if pending is None:
            return None
        answer = pending.wait(max(0.0, self.left_s()))
        if answer is None:
            return Late()
        return Failed(config, answer.reason) if isinstance(answer, Refused) else None


def _measure(
    launcher: Launcher,
    numbers: Numbers,
    alignment: Mapping[str, int],
    arrays: Mapping[str, DeviceArray],
    scalars: Mapping[str, np.generic],
    schedule: Schedule,
) -> float | Failed:
    """The median device time of a block of launches."""
    try:
        prepared = launcher.prepare(numbers, alignment, schedule)
        backend = launcher.device.backend
        if isinstance(backend, TimesBlocks):
            once = partial(
                backend.time_block,
                prepared.binary,
                prepared.grid,
                prepared.workgroup,
                launcher.arguments(arrays, scalars),
                prepared.words,
            )
            few = once(FEW_LAUNCHES)
            enough = int(BLOCK_S * 1e9 / max(few, 1.0)) if is_time(few) else 0
            ns = once(min(enough, MOST_IN_ROW)) if enough > 2 * FEW_LAUNCHES else few
            return ns if is_time(ns) else Failed(schedule, f"the device gave a time of {ns} ns")
        times = _times(launcher, prepared, arrays, scalars)
    except VyreError as error:
        return Failed(schedule, error.problem)
    return float(median(times)) if times else Failed(schedule, "the device gives no times")


def _clocked(outcome: Outcome, launcher: Launcher) -> Outcome:
    """What came of a block of launches that has just ended, with the clocks it ended at."""
    clocks = launcher.device.backend.clocks()
    if clocks is None or isinstance(outcome, Failed):
        return outcome
    return replace(outcome, clock=clocks.state)


def _times(
    launcher: Launcher,
    prepared: Prepared,
    arrays: Mapping[str, DeviceArray],
    scalars: Mapping[str, np.generic],
) -> list[int]:
    """The device's times of single launches, as many as last about `BLOCK_S`."""
    times: list[int] = []
    deadline = time.monotonic() + BLOCK_S
    while len(times) < MOST_LAUNCHES:
        ticket = launcher.run_resident(prepared, arrays, scalars, timed=True)
        ticket.wait()
        elapsed = ticket.elapsed_ns()
        if elapsed is not None and is_time(elapsed):
            times.append(elapsed)
        if time.monotonic() >= deadline:
            break
    return times
