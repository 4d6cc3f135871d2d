"""Rounds inside others: how many they are, and the copies in which that is known."""

from itertools import pairwise
from random import Random

import numpy as np
import pytest

from vyre import ir
from vyre.backend.reference import run
from vyre.ir import BufferDecl, DataType, Program, ReduceOp
from vyre.ir.known import COUNTS, COUNTS_IN_ORDER, rounds_inside, with_rounds, written_parts
from vyre.ir.node import If, Let, Loop, Reduce
from vyre.ir.serial import serial
from vyre.ir.validate import check
from vyre.ir.walk import size_of, statements
from vyre.testing.compare import apart
from vyre.testing.nested import ROUNDS, Nested, nested, nests

F32, U32 = DataType.F32, DataType.U32
N, M = ir.buf_len("x"), ir.buf_len("y")
DIMS = ir.load("dims", 0)


def inner(rounds=M, element=None, name="t"):
    found = ir.load("y", ir.var("d")) if element is None else element
    return ir.reduce_(name, ReduceOp.SUM, F32, "d", rounds=rounds, body=(ir.yield_(found),))


def outer(*body, op=ReduceOp.MIN):
    return ir.reduce_("s", op, F32, "c", rounds=N, body=(*body, ir.yield_(ir.var("t"))))


def program(*nodes):
    made = Program.wrapped(
        [
            BufferDecl.read("x", 0, F32),
            BufferDecl.read("y", 1, F32),
            BufferDecl.uniform("dims", 2, U32).with_count(1),
            BufferDecl.read("many", 3, U32),
            BufferDecl.write("out", 4, F32),
        ],
        (64, 1, 1),
        [*nodes, ir.store("out", ir.gid(), ir.var("s"))],
    )
    check(made)
    return made


def copies(made):
    """The numbers for which there are copies, in the order in which they are asked for."""
    asked = (node.cond for node in statements(serial(made).entry) if isinstance(node, If))
    return [
        int(cond.right.value)
        for cond in asked
        if getattr(cond.left, "name", "").startswith("number")
    ]


def test_what_no_round_around_changes_is_the_number_of_rounds():
    for rounds in (M, DIMS, ir.var("n") + ir.u32(1)):
        assert rounds_inside([inner(rounds)], {"c", "d", "t"}, {"dims"}, ()) == rounds


@pytest.mark.parametrize(
    "rounds",
    [
        ir.u32(4),
        ir.var("c"),
        ir.load("many", 0),
        ir.load("dims", ir.var("c")),
    ],
    ids=["known", "changing", "array", "index"],
)
def test_not_what_is_known_or_may_change(rounds):
    assert rounds_inside([inner(rounds)], {"c", "d", "t"}, {"dims"}, ()) is None


def test_of_several_it_is_what_most_have_and_none_that_is_not_asked_for():
    rounds = [inner(N), inner(M), inner(M)]

    assert rounds_inside(rounds, (), (), ()) == M
    assert rounds_inside(rounds, (), (), {M}) == N
    assert rounds_inside(rounds, (), (), {M, N}) is None
    assert rounds_inside([], (), (), ()) is None


def test_a_number_is_told_wherever_the_rounds_stand():
    made = with_rounds(outer(ir.if_(N < M, [inner()]), inner(N, name="u"), inner()), M, 3)
    found = [node.rounds for node in statements((made,)) if isinstance(node, Reduce)]

    assert found == [N, ir.u32(3), N, ir.u32(3)]


def test_rounds_that_are_written_out_count_as_often():
    one, four = (size_of((inner(ir.u32(n)),)).parts for n in (1, 4))
    each = size_of(inner().body).parts

    assert written_parts([inner()]) == one == four
    assert written_parts([inner(ir.u32(4))]) == four + 3 * each
    assert written_parts([inner(ir.u32(0))]) == one - each


def test_there_is_a_copy_for_each_number():
    assert copies(program(outer(inner()))) == list(COUNTS)
    assert copies(program(outer(inner(DIMS)))) == list(COUNTS)
    assert copies(program(outer(inner(), op=ReduceOp.SUM))) == list(COUNTS_IN_ORDER)
    assert copies(program(outer(inner(ir.load("many", 0))))) == []
    assert copies(program(outer(inner(ir.u32(7))))) == []


def test_there_is_none_for_numbers_that_would_be_too_long():
    long = ir.load("y", ir.var("d"))
    for _ in range(50):
        long = long * ir.f32(2)

    assert copies(program(outer(inner(element=long)))) == [2, 3, 4, 8]


def test_another_number_has_copies_where_the_first_is_none_of_those():
    both = program(outer(inner(), inner(N, name="u")))

    assert copies(both) == [*COUNTS] * 2


def test_rounds_of_one_number_are_not_asked_for_it_again():
    deep = ir.reduce_(
        "t",
        ReduceOp.MAX,
        F32,
        "e",
        rounds=DIMS,
        body=(inner(DIMS, name="u"), ir.yield_(ir.var("u"))),
    )

    assert copies(program(outer(deep))) == [*COUNTS]


def sums_in_sums(levels, op=ReduceOp.SUM):
    """So many sums in each other, each of a number of its own, in the rounds of another."""
    found = inner(name="t0")
    for level in range(1, levels):
        body = (found, ir.yield_(ir.var(found.name)))
        many = ir.buf_len("many") + ir.u32(level)
        found = ir.reduce_(f"t{level}", ReduceOp.SUM, F32, f"d{level}", rounds=many, body=body)
    last = ir.yield_(ir.var(found.name))
    return program(ir.reduce_("s", op, F32, "c", rounds=N, body=(found, last)))


@pytest.mark.parametrize("op", [ReduceOp.SUM, ReduceOp.MIN])
def test_a_sum_around_others_is_written_once_for_all_numbers_of_those(op):
    """A copy for each number of each level would be copies of copies."""
    sizes = [size_of(serial(sums_in_sums(levels, op)).entry).parts for levels in (1, 2, 3, 4)]
    more = [large - small for small, large in pairwise(sizes)]

    assert max(more) < 2 * sizes[0]
    assert more[1] == more[2]
    assert copies(sums_in_sums(3, op)) == [*COUNTS_IN_ORDER]


def test_there_is_none_where_much_would_be_in_it_beside_what_is_written_out():
    several = [inner(many, name=f"t{k}") for k, many in enumerate((M, N, DIMS))]
    alike = [inner(M, name=f"t{k}") for k in range(3)]
    bodies = (program(outer(*those, inner(those[0].rounds))) for those in (several, alike))

    assert [copies(one) for one in bodies] == [[], [*COUNTS]]


def test_a_processors_form_has_none():
    made = serial(program(outer(inner())), in_order=True)

    assert "number" not in {node.name for node in statements(made.entry) if isinstance(node, Let)}


def test_a_copy_has_no_loop_but_that_around():
    made = serial(program(outer(inner())))
    first = next(node for node in statements(made.entry) if isinstance(node, If))

    assert sum(isinstance(node, Loop) for node in statements(first.then)) == 1


def test_few_rounds_have_no_loop_wherever_they_stand():
    made = serial(program(inner(name="s")))
    found = [node for node in statements(made.entry) if isinstance(node, If)]

    assert not any(isinstance(node, Loop) for node in statements(found[0].then))


@pytest.mark.parametrize("rounds", ROUNDS)
def test_every_number_gives_the_models_bits(rounds):
    for op in (ReduceOp.SUM, ReduceOp.PROD, ReduceOp.ARGMIN):
        for passes in (None, 0.5):
            one = Nested(
                outer=ReduceOp.ARGMIN if op is ReduceOp.SUM else ReduceOp.SUM,
                inner=op,
                dtype=F32,
                around=9,
                rounds=rounds,
                passes=passes,
            )
            agrees(one)


@pytest.mark.parametrize("seed", range(3))
def test_reductions_in_rounds_of_others_give_the_models_bits(seed):
    for one in nests(seed, 16):
        agrees(one)


def agrees(one):
    case = nested(one, Random(str(one)))
    check(case.program)
    forms = serial(case.program), serial(case.program, in_order=True)
    for form in (case.program, *forms):
        check(form)
        arrays = case.copies()
        run(form, arrays, case.extent)
        dtype = form.buffer("out").element

        assert not apart(dtype, case.expected["out"], arrays["out"]).size, one


def test_nothing_at_all_in_every_round_is_zero_or_minus_zero_as_it_comes():
    """Elements of -0 alone add up to -0, and none at all to 0."""
    made = program(outer(inner(), op=ReduceOp.SUM))
    for rounds, sign in ((0, False), (1, True), (3, True), (8, True), (5, True)):
        arrays = {
            "x": np.zeros(4, np.float32),
            "y": np.full(rounds, -0.0, np.float32),
            "dims": np.zeros(1, np.uint32),
            "many": np.zeros(1, np.uint32),
            "out": np.ones(1, np.float32),
        }
        run(serial(made), arrays, (1, 1, 1))

        assert arrays["out"] == 0
        assert np.signbit(arrays["out"][0]) == sign
