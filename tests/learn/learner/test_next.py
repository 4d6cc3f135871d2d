"""How a learner goes on: one launch after the other, several at once, at its pace."""

from dataclasses import replace

import pytest

from vyre.learn.events import (
    Ask,
    Came,
    Event,
    Fell,
    Launched,
    Lost,
    Moment,
    Ran,
    Woke,
)
from vyre.learn.learner.advance import advance
from vyre.learn.ledger import Ledger
from vyre.learn.pace import Pace
from vyre.learn.standing import Phase, Standing
from vyre.learn.subject import Fetched
from vyre.model import (
    Config,
    DeviceKind,
    Schedule,
)
from vyre.policy.table import NAMES
from vyre.testing.learning import (
    AT_ONCE,
    BEST,
    DEFAULT,
    DEVICE,
    SPACE,
    TIMES,
    WORKLOAD,
    World,
    adopted,
    began,
)


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
        assert Pace.beside(DEVICE) == Pace(at_once=2, loaded_ns=50_000.0, led_ns=50_000.0, used=100)

    @pytest.mark.parametrize(("units", "cores"), [(8, 8), (0, 1)])
    def test_on_a_cpu_it_is_slow_and_compiling_shares_the_cores(self, units, cores):
        cpu = replace(DEVICE, kind=DeviceKind.CPU, compute_units=units)

        assert Pace.beside(cpu) == Pace(share=0.002, advance_s=0.002, cores=cores)


# -- whatever happens
