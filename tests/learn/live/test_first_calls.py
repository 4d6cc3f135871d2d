"""What the first calls launch, and what is timed beside them."""

import threading
from dataclasses import replace

import numpy as np
import pytest

from vyre.backend.replayed import GPU
from vyre.learn import decider as decider_module
from vyre.model import (
    Code,
    Decision,
    DeviceKind,
    Reason,
    Schedule,
)
from vyre.runtime.devices import opening as opening_module
from vyre.testing.live import DEFAULT


def test_the_guess_runs_first_and_the_default_is_timed_soon(bench):
    """In the third call, where the learner is heard of in time; a busy machine asks once more."""
    live = bench(answers=False)

    live.call(1)
    first = live.standing().decision
    live.call(9)

    launched = live.device.backend.launched
    assert launched[0] == first.config != DEFAULT
    assert first.reason is Reason.COLD_START
    assert first.gain is None
    assert launched.index(DEFAULT) in range(2, 6)


def test_the_first_call_builds_the_guess_the_default_and_a_few_more(bench):
    live = bench(answers=False)

    live.call(1)

    codes = live.device.codes(live.kernel.program)
    assert {live.device.backend.launched[0].code, DEFAULT.code, Code()} <= codes
    assert len(codes) <= live.device.backend.builds_first


def test_a_further_size_begins_on_what_is_loaded(bench):
    live = bench(answers=False)
    live.call(30)
    loaded = live.device.codes(live.kernel.program)

    live.call(1, n=1 << 20)
    live.call(1, n=(1 << 20) + 1)

    assert live.device.codes(live.kernel.program) == loaded
    assert live.device.backend.launched[-1].code in loaded


@pytest.mark.parametrize("ends", [False, True])
def test_calls_run_the_default_once_what_a_guess_may_cost_is_spent_and_nothing_weighs_it(
    bench, monkeypatch, ends
):
    asking, usual = threading.Event(), decider_module.asked

    def never(subject):
        while not asking.is_set():
            yield
        return (yield from usual(subject))

    monkeypatch.setattr(decider_module, "asked", never)
    monkeypatch.setattr(opening_module, "risk", lambda *_, **__: 0.1)
    live = bench(lambda schedule: 1e6 if schedule == DEFAULT else 3e6)
    x, out = live.arrays(1 << 14)

    def call(times):
        for _ in range(times):
            live.kernel(x, out=out)
            posted = threading.Event()
            live.deciders.desk.post(posted.set)
            assert posted.wait(10)

    call(1)
    limit = int(live.standing().limit)
    if ends:
        live.learner().stop("it is to end")
    call(limit + 100)

    launched = live.device.backend.launched
    assert launched[0] != DEFAULT
    assert set(launched[limit + 2 :]) == {DEFAULT}
    assert live.standing().decision.config == DEFAULT
    assert "may cost is spent" in str(live.kernel.explain())
    asking.set()
    assert live.deciders.desk.drained(60)


def test_the_default_is_timed_twice_as_soon_as_that_costs_little(bench):
    live = bench()

    assert live.call(200, done=lambda s: s.decision.reason is Reason.ADOPTED)

    assert live.standing().timed[DEFAULT] >= 2
    assert live.device.backend.launched.count(DEFAULT) <= 4


def test_a_guess_that_cannot_be_launched_is_dropped_and_the_default_runs(bench):
    first = bench()
    first.call(1)
    guess = first.device.backend.launched[0]
    live = bench(falls={guess: "out of registers"})

    live.call(20)

    assert live.device.backend.launched[0] == DEFAULT
    assert live.standing().failures[guess] == "out of registers"
    assert f"dropped     {guess.text}: out of registers" in str(live.kernel.explain())


def test_a_prepared_launch_of_a_guess_that_cannot_be_launched_runs_the_default(bench):
    first = bench()
    first.call(1)
    guess = first.device.backend.launched[0]
    live = bench(falls={guess: "out of registers"})
    x, out = live.arrays(1 << 14)
    launch = live.kernel.prepare(x, out=out)

    for _ in range(3):
        launch()

    assert np.array_equal(out, 2 * np.arange(1 << 14, dtype=np.float32))
    assert live.device.backend.launched[0] == DEFAULT


USUAL = Schedule((64, 1, 1), Code(checked=False))
"""A processor's default."""


class TestOnAProcessor:
    """Its cores are what learning works on as well."""

    @staticmethod
    def bench(bench, **more):
        return bench(info=replace(GPU, kind=DeviceKind.CPU, compute_units=2), **more)

    def test_guess_and_default_take_turns_before_anything_is_learned(self, bench):
        live = self.bench(bench, times_ns=lambda one: 1e6 if one == USUAL else 9e5)

        live.call(1)
        turns = len(live.learner()._opening)
        live.call(turns)
        before, asked = live.standing(), list(live.helper.asked)
        launched = live.device.backend.launched[: turns + 1]
        live.call(5)

        assert turns >= 2
        assert launched == [launched[0], *[USUAL, launched[0]] * (turns // 2)]
        assert before.question is None
        assert not asked
        assert live.standing().question is not None
        assert live.standing().timed[USUAL] >= turns // 2
        assert live.standing().decision.config == launched[0] != USUAL

    def test_a_guess_that_is_slower_is_left_at_once(self, bench):
        live = self.bench(bench, times_ns=lambda one: 1e6 if one == USUAL else 2e6)

        live.call(40)

        assert live.standing().decision.config == USUAL
        assert live.device.backend.launched[0] != USUAL
        assert live.device.backend.launched[-20:].count(USUAL) >= 18

    def test_who_looks_meanwhile_does_not_make_it_begin_sooner(self, bench):
        live = self.bench(bench, times_ns=lambda one: 1e6 if one == USUAL else 9e5)
        live.call(1)
        turns = len(live.learner()._opening)

        for _ in range(turns):
            live.call(1)
            assert live.kernel.explain().workloads[0].dispatches
            assert live.standing().question is None
        live.call(2)

        assert live.standing().question is not None
        assert live.device.backend.launched.count(USUAL) == turns // 2

    def test_an_interrupt_as_learning_begins_does_not_keep_it_from_that(self, bench, monkeypatch):
        live = self.bench(bench, times_ns=lambda one: 1e6 if one == USUAL else 9e5)
        live.call(1)
        live.call(len(live.learner()._opening))

        with monkeypatch.context() as patch:
            patch.setattr(live.learner(), "_post", interrupted)
            with pytest.raises(KeyboardInterrupt):
                live.call(1)
        live.call(3)

        assert live.standing().question is not None

    def test_an_interrupt_as_the_turns_begin_does_not_end_them(self, bench, monkeypatch):
        live = self.bench(bench, times_ns=lambda one: 1e6 if one == USUAL else 9e5)
        live.call(1)
        turns = len(live.learner()._opening)

        with monkeypatch.context() as patch:
            patch.setattr(live.deciders.desk, "called", interrupted)
            with pytest.raises(KeyboardInterrupt):
                live.call(1)
        live.call(turns)

        assert live.device.backend.launched.count(USUAL) == turns // 2

    def test_what_was_decided_before_for_a_further_size_runs_without_turns(self, bench):
        def times(one):
            return 1e6 if one == USUAL else 9e5

        small, large = 1 << 14, 1 << 16
        first = self.bench(bench, times_ns=times)
        first.call(1, large)
        question = first.learner(large)._subject.question()
        kept = Decision(
            workload=question.workload,
            config=Schedule((32, 1, 1), USUAL.code),
            reason=Reason.ADOPTED,
            gain=1.2,
            confidence=0.99,
            default=USUAL,
        )
        first.recorder.put(kept)
        first.recorder.flush()

        live = self.bench(bench, times_ns=times, store=first.store)
        live.call(1, small)
        live.call(1, large)

        assert kept.config in question.candidates
        assert live.standing(large).decision == replace(kept, reason=Reason.REMEMBERED)
        assert not live.learner(large)._opening
        assert live.standing(small).question is None

    @pytest.mark.parametrize("calls", [0, 1, 2, 3])
    def test_what_is_tuned_in_the_middle_of_the_turns_ends_them(self, bench, calls):
        live = self.bench(bench, times_ns=lambda one: 1e6 if one == USUAL else 9e5)
        x, out = live.arrays(1 << 14)
        prepared = live.kernel.prepare(x, out=out)
        for _ in range(calls):
            prepared()
        decision = live.kernel.tune(x, out=out, budget_s=60.0)
        assert live.deciders.desk.drained(10)
        tuned = len(live.device.backend.launched)

        for _ in range(20):
            prepared()
            assert live.deciders.desk.drained(10)

        assert set(live.device.backend.launched[tuned:]) == {decision.config}


def interrupted(*_given):
    raise KeyboardInterrupt
