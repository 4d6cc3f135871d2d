"""Schedules that are drawn whatever they are worth: each is one that a call takes."""

from random import Random

import pytest

from vyre.runtime.devices.launcher import Numbers
from vyre.testing.cuda_on_host import CudaOnHost
from vyre.testing.reducers import normalise, softmax
from vyre.testing.schedules import unrolled


@pytest.mark.parametrize(("kernel", "several"), [(normalise, False), (softmax, True)])
def test_several_teams_for_rows_are_drawn_only_where_there_are_rows(kernel, several):
    shape = (40, 70) if kernel is softmax else (70,)
    extent = (70, 40, 1) if kernel is softmax else (70, 1, 1)
    numbers = Numbers(extent, {"x": shape, "out": shape}, {})
    drawn = [
        one
        for seed in range(40)
        for one in unrolled(CudaOnHost.info, kernel.program, numbers, Random(seed))
    ]

    assert all(one.code.across for one in drawn)
    assert any(one.workgroup[1] > 1 for one in drawn) is several
