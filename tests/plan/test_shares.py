"""Teams that share a result: how many rounds there are, what memory it takes, who is offered it."""

from dataclasses import replace

import pytest

import vyre
from vyre import In, Out, f32, f64, i32, u32
from vyre.analysis import analyse
from vyre.model import Code, DeviceKind
from vyre.plan.shares import (
    MOST_BYTES,
    MOST_RESULTS,
    launches_of,
    results_of,
    room_for,
    rounds_to_share,
    why_not_shares,
)
from vyre.plan.teams import space_for
from vyre.runtime.devices.launcher import Numbers
from vyre.testing import reducers
from vyre.testing.cuda_on_host import CudaOnHost

GPU = replace(CudaOnHost.info, compute_units=132)


def launch(extent, scalars=None, **shapes):
    return Numbers(extent, shapes, scalars or {})


def dot(n):
    return launch((1, 1, 1), x=(n,), y=(n,), out=(1,))


@vyre.kernel
def halves(x: In[f32], out: Out[f32], n: i32):
    half = n // 2
    out[0] = sum(x[k] for k in range(1, half, 3))


@vyre.kernel
def by_data(x: In[f32], sizes: In[u32], out: Out[f32]):
    out[0] = sum(x[k] for k in range(sizes[0]))


@vyre.kernel
def by_position(x: In[f32], out: Out[f32]):
    i = vyre.gid()
    out[i] = sum(x[k] for k in range(i * 1000))


@vyre.kernel
def doubles(x: In[f64, 2], out: Out[f64]):
    i = vyre.gid()
    out[i] = sum(x[i, k] for k in range(x.shape[1]) if x[i, k] > 0)


@pytest.mark.parametrize(
    ("kernel", "numbers", "rounds"),
    [
        (reducers.dot, dot(0), 0),
        (reducers.dot, dot(5000), 5000),
        (halves, launch((1, 1, 1), {"n": 101}, x=(9,), out=(1,)), 17),
        (halves, launch((1, 1, 1), {"n": -101}, x=(9,), out=(1,)), 0),
        (by_data, launch((1, 1, 1), x=(9,), sizes=(1,), out=(1,)), None),
        (by_position, launch((7, 1, 1), x=(9,), out=(7,)), None),
        (reducers.running, launch((7, 1, 1), x=(7, 9)), None),
    ],
)
def test_the_rounds_that_can_be_shared(kernel, numbers, rounds):
    found = rounds_to_share(kernel.program, numbers)

    assert found == rounds if rounds is None else list(found.values()) == [rounds]


def test_a_scalar_that_says_how_many_is_asked_of_a_launch():
    assert "n" in analyse(halves.program).asked_scalars


@pytest.mark.parametrize(("n", "blocks"), [(0, 1), (1, 1), (1024, 1), (1025, 2), (10**6, 977)])
def test_room_for_every_block_of_each_result(n, blocks):
    assert room_for(reducers.dot.program, Code(lanes=32, shares=4), dot(n)) == (4, 4 * blocks)


def test_room_for_doubles_and_whether_there_were_any():
    numbers = launch((3, 1, 1), x=(3, 5000), out=(3,))

    assert room_for(doubles.program, Code(lanes=64, shares=4), numbers) == (
        3 * 4,
        3 * 5 * 8,
        3 * 4 * 4,
    )
    assert room_for(doubles.program, Code(lanes=64), numbers) == ()


def test_a_row_of_positions_is_one_result():
    numbers = launch((512, 3, 1), x=(3, 512), out=(3, 512))

    assert results_of(Code(lanes=32, across=True), numbers) == 3
    assert results_of(Code(lanes=32), numbers) == 1536


@pytest.mark.parametrize(
    ("kernel", "numbers", "why"),
    [
        (
            by_data,
            launch((1, 1, 1), x=(9,), sizes=(1,), out=(1,)),
            "only its data tells how many rounds there are",
        ),
        (
            doubles,
            launch((MOST_RESULTS + 1, 1, 1), x=(MOST_RESULTS + 1, 5000), out=(MOST_RESULTS + 1,)),
            "it has 4,097 results, and of 4,096 at most each can be shared",
        ),
        (
            doubles,
            launch((4096, 1, 1), x=(4096, 2**22), out=(4096,)),
            f"it takes 134,299,648 bytes to keep what they find, and {MOST_BYTES:,} are allowed",
        ),
    ],
)
def test_why_not(kernel, numbers, why):
    assert why_not_shares(kernel.program, Code(lanes=32, shares=4), numbers) == why
    assert why_not_shares(kernel.program, Code(lanes=32), numbers) is None


@pytest.mark.parametrize("count", [3, 48, 1 << 17])
def test_teams_are_a_power_of_two(count):
    """So that no number of a round begins again at 0."""
    why = why_not_shares(reducers.dot.program, Code(lanes=32, shares=count), dot(5000))

    assert why == "that is no power of two up to 65,536"


def test_how_often_a_program_is_launched():
    assert launches_of(reducers.dot.program, Code(lanes=32, shares=4)) == 1
    assert launches_of(reducers.layer_norm.program, Code(lanes=32, shares=4, across=True)) == 3
    assert launches_of(reducers.layer_norm.program, Code(lanes=32, across=True)) == 1


def test_room_for_each_leg():
    numbers = launch((5000, 2, 1), x=(2, 5000), out=(2, 5000))
    room = room_for(reducers.softmax.program, Code(lanes=32, shares=4, across=True), numbers)

    assert room == (8, 8, 2 * 4 * 4, 8, 2 * 5 * 4)[: len(room)]
    assert len(room) >= 4


def shares(device, kernel, numbers):
    found = space_for(device, kernel.program, analyse(kernel.program), numbers, None)
    return {(one.code.lanes, one.code.shares) for one in found.legal if one.code.shares > 1}


def test_a_gpu_is_offered_a_few_waves_of_teams():
    assert shares(GPU, reducers.dot, dot(2**26)) == {
        (lanes, count) for lanes in (128, 256, 512, 1024) for count in (128, 256, 512, 1024)
    }


def test_no_more_teams_than_blocks_of_rounds():
    assert shares(GPU, reducers.dot, dot(2**16)) == {(128, 16), (256, 8), (512, 4), (1024, 2)}


def test_not_where_there_are_results_for_every_unit():
    numbers = launch((2048, 1, 1), x=(2048, 8192), out=(2048,))

    assert shares(GPU, doubles, numbers) == set()


def test_not_where_workgroups_cannot_tell_that_others_have_ended():
    apart = replace(GPU, limits=replace(GPU.limits, lockstep=0))

    assert shares(apart, reducers.dot, dot(2**26)) == set()
    assert shares(replace(apart, kind=DeviceKind.CPU), reducers.dot, dot(2**26)) == set()


def refusals(device, kernel, numbers):
    found = space_for(device, kernel.program, analyse(kernel.program), numbers, None)
    return [one.why for one in found.refused if one.what == "several teams for a result"]


def test_the_reason_is_kept_where_results_are_few():
    apart = replace(GPU, limits=replace(GPU.limits, lockstep=0))
    data = launch((1, 1, 1), x=(9,), sizes=(1,), out=(1,))

    assert refusals(GPU, by_data, data) == ["only its data tells how many rounds there are"]
    assert refusals(apart, reducers.dot, dot(2**26)) == [
        "workgroups of one launch cannot tell there that others have stored"
    ]
    assert refusals(GPU, reducers.dot, dot(2**26)) == []
    assert refusals(GPU, doubles, launch((2048, 1, 1), x=(2048, 8192), out=(2048,))) == []
