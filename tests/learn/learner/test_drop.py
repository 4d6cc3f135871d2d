"""What a learner leaves alone: what fails, and itself where it breaks."""

from dataclasses import replace

from vyre.learn.events import (
    Broke,
    Came,
    Ended,
    Fell,
    Lost,
    Record,
    Wake,
)
from vyre.learn.subject import Fetched
from vyre.model import (
    Failed,
    Knobs,
)
from vyre.testing.learning import BEST, DEFAULT, SPACE, World, adopted, begun, decided


class TestFailing:
    def test_what_falls_is_dropped_and_recorded_once(self):
        world = begun()
        effects = world.tell(Fell({BEST: "out of registers"}))

        assert effects[0] == Record(Failed(BEST, "out of registers"), 1000)
        assert world.tell(Fell({BEST: "again"})) == ()
        assert world.standing.failures == {BEST: "out of registers"}

    def test_a_wanted_launch_that_falls_makes_room_for_another(self):
        world = begun()
        for _ in range(3):
            world.timed(DEFAULT)
        world.wake()
        wanted = world.standing.wanted.config

        world.tell(Fell({wanted: "device lost"}))

        assert world.asked is None
        assert world.standing.wanted.config != wanted

    def test_without_the_default_there_is_nothing_to_compare_with(self):
        world = begun()
        world.tell(Fell({DEFAULT: "device lost"}))

        assert world.standing.stopped == "the default cannot be timed: device lost"

    def test_what_fails_with_the_default_is_not_launched_any_more(self):
        world = begun()
        assert world.call(200, adopted(BEST))

        world.tell(Fell({DEFAULT: "device lost", BEST: "device lost"}))

        assert world.standing.decision.config == DEFAULT
        assert world.standing.is_over

    def test_an_adopted_choice_outlives_a_default_that_fails(self):
        world = begun()
        assert world.call(200, adopted(BEST))

        world.tell(Fell({DEFAULT: "device lost"}))

        assert world.standing.decision.config == BEST

    def test_where_everything_has_failed_it_says_so(self):
        """A policy may know better than to lean on the default."""
        world = begun()
        policy = world.standing.policy
        for one in SPACE:
            policy = policy.tell(Failed(one, "no"))
        world.standing = replace(world.standing, policy=policy)

        world.tell(Lost())

        assert world.standing.stopped == "every schedule of the space has failed"

    def test_what_cannot_be_made_ready_is_dropped(self):
        world = World(refuses={BEST: "the compiler hung for 30 s"})
        world.begin()
        world.call(100)

        assert world.standing.failures == {BEST: "the compiler hung for 30 s"}
        assert Failed(BEST, "the compiler hung for 30 s") in world.rows

    def test_failures_of_what_is_no_candidate_are_nobody_s(self):
        world = begun()
        stranger = Knobs.of({"BLOCK": 7})
        world.tell(Came((Fetched(failed={stranger: "no"}),), frozenset(), 0))

        assert world.standing.failures == {}


class TestBreaking:
    def test_a_piece_that_fails_is_gone_without(self):
        world = begun()
        world.wake()

        (again,) = world.tell(Broke("ValueError()"))

        assert isinstance(again, Wake)
        assert world.standing.trouble == 1
        assert world.asked is None

    def test_a_few_in_a_row_end_it(self):
        world = begun()
        for _ in range(3):
            world.tell(Broke("ValueError()"))

        assert world.standing.stopped == "learning failed: ValueError()"

    def test_a_time_in_between_starts_the_count_anew(self):
        world = begun()
        for _ in range(10):
            world.tell(Broke("ValueError()"))
            world.timed(DEFAULT)

        assert not world.standing.is_over

    def test_what_cannot_even_begin_says_why(self):
        world = World()
        world.tell(Broke("ValueError()"))

        assert world.standing.stopped == "learning failed: ValueError()"

    def test_why_it_ended_is_not_said_anew(self):
        world = begun()
        world.tell(Ended("it was tuned on purpose"))
        world.tell(Broke("ValueError()"))

        assert world.standing.stopped == "it was tuned on purpose"

    def test_a_broken_helper_is_no_fault_of_the_candidates(self):
        world = World(delivers=False)
        world.begin()
        world.call(20)
        assert world.fetched

        world.tell(Came((Fetched(broken="the helper crashed"),), frozenset((DEFAULT,)), 0))

        fetches = len(world.fetched)
        world.call(100)
        assert world.standing.failures == {}
        assert world.standing.broken == "the helper crashed"
        assert len(world.fetched) == fetches
        assert world.standing.decision.config == DEFAULT
        assert not world.standing.is_over

    def test_a_default_that_cannot_be_made_ready_for_it_ends_learning(self):
        world = World(known=decided(), ready={BEST})
        world.begin()
        world.fetching.clear()

        world.tell(Came((Fetched(broken="the helper crashed"),), frozenset((BEST,)), 0))

        assert world.standing.stopped == "BLOCK=256 cannot be compiled: the helper crashed"
        assert world.standing.decision.config == BEST
