"""Which default a device has: a row of invocations, or a tile of lanes."""

import pytest

from vyre import kernels
from vyre.analysis import analyse
from vyre.model import Code, DeviceInfo, DeviceKind, Limits, Schedule, Simd
from vyre.plan.default import default_for
from vyre.plan.launch_numbers import LaunchNumbers

PROGRAM = kernels.saxpy.program
FACTS = analyse(PROGRAM)
MANY = LaunchNumbers.of_extent(PROGRAM, (1 << 20, 1, 1))


def device(*, kind=DeviceKind.CPU, simd=None, max_grid=1 << 20):
    limits = Limits(max_threads=1024, max_block=(1024, 1024, 64), max_grid=(max_grid,) * 3)
    return DeviceInfo(
        backend="", model="", driver="", compiler="", kind=kind, limits=limits, simd=simd
    )


LANES = Simd(lanes=8, l1_bytes=32 << 10, l2_bytes=1 << 20)


@pytest.mark.parametrize(("kind", "width"), [(DeviceKind.CPU, 64), (DeviceKind.GPU, 256)])
def test_a_device_without_lanes_has_its_usual_row(kind, width):
    assert default_for(device(kind=kind), PROGRAM, FACTS, MANY) == Schedule((width, 1, 1))


def test_a_processor_has_lanes_in_lockstep():
    found = default_for(device(simd=LANES), PROGRAM, FACTS, MANY)

    assert found.code.items == 1
    assert found.code.vector > 1
    assert found.code.vector % LANES.lanes == 0


@pytest.mark.parametrize("simd", [None, LANES])
def test_a_workgroup_that_is_given_is_kept(simd):
    found = default_for(device(simd=simd), PROGRAM, FACTS, MANY, (16, 1, 1), unchecked=True)

    assert found.workgroup == (16, 1, 1)
    assert not found.code.checked


def test_one_item_is_taken_where_the_code_is_given():
    """A wider row covers then what several items would have."""
    small = device(max_grid=4096)
    several = default_for(device(max_grid=512), PROGRAM, FACTS, MANY)
    one = default_for(small, PROGRAM, FACTS, MANY, one_item=True)

    assert several.code.items > 1
    assert one == Schedule((256, 1, 1), Code())
