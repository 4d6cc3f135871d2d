import sys
from contextlib import closing
from itertools import count
from random import Random
from statistics import median

import numpy as np
import pytest

import vyre
from vyre import In, InOut, Out, f32, kernels, u32
from vyre.learn import process, rules
from vyre.model import Clocks, Code, Decision, Failed, Reason, Schedule
from vyre.plan.space import Space
from vyre.policy.contest import Contest, Late
from vyre.runtime.compile.helper import CompileHelper
from vyre.runtime.devices.launcher import Launcher
from vyre.store.open import open_store

DEFAULT = Schedule((64, 1, 1))
WIDE = Schedule((256, 1, 1))
SEVERAL = Schedule((64, 1, 1), Code(items=4))
MANY = tuple(
    Schedule((width, 1, 1), Code(items=items)) for items in (1, 2, 4, 8) for width in (32, 64, 128)
)


class Bench:
    """A device of which the true times are known, and what goes wrong on it."""

    def __init__(self, times: dict[Schedule, float], *, noise: float = 0.01) -> None:
        self.times, self.noise, self.rng = times, noise, Random(7)
        self.launches: list[Schedule] = []
        self.announced: list[Schedule] = []
        self.refused: dict[Schedule, str] = {}
        self.broken: dict[Schedule, str] = {}
        self.interrupt_at: int | None = None
        self.now = 0.0

    def announce(self, schedules) -> None:
        self.announced += schedules

    def wait(self, schedule) -> Failed | None:
        self.now += 0.1
        reason = self.refused.get(schedule)
        return Failed(schedule, reason) if reason else None

    def measure(self, schedule) -> float | Failed:
        self.launches.append(schedule)
        if len(self.launches) == self.interrupt_at:
            raise KeyboardInterrupt
        if schedule in self.broken:
            return Failed(schedule, self.broken[schedule])
        self.now += self.times[schedule] * 1e-9
        return self.times[schedule] * self.rng.lognormvariate(0, self.noise)

    def sweep(self, budget_s: float = 1000.0, **more):
        self.running = Contest(
            default=DEFAULT,
            candidates=tuple(self.times),
            ready=self,
            measure=self.measure,
            clock=lambda: self.now,
            budget_s=budget_s,
            rng=Random(0),
            **more,
        )
        return self.running.run()


class Compiling(Bench):
    """One whose compiler takes its time, beside the measuring, from the first announcement on."""

    def __init__(self, times, ready_at_s, **more) -> None:
        super().__init__(times, **more)
        self.ready_at_s = ready_at_s

    def wait(self, schedule) -> Failed | Late | None:
        ready_at = self.ready_at_s.get(schedule, 0.0)
        if ready_at > self.now + self.running.left_s:
            self.now += max(self.running.left_s, 0.0)
            return Late()
        self.now = max(self.now, ready_at)
        return None


def test_the_faster_schedule_wins_with_its_gain():
    swept = Bench({DEFAULT: 1000.0, WIDE: 500.0}).sweep()

    assert swept.winner == WIDE
    assert swept.gain is not None
    assert 1.9 < swept.gain.low <= swept.gain.middle <= swept.gain.high < 2.1
    assert swept.finished


def test_what_is_not_faster_with_confidence_leaves_the_default():
    swept = Bench({DEFAULT: 1000.0, WIDE: 999.9, SEVERAL: 1200.0}, noise=0.05).sweep()

    assert (swept.winner, swept.gain) == (DEFAULT, None)


@pytest.mark.parametrize("seed", range(5))
def test_among_many_that_are_equally_fast_one_wins(seed):
    """Those that were only lucky before the last rounds must not hide those that ran in them."""
    equal = [Schedule((width, 1, 1), Code(items=4)) for width in range(1, 80)]
    bench = Bench({DEFAULT: 1000.0, **dict.fromkeys(equal, 100.0)}, noise=0.2)
    bench.rng.seed(seed)

    swept = bench.sweep()

    assert swept.winner != DEFAULT
    assert swept.gain is not None
    assert 7 < swept.gain.middle < 13


def test_the_best_code_is_tried_at_every_workgroup():
    times = dict.fromkeys([DEFAULT, *MANY], 1000.0) | {MANY[8]: 400.0, MANY[6]: 600.0}
    times |= {MANY[7]: 500.0}

    swept = Bench(times).sweep()

    assert swept.winner == MANY[8]


def test_a_hopeless_candidate_is_measured_once_and_dropped():
    slow = Schedule((32, 1, 1), Code(items=2))
    bench = Bench({DEFAULT: 1000.0, slow: 100_000.0, WIDE: 800.0})

    swept = bench.sweep()

    assert swept.winner == WIDE
    assert bench.launches.count(slow) == 2  # once to warm up, once to see


def test_what_cannot_be_compiled_fails_with_its_reason_and_the_sweep_goes_on():
    bench = Bench({DEFAULT: 1000.0, SEVERAL: 10.0, WIDE: 500.0})
    bench.refused[SEVERAL] = "the compiler took more than 30 s"

    swept = bench.sweep()

    assert swept.winner == WIDE
    assert swept.failed == (Failed(SEVERAL, "the compiler took more than 30 s"),)
    assert SEVERAL not in bench.launches


def test_a_timer_that_fails_drops_its_candidate_alone():
    bench = Bench({DEFAULT: 1000.0, SEVERAL: 10.0, WIDE: 500.0})
    bench.broken[SEVERAL] = "the device gives no times"

    swept = bench.sweep()

    assert swept.winner == WIDE
    assert swept.failed == (Failed(SEVERAL, "the device gives no times"),)


def test_a_candidate_that_fails_later_does_not_win():
    bench = Bench({DEFAULT: 1000.0, WIDE: 100.0})
    measure, calls = bench.measure, count()

    def failing(schedule):
        broken = schedule == WIDE and next(calls) == 4
        return Failed(WIDE, "device lost") if broken else measure(schedule)

    bench.measure = failing

    assert bench.sweep().winner == DEFAULT


@pytest.mark.parametrize("launch", range(1, 25))
def test_an_interrupt_keeps_what_was_learned(launch):
    bench = Bench({DEFAULT: 1000.0, SEVERAL: 900.0, WIDE: 500.0})
    bench.interrupt_at = launch

    swept = bench.sweep()

    assert swept.interrupted
    assert not swept.finished
    assert sum(map(len, swept.samples.values())) <= launch
    assert swept.winner in (DEFAULT, WIDE, SEVERAL)


def test_a_budget_ends_the_search_and_what_was_found_is_decided():
    times = {DEFAULT: 1000.0, SEVERAL: 500.0} | dict.fromkeys(MANY, 1000.0) | {SEVERAL: 500.0}
    bench = Bench(times)

    swept = bench.sweep(budget_s=0.35)

    assert not swept.finished
    assert len(swept.samples) < 5
    assert swept.winner == SEVERAL


def test_compiling_begins_before_the_default_is_measured():
    bench = Bench({DEFAULT: 1000.0, SEVERAL: 500.0})
    measure, announced = bench.measure, []

    def first_told(schedule):
        announced.append(list(bench.announced))
        return measure(schedule)

    bench.measure = first_told
    bench.sweep()

    assert announced[0] == [SEVERAL]


@pytest.mark.parametrize("share", [0.1, 0.7, 0.9, 0.98])
def test_a_rival_is_waited_for_as_long_as_deciding_it_leaves_time(share):
    """A fixed share of the budget once went to waiting, and the rest was not needed."""
    bench = Compiling({DEFAULT: 1e6, SEVERAL: 3e4}, {SEVERAL: share * 4.0})

    swept = bench.sweep(budget_s=4.0)

    assert swept.winner == SEVERAL
    assert bench.now <= 4.1


def test_what_is_compiled_too_late_is_no_failure_and_leaves_nothing_decided():
    swept = Compiling({DEFAULT: 1e6, SEVERAL: 3e4}, {SEVERAL: 5.0}).sweep(budget_s=4.0)

    assert (swept.winner, swept.rivals, swept.failed) == (DEFAULT, 0, ())
    assert not swept.finished


def test_a_slow_kernel_still_gets_a_rival_and_a_decision():
    """Each launch of the default takes a quarter of the budget."""
    bench = Compiling({DEFAULT: 1e9, SEVERAL: 3e7}, {SEVERAL: 2.0})

    swept = bench.sweep(budget_s=4.0)

    assert swept.winner == SEVERAL
    assert (swept.pairs, bench.launches.count(DEFAULT)) == (3, 5)


def test_what_was_chosen_among_several_is_decided_by_new_pairs_alone():
    bench = Bench({DEFAULT: 1e6, SEVERAL: 3e5, WIDE: 3e5})

    swept = bench.sweep()

    assert swept.pairs == 15
    assert len(swept.samples[swept.winner]) == 18


@pytest.mark.parametrize("disturbed", [0.0, 0.1, 0.2])
@pytest.mark.parametrize("seed", range(12))
def test_a_gap_of_thirty_is_found_however_busy_the_machine_is(seed, disturbed):
    """Samples take up to a hundred times as long now and then, and the time is short."""
    bench = Compiling({DEFAULT: 2e7, SEVERAL: 7e5}, {SEVERAL: 3.0 + seed / 24}, noise=0.2)
    bench.rng.seed(seed)
    measure = bench.measure

    def busy(schedule):
        ns = measure(schedule)
        return ns * 100 ** bench.rng.random() if bench.rng.random() < disturbed else ns

    bench.measure = busy
    swept = bench.sweep(budget_s=4.0)

    assert swept.winner == SEVERAL
    assert swept.gain.middle > 10
    assert bench.now <= 6.0


def test_three_pairs_decide_no_small_gain():
    bench = Bench({DEFAULT: 1e8, WIDE: 0.9e8}, noise=0.08)

    swept = bench.sweep(budget_s=0.01)

    assert (swept.winner, swept.finished) == (DEFAULT, False)


@pytest.mark.parametrize("seed", range(20))
def test_what_is_adopted_is_faster_by_its_times_as_well(seed):
    """Half of the times are twice as long, so pairs and medians may tell different stories."""
    bench = Bench({DEFAULT: 1000.0, WIDE: 950.0})
    bench.rng.seed(seed)
    measure = bench.measure
    bench.measure = lambda schedule: measure(schedule) * bench.rng.choice((1.0, 2.0))

    swept = bench.sweep()

    if swept.winner == WIDE:
        assert median(swept.samples[WIDE]) < median(swept.samples[DEFAULT])


def test_times_of_two_modes_ask_for_more_pairs():
    """Every pair says 1.05, and yet the median of the faster one is the longer one at first."""
    bench = Bench({DEFAULT: 1000.0, WIDE: 950.0})
    turns = {DEFAULT: count(-5), WIDE: count(-4)}

    def measured(schedule):
        turn = next(turns[schedule])  # from 0 on, those that decide
        bench.now += 1e-6
        if turn < 0:
            return 1100.0 if schedule == WIDE else 1000.0
        return bench.times[schedule] * (2.0 if turn < 15 and turn % 2 == 0 else 1.0)

    bench.measure = measured
    swept = bench.sweep()

    assert swept.winner == WIDE
    assert swept.pairs > 15
    assert median(swept.samples[WIDE]) == 950.0


def test_times_that_go_on_contradicting_each_other_decide_nothing():
    bench = Bench({DEFAULT: 1000.0, WIDE: 950.0})
    turns = {DEFAULT: count(-5), WIDE: count(-4)}

    def measured(schedule):
        turn = next(turns[schedule])
        bench.now += 1e-6
        if turn < 0:
            return 1100.0 if schedule == WIDE else 1000.0
        return bench.times[schedule] * (2.0 if turn % 2 == 0 else 1.0)

    bench.measure = measured
    swept = bench.sweep()

    assert (swept.winner, swept.unclear) == (DEFAULT, WIDE)


def test_a_default_that_fails_half_way_ends_it_and_nothing_wins():
    bench = Bench({DEFAULT: 1000.0, WIDE: 100.0})
    measure, calls = bench.measure, count()

    def failing(schedule):
        broken = schedule == DEFAULT and next(calls) == 6
        return Failed(DEFAULT, "device lost") if broken else measure(schedule)

    bench.measure = failing
    swept = bench.sweep()

    assert (swept.winner, swept.gain, swept.finished) == (DEFAULT, None, False)
    assert swept.failed == (Failed(DEFAULT, "device lost"),)


def test_the_launch_that_loads_the_code_is_told_to_nobody():
    bench, heard = Bench({DEFAULT: 1000.0, WIDE: 500.0, SEVERAL: 600.0}), []

    swept = bench.sweep(told=heard.append)

    assert len(heard) == len(bench.launches) - 3
    told = {one: [o.elapsed_ns for o in heard if o.config == one] for one in bench.times}
    assert told == {schedule: list(times) for schedule, times in swept.samples.items()}


def test_what_fails_is_told_with_its_reason():
    bench, heard = Bench({DEFAULT: 1000.0, SEVERAL: 10.0}), []
    bench.broken[SEVERAL] = "out of registers"

    bench.sweep(told=heard.append)

    assert Failed(SEVERAL, "out of registers") in heard


def test_a_default_that_cannot_run_ends_it_at_once():
    bench = Bench({DEFAULT: 1000.0, WIDE: 500.0})
    bench.refused[DEFAULT] = "no"

    swept = bench.sweep()

    assert (swept.winner, swept.failed) == (DEFAULT, (Failed(DEFAULT, "no"),))


def test_progress_tells_the_best_so_far():
    seen = []

    Bench({DEFAULT: 1000.0, SEVERAL: 900.0, WIDE: 500.0}).sweep(report=seen.append)

    assert seen[-1].best == WIDE
    assert 1.9 < seen[-1].gain < 2.1
    assert [news.elapsed_s for news in seen] == sorted(news.elapsed_s for news in seen)


# -- through a kernel


@vyre.kernel
def heavy(x: In[f32], out: Out[f32]):
    i = vyre.gid()
    s = x[i]
    for _ in range(200):
        s = s * x[i] + 0.5
    out[i] = s


@vyre.kernel
def adding(x: In[u32], total: InOut[u32]):
    i = vyre.gid()
    total[i] += x[i]


@vyre.kernel(workgroup=16)
def bound(x: In[f32], out: Out[f32]):
    i = vyre.gid()
    out[i] = x[i] * f32(vyre.local_id())


def test_tuning_changes_nothing_the_caller_has():
    x, total = np.arange(500, dtype=np.uint32), np.ones(500, np.uint32)

    adding.tune(x, total, budget_s=1.0)

    assert total.tolist() == [1] * 500
    adding(x, total)
    assert np.array_equal(total, x + 1)


@vyre.kernel
def from_the_top(x: In[f32, 2], out: Out[f32, 2]):
    i, j = vyre.gid()
    out[i, j] = max(x[i, k] for k in range(x.shape[1])) - x[i, j]


@vyre.kernel(workgroup=vyre.among((8, 8), (16, 4)))
def stated(x: In[f32, 2], out: Out[f32, 2]):
    i, j = vyre.gid()
    out[i, j] = x[i, j] + f32(vyre.workgroup_size())


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0)])
@pytest.mark.parametrize("device", ["reference", "cpu"])
@pytest.mark.parametrize("kernel", [heavy, bound, from_the_top, stated])
def test_tuning_a_call_of_no_elements_says_so_and_keeps_nothing(kernel, device, shape):
    """Plans share out time among elements, so that a team's lanes were divided by none."""
    axes = shape if kernel in (from_the_top, stated) else (0,)
    x = vyre.open(device).array(np.zeros(axes, np.float32))

    made = kernel.tune(x)

    assert (made.reason, made.gain) == (Reason.DEFAULT, None)
    assert made.detail == "the call covers no element, so there is nothing to launch"
    assert process.recorder().get(made.workload) is None
    assert kernel(x).shape == axes


def test_a_second_tuning_is_answered_from_memory():
    x = np.ones(3000, np.float32)
    first = heavy.tune(x, budget_s=60.0)  # it ends when all is measured

    second = heavy.tune(x, budget_s=60.0)

    assert first.reason in (Reason.ADOPTED, Reason.DEFAULT)
    assert second.reason is Reason.REMEMBERED
    assert second.config == first.config


def test_a_sweep_keeps_the_clocks_that_its_timings_ended_at(monkeypatch):
    clocks = Clocks(mhz=1000, throttled=("heat",))
    monkeypatch.setattr(type(vyre.open().backend), "clocks", lambda _: clocks)

    made = heavy.tune(np.ones(3003, np.float32), budget_s=0.5, again=True)

    latest = max(process.recorder().measurements(made.workload), key=lambda row: row.at_ns)
    assert latest.outcome.clock == clocks.state


def test_what_is_tuned_in_a_frozen_process_is_remembered_like_any_other():
    """The error of a frozen miss says to tune; mode and freeze are about calls."""
    x, recorder = np.ones(70_000, np.float32), process.recorder()  # a size of its own
    with vyre.freeze(missing="error"):
        with pytest.raises(vyre.NotRemembered):
            heavy(x)
        made = heavy.tune(x, budget_s=60.0)
        heavy(x)
    assert recorder.flush()

    with closing(open_store(rules.current().cache_dir, writer="", read_only=True)) as store:
        kept = store.find(made.workload)

    assert kept is not None
    assert kept.decision.config == made.config


def test_a_remembered_choice_that_is_not_legal_answers_nobody():
    x = np.ones(3002, np.float32)
    workload = heavy.tune(x, budget_s=60.0).workload
    bad = Schedule((64, 1, 1), Code(items=1000))
    process.recorder().put(Decision(workload=workload, config=bad, reason=Reason.ADOPTED))

    again = heavy.tune(x, budget_s=60.0)

    assert again.reason is not Reason.REMEMBERED
    assert again.config != bad


def test_calls_after_tuning_give_the_same_bits():
    x = np.linspace(-0.9, 0.9, 3001, dtype=np.float32)
    before = heavy(x)

    heavy.tune(x, budget_s=3.0, again=True)

    assert np.array_equal(heavy(x), before)


def test_a_kernel_that_is_not_free_keeps_its_own_shape_and_says_why():
    decision = bound.tune(np.ones(64, np.float32), budget_s=1.0)

    assert decision.config.workgroup == (16, 1, 1)
    assert decision.reason is Reason.NOT_FREE
    assert "local_id(0) depends on the launch shape" in decision.detail
    again = bound.tune(np.ones(64, np.float32), budget_s=1.0)
    assert (again.reason, again.detail) == (Reason.REMEMBERED, decision.detail)


def test_where_there_is_one_schedule_only_that_is_the_decision(monkeypatch):
    x = np.ones(333, np.float32)
    monkeypatch.setattr(Launcher, "space", lambda *_: Space(DEFAULT, (DEFAULT,), ()))
    monkeypatch.setattr("vyre.runtime.call.tune.order", lambda space, *_: space.legal)
    monkeypatch.setattr("vyre.runtime.call.tune._measure", lambda *_: 1000.0)

    decision = heavy.tune(x, budget_s=5.0)

    assert (decision.reason, decision.detail) == (Reason.DEFAULT, "there is one schedule only")
    assert heavy.tune(x, budget_s=5.0).reason is Reason.REMEMBERED


def test_one_element_leaves_one_schedule_of_a_kernel_that_is_free():
    made = heavy.tune(np.ones(1, np.float32), budget_s=5.0)

    assert (made.reason, made.detail) == (Reason.DEFAULT, "there is one schedule only")


def test_every_schedule_of_the_space_gives_the_same_bits():
    device = vyre.devices()[0]
    x = device.array(np.linspace(-2, 2, 1237, dtype=np.float32))
    expected = np.asarray(kernels.gelu(x))
    launcher = kernels.gelu._dispatcher.launcher(device)
    numbers = launcher.numbers((1237, 1, 1), {"x": (1237,), "out": (1237,)}, {})
    legal = launcher.space(numbers, {"x": 64, "out": 64}).legal

    assert len(legal) > 10
    for schedule in Random(0).sample(legal, min(20, len(legal))):
        assert np.array_equal(np.asarray(kernels.gelu(x, schedule=schedule)), expected)


@pytest.mark.skipif(not vyre.devices()[0].backend.compiles, reason="nothing to compile")
@pytest.mark.parametrize(
    ("server", "what"),
    [
        ("import time; time.sleep(60)", "hangs"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "crashes"),
        ("print('nonsense', flush=True); input()", "says nonsense"),
    ],
    ids=["hangs", "crashes", "nonsense"],
)
def test_a_compiler_that_misbehaves_leaves_the_default_and_right_results(monkeypatch, server, what):
    device = vyre.devices()[0]
    helper = CompileHelper(device, time_limit_s=0.5, command=[sys.executable, "-c", server])
    monkeypatch.setattr("vyre.runtime.call.dispatch.helper_of", lambda _: helper)
    x = np.linspace(-1, 1, 700, dtype=np.float32)

    with helper:
        decision = kernels.exp_log.tune(x, budget_s=3.0, again=True)

    assert decision.config.code.items == 1, what
    reference = vyre.open("reference")
    expected = np.asarray(kernels.exp_log(reference.array(x)))
    assert np.allclose(kernels.exp_log(x), expected, rtol=1e-6)


def test_an_interrupt_reaches_the_user_after_what_was_learned_is_safe():
    x = np.linspace(-0.9, 0.9, 5003, dtype=np.float32)
    before = heavy(x)

    def stop(news):
        if news.measured > 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        heavy.tune(x, budget_s=5.0, progress=stop)

    assert np.array_equal(heavy(x), before)


def test_a_default_that_could_not_be_measured_is_said_so(monkeypatch):
    def silent(*arguments: object) -> Failed:
        return Failed(arguments[-1], "the device gives no times")

    monkeypatch.setattr("vyre.runtime.call.tune._measure", silent)

    decision = adding.tune(*np.ones((2, 77), np.uint32), again=True)

    assert decision.reason is Reason.DEFAULT
    assert decision.detail == "the default could not be measured: the device gives no times"
