"""Location, spread and change over noisy timings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from statistics import median

RESAMPLES = 400
"""Enough for the ends of an interval to move by less than the noise it describes."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A median with the bounds that hold it with the stated confidence."""

    low: float
    middle: float
    high: float


def spread(samples: Sequence[float]) -> float:
    """The median distance from the median, scaled to a standard deviation of normal noise."""
    middle = median(samples)
    return 1.4826 * median([abs(sample - middle) for sample in samples])


def ratio_interval(
    top: Sequence[float], bottom: Sequence[float], rng: Random, confidence: float = 0.95
) -> Interval:
    """The median of paired ratios, with a bootstrap interval over the pairs.

    The sides must have been measured in turns: what slows the machine down for a while then slows
    both sides of a pair, and drops out.

    >>> ratio_interval([2.0, 4.0, 6.0], [1.0, 2.0, 3.0], Random(0))
    Interval(low=2.0, middle=2.0, high=2.0)
    """
    pairs = [a / b for a, b in zip(top, bottom, strict=True)]
    medians = sorted(median(rng.choices(pairs, k=len(pairs))) for _ in range(RESAMPLES))
    tail = (1 - confidence) / 2
    last = len(medians) - 1
    return Interval(medians[round(tail * last)], median(pairs), medians[round((1 - tail) * last)])
