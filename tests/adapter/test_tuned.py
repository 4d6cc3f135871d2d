"""Any function whose parameters change how fast it is: it is called as before."""

import contextlib
import copy
import gc
import inspect
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import SimpleNamespace

import cloudpickle
import numpy as np
import pytest

import vyre
from vyre.adapter import places
from vyre.adapter import tuned as tuned_module
from vyre.adapter.trial.trials import pickled
from vyre.model import DeviceKind
from vyre.testing.foreign import TablePlace, failures, learning

SPACE = {"block": (64, 128, 256)}
TIMES_NS = {64: 1_000_000, 128: 700_000, 256: 400_000}


@pytest.fixture
def ran():
    """The blocks that ran, in order."""
    return []


@pytest.fixture(autouse=True)
def place(monkeypatch, ran):
    """The host, with the times of a table."""
    made = TablePlace(lambda: TIMES_NS[ran[-1]])
    monkeypatch.setattr(tuned_module, "HOST", made)
    return made


@pytest.fixture
def double(bench, ran):
    """A function in place, which tells what ran."""
    assert bench is not None

    def double(x, y=2, *, block):
        """Double x."""
        ran.append(block)
        x *= y
        return x

    return vyre.tuned(double, space=SPACE)


def entries_of(function):
    return list(function._calls._entries.values())


def chosen(function):
    return entries_of(function)[-1].chosen["block"]


def test_the_best_is_found_from_calls_that_each_run_it_once(bench, double, ran):
    x, calls = np.ones(4), 0

    def call():
        nonlocal calls, x
        x, calls = np.ones(4), calls + 1
        assert double(x) is x
        assert x.tolist() == [2.0] * 4

    assert bench.call(call, 600, lambda: chosen(double) == 256)
    bench.call(call, 20)

    assert len(ran) == calls
    assert ran[-10:] == [256] * 10


def test_it_looks_like_the_function(double):
    assert double.__name__ == double.name == "double"
    assert double.__doc__ == "Double x."
    assert repr(double) == "<tuned double, 3 configs>"
    assert list(inspect.signature(double).parameters) == ["x", "y", "block"]


@pytest.mark.usefixtures("bench")
def test_it_decorates_functions_and_methods(ran):
    class Model:
        scale = 3

        @vyre.tuned(space=SPACE)
        def run(self, x, *, block):
            ran.append(block)
            return x * self.scale

    assert Model().run(2) == 6
    assert Model.run(Model(), 2) == 6
    assert ran == [64, 64]
    assert repr(Model.run) == "<tuned run, 3 configs>"


@pytest.mark.usefixtures("bench")
def test_something_that_is_called_and_has_no_name_is_tuned_too(ran):
    class Runs:
        def __call__(self, block):
            ran.append(block)

    vyre.tuned(Runs(), space=SPACE)()
    made = vyre.tuned(partial(ran.append), space=[{}])
    made(64)

    assert ran == [64, 64]
    assert made.name == "partial"


def test_the_next_process_starts_with_what_was_learned(bench, double, ran):
    assert bench.call(lambda: double(np.ones(4)), 600, lambda: chosen(double) == 256)
    bench.call(lambda: double(np.ones(4)), 20)

    ran.clear()  # it stands around the function, so what it holds is part of that
    with learning(bench.again()):
        again = vyre.tuned(double.__wrapped__, space=SPACE)
        again(np.ones(5))  # of the same doubling

    assert ran[-1] == 256
    assert again.decision(np.ones(5)).reason is vyre.Reason.REMEMBERED


def test_a_changed_function_starts_anew(bench, double, ran):
    assert bench.call(lambda: double(np.ones(4)), 600, lambda: chosen(double) == 256)

    def other(x, y=2, *, block):
        ran.append(block)
        return x * y

    with learning(bench.again()):
        vyre.tuned(other, space=SPACE)(np.ones(4))

    assert ran[-1] == 64


def test_a_decision_is_told_without_a_call(double, ran):
    decision = double.decision(np.ones(4))

    assert ran == []
    assert decision.config.text == "block=64"


@pytest.mark.usefixtures("bench")
def test_sizes_of_one_doubling_and_names_in_any_order_share_a_choice(ran):
    @vyre.tuned(space=SPACE)
    def f(x, y=None, *, n=0, m=0, block):
        ran.append((x, y, n, m, block))

    def workloads(*calls):
        before = len(entries_of(f))
        for args, kwargs in calls:
            f(*args, **kwargs)
        return {entry.call.workload for entry in entries_of(f)[before:]}

    x = np.ones
    assert len(workloads(((x(1000),), {}), ((x(900),), {}))) == 1
    assert len(workloads(((x(100),), {}), ((x(900),), {}), ((x(100, "f4"),), {}))) == 3 - 1
    f(1, n=1, m=2)
    known = len(entries_of(f))
    f(1, m=2, n=1)
    assert len(entries_of(f)) == known


@pytest.mark.parametrize("key", ["y", ("y",), lambda *_, **named: named.get("y", 2)])
@pytest.mark.usefixtures("bench")
def test_a_key_tells_calls_apart_exactly_and_nothing_else_does(key, ran):
    @vyre.tuned(space=SPACE, key=key)
    def f(x, y=2, *, block):
        ran.append((x, y, block))

    for y in (2, 3, True, 1, 1.0, float("nan"), -float("nan"), "2"):
        for n in (10, 1000):
            f(np.ones(n), y=y)
    f(np.ones(10))

    assert [entry.call.workload.traits for entry in entries_of(f)] == [
        *(("2",), ("3",), ("True",), ("1",), ("1.0",), ("nan",), ("'2'",))
    ]
    assert {entry.call.workload.buckets for entry in entries_of(f)} == {()}


@pytest.mark.usefixtures("bench")
def test_a_key_that_gives_no_plain_values_is_refused():
    made = vyre.tuned(plain, space=SPACE, key=lambda x: (1, x.shape))

    with pytest.raises(vyre.InvalidInput) as caught:
        made(np.ones(3))

    assert str(caught.value) == (
        "key= of plain gave (3,)\n"
        "Fix: give plain values: numbers, texts, True, False, None, or a tuple of them"
    )


def plain(x, /, n, *, block):
    return x, n, block


@pytest.mark.parametrize(
    ("function", "named", "said"),
    [
        (
            plain,
            {"space": {"blokc": (1, 2)}},
            "the space of plain names 'blokc', which is no parameter of plain\n"
            "Fix: name one of n, block",
        ),
        (
            plain,
            {"space": {"x": (1, 2)}},
            "the space of plain names 'x', which is no parameter of plain\n"
            "Fix: name one of n, block",
        ),
        (
            lambda: 0,
            {"space": {"block": (1, 2)}},
            "the space of <lambda> names 'block', which is no parameter of <lambda>\n"
            "Fix: name one of its parameters, of which there are none",
        ),
        (
            plain,
            {"space": SPACE, "key": ["n", "m"]},
            "key= of plain names 'm', which is no parameter of plain\nFix: name one of x, n",
        ),
        (
            plain,
            {"space": SPACE, "key": "nn"},
            "key= of plain names 'nn', which is no parameter of plain\nFix: name one of x, n",
        ),
        (
            plain,
            {"space": SPACE, "key": 3},
            "key=3 of plain\nFix: name parameters, or give a function of its arguments",
        ),
        (
            plain,
            {"space": SPACE, "key": "block"},
            "key= of plain names 'block', which Vyre sets\nFix: name one of x, n",
        ),
        (
            dict,
            {"space": SPACE, "key": "x"},
            "key='x' of dict, whose parameters are not to be had\n"
            "Fix: give a function of its arguments",
        ),
        (3, {"space": SPACE}, "3 cannot be called\nFix: give a function"),
        (
            plain,
            {"space": SPACE, "rtol": 0.1},
            "rtol=0.1, atol=0.0 without check=True\n"
            "Fix: pass check=True as well, or leave them out",
        ),
    ],
)
def test_what_cannot_be_tuned_is_refused_where_it_is_written(function, named, said):
    with pytest.raises(vyre.InvalidInput) as caught:
        vyre.tuned(function, **named)

    assert str(caught.value) == said


def test_a_function_that_takes_any_name_takes_any_space():
    assert vyre.tuned(lambda **settings: settings, space=SPACE)() == {"block": 64}


def test_what_vyre_sets_cannot_be_given(double):
    with pytest.raises(vyre.InvalidInput) as caught:
        double(np.ones(3), block=64)

    assert str(caught.value) == (
        "double() was given block, which Vyre sets\nFix: leave it out, or take it out of the space"
    )


def test_a_wrong_call_is_answered_by_the_function(double, ran):
    with pytest.raises(TypeError, match=r"double\(\) missing 1 required positional argument: 'x'"):
        double()

    assert ran == []


def test_what_raises_under_one_config_is_dropped_and_the_call_goes_on(bench, ran):
    @vyre.tuned(space=SPACE)
    def f(x, *, block):
        if block == 256:
            raise MemoryError("no room for 256")
        ran.append(block)
        return x

    assert bench.call(lambda: f(1), 600, lambda: chosen(f) == 128)

    assert failures(entries_of(f)[0]) == {"block=256": "MemoryError: no room for 256"}


def test_tuning_on_purpose_changes_nothing_of_the_callers(bench, double, ran):
    x = np.ones(4)
    seen = []

    decision = double.tune(x, budget_s=600.0, progress=seen.append)

    assert x.tolist() == [1.0] * 4
    assert decision.config.text == "block=256"
    assert bench.recorder.get(decision.workload).config == decision.config
    assert seen
    ran.clear()
    assert bench.deciders.desk.drained(60)
    double(x)
    assert ran == [256]


def test_tuning_refuses_copies_that_are_too_large(double, monkeypatch):
    monkeypatch.setattr("vyre.adapter.trial.copying.host.free_bytes", lambda: 40)

    with pytest.raises(vyre.InvalidInput) as caught:
        double.tune(np.ones(4))

    assert str(caught.value) == (
        "tuning double copies 32 bytes of arguments, and 40 bytes of memory are free\n"
        "Fix: try it on smaller arguments: at most 10 bytes may be copied"
    )


def test_an_interrupt_while_tuning_keeps_what_was_found(bench, double, place):
    left = [3]
    time = place.time

    def interrupted(stream, launch):
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return time(stream, launch)

    place.time = interrupted
    with pytest.raises(KeyboardInterrupt):
        double.tune(np.ones(4), budget_s=600.0)

    place.time = time
    assert bench.recorder.get(entries_of(double)[0].call.workload) is None
    assert double(np.ones(4)).tolist() == [2.0] * 4


def test_where_a_device_gives_no_times_tuning_says_so(double, place):
    place.time = lambda _, launch: [launch()].clear()

    decision = double.tune(np.ones(4), budget_s=600.0)

    assert decision.detail == ("the default could not be measured: the device gives no times")


def test_in_a_capture_a_call_of_a_new_kind_is_the_default_and_nothing_else(double, place, ran):
    place.capturing = True

    assert double(np.ones(2)).tolist() == [2.0] * 2
    with pytest.raises(vyre.InvalidInput) as caught:
        double.decision(np.ones(2))

    assert ran == [64]
    assert entries_of(double) == []
    assert place.timed == 0
    assert str(caught.value) == (
        "double() has had no such call, and what is launched now is captured\n"
        "Fix: ask before the capture, or after it"
    )


def test_threads_share_what_is_learned_and_each_call_runs_once(bench, ran):
    @vyre.tuned(space=SPACE)
    def f(x, number, *, block):
        ran.append(block)
        return x[0] + number

    def calls(first):
        x = np.zeros(4)
        return [f(x, number) for number in range(first, first + 500)]

    with ThreadPoolExecutor(4) as pool:
        given = list(pool.map(calls, (1000, 2000, 3000, 4000)))

    assert given == [list(range(first, first + 500)) for first in (1000, 2000, 3000, 4000)]
    assert len(ran) == 2000
    assert bench.deciders.desk.drained(60)
    assert entries_of(f)[0].site.decider.dispatches <= 2000


class TestWhere:
    """Where a function runs is where its arrays are, or as its author says."""

    class Array:
        """An array of a library's, on a device."""

    @pytest.fixture(autouse=True)
    def foreign(self, monkeypatch):
        class Kind:
            def see(self, _):
                if self.ordinal is None:
                    raise RuntimeError("it has no place")
                facts = {"device": self.ordinal, "dtype": "f4", "shape": (5,), "contiguous": True}
                return type("Seen", (), facts)

            def stream(self, ordinal):
                return 77 + ordinal

        kind = Kind()
        kind.name, kind.ordinal = "theirs", 1
        for module in ("vyre.adapter.tuned", "vyre.adapter.alike"):
            monkeypatch.setattr(
                f"{module}.kind_of", lambda one: kind if isinstance(one, self.Array) else None
            )
        return kind

    @pytest.fixture
    def gpu(self, monkeypatch):
        made, asked = TablePlace(lambda: 1.0), []
        monkeypatch.setattr(tuned_module, "cuda_functions", lambda n: asked.append(n) or made)
        made.asked = asked
        return made

    @pytest.mark.usefixtures("bench")
    def test_arrays_on_a_device_say_where_and_on_which_stream(self, gpu, double):
        place, stream = double._where((1, self.Array()), {})

        assert (place, stream) == (gpu, 78)
        assert gpu.asked == [1]

    @pytest.mark.parametrize("ordinal", [-1, None])
    @pytest.mark.usefixtures("bench")
    def test_arrays_of_others_on_the_host_or_nowhere_are_on_the_host(
        self, foreign, gpu, double, place, ordinal
    ):
        foreign.ordinal = ordinal

        assert double._where((), {"x": self.Array()}) == (place, 0)
        assert gpu.asked == []

    def test_a_device_that_is_named_is_it(self):
        reference = vyre.open("reference")
        made = vyre.tuned(plain, space=SPACE, device=reference)
        named = vyre.tuned(plain, space=SPACE, device="reference")

        for one in (made, named):
            found, stream = one._where((1,), {})
            assert found.info == reference.info
            assert stream == 0
        assert vyre.tuned(plain, space=SPACE, device="host")._place is tuned_module.HOST

    def test_a_device_that_is_not_there_is_refused(self):
        with pytest.raises(vyre.InvalidInput, match="no device"):
            vyre.tuned(plain, space=SPACE, device="nowhere")


class TestPlaces:
    """The host and a device, by their own clocks."""

    def test_the_host_times_a_launch_once(self):
        ran = []

        ticket = places.HOST.time(0, lambda: ran.append(1))

        assert ran == [1]
        assert ticket.elapsed_ns() >= 0
        assert not places.HOST.is_capturing(0)
        assert places.HOST.clocks() is None
        assert places.HOST.info.kind is DeviceKind.CPU
        assert places.HOST.pace.cores == 0

    def test_a_device_times_a_launch_once(self):
        place, ran = places.on_device(vyre.open("reference")), []

        ticket = place.time(0, lambda: ran.append(1))

        assert ran == [1]
        assert ticket.elapsed_ns() >= 0
        assert not place.is_capturing(0)
        assert place.clocks() is None
        assert place.info.backend == "reference"
        assert place.pace.advance_s >= 0.1


@pytest.mark.usefixtures("bench")
def test_arguments_may_have_any_name_and_be_of_any_kind(ran):
    class Named(dict):
        __getattr__ = dict.__getitem__

    class Raises:
        @property
        def __cuda_array_interface__(self):
            raise OSError("not now")

        def __dlpack_device__(self):
            raise NotImplementedError

    @vyre.tuned(space=SPACE)
    def f(*args, block, **named):
        ran.append(block)
        return [*args, *named.values()]

    loop = []
    loop.append(loop)
    for value in (
        *(
            Named(a=1),
            Raises(),
            loop,
            2**100_000,
            -(2**100_000),
            "\ud800",
            np.timedelta64("NaT", "D"),
        ),
        *(
            np.timedelta64(5, "D"),
            np.ma.masked,
            np.zeros((0, 3)),
            np.zeros(2, "i1,O"),
            float("nan"),
        ),
    ):
        assert f(value)[0] is value
    for name in ("self", "args", "kwargs", "name", "function", "stream", "key"):
        assert f(**{name: 3}) == [3]
        assert f.decision(**{name: 3}).config.text == "block=64"
    assert set(ran) == {64}


@pytest.mark.usefixtures("bench")
def test_a_name_that_a_program_made_moves_no_cursor():
    def f(*, block):
        return block

    f.__name__ = "\x1b[2Jf\nover"
    made = vyre.tuned(f, space=SPACE)

    assert made() == 64
    assert made.name == r"\x1b[2Jf\nover"
    assert str(made.explain()).startswith(r"\x1b[2Jf\nover: that its configs")


@pytest.mark.usefixtures("bench")
def test_what_vyre_sets_is_refused_at_every_call():
    @vyre.tuned(space=SPACE, key=("x",))
    def f(x, *, block):
        return x, block

    assert f(1) == (1, 64)
    with pytest.raises(vyre.InvalidInput) as caught:
        f(1, block=7)

    assert str(caught.value) == (
        "f() was given block, which Vyre sets\nFix: leave it out, or take it out of the space"
    )


@pytest.mark.usefixtures("bench")
def test_a_key_may_give_numbers_of_numpy_and_large_ones():
    @vyre.tuned(space=SPACE, key=("n",))
    def f(n, *, block):
        return n and block

    for n in (np.int64(5), 5, 10**5000, np.float32(0.5)):
        assert f(n) == 64

    assert [entry.call.workload.traits for entry in entries_of(f)] == [
        *(("5",), (hex(10**5000),), ("0.5",))
    ]


def generator(*, block):
    yield block


async def coroutine(*, block):
    return block


async def asynchronous(*, block):
    yield block


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (generator, "generator"),
        (coroutine, "coroutine"),
        (asynchronous, "asynchronous generator"),
    ],
)
def test_a_function_whose_calls_are_over_before_it_has_run_is_refused(function, kind):
    with pytest.raises(vyre.InvalidInput) as caught:
        vyre.tuned(function, space=SPACE)

    assert str(caught.value) == (
        f"{function.__name__} is a {kind} function, whose calls are over before it has run\n"
        "Fix: tune a function that does its work and returns, and call that from it"
    )


@vyre.tuned(space=SPACE)
def of_a_module(x, *, block):
    return x + block


def test_it_is_pickled_by_its_name_as_functions_are(monkeypatch):
    monkeypatch.setitem(sys.modules, __name__, SimpleNamespace(of_a_module=of_a_module))

    assert cloudpickle.loads(cloudpickle.dumps(of_a_module)) is of_a_module
    assert copy.deepcopy([of_a_module])[0] is of_a_module


def test_in_another_process_it_runs_under_its_default():
    other = cloudpickle.loads(pickled(lambda x: of_a_module(x)))

    assert other(1) == 65


@pytest.mark.parametrize("failing", [(64,), (128, 256), (64, 128, 256)])
def test_what_a_config_raised_keeps_nothing_of_the_callers_alive(bench, ran, failing):
    class Array(np.ndarray):
        """One that can be watched."""

    @vyre.tuned(space=SPACE)
    def f(x, *, block):
        ran.append(block)
        if block in failing:
            raise ValueError("no")
        return len(x)

    alive = []
    gc.collect()
    gc.disable()
    try:
        for _ in range(20):
            x = np.zeros(4).view(Array)
            alive.append(weakref.ref(x))
            with contextlib.suppress(ValueError):
                f(x)
            del x
            assert bench.deciders.desk.drained(60)
        assert [one() for one in alive] == [None] * 20
    finally:
        gc.enable()
