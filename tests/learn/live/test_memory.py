"""What the next process, and a fork of this one, goes on from."""

import sys
import threading

import pytest

import vyre
from vyre import In, Out, f32
from vyre.backend.replay import Noise
from vyre.learn import decider as decider_module
from vyre.model import (
    Reason,
)
from vyre.testing.live import DEFAULT, WINNER, adopted


class TestMemory:
    def test_the_next_process_starts_with_what_was_remembered(self, bench):
        first = bench()
        assert first.call(600, done=adopted(WINNER))
        first.recorder.flush()

        second = bench(store=first.store)
        second.call(1)

        assert second.device.backend.launched == [WINNER]
        assert second.kernel.explain().workloads[0].decision.reason is Reason.REMEMBERED

    def test_the_next_process_goes_on_from_what_was_timed_before_anything_was_decided(self, bench):
        first = bench(lambda schedule: 1e6 if schedule == DEFAULT else 1.1e6)
        assert first.call(300, done=lambda s: s.ledger.probes > 3)
        first.recorder.flush()
        assert list(first.store.kept()) == []

        second = bench(store=first.store)
        second.call(1)

        timed = {row.outcome.config for row in first.store.measurements()}
        assert len(timed) > 1
        assert set(second.standing().policy.remembered) == timed

    def test_a_remembered_choice_that_lost_is_taken_back(self, bench):
        first = bench()
        assert first.call(600, done=adopted(WINNER))
        first.recorder.flush()

        def changed(schedule):
            return 1e6 if schedule == DEFAULT else 3e6

        second = bench(changed, store=first.store)
        assert second.call(200, done=lambda s: s.decision.config == DEFAULT)

        backend = second.device.backend
        assert backend.spent_ns <= 1.01 * 1e6 * len(backend.launched) + 20 * 1e6

    def test_a_new_size_starts_from_its_neighbour(self, bench):
        live = bench()
        assert live.call(600, done=adopted(WINNER))

        live.call(1, n=1 << 15)

        decision = live.standing(1 << 15).decision
        assert decision.config == WINNER
        assert decision.reason is Reason.TRANSFERRED
        assert live.device.backend.launched[-1] == WINNER

    def test_a_renamed_kernel_starts_from_its_lookalike(self, bench):
        live = bench()
        assert live.call(600, done=adopted(WINNER))

        @vyre.kernel
        def doubled(values: In[f32], result: Out[f32]):
            at = vyre.gid()
            result[at] = values[at] + values[at]

        x, out = live.arrays(1 << 14)
        doubled(x, out=out)
        live.deciders.desk.drained(60)

        decision = live.deciders.all()[-1].standing.decision
        assert decision.reason is Reason.TRANSFERRED
        assert decision.detail.startswith("the best guess, by other sizes or programs")

    def test_ever_different_sizes_of_one_bucket_converge(self, bench):
        """Some of which are whole tiles: what is fitted runs at those alone."""
        live = bench(noise=Noise(spread=0.02))
        for n in range(16_384, 32_768, 16):
            live.call(1, n=n)
            if adopted(WINNER)(live.standing()):
                break

        assert live.standing().decision.config == WINNER

    def test_tuning_on_purpose_ends_learning_of_that_size(self, bench):
        live = bench()
        live.call(20)
        x, out = live.arrays(1 << 14)

        live.kernel.tune(x, out=out, budget_s=0.5, again=True)

        assert live.deciders.all() == ()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("before", [0, 1, 5, 40, 80])
def test_a_fork_goes_on_to_learn_what_its_parent_was_learning(bench, monkeypatch, before):
    live, over = bench(noise=Noise(spread=0.02)), threading.Event()
    live.call(before)
    # As at any moment, more is to be done; the parent's thread does nothing here.
    live.deciders.desk.post(lambda: over.wait(60) and sys.exit())
    parents = live.deciders.desk._thread
    x, out = live.arrays(1 << 14)
    for _ in range(3):
        live.kernel(x, out=out)

    live.deciders.desk._begin()  # what a fork does to it: what was to be done is left to the parent
    learner = live.learner()
    monkeypatch.setattr(decider_module, "_deciders", {learner})
    learner._joining = threading.Lock()
    learner._joining.acquire()  # by the thread that is not copied
    decider_module._after_fork()

    assert live.call(600, done=adopted(WINNER))
    assert live.learner() is learner
    over.set()
    parents.join(60)


def test_a_fork_runs_what_its_parent_has_adopted(bench, monkeypatch):
    live = bench(noise=Noise(spread=0.02))
    assert live.call(600, done=adopted(WINNER))
    live.deciders.desk._begin()
    monkeypatch.setattr(decider_module, "_deciders", {live.learner()})
    decider_module._after_fork()
    launched = len(live.device.backend.launched)

    live.call(80)

    assert live.standing().decision.config == WINNER
    assert live.standing().question is not None
    assert live.device.backend.launched[launched:].count(WINNER) > 60
