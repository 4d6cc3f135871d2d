"""The policy that learns from live dispatches: a natural gradient over a Gaussian belief.

The inverse of the Fisher matrix is the covariance of the belief. Its square root preconditions a
softmax over the believed times: what is well measured has nothing left to pull with, what is
untried and near something fast pulls most, and with nothing left to learn the fastest is asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from math import erf, exp, inf, log, sqrt
from random import Random

import numpy as np
from numpy.typing import NDArray

from vyre.errors import InvalidInput
from vyre.model import Config, Failed, Outcome, Reason, Timed
from vyre.policy.base import Choice, NothingToTry
from vyre.policy.belief import Belief, Prior, Remembered, Vector
from vyre.policy.budget import Budget
from vyre.policy.evidence import (
    GAPS,
    NOISE,
    RECENT,
    SURPRISE,
    WINDOW,
    agreeing,
    doubted,
    locate,
    moved,
    noise_of,
)
from vyre.policy.natural_step import (
    FAR,
    Rate,
    Step,
    natural_gradient_q16,
    natural_step_q16,
    plausible_worst,
    worth,
)
from vyre.policy.provisional import SURE, default_fits, launches_within, times_slower

Times = tuple[tuple[float, ...], ...]
Mask = NDArray[np.bool_]
Ready = Collection[Config] | Mask | None
"""What is compiled; None means all."""

FIRST = 3
"""Times of the default that agree, before anything else is tried where no times are expected."""

FREE = 14.0
"""Of the 20 default dispatches that may be lost: the ledger itself is measured."""

SURE_OF = 2
"""Times of the default that say what a guess gains or loses."""

CONFIDENT = 0.95
"""What is adopted is faster than the default with at least this probability."""

_LIKELY, _UNLIKELY = 0.8, 0.3  # how sure one must be that a guess gains, and times may not deny
_STAYS = 0.01  # log time by which another must be faster, or by the noise of one time
_FIRST_AT_MOST = 8  # of them, where they do not come to agree
_BESIDE = 8  # dispatches after which the default is measured again beside what is provisional
_AGAIN, _AT_LATEST = 500, 1000  # and beside what is adopted, to notice that it no longer pays
_AHEAD = 0.5  # of the dispatches so far are expected to follow, but at least
_AHEAD_LEAST = 30
_SHORTLIST = 16  # candidates that a step weighs: more do not change it, and cost their cube
_UNLIKE = 7.0  # default dispatches that one which is unlike all so far may lose: a factor of eight
_BORNE_OUT = 3.0  # times the noise: how much slower its own times may be than what is believed
_CONTRADICTED = 4.0  # standard deviations from what is remembered, at which that is forgotten
_MEMORY = 0.08  # how far to believe ratios of times that no longer compare
_KEPT = 2  # times of each schedule that outlast a change
_ANEW = 256  # tells after which rounding is cleared


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What is believed of one schedule: log(time / time of the default), to +-`spread`."""

    config: Config
    timings: int  # that this rests on, beside what others tell
    ratio: float
    spread: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NaturalGradient:
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

    space: tuple[Config, ...]
    default: Config
    expected: tuple[float, ...] = ()
    risk: float = 0.0
    remembered: Mapping[Config, Remembered] = field(default_factory=dict)
    prior: Prior = field(default_factory=Prior)
    budget: Budget = field(default_factory=lambda: Budget(free=FREE))
    step: Step = field(default=natural_step_q16, compare=False, repr=False)
    share: float = 1.0  # of a dispatch, that a try takes
    rate: Rate | None = field(default=None, compare=False, repr=False)  # instead of the gradient
    times: Times = ()  # log times over `origin` of each, the latest
    gaps: tuple[float, ...] = ()  # between consecutive times of one schedule, the latest
    failed: frozenset[int] = frozenset()
    origin: float | None = None  # the first log time
    dispatches: int = 0
    default_at: int = 0  # how many there had been when the default was last timed
    adopted: int | None = None
    taken_back: int | None = None
    left_at: float | None = None  # the default's log time before a change, until it is known anew
    unweighed: Mapping[int, int] = field(default_factory=dict)  # dispatches before any of its times
    noise: float = NOISE
    noise_before: float = NOISE  # what is believed of it before any time was repeated
    belief: Belief = field(default=None, compare=False, repr=False)  # type: ignore[assignment]  # made below
    place: Mapping[Config, int] = field(default_factory=dict, compare=False, repr=False)
    base: int = field(default=0, compare=False, repr=False)  # the default's place

    def __post_init__(self) -> None:
        if self.place:  # one that was told something
            return
        if len(set(self.space)) < len(self.space):
            raise InvalidInput("a space that holds a schedule twice", "give each schedule once")
        if self.default not in self.space:
            raise InvalidInput(
                f"the default {self.default} is not in the space",
                "add it to the space, or name one that is",
            )
        if self.expected and len(self.expected) != len(self.space):
            raise InvalidInput(
                f"{len(self.expected)} expected times of {len(self.space)} schedules",
                "give one for each, or none",
            )
        object.__setattr__(self, "place", {one: at for at, one in enumerate(self.space)})
        object.__setattr__(self, "base", self.place[self.default])
        object.__setattr__(self, "belief", self._believed_first())
        object.__setattr__(self, "times", ((),) * len(self.space))

    def table(self) -> tuple[Row, ...]:
        """What is believed of each schedule that did not fail, in the order of the space."""
        difference, variance = self.belief.against(self._base)
        return tuple(
            Row(
                config=config,
                timings=len(self.times[place]),
                ratio=float(difference[place]),
                spread=sqrt(variance[place]),
            )
            for place, config in enumerate(self.space)
            if place not in self.failed
        )

    def ask(self, rng: Random, ready: Ready = None) -> Config:  # noqa: ARG002  # a Policy
        """What to launch next; `ready` holds what is compiled, None means all."""
        return self.choose(ready).config

    def choose(self, ready: Ready = None) -> Choice:
        """What to launch next, and why.

        Raises:
            NothingToTry: everything that is ready has failed.
        """
        able = self._able(ready)
        base = self._base
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
        first, able, base = self.choose(ready), self._able(ready), self._base
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

    def incumbent(self, ready: Ready = None) -> Choice:
        """What to launch while nothing is tried: the fastest so far.

        Raises:
            NothingToTry: everything that is ready has failed.
        """
        able = self._able(ready)
        if not able.any():
            raise NothingToTry(
                "every schedule of the space has failed"
                if len(self.failed) == len(self.space)
                else "every schedule that is ready has failed",
                "look at the reasons of the failures",
            )
        base = self._base
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

    def _guessed(self, able: Mask) -> Choice:
        """The best guess, until the default was timed beside it."""
        best, reason = self._fastest(able), Reason.COLD_START
        if best == self._base:
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

    def allowance(self, config: Config) -> float:
        """How many launches of this may be under way before more is known of what they lose.

        Nineteen in twenty times they lose no more than what is left.
        """
        place = self.place.get(config)
        if place is None or place == self._base or self._base in self.failed:
            return inf
        if self._is_unweighed:
            return launches_within(self._left, self._charge(place))
        difference, variance = self.belief.against(self._base)
        loss = times_slower(float(difference[place]) + SURE * sqrt(variance[place]))
        return launches_within(self._left, loss)

    def mask(self, ready: Collection[Config]) -> Mask:
        """What is ready as `ask`, `choose` and `wanted` take it quickest."""
        found: Mask = np.array([config in ready for config in self.space], np.bool_)
        return found

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

    def ran(self, config: Config, dispatches: int) -> NaturalGradient:
        """The policy after dispatches that were not timed: they count for the budget."""
        place = self.place.get(config)
        if place is None:
            return self
        return replace(self._spent(place, dispatches), dispatches=self.dispatches + dispatches)

    def _spent(self, place: int, dispatches: int = 1, share: float = 1.0) -> NaturalGradient:
        """The policy after dispatches, or shares of them, were paid for."""
        if self._is_unweighed:
            count = self.unweighed.get(place, 0) + dispatches
            return replace(self, unweighed={**self.unweighed, place: count})
        cost = 1.0 + share * (self._cost(place) - 1.0)
        return replace(self, budget=self.budget.ran(cost, dispatches))

    def _weighed(self) -> NaturalGradient:
        """The policy once the default was timed: what ran before is paid for as it is known now.

        At most what it was charged: one guess that was beyond all that is recorded does not end
        all trying.
        """
        budget, charged = self.budget, self._charged
        for place, count in self.unweighed.items():
            budget = budget.ran(self._cost(place), count)
        lost = min(budget.lost, self.budget.lost + charged)
        return replace(self, budget=replace(budget, lost=lost), unweighed={})

    @property
    def _charged(self) -> float:
        """What dispatches may have lost before the default was timed."""
        return sum(count * self._charge(place) for place, count in self.unweighed.items())

    @property
    def _is_unweighed(self) -> bool:
        """Whether what dispatches cost in those of the default is not known yet.

        One time of it may be disturbed, and what it seems to save would be spent.
        """
        base = self._base
        return bool(self.expected) and len(self.times[base]) < SURE_OF and base not in self.failed

    def _charge(self, place: int) -> float:
        """What a launch may lose before the default was timed, in dispatches of it."""
        if place == self._base:
            return 0.0
        believed = self.belief.mean[place] - self.belief.mean[self._base]
        return max(self.risk, times_slower(float(believed)))

    @property
    def _left(self) -> float:
        """What may still be lost, with all that is charged and not known."""
        return self.budget.left - self._charged

    def paid(self, cost: float, lost: float) -> NaturalGradient:
        """The policy after something took `cost` default dispatches, of which some were lost."""
        return replace(self, budget=self.budget.paid(cost, lost))

    @property
    def settled(self) -> Config | None:
        """What is launched for good, until it turns out slower."""
        return None if self.adopted is None else self.space[self.adopted]

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
        )
        return replace(fresh, failed=self.failed, dispatches=self.dispatches)

    def ratios(self) -> dict[Config, float]:
        """Log times over the default's, of what was timed more than once."""
        return {row.config: row.ratio for row in self.table() if row.timings > 1}

    def tell(self, outcome: Outcome) -> NaturalGradient:
        place = self.place.get(outcome.config)
        if place is None or place in self.failed:
            return self
        match outcome:
            case Failed():
                return self._without(place)
            case Timed(elapsed_ns=elapsed, share=share) if 0.0 < elapsed < inf:
                return self._timed(place, log(elapsed), share)._settled()
            case Timed():
                return self

    def _without(self, place: int) -> NaturalGradient:
        return replace(
            self,
            failed=self.failed | {place},
            times=_put(self.times, place, ()),
            belief=self.belief.seen(place, 0.0, 0.0),
            adopted=None if self.adopted == place else self.adopted,
        )

    def _timed(self, place: int, log_ns: float, share: float) -> NaturalGradient:
        origin = log_ns if self.origin is None else self.origin
        before, time = self.times[place], log_ns - origin
        gaps = (*self.gaps, abs(time - before[-1]))[-GAPS:] if before else self.gaps
        told = replace(
            self,
            origin=origin,
            times=_put(self.times, place, (*before, time)[-WINDOW:]),
            gaps=gaps,
            dispatches=self.dispatches + 1,
            default_at=self.dispatches + 1 if place == self._base else self.default_at,
        )
        noise = noise_of(gaps, self.noise_before)
        if not 0.8 < noise / self.noise < 1.25:
            told = told._believed_anew(noise)
        else:
            told = told._believed(place)
        if told.unweighed and not told._is_unweighed:
            told = told._weighed()
        told = told._spent(place, share=share)
        return told._reminded(place)._changed(place)

    def _believed(self, place: int) -> NaturalGradient:
        times = self.times[place]
        if self.expected and len(times) == 1 and _is_surprisingly_low(self.belief, place, *times):
            # What disturbs a measurement makes it longer: if anything is off, it is the others.
            return self._believed_anew(self.noise)
        belief = _learn(self.belief, place, times, self.noise, low_is_true=bool(self.expected))
        return replace(self, belief=belief.anew() if self.dispatches % _ANEW == 0 else belief)

    def _believed_anew(self, noise: float) -> NaturalGradient:
        """The policy with all times heard again; where times are expected, the lowest first."""
        nothing = np.zeros(len(self.space))
        belief = replace(self.belief, precision=nothing, weighted=nothing).anew()
        timed = [place for place, times in enumerate(self.times) if times]
        if self.expected:
            timed.sort(key=lambda place: min(self.times[place]))
        for place in timed:
            belief = _learn(
                belief, place, self.times[place], noise, low_is_true=bool(self.expected)
            )
        return replace(self, belief=belief, noise=noise)

    def _believed_first(self) -> Belief:
        inside = {self.place[s]: kept for s, kept in self.remembered.items() if s in self.place}
        return Belief.of(self.space, self.prior, inside, self._base, self.expected)

    def _reminded(self, place: int) -> NaturalGradient:
        """The policy without what it remembers of a schedule, where the times of now deny it."""
        config, base = self.space[place], self.times[self._base]
        known = self.remembered.get(config)
        if known is None or place == self._base or len(self.times[place]) < 2 or not base:
            return self
        (now, sure), (default, sure_too) = (
            locate(times, self.noise) for times in (self.times[place], base)
        )
        apart = sqrt(known.spread**2 + 1 / sure + 1 / sure_too)
        if abs(now - default - known.log_ratio) <= _CONTRADICTED * apart:
            return self
        others = {s: kept for s, kept in self.remembered.items() if s != config}
        forgot = replace(self, remembered=others)
        return replace(forgot, belief=forgot._believed_first())._believed_anew(self.noise)

    def _changed(self, place: int) -> NaturalGradient:
        """The policy after looking for a change of speed, which reopens the question.

        If the default moved as well, the machine did, and other evidence moves along. Whether that
        still holds has to be seen, so little of it is kept.
        """
        base, times = self._base, self.times
        if self.left_at is not None and place == base and self._default_is_known:
            shift = locate(times[base], self.noise)[0] - self.left_at
            return replace(self, left_at=None)._moved(shift, keep=self.adopted)
        if not moved(times[place], self.noise):
            return self
        told = replace(self, times=_put(times, place, times[place][-RECENT:]))
        if place == base:
            shift = (
                locate(told.times[base], self.noise)[0]
                - locate(times[base][:-RECENT], self.noise)[0]
            )
            return told._moved(shift, keep=None)
        if base in self.failed or not times[base]:
            return told._believed(place)
        left_at = locate(times[base], self.noise)[0]
        return replace(told, times=_put(told.times, base, ()), left_at=left_at)._believed(place)

    def _moved(self, shift: float, keep: int | None) -> NaturalGradient:
        base = self._base
        times = tuple(
            kept if place in (base, keep) else tuple(time + shift for time in kept[-_KEPT:])
            for place, kept in enumerate(self.times)
        )
        return replace(self, times=times)._believed_anew(self.noise)

    def _settled(self) -> NaturalGradient:
        """The policy with what is adopted, and what was taken back, brought up to date."""
        best = self._fastest(self._able(None))
        if best is None or best == self.adopted or self._is_unweighed:
            return self
        if best != self._base:
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
        if able[held] and self.times[held] and gained < max(_STAYS, self.noise):
            return held
        return best

    def _is_doubtful(self, best: int) -> bool:
        """Whether a guess that was weighed is too little faster to go on with."""
        if not self.expected or self._base in self.failed or self._is_unweighed:
            return False
        timed = self._timed_faster(best)
        denied = timed is not None and timed < _UNLIKELY
        return denied or self._believed_faster(best) < _LIKELY

    @property
    def _base(self) -> int:
        """The default's place, found once: a hash of it costs more than all else that asks."""
        return self.base

    @property
    def _default_is_known(self) -> bool:
        times = self.times[self._base]
        if self.expected:
            return bool(times)
        return agreeing(times, self.noise) >= FIRST or len(times) >= _FIRST_AT_MOST

    def _able(self, ready: Ready) -> Mask:
        if ready is None:
            able = np.ones(len(self.space), np.bool_)
        else:
            able = ready.copy() if isinstance(ready, np.ndarray) else self.mask(frozenset(ready))
            able[self._base] |= not self.expected
        able[list(self.failed)] = False
        return able

    def _fastest(self, able: NDArray[np.bool_]) -> int | None:
        """The fastest of what was timed, as far as its own times bear out what is believed."""
        mean, timed = self.belief.mean, self.belief.precision > 0.0
        borne_out = self.belief.located - mean <= _BORNE_OUT * self.noise
        borne_out[self._base] = True
        places = np.flatnonzero(able & timed & borne_out)
        if not places.size:
            places = np.flatnonzero(able & timed)
        return int(places[np.argmin(mean[places])]) if places.size else None

    def _cost(self, place: int) -> float:
        """Its time in default dispatches: as it was timed, whatever others make one expect."""
        times, base = self.times[place], self.belief.mean[self._base]
        time = locate(times, self.noise)[0] if times else self.belief.mean[place]
        if self.expected and self.times[self._base]:
            base = locate(self.times[self._base], self.noise)[0]
        return 1.0 if place == self._base else exp(min(float(time - base), FAR))

    def _confidence(self, place: int) -> float:
        """How sure one may be that it is faster than the default.

        What is expected orders what to try; how sure one may be, the times alone must say as well.
        """
        believed, timed = self._believed_faster(place), self._timed_faster(place)
        return believed if timed is None else min(believed, timed)

    def _believed_faster(self, place: int) -> float:
        difference, variance = self.belief.against(self._base)
        if variance[place] == 0.0:
            return 0.5
        return float(1 + erf(-difference[place] / sqrt(2 * variance[place]))) / 2

    def _timed_faster(self, place: int) -> float | None:
        """The same by the times of the two alone, where the guess expects something of them."""
        times, base = self.times[place], self.times[self._base]
        if not self.expected or not times or not base:
            return None
        (here, known), (there, known_too) = locate(times, self.noise), locate(base, self.noise)
        return (1 + erf((there - here) / sqrt(2 / known + 2 / known_too))) / 2

    def _because(
        self, place: int, reason: Reason, detail: str, *, measures: bool = False
    ) -> Choice:
        return Choice(
            config=self.space[place],
            reason=reason,
            detail=detail,
            gain=exp(self.belief.mean[self._base] - self.belief.mean[place]),
            confidence=self._confidence(place),
            measures=measures,
        )

    def _default_is_due(self, best: int) -> bool:
        since, base = self.dispatches - self.default_at, self._base
        if self.expected:
            extra = times_slower(float(self.belief.mean[base] - self.belief.mean[best]))
            if not default_fits(extra, since, timed=bool(self.times[base])):
                return False
            if len(self.times[base]) < SURE_OF:
                return True
        if best != self._base and self._confidence(best) < CONFIDENT:
            return since >= _BESIDE * len(self.times[self._base])
        return since >= min(max(self.default_at, _AGAIN), _AT_LATEST)

    def _worst_at_once(self) -> Vector:
        """What each may lose beside others, in default dispatches.

        Among several at once the first surprise warns of no second, so that what was never timed
        is charged for one; the more was timed without, the less likely that is.
        """
        worst = plausible_worst(self.belief, self._base, self.budget.worst)
        timed = self.belief.precision > 0.0
        unlike = _UNLIKE / (1 + max(int(timed.sum()), 1))
        worst = np.where(timed, worst, np.maximum(worst, unlike))
        worst[self._base] = 0.0
        return worst

    def _supposing(self, place: int, loss: float) -> NaturalGradient:
        """The policy as if this had been timed at what is believed, and had lost so much."""
        belief, more = self.belief, self.noise**-2
        precision = belief.precision[place] + more
        location = (belief.weighted[place] + more * belief.mean[place]) / precision
        budget = replace(self.budget, lost=self.budget.lost + max(loss, 0.0))
        return replace(self, belief=belief.seen(place, location, precision), budget=budget)

    def _worth(self, best: int) -> Vector:
        ahead = max(_AHEAD * self.dispatches, _AHEAD_LEAST)
        return worth(self.belief, best, self.noise, ahead, self.share)

    def _open(self, best: int, able: NDArray[np.bool_]) -> NDArray[np.intp]:
        """What is worth a try and fits the budget, the most worth first."""
        more = self._worth(best)
        worst = self.share * plausible_worst(self.belief, self._base, self.budget.worst)
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
        least: Mask = slower - 2.0 * np.sqrt(variance) > -max(_STAYS, self.noise)
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


def _of_others(belief: Belief, place: int) -> tuple[float, float]:
    """What all but its own times make one expect of a schedule: a mean and a variance."""
    own = belief.covariance[place, place]
    rest = max(1.0 / own - belief.precision[place], 1e-9)
    return float((belief.mean[place] / own - belief.weighted[place]) / rest), float(1.0 / rest)


def _is_surprisingly_low(belief: Belief, place: int, time: float) -> bool:
    expected, variance = _of_others(belief, place)
    return time < expected - SURPRISE * sqrt(variance)


def _learn(
    belief: Belief, place: int, times: tuple[float, ...], noise: float, *, low_is_true: bool
) -> Belief:
    location, precision = locate(times, noise)
    held = belief.precision[place]
    if len(times) == 1:
        mean, variance = _of_others(belief, place)
        if not low_is_true or location > mean:
            location, precision = doubted(location, precision, mean, variance)
    elif held and abs(location - belief.weighted[place] / held) < noise / 100 and precision <= held:
        return belief  # nothing new: most dispatches end here, once a choice is settled
    return belief.seen(place, location, precision)


def _put(times: Times, place: int, kept: tuple[float, ...]) -> Times:
    return (*times[:place], kept, *times[place + 1 :])
