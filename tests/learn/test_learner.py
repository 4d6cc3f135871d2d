"""What a learner decides, event by event: no thread, no clock, no device."""

import heapq
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from math import inf, log, nan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vyre.learn.events import (
    Ask,
    Began,
    Broke,
    Came,
    Decided,
    Ended,
    Event,
    Fell,
    Fetch,
    Heard,
    Launched,
    Looked,
    Lost,
    Moment,
    Put,
    Ran,
    Record,
    Spent,
    Took,
    Wake,
    Woke,
)
from vyre.learn.inheritance import Inherited
from vyre.learn.learner.advance import advance
from vyre.learn.ledger import Ledger
from vyre.learn.pace import Pace
from vyre.learn.standing import Phase, Standing, Wanted
from vyre.learn.subject import Fetched, Opening, Question
from vyre.model import (
    Config,
    Decision,
    DeviceInfo,
    DeviceKind,
    Failed,
    Knobs,
    Limits,
    Reason,
    Schedule,
    Timed,
    Workload,
)
from vyre.policy.belief import Remembered
from vyre.policy.table import NAMES

WORKLOAD = Workload(fingerprint=b"f", buckets=(10,), traits=(), device="d", toolchain="t")
DEVICE = DeviceInfo(
    backend="none",
    model="a table",
    driver="",
    compiler="",
    kind=DeviceKind.GPU,
    limits=Limits(max_threads=1024, max_block=(1024, 1, 1), max_grid=(1, 1, 1)),
)
SPACE: tuple[Config, ...] = tuple(Knobs.of({"BLOCK": n}) for n in (128, 64, 256, 32, 512))
BEST, DEFAULT, SLOW = SPACE[0], SPACE[2], SPACE[4]
TIMES: Mapping[Config, float] = dict(zip(SPACE, (5e5, 8e5, 1e6, 9e5, 3e6), strict=True))
AT_ONCE = Pace(advance_s=1e9, shortest_s=0.0, resting_s=0.0, enough_s=0.0)
"""Nothing waits: the time of a launch is all that passes."""


def question(**changed: object) -> Question:
    facts = {
        "workload": WORKLOAD,
        "name": "twice",
        "device": DEVICE,
        "default": DEFAULT,
        "candidates": SPACE,
    }
    return Question(**(facts | changed))


def decided(config: Config = BEST, reason: Reason = Reason.REMEMBERED, **more: object) -> Decision:
    return Decision(workload=WORKLOAD, config=config, reason=reason, **more)


def began(
    *,
    inherited: Inherited | None = None,
    ready: frozenset[Config] = frozenset(SPACE),
    policy: str = "natural",
    **changed: object,
) -> Began:
    return Began(question(**changed), inherited or Inherited(), ready, 1000, policy)


@dataclass
class World:
    """Calls of something whose times are in a table; it carries out what the learner says."""

    times: Mapping[Config, float] = field(default_factory=lambda: dict(TIMES))
    known: Decision | None = None
    pace: Pace = AT_ONCE
    default: Config = DEFAULT
    clock: str = ""
    throttled: tuple[str, ...] = ()
    rough: bool = False
    refuses: Mapping[Config, str] = field(default_factory=dict)  # what cannot be made ready
    falls: Mapping[Config, str] = field(default_factory=dict)  # what cannot be launched
    delivers: bool = True  # what is fetched
    fetch_s: float = 0.01
    now_s: float = 0.0
    worked_s: float = 0.0
    dispatches: int = 0
    asked: Config | None = None
    ready: set[Config] = field(default_factory=lambda: {DEFAULT})
    fetched: list[tuple[Config, ...]] = field(default_factory=list)
    fetching: list[tuple[Config, ...]] = field(default_factory=list)
    put: list[Decision] = field(default_factory=list)
    news: list[bool] = field(default_factory=list)
    rows: list[object] = field(default_factory=list)
    wakes: list[tuple[float, int, object]] = field(default_factory=list)
    launched: list[Config] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    number: object = field(default_factory=count)

    def __post_init__(self) -> None:
        self.standing = self.first = Standing.of(WORKLOAD, self.default, self.known)

    @property
    def at(self) -> Moment:
        return Moment(now_s=self.now_s, worked_s=self.worked_s, dispatches=self.dispatches)

    def tell(self, what: object) -> tuple[object, ...]:
        event = Event(what, self.at)
        self.events.append(event)
        self.standing, effects = advance(self.standing, event, self.pace)
        if self.standing.wanted is None or self.standing.wanted.phase is Phase.PLANNED:
            self.asked = None
        for effect in effects:
            self.carry_out(effect)
        return effects

    def carry_out(self, effect: object) -> None:
        match effect:
            case Ask(config):
                assert self.asked is None, "one launch is wanted at a time"
                assert config not in self.standing.failures
                assert config in self.standing.ready
                self.asked = config
            case Fetch(configs):
                self.fetched.append(configs)
                self.fetching.append(configs)
            case Record(outcome):
                self.rows.append(outcome)
            case Put(decision, news):
                self.put.append(decision)
                self.news.append(news)
            case Wake(at_s, event):
                heapq.heappush(self.wakes, (at_s, next(self.number), event))

    def begin(self, **given: object) -> tuple[object, ...]:
        made = began(**{"ready": frozenset(self.ready)} | given)
        return self.tell(made)

    def wake(self) -> None:
        """Do what is due by now."""
        while self.wakes and self.wakes[0][0] <= self.now_s:
            event = heapq.heappop(self.wakes)[2]
            if isinstance(event, Looked):
                event = replace(event, still_asked=self.asked is not None)
            self.tell(event)

    def deliver(self) -> None:
        for configs in self.fetching[:]:
            self.fetching.remove(configs)
            failed = {one: self.refuses[one] for one in configs if one in self.refuses}
            self.ready |= {configs[0]} - failed.keys()
            came = Fetched(failed=failed, took_s=self.fetch_s)
            self.tell(Came((came,), frozenset(self.ready), len(self.fetching)))

    def call(self, times: int = 1, until: Callable[[Standing], bool] = lambda _: False) -> bool:
        """Make calls, at most so many, until something is so."""
        for _ in range(times):
            self.wake()
            if self.delivers:
                self.deliver()
            self.dispatches += 1
            if self.asked is None:
                config = self.standing.decision.config
                self.launch(config)
            else:
                config, self.asked = self.asked, None
                self.tell(Took())
                self.launch(config)
                if config in self.falls:
                    self.tell(Fell({config: self.falls[config]}))
                else:
                    self.tell(Launched(config))
                    self.tell(self.ran(config))
            if until(self.standing):
                return True
        return False

    def launch(self, config: Config) -> None:
        self.launched.append(config)
        self.now_s += max(self.times[config], 1.0) * 1e-9

    def ran(self, config: Config, **changed: object) -> Ran:
        facts = {
            "config": config,
            "elapsed_ns": self.times[config],
            "size": 1000,
            "rough": self.rough,
            "clock": self.clock,
            "throttled": self.throttled,
        }
        return Ran(**(facts | changed))

    def timed(self, config: Config, **changed: object) -> tuple[object, ...]:
        """A time of this is heard, whatever is wanted; as of a call of its own."""
        self.dispatches += 1
        return self.tell(self.ran(config, **changed))


def begun(**given: object) -> World:
    """A world in which everything is ready, and every first launch is like the others."""
    world = World(ready=set(SPACE), **given)
    world.begin(warm=True)
    return world


def adopted(config: Config) -> Callable[[Standing], bool]:
    return lambda s: s.decision.reason is Reason.ADOPTED and s.decision.config == config


class TestConverging:
    def test_it_finds_the_fastest_from_the_calls_alone(self):
        world = World()
        world.begin()

        assert world.call(200, adopted(BEST))
        world.call(50)

        assert world.standing.decision.gain == pytest.approx(2.0, rel=0.1)
        assert world.standing.decision.confidence > 0.95
        assert world.standing.decision.default == DEFAULT
        assert world.put[-1].config == BEST
        assert world.standing.ledger.probes > 0
        assert world.standing.ledger.timings == len(world.rows)

    def test_each_call_launches_one_config(self):
        world = World()
        world.begin()
        world.call(100)

        assert len(world.launched) == 100

    def test_what_is_lost_stays_within_the_budget(self):
        times = {one: 1e6 if one == DEFAULT else 4e6 for one in SPACE}
        world = World(times=times)
        world.begin()
        world.call(400)

        lost = sum(times[one] - 1e6 for one in world.launched)
        assert lost <= 0.01 * sum(times[one] for one in world.launched) + 20 * 1e6
        assert world.standing.decision.config == DEFAULT

    def test_it_knows_what_it_has_spent_and_saved(self):
        world = World()
        world.begin()
        world.call(200, adopted(BEST))
        world.call(200)

        ledger = world.standing.ledger
        spent = sum(TIMES[one] for one in world.launched) * 1e-9
        assert ledger.spent_s == pytest.approx(spent, rel=0.05)
        assert ledger.saved_s == pytest.approx(len(world.launched) * 1e-3 - spent, rel=0.1)
        assert 0.0 < ledger.explored_s < 0.2 * spent

    @pytest.mark.parametrize("policy", NAMES)
    def test_every_policy_goes_round_what_fails(self, policy):
        falls, refuses = {SPACE[1]: "out of registers"}, {SPACE[3]: "the compiler hung"}
        world = World(falls=falls, refuses=refuses)
        world.begin(policy=policy)
        world.call(300)

        # Of knobs the seed's two know nothing, and the fixed one wants nothing.
        stays = policy in ("fixed", "resize", "seed")
        assert world.standing.decision.config == (DEFAULT if stays else BEST)
        assert not world.standing.is_over
        assert set(world.standing.failures) <= {SPACE[1], SPACE[3]}
        assert world.launched.count(SPACE[1]) <= 1
        assert SPACE[3] not in world.launched
        assert world.standing.decision.config in SPACE

    @pytest.mark.parametrize("policy", NAMES)
    def test_every_policy_goes_round_what_fails_among_schedules(self, policy):
        space = tuple(Schedule((n, 1, 1)) for n in (128, 64, 256, 32, 512))
        best, default = space[0], space[2]
        world = World(
            times=dict(zip(space, (5e5, 8e5, 1e6, 9e5, 3e6), strict=True)),
            default=default,
            ready={default},
            falls={space[1]: "out of registers"},
        )
        world.begin(policy=policy, default=default, candidates=space)
        world.call(300)

        expected = {"natural": best, "sweep": best, "fixed": default}
        assert world.standing.decision.config in space
        assert world.standing.decision.config == expected.get(
            policy, world.standing.decision.config
        )
        assert world.launched.count(space[1]) <= 1

    def test_a_sweep_rests_while_it_waits_for_what_is_not_ready(self):
        world = World(delivers=False, pace=replace(AT_ONCE, resting_s=1.0, shortest_s=0.1))
        world.begin(policy="sweep")
        world.call(50)

        assert world.standing.resting_s == 0.0  # something is being fetched
        world.tell(Came((Fetched(broken="it crashed"),), frozenset((DEFAULT,)), 0))
        world.wakes.clear()
        world.tell(Lost())
        assert world.standing.resting_s > 0.0
        assert world.standing.because == "the sweep waits for what is not ready"


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


class TestLedger:
    def test_nothing_was_spent_before_the_default_was_timed(self):
        ledger = Ledger(spent=5.0, lost=1.0)

        assert (ledger.default_ns, ledger.spent_s, ledger.saved_s) == (None, 0.0, 0.0)

    def test_the_default_takes_the_median_of_its_latest_times(self):
        ledger = Ledger()
        for ns in (1.0, *range(100, 109)):
            ledger = ledger.heard(ns, default=True, probe=False)
        ledger = ledger.heard(9e9, default=False, probe=True)

        assert ledger.default_ns == 104
        assert (ledger.timings, ledger.probes, ledger.explored_s) == (11, 1, 9.0)

    def test_a_fetch_is_expected_to_take_what_others_took(self):
        assert Ledger().fetch_cost_s(0.3) == 0.3
        assert Ledger(fetches=2, fetched_s=5.0).fetch_cost_s(0.3) == 2.5


class TestPace:
    def test_beside_a_gpu_it_is_quick_and_compiles_elsewhere(self):
        pace = Pace.beside(DEVICE, 5, 7)

        assert (pace.share, pace.advance_s, pace.cores) == (0.03, 0.1, 0)
        assert (pace.unfelt_ns, pace.shortest_ns) == (5, 7)
        assert Pace.beside(DEVICE) == Pace(at_once=2, loaded_ns=50_000.0)

    @pytest.mark.parametrize(("units", "cores"), [(8, 8), (0, 1)])
    def test_on_a_cpu_it_is_slow_and_compiling_shares_the_cores(self, units, cores):
        cpu = replace(DEVICE, kind=DeviceKind.CPU, compute_units=units)

        assert Pace.beside(cpu) == Pace(share=0.002, advance_s=0.002, cores=cores)


# -- whatever happens

configs = st.sampled_from(SPACE)
elapsed = st.sampled_from((5e5, 1e6, 2e6, 0.0, nan, inf, -1.0, 1e-9, 1e20, 7))
happenings = st.one_of(
    st.builds(Woke, st.integers(0, 40)),
    st.builds(Took),
    st.builds(Looked, st.integers(0, 40), st.integers(0, 40), st.just(1.0), st.booleans()),
    st.builds(Launched, configs),
    st.builds(
        Ran, configs, elapsed, st.integers(1, 5000), st.booleans(), st.sampled_from(("", "a", "b"))
    ),
    st.builds(Lost, st.none() | configs),
    st.builds(Fell, st.dictionaries(configs, st.just("no"), max_size=2)),
    st.builds(
        lambda failed, broken, ready, more: Came(
            (Fetched(failed=failed, took_s=0.1, broken=broken),), frozenset(ready), more
        ),
        st.dictionaries(configs, st.just("never"), max_size=1),
        st.sampled_from(("", "", "", "it crashed")),
        st.sets(configs),
        st.integers(0, 1),
    ),
    st.builds(Decided, st.builds(decided, configs)),
    st.just(Broke("ValueError()")),
    st.just("next call"),
    st.just("next call"),
)
beginnings = st.builds(
    lambda policy, ratios, failures, decision, warm: {
        "policy": policy,
        "inherited": Inherited(
            {one: Remembered(0.1, 0.1) for one in ratios},
            decision,
            dict.fromkeys(failures, "before"),
        ),
        "warm": warm,
    },
    st.sampled_from(NAMES),
    st.sets(configs, max_size=2),
    st.sets(configs, max_size=2),
    st.none() | st.builds(decided, configs),
    st.booleans(),
)


def lived(
    known: Decision | None,
    ready: set[Config],
    beginning: Mapping[str, object],
    happened: list[object],
) -> World:
    world = World(known=known, ready=set(ready), pace=replace(AT_ONCE, enough_s=1e-3))
    world.begin(**beginning)
    for what in happened:
        world.now_s += 0.001
        if what == "next call":
            world.call()
        else:
            world.dispatches += isinstance(what, Ran)
            world.tell(what)
        assert world.standing.decision.config in SPACE
        assert not world.standing.is_over or world.standing.wanted is None
        assert world.standing.ready.isdisjoint(world.standing.failures)
    return world


@given(
    st.none() | st.builds(decided, configs),
    st.sets(configs),
    beginnings,
    st.lists(happenings, max_size=60),
)
def test_whatever_happens_it_asks_for_one_sound_launch_at_a_time(known, ready, beginning, happened):
    """`World` checks each effect; and what failed is never launched by choice."""
    world = lived(known, ready, beginning, happened)

    standing = world.first
    for event in world.events:
        standing, _ = advance(standing, event, world.pace)
    assert standing == world.standing


@settings(max_examples=20)
@given(st.permutations(SPACE), st.lists(st.floats(1e5, 1e7), min_size=5, max_size=5))
def test_whatever_the_times_what_is_adopted_is_faster_than_the_default(order, times):
    world = World(times=dict(zip(order, times, strict=True)), ready=set(SPACE))
    world.begin(candidates=tuple(order), warm=True)
    world.call(150)

    chosen = world.standing.decision
    if chosen.reason is Reason.ADOPTED:
        assert world.times[chosen.config] < world.times[DEFAULT]


class TestSeveralAtOnce:
    """Callers may launch many times before the time of the first is back."""

    @staticmethod
    def begun() -> tuple[Standing, Pace]:
        pace = replace(AT_ONCE, at_once=4)
        standing = Standing.of(WORKLOAD, DEFAULT, None)
        everything = began(ready=frozenset(TIMES))
        standing, _ = advance(standing, Event(everything, Moment(now_s=0.0)), pace)
        return standing, pace

    def asked(self, standing: Standing, pace: Pace) -> tuple[Standing, list[Config]]:
        woke = Event(Woke(standing.asks), Moment(now_s=1.0, dispatches=10))
        standing, effects = advance(standing, woke, pace)
        return standing, [effect.config for effect in effects if isinstance(effect, Ask)]

    def test_the_default_is_asked_for_as_often_as_it_takes(self):
        standing, asked = self.asked(*self.begun())

        assert asked[:3] == [DEFAULT] * 3
        assert len(asked) <= 4
        assert [one.config for one in standing.beside] == asked[1:]

    def test_each_time_is_learned_from_whichever_comes_first(self):
        standing, pace = self.begun()
        standing, asked = self.asked(standing, pace)
        for number, config in enumerate(reversed(asked)):
            at = Moment(now_s=2.0, dispatches=10 + number)
            standing, _ = advance(standing, Event(Launched(config), at), pace)
            standing, _ = advance(standing, Event(Ran(config, TIMES[config], 1), at), pace)

        assert standing.ledger.timings == sum(config == DEFAULT for config in asked)
        assert standing.beside == ()

    def test_what_no_call_took_is_not_waited_for(self):
        standing, pace = self.begun()
        standing, asked = self.asked(standing, pace)
        at = Moment(now_s=2.0, dispatches=10)

        standing, _ = advance(standing, Event(Ran(asked[0], TIMES[asked[0]], 1), at), pace)

        assert standing.beside == ()
        assert standing.wanted is not None
        assert standing.wanted.phase is Phase.PLANNED

    def test_while_some_are_under_way_one_more_is_asked_for_at_a_time(self):
        standing, pace = self.begun()
        standing, asked = self.asked(standing, pace)
        at = Moment(now_s=2.0, dispatches=10)
        for config in asked[:2]:
            standing, _ = advance(standing, Event(Launched(config), at), pace)
        standing, _ = advance(standing, Event(Ran(asked[0], TIMES[asked[0]], 1), at), pace)

        standing, more = self.asked(standing, pace)

        assert len(more) == 1
        assert [one.phase for one in standing.beside] == [Phase.LAUNCHED]

    def test_what_fails_is_not_waited_for(self):
        standing, pace = self.begun()
        standing, _ = self.asked(standing, pace)
        at = Moment(now_s=2.0, dispatches=10)

        others = [config for config in TIMES if config != DEFAULT]
        failed = Fell(dict.fromkeys(others, "no"))
        standing, _ = advance(standing, Event(failed, at), pace)

        assert {one.config for one in standing.beside} <= {DEFAULT}
