"""What times of one schedule make of a belief over all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import sqrt

import numpy as np

from vyre.policy.belief import Belief
from vyre.policy.evidence import SURPRISE, doubted, locate

Times = tuple[tuple[float, ...], ...]
"""Log times of each schedule of a space, the latest last."""


def learned(
    belief: Belief, place: int, times: Sequence[float], noise: float, *, low_is_true: bool
) -> Belief:
    """The belief when these are the times of one schedule, whatever they were before.

    Args:
        belief: what is believed of all of them.
        place: of the schedule.
        times: its log times.
        noise: of one log time.
        low_is_true: whether a single time is doubted only where it is long: what disturbs a
            measurement makes it longer.
    """
    location, precision = locate(times, noise)
    held = belief.precision[place]
    if len(times) == 1:
        mean, variance = _of_others(belief, place)
        if not low_is_true or location > mean:
            location, precision = doubted(location, precision, mean, variance)
    elif held and abs(location - belief.weighted[place] / held) < noise / 100 and precision <= held:
        return belief  # nothing new: most dispatches end here, once a choice is settled
    return belief.seen(place, location, precision)


def learned_anew(belief: Belief, times: Times, noise: float, *, low_is_true: bool) -> Belief:
    """The belief when all times are heard again; where low ones are true, the lowest first."""
    nothing = np.zeros(len(times))
    belief = replace(belief, precision=nothing, weighted=nothing).anew()
    timed = [place for place, some in enumerate(times) if some]
    if low_is_true:
        timed.sort(key=lambda place: min(times[place]))
    for place in timed:
        belief = learned(belief, place, times[place], noise, low_is_true=low_is_true)
    return belief


def is_surprisingly_low(belief: Belief, place: int, time: float) -> bool:
    """Whether a time is so short that, if anything is off, it is what others make one expect."""
    expected, variance = _of_others(belief, place)
    return time < expected - SURPRISE * sqrt(variance)


def _of_others(belief: Belief, place: int) -> tuple[float, float]:
    """What all but its own times make one expect of a schedule: a mean and a variance."""
    own = belief.covariance[place, place]
    rest = max(1.0 / own - belief.precision[place], 1e-9)
    return float((belief.mean[place] / own - belief.weighted[place]) / rest), float(1.0 / rest)
