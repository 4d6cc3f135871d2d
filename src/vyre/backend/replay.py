"""A device that answers from a table of times, with a noise that is the same in every run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import exp
from random import Random

from vyre.errors import InvalidInput
from vyre.model import Code, Failed, Outcome, Schedule, Timed


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """What a timer makes of a true time; all of it off by default."""

    spread: float = 0.0  # of normal noise on the log of a time
    outliers: float = 0.0  # the share of times that is `outlier` times as long
    outlier: float = 3.0
    mode: float = 1.0  # half of the times are this many times as long: two modes
    step_ns: float = 0.0  # the timer's resolution

    def __post_init__(self) -> None:
        shares = 0.0 <= self.outliers <= 1.0 and min(self.spread, self.step_ns) >= 0.0
        if not shares or min(self.outlier, self.mode) <= 0.0:
            raise InvalidInput(
                f"{self} is no noise of a timer",
                "give a spread and a step from 0, a share from 0 to 1 and factors above 0",
            )

    def seen(self, true_ns: float, rng: Random) -> float:
        """A true time as the timer tells it; never 0, which would say that nothing ran.

        >>> Noise(step_ns=1000.0).seen(2700.0, Random(0))
        3000.0
        """
        # Each of the three is drawn every time, so that turning one on leaves the others as is.
        normal, odd, half = rng.gauss(0.0, 1.0), rng.random(), rng.random()
        ns = true_ns * exp(self.spread * normal)
        ns *= self.outlier if odd < self.outliers else 1.0
        ns *= self.mode if half < 0.5 else 1.0
        return max(round(ns / self.step_ns), 1) * self.step_ns if self.step_ns else ns


@dataclass(slots=True)
class Replay:
    """Launches schedules of a table: keeps a clock, what was spent, and what is ready when.

    Codes are compiled one after the other, each in `compile_ns`, and each makes all its schedules
    ready; time passes by launching.

    >>> one, two = Schedule((64, 1, 1)), Schedule((128, 1, 1))
    >>> replay = Replay({one: 900.0}, failing={two: "too many registers"})
    >>> replay.launch(one), replay.launch(two), replay.clock_ns
    (Timed(config=Schedule(workgroup=(64, 1, 1), code=Code(items=1, vector=1, unroll=1, \
order=<Order.STRIDED: 'strided'>, checked=True, rows=1, staged=False)), \
elapsed_ns=900.0, clock=''), \
Failed(config=Schedule(workgroup=(128, 1, 1), code=Code(items=1, vector=1, unroll=1, \
order=<Order.STRIDED: 'strided'>, checked=True, rows=1, staged=False)), \
reason='too many registers'), 900.0)
    """

    times_ns: Mapping[Schedule, float]
    noise: Noise = field(default_factory=Noise)
    rng: Random = field(default_factory=lambda: Random(0))
    failing: Mapping[Schedule, str] = field(default_factory=dict)
    compile_ns: float = 0.0
    clock_ns: float = 0.0
    speed: float = 1.0  # may be set between launches: 0.5 makes everything take twice as long
    _ready_at: dict[Code, float] = field(default_factory=dict)
    _ready: tuple[int, frozenset[Schedule]] = (0, frozenset())  # of how many codes, and which

    def launch(self, schedule: Schedule) -> Outcome:
        """Run a schedule once; the true time passes, the noisy one is told.

        Raises:
            InvalidInput: the table has no time for it.
        """
        if schedule in self.failing:
            return Failed(schedule, self.failing[schedule])
        if schedule not in self.times_ns:
            raise InvalidInput(
                f"no time for {schedule} in a table of {len(self.times_ns)} schedules",
                "launch schedules of the table only",
            )
        true_ns = self.times_ns[schedule] / self.speed
        self.clock_ns += true_ns
        return Timed(schedule, self.noise.seen(true_ns, self.rng))

    def compile(self, schedules: Iterable[Schedule]) -> None:
        """Queue the codes of these that are neither ready nor under way."""
        for code in (schedule.code for schedule in schedules):
            if code not in self._ready_at:
                free = max([self.clock_ns, *self._ready_at.values()])
                self._ready_at[code] = free + self.compile_ns

    @property
    def compiling(self) -> int:
        """How many codes are under way."""
        return sum(at > self.clock_ns for at in self._ready_at.values())

    @property
    def ready(self) -> frozenset[Schedule]:
        """What can be launched by now."""
        done = sum(at <= self.clock_ns for at in self._ready_at.values())
        if done != self._ready[0]:
            codes = {code for code, at in self._ready_at.items() if at <= self.clock_ns}
            known = (*self.times_ns, *self.failing)
            self._ready = done, frozenset(one for one in known if one.code in codes)
        return self._ready[1]
