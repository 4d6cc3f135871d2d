from random import Random

import pytest

from vyre.model import Code, Schedule, Timed
from vyre.policy.base import Policy
from vyre.policy.baselines import Baseline, EpsilonGreedy, Fixed, Seed, Thompson, Ucb
from vyre.testing.policy_contract import SPACE, TIMES, PolicyContract

RNG = Random(0)


class TestFixed(PolicyContract):
    make = staticmethod(lambda space: Fixed(space, always=space[1]))


class TestEpsilonGreedy(PolicyContract):
    make = staticmethod(EpsilonGreedy)


class TestUcb(PolicyContract):
    make = staticmethod(Ucb)


class TestThompson(PolicyContract):
    make = staticmethod(Thompson)


class TestSeed(PolicyContract):
    make = staticmethod(Seed)

    def test_it_comes_to_ask_for_the_fastest(self) -> None:
        """It does not: what it launched first beats every estimate, for good."""
        policy = self.policy()
        asked = []
        for _ in range(50):
            asked.append(policy.ask(RNG))
            policy = policy.tell(Timed(asked[-1], TIMES[asked[-1]]))

        assert set(asked) == {SPACE[-1]}


def test_baselines_are_policies():
    policies: list[Policy] = [Fixed(SPACE), Seed(SPACE), EpsilonGreedy(SPACE), Ucb(SPACE)]
    policies.append(Thompson(SPACE))

    assert all(policy.ask(RNG) in SPACE for policy in policies)


def test_the_first_of_the_space_stands_in_for_what_is_not_there():
    elsewhere = Schedule((1, 1, 1), Code(items=8))

    assert Fixed(SPACE).ask(RNG) == Fixed(SPACE, always=elsewhere).ask(RNG) == SPACE[0]


def test_the_seed_believes_its_estimates_until_something_ran():
    policy = Seed(SPACE[:3], estimates_ns=dict(zip(SPACE, (90_000, 50_000, 70_000), strict=False)))

    assert policy.ask(RNG) == SPACE[1]


@pytest.mark.parametrize("make", [EpsilonGreedy, Ucb, Thompson])
def test_a_time_of_zero_is_ignored(make):
    assert make(SPACE).tell(Timed(SPACE[0], 0.0)) == make(SPACE)


def test_a_baseline_alone_picks_nothing():
    with pytest.raises(NotImplementedError):
        Baseline(SPACE).ask(RNG)
