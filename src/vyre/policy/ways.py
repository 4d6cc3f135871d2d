"""Which of several ways to run next, by their measured times at the present hit rate.

How fast a way is depends on how many items hit, and that can change from call to call. So what is
learned is kept by hit rate, and a rate that was seen before needs no new search. Times are compared
within one call, or from one call to the next, never over a distance: what slows the machine down
for a while slows both sides down.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import exp, log, log2
from statistics import median
from typing import Self

from vyre.errors import InvalidInput
from vyre.plan.fusion import STRIPE_ITEMS

ENOUGH = 3
"""How many comparisons decide; their median, so that one noisy time never does."""

CLOSE = 1.5
"""Slices tell ways apart that differ by more; closer ones are compared over whole calls."""

CLEAR = 1.01
"""How much faster a way must be to replace another."""

PERIOD = 50
"""Calls after which an abandoned way is measured again, if that costs little enough."""

LOSS = 0.01
"""The share of the time that measuring again may cost."""

FINEST_RATE = 2.0**-14


class Way(StrEnum):
    """How a prefilter and a confirm are run together."""

    SERIAL = "serial"  # list the hits, then confirm those
    GATED = "gated"  # confirm where the prefilter says yes, in one program
    EAGER = "eager"  # confirm everything, commit where the prefilter says yes


class Purpose(StrEnum):
    """Why a call runs as it does."""

    WHOLE = "whole"  # all of it the best known way
    ROUND = "round"  # a slice for each way, the rest the best known one
    TRIAL = "trial"  # all of it a rival


@dataclass(frozen=True, slots=True)
class Piece:
    """Some items of a call, run one way: all from `first` on, or one stripe in `stripes`."""

    way: Way
    first: int
    items: int
    stripe: int = 0
    stripes: int = 1


@dataclass(frozen=True, slots=True)
class Step:
    """One call, as pieces that cover it; in a round the slices come first."""

    purpose: Purpose
    pieces: tuple[Piece, ...]
    regime: int | None = None  # the rate it was meant for


@dataclass(frozen=True, slots=True)
class Regime:
    """What is known of the ways at one hit rate."""

    best: Way
    rounds: tuple[Mapping[Way, float], ...] = ()  # ns per item of the latest slices
    trials: Mapping[Way, tuple[float, ...]] = field(default_factory=dict)
    """Logarithms of a rival's time over the best way's in the call before, the latest."""
    before: float | None = None  # ns per item of the best way, if it ran the call before
    since: int = 0  # calls since something was last compared
    turn: int = 0  # comparisons so far
    settled: bool = False  # whether enough rounds have chosen once

    def slower(self, way: Way) -> float | None:
        """How many times the best way's time a way takes, as far as is known."""
        if way is self.best:
            return 1.0
        if len(self.trials.get(way, ())) >= ENOUGH:
            return exp(median(self.trials[way]))
        return self.by_slices(way)

    def by_slices(self, way: Way) -> float | None:
        ratios = [times[way] / times[self.best] for times in self.rounds if way in times]
        return median(ratios) if ratios else None

    def is_close(self, way: Way) -> bool:
        """Whether only whole calls can tell this way from the best."""
        tried = self.trials.get(way, ())
        if tried and median(tried) > log(CLOSE):
            return False
        sliced = self.by_slices(way)
        return sliced is None or sliced < CLOSE


@dataclass(frozen=True, slots=True, kw_only=True)
class WayPolicy:
    """Asked before each call how to run it, told afterwards what came of it.

    >>> policy = WayPolicy(able=(Way.SERIAL, Way.GATED), guess=Way.GATED)
    >>> step = policy.ask(10_000, 512)
    >>> [(str(piece.way), piece.items) for piece in step.pieces]
    [('serial', 512), ('gated', 512), ('gated', 8976)]
    """

    able: tuple[Way, ...]
    guess: Way  # before anything is measured
    regimes: Mapping[int, Regime] = field(default_factory=dict)
    rate: float | None = None  # of hits, in the latest call
    spent_ns: float = 0.0
    lost_ns: float = 0.0  # to comparisons

    def __post_init__(self) -> None:
        if self.guess not in self.able:
            raise InvalidInput(
                f"a guess of {self.guess} among {', '.join(self.able) or 'no ways'}",
                "guess one of the ways that are able to run",
            )

    @property
    def regime(self) -> Regime:
        """What is known at the present rate; a new rate starts with its neighbour's best way."""
        key = self._key(self.rate)
        return Regime(self.guess) if key is None else self.regimes.get(key) or self._fresh(key)

    def ask(self, items: int, slice_items: int, *, waiting: bool = False) -> Step:
        """How to run the next call.

        Args:
            items: how many it has.
            slice_items: how many make a slice worth timing.
            waiting: earlier calls have not been told yet, so that nothing new is tried.
        """
        key, regime = self._key(self.rate), self.regime
        whole = Step(Purpose.WHOLE, (Piece(regime.best, 0, items),), key)
        if len(self.able) == 1 or waiting or items == 0:
            return whole
        slice_items -= slice_items % STRIPE_ITEMS
        sliced = 0 < 2 * len(self.able) * slice_items <= items
        rivals = [way for way in self.able if way is not regime.best and regime.is_close(way)]
        untried = [way for way in rivals if len(regime.trials.get(way, ())) < ENOUGH]
        if sliced and len(regime.rounds) < ENOUGH:
            return self._round(items, slice_items)
        if untried:
            return self._trial(untried[0], items) if regime.before is not None else whole
        if regime.since >= PERIOD and self.lost_ns <= LOSS * self.spent_ns:
            far = len(rivals) < len(self.able) - 1
            if sliced and (regime.turn % 2 == 0 or not rivals):
                return self._round(items, slice_items)
            if regime.before is not None:
                again = [way for way in self.able if way is not regime.best] if far else rivals
                choice = rivals if sliced and rivals else again
                return self._trial(choice[regime.turn // 2 % len(choice)], items)
        return whole

    def tell(self, step: Step, times_ns: Sequence[float], rate: float | None) -> Self:
        """Learn from a call: the time of each of its pieces, and the share of items that hit.

        Where nobody counted the hits, they are taken to be as many as in the last call that was;
        before there was one, nothing is learned.
        """
        rate = self.rate if rate is None else rate
        key = self._key(rate)
        if key is None:
            return self
        regime = self.regimes.get(key) or self._fresh(key)
        per_item = [
            max(ns, 1.0) / max(piece.items, 1)
            for piece, ns in zip(step.pieces, times_ns, strict=True)
        ]
        lost = 0.0
        match step.purpose:
            case Purpose.ROUND:
                count = len(self.able)
                times = {p.way: t for p, t in zip(step.pieces[:count], per_item, strict=False)}
                least = min(times.values())
                lost = sum((t - least) * step.pieces[0].items for t in times.values())
                regime = replace(regime, before=None, since=0, turn=regime.turn + 1)
                regime = _after_round(regime, times)
            case Purpose.TRIAL:
                way, items = step.pieces[0].way, step.pieces[0].items
                if regime.before is not None and step.regime == key and way is not regime.best:
                    lost = max(0.0, (per_item[0] - regime.before) * items)
                    tried = (*regime.trials.get(way, ()), log(per_item[0] / regime.before))
                    trials = {**regime.trials, way: tried[-ENOUGH:]}
                    regime = replace(regime, trials=trials, since=0, turn=regime.turn + 1)
                    regime = _decided_by_trials(regime, way)
                regime = replace(regime, before=None)
            case Purpose.WHOLE:
                same = step.pieces[0].way is regime.best
                before = per_item[0] if same else None
                regime = replace(regime, before=before, since=regime.since + 1)
        return replace(
            self,
            regimes={**self.regimes, key: regime},
            rate=rate,
            spent_ns=self.spent_ns + sum(times_ns),
            lost_ns=self.lost_ns + lost,
        )

    def explain(self) -> str:
        """Which way runs at the present rate, and what speaks for it."""
        regime = self.regime
        if self.rate is None:
            return f"{regime.best}: a guess, nothing has been measured yet"
        others = []
        for way in self.able:
            ratio = regime.slower(way)
            if way is not regime.best:
                known = "not measured yet" if ratio is None else f"{ratio:.2f}x its time"
                others.append(f"{way} {known}")
        against = "; ".join(others) or "no other way can run here"
        compared = f"{len(regime.rounds)} rounds of slices, " + ", ".join(
            f"{len(tried)} whole calls {way}" for way, tried in regime.trials.items()
        )
        return f"{regime.best} at {self.rate:.2%} hits: {against} ({compared.rstrip(', ')})"

    def _key(self, rate: float | None) -> int | None:
        """The known regime that a rate belongs to, or the place for a new one.

        Regimes lie along the logarithm of the odds; one serves rates of half to twice its odds.
        """
        if rate is None:
            return None
        inside = min(max(rate, FINEST_RATE), 1 - FINEST_RATE)
        place = round(2 * log2(inside / (1 - inside)))
        near = [key for key in self.regimes if abs(key - place) <= 1]
        return min(near, key=lambda key: (abs(key - place), key)) if near else place

    def _fresh(self, key: int) -> Regime:
        if not self.regimes:
            return Regime(self.guess)
        nearest = min(self.regimes, key=lambda other: (abs(other - key), other))
        return Regime(self.regimes[nearest].best)

    def _round(self, items: int, slice_items: int) -> Step:
        """Slices at one end of the call, in stripes: items differ, and each way gets its share."""
        regime = self.regime
        count, turn = len(self.able), regime.turn
        shift = (turn // 2) % count
        order = (*self.able[shift:], *self.able[:shift])
        sliced = count * slice_items
        start, rest = (0, sliced) if turn % 2 == 0 else (items - sliced, 0)
        slices = [Piece(way, start, slice_items, place, count) for place, way in enumerate(order)]
        pieces = (*slices, Piece(regime.best, rest, items - sliced))
        return Step(Purpose.ROUND, pieces, self._key(self.rate))

    def _trial(self, way: Way, items: int) -> Step:
        return Step(Purpose.TRIAL, (Piece(way, 0, items),), self._key(self.rate))


def _after_round(regime: Regime, times: Mapping[Way, float]) -> Regime:
    """The regime with a round more, and the way that its slices speak for.

    A new regime follows its first rounds at once. Later a round that contradicts starts the count
    anew, so that only as many rounds as decide can speak for another way.
    """
    agreed = regime.settled and not _contradicts(regime.rounds[-1], regime.best)
    turned = agreed and _contradicts(times, regime.best)
    rounds = (times,) if turned else (*regime.rounds, times)[-ENOUGH:]
    regime = replace(regime, rounds=rounds)
    if regime.settled and len(rounds) < ENOUGH:
        return regime
    regime = replace(regime, settled=len(rounds) == ENOUGH)
    ratios = {way: regime.by_slices(way) or 1.0 for way in times}
    best = min(ratios, key=lambda way: ratios[way])
    if best is regime.best or ratios[best] * CLEAR > 1:
        return regime
    if len(regime.trials.get(best, ())) < ENOUGH:
        return replace(regime, best=best, trials={})
    if ratios[best] * CLOSE > 1:
        return regime
    # Whole calls have the last word, so they are asked again.
    return replace(regime, trials={way: t for way, t in regime.trials.items() if way is not best})


def _contradicts(times: Mapping[Way, float], best: Way) -> bool:
    return times[best] > CLOSE * min(times.values())


def _decided_by_trials(regime: Regime, way: Way) -> Regime:
    tried = regime.trials[way]
    if len(tried) < ENOUGH or median(tried) > -log(CLEAR):
        return regime
    return replace(regime, best=way, trials={regime.best: tuple(-ratio for ratio in tried)})
