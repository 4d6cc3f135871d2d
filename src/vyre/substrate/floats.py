"""The same maths in float64: what the fixed-point steps approximate, to check them against.

All functions take one row of candidates, or many rows at once. A cost of infinity is a candidate
that is not there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vyre.errors import InvalidInput

Floats = NDArray[np.float64]


def pick_config(costs: ArrayLike, temperature: float) -> Floats:
    """The probability of each candidate: a softmax over the negated costs.

    At temperature 0 the least costs share it all, at infinity all candidates do.

    >>> pick_config([5.0, 1.0, 5.0], 0.01).round(3).tolist()
    [0.0, 1.0, 0.0]

    Raises:
        InvalidInput: a cost is NaN or minus infinity, or the temperature is negative or NaN.
    """
    cost = _checked(costs)
    if not temperature >= 0:
        raise InvalidInput(
            f"temperature {temperature}",
            "use 0 for the best alone, a positive number, or infinity for all alike",
        )
    present = np.isfinite(cost)
    least = np.where(present, cost, np.inf).min(axis=-1, keepdims=True)
    above = np.where(present, cost, 0.0) - np.where(np.isfinite(least), least, 0.0)
    if temperature == 0:
        weight = np.where(above == 0, 1.0, 0.0)
    else:
        with np.errstate(over="ignore", under="ignore"):  # to infinity, and to 0: both are meant
            weight = np.exp(-above / temperature)
    return config_gradient_magnitude(np.where(present, weight, 0.0))


def config_gradient(costs: ArrayLike, temperature: float) -> Floats:
    """How the soft minimum of the costs falls with each of them: minus its probability.

    It is the gradient of `temperature * log(sum(exp(-costs / temperature)))`.
    """
    return -pick_config(costs, temperature)


def config_gradient_magnitude(weights: ArrayLike) -> Floats:
    """The weights of a row as probabilities; a row of zeros counts as one of equals."""
    weight = np.asarray(weights, np.float64)
    total = weight.sum(axis=-1, keepdims=True)
    even = np.where(total == 0, 1.0, weight)
    shares: Floats = even / even.sum(axis=-1, keepdims=True)
    return shares


def natural_config_gradient_magnitude(weights: ArrayLike, matrix: ArrayLike) -> Floats:
    """The probabilities of a row, multiplied by its matrix."""
    probabilities = config_gradient_magnitude(weights)
    product: Floats = (np.asarray(matrix, np.float64) @ probabilities[..., np.newaxis])[..., 0]
    return product


def pick_best_config(costs: ArrayLike) -> NDArray[np.intp]:
    """The position of the least cost of each row, the first of equals.

    >>> int(pick_best_config([3.0, 1.0, 4.0, 1.5, 9.0]))
    1
    """
    return np.asarray(np.argmin(_checked(costs), axis=-1))


def _checked(costs: ArrayLike) -> Floats:
    cost = np.asarray(costs, np.float64)
    if cost.ndim == 0 or cost.shape[-1] == 0:
        raise InvalidInput("no candidates to pick from", "give at least one cost")
    if np.isnan(cost).any() or np.isneginf(cost).any():
        wrong = cost[np.isnan(cost) | np.isneginf(cost)][0]
        raise InvalidInput(f"a cost of {wrong}", "give numbers, and infinity for what cannot run")
    return cost
