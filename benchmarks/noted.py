"""Notes what a process launches and compiles on a device; times schedules against each other."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from statistics import fmean, median
from typing import Any

import vyre
from vyre.backend.base import TimesBlocks, Unbuilt
from vyre.errors import VyreError
from vyre.model import Schedule
from vyre.runtime.call.bound import Bound

LEAST_WAIT_S = 2e-4
"""What asking for compiled code takes where it is there is a tenth of this."""

BLOCK_NS, MOST_IN_ROW = 1e6, 100
"""A time is the mean over launches in a row that last about this long, at most so many."""

FEWEST_ROUNDS, MOST_ROUNDS, MOST_BY_HOST = 3, 9, 40
FEWEST_BY_HOST = 3  # launches in a row: the first finds threads asleep, and data elsewhere


@dataclass(frozen=True, slots=True)
class Wait:
    """A thread asked for compiled code, after so many launches, and waited."""

    launches: int
    caller: bool  # it was the thread that calls kernels
    seconds: float
    built: bool  # it compiled or loaded itself; else it waited for another thread


class Noted:
    """Every launch on a device from now on, and every wait for compiled code, in order.

    It stands before the seams of the device and its backend, so it must be made before the first
    call: steps that were bound earlier are not seen.
    """

    def __init__(self, device: vyre.Device) -> None:
        self._device = device
        self._marks: list[tuple[Any, Any]] = []  # binaries and workgroups
        self._kept: list[Any] = []  # what was built, so that no other object has its place
        self._codes: dict[int, Any] = {}
        self._built_by: set[int] = set()
        self._caller = threading.get_ident()
        self._is_within = False  # of the thread that calls kernels, which is one
        self.waits: list[Wait] = []
        backend: Any = device.backend
        backend.launch = partial(self._launch, backend.launch)
        backend.bind = partial(self._bind, backend.bind)
        backend.fix = partial(self._fix, backend.fix)
        backend.build = partial(self._build, backend.build)
        held: Any = device
        held.binaries = partial(self._binaries, device.binaries)

    def __len__(self) -> int:
        return len(self._marks)

    def schedules(self) -> list[Schedule]:
        """What was launched so far, one by one."""
        codes = {id(built): code for (_, code), built in tuple(self._device._built.items())}
        codes |= self._codes
        known: dict[tuple[int, Any], Schedule] = {}
        found = []
        for binary, workgroup in self._marks:
            key = id(binary), workgroup
            if key not in known:
                known[key] = self._schedule(binary, workgroup, codes)
            found.append(known[key])
        return found

    def _schedule(self, binary: Any, block: Any, codes: Mapping[int, Any]) -> Schedule:
        """What a launch ran, by what was built, or by what it was made of for that launch."""
        code = codes.get(id(binary))
        if code is None:  # with the launch's own memory, or so many launches
            parts = {part.name for part in fields(binary)} & {"room", "launches"}
            own = {name: getattr(binary, name) for name in parts}
            built = next(one for one in self._kept if replace(one, **own) == binary)
            code = self._codes[id(built)]
        x, y, z = block
        return Schedule((x, y, z // (1 + code.loaders)), code)

    def _launch(
        self, launch: Any, binary: Any, grid: Any, workgroup: Any, *rest: Any, **more: Any
    ) -> Any:
        if not self._is_within:
            self._marks.append((binary, workgroup))
        return launch(binary, grid, workgroup, *rest, **more)

    def _bind(
        self, bind: Any, binary: Any, grid: Any, workgroup: Any, *rest: Any, **more: Any
    ) -> Any:
        return self._noting(bind(binary, grid, workgroup, *rest, **more), (binary, workgroup))

    def _fix(
        self, fix: Any, binary: Any, grid: Any, workgroup: Any, *rest: Any, **more: Any
    ) -> Any:
        return self._noting(fix(binary, grid, workgroup, *rest, **more), (binary, workgroup))

    def _noting(self, start: Callable[..., Any], mark: tuple[Any, Any]) -> Callable[..., Any]:
        append = self._marks.append

        def launch(*given: Any) -> Any:
            if self._is_within:  # what is bound may launch by another seam
                return start(*given)
            append(mark)
            self._is_within = True
            try:
                return start(*given)
            finally:
                self._is_within = False

        return launch

    def _build(self, build: Any, jobs: Sequence[Any], *rest: Any, **more: Any) -> Any:
        self._built_by.add(threading.get_ident())
        made = build(jobs, *rest, **more)
        for job, binary in zip(jobs, made, strict=True):
            if not isinstance(binary, Unbuilt):
                self._kept.append(binary)
                self._codes[id(binary)] = job.code
        return made

    def _binaries(self, binaries: Any, *given: Any, **more: Any) -> Any:
        me, before = threading.get_ident(), len(self._marks)
        self._built_by.discard(me)
        start = time.perf_counter()
        made = binaries(*given, **more)
        took = time.perf_counter() - start
        built = me in self._built_by
        if built or took > LEAST_WAIT_S:
            self.waits.append(Wait(before, me == self._caller, took, built))
        return made


def timer(bound: Bound, schedule: Schedule) -> Callable[[int], float]:
    """A function that gives the nanoseconds of one launch among so many in a row.

    Raises:
        VyreError: the schedule cannot run this call.
    """
    numbers, alignment, _ = bound.numbered
    launcher = bound.launcher
    step = launcher.prepare(numbers, alignment, schedule)
    arguments = launcher.arguments(bound.arrays, bound.call.scalars)  # type: ignore[arg-type]  # resident, all of them
    backend, given = step.backend, (step.binary, step.grid, step.workgroup, arguments, step.words)
    if isinstance(backend, TimesBlocks):
        return partial(backend.time_block, *given)

    def launches(count: int) -> float:
        times = []
        for _ in range(count):
            ticket = backend.launch(*given, timed=True)
            ticket.wait()
            times.append(ticket.elapsed_ns() or 0)
        return float(median(times))

    return launches


def timed(
    bound: Bound, schedules: Sequence[Schedule], seconds: float
) -> tuple[dict[Schedule, float], dict[Schedule, str]]:
    """Nanoseconds of each, from rounds in which all take turns; and why others have none.

    Rounds go on for about so many seconds; the first one warms up. Their median counts, and where
    the host's clock times what others disturb, which makes it slower alone, the lower quartile.
    """
    runs: dict[Schedule, Callable[[int], float]] = {}
    refused: dict[Schedule, str] = {}
    least: dict[Schedule, float] = {}  # by which it is launched as often as it takes
    for schedule in schedules:
        try:
            run = timer(bound, schedule)
            run(1)
            least[schedule] = run(2)
        except VyreError as error:
            refused[schedule] = error.problem
        else:
            runs[schedule] = run
    times: dict[Schedule, list[float]] = {schedule: [] for schedule in runs}
    order, end = list(runs), time.monotonic() + seconds
    by_device = isinstance(bound.launcher.device.backend, TimesBlocks)
    fewest = 1 if by_device else FEWEST_BY_HOST
    for number in range(MOST_ROUNDS if by_device else MOST_BY_HOST):
        for schedule in order:
            now = runs[schedule](max(_enough(least[schedule]), fewest))
            least[schedule] = min(least[schedule], now)
            times[schedule].append(now)
        order = order[len(order) // 3 :] + order[: len(order) // 3]
        if number >= FEWEST_ROUNDS and time.monotonic() > end:
            break
    middle = median if by_device else _lower_quartile
    return {schedule: middle(some[1:]) for schedule, some in times.items()}, refused


def one_by_one(
    bound: Bound, schedules: Sequence[Schedule], seconds: float, pace_s: float
) -> tuple[dict[Schedule, float], Schedule]:
    """Nanoseconds of each as a launch takes that comes so long after one of the same; and the best.

    What lies in a cache, what the device does between launches and how it fetches code are other
    then than in a row, and so may be which is the best. After a launch of another schedule they are
    other again: each is launched once before it is timed. The best is chosen by the even rounds and
    all are timed by the odd ones, or the luck of one among many would count as speed. The mean
    counts, without the tenth at either end: an idle device notices the end of a launch in steps
    (0.22 us on an H200), and of times that fall on two of them a median is one or the other.
    """
    numbers, alignment, _ = bound.numbered
    launcher, runs = bound.launcher, dict[Schedule, Callable[..., Any]]()
    for schedule in schedules:
        step = launcher.prepare(numbers, alignment, schedule)
        arguments = launcher.arguments(bound.arrays, bound.call.scalars)  # type: ignore[arg-type]  # resident, all of them
        given = (step.binary, step.grid, step.workgroup, arguments, step.words)
        runs[schedule] = partial(step.backend.launch, *given)
    times: dict[Schedule, list[float]] = {schedule: [] for schedule in runs}
    order, rounds = list(runs), max(2 * FEWEST_ROUNDS, int(seconds / (pace_s * len(runs))))
    for _ in range(rounds):
        for schedule in order:
            runs[schedule]()
            time.sleep(pace_s)
            ticket = runs[schedule](timed=True)
            ticket.wait()
            times[schedule].append(float(ticket.elapsed_ns() or 0))
        order = order[len(order) // 3 :] + order[: len(order) // 3]
    best = min(times, key=lambda one: _mean(times[one][2::2]))
    return {schedule: _mean(some[3::2]) for schedule, some in times.items()}, best


def _mean(times: Sequence[float]) -> float:
    """The mean without the tenth at either end."""
    some, cut = sorted(times), len(times) // 10
    return fmean(some[cut : len(some) - cut])


def _lower_quartile(times: Sequence[float]) -> float:
    return sorted(times)[(len(times) - 1) // 4]


def leaders(bound: Bound, count: int, seconds: float) -> list[Schedule]:
    """The best of the whole space by one quick look at each; what it has no time for is left."""
    numbers, alignment, _ = bound.numbered
    launcher, found = bound.launcher, dict[Schedule, float]()
    legal = launcher.space(numbers, alignment).legal
    end = time.monotonic() + seconds
    for schedule in legal:
        if time.monotonic() > end:
            break
        try:
            run = timer(bound, schedule)
            first = run(1)
            if not found or first < 4 * min(found.values()):
                found[schedule] = run(min(_enough(first), 10))
        except VyreError:
            continue
    return sorted(found, key=found.__getitem__)[:count]


def ratio_of(launched: Sequence[Schedule], times: Mapping[Schedule, float], best: float) -> float:
    """The time of these launches over that of as many of the best."""
    return sum(times[schedule] for schedule in launched) / (len(launched) * best)


def _enough(ns: float) -> int:
    return max(1, min(MOST_IN_ROW, int(BLOCK_NS / max(ns, 1.0))))
