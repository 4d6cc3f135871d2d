"""What differs between neighbours, and in which loops their ways part."""

from functools import partial

import pytest

from vyre import ir
from vyre.emit.lanes import MOST_NAMES, differences, returns_early, variation
from vyre.ir import BufferDecl, DataType, Program
from vyre.ir.expr import IdKind
from vyre.ir.node import Loop, While
from vyre.ir.walk import statements

F32, U32 = DataType.F32, DataType.U32
OWN = ir.load("x", ir.gid())
N = ir.var("n")


def below(left, right):
    return ir.binary(ir.BinaryOp.LT, left, right)


def program(*body):
    return Program.wrapped(
        [
            BufferDecl.read("x", 0, U32),
            BufferDecl.read_write("y", 1, U32),
            BufferDecl.uniform("k", 2, U32).with_count(1),
        ],
        (64, 1, 1),
        body,
    )


def parting(*body, returns=True):
    """Which loops part, in the order of the program."""
    made = program(*body)
    known = variation(made, returns=returns)
    return [known.apart(n) for n in statements(made.entry) if isinstance(n, (Loop, While))]


class TestVaries:
    @pytest.mark.parametrize(
        ("expr", "varies"),
        [
            (ir.gid(0), True),
            (ir.gid(1), False),
            (ir.local_id(0), False),
            (OWN, True),
            (ir.load("x", ir.u32(0)), False),
            (ir.load("k", ir.u32(0)) + ir.buf_len("x"), False),
            (ir.select(below(ir.gid(), ir.u32(3)), ir.u32(1), ir.u32(2)), True),
        ],
    )
    def test_what_comes_from_the_position_differs(self, expr, varies):
        assert variation(program()).varies(expr) is varies

    def test_an_element_that_is_written_may_differ_though_its_index_does_not(self):
        assert variation(program()).varies(ir.load("y", ir.u32(0)))

    def test_of_every_kind_of_id_only_the_given_ones_differ(self):
        known = variation(program(), frozenset({(IdKind.LOCAL, 1)}))

        assert known.varies(ir.local_id(1))
        assert not known.varies(ir.local_id(0))
        assert not known.varies(ir.gid(0))

    def test_a_name_differs_like_its_value(self):
        known = variation(program(ir.let("n", OWN), ir.let("m", N + 1), ir.let("k", ir.u32(4))))

        assert known.names == {"n", "m"}

    def test_an_atomic_differs(self):
        known = variation(program(ir.let("old", ir.atomic(ir.AtomicOp.ADD, "y", 0, ir.u32(1)))))

        assert known.names == {"old"}

    def test_what_is_changed_where_ways_part_differs(self):
        body = [
            ir.let("n", ir.u32(0)),
            ir.let("m", ir.u32(0)),
            ir.if_(below(OWN, ir.u32(3)), [ir.assign("n", ir.u32(1))]),
            ir.if_(below(ir.gid(1), ir.u32(3)), [ir.assign("m", ir.u32(1))]),
        ]

        assert variation(program(*body)).names == {"n"}

    def test_a_loops_counter_differs_where_its_ends_do(self):
        one = ir.loop("i", ir.u32(0), OWN, [])
        other = ir.loop("j", ir.u32(0), ir.buf_len("x"), [])

        assert variation(program(one, other)).names == {"i"}

    def test_names_that_are_known_to_differ_spread(self):
        made = program(ir.let("n", ir.u32(0)), ir.let("m", N + 1))

        assert variation(made, known=frozenset({"n"})).names == {"n", "m"}

    def test_a_difference_spreads_back_to_the_start_of_a_loop(self):
        body = [
            ir.let("n", ir.u32(0)),
            ir.let("m", ir.u32(0)),
            ir.loop(
                "i",
                ir.u32(0),
                ir.u32(4),
                [ir.assign("m", N), ir.assign("n", OWN)],
            ),
        ]

        assert variation(program(*body)).names == {"n", "m"}


class TestApart:
    def test_a_loop_of_one_length_is_left_together(self):
        assert parting(ir.loop("i", ir.u32(0), ir.buf_len("x"), [])) == [False]

    def test_a_loop_of_different_lengths_is_not(self):
        assert parting(ir.loop("i", ir.u32(0), OWN, [])) == [True]

    @pytest.mark.parametrize("leave", [ir.break_(), ir.continue_()])
    def test_a_loop_that_some_leave_early_parts(self, leave):
        some = ir.if_(below(OWN, ir.u32(3)), [leave])
        everybody = ir.if_(below(ir.gid(1), ir.u32(3)), [leave])

        assert parting(ir.loop("i", ir.u32(0), ir.u32(9), [some])) == [True]
        assert parting(ir.loop("i", ir.u32(0), ir.u32(9), [everybody])) == [False]

    def test_a_break_within_blocks_is_found(self):
        deep = ir.block([ir.if_(below(OWN, ir.u32(3)), [ir.block([ir.break_()])])])

        assert parting(ir.loop("i", ir.u32(0), ir.u32(9), [deep])) == [True]

    def test_leaving_an_inner_loop_does_not_part_the_outer(self):
        inner = ir.loop("j", ir.u32(0), ir.u32(9), [ir.if_(below(OWN, ir.u32(3)), [ir.break_()])])

        assert parting(ir.loop("i", ir.u32(0), ir.u32(9), [inner])) == [False, True]

    def test_an_inner_loop_under_a_test_that_differs_holds_its_own_breaks(self):
        inner = ir.loop("j", ir.u32(0), ir.u32(9), [ir.break_()])
        some = ir.if_(below(OWN, ir.u32(3)), [inner])

        assert parting(ir.loop("i", ir.u32(0), ir.u32(9), [some])) == [False, False]

    def test_a_return_of_some_parts_every_loop_around_it(self):
        some = ir.if_(below(OWN, ir.u32(3)), [ir.return_()])
        inner = ir.loop("j", ir.u32(0), ir.u32(9), [some])

        assert parting(ir.loop("i", ir.u32(0), ir.u32(9), [inner])) == [True, True]

    def test_a_return_of_all_parts_none(self):
        everybody = ir.if_(below(ir.gid(1), ir.u32(3)), [ir.return_()])

        assert parting(ir.loop("i", ir.u32(0), ir.u32(9), [everybody])) == [False]

    def test_a_return_in_a_loop_of_different_lengths_parts_the_loop_around(self):
        inner = ir.loop("j", ir.u32(0), OWN, [ir.return_()])

        assert parting(ir.loop("i", ir.u32(0), ir.u32(9), [inner])) == [True, True]

    def test_a_return_behind_a_loop_that_some_leave_early_parts_the_loop_around(self):
        inner = ir.loop(
            "j",
            ir.u32(0),
            ir.u32(9),
            [ir.if_(below(OWN, ir.u32(3)), [ir.break_()]), ir.return_()],
        )

        assert parting(ir.loop("i", ir.u32(0), ir.u32(9), [inner])) == [True, True]

    def test_returns_count_only_where_they_are_asked_for(self):
        some = ir.if_(below(OWN, ir.u32(3)), [ir.return_()])

        assert parting(ir.loop("i", ir.u32(0), ir.u32(9), [some]), returns=False) == [False]

    def test_a_statement_that_is_no_loop_parts_by_its_test_alone(self):
        known = variation(program())

        assert known.apart(ir.if_(below(OWN, ir.u32(3)), []))
        assert not known.apart(ir.if_(below(ir.gid(1), ir.u32(3)), []))
        assert not known.apart(ir.let("n", OWN))


def test_names_made_of_twice_as_many_names_are_twice_the_work(lines_run):
    """Each is told by the one before it as soon as that is."""

    def chain(count):
        lets = (ir.let(f"v{k}", ir.var(f"v{k - 1}") + ir.u32(k)) for k in range(1, count))
        return program(ir.let("v0", OWN), *lets)

    less, more = (lines_run(partial(variation, chain(count))) for count in (150, 300))

    assert more < 2.3 * less
    assert variation(chain(300)).varies(ir.var("v299"))


def test_a_name_that_varies_behind_its_use_varies_in_the_next_round_of_a_loop():
    turn = ir.loop("i", ir.u32(0), ir.u32(9), [ir.assign("m", N), ir.assign("n", OWN)])
    known = variation(program(ir.let("m", ir.u32(0)), ir.let("n", ir.u32(0)), turn))

    assert known.names == {"m", "n"}


def test_a_program_that_can_end_early_is_known():
    assert returns_early(program(ir.block([ir.return_()])))
    assert not returns_early(program(ir.let("n", OWN)))


@pytest.mark.parametrize("more", [0, 1])
def test_a_loop_of_many_names_is_gone_through_by_one_after_the_other(more):
    """Where items are told of: a name that is the same for all is still each one's own then."""
    names = [f"t{number}" for number in range(MOST_NAMES + more)]
    made = program(ir.loop("j", ir.u32(0), ir.u32(3), [ir.let(name, N) for name in names]))
    (loop,) = (node for node in statements(made.entry) if isinstance(node, Loop))

    assert not differences(made, (0,)).apart(loop)
    assert differences(made, (0,), MOST_NAMES).apart(loop) == bool(more)
    assert ("t0" in differences(made, (0,), MOST_NAMES).axes_of) == bool(more)
