"""Kernels travel by name, values by what they hold."""

import copy
import dataclasses
import enum
import inspect
import pickle
import subprocess
import sys
from datetime import timedelta
from fractions import Fraction

import numpy as np
import pytest

import vyre
from vyre import In, Out, f32, kernels, lang, u32
from vyre.errors import InvalidInput
from vyre.model import Limits, Measurement, Summary
from vyre.stats import Interval

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)


@vyre.kernel
def doubled(x: In[f32], out: Out[f32]):
    i = vyre.gid()
    out[i] = x[i] + x[i]


def tripled(x: In[f32], out: Out[f32]):
    i = vyre.gid()
    out[i] = 3.0 * x[i]


as_kernel = vyre.kernel(tripled)


class Holder:
    @vyre.kernel
    def inside(x: In[f32], out: Out[f32]):  # noqa: N805  # a kernel has no self
        i = vyre.gid()
        out[i] = x[i]


@vyre.kernel
def positive(x: In[f32], yes: Out[u32]):
    i = vyre.gid()
    yes[i] = u32(x[i] > 0.0)


def refusal(call) -> str:
    with pytest.raises(InvalidInput) as caught:
        call()
    return str(caught.value)


@pytest.fixture
def importable(monkeypatch):
    """This module under its name: pytest imports it without one that others could import."""
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])


@pytest.mark.usefixtures("importable")
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("kernel", [kernels.saxpy, doubled, Holder.inside], ids=lambda k: k.name)
def test_a_kernel_is_pickled_by_its_name_and_is_the_same_one(kernel, protocol):
    assert pickle.loads(pickle.dumps(kernel, protocol)) is kernel  # noqa: S301  # our own


def test_a_kernel_is_called_in_another_process():
    pickled = pickle.dumps(kernels.saxpy).hex()
    script = (
        "import pickle, numpy as np\n"
        f"saxpy = pickle.loads(bytes.fromhex('{pickled}'))\n"
        "x = np.ones(3, np.float32)\n"
        "print(saxpy(x, x, a=2.0).tolist())"
    )

    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert done.stdout == "[3.0, 3.0, 3.0]\n"


FIX = "\nFix: define it at the top of a module that both processes import, under its own name"


@pytest.mark.usefixtures("importable")
def test_a_kernel_that_its_name_does_not_find_is_refused():
    @vyre.kernel
    def local(x: In[f32], out: Out[f32]):
        i = vyre.gid()
        out[i] = x[i]

    where = f"{__name__}.test_a_kernel_that_its_name_does_not_find_is_refused.<locals>.local"
    assert refusal(lambda: pickle.dumps(local)) == (
        f"local cannot be pickled: it is not what {where} names{FIX}"
    )
    assert refusal(lambda: pickle.dumps(as_kernel)) == (
        f"tripled cannot be pickled: it is not what {__name__}.tripled names{FIX}"
    )


@pytest.mark.parametrize(
    ("module", "name", "text"),
    [
        ("__main__", "mine", "no kernel __main__.mine here"),
        ("vyre.kernels", "nothing.there", "no kernel vyre.kernels.nothing.there here"),
        ("vyre.kernels", "ALL", "no kernel vyre.kernels.ALL here"),
        (
            "no_such_module",
            "mine",
            "no kernel no_such_module.mine here: No module named 'no_such_module'",
        ),
    ],
)
def test_a_kernel_that_is_not_in_this_process_is_said(module, name, text):
    make, _ = kernels.saxpy.__reduce__()

    assert refusal(lambda: make(module, name)) == text + FIX


def test_a_copy_of_a_kernel_is_the_kernel_as_of_a_function():
    assert copy.copy(doubled) is doubled
    assert copy.deepcopy({"k": as_kernel})["k"] is as_kernel


@pytest.mark.usefixtures("importable")
@pytest.mark.parametrize(
    "made",
    [lambda s: pickle.loads(pickle.dumps(s)), copy.copy, copy.deepcopy],  # noqa: S301  # our own
    ids=["pickle", "copy", "deepcopy"],
)
def test_a_speculation_is_made_again_of_its_kernels(made):
    search = vyre.speculate(prefilter=positive, confirm=doubled, mode="force", threshold_pct=40)
    x = np.array([-1, 2, 3], np.float32)
    search(x)

    again = made(search)

    assert again is not search
    assert (again.mode, again.speculator.threshold_ppm) == ("force", 400_000)
    assert again(x).tolist() == [0, 4, 6]
    assert repr(again) == repr(search)


def test_an_array_of_a_device_is_copied_there_and_not_pickled():
    x = vyre.open("reference").array(np.arange(3, dtype=np.float32))

    for made in (copy.copy(x), copy.deepcopy(x)):
        assert made is not x
        assert np.asarray(made).tolist() == [0, 1, 2]
    assert refusal(lambda: pickle.dumps(x)) == (
        "<DeviceArray float32[3] on reference:0> cannot be pickled: it is in a device's memory\n"
        "Fix: pickle numpy.asarray(x), and make it an array of a device again with device.array(x)"
    )


def test_what_belongs_to_this_process_says_how_to_have_it_in_another():
    device = vyre.open("reference")
    launch = doubled.prepare(device.zeros(3, np.float32))

    assert copy.copy(device) is copy.deepcopy(device) is device
    assert refusal(lambda: pickle.dumps(device)) == (
        f"{device!r} cannot be pickled: another process has its own\n"
        "Fix: pass its name, and open it there with vyre.open('reference:0')"
    )
    assert refusal(lambda: pickle.dumps(launch)) == (
        "a prepared launch of doubled cannot be pickled: its arrays are on a device\n"
        "Fix: prepare it in the other process"
    )


WORKLOAD = vyre.Workload(
    fingerprint=b"\1\2", buckets=(3, 4), traits=("checked",), device="d", toolchain="t"
)
SCHEDULE = vyre.Schedule((64, 2, 1), vyre.Code(items=4, vector=2, checked=False))
RECORD = vyre.seed.AutotuneRecord(workgroup_size=(64, 1, 1), workload=WORKLOAD)
KEY = vyre.seed.SpecCacheKey(shader_hash=1, binding_sig=2, workgroup_size=(64, 1, 1), spec_hash=3)
STEP = vyre.seed.NaturalGradientStep(
    selected_workgroup_size=(64, 1, 1),
    best_measured_workgroup_size=(64, 1, 1),
    best_measured_elapsed_ns=5,
    policy_weights_q16=(1,),
    natural_gradient_q16=(2,),
)
LIMITS = Limits(max_threads=1, max_block=(1, 1, 1), max_grid=(1, 1, 1))
VALUES = [
    vyre.Knobs.of({"BLOCK": 64, "fast": True}),
    vyre.seed.AutotuneKey("00" * 16, "a"),
    RECORD,
    SCHEDULE.code,
    vyre.Decision(workload=WORKLOAD, config=SCHEDULE, reason=vyre.Reason.ADOPTED, gain=1.5),
    vyre.seed.DefaultPolicy(),
    vyre.open("reference").info,
    vyre.DispatchConfig(label="x", timeout=timedelta(1), workgroup_override=(64, 1, 1)),
    kernels.saxpy.explain(),
    vyre.Failed(SCHEDULE, "why"),
    vyre.Finding("k", "loads", "k.py", 3, "out[i] = x[7]", 9, 4, "", 1, ((0,),), ("at 0",)),
    LIMITS,
    vyre.seed.LaunchLimits.of("test", LIMITS),
    Measurement(
        writer="w",
        sequence=1,
        workload=WORKLOAD,
        outcome=vyre.Timed(SCHEDULE, 5.0),
        size=7,
        at_ns=9,
    ),
    vyre.seed.NaturalGradientPolicy(),
    STEP,
    vyre.seed.ResizePolicy(),
    SCHEDULE,
    KEY,
    vyre.seed.SpecMap(),
    vyre.seed.SpecValue.u32(5),
    vyre.seed.SpeculationOutcome([b"x"], vyre.seed.SpeculationReport(1, 2), True),
    vyre.seed.SpeculationReport(1, 2),
    vyre.seed.SpeculativeDispatchPlan(
        fused_program=kernels.saxpy.program,
        prefilter_program=kernels.gelu.program,
        counter_output_index=0,
    ),
    vyre.seed.StaticProgramShape(workgroup_size=(64, 1, 1)),
    vyre.stats(),
    Summary(config=SCHEDULE, count=1, median_ns=5.0, spread_ns=None, first_at_ns=1, last_at_ns=2),
    vyre.Timed(SCHEDULE, 5.0),
    vyre.seed.TunerFeedback(
        observed_workgroup_size_x=64, observed_throughput_per_us=1.0, idle_us=0
    ),
    vyre.seed.TunerProgramKey("v1-" + "0" * 64),
    vyre.seed.TuningMeasurement((64, 1, 1), 5),
    vyre.seed.VariantDecision(None, Fraction(1, 3), None, Interval(1.0, 1.1, 1.2)),
    vyre.seed.VariantKeys(conservative=KEY, speculative=KEY, adapter_id="a"),
    vyre.seed.VariantRace(
        conservative_dispatch_ns=(1,) * 8,
        speculative_dispatch_ns=(2,) * 8,
        conservative_record=RECORD,
        speculative_record=RECORD,
    ),
    WORKLOAD,
    kernels.saxpy.program,
    kernels.saxpy.facts,
]
PUBLIC = [
    value
    for module in (vyre, vyre.seed)
    for name in module.__all__
    if name not in lang.__all__
    for value in [getattr(module, name)]
    if inspect.isclass(value)
]
NOT_VALUES = {vyre.seed.SpeculationTimes}  # holds a clock


def test_the_values_that_are_tried_are_all_there_are():
    tried = {type(value) for value in VALUES}

    assert {one for one in PUBLIC if dataclasses.is_dataclass(one)} <= tried | NOT_VALUES


@pytest.mark.parametrize("protocol", PROTOCOLS[2:])
@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_value_comes_back_as_it_was(value, protocol):
    assert pickle.loads(pickle.dumps(value, protocol)) == value  # noqa: S301  # our own
    assert copy.copy(value) == value
    assert copy.deepcopy(value) == value


@pytest.mark.parametrize(
    "member",
    [one for kind in PUBLIC if issubclass(kind, enum.Enum) for one in kind],
    ids=str,
)
def test_a_choice_comes_back_as_the_same_one(member):
    assert pickle.loads(pickle.dumps(member)) is member  # noqa: S301  # our own


@pytest.mark.parametrize(
    "kind",
    [kind for kind in PUBLIC if issubclass(kind, vyre.VyreError)],
    ids=lambda kind: kind.__name__,
)
def test_an_error_comes_back_with_its_words(kind):
    error = kind("x is 5", "pass 4")

    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):  # noqa: S301  # our own
        assert type(again) is kind
        assert (again.problem, again.fix, str(again)) == (error.problem, error.fix, str(error))


def test_a_labelled_error_keeps_its_label():
    with pytest.raises(InvalidInput) as caught:
        doubled(5, config=vyre.DispatchConfig(label="step 3"))

    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301  # our own
    assert again.problem == "step 3: x of doubled is a int, not an array"
