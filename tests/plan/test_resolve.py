from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vyre import ir
from vyre.analysis import analyse
from vyre.errors import InvalidInput
from vyre.ir import AtomicOp, BufferDecl, DataType, MemoryKind, Node, Ordering, Program
from vyre.ir.expr import BinaryOp, OpaqueExpr, Subgroup, SubgroupOp
from vyre.ir.node import IndirectDispatch, OpaqueNode
from vyre.model import Dim3, Limits, Mode
from vyre.plan.config import DispatchConfig
from vyre.plan.geometry import LaunchLimits
from vyre.plan.launch_numbers import LaunchNumbers
from vyre.plan.resolve import (
    keep_declared,
    resolve_launch_workgroup,
    resolve_launch_workgroup_for_mode,
)
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
X = BufferDecl.read("x", 0, U32)
OUT = BufferDecl.output("out", 1, U32).with_count(4096)
COPY = ir.store("out", ir.gid(), ir.load("x", ir.gid()))


def program(
    *entry: Node, buffers: tuple[BufferDecl, ...] = (X, OUT), declared: Dim3 = (32, 1, 1)
) -> Program:
    return Program.wrapped(buffers, declared, entry)


def resolve(
    given_program: Program,
    n: int = 4096,
    config: DispatchConfig | None = None,
    limits: LaunchLimits = LIMITS,
    mode: Mode = Mode.NATURAL_GRADIENT,
) -> Dim3:
    return resolve_launch_workgroup(
        given_program,
        config or DispatchConfig(),
        limits,
        n,
        mode=mode,
        cold_start=seed_cold_start,
    )


def test_a_program_whose_result_is_independent_of_the_width_gets_the_cold_start():
    assert resolve(program(COPY)) == (1024, 1, 1)


def test_a_program_without_statements_gets_the_cold_start():
    assert resolve(program(buffers=(OUT,))) == (1024, 1, 1)


@pytest.mark.parametrize(
    ("n", "width"), [(1, 32), (33, 64), (512, 512), (608, 1024), (609, 256), (641, 1024)]
)
def test_the_cold_start_is_the_seeds_map(n: int, width: int):
    assert resolve(program(COPY), n) == (width, 1, 1)


def test_no_cold_start_keeps_the_declared_width():
    assert resolve_launch_workgroup(program(COPY), DispatchConfig(), LIMITS, 4096) == (32, 1, 1)
    assert keep_declared(4096, 96, LIMITS.as_limits()) == 96


def test_the_explicit_form_answers_as_the_plain_one():
    for mode in Mode:
        explicit = resolve_launch_workgroup_for_mode(
            program(COPY), DispatchConfig(), LIMITS, 4096, mode, cold_start=seed_cold_start
        )

        assert explicit == resolve(program(COPY), mode=mode)


@pytest.mark.parametrize("mode", [Mode.ON, Mode.OFF])
def test_every_other_mode_keeps_the_declared_width(mode: Mode):
    assert resolve(program(COPY), mode=mode) == (32, 1, 1)


@pytest.mark.parametrize("override", [(256, 1, 1), (8, 8, 1), (4096, 1, 1), (0, 1, 1)])
def test_an_override_is_returned_as_it_is(override: Dim3):
    config = DispatchConfig(workgroup_override=override)

    assert resolve(program(COPY), config=config) == override


def test_an_override_wins_for_a_program_that_is_not_free():
    scratch = BufferDecl.workgroup("scratch", 64, U32)
    config = DispatchConfig(workgroup_override=(256, 1, 1))

    assert resolve(program(buffers=(OUT, scratch)), config=config) == (256, 1, 1)


@pytest.mark.parametrize("grid", ["grid_override", "dispatch_grid"])
def test_a_given_grid_keeps_the_declared_width(grid: str):
    config = DispatchConfig(**{grid: (4, 1, 1)})

    assert resolve(program(COPY), config=config) == (32, 1, 1)


@pytest.mark.parametrize("declared", [(8, 8, 1), (8, 1, 8), (0, 1, 1)])
def test_only_a_line_of_threads_is_guessed(declared: Dim3):
    assert resolve(program(COPY, declared=declared)) == declared


def test_an_empty_dispatch_keeps_the_declared_width():
    assert resolve(program(COPY), 0) == (32, 1, 1)


HOLES: dict[str, Program] = {
    "a barrier without workgroup memory": program(COPY, ir.barrier()),
    "a barrier of the whole grid": program(COPY, ir.barrier(Ordering.GRID_SYNC)),
    "a subgroup sum": program(
        ir.store("out", ir.gid(), Subgroup(SubgroupOp.ADD, (ir.load("x", ir.gid()),)))
    ),
    "the subgroup's size": program(ir.store("out", ir.gid(), Subgroup(SubgroupOp.SIZE))),
    "the lane in its subgroup": program(ir.store("out", ir.gid(), Subgroup(SubgroupOp.LOCAL_ID))),
    "a wave reduction": program(
        ir.store("out", ir.gid(), ir.binary(BinaryOp.WAVE_REDUCE, ir.load("x", ir.gid()), 0))
    ),
    "counts from a buffer": program(COPY, IndirectDispatch("x", 0)),
    "a call": program(ir.store("out", ir.gid(), ir.call("mine.scale", ir.gid()))),
    "an unknown expression": program(ir.store("out", ir.gid(), OpaqueExpr("mine", b""))),
    "an unknown statement": program(COPY, OpaqueNode("mine", b"")),
    "workgroup access in another kind of memory": program(
        COPY,
        buffers=(X, OUT, BufferDecl.workgroup("s", 64, U32).with_kind(MemoryKind.GLOBAL)),
    ),
    "an atomic whose result is used": program(
        ir.let("old", ir.atomic(AtomicOp.ADD, "out", 0, 1)),
        ir.store("log", ir.gid(), ir.var("old")),
        buffers=(OUT, BufferDecl.write("log", 2, U32).with_count(4096)),
    ),
    "workgroup memory": program(COPY, buffers=(X, OUT, BufferDecl.workgroup("s", 64, U32))),
    "a local id": program(ir.store("out", ir.gid(), ir.local_id())),
    "a workgroup id": program(ir.store("out", ir.gid(), ir.workgroup_id())),
    "a mark against composing": replace(program(COPY), non_composable=True),
}


@pytest.mark.parametrize("name", HOLES)
def test_what_makes_the_width_part_of_the_meaning_keeps_the_declared_one(name: str):
    assert resolve(HOLES[name]) == (32, 1, 1)


def test_a_local_id_inside_a_nested_body_is_found():
    lane = ir.store("out", ir.gid(), ir.select(ir.local_id() < 3, ir.u32(1), ir.u32(2)))
    nested = ir.if_(ir.gid() < 9, [ir.loop("k", 0, 2, [ir.block([lane])])])

    assert resolve(program(nested, declared=(1024, 1, 1)), n=100) == (1024, 1, 1)


def test_counters_whose_results_nobody_reads_are_free():
    histogram = program(ir.let("_", ir.atomic(AtomicOp.ADD, "out", ir.load("x", ir.gid()), 1)))

    assert resolve(histogram) == (1024, 1, 1)


STEP = BufferDecl.uniform("step", 2, U32).with_count(1)
STRIDED = program(ir.store("out", ir.gid() * ir.load("step", 0), ir.gid()), buffers=(X, OUT, STEP))


def strided(n: int, shape: DispatchShape) -> Dim3:
    return resolve_launch_workgroup_for_mode(
        STRIDED,
        DispatchConfig(),
        LIMITS,
        n,
        Mode.NATURAL_GRADIENT,
        cold_start=seed_cold_start,
        numbers=LaunchNumbers.of_launch((), n, shape),
    )


def test_a_proof_whose_condition_is_not_known_to_hold_keeps_the_declared_width():
    assert analyse(STRIDED).free
    assert resolve(STRIDED) == (32, 1, 1)


@pytest.mark.parametrize(("step", "width"), [(1, 1024), (3, 1024), (0, 32)])
def test_a_proof_holds_where_the_numbers_of_the_launch_meet_its_condition(step: int, width: int):
    shape = DispatchShape(extent=(4096, 1, 1), scalars={"step": step})

    assert strided(4096, shape) == (width, 1, 1)


def test_a_length_that_is_declared_is_known():
    spread = program(ir.store("out", ir.gid() * ir.buf_len("table"), ir.gid()), buffers=(
        BufferDecl.read("table", 0, U32).with_count(2), OUT,
    ))  # fmt: skip
    open_length = replace(spread, buffers=(BufferDecl.read("table", 0, U32), OUT))

    assert resolve(spread) == (1024, 1, 1)
    assert resolve(open_length) == (32, 1, 1)


def test_facts_found_before_are_not_found_again():
    refused = analyse(HOLES["a call"])

    answer = resolve_launch_workgroup_for_mode(
        program(COPY),
        DispatchConfig(),
        LIMITS,
        4096,
        Mode.NATURAL_GRADIENT,
        cold_start=seed_cold_start,
        facts=refused,
    )

    assert answer == (32, 1, 1)


def test_a_width_beyond_the_grid_leaves_the_candidates():
    limits = replace(LIMITS, max_grid_dim=(2, 1, 1))

    assert resolve(program(COPY), 1025) == (512, 1, 1)
    assert resolve(program(COPY), 1025, limits=limits) == (1024, 1, 1)


def test_the_only_legal_width_is_used_and_not_discarded():
    limits = replace(LIMITS, max_threads_per_block=32)

    assert resolve(program(COPY, declared=(64, 1, 1)), limits=limits) == (32, 1, 1)


def test_units_of_1536_threads_leave_1024_out():
    limits = replace(LIMITS, max_threads_per_sm=1536)

    assert resolve(program(COPY), limits=limits) == (512, 1, 1)


def test_no_legal_width_is_an_error_of_the_cold_start():
    limits = replace(LIMITS, max_grid_dim=(1, 1, 1))

    with pytest.raises(InvalidInput) as caught:
        resolve(program(COPY), 1025, limits=limits)

    assert str(caught.value) == (
        "no width launches 1025 elements: neither (32, 64, 128, 256, 512, 1024) nor the declared"
        " 32 fits 1024 threads, a block of 1024 and a grid of 1\n"
        "Fix: split the dispatch, or declare a workgroup that the device can launch"
    )


def test_a_cold_start_is_asked_with_the_count_the_declared_width_and_the_limits():
    asked: list[tuple[int, int, Limits]] = []

    def guess(n: int, declared: int, limits: Limits) -> int:
        asked.append((n, declared, limits))
        return 96

    answer = resolve_launch_workgroup(
        program(COPY), DispatchConfig(), LIMITS, 1000, cold_start=guess
    )

    assert answer == (96, 1, 1)
    assert asked == [(1000, 32, LIMITS.as_limits())]


@given(
    st.integers(1, U32_MAX),
    st.sampled_from([32, 64, 1000]),
    st.sampled_from([64, 256, 1024]),
    st.sampled_from([65_535, 2**31 - 1, U32_MAX]),
)
def test_a_guess_covers_the_elements_within_the_limits(
    n: int, declared: int, threads: int, groups: int
):
    limits = replace(LIMITS, max_threads_per_block=threads, max_grid_dim=(groups, 1, 1))
    try:
        x, y, z = resolve(program(COPY, declared=(declared, 1, 1)), n, limits=limits)
    except InvalidInput:
        assert n > groups * max(w for w in (threads, declared) if w <= threads)
        return

    assert (y, z) == (1, 1)
    assert x <= threads
    assert n <= x * groups
