"""Which tiles a launcher refuses, in whole sentences, before anything runs."""

from dataclasses import replace

import numpy as np
import pytest

import vyre
from vyre import In, Out, f32
from vyre.backend.replayed import GPU, Replayed
from vyre.errors import VyreError
from vyre.model import Code, Schedule
from vyre.runtime.devices.device import Device


@vyre.kernel
def product(a: In[f32, 2], b: In[f32, 2], out: Out[f32, 2]):
    i, j = vyre.gid(0), vyre.gid(1)
    s = 0.0
    for k in range(a.shape[1]):
        s += a[i, k] * b[k, j]
    out[i, j] = s


@vyre.kernel
def twice(x: In[f32, 2], out: Out[f32, 2]):
    i, j = vyre.gid(0), vyre.gid(1)
    out[i, j] = x[i, j] * 2.0


@vyre.kernel
def row_sums(x: In[f32, 2], out: Out[f32]):
    i = vyre.gid()
    s = 0.0
    for k in range(x.shape[1]):
        s += x[i, k]
    out[i] = s


@pytest.fixture
def device():
    """A GPU of 32 KiB for a workgroup, which computes as the reference does."""
    limits = replace(GPU.limits, group_bytes=32 << 10)
    return Device("table:0", Replayed(lambda _: 1000.0, info=replace(GPU, limits=limits)))


def square(device, n=64):
    return device.array(np.ones((n, n), np.float32))


def refusal(call) -> str:
    with pytest.raises(VyreError) as caught:
        call()
    return str(caught.value)


def staged(workgroup=(16, 16, 1), **parts) -> Schedule:
    return Schedule(workgroup, Code(**({"depth": 8, "checked": False} | parts)))


def test_a_code_for_whole_tiles_is_refused_a_part_of_one(device):
    x = square(device, 60)
    schedule = Schedule((16, 4, 1), Code(items=2, lines=2, fitted=True))

    assert refusal(lambda: twice(x, schedule=schedule)) == (
        "16x4, 2 items strided, 2 lines, fitted for this call of twice: (60, 60, 1) is no whole"
        " number of tiles (32, 8, 1)\n"
        "Fix: use a schedule without Code(fitted=True)"
    )
    assert device.backend.launched == []


def test_a_code_for_whole_tiles_runs_over_them(device):
    x = square(device)

    out = twice(x, schedule=Schedule((16, 4, 1), Code(items=2, lines=2, fitted=True)))

    assert np.array_equal(np.asarray(out), 2 * np.asarray(x))
    assert device.backend.launched[-1].workgroup == (16, 4, 1)


def test_a_depth_needs_something_that_lanes_share(device):
    x = square(device)

    assert refusal(lambda: twice(x, schedule=staged())) == (
        "depth 8 for this call of twice: lanes share no reads that are known beforehand\n"
        "Fix: use Code(depth=0)"
    )


def test_a_depth_needs_the_memory_that_it_takes(device):
    x = square(device)

    assert refusal(lambda: product(x, x, schedule=staged(items=4, lines=4, depth=64))) == (
        "depth 64 for this call of product: 67584 bytes of workgroup memory are more than the"
        " 32768 there are\n"
        "Fix: use Code(depth=0)"
    )
    assert device.backend.launched == []


def test_a_depth_needs_workgroups_of_one_plane(device):
    x = square(device)

    assert refusal(lambda: product(x, x, schedule=staged((8, 8, 2)))) == (
        "depth 8 for this call of product: the workgroup (8, 8, 2) is wider than 1 along z\n"
        "Fix: use Code(depth=0)"
    )


def test_a_depth_of_vectors_needs_rows_of_them(device):
    x = square(device, 30)

    assert refusal(lambda: product(x, x, schedule=staged(items=4, vector=4))) == (
        "vectors of 4 for this call of product: a row of b has 30 elements\n"
        "Fix: use Code(vector=1), or a schedule that kernel.tune found"
    )


def test_loaders_count_among_the_threads(device):
    x = square(device)
    schedule = staged((32, 1, 1), loaders=63)

    assert refusal(lambda: row_sums(x, shape=64, schedule=schedule)) == (
        "32, depth 8, loaders 63 is 2048 threads, loaders counted in; table:0 allows 1024\n"
        "Fix: use fewer loaders, or a smaller workgroup"
    )
    assert device.backend.launched == []


def test_a_tile_along_an_axis_that_no_source_checks_is_refused(device, monkeypatch):
    build = device.backend.build
    monkeypatch.setattr(
        device.backend,
        "build",
        lambda jobs: [replace(built, guarded=(0,)) for built in build(jobs)],
    )
    x = square(device)

    assert refusal(lambda: row_sums(x, shape=64, schedule=Schedule((32, 1, 1), Code(lines=2)))) == (
        "32, 2 lines covers 2 positions along axis 1, which row_sums does not use\n"
        "Fix: give that axis size 1"
    )
    assert device.backend.launched == []


def test_more_than_may_be_pinned_is_refused(device):
    x = square(device)

    assert refusal(lambda: product(x, x, schedule=staged(depth=2000))) == (
        "2000 rounds brought to workgroup memory at once; 1024 allowed\nFix: use at most 1024"
    )
    assert refusal(lambda: row_sums(x, shape=64, schedule=staged((1, 1, 1), loaders=100))) == (
        "100 loaders for each invocation; 64 allowed\nFix: use at most 64"
    )
    assert refusal(lambda: twice(x, schedule=Schedule((8, 8, 1), Code(lines=16, planes=8)))) == (
        "128 items; 64 allowed\nFix: use at most 64"
    )
