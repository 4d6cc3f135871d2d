"""A space in the order of expected times, with what falls by rule where they are alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vyre.model import Schedule
from vyre.plan.guess.shapes import Shapes, Vector
from vyre.plan.space import Space


@dataclass(frozen=True, slots=True)
class Guess:
    """A space in the order in which to try it."""

    ordered: tuple[Schedule, ...]  # all legal schedules, the best guess first
    expected: tuple[float, ...]  # of each, log(time / time of the default) as the model expects it

    @property
    def gain(self) -> float:
        """By how much log time the first is expected to be faster than the default."""
        return -self.expected[0] if self.expected else 0.0


def with_doubt(space: Space, log_times: Vector, doubt: float) -> Vector:
    """The times, the default's lower: it has to be beaten by more than a model is off."""
    found = log_times.copy()
    found[space.legal.index(space.default)] -= doubt
    return found


def ranked(space: Space, log_times: Vector, alike: float, shapes: Shapes | None = None) -> Guess:
    """By steps of what is alike, from the least; in one the default comes first, then fewer items.

    What differs less than a step falls by rule and not by rounding.
    """
    own = shapes or Shapes.of(space.legal)
    default = space.legal.index(space.default)
    steps = np.floor((log_times - log_times.min()) / alike)
    steps = steps - steps[default]
    others = np.ones(len(space.legal))
    others[default] = 0.0
    keys = (
        *(steps, others, own.streamed, own.each, own.items, -own.vector, -own.brings, own.unroll),
        (own.items > own.vector) * (own.run == own.items),
        *(own.checked, own.depth, own.loaders, own.lines, own.fitted),
        *(own.lanes, own.x, own.y, own.z),
    )
    places = np.lexsort(keys[::-1]).tolist()
    expected = (steps * alike).tolist()
    return Guess(
        tuple(space.legal[place] for place in places),
        tuple(expected[place] for place in places),
    )
