"""An explicit sweep: measure candidates in turns, drop the slow ones early, adopt with confidence.

Deciding is here, as a pure loop over a measuring function; compiling and launching are handed in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from random import Random
from statistics import median
from typing import Protocol

from vyre.model import Failed, Schedule
from vyre.stats import Interval, ratio_interval

FEWEST = 3  # rounds before anything is dropped
HOPELESS = 1.5  # times the best after the first round that counts
BEHIND = 1.15  # times the best after FEWEST rounds
DECIDED = 15  # rounds of the last few against the default
CONFIDENCE = 0.99  # the best of many is often lucky, so its own interval must be strict
MARGIN = 1.01  # a gain this small is not worth another code, and noise finds it often enough
LOOKING = 0.7  # of the budget; the rest is kept for deciding between what was found


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What a long sweep is doing: for a progress bar."""

    measured: int
    planned: int
    best: Schedule
    gain: float  # the default's time over the best one's, so far
    elapsed_s: float
    budget_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """What a sweep found."""

    winner: Schedule
    default: Schedule
    gain: Interval | None  # default time / winner time; None where only the default ran
    samples: dict[Schedule, list[float]]  # nanoseconds, first samples dropped
    failed: tuple[Failed, ...]
    finished: bool  # False where the budget or the user ended it early
    interrupted: bool = False  # by the user, who is waiting for it to end


Measure = Callable[[Schedule], float | Failed]


class Ready(Protocol):
    """Compiles ahead: `announce` says what will be wanted, `wait` what came of one of them."""

    def announce(self, schedules: Sequence[Schedule]) -> None: ...
    def wait(self, schedule: Schedule) -> Failed | None: ...


@dataclass(slots=True)
class Sweep:
    """One sweep over candidates, the default first; `run` goes on until all is decided."""

    default: Schedule
    candidates: tuple[Schedule, ...]
    ready: Ready
    measure: Measure  # launches once and gives the device's nanoseconds
    clock: Callable[[], float]
    budget_s: float
    rng: Random
    report: Callable[[Progress], None] | None = None
    samples: dict[Schedule, list[float]] = field(default_factory=dict)
    failed: dict[Schedule, Failed] = field(default_factory=dict)
    decided_from: dict[Schedule, int] = field(default_factory=dict)
    finalists: list[Schedule] = field(default_factory=list)
    started: float = 0.0

    def run(self) -> Swept:
        """Measure code by code, then the workgroups of the best codes, then decide.

        A code costs a compile, a workgroup only a launch argument, so the codes are tried at one
        workgroup each, and only the best of them at all.
        """
        self.started = self.clock()
        interrupted = False
        try:
            self._prepare(self.default)
            if self.default in self.failed:
                return self._result(finished=False, interrupted=False)
            first = self._one_per_code()
            self._race(first)
            # The default's code is compiled already, so its workgroups cost least to look at.
            leaders = {schedule.code for schedule in (self.default, *self._fastest(3))}
            rest = [s for s in self.candidates if s.code in leaders and s not in self.samples]
            self._race(rest)
            # What made it the fastest was partly luck, so only what comes now decides.
            self.decided_from = {s: len(times) for s, times in self.samples.items()}
            self.finalists = self._fastest(3)
            self._race(self.finalists, rounds=DECIDED)
        except KeyboardInterrupt:
            interrupted = True
        return self._result(finished=not interrupted and not self._over(), interrupted=interrupted)

    def _over(self, share: float = LOOKING) -> bool:
        return self.clock() - self.started >= self.budget_s * share

    def _one_per_code(self) -> list[Schedule]:
        """The first schedule of each code, in the order of the candidates."""
        chosen: dict[object, Schedule] = {}
        for schedule in self.candidates:
            chosen.setdefault(schedule.code, schedule)
        return [schedule for schedule in chosen.values() if schedule != self.default]

    def _prepare(self, schedule: Schedule) -> None:
        failure = self.ready.wait(schedule)
        # The first launch is not like the others: it may compile, and its caches are cold.
        outcome = self.measure(schedule) if failure is None else failure
        if isinstance(outcome, Failed):
            self.failed[schedule] = outcome
        else:
            self.samples.setdefault(schedule, [])

    def _race(self, schedules: Sequence[Schedule], rounds: int = FEWEST) -> None:
        """Measure these and the default in turns, dropping what falls behind."""
        entered: list[Schedule] = []
        self.ready.announce([s for s in schedules if s not in self.samples])
        for schedule in schedules:
            new = schedule not in self.samples and schedule not in self.failed
            if new and not self._over():
                self._prepare(schedule)
                self._tell()
            if schedule in self.samples:
                entered.append(schedule)
        for turn in range(rounds):
            order = [*entered, self.default]
            self.rng.shuffle(order)
            for schedule in dict.fromkeys(order):
                if turn >= FEWEST and self._over(1.0):
                    return
                self._sample(schedule)
            entered = [s for s in entered if s not in self.failed]
            limit = self._best_time() * (HOPELESS if turn < FEWEST - 1 else BEHIND)
            entered = [s for s in entered if median(self.samples[s]) <= limit]
            if not entered:
                return
            self._tell()

    def _sample(self, schedule: Schedule) -> None:
        outcome = self.measure(schedule)
        if isinstance(outcome, Failed):
            self.failed[schedule] = outcome
            self.samples.pop(schedule, None)
        else:
            self.samples[schedule].append(outcome)

    def _best_time(self) -> float:
        return min(median(times) for times in self.samples.values() if times)

    def _fastest(self, count: int) -> list[Schedule]:
        """The best so far but for the default and the hopeless; of equals the smaller workgroup."""
        limit = self._best_time() * HOPELESS if any(self.samples.values()) else 0.0
        timed = [
            s
            for s, times in self.samples.items()
            if times and s != self.default and median(times) <= limit
        ]
        timed.sort(key=lambda s: (median(self.samples[s]), prod(s.workgroup)))
        return timed[:count]

    def _tell(self) -> None:
        if self.report is None or not self.samples.get(self.default):
            return
        best = min(
            (s for s, times in self.samples.items() if times),
            key=lambda s: median(self.samples[s]),
        )
        self.report(
            Progress(
                measured=len(self.samples),
                planned=len(self.candidates),
                best=best,
                gain=median(self.samples[self.default]) / median(self.samples[best]),
                elapsed_s=self.clock() - self.started,
                budget_s=self.budget_s,
            )
        )

    def _result(self, *, finished: bool, interrupted: bool) -> Swept:
        """The fastest that is faster than the default with confidence, else the default."""
        winner, gain = self.default, None
        baseline = self.samples.get(self.default, [])
        # Others may look faster by now, but only because they were not measured again.
        for schedule in self.finalists or self._fastest(3):
            times = self.samples.get(schedule, [])  # none where it failed in the end
            size = min(len(times) - self.decided_from.get(schedule, 0), len(baseline))
            if size < FEWEST:
                continue
            # Both sides' latest samples come from the same rounds, so they pair.
            interval = ratio_interval(baseline[-size:], times[-size:], self.rng, CONFIDENCE)
            if interval.low > MARGIN and (gain is None or interval.middle > gain.middle):
                winner, gain = schedule, interval
        return Swept(
            winner=winner,
            default=self.default,
            gain=gain,
            samples={s: times for s, times in self.samples.items() if times},
            failed=tuple(self.failed.values()),
            finished=finished,
            interrupted=interrupted,
        )
