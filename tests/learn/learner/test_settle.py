"""When a learner is done, and what others decide for it."""

from dataclasses import replace

import pytest

from vyre.learn.events import (
    Decided,
    Ended,
    Fell,
    Lost,
    Spent,
    Took,
    Woke,
)
from vyre.model import (
    Reason,
)
from vyre.testing.learning import AT_ONCE, BEST, DEFAULT, SPACE, TIMES, adopted, begun, decided


class TestEnding:
    def test_ended_it_keeps_its_choice_and_does_nothing(self):
        world = begun()
        assert world.call(200, adopted(BEST))

        world.tell(Ended("it was tuned on purpose"))

        assert world.standing.decision.config == BEST
        assert world.standing.stopped == "it was tuned on purpose"
        assert world.standing.policy is None
        before = world.standing
        for what in (Woke(1), Took(), Lost(), world.ran(BEST), Fell({BEST: "no"})):
            assert world.tell(what) == ()
        assert world.standing == before

    def test_what_was_decided_elsewhere_is_launched(self):
        world = begun()
        world.tell(Ended("it was tuned on purpose"))

        assert world.tell(Decided(decided(reason=Reason.ADOPTED, gain=2.0))) == ()

        assert world.standing.decision == decided(gain=2.0)

    def test_what_was_decided_elsewhere_is_not_bounded_as_a_guess_is(self):
        world = begun()
        world.standing = replace(world.standing, limit=5.0)
        world.tell(Ended("it was tuned on purpose"))
        world.tell(Decided(decided(reason=Reason.ADOPTED, gain=2.0)))
        world.dispatches = 6

        assert world.tell(Spent()) == ()

        assert world.standing.decision == decided(gain=2.0)


class TestDeciding:
    def test_a_gain_below_the_margin_is_left(self):
        times = dict.fromkeys(SPACE, 1000000.0) | {BEST: 0.99e6}
        world = begun(times=times)
        world.call(300)

        assert world.standing.decision.config == DEFAULT
        assert world.standing.decision.reason is Reason.DEFAULT
        assert world.put == []

    def test_what_is_left_for_its_little_gain_says_so(self):
        times = dict.fromkeys(SPACE, 1000000.0) | {BEST: 0.95e6}
        world = begun(times=times, pace=replace(AT_ONCE, margin=1.2))
        world.call(300, lambda s: "faster by" in s.decision.detail)

        assert world.standing.decision.detail == "nothing is faster by 20%"

    def test_a_choice_is_remembered_when_it_is_new(self):
        world = begun()
        assert world.call(200, adopted(BEST))

        assert world.put[-1] == world.standing.decision
        assert world.news[-1]

    def test_it_is_remembered_again_when_its_gain_has_changed(self):
        world = begun()
        world.call(300)
        puts = len(world.put)
        world.times = {**TIMES, DEFAULT: 2e6}
        world.call(2500)

        assert not world.news[-1]
        gains = [one.gain for one in world.put[puts:] if one.config == BEST]
        assert gains
        assert gains[-1] == pytest.approx(4.0, rel=0.15)

    def test_little_news_is_none(self):
        world = begun()
        world.call(600)

        assert len(world.put) <= 3

    def test_what_turns_slow_is_taken_back(self):
        times = dict.fromkeys(SPACE, 1000000.0) | {BEST: 5e5}
        world = begun(times=times)
        assert world.call(200, adopted(BEST))
        world.times = {**times, BEST: 3e6}

        world.call(600)

        assert world.standing.decision.config == DEFAULT
        assert (world.put[-1].config, world.put[-1].reason) == (DEFAULT, Reason.TAKEN_BACK)
        assert world.put[-1].detail
