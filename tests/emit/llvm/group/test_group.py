"""Workgroups that work together: what is one for all lanes, and what lives past barriers."""

import numpy as np
import pytest

from vyre import ir
from vyre.analysis import analyse
from vyre.emit.llvm import Features, emit_llvm
from vyre.emit.llvm.group.together import changed_in_phases, holds, is_together, names_in
from vyre.ir import BufferDecl, DataType
from vyre.ir.node import Barrier, Return
from vyre.model import Code
from vyre.testing.by_hand import RW, R, W, kernel
from vyre.testing.launches import Subject, Way

BOOL, F32, U32 = DataType.BOOL, DataType.F32, DataType.U32
LANE, HERE, N = ir.local_id(), ir.gid(), 150
LINE = BufferDecl.workgroup("line", 64, U32)
CODES = (Code(), Code(vector=4), Code(vector=16, unroll=2))


def below(left, right):
    return ir.binary(ir.BinaryOp.LT, left, right)


def together(*body, workgroup=(64, 1, 1), extent=(N, 1, 1), shared=(LINE,)):
    return kernel(
        body,
        extent,
        workgroup,
        shared=shared,
        x=(R, U32, np.arange(N) * 7 % 23),
        out=(RW, U32, np.full(N, 5)),
    )


@pytest.fixture
def agree(run_ways):
    """Every lane gives the reference's bits, whatever the width."""

    def run(*cases):
        ways = []
        for case in cases:
            subject = Subject(case)
            ways += [(subject, Way(code, case.program.workgroup_size)) for code in CODES]
        run_ways(ways)

    return run


SEEN = ir.load("line", ir.u32(63) - LANE)


class TestTogether:
    WAIT, LET, LEAVE = ir.barrier(), ir.let("a", LANE), ir.return_()

    @pytest.mark.parametrize(
        ("node", "waits", "expected"),
        [
            (WAIT, False, True),
            (ir.block([WAIT]), False, True),
            (ir.if_(below(LANE, N), [WAIT]), False, True),
            (LET, True, False),
            (ir.break_(), False, True),
            (ir.if_(below(LANE, N), [ir.continue_()]), False, True),
            (ir.loop("i", 0, 3, [ir.break_()]), False, False),
            (LEAVE, False, False),
            (LEAVE, True, True),
            (ir.if_(below(LANE, N), [LEAVE]), True, True),
        ],
        ids=[
            *("barrier", "in a block", "under a test", "a name", "break", "continue"),
            *("own break", "last return", "return before a barrier", "some return"),
        ],
    )
    def test_a_barrier_and_what_leads_past_one_is_for_all_lanes(self, node, waits, expected):
        assert is_together(node, waits=waits) is expected

    def test_statements_are_found_however_deep(self):
        nodes = [ir.loop("i", 0, 3, [ir.if_(below(LANE, N), [self.LEAVE])])]

        assert holds(nodes, Return)
        assert not holds(nodes, Barrier)

    def test_names_are_read_or_changed(self):
        nodes = [ir.assign("a", ir.var("b")), ir.let("c", ir.u32(1))]

        assert names_in(nodes) == {"a", "b"}

    def test_what_a_phase_changes_runs_once_for_every_vector(self):
        """A plain assignment is one for all, if its value is; one in a loop of a phase is not."""
        change = ir.assign("a", ir.var("a") + 1)
        loop = ir.loop("i", 0, 3, [change])

        assert changed_in_phases([change, self.WAIT]) == set()
        assert changed_in_phases([loop, self.WAIT]) == {"a"}
        assert changed_in_phases([ir.loop("j", 0, 3, [change, self.WAIT])]) == set()
        assert changed_in_phases([ir.loop("j", 0, 3, [loop, self.WAIT])]) == {"a"}


class TestResults:
    def test_a_name_lives_through_barriers(self, agree):
        body = [
            ir.let("own", ir.load("x", HERE) + LANE),
            ir.let("odd", below(ir.var("own"), ir.u32(40))),
            ir.store("line", LANE, ir.var("own")),
            ir.barrier(),
            ir.let("seen", SEEN),
            ir.barrier(),
            ir.store(
                "out", HERE, ir.select(ir.var("odd"), ir.var("seen"), ir.var("own")) + ir.var("own")
            ),
        ]

        agree(together(*body), together(*body, workgroup=(40, 1, 1)))

    def test_a_name_that_changes_lives_through_barriers(self, agree):
        more = ir.assign("own", ir.var("own") * 3 + SEEN)
        body = [
            ir.let("own", ir.load("x", HERE)),
            ir.let("count", ir.u32(0)),
            ir.loop(
                "i",
                0,
                4,
                [
                    ir.store("line", LANE, ir.var("own")),
                    ir.barrier(),
                    more,
                    ir.assign("count", ir.var("count") + 1),
                    ir.barrier(),
                ],
            ),
            ir.store("out", HERE, ir.var("own") + ir.var("count")),
        ]

        agree(together(*body))

    def test_loops_around_barriers_are_left_by_all_lanes(self, agree):
        i = ir.var("i")

        def rounds(leave):
            return [
                ir.store("line", LANE, ir.load("x", HERE) + i),
                ir.barrier(),
                ir.if_(ir.binary(ir.BinaryOp.EQ, i, ir.u32(2)), [ir.barrier(), leave]),
                ir.assign("sum", ir.var("sum") + SEEN),
                ir.barrier(),
            ]

        def summing(loop):
            return together(ir.let("sum", ir.u32(0)), *loop, ir.store("out", HERE, ir.var("sum")))

        leaving = [ir.break_(), ir.continue_(), ir.return_()]
        counted = [summing([ir.loop("i", 0, 4, rounds(leave))]) for leave in leaving]
        step = ir.assign("i", i + 1)
        test = below(i, ir.u32(4))
        repeated = [
            summing([ir.let("i", ir.u32(0)), ir.while_(test, [step, *rounds(leave)])])
            for leave in leaving
        ]

        agree(*counted, *repeated)

    def test_a_branch_around_a_barrier_is_taken_by_all_lanes(self, agree):
        test = below(ir.workgroup_id(), ir.u32(1))
        first = [ir.store("line", LANE, HERE), ir.barrier(), ir.store("out", HERE, SEEN)]
        body = ir.if_(test, [ir.region("part", first)], [ir.barrier(), ir.store("out", HERE, LANE)])

        agree(together(body))

    def test_lanes_that_have_returned_stay_away(self, agree):
        """Behind the last barrier they may go one by one."""
        body = [
            ir.store("line", LANE, HERE),
            ir.barrier(),
            ir.if_(below(ir.load("x", HERE), ir.u32(9)), [ir.return_()]),
            ir.let("seen", SEEN),
            ir.if_(below(ir.var("seen"), ir.u32(50)), [ir.store("out", HERE, LANE), ir.return_()]),
            ir.store("out", HERE, ir.var("seen")),
        ]

        agree(together(*body))

    def test_atomics_on_workgroup_memory_count_every_lane(self, agree):
        count = ir.atomic(ir.AtomicOp.ADD, "line", ir.u32(0), ir.load("x", HERE))
        body = [ir.let("old", count), ir.barrier(), ir.store("out", HERE, ir.load("line", 0))]

        agree(together(*body))

    def test_a_loops_ends_may_come_from_memory_that_all_read_alike(self, agree):
        body = [
            ir.store("line", LANE, ir.u32(3)),
            ir.barrier(),
            ir.let("sum", ir.u32(0)),
            ir.loop(
                "i",
                0,
                ir.load("line", ir.u32(7)),
                [
                    ir.assign("sum", ir.var("sum") + SEEN),
                    ir.barrier(),
                    ir.store("line", LANE, ir.var("sum")),
                    ir.barrier(),
                ],
            ),
            ir.store("out", HERE, ir.var("sum")),
        ]

        agree(together(*body))

    def test_lanes_know_their_place_along_every_axis(self, run_ways):
        ids = (ir.local_id, ir.workgroup_id, ir.workgroup_size, ir.extent, ir.gid)
        total = ir.u32(0)
        for ident in ids:
            for axis in range(3):
                total = total * 5 + ident(axis)
        flat = (LANE + ir.local_id(1) * ir.workgroup_size(0)) % 64
        body = [
            ir.store("line", flat, ir.u32(1)),
            ir.barrier(),
            ir.store("out", ir.flat_index("out", ir.gid(2), ir.gid(1), ir.gid(0)), total),
        ]
        ways = []
        for workgroup in ((8, 4, 2), (5, 3, 2)):
            case = kernel(
                body, (16, 8, 4), workgroup, shared=(LINE,), out=(W, U32, np.zeros((4, 8, 16)))
            )
            ways += [(Subject(case), Way(code, workgroup)) for code in CODES]

        run_ways(ways)


class TestWidth:
    @pytest.mark.parametrize(
        ("across", "asked", "width"), [(64, 16, 16), (40, 16, 8), (6, 16, 4), (64, 1, 8)]
    )
    def test_a_vector_fits_a_row_of_the_workgroup(self, across, asked, width):
        """Down to 4 lanes; there are never fewer than a register has, where a row has as many."""
        case = together(
            ir.store("line", LANE, HERE),
            ir.barrier(),
            ir.store("out", HERE, SEEN),
            workgroup=(across, 1, 1),
        )
        program = case.program
        code, features = Code(vector=asked), Features(vector_bytes=32)
        text = emit_llvm(program, code, features, analyse(program)).text

        assert f"<{width} x i32>" in text[: text.index("@vyre_task")]
        assert f", {2 * width}\n" not in text
