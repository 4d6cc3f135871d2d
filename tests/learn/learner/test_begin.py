"""How a learner begins, and what it takes over."""

from dataclasses import replace
from math import log

import pytest

from vyre.learn.events import (
    Ask,
    Ended,
    Event,
    Fell,
    Fetch,
    Heard,
    Launched,
    Looked,
    Lost,
    Moment,
    Ran,
    Record,
    Took,
    Wake,
    Woke,
)
from vyre.learn.inheritance import Inherited
from vyre.learn.learner.advance import advance
from vyre.learn.standing import Phase, Standing
from vyre.learn.subject import Opening
from vyre.model import (
    Failed,
    Reason,
)
from vyre.policy.belief import Remembered
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
    began,
    begun,
    decided,
)


class TestBeginning:
    def test_the_default_is_asked_for_first(self):
        world = World(ready=set(SPACE))

        (wake,) = world.begin()

        assert wake == Wake(0.0, Woke(1))
        assert (world.standing.wanted.config, world.standing.wanted.phase) == (
            DEFAULT,
            Phase.PLANNED,
        )
        assert world.tell(Woke(1)) == (Ask(DEFAULT),)
        assert world.standing.wanted.phase is Phase.ASKED

    def test_one_candidate_is_nothing_to_learn(self):
        world = World()

        assert world.begin(candidates=(DEFAULT,)) == ()
        assert world.standing.stopped == "there is one candidate only"
        assert world.standing.is_over

    def test_what_is_left_after_failures_may_be_one_candidate(self):
        world = World(known=decided(BEST), ready=set(SPACE))
        failures = {one: "no" for one in SPACE if one != DEFAULT}

        world.begin(inherited=Inherited(failures=failures))

        assert world.standing.stopped == "there is one candidate only"
        assert world.standing.decision.config == DEFAULT
        assert world.standing.decision.detail == "BLOCK=128 is no candidate here"

    def test_each_fetch_is_counted_once(self):
        opening = Opening(config=SPACE[1], detail="")
        standing = Standing.of(WORKLOAD, DEFAULT, None, opening)
        question = began(ready=frozenset({SPACE[1]}), expected=(0.0,) * len(SPACE))

        standing, effects = advance(standing, Event(question, Moment(now_s=0.0)), AT_ONCE)

        fetched = [effect.configs[0] for effect in effects if isinstance(effect, Fetch)]
        assert fetched == [DEFAULT, BEST]
        assert standing.ledger.fetching == 2
        assert standing.awaited == (DEFAULT, BEST)

    def test_times_that_come_together_are_counted_once_each(self):
        opening = Opening(config=BEST, detail="", timed=(DEFAULT, BEST) * 4, default_ready=True)
        standing = Standing.of(WORKLOAD, DEFAULT, None, opening)
        question = began(expected=(0.0,) * len(SPACE))
        at = Moment(now_s=1.0, dispatches=9)
        times = tuple(Ran(one, int(TIMES[one]), 1000) for one in opening.timed)

        standing, _ = advance(standing, Event(question, at), AT_ONCE)
        standing, _ = advance(standing, Event(Heard(times), at), AT_ONCE)

        assert standing.told == 9
        assert standing.policy.dispatches == 9

    def test_what_failed_before_is_not_tried(self):
        world = World()
        world.begin(inherited=Inherited(failures={BEST: "the compiler hung"}))
        world.call(200)

        assert BEST not in world.launched
        assert BEST not in {one for some in world.fetched for one in some}
        assert world.standing.failures == {BEST: "the compiler hung"}

    @pytest.mark.parametrize("fell", [BEST, SLOW])
    def test_what_fell_before_it_began_is_remembered_and_not_tried(self, fell):
        """The guess, or what the first calls were to time."""
        world = World()
        opening = Opening(config=BEST, detail="", timed=(DEFAULT, SLOW), default_ready=True)
        world.standing = Standing.of(WORKLOAD, DEFAULT, None, opening)
        world.tell(Fell({fell: "out of registers"}))

        effects = world.begin(expected=(0.0,) * len(SPACE))

        assert effects[0] == Record(Failed(fell, "out of registers"), 1000)
        assert world.standing.failures == {fell: "out of registers"}
        world.call(200)
        assert fell not in world.launched

    def test_a_fork_records_nothing_again(self):
        """Neither what its parent recorded nor what was remembered."""
        world = World()
        opening = Opening(config=BEST, detail="", default_ready=True)
        world.standing = Standing.of(WORKLOAD, DEFAULT, None, opening)
        world.tell(Fell({BEST: "out of registers"}))
        known = Inherited(failures={SLOW: "the compiler hung"})
        world.begin(inherited=known)

        world.standing = world.standing.anew()
        effects = world.begin(inherited=known)

        assert not any(isinstance(one, Record) for one in effects)
        assert set(world.standing.failures) == {BEST, SLOW}

    @pytest.mark.parametrize("before", [True, False])
    def test_a_guess_that_falls_while_the_default_is_fetched_is_waited_out(self, before):
        world = World(ready=set() if before else {BEST}, delivers=False)
        opening = Opening(config=BEST, detail="", default_ready=False)
        world.standing = Standing.of(WORKLOAD, DEFAULT, None, opening)
        if before:
            world.tell(Fell({BEST: "out of registers"}))
        world.begin(expected=(0.0,) * len(SPACE))
        if not before:
            world.tell(Fell({BEST: "out of registers"}))

        assert not world.standing.is_over
        assert world.standing.decision.config == DEFAULT
        assert world.standing.decision.detail == "BLOCK=128: out of registers"
        assert (DEFAULT,) in world.fetched

    def test_that_the_default_failed_before_keeps_nobody_from_timing_it(self):
        """Calls run it, so it runs."""
        world = World()
        world.begin(inherited=Inherited(failures={DEFAULT: "a bad day"}))

        assert world.call(200, adopted(BEST))
        assert world.standing.failures == {}

    def test_a_default_that_is_not_ready_is_fetched(self):
        world = World(known=decided(), ready={BEST})

        assert Fetch((DEFAULT,)) in world.begin()
        assert world.standing.ledger.fetching == 1
        assert world.standing.decision.config == BEST  # it is ready, and nobody waits
        assert world.call(100, adopted(BEST))

    def test_no_call_waits_for_a_default_that_is_on_its_way(self):
        """What was known is refuted, and yet the only thing that is ready."""
        world = World(known=decided(SLOW), ready={SLOW}, delivers=False)
        world.begin(inherited=Inherited(decision=decided(BEST)))

        assert world.fetched == [(BEST,), (DEFAULT,)]
        assert world.standing.decision.config == SLOW
        world.deliver()
        assert world.standing.decision.config == BEST

    def test_more_candidates_than_there_is_room_for_are_left_out_from_the_end(self):
        world = World(pace=replace(AT_ONCE, candidates=3))
        world.begin(inherited=Inherited(ratios={SLOW: Remembered(0.0, 0.1)}))

        assert world.standing.policy.space == (BEST, DEFAULT, SLOW)

    def test_what_is_launched_is_a_candidate_however_far_the_guess_puts_it(self):
        world = World(known=decided(SLOW), pace=replace(AT_ONCE, candidates=2))
        world.begin()

        assert world.standing.policy.space == (DEFAULT, SLOW)

    def test_it_begins_once(self):
        world = begun()
        before = world.standing

        assert world.tell(began()) == ()
        assert world.standing == before

    def test_what_has_ended_does_not_begin(self):
        world = World()
        world.tell(Ended("more than 256 workloads are being learned"))

        assert world.begin() == ()
        assert world.standing.policy is None

    def test_before_it_has_begun_nothing_happens(self):
        world = World()
        for what in (Woke(0), Took(), Looked(0, 0, 1.0), Launched(BEST), Lost(), world.ran(BEST)):
            assert world.tell(what) == ()
        assert world.standing == replace(world.first, began_s=0.0)


class TestInheriting:
    def test_what_holds_is_launched_from_the_start_and_adopted(self):
        world = World(known=decided(gain=2.0), ready={BEST, DEFAULT})
        ratios = {BEST: Remembered(log(0.5), 0.05), DEFAULT: Remembered(0.0, 0.05)}
        world.begin(inherited=Inherited(ratios=ratios, decision=decided(gain=2.0)))
        seen = [world.call() or world.standing.decision.config for _ in range(60)]

        assert set(seen) == {BEST}
        assert world.standing.decision.reason is Reason.ADOPTED
        assert world.launched.count(DEFAULT) <= 8  # for its times alone

    def test_what_fails_to_hold_is_left(self):
        world = World(known=decided(SLOW, gain=2.0), ready={SLOW, DEFAULT})
        ratios = {SLOW: Remembered(log(0.5), 0.05)}
        world.begin(inherited=Inherited(ratios=ratios, decision=decided(SLOW, gain=2.0)))

        assert world.call(100, lambda s: s.decision.config != SLOW)
        assert world.call(300, adopted(BEST))

    @pytest.mark.parametrize("policy", ["natural", "sweep"])
    def test_what_was_remembered_and_does_not_hold_is_taken_back_for_all(self, policy):
        """Else every process would begin with it anew."""
        times = dict.fromkeys(SPACE, 1.5e6) | {DEFAULT: 1e6}
        world = World(times=times, known=decided(BEST, gain=2.0), ready=set(SPACE))
        world.begin(inherited=Inherited(decision=decided(BEST, gain=2.0)), policy=policy, warm=True)
        world.call(100)

        (taken_back,) = world.put
        assert (taken_back.config, taken_back.reason) == (DEFAULT, Reason.TAKEN_BACK)
        assert taken_back.detail.startswith("BLOCK=128 does not hold: ")

    def test_a_policy_that_looks_at_no_times_takes_nothing_back(self):
        world = World(known=decided(BEST, gain=2.0), ready=set(SPACE))
        world.begin(policy="fixed", warm=True)
        world.call(100)

        assert world.standing.decision.config == DEFAULT
        assert world.put == []

    def test_one_that_is_ready_is_launched_at_once(self):
        world = World(ready={DEFAULT, BEST})
        transferred = decided(reason=Reason.TRANSFERRED)

        world.begin(inherited=Inherited(decision=transferred))

        assert world.standing.decision == transferred
        assert world.put == []  # it is not certain

    def test_one_that_is_not_is_fetched_and_launched_then(self):
        world = World()
        transferred = decided(reason=Reason.TRANSFERRED)

        assert Fetch((BEST,)) in world.begin(inherited=Inherited(decision=transferred))

        assert world.standing.decision.config == DEFAULT
        world.deliver()
        assert world.standing.decision == transferred

    def test_one_for_the_default_changes_nothing(self):
        world = World()
        world.begin(inherited=Inherited(decision=decided(DEFAULT)))

        assert world.fetched == []
        assert world.standing.inherited is None

    def test_one_for_the_default_takes_the_place_of_a_guess(self):
        world = World(known=decided(SLOW), ready={SLOW, DEFAULT})
        world.begin(inherited=Inherited(decision=decided(DEFAULT)))

        assert world.standing.decision.config == DEFAULT

    def test_one_for_a_default_that_is_not_ready_waits_for_it(self):
        world = World(known=decided(SLOW), ready={SLOW}, delivers=False)
        world.begin(inherited=Inherited(decision=decided(DEFAULT)))

        assert world.fetched == [(DEFAULT,)]
        assert world.standing.decision.config == SLOW

    def test_one_whose_launch_fails_is_dropped(self):
        world = World(known=decided(), ready={BEST, DEFAULT})
        world.begin()
        world.tell(Fell({BEST: "out of registers"}))

        assert world.standing.decision.config == DEFAULT

    @pytest.mark.parametrize("policy", ["fixed", "resize", "sweep"])
    def test_a_plain_policy_has_its_say_once_the_inherited_was_timed(self, policy):
        world = World(known=decided(SLOW), ready=set(SPACE))
        world.begin(policy=policy, warm=True)

        assert world.call(100, lambda s: s.decision.config != SLOW)
        assert SLOW in world.launched
