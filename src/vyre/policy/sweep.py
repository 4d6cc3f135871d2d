"""Tries everything a few times, then stays with the fastest."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from statistics import median

from vyre.errors import InvalidInput
from vyre.model import Config, Failed, Outcome, Timed
from vyre.policy.base import NothingToTry, Ready

_REMEMBERED = 15  # times per schedule; old ones make room, so that what turns slow is noticed


@dataclass(frozen=True, slots=True)
class Sweep:
    """Asks for each schedule `repeats` times in the order given, then for the fastest by median.

    A schedule that took `hopeless` times as long as the best is not tried again, so a sweep ends
    after at most `repeats` dispatches of each. Of equals the earlier wins. A time of 0 is ignored.

    >>> from vyre.model import Schedule
    >>> one, two = Schedule((64, 1, 1)), Schedule((128, 1, 1))
    >>> sweep = Sweep((one, two), repeats=1).tell(Timed(one, 9.0))
    >>> sweep.ask(Random(0)) == two, sweep.tell(Timed(two, 8.0)).settled == two
    (True, True)
    """

    space: tuple[Config, ...]
    repeats: int = 3
    hopeless: float = 2.0
    times: tuple[tuple[float, ...], ...] = ()  # of each schedule, the last ones

    def __post_init__(self) -> None:
        if self.repeats < 1 or not self.hopeless >= 1.0:
            raise InvalidInput(
                f"a sweep of {self.repeats} repeats, hopeless at {self.hopeless} times the best",
                "repeat at least once, and give up at 1.0 times the best or more",
            )
        if len(set(self.space)) < len(self.space):
            raise InvalidInput("a space that holds a schedule twice", "give each schedule once")
        if not self.times:
            object.__setattr__(self, "times", ((),) * len(self.space))

    def including(self, config: Config) -> Sweep:
        """The sweep over one schedule more, which comes last; itself where it has that already."""
        if config in self.space:
            return self
        return replace(self, space=(*self.space, config), times=(*self.times, ()))

    def ask(self, rng: Random, ready: Ready = None) -> Config:  # noqa: ARG002  # a Policy
        """The first config that needs another time, or the fastest; of what is ready, if any is."""
        if not self.space:
            raise NothingToTry.of("schedule of the space")
        untried = self._untried()
        if ready is not None and untried:
            able = [place for place in untried if self.space[place] in ready]
            untried = able or ([] if any(self.times) else untried)
        return self.space[untried[0] if untried else self._best()]

    def tell(self, outcome: Outcome) -> Sweep:
        if outcome.config not in self.space:
            return self
        place = self.space.index(outcome.config)
        before, after = self.times[:place], self.times[place + 1 :]
        match outcome:
            case Failed():
                space = self.space[:place] + self.space[place + 1 :]
                return replace(self, space=space, times=before + after)
            case Timed(elapsed_ns=elapsed) if elapsed > 0:
                kept = (*self.times[place], elapsed)[-_REMEMBERED:]
                return replace(self, times=(*before, kept, *after))
            case Timed():
                return self

    @property
    def settled(self) -> Config | None:
        """The fastest, once every schedule has been tried as often as it needs to be."""
        if not self.space or self._untried():
            return None
        return self.space[self._best()]

    def _untried(self) -> list[int]:
        medians = [median(times) for times in self.times if times]
        limit = self.hopeless * min(medians, default=0.0)
        # Round by round: a change of the machine's speed then falls on all schedules alike.
        found = [
            i
            for i, times in enumerate(self.times)
            if len(times) < self.repeats and not (times and median(times) > limit)
        ]
        return sorted(found, key=lambda i: len(self.times[i]))

    def _best(self) -> int:
        measured = [i for i, times in enumerate(self.times) if times]
        return min(measured, key=lambda i: median(self.times[i]))
