"""The choice between ways, against times that are made up."""

from dataclasses import dataclass, field
from math import exp
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vyre import InvalidInput
from vyre.plan.fusion import STRIPE_ITEMS
from vyre.policy.ways import PERIOD, Piece, Purpose, Step, Way, WayPolicy

N, SLICE = 1 << 20, 1 << 14
RATES = (0.0001, 0.01, 0.1, 0.5, 0.9)
ALL = tuple(Way)


def cost(prefilter, confirm):
    """Nanoseconds per item: listing costs a little, mispredicted branches some, waste a lot."""

    def per_item(way, rate):
        match way:
            case Way.SERIAL:
                return 1.25 * prefilter + rate * (1.05 * confirm + 1)
            case Way.GATED:
                return prefilter + rate * confirm + 0.6 * rate * (1 - rate) * confirm
            case Way.EAGER:
                return prefilter + 0.7 * confirm

    return per_item


@dataclass
class World:
    """Runs what the policy asks for, with noise, and adds up what it took without."""

    per_item: object
    rng: Random = field(default_factory=lambda: Random(0))
    noise: float = 0.03
    tripled: float = 0.02
    policy: WayPolicy = field(default_factory=lambda: WayPolicy(able=ALL, guess=Way.GATED))
    took: float = 0.0
    best: float = 0.0
    steps: list = field(default_factory=list)

    def call(self, rate, items=N, slice_items=SLICE):
        step = self.policy.ask(items, slice_items)
        exact = [piece.items * self.per_item(piece.way, rate) for piece in step.pieces]
        noisy = [
            t * exp(self.rng.gauss(0, self.noise)) * (3 if self.rng.random() < self.tripled else 1)
            for t in exact
        ]
        self.policy = self.policy.tell(step, noisy, rate)
        self.took += sum(exact)
        self.best += items * min(self.per_item(way, rate) for way in ALL)
        self.steps.append(step)
        return step

    def calls(self, rate, count):
        for _ in range(count):
            self.call(rate)

    @property
    def loss(self):
        return self.took / self.best


def positions(piece):
    """The items of a piece, as its programs count them."""
    run, inside = np.divmod(np.arange(piece.items), STRIPE_ITEMS)
    return piece.first + (run * piece.stripes + piece.stripe) * STRIPE_ITEMS + inside


@given(
    st.integers(1, 1 << 14),
    st.integers(1, 1 << 11),
    st.lists(st.sampled_from(RATES), max_size=30),
    st.integers(0, 99),
)
@settings(max_examples=60)
def test_the_pieces_of_a_call_cover_every_item_once(items, slice_items, rates, seed):
    world = World(cost(1, 5), Random(seed))
    for rate in (*rates, 0.5):
        step = world.call(rate, items, slice_items)

        covered = np.concatenate([positions(piece) for piece in step.pieces])
        assert np.array_equal(np.sort(covered), np.arange(items))


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("confirm", [1, 5, 50, 500])
def test_a_steady_rate_costs_at_most_5_per_cent_over_the_best_way(rate, confirm):
    losses = []
    for seed in range(3):
        world = World(cost(1, confirm), Random(seed))
        world.calls(rate, 400)
        losses.append(world.loss)

    assert max(losses) <= 1.05


@pytest.mark.parametrize("rates", [RATES, (0.001, 0.5), (0.9, 0.0001)])
@pytest.mark.parametrize("confirm", [1, 5, 50, 500])
def test_a_rate_that_switches_every_200_calls_costs_at_most_10_per_cent(rates, confirm):
    world = World(cost(1, confirm))
    for block in range(10):
        world.calls(rates[block % len(rates)], 200)

    assert world.loss <= 1.10


def test_a_known_rate_needs_no_new_search():
    world = World(cost(1, 50), noise=0, tripled=0)
    for rate in (0.001, 0.9, 0.001, 0.9):
        world.calls(rate, 40)
    again = world.steps[81:120]

    best = min(ALL, key=lambda way: world.per_item(way, 0.001))
    assert {step.purpose for step in again} == {Purpose.WHOLE}
    assert {step.pieces[0].way for step in again} == {best}


def test_one_noisy_comparison_changes_no_choice():
    world = World(cost(1, 50), noise=0, tripled=0)
    world.calls(0.01, 100)
    chosen = world.policy.regime.best
    for _ in range(2 * PERIOD):
        step = world.policy.ask(N, SLICE)
        bad = [
            piece.items * world.per_item(piece.way, 0.01) * (100 if piece.way is chosen else 1)
            for piece in step.pieces
        ]
        if step.purpose is not Purpose.WHOLE:
            told = world.policy.tell(step, bad, 0.01)
            assert told.regime.best is chosen
            return
        world.call(0.01)
    pytest.fail("nothing was compared again")


def test_an_abandoned_way_comes_back_when_it_has_become_the_fastest():
    """As after a driver's update in a long process: the commit rate is the same as ever."""
    fast = cost(1, 50)
    world = World(fast, noise=0, tripled=0)
    world.calls(0.5, 300)
    before = world.policy.regime.best
    slow = {before: 4.0}
    world.per_item = lambda way, rate: fast(way, rate) * slow.get(way, 1.0)
    world.calls(0.5, 8 * PERIOD)

    best = min(ALL, key=lambda way: world.per_item(way, 0.5))
    assert best is not before
    assert world.policy.regime.best is best


def test_what_slows_every_way_down_changes_no_choice():
    fast = cost(1, 5)
    world = World(fast, noise=0, tripled=0)
    world.calls(0.1, 100)
    chosen = world.policy.regime.best
    world.per_item = lambda way, rate: 7 * fast(way, rate)
    world.calls(0.1, 200)

    assert world.policy.regime.best is chosen
    assert {step.pieces[-1].way for step in world.steps[100:] if len(step.pieces) > 1} == {chosen}


def test_comparing_costs_a_hundredth_of_the_time_once_a_rate_is_known():
    world = World(cost(1, 500), noise=0, tripled=0)
    world.calls(0.0001, 100)
    took, best = world.took, world.best
    world.calls(0.0001, 5000)

    assert (world.took - took) / (world.best - best) <= 1.012


def test_calls_too_short_for_slices_are_compared_whole():
    world = World(cost(1, 5), noise=0, tripled=0)
    for _ in range(60):
        world.call(0.5, items=1000)

    assert {step.purpose for step in world.steps} == {Purpose.WHOLE, Purpose.TRIAL}
    assert world.policy.regime.best is min(ALL, key=lambda way: world.per_item(way, 0.5))


def test_nothing_is_tried_while_earlier_calls_are_not_told():
    policy = WayPolicy(able=ALL, guess=Way.GATED)

    assert policy.ask(N, SLICE, waiting=True).purpose is Purpose.WHOLE
    assert policy.ask(N, SLICE).purpose is Purpose.ROUND


def test_a_single_way_is_never_compared():
    policy = WayPolicy(able=(Way.SERIAL,), guess=Way.SERIAL)
    for _ in range(5):
        step = policy.ask(N, SLICE)
        assert step.purpose is Purpose.WHOLE
        policy = policy.tell(step, [1.0], 0.5)


def test_a_time_of_zero_is_taken_as_a_nanosecond():
    policy = WayPolicy(able=ALL, guess=Way.GATED)
    for _ in range(20):
        step = policy.ask(N, SLICE)
        policy = policy.tell(step, [0.0] * len(step.pieces), 0.5)

    assert policy.regime.best is Way.GATED


def test_it_explains_itself_before_and_after():
    world = World(cost(1, 50), noise=0, tripled=0)
    before = world.policy.explain()
    world.calls(0.01, 40)

    assert before == "gated: a guess, nothing has been measured yet"
    assert world.policy.explain() == (
        "gated at 1.00% hits: serial 0.99x its time; eager 20.03x its time"
        " (3 rounds of slices, 3 whole calls serial)"
    )


def test_a_guess_must_be_able_to_run():
    with pytest.raises(InvalidInput) as error:
        WayPolicy(able=(Way.SERIAL,), guess=Way.GATED)

    assert str(error.value) == (
        "a guess of gated among serial\nFix: guess one of the ways that are able to run"
    )


def test_a_call_whose_hits_nobody_counted_is_taken_for_one_like_the_last():
    policy = WayPolicy(able=(Way.SERIAL, Way.GATED), guess=Way.GATED)
    whole = Step(Purpose.WHOLE, (Piece(Way.GATED, 0, 100),))

    assert policy.tell(whole, [100.0], None) == policy
    counted = policy.tell(whole, [100.0], 0.25)
    assert counted.tell(whole, [100.0], None) == counted.tell(whole, [100.0], 0.25)
