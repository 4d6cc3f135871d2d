"""Short launches are timed after one of the same."""

from dataclasses import replace

import pytest

from vyre.learn.events import Ask, Woke
from vyre.learn.learner.led import is_led
from vyre.learn.pace import Pace
from vyre.model import Reason
from vyre.policy.base import Choice
from vyre.testing.learning import AT_ONCE, BEST, DEFAULT, SPACE, World, begun, question

SHORT = replace(AT_ONCE, led_ns=1e7)
NEAR = dict(zip(SPACE, (9.5e5, 1e6, 1e6, 1.02e6, 3e6), strict=True))


def choice(config, gain: float = 1.0) -> Choice:
    return Choice(config=config, reason=Reason.PROBE, detail="", gain=gain, confidence=None)


class TestWhatIsLed:
    def standing(self, *, timed: bool = True, **changed: object):
        world = begun(pace=SHORT, times=NEAR)
        world.timed(DEFAULT)
        if timed:
            world.timed(BEST)
        asked = question(**changed) if changed else world.standing.question
        return replace(world.standing, question=asked)

    def test_what_was_timed_near_what_is_kept_follows_another_of_the_same(self):
        keep = choice(DEFAULT)

        assert is_led(self.standing(), choice(BEST), keep, DEFAULT, SHORT)
        assert not is_led(self.standing(), choice(BEST), keep, BEST, SHORT)
        assert not is_led(self.standing(timed=False), choice(BEST), keep, DEFAULT, SHORT)

    def test_what_is_much_slower_does_not(self):
        standing, keep = self.standing(), choice(DEFAULT, 1.2)

        assert is_led(standing, choice(BEST, 1.1), keep, DEFAULT, SHORT)
        assert not is_led(standing, choice(BEST, 1.0), keep, DEFAULT, SHORT)

    @pytest.mark.parametrize("pace", [AT_ONCE, replace(SHORT, led_ns=9e5), Pace()])
    def test_long_launches_feel_nothing_of_others(self, pace):
        assert not is_led(self.standing(), choice(BEST), choice(DEFAULT), DEFAULT, pace)

    def test_slices_follow_slices(self):
        standing = self.standing(share=0.5)

        assert not is_led(standing, choice(BEST), choice(DEFAULT), DEFAULT, SHORT)


class Wants:
    """A policy that wants these timed, whatever it hears; the rest is another's."""

    def __init__(self, policy, *configs):
        self._policy, self._configs = policy, configs

    def __getattr__(self, name):
        return getattr(self._policy, name)

    def choose(self, _=None):
        return replace(choice(self._configs[0]), measures=True)

    def choose_batch(self, count, _=None):
        return tuple(map(choice, self._configs[:count]))

    def incumbent(self, _=None):
        return choice(DEFAULT)

    def tell(self, outcome):
        return Wants(self._policy.tell(outcome), *self._configs)

    def ran(self, config, dispatches):
        return Wants(self._policy.ran(config, dispatches), *self._configs)


def wants(*configs, **pace) -> World:
    """A world in which these are wanted, and were timed."""
    world = begun(pace=replace(SHORT, **pace), times=NEAR)
    for config in (DEFAULT, *SPACE):
        world.timed(config)
    policy = Wants(world.standing.policy, *configs)
    world.standing = replace(world.standing, policy=policy, wanted=None)
    world.timed(DEFAULT)
    return world


class TestAsking:
    def test_a_time_is_that_of_the_second_of_two_launches(self):
        world = wants(BEST)

        world.call(6)

        assert world.launched == [BEST] * 6
        assert world.standing.timed[BEST] == 1 + 3

    def test_long_launches_are_timed_at_once(self):
        world = wants(BEST, led_ns=0.0)

        world.call(6)

        assert world.standing.timed[BEST] == 1 + 6

    def test_both_are_paid_for(self):
        world = wants(BEST)
        before = world.standing.policy.dispatches

        world.call(2)

        assert world.standing.policy.dispatches == before + 2
        assert world.standing.told == world.dispatches

    def test_those_beside_are_led_where_others_run_before_them(self):
        world = wants(BEST, BEST, SPACE[1], DEFAULT, at_once=4)

        effects = world.tell(Woke(world.standing.asks))

        assert [(one.config, one.led) for one in effects if isinstance(one, Ask)] == [
            (BEST, True), (BEST, False), (SPACE[1], True), (DEFAULT, True),
        ]  # fmt: skip
