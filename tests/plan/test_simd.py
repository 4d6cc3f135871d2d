"""Schedules of processors with lanes: the default for each kind of work, and laws of the space."""

from dataclasses import replace
from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vyre import ir, kernels
from vyre.analysis import analyse
from vyre.analysis.forms import Symbol
from vyre.emit.llvm import Features, emit_llvm
from vyre.errors import InvalidInput
from vyre.ir import BufferDecl, DataType, Program
from vyre.model import U32_MAX, Code, DeviceInfo, DeviceKind, Limits, Order, Schedule, Simd
from vyre.plan import simd
from vyre.plan.default import default_for, space_for
from vyre.plan.geometry import tile_grid
from vyre.plan.launch_numbers import LaunchNumbers
from vyre.plan.space import refuse_unbounded
from vyre.plan.vectors import LaunchTraits
from vyre.testing.programs import race_free

F32, F64, U32 = DataType.F32, DataType.F64, DataType.U32
LANES = Simd(lanes=8, l1_bytes=32 << 10, l2_bytes=1 << 20)
X, Y = ir.gid(0), ir.gid(1)
SUM, K = ir.var("sum"), ir.var("k")
OWN = ir.load("x", X)


def device(threads=8, limits=None, lanes=LANES):
    wide = Limits(max_threads=0, max_block=(0, 0, 0), max_grid=(0, 0, 0))
    return DeviceInfo(
        backend="",
        model="",
        driver="",
        compiler="",
        kind=DeviceKind.CPU,
        limits=limits or wide,
        simd=lanes,
        compute_units=threads,
    )


def numbers(program, extent, length=None):
    known = {Symbol("extent", axis=axis): size for axis, size in enumerate(extent)}
    for decl in program.buffers:
        if decl.rank > 1:
            for axis in range(decl.rank):
                known[Symbol("dim", decl.name, axis)] = extent[decl.rank - 1 - axis]
        known[Symbol("len", decl.name)] = decl.count or length or prod(extent)
    return LaunchNumbers(known)


def default(program, extent=(1 << 20, 1, 1), declared=None, threads=8, **more):
    launch = numbers(program, extent, more.pop("length", None))
    return simd.default_schedule(
        analyse(program), program, launch, declared, device(threads), unchecked=True, **more
    )


def work(program, extent=(1 << 20, 1, 1), length=None):
    return simd.work_of(analyse(program), program, numbers(program, extent, length), LANES)


def line(*body, element=F32):
    return Program.wrapped(
        [BufferDecl.read("x", 0, element), BufferDecl.write("out", 1, element)], (64, 1, 1), body
    )


def grid(*body):
    decls = [BufferDecl.read("x", 0, F32), BufferDecl.write("out", 1, F32)]
    return Program.wrapped([decl.with_shape(0, 0) for decl in decls], (64, 1, 1), body)


def summing(*body, stop, program=line):
    return program(
        ir.let("sum", ir.f32(0)),
        ir.loop("k", ir.u32(0), stop, body),
        ir.store("out", X if program is line else ir.flat_index("out", Y, X), SUM),
    )


STREAM = line(ir.store("out", X, OWN + ir.f32(1)))
CHAIN = summing(ir.assign("sum", SUM * ir.f32(2) + ir.f32(1)), stop=ir.u32(100))
GATHER = line(ir.store("out", X, ir.load("x", ir.cast(U32, OWN))))
PARTING = summing(
    ir.if_(ir.binary(ir.BinaryOp.LT, SUM, OWN), [ir.break_()]),
    ir.assign("sum", SUM + ir.f32(1)),
    stop=ir.u32(100),
)
PARTING_GATHER = summing(
    ir.assign("sum", SUM + ir.load("x", ir.cast(U32, SUM))), stop=ir.cast(U32, OWN)
)
WIDE = line(ir.store("out", X, OWN + ir.f64(1)), element=F64)
ALL_PAIRS = summing(ir.assign("sum", SUM + ir.load("x", K)), stop=ir.buf_len("x"))
STENCIL = grid(
    ir.store(
        "out",
        ir.flat_index("out", Y, X),
        ir.load("x", ir.flat_index("x", Y, X)) + ir.load("x", ir.flat_index("x", Y + 1, X)),
    )
)
PRODUCT = summing(
    ir.assign(
        "sum",
        SUM + ir.load("x", ir.flat_index("x", Y, K)) * ir.load("x", ir.flat_index("x", K, X)),
    ),
    stop=ir.buf_dim("x", 1),
    program=grid,
)
COPY_2D = grid(ir.store("out", ir.flat_index("out", Y, X), ir.load("x", ir.flat_index("x", Y, X))))
WAITING = Program.wrapped(
    [BufferDecl.write("out", 0, F32), BufferDecl.workgroup("line", 64, F32)],
    (64, 1, 1),
    [
        ir.store("line", ir.local_id(), ir.f32(1)),
        ir.barrier(),
        ir.store("out", X, ir.load("line", ir.u32(63) - ir.local_id())),
    ],
)
HISTOGRAM = kernels.histogram.program


class TestDefaultCode:
    @pytest.mark.parametrize(
        ("program", "registers"),
        [
            (STREAM, 4),
            (CHAIN, 8),
            (GATHER, 2),
            (PARTING_GATHER, 0.5),
            (WIDE, 2),
        ],
        ids=["streaming", "a chain", "gathers", "parting and gathering", "64 bits"],
    )
    def test_lanes_are_as_many_as_the_work_can_use(self, program, registers):
        assert default(program).code == Code(vector=int(8 * registers), checked=False)

    def test_lanes_that_leave_on_their_own_are_few(self):
        assert work(PARTING).parts
        assert default(PARTING).code.vector < default(STREAM).code.vector

    def test_atomics_take_turns_and_so_do_their_positions(self):
        assert default(HISTOGRAM).code == Code(unroll=4, checked=False)

    def test_rare_atomics_leave_the_rest_its_lanes(self):
        heavy = [ir.assign("sum", SUM * ir.f32(2) + ir.f32(1)) for _ in range(40)]
        program = Program.wrapped(
            [BufferDecl.read("x", 0, F32), BufferDecl.read_write("n", 1, U32)],
            (64, 1, 1),
            [
                ir.let("sum", OWN),
                ir.loop("k", ir.u32(0), ir.u32(100), heavy),
                ir.let("old", ir.atomic(ir.AtomicOp.ADD, "n", 0, ir.cast(U32, SUM))),
            ],
        )

        assert not work(program).atomic
        assert default(program).code.vector > 1

    @pytest.mark.parametrize(("width", "vector"), [(1, 1), (5, 8), (9, 16), (17, 32), (64, 32)])
    def test_a_short_row_has_no_more_lanes_than_cover_it(self, width, vector):
        assert default(STREAM, (width, 1, 1)).code.vector == vector

    def test_rows_that_read_the_same_go_side_by_side(self):
        code = default(STENCIL, (4096, 4096, 1)).code

        assert (code.rows, code.order) == (4, Order.STRIDED)

    def test_rows_that_walk_the_same_loop_go_panel_by_panel(self):
        code = default(PRODUCT, (512, 512, 1)).code

        assert (code.rows, code.order, code.staged) == (4, Order.BLOCKED, True)

    @pytest.mark.parametrize(
        ("program", "extent"),
        [(COPY_2D, (4096, 4096, 1)), (STENCIL, (4096, 3, 1))],
        ids=["nothing shared", "few rows"],
    )
    def test_other_rows_do_not(self, program, extent):
        assert default(program, extent).code.rows == 1


class TestDefaultTile:
    def test_a_small_launch_is_one_task(self):
        assert default(STREAM, (1000, 1, 1)).workgroup == (1000, 1, 1)

    def test_one_thread_has_one_task(self):
        assert default(STREAM, threads=1).workgroup == (1 << 20, 1, 1)

    def test_an_empty_launch_still_has_a_tile(self):
        assert default(STREAM, (0, 1, 1)).workgroup == (1, 1, 1)

    def test_a_large_launch_has_tasks_for_every_thread(self):
        found = default(STREAM, (1 << 24, 1, 1))

        assert tile_grid((1 << 24, 1, 1), found)[0] >= 8 * 4

    def test_uneven_work_is_cut_finer(self):
        even = default(CHAIN, (1 << 16, 1, 1)).workgroup[0]
        uneven = default(PARTING, (1 << 16, 1, 1)).workgroup[0]

        assert uneven < even

    def test_counters_of_a_thread_are_worth_their_clearing(self):
        found = default(HISTOGRAM, (1 << 24, 1, 1))

        assert prod(found.workgroup) >= 16 * work(HISTOGRAM).counters

    def test_a_longer_loop_makes_smaller_tiles(self):
        """How long it is, only the launch says."""
        short = default(ALL_PAIRS, (1 << 20, 1, 1), length=16)
        long = default(ALL_PAIRS, (1 << 20, 1, 1), length=1 << 16)

        assert work(ALL_PAIRS, length=1 << 16).ns > 1000 * work(ALL_PAIRS, length=16).ns
        assert prod(long.workgroup) < prod(short.workgroup)

    def test_a_length_that_nobody_knows_counts_as_some(self):
        extents = {Symbol("extent", axis=axis): size for axis, size in enumerate((4096, 1, 1))}
        found = simd.work_of(analyse(ALL_PAIRS), ALL_PAIRS, LaunchNumbers(extents), LANES)

        assert found.ns > 0

    def test_a_declared_workgroup_is_kept_and_not_exceeded(self):
        found = default(STENCIL, (4096, 4096, 1), declared=(16, 2, 1))

        assert found.workgroup == (16, 2, 1)
        assert (found.code.vector, found.code.rows) == (16, 2)

    def test_a_declared_row_narrower_than_a_register_has_a_registers_lanes(self):
        assert default(STREAM, declared=(4, 1, 1)).code.vector == 8

    def test_a_workgroup_that_works_together_is_as_declared(self):
        assert default(WAITING, declared=(128, 1, 1)).workgroup == (128, 1, 1)
        assert default(WAITING).workgroup == (64, 1, 1)

    @pytest.mark.parametrize("extent", [(U32_MAX, 1, 1), (1, U32_MAX, 1), (65_535, 65_537, 1)])
    def test_the_last_tile_ends_within_32_bits(self, extent):
        found = default(COPY_2D if extent[1] > 1 else STREAM, extent)

        for size, tile, groups in zip(
            extent, found.workgroup, tile_grid(extent, found), strict=True
        ):
            assert size <= tile * groups <= 1 << 32


class TestTiles:
    @pytest.mark.parametrize(
        ("elements", "extent", "code", "tile"),
        [
            (100, (1000, 1, 1), Code(vector=32), (96, 1, 1)),
            (5, (1000, 1, 1), Code(vector=32), (32, 1, 1)),
            (100, (1000, 1, 1), Code(unroll=4), (100, 1, 1)),
            (5000, (1000, 50, 1), Code(vector=32), (1000, 5, 1)),
            (5000, (1000, 50, 1), Code(vector=32, rows=4), (1000, 4, 1)),
            (1000, (1000, 50, 1), Code(vector=32, rows=4), (224, 4, 1)),
            (100_000, (1000, 50, 9), Code(vector=32), (1000, 50, 2)),
            (1e9, (1000, 50, 9), Code(vector=32), (1000, 50, 9)),
        ],
    )
    def test_a_tile_is_whole_vectors_then_whole_rows_then_whole_layers(
        self, elements, extent, code, tile
    ):
        assert simd.tile_of_about(elements, extent, code) == tile

    def test_a_panel_has_many_rows_for_what_is_brought_together(self):
        code = Code(vector=16, rows=4, order=Order.BLOCKED, staged=True)

        assert simd.panels_of_about(1000, (4096, 4096, 1), code) == (64, 64, 1)
        assert simd.panels_of_about(1e6, (4096, 4096, 1), code, panels=1) == (16, 4096, 1)
        assert simd.panels_of_about(10_000, (40, 4096, 1), code) == (40, 252, 1)


class TestWork:
    def test_every_kind_is_told(self):
        assert not any((work(STREAM).parts, work(STREAM).loops, work(STREAM).gathers))
        assert work(CHAIN).chains
        assert not work(ALL_PAIRS).chains
        assert work(GATHER).gathers
        assert work(PARTING).parts
        assert work(WIDE).wide
        assert work(STENCIL, (512, 512, 1)).reuses_rows
        assert work(PRODUCT, (512, 512, 1)).reuses_rows
        assert not work(COPY_2D, (512, 512, 1)).reuses_rows


def space(program, extent=(1 << 20, 1, 1), declared=None, limits=None, threads=8):
    facts, launch = analyse(program), numbers(program, extent)
    return simd.space(
        facts,
        program,
        launch,
        declared,
        device(threads, limits),
        unchecked=facts.has_unchecked_form,
    )


class TestSpace:
    def test_one_row_has_one_row_at_a_time_and_is_walked_one_way(self):
        codes = {schedule.code for schedule in space(STREAM).legal}

        assert {code.rows for code in codes} == {1}
        assert {code.order for code in codes} == {Order.STRIDED}
        assert {code.vector for code in codes} == {1, 4, 8, 16, 32, 64}

    def test_loops_may_be_unrolled(self):
        unrolled = {s.code.unroll for s in space(CHAIN).legal if s.code.vector > 1}

        assert unrolled == {1, 4}
        assert {s.code.unroll for s in space(STREAM).legal if s.code.vector > 1} == {1}

    def test_several_rows_have_panels(self):
        codes = {schedule.code for schedule in space(PRODUCT, (512, 512, 1)).legal}

        assert {code.rows for code in codes} == {1, 2, 4, 8}
        assert {(code.order, code.staged) for code in codes} == {
            (Order.STRIDED, False),
            (Order.BLOCKED, False),
            (Order.BLOCKED, True),
        }

    def test_what_cannot_be_brought_together_is_not_tried_so(self):
        assert not any(s.code.staged for s in space(STENCIL, (512, 512, 1)).legal)

    @pytest.mark.parametrize(
        ("extent", "why"),
        [
            ((0, 1, 1), "the extent (0, 1, 1) holds nothing"),
            ((1, 1, 1), "the extent (1, 1, 1) holds 1"),
        ],
    )
    def test_nothing_to_do_has_one_schedule(self, extent, why):
        found = space(STREAM, extent)

        assert found.legal == (found.default,)
        assert [refused.why for refused in found.refused] == [why]

    def test_a_program_whose_shape_matters_has_its_own_alone(self):
        found = space(WAITING, (1024, 1, 1), declared=(64, 1, 1))

        assert found.legal == (found.default,)
        assert found.refused

    def test_what_the_device_cannot_launch_is_left_out(self):
        """A grid that is too long for small tiles."""
        limits = Limits(max_threads=0, max_block=(0, 0, 0), max_grid=(64, 64, 64))
        found = space(STREAM, limits=limits)

        assert len(found.legal) > 1
        for schedule in found.legal:
            assert tile_grid((1 << 20, 1, 1), schedule)[0] <= 64

    def test_a_default_that_cannot_be_launched_is_refused(self):
        limits = Limits(max_threads=0, max_block=(0, 0, 0), max_grid=(4, 4, 4))

        with pytest.raises(InvalidInput) as caught:
            space(STREAM, declared=(64, 1, 1), limits=limits)
        assert str(caught.value) == (
            "the default workgroup (64, 1, 1) cannot cover (1048576, 1, 1): 1048576 elements would"
            " be more than the 4 workgroups that the device allows along it\n"
            "Fix: declare a workgroup that the device can launch, or split the dispatch"
        )

    def test_nearest_to_the_default_comes_first(self):
        found = space(PRODUCT, (512, 512, 1))
        ordered = simd.order(found)

        assert ordered[0] == found.default
        assert sorted(map(hash, ordered)) == sorted(map(hash, found.legal))
        usual = found.default.place()
        away = [sum(abs(a - b) for a, b in zip(s.place(), usual, strict=True)) for s in ordered]
        assert away == sorted(away)

    def test_the_device_decides_which_space_it_is(self):
        facts, launch = analyse(STREAM), numbers(STREAM, (4096, 1, 1))
        traits = LaunchTraits({"x": 64, "out": 64})
        lanes = space_for(device(), STREAM, facts, launch, None, traits)
        row = space_for(device(lanes=None), STREAM, facts, launch, None, traits)

        assert lanes.default == default_for(device(), STREAM, facts, launch, unchecked=True)
        assert row.default == default_for(device(lanes=None), STREAM, facts, launch, unchecked=True)
        assert all(schedule.code.items == 1 for schedule in lanes.legal)


extents = st.tuples(*(st.integers(1, most) for most in (3000, 40, 5)))


class TestLaws:
    @given(race_free(size=12), extents, st.integers(1, 64), st.sampled_from([4, 8, 16]))
    @settings(max_examples=40)
    def test_every_schedule_covers_the_extent_with_code_that_can_be_written(
        self, case, extent, threads, lanes
    ):
        program = case.program
        facts = analyse(program)
        machine = device(threads, lanes=replace(LANES, lanes=lanes))
        found = simd.space(facts, program, numbers(program, extent), None, machine, unchecked=False)

        assert found.legal
        assert found.legal[0] == found.default
        for schedule in found.legal:
            code = schedule.code
            tile = zip(extent, schedule.workgroup, tile_grid(extent, schedule), strict=True)
            assert all(size <= width * groups <= 1 << 32 for size, width, groups in tile)
            assert code.items == 1
            assert code.vector & (code.vector - 1) == 0
            assert code.rows & (code.rows - 1) == 0
            refuse_unbounded(code, LANES)
        ordered = simd.order(found)
        assert ordered[0] == found.default
        assert set(ordered) == set(found.legal)
        assert len(ordered) == len(found.legal)
        for code in {found.default.code, ordered[-1].code}:
            emit_llvm(program, code, Features(vector_bytes=4 * lanes), facts)


class TestPinnedCodes:
    @pytest.mark.parametrize(
        ("code", "message"),
        [
            (Code(vector=512), "512 elements in a vector; 256 allowed\nFix: use at most 256"),
            (Code(vector=8, rows=32), "32 rows side by side; 16 allowed\nFix: use at most 16"),
            (
                Code(vector=256, rows=8),
                "2048 lanes, elements times rows; 1024 allowed\nFix: use at most 1024",
            ),
        ],
    )
    def test_a_processor_takes_more_lanes_and_rows_but_not_any(self, code, message):
        with pytest.raises(InvalidInput) as caught:
            refuse_unbounded(code, LANES)
        assert str(caught.value) == message

    def test_without_lanes_there_is_one_row(self):
        with pytest.raises(InvalidInput) as caught:
            refuse_unbounded(Code(rows=2))
        assert str(caught.value) == "2 rows side by side; 1 allowed\nFix: use at most 1"

    def test_without_lanes_nothing_is_staged_for_rows(self):
        refuse_unbounded(Code(staged=True), LANES)
        with pytest.raises(InvalidInput) as caught:
            refuse_unbounded(Code(staged=True))
        assert str(caught.value) == (
            "a staged code for a device that has no rows side by side, which would share it\n"
            "Fix: use staged=False; a depth of at least 1 has workgroups bring what they share"
        )

    def test_every_default_may_be_pinned(self):
        for program in (STREAM, CHAIN, GATHER, PARTING, WIDE, HISTOGRAM):
            refuse_unbounded(default(program).code, LANES)
        assert isinstance(default(STREAM), Schedule)
