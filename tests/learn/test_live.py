"""Learning from live dispatches, on a device whose times come from a table."""

import sys
import threading
import time
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import count, product
from math import inf, log2

import numpy as np
import pytest

import vyre
from vyre import In, Out, f32
from vyre.backend.replay import Noise
from vyre.backend.replayed import GPU, Replayed
from vyre.errors import InvalidInput, NotRemembered
from vyre.learn import decider as decider_module
from vyre.learn import process, rules
from vyre.learn.deciders import Deciders
from vyre.learn.desk import Desk
from vyre.learn.gaps import Manners
from vyre.learn.pace import Pace
from vyre.learn.recorder import Recorder
from vyre.model import (
    Clocks,
    Code,
    Decision,
    DeviceKind,
    Measurement,
    Mode,
    Reason,
    Schedule,
    Timed,
    span,
)
from vyre.policy.measured import measured
from vyre.policy.natural_live import NaturalGradient
from vyre.runtime.call import dispatch
from vyre.runtime.compile.helper import Pending, Ready, Refused
from vyre.runtime.devices.device import Device
from vyre.runtime.devices.opening import opening_of
from vyre.store.memory import MemoryStore
from vyre.store.sqlite.database import Database

DEFAULT = Schedule((256, 1, 1), Code(checked=False))
WINNER = Schedule((128, 1, 1), Code(items=4, vector=4, checked=False))


def bowl(schedule):
    """Fastest at `WINNER`, and slower the further away; the default takes twice as long."""
    code = schedule.code
    away = abs(log2(schedule.workgroup[0] / 128)) + abs(log2(code.items / 4))
    away += abs(log2(code.vector / 4)) + (code.order != "strided")
    return 1e6 * (1 + 0.2 * away)


@dataclass
class Helper:
    """Answers at once, or when it is told to."""

    refuses: dict = field(default_factory=dict)  # by code: a Refused
    answers: bool = True
    asked: list = field(default_factory=list)
    waiting: list = field(default_factory=list)

    def submit(self, bundle, then=None):
        pending = Pending(then)
        self.asked.append(bundle)
        self.waiting.append((bundle, pending))
        if self.answers:
            self.answer()
        return pending

    def answer(self):
        for bundle, pending in self.waiting:
            ready = Ready((0,) * len(bundle.codes), 0.01)
            pending.settle(self.refuses.get(bundle.codes[0], ready))
        self.waiting = []


def make_kernel():
    @vyre.kernel
    def twice(x: In[f32], out: Out[f32]):
        i = vyre.gid()
        out[i] = x[i] + x[i]

    return twice


@dataclass
class Bench:
    """A kernel on a device of our own, with a memory of its own."""

    device: Device
    helper: Helper
    store: MemoryStore
    deciders: Deciders
    kernel: object = field(default_factory=make_kernel)
    recorder: Recorder = None

    def arrays(self, n):
        return self.device.array(np.arange(n, dtype=np.float32)), self.device.zeros(n, np.float32)

    def call(self, times, n=1 << 14, done=lambda _: False):
        """Call until `done`, at most so often; every result is checked."""
        x, out = self.arrays(n)
        expected = 2 * np.arange(n, dtype=np.float32)
        for _ in range(times):
            self.kernel(x, out=out)
            assert np.array_equal(out, expected)
            out = self.device.zeros(n, np.float32) if out is None else out
            assert self.deciders.desk.drained(60)
            if done(self.standing(n)):
                return True
        return False

    def learner(self, n=1 << 14):
        found = [one for one in self.deciders.all() if one.workload.buckets[0] == n.bit_length()]
        return found[0] if found else None

    def standing(self, n=1 << 14):
        found = self.learner(n)
        return found.standing if found else None


@pytest.fixture
def bench(monkeypatch):
    """Makes a bench; nothing waits for the clock of the wall."""
    usual = Pace.beside
    no_wait = {"advance_s": 1e9, "shortest_s": 0.0, "resting_s": 0.0, "enough_s": 0.0}

    def make(times_ns=bowl, *, refuses=None, answers=True, store=None, pace=no_wait, **more):
        def at_once(*given, **named):
            return replace(usual(*given, **named), **{**no_wait, **pace})

        monkeypatch.setattr(Pace, "beside", at_once)
        store = store or MemoryStore()
        helper = Helper(refuses or {}, answers)
        deciders, recorder = (
            Deciders(Desk(Manners(look_s=0.0, rest_s=0.0, per_s=1e9))),
            Recorder(store, linger_s=0.01),
        )
        monkeypatch.setattr(dispatch, "helper_of", lambda _: helper)
        monkeypatch.setattr(process, "deciders", lambda: deciders)
        monkeypatch.setattr(process, "recorder", lambda: recorder)
        device = Device("replay:0", Replayed(times_ns, **more))
        return Bench(device, helper, store, deciders, recorder=recorder)

    return make


def adopted(schedule):
    return lambda s: s.decision.reason is Reason.ADOPTED and s.decision.config == schedule


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


def test_the_guess_runs_first_and_the_default_is_timed_by_the_third_call(bench):
    live = bench(answers=False)

    live.call(1)
    first = live.standing().decision
    live.call(2)

    launched = live.device.backend.launched
    assert launched[0] == first.config != DEFAULT
    assert first.reason is Reason.COLD_START
    assert first.gain is None
    assert launched[:3].count(DEFAULT) == 1


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


def test_the_first_call_builds_the_guess_the_default_and_a_few_more(bench):
    live = bench(answers=False)

    live.call(1)

    codes = live.device.codes(live.kernel.program)
    assert {live.device.backend.launched[0].code, DEFAULT.code, Code()} <= codes
    assert len(codes) <= live.device.backend.builds_first


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


def test_what_is_lost_stays_within_the_budget(bench):
    def worse(schedule):
        return 1e6 if schedule == DEFAULT else 3e6

    live = bench(worse)
    live.call(400)

    backend = live.device.backend
    lost = backend.spent_ns - 1e6 * len(backend.launched)
    assert lost <= 0.01 * backend.spent_ns + 20 * 1e6
    assert live.standing().decision.config == DEFAULT


class TestFaults:
    def test_a_candidate_that_fails_to_compile_is_dropped_with_its_reason(self, bench):
        live = bench()
        live.call(1)
        first = live.device.codes(live.kernel.program)
        legal = {one.code for one in live.standing().question.candidates}
        hung = Refused("the compiler hung for 30 s")
        live.helper.refuses = dict.fromkeys(legal - first, hung)

        live.call(300)

        failures = live.standing().failures
        assert {s.code for s in failures} == {b.codes[0] for b in live.helper.asked} > set()
        assert set(failures.values()) == {"the compiler hung for 30 s"}
        assert {s.code for s in live.device.backend.launched} <= first
        assert len({b.codes for b in live.helper.asked}) == len(live.helper.asked)

    def test_a_candidate_that_does_not_build_here_is_dropped(self, bench):
        refusal = {WINNER.code: "no such instruction"}
        live = bench()
        live.device.backend.refuses = refusal

        live.call(300)

        assert "no such instruction" in live.standing().failures.values()
        assert live.standing().decision.config.code != WINNER.code

    def test_a_candidate_that_fails_to_launch_is_dropped_and_the_call_gets_its_result(self, bench):
        live = bench(falls={WINNER: "out of registers"})

        live.call(400)

        assert live.standing().failures == {WINNER: "out of registers"}
        assert len(live.device.backend.launched) == 400

    def test_a_time_of_zero_drops_the_candidate(self, bench):
        live = bench(lambda s: 0.0 if s == WINNER else bowl(s))

        live.call(400)

        assert live.standing().failures == {WINNER: "the device gave a time of 0 ns"}

    def test_a_device_without_times_ends_learning_and_nothing_else(self, bench):
        live = bench(lambda _: 0.0)

        live.call(50)

        standing, launched = live.standing(), live.device.backend.launched
        assert standing.stopped.startswith("the device gave a time of 0 ns; ")
        assert standing.decision.detail == "the device gave a time of 0 ns, so the guess decides"
        assert set(launched[-9:]) == {launched[0]}

    def test_a_helper_that_is_broken_is_no_fault_of_the_candidates(self, bench):
        broken = Refused("the compile helper is closed", by_helper=True)
        live = bench()
        live.helper.refuses = {WINNER.code: broken}
        live.helper.submit = lambda _, then: _settled(Pending(then), broken)

        live.call(100)

        assert live.standing().failures == {}

    def test_what_failed_once_is_not_tried_by_the_next_process(self, bench):
        first = bench(falls={WINNER: "out of registers"})
        first.call(400)
        first.recorder.flush()

        second = bench(store=first.store)
        second.call(100)

        assert second.standing().failures == {WINNER: "out of registers"}
        assert WINNER not in second.device.backend.launched


def _settled(pending, answer):
    pending.settle(answer)
    return pending


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
        live = bench(noise=Noise(spread=0.02))
        for n in range(16_384, 17_200):
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


class TestStalls:
    """Whatever happens to a launch that was asked for, learning goes on or says why it ended."""

    @staticmethod
    def launching(monkeypatch, live, change):
        """Let `change` see each timed launch: its number, and a function that makes it."""
        backend, numbers = live.device.backend, count()
        launch = backend.launch

        def launched(*arguments, timed=False, **more):
            if not timed:
                return launch(*arguments, timed=timed, **more)
            return change(next(numbers), lambda: launch(*arguments, timed=timed, **more))

        monkeypatch.setattr(backend, "launch", launched)

    def call_through(self, live, kind, times=600):
        """Call, and go on after what is raised, until the winner is found; how often it raised."""
        raised = 0
        x, out = live.arrays(1 << 14)
        call = live.kernel.prepare(x, out=out) if kind == "prepared" else None
        for _ in range(times):
            try:
                call() if call else live.kernel(x, out=out)
            except (KeyboardInterrupt, RuntimeError, MemoryError):
                raised += 1
            assert live.deciders.desk.drained(60)
            if adopted(WINNER)(live.standing()):
                return raised
        pytest.fail(f"it stalled, asking for {live.standing().next}")

    @pytest.mark.parametrize("kind", ["call", "prepared"])
    @pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError, MemoryError])
    @pytest.mark.parametrize("launches", [False, True])
    def test_a_call_that_dies_between_asking_and_running(
        self, bench, monkeypatch, kind, error, launches
    ):
        live = bench()

        def dying(number, launch):
            if number % 3:
                return launch()
            if launches:
                launch()
            raise error

        self.launching(monkeypatch, live, dying)

        assert self.call_through(live, kind) > 0

    def test_a_call_that_takes_what_is_asked_for_and_never_says_more(self, bench):
        """An interrupt may come right after it was taken, where nothing can catch it."""
        live = bench(pace={"lost_s": 1e-4, "lost_at_latest_s": 1e-4})
        live.call(2)
        learner, lost = live.learner(), 0
        for _ in range(2000):
            if learner.asked and lost < 3:
                learner.taking()
                learner.asked.popleft()
                lost += 1
            if live.call(1, done=adopted(WINNER)):
                break

        assert lost == 3
        assert live.standing().decision.config == WINNER

    def test_a_launch_whose_time_is_given_up_is_asked_for_again(self, bench, monkeypatch):
        live, given_up = bench(), count()
        watch = live.deciders.desk.watch
        monkeypatch.setattr(
            live.deciders.desk,
            "watch",
            lambda ticket, then: then(None) if next(given_up) % 2 else watch(ticket, then),
        )

        assert live.call(900, done=adopted(WINNER))

    HOSTILE = (0, -1, -(2**63), 2**63 - 1, 2**64, float("nan"), float("inf"), 1.7e308)

    @pytest.mark.parametrize("elapsed", HOSTILE)
    def test_a_clock_that_goes_wrong_now_and_then_does_no_harm(self, bench, monkeypatch, elapsed):
        live = bench()

        def strange(number, launch):
            ticket = launch()
            return replace(ticket, ns=elapsed) if number % 20 == 7 else ticket

        self.launching(monkeypatch, live, strange)

        assert live.call(900, done=adopted(WINNER))
        assert live.standing().failures == {}

    @pytest.mark.parametrize("elapsed", HOSTILE)
    def test_a_schedule_that_only_gives_times_that_are_none_is_dropped(
        self, bench, monkeypatch, elapsed
    ):
        live = bench()
        backend = live.device.backend
        launch = backend.launch

        def strange(binary, grid, workgroup, *arguments, **more):
            ticket = launch(binary, grid, workgroup, *arguments, **more)
            found = Schedule(workgroup, binary.code) == WINNER
            return replace(ticket, ns=elapsed) if found else ticket

        monkeypatch.setattr(backend, "launch", strange)
        live.call(600)

        assert live.standing().failures == {WINNER: f"the device gave a time of {elapsed} ns"}
        assert live.standing().stopped == ""

    def test_a_piece_of_learning_that_fails_once_is_gone_without(self, bench, monkeypatch, caplog):
        live, turns, tell = bench(), count(), NaturalGradient.tell
        monkeypatch.setattr(
            NaturalGradient,
            "tell",
            lambda policy, outcome: 1 / 0 if next(turns) % 5 == 2 else tell(policy, outcome),
        )

        assert live.call(900, done=adopted(WINNER))
        assert "twice: a piece of learning failed" in caplog.messages

    @pytest.mark.parametrize("method", ["tell", "choose", "__post_init__"])
    def test_learning_that_cannot_go_on_says_why(self, bench, monkeypatch, method):
        live = bench()
        monkeypatch.setattr(NaturalGradient, method, lambda *_: 1 / 0)

        live.call(30)

        assert live.standing().stopped == ("learning failed: ZeroDivisionError('division by zero')")

    def test_rows_of_others_may_hold_any_number(self, bench):
        first = bench()
        first.call(3)
        of = first.learner().workload
        rows = [
            Measurement(
                writer="mallory", sequence=number, workload=of, outcome=Timed(schedule, ns),
                size=size, at_ns=at_ns,
            )
            for number, (schedule, ns, size, at_ns) in enumerate(
                product(
                    (DEFAULT, WINNER),
                    (0.0, 5e-324, 1e-3, 1e15, 1.7e308),
                    (0, 1, 2**63 - 1),
                    (0, 2**63 - 1),
                )
            )
        ]  # fmt: skip
        store = MemoryStore()
        store.append(rows)
        store.put(Decision(workload=of, config=DEFAULT, reason=Reason.DEFAULT, gain=inf))

        second = bench(store=store)

        assert second.call(900, done=adopted(WINNER))

    def test_what_the_desk_works_is_counted_by_its_own_clock(self, bench, monkeypatch):
        """On a busy machine, hours of the wall may pass while it works for a moment."""
        monkeypatch.setattr(decider_module.time, "thread_time", lambda: 0.0)
        hours = count(0, 3600)
        monkeypatch.setattr(decider_module.time, "perf_counter", lambda: float(next(hours)))
        live = bench(pace={"advance_s": 0.0})

        assert live.call(900, done=adopted(WINNER))


class TestTuning:
    """What `kernel.tune` decides, and when it looks again."""

    SHORT_S, LONG_S = 0.02, 60.0  # one that ends before anything is compiled; one that finishes

    def tune(self, live, budget_s, **more):
        x, out = live.arrays(1 << 12)
        return live.kernel.tune(x, out=out, budget_s=budget_s, **more)

    def test_what_measured_no_rival_decides_nothing(self, bench):
        live = bench(answers=False)

        decision = self.tune(live, self.SHORT_S)

        assert (decision.config, decision.reason) == (DEFAULT, Reason.DEFAULT)
        assert decision.detail == "no other schedule could be compiled in time"
        assert live.recorder.get(decision.workload) is None
        live.helper.answers = True
        assert self.tune(live, self.LONG_S).config == WINNER

    def test_what_was_remembered_stands_where_nothing_was_decided(self, bench):
        live = bench()
        before = self.tune(live, self.LONG_S)
        live.helper.answers = False

        again = self.tune(live, self.SHORT_S, again=True)

        assert (again.config, again.reason) == (WINNER, Reason.REMEMBERED)
        assert again.detail == (
            "no other schedule could be compiled in time; what was remembered stands"
        )
        assert live.recorder.get(before.workload) == before

    def test_what_cannot_be_run_is_no_decision_either(self, bench):
        live = bench()
        live.helper.submit = lambda _: _settled(Pending(), Refused("the compiler crashed"))

        decision = self.tune(live, self.LONG_S)

        assert decision.detail == "no other schedule could be run: the compiler crashed"
        assert live.recorder.get(decision.workload) is None

    def test_a_sweep_that_saw_everything_answers_whatever_time_is_given(self, bench):
        live = bench()
        first = self.tune(live, self.LONG_S)

        assert first.unfinished_s is None
        assert self.tune(live, 10 * self.LONG_S).reason is Reason.REMEMBERED

    def test_one_that_was_cut_short_is_looked_at_again_with_more_time(self, bench):
        live = bench()
        whole = self.tune(live, self.LONG_S)
        live.recorder.put(replace(whole, config=DEFAULT, reason=Reason.DEFAULT, unfinished_s=4.0))

        assert self.tune(live, 4.0).reason is Reason.REMEMBERED
        assert self.tune(live, 3.0).config == DEFAULT
        assert self.tune(live, self.LONG_S).config == WINNER

    def test_the_next_process_knows_that_it_was_cut_short(self, bench, tmp_path):
        path = tmp_path / "store.sqlite3"
        with closing(Database(path, writer="one")) as store:
            live = bench(store=store)
            whole = self.tune(live, self.LONG_S)
            live.recorder.put(replace(whole, unfinished_s=4.0))
            live.recorder.close()
        with closing(Database(path, writer="two")) as store:
            live = bench(store=store)

            assert self.tune(live, 4.0).reason is Reason.REMEMBERED
            assert self.tune(live, self.LONG_S).reason is Reason.ADOPTED
            live.recorder.close()

    def test_one_that_is_looked_at_again_begins_with_what_it_found_before(self, bench):
        live = bench()
        self.tune(live, self.LONG_S)
        live.helper.asked.clear()

        self.tune(live, self.LONG_S, again=True)

        assert live.helper.asked[0].codes == (WINNER.code,)

    def test_the_gain_of_a_decision_is_that_of_its_measurements(self, bench):
        live = bench(noise=Noise(spread=0.05))
        decision = self.tune(live, self.LONG_S)
        evidence = measured(live.recorder.measurements(decision.workload), DEFAULT)

        assert decision.default == DEFAULT
        assert decision.gain == evidence.of(WINNER).speed
        assert decision.gain == evidence.time_of(DEFAULT) / evidence.time_of(WINNER)


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


class TestModes:
    def test_off_measures_nothing_and_says_so(self, bench):
        live = bench()
        with vyre.mode("off"):
            x, out = live.arrays(1000)
            live.kernel(x, out=out)

        assert live.deciders.all() == ()
        assert live.kernel.explain().workloads[0].decision.reason is Reason.OFF

    def test_off_uses_what_is_remembered(self, bench):
        live = bench()
        assert live.call(600, done=adopted(WINNER))
        launched = live.device.backend.launched
        before = len(launched)

        with vyre.mode(Mode.OFF):
            x, out = live.arrays(1 << 14)
            live.kernel(x, out=out)

        assert launched[before:] == [WINNER]

    @pytest.mark.parametrize("setter", [lambda: vyre.mode("off"), vyre.freeze])
    def test_what_is_decided_later_is_known_at_once_where_nobody_learns(self, bench, setter):
        """Also by calls that were made before, and launched the default since."""
        live, launched = bench(), []
        x, out = live.arrays(1 << 14)
        with setter():
            prepared = live.kernel.prepare(x, out=out)
            for call in (lambda: live.kernel(x, out=out), prepared):
                call()
        assert set(live.device.backend.launched) == {DEFAULT}
        assert live.call(600, done=adopted(WINNER))

        with setter():
            for call in (lambda: live.kernel(x, out=out), prepared):
                live.device.backend.launched.clear()
                call()
                launched += live.device.backend.launched

        assert launched == [WINNER, WINNER]

    @pytest.mark.parametrize("setter", [lambda: vyre.mode("off"), vyre.freeze])
    def test_what_is_tuned_is_known_to_every_mode(self, bench, setter):
        live = bench()
        x, out = live.arrays(1 << 14)
        with setter():
            live.kernel(x, out=out)

        live.kernel.tune(x, out=out, budget_s=60.0)
        live.device.backend.launched.clear()
        with setter():
            live.kernel(x, out=out)
        with vyre.freeze(missing="error"):
            live.kernel(x, out=out)
        live.kernel(x, out=out)

        assert live.device.backend.launched == [WINNER] * 3

    def test_what_was_prepared_launches_what_was_tuned_since(self, bench):
        live = bench()
        x, out = live.arrays(1 << 14)
        prepared = live.kernel.prepare(x, out=out)
        prepared()

        live.kernel.tune(x, out=out, budget_s=60.0)
        assert live.deciders.desk.drained(60)
        live.device.backend.launched.clear()
        prepared()

        assert live.device.backend.launched == [WINNER]

    def test_what_is_tuned_under_a_freeze_is_used_and_kept(self, bench):
        live = bench()
        x, out = live.arrays(1 << 14)
        with vyre.freeze():
            tuned = live.kernel.tune(x, out=out, budget_s=60.0)
            live.device.backend.launched.clear()
            live.kernel(x, out=out)
        live.recorder.flush()

        assert tuned.config == WINNER
        assert live.device.backend.launched == [WINNER]
        assert [kept.decision.config for kept in live.store.kept()] == [WINNER]

    def test_a_first_call_that_found_nothing_is_not_waited_for_again(self, bench, monkeypatch):
        """Sizes of one workload share what a sweep came to, whether or not it decided anything."""
        live, sweeps = bench(), []
        decision = replace(live.kernel.tune(live.arrays(64)[0], budget_s=60.0), config=DEFAULT)
        monkeypatch.setattr(
            "vyre.runtime.call.dispatch.Dispatcher.sweep",
            lambda *_, **__: sweeps.append(1) or decision,
        )
        with vyre.mode("on"):
            for n in range(1 << 13, (1 << 13) + 5):
                x, out = live.arrays(n)
                live.kernel(x, out=out)

        assert sweeps == [1]

    @pytest.mark.parametrize("word", ["fast", 3, None])
    def test_a_mode_that_is_none_is_refused(self, word):
        with pytest.raises(InvalidInput) as caught, vyre.mode(word):
            pass

        assert caught.value.problem == f"no mode {word!r}"
        assert caught.value.fix == "use one of on, natural, ng, off, default"

    def test_what_mode_on_sweeps_is_run_by_calls_that_learn(self, bench):
        live = bench()
        live.call(1)
        x, out = live.arrays(1 << 14)
        with vyre.mode("on"):
            live.kernel(x, out=out)
        found = live.recorder.at_hand(live.kernel.explain().workloads[0].decision.workload)
        assert found.config != DEFAULT

        live.kernel(x, out=out)
        assert live.deciders.desk.drained(60)
        live.kernel(x, out=out)

        assert live.device.backend.launched[-1] == found.config

    def test_frozen_a_miss_is_the_default_or_an_error(self, bench):
        live = bench()
        x, out = live.arrays(1000)

        with vyre.freeze():
            live.kernel(x, out=out)
        with vyre.freeze(missing="error"), pytest.raises(NotRemembered) as caught:
            live.kernel(x, out=out)

        assert caught.value.problem == (
            "nothing is remembered for twice over 1,000 elements on a table of times, "
            "and this process is frozen"
        )
        assert caught.value.fix == (
            'tune it first, with twice.tune(...) on such arrays, or freeze with missing="default"'
        )
        assert rules.rule().mode is Mode.NATURAL_GRADIENT

    def test_freeze_asks_for_one_of_two_words(self):
        with pytest.raises(InvalidInput) as caught:
            vyre.freeze(missing="crash")

        assert caught.value.problem == "missing='crash'"
        assert caught.value.fix == 'pass "default" or "error"'

    def test_a_pinned_schedule_is_launched_and_not_learned_from(self, bench):
        live = bench()
        x, out = live.arrays(1 << 14)

        live.kernel(x, out=out, schedule=WINNER)

        assert live.device.backend.launched == [WINNER]
        assert live.deciders.all() == ()


class TestAnswers:
    def test_explain_says_what_runs_and_why(self, bench):
        live = bench()
        assert live.call(600, done=adopted(WINNER))

        said = str(live.kernel.explain())

        assert said.startswith(
            "twice: its result does not depend on how it is launched\n"
            "  as long as each invocation has its own elements of out[gid(0)]\n"
            "\n"
            "16,384 elements on replay:0\n"
            "  runs        128, 4 items strided, vectors of 4, "
        )
        assert "\n  because     adopted: the fastest; " in said
        assert "\n  default     256\n" in said
        assert all(len(line) <= 100 for line in said.splitlines())

    def test_explain_shows_what_was_measured_and_the_gain_of_that(self, bench):
        live = bench(noise=Noise(spread=0.05))
        assert live.call(600, done=adopted(WINNER))

        (one,) = live.kernel.explain().workloads
        evidence = measured(live.recorder.measurements(live.learner().workload), DEFAULT)

        assert one.evidence == evidence.fastest
        assert one.decision.gain == evidence.of(WINNER).speed
        lines = str(one).splitlines()
        for schedule in (WINNER, DEFAULT):
            took = span(evidence.time_of(schedule))
            assert any(took in line and line.endswith(schedule.text) for line in lines)

    def test_explain_of_what_was_tuned_shows_what_was_measured(self, bench):
        live = bench()
        x, out = live.arrays(1 << 12)
        tuned = live.kernel.tune(x, out=out, budget_s=60.0)
        with vyre.mode("off"):
            live.kernel(x, out=out)

        (one,) = live.kernel.explain().workloads

        assert (one.decision.config, one.decision.gain) == (tuned.config, tuned.gain)
        assert one.evidence[0].config == WINNER

    def test_explain_of_a_kernel_that_never_ran(self):
        said = str(make_kernel().explain())

        assert said.endswith("\n  it has not been called in this process")

    def test_explain_of_arguments_tells_of_such_calls_alone(self, bench):
        live = bench()
        live.call(3)
        live.call(3, n=1 << 10)
        x, out = live.arrays(1 << 10)

        (one,) = live.kernel.explain(x, out=out).workloads

        assert one.covers == (1 << 10,)

    def test_stats_count_calls_probes_and_failures(self, bench):
        live = bench(falls={WINNER: "out of registers"})
        live.call(400)

        stats = vyre.stats()

        assert stats.dispatches >= 400
        assert stats.probes > 0
        assert 0 < stats.explored < 0.5
        assert stats.saved_s > 0
        assert ("twice", WINNER, "out of registers") in stats.failures
        assert "dropped 128, 4 items strided, vectors of 4: out of registers" in str(stats)


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
