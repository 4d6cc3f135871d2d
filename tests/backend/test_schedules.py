"""No legal schedule changes a result."""

from random import Random

import numpy as np
import pytest

import vyre
from vyre import In, Out, f32, kernels
from vyre.runtime.arrays.array import alignment_of
from vyre.runtime.call import dispatch
from vyre.testing.programs import generate
from vyre.testing.schedules import deviations

COMPILED = [device for device in vyre.devices() if device.backend.compiles]
DEVICES = pytest.mark.parametrize("device", COMPILED, ids=lambda device: device.name, indirect=True)


@pytest.fixture
def device(request, monkeypatch):
    """A device that calls on NumPy arrays use."""
    monkeypatch.setattr(dispatch, "default", lambda: request.param)
    return request.param


@vyre.kernel
def smooth(x: In[f32], y: In[f32], out: Out[f32]):
    i = vyre.gid()
    out[i] = (x[i - 1] + x[i] + x[i + 1]) * y[i]


def some_schedules(kernel, device, count, **arrays):
    launcher = kernel._dispatcher.launcher(device)
    n = next(iter(arrays.values())).size
    numbers = launcher.numbers((n, 1, 1), {name: a.shape for name, a in arrays.items()}, {})
    legal = launcher.space(numbers, {name: alignment_of(a) for name, a in arrays.items()}).legal
    return Random(n).sample(legal, min(count, len(legal)))


@DEVICES
@pytest.mark.parametrize("first", range(0, 36, 12))
def test_generated_programs_give_the_same_bits_under_every_schedule(device, first):
    cases = [generate(Random(seed)) for seed in range(first, first + 12)]

    assert list(deviations(device, cases, Random(first))) == []


@DEVICES
@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 127, 1024, 1031, 4095, 4096, 4097])
def test_sizes_around_the_edges_of_tiles_give_the_same_bits(device, n):
    x = np.linspace(-3, 3, n, dtype=np.float32)
    expected = vyre.open("reference")
    want = np.asarray(smooth(expected.array(x), expected.array(x)))

    for schedule in some_schedules(smooth, device, 8, x=x, y=x, out=x):
        assert np.array_equal(smooth(x, x, schedule=schedule), want), schedule


@DEVICES
def test_unaligned_slices_give_the_same_bits(device):
    whole = np.linspace(-3, 3, 3001, dtype=np.float32)
    x, y, out = whole[1:2500], whole[3:2502].copy()[0:2499], np.zeros(2503, np.float32)[3:2502]
    want = smooth(x, y)

    for schedule in some_schedules(smooth, device, 12, x=x, y=y, out=out):
        out[:] = 0
        assert np.array_equal(smooth(x, y, out=out, schedule=schedule), want), schedule


@DEVICES
def test_overlapping_arguments_give_the_documented_result_under_every_schedule(device):
    start = np.linspace(-3, 3, 2000, dtype=np.float32)
    x, y = start[:-1].copy(), np.ones(1999, np.float32)
    want = smooth(x, y)

    for schedule in some_schedules(smooth, device, 12, x=x, y=y, out=x):
        memory = start.copy()
        found = smooth(memory[:-1], y, out=memory[1:], schedule=schedule)
        assert np.array_equal(found, want), schedule


@DEVICES
def test_nothing_is_launched_for_nothing(device):  # noqa: ARG001  # calls use it
    empty = np.zeros(0, np.float32)

    assert kernels.saxpy(empty, empty, a=1).size == 0
