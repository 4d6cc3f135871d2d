"""What to launch while nothing is tried: a guess, the default, or what turned out faster."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp
from typing import Self

import numpy as np

from vyre.model import Config, Reason
from vyre.policy.base import Choice, NothingToTry
from vyre.policy.charged import Charged
from vyre.policy.observed import Mask, Ready

CONFIDENT = 0.95
"""What is adopted is faster than the default with at least this probability."""

_LIKELY, _UNLIKELY = 0.8, 0.3  # how sure one must be that a guess gains, and times may not deny
_STAYS = 0.01  # log time by which another must be faster at least


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled(Charged):
    """What was observed and what it cost, and what was adopted by now."""

    adopted: int | None = None
    taken_back: int | None = None

    def incumbent(self, ready: Ready = None) -> Choice:
        """What to launch while nothing is tried: the fastest so far.

        Raises:
            NothingToTry: everything that is ready has failed.
        """
        able = self._able(ready)
        if not able.any():
            all_failed = len(self.failed) == len(self.space)
            which = "of the space" if all_failed else "that is ready"
            raise NothingToTry.of(f"schedule {which}")
        base = self.base
        if self._is_unweighed:
            return self._guessed(able)
        if base not in self.failed and not self._default_is_known:
            return self._because(base, Reason.COLD_START, "the default is measured first")
        best = self._fastest(able)
        if best is None:
            return self._because(int(np.argmax(able)), Reason.COLD_START, "nothing ready was timed")
        best = self._staying(best, able)
        if best != base and self._is_doubtful(best):
            return self._because(base, Reason.DEFAULT, "nothing is surely faster")
        if best == base:
            if self.taken_back is not None:
                slow = self.space[self.taken_back]
                return self._because(base, Reason.TAKEN_BACK, f"{slow.text} turned out slower")
            return self._because(base, Reason.DEFAULT, "the fastest of what was timed")
        if self._confidence(best) < CONFIDENT:
            return self._because(best, Reason.COLD_START, "provisional: faster so far")
        return self._because(best, Reason.ADOPTED, f"the fastest; {len(self.times[best])} timings")

    @property
    def settled(self) -> Config | None:
        """What is launched for good, until it turns out slower."""
        return None if self.adopted is None else self.space[self.adopted]

    @property
    def _noticeable(self) -> float:
        """By how much log time another must be faster to be launched instead."""
        return max(_STAYS, self.noise)

    def _guessed(self, able: Mask) -> Choice:
        """The best guess, until the default was timed beside it."""
        best, reason = self._fastest(able), Reason.COLD_START
        if best == self.base:
            return self._because(best, Reason.DEFAULT, "the fastest of what was timed")
        detail = "the fastest so far; the default was hardly timed"
        if best is None and self.remembered:
            reason, detail = Reason.TRANSFERRED, "the best guess, by other sizes or programs"
        elif best is None:
            detail = "the best guess; nothing is timed yet"
        best = self._best_guess(able) if best is None else best
        return replace(self._because(best, reason, detail), binding=True)

    def _best_guess(self, able: Mask) -> int:
        """What is believed fastest, timed or not."""
        places = np.flatnonzero(able)
        return int(places[np.argmin(self.belief.mean[places])])

    def _settled(self) -> Self:
        """The policy with what is adopted, and what was taken back, brought up to date."""
        best = self._fastest(self._able(None))
        if best is None or best == self.adopted or self._is_unweighed:
            return self
        if best != self.base:
            if self._confidence(best) < CONFIDENT:
                return self
            return replace(self, adopted=best, taken_back=None)
        if self.adopted is None:
            return self
        return replace(self, adopted=None, taken_back=self.adopted)

    def _staying(self, best: int, able: Mask) -> int:
        """What is launched already, where the fastest is hardly faster: chance finds as much.

        That is what was adopted, or else the guess.
        """
        if not self.expected:
            return best
        held = self._best_guess(able) if self.adopted is None else self.adopted
        gained = self.belief.mean[held] - self.belief.mean[best]
        if able[held] and self.times[held] and gained < self._noticeable:
            return held
        return best

    def _is_doubtful(self, best: int) -> bool:
        """Whether a guess that was weighed is too little faster to go on with."""
        if not self.expected or self.base in self.failed or self._is_unweighed:
            return False
        timed = self._timed_faster(best)
        denied = timed is not None and timed < _UNLIKELY
        return denied or self._believed_faster(best) < _LIKELY

    def _because(
        self, place: int, reason: Reason, detail: str, *, measures: bool = False
    ) -> Choice:
        return Choice(
            config=self.space[place],
            reason=reason,
            detail=detail,
            gain=exp(self.belief.mean[self.base] - self.belief.mean[place]),
            confidence=self._confidence(place),
            measures=measures,
        )
