"""What a try is worth, what it may lose, and which to take: functions over a belief."""

from __future__ import annotations

from collections.abc import Callable
from math import erf, pi, sqrt

import numpy as np
from numpy.typing import NDArray

from vyre.policy.belief import Belief, Vector
from vyre.policy.natural import Q16_ONE, softmax_weights_q16

Ints = NDArray[np.int64]
Step = Callable[[Ints, Ints], Ints]
"""Multiplies a signed matrix by weights, both in 16.16."""

Rate = Callable[[Belief, NDArray[np.intp], int, float], Vector | Ints]
"""Rates places of a belief, the most worth first, against the fastest, given the noise of a time;
the highest is tried."""

FAR = 5.0
"""Log times are cut here before they are raised to a time."""

_ODD, _ODD_SPREAD = 0.4, 0.3  # schedules of a space that are unlike their neighbours, and how much
_PLAUSIBLE = 2.0  # standard deviations to the slowest time that a probe is let to risk
_COOL = 0.5  # temperature of the softmax in standard deviations of the candidates

_GRID = np.linspace(-8.0, 8.0, 1601)
_GAIN = np.exp(-(_GRID**2) / 2) / sqrt(2 * pi) + _GRID * np.array(
    [(1 + erf(z / sqrt(2))) / 2 for z in _GRID]
)


def worth(belief: Belief, best: int, noise: float, ahead: float, share: float = 1.0) -> Vector:
    """What a try of each is expected to bring beyond its cost, in dispatches of `best`.

    Args:
        belief: what is believed of all of them.
        best: what is launched otherwise.
        noise: of one log time.
        ahead: dispatches that are expected to follow, and to profit.
        share: of a dispatch, that a try takes.
    """
    difference, variance = belief.against(best)
    # How far one more time of it would move what is believed of the two.
    own = np.diagonal(belief.covariance)
    spread = np.abs(own - belief.covariance[:, best]) / np.sqrt(own + noise**2) + 1e-12
    gain = _expected_gain(difference, spread)
    # Some schedule may be unlike its neighbours, which only its own times can tell.
    hardly_timed = belief.precision + belief.recalled < 0.25 / noise**2
    odd = _ODD / difference.size * _expected_gain(difference, np.full_like(spread, _ODD_SPREAD))
    gain = gain + np.where(hardly_timed, odd, 0.0)
    loss = np.exp(np.minimum(difference + variance / 2, FAR)) - 1.0
    more: Vector = ahead * gain - share * np.maximum(loss, 0.0)
    return more


def plausible_worst(belief: Belief, default: int, worst_yet: float) -> Vector:
    """What each may lose at its next dispatch, in default dispatches.

    What was timed may be as slow as it was timed, whether or not that is believed; what was not may
    surprise as badly as the worst so far.
    """
    difference, variance = belief.against(default)
    worst: Vector = np.exp(np.minimum(difference + _PLAUSIBLE * np.sqrt(variance), FAR)) - 1.0
    slower = np.minimum(belief.located - belief.mean[default], FAR)
    known = np.where(belief.precision > 0.0, np.exp(slower) - 1.0, worst_yet)
    return np.maximum(worst, known)


def natural_step_q16(root_q16: Ints, weights_q16: Ints) -> Ints:
    """The product of a matrix and weights: signed, in 16.16, each term rounded down.

    >>> natural_step_q16(np.array([[65536, -32768], [0, 65536]]), np.array([40000, 25536])).tolist()
    [27232, 25536]
    """
    products: Ints = root_q16 * weights_q16[np.newaxis, :] >> 16
    total: Ints = products.sum(axis=1)
    return total


def natural_gradient_q16(
    belief: Belief, places: NDArray[np.intp], best: int, noise: float, step: Step = natural_step_q16
) -> Ints:
    """The softmax over the believed times of some, preconditioned by what is not known of them."""
    covariance = belief.covariance
    shared = covariance[places, best]
    # Of the differences from the fastest: what is uncertain of all alike decides nothing.
    apart = covariance[np.ix_(places, places)] - shared[:, None] - shared[None, :]
    apart = apart + covariance[best, best]
    cool = _COOL * max(sqrt(max(float(np.trace(apart)), 0.0) / places.size), noise)
    believed = [round(mean * Q16_ONE) for mean in belief.mean[places]]
    weights = softmax_weights_q16(believed, max(round(cool * Q16_ONE), 1))
    root = np.rint(_root(apart) * Q16_ONE).astype(np.int64)
    return step(root, np.array(weights, np.int64))


def _expected_gain(difference: Vector, spread: Vector) -> Vector:
    """How much faster each turns out, on average over those that turn out faster or not at all."""
    gain: Vector = spread * np.interp(-difference / spread, _GRID, _GAIN)
    return gain


def _root(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """The symmetric square root of a covariance."""
    values, vectors = np.linalg.eigh(matrix)
    root: NDArray[np.float64] = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return root
