from dataclasses import replace
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vyre import ir
from vyre.errors import InvalidInput, InvalidProgram
from vyre.ir import BufferDecl, DataType, Node, Program
from vyre.ir.expr import BinaryOp, Subgroup, SubgroupOp
from vyre.model import Code, Dim3, Limits, Schedule
from vyre.plan.binding import BindingPlan
from vyre.plan.geometry import (
    DEFAULT_1D_WORKGROUP_SIZE,
    LaunchLimits,
    TailMaskPolicy,
    admit_dispatch_grid,
    coerce_to_pow2,
    coerce_to_pow2_or_keep,
    dispatch_element_count_for_program,
    infer_dispatch_grid_for_count,
    refuse_wrapping,
    tile_grid,
    validate_launch_geometry,
    why_not_fitted,
    wrapping_axis,
)

U32 = DataType.U32
U32_MAX = 2**32 - 1
LIMITS = LaunchLimits(
    backend="test",
    max_threads_per_block=1024,
    max_block_dim=(1024, 512, 64),
    max_grid_dim=(U32_MAX, 65_535, 65_535),
)


def refusal(workgroup: Dim3, grid: Dim3, limits: LaunchLimits = LIMITS) -> str:
    with pytest.raises(InvalidProgram) as caught:
        validate_launch_geometry(workgroup, grid, limits)
    return str(caught.value)


def test_a_launch_within_the_limits_passes():
    validate_launch_geometry((1024, 1, 1), (U32_MAX, 65_535, 65_535), LIMITS)


@pytest.mark.parametrize(
    ("workgroup", "grid"),
    [((0, 1, 1), (1, 1, 1)), ((64, 1, 1), (1, 1, 0)), ((64, -1, 1), (1, 1, 1))],
)
def test_an_axis_below_1_is_refused(workgroup: Dim3, grid: Dim3):
    assert refusal(workgroup, grid) == (
        f"workgroup {workgroup} on grid {grid} has an axis below 1 (test)\n"
        "Fix: give every axis at least 1"
    )


def test_threads_that_overflow_32_bits_are_refused():
    assert refusal((65_536, 65_536, 1), (1, 1, 1)) == (
        "workgroup (65536, 65536, 1) is 4294967296 threads, more than 32 bits count (test)\n"
        "Fix: choose a smaller workgroup"
    )


def test_too_many_threads_are_refused():
    assert refusal((64, 32, 1), (1, 1, 1)) == (
        "workgroup (64, 32, 1) is 2048 threads; test allows 1024\n"
        "Fix: choose a workgroup of at most 1024 threads"
    )


def test_a_workgroup_too_long_along_one_axis_is_refused():
    assert refusal((1, 1, 65), (1, 1, 1)) == (
        "workgroup (1, 1, 65) is 65 along z; test allows 64\n"
        "Fix: choose a workgroup of at most 64 along z"
    )


def test_a_grid_too_long_along_one_axis_is_refused():
    assert refusal((64, 1, 1), (1, 65_536, 1)) == (
        "grid (1, 65536, 1) is 65536 workgroups along y; test allows 65535\n"
        "Fix: choose a larger workgroup, or split the dispatch"
    )


def test_errors_come_in_the_order_zero_overflow_threads_workgroup_grid():
    tight = replace(LIMITS, max_block_dim=(8, 8, 8), max_grid_dim=(1, 1, 1))
    huge = (65_536, 65_536, 1)

    assert "an axis below 1" in refusal(huge, (0, 2, 1), tight)
    assert "more than 32 bits count" in refusal(huge, (2, 2, 1), tight)
    assert "2048 threads" in refusal((2048, 1, 1), (2, 2, 1), tight)
    assert "16 along x" in refusal((16, 1, 1), (2, 2, 1), tight)
    assert "2 workgroups along x" in refusal((8, 1, 1), (2, 2, 1), tight)


def test_a_limit_that_the_device_does_not_state_refuses_nothing():
    open_limits = LaunchLimits(
        backend="test", max_threads_per_block=0, max_block_dim=(0, 0, 0), max_grid_dim=(0, 0, 0)
    )

    validate_launch_geometry((4096, 4, 1), (U32_MAX, U32_MAX, 1), open_limits)


@given(
    workgroup=st.tuples(st.integers(1, 1024), st.integers(1, 64), st.integers(1, 64)),
    items=st.tuples(*[st.integers(1, 64)] * 3),
    extent=st.tuples(*[st.one_of(st.integers(1, 100), st.integers(U32_MAX - 9, U32_MAX))] * 3),
)
def test_a_launch_reaches_beyond_32_bits_exactly_where_its_last_position_does(
    workgroup: Dim3, items: Dim3, extent: Dim3
):
    code = Code(items=items[0], lines=items[1], planes=items[2])
    schedule = Schedule(workgroup, code)
    grid, tile = tile_grid(extent, schedule), schedule.tile
    last = [groups * size - 1 for groups, size in zip(grid, tile, strict=True)]

    beyond = [axis for axis, position in enumerate(last) if position > U32_MAX]

    assert wrapping_axis(tile, grid) == (beyond[0] if beyond else None)


def test_a_launch_whose_positions_begin_again_is_refused():
    with pytest.raises(InvalidInput) as caught:
        refuse_wrapping((192, 1, 1), (5_592_406, 1, 1), (4, 1, 1))

    assert str(caught.value) == (
        "5592406 workgroups (192, 1, 1) of 4 items along x reach beyond 2**32, "
        "where positions begin again at 0\n"
        "Fix: use powers of two, such as (128, 1, 1), or split the call"
    )


def test_of_teams_the_results_are_counted_and_not_the_lanes():
    refuse_wrapping((256, 1, 1), (1 << 28, 1, 1), lanes=256)
    refuse_wrapping((64, 1, 1), (1 << 30, 1, 1), (2, 1, 1), lanes=32)
    with pytest.raises(InvalidInput) as caught:
        refuse_wrapping((64, 1, 1), (715_827_883, 1, 1), (3, 1, 1), lanes=32)

    assert str(caught.value) == (
        "715827883 workgroups (64, 1, 1) of 3 items along x reach beyond 2**32, "
        "where positions begin again at 0\n"
        "Fix: use powers of two, such as (64, 1, 1) and 2 items, or split the call"
    )


def test_limits_convert_to_the_shared_form_and_back():
    limits = Limits(
        max_threads=1024, max_block=(1024, 512, 64), max_grid=(1, 2, 3), max_threads_per_unit=1536
    )

    converted = LaunchLimits.of("CUDA", limits)

    assert converted == LaunchLimits(
        backend="CUDA",
        max_threads_per_block=1024,
        max_block_dim=(1024, 512, 64),
        max_grid_dim=(1, 2, 3),
        max_threads_per_sm=1536,
    )
    assert converted.as_limits() == limits


@pytest.mark.parametrize(
    ("per_unit", "threads", "blocks", "resident"),
    [(1536, 512, 3, 1536), (1536, 1024, 1, 1024), (512, 1024, 0, 0), (0, 64, None, None)],
)
def test_a_unit_holds_whole_workgroups(
    per_unit: int, threads: int, blocks: int | None, resident: int | None
):
    limits = replace(LIMITS, max_threads_per_sm=per_unit)

    assert limits.blocks_per_unit(threads) == blocks
    assert limits.resident_threads(threads) == resident


def test_a_width_of_0_has_no_residency():
    limits = replace(LIMITS, max_threads_per_sm=1536)

    assert (limits.blocks_per_unit(0), limits.resident_threads(0)) == (None, None)


def test_a_shared_grid_ceiling_of_0_is_no_ceiling():
    admit_dispatch_grid((U32_MAX, 1, 1), 0, "wgpu")


def test_a_shared_grid_ceiling_holds_for_every_axis():
    admit_dispatch_grid((65_535, 65_535, 65_535), 65_535, "wgpu")
    with pytest.raises(InvalidProgram) as caught:
        admit_dispatch_grid((1, 1, 65_536), 65_535, "wgpu")
    assert str(caught.value) == (
        "grid (1, 1, 65536) is 65536 workgroups along z; wgpu allows 65535\n"
        "Fix: choose a larger workgroup, or split the dispatch"
    )


def count(buffers: list[BufferDecl], entry: list[Node]) -> int:
    program = Program.wrapped(buffers, (64, 1, 1), entry)
    return dispatch_element_count_for_program(program, BindingPlan.build(program).bindings)


X = BufferDecl.read("x", 0, U32).with_count(100)
OUT = BufferDecl.write("out", 1, U32).with_count(7)
PLAIN = ir.store("out", ir.gid(), ir.load("x", ir.gid()))


def test_the_longest_output_decides():
    assert count([X, OUT, BufferDecl.read_write("io", 2, U32).with_count(9)], [PLAIN]) == 9


def test_without_an_output_the_longest_buffer_decides():
    assert count([X, BufferDecl.read("y", 1, U32).with_count(3)], []) == 100


def test_an_output_of_unknown_length_leaves_it_to_the_longest_buffer():
    assert count([X, OUT.with_count(0)], [PLAIN]) == 100


def test_a_program_without_lengths_covers_one_element():
    assert count([], []) == 1
    assert count([OUT.with_count(0)], []) == 1


def test_workgroup_memory_asks_for_the_longest_buffer_and_does_not_count_itself():
    assert count([X, OUT, BufferDecl.workgroup("s", 4096, U32)], [PLAIN]) == 100


@pytest.mark.parametrize(
    "value",
    [
        ir.atomic(ir.AtomicOp.ADD, "out", 0, 1),
        ir.load("x", ir.atomic(ir.AtomicOp.ADD, "out", 0, 1)),
        Subgroup(SubgroupOp.ADD, (ir.u32(1),)),
        Subgroup(SubgroupOp.SIZE),
        ir.binary(BinaryOp.WAVE_REDUCE, ir.u32(1), ir.u32(1)),
    ],
)
def test_lanes_that_work_together_ask_for_the_longest_buffer(value: ir.Expr):
    nested = ir.if_(ir.gid() < 5, [ir.loop("k", 0, 3, [ir.let("old", value)])])

    assert count([X, OUT], [PLAIN, nested]) == 100


@pytest.mark.parametrize(
    ("n", "workgroup", "grid"),
    [
        (0, (64, 1, 1), (1, 1, 1)),
        (1, (64, 1, 1), (1, 1, 1)),
        (64, (64, 1, 1), (1, 1, 1)),
        (65, (64, 1, 1), (2, 1, 1)),
        (U32_MAX, (1, 1, 1), (U32_MAX, 1, 1)),
        (100, (8, 8, 1), (2, 2, 1)),
        (101, (1, 2, 1), (11, 5, 1)),  # a side of 11, and ten rows of it
        (1000, (4, 4, 4), (3, 3, 3)),
        (1001, (1, 1, 2), (11, 11, 5)),  # a side of 11, and nine slices of it
        (27, (3, 3, 3), (1, 1, 1)),
        (28, (2, 2, 2), (2, 2, 1)),
    ],
)
def test_a_grid_is_a_line_a_square_or_a_cube(n: int, workgroup: Dim3, grid: Dim3):
    assert infer_dispatch_grid_for_count(n, workgroup) == grid


@given(st.integers(1, U32_MAX), st.tuples(*[st.integers(1, 1024)] * 3))
def test_an_inferred_grid_covers_all_elements_and_fits_32_bits(n: int, workgroup: Dim3):
    grid = infer_dispatch_grid_for_count(n, workgroup)

    assert prod(grid) * prod(workgroup) >= n
    assert all(1 <= size <= U32_MAX for size in grid)


@given(st.integers(1, 1625))
def test_a_cube_of_elements_takes_its_own_side_and_one_more_the_next(side: int):
    assert infer_dispatch_grid_for_count(side**3, (1, 1, 2))[0] == side
    assert infer_dispatch_grid_for_count(side**3 + 1, (1, 1, 2))[0] == side + 1


def test_no_grid_is_inferred_for_an_empty_workgroup():
    with pytest.raises(InvalidProgram) as caught:
        infer_dispatch_grid_for_count(10, (64, 0, 1))

    assert str(caught.value) == (
        "workgroup (64, 0, 1) has an axis below 1\nFix: give every axis at least 1"
    )


@pytest.mark.parametrize("n", [-1, 2**32])
def test_no_grid_is_inferred_beyond_32_bits(n: int):
    with pytest.raises(InvalidInput) as caught:
        infer_dispatch_grid_for_count(n, (64, 1, 1))

    assert str(caught.value) == f"a grid for {n} elements\nFix: use 0 to 4294967295 elements"


@pytest.mark.parametrize(
    ("given_count", "rounded", "tail"),
    [(0, 0, 0), (1, 1, 0), (2, 2, 0), (3, 4, 1), (1000, 1024, 24), (2**31, 2**31, 0)],
)
def test_a_count_is_rounded_up_to_a_power_of_two(given_count: int, rounded: int, tail: int):
    policy = coerce_to_pow2(given_count)

    assert (policy.rounded_count, policy.tail_lanes) == (rounded, tail)
    assert policy.is_aligned == (tail == 0)
    assert coerce_to_pow2_or_keep(given_count) == policy


def test_a_power_of_two_beyond_32_bits_is_refused_or_not_made():
    with pytest.raises(InvalidInput) as caught:
        coerce_to_pow2(2**31 + 1)

    assert str(caught.value) == (
        "2147483649 elements rounded up to a power of two\nFix: use 0 to 2147483648 elements"
    )
    assert coerce_to_pow2_or_keep(2**31 + 1) == TailMaskPolicy(2**31 + 1, 2**31 + 1)


def test_the_default_width_is_the_seeds():
    assert DEFAULT_1D_WORKGROUP_SIZE == (64, 1, 1)


class TestFitted:
    FITTED = Code(items=4, lines=2, fitted=True)

    def test_tiles_that_are_whole_cover_their_extent(self):
        assert why_not_fitted((256, 64, 1), Schedule((32, 8, 1), self.FITTED)) is None

    @pytest.mark.parametrize("extent", [(255, 64, 1), (256, 63, 1), (64, 64, 1), (1, 1, 1)])
    def test_a_tile_that_is_not_whole_is_named(self, extent):
        assert why_not_fitted(extent, Schedule((32, 8, 1), self.FITTED)) == (
            f"{extent} is no whole number of tiles (128, 16, 1)"
        )

    def test_planes_count_as_well(self):
        schedule = Schedule((32, 1, 2), Code(planes=3, fitted=True))

        assert why_not_fitted((32, 1, 12), schedule) is None
        assert why_not_fitted((32, 1, 9), schedule) == (
            "(32, 1, 9) is no whole number of tiles (32, 1, 6)"
        )

    def test_other_codes_cover_anything(self):
        assert why_not_fitted((1, 1, 1), Schedule((32, 8, 1), Code(items=4, lines=2))) is None

    def test_nothing_is_a_whole_number_of_tiles(self):
        assert why_not_fitted((0, 64, 1), Schedule((32, 8, 1), self.FITTED)) is None
