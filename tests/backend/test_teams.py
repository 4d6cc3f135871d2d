"""Reductions give the reference's bits under every schedule: a share of scripts/soak_teams.py."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest

import vyre
from vyre import In, Out, f64, u32
from vyre.errors import InvalidInput
from vyre.model import Code, DeviceKind, Order, Schedule
from vyre.plan.space import refuse_unbounded
from vyre.plan.team_groups import group_of, held, why_not_held
from vyre.plan.teams import written_by_teams
from vyre.runtime.devices.device import Device
from vyre.testing import reducers
from vyre.testing.cuda_on_host import CudaOnHost, compiler
from vyre.testing.programs import generate
from vyre.testing.reducers import Call, calls, deviations
from vyre.testing.schedules import deviations_under, in_teams, space_for

COMPILED = [device for device in vyre.devices() if device.backend.compiles]
ON_HOST = [Device("cuda-on-host", CudaOnHost())] if compiler() else []
DEVICES = pytest.mark.parametrize("device", [*COMPILED, *ON_HOST], ids=lambda device: device.name)
CUDA = pytest.mark.parametrize("device", ON_HOST, ids=lambda device: device.name)


@DEVICES
def test_generated_programs_give_the_same_bits_in_teams(device: Device):
    cases = [generate(Random(seed), reductions=True) for seed in range(8)]
    drawn = [in_teams(space_for(device, case), Random(1)) for case in cases]

    assert list(deviations_under(device, cases, drawn)) == []
    teams = any(schedule.code.lanes > 1 for some in drawn for schedule in some)
    assert teams or (device.info.backend == "opencl" and device.info.kind is DeviceKind.CPU)


@DEVICES
@pytest.mark.parametrize(
    "name",
    ["softmax", "layer_norm", "residual", "csr", "every_op", "in_loops", "conditional_rows"],
)
def test_kernels_give_the_same_bits_in_teams(device: Device, name: str):
    seed = sum(map(ord, name))
    chosen = [call for call in calls(seed) if call.kernel.name == name]
    for call in chosen:
        drawn = in_teams(call.space(device), Random(seed), teams=1)

        assert list(deviations(call, device, drawn)) == []


@CUDA
@pytest.mark.parametrize("rounds", [0, 2, 33, 1025])
def test_one_array_may_be_residual_and_output_in_every_team(device: Device, rounds: int):
    """Rows of lanes do not wait for each other by themselves; each must have read it first."""
    rng = np.random.default_rng(rounds)
    call = Call(
        kernel=reducers.residual,
        inputs={
            "a": reducers.floats(rng, 3, rounds),
            "v": reducers.floats(rng, rounds),
            "y": reducers.floats(rng, 3),
        },
        outputs={"out": np.zeros(3, np.float32)},
        shape=(3,),
        shared={"out": "y"},
    )

    assert {one.code.lanes for one in call.space(device).legal} >= {32, 64, 128, 256, 512, 1024}
    assert list(deviations(call, device)) == []


@DEVICES
@pytest.mark.parametrize("rounds", [0, 33, 1025])
def test_a_team_of_one_row_that_is_asked_for_runs_everywhere(device: Device, rounds: int):
    rng = np.random.default_rng(rounds)
    inputs = {"x": reducers.floats(rng, rounds, 3)}
    outputs = {"out": np.zeros(3, np.float32)}
    call = Call(kernel=reducers.column_means, inputs=inputs, outputs=outputs, shape=(3,))

    assert list(deviations(call, device, [Schedule((32, 1, 1), Code(lanes=32))])) == []


@CUDA
def test_a_kernel_that_runs_once_has_teams_of_every_size(device: Device):
    rng = np.random.default_rng(0)
    x, y = reducers.floats(rng, 40_000), reducers.floats(rng, 40_000)
    call = Call(
        kernel=reducers.dot, inputs={"x": x, "y": y}, outputs={"out": np.zeros(1, np.float32)}
    )
    space = call.space(device)

    assert {one.code.lanes for one in space.legal} >= {64, 128, 256, 512, 1024}
    assert list(deviations(call, device)) == []


@CUDA
def test_what_is_stored_on_two_ways_is_shared_by_lanes(device: Device):
    """The positions of a row are each on their own, however often an array is stored to."""
    text = device.source(reducers.conditional_rows.program, Code(lanes=32, across=True))

    assert "x = 0u; x < " not in text  # as a loop that every lane goes through would be
    assert "__shfl_xor_sync" in text


@DEVICES
def test_an_array_that_is_read_where_it_was_stored_to_has_no_teams(device: Device):
    x = np.ones((3, 40), np.float32)
    call = Call(kernel=reducers.running, inputs={}, outputs={"x": x}, shape=(3,))
    space = call.space(device)

    assert {schedule.code.lanes for schedule in space.legal} == {1}
    assert ("teams of lanes", "it may read 'x' where it has stored to it") in [
        (one.what, one.why) for one in space.refused
    ]


@pytest.mark.parametrize("workgroup", [(32, 1, 1), (1024, 1, 1), (2048, 1, 1)])
@pytest.mark.parametrize("shares", [1, 4])
def test_a_team_that_no_workgroup_holds_is_refused_with_one_that_fits(workgroup, shares):
    """And not with the workgroup of so many, which is refused in turn."""
    x = Device("no-gpu", CudaOnHost()).array(np.ones(5000, np.float32))
    schedule = Schedule(workgroup, Code(lanes=2048, shares=shares))
    with pytest.raises(InvalidInput) as raised:
        reducers.dot(x, x, schedule=schedule)

    assert str(raised.value) == (
        "teams of 2048 lanes for this call of dot; no-gpu allows workgroups of 1024 threads\n"
        "Fix: use Code(lanes=1024)"
    )


@vyre.kernel
def several(x: In[f64, 2], total: Out[f64], top: Out[f64], at: Out[u32]):
    j = vyre.gid()
    total[j] = sum(x[i, j] for i in range(len(x)))
    top[j] = max(x[i, j] for i in range(len(x)))
    at[j] = vyre.argmax(x[i, j] for i in range(len(x)))


WIDE = Code(lanes=32, abreast=32)


@pytest.mark.parametrize(
    ("kernel", "code", "limits", "text"),
    [
        (
            several,
            WIDE,
            {},
            "32 teams abreast for this call of several: 57,344 bytes of workgroup memory; the "
            "device has 49,152 for one\nFix: use abreast=16 and workgroup (16, 32, 1)",
        ),
        (
            several,
            replace(WIDE, abreast=16, shares=4),
            {"group_bytes": 28_672},
            "16 teams abreast for this call of several: 28,676 bytes of workgroup memory; the "
            "device has 28,672 for one\nFix: use abreast=8 and workgroup (8, 32, 1)",
        ),
        (
            several,
            WIDE,
            {"group_bytes": 3_000},
            "32 teams abreast for this call of several: 57,344 bytes of workgroup memory; the "
            "device has 3,000 for one\nFix: use abreast=1 and workgroup (32, 1, 1)",
        ),
        (
            several,
            Code(lanes=1024),
            {"group_bytes": 800},
            "teams of 1024 lanes for this call of several: 896 bytes of workgroup memory; the "
            "device has 800 for one\nFix: use Code(lanes=32) and workgroup (32, 1, 1)",
        ),
        (
            reducers.column_means,
            WIDE,
            {"max_threads": 256},
            "32 teams abreast for this call of column_means: 1,024 threads; the device has 256 "
            "for a workgroup\nFix: use abreast=8 and workgroup (8, 32, 1)",
        ),
        (
            reducers.column_means,
            WIDE,
            {"max_block": (1024, 16, 64)},
            "32 teams abreast for this call of column_means: 32 threads along y; the device has "
            "16 for a workgroup\nFix: use abreast=1 and workgroup (32, 1, 1)",
        ),
    ],
)
def test_what_a_workgroup_does_not_hold_is_refused_with_what_it_does(kernel, code, limits, text):
    """A compiler would say so in its own words, or a driver when it is launched."""
    device = limited(**limits)
    x = device.array(np.ones((40, 20), np.float64 if kernel is several else np.float32))
    schedule = Schedule(group_of(code), code)
    with pytest.raises(InvalidInput) as raised:
        kernel(x, shape=20, schedule=schedule)

    assert str(raised.value) == text
    fewer = held(kernel.program, code, device.info.limits)
    assert why_not_held(kernel.program, fewer, device.info.limits) is None


def limited(**limits) -> Device:
    """A device that holds less than others."""
    backend = CudaOnHost()
    least = replace(backend.info.limits, **limits)
    backend.info = replace(backend.info, limits=least)
    return Device("no-gpu", backend)


@pytest.mark.parametrize("name", ["nearest", "softmax_rows", "product"])
def test_what_a_space_holds_may_be_pinned(name: str):
    """Rounds are counted as a team has them, not as an invocation that is alone."""
    (call,) = (one for one in calls(3) if one.kernel.name == name)
    program = call.kernel.program
    legal = call.space(Device("no-gpu", CudaOnHost())).legal
    teams = [one.code for one in legal if one.code.lanes > 1]

    assert any(code.unroll > 1 for code in teams)
    assert all(written_by_teams(program, code) is None for code in teams)
    many = Code(lanes=32, items=4, unroll=256, order=Order.BLOCKED)
    with pytest.raises(InvalidInput, match="loops unrolled by 256"):
        refuse_unbounded(many, None, written_by_teams(program, many))


@CUDA
def test_a_nearest_of_long_rounds_runs_as_it_is_pinned(device: Device):
    (call,) = (one for one in calls(3) if one.kernel.name == "nearest")
    pinned = [one for one in call.space(device).legal if one.code.unroll == 32]

    assert list(deviations(call, device, pinned[:1])) == []
