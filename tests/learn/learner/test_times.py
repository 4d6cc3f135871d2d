"""What a learner makes of the times that it hears."""

from dataclasses import replace
from math import inf, nan

import pytest

from vyre.learn.events import (
    Fell,
    Record,
)
from vyre.learn.standing import Standing
from vyre.learn.subject import Opening
from vyre.model import (
    Failed,
    Reason,
    Timed,
)
from vyre.testing.learning import (
    AT_ONCE,
    BEST,
    DEFAULT,
    SLOW,
    SPACE,
    TIMES,
    WORKLOAD,
    World,
    adopted,
    begun,
    decided,
)


class TestTimes:
    def test_the_first_launch_loads_code_and_says_nothing(self):
        world = World(ready=set(SPACE))
        world.begin()
        world.timed(DEFAULT)
        spent = world.standing.policy.budget.spent

        effects = world.timed(BEST, elapsed_ns=3e6)

        assert not any(isinstance(one, Record) for one in effects)
        assert world.standing.timed == {DEFAULT: 1}
        assert world.standing.launched == {DEFAULT, BEST}
        assert world.standing.policy.budget.spent == spent + 3.0
        assert world.standing.policy.budget.lost == 2.0

    def test_a_first_launch_before_the_default_costs_as_much_as_one_of_it(self):
        world = World(ready=set(SPACE))
        world.begin()
        world.timed(BEST, elapsed_ns=3e6)

        assert world.standing.policy.budget.spent == 1.0

    def test_where_nothing_is_left_to_load_the_first_counts(self):
        world = begun()
        effects = world.timed(BEST)

        assert Record(Timed(BEST, 5e5), 1000) in effects

    @pytest.mark.parametrize("elapsed", [0.0, -5.0, nan, inf, 1e300])
    def test_times_in_a_row_that_are_none_drop_a_config(self, elapsed):
        world = begun()
        for _ in range(2):
            world.timed(BEST, elapsed_ns=elapsed)
            assert world.standing.failures == {}

        effects = world.timed(BEST, elapsed_ns=elapsed)

        why = f"the device gave a time of {elapsed} ns"
        assert effects[0] == Record(Failed(BEST, why), 1000)
        assert world.standing.failures == {BEST: why}
        assert BEST not in world.standing.ready

    def test_a_time_now_and_then_that_is_none_drops_nothing(self):
        world = begun()
        for _ in range(20):
            world.timed(DEFAULT, elapsed_ns=0.0)
            world.timed(DEFAULT)

        assert not world.standing.is_over
        assert world.standing.strikes == {}

    def guessing(self, times) -> World:
        """A world whose calls began with the best guess."""
        opening = Opening(config=BEST, detail="", default_ready=True)
        world = World(ready={BEST, DEFAULT}, times=times)
        world.standing = Standing.of(WORKLOAD, DEFAULT, None, opening)
        world.begin(warm=True, expected=(0.0,) * len(SPACE))
        return world

    def test_a_guess_without_times_is_dropped_once_the_default_has_one(self):
        world = self.guessing({**TIMES, BEST: 0.0})

        assert world.call(200, lambda s: s.failures)
        assert world.standing.failures == {BEST: "the device gave a time of 0.0 ns"}
        assert not world.standing.is_over
        assert world.launched.count(BEST) < 10
        assert world.call(200, adopted(SPACE[1]))

    def test_a_guess_without_times_waits_for_a_default_that_is_fetched(self):
        world = World(ready={BEST}, times={**TIMES, BEST: 0.0}, delivers=False)
        opening = Opening(config=BEST, detail="")
        world.standing = Standing.of(WORKLOAD, DEFAULT, None, opening)
        world.begin(warm=True, expected=(0.0,) * len(SPACE))

        world.call(50)

        assert not world.standing.is_over
        assert world.fetched[0] == (DEFAULT,)

    def test_where_the_default_has_none_either_the_guess_decides(self):
        world = self.guessing(dict.fromkeys(SPACE, 0.0))

        assert world.call(200, lambda s: s.is_over)
        assert world.standing.stopped.startswith("the device gave a time of 0.0 ns; ")
        assert world.standing.decision.config == BEST
        assert world.standing.failures == {}

    def test_a_default_without_a_time_ends_learning(self):
        world = begun(times=dict.fromkeys(SPACE, 0.0))
        for _ in range(3):
            world.timed(DEFAULT)

        assert world.standing.stopped == (
            "the default cannot be timed: the device gave a time of 0.0 ns"
        )

    def test_times_of_different_sizes_compare(self):
        world = begun()
        for turn in range(40):
            size = (1000, 1900)[turn % 2]
            world.timed(DEFAULT, elapsed_ns=1e3 * size, size=size)

        assert world.standing.trend.slope == pytest.approx(1.0, abs=0.05)

    def test_dispatches_that_were_not_timed_count(self):
        world = begun()
        world.timed(DEFAULT)
        world.dispatches += 100

        world.timed(DEFAULT)

        assert world.standing.ledger.spent == pytest.approx(102.0)
        assert world.standing.told == 102

    def test_how_long_the_device_idled_is_told(self):
        world = begun(pace=AT_ONCE)
        world.timed(DEFAULT)
        world.now_s += 1.0
        world.dispatches += 3
        world.timed(DEFAULT)

        assert world.standing.last_at == world.at

    def test_a_time_of_what_was_dropped_is_not_kept(self):
        world = begun()
        world.tell(Fell({BEST: "device lost"}))

        effects = world.timed(BEST)

        assert not any(isinstance(one, Record) for one in effects)
        assert world.standing.timed == {}

    def test_what_is_little_beside_a_call_is_left_alone(self):
        world = begun(pace=replace(AT_ONCE, unfelt_ns=2_000_000))
        world.call(20, lambda s: s.is_over)

        assert world.standing.stopped == (
            "1000.0 us are little beside what a call costs; "
            "tuning on purpose measures many in a row"
        )
        assert world.standing.decision.reason is Reason.DEFAULT
        assert len(world.launched) == 3

    def test_what_was_remembered_is_kept_where_it_is_left_alone(self):
        pace = replace(AT_ONCE, unfelt_ns=2_000_000)
        world = World(known=decided(), ready=set(SPACE), pace=pace)
        world.begin()
        world.call(20, lambda s: s.is_over)

        assert world.standing.decision == decided()


class TestRough:
    pace = replace(AT_ONCE, shortest_ns=2_000_000)

    def test_times_too_short_for_a_rough_timer_leave_the_default(self):
        world = begun(rough=True, pace=self.pace)
        world.call(100, lambda s: s.is_over)

        assert world.standing.stopped == (
            "1000.0 us are too short for an idle device's timer; "
            "tuning on purpose measures many in a row"
        )
        assert world.rows == []
        assert len(world.launched) == 16

    def test_among_good_ones_they_are_left_out(self):
        world = begun(pace=self.pace)
        world.timed(DEFAULT)
        for _ in range(40):
            world.timed(DEFAULT, rough=True)

        assert not world.standing.is_over
        assert world.standing.timed == {DEFAULT: 1}
        assert world.standing.rough == 40

    def test_long_ones_count_all_the_same(self):
        world = begun(rough=True, pace=self.pace)
        world.timed(DEFAULT, elapsed_ns=3e6)

        assert world.standing.timed == {DEFAULT: 1}


class TestClocks:
    def settled(self, **given: object) -> World:
        world = begun(clock="about 2048 MHz", **given)
        world.call(60)
        assert adopted(BEST)(world.standing)
        return world

    def test_throttled_times_are_counted_for_people(self):
        world = begun()
        world.timed(DEFAULT, throttled=("power cap",))

        assert world.standing.ledger.throttled == 1

    def test_a_device_that_does_not_tell_is_believed(self):
        world = self.settled()
        world.timed(BEST, clock="")

        assert world.standing.other_clock == ("", 0)
        assert world.standing.clock == "about 2048 MHz"

    def test_times_at_another_clock_are_not_told(self):
        world = self.settled()
        before = world.standing
        world.clock = "about 1024 MHz"
        for _ in range(3):
            world.timed(BEST, elapsed_ns=1e6)

        assert world.standing.other_clock == ("about 1024 MHz", 3)
        assert world.standing.timed == before.timed
        assert world.standing.policy.times == before.policy.times
        assert world.standing.decision == before.decision

    def test_a_time_at_the_usual_clock_starts_the_count_anew(self):
        world = self.settled()
        for clock in ("slow", "slow", "slow", "about 2048 MHz", "slow", "slower", "slower"):
            world.timed(BEST, clock=clock)

        assert world.standing.clock == "about 2048 MHz"
        assert world.standing.other_clock == ("slower", 2)

    def test_a_few_in_a_row_are_the_machine_of_now(self):
        world = self.settled()
        world.clock, world.times = "slow", {one: 2 * ns for one, ns in TIMES.items()}
        for _ in range(4):
            world.timed(BEST)

        standing = world.standing
        assert standing.clock == "slow"
        assert standing.timed == {BEST: 1}
        assert standing.ledger.default_times == ()
        assert standing.inherited.config == BEST
        assert BEST in standing.policy.remembered

    def test_the_choice_is_launched_until_it_was_weighed_against_the_default_again(self):
        world = self.settled()
        world.clock, world.times = "slow", {one: 2 * ns for one, ns in TIMES.items()}
        before, seen = len(world.launched), set()
        for _ in range(100):
            world.call()
            seen.add(world.standing.decision.config)

        assert seen == {BEST}
        assert world.standing.decision.reason is Reason.ADOPTED
        assert world.launched[before:].count(DEFAULT) >= 3

    def test_a_choice_that_does_not_hold_at_that_clock_is_left(self):
        world = self.settled()
        world.clock, world.times = "slow", {**TIMES, BEST: 4e6, DEFAULT: 2e6}

        assert world.call(200, lambda s: s.decision.config != BEST)

    def test_where_the_default_runs_nothing_has_to_show_itself(self):
        world = begun(clock="fast")
        world.timed(DEFAULT)
        for _ in range(4):
            world.timed(DEFAULT, clock="slow")

        assert world.standing.clock == "slow"
        assert world.standing.inherited is None

    def test_a_plain_policy_begins_again(self):
        world = World(clock="fast", ready=set(SPACE))
        world.begin(policy="sweep", warm=True)
        assert world.call(100, adopted(BEST))
        world.clock = "slow"
        world.times = {**TIMES, BEST: 2e6, DEFAULT: 2e6, SPACE[1]: 1e6, SPACE[3]: 3e6, SLOW: 6e6}

        assert world.call(200, adopted(SPACE[1]))
