"""Programs that go over rounds several times have the reference's bits, whatever lanes keep.

A share of `scripts/soak_teams.py --walks`.
"""

from __future__ import annotations

from random import Random

import pytest

import vyre
from vyre.runtime.devices.device import Device
from vyre.testing import reducers
from vyre.testing.cuda_on_host import CudaOnHost, compiler
from vyre.testing.reducers import calls, deviations
from vyre.testing.schedules import (
    besides,
    deviations_under,
    keeping,
    numbers_of,
    pinned,
    unrolled,
)
from vyre.testing.walks import walks

COMPILED = [device for device in vyre.devices() if device.info.simd is not None]
ON_HOST = [Device("cuda-on-host", CudaOnHost())] if compiler() else []
DEVICES = pytest.mark.parametrize("device", [*COMPILED, *ON_HOST], ids=lambda device: device.name)


def test_one_state_gives_one_case():
    one, other = walks(Random(3)), walks(Random(3))

    assert one.program == other.program
    assert all(
        values.tobytes() == other.arrays[name].tobytes() for name, values in one.arrays.items()
    )


@DEVICES
def test_generated_walks(device: Device):
    cases = [walks(Random(seed)) for seed in range(106, 110)]
    drawn = [
        [
            *keeping(device.info, case.program, numbers_of(case), Random(5), count=1),
            *besides(device.info, case.program, numbers_of(case), Random(5), count=1),
            *unrolled(device.info, case.program, numbers_of(case), Random(5), count=1),
        ]
        for case in cases
    ]
    codes = [schedule.code for some in drawn for schedule in some]

    assert any(code.keeps for code in codes)
    assert device.info.simd or any(code.items > 1 for code in codes)
    assert list(deviations_under(device, cases, drawn)) == []


@DEVICES
@pytest.mark.parametrize("name", ["halved_rounds", "other_rounds_between", "softmax_rows"])
def test_kernels_that_keep(device: Device, name: str):
    (call,) = [call for call in calls(2) if call.kernel.name == name]

    assert list(deviations(call, device, call.pinned(device, Random(2)))) == []


def test_what_is_drawn_for_a_device_that_has_no_such_teams_is_nothing():
    device = vyre.open("reference")
    program = reducers.softmax_rows.program
    case = walks(Random(1))

    assert pinned(device.info, program, numbers_of(case), Random(1)) == []
