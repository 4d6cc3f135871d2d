"""A share of what scripts/soak_faults.py runs: no fault of a checked config reaches its caller."""

import os

import pytest

from vyre import devices
from vyre.testing import faults
from vyre.testing.fault_calls import ADAPTERS, ALL, ON_CUDA, Came, Drawn
from vyre.testing.fault_draws import alone, draws

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the faults are of POSIX")


@pytest.mark.parametrize(
    "drawn",
    [
        Drawn(
            adapter="tuned",
            ways=(
                *("abort", "first", "leaves a child behind", "sleeps", "raises no Exception"),
                *("one bit", "writes beyond an array", "right", "keys out of order"),
            ),
        ),
        Drawn(adapter="opencl", ways=("first", "writes beyond an array", "traps", "right")),
        Drawn(
            adapter="template",
            ways=("first", "writes beyond an array", "right", "writes before an array"),
        ),
    ],
    ids=lambda drawn: drawn.adapter,
)
def test_no_fault_serves_and_no_caller_is_lost(drawn):
    if drawn.adapter != "tuned" and not any(one.info.backend == "opencl" for one in devices()):
        pytest.skip("no OpenCL device is here")

    came = alone(drawn)

    assert isinstance(came, Came), came
    assert (came.wrong, came.served, came.unreached) == ([], [], [])
    assert came.dropped.keys() == {*drawn.wrong}


def test_all_faults_are_drawn_before_one_comes_again_and_the_first_that_ends_is_right():
    drawn = list(draws(0, 400))
    for adapter, known in ((name, one.faults) for name, one in ADAPTERS.items()):
        once = [way for one in drawn if one.adapter == adapter for way in one.wrong][: len(known)]
        assert sorted(once) == sorted(known)
    for one in drawn:
        before = one.ways[: one.ways.index("first")]
        assert not {*before} & {*faults.WRONG, *faults.KERNEL_WRONG}
        assert len(one.wrong) <= ALL[one.adapter].at_once
        assert one.ways.count("right") == 1
    assert drawn == list(draws(0, 400))


def test_a_way_is_found_in_a_config_however_it_is_written():
    ways = ("first", "one bit", "right")
    texts = {
        "tuned": ("how=one bit", '{"how": "one bit"}', "one bit"),
        "opencl": ("local=2", '{"local": 2}', "one bit"),
        "template": ("block_size_x=16, HOW=1", '{"block_size_x": 16, "HOW": 1}', "one bit"),
        "cuda-template": ("HOW=2, block_size_x=16", '{"HOW": 2, "block_size_x": 16}', "right"),
        "cupy": ("block=4", '{"block": 4}', "right"),
        "triton": ("HOW=1, num_warps=4", '{"HOW": 1, "num_warps": 4}', "right"),
    }

    assert texts.keys() == ALL.keys() == {*ADAPTERS, *ON_CUDA}
    for adapter, (*written, way) in texts.items():
        drawn = Drawn(adapter=adapter, ways=ways)
        assert {ALL[adapter].way_of(drawn, one) for one in written} == {way}


def test_faults_on_cuda_are_drawn_where_they_are_asked_for():
    drawn = list(draws(0, 60, tuple(ON_CUDA)))

    assert {one.adapter for one in drawn} == {*ON_CUDA}
    for one in drawn:
        assert {*one.wrong} <= {*ALL[one.adapter].faults}
