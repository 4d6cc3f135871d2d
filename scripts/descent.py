"""Slopes by reverse accumulation through NumPy's functions, and the way down them."""

# ruff: noqa: ARG005  # every rule is given the result and what it came from

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Rule = Callable[[Array], Array]


class Tracked:
    """A number, or many, that remembers what it was computed from."""

    __slots__ = ("parents", "slope", "value")

    def __init__(self, value: Any, parents: tuple[tuple[Tracked, Rule], ...] = ()) -> None:
        self.value = np.asarray(value, np.float64)
        self.parents = parents
        self.slope: Array | None = None

    def __array_ufunc__(self, function: Any, method: str, *given: Any) -> Any:
        assert method == "__call__", f"{function} is used by {method}"
        values = [one.value if isinstance(one, Tracked) else one for one in given]
        found = function(*values)
        if function in _STEPS:
            return found
        rules = _RULES[function](found, *values)
        pairs = zip(given, rules, strict=True)
        return Tracked(found, tuple((one, rule) for one, rule in pairs if isinstance(one, Tracked)))

    __add__, __radd__ = (lambda s, o: np.add(s, o)), (lambda s, o: np.add(o, s))
    __sub__, __rsub__ = (lambda s, o: np.subtract(s, o)), (lambda s, o: np.subtract(o, s))
    __mul__, __rmul__ = (lambda s, o: np.multiply(s, o)), (lambda s, o: np.multiply(o, s))
    __truediv__, __rtruediv__ = (lambda s, o: np.divide(s, o)), (lambda s, o: np.divide(o, s))
    __pow__, __rpow__ = (lambda s, o: np.power(s, o)), (lambda s, o: np.power(o, s))


_STEPS = {np.ceil, np.floor, np.greater, np.less}  # flat, but for their jumps
_TINY = 1e-300
_RULES: dict[Any, Callable[..., tuple[Rule, ...]]] = {
    np.add: lambda out, a, b: (lambda g: g, lambda g: g),
    np.subtract: lambda out, a, b: (lambda g: g, lambda g: -g),
    np.multiply: lambda out, a, b: (lambda g: g * b, lambda g: g * a),
    np.divide: lambda out, a, b: (lambda g: g / b, lambda g: -g * out / b),
    np.power: lambda out, a, b: (
        lambda g: g * b * out / np.maximum(a, _TINY),
        lambda g: g * out * np.log(np.maximum(a, _TINY)),
    ),
    np.log: lambda out, a: (lambda g: g / a,),
    np.maximum: lambda out, a, b: (lambda g: g * (a >= b), lambda g: g * (b > a)),
    np.minimum: lambda out, a, b: (lambda g: g * (a <= b), lambda g: g * (b < a)),
}


def accumulate(root: Tracked, weights: Array) -> None:
    """Give everything that `root` was computed from its slope of `sum(weights * root)`."""
    order: list[Tracked] = []
    seen: set[int] = set()
    stack = [(root, False)]
    while stack:
        one, done = stack.pop()
        if done:
            order.append(one)
        elif id(one) not in seen:
            seen.add(id(one))
            stack.append((one, True))
            stack.extend((parent, False) for parent, _ in one.parents)
    root.slope = weights
    for one in reversed(order):
        for parent, rule in one.parents if one.slope is not None else ():
            slope = _summed(np.asarray(rule(one.slope)), parent.value.shape)
            parent.slope = slope if parent.slope is None else parent.slope + slope
        if one.parents:
            one.slope = None


def _summed(slope: Array, shape: tuple[int, ...]) -> Array:
    """Summed over what was one number for all."""
    return slope if slope.shape == shape else np.asarray(slope.sum()).reshape(shape)


def least(
    function: Callable[[Array], tuple[float, Array]], start: Array, most: int, memory: int = 12
) -> tuple[float, Array]:
    """The least value near `start`, and where: limited-memory BFGS with halved steps.

    No step moves anything by more than 1: what is fitted are logarithms.

    Args:
        function: a value and its slopes.
        start: where to begin.
        most: steps.
        memory: pairs of steps and changes of slope that stand for the curvature.
    """
    x, (value, slope) = start, function(start)
    pairs: list[tuple[Array, Array]] = []
    for _ in range(most):
        down = -_curved(slope, pairs)
        if down @ slope >= 0.0:
            pairs, down = [], -slope
        furthest = 1.0 if pairs else 0.1
        step = min(1.0, furthest / float(np.abs(down).max() + _TINY))
        while step > 1e-10:
            there, (found, slopes) = x + step * down, function(x + step * down)
            if found <= value + 1e-4 * step * float(down @ slope):
                break
            step /= 2.0
        else:
            break
        if (there - x) @ (slopes - slope) > 0.0:
            pairs = [*pairs[-memory + 1 :], (there - x, slopes - slope)]
        gained, x, value, slope = value - found, there, found, slopes
        if gained < 1e-8 * abs(value):
            break
    return value, x


def _curved(slope: Array, pairs: list[tuple[Array, Array]]) -> Array:
    """The slope, seen through the curvature that steps have met."""
    found, weights = slope.copy(), []
    for moved, changed in reversed(pairs):
        weights.append((moved @ found) / (moved @ changed))
        found = found - weights[-1] * changed
    if pairs:
        moved, changed = pairs[-1]
        found = found * ((moved @ changed) / (changed @ changed))
    for (moved, changed), weight in zip(pairs, reversed(weights), strict=True):
        found = found + moved * (weight - (changed @ found) / (moved @ changed))
    return found
