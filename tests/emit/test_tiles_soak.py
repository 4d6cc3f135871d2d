"""A share of what scripts/soak_tiles.py runs: kernels that tiles act on, under drawn schedules."""

import sys

import pytest

import vyre
from vyre.testing.tile_compare import compare

COMPILED = [device for device in vyre.devices() if device.backend.compiles]
SHARE, AT_ONCE = 40, 4


@pytest.mark.skipif(sys.platform == "win32", reason="nothing guards pages there")
@pytest.mark.parametrize("device", COMPILED, ids=lambda device: device.name)
@pytest.mark.parametrize("first", range(0, SHARE, AT_ONCE))
def test_every_schedule_of_a_kernel_gives_the_bits_of_the_reference(device, first, monkeypatch):
    monkeypatch.setenv("POCL_EXTRA_BUILD_FLAGS", "-cl-opt-disable")  # read at each build of PoCL's

    tally = compare(device, range(first, first + AT_ONCE), count=3)

    assert tally.wrong == []
    assert tally.runs > AT_ONCE  # more than the plain schedules
