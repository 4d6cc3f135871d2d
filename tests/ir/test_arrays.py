"""Arrays as values of the IR: what they hold, their bytes, their text and their rules."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vyre import ir
from vyre.errors import InvalidInput, WireError
from vyre.ir import BufferDecl, DataType, Program, from_wire, to_text, validate
from vyre.ir.encode import header
from vyre.ir.expr import Array, Element, Lit, Put, Var
from vyre.ir.loops import is_of_elements, turn_of
from vyre.ir.node import Assign, Block, If, Let, Loop, While
from vyre.ir.types import SCALARS
from vyre.testing.arrays import with_arrays

U32, F32, BOOL, F64 = DataType.U32, DataType.F32, DataType.BOOL, DataType.F64
PLAIN = [dtype for dtype in SCALARS if dtype == dtype.computed]
OUT = BufferDecl.write("out", 0, F32)


def program(*nodes: ir.Node) -> Program:
    return Program.wrapped([OUT], (1, 1, 1), nodes)


def only(*nodes: ir.Node) -> tuple[str, str, str]:
    (found,) = validate(program(*nodes))
    return found.place, found.problem, found.fix


@given(st.sampled_from(PLAIN), st.data())
def test_an_array_holds_what_it_is_made_of(dtype, data):
    shape = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple))
    count = Array(dtype, shape).count
    top = 1 if dtype.is_bool else (1 << dtype.bits) - 1
    bits = data.draw(st.lists(st.integers(0, top), min_size=count, max_size=count))
    size = 1 if dtype.is_bool else dtype.bits // 8
    raw = b"".join(pattern.to_bytes(size, "little") for pattern in bits)
    while raw and not any(raw[-size:]):
        raw = raw[:-size]

    array = Array(dtype, shape, raw)
    held = program(Let("t", array), ir.store("out", 0, 1.0))

    assert [array.element(n).bits for n in range(count)] == bits
    assert from_wire(held.to_wire()) == held.canonical()
    assert array.type == DataType.shaped(dtype, shape)


def test_arrays_are_equal_where_their_elements_are():
    assert Array.of(F32, (3,), (1.0, 0.0, 0.0)) == Array(F32, (3,), bytes((0, 0, 0x80, 0x3F)))
    assert Array.of(BOOL, (3,), (0, 1, 0)) == Array(BOOL, (3,), b"\0\1")
    assert Array.of(F32, (2,), (0.0, -0.0)).data == bytes((0, 0, 0, 0, 0, 0, 0, 0x80))


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        (lambda: Array(DataType.F16, (4,)), "an array of f16 with the extents (4,)"),
        (lambda: Array(F32, ()), "an array of f32 with the extents ()"),
        (lambda: Array(F32, (4, 0)), "an array of f32 with the extents (4, 0)"),
        (lambda: Array(F32, (1, 1, 1, 1)), "an array of f32 with the extents (1, 1, 1, 1)"),
        (lambda: Array(F32, (2,), b"\1\2\3"), "3 bytes for 2 elements of f32"),
        (lambda: Array(F32, (1,), b"\1\2\3\4\5\6\7\x08"), "8 bytes for 1 elements of f32"),
        (lambda: Array(F32, (2,), b"\1\0\0\0\0\0\0\0"), "8 bytes for 2 elements of f32"),
        (lambda: Array(BOOL, (2,), b"\2"), "an array of bools with other bytes than 0 and 1"),
        (lambda: Array.of(F32, (3,), (1.0,)), "1 values for the extents (3,)"),
    ],
)
def test_what_is_no_array_is_refused(made, problem):
    with pytest.raises(InvalidInput) as caught:
        made()

    assert caught.value.problem == problem


def test_bytes_that_are_no_array_are_refused():
    good = program(Let("t", Array.of(F32, (2,), (1.0, 2.0)))).to_wire()
    at = good.index(b"vyre.py.array") + len(b"vyre.py.array") + 4
    body = bytearray(good[40:])
    body[at + 1 - 40 : at + 2 - 40] = b"\0"  # a rank of 0

    with pytest.raises(WireError):
        from_wire(bytes(header(body) + body))


def test_a_program_reads_as_it_is_written():
    table = ir.table(F32, (2,), (1.0, 2.0))
    shown = to_text(
        program(
            ir.let("t", ir.array(F32, 2, 2)),
            ir.put("t", (ir.u32(0), ir.u32(1)), 5.0),
            ir.put("t", (ir.gid(), ir.u32(1)), ir.element(table, ir.gid())),
            ir.store("out", 0, ir.element("t", 0, 1)),
        )
    )

    assert shown.splitlines()[3:] == [
        "  let t = f32[2, 2]",
        "  t = put(t[0u32, 1u32], 5.0)",
        "  t = put(t[gid(0), 1u32], f32[2] #83376e7b4f6f582d[gid(0)])",
        "  out[0u32] = t[0u32, 1u32]",
    ]


def test_a_name_holds_one_array_and_an_array_has_one_name():
    zeros = ir.let("t", ir.array(F32, 4))

    assert only(zeros, Let("s", Var("t"))) == (
        "entry[0].body[1] let 's'",
        "'s' would be another name of an array",
        "copy its elements",
    )
    other = ir.let("s", ir.array(F32, 4))
    assert only(zeros, other, Assign("s", Var("t")))[1] == "'s' would be another name of an array"
    changed = Put(Var("t"), (ir.u32(0),), ir.f32(1.0))
    assert only(zeros, other, Assign("s", changed))[1] == "'s' would be another name of an array"
    assert "a put that is not the whole of an assignment" in {
        found.problem for found in validate(program(zeros, Let("s", changed)))
    }


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (ir.element("t", 0, 1), "2 indices into tensorshaped<f32, 4>"),
        (ir.element("t", 1.5), "index of an array is f32"),
        (ir.element("x", 0), "an element of f32"),
        (ir.element("u", 0), "no name 'u' here"),
        (ir.element("t", ir.i32(-1)), "index -1 of an array is negative"),
        (Element(ir.f32(1.0), (ir.u32(0),)), "an element of neither a name nor constants"),
        (ir.select(ir.bool_(True), Var("t"), Var("t")), "select between arrays"),
        (Var("t"), "'out' holds f32, the value is tensorshaped<f32, 4>"),
        (-Var("t"), "negate of tensorshaped<f32, 4>"),
    ],
)
def test_a_wrong_element_is_one_problem(value, problem):
    bound = (ir.let("t", ir.array(F32, 4)), ir.let("x", 1.0))

    assert only(*bound, ir.store("out", 0, value))[1] == problem


def test_a_value_of_another_type_is_not_put():
    found = only(ir.let("t", ir.array(F32, 4)), ir.put("t", 0, ir.u32(1)))

    assert found[1:] == ("the array holds f32, the value is u32", "cast it to f32")


def test_arrays_and_tables_have_a_most():
    large = [ir.let(f"t{n}", ir.array(F64, 300)) for n in range(2)]
    table = ir.table(F64, (4097,), [1.0] * 4097)

    assert only(*large)[1] == "4,800 bytes of arrays of an invocation; 4,096 allowed"
    assert only(ir.let("x", ir.element(table, 0)))[1] == (
        "32,776 bytes of constant tables; 32,768 allowed"
    )


def test_another_element_is_another_program():
    kinds = [
        program(ir.let("t", ir.table(F32, (2,), values)), ir.store("out", 0, ir.element("t", 0)))
        for values in ((1.0, 2.0), (1.0, 3.0), (0.0, 0.0))
    ]

    assert len({one.fingerprint() for one in kinds}) == 3


@given(with_arrays())
def test_generated_programs_are_valid_and_round_trip(case):
    assert validate(case.program) == ()
    assert from_wire(case.program.to_wire()) == case.program.canonical()


def loop(var: str, stop: int, *body: ir.Node) -> Loop:
    return Loop(var, ir.u32(0), ir.u32(stop), body)


def test_short_loops_over_elements_are_for_compilers_to_write_out():
    put = ir.put("t", ir.var("k"), 1.0)
    by_data = ir.put("t", ir.load("x", ir.var("k")), 1.0)
    made = [ir.let("m", ir.var("k") * 2), ir.put("t", ir.var("m"), 1.0)]
    loaded = [ir.let("m", ir.load("x", ir.var("k"))), ir.put("t", ir.var("m") + ir.var("k"), 1.0)]
    changed = [ir.assign("m", ir.var("k")), ir.put("t", ir.var("m") + ir.var("k"), 1.0)]

    assert is_of_elements(loop("k", 4, put))
    assert is_of_elements(loop("k", 4, *made))
    assert is_of_elements(loop("k", 4, loop("j", 4, put)))
    assert not is_of_elements(loop("k", 4, by_data))
    assert not is_of_elements(loop("k", 4, *loaded))
    assert not is_of_elements(loop("k", 4, *changed))
    assert not is_of_elements(loop("k", 4, ir.put("t", 0, 1.0)))
    assert not is_of_elements(loop("k", 65, put))
    assert not is_of_elements(loop("k", 0, put))
    assert not is_of_elements(Loop("k", ir.u32(0), ir.extent(), (put,)))
    assert not is_of_elements(loop("k", 60, loop("j", 60, put)))


def test_rounds_that_change_an_array_are_taken_or_not_as_a_whole():
    body = (ir.put("t", 0, ir.element("t", 0) + 1.0),)
    rounds = While(ir.element("t", 0) < 9.0, body)
    whole = program(ir.let("t", ir.array(F32, 2)), rounds)

    match turn_of(whole, rounds, 2):
        case (Block(first), Block((Let(), If(_, then, ())))):
            assert first == then == body
        case other:
            raise AssertionError(other)


def test_literals_of_an_array_are_read_one_by_one():
    assert Array.of(U32, (3,), (7, 0, 9)).element(2) == Lit(U32, 9)
