"""Location, spread and change over noisy timings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, exp, log, pi, sin, sqrt, tan
from random import Random
from statistics import fmean, median, stdev

RESAMPLES = 400
"""Enough for the ends of an interval to move by less than the noise it describes."""

FEW = 8
"""Pairs from which on resampling reaches far enough: below, it cannot go beyond those there are."""


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
    """The median of paired ratios, with the bounds that hold it.

    The sides must have been measured in turns: what slows the machine down for a while then slows
    both sides of a pair, and drops out. The bounds come from resampling the pairs; of a few pairs
    from Student's t over their logarithms, so that three that agree settle a large gap and three
    that do not settle nothing.

    >>> ratio_interval([2.0, 4.0, 6.0], [1.0, 2.0, 3.0], Random(0))
    Interval(low=2.0, middle=2.0, high=2.0)
    """
    pairs = [a / b for a, b in zip(top, bottom, strict=True)]
    middle = median(pairs)
    if len(pairs) < FEW:
        low, high = _student_interval(pairs, confidence)
        return Interval(min(low, middle), middle, max(high, middle))
    medians = sorted(median(rng.choices(pairs, k=len(pairs))) for _ in range(RESAMPLES))
    tail = (1 - confidence) / 2
    last = len(medians) - 1
    return Interval(medians[round(tail * last)], middle, medians[round((1 - tail) * last)])


def _student_interval(ratios: Sequence[float], confidence: float) -> tuple[float, float]:
    """Where the geometric mean of a few ratios lies; a single one says what it is."""
    if len(set(ratios)) == 1:
        return ratios[0], ratios[0]
    logs = [log(ratio) for ratio in ratios]
    reach = student(len(logs) - 1, confidence) * stdev(logs) / sqrt(len(logs))
    centre = fmean(logs)
    return exp(max(centre - reach, -_FAR)), exp(min(centre + reach, _FAR))


_FAR = 700.0  # beyond it a logarithm has no number


def student(freedom: int, confidence: float) -> float:
    """How many standard errors on either side hold a mean, by Student's t.

    >>> round(student(2, 0.99), 3), round(student(6, 0.99), 3)
    (9.925, 3.707)
    """
    low, high = 0.0, pi / 2
    for _ in range(60):
        angle = (low + high) / 2
        low, high = (angle, high) if _within(freedom, angle) < confidence else (low, angle)
    return sqrt(freedom) * tan(low)


def _within(freedom: int, angle: float) -> float:
    """The chance of a t within sqrt(freedom) * tan(angle) (Abramowitz and Stegun, 26.7.3 and 4)."""
    odd = freedom % 2
    term = total = cos(angle) if odd else 1.0
    if freedom == 1:
        return 2 * angle / pi
    for step in range(2 + odd, freedom - 1, 2):
        term *= cos(angle) ** 2 * (step - 1) / step
        total += term
    total *= sin(angle)
    return 2 / pi * (angle + total) if odd else total
