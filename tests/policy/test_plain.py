"""Any policy as a learner uses it."""

from collections.abc import Collection
from dataclasses import dataclass
from math import inf, log, nan
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vyre.model import Config, Failed, Outcome, Reason, Timed
from vyre.policy.base import Chooser, NothingToTry, Policy
from vyre.policy.plain import Plain
from vyre.policy.sweep import Sweep
from vyre.policy.table import NAMES, Given, make
from vyre.testing.policy_contract import SPACE, TIMES, PolicyContract

DEFAULT = SPACE[2]


def plain(name: str = "sweep", default: Config = DEFAULT) -> Plain:
    made = make(name, Given(space=SPACE, default=default, size=1000))
    assert isinstance(made, Plain)
    return made


@dataclass(frozen=True)
class Asked:
    """A chooser as a policy: what it wants timed is what it asks for."""

    chooser: Plain

    def ask(self, rng: Random, ready: Collection[Config] | None = None) -> Config:
        del rng
        return self.chooser.choose(ready).config

    def tell(self, outcome: Outcome) -> "Asked":
        return Asked(self.chooser.tell(outcome))

    @property
    def settled(self) -> Config | None:
        return self.chooser.policy.settled


class TestSweep(PolicyContract):
    make = staticmethod(lambda _: Asked(plain("sweep")))


class TestFixed(PolicyContract):
    make = staticmethod(lambda _: Asked(plain("fixed", SPACE[1])))


class TestSeed(PolicyContract):
    make = staticmethod(lambda _: Asked(plain("seed")))

    def test_it_comes_to_ask_for_the_fastest(self) -> None:
        """It does not: its estimates are larger than the times of what it launched first."""
        policy = self.policy()
        asked = [policy.ask(Random(0))]
        for _ in range(50):
            policy = policy.tell(Timed(asked[-1], TIMES[asked[-1]]))
            asked.append(policy.ask(Random(0)))

        assert len(set(asked)) == 1


class TestResize(PolicyContract):
    make = staticmethod(lambda _: Asked(plain("resize")))

    def test_it_comes_to_ask_for_the_fastest(self) -> None:
        """It does not: it looks at what idles and what saturates, and 1000 elements do."""
        policy = self.policy()
        for _ in range(20):
            policy = policy.tell(Timed(DEFAULT, TIMES[DEFAULT]))

        assert policy.ask(Random(0)) == DEFAULT


def told(chooser: Plain, *configs: Config) -> Plain:
    for config in configs:
        chooser = chooser.tell(Timed(config, TIMES[config]))
    return chooser


def test_it_is_a_chooser_and_what_it_holds_a_policy():
    chooser: Chooser = plain()
    policy: Policy = plain().policy

    assert chooser.space == SPACE
    assert policy.settled is None


def test_while_it_is_open_the_default_is_launched_and_what_it_asks_for_timed():
    choice, keep = plain().choose(), plain().incumbent()

    assert (choice.config, choice.reason, choice.measures) == (SPACE[0], Reason.PROBE, True)
    assert choice.detail == "asked for by the sweep"
    assert (keep.config, keep.reason) == (DEFAULT, Reason.COLD_START)
    assert keep.detail == "the sweep is still open"


def test_what_it_settles_on_is_launched_however_little_it_gains():
    chooser = told(plain(), *SPACE * 3)

    choice = chooser.choose()
    assert choice == chooser.incumbent()
    assert (choice.config, choice.reason) == (SPACE[1], Reason.ADOPTED)
    assert choice.binding
    assert not choice.measures
    assert choice.gain == pytest.approx(1.4)
    assert choice.confidence is None  # nobody asked how sure it is


def test_a_default_that_it_settles_on_is_no_adoption():
    choice = told(plain("fixed"), DEFAULT).incumbent()

    assert (choice.config, choice.reason, choice.gain) == (DEFAULT, Reason.DEFAULT, 1.0)


def test_what_is_not_ready_is_wanted_and_not_asked_for():
    chooser = plain()
    ready = chooser.mask((DEFAULT,))

    assert chooser.choose(ready).config == DEFAULT
    assert chooser.wanted(16, ready) == (SPACE[0],)
    assert chooser.wanted(0, ready) == ()
    assert chooser.wanted(16, ready, cost=inf) == ()
    assert chooser.wanted(16, None) == ()
    assert chooser.wanted(16, SPACE) == ()


def test_while_it_waits_it_measures_nothing_again_and_again():
    chooser, ready = plain(), frozenset((DEFAULT,))
    measures = []
    for _ in range(6):
        measures.append(chooser.choose(ready).measures)
        chooser = told(chooser, DEFAULT)

    assert measures == [True, True, True, False, False, False]
    assert chooser.choose(ready).detail == "the sweep waits for what is not ready"


def test_a_choice_that_is_not_ready_any_more_is_not_launched():
    chooser = told(plain(), *SPACE * 3)

    assert chooser.incumbent((DEFAULT,)).config == DEFAULT


def test_without_the_default_what_it_asks_for_is_launched():
    chooser = plain().tell(Failed(DEFAULT, "no"))

    assert chooser.incumbent().config == SPACE[0]
    assert chooser.incumbent((SPACE[1],)).config == SPACE[1]


def test_where_nothing_that_is_ready_works_it_says_so():
    chooser = plain().tell(Failed(DEFAULT, "no"))

    with pytest.raises(NothingToTry) as caught:
        chooser.choose(())

    assert str(caught.value) == (
        "every config that is ready has failed\nFix: look at the reasons of the failures"
    )


@pytest.mark.parametrize("elapsed", [0.0, -1.0, nan, inf, 2.0**64])
@pytest.mark.parametrize("name", NAMES[1:])
def test_a_time_that_is_none_is_ignored(name, elapsed):
    chooser = plain(name)

    assert chooser.tell(Timed(DEFAULT, elapsed)) == chooser


def test_what_failed_is_not_heard_of_again():
    chooser = plain().tell(Failed(SPACE[0], "no"))

    assert told(chooser, SPACE[0]) == chooser
    assert chooser.tell(Failed(SPACE[0], "again")) == chooser


def test_what_it_costs_is_counted_in_dispatches_of_the_default():
    chooser = told(plain(), DEFAULT, SPACE[1])
    assert chooser.budget.spent == pytest.approx(1 + 5 / 7)

    chooser = chooser.ran(SPACE[1], 7).paid(3.0, 2.0)

    assert chooser.budget.spent == pytest.approx(1 + 8 * 5 / 7 + 3)
    assert chooser.budget.lost == pytest.approx(8 * -2 / 7 + 2)


def test_ratios_are_of_what_was_timed_twice():
    assert plain().ratios() == {}
    assert told(plain(), DEFAULT, SPACE[1]).ratios() == {}
    assert told(plain(), DEFAULT, SPACE[1], SPACE[1]).ratios() == {
        SPACE[1]: pytest.approx(log(5 / 7))
    }


def test_anew_it_begins_again_without_what_failed():
    chooser = told(plain(), *SPACE * 3).tell(Failed(SPACE[1], "no")).anew()

    assert chooser.policy == Sweep(SPACE).tell(Failed(SPACE[1], "no"))
    assert (chooser.times, chooser.failed) == ({}, {SPACE[1]})
    assert chooser.incumbent().config == DEFAULT
    assert told(chooser, *(SPACE[0], SPACE[2], SPACE[3]) * 3).incumbent().config == SPACE[2]


@given(
    st.sampled_from(NAMES[1:]),
    st.lists(st.tuples(st.sampled_from(SPACE), st.floats() | st.just("fails")), max_size=40),
    st.sets(st.sampled_from(SPACE)),
)
def test_whatever_it_is_told_it_chooses_what_works(name, happened, ready):
    chooser = plain(name)
    for config, elapsed in happened:
        outcome = Failed(config, "no") if elapsed == "fails" else Timed(config, elapsed)
        chooser = chooser.tell(outcome)
    try:
        choice, keep = chooser.choose(ready | {DEFAULT}), chooser.incumbent(ready | {DEFAULT})
    except NothingToTry:
        assert chooser.failed
        return
    assert choice.config in (ready | {DEFAULT}) - chooser.failed
    assert keep.config in (ready | {DEFAULT}) - chooser.failed
    assert not set(chooser.wanted(16, ready | {DEFAULT})) & chooser.failed
