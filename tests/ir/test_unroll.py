"""Which loops are written out, what becomes of their names, and that nothing else changes."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vyre import ir
from vyre.backend.reference import run
from vyre.ir import BufferDecl, DataType, Program
from vyre.ir.node import Let, Loop
from vyre.ir.unroll import MOST_PARTS, MOST_ROUNDS, before, written_out
from vyre.ir.walk import size_of, statements
from vyre.testing.tile_programs import generate_tiled

F32, U32, I32 = DataType.F32, DataType.U32, DataType.I32
ME, K = ir.gid(), ir.var("k")
ADD = ir.assign("s", ir.var("s") + ir.load("x", ME + K))


def program(*body, start=0, stop=3) -> Program:
    """The body in a loop over `k`, its sum stored."""
    return around(ir.loop("k", ir.u32(start), ir.u32(stop), body or [ADD]))


def around(*nodes) -> Program:
    made = Program.wrapped(
        [BufferDecl.read("x", 0, F32), BufferDecl.write("out", 1, F32)],
        (64, 1, 1),
        [ir.let("s", ir.f32(0)), *nodes, ir.store("out", ME, ir.var("s"))],
    )
    ir.check(made)
    return made


def loops(made: Program) -> list[str]:
    return [node.var for node in statements(made.entry) if isinstance(node, Loop)]


def bound(made: Program) -> list[str]:
    return [
        node.name if isinstance(node, Let) else node.var
        for node in statements(made.entry)
        if isinstance(node, (Let, Loop))
    ]


def sums(made: Program, n: int = 8) -> list[float]:
    x, out = np.arange(1, n + 1, dtype=np.float32) ** 2, np.zeros(n, np.float32)
    run(made, {"x": x, "out": out}, (n, 1, 1))
    return out.tolist()


def assert_same(made: Program, other: Program) -> None:
    ir.check(other)
    assert sums(made) == sums(other)


def test_a_small_window_is_written_out_round_by_round():
    made = written_out(program())

    assert loops(made) == []
    loads = [ir.load("x", ME + ir.u32(k)) for k in range(3)]
    assert made.entry[0].body[1:4] == tuple(ir.assign("s", ir.var("s") + load) for load in loads)
    assert_same(program(), made)


def test_a_program_without_such_a_loop_stays_itself():
    plain = around(ir.assign("s", ir.load("x", ME)))

    assert written_out(plain) is plain


@pytest.mark.parametrize(
    "inside",
    [
        ir.if_(ir.var("s") > 20.0, [ir.break_()]),
        ir.if_(ir.var("s") > 20.0, [ir.continue_()]),
        ir.if_(ir.var("s") > 20.0, [ir.return_()]),
        ir.while_(ir.var("s") < 0.0, [ir.assign("s", ir.f32(1))]),
    ],
    ids=["break", "continue", "return", "while"],
)
def test_a_loop_that_something_may_leave_stays(inside):
    made = program(ADD, inside)

    assert written_out(made) is made


def test_a_loop_that_moves_no_index_stays():
    made = program(ir.assign("s", ir.var("s") * ir.load("x", ME) + ir.cast(F32, K)))

    assert written_out(made) is made


def test_a_store_alone_is_no_window():
    made = program(ir.store("out", ME + K, ir.f32(1)))

    assert written_out(made) is made


def test_an_index_may_move_by_names_made_of_the_counter():
    made = program(
        ir.let("j", K * 2),
        ir.let("at", ME + ir.var("j")),
        ir.assign("s", ir.var("s") + ir.load("x", ir.var("at"))),
    )

    assert loops(written_out(made)) == []
    assert_same(made, written_out(made))


def test_a_name_that_moves_and_is_assigned_keeps_its_loop():
    made = program(
        ir.let("at", ME + K),
        ir.assign("at", ir.var("at") + 1),
        ir.assign("s", ir.var("s") + ir.load("x", ir.var("at"))),
    )

    assert written_out(made) is made


@pytest.mark.parametrize(
    "stop", [ir.buf_len("x"), ir.load("n", ir.u32(0)), ir.u32(2) + ir.u32(1)], ids=str
)
def test_a_loop_whose_rounds_are_not_written_stays(stop):
    made = Program.wrapped(
        [
            BufferDecl.read("x", 0, F32),
            BufferDecl.write("out", 1, F32),
            BufferDecl.uniform("n", 2, U32).with_count(1),
        ],
        (64, 1, 1),
        [
            ir.let("s", ir.f32(0)),
            ir.loop("k", ir.u32(0), stop, [ADD]),
            ir.store("out", ME, ir.var("s")),
        ],
    )

    assert written_out(made) is made


def test_counters_of_other_types_keep_their_loop():
    at = ME + ir.cast(U32, K)
    body = [ir.assign("s", ir.var("s") + ir.load("x", at))]
    made = around(ir.loop("k", ir.lit(DataType.U64, 0), ir.lit(DataType.U64, 3), body))

    assert written_out(made) is made


def test_the_most_rounds_are_those_of_all_loops_around_together():
    most = program(stop=MOST_ROUNDS)
    more = program(stop=MOST_ROUNDS + 1)

    assert loops(written_out(most)) == []
    assert written_out(more) is more


def test_of_two_loops_that_are_too_many_together_one_is_written_out():
    inner = ir.loop(
        "j", ir.u32(0), ir.u32(7), [ir.assign("s", ir.var("s") + ir.load("x", K + ir.var("j")))]
    )

    made = program(inner, stop=5)

    assert loops(written_out(made)) == ["j.0", "j.1", "j.2", "j.3", "j.4"]
    assert_same(made, written_out(made))


def test_two_loops_that_are_few_together_are_both_written_out():
    inner = ir.loop(
        "j", ir.u32(0), ir.u32(3), [ir.assign("s", ir.var("s") + ir.load("x", K * 2 + ir.var("j")))]
    )

    made = program(inner)

    assert loops(written_out(made)) == []
    assert_same(made, written_out(made))


def test_what_would_grow_too_large_stays():
    sum_ = ir.load("x", ME + K)
    for _ in range(10):
        sum_ = sum_ * ir.load("x", ME + K) + ir.f32(1)
    adds = [ir.assign("s", ir.var("s") + sum_)] * 5
    made = program(*adds, stop=30)

    assert size_of(tuple(adds)).parts * 30 > MOST_PARTS
    assert written_out(made) is made


def test_a_loop_of_no_rounds_goes():
    made = program(start=3, stop=3)

    assert loops(written_out(made)) == []
    assert sums(written_out(made)) == [0.0] * 8


def test_a_loop_that_ends_before_it_begins_goes():
    made = program(start=5, stop=3)

    assert loops(written_out(made)) == []
    assert sums(written_out(made)) == [0.0] * 8


def test_negative_rounds_of_i32_are_counted_as_they_are():
    at = ir.cast(U32, ir.cast(I32, ME) + K)
    made = around(
        ir.loop("k", ir.i32(-2), ir.i32(2), [ir.assign("s", ir.var("s") + ir.load("x", at))])
    )

    assert loops(written_out(made)) == []
    assert_same(made, written_out(made))
    assert sums(made)[2] == 1 + 4 + 9 + 16


def test_each_round_has_names_of_its_own():
    made = program(
        ir.let("v", ir.load("x", ME + K)), ir.assign("s", ir.var("s") + ir.var("v") * ir.var("v"))
    )

    assert bound(written_out(made)) == ["s", "v.0", "v.1", "v.2"]
    assert_same(made, written_out(made))


def test_names_of_rounds_give_way_to_those_that_a_program_has():
    made = around(
        ir.let("v.1", ir.f32(100)),
        ir.let("v.1_", ir.f32(1000)),
        ir.loop(
            "k",
            ir.u32(0),
            ir.u32(2),
            [
                ir.let("v", ir.load("x", ME + K)),
                ir.assign("s", ir.var("s") + ir.var("v") + ir.var("v.1") + ir.var("v.1_")),
            ],
        ),
    )

    assert bound(written_out(made)) == ["s", "v.1", "v.1_", "v.0", "v.1__"]
    assert_same(made, written_out(made))


def test_a_name_of_two_scopes_side_by_side_is_two_names():
    def half(number):
        return ir.block(
            [
                ir.let("t", ir.load("x", ME) * ir.f32(number)),
                ir.assign("s", ir.var("s") + ir.var("t")),
            ]
        )

    made = around(half(2), half(3))

    assert bound(written_out(made)) == ["s", "t", "t_"]
    assert_same(made, written_out(made))


def test_it_is_known_what_a_name_was_before():
    """Of a round's own name, and of one that two loops had."""
    body = [ir.let("v", ir.load("x", ME + K)), ir.assign("s", ir.var("s") + ir.var("v"))]
    long = ir.loop("k", ir.u32(0), ir.u32(MOST_ROUNDS + 1), body)
    was = before(around(ir.loop("k", ir.u32(0), ir.u32(2), body), long, long)).names

    assert {now for now, name in was.items() if name == "v"} == {"v.0", "v.1", "v", "v_"}
    assert {now for now, name in was.items() if name == "k"} == {"k", "k_"}
    assert before(program(start=3)).names == {}


def test_it_is_known_what_a_statement_was_called_before():
    """Both, where a round reads as another statement does."""
    rounds = [ir.assign("s", ir.var("s") + ir.load("x", ME + K))]
    third = ir.assign("s", ir.var("s") + ir.load("x", ME + ir.u32(2)))
    named = ir.block([ir.let("t", ir.load("x", ME)), ir.assign("s", ir.var("t"))])
    was = before(around(ir.loop("k", ir.u32(0), ir.u32(3), rounds), third, named, named)).texts

    assert was["s = s + x[gid(0) + 1u32]"] == {"s = s + x[gid(0) + k]"}
    assert was["s = s + x[gid(0) + 2u32]"] == {
        "s = s + x[gid(0) + k]",
        "s = s + x[gid(0) + 2u32]",
    }
    assert was["let t_ = x[gid(0)]"] == {"let t = x[gid(0)]"}


def test_two_loops_that_count_by_one_name_count_by_two():
    rounds = [ir.assign("s", ir.var("s") + ir.load("x", K))]
    made = around(
        ir.loop("k", ir.u32(0), ir.buf_len("x"), rounds),
        ir.loop("k", ir.u32(0), ME % 4, [*rounds, ir.let("k_", K)]),
    )

    assert len(set(bound(written_out(made)))) == len(bound(written_out(made))) == 4
    assert_same(made, written_out(made))


def test_an_assignment_in_an_inner_scope_means_the_outer_name():
    made = around(
        ir.block([ir.let("t", ir.f32(1)), ir.assign("s", ir.var("t"))]),
        ir.block(
            [
                ir.let("t", ir.f32(5)),
                ir.if_(ME > 2, [ir.assign("t", ir.var("t") + 1.0)]),
                ir.assign("s", ir.var("s") + ir.var("t")),
            ]
        ),
    )

    assert bound(written_out(made)) == ["s", "t", "t_"]
    assert sums(written_out(made)) == [6.0] * 3 + [7.0] * 5


def test_a_loops_bounds_are_read_before_its_counter_begins():
    body = [ir.assign("s", ir.var("s") + ir.load("x", K))]
    made = around(
        ir.block([ir.let("k", ir.u32(2)), ir.assign("s", ir.cast(F32, K))]),
        ir.block([ir.let("n", ME), ir.loop("k", ir.u32(0), ir.var("n"), body)]),
        ir.block([ir.let("n", ir.u32(1)), ir.loop("k", ir.u32(0), ir.var("n"), body)]),
    )

    assert len(set(bound(written_out(made)))) == 6
    assert_same(made, written_out(made))


@settings(max_examples=60)
@given(st.integers(0, 1 << 30))
def test_generated_programs_compute_the_same_written_out(seed):
    case = generate_tiled(Random(seed))
    other = written_out(case.program)
    found = []
    for made in (case.program, other):
        arrays = {name: array.copy() for name, array in case.arrays.items()}
        with np.errstate(all="ignore"):
            run(made, arrays, case.extent)
        found.append({name: array.tobytes() for name, array in arrays.items()})

    ir.check(other)
    assert len(set(bound(other))) == len(bound(other))
    assert found[0] == found[1]
