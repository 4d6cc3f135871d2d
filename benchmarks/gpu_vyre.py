"""Vyre's own sides: schedules pinned, swept, learned from live calls, and the whole space."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from cuda.bindings import driver
from gpu_cells import Cell
from gpu_replay import capture, replays, seconds_of

import vyre
from vyre import kernels
from vyre.errors import VyreError
from vyre.learn import process
from vyre.model import Code, Order, Schedule

SPACE_REPLAY_S = 4e-4
TOGETHER = 16
"""Codes of one build."""

QUIET_S = 1.0
"""Without anything new for so long, a learner wants no more candidates."""

COUNTED = 1000
"""Dispatches after the last candidate was ready, when the choice is taken."""


def packed(schedule: Schedule) -> list[Any]:
    """A schedule as JSON holds it."""
    code = schedule.code
    return [
        *schedule.workgroup,
        *(code.items, code.vector, code.unroll, code.order.value, code.checked),
    ]


def unpacked(row: list[Any]) -> Schedule:
    """What `packed` was given."""
    items, vector, unroll, order, checked = row[3:]
    code = Code(items=items, vector=vector, unroll=unroll, order=Order(order), checked=checked)
    return Schedule((row[0], row[1], row[2]), code)


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds of a launch with a schedule."""

    schedule: Schedule
    seconds: float


class Target:
    """A kernel of Vyre on the arrays of a cell."""

    def __init__(self, cell: Cell, *, fast_math: bool = False) -> None:
        self.cell = cell
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

    def run_of(self, schedule: Schedule) -> Callable[[], None]:
        """A launch with this schedule, on torch's current stream: the driver's call alone."""
        made = self.launcher.prepare(self.numbers, self.alignment, schedule)
        start = self.backend.fix(
            made.binary, made.grid, made.config.workgroup, made.words, self.arguments
        )
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
        return decision.config

    def compile_space(self) -> int:
        """Build every code of the space, many at a time; how many there are."""
        codes = self.space.codes
        for start in range(0, len(codes), TOGETHER):
            some = codes[start : start + TOGETHER]
            self.device.binaries([(self.launcher.program, code) for code in some])
        return len(codes)

    def measure_space(self, limit_s: float) -> Iterator[Timing]:
        """Every schedule of the space, by a few replays each, until the time is over."""
        until = time.monotonic() + limit_s
        default_s = seconds_of(self.run_of(self.default))
        launches = max(1, min(200, round(SPACE_REPLAY_S / default_s)))
        # What is slow is measured well enough by one replay, if all are to be measured at all.
        count = 3 if 4 * default_s * launches * len(self.space.legal) < limit_s / 2 else 1
        for schedule in self.space.legal:
            if time.monotonic() > until:
                return
            try:
                run = self.run_of(schedule)
            except VyreError:  # its registers do not allow so many threads
                continue
            yield Timing(schedule, sorted(replays(capture(run, launches), count))[count // 2])


def kernel_of(name: str, fast_math: bool) -> vyre.Kernel:
    """The bundled kernel, or the same function as a kernel that gives up exact rounding."""
    kernel: vyre.Kernel = getattr(kernels, name)
    if not fast_math:
        return kernel
    if name not in _fast:
        function: Any = kernel.__wrapped__  # type: ignore[attr-defined]  # by functools.update_wrapper
        _fast[name] = vyre.kernel(fast_math=True)(function)
    return _fast[name]


_fast: dict[str, vyre.Kernel] = {}


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
        now = (standing.compiled, standing.pending)
        if now != seen:
            seen, since, quiet, choice = now, 0, time.monotonic(), None
        else:
            since += batch
        if standing.pending == 0 and since >= COUNTED and choice is None:
            choice = standing.decision.config
        rested = time.monotonic() - quiet > QUIET_S or bool(standing.stopped)
        if (choice is not None and rested) or time.monotonic() - began > limit_s:
            break
    standing = learner.standing
    return {
        "schedule": packed(choice or standing.decision.config),
        "settled": choice is not None,
        "counted": since,
        "calls": calls,
        "seconds": round(time.monotonic() - began, 3),
        "first_ms": round(first_ms, 3),
        "slowest_call_ms": round(1e3 * slowest_s, 3),
        "compiled": standing.compiled,
        "pending": standing.pending,
        "timings": standing.timings,
        "probes": standing.probes,
        "reason": standing.decision.reason.value,
        "stopped": standing.stopped,
        "explained": str(target.kernel.explain()).splitlines()[-12:],
    }


def _learner(target: Target) -> Any:
    """Who learns for such calls, if anybody does."""
    found = [one for one in process.deciders().all() if one.workload == target.workload]
    return found[-1] if found else None
