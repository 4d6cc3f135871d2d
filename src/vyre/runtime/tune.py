"""Tuning a call on purpose: `kernel.tune`, and calls under mode `on`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from random import Random
from statistics import median

import numpy as np

from vyre.backend.base import TimesBlocks
from vyre.errors import VyreError
from vyre.model import Decision, Failed, Reason, Schedule, Timed, Workload
from vyre.plan.geometry import tile_grid
from vyre.plan.guess import order
from vyre.plan.space import LaunchTraits, Space, space
from vyre.runtime.array import DeviceArray
from vyre.runtime.bundle import Bundle, Warm
from vyre.runtime.helper import CompileHelper, Pending, Refused
from vyre.runtime.launcher import Launcher, Numbers, Prepared
from vyre.runtime.recorder import Recorder
from vyre.runtime.sweep import CONFIDENCE, LOOKING, Progress, Sweep, Swept

MOST_CODES = 14
"""Codes that a sweep compiles at most; on PoCL one costs a third of a second (measured)."""

BLOCK_S = 0.001
MOST_LAUNCHES = 12
"""A sample is the median of launches that last this long together: a timer's steps drop out."""

FEW_LAUNCHES, MOST_IN_ROW = 4, 100
"""Launches of a block, where a device runs and times them on its own."""


def space_of(launcher: Launcher, numbers: Numbers, alignment: Mapping[str, int]) -> Space:
    """The schedules that may run this launch."""
    info = launcher.device.info
    return space(
        launcher.facts,
        launcher.program,
        numbers,
        info.limits,
        info.kind,
        launcher.kernel.declared_workgroup,
        LaunchTraits(alignment),
        launcher.resources(numbers),
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

    What was measured is recorded as it comes, so that an interrupted sweep is not lost.

    Raises:
        KeyboardInterrupt: the user's own, after what was found by then is safe.
    """
    candidates = space_of(launcher, numbers, alignment)
    ordered = order(candidates, launcher.facts, launcher.device.info, numbers)
    codes = dict.fromkeys([candidates.default.code, *(schedule.code for schedule in ordered)])
    chosen = set(list(codes)[:MOST_CODES])
    size = prod(numbers.extent)
    recorder.name(workload, launcher.kernel.name, launcher.device.info)

    def measure(schedule: Schedule) -> float | Failed:
        outcome = _measure(launcher, numbers, alignment, arrays, scalars, schedule)
        elapsed = Timed(schedule, outcome) if isinstance(outcome, float) else outcome
        recorder.record(workload, elapsed, size)
        return outcome

    ahead = _Ahead(launcher, numbers, helper, time.monotonic() + budget_s * LOOKING)
    swept = Sweep(
        default=candidates.default,
        candidates=tuple(s for s in ordered if s.code in chosen),
        ready=ahead,
        measure=measure,
        clock=time.monotonic,
        budget_s=budget_s,
        rng=Random(seed),
        report=progress,
    ).run()
    ahead.cancel()
    decision = _decision(workload, swept, candidates)
    if swept.interrupted:
        if decision.reason is Reason.ADOPTED:
            recorder.put(decision)
        recorder.flush()
        raise KeyboardInterrupt
    recorder.put(decision)
    return decision


class _Ahead:
    """Compiles in the helper process what is announced, in order, while others are measured."""

    def __init__(
        self,
        launcher: Launcher,
        numbers: Numbers,
        helper: CompileHelper | None,
        deadline: float,
    ) -> None:
        self.launcher, self.numbers, self.helper = launcher, numbers, helper
        self.deadline = deadline  # by the monotonic clock
        self.pending: dict[Schedule, Pending] = {}

    def announce(self, schedules: Sequence[Schedule]) -> None:
        if self.helper is None:
            return
        for schedule in schedules:
            if schedule not in self.pending:
                grid = tile_grid(self.numbers.extent, schedule)
                warm = Warm(0, schedule.workgroup, grid)
                bundle = Bundle(program=self.launcher.program, codes=(schedule.code,), warm=(warm,))
                self.pending[schedule] = self.helper.submit(bundle)

    def cancel(self) -> None:
        """Leave the helper free for the next sweep."""
        for pending in self.pending.values():
            pending.cancel()

    def wait(self, schedule: Schedule) -> Failed | None:
        pending = self.pending.get(schedule)
        if pending is None:
            return None
        answer = pending.wait(max(0.0, self.deadline - time.monotonic()))
        if answer is None:
            return Failed(schedule, "it was not compiled within the budget")
        return Failed(schedule, answer.reason) if isinstance(answer, Refused) else None


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
            enough = int(BLOCK_S * 1e9 / max(few, 1.0))
            return once(min(enough, MOST_IN_ROW)) if enough > 2 * FEW_LAUNCHES else few
        times = _times(launcher, prepared, arrays, scalars)
    except VyreError as error:
        return Failed(schedule, error.problem)
    return float(median(times)) if times else Failed(schedule, "the device gives no times")


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
        if elapsed:  # a timer that says 0 has not measured
            times.append(elapsed)
        if time.monotonic() >= deadline:
            break
    return times


def _decision(workload: Workload, swept: Swept, candidates: Space) -> Decision:
    if swept.winner == swept.default:
        reason, why = Reason.DEFAULT, f"nothing was faster with {CONFIDENCE:.0%} confidence"
        if not swept.finished:
            why += " within the budget"
        if len(candidates.legal) == 1 and candidates.refused:
            reason, why = Reason.NOT_FREE, candidates.refused[0].why
        for failure in swept.failed:
            if failure.schedule == swept.default:
                why = f"the default could not be measured: {failure.reason}"
        return Decision(workload=workload, schedule=swept.default, reason=reason, detail=why)
    gain = swept.gain
    assert gain is not None
    return Decision(
        workload=workload,
        schedule=swept.winner,
        reason=Reason.ADOPTED,
        detail=f"{gain.middle:.2f}x the default's speed, {CONFIDENCE:.0%} within "
        f"[{gain.low:.2f}, {gain.high:.2f}], of {len(swept.samples)} schedules measured",
        gain=gain.middle,
        confidence=CONFIDENCE,
    )
