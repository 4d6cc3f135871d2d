"""A Gaussian belief over the log times of schedules, in which neighbours inform each other.

What is believed before anything ran: times of schedules that differ little in workgroup, items and
vector differ little; each has something of its own; and they differ about as the cold-start guess
expects, or rise along its order where it expects no times; by how much is itself to be learned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vyre.errors import InvalidInput
from vyre.model import Config, Knobs

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """How far log times may differ before anything was measured; the same for every kernel.

    These are orders of magnitude: a space seldom spans more than a factor of ten, a doubling of
    workgroup, items or vector seldom changes a time by more than a fifth, and from its first to its
    last schedule a guess is worth ten per cent or so.
    """

    level: float = 3.0  # of all times together, around the first; as good as unknown
    smooth: float = 0.2  # what schedules share that are up to `reach` doublings apart
    reach: float = 2.0
    rough: float = 0.05  # what only next neighbours share: there are steps, such as another wave
    own: float = 0.02  # what no neighbour tells
    slope: float = 0.15  # from the first to the last of a guess that is an order and no more
    slope_spread: float = 0.25  # how little that is known
    scale_spread: float = 0.25  # of what a guess expects: the share by which it is all too much


@dataclass(frozen=True, slots=True)
class Remembered:
    """What was measured elsewhere: log(time / time of the default then), believed to +-`spread`."""

    log_ratio: float
    spread: float

    def __post_init__(self) -> None:
        if not isfinite(self.log_ratio) or not 0.0 < self.spread < inf:
            raise InvalidInput(
                f"a remembered log ratio of {self.log_ratio} to within {self.spread}",
                "give a finite log ratio, and a finite spread above 0",
            )


@dataclass(frozen=True, slots=True, eq=False)
class Belief:
    """Means and covariances of the log times of a space, given robust locations of some.

    Evidence is a location and a precision per schedule, held as their product and the precision.
    It can be replaced, so that a sample that turns out an outlier can be taken back.
    """

    mean: Vector
    covariance: Matrix
    precision: Vector
    weighted: Vector
    prior_mean: Vector
    prior_covariance: Matrix
    recalled: Vector  # the precision to which each is remembered

    @classmethod
    def of(
        cls,
        space: Sequence[Config],
        prior: Prior,
        remembered: Mapping[int, Remembered] = MappingProxyType({}),
        default: int = 0,
        expected: Sequence[float] = (),
    ) -> Belief:
        """What is believed of a space in the order of its guess, around a log time of 0.

        What is expected or remembered is no evidence: it says how times differ from the default's,
        and nothing of how fast the machine is now.

        Args:
            space: the schedules, the best guess first.
            prior: what is believed of any space.
            remembered: of schedules by their place.
            default: the place of what those are compared with.
            expected: log times over the default's by the guess, where it has any.
        """
        count = len(space)
        features = np.array(configs_at(space)).reshape(count, -1)
        apart = np.sqrt(((features[:, None, :] - features[None, :, :]) ** 2).sum(axis=2))
        shared = prior.smooth**2 * np.exp(-((apart / prior.reach) ** 2) / 2)
        shared += prior.rough**2 * np.exp(-apart)
        if expected:
            mean = np.array(expected, dtype=np.float64)
            unsure = prior.scale_spread * mean
        else:
            rank = np.arange(count) / max(count - 1, 1)
            mean, unsure = prior.slope * rank, prior.slope_spread * rank
        covariance = (
            prior.level**2 + shared + np.outer(unsure, unsure) + prior.own**2 * np.eye(count)
        )
        recalled, nothing = np.zeros(count), np.zeros(count)
        places = [place for place in remembered if place != default]
        if places:
            known = [remembered[place] for place in places]
            recalled[places] = [one.spread**-2 for one in known]
            # The level cancels in differences from the default: it stays as open as it was.
            cross = covariance[:, places] - covariance[:, [default]]
            inner = cross[places] - cross[default] + np.diag(1.0 / recalled[places])
            gain = np.linalg.solve(inner, cross.T).T
            missed = [one.log_ratio for one in known] - (mean[places] - mean[default])
            mean, covariance = mean + gain @ missed, covariance - gain @ cross.T
        return cls(*_fixed(mean, covariance, nothing, nothing, mean, covariance, recalled))

    def seen(self, place: int, location: float, precision: float) -> Belief:
        """The belief when the evidence on one schedule is this, whatever it was before.

        A precision of 0 takes it back. One rank of the covariance changes, so this is quick.
        """
        more = precision - self.precision[place]
        push = precision * location - self.weighted[place]
        column = self.covariance[:, place]
        share = 1.0 + more * column[place]
        if share < max(1e-3, -1e-12 * more):  # taking back so much would leave little but rounding
            return self._with(place, location, precision).anew()
        mean = self.mean + column * ((push - more * self.mean[place]) / share)
        covariance = self.covariance - np.outer(column * (more / share), column)
        told = self._with(place, location, precision)
        mean, covariance = _fixed(mean, covariance)
        return replace(told, mean=mean, covariance=covariance)

    def anew(self) -> Belief:
        """The same belief from prior and evidence, free of what rounding has added up."""
        held = np.flatnonzero(self.precision)
        if not held.size:
            mean, covariance = self.prior_mean, self.prior_covariance
            return replace(self, mean=mean, covariance=covariance)
        cross = self.prior_covariance[:, held]
        inner = cross[held] + np.diag(1.0 / self.precision[held])
        gain = np.linalg.solve(inner, cross.T).T
        missed = self.weighted[held] / self.precision[held] - self.prior_mean[held]
        mean, covariance = _fixed(
            self.prior_mean + gain @ missed, self.prior_covariance - gain @ cross.T
        )
        return replace(self, mean=mean, covariance=covariance)

    @property
    def located(self) -> Vector:
        """Where the times of each lie by themselves; 0 without any."""
        found: Vector = self.weighted / np.where(self.precision > 0.0, self.precision, 1.0)
        return found

    def against(self, place: int) -> tuple[Vector, Vector]:
        """How much slower each schedule is than this one in log time: means and variances."""
        difference = self.mean - self.mean[place]
        own = np.diagonal(self.covariance)
        variance = own + own[place] - 2.0 * self.covariance[:, place]
        return difference, np.maximum(variance, 0.0)

    def _with(self, place: int, location: float, precision: float) -> Belief:
        precisions, weighted = self.precision.copy(), self.weighted.copy()
        precisions[place], weighted[place] = precision, precision * location
        precisions, weighted = _fixed(precisions, weighted)
        return replace(self, precision=precisions, weighted=weighted)


def configs_at(space: Sequence[Config]) -> list[tuple[float, ...]]:
    """Where configs lie among each other, also where some have settings that others have not.

    What one has not lies at 0, half a doubling away from what has it.
    """
    parts = [one.placed() if isinstance(one, Knobs) else {"": one.place()} for one in space]
    names = dict.fromkeys(name for part in parts for name in part)
    if all(part.keys() == names.keys() for part in parts):
        return [tuple(at for name in names for at in part[name]) for part in parts]
    width = {name: len(part[name]) for part in parts for name in part}
    return [
        tuple(
            at
            for name in names
            for at in (*part.get(name, (0.0,) * width[name]), 0.5 * (name in part))
        )
        for part in parts
    ]


def _fixed(*arrays: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    for array in arrays:
        array.setflags(write=False)
    return arrays
