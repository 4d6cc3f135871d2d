"""Kernels whose author names several workgroups: the same bits, learned, compared, dropped."""

import sys
from functools import cache

import numpy as np
import pytest

import vyre
from vyre import In, InOut, Out, f32, u32
from vyre.errors import InvalidInput
from vyre.learn import process
from vyre.model import Schedule
from vyre.runtime.devices.device import Device
from vyre.runtime.devices.named import dropped_of, word_on
from vyre.testing.cuda_on_host import CudaOnHost, compiler

ON_HOST = sys.platform == "linux" and compiler() is not None
CUDA = pytest.param("cuda", marks=pytest.mark.skipif(not ON_HOST, reason="it takes g++"))


@cache
def on_host():
    return Device("cuda-on-host", CudaOnHost())


@pytest.fixture(params=["reference", "cpu", "opencl", CUDA])
def device(request):
    if request.param == "cuda":
        return on_host()
    return vyre.open(request.param)


@vyre.kernel(workgroup=vyre.among((8, 8), (16, 16), (4, 4)))
def product(a: In[f32, 2], b: In[f32, 2], out: Out[f32, 2]):
    mine = vyre.shared(f32, (vyre.workgroup_size(0), vyre.workgroup_size(1)))
    value = vyre.shared(f32, (vyre.workgroup_size(0), vyre.workgroup_size(1)))
    lane, float4 = vyre.local_id(0), vyre.local_id(1)
    i, j = vyre.gid(0), vyre.gid(1)
    s = 0
    at = 0
    while at < a.shape[1]:
        mine[lane, float4] = a[i, at + float4]
        value[lane, float4] = b[at + lane, j]
        vyre.barrier()
        for k in range(mine.shape[1]):
            s += mine[lane, k] * value[k, float4]
        vyre.barrier()
        at += vyre.workgroup_size(1)
    out[i, j] = s


@vyre.kernel(workgroup=vyre.among(64, 128, 32))
def whole_sum(x: In[u32], into: InOut[u32]):
    part = vyre.shared(u32, vyre.workgroup_size())
    t = vyre.local_id()
    part[t] = x[vyre.gid()]
    vyre.barrier()
    half = vyre.workgroup_size() // 2
    while half > 0:
        if t < half:
            part[t] += part[t + half]
        vyre.barrier()
        half //= 2
    if t == 0:
        vyre.atomic_add(into, 0, part[0])


@vyre.function
def tree(part):
    t = vyre.local_id()
    half = len(part) // 2
    while half > 0:
        if t < half:
            part[t] += part[t + half]
        vyre.barrier()
        half //= 2


def float_sum():
    """A kernel whose author is wrong: how floats are added up depends on the workgroup."""

    @vyre.kernel(workgroup=vyre.among(64, 128, 32))
    def float_sum(x: In[f32], out: Out[f32]):
        part = vyre.shared(f32, vyre.workgroup_size())
        part[vyre.local_id()] = x[vyre.gid()]
        vyre.barrier()
        tree(part)
        out[vyre.gid()] = part[0]

    return float_sum


@vyre.kernel(workgroup=vyre.among(64, 2048, 128))
def reversed_lines(x: In[u32], out: Out[u32]):
    tile = vyre.shared(u32, 2 * vyre.workgroup_size() + 1)
    t = vyre.local_id()
    tile[t + vyre.workgroup_size()] = x[vyre.gid()]
    vyre.barrier()
    out[vyre.workgroup_id() * vyre.workgroup_size() + t] = tile[t + len(tile) // 2]


@pytest.mark.parametrize("shape", [(1, 1, 1), (33, 47, 29), (16, 16, 16), (5, 40, 17)])
def test_a_tiled_product_gives_the_same_bits_in_each_workgroup(device, shape):
    n, k, m = shape
    random = np.random.default_rng(n)
    a = random.standard_normal((n, k)).astype(np.float32)
    b = random.standard_normal((k, m)).astype(np.float32)
    wanted = np.zeros((n, m), np.float32)
    for j in range(k):
        wanted += a[:, j : j + 1] * b[j]
    on = device.array(a), device.array(b)

    for workgroup in (None, (8, 8, 1), (16, 16, 1), (4, 4, 1)):
        schedule = workgroup and Schedule(workgroup)
        found = np.asarray(product(*on, shape=(n, m), schedule=schedule))
        assert found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("count", [0, 1, 31, 63, 64, 65, 1023, 4097])
def test_a_sum_of_whole_numbers_is_the_same_in_each_workgroup(device, count):
    x = np.random.default_rng(count).integers(0, 1 << 32, count, np.uint32)
    for workgroup in (None, (64, 1, 1), (128, 1, 1), (32, 1, 1)):
        into = device.zeros(1, np.uint32)
        schedule = workgroup and Schedule(workgroup)
        whole_sum(device.array(x), into, shape=count, schedule=schedule)
        assert np.asarray(into)[0] == x.sum(dtype=np.uint32)


def test_what_is_named_is_part_of_what_a_kernel_is():
    def made(*sizes):
        @vyre.kernel(workgroup=vyre.among(*sizes))
        def made(x: In[f32], out: Out[f32]):
            tile = vyre.shared(f32, 256)
            tile[vyre.local_id()] = x[vyre.gid()]
            out[vyre.gid()] = tile[vyre.local_id()]

        return made.program

    assert made(64, 128) != made(64, 256)
    assert made(64, 128).fingerprint() != made(64, 256).fingerprint()
    assert made(64, 128).fingerprint() != made(128, 64).fingerprint()
    assert made(64).fingerprint() != made(64, 128).fingerprint()
    assert made(64, 128) == made(64, 128)


def test_the_first_that_a_device_can_launch_is_the_default():
    device = vyre.open("cpu")
    x = device.array(np.arange(1000, dtype=np.uint32))

    assert np.asarray(reversed_lines(x)).tolist() == list(range(1000))
    text = str(reversed_lines.explain(x))
    assert "that its workgroups 64, 2048 and 128 compute the same is stated by its author" in text


def test_a_workgroup_that_a_device_cannot_launch_is_left_out_with_the_reason():
    launcher = reversed_lines._dispatcher.launcher(on_host())
    shapes = {"x": (1000,), "out": (1000,)}
    numbers = launcher.numbers((1000, 1, 1), shapes, {})
    space = launcher.space(numbers, {"x": 16, "out": 16})

    assert [one.workgroup for one in space.legal] == [(64, 1, 1), (128, 1, 1)]
    assert [str(one) for one in space.refused] == [
        "1 left out, workgroup 2048: the device allows 1024 threads in one"
    ]


def test_where_no_workgroup_can_be_launched_an_error_says_why():
    @vyre.kernel(workgroup=vyre.among(2048, (2, 16)))
    def heavy(x: In[f32], out: Out[f32]):
        tile = vyre.shared(f32, 20_000)
        i, j = vyre.gid(0), vyre.gid(1)
        tile[vyre.local_id(0) * 16 + vyre.local_id(1)] = x[i]
        vyre.barrier()
        out[j] = tile[16]

    launcher = heavy._dispatcher.launcher(on_host())
    numbers = launcher.numbers((100, 100, 1), {"x": (100,), "out": (100,)}, {})

    with pytest.raises(InvalidInput) as caught:
        launcher.default(numbers)
    assert str(caught.value) == (
        f"{CudaOnHost.info.model} can launch none of the workgroups that are named: "
        "2048: the device allows 1024 threads in one; "
        "16x2: 80,000 bytes of workgroup memory; the device has 49,152 for one\n"
        "Fix: name a smaller one as well in vyre.among(...)"
    )


def test_what_differs_is_dropped_by_check_and_never_runs_again(device):
    kernel = float_sum()
    x = np.random.default_rng(5).standard_normal(256).astype(np.float32)
    on = device.array(x)
    first = np.asarray(kernel(on, schedule=Schedule((64, 1, 1))))

    checked = kernel.check(on)

    assert not checked.ok
    assert [what for what, _ in checked.dropped] == ["128", "32"]
    assert str(checked).startswith("float_sum: compared with 64, bit by bit\n  128: dropped, ")
    assert "elements of out differ from those of 64: out[0] is " in checked.dropped[0][1]
    text = str(kernel.explain())
    assert f"  dropped 128 on {device.name}: " in text
    with pytest.raises(InvalidInput, match="workgroup 128 for this call of float_sum: 256 of 256"):
        kernel(on, schedule=Schedule((128, 1, 1)))
    assert np.asarray(kernel(on)).tobytes() == first.tobytes()
    again = kernel.check(on)
    assert [what for what, _ in again.dropped] == ["128", "32"]


def test_what_agrees_is_kept_and_what_was_given_is_not_written(device):
    into = device.zeros(1, np.uint32)
    x = device.array(np.arange(1000, dtype=np.uint32))

    checked = whole_sum.check(x, into, shape=1000)

    assert checked.ok
    assert [one.workgroup for one in checked.agreed] == [(128, 1, 1), (32, 1, 1)]
    assert str(checked) == (
        "whole_sum: compared with 64, bit by bit\n  128: the same\n  32: the same"
    )
    assert np.asarray(into)[0] == 0


def test_one_nan_is_as_good_as_another():
    @vyre.kernel(workgroup=vyre.among(32, 64))
    def quiet(x: In[f32], out: Out[f32]):
        sign = vyre.select(vyre.workgroup_size() == 32, f32(1.0), f32(-1.0))
        out[vyre.gid()] = vyre.copysign(x[vyre.gid()] - x[vyre.gid()], sign)

    x = vyre.open("reference").array(np.full(8, np.inf, np.float32))
    assert quiet.check(x).ok
    x = vyre.open("reference").array(np.ones(8, np.float32))
    assert not quiet.check(x).ok  # 0.0 and -0.0 are two


def test_a_later_process_knows_what_was_dropped():
    device, kernel = vyre.open("reference"), float_sum()
    kernel.check(device.array(np.random.default_rng(1).standard_normal(300).astype(np.float32)))
    assert process.recorder().flush()
    device.dropped.clear()  # as a new process begins

    assert sorted(dropped_of(device, kernel.program)) == [(32, 1, 1), (128, 1, 1)]
    rows = process.recorder().measurements(word_on(device, kernel.program))
    assert {row.outcome.config.workgroup for row in rows} == {(32, 1, 1), (128, 1, 1)}


def test_tuning_drops_what_differs_before_it_times_the_rest():
    device, kernel = vyre.open("cpu"), float_sum()
    x = device.array(np.random.default_rng(2).standard_normal(5000).astype(np.float32))
    device.dropped.pop(kernel.program.fingerprint(), None)

    decision = kernel.tune(x, budget_s=0.5, again=True)

    assert decision.schedule.workgroup == (64, 1, 1)
    assert decision.detail == "of the workgroups that are named 64 alone is left"
    assert sorted(dropped_of(device, kernel.program)) == [(32, 1, 1), (128, 1, 1)]


def test_tuning_chooses_among_what_agrees():
    device = vyre.open("cpu")
    x, into = device.array(np.arange(100_000, dtype=np.uint32)), device.zeros(1, np.uint32)

    decision = whole_sum.tune(x, into, shape=100_000, budget_s=1.0, again=True)

    assert decision.schedule.workgroup in [(64, 1, 1), (128, 1, 1), (32, 1, 1)]
    assert decision.schedule.code.sized
    assert np.asarray(into)[0] == 0


def test_calls_learn_among_them_and_run_no_copies():
    device = vyre.open("cpu")
    x, into = device.array(np.arange(3000, dtype=np.uint32)), device.zeros(1, np.uint32)
    each = int(np.arange(3000).sum())

    for _ in range(50):
        whole_sum(x, into, shape=3000)

    assert np.asarray(into)[0] == 50 * each % (1 << 32)  # each call once
    (found,) = whole_sum.explain(x, into, shape=3000).workloads
    assert found.decision.schedule.workgroup in [(64, 1, 1), (128, 1, 1), (32, 1, 1)]


def test_a_workgroup_that_is_not_named_is_refused():
    device = vyre.open("reference")
    x = device.array(np.arange(10, dtype=np.uint32))

    with pytest.raises(InvalidInput) as caught:
        reversed_lines(x, schedule=Schedule((96, 1, 1)))
    assert str(caught.value) == (
        "workgroup 96 for this call of reversed_lines: it is not named\n"
        "Fix: use one of 64, 2048, 128, or leave schedule= out"
    )
    with pytest.raises(InvalidInput) as caught:
        reversed_lines(x, schedule=Schedule((64, 1, 1), vyre.Code(unroll=2)))
    assert str(caught.value) == (
        "64, unroll 2 for reversed_lines, whose lanes work together\n"
        "Fix: use vyre.Schedule((64, 1, 1)) alone"
    )
    wanted = np.asarray(reversed_lines(x)).tolist()
    config = vyre.DispatchConfig(workgroup_override=(128, 1, 1))
    assert np.asarray(reversed_lines(x, config=config)).tolist() == wanted


def test_its_source_is_that_of_one_workgroup():
    with_one = reversed_lines.source(Schedule((128, 1, 1), vyre.Code(vector=16)))

    assert with_one != reversed_lines.source(Schedule((64, 1, 1), vyre.Code(vector=16)))
    assert reversed_lines.source()


def test_a_program_that_names_workgroups_is_dispatched_in_the_one_that_is_asked_for(device):
    x = np.arange(200, dtype=np.uint32)
    for workgroup in (None, (64, 1, 1), (128, 1, 1)):
        config = vyre.DispatchConfig(workgroup_override=workgroup)
        (found,) = device.dispatch(reversed_lines.program, [x], config)
        assert found.tolist() == x.tolist()
    with pytest.raises(InvalidInput) as caught:
        device.dispatch(
            reversed_lines.program, [x], vyre.DispatchConfig(workgroup_override=(96, 1, 1))
        )
    assert str(caught.value) == (
        "workgroup (96, 1, 1) of a program that is for (64, 1, 1), (2048, 1, 1), (128, 1, 1)\n"
        "Fix: use one of these"
    )


def test_a_kernel_that_names_none_has_nothing_to_compare():
    checked = product_of_one.check(np.ones(3, np.float32))

    assert checked.ok
    assert str(checked) == (
        "product_of_one: its author names no workgroups, and there is nothing to compare"
    )


@vyre.kernel
def product_of_one(x: In[f32], out: Out[f32]):
    out[vyre.gid()] = x[vyre.gid()]
