"""What a learner has made ready."""

from dataclasses import replace

import pytest

from vyre.learn.events import (
    Came,
)
from vyre.learn.pace import Pace
from vyre.learn.subject import Fetched
from vyre.testing.learning import (
    AT_ONCE,
    BEST,
    DEFAULT,
    SPACE,
    World,
)


class TestCompiling:
    def settled(self, pace: Pace, *, timings: int = 3) -> World:
        world = World(pace=pace, delivers=False)
        world.begin()
        for _ in range(timings):
            world.timed(DEFAULT)
        return world

    def test_nothing_is_compiled_before_enough_was_seen(self):
        world = self.settled(replace(AT_ONCE, enough_s=0.05), timings=49)
        assert world.fetched == []

        world.timed(DEFAULT)
        world.timed(DEFAULT)

        assert len(world.fetched) == 1

    def test_many_calls_with_pauses_serve_as_well_for_the_first(self):
        pace = replace(AT_ONCE, enough_s=1e9, used=40, used_s=0.02)
        world = self.settled(pace, timings=39)
        world.now_s = 0.03
        assert world.fetched == []

        world.timed(DEFAULT)

        assert len(world.fetched) == 1
        world.delivers = True
        world.deliver()
        for _ in range(50):
            world.timed(DEFAULT)
        assert len(world.fetched) == 1

    def test_many_calls_without_pauses_do_not(self):
        world = self.settled(replace(AT_ONCE, enough_s=1e9, used=40, used_s=10.0), timings=99)

        assert world.fetched == []

    def test_nothing_is_compiled_before_the_default_was_timed(self):
        world = World(delivers=False)
        world.begin()

        assert world.fetched == []

    def test_the_first_is_free_and_one_is_under_way_at_a_time(self):
        world = self.settled(replace(AT_ONCE, cores=2))

        assert len(world.fetched) == 1
        assert world.fetched[0][0] == BEST
        world.timed(DEFAULT)
        assert len(world.fetched) == 1
        assert world.standing.ledger.fetching == 1

    def test_beside_a_gpu_compiling_takes_a_share_of_what_was_seen(self):
        world = self.settled(replace(AT_ONCE, per_seen=2.0))
        world.fetching.clear()
        slow = Fetched(took_s=5.0)
        world.tell(Came((slow,), frozenset((DEFAULT, BEST)), 0))
        assert len(world.fetched) == 1

        world.dispatches += 5000  # five seconds
        world.timed(DEFAULT)

        assert len(world.fetched) == 2

    def test_where_it_may_take_a_share_of_the_time_few_calls_are_enough(self):
        world = self.settled(replace(AT_ONCE, per_seen=0.0, per_lived=0.25))
        world.fetching.clear()
        world.tell(Came((Fetched(took_s=5.0),), frozenset((DEFAULT, BEST)), 0))
        world.now_s += 21
        world.timed(DEFAULT)
        assert len(world.fetched) == 1

        world.now_s += 21  # a quarter is more than the two take together
        world.timed(DEFAULT)

        assert len(world.fetched) == 2

    def test_on_a_cpu_what_it_takes_is_a_loss_within_the_budget(self):
        world = self.settled(replace(AT_ONCE, cores=2))
        world.fetching.clear()
        world.tell(Came((Fetched(took_s=0.1),), frozenset((DEFAULT, BEST)), 0))
        assert len(world.fetched) == 1  # 50 dispatches are more than may be lost

        world.dispatches += 20_000
        world.timed(DEFAULT)

        assert len(world.fetched) == 2
        assert world.standing.policy.budget.lost == pytest.approx(50.0)

    def test_what_cannot_pay_is_not_compiled(self):
        world = World(times=dict.fromkeys(SPACE, 1e6))
        world.begin()
        world.call(2000)
        fetches = len(world.fetched)
        world.call(50)

        assert len(world.fetched) == fetches <= len(SPACE) - 1

    def test_what_it_took_is_counted(self):
        world = World()
        world.begin()
        world.call(100)

        ledger = world.standing.ledger
        assert ledger.fetches == len(world.fetched)
        assert ledger.fetched_s == pytest.approx(0.01 * ledger.fetches)
        assert ledger.fetching == 0
