from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vyre import ir
from vyre.ir.canonical import canonical_buffers, canonical_entry
from vyre.ir.expr import Binary, BinaryOp, Expr, Lit, Var
from vyre.ir.node import Block, Let, Loop, Node, Region, Return, Store

U32, F32 = ir.DataType.U32, ir.DataType.F32
A, B = Var("a"), Var("b")

ORDERED = (
    *(BinaryOp.WRAP_ADD, BinaryOp.SAT_ADD, BinaryOp.SAT_MUL, BinaryOp.BIT_AND, BinaryOp.BIT_OR),
    *(BinaryOp.BIT_XOR, BinaryOp.EQ, BinaryOp.NE, BinaryOp.AND, BinaryOp.OR, BinaryOp.ABS_DIFF),
)
LITERALS_ONLY = (BinaryOp.ADD, BinaryOp.MUL, BinaryOp.MIN, BinaryOp.MAX)
FIXED = tuple(op for op in BinaryOp if op not in ORDERED + LITERALS_ONLY)


def canonical(expr: Expr) -> Expr:
    (node,) = canonical_entry([Let("v", expr)])
    assert isinstance(node, Let)
    return node.value


@pytest.mark.parametrize("op", ORDERED + LITERALS_ONLY)
def test_a_literal_moves_to_the_right_of_a_commutative_operator(op: BinaryOp):
    assert canonical(Binary(op, ir.u32(1), A)) == Binary(op, A, ir.u32(1))
    assert canonical(Binary(op, A, ir.u32(1))) == Binary(op, A, ir.u32(1))


@pytest.mark.parametrize("op", ORDERED + LITERALS_ONLY)
def test_two_literals_of_a_commutative_operator_are_ordered_by_their_bytes(op: BinaryOp):
    assert canonical(Binary(op, ir.u32(1), ir.u32(256))) == Binary(op, ir.u32(256), ir.u32(1))
    assert canonical(Binary(op, ir.f32(1.0), ir.i32(1))) == Binary(op, ir.i32(1), ir.f32(1.0))


@pytest.mark.parametrize("op", ORDERED)
def test_operands_are_ordered_by_their_bytes_where_the_wire_says_so(op: BinaryOp):
    assert canonical(Binary(op, B, A)) == Binary(op, A, B)
    assert canonical(Binary(op, ir.gid(), A)) == Binary(op, A, ir.gid())


@pytest.mark.parametrize("op", LITERALS_ONLY)
def test_operands_of_sums_and_their_like_stay_as_written(op: BinaryOp):
    assert canonical(Binary(op, B, A)) == Binary(op, B, A)


@pytest.mark.parametrize("op", FIXED)
def test_operands_of_other_operators_never_move(op: BinaryOp):
    assert canonical(Binary(op, ir.u32(1), A)) == Binary(op, ir.u32(1), A)
    assert canonical(Binary(op, B, A)) == Binary(op, B, A)


@pytest.mark.parametrize("dtype", [ir.DataType.F64, ir.DataType.U8, ir.DataType.F16])
def test_a_literal_that_is_an_extension_on_the_wire_still_counts_as_one(dtype: ir.DataType):
    one = ir.lit(dtype, 1)

    assert canonical(Binary(BinaryOp.ADD, one, A)) == Binary(BinaryOp.ADD, A, one)


def test_operands_are_ordered_after_their_own_parts_are():
    inner = Binary(BinaryOp.EQ, B, A)

    found = canonical(Binary(BinaryOp.AND, inner, Binary(BinaryOp.EQ, A, A)))

    expected = Binary(BinaryOp.EQ, A, A), Binary(BinaryOp.EQ, A, B)
    assert found == Binary(BinaryOp.AND, *expected)


def test_operands_without_bytes_keep_their_places():
    lone = Var("\ud800"), Var("a")

    assert canonical(Binary(BinaryOp.AND, *lone)) == Binary(BinaryOp.AND, *lone)


@pytest.mark.parametrize("bits", [0x7FC0_0000, 0x7F80_0001, 0xFFFF_FFFF, 0xFFC0_0000])
def test_every_f32_nan_becomes_the_quiet_one(bits: int):
    assert canonical(Lit(F32, bits)) == Lit(F32, 0x7FC0_0000)


@pytest.mark.parametrize("bits", [0x8000_0000, 1, 0x807F_FFFF, 0x7F80_0000, 0xFF80_0000])
def test_negative_zero_subnormals_and_infinities_keep_their_bits(bits: int):
    assert canonical(Lit(F32, bits)) == Lit(F32, bits)


def test_a_nan_of_another_type_keeps_its_bits():
    assert canonical(Lit(ir.DataType.F64, 0x7FF0_0000_0000_0001)).bits == 0x7FF0_0000_0000_0001


def test_a_block_that_binds_nothing_is_spliced_into_its_list():
    store = Store("out", ir.gid(), ir.u32(1))
    nested = Block((Block((store, Block(()))), Return()))

    assert canonical_entry([nested]) == (store, Return())
    assert canonical_entry([Region("g", (nested,))]) == (Region("g", (store, Return())),)
    assert canonical_entry([Loop("i", A, B, (nested,))]) == (Loop("i", A, B, (store, Return())),)


def test_a_block_that_binds_a_name_stays():
    binds = Block((Let("a", ir.u32(1)),))

    assert canonical_entry([binds]) == (binds,)
    assert canonical_entry([Block((binds,))]) == (binds,)


def test_a_region_stays_even_when_it_is_empty():
    assert canonical_entry([Region("g", ())]) == (Region("g", ()),)


def test_a_name_inside_an_inner_list_does_not_keep_the_block():
    branch = ir.if_(True, [Let("a", ir.u32(1))])

    assert canonical_entry([Block((branch,))]) == (branch,)


def test_buffers_are_ordered_by_the_bytes_of_the_name_length_first():
    names = ["b", "aa", "a", "x" * 256, "x" * 255]

    found = canonical_buffers(ir.BufferDecl.read(name, 0, U32) for name in names)

    # 256 is 00 01 00 00 and so comes before 1, which is 01 00 00 00
    assert [decl.name for decl in found] == ["x" * 256, "a", "b", "aa", "x" * 255]


def test_buffers_of_one_name_are_ordered_by_everything_else():
    first = ir.BufferDecl.read("x", 0, U32)
    others = [
        replace(first, count=1),
        replace(first, is_output=True),
        replace(first, output_range=(0, 4)),
        replace(first, hints=ir.Hints(coalesce_axis=0)),
        replace(first, hints=ir.Hints(alignment=8)),
        replace(first, element=ir.DataType.vec(U32, 2)),
        replace(first, shape=(2, 3)),
        replace(first, access=ir.Access.UNIFORM),
        replace(first, binding=1),
    ]

    forward = canonical_buffers([first, *others])

    assert canonical_buffers([*reversed(others), first]) == forward
    assert forward[-1].binding == 1


def test_neither_depth_nor_sharing_makes_it_slow_or_fail():
    value: Expr = A
    for _ in range(5_000):
        value = Binary(BinaryOp.BIT_XOR, value, Binary(BinaryOp.SHR, value, ir.u32(1)))

    found = canonical(value)

    assert found is value


def exprs() -> st.SearchStrategy[Expr]:
    leaf: st.SearchStrategy[Expr] = st.one_of(
        st.sampled_from("abc").map(Var),
        st.integers(0, 300).map(ir.u32),
        st.floats(width=32).map(ir.f32),
        st.floats().map(ir.f64),
    )
    return st.recursive(leaf, lambda part: st.builds(Binary, st.sampled_from(BinaryOp), part, part))


def nodes() -> st.SearchStrategy[Node]:
    leaf: st.SearchStrategy[Node] = st.builds(Let, st.sampled_from("abc"), exprs())
    stores = st.builds(Store, st.just("out"), exprs(), exprs())
    return st.recursive(
        leaf | stores | st.just(Return()),
        lambda part: st.one_of(
            st.lists(part, max_size=3).map(ir.block),
            st.builds(ir.if_, exprs(), st.lists(part, max_size=2), st.lists(part, max_size=2)),
        ),
        max_leaves=8,
    )


@given(st.lists(nodes(), max_size=4))
def test_what_is_canonical_stays_as_it_is(entry: list[Node]):
    once = canonical_entry(entry)

    assert canonical_entry(once) == once
