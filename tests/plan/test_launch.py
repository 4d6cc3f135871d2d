from copy import deepcopy
from dataclasses import replace
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vyre import ir
from vyre.errors import InvalidInput, InvalidProgram, VyreError
from vyre.ir import BufferDecl, DataType, Hints, Node, Program
from vyre.model import Dim3, Mode
from vyre.plan.binding import Binding, BindingPlan
from vyre.plan.config import DispatchConfig
from vyre.plan.geometry import LaunchLimits
from vyre.plan.launch import LaunchPlan
from vyre.plan.words import DispatchShape
from vyre.policy.seed_cold_start import seed_cold_start

U32 = DataType.U32
U32_MAX = 2**32 - 1
LIMITS = LaunchLimits(
    backend="test",
    max_threads_per_block=1024,
    max_block_dim=(1024, 1024, 64),
    max_grid_dim=(U32_MAX, U32_MAX, U32_MAX),
)
NOTHING = DispatchConfig()
OUT = BufferDecl.output("out", 0, U32).with_count(4096)


def program(
    *buffers: BufferDecl, declared: Dim3 = (32, 1, 1), entry: tuple[Node, ...] = ()
) -> Program:
    return Program.wrapped(buffers, declared, entry)


def bind(given_program: Program) -> tuple[Binding, ...]:
    return BindingPlan.build(given_program).bindings


def plan(
    given_program: Program,
    config: DispatchConfig = NOTHING,
    limits: LaunchLimits = LIMITS,
    *,
    mode: Mode = Mode.NATURAL_GRADIENT,
    shape: DispatchShape | None = None,
) -> LaunchPlan:
    return LaunchPlan.from_bindings(
        given_program,
        bind(given_program),
        config,
        limits,
        mode=mode,
        cold_start=seed_cold_start,
        shape=shape,
    )


def refusal(error: type[VyreError], *args: object, **named: object) -> str:
    with pytest.raises(error) as caught:
        plan(*args, **named)  # type: ignore[arg-type]  # passed on as given
    return str(caught.value)


def test_a_new_plan_covers_one_element():
    assert LaunchPlan() == LaunchPlan(
        element_count=1,
        workgroup=(1, 1, 1),
        grid=(1, 1, 1),
        param_words=[],
        max_binding_alignment=1,
    )


def test_preparing_reuses_the_words_it_has():
    x = BufferDecl.read("input", 0, U32).with_count(7).with_hints(Hints(alignment=64))
    given_program = program(x, declared=(64, 1, 1))
    prepared = LaunchPlan()
    words = prepared.param_words

    prepared.prepare_into(given_program, bind(given_program), NOTHING, LIMITS)

    assert prepared == LaunchPlan(
        element_count=7,
        workgroup=(64, 1, 1),
        grid=(1, 1, 1),
        param_words=[7, 7],
        max_binding_alignment=64,
    )
    assert prepared.param_words is words


def test_a_plan_leaves_nothing_of_the_launch_before():
    prepared = plan(program(OUT, BufferDecl.read("x", 5, U32).with_hints(Hints(alignment=128))))

    prepared.prepare_into(Program.empty(), (), NOTHING, LIMITS)

    assert prepared == LaunchPlan(param_words=[1])


def test_a_safe_line_of_elements_takes_the_cold_start():
    prepared = plan(program(OUT))

    assert (prepared.workgroup, prepared.grid) == ((1024, 1, 1), (4, 1, 1))
    assert (prepared.element_count, prepared.param_words) == (4096, [4096, 4096])


@pytest.mark.parametrize("mode", [Mode.ON, Mode.OFF])
def test_other_modes_plan_the_declared_width(mode: Mode):
    prepared = plan(program(OUT), mode=mode)

    assert (prepared.workgroup, prepared.grid) == ((32, 1, 1), (128, 1, 1))


def test_local_and_workgroup_ids_plan_the_declared_width():
    lane, group = ir.var("lane"), ir.var("group")
    given_program = program(
        OUT,
        declared=(1024, 1, 1),
        entry=(
            ir.let("lane", ir.local_id()),
            ir.let("group", ir.workgroup_id()),
            ir.store("out", group * 1024 + lane, lane),
        ),
    )

    assert plan(replace(given_program, workgroup_size=(128, 1, 1))).workgroup == (128, 1, 1)
    assert plan(given_program).workgroup == (1024, 1, 1)


def test_workgroup_memory_plans_the_declared_width_unless_overridden():
    given_program = program(OUT, BufferDecl.workgroup("s", 64, U32), declared=(64, 1, 1))
    wide = DispatchConfig(workgroup_override=(256, 1, 1))

    assert plan(given_program).workgroup == (64, 1, 1)
    assert (plan(given_program, wide).workgroup, plan(given_program, wide).grid) == (
        (256, 1, 1),
        (16, 1, 1),
    )


def test_the_lengths_of_a_launch_decide_conditions_of_a_proof():
    table = BufferDecl.read("table", 1, U32)
    spread = program(OUT, table, entry=(ir.store("out", ir.gid() * ir.buf_len("table"), ir.gid()),))
    bindings = BindingPlan.from_input_lengths(spread, [8]).bindings

    prepared = LaunchPlan.from_bindings(
        spread, bindings, NOTHING, LIMITS, cold_start=seed_cold_start
    )

    assert prepared.workgroup == (1024, 1, 1)


def test_an_override_beyond_the_limits_is_refused():
    assert refusal(
        InvalidProgram, program(OUT), DispatchConfig(workgroup_override=(2048, 1, 1))
    ) == (
        "workgroup (2048, 1, 1) is 2048 threads; test allows 1024\n"
        "Fix: choose a workgroup of at most 1024 threads"
    )


@pytest.mark.parametrize("name", ["workgroup_override", "grid_override"])
def test_an_override_with_a_zero_is_refused(name: str):
    config = DispatchConfig(**{name: (4, 0, 1)})

    assert "has an axis below 1 (test)\nFix: give every axis at least 1" in refusal(
        InvalidProgram, program(OUT), config
    )


def test_a_given_grid_covers_its_own_count_along_x():
    prepared = plan(program(OUT), DispatchConfig(grid_override=(3, 5, 7)))

    assert (prepared.workgroup, prepared.grid) == ((32, 1, 1), (3, 5, 7))
    assert prepared.element_count == 96
    assert prepared.param_words == [96, 4096]


def test_a_given_grid_settles_a_workgroup_of_several_axes():
    prepared = plan(program(OUT, declared=(8, 8, 1)), DispatchConfig(grid_override=(4, 16, 1)))

    assert (prepared.workgroup, prepared.grid) == ((8, 8, 1), (4, 16, 1))
    assert prepared.element_count == 32


def test_a_workgroup_of_several_axes_without_a_grid_is_refused():
    assert refusal(InvalidProgram, program(OUT, declared=(8, 8, 1))) == (
        "workgroup (8, 8, 1) has no single grid for 4096 elements (test)\n"
        "Fix: give grid_override, or the shape to cover"
    )


def test_a_grid_that_covers_more_than_32_bits_count_is_refused():
    config = DispatchConfig(grid_override=(2**27, 1, 1))

    assert refusal(InvalidProgram, program(OUT), config) == (
        "grid (134217728, 1, 1) of workgroups (32, 1, 1) covers 4294967296 elements along x;"
        " 4294967295 allowed (test)\n"
        "Fix: give a smaller grid_override, or split the dispatch"
    )


def test_a_given_grid_beyond_the_limits_is_refused():
    limits = replace(LIMITS, max_grid_dim=(65_535, 65_535, 65_535))

    assert refusal(
        InvalidProgram, program(OUT), DispatchConfig(grid_override=(1, 1, 65_536)), limits
    ) == (
        "grid (1, 1, 65536) is 65536 workgroups along z; test allows 65535\n"
        "Fix: choose a larger workgroup, or split the dispatch"
    )


def test_the_grid_ceiling_is_part_of_choosing_a_width():
    # The cold start for 1025 elements is 512, which needs three groups.
    limits = replace(LIMITS, max_grid_dim=(2, 1, 1))

    prepared = plan(program(OUT.with_count(1025)), NOTHING, limits)

    assert (prepared.workgroup, prepared.grid) == ((1024, 1, 1), (2, 1, 1))


def test_a_declared_width_beyond_the_grid_ceiling_is_refused_where_it_must_be_kept():
    limits = replace(LIMITS, max_grid_dim=(2, 1, 1))

    assert refusal(InvalidProgram, program(OUT), NOTHING, limits, mode=Mode.OFF) == (
        "grid (128, 1, 1) is 128 workgroups along x; test allows 2\n"
        "Fix: choose a larger workgroup, or split the dispatch"
    )


def test_stated_elements_are_covered_in_place_of_inferred_ones():
    prepared = plan(program(OUT), DispatchConfig(dispatch_elements=100), mode=Mode.OFF)

    assert (prepared.element_count, prepared.grid) == (100, (4, 1, 1))


def test_a_stated_grid_wins_over_stated_elements():
    config = DispatchConfig(dispatch_elements=100, dispatch_grid=(2, 3, 1))

    prepared = plan(program(OUT), config)

    assert (prepared.grid, prepared.element_count) == ((2, 3, 1), 64)


@pytest.mark.parametrize(
    "config",
    [
        DispatchConfig(workgroup_override=(2048, 1, 1)),
        DispatchConfig(workgroup_override=(0, 1, 1)),
        DispatchConfig(workgroup_override=(8, 8, 1)),
        DispatchConfig(grid_override=(0, 1, 1)),
        DispatchConfig(grid_override=(2**31, 1, 1)),
    ],
)
def test_a_plan_is_untouched_by_an_error(config: DispatchConfig):
    prepared = plan(program(OUT))
    before = deepcopy(prepared)
    other = program(BufferDecl.read("x", 0, U32).with_count(9), BufferDecl.read("y", 1, U32))

    with pytest.raises(InvalidProgram):
        prepared.prepare_into(other, bind(other), config, LIMITS)

    assert prepared == before


def test_a_plan_is_untouched_by_an_error_in_the_words():
    prepared = plan(program(OUT))
    before = deepcopy(prepared)
    clashing = program(OUT, BufferDecl.read("x", 0, U32))

    with pytest.raises(InvalidProgram) as caught:
        prepared.prepare_into(clashing, bind(clashing), NOTHING, LIMITS)

    assert str(caught.value) == (
        "binding 0 belongs to several buffers\nFix: give each buffer its own binding number"
    )
    assert prepared == before


IMAGE = program(
    BufferDecl.write("out", 0, U32).with_shape(0, 0),
    declared=(8, 4, 1),
    entry=(ir.store("out", ir.flat_index("out", ir.gid(1), ir.gid(0)), ir.extent(0)),),
)


def test_a_shape_is_covered_along_every_axis():
    shape = DispatchShape(extent=(20, 9, 1), arrays={"out": (9, 20)})

    prepared = plan(IMAGE, shape=shape)

    assert (prepared.workgroup, prepared.grid) == ((8, 4, 1), (3, 3, 1))
    assert prepared.element_count == 180
    assert prepared.param_words == [180, 180, 20, 9, 1, 9, 20, 0]


def test_a_shape_of_several_axes_keeps_the_declared_width():
    line = replace(IMAGE, workgroup_size=(64, 1, 1))
    shape = DispatchShape(extent=(2000, 9, 1), arrays={"out": (9, 2000)})

    assert plan(line, shape=shape).workgroup == (64, 1, 1)


def test_a_shape_along_x_takes_the_cold_start():
    copy = program(BufferDecl.write("out", 0, U32), entry=(ir.store("out", ir.gid(), ir.gid()),))

    prepared = plan(copy, shape=DispatchShape(extent=(4096, 1, 1), arrays={"out": (4096,)}))

    assert (prepared.workgroup, prepared.grid) == ((1024, 1, 1), (4, 1, 1))
    assert prepared.param_words == [4096, 4096, 4096, 1, 1, 0]


def test_a_given_grid_does_not_change_what_a_shape_covers():
    shape = DispatchShape(extent=(20, 9, 1), arrays={"out": (9, 20)})

    prepared = plan(IMAGE, DispatchConfig(grid_override=(1, 3, 1)), shape=shape)

    assert (prepared.grid, prepared.element_count) == ((1, 3, 1), 180)


def test_an_empty_shape_has_no_launch():
    shape = DispatchShape(extent=(0, 9, 1), arrays={"out": (9, 0)})

    assert refusal(InvalidInput, IMAGE, shape=shape) == (
        "a dispatch of extent (0, 9, 1) is empty\nFix: launch nothing for it"
    )


@pytest.mark.parametrize(
    ("value", "asked"),
    [
        (ir.extent(1), "extent(1)"),
        (ir.buf_dim("out", 0), "the extents of 'out'"),
        (ir.flat_index("out", 0, 0), "the extents of 'out'"),
    ],
)
def test_a_program_that_reads_a_shape_is_refused_without_one(value: ir.Expr, asked: str):
    image = replace(IMAGE, entry=(ir.store("out", 0, value),), workgroup_size=(8, 1, 1))

    assert refusal(InvalidInput, image) == (
        f"the program uses {asked}, and no dispatch shape is given\n"
        "Fix: pass shape= with the extent and the shapes of the arrays"
    )


def test_extents_that_are_declared_need_no_shape():
    fixed = program(
        BufferDecl.write("out", 0, U32).with_shape(4, 8),
        entry=(ir.store("out", ir.flat_index("out", 1, ir.gid()), ir.buf_dim("out", 0)),),
    )

    assert plan(fixed).element_count == 32


@given(
    st.tuples(st.integers(1, 5000), st.integers(1, 50), st.integers(1, 50)),
    st.sampled_from([(1, 1, 1), (64, 1, 1), (8, 8, 1), (4, 4, 4), (7, 3, 2)]),
)
def test_a_plan_covers_the_shape_within_the_limits_and_no_group_is_idle(
    extent: Dim3, workgroup: Dim3
):
    prepared = plan(
        program(OUT, declared=workgroup), mode=Mode.OFF, shape=DispatchShape(extent=extent)
    )

    for size, groups, width in zip(extent, prepared.grid, prepared.workgroup, strict=True):
        assert (groups - 1) * width < size <= groups * width
    assert prod(prepared.workgroup) <= LIMITS.max_threads_per_block
