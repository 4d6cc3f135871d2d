"""What noisy times of one schedule say: a robust location, and how far to trust it."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import median

import numpy as np

WINDOW = 128
"""Times kept per schedule; old ones make room, so that a change is noticed."""

GAPS = 64
"""Distances between times that are kept to judge the noise by."""

NOISE = 0.03
"""Of one log time on a device of its own, believed before any was repeated."""

SHARED = 0.05
"""Noise of which most is what others do on the same device."""

_LOWEST = 3  # one in so many times is hardly disturbed then
_NOISE_WORTH = 6  # repeats that outweigh that
_NOISE_LEAST = 0.004
_SEVERAL, _NOISE_OF_FEW = 4, 0.1  # repeats, and the most that fewer can say of the noise
_FLOOR = 0.002  # what repeating a time cannot tell, such as where arrays happen to lie
_TWO_THIRDS = 0.683  # of normal noise lies within one standard deviation

_FEW = 12

SURPRISE = 2.5
"""Standard deviations at which a single time is more likely disturbed than true."""

RECENT = 8
"""Times that tell a change from those before."""


def noise_of(gaps: Sequence[float], before: float = NOISE) -> float:
    """The spread of one log time, from distances between consecutive times of a schedule.

    It is what was believed `before` where there are none, and for a while counts beside them.

    A timer of few distinct values gives many distances of 0; its step is then what is not known.
    """
    if not gaps:
        return before
    ordered = sorted(gaps)
    spread = ordered[int(_TWO_THIRDS * (len(ordered) - 1))] / sqrt(2)
    if spread == 0.0:
        spread = next((gap for gap in ordered if gap > 0.0), 0.0) / sqrt(12)
    if len(gaps) < _SEVERAL:  # one disturbed time is most of them
        spread = min(spread, max(_NOISE_OF_FEW, before))
    count = len(gaps)
    pooled = (_NOISE_WORTH * before**2 + count * spread**2) / (_NOISE_WORTH + count)
    return max(sqrt(pooled), _NOISE_LEAST)


def locate(times: Sequence[float], noise: float) -> tuple[float, float]:
    """Where the log times lie, and the precision (one over the variance) of that.

    Single outliers move it by a fraction of the noise. What disturbs a measurement makes it longer:
    of two times that disagree the lower counts, and where others share the device the lowest do.
    """
    if len(times) <= 2:
        low, high = min(times), max(times)
        if high - low > 4 * noise:
            return low, 1 / (noise + 0.1 * (high - low)) ** 2
        return (low + high) / 2, 1 / (noise**2 / len(times) + _FLOOR**2)
    if noise >= SHARED:
        lowest = sorted(times)[: max(len(times) // _LOWEST, 1)]
        return sum(lowest) / len(lowest), 1 / ((_LOWEST / 2 * noise / len(times)) ** 2 + _FLOOR**2)
    middle = median(times)
    if len(times) > _FEW:  # a tenth of the time that Python takes for all
        held = np.array(times)
        far = np.minimum(1.0, (2 * noise / (np.abs(held - middle) + 1e-12)) ** 2)
        whole = float(far.sum())
        return float(far @ held) / whole, 1 / (noise**2 / whole + _FLOOR**2)
    weights = [min(1.0, (2 * noise / (abs(time - middle) + 1e-12)) ** 2) for time in times]
    total = sum(weights)
    location = sum(w * time for w, time in zip(weights, times, strict=True)) / total
    return location, 1 / (noise**2 / total + _FLOOR**2)


def doubted(location: float, precision: float, mean: float, variance: float) -> tuple[float, float]:
    """The same evidence, trusted less the further it lies from what the rest made one expect."""
    variance_of_it = max(1 / precision, (location - mean) ** 2 / SURPRISE**2 - variance)
    return location, 1 / variance_of_it


def moved(times: Sequence[float], noise: float) -> bool:
    """Whether the latest times of a schedule differ from those before by more than noise.

    Three quarters of them must: a few disturbed ones in a row are no change.
    """
    if len(times) < 2 * RECENT:
        return False
    before, recent = median(times[:-RECENT]), sorted(times[-RECENT:])
    least = 2 * noise
    return recent[RECENT // 4] > before + least or recent[-1 - RECENT // 4] < before - least


def agreeing(times: Sequence[float], noise: float) -> int:
    """How many of the times lie where they are located."""
    if not times:
        return 0
    location, _ = locate(times, noise)
    return sum(abs(time - location) <= 3 * noise for time in times)
