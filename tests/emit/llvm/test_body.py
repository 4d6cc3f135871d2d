"""Lanes that leave loops, rounds and the program: by jumps where all do, by masks where some do."""

import numpy as np
import pytest

from vyre import ir
from vyre.analysis import analyse
from vyre.emit.llvm import Features, definitions, emit_llvm
from vyre.errors import UnsupportedFeature
from vyre.ir import DataType
from vyre.ir.functions import Definition
from vyre.ir.node import Trap
from vyre.model import Code, Order
from vyre.testing.by_hand import RW, R, W, kernel
from vyre.testing.launches import Subject, Way

F32, U32, I32 = DataType.F32, DataType.U32, DataType.I32
N = 77
SUM, ROUND = ir.var("sum"), ir.var("i")
SOME = ir.binary(ir.BinaryOp.LT, ir.load("x", ir.gid()), ROUND)
EVERYBODY = ir.binary(ir.BinaryOp.EQ, ROUND, ir.u32(3))
ADD = ir.assign("sum", SUM + ROUND + 1)
WIDE = [Code(), Code(vector=4), Code(vector=16)]


def summing(*body, stop=None):
    """A loop that adds up, in which something leaves, and then the store of the sum."""
    return kernel(
        [
            ir.let("sum", ir.u32(0)),
            ir.store("out", ir.gid(), ir.u32(99)),
            ir.loop("i", ir.u32(0), stop if stop is not None else ir.u32(7), body),
            ir.store("out", ir.gid(), SUM),
        ],
        (N, 1, 1),
        x=(R, U32, np.arange(N) % 9),
        out=(RW, U32, [0] * N),
    )


def tile_of(case, **code):
    program = case.program
    made = emit_llvm(program, Code(**code), Features(vector_bytes=32), analyse(program)).text
    start = made.index("define internal void @tile")
    return made[start : made.index("\n}\n", start)]


LEAVE = {"break": ir.break_(), "continue": ir.continue_(), "return": ir.return_()}


class TestLeaving:
    @pytest.mark.parametrize("leave", LEAVE.values(), ids=LEAVE)
    def test_where_some_lanes_leave_the_others_go_on(self, run_cases, leave):
        run_cases([summing(ADD, ir.if_(SOME, [leave]), ADD)], WIDE)

    @pytest.mark.parametrize("leave", LEAVE.values(), ids=LEAVE)
    def test_where_all_lanes_leave_none_goes_on(self, run_cases, leave):
        run_cases([summing(ADD, ir.if_(EVERYBODY, [leave]), ADD)], WIDE)

    @pytest.mark.parametrize("leave", LEAVE.values(), ids=LEAVE)
    def test_what_follows_leaving_in_the_same_list_is_not_done(self, run_cases, leave):
        run_cases([summing(ADD, ir.if_(SOME, [leave, ADD]), ADD), summing(ADD, leave, ADD)], WIDE)

    @pytest.mark.parametrize("leave", LEAVE.values(), ids=LEAVE)
    def test_an_inner_loop_is_left_without_the_outer(self, run_cases, leave):
        inner = ir.loop("j", ir.u32(0), ir.u32(3), [ADD, ir.if_(SOME, [leave]), ADD])

        run_cases([summing(inner, ADD)], WIDE)

    def test_lanes_of_different_lengths_leave_one_by_one(self, run_cases):
        own = ir.load("x", ir.gid())

        run_cases([summing(ADD, stop=own), summing(ADD, ir.if_(SOME, [ir.break_()]), stop=own)])

    def test_a_while_loop_is_left_like_a_counted_one(self, run_cases):
        cases = []
        for leave in (ir.break_(), ir.continue_(), ir.return_()):
            for test in (SOME, EVERYBODY):
                body = [ir.assign("i", ROUND + 1), ir.if_(test, [leave]), ADD]
                loop = ir.while_(ir.binary(ir.BinaryOp.LT, ROUND, ir.u32(8)), body)
                nodes = [ir.let("sum", ir.u32(0)), ir.let("i", ir.u32(0)), loop]
                cases.append(
                    kernel(
                        [*nodes, ir.store("out", ir.gid(), SUM)],
                        (N, 1, 1),
                        x=(R, U32, np.arange(N) % 9),
                        out=(RW, U32, [5] * N),
                    )
                )

        run_cases(cases, WIDE)

    def test_a_counter_of_a_signed_type_counts_from_below_0(self, run_cases):
        case = kernel(
            [
                ir.let("sum", ir.i32(0)),
                ir.loop("i", ir.i32(-3), ir.load("x", ir.gid()), [ir.assign("sum", SUM + ROUND)]),
                ir.loop("i", ir.i32(-3), ir.i32(2), [ir.assign("sum", SUM + ROUND)]),
                ir.store("out", ir.gid(), SUM),
            ],
            (N, 1, 1),
            x=(R, I32, np.arange(N) % 7 - 4),
            out=(W, I32, [0] * N),
        )

        run_cases([case], WIDE)

    def test_rows_side_by_side_leave_on_their_own(self, run_ways):
        own = ir.load("x", ir.flat_index("x", ir.gid(1), ir.gid(0)))
        case = kernel(
            [
                ir.let("sum", ir.u32(0)),
                ir.loop(
                    "i",
                    ir.u32(0),
                    own,
                    [ir.if_(ir.binary(ir.BinaryOp.EQ, ROUND, ir.gid(1)), [ir.return_()]), ADD],
                ),
                ir.store("out", ir.flat_index("out", ir.gid(1), ir.gid(0)), SUM),
            ],
            (37, 11, 1),
            x=(R, U32, np.arange(37 * 11).reshape(11, 37) % 9),
            out=(RW, U32, np.full((11, 37), 5)),
        )
        subject = Subject(case)
        codes = [Code(vector=4, rows=4), Code(vector=8, rows=2, order=Order.BLOCKED)]

        run_ways([(subject, Way(code, (37, 11, 1))) for code in codes])


class TestText:
    def test_a_loop_that_all_lanes_leave_together_needs_no_mask(self):
        assert "x i1>" not in tile_of(summing(ADD, ir.if_(EVERYBODY, [ir.break_()])), vector=8)

    def test_a_loop_that_some_leave_does(self):
        assert "x i1>" in tile_of(summing(ADD, ir.if_(SOME, [ir.break_()])), vector=8)

    @pytest.mark.parametrize("leave", LEAVE.values(), ids=LEAVE)
    def test_one_lane_alone_needs_no_mask(self, leave):
        assert "x i1>" not in tile_of(summing(ADD, ir.if_(SOME, [leave])), vector=1)

    def test_an_if_that_all_lanes_take_alike_is_a_branch(self):
        same = summing(ir.if_(EVERYBODY, [ADD], [ADD, ADD]))
        own = summing(ir.if_(SOME, [ADD], [ADD, ADD]))

        assert "@llvm.vector.reduce.or" not in tile_of(same, vector=8)
        assert tile_of(own, vector=8).count("@llvm.vector.reduce.or") == 2

    def test_an_empty_side_of_a_masked_if_is_not_asked_for(self):
        assert tile_of(summing(ir.if_(SOME, [], [ADD])), vector=8).count("reduce.or") == 1

    def test_a_name_that_is_given_once_is_a_register(self):
        case = kernel(
            [ir.let("a", ir.load("x", ir.gid()) + 1), ir.store("out", ir.gid(), ir.var("a"))],
            (N, 1, 1),
            x=(R, U32, [0] * N),
            out=(W, U32, [0] * N),
        )

        assert "alloca <" not in tile_of(case, vector=8)

    def test_a_name_that_is_one_for_all_lanes_is_kept_once(self):
        same = summing(ADD)
        own = summing(ir.assign("sum", SUM + ir.load("x", ir.gid())))

        assert "alloca <8 x i32>" not in tile_of(same, vector=8)
        assert "alloca <8 x i32>" in tile_of(own, vector=8)


def test_a_flat_index_is_a_number_that_is_the_last_one_outside(run_cases):
    at = ir.flat_index("x", ir.gid(), ir.load("column", ir.gid()))
    case = kernel(
        [ir.store("out", ir.gid(), at), ir.store("row", at, ir.u32(1))],
        (9, 1, 1),
        x=(R, U32, np.zeros((7, 5))),
        column=(R, U32, [0, 4, 5, 2, 2**32 - 1, 1, 0, 0, 3]),
        out=(W, U32, np.zeros(9)),
        row=(RW, U32, np.zeros(35)),
    )

    run_cases([case], WIDE)


def test_a_statement_that_has_no_code_is_refused():
    program = ir.Program.wrapped([], (1, 1, 1), [Trap(ir.u32(0), "stop")])

    with pytest.raises(UnsupportedFeature) as caught:
        emit_llvm(program, Code(), Features(), analyse(program))
    assert str(caught.value) == (
        "trap 'stop' at 0u32: no device code for Trap\n"
        "Fix: leave it out, or run the program elsewhere"
    )


def test_a_definition_that_is_no_function_of_its_parameters_is_our_mistake(monkeypatch):
    wrong = Definition(("x",), (), ir.cast(F32, ir.gid()))
    monkeypatch.setattr(definitions, "definition", lambda _op, _dtype: wrong)
    exp = ir.unary(ir.UnaryOp.EXP, ir.cast(F32, ir.gid()))
    program = ir.Program.wrapped([], (1, 1, 1), [ir.let("a", exp)])

    with pytest.raises(AssertionError, match="which is none of its parameters"):
        emit_llvm(program, Code(), Features(), analyse(program))


def test_a_break_outside_of_loops_is_our_mistake():
    """No valid program holds one."""
    program = ir.Program.wrapped([], (1, 1, 1), [ir.break_()])

    with pytest.raises(AssertionError, match="a break or continue stands in a loop"):
        emit_llvm(program, Code(), Features(), analyse(program))
