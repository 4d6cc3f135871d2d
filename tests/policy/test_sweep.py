from random import Random

import pytest

from vyre.errors import InvalidInput
from vyre.model import Failed, Schedule, Timed
from vyre.policy.base import NothingToTry, Policy
from vyre.policy.sweep import Sweep
from vyre.testing.policy_contract import PolicyContract

A, B, C = (Schedule((width, 1, 1)) for width in (64, 128, 256))
RNG = Random(0)


class TestSweep(PolicyContract):
    make = staticmethod(Sweep)


def run(sweep: Sweep, times: dict[Schedule, float], rounds: int) -> tuple[list[Schedule], Sweep]:
    asked = []
    for _ in range(rounds):
        asked.append(sweep.ask(RNG))
        sweep = sweep.tell(Timed(asked[-1], times[asked[-1]]))
    return asked, sweep


def test_a_sweep_is_a_policy():
    policy: Policy = Sweep((A,))

    assert policy.ask(RNG) == A


def test_every_schedule_is_tried_round_by_round_and_then_the_fastest_stays():
    asked, sweep = run(Sweep((A, B, C), repeats=2), {A: 9.0, B: 8.0, C: 8.5}, 9)

    assert asked == [A, B, C, A, B, C, B, B, B]
    assert sweep.settled == B


def test_what_is_hopeless_after_one_time_is_not_tried_again():
    asked, _ = run(Sweep((A, B, C), repeats=3), {A: 10.0, B: 20.1, C: 19.9}, 8)

    assert asked.count(B) == 1
    assert asked.count(C) == 3


def test_one_low_outlier_does_not_decide():
    """The seed keeps the least time of all, which one lucky measurement pins for good."""
    sweep = Sweep((A, B), repeats=3)
    for outcome in [Timed(A, 1.0), Timed(A, 9.0), Timed(A, 9.0), *[Timed(B, 8.0)] * 3]:
        sweep = sweep.tell(outcome)

    assert sweep.settled == B


def test_what_turns_slow_is_left():
    _, sweep = run(Sweep((A, B)), {A: 5.0, B: 6.0}, 6)
    asked, _ = run(sweep, {A: 50.0, B: 6.0}, 40)

    assert asked[-1] == B


def test_of_equals_the_earlier_wins():
    _, sweep = run(Sweep((C, A, B)), {A: 5.0, B: 5.0, C: 5.0}, 9)

    assert sweep.settled == C


def test_a_time_of_zero_is_ignored():
    assert Sweep((A, B)).tell(Timed(B, 0.0)) == Sweep((A, B))


def test_a_sweep_is_not_settled_before_everything_was_tried():
    assert Sweep((A, B), repeats=1).tell(Timed(A, 1.0)).settled is None
    assert Sweep(()).settled is None


def test_the_error_says_that_everything_failed():
    with pytest.raises(NothingToTry) as caught:
        Sweep((A,)).tell(Failed(A, "no")).ask(RNG)

    assert str(caught.value) == (
        "every schedule of the space has failed\nFix: look at the reasons of the failures"
    )


def test_a_sweep_that_cannot_end_is_refused():
    with pytest.raises(InvalidInput) as caught:
        Sweep((A,), repeats=0)

    assert str(caught.value) == (
        "a sweep of 0 repeats, hopeless at 2.0 times the best\n"
        "Fix: repeat at least once, and give up at 1.0 times the best or more"
    )


def test_a_space_with_a_schedule_twice_is_refused():
    with pytest.raises(InvalidInput) as caught:
        Sweep((A, A))

    assert str(caught.value) == (
        "a space that holds a schedule twice\nFix: give each schedule once"
    )


def test_one_schedule_more_comes_last_and_only_once():
    one, two = Schedule((64, 1, 1)), Schedule((96, 1, 1))
    sweep = Sweep((one,), repeats=1).tell(Timed(one, 9.0)).including(two)

    assert sweep.ask(Random(0)) == two
    assert sweep.tell(Timed(two, 8.0)).settled == two
    assert sweep.including(two) is sweep
