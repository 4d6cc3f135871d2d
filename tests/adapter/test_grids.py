"""What a launch is under another block: it covers the same, or it is not tried."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vyre
from vyre.adapter import grids
from vyre.adapter.blocks import block_of
from vyre.adapter.grids import Grid, Launch
from vyre.testing.stand_ins import GPU, Launched

LIMITS = GPU.limits
SIDES = st.integers(1, 6)
GRIDS = st.lists(SIDES, min_size=1, max_size=3).map(tuple)
BLOCKS = st.lists(st.integers(1, 12), min_size=1, max_size=3).map(tuple)


def positions(launch: Launch, config) -> frozenset:
    block = launch.block(config)
    return Launched(launch.under(block), block).positions


def able(launch, named=None, sign=None, most=1024):
    return grids.able(launch, named, sign, most, LIMITS)


@given(GRIDS, BLOCKS, st.lists(BLOCKS, min_size=1, max_size=4))
@settings(deadline=None)
def test_every_block_that_is_offered_covers_what_the_launch_covers(grid, block, named):
    launch = Launch.of(grid, block)
    covered = positions(launch, launch.default)

    configs, _ = able(launch, named)

    assert covered == Launched(launch.grid, launch.width).positions
    assert all(positions(launch, one) == covered for one in configs)


@given(GRIDS, BLOCKS, st.lists(BLOCKS, min_size=1, max_size=4), st.data())
@settings(deadline=None)
def test_with_a_size_every_block_covers_all_of_it_and_the_guard_does_the_rest(
    grid, block, named, data
):
    threads = Launch.of(grid, block).threads
    axes = data.draw(st.integers(1, 3))
    size = tuple(data.draw(st.integers(1, threads[axis])) for axis in range(axes))
    launch = Launch.of(grid, block, size)

    def guarded(config):
        return {
            place
            for place in positions(launch, config)
            if all(at < n for at, n in zip(place, size, strict=False))
        }

    configs, _ = able(launch, named)

    covered = guarded(launch.default)
    assert all(guarded(one) == covered for one in configs)


@given(GRIDS, BLOCKS, st.lists(BLOCKS, min_size=1, max_size=4))
@settings(deadline=None)
def test_a_stride_has_about_as_many_threads_and_no_fewer(grid, block, named):
    launch = Launch.of(grid, block, way=Grid.STRIDE)

    configs, _ = able(launch, named)

    for one in configs:
        width = launch.block(one)
        for n, m, before in zip(launch.under(width), width, launch.threads, strict=True):
            assert before <= n * m < before + m


def test_as_many_blocks_where_each_does_a_piece_of_its_own():
    launch = Launch.of((7, 3), (64,), way=Grid.SAME)

    configs, _ = able(launch, ((128, 1), (32, 2)))

    assert [block_of(one) for one in configs] == [(64, 1), (128, 1), (32, 2)]
    assert all(launch.under(launch.block(one)) == (7, 3, 1) for one in configs)


def test_the_launch_itself_is_as_it_was_written_whatever_is_said_of_it():
    launch = Launch.of((50,), (64,), (100,))

    assert launch.under(launch.width) == (50, 1, 1)
    assert launch.under((32, 1, 1)) == (4, 1, 1)


def test_the_usual_blocks_are_of_whole_warps():
    assert [block_of(one) for one in able(Launch.of((1024,), (96,)))[0]] == [
        (n,) for n in (96, 32, 64, 128, 256, 512, 1024)
    ]
    assert {len(block_of(one)) for one in able(Launch.of((64, 64), (32, 32)))[0]} == {2}
    assert len(able(Launch.of((64, 64, 64), (8, 8, 8)))[0]) > 5


def test_what_cannot_run_is_left_out_with_its_reason():
    launch = Launch.of((10,), (10,))

    configs, left_out = able(launch, ((8, 2), (2048,), (16,), (20,)))

    assert [block_of(one) for one in configs] == [(10,), (20,)]
    assert left_out == (
        "8x2: it has 2 axes, and the launch 1",
        "2048: the device allows 1024 threads of this kernel",
        "16: it does not divide 100",
    )


def test_where_there_is_no_other_it_is_said():
    assert able(Launch.of((7,), (1,)))[1][-1] == "there is no other block for 7 threads"


def test_a_size_beyond_the_launch_leaves_it_as_it_is():
    assert able(Launch.of((2,), (32,), (100,))) == (
        (Launch.of((2,), (32,)).default,),
        ("all other blocks: size= says 100 along x, and the launch has 64 threads",),
    )


def test_an_axis_of_one_that_a_size_says_as_well_is_no_axis():
    launch = Launch.of((4,), (64,), (200, 1, 1))

    assert launch.size == (200,)
    assert launch.axes == 1
    assert Launch.of((4, 2), (64,), (200, 1)).size == (200, 1)


def test_positions_stay_what_an_int_can_hold():
    launch = Launch.of((2**21,), (1023,), (2**31 - 1025,))

    assert launch.why_not((1024,), 1024, LIMITS) is None
    assert (
        Launch.of((2**22,), (512,), (2**31 - 1,), Grid.THREADS).why_not((96,), 1024, LIMITS)
        == "more than 2^31 threads along x"
    )


def test_a_place_of_32_bits_that_begins_anew_within_a_block_keeps_the_block():
    beyond = "more than 2^31 threads along x"
    even, odd = Launch.of((2**24,), (256,)), Launch.of((2**24,), (384,))

    assert even.why_not((128,), 1024, LIMITS) is None
    assert odd.why_not((128,), 1024, LIMITS) == beyond
    assert Launch.of((3 * 2**23,), (256,)).why_not((384,), 1024, LIMITS) == beyond


def test_a_grid_that_the_device_does_not_allow_is_left_out():
    launch = Launch.of((1, 65535), (1, 32))

    assert launch.why_not((32, 1), 1024, LIMITS) == "it does not divide 1x2097120"
    assert launch.why_not((1, 16), 1024, LIMITS) == "the device allows no grid of 1x131070x1"


def test_what_may_depend_on_the_block_runs_with_those_that_are_named():
    launch = Launch.of((4,), (64,))

    assert able(launch, sign="its source says threadIdx") == (
        (launch.default,),
        (
            "all other blocks: its source says threadIdx, so what it gives may depend on them; "
            "blocks= names those that give the same",
        ),
    )
    assert [block_of(one) for one in able(launch, ((128,),), "any")[0]] == [(64,), (128,)]


def test_launches_are_told_apart_by_what_can_run_them():
    assert Launch.of((3,), (64,)).traits == (
        *("1 axes", "default block=64", "grid threads", "steps 64"),
    )
    assert Launch.of((3,), (64,), (100,)).traits == ("1 axes", "default block=64", "grid threads")
    assert Launch.of((3, 5), (64,), (100,)).traits[-1] == "steps 1"


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            lambda: Grid.of("rows", "f"),
            "grid='rows' of f\n"
            'Fix: give "stride" for a kernel that goes on by its grid until all is done, "same" '
            "for one in which each block does a piece of its own, or leave it out",
        ),
        (
            lambda: grids.named(64, "f"),
            "blocks=64 of f\nFix: give a list, such as (64, 128)",
        ),
        (
            lambda: grids.named(3.5, "f"),
            "blocks=3.5 of f\nFix: give a list, such as (64, 128)",
        ),
        (
            lambda: grids.named((64, None), "f"),
            "blocks=(64, None) of f\nFix: give sizes, such as (64, 128)",
        ),
        (
            lambda: grids.sizing(None, None, Grid.SAME, "f"),
            'grid="same" of f without blocks=\nFix: name the blocks that give the same',
        ),
        (
            lambda: grids.sizing(3, None, Grid.STRIDE, "f"),
            'size= and grid="stride" of f\nFix: give one of the two: size= says what the grid is',
        ),
        (
            lambda: grids.sizing("all", None, Grid.THREADS, "f"),
            "size= of f is 'all'\nFix: give one to three whole numbers of at least 0",
        ),
    ],
)
def test_what_is_wrong_is_said_where_it_is_written(asked, said):
    with pytest.raises(vyre.InvalidInput) as caught:
        asked()

    assert str(caught.value) == said


def test_a_size_is_a_number_or_a_function_of_the_arguments():
    assert grids.sizing(None, None, Grid.THREADS, "f") is None
    assert grids.sizing(5, None, Grid.THREADS, "f")("anything") == (5,)
    assert grids.sizing(lambda _, n: n, None, Grid.THREADS, "f")("x", 3) == 3
