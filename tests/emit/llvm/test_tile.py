"""Tiles of positions: which rows go side by side, where edges are, and counters of a thread."""

import re

import numpy as np
import pytest

from vyre import ir
from vyre.analysis import analyse
from vyre.emit.llvm import Features, emit_llvm, loops_part, rows_side_by_side
from vyre.ir import BufferDecl, DataType, Program
from vyre.model import Code, Order
from vyre.testing.by_hand import RW, R, W, kernel
from vyre.testing.launches import Subject, Way

F32, U32 = DataType.F32, DataType.U32
X, Y, Z = ir.gid(0), ir.gid(1), ir.gid(2)
OWN = ir.load("x", ir.flat_index("x", Y, X))


def below(left, right):
    return ir.binary(ir.BinaryOp.LT, left, right)


def grid(*body):
    decls = [
        BufferDecl.read("x", 0, U32).with_shape(0, 0),
        BufferDecl.read_write("out", 1, U32).with_shape(0, 0),
    ]
    return Program.wrapped(decls, (64, 1, 1), [ir.let("n", ir.u32(0)), *body])


def text(program, features=None, **code):
    features = features or Features(vector_bytes=32)
    return emit_llvm(program, Code(**code), features, analyse(program)).text


ADD = ir.assign("n", ir.var("n") + 1)


class TestRows:
    @pytest.mark.parametrize(
        ("body", "side_by_side"),
        [
            ([ir.if_(below(X, ir.u32(3)), [ADD])], True),
            ([ir.if_(below(Y, ir.u32(3)), [ADD])], False),
            ([ir.if_(below(OWN, ir.u32(3)), [ADD])], True),
            ([ir.loop("i", ir.u32(0), Y, [ADD])], False),
            ([ir.loop("i", ir.u32(0), Z, [ADD])], True),
            ([ir.while_(below(ir.var("n"), OWN), [ADD])], True),
            ([ir.while_(below(ir.var("n"), Y), [ADD])], False),
            ([], True),
        ],
        ids=["x", "y", "element", "y rounds", "z rounds", "while x", "while y", "none"],
    )
    def test_rows_part_only_where_lanes_do(self, body, side_by_side):
        """A branch that one row takes and the next does not has no mask to go by."""
        assert rows_side_by_side(grid(*body)) is side_by_side

    def test_rows_that_would_part_run_one_after_the_other(self):
        program = grid(ir.if_(below(Y, ir.u32(3)), [ADD]))

        assert text(program, vector=8, rows=4) == text(program, vector=8)

    def test_one_lane_has_one_row(self):
        assert text(grid(), rows=4) == text(grid())

    @pytest.mark.parametrize(
        ("body", "parts"),
        [
            ([ir.loop("i", ir.u32(0), OWN, [ADD])], True),
            ([ir.loop("i", ir.u32(0), ir.u32(4), [ADD])], False),
            ([ir.loop("i", ir.u32(0), Y, [ADD])], False),
            ([ir.if_(below(X, ir.u32(3)), [ADD])], False),
        ],
        ids=["own length", "one length", "a row's length", "no loop"],
    )
    def test_a_loop_parts_where_lanes_leave_it_on_their_own(self, body, parts):
        assert loops_part(grid(*body)) is parts


class TestEdges:
    COPY = ir.store("out", X, ir.load("x", X))
    DECLS = (BufferDecl.read("x", 0, F32), BufferDecl.write("out", 1, F32))

    def line(self, *body):
        return Program.wrapped(self.DECLS, (64, 1, 1), body or [self.COPY])

    def defined(self, **code):
        return re.findall(r"^define .*@(\w+)\(", text(self.line(), **code), re.MULTILINE)

    def test_code_of_one_lane_without_margins_has_none(self):
        assert self.defined(checked=False) == ["tile", "vyre_task"]

    @pytest.mark.parametrize(
        "code",
        [{"vector": 8, "checked": False}, {"unroll": 2, "checked": False}, {"checked": True}],
        ids=["lanes", "turns", "margins"],
    )
    def test_lanes_turns_and_margins_need_them(self, code):
        assert self.defined(**code) == ["edge", "tile", "vyre_task"]

    @pytest.mark.parametrize(("vector", "lanes"), [(4, 4), (8, 8), (64, 8)])
    def test_an_edge_has_one_register_of_lanes_at_most(self, vector, lanes):
        made = text(self.line(), vector=vector, checked=False)
        edge = made[made.index("@edge(") : made.index("\n}\n")]

        assert f"<{lanes} x i1>" in edge

    def test_turns_are_a_power_of_two(self):
        """Positions behind the last whole step are the edge's."""
        made = text(self.line(), unroll=6, checked=False)

        assert "and i32" in made
        assert made.count("load float, ptr") == 1 + 4


def moved_along(axis, away, extent):
    """Each element and the one so far away along an axis, of an array as large as the dispatch."""
    rank = len(extent)
    here = [ir.gid(rank - 1 - dim) for dim in range(rank)]
    there = [at + ir.u32(away % 2**32) if at == ir.gid(axis) else at for at in here]
    value = ir.load("x", ir.flat_index("x", *there)) + ir.load("x", ir.flat_index("x", *here))
    shape = extent[::-1]
    return kernel(
        [ir.store("out", ir.flat_index("out", *here), value)],
        (*extent, 1)[:3],
        x=(R, U32, np.arange(np.prod(shape)).reshape(shape)),
        out=(W, U32, np.zeros(shape)),
    )


class TestMargins:
    """On every processor: what is inside needs no check, and what is not is found."""

    CODES = (
        Code(vector=4, rows=2),
        Code(vector=16, rows=4, order=Order.BLOCKED),
        Code(unroll=4),
        Code(vector=8, checked=True, order=Order.BLOCKED),
    )

    def test_neighbours_along_every_axis_are_found_or_0(self, run_ways):
        cases = [moved_along(axis, by, (37, 9)) for axis in (0, 1) for by in (-1, 1, -40, 40)]
        subjects = [Subject(case) for case in cases]

        run_ways([(s, Way(code, (37, 9, 1))) for s in subjects for code in self.CODES])

    def test_neighbours_in_layers_are_found_or_0(self, run_ways):
        cases = [moved_along(2, by, (19, 5, 4)) for by in (-1, 1, 7)]
        subjects = [Subject(case) for case in cases]

        run_ways([(s, Way(code, (16, 5, 3))) for s in subjects for code in self.CODES])

    def test_an_element_that_all_read_is_found_or_0(self, run_ways):
        """A constant index is one test for the whole tile."""
        cases = [
            kernel(
                [ir.store("out", X, ir.load("x", ir.u32(at)) + ir.load("x", X))],
                (37, 1, 1),
                x=(R, U32, np.arange(5, 5 + length)),
                out=(W, U32, np.zeros(37)),
            )
            for at in (0, 3, 4)
            for length in (1, 4, 37)
        ]

        run_ways([(Subject(c), Way(code, (37, 1, 1))) for c in cases for code in self.CODES])

    def test_positions_in_and_of_workgroups_are_those_of_the_tile(self, run_ways):
        ids = (ir.local_id, ir.workgroup_id, ir.workgroup_size, ir.extent, ir.gid)
        total = ir.u32(0)
        for ident in ids:
            for axis in range(3):
                total = total * 7 + ident(axis)
        case = kernel(
            [ir.store("out", ir.flat_index("out", Z, Y, X), total)],
            (37, 6, 3),
            (8, 4, 2),
            out=(W, U32, np.zeros((3, 6, 37))),
        )

        run_ways([(Subject(case), Way(code, (8, 4, 2))) for code in self.CODES])


class TestCounters:
    COUNT = ir.let("old", ir.atomic(ir.AtomicOp.ADD, "bins", ir.load("x", X), ir.u32(1)))

    def case(self, *more):
        return kernel(
            [self.COUNT, *more],
            (300, 1, 1),
            fixed=["bins"],
            x=(R, U32, np.arange(300) % 13),
            bins=(RW, U32, np.arange(10)),
            out=(W, U32, np.zeros(300)),
        )

    def test_a_thread_has_tables_of_its_own_which_it_adds_up_at_the_end(self):
        case = self.case()
        made = text(case.program, vector=8)
        task = made[made.index("@vyre_task") :]

        assert analyse(case.program).counters == {"bins": 10}
        assert f"%c0 = alloca [{4 * (10 + 16)} x i32], align 64" in task
        assert made.count("atomicrmw") == 1

    def test_counts_that_somebody_looks_at_are_made_at_once(self):
        looked = self.case(ir.store("out", X, ir.var("old")))
        made = text(looked.program, vector=8)

        assert not analyse(looked.program).counters
        assert "alloca [" not in made

    def test_a_count_that_is_surely_inside_goes_straight_to_a_table(self, run_ways):
        case = kernel(
            [ir.let("old", ir.atomic(ir.AtomicOp.ADD, "bins", 3, ir.load("x", X)))],
            (300, 1, 1),
            fixed=["bins"],
            x=(R, U32, np.arange(300)),
            bins=(RW, U32, np.arange(4)),
        )

        assert analyse(case.program).counters == {"bins": 4}
        run_ways([(Subject(case), Way(code, (64, 1, 1))) for code in (Code(), Code(vector=8))])

    def test_counts_outside_are_lost(self, run_ways):
        subject = Subject(self.case())
        codes = [Code(), Code(unroll=4), Code(vector=8)]

        run_ways([(subject, Way(code, (64, 1, 1))) for code in codes])


class TestLoopsThatWalkAnArray:
    """The counter's check stands once before the loop."""

    def walk(self, start, stop, dtype=U32, length=40):
        i = ir.var("i")
        add = ir.assign("sum", ir.var("sum") + ir.load("x", i))
        return kernel(
            [
                ir.let("sum", ir.u32(0)),
                ir.loop("i", start, stop, [add]),
                ir.store("out", X, ir.var("sum")),
            ],
            (37, 1, 1),
            x=(R, U32, np.arange(1, length + 1)),
            ends=(R, dtype, np.arange(37) * 2 - (30 if dtype == DataType.I32 else 0)),
            out=(W, U32, np.zeros(37)),
        )

    def test_lanes_that_stay_inside_and_lanes_that_do_not_agree_with_the_reference(self, run_cases):
        own = ir.load("ends", X)
        signed = DataType.I32
        cases = [
            self.walk(ir.u32(0), ir.u32(40)),
            self.walk(ir.u32(3), ir.u32(41)),
            self.walk(ir.u32(0), own),
            self.walk(own, ir.u32(60)),
            self.walk(ir.i32(-3), ir.i32(9), signed),
            self.walk(ir.i32(2), ir.i32(9), signed),
            self.walk(own, ir.i32(50), signed),
            self.walk(ir.i32(0), own, signed),
            self.walk(ir.u32(0), ir.u32(9), length=0),
        ]

        run_cases(cases, [Code(), Code(vector=4), Code(vector=16)])

    def test_it_is_written_with_and_without_checks(self):
        made = text(self.walk(ir.u32(0), ir.buf_len("ends")).program, vector=8)
        tile = made[made.index("@tile(") :]

        assert tile.count("ptr @zeros") == 1
        assert tile.count("load i32, ptr") > 2
