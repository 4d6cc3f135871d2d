"""Learning from live dispatches, on a device whose times come from a table."""

import threading
import time
from dataclasses import replace
from itertools import count

import numpy as np
import pytest

import vyre
from vyre import In, Out, f32
from vyre.backend.replay import Noise
from vyre.model import (
    Clocks,
)
from vyre.runtime.devices.opening import opening_of
from vyre.testing.live import DEFAULT, WINNER, adopted, bowl


def test_it_finds_the_fastest_schedule_from_the_calls_alone(bench):
    live = bench(noise=Noise(spread=0.02))

    assert live.call(600, done=adopted(WINNER))

    standing = live.standing()
    assert standing.decision.gain == pytest.approx(bowl(DEFAULT) / bowl(WINNER), rel=0.2)
    assert standing.decision.confidence > 0.95
    assert standing.ledger.probes > 0
    assert live.recorder.get(standing.decision.workload).config == WINNER


def test_timings_are_kept_with_the_clocks_they_were_taken_at(bench):
    clocks = Clocks(mhz=1000, throttled=("power cap", "heat"))
    live = bench()
    live.device.backend.told_clocks = clocks

    live.call(30)
    live.recorder.flush()

    rows = list(live.store.measurements())
    assert {row.outcome.clock for row in rows} == {clocks.state}
    said = str(live.kernel.explain())
    assert f"  throttled   the device was, for {live.standing().ledger.throttled} of the " in said
    assert "launches timed (heat, power cap)" in said


def test_each_call_launches_exactly_one_variant_once(bench):
    live = bench()

    live.call(100)

    assert len(live.device.backend.launched) == 100


def test_an_accumulating_kernel_is_safe(bench):
    live = bench()

    @vyre.kernel
    def bump(x: vyre.InOut[f32]):
        i = vyre.gid()
        x[i] = x[i] + 1.0

    x = live.device.zeros(1 << 14, np.float32)
    for _ in range(120):
        bump(x)
        live.deciders.desk.drained(60)

    assert np.array_equal(x, np.full(1 << 14, 120, np.float32))


def test_what_is_not_ready_is_not_tried_and_no_call_waits_for_it(bench):
    live = bench(answers=False)
    live.call(30)
    assert live.helper.asked
    first = live.device.codes(live.kernel.program)

    live.helper.answer()
    live.call(30)

    tried = {schedule.code for schedule in live.device.backend.launched}
    asked = {code for bundle in live.helper.asked for code in bundle.codes}
    assert tried <= first | asked


def test_what_is_lost_stays_within_the_budget(bench):
    def worse(schedule):
        return 1e6 if schedule == DEFAULT else 3e6

    live = bench(worse)
    live.call(400)

    backend = live.device.backend
    lost = backend.spent_ns - 1e6 * len(backend.launched)
    assert lost <= 0.01 * backend.spent_ns + 20 * 1e6
    assert live.standing().decision.config == DEFAULT


def test_threads_share_what_is_learned_and_lose_no_timing(bench):
    live = bench()
    stop = time.monotonic() + 3
    wrong = []

    def work():
        x, out = live.arrays(1 << 14)
        expected = 2 * np.arange(1 << 14, dtype=np.float32)
        while time.monotonic() < stop:
            live.kernel(x, out=out)
            if not np.array_equal(out, expected):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    live.deciders.desk.drained(60)
    live.recorder.flush()

    assert not wrong
    learner = live.learner()
    assert learner.dispatches == len(live.device.backend.launched)
    kept = sum(s.count for s in live.recorder.summaries(learner.workload))
    assert kept == learner.standing.ledger.timings


def make_sum():
    @vyre.kernel
    def three(x: In[f32], out: Out[f32]):
        i = vyre.gid()
        out[i] = x[i] * 2.0 + x[i] * x[i] * 0.0

    return three


def test_what_was_timed_of_one_kernel_corrects_the_guess_of_another(bench):
    here = bench()
    assert here.call(2000, done=lambda s: s.policy is not None and len(s.policy.ratios()) > 1)
    assert here.device.correction is None  # nothing else was guessed since
    here.kernel = make_sum()
    here.call(2, n=1 << 16)
    correction = here.device.correction
    assert correction is not None
    assert correction.kernels == 1
    assert any(correction.shifts)
    workload = here.learner(1 << 16).workload
    launcher, numbers = here.device.launched[workload]
    opening = opening_of(launcher, numbers, {"x": 64, "out": 64}, workload, ())
    assert ", corrected by 1 kernel;" in opening.detail


def test_a_call_in_a_signals_handler_may_come_while_a_decider_is_made(bench):
    """It would wait for ever for the call that it came into."""
    live = bench()
    live.call(1)
    workload, deciders, made = live.learner().workload, live.deciders, live.learner()
    other = replace(workload, buckets=(3,))

    def make():
        assert deciders.find(workload) is made
        assert deciders.of(other, lambda: made) is made
        return "another"

    assert deciders.of(other, make) is made


class TestRoughTimes:
    """Where the host's time is a part of a short one, it says nothing."""

    @staticmethod
    def device(monkeypatch, live, *, rough):
        backend = live.device.backend
        launch = backend.launch

        def launched(*arguments, **more):
            return replace(launch(*arguments, **more), rough=rough())

        monkeypatch.setattr(backend, "launch", launched)
        monkeypatch.setattr(backend, "shortest_ns", 40e6, raising=False)

    def test_a_launch_too_short_for_its_timer_is_left_to_the_guess(self, bench, monkeypatch):
        live = bench()
        self.device(monkeypatch, live, rough=lambda: True)

        live.call(100)

        standing, launched = live.standing(), live.device.backend.launched
        assert standing.decision.config == launched[0] == launched[-1] != DEFAULT
        assert standing.decision.detail.endswith("timer, so the guess decides")
        assert standing.stopped.endswith("; tuning on purpose measures many in a row")

    def test_a_launch_that_nobody_would_notice_is_left_to_the_guess(self, bench, monkeypatch):
        live = bench()
        monkeypatch.setattr(live.device.backend, "unfelt_ns", 5e6, raising=False)

        live.call(100)

        standing, launched = live.standing(), live.device.backend.launched
        assert "little beside what a call costs" in standing.stopped
        assert standing.decision.config == launched[-1] != DEFAULT

    def test_rough_times_among_good_ones_are_left_out(self, bench, monkeypatch):
        live, turns = bench(), count()
        self.device(monkeypatch, live, rough=lambda: next(turns) % 3 == 0)

        assert live.call(900, done=adopted(WINNER))


class TestDrift:
    def test_a_choice_that_turns_slow_is_left(self, bench):
        slow = set()
        live = bench(lambda s: 5e6 if s in slow else bowl(s))
        assert live.call(600, done=adopted(WINNER))

        slow.add(WINNER)

        assert live.call(1500, done=lambda s: s.decision.config != WINNER)
