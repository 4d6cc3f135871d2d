"""Every way to launch keeps to what a device allows, and to positions of 32 bits."""

from dataclasses import replace

import numpy as np
import pytest

import vyre
from vyre import In, Out, ir, u32
from vyre.backend.at_once import Over
from vyre.backend.reference.device import Reference
from vyre.backend.replayed import GPU, Replayed
from vyre.emit import CUDA, emit
from vyre.errors import InvalidInput, InvalidProgram, VyreError
from vyre.model import Code, DeviceKind, Limits, Schedule
from vyre.runtime.call import dispatch
from vyre.runtime.devices.device import Device

MOST = 0xFFFF_FFFE  # elements of a call


@vyre.kernel
def plus_one(x: In[u32], out: Out[u32]):
    i = vyre.gid()
    out[i] = x[i] + 1


@vyre.kernel(workgroup=192)
def declared(x: In[u32], out: Out[u32]):
    i = vyre.gid()
    out[i] = x[i] + 1


@vyre.kernel
def along_y(x: In[u32, 2], out: Out[u32, 2]):
    i, j = vyre.gid(0), vyre.gid(1)
    out[i, j] = x[i, j] + 1


@vyre.kernel
def is_set(x: In[u32], flag: Out[u32]):
    i = vyre.gid()
    flag[i] = x[i]


@vyre.kernel
def tripled(x: In[u32], out: Out[u32]):
    i = vyre.gid()
    if x[i] != 0:
        out[i] = 3 * x[i]


class Recorded(Reference):
    """Launches nothing, and tells what it was to launch."""

    def __init__(self, kind):
        self.info = replace(GPU, kind=kind)
        self.launched = []

    def launch(self, _, grid, workgroup, *__, **___):
        self.launched.append((grid, workgroup))
        return Over(1)


class InCuda(Recorded):
    """The same, with CUDA's text."""

    def source(self, job):
        return emit(job.program, job.code, CUDA, job.facts).text


@pytest.fixture(autouse=True)
def nothing_learned(monkeypatch):
    """Calls run the default; nothing is compiled beside them."""
    monkeypatch.setattr(dispatch, "helper_of", lambda _: None)


def host():
    return np.zeros(4, np.uint32)


def refusal(call):
    with pytest.raises(VyreError) as caught:
        call()
    return str(caught.value)


WRAPS = (
    "22369622 workgroups (192, 1, 1) along x reach beyond 2**32, "
    "where positions begin again at 0\n"
    "Fix: use powers of two, such as (128, 1, 1), or split the call"
)


@pytest.mark.parametrize(
    "call",
    [
        lambda x, out: plus_one(x, out=out, shape=MOST, schedule=Schedule((192, 1, 1))),
        lambda x, out: plus_one(
            x, out=out, shape=MOST, config=vyre.DispatchConfig(workgroup_override=(192, 1, 1))
        ),
        lambda x, out: declared(x, out=out, shape=MOST),
        lambda x, out: declared.prepare(x, out=out, shape=MOST),
    ],
    ids=["schedule", "config", "declared", "prepared"],
)
def test_positions_that_would_begin_again_are_refused_on_every_way_to_launch(call):
    device = vyre.open("reference")
    x, out = device.array(host()), device.array(host())

    assert refusal(lambda: call(x, out)) == WRAPS
    assert not np.asarray(out).any()


def test_tuning_a_declared_workgroup_whose_positions_would_begin_again_is_refused():
    assert refusal(lambda: declared.tune(host(), out=host(), shape=MOST)) == (
        "the default workgroup (192, 1, 1) cannot cover (4294967294, 1, 1): the last one would "
        "reach beyond 2**32\n"
        "Fix: declare a workgroup that the device can launch, or split the dispatch"
    )


@pytest.mark.parametrize("items", [3, 4])
def test_items_count_where_positions_would_begin_again(items):
    device = vyre.open("reference")
    x, out = device.array(host()), device.array(host())
    pinned = Schedule((192, 1, 1), Code(items=items))

    text = refusal(lambda: plus_one(x, out=out, shape=MOST, schedule=pinned))

    assert f"workgroups (192, 1, 1) of {items} items along x reach beyond 2**32" in text


def test_another_axis_than_x_counts_as_well():
    x = np.zeros((1, 1), np.uint32)

    text = refusal(lambda: along_y(x, out=x.copy(), shape=(MOST, 1), schedule=Schedule((1, 48, 1))))

    assert text == (
        "89478486 workgroups (1, 48, 1) along y reach beyond 2**32, "
        "where positions begin again at 0\n"
        "Fix: use powers of two, such as (1, 32, 1), or split the call"
    )


def filling(workgroup):
    out = ir.BufferDecl.write("out", 0, ir.DataType.U32)
    return ir.Program.wrapped(
        [out.with_count(4)], workgroup, [ir.store("out", ir.gid(), ir.u32(1))]
    )


@pytest.mark.parametrize(
    ("program", "config"),
    [
        (filling((192, 1, 1)), {"dispatch_elements": MOST}),
        (filling((64, 1, 1)), {"dispatch_elements": MOST, "workgroup_override": (192, 1, 1)}),
    ],
    ids=["declared", "override"],
)
def test_a_dispatch_by_hand_is_refused_where_positions_would_begin_again(program, config):
    device = vyre.open("reference")

    text = refusal(lambda: device.dispatch(program, [], vyre.DispatchConfig(**config)))

    assert text == WRAPS


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_grid_by_hand_covers_no_more_than_32_bits_count_along_any_axis(axis):
    grid = tuple(1 << 31 if axis == number else 1 for number in range(3))
    workgroup = tuple(2 if axis == number else 1 for number in range(3))
    config = vyre.DispatchConfig(grid_override=grid, workgroup_override=workgroup)

    text = refusal(lambda: vyre.open("reference").dispatch(filling((1, 1, 1)), [], config))

    assert text == (
        f"grid {grid} of workgroups {workgroup} covers 4294967296 elements along {'xyz'[axis]};"
        " 4294967295 allowed (reference)\n"
        "Fix: give a smaller grid_override, or split the dispatch"
    )


@pytest.mark.parametrize("kind", DeviceKind)
def test_the_default_covers_the_longest_call_exactly_once(kind):
    backend = Recorded(kind)
    device = Device("recorded:0", backend)
    x, out = device.zeros(4, np.uint32), device.zeros(4, np.uint32)

    plus_one(x, out=out, shape=MOST)

    ((grid, workgroup),) = backend.launched
    assert workgroup == (kind.default_width, 1, 1)
    assert grid[0] * workgroup[0] == 1 << 32


def narrow(kind=DeviceKind.GPU, **limits):
    """A device of few threads, which computes as the reference does."""
    most = {"max_threads": 1024, "max_block": (1024, 1024, 64), "max_grid": (0, 0, 0)}
    info = replace(GPU, kind=kind, limits=Limits(**{**most, **limits}))
    return Device("narrow:0", Replayed(lambda _: 1000.0, info=info))


@pytest.mark.parametrize("kind", DeviceKind)
@pytest.mark.parametrize(
    ("limits", "most"),
    [
        ({"max_threads": 128}, 128),
        ({"max_threads": 100}, 64),
        ({"max_threads": 1}, 1),
        ({"max_block": (32, 1, 1)}, 32),
        ({"max_threads": 8, "max_block": (64, 1, 1)}, 8),
    ],
)
def test_an_undeclared_kernel_runs_on_a_device_of_few_threads(kind, limits, most):
    device = narrow(kind, **limits)
    x = device.array(np.arange(1000, dtype=np.uint32))

    out = plus_one(x)

    assert np.array_equal(np.asarray(out), np.arange(1, 1001))
    (ran,) = device.backend.launched
    assert ran.workgroup == (min(most, kind.default_width), 1, 1)
    assert plus_one.prepare(x)() is not None
    search = vyre.speculate(prefilter=is_set, confirm=tripled)
    assert np.array_equal(np.asarray(search(x)), 3 * np.arange(1000))


def test_an_undeclared_kernel_takes_what_its_registers_leave(monkeypatch):
    """As OpenCL's drivers of GPUs tell: of a compiled kernel alone."""
    device = narrow()
    device.backend.every_threads = 0
    build = device.backend.build
    monkeypatch.setattr(
        device.backend,
        "build",
        lambda jobs: [replace(built, max_threads=96) for built in build(jobs)],
    )
    x = device.array(np.arange(1000, dtype=np.uint32))

    assert np.array_equal(np.asarray(plus_one(x)), np.arange(1, 1001))
    assert device.backend.launched[0].workgroup == (64, 1, 1)
    launcher = plus_one._dispatcher.launcher(device)
    numbers = launcher.numbers((1000, 1, 1), {"x": (1000,), "out": (1000,)}, {})
    assert launcher.default(numbers).workgroup == (64, 1, 1)
    assert refusal(lambda: plus_one(x, schedule=Schedule((128, 1, 1)))) == (
        "workgroup (128, 1, 1) is 128 threads; plus_one compiled for a table of times allows 96\n"
        "Fix: use a workgroup of at most 96 threads"
    )


def test_a_declared_workgroup_that_does_not_fit_is_an_error_that_says_so():
    device = narrow(max_threads=128)
    x = device.zeros(10, np.uint32)

    with pytest.raises(InvalidProgram) as caught:
        declared(x)

    assert str(caught.value) == (
        "workgroup (192, 1, 1) is 192 threads; narrow:0 allows 128\n"
        "Fix: choose a workgroup of at most 128 threads"
    )
    assert device.backend.launched == []


@pytest.mark.parametrize(
    "code", [Code(items=10**6), Code(vector=10**3), Code(unroll=10**9), Code(items=64, unroll=64)]
)
def test_a_pinned_code_is_bounded_before_anything_is_emitted(code):
    pinned = Schedule((64, 1, 1), code)

    for call in (
        lambda: plus_one(host(), schedule=pinned),
        lambda: plus_one.source(pinned),
    ):
        with pytest.raises(InvalidInput) as caught:
            call()
        assert "allowed" in caught.value.problem
        assert caught.value.fix.startswith("use at most ")


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (
            Code(items=8, vector=8, checked=False),
            "vectors of 8: 8 elements of 4 bytes are more than the 16 of one access",
        ),
        (
            Code(items=16, vector=16, checked=False, fitted=True),
            "vectors of 16: 16 elements of 4 bytes are more than the 16 of one access",
        ),
        (
            Code(items=3, vector=3, checked=False),
            "vectors of 3: vectors have 2, 4, 8, 16 elements, not 3",
        ),
    ],
)
def test_what_no_launch_could_run_has_no_source_either(code, why):
    device = Device("cuda:0", InCuda(DeviceKind.GPU))

    assert refusal(lambda: device.source(plus_one.program, code)) == (
        f"{why}\nFix: use Code(vector=1), or a schedule that kernel.tune found"
    )


def test_elements_that_are_checked_one_by_one_have_a_source_whatever_the_vectors():
    device = Device("cuda:0", InCuda(DeviceKind.GPU))

    assert "value_7" in device.source(plus_one.program, Code(items=8, vector=8))


@pytest.mark.parametrize(
    "make",
    [lambda: Code(items=True), lambda: Schedule((True, 1, 1)), lambda: Schedule((64.0, 1, 1))],
)
def test_what_is_no_whole_number_is_no_size_of_a_schedule(make):
    with pytest.raises(InvalidInput):
        make()


@vyre.kernel
def row_sums(x: In[vyre.f32, 2], out: Out[vyre.f32]):
    i = vyre.gid()
    s = 0.0
    for k in range(x.shape[1]):
        s += x[i, k]
    out[i] = s


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ["cpu:0", "replay:0"])
def test_a_loop_without_rounds_is_guessed_for(name):
    device = vyre.open(name) if name == "cpu:0" else Device(name, Replayed(lambda _: 1.0))
    x = device.array(np.ones((64, 0), np.float32))

    assert np.asarray(row_sums(x, shape=64)).tolist() == [0.0] * 64
