"""When work may be done beside calls: while they pause, and rarely where they do not."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from vyre.learn.tally import Tally

QUICK = 50_000.0
"""Calls a second beyond which callers do not pause: they wait neither for a device nor a clock."""

HEARD = 32
"""Calls at least that callers may have made who are heard of for the first time."""

LATELY_S = 1.0
"""For which callers that did not pause are expected to go on so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manners:
    """How much is done beside calls, which share the interpreter.

    A thread that wakes up beside dense calls holds one of them up for 0.2 to 0.5 ms until the two
    have changed places twice, besides what it does: of a thousand calls not one is to feel it.
    """

    look_s: float = 3e-4  # that callers must have been silent; 0 asks for no silence
    calls_apart: int = 4_000  # between two times that callers who do not pause are disturbed
    rest_s: float = 4e-2  # to wait for that, and for another piece of planned work in one pause
    begins_s: float = 5e-3  # after which a first call, as long as a pause, is over
    at_once: int = 12  # pieces of planned work, one after the other
    per_s: float = 100.0  # later


@dataclass(frozen=True, slots=True)
class Made:
    """Calls so far: about how many in all, and of the latest callers, which count them exactly."""

    about: int
    tally: Tally | None
    count: int

    def few_since(self, before: Made, elapsed_s: float) -> bool:
        """Whether callers paused meanwhile; of others than before it is told about how many."""
        calls = self.about - before.about
        if self.tally is before.tally:
            calls = max(calls, self.count - before.count)
        else:
            calls = max(calls, HEARD)
        return calls <= QUICK * elapsed_s


class Gaps:
    """Decides what may be done now."""

    def __init__(self, manners: Manners, now: float) -> None:
        """Begin at a time of the monotonic clock."""
        self._manners = manners
        self._disturbed_at = 0  # about how many calls there were then
        self._allowed, self._at = float(manners.at_once), now  # pieces of planned work
        self._planned: tuple[float, Made] | None = None  # the last one, and in which pause
        self._wait_s, self._dense_at = 0.0, -inf

    def may_disturb(self, now: float, made: Made) -> bool:
        """Whether callers that do not pause may feel what is done; they do, then."""
        self._dense_at = now
        if made.about - self._disturbed_at < self._manners.calls_apart:
            return False
        self._disturbed_at = made.about
        return True

    def may_plan(self, now: float, made: Made) -> bool:
        """Whether a piece of planned work may be done as well; it is, then.

        A pause of callers who make many calls has room for one: most are short. Whoever pauses for
        longer is not there.
        """
        rest_s = self._manners.rest_s
        if self._planned is not None and now - self._dense_at < LATELY_S:
            at, during = self._planned
            if made == during and now - at < rest_s:
                self._wait_s = at + rest_s - now
                return False
        regained = (now - self._at) * self._manners.per_s
        self._allowed = min(self._allowed + regained, float(self._manners.at_once))
        self._at = now
        may = self._allowed >= 1.0
        if may:
            self._allowed -= 1.0
            self._planned = now, made
        self._wait_s = max(1.0 - self._allowed, 0.0) / self._manners.per_s
        return may

    @property
    def wait_s(self) -> float:
        """How long to wait for the next piece of planned work that is due."""
        return max(self._wait_s, self._manners.look_s)
