"""Which devices try teams of lanes at all."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

import vyre
from vyre import In, Out, f32
from vyre.model import DeviceKind
from vyre.plan.teams import space_for
from vyre.runtime.devices.launcher import Launcher
from vyre.testing.cuda_on_host import CudaOnHost


@vyre.kernel
def row_sums(x: In[f32, 2], out: Out[f32]):
    i = vyre.gid()
    out[i] = sum(x[i, k] for k in range(x.shape[1]))


@pytest.mark.parametrize(("kind", "lanes"), [(DeviceKind.GPU, {1, 32}), (DeviceKind.CPU, {1})])
def test_lanes_that_meet_at_barriers_only_are_not_tried_on_a_processor(kind, lanes):
    info = CudaOnHost.info
    device = replace(info, kind=kind, limits=replace(info.limits, lockstep=0))
    program = row_sums.program
    launched = SimpleNamespace(name="rows", program=program, declared_workgroup=None, among=())
    launcher = Launcher(launched, vyre.open("reference"))
    numbers = launcher.numbers((64, 1, 1), {"x": (64, 256), "out": (64,)}, {})

    found = space_for(device, program, launcher.facts, numbers, None)

    assert {schedule.code.lanes for schedule in found.legal} == lanes
    why = "lanes of a processor would meet at barriers, which take long to compile"
    assert any(refused.why == why for refused in found.refused) == (kind is DeviceKind.CPU)
