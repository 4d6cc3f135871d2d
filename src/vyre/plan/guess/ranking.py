"""A space in the order of expected times, with what falls by rule where they are alike."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from vyre.model import Order, Schedule
from vyre.plan.guess.amounts import Vector
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


def ranked(space: Space, log_times: Vector, alike: float) -> Guess:
    """By steps of what is alike, from the least; in one the default comes first, then fewer items.

    What differs less than a step falls by rule and not by rounding.
    """
    default = space.legal.index(space.default)
    steps = np.floor((log_times - log_times.min()) / alike).astype(int)
    steps = (steps - steps[default]).tolist()

    def key(place: int) -> tuple[object, ...]:
        schedule = space.legal[place]
        code = schedule.code
        return (
            steps[place],
            place != default,
            (code.items, -code.vector, code.unroll, code.order is Order.BLOCKED, code.checked),
            prod(schedule.workgroup),
            schedule.workgroup,
        )

    places = sorted(range(len(space.legal)), key=key)
    return Guess(
        tuple(space.legal[place] for place in places),
        tuple(steps[place] * alike for place in places),
    )
