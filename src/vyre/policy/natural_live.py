"""The policy that learns from live dispatches: a natural gradient over a Gaussian belief.

The inverse of the Fisher matrix is the covariance of the belief. Its square root preconditions a
softmax over the believed times: what is well measured has nothing left to pull with, what is
untried and near something fast pulls most, and with nothing left to learn the fastest is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from math import inf, log
from random import Random
from typing import Self

import numpy as np
from numpy.typing import NDArray

from vyre.model import Config, Failed, Outcome, Reason, Timed
from vyre.policy.base import Choice
from vyre.policy.belief import Remembered, Vector
from vyre.policy.charged import SURE_OF
from vyre.policy.natural_step import (
    Rate,
    Step,
    natural_gradient_q16,
    natural_step_q16,
    plausible_worst,
    worth,
)
from vyre.policy.observed import FIRST, Mask, Ready
from vyre.policy.provisional import default_fits, times_slower
from vyre.policy.settled import CONFIDENT, Settled

_BESIDE = 8  # dispatches after which the default is measured again beside what is provisional
_AGAIN, _AT_LATEST = 500, 1000  # and beside what is adopted, to notice that it no longer pays
_AHEAD = 0.5  # of the dispatches so far are expected to follow, but at least
_AHEAD_LEAST = 30
_SHORTLIST = 16  # candidates that a step weighs: more do not change it, and cost their cube
_UNLIKE = 7.0  # default dispatches that one which is unlike all so far may lose: a factor of eight
_MEMORY = 0.08  # how far to believe ratios of times that no longer compare


@dataclass(frozen=True, slots=True, kw_only=True)
class NaturalGradient(Settled):
    """Asks for the default first, then for what is worth a try, then for the fastest.

    Where the guess expects times, it is launched first, and provisional: the default is timed
    beside it as soon as that fits. Until then each launch of it is charged what it may lose.

    A schedule is worth a try if what it may gain over the dispatches that are expected to follow
    outweighs what it is expected to lose, and if its plausible worst fits the budget. As many are
    expected to follow as a share of those that have been; so trying never quite ends, and fades.

    Args:
        space: what may run, the best guess first.
        default: what losses are counted against; one of `space`.
        expected: log times over the default's, of each of the space; without them the order is all
            that is taken from the guess, and the default, always ready, is timed first.
        risk: default dispatches that a launch of the guess may lose.
        remembered: what an earlier process, a neighbouring size or a program of the same structure
            measured. It says where to look first; how fast the machine is now is left open.

    >>> from vyre.model import Schedule
    >>> one, two = Schedule((64, 1, 1)), Schedule((128, 1, 1))
    >>> policy = NaturalGradient(space=(two, one), default=one)
    >>> for ns in (900.0, 910.0, 890.0):
    ...     policy = policy.tell(Timed(one, ns))
    >>> policy.ask(Random(0)).workgroup, policy.tell(Timed(two, 500.0)).ask(Random(0)).workgroup
    ((128, 1, 1), (128, 1, 1))
    """

    step: Step = field(default=natural_step_q16, compare=False, repr=False)
    share: float = 1.0  # of a dispatch, that a try takes
    rate: Rate | None = field(default=None, compare=False, repr=False)  # instead of the gradient

    def ask(self, rng: Random, ready: Ready = None) -> Config:  # noqa: ARG002  # a Policy
        """What to launch next; `ready` holds what is compiled, None means all."""
        return self.choose(ready).config

    def choose(self, ready: Ready = None) -> Choice:
        """What to launch next, and why.

        Raises:
            NothingToTry: everything that is ready has failed.
        """
        able = self._able(ready)
        base = self.base
        if not self.expected and base not in self.failed and not self._default_is_known:
            return self._because(base, Reason.DEFAULT, "measured first", measures=True)
        best = self._fastest(able)
        if best is None:  # where times are expected, the first is the guess's own
            return replace(self.incumbent(ready), measures=bool(self.expected))
        if able[base] and self._default_is_due(best):
            again = "measured again beside what is chosen"
            return self._because(base, Reason.DEFAULT, again, measures=True)
        probe = self._probe(best, able)
        if probe is not None:
            return self._because(probe[0], Reason.PROBE, probe[1], measures=True)
        return self.incumbent(ready)

    def choose_batch(self, count: int, ready: Ready = None) -> tuple[Choice, ...]:
        """What to launch at once, before a time of any is back: one or more, at most `count`.

        The first is what `choose` says. Each probe after it is chosen as if those before had been
        timed at what is believed: that leaves the belief where it is and takes away what they will
        tell, so the next is worth a try only for what is still open. Together their plausible
        worst fits the budget. What is left of `count` is the incumbent's.

        Raises:
            NothingToTry: everything that is ready has failed.
        """
        first, able, base = self.choose(ready), self._able(ready), self.base
        if not first.measures:
            return (first,)
        best, chosen = self._fastest(able), [first]
        if not self.expected and base not in self.failed and not self._default_is_known:
            best, chosen = base, [first] * min(count, max(FIRST - len(self.times[base]), 1))
        elif best is None:
            best = self.place[first.config]
            if best != base and able[base] and self._default_is_due(best):
                beside = "measured beside the guess"
                chosen.append(self._because(base, Reason.DEFAULT, beside, measures=True))
        assert best is not None  # or there would be nothing to measure
        worst, supposing, heard = self._worst_at_once(), self, 0
        while len(chosen) < count:
            for choice in chosen[heard:]:
                place = self.place[choice.config]
                supposing, able[place] = supposing._supposing(place, worst[place]), False
            heard = len(chosen)
            fits = worst <= supposing._left
            probe = supposing._probe(best, able & fits)
            if probe is None:
                break
            chosen.append(self._because(probe[0], Reason.PROBE, probe[1], measures=True))
        return tuple(chosen)

    def wanted(self, count: int, ready: Ready = (), *, cost: float = 0.0) -> tuple[Config, ...]:
        """What is not ready and most worth compiling, at most `count`, the most worth first.

        What is not expected to bring more than compiling costs, in dispatches, is left out.
        """
        able = self._able(None) & ~self._able(ready)
        best = self._fastest(self._able(ready))
        if best is None:
            order = np.flatnonzero(able)
        else:
            more = np.where(able, self._worth(best), -inf)
            order = np.argsort(-more, kind="stable")[: int((more > cost).sum())]
        return tuple(self.space[place] for place in order[:count])

    def anew(self) -> NaturalGradient:
        """The policy when times no longer compare with those so far: they are memories now."""
        told = {one: Remembered(ratio, _MEMORY) for one, ratio in self.ratios().items()}
        fresh = NaturalGradient(
            space=self.space,
            default=self.default,
            remembered={**self.remembered, **told},
            expected=self.expected,
            risk=self.risk,
            noise=self.noise,
            noise_before=self.noise_before,
            prior=self.prior,
            budget=self.budget,
            step=self.step,
            share=self.share,
            rate=self.rate,
        )
        return replace(fresh, failed=self.failed, dispatches=self.dispatches)

    def tell(self, outcome: Outcome) -> Self:
        place = self.place.get(outcome.config)
        if place is None or place in self.failed:
            return self
        match outcome:
            case Failed():
                told = self._without(place)
                return replace(told, adopted=None) if self.adopted == place else told
            case Timed(elapsed_ns=elapsed, share=share) if 0.0 < elapsed < inf:
                return self._timed(place, log(elapsed), share)._settled()
            case Timed():
                return self

    def _timed(self, place: int, log_ns: float, share: float) -> Self:
        told = self._heard(place, log_ns)
        if told.unweighed and not told._is_unweighed:
            told = told._weighed()
        told = told._spent(place, share=share)
        return told._reminded(place)._changed(place, keep=told.adopted)

    def _default_is_due(self, best: int) -> bool:
        since, base = self.dispatches - self.default_at, self.base
        if self.expected:
            extra = times_slower(float(self.belief.mean[base] - self.belief.mean[best]))
            if not default_fits(extra, since, timed=bool(self.times[base])):
                return False
            if len(self.times[base]) < SURE_OF:
                return True
        if best != self.base and self._confidence(best) < CONFIDENT:
            return since >= _BESIDE * len(self.times[self.base])
        return since >= min(max(self.default_at, _AGAIN), _AT_LATEST)

    def _worst_at_once(self) -> Vector:
        """What each may lose beside others, in default dispatches.

        Among several at once the first surprise warns of no second, so that what was never timed
        is charged for one; the more was timed without, the less likely that is.
        """
        worst = plausible_worst(self.belief, self.base, self.budget.worst)
        timed = self.belief.precision > 0.0
        unlike = _UNLIKE / (1 + max(int(timed.sum()), 1))
        worst = np.where(timed, worst, np.maximum(worst, unlike))
        worst[self.base] = 0.0
        return worst

    def _supposing(self, place: int, loss: float) -> Self:
        """The policy as if this had been timed at what is believed, and had lost so much."""
        belief, more = self.belief, self.noise**-2
        precision = belief.precision[place] + more
        location = (belief.weighted[place] + more * belief.mean[place]) / precision
        budget = replace(self.budget, lost=self.budget.lost + max(loss, 0.0))
        return replace(self, belief=belief.seen(place, location, precision), budget=budget)

    def _worth(self, best: int) -> Vector:
        ahead = max(_AHEAD * self.dispatches, _AHEAD_LEAST)
        return worth(self.belief, best, self.noise, ahead, self.share)

    def _open(self, best: int, able: Mask) -> NDArray[np.intp]:
        """What is worth a try and fits the budget, the most worth first."""
        more = self._worth(best)
        worst = self.share * plausible_worst(self.belief, self.base, self.budget.worst)
        open_ = able & (more > 0.0) & (worst <= self._left) & ~self._told_enough(best)
        open_[best] = False
        places = np.flatnonzero(open_)
        return places[np.argsort(-more[places], kind="stable")]

    def _told_enough(self, best: int) -> Mask:
        """What is known too well to come out as so much faster that it would be launched."""
        if not self.expected:
            return np.zeros(len(self.space), np.bool_)
        held = best if self.adopted is None else self.adopted
        slower, variance = self.belief.against(held)
        least: Mask = slower - 2.0 * np.sqrt(variance) > -self._noticeable
        return least & (self.belief.precision > 0.0)

    def _recalled(self, best: int, places: NDArray[np.intp]) -> int | None:
        """What is remembered as the fastest, as long as it was not timed here."""
        mean, belief = self.belief.mean, self.belief
        untimed = (belief.recalled > 0.0) & (belief.precision == 0.0) & (mean < mean[best])
        places = places[untimed[places]]
        return int(places[np.argmin(mean[places])]) if places.size else None

    def _probe(self, best: int, able: Mask) -> tuple[int, str] | None:
        """What to try next, and why."""
        places = self._open(best, able)
        if not places.size:
            return None
        recalled = self._recalled(best, places)
        if recalled is not None:
            return recalled, "remembered as faster"
        places = places[:_SHORTLIST]
        rate = self.rate or partial(natural_gradient_q16, step=self.step)
        rated = rate(self.belief, places, best, self.noise)
        return int(places[np.argmax(rated)]), "may gain more than it is expected to lose"
