"""Policies to compare with: what the seed does, what others do, and what cannot be beaten."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf, log, sqrt
from random import Random
from statistics import median
from typing import Self

from vyre.model import Config, Failed, Outcome, Timed
from vyre.policy.base import NothingToTry, Ready
from vyre.policy.natural import NaturalGradientPolicy, TuningMeasurement, identity_fisher_q16

_REMEMBERED = 15  # times per schedule for medians
_SPREAD = 0.03  # of a log time, where a policy has to assume one


@dataclass(frozen=True)
class Baseline:
    """A space without what failed, and the times of each schedule; `ask` is up to each policy."""

    space: tuple[Config, ...]
    times: Mapping[Config, tuple[float, ...]] = field(default_factory=dict)  # the latest
    totals: Mapping[Config, tuple[int, float]] = field(default_factory=dict)  # count, log times

    def ask(self, rng: Random, ready: Ready = None) -> Config:
        """What to launch next; of what is ready, if any of it is."""
        if not self.space:
            raise NothingToTry.of("schedule of the space")
        able = self.space if ready is None else tuple(one for one in self.space if one in ready)
        if not able or len(able) == len(self.space):
            return self._pick(rng)
        times = {one: kept for one, kept in self.times.items() if one in able}
        totals = {one: kept for one, kept in self.totals.items() if one in able}
        return replace(self, space=able, times=times, totals=totals)._pick(rng)

    @property
    def settled(self) -> Config | None:
        """What it asks for by itself; None where that is left to chance or still open."""
        return None

    def tell(self, outcome: Outcome) -> Self:
        config = outcome.config
        if config not in self.space:
            return self
        match outcome:
            case Failed():
                times = {other: kept for other, kept in self.times.items() if other != config}
                left = tuple(other for other in self.space if other != config)
                totals = {other: self.totals[other] for other in times}
                return replace(self, space=left, times=times, totals=totals)
            case Timed(elapsed_ns=elapsed) if 0.0 < elapsed < inf:
                kept = (*self.times.get(config, ()), elapsed)[-_REMEMBERED:]
                count, total = self.totals.get(config, (0, 0.0))
                totals = {**self.totals, config: (count + 1, total + log(elapsed))}
                return replace(self, times={**self.times, config: kept}, totals=totals)
            case Timed():
                return self

    def _pick(self, rng: Random) -> Config:
        raise NotImplementedError

    def _fastest(self) -> Config:
        return min(self.times, key=lambda config: median(self.times[config]))


@dataclass(frozen=True)
class Fixed(Baseline):
    """Always the same: the default, or with known times the oracle."""

    always: Config | None = None  # the first of the space without it

    @property
    def settled(self) -> Config | None:
        return self._pick(Random(0)) if self.space else None

    def _pick(self, rng: Random) -> Config:  # noqa: ARG002  # nothing is left to chance
        return self.always if self.always in self.space else self.space[0]


@dataclass(frozen=True)
class Seed(Baseline):
    """The Rust crate's loop: an argmin over what was measured and, for the rest, estimates.

    Its estimates are larger than the times of small kernels by far, so that what was launched first
    is launched for ever; the matrix it is given is the identity.
    """

    estimates_ns: Mapping[Config, int] = field(default_factory=dict)

    @property
    def settled(self) -> Config | None:
        return self._pick(Random(0)) if self.space else None

    def _pick(self, rng: Random) -> Config:  # noqa: ARG002  # nothing is left to chance
        known = {s: round(min(self.times[s])) for s in self.space if s in self.times}
        costs = [known.get(s, self.estimates_ns.get(s, 1 << 40)) for s in self.space]
        rows = [TuningMeasurement((at + 1, 1, 1), ns) for at, ns in enumerate(costs)]
        step = NaturalGradientPolicy().suggest(rows, identity_fisher_q16(len(rows)))
        return self.space[step.selected_workgroup_size[0] - 1]


@dataclass(frozen=True)
class EpsilonGreedy(Baseline):
    """Anything with probability `epsilon`, otherwise the fastest so far."""

    epsilon: float = 0.05

    def _pick(self, rng: Random) -> Config:
        if not self.times or rng.random() < self.epsilon:
            return rng.choice(self.space)
        return self._fastest()


@dataclass(frozen=True)
class Ucb(Baseline):
    """Each once, then the one whose time may plausibly be the least."""

    def _pick(self, rng: Random) -> Config:  # noqa: ARG002  # nothing is left to chance
        for config in self.space:
            if config not in self.totals:
                return config
        tells = sum(count for count, _ in self.totals.values())
        reach = _SPREAD * sqrt(2 * log(tells))
        return min(
            self.space, key=lambda s: _mean(self.totals[s]) - reach / sqrt(self.totals[s][0])
        )


@dataclass(frozen=True)
class Thompson(Baseline):
    """Each once, then the least of times drawn from what is believed of each alone."""

    def _pick(self, rng: Random) -> Config:
        for config in self.space:
            if config not in self.totals:
                return config
        draws = {s: rng.gauss(_mean(t), _SPREAD / sqrt(t[0])) for s, t in self.totals.items()}
        return min(draws, key=draws.__getitem__)


def _mean(total: tuple[int, float]) -> float:
    return total[1] / total[0]
