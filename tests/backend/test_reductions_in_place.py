"""Lanes that share a reduction, where a kernel stores to what it reads."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import vyre
from vyre import In, InOut, Out, f32
from vyre.ir.team import why_no_team
from vyre.runtime.devices.device import Device
from vyre.runtime.devices.launcher import Launcher
from vyre.testing.cuda_on_host import CudaOnHost, compiler

DEVICES = [device for device in vyre.devices() if device.backend.compiles]
DEVICES += [Device("cuda-on-host", CudaOnHost())] if compiler() else []


@vyre.kernel
def added(a: In[f32, 2], y: InOut[f32]):
    i = vyre.gid()
    y[i] = y[i] + sum(a[i, k] for k in range(a.shape[1]))


@vyre.kernel
def scaled(x: InOut[f32, 2]):
    i = vyre.gid()
    most = max(x[i, k] for k in range(x.shape[1]))
    total = sum(x[i, k] - most for k in range(x.shape[1]))
    for k in range(x.shape[1]):
        x[i, k] = (x[i, k] - most) / total


@vyre.kernel
def residual(a: In[f32, 2], y: In[f32], out: Out[f32]):
    i = vyre.gid()
    out[i] = sum(a[i, k] for k in range(a.shape[1])) + y[i]


@vyre.kernel
def read_again(x: InOut[f32, 2], out: Out[f32]):
    i = vyre.gid()
    for k in range(x.shape[1]):
        x[i, k] = x[i, k] * 2.0
    out[i] = sum(x[i, k] for k in range(x.shape[1]))


def test_what_is_read_behind_a_store_has_no_teams():
    for kernel in (added, scaled, residual):
        assert why_no_team(kernel.program) is None
    assert why_no_team(read_again.program) == "it may read 'x' where it has stored to it"


def results(device: Device, kernel: vyre.Kernel, arrays: dict[str, np.ndarray]):
    """What every schedule of a launch leaves in the arrays."""
    launched = SimpleNamespace(
        name="launched", program=kernel.program, declared_workgroup=None, among=()
    )
    launcher = Launcher(launched, device)
    shapes = {name: array.shape for name, array in arrays.items()}
    numbers = launcher.numbers((arrays[next(iter(arrays))].shape[0], 1, 1), shapes, {})
    alignment = dict.fromkeys(arrays, 64)
    for schedule in launcher.space(numbers, alignment).legal:
        given = {name: array.copy() for name, array in arrays.items()}
        if "out" in given and "y" in given:
            given["out"] = given["y"]  # a caller may pass one array for both
        launcher.run_host(launcher.prepare(numbers, alignment, schedule), given, {})
        yield schedule, given


@pytest.mark.parametrize("device", DEVICES, ids=lambda device: device.name)
@pytest.mark.parametrize("columns", [1100])
@pytest.mark.parametrize("kernel", [added, scaled, residual, read_again])
def test_every_schedule_gives_the_references_bits(device, columns, kernel):
    rng = np.random.default_rng(columns)
    matrix = rng.standard_normal((5, columns)).astype(np.float32)
    rows = rng.standard_normal(5).astype(np.float32)
    names = [param.name for param in kernel.program.buffers]
    arrays = {name: (matrix if name in ("a", "x") else rows).copy() for name in names}
    (_, wanted), *_ = results(vyre.open("reference"), kernel, arrays)

    for schedule, found in results(device, kernel, arrays):
        for name in names:
            assert found[name].tobytes() == wanted[name].tobytes(), (schedule.text, name)


@vyre.kernel
def covered_again(x: In[f32, 2], out: Out[f32, 2]):
    i = vyre.gid()
    total = sum(x[i, k] for k in range(x.shape[1]))
    for a in range(9):
        for k in range(40):
            out[i, k + a] = total + f32(a)


@vyre.kernel
def covered_downwards(x: In[f32, 2], out: Out[f32, 2]):
    i = vyre.gid()
    total = sum(x[i, k] for k in range(x.shape[1]))
    a = vyre.u32(0)
    while a < 9:
        for k in range(40):
            out[i, k - a] = total + f32(a)
        a += 1


@pytest.mark.parametrize("device", DEVICES, ids=lambda device: device.name)
@pytest.mark.parametrize("kernel", [covered_again, covered_downwards])
def test_what_a_later_round_of_a_loop_around_stores_comes_last(device: Device, kernel: vyre.Kernel):
    x = np.ones((3, 5), np.float32)
    expected = np.zeros((3, 50), np.float32)
    for a in range(9):
        first, end = (a, a + 40) if kernel is covered_again else (0, 40 - a)
        expected[:, first:end] = 5 + a

    arrays = {"x": x, "out": np.zeros_like(expected)}
    for schedule, found in results(device, kernel, arrays):
        assert found["out"].tolist() == expected.tolist(), schedule
