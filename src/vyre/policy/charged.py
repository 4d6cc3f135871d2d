"""What launches cost against the default, or are charged as long as it was hardly timed.

Where the guess expects times, it is launched first. Until the default was timed beside it, nobody
knows what that loses, so each launch is charged what it may: at least the risk of the guess.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf, sqrt
from typing import Self

from vyre.model import Config
from vyre.policy.budget import Budget
from vyre.policy.observed import Observed
from vyre.policy.provisional import SURE, launches_within, times_slower

FREE = 14.0
"""Of the 20 default dispatches that may be lost: the ledger itself is measured."""

SURE_OF = 2
"""Times of the default that say what a guess gains or loses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Charged(Observed):
    """What was observed, and what is left of the budget."""

    risk: float = 0.0
    budget: Budget = field(default_factory=lambda: Budget(free=FREE))
    unweighed: Mapping[int, int] = field(default_factory=dict)  # dispatches before any of its times

    def allowance(self, config: Config) -> float:
        """How many launches of this may be under way before more is known of what they lose.

        Nineteen in twenty times they lose no more than what is left.
        """
        place = self.place.get(config)
        if place is None or place == self.base or self.base in self.failed:
            return inf
        if self._is_unweighed:
            return launches_within(self._left, self._charge(place))
        difference, variance = self.belief.against(self.base)
        loss = times_slower(float(difference[place]) + SURE * sqrt(variance[place]))
        return launches_within(self._left, loss)

    def ran(self, config: Config, dispatches: int) -> Self:
        """The policy after dispatches that were not timed: they count for the budget."""
        place = self.place.get(config)
        if place is None:
            return self
        return replace(self._spent(place, dispatches), dispatches=self.dispatches + dispatches)

    def paid(self, cost: float, lost: float) -> Self:
        """The policy after something took `cost` default dispatches, of which some were lost."""
        return replace(self, budget=self.budget.paid(cost, lost))

    def _spent(self, place: int, dispatches: int = 1, share: float = 1.0) -> Self:
        """The policy after dispatches, or shares of them, were paid for."""
        if self._is_unweighed:
            count = self.unweighed.get(place, 0) + dispatches
            return replace(self, unweighed={**self.unweighed, place: count})
        cost = 1.0 + share * (self._cost(place) - 1.0)
        return replace(self, budget=self.budget.ran(cost, dispatches))

    def _weighed(self) -> Self:
        """The policy once the default was timed: what ran before is paid for as it is known now.

        At most what it was charged: one guess that was beyond all that is recorded does not end
        all trying.
        """
        budget, charged = self.budget, self._charged
        for place, count in self.unweighed.items():
            budget = budget.ran(self._cost(place), count)
        lost = min(budget.lost, self.budget.lost + charged)
        return replace(self, budget=replace(budget, lost=lost), unweighed={})

    @property
    def _charged(self) -> float:
        """What dispatches may have lost before the default was timed."""
        return sum(count * self._charge(place) for place, count in self.unweighed.items())

    @property
    def _is_unweighed(self) -> bool:
        """Whether what dispatches cost in those of the default is not known yet.

        One time of it may be disturbed, and what it seems to save would be spent.
        """
        base = self.base
        return bool(self.expected) and len(self.times[base]) < SURE_OF and base not in self.failed

    def _charge(self, place: int) -> float:
        """What a launch may lose before the default was timed, in dispatches of it."""
        if place == self.base:
            return 0.0
        believed = self.belief.mean[place] - self.belief.mean[self.base]
        return max(self.risk, times_slower(float(believed)))

    @property
    def _left(self) -> float:
        """What may still be lost, with all that is charged and not known."""
        return self.budget.left - self._charged
