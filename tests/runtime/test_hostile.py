"""Whatever is passed, a call gives its result or a VyreError that can be read and acted on."""

import os
import subprocess
import sys
from collections import OrderedDict
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import vyre
from vyre import In, InOut, Out, f32, u32
from vyre.backend import host
from vyre.errors import DeviceFailed, InvalidInput, VyreError
from vyre.model import Reason
from vyre.plain import shown
from vyre.runtime.arrays import array
from vyre.runtime.arrays.foreign import handle_of
from vyre.runtime.call.dispatch import Dispatcher

LONGEST = 4000  # characters of an error that anybody reads


class Unprintable:
    def __repr__(self):
        raise RuntimeError("no words")


class Endless:
    def __repr__(self):
        return "x" * 10**7


class Unhashable:
    __hash__ = None


HOSTILE = [
    None,
    True,
    0,
    -1,
    5,
    2**31,
    2**32,
    2**64,
    10**5000,
    -(10**5000),
    1.5,
    -0.0,
    float("nan"),
    float("inf"),
    1e300,
    1j,
    "",
    "1",
    "²",
    "x" * 10**6,
    b"ab",
    bytearray(b"ab"),
    memoryview(b"ab"),
    (),
    (1, 2),
    (10**5000,),
    [],
    [1, 2],
    [[1], [1, 2]],
    list(range(20_000)),
    {},
    {"a": 1},
    OrderedDict(a=1),
    set(),
    range(3),
    iter(()),
    lambda: None,
    object(),
    Unprintable(),
    Endless(),
    Unhashable(),
    Decimal(1),
    Fraction(1, 2),
    timedelta(1),
    np.float32(1),
    np.int64(4),
    np.bool_(True),
    np.datetime64("2026-01-01"),
    np.timedelta64(5, "ns"),
    np.str_("x"),
    np.void(b"ab"),
    np.longdouble(1),
    np.ma.masked,
    np.ma.masked_array([1.0, 2.0], [0, 1]),
    np.array(1.0),
    np.array([]),
    np.array([1 + 2j]),
    np.array([None, "x"], object),
    np.array(["x"]),
    np.zeros(3, [("a", "f4")]),
    np.zeros(4, ">f4"),
    np.zeros(8, np.float32)[::2],
    np.broadcast_to(np.float32(1), (4,)),
    np.zeros((2, 2, 2, 2), np.float32),
    np.zeros(4, np.float32),
    np.dtype("f4"),
    vyre.Schedule((64, 1, 1)),
    vyre.DispatchConfig(),
    vyre.open("reference"),
    vyre.open("reference").zeros(3, np.float64),
]


def named(value) -> str:
    return f"{type(value).__name__} {shown(value)}"[:40]


def test_a_value_is_shown_whatever_it_is_and_in_a_few_words():
    for value in HOSTILE:
        assert 0 < len(shown(value)) < 250


@vyre.kernel
def scaled(x: In[f32], out: Out[f32], a: f32, n: u32):
    i = vyre.gid()
    out[i] = a * x[i] + f32(n)


@vyre.kernel
def bump(x: InOut[f32]):
    i = vyre.gid()
    x[i] = x[i] + 1.0


@vyre.kernel
def flag(x: In[f32], yes: Out[u32]):
    i = vyre.gid()
    yes[i] = u32(x[i] == x[i])


DOORS = {
    "an input": lambda v: scaled(v, a=1.0, n=1),
    "an inout": lambda v: bump(v),
    "an array by name": lambda v: scaled(x=v, a=1.0, n=1),
    "out": lambda v: scaled(X, a=1.0, n=1, out=v),
    "an output by name": lambda v: flag(X, yes=v),
    "a float": lambda v: scaled(X, a=v, n=1),
    "a whole number": lambda v: scaled(X, a=1.0, n=v),
    "shape": lambda v: scaled(X, a=1.0, n=1, shape=v, out=np.zeros(4, np.float32)),
    "schedule": lambda v: scaled(X, a=1.0, n=1, schedule=v),
    "config": lambda v: scaled(X, a=1.0, n=1, config=v),
    "stream": lambda v: scaled(X, a=1.0, n=1, stream=v),
    "the source of": lambda v: scaled.source(v),
    "explain": lambda v: scaled.explain(v, a=1.0, n=1),
    "prepare": lambda v: scaled.prepare(v, a=1.0, n=1),
    "a budget": lambda v: scaled.tune(X, a=1.0, n=1, budget_s=v),
    "progress": lambda v: scaled.tune(X, a=1.0, n=1, budget_s=0.01, progress=v),
    "open": lambda v: vyre.open(v),
    "a device's array": lambda v: REFERENCE.array(v),
    "a device's shape": lambda v: REFERENCE.empty(v, np.float32),
    "a device's dtype": lambda v: REFERENCE.zeros(2, v),
    "a dispatched program": lambda v: REFERENCE.dispatch(v, []),
    "a dispatched input": lambda v: REFERENCE.dispatch(flag.program, [v]),
    "dispatched inputs": lambda v: REFERENCE.dispatch(flag.program, v),
    "a dispatch's config": lambda v: REFERENCE.dispatch(flag.program, [X], v),
    "a prefilter": lambda v: vyre.speculate(prefilter=v, confirm=scaled),
    "a mode of speculation": lambda v: vyre.speculate(prefilter=flag, confirm=scaled, mode=v),
    "a threshold": lambda v: vyre.speculate(prefilter=flag, confirm=scaled, threshold_pct=v),
    "a way": lambda v: SEARCH(X, a=1.0, n=1, way=v),
    "an item": lambda v: SEARCH(v, a=1.0, n=1),
    "items": lambda v: SEARCH(X, a=1.0, n=1, shape=v, out=np.zeros(4, np.float32)),
    **{
        f"a config's {name}": lambda v, name=name: vyre.DispatchConfig(**{name: v})
        for name in ("label", "profile", "timeout", "ulp_budget", "max_output_bytes")
    },
    **{
        f"a config's {name}": lambda v, name=name: scaled(
            X, a=1.0, n=1, config=vyre.DispatchConfig(**{name: v})
        )
        for name in ("workgroup_override", "grid_override", "dispatch_elements", "dispatch_grid")
    },
    "a schedule's workgroup": lambda v: vyre.Schedule(v),
    "a code's items": lambda v: scaled(
        X, a=1.0, n=1, schedule=vyre.Schedule((64, 1, 1), vyre.Code(items=v))
    ),
}

X = np.zeros(4, np.float32)
REFERENCE = vyre.open("reference")
SEARCH = vyre.speculate(prefilter=flag, confirm=scaled)


def outcome(call) -> str:
    """Nothing, the words of a VyreError, or what else was raised."""
    try:
        call()
    except VyreError as error:
        return str(error) if error.problem and error.fix else "raw: without words"
    except Exception as error:  # noqa: BLE001  # it is what this test looks for
        return f"raw {type(error).__name__}: {error}"
    return ""


@pytest.fixture
def no_sweep(monkeypatch):
    """Tuning decides for the default at once."""

    def decided(_, bound, **__):
        schedule = bound.launcher.default(bound.numbered[0])
        return vyre.Decision(workload=bound.numbered[2], config=schedule, reason=Reason.DEFAULT)

    monkeypatch.setattr(Dispatcher, "sweep", decided)


@pytest.mark.usefixtures("no_sweep")
@pytest.mark.filterwarnings("ignore::vyre.CopyWarning")
@pytest.mark.parametrize("door", DOORS)
def test_a_strange_value_gives_a_result_or_an_error_that_can_be_read(door):
    for value in HOSTILE:
        if door in ("shape", "items") and isinstance(value, int) and value == 2**31:
            continue  # it is one, and takes its time
        X[:] = 0
        said = outcome(lambda value=value: DOORS[door](value))

        assert not said.startswith("raw "), f"{named(value)}: {said[:200]}"
        assert len(said) < LONGEST, named(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (5, "no device 5: a device's name is a text"),
        ("", "no device '': no backend ''; known: cuda, cpu, opencl, reference"),
        ("reference:²", "no device 'reference:²'; reference has 1"),
        ("reference:٣", "no device 'reference:٣'; reference has 1"),
        ("reference:-1", "no device 'reference:-1'; reference has 1"),
        ("reference:7", "no device 'reference:7'; reference has 1"),
        ("reference:" + "9" * 5000, "no device " + shown("reference:" + "9" * 5000)),
        ("opncl", "no device 'opncl': no backend 'opncl'; known: cuda, cpu, opencl, reference"),
    ],
    ids=lambda value: shown(value)[:20],
)
def test_what_names_no_device_is_said(value, text):
    with pytest.raises(InvalidInput) as caught:
        vyre.open(value)

    assert caught.value.problem.startswith(text)
    assert caught.value.fix.startswith("use one of ")
    assert caught.value.fix.endswith("reference:0")


def test_a_device_that_the_environment_names_wrongly_is_said_with_the_variable():
    script = "import vyre; vyre.open()"
    variables = {**os.environ, "VYRE_DEVICE": "reference:²"}

    done = subprocess.run(
        [sys.executable, "-c", script], env=variables, capture_output=True, text=True, check=False
    )

    assert "vyre.errors.InvalidInput: VYRE_DEVICE: no device 'reference:²'; reference has 1\n" in (
        done.stderr
    )


@pytest.mark.parametrize(
    "budget",
    ["1", None, True, -1, 0, float("nan"), float("inf"), 10**5000, np.timedelta64(1, "s")],
    ids=shown,
)
def test_a_budget_is_a_number_of_seconds(budget):
    with pytest.raises(InvalidInput) as caught:
        scaled.tune(X, a=1.0, n=1, budget_s=budget)

    assert str(caught.value) == (
        f"a budget of {shown(budget)} s\nFix: pass a number of seconds above 0"
    )


@vyre.kernel
def selfish(self: In[f32], out: Out[f32], named: f32, arrays: f32):
    i = vyre.gid()
    out[i] = named * self[i] + arrays


@pytest.mark.usefixtures("no_sweep")
def test_a_parameter_may_be_called_self():
    x = np.arange(4, dtype=np.float32)
    given = {"self": x, "named": 2.0, "arrays": 1.0}

    assert selfish(**given).tolist() == [1, 3, 5, 7]
    assert selfish(x, named=2.0, arrays=1.0).tolist() == [1, 3, 5, 7]
    assert selfish.tune(**given).reason in Reason
    assert "selfish" in str(selfish.explain(**given))
    there = {**given, "self": REFERENCE.array(x)}
    assert np.asarray(selfish.prepare(**there)()).tolist() == [1, 3, 5, 7]
    with vyre.mode("off"):
        search = vyre.speculate(prefilter=flag_self, confirm=selfish)
        assert search(**given).tolist() == [1, 3, 5, 7]


@vyre.kernel
def flag_self(self: In[f32], yes: Out[u32]):
    i = vyre.gid()
    yes[i] = u32(self[i] == self[i])


def test_an_output_given_twice_is_refused():
    out = np.zeros(4, np.uint32)

    with pytest.raises(InvalidInput) as caught:
        flag(X, yes=out, out=out)

    assert str(caught.value) == "flag got 'yes' by its name and in out=\nFix: pass it once"


@pytest.mark.parametrize("stream", [-1, 1 << 64, 10**5000, True, "main", 1.5], ids=shown)
def test_a_stream_is_an_address(stream):
    with pytest.raises(InvalidInput) as caught:
        handle_of(stream)

    what = shown(stream) if isinstance(stream, int) else f"a {type(stream).__name__}"
    assert caught.value.problem == f"stream= is {what}, not a CUDA stream"


class TestLabel:
    """`DispatchConfig.label` names a dispatch where somebody looks for it."""

    config = vyre.DispatchConfig(label="step 3", workgroup_override=(64, 1, 1))

    def test_it_begins_the_errors_of_a_call(self):
        with pytest.raises(InvalidInput) as caught:
            scaled(X, a="x", n=1, config=self.config)

        assert str(caught.value) == "step 3: a of scaled is 'x', not a number\nFix: pass a float"

    def test_it_begins_the_errors_of_a_dispatch_by_hand(self):
        with pytest.raises(InvalidInput) as caught:
            REFERENCE.dispatch(flag.program, [], self.config)

        assert caught.value.problem == "step 3: 0 inputs given; the program takes 1 (x)"

    def test_it_begins_a_line_of_the_log(self, caplog):
        caplog.set_level("DEBUG", "vyre.calls")

        scaled(X, a=1.0, n=1, config=self.config)
        REFERENCE.dispatch(flag.program, [X], vyre.DispatchConfig(label="by hand"))

        assert [record.getMessage() for record in caplog.records] == [
            "step 3: scaled, (64, 1, 1)",
            "by hand: grid (1, 1, 1) of (64, 1, 1) on reference:0",
        ]


class TestMemory:
    """What a caller asks to be copied takes at most a quarter of the memory that is free."""

    x = np.zeros(1000, np.float32)  # 4000 bytes, and as many for the output

    @pytest.fixture
    def free(self, monkeypatch):
        def set_to(nbytes):
            monkeypatch.setattr(host, "free_bytes", lambda: nbytes)

        return set_to

    def test_tuning_with_too_little_is_refused_before_anything_is_copied(self, free):
        free(31_999)
        there = REFERENCE.array(self.x)

        with pytest.raises(DeviceFailed) as caught:
            scaled.tune(there, a=1.0, n=1, again=True)

        assert str(caught.value) == (
            "tuning scaled works on copies of its arrays, 8,000 bytes; a quarter of what "
            "reference:0 has free is 7,999\n"
            "Fix: free memory first, or leave it to calls to learn as they run, which copies "
            "nothing"
        )

    def test_a_call_that_would_be_swept_runs_its_default_then(self, free):
        free(100)
        with vyre.mode("on"):
            out = swept(np.arange(8, dtype=np.float32))

        assert out.tolist() == list(range(1, 9))
        assert "works on copies of its arrays" in str(swept.explain())

    def test_an_array_larger_than_what_is_free_is_refused(self, free):
        device = vyre.open("opencl")
        free(100 << 20)

        with pytest.raises(DeviceFailed) as caught:
            device.empty(128 << 20, np.uint8)

        assert caught.value.problem.startswith(f"{device.info.model} has no 134,217,728 bytes")
        assert caught.value.problem.endswith(", 104,857,600 free)")

    def test_an_output_for_which_the_host_has_no_memory_is_said(self, monkeypatch):
        def short(*_):
            raise MemoryError

        monkeypatch.setattr(array.np, "zeros", short)
        with pytest.raises(DeviceFailed) as caught:
            scaled(self.x, a=1.0, n=1)

        assert str(caught.value) == (
            "the host has no 4,000 bytes for out of scaled\n"
            "Fix: split the call, or free arrays that are no longer needed"
        )

    def test_a_system_that_does_not_say_refuses_nothing(self, tmp_path):
        assert host.free_bytes(tmp_path, tmp_path) is None


@vyre.kernel
def swept(x: In[f32], out: Out[f32]):
    i = vyre.gid()
    out[i] = x[i] + 1.0


@pytest.mark.parametrize(
    ("files", "free"),
    [
        ({"proc/meminfo": "MemFree: 1 kB\nMemAvailable:   2000 kB\n"}, 2_048_000),
        (
            {
                "proc/meminfo": "MemAvailable: 2000 kB",
                "proc/self/cgroup": "0::/jobs/7\n",
                "cgroup/jobs/7/memory.max": "1000000\n",
                "cgroup/jobs/7/memory.current": "900000\n",
                "cgroup/jobs/7/memory.stat": "anon 1\ninactive_file 50000\n",
            },
            150_000,
        ),
        (
            {
                "proc/meminfo": "MemAvailable: 2000 kB",
                "proc/self/cgroup": "3:cpu:/\n4:memory:/jobs\n",
                "cgroup/memory/jobs/memory.limit_in_bytes": "1000000",
                "cgroup/memory/jobs/memory.usage_in_bytes": "1200000",
            },
            0,
        ),
        (
            {
                "proc/meminfo": "MemAvailable: 2000 kB",
                "proc/self/cgroup": "0::/\nnonsense\n",
                "cgroup/memory.max": "max\n",
                "cgroup/memory.current": "1\n",
            },
            2_048_000,
        ),
    ],
    ids=["no groups", "group", "older group", "no limit"],
)
def test_free_memory_is_what_the_system_and_the_group_leave(tmp_path, files, free):
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    assert host.free_bytes(tmp_path / "proc", tmp_path / "cgroup") == free


@pytest.mark.skipif(sys.platform != "linux", reason="limits a process")
def test_a_process_short_of_memory_says_so_instead_of_crashing(tmp_path):
    script = """
import resource
import numpy as np
import vyre
from vyre import kernels

x = np.ones(16 << 20, np.float32)
kernels.saxpy(x[:100], x[:100], a=1.0)
with open("/proc/self/statm") as pages:
    used = int(pages.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (100 << 20), -1))
try:
    kernels.saxpy.tune(x, x, a=2.0, out=x)
except vyre.DeviceFailed as error:
    print(error.problem)
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "VYRE_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("tuning saxpy works on copies of its arrays, 201,326,592 bytes")
