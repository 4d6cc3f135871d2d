"""Rows of a loop that a panel shares: which loads they are, and that copies change no result."""

import numpy as np
import pytest

from vyre import ir
from vyre.analysis import analyse
from vyre.emit.lanes import variation
from vyre.emit.llvm import Features, emit_llvm, stages
from vyre.emit.llvm.staging import SCRATCH_BYTES, staged_loads
from vyre.emit.llvm.tile import ACROSS, DOWN
from vyre.ir import BufferDecl, DataType, Program
from vyre.model import Code, Order
from vyre.testing.by_hand import R, W, kernel
from vyre.testing.launches import Subject, Way

F16, F32, U32, I32 = DataType.F16, DataType.F32, DataType.U32, DataType.I32
X, Y, K = ir.gid(0), ir.gid(1), ir.var("k")
SUM = ir.var("sum")


def product(
    index, *, start=None, stop=None, before=(), b=BufferDecl.read, out=BufferDecl.write, rest=()
):
    """A product of matrices whose right one is read at `index`."""
    start, stop = start or ir.u32(0), stop or ir.buf_dim("a", 1)
    add = SUM + ir.load("a", ir.flat_index("a", Y, K)) * ir.load("b", index)
    decls = [
        BufferDecl.read("a", 0, F32).with_shape(0, 0),
        b("b", 1, F32).with_shape(0, 0),
        out("out", 2, F32).with_shape(0, 0),
    ]
    body = [
        *before,
        ir.let("sum", ir.f32(0)),
        ir.loop("k", start, stop, [ir.assign("sum", add), *rest]),
        ir.store("out", ir.flat_index("out", Y, X), SUM),
    ]
    return Program.wrapped(decls, (64, 1, 1), body)


def found(program):
    across, down = (variation(program, ids, returns=True) for ids in (ACROSS, DOWN))
    return [one.buffer for one in staged_loads(program, across, down)]


ROW = ir.flat_index("b", K, X)


class TestWhich:
    def test_a_row_for_each_round_at_the_lanes_columns_is(self):
        program = product(ROW)

        assert found(program) == ["b"]
        assert stages(program)

    @pytest.mark.parametrize(
        "index",
        [
            ir.flat_index("b", K, Y),
            ir.flat_index("b", X, K),
            ir.flat_index("b", K, K),
            ir.flat_index("b", K + Y, X),
            ir.flat_index("b", ir.u32(3), X),
            ir.flat_index("b", K, X * 2),
            ir.flat_index("b", K * Y, X),
            K,
        ],
        ids=["column", "turned", "diagonal", "own row", "one row", "apart", "scaled", "flat"],
    )
    def test_another_index_is_not(self, index):
        assert found(product(index)) == []

    def test_a_row_of_an_array_that_is_written_is_not(self):
        assert found(product(ROW, b=BufferDecl.read_write)) == []

    def test_names_that_are_known_before_the_loop_may_be_in_it(self):
        names = [ir.let("first", ir.buf_dim("a", 1)), ir.let("base", ir.var("first") + 1)]
        index = ir.flat_index("b", K + ir.var("base"), X)

        assert found(product(index, before=names, stop=ir.var("first"))) == ["b"]

    @pytest.mark.parametrize(
        "value",
        [
            ir.cast(U32, ir.load("a", ir.flat_index("a", Y, X))),
            ir.workgroup_id(0),
        ],
        ids=["an element", "the workgroup"],
    )
    def test_names_that_are_not_may_not(self, value):
        names = [ir.let("n", value)]

        assert found(product(ROW, before=names, stop=ir.var("n"))) == []

    def test_a_name_made_of_such_a_name_may_not(self):
        """`n` is bound twice, so `m` means two things."""
        add = ir.assign("sum", SUM + ir.load("b", ROW))
        loop = ir.loop("k", ir.u32(0), ir.var("m"), [add])
        decls = [BufferDecl.read("b", 0, F32).with_shape(0, 0)]
        names = [ir.let("n", ir.u32(4)), ir.let("m", ir.var("n") + 1), loop]
        body = [ir.let("sum", ir.f32(0)), ir.block([ir.let("n", ir.u32(3))]), ir.block(names)]

        assert found(Program.wrapped(decls, (64, 1, 1), body)) == []

    def test_a_name_of_an_inner_list_may_not(self):
        inside = ir.flat_index("b", K, X)
        add = ir.assign("sum", SUM + ir.load("b", inside))
        body = [
            ir.let("sum", ir.f32(0)),
            ir.if_(
                ir.bool_(True),
                [ir.let("n", ir.u32(4)), ir.loop("k", ir.u32(0), ir.var("n"), [add])],
            ),
        ]
        decls = [BufferDecl.read("b", 0, F32).with_shape(0, 0)]

        assert found(Program.wrapped(decls, (64, 1, 1), body)) == []

    def test_a_loop_that_parts_is_not(self):
        leave = ir.if_(ir.binary(ir.BinaryOp.LT, SUM, ir.f32(0)), [ir.break_()])

        assert found(product(ROW, rest=[leave])) == []

    def test_two_loads_that_read_alike_in_different_loops_are_not(self):
        add = ir.assign("sum", SUM + ir.load("b", ROW))
        decls = [BufferDecl.read("b", 0, F32).with_shape(0, 0)]
        loops = [ir.loop("k", ir.u32(0), ir.u32(stop), [add]) for stop in (3, 4)]
        program = Program.wrapped(decls, (64, 1, 1), [ir.let("sum", ir.f32(0)), *loops])

        assert found(program) == []

    def test_a_name_that_is_bound_in_two_lists_may_not(self):
        def part(number):
            add = ir.assign("sum", SUM + ir.load("b", ir.flat_index("b", ir.var(number), X)))
            loop = ir.loop(number, ir.u32(0), ir.var("n"), [add])
            return ir.block([ir.let("n", ir.buf_dim("b", 0) - ir.u32(int(number[1:]))), loop])

        decls = [BufferDecl.read("b", 0, F32).with_shape(0, 0)]
        twice = [ir.let("sum", ir.f32(0)), part("k0"), part("k1")]

        assert found(Program.wrapped(decls, (64, 1, 1), twice)) == []
        assert found(Program.wrapped(decls, (64, 1, 1), twice[:2])) == ["b"]

    def test_an_element_that_may_change_beforehand_may_not(self):
        names = [ir.let("n", ir.cast(U32, ir.load("out", ir.u32(0))))]

        assert found(product(ROW, before=names, stop=ir.var("n"), out=BufferDecl.read_write)) == []


class TestCode:
    def task(self, **code):
        program = product(ROW)
        made = emit_llvm(program, Code(**code), Features(vector_bytes=32), analyse(program))
        return made.text[made.text.index("@vyre_task") :]

    def test_a_task_has_room_for_its_panels(self):
        task = self.task(vector=8, order=Order.BLOCKED, staged=True, checked=False)

        assert f"%scratch = call noalias ptr @malloc(i64 {SCRATCH_BYTES})" in task
        assert "call void @free(ptr %scratch)" in task

    @pytest.mark.parametrize(
        "code",
        [
            {"vector": 8, "staged": True},
            {"order": Order.BLOCKED, "staged": True},
            {"vector": 8, "order": Order.BLOCKED},
        ],
        ids=["row by row", "one lane", "not asked for"],
    )
    def test_only_panels_of_lanes_that_ask_for_it_have(self, code):
        assert "%scratch" not in self.task(**code, checked=False)


class TestResults:
    """On every processor, in every order."""

    CODES = tuple(
        Code(vector=vector, rows=rows, order=Order.BLOCKED, staged=True, unroll=unroll)
        for vector, rows, unroll in ((4, 1, 1), (8, 2, 4), (16, 4, 1))
    )

    def matrices(self, dtype, rows, rounds, columns, loop):
        add = ir.load("a", ir.flat_index("a", Y, K)) * ir.load("b", ROW)
        random = np.random.default_rng(3)
        return kernel(
            [
                ir.let("sum", ir.f32(0) if dtype != U32 else ir.u32(0)),
                ir.loop("k", *loop, [ir.assign("sum", SUM + add)]),
                ir.store("out", ir.flat_index("out", Y, X), SUM),
            ],
            (columns, rows, 1),
            a=(R, dtype, random.integers(0, 9, (rows, rounds))),
            b=(R, dtype, random.integers(0, 9, (rounds, columns))),
            out=(W, dtype, np.zeros((rows, columns))),
        )

    def test_copies_and_rows_in_place_give_the_references_bits(self, run_ways):
        """A panel of few rows copies nothing; one beyond the array checks what it reads."""
        whole = (ir.u32(0), ir.buf_dim("b", 0))
        cases = [
            self.matrices(F32, 37, 11, 41, whole),
            self.matrices(U32, 3, 11, 41, whole),
            self.matrices(F16, 37, 5, 64, whole),
            self.matrices(F32, 20, 9, 33, (ir.u32(2), ir.u32(7))),
            self.matrices(F32, 20, 9, 33, (ir.u32(7), ir.u32(2))),
            self.matrices(U32, 20, 9, 33, (ir.u32(2), ir.u32(12))),
        ]

        run_ways(
            [
                (Subject(case), Way(code, (case.extent[0], case.extent[1], 1)))
                for case in cases
                for code in self.CODES
            ]
        )

    def test_loops_of_one_counters_name_read_their_own_rows(self, run_ways):
        add = ir.assign("sum", SUM + ir.load("b", ROW))
        case = kernel(
            [
                ir.let("sum", ir.u32(0)),
                ir.loop("k", ir.u32(5), ir.u32(9), [add]),
                ir.loop("k", ir.u32(0), ir.u32(3), [add]),
                ir.store("out", ir.flat_index("out", Y, X), SUM),
            ],
            (33, 20, 1),
            b=(R, U32, np.arange(9 * 33).reshape(9, 33)),
            out=(W, U32, np.zeros((20, 33))),
        )

        run_ways([(Subject(case), Way(code, (33, 20, 1))) for code in self.CODES])

    def test_names_before_the_loop_mean_what_they_mean_in_it(self, run_ways):
        add = ir.load("b", ir.flat_index("b", K + ir.var("base"), X))
        case = kernel(
            [
                ir.let("last", ir.buf_dim("b", 0)),
                ir.let("base", ir.u32(2)),
                ir.let("sum", ir.u32(0)),
                ir.loop("k", ir.u32(1), ir.u32(6), [ir.assign("sum", SUM + add + ir.var("last"))]),
                ir.store("out", ir.flat_index("out", Y, X), SUM),
            ],
            (33, 20, 1),
            b=(R, U32, np.arange(9 * 33).reshape(9, 33)),
            out=(W, U32, np.zeros((20, 33))),
        )

        run_ways([(Subject(case), Way(code, (33, 20, 1))) for code in self.CODES])
