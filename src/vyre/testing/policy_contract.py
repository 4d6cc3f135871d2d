"""What every policy must do: a test class to inherit from, with the policy's own maker.

class TestMine(PolicyContract):
    make = staticmethod(Mine)
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import ClassVar

import pytest

from vyre.model import Code, Config, Failed, Outcome, Schedule, Timed
from vyre.policy.base import NothingToTry, Policy

SPACE = (
    Schedule((64, 1, 1)),
    Schedule((128, 1, 1)),
    Schedule((256, 1, 1)),
    Schedule((256, 1, 1), Code(items=4, vector=4)),
)
TIMES: dict[Config, float] = dict(zip(SPACE, (900.0, 500.0, 700.0, 800.0), strict=True))


class PolicyContract:
    """Holds for any policy that `make` builds over a space."""

    make: ClassVar[Callable[[tuple[Schedule, ...]], Policy]]

    def policy(self) -> Policy:
        """A policy over the kit's space that has seen nothing."""
        return type(self).make(SPACE)

    def test_it_asks_only_for_what_is_in_its_space(self) -> None:
        """Whatever the generator says."""
        policy = self.policy()
        for seed in range(60):
            asked = policy.ask(Random(seed))
            assert asked in SPACE
            policy = policy.tell(Timed(asked, TIMES[asked]))

    def test_it_never_asks_again_for_what_failed(self) -> None:
        """Not even when it was the fastest before it failed."""
        policy = self.policy()
        for schedule in SPACE:
            policy = policy.tell(Timed(schedule, TIMES[schedule]))
        policy = policy.tell(Failed(SPACE[1], "device lost"))

        assert SPACE[1] not in {policy.ask(Random(seed)) for seed in range(200)}

    def test_it_says_when_nothing_is_left(self) -> None:
        """An answer would be a schedule that is known to fail."""
        policy = self.policy()
        for schedule in SPACE:
            policy = policy.tell(Failed(schedule, "too many registers"))

        with pytest.raises(NothingToTry):
            policy.ask(Random(0))

    def test_telling_leaves_the_policy_told_as_it_was(self) -> None:
        """A policy is a value."""
        policy = self.policy()
        before = [policy.ask(Random(seed)) for seed in range(20)]

        policy.tell(Timed(before[0], 1.0)).tell(Failed(before[0], "no"))

        assert [policy.ask(Random(seed)) for seed in range(20)] == before

    def test_the_same_outcomes_give_the_same_policy(self) -> None:
        """A run can be replayed."""
        outcomes: list[Outcome] = [Timed(schedule, TIMES[schedule]) for schedule in SPACE * 2]
        outcomes.append(Failed(SPACE[0], "no"))
        one, other = self.policy(), self.policy()
        for outcome in outcomes:
            one, other = one.tell(outcome), other.tell(outcome)

        assert one == other
        assert [one.ask(Random(s)) for s in range(20)] == [other.ask(Random(s)) for s in range(20)]

    def test_an_outcome_from_outside_the_space_changes_nothing(self) -> None:
        """The space is what is legal."""
        policy = self.policy()

        assert policy.tell(Timed(Schedule((1, 1, 1)), 1.0)) == policy
        assert policy.tell(Failed(Schedule((1, 1, 1)), "no")) == policy

    def test_it_comes_to_ask_for_the_fastest(self) -> None:
        """With steady times, at least nine in ten of later dispatches run it."""
        policy, rng = self.policy(), Random(1)
        asked = []
        for _ in range(300):
            asked.append(policy.ask(rng))
            policy = policy.tell(Timed(asked[-1], TIMES[asked[-1]]))

        assert asked[200:].count(SPACE[1]) >= 90
