"""What holds of a learner whatever happens to it."""

from collections.abc import Mapping
from dataclasses import replace
from math import inf, nan

from hypothesis import given, settings
from hypothesis import strategies as st

from vyre.learn.events import (
    Broke,
    Came,
    Decided,
    Fell,
    Launched,
    Looked,
    Lost,
    Ran,
    Took,
    Woke,
)
from vyre.learn.inheritance import Inherited
from vyre.learn.learner.advance import advance
from vyre.learn.subject import Fetched
from vyre.model import (
    Config,
    Decision,
    Reason,
)
from vyre.policy.belief import Remembered
from vyre.policy.table import NAMES
from vyre.testing.learning import AT_ONCE, DEFAULT, SPACE, World, decided

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
