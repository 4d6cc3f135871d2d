"""Calls of a kernel that Vyre did not write: one config once, and the best is learned."""

import threading
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vyre
from vyre.adapter import beside, made
from vyre.adapter import calls as calls_module
from vyre.adapter.calls import Calls
from vyre.adapter.failure import Raised
from vyre.adapter.kind import Job, Kind
from vyre.adapter.trial.trials import Check
from vyre.learn.rules import rule
from vyre.runtime.compile.worker import Pending, Refused
from vyre.testing.foreign import Bench, TablePlace, failures, learning

SPACE = tuple(vyre.Knobs.of({"BLOCK": n}) for n in (256, 64, 128, 32))
DEFAULT, OTHER, BEST, LAST = SPACE
TIMES = dict(zip(SPACE, (1_000_000, 700_000, 400_000, 900_000), strict=True))


@dataclass
class Library:
    """A library of somebody's: it launches, and remembers what."""

    ran: list[vyre.Knobs] = field(default_factory=list)
    compiled: set[vyre.Knobs] = field(default_factory=lambda: set(SPACE))
    refuses: dict[vyre.Knobs, str] = field(default_factory=dict)  # to compile
    falls: dict[vyre.Knobs, Exception] = field(default_factory=dict)  # when launched
    ships: bool = False
    made: list[vyre.Knobs] = field(default_factory=list)

    def is_ready(self, config):
        return config in self.compiled

    def job(self, config):
        return (
            Job(entry="vyre.adapter.none:none", given={"config": config.text})
            if self.ships
            else None
        )

    def make(self, config):
        self.made.append(config)
        if config in self.refuses:
            raise vyre.DeviceFailed(self.refuses[config], "take another")
        self.compiled.add(config)

        def start(arguments, stream):
            if config in self.falls:
                raise self.falls[config]
            self.ran.append(config)
            return (*arguments, stream)

        return start


@dataclass
class Kernel:
    """An adapter as short as it can be."""

    library: Library = field(default_factory=Library)
    configs: tuple[vyre.Knobs, ...] = SPACE
    warm: bool = False
    left_out: tuple[str, ...] = ()
    calls: Calls = field(default_factory=lambda: Calls("twice"))
    entry: object = None

    def __post_init__(self):
        self.place = TablePlace(lambda: TIMES[self.library.ran[-1]])

    def __call__(self, *arguments, stream=0):
        entry = self.calls.find("key")
        if entry is None:
            kind = Kind(
                name="twice",
                text="source",
                place=self.place,
                configs=self.configs,
                sizes=(1000,),
                size=1000,
                left_out=self.left_out,
                warm=self.warm,
            )
            entry = self.calls.add("key", kind, self.library, arguments)
        self.entry = entry
        return entry.launch(arguments, stream)


def test_the_best_is_found_and_each_call_runs_one_config_once(bench):
    kernel = Kernel()

    assert bench.call(kernel, 600, lambda: kernel.entry.chosen == BEST)
    calls = len(kernel.library.ran)
    bench.call(kernel, 30)

    assert len(kernel.library.ran) == calls + 30
    assert kernel.library.ran[:3] == [DEFAULT] * 3


def test_a_call_gives_what_the_library_gives(bench):
    kernel = Kernel()

    assert kernel(1, "two", stream=7) == (1, "two", 7)
    bench.call(kernel, 50)
    assert kernel(3, stream=8) == (3, 8)


def test_where_all_is_ready_the_first_calls_time_one_each(bench):
    kernel = Kernel(warm=True)

    bench.call(kernel, 5)

    assert kernel.library.ran == [DEFAULT, DEFAULT, OTHER, BEST, LAST]


@settings(settings.get_profile("few"))
@given(
    st.lists(st.integers(10**5, 10**7), min_size=4, max_size=4),
    st.sets(st.sampled_from(SPACE[1:])),
    st.sets(st.sampled_from(SPACE[1:])),
    st.booleans(),
)
def test_whatever_fails_each_call_runs_one_config_once_and_gives_its_result(
    times, refused, falling, warm
):
    library = Library(
        compiled=set(SPACE) - refused,
        refuses=dict.fromkeys(refused, "out of registers"),
        falls=dict.fromkeys(falling, vyre.DeviceFailed("out of memory", "take less")),
    )
    kernel, given = Kernel(library, warm=warm), []
    with learning(Bench()) as bench:
        kernel.place.last_ns = lambda: dict(zip(SPACE, times, strict=True))[library.ran[-1]]
        bench.call(lambda: given.append(kernel(len(given))), 60)

        assert given == [(number, 0) for number in range(60)]
        assert len(library.ran) == 60
        assert not set(library.ran) & (falling | refused)
        assert kernel.entry.chosen.text not in failures(kernel.entry)


def test_what_cannot_be_compiled_is_dropped_and_no_call_hears_of_it(bench):
    library = Library(compiled={DEFAULT}, refuses={BEST: "out of registers"})
    kernel = Kernel(library)

    assert bench.call(kernel, 600, lambda: kernel.entry.chosen == OTHER)
    assert failures(kernel.entry) == {"BLOCK=128": "out of registers"}


def test_what_raises_anything_while_it_is_made_is_dropped_too(bench, monkeypatch):
    library = Library(compiled={DEFAULT})
    make = library.make

    def bad(config):
        if config == BEST:
            raise RuntimeError("compiler")
        return make(config)

    monkeypatch.setattr(library, "make", bad)
    kernel = Kernel(library)

    assert bench.call(kernel, 600, lambda: kernel.entry.chosen == OTHER)
    assert failures(kernel.entry) == {"BLOCK=128": "RuntimeError: compiler"}


def test_what_cannot_be_launched_is_dropped_and_the_default_runs_instead(bench):
    library = Library(falls={BEST: vyre.DeviceFailed("too many resources", "take fewer")})
    kernel = Kernel(library)
    given = []

    assert bench.call(lambda: given.append(kernel("x")), 400, lambda: failures(kernel.entry))
    assert set(given) == {("x", 0)}
    assert failures(kernel.entry) == {"BLOCK=128": "too many resources"}
    assert BEST not in library.ran


@pytest.mark.usefixtures("bench")
def test_what_the_library_raises_reaches_the_caller():
    kernel = Kernel(Library(falls={DEFAULT: TypeError("3 arguments")}))

    with pytest.raises(TypeError, match="3 arguments"):
        kernel()


def test_what_fails_with_the_default_as_well_is_the_callers(bench):
    library = Library()
    kernel = Kernel(library)
    assert bench.call(kernel, 600, lambda: kernel.entry.chosen == BEST)
    lost = vyre.DeviceFailed("the device is lost", "start again")
    library.falls = dict.fromkeys(SPACE, lost)

    with pytest.raises(vyre.DeviceFailed, match="the device is lost"):
        kernel()

    library.falls = {}
    kernel()
    assert kernel.entry.chosen == BEST  # it was not to blame


@pytest.mark.usefixtures("bench")
def test_what_a_function_raises_reaches_the_caller_as_it_was_raised():
    wrong = ValueError("3 rows")
    kernel = Kernel(Library(falls={DEFAULT: Raised(wrong)}))

    with pytest.raises(ValueError, match="3 rows") as caught:
        kernel()

    assert caught.value is wrong
    assert wrong.__context__ is None  # nothing of ours stands above it


def test_what_the_default_raises_as_well_is_what_the_caller_hears(bench):
    library = Library()
    kernel = Kernel(library)
    assert bench.call(kernel, 600, lambda: kernel.entry.chosen == BEST)
    wrong = ValueError("3 rows")
    library.falls = dict.fromkeys(SPACE, Raised(RuntimeError())) | {DEFAULT: Raised(wrong)}

    with pytest.raises(ValueError, match="3 rows") as caught:
        kernel()

    assert caught.value is wrong
    assert failures(kernel.entry) == {}


@pytest.mark.parametrize("mode", ["natural", "off"])
def test_what_fails_is_dropped_whoever_chose_it(bench, mode):
    kernel = Kernel(Library(falls={BEST: vyre.DeviceFailed("gone", "take another")}))
    bench.recorder.put(remembered(kernel))
    with vyre.mode(mode):
        given = [kernel("x"), kernel("x"), kernel("x")]

    assert given == [("x", 0)] * 3
    assert kernel.library.ran == [DEFAULT] * 3


def test_a_launch_whose_time_is_not_to_be_had_is_not_made_twice(bench):
    kernel = Kernel()

    def time(_, launch):
        launch()
        raise vyre.DeviceFailed("the clock is broken", "mend it")

    kernel.place.time = time
    for _ in range(20):
        bench.call(kernel, 1)

    assert kernel.library.ran == [DEFAULT] * 20
    assert failures(kernel.entry) == {}


def test_what_two_threads_make_at_once_is_blamed_alone_when_it_fails(bench):
    kernel = Kernel()
    bench.call(kernel, 1)
    site, made = kernel.entry.site, kernel.entry.made
    site.asked.clear()
    site.best = made.make(LAST)
    made.make(LAST)  # on another thread, which found nothing either
    kernel.library.falls[LAST] = vyre.DeviceFailed("no room", "take another")

    assert kernel(7) == (7, 0)
    assert kernel.library.ran[-1] == DEFAULT


def test_a_place_gets_ready_to_time_launches_only_where_any_are_timed(bench):
    def prepared(calling):
        kernel, seen = Kernel(), []
        kernel.place.prepare = lambda: seen.append(len(kernel.library.ran))
        calling(kernel)
        return seen

    def looked_at(kernel):
        kernel()
        kernel.calls.explain()

    with vyre.freeze():
        assert prepared(looked_at) == []
        assert prepared(lambda kernel: (kernel(), kernel.entry.tune((), copies=tuple))) == [1]
    assert prepared(looked_at) == [0]
    assert bench.deciders.desk.drained(60)


def test_a_device_without_times_runs_the_default(bench):
    kernel = Kernel(warm=True)
    kernel.place.time = lambda _, launch: launch() and None
    bench.call(kernel, 100)

    assert len(kernel.library.ran) == 100
    assert kernel.entry.chosen == DEFAULT


def test_an_interrupt_while_a_launch_is_timed_loses_nothing(bench):
    kernel = Kernel()
    raises = [KeyboardInterrupt()]
    time = kernel.place.time

    def interrupted(stream, launch):
        if raises:
            raise raises.pop()
        return time(stream, launch)

    kernel.place.time = interrupted
    with pytest.raises(KeyboardInterrupt):
        bench.call(kernel, 100)

    assert bench.call(kernel, 600, lambda: kernel.entry.chosen == BEST)


def test_a_choice_that_turns_unlaunchable_where_nobody_learns_gives_way(bench):
    library = Library()
    with vyre.mode("off"):
        kernel = Kernel(library)
        bench.recorder.put(remembered(kernel))
        kernel()
        assert library.ran == [BEST]
        library.falls = {BEST: vyre.DeviceFailed("gone", "take another")}
        kernel()
        kernel()

    assert library.ran == [BEST, DEFAULT, DEFAULT]
    assert "  because     default: BLOCK=128 was chosen, and failed: gone" in str(
        kernel.calls.explain()
    )


def remembered(kernel):
    kind = Kind(name="twice", text="source", place=kernel.place, configs=SPACE, sizes=(1000,))
    return vyre.Decision(workload=kind.workload, config=BEST, reason=vyre.Reason.ADOPTED, gain=2.0)


def test_in_a_capture_nothing_is_tried_timed_or_made(bench):
    kernel = Kernel(Library(compiled={DEFAULT}))
    bench.call(kernel, 20)
    timed, made_before = kernel.place.timed, list(kernel.library.made)
    kernel.place.capturing = True
    before = len(kernel.library.ran)

    bench.call(kernel, 20)

    assert kernel.place.timed == timed
    assert set(kernel.library.ran[before:]) <= set(made_before)


def test_a_choice_that_was_not_made_yet_is_not_made_in_a_capture(bench):
    kernel = Kernel()
    assert bench.call(kernel, 600, lambda: kernel.entry.chosen == BEST)
    kernel.entry.made.starts.pop(BEST)
    kernel.entry.site.best = None
    kernel.place.capturing = True

    kernel()

    assert kernel.library.ran[-1] == DEFAULT


def test_the_next_process_starts_with_what_was_learned(bench):
    kernel = Kernel()
    assert bench.call(kernel, 600, lambda: kernel.entry.chosen == BEST)
    bench.call(kernel, 20)

    with learning(bench.again()):
        second = Kernel()
        second()

    assert second.library.ran == [BEST]
    assert second.library.made == [BEST]
    assert second.entry.decision.reason is vyre.Reason.REMEMBERED


def made_beside():
    """Wait for what is made beside the calls."""
    beside.aside().submit(lambda: None, lambda: None).wait(600)


@pytest.mark.parametrize("mode", ["natural", "off"])
def test_no_call_waits_for_a_remembered_choice_that_is_not_made(bench, mode):
    going = threading.Event()
    library = Library(compiled={DEFAULT})
    make = library.make

    def slow(config):
        assert config == DEFAULT or going.wait(600)
        return make(config)

    library.make = slow
    kernel = Kernel(library)
    bench.recorder.put(remembered(kernel))
    with vyre.mode(mode):
        kernel()
        kernel()
        before = list(library.ran)
        going.set()
        made_beside()
        kernel()
        kernel()

    assert before == [DEFAULT, DEFAULT]
    assert library.ran[-1] == BEST
    assert library.made.count(BEST) == 1


@pytest.mark.parametrize("mode", ["natural", "off"])
def test_a_remembered_choice_that_cannot_be_made_any_more_is_dropped(bench, mode):
    library = Library(compiled={DEFAULT}, refuses={BEST: "out of registers"})
    kernel = Kernel(library)
    bench.recorder.put(remembered(kernel))
    with vyre.mode(mode):
        for _ in range(5):
            kernel()
            made_beside()
            assert bench.deciders.desk.drained(60)

    assert library.ran == [DEFAULT] * 5
    assert library.made.count(BEST) == 1
    assert kernel.entry.chosen == DEFAULT
    assert "out of registers" in str(kernel.calls.explain())


def test_one_call_at_a_time_looks_after_what_is_made(bench):
    library = Library(compiled={DEFAULT})
    kernel = Kernel(library)
    bench.recorder.put(remembered(kernel))
    with vyre.mode("off"):
        kernel()
        made_beside()
        library.compiled.discard(BEST)
        kernel.entry.made.starts.pop(BEST)
        with kernel.entry._fetching:
            kernel()

    assert library.ran == [DEFAULT, DEFAULT]


def test_a_space_without_what_is_remembered_starts_with_its_default(bench):
    kernel = Kernel()
    assert bench.call(kernel, 600, lambda: kernel.entry.chosen == BEST)

    with learning(bench.again()):
        second = Kernel(configs=(OTHER, LAST))
        second()

    assert second.library.ran == [OTHER]


def test_what_was_learned_is_explained(bench):
    kernel = Kernel(left_out=("BLOCK=2048: 1024 are allowed",))
    assert bench.call(kernel, 600, lambda: kernel.entry.chosen == BEST)
    bench.call(kernel, 20)

    head, guard, empty, where, *lines = str(kernel.calls.explain()).splitlines()

    assert head == "twice: that its configs compute the same is stated by its author"
    assert guard == "  not guarded: one that crashes or hangs does so here; check=True tries them"
    assert (empty, where) == ("", "1,000 elements on a table")
    assert "  runs        BLOCK=128" in lines
    assert "  left out    BLOCK=2048: 1024 are allowed" in lines


def test_before_a_call_there_is_little_to_explain():
    assert str(Calls("twice").explain()).endswith("\n  it has not been called in this process")


@pytest.mark.usefixtures("bench")
def test_frozen_it_runs_what_is_remembered_or_says_that_nothing_is():
    kernel = Kernel()
    with vyre.freeze(missing="error"), pytest.raises(vyre.NotRemembered) as caught:
        kernel()

    assert str(caught.value) == (
        "nothing is remembered for twice over 1,000 elements on a table, and this process is frozen"
        "\nFix: let it be learned first, in a process that is not frozen"
    )


@pytest.mark.usefixtures("bench")
def test_without_a_config_there_is_nothing_to_call():
    with pytest.raises(vyre.InvalidInput) as caught:
        Kernel(configs=())()

    assert str(caught.value) == "twice without a config\nFix: name at least one"


@pytest.mark.usefixtures("bench")
def test_ever_new_kinds_of_calls_forget_the_oldest():
    calls, library = Calls("twice"), Library()
    kind = Kind(name="twice", text="source", place=TablePlace(lambda: 1.0), configs=SPACE[:1])
    with vyre.mode("off"):
        for number in range(5000):
            calls.add(number, kind, library, ())

        assert calls.find(4999) is not None
        assert calls.find(0) is None


class Elsewhere:
    """A process that compiles, in the place of the real one."""

    def __init__(self, answer):
        self.answer, self.asked = answer, []

    def submit(self, job, then=None):
        self.asked.append(job.given["config"])
        pending = Pending(then)
        pending.settle(self.answer(job))
        return pending


def test_what_another_process_can_compile_is_compiled_there(bench, monkeypatch):
    library = Library(compiled={DEFAULT}, ships=True)

    def compiled(job):
        library.compiled |= {one for one in SPACE if one.text == job.given["config"]}
        return {}

    process = Elsewhere(compiled)
    monkeypatch.setattr(made, "compiling", lambda: process)
    kernel = Kernel(library)

    assert bench.call(kernel, 600, lambda: kernel.entry.chosen == BEST)
    assert "BLOCK=128" in process.asked


def test_what_that_process_refuses_is_dropped(bench, monkeypatch):
    library = Library(compiled={DEFAULT}, ships=True)
    process = Elsewhere(lambda job: Refused(f"{job.given['config']} does not fit"))
    monkeypatch.setattr(made, "compiling", lambda: process)
    kernel = Kernel(library)

    bench.call(kernel, 100)

    assert failures(kernel.entry)["BLOCK=64"] == "BLOCK=64 does not fit"
    assert library.ran.count(DEFAULT) == 100


def test_without_such_a_process_it_is_compiled_on_a_thread(bench, monkeypatch):
    library = Library(compiled={DEFAULT}, ships=True)
    process = Elsewhere(lambda _: Refused("it could not be started", by_helper=True))
    monkeypatch.setattr(made, "compiling", lambda: process)
    kernel = Kernel(library)

    def best():
        beside.aside().submit(lambda: None, lambda: None).wait(60)
        return kernel.entry.chosen == BEST

    assert bench.call(kernel, 400, best)


def test_tuning_on_purpose_works_on_copies_and_is_remembered(bench):
    kernel = Kernel()
    kernel("x")
    kernel.library.ran.clear()
    copies = []

    def copied(arguments):
        copies.append(tuple(arguments))
        return ("copy",)

    decision = kernel.entry.tune(("x",), copies=copied, budget_s=5.0)

    assert copies == [("x",)]
    assert (decision.config, decision.reason) == (BEST, vyre.Reason.ADOPTED)
    assert bench.recorder.get(kernel.entry.call.workload).config == BEST
    kernel.library.ran.clear()
    assert bench.deciders.desk.drained(60)
    kernel("x")
    assert kernel.library.ran == [BEST]


@pytest.mark.usefixtures("bench")
def test_tuning_leaves_out_what_cannot_run():
    library = Library(refuses={BEST: "no"}, compiled={DEFAULT, OTHER, LAST})
    kernel = Kernel(library)
    kernel()

    decision = kernel.entry.tune((), copies=tuple, budget_s=5.0)

    assert decision.config == OTHER


def test_calls_under_another_rule_are_decided_anew(bench):
    kernel = Kernel()
    assert bench.call(kernel, 600, lambda: kernel.entry.chosen == BEST)
    with vyre.mode("off"):
        kernel()
        frozen = kernel.entry
    kernel()

    assert frozen is not kernel.entry
    assert frozen.chosen == BEST


@pytest.mark.usefixtures("bench")
def test_kinds_of_one_workload_are_learned_together():
    kernel = Kernel()
    kernel()
    kind = Kind(
        name="twice", text="source", place=kernel.place, configs=SPACE, sizes=(1000,), size=1000
    )
    other = kernel.calls.add("another key", kind, kernel.library, ())

    assert other.site.decider is kernel.entry.site.decider
    assert replace(kind, size=900).workload == kind.workload


def test_tuning_compiles_elsewhere_what_can_be(bench, monkeypatch):
    library = Library(compiled={DEFAULT}, ships=True)

    def compiled(job):
        if job.given["config"] == OTHER.text:
            return Refused("it does not fit")
        library.compiled |= {one for one in SPACE if one.text == job.given["config"]}
        return {}

    process = Elsewhere(compiled)
    monkeypatch.setattr(calls_module, "compiling", lambda: process)
    kernel = Kernel(library)
    with vyre.mode("off"):
        kernel()

    decision = kernel.entry.tune((), copies=tuple, budget_s=600.0)

    assert decision.config == BEST
    assert sorted(process.asked) == sorted(one.text for one in SPACE[1:])
    assert OTHER not in library.ran
    assert bench.recorder.get(decision.workload).config == BEST


@pytest.mark.usefixtures("bench")
def test_what_is_not_compiled_in_time_is_left_out_of_a_sweep(monkeypatch):
    library = Library(compiled={DEFAULT}, ships=True)
    pending = []

    class Slow:
        def submit(self, _, then=None):
            pending.append(Pending(then))
            return pending[-1]

    monkeypatch.setattr(calls_module, "compiling", Slow)
    kernel = Kernel(library)
    with vyre.mode("off"):
        kernel()

    decision = kernel.entry.tune((), copies=tuple, budget_s=0.01)

    assert decision.detail == "no other config could be compiled in time"
    assert {one.poll().reason for one in pending} == {"it was no longer wanted"}


def test_what_was_remembered_stands_where_a_sweep_finds_nothing(bench, monkeypatch):
    kernel = Kernel()
    with vyre.mode("off"):
        kernel()
    bench.recorder.put(remembered(kernel))
    monkeypatch.setattr(kernel.place, "time", lambda *_: None)

    decision = kernel.entry.tune((), copies=tuple, budget_s=600.0)

    assert (decision.config, decision.reason) == (BEST, vyre.Reason.REMEMBERED)
    assert decision.detail == (
        "the default could not be measured: the device gives no times; what was remembered stands"
    )


@pytest.mark.usefixtures("bench")
def test_what_cannot_be_had_in_another_process_cannot_be_checked():
    kernel = Kernel(calls=Calls("twice", check=Check()))

    with pytest.raises(vyre.InvalidInput) as caught:
        kernel()

    assert str(caught.value) == (
        "check= of twice, which cannot be had in another process\nFix: leave check= out"
    )


@pytest.mark.usefixtures("bench")
def test_what_another_thread_says_of_the_rule_meanwhile_is_none_of_an_entry_s():
    """A call that was begun under one rule would be decided by the other from then on."""
    kernel = Kernel()
    kernel()
    entry, learns = kernel.entry, rule()
    with vyre.mode("off"):
        off = rule()
        kernel.calls.keep(("exactly",), entry)
        kernel.calls.alike("other", entry)
        assert kernel.calls.find("other") is None

    assert kernel.calls.find("other") is entry
    assert kernel.calls.again == {(learns, "exactly"): entry}
    assert off is not learns


def test_calls_beside_watched_ones_are_of_one_kind_and_measure_nothing(bench):
    """What runs within may run on the reference, and there is a rule for each block."""
    kernel = Kernel()
    for _ in range(5):
        with vyre.debug(show=False):
            bench.call(kernel, 5)

    assert len(kernel.calls.entries) == 1
    assert kernel.place.timed == 0
    assert kernel.library.ran == [DEFAULT] * 25
    assert bench.call(kernel, 600, lambda: kernel.entry.chosen == BEST)
