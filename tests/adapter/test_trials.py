"""Configs are tried on copies, in a process that may die, before they serve."""

import ctypes
import json
import os
import signal
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import vyre
from vyre.adapter import beside
from vyre.adapter import tuned as tuned_module
from vyre.adapter.failure import Spoiled
from vyre.adapter.kind import Job
from vyre.adapter.trial import trials
from vyre.adapter.trial import tried as tried_module
from vyre.adapter.trial.trials import Check, Trials, pickled
from vyre.model import Knobs
from vyre.runtime.compile.worker import Pending, Refused
from vyre.testing.foreign import TablePlace, failures, learning

HERE = os.getpid()
TIMES_NS = {"first": 1_000_000, "right": 400_000}
FAULTS = {
    "exits": "the process that tried it ended with status 3",
    "illegal": "the process that tried it died with signal 11",
    "aborts": "the process that tried it died with signal 6",
    "hangs": "a run on copies took more than 2 s",
    "leaves": "SystemExit: 0",
    "forks": "the process that tried it ended with status 4",
    "raises": "ValueError: no such way",
    "wrong": "it differs from how=first: argument 0 has 1 of 4 elements that differ, such as 9.0 "
    "at 0, where it should be 2.0",
    "gives": "it differs from how=first: result 1 has 1 of 1 elements that differ, such as 5 "
    "at its one place, where it should be 4",
    "grows": "it differs from how=first: result 1 is numpy.ndarray, and not int",
    "more": "it differs from how=first: result 1 is a tuple of 2, and not int",
}


def double(x, how):
    """Double in place, in one of a few ways; the last of them are not to be trusted."""
    x *= 2
    match how:
        case "exits":
            os._exit(3)
        case "illegal":
            ctypes.string_at(0)
        case "aborts":
            os.abort()
        case "hangs":
            while True:
                time.sleep(60)
        case "leaves":
            raise SystemExit(0)
        case "forks":
            if os.fork():
                os._exit(4)  # and the other comes back, as if nothing were the matter
        case "raises":
            raise ValueError("no such way")
        case "wrong":
            x[0] = 9
        case "gives":
            return 5
        case "grows":
            return np.array([4, 4])
        case "more":
            return 4, np.array([4])
    return 4


@pytest.fixture
def place(monkeypatch):
    """The host, with the times of a table."""
    made = TablePlace(lambda: 1.0)
    monkeypatch.setattr(tuned_module, "HOST", made)
    return made


@pytest.fixture
def limited(monkeypatch):
    """What hangs is given two seconds, and what does not as long as a busy machine takes."""
    monkeypatch.setattr(
        beside.Jobs,
        "limit_s",
        lambda _, job: 2.0 if "hangs" in str(job.given.get("config")) else 600.0,
    )


def tuned_double(place, *ways, function=double, **more):
    ran = []

    def called(x, how):
        ran.append(how)
        return function(x, how)

    made = vyre.tuned(called, space={"how": ways}, check=True, **more)
    place.last_ns = lambda: TIMES_NS[ran[-1]]
    return made, ran


def all_tried():
    """Wait until all trials have ended that calls have asked for."""
    beside.trying().submit(Job(entry="vyre.adapter.none:none")).wait(600)


def call(bench, function, times, until=lambda: False):
    """Call and check what comes of it, until something is so."""
    for _ in range(times):
        x = np.float64([1, 2, 3, 4])
        assert function(x) == 4
        assert x.tolist() == [2, 4, 6, 8]
        assert bench.deciders.desk.drained(60)
        all_tried()
        if until():
            return True
    return False


def entry_of(function):
    (entry,) = function._calls._entries.values()
    return entry


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.usefixtures("limited")
def test_a_fault_is_found_on_copies_and_never_serves(bench, place, fault):
    function, ran = tuned_double(place, "first", fault, "right")

    assert call(bench, function, 600, lambda: entry_of(function).chosen["how"] == "right")
    call(bench, function, 20)

    assert failures(entry_of(function)) == {f"how={fault}": FAULTS[fault]}
    assert set(ran) == {"first", "right"}
    assert f"  dropped     how={fault}: {FAULTS[fault]}" in str(function.explain())


@pytest.mark.usefixtures("bench")
def test_what_a_fault_leaves_in_its_process_is_held_against_no_other(place):
    """As a device that met an address which is none refuses everything from then on."""

    def called(x, how):
        if how == "poisons":
            os.environ["VYRE_TEST_POISONED"] = "1"
        if "VYRE_TEST_POISONED" in os.environ:
            raise OSError(f"{how} is refused")
        return double(x, how)

    function, _ = tuned_double(place, "first", "poisons", "right", function=called)
    assert function(np.float64([1.0])) == 4
    admitted = entry_of(function).made.admitted
    answers = [
        admitted.trials.submit(admitted.default, Knobs.of({"how": how})).wait(600)
        for how in ("poisons", "right", "poisons", "first")
    ]

    poisoned = Refused("OSError: poisons is refused", answers[0].log)
    assert answers == [poisoned, {}, Refused(poisoned.reason, answers[2].log), {}]


@pytest.mark.usefixtures("bench")
def test_a_process_that_is_well_goes_on_after_what_a_config_raised(place):
    """Another one takes a second to come up, and many configs may raise."""
    function, _ = tuned_double(place, "first", "raises", "leaves", "right")
    assert function(np.float64([1.0])) == 4
    admitted, process = entry_of(function).made.admitted, beside.trying()._child
    answers = [
        admitted.trials.submit(admitted.default, Knobs.of({"how": how})).wait(600)
        for how in ("raises", "leaves", "right", "raises")
    ]

    assert beside.trying()._child is process is not None
    assert answers[2] == {}
    assert [answers[n].reason for n in (0, 1, 3)] == [
        FAULTS[how] for how in ("raises", "leaves", "raises")
    ]
    assert "ValueError: no such way" in answers[0].log


@pytest.mark.parametrize(
    ("first_s", "goes_on"), [(0.0, True), (tried_module._QUICK_S + 1, False)], ids=("quick", "slow")
)
def test_a_run_that_took_long_is_not_made_once_more(tmp_path, monkeypatch, first_s, goes_on):
    """The time for all runs of a trial is limited, and what it raised is to be heard."""
    ran, now = [], [0.0]

    def runs(settings, _):
        ran.append(settings["how"])
        now[0] += first_s
        if settings["how"] == "raises":
            raise ValueError("no such way")
        return []

    monkeypatch.setattr(tried_module.time, "monotonic", lambda: now[0])
    kept = tried_module._Call(runs, tmp_path, (), ())
    monkeypatch.setitem(tried_module._calls, "folder", kept)
    first, raises = (Knobs.of({"how": how}).value() for how in ("first", "raises"))
    given = {"folder": "folder", "first": first, "config": raises, "rtol": 0.0, "atol": 0.0}

    with pytest.raises(ValueError if goes_on else Spoiled):
        tried_module.tried(given)

    assert ran == ["first", "raises", *(["first"] if goes_on else [])]


def test_the_first_config_is_tried_too_and_the_first_that_ends_is_the_default(bench, place):
    function, ran = tuned_double(place, "exits", "right")
    x = np.float64([1.0])

    assert function(x) == 4

    assert ran == ["right"]
    assert bench.deciders.desk.drained(60)
    assert "  left out    how=exits: the process that tried it ended with status 3" in str(
        function.explain()
    )


@pytest.mark.usefixtures("bench")
def test_where_none_runs_the_caller_is_told(place):
    function, ran = tuned_double(place, "raises", "exits")

    with pytest.raises(vyre.DeviceFailed) as caught:
        function(np.float64([1.0]))

    assert str(caught.value) == (
        "no config could be run on copies; how=raises: ValueError: no such way\n"
        "Fix: mend the kernel, or leave check= out to see it fail in this process"
    )
    assert ran == []


def test_what_is_close_enough_serves(bench, place):
    function, _ = tuned_double(place, "first", "wrong", "right", atol=100.0)
    function(np.float64([1.0]))
    made, configs = entry_of(function).made, entry_of(function).call.subject.question().candidates

    trials = made.admitted.trials
    answers = [trials.submit(made.default, config).wait(600) for config in configs]

    assert answers == [{}, {}, {}]
    assert bench.deciders.desk.drained(60)
    assert str(function.explain()).splitlines()[1] == (
        "  checked: each ran on copies first, and wrote what the first does, "
        "within rtol=0, atol=100"
    )


def test_what_was_learned_serves_the_next_process_once_it_was_tried_there(bench, place):
    function, _ = tuned_double(place, "first", "right")
    assert call(bench, function, 600, lambda: entry_of(function).chosen["how"] == "right")
    call(bench, function, 20)

    with learning(bench.again()):
        second, ran = tuned_double(place, "first", "right")
        second(np.float64([1.0, 1.0, 1.0, 1.0]))

    assert ran == ["right"]


def test_what_serves_checked_and_unchecked_is_remembered_apart(bench, place):
    function, _ = tuned_double(place, "first", "right")
    loose, _ = tuned_double(place, "first", "right", rtol=0.5)
    for one in (function, loose):
        one(np.float64([1.0]))

    workloads = {entry_of(one).call.workload for one in (function, loose)}

    assert len(workloads) == 2
    assert all(bench.recorder.get(one) is None for one in workloads)


def test_calls_that_share_a_choice_share_its_trials(place, bench):
    function, _ = tuned_double(place, "first", "right")
    function(np.float64([1.0] * 5))
    function(np.float64([1.0] * 6))

    one, other = function._calls._entries.values()

    assert one.made.admitted is other.made.admitted
    assert bench.deciders.desk.drained(60)


@pytest.mark.usefixtures("bench")
def test_where_nothing_is_learned_nothing_is_tried(place):
    function, ran = tuned_double(place, "first", "right")
    with vyre.mode("off"):
        function(np.float64([1.0]))

    assert ran == ["first"]
    assert entry_of(function).made.admitted.trials is None


def test_tuning_on_purpose_tries_first_as_well(bench, place):
    function, ran = tuned_double(place, "first", "wrong", "right")
    x = np.float64([1, 2, 3, 4])

    decision = function.tune(x, budget_s=600.0)

    assert decision.config["how"] == "right"
    assert "wrong" not in ran
    assert x.tolist() == [1, 2, 3, 4]
    assert bench.recorder.get(decision.workload).config["how"] == "right"


def entry_with(function, config):
    """The entry of a function whose calls were decided by what is remembered."""
    function(np.float64([1.0] * 4))
    entry = entry_of(function)
    assert entry.decision.reason is vyre.Reason.REMEMBERED
    assert entry.chosen == config
    return entry


def put(bench, function, config):
    """Remember a config for a function, as an earlier process did."""
    with vyre.mode("off"):
        function(np.float64([1.0] * 4))
    workload = entry_of(function).call.workload
    function._calls._entries.clear()
    bench.recorder.put(
        vyre.Decision(workload=workload, config=config, reason=vyre.Reason.ADOPTED, gain=2.0)
    )


def test_where_what_is_remembered_fails_the_default_is_tried_before_it_serves(bench, place):
    function, ran = tuned_double(place, "first", "right")
    right = vyre.Knobs.of({"how": "right"})
    put(bench, function, right)
    entry = entry_with(function, right)
    ran.clear()

    def fail(*_):
        raise vyre.DeviceFailed("gone", "take another")

    entry.made.starts[right], entry.site.best = fail, fail
    assert entry.made.admitted.passed == {right}

    assert function(np.float64([1.0] * 4)) == 4

    assert ran == ["first"]
    assert entry.made.admitted.passed == {right, vyre.Knobs.of({"how": "first"})}


@pytest.mark.parametrize(("how", "serves"), [("right", True), ("wrong", False)])
def test_what_somebody_else_chose_is_tried_before_it_serves(bench, place, how, serves):
    function, _ = tuned_double(place, "first", "right", "wrong")
    function(np.float64([1.0] * 4))
    entry, config = entry_of(function), vyre.Knobs.of({"how": how})
    assert bench.deciders.desk.drained(60)
    all_tried()
    entry.made.admitted.passed.discard(config)

    if serves:
        assert entry.made(config) is not None
    else:
        with pytest.raises(vyre.DeviceFailed) as caught:
            entry.made(config)
        assert str(caught.value) == (
            f"how=wrong may not serve: {FAULTS['wrong']}\nFix: mend the kernel"
        )
    assert entry.made.default["how"] == "first"


class TestInside:
    """What the process does that may die, done in this one."""

    @pytest.fixture(autouse=True)
    def forgotten(self):
        yield
        tried_module._calls.clear()

    def given(self, folder, how, first="first"):
        one, other = (vyre.Knobs.of({"how": name}).value() for name in (first, how))
        return {"folder": str(folder), "first": one, "config": other, "rtol": 0.0, "atol": 0.0}

    @pytest.fixture
    def runs(self, monkeypatch):
        """The configs that ran there."""
        ran = []

        def made(kernel):
            assert kernel == {"name": "k"}

            def run(settings, arguments):
                ran.append(settings["how"])
                return [arguments[0] + (settings["how"] == "wrong")]

            return run

        monkeypatch.setattr(tried_module, "entry", lambda name: {"vyre.adapter.k:runs": made}[name])
        return ran

    def folder_of(self, tmp_path):
        np.save(tmp_path / "0.npy", np.float32([1, 2]))
        whole = {
            "entry": "vyre.adapter.k:runs",
            "kernel": {"name": "k"},
            "arguments": [{"array": "0.npy"}],
            "names": ["x"],
        }
        (tmp_path / "call.json").write_text(json.dumps(whole))
        return tmp_path

    def test_the_first_runs_once_for_all_that_are_compared_with_it(self, tmp_path, runs):
        folder = self.folder_of(tmp_path)

        assert tried_module.tried(self.given(folder, "first")) == {}
        assert tried_module.tried(self.given(folder, "right")) == {}
        with pytest.raises(vyre.InvalidInput) as caught:
            tried_module.tried(self.given(folder, "wrong"))

        # Then it is seen whether the process may judge others: what differs may have spoilt it.
        assert runs == ["first", "first", "right", "right", "wrong", "first"]
        assert str(caught.value) == (
            "it differs from how=first: x has 2 of 2 elements that differ, such as 2.0 at 0, "
            "where it should be 1.0\nFix: mend the kernel"
        )

    def test_another_first_runs_anew(self, tmp_path, runs):
        folder = self.folder_of(tmp_path)

        tried_module.tried(self.given(folder, "right"))
        tried_module.tried(self.given(folder, "first", first="right"))

        assert runs == ["first", "right", "right", "right", "first", "first"]

    def test_one_that_agrees_once_and_not_again_does_not_agree(self, tmp_path, runs, monkeypatch):
        made = tried_module.entry("vyre.adapter.k:runs")({"name": "k"})

        def run(settings, arguments):
            (given,) = made(settings, arguments)
            return [given + (runs.count("right") > 1)]

        monkeypatch.setattr(tried_module, "entry", lambda _: lambda _: run)
        with pytest.raises(Spoiled) as caught:  # by whatever it did, others would be judged there
            tried_module.tried(self.given(self.folder_of(tmp_path), "right"))

        assert runs == ["first", "right", "right"]
        assert str(caught.value.__cause__) == (
            "it differs from how=first when it runs again: x has 2 of 2 elements that differ, such "
            "as 2.0 at 0, where it should be 1.0\nFix: mend the kernel"
        )

    def test_one_that_takes_long_runs_once(self, tmp_path, runs, monkeypatch):
        monkeypatch.setattr(tried_module, "_AGAIN_S", 0.0)

        tried_module.tried(self.given(self.folder_of(tmp_path), "right"))

        assert runs == ["first", "right"]

    def test_it_holds_a_few_calls_at_most(self, tmp_path, runs):
        folders = []
        for number in range(12):
            (tmp_path / str(number)).mkdir()
            folders.append(self.folder_of(tmp_path / str(number)))
            tried_module.tried(self.given(folders[-1], "first"))

        assert len(runs) == 12
        assert len(tried_module._calls) == tried_module._MOST_CALLS


class TestWhatIsTaken:
    """What a process that may die is given, and what cannot be given to it."""

    def kept(self, *arguments, function=double, **named):
        variants = tuned_module._Calling(function)
        return Trials(variants, (arguments, named), Check())

    def run(self, made, how="right"):
        one, other = (vyre.Knobs.of({"how": n}) for n in ("first", how))
        return made.submit(one, other).wait(600)

    def test_copies_are_as_they_were_before_the_call(self):
        x = np.float64([1, 2, 3, 4])
        made = self.kept(x)
        x[:] = 100

        assert self.run(made, "wrong") == Refused(FAULTS["wrong"])
        assert self.run(made) == {}

    def test_arguments_by_name_and_in_lists_are_taken(self):
        def run(x, how, *, pair):
            x += pair[0]
            return x, pair[1]["y"] if how == "first" else pair[1]["y"] + 1

        made = self.kept(np.zeros(2), function=run, pair=[np.ones(2), {"y": 1}])

        assert self.run(made) == Refused(
            "it differs from how=first: result 2 has 1 of 1 elements that differ, such as 2 "
            "at its one place, where it should be 1"
        )

    @pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it is of the C library")
    def test_one_that_reads_what_nobody_wrote_is_found_out(self):
        def run(x, how):
            made = np.zeros_like(x) if how == "first" else np.empty_like(x)
            return made + x

        shown = self.run(self.kept(np.zeros(100_000), function=run))

        assert isinstance(shown, Refused)
        assert shown.reason.startswith("it differs from how=first: result 1 has 100,000 of ")

    @pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it is of the C library")
    def test_one_that_frees_what_is_not_its_own_is_found_out(self):
        def run(x, how, held={}):  # noqa: B006  # it outlives a call
            import ctypes

            held.setdefault("others", np.ones(1000))
            if how != "first":
                ctypes.CDLL(None).free(ctypes.c_void_p(held["others"].ctypes.data))
            return x + 1

        shown = self.run(self.kept(np.zeros(4), function=run))

        # It dies, unless somebody has been given by then what it frees for a second time.
        died, differs = "the process that tried it died with signal ", "it differs from how=first"
        assert shown.reason.startswith((died, f"{differs} when it runs again: "))
        assert self.run(self.kept(np.zeros(2))) == {}

    def test_one_is_not_blamed_for_what_one_that_differs_has_left_behind(self):
        def run(x, how):
            import sys

            if how == "spoils":
                sys.spoilt = True
                return x
            return x + 1 + hasattr(sys, "spoilt")

        made = self.kept(np.zeros(4), function=run)

        assert self.run(made, "spoils").reason.startswith("it differs from how=first: ")
        assert self.run(made, "right") == {}

    def test_nor_for_what_one_leaves_that_differs_when_it_runs_again(self):
        def run(x, how):
            import sys

            if how == "spoils":
                sys.times = getattr(sys, "times", -1) + 1
            return x + getattr(sys, "times", 0)

        made = self.kept(np.zeros(4), function=run)

        assert "when it runs again" in self.run(made, "spoils").reason
        assert self.run(made, "right") == {}

    def test_a_function_of_a_module_that_only_this_process_has_is_taken(self):
        assert self.run(self.kept(np.zeros(2))) == {}

    def test_its_folder_goes_when_nobody_holds_it(self):
        made = self.kept(np.zeros(2))
        folder = Path(str(made._folder))  # a path keeps the very text that it is made of
        assert (folder / "call.json").exists()

        del made

        assert not folder.exists()

    def test_a_forked_process_leaves_the_folder_where_it_is(self):
        made = self.kept(np.zeros(2))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of forking beside threads
            child = os.fork()
        if not child:
            folder = Path(str(made._folder))
            del made
            os._exit(0 if folder.exists() else 1)

        assert os.waitpid(child, 0)[1] == 0

    def test_what_cannot_be_copied_or_taken_is_refused(self):
        x = vyre.open("reference").array([1.0])

        with pytest.raises(vyre.InvalidInput) as caught:
            self.kept(x)

        assert str(caught.value) == (
            "((<DeviceArray float64[1] on reference:0>,), {}) cannot be had in another process: "
            "InvalidInput: <DeviceArray float64[1] on reference:0> cannot be pickled: it is in a "
            "device's memory\n"
            "Fix: leave check= out, or pass arrays and plain values"
        )

    def test_arguments_larger_than_a_quarter_of_what_is_free_are_refused(self, monkeypatch):
        monkeypatch.setattr("vyre.adapter.trial.copying.host.free_bytes", lambda: 100)

        with pytest.raises(vyre.InvalidInput) as caught:
            self.kept(np.zeros(100))

        assert str(caught.value) == (
            "check= copies 9,056 bytes of arguments with 8,256 around each array, and 100 bytes of "
            "memory are free\n"
            "Fix: try it on smaller arguments: at most 25 bytes may be copied"
        )

    def test_where_there_is_no_room_for_copies_it_is_said(self, monkeypatch, tmp_path):
        def full(*_, **__):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(trials.tempfile, "gettempdir", lambda: str(tmp_path))
        monkeypatch.setattr(trials.json, "dumps", full)

        with pytest.raises(vyre.StoreFailed) as caught:
            self.kept(np.zeros(2))

        assert str(caught.value) == (
            f"check= could not write copies to {tmp_path}: [Errno 28] No space left on device\n"
            "Fix: make room there, or set TMPDIR to another folder"
        )

    def test_a_process_that_cannot_be_started_drops_what_it_should_have_tried(self, monkeypatch):
        jobs = beside.Jobs(beside.Spoken("the process that tried it", "a run on copies"))
        jobs._command = lambda: ("/no/such/python",)
        monkeypatch.setattr(trials, "trying", lambda: jobs)
        made = self.kept(np.zeros(2))

        with jobs:
            answer = self.run(made)

        assert answer.reason == (
            "the process that tried it could not be started: "
            "[Errno 2] No such file or directory: '/no/such/python'"
        )


class TestCheck:
    def test_bitwise_is_what_is_asked_for_unless_it_is_said(self):
        assert Check.of(True) == Check(rtol=0.0, atol=0.0)
        assert Check.of(True).text == "bitwise"
        assert Check.of(True, 1e-3).text == "within rtol=0.001, atol=0"
        assert Check.of(False) is None

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            (
                (1, 0.0, 0.0),
                "check=1\nFix: pass True or False; rtol= and atol= say how close",
            ),
            (
                (False, 0.1, 0.0),
                "rtol=0.1, atol=0.0 without check=True\n"
                "Fix: pass check=True as well, or leave them out",
            ),
            ((True, -1.0, 0.0), "rtol=-1.0\nFix: give a number of at least 0"),
            ((True, 0.0, float("nan")), "atol=nan\nFix: give a number of at least 0"),
            ((True, True, 0.0), "rtol=True\nFix: give a number of at least 0"),
            ((True, "0.1", 0.0), "rtol='0.1'\nFix: give a number of at least 0"),
        ],
    )
    def test_what_is_no_tolerance_is_refused(self, given, said):
        with pytest.raises(vyre.InvalidInput) as caught:
            Check.of(*given)

        assert str(caught.value) == said


def test_where_there_is_no_process_to_try_it_in_the_first_serves_alone(bench, place, monkeypatch):
    jobs = beside.Jobs(beside.Spoken("the process that tried it", "a run on copies"))
    jobs.close()
    monkeypatch.setattr(trials, "trying", lambda: jobs)
    function, ran = tuned_double(place, "first", "right")

    for _ in range(20):
        assert function(np.float64([1.0])) == 4
        assert bench.deciders.desk.drained(60)

    assert set(ran) == {"first"}
    assert failures(entry_of(function)) == {"how=right": "the process that tried it is closed"}


@pytest.mark.usefixtures("bench")
def test_a_trial_whose_caller_was_interrupted_holds_up_nobody(place, monkeypatch):
    handed = []

    class Interrupted(Pending):
        def wait(self, *_):
            raise KeyboardInterrupt

    class Never:
        def submit(self, *_):
            handed.append(Interrupted())
            return handed[-1]

    monkeypatch.setattr(trials, "trying", Never)
    function, _ = tuned_double(place, "first", "right")

    with pytest.raises(KeyboardInterrupt):
        function(np.float64([1.0]))

    assert [one.poll() for one in handed] == [Refused("it was no longer wanted", by_helper=True)]


def test_who_is_interrupted_while_the_thread_starts_does_not_start_another(monkeypatch):
    start, jobs = threading.Thread.start, beside.Jobs(beside.Spoken("a process", "its work"))

    def interrupted(thread):
        start(thread)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            jobs.submit(Job(entry="vyre.adapter.none:none"))
    threads = [one for one in threading.enumerate() if one.name == "vyre-compile"]
    before = len(threads)

    with jobs:
        answers = [jobs.submit(Job(entry="vyre.adapter.none:none")) for _ in range(2)]

        assert [one.wait(600).by_helper for one in answers] == [False, False]
        serving = [one for one in threading.enumerate() if one.name == "vyre-compile"]
        assert len(serving) == before


def test_a_process_that_was_killed_starts_anew():
    made = Trials(tuned_module._Calling(double), ((np.zeros(2),), {}), Check())
    first = vyre.Knobs.of({"how": "first"})
    assert made.submit(first, first).wait(600) == {}
    os.kill(beside.trying()._child.pid, signal.SIGKILL)

    answers = [made.submit(first, first).wait(600) for _ in range(2)]

    assert answers[1] == {}
    assert os.getpid() == HERE


def test_modules_are_looked_for_as_in_the_caller_whatever_else_stands_there(monkeypatch):
    monkeypatch.setattr(trials.sys, "path", [*trials.sys.path, Path("/nowhere"), None])

    searched = beside.Jobs(beside.Spoken("a process", "its work"))._variables["PYTHONPATH"]

    assert searched == os.pathsep.join(trials.sys.path[:-2])


def test_what_is_pickled_by_its_value_is_so_once():
    registered = trials.cloudpickle.list_registry_pickle_by_value()

    pickled((double, {"f": double}))

    assert trials.cloudpickle.list_registry_pickle_by_value() == registered
