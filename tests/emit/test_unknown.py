"""What no compiler can know, and what it may find out after all."""

import pytest

from vyre import ir
from vyre.analysis import analyse
from vyre.emit.unknown import Unknowable
from vyre.ir import BufferDecl, DataType, Program
from vyre.ir.expr import BinaryOp, UnaryOp
from vyre.ir.typing import COMPARISONS

F32, U32, I32 = DataType.F32, DataType.U32, DataType.I32
ME = ir.gid()
X, V = ir.load("x", ME), ir.var("v")


def program(*body) -> Program:
    made = Program.wrapped(
        [
            BufferDecl.read("x", 0, F32),
            BufferDecl.read("k", 1, I32),
            BufferDecl.uniform("a", 2, F32).with_count(1),
            BufferDecl.read_write("y", 3, F32),
            BufferDecl.read("four", 4, F32).with_count(4),
            BufferDecl.write("out", 5, F32),
            BufferDecl.read("half", 6, DataType.F16),
            BufferDecl.uniform("n", 7, U32).with_count(1),
        ],
        (64, 1, 1),
        [*body, ir.store("out", ME, ir.f32(1))],
    )
    ir.check(made)
    return made


def unknowable(made: Program, *, checked: bool = False) -> Unknowable:
    return Unknowable(made, analyse(made).accesses, checked=checked)


def unknown_names(made: Program) -> frozenset[str]:
    return unknowable(made).names - {"seen"}


def is_unknown(expr, made: Program | None = None) -> bool:
    """Whether it is unknown in a program that has it."""
    body = [] if made is None else made.entry[0].body[:-1]
    whole = program(*body, ir.let("seen", expr))
    return unknowable(whole)(expr)


@pytest.mark.parametrize(
    "expr",
    [
        X,
        ir.load("half", ME),
        X + 1.0,
        ir.f32(1) - X,
        X * 0.0,
        ir.f32(3) / X,
        X / X,
        -X,
        ir.fma(ir.f32(2), ir.f32(3), X),
        ir.fma(X, X, ir.f32(0.5)),
        (X + 1.0) * (X - X),
    ],
    ids=str,
)
def test_arithmetic_of_what_is_loaded_is_unknown(expr):
    assert is_unknown(expr)


@pytest.mark.parametrize(
    "expr",
    [
        ir.f32(0.7),
        ir.f32(1) + ir.f32(2),
        ir.cast(F32, ME),
        ir.load("a", 0),
        ir.load("a", 0) + 1.0,
        ir.load("k", ME),
        ir.cast(F32, ir.load("k", ME)),
        ir.select(ir.cast(DataType.BOOL, ME), X, X),
        ir.cast(F32, ir.cast(I32, X)),
        ir.bitcast(F32, ir.bitcast(U32, X)),
        ir.binary(BinaryOp.MIN, X, ir.f32(1)),
        ir.binary(BinaryOp.MAX, X, X),
        ir.binary(BinaryOp.MOD, X, ir.f32(1)),
        ir.binary(BinaryOp.FLOOR_DIV, X, ir.f32(2)),
        ir.binary(BinaryOp.POW, X, ir.f32(0)),
        ir.unary(UnaryOp.FLOOR, X),
        ir.unary(UnaryOp.SIGN, X),
        ir.unary(UnaryOp.ABS, X),
        ir.unary(UnaryOp.SIN, X),
    ],
    ids=str,
)
def test_what_a_compiler_may_come_to_know_is_not(expr):
    assert not is_unknown(expr)


def test_a_sum_of_a_number_and_what_may_be_known_is_unknown_by_the_other_side():
    assert is_unknown(ir.binary(BinaryOp.MIN, X, ir.f32(1)) + X)


@pytest.mark.parametrize("op", sorted(COMPARISONS, key=lambda op: op.value), ids=str)
@pytest.mark.parametrize(
    "others",
    [(X, ir.f32(1)), (ir.i32(3), ir.load("k", ME)), (ir.load("k", ME), ir.i32(0))],
    ids=str,
)
def test_a_comparison_of_what_is_loaded_tells_it_all(op, others):
    made = program(ir.if_(ir.binary(op, *others), [ir.store("out", ME, ir.f32(0))]))

    assert not is_unknown(X, made)
    assert unknown_names(program(ir.let("v", X), *made.entry[0].body[:-1])) == frozenset()


@pytest.mark.parametrize(
    "between",
    [
        ir.if_(V <= 1.0, [ir.if_(V >= 1.0, [ir.store("out", ME, V)])]),
        ir.if_(ir.binary(BinaryOp.AND, V <= 1.0, V >= 1.0), [ir.store("out", ME, V)]),
        ir.store("out", ME, ir.select(V < 1.0, ir.f32(0), ir.select(V > 1.0, ir.f32(0), V))),
    ],
    ids=["nested", "both", "selects"],
)
def test_two_comparisons_of_a_number_are_an_equality(between):
    assert not is_unknown(V, program(ir.let("v", X), between))


def test_what_a_program_stores_it_may_know_when_it_loads_it():
    made = program(ir.store("y", ME, ir.f32(0.7)))

    assert not is_unknown(ir.load("y", ME), made)


def test_an_index_that_may_leave_a_fixed_length_needs_its_check():
    assert is_unknown(ir.load("four", 3))
    assert not is_unknown(ir.load("four", ME * ME))


@pytest.mark.parametrize("index", [ME + 1, ME - 1, ir.cast(U32, X)], ids=str)
def test_an_element_that_needs_a_check_may_be_known_to_be_0(index):
    assert not is_unknown(ir.load("x", index))


def test_with_all_checks_nothing_is_unknown():
    made = program(ir.let("v", X))

    assert unknowable(made).names == {"v"}
    assert unknowable(made, checked=True).names == frozenset()
    assert not unknowable(made, checked=True)(X)


def test_of_two_loads_that_read_alike_both_need_no_check():
    loads = [ir.let("v", ir.load("four", ir.var("k")))]
    inside, outside = ir.loop("k", 0, 4, loads), ir.loop("k", ME, 9, loads)

    assert unknown_names(program(inside)) == {"v"}
    assert unknown_names(program(inside, outside)) == frozenset()


def test_a_loop_up_to_the_length_stays_inside():
    made = program(ir.loop("k", 0, ir.buf_len("x"), [ir.let("v", ir.load("x", ir.var("k")))]))

    assert unknown_names(made) == {"v"}


@pytest.mark.parametrize("others", [(ME, ir.u32(3)), (ir.buf_len("x"), ME)], ids=str)
def test_comparisons_of_places_tell_nothing_of_what_is_there(others):
    made = program(ir.if_(ir.binary(BinaryOp.LE, *others), [ir.store("out", ME, X)]))

    assert is_unknown(X, made)


def test_a_comparison_tells_of_names_that_come_from_memory_by_others():
    made = program(
        ir.let("n", ir.load("k", ME)),
        ir.let("m", ir.var("n") + ir.i32(1)),
        ir.if_(ir.var("m") < ir.i32(3), [ir.store("out", ME, X)]),
    )

    assert not is_unknown(X, made)


def test_a_name_is_unknown_where_all_that_it_is_given_is():
    made = program(
        ir.let("v", X),
        ir.let("w", V * 2.0),
        ir.assign("w", V + 1.0),
        ir.let("sum", ir.f32(0)),
        ir.assign("sum", ir.var("sum") + X),
        ir.let("n", ir.f32(3)),
    )

    assert unknown_names(made) == {"v", "w"}


def test_names_that_are_given_each_other_alone_are_known():
    made = program(
        ir.let("v", ir.f32(1)),
        ir.let("w", V + 1.0),
        ir.loop("k", 0, 4, [ir.assign("v", ir.var("w")), ir.assign("w", V)]),
    )

    assert unknown_names(made) == frozenset()


def test_a_loops_counter_is_known():
    made = program(ir.loop("k", 0, 4, [ir.let("v", ir.cast(F32, ir.var("k")))]))

    assert unknown_names(made) == frozenset()
