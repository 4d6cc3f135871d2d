"""What a learner asks calls for, and what it does when nothing comes of it."""

from dataclasses import replace

import pytest

from vyre.learn.events import (
    Came,
    Launched,
    Looked,
    Lost,
    Took,
    Wake,
    Woke,
)
from vyre.learn.pace import Pace
from vyre.learn.standing import Phase, Standing, Wanted
from vyre.learn.subject import Opening
from vyre.testing.learning import (
    AT_ONCE,
    BEST,
    DEFAULT,
    SPACE,
    WORKLOAD,
    World,
    begun,
)


class TestAsking:
    def test_one_launch_is_wanted_at_a_time(self):
        world = begun()
        world.wake()
        asked = world.standing.wanted

        world.tell(Came((), frozenset(SPACE), 0))

        assert world.standing.wanted == asked

    def test_an_old_alarm_asks_for_nothing(self):
        world = begun()
        world.wake()

        assert world.tell(Woke(world.standing.asks)) == ()  # it was asked for already
        assert world.tell(Woke(0)) == ()

    def test_what_is_no_longer_ready_is_not_asked_for(self):
        world = begun()
        for _ in range(3):
            world.timed(DEFAULT)
        wanted = world.standing.wanted
        assert wanted.config != DEFAULT
        world.standing = replace(
            world.standing, ready=world.standing.ready - {wanted.config}, mask=None
        )

        world.wake()

        assert world.asked != wanted.config
        assert world.asked in world.standing.ready

    def test_a_launch_is_under_way_when_it_says_so(self):
        world = begun()
        world.wake()
        world.tell(Launched(BEST))  # of one that was given up
        assert world.standing.wanted.phase is Phase.ASKED

        world.tell(Launched(DEFAULT))

        assert world.standing.wanted.phase is Phase.LAUNCHED

    @pytest.mark.parametrize("lost", [Lost(), Lost(DEFAULT)])
    def test_one_that_is_lost_is_asked_for_again(self, lost):
        world = begun()
        world.wake()
        asks = world.standing.asks

        (again,) = world.tell(lost)

        assert again.event == Woke(asks + 1)

    def test_the_loss_of_another_changes_nothing(self):
        world = begun()
        world.wake()
        before = world.standing

        assert world.tell(Lost(BEST)) == ()
        assert world.standing.wanted == before.wanted

    def test_a_settled_choice_is_looked_at_ever_later(self):
        pace = replace(AT_ONCE, resting_s=1.0, shortest_s=0.1)
        world = begun(pace=pace)
        assert world.call(300, lambda s: s.resting_s > 0)
        rests = [world.standing.resting_s]
        for _ in range(12):
            world.now_s += 2.0
            world.call()
            if world.standing.resting_s != rests[-1]:
                rests.append(world.standing.resting_s)

        assert rests[0] == pytest.approx(0.1)
        assert rests[1] == pytest.approx(0.14)
        assert rests[-1] <= 1.0

    def test_learning_takes_its_share_of_the_time_and_no_more(self):
        world = World(ready=set(SPACE), pace=Pace(share=0.01, advance_s=0.1))
        world.worked_s = 0.2

        (wake,) = world.begin()

        assert wake.at_s == pytest.approx(10.0)

    def test_rough_times_count_as_work(self):
        world = begun(pace=Pace(share=0.5, advance_s=0.0, rough_s=1.0, shortest_ns=10**9))
        (wake,) = [one for one in world.timed(DEFAULT, rough=True) if isinstance(one, Wake)]

        assert wake.at_s == pytest.approx(2.0)


class TestLost:
    """A call that takes what is asked for and never says more."""

    def taken(self, **pace: object) -> World:
        world = begun(pace=replace(AT_ONCE, **pace))
        world.wake()
        world.asked = None
        world.tell(Took())
        return world

    def test_it_is_looked_after_in_a_while(self):
        world = self.taken()

        assert world.standing.looking
        assert world.wakes == [(1.0, world.wakes[0][1], Looked(1, 0, 1.0))]
        assert world.tell(Took()) == ()  # once

    def test_after_a_few_more_calls_it_is_asked_for_again(self):
        world = self.taken()
        world.dispatches += 16

        (again,) = world.tell(Looked(1, 0, 1.0))

        assert again.event == Woke(2)
        assert not world.standing.looking

    def test_while_there_are_no_calls_it_is_waited_for_ever_longer(self):
        world = self.taken()

        assert world.tell(Looked(1, 0, 1.0)) == (Wake(2.0, Looked(1, 0, 2.0)),)
        assert world.tell(Looked(1, 0, 50.0)) == (Wake(60.0, Looked(1, 0, 60.0)),)

    @pytest.mark.parametrize("change", ["still asked", "launched", "given up"])
    def test_one_that_is_not_lost_is_left(self, change):
        world = self.taken()
        look = Looked(1, 0, 1.0, still_asked=change == "still asked")
        if change == "launched":
            world.tell(Launched(DEFAULT))
        if change == "given up":
            world.standing = replace(world.standing, wanted=None)
        world.dispatches += 100

        assert world.tell(look) == ()
        assert not world.standing.looking

    def test_what_the_first_calls_took_before_it_began_is_looked_after_as_well(self):
        """Nobody hears of an interrupt that came before there was a question."""
        world = World()
        opening = Opening(config=BEST, detail="", timed=(DEFAULT, BEST), default_ready=True)
        world.standing = Standing.of(WORKLOAD, DEFAULT, None, opening)
        world.begin(expected=(0.0,) * len(SPACE))
        assert world.standing.wanted == Wanted(config=DEFAULT, phase=Phase.ASKED)
        world.dispatches += 16

        (again, *_) = world.tell(Looked(0, 0, 1.0))

        assert isinstance(again.event, Woke)
        assert world.standing.wanted.phase is Phase.PLANNED

    def test_one_that_was_taken_while_another_is_looked_after_is_looked_after_then(self):
        """Else it would be waited for until the process ends."""
        world = self.taken()
        world.timed(DEFAULT)
        world.wake()
        world.asked = None
        world.tell(Took())  # and its call dies
        world.now_s, world.dispatches = 1.0, 50

        assert world.tell(Looked(1, 0, 1.0)) == (Wake(2.0, Looked(2, 50, 1.0)),)

        world.dispatches += 16
        assert isinstance(world.tell(Looked(2, 50, 1.0))[0], Wake)
        assert world.standing.asks == 3
