"""A sweep on purpose: measure candidates in turns, drop the slow ones early, adopt with confidence.

Deciding is here, as a pure loop over a measuring function; compiling and launching are handed in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from statistics import median
from typing import Protocol

from vyre.model import Config, Failed, Outcome, Timed, config_order
from vyre.stats import Interval, ratio_interval

FEWEST = 3  # rounds before anything is dropped, and pairs that may decide
HOPELESS = 1.5  # times the best after the first round that counts
BEHIND = 1.15  # times the best after FEWEST rounds
DECIDED = 15  # rounds of the last few against the default
MOST_PAIRS = 60  # where pairs and times contradict each other, as those of two modes do
CONFIDENCE = 0.99  # the best of many is often lucky, so its own interval must be strict
MARGIN = 1.01  # a gain this small is not worth another code, and noise finds it often enough
LOOKING = 0.7  # of the budget at least; the rest, as far as deciding needs it, is kept for that
LARGE, PATIENCE = 2.0, 1.5  # a gain worth more time than was given, and how much of it
_FINALISTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What a long sweep is doing: for a progress bar."""

    measured: int
    planned: int
    best: Config
    gain: float  # the default's time over the best one's, so far
    elapsed_s: float
    budget_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """What a sweep found."""

    winner: Config
    default: Config
    gain: Interval | None  # default time / winner time; None where only the default ran
    samples: Mapping[Config, Sequence[float]]  # nanoseconds, first samples dropped
    failed: tuple[Failed, ...]
    finished: bool  # False where the budget or the user ended it early
    interrupted: bool = False  # by the user, who is waiting for it to end
    pairs: int = 0  # that the gain rests on
    unclear: Config | None = None  # faster by its pairs, and not by its times

    @property
    def rivals(self) -> int:
        """How many schedules were measured beside the default; without any, nothing is decided."""
        return len(self.samples.keys() - {self.default})


@dataclass(frozen=True, slots=True)
class Late:
    """Something that was not compiled when the time was over; nothing is wrong with it."""


Measure = Callable[[Config], float | Failed]


class Ready(Protocol):
    """Compiles ahead: `announce` says what will be wanted, `wait` what came of one of them.

    Whoever implements it waits no longer than the sweep has `left_s`.
    """

    def announce(self, configs: Sequence[Config]) -> None: ...
    def wait(self, config: Config) -> Failed | Late | None: ...


class _DefaultLost(Exception):
    """The default cannot be measured any more, so nothing can be compared with it."""


@dataclass(slots=True)
class Contest:
    """One sweep over candidates, the default first; `run` goes on until all is decided."""

    default: Config
    candidates: tuple[Config, ...]
    ready: Ready
    measure: Measure  # launches once and gives the device's nanoseconds
    clock: Callable[[], float]
    budget_s: float
    rng: Random
    report: Callable[[Progress], None] | None = None
    told: Callable[[Outcome], None] | None = None  # hears each outcome that counts
    samples: dict[Config, list[float]] = field(default_factory=dict)
    failed: dict[Config, Failed] = field(default_factory=dict)
    pairs: dict[Config, list[tuple[float, float]]] = field(default_factory=dict)
    finalists: list[Config] = field(default_factory=list)
    cut: bool = False  # whether something was left out for want of time
    started: float = 0.0
    took_s: list[float] = field(default_factory=list)  # by each sample

    def run(self) -> Swept:
        """Measure code by code, then the workgroups of the best codes, then decide.

        A code costs a compile, a workgroup only a launch argument, so the codes are tried at one
        workgroup each, and only the best of them at all.
        """
        self.started = self.clock()
        interrupted = False
        try:
            first = self._one_per_code()
            self.ready.announce(first)  # compiling begins while the default is measured
            self._prepare(self.default)
            self._sample(self.default)  # says what a sample takes
            self._race(first)
            # The default's code is compiled already, so its workgroups cost least to look at.
            leaders = {config.build for config in (self.default, *self._fastest())}
            rest = [s for s in self.candidates if s.build in leaders and s not in self.samples]
            self.ready.announce(rest)
            self._race(rest)
            self.finalists = self._fastest()
            if len(self.samples) > 2:
                # What made it the fastest of several was partly luck: only what comes now decides.
                self.pairs = {}
            self._decide()
        except _DefaultLost:
            pass
        except KeyboardInterrupt:
            interrupted = True
        return self._result(interrupted=interrupted)

    @property
    def left_s(self) -> float:
        """For how long one more candidate may be waited for.

        What deciding needs is kept back, by what a sample takes; as long as nothing is faster than
        the default, that is little, because then only a large gain is still worth finding.
        """
        faster = sum(self._speed(s) > MARGIN for s, times in self.samples.items() if times)
        samples = 2 * FEWEST + (DECIDED * (min(faster, _FINALISTS) + 1) if faster else 0)
        sample_s = median(self.took_s) if self.took_s else 0.0
        kept_back = min(samples * sample_s, (1 - LOOKING) * self.budget_s)
        return self.budget_s - kept_back - self._elapsed_s

    @property
    def _elapsed_s(self) -> float:
        return self.clock() - self.started

    def _one_per_code(self) -> list[Config]:
        """The first schedule of each code, in the order of the candidates."""
        chosen: dict[object, Config] = {}
        for config in self.candidates:
            chosen.setdefault(config.build, config)
        return [config for config in chosen.values() if config != self.default]

    def _prepare(self, config: Config) -> None:
        answer = self.ready.wait(config)
        if isinstance(answer, Late):
            self.cut = True
            return
        # The first launch is not like the others: it may compile, and its caches are cold.
        outcome = self.measure(config) if answer is None else answer
        if isinstance(outcome, Failed):
            self._fell(outcome, counts=answer is None)
        else:
            self.samples.setdefault(config, [])

    def _race(self, configs: Sequence[Config]) -> None:
        """Measure these and the default in turns, dropping what falls behind."""
        for config in configs:
            if config in self.samples or config in self.failed:
                continue
            if self.left_s > 0:
                self._prepare(config)
                self._tell()
            else:
                self.cut = True
        entered = [s for s in configs if s in self.samples]
        for turn in range(FEWEST):
            entered = self._round(entered, turn)

    def _decide(self) -> None:
        """Measure the last few beside the default until it is clear what is faster."""
        entered = self.finalists
        while entered:
            pairs = min(len(self.pairs.get(config, ())) for config in entered)
            if pairs >= DECIDED and not any(self._contradicts(s) for s in entered):
                return
            if pairs >= MOST_PAIRS:
                return
            if pairs >= FEWEST and self._is_over:
                self.cut = self.cut or pairs < DECIDED
                return
            entered = self._round(entered, pairs)

    @property
    def _is_over(self) -> bool:
        """Whether the time is over; a large gain that a few disturbed pairs hide gets some more."""
        if self._elapsed_s < self.budget_s:
            return False
        hidden = any(self._gain(s).middle >= LARGE and not self._wins(s) for s in self.pairs)
        return not hidden or self._elapsed_s >= PATIENCE * self.budget_s

    def _round(self, entered: Sequence[Config], turn: int) -> list[Config]:
        """One sample of each and of the default, in any order; what is still worth a round."""
        if not entered:
            return []
        order = [*entered, self.default]
        self.rng.shuffle(order)
        seen = {config: self._sample(config) for config in order}
        base = seen[self.default]
        assert base is not None  # or it was lost
        for config in entered:
            if (ns := seen[config]) is not None:
                self.pairs.setdefault(config, []).append((base, ns))
        self._tell()
        limit = self._best_time() * (HOPELESS if turn < FEWEST - 1 else BEHIND)
        return [s for s in entered if s in self.samples and median(self.samples[s]) <= limit]

    def _sample(self, config: Config) -> float | None:
        """One time that counts; None where it fell."""
        if self.default not in self.samples:
            raise _DefaultLost
        began = self.clock()
        outcome = self.measure(config)
        self.took_s.append(self.clock() - began)
        if isinstance(outcome, Failed):
            self._fell(outcome, counts=True)
            return None
        self.samples[config].append(outcome)
        if self.told is not None:
            self.told(Timed(config, outcome))
        return outcome

    def _fell(self, failure: Failed, *, counts: bool) -> None:
        self.failed[failure.config] = failure
        self.samples.pop(failure.config, None)
        self.pairs.pop(failure.config, None)
        if counts and self.told is not None:
            self.told(failure)
        if failure.config == self.default:
            raise _DefaultLost

    def _best_time(self) -> float:
        return min(median(times) for times in self.samples.values() if times)

    def _fastest(self) -> list[Config]:
        """The best so far but for the default and the hopeless; of equals the smaller workgroup."""
        limit = self._best_time() * HOPELESS if any(self.samples.values()) else 0.0
        timed = [
            s
            for s, times in self.samples.items()
            if times and s != self.default and median(times) <= limit
        ]
        timed.sort(key=lambda s: (median(self.samples[s]), config_order(s)))
        return timed[:_FINALISTS]

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
                elapsed_s=self._elapsed_s,
                budget_s=self.budget_s,
            )
        )

    def _gain(self, config: Config) -> Interval:
        """The default's time over a schedule's, by pairs from the same rounds."""
        base, own = zip(*self.pairs[config], strict=True)
        # Resampled alike each time, so that the same pairs never give two answers.
        return ratio_interval(base, own, Random(0), CONFIDENCE)

    def _wins(self, config: Config) -> bool:
        """Whether a schedule is faster with confidence, by its pairs."""
        return len(self.pairs.get(config, ())) >= FEWEST and self._gain(config).low > MARGIN

    def _speed(self, config: Config) -> float:
        """How many times as fast as the default, by all its times: what is shown of it later."""
        return median(self.samples[self.default]) / median(self.samples[config])

    def _contradicts(self, config: Config) -> bool:
        """Whether pairs and times speak for different sides, so that more of both are needed."""
        speed = self._speed(config)
        return speed <= MARGIN if self._wins(config) else speed >= BEHIND

    def _result(self, *, interrupted: bool) -> Swept:
        """The fastest that is faster than the default with confidence, else the default."""
        # Others may look faster by now, but only because they were not measured again.
        measured = self.default in self.samples
        decided = [s for s in self.finalists or self._fastest() if measured and self._wins(s)]
        gains = {s: self._gain(s) for s in decided if self._speed(s) > MARGIN}
        winner = max(gains, key=lambda s: gains[s].middle, default=self.default)
        unclear = [s for s in decided if s not in gains]
        return Swept(
            winner=winner,
            default=self.default,
            gain=gains.get(winner),
            samples={s: times for s, times in self.samples.items() if times},
            failed=tuple(self.failed.values()),
            finished=measured and not (interrupted or self.cut),
            interrupted=interrupted,
            pairs=len(self.pairs.get(winner, ())),
            unclear=unclear[0] if unclear and not gains else None,
        )
