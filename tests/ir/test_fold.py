"""How elements come together: states of nothing change no bit, and places are found by keys."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vyre.backend.reference import run
from vyre.ir import BufferDecl, DataType, Program
from vyre.ir.expr import Id, IdKind, Lit, Load, Var
from vyre.ir.fold import Folding, levels
from vyre.ir.node import NOWHERE, Let, ReduceOp, Store
from vyre.ir.storage import STORAGE
from vyre.testing.reductions import KINDS, reduced

F32, F64, U32, BOOL = DataType.F32, DataType.F64, DataType.U32, DataType.BOOL
FLOATS = (0.0, -0.0, 1.5, -1.5, float("inf"), float("-inf"), float("nan"), 1e-45, 3e38)
ME = Id(IdKind.INVOCATION, 0)


def ends(dtype):
    if dtype.is_bool:
        return (0, 1)
    if dtype.is_float:
        return FLOATS
    kind = np.iinfo(STORAGE[dtype])
    return (0, 1, 2, int(kind.min), int(kind.max), int(kind.max) - 1)


def joined(op, dtype, pairs, *, nothing=False):
    """What each two elements come to; with `nothing`, the first alone between two of nothing."""
    folding = Folding(op, dtype)
    result = U32 if op.finds else dtype
    one = folding.element(Var("p"), Lit.of(U32, 4))
    other = folding.element(Var("q"), Lit.of(U32, 9))
    body = [Let("p", Load("x", ME)), Let("q", Load("y", ME))]
    state = (
        folding.join(folding.join(folding.absent, one), folding.absent)
        if nothing
        else folding.join(one, other)
    )
    made = Program.wrapped(
        [
            BufferDecl.read("x", 0, dtype),
            BufferDecl.read("y", 1, dtype),
            BufferDecl.write("out", 2, result),
        ],
        (64, 1, 1),
        [*body, Store("out", ME, folding.result(state, Lit.of(BOOL, True)))],
    )
    arrays = {
        "x": np.array([a for a, _ in pairs], STORAGE[dtype]),
        "y": np.array([b for _, b in pairs], STORAGE[dtype]),
        "out": np.zeros(len(pairs), STORAGE[result]),
    }
    run(made, arrays, (len(pairs), 1, 1))
    return arrays["out"]


def bits(values):
    """As whole numbers; one NaN is as good as another."""
    values = np.where(np.isnan(values), np.nan, values) if values.dtype.kind == "f" else values
    return values.view(f"u{values.itemsize}").tolist()


@pytest.mark.parametrize(("op", "dtype"), KINDS, ids=str)
def test_nothing_before_and_behind_an_element_changes_no_bit(op, dtype):
    pairs = [(value, value) for value in ends(dtype)]
    kinds = {dtype: STORAGE[dtype]}
    expected = (
        np.full(len(pairs), 4, np.uint32)
        if op.finds
        else np.array([a for a, _ in pairs], kinds[dtype])
    )

    assert bits(joined(op, dtype, pairs, nothing=True)) == bits(expected)


@pytest.mark.parametrize(("op", "dtype"), KINDS, ids=str)
def test_two_elements_come_to_what_the_model_says(op, dtype):
    pairs = [(a, b) for a in ends(dtype) for b in ends(dtype)]
    kind = np.bool_ if dtype.is_bool else STORAGE[dtype]
    expected = np.array([reduced(op, np.array(pair, kind)) for pair in pairs])
    if op.finds:
        expected = np.where(expected == 0, 4, 9).astype(np.uint32)
    found = joined(op, dtype, pairs)

    assert bits(found) == bits(expected.astype(found.dtype))


@given(st.floats(width=32), st.floats(width=32))
def test_either_order_gives_the_same_bits(a, b):
    """So both lanes that come together may compute it."""
    for op in (ReduceOp.SUM, ReduceOp.PROD, ReduceOp.MIN, ReduceOp.MAX):
        assert bits(joined(op, F32, [(a, b)])) == bits(joined(op, F32, [(b, a)]))


@pytest.mark.parametrize(
    ("op", "dtype", "result"),
    [
        (ReduceOp.SUM, F32, 0.0),
        (ReduceOp.SUM, U32, 0),
        (ReduceOp.PROD, F64, 1.0),
        (ReduceOp.MIN, F32, float("inf")),
        (ReduceOp.MAX, F64, float("-inf")),
        (ReduceOp.MIN, DataType.I32, 2**31 - 1),
        (ReduceOp.MAX, DataType.I64, -(2**63)),
        (ReduceOp.ANY, BOOL, False),
        (ReduceOp.ALL, BOOL, True),
        (ReduceOp.ARGMIN, F32, NOWHERE),
    ],
)
def test_no_element_at_all(op, dtype, result):
    literal = Folding(op, dtype).of_nothing

    assert literal.value == result
    assert struct.pack("d", literal.value) == struct.pack("d", result)  # +0, not -0


def test_only_sums_and_products_of_floats_show_their_order():
    ordered = {(op, dtype) for op, dtype in KINDS if Folding(op, dtype).is_ordered}

    assert ordered == {(op, d) for op in (ReduceOp.SUM, ReduceOp.PROD) for d in (F32, F64)}


def test_a_result_asks_whether_there_was_an_element_only_where_its_state_does_not_say():
    state = (Var("s"),)

    assert Folding(ReduceOp.PROD, F32).result(state, Var("some")) == Var("s")
    assert Folding(ReduceOp.SUM, F32).result(state, None) == Var("s")
    assert Folding(ReduceOp.SUM, F32).result(state, Var("some")) != Var("s")


@pytest.mark.parametrize(
    ("rounds", "count"), [(0, 1), (1, 1), (1024, 1), (1025, 2), (2**20, 2), (2**20 + 1, 3)]
)
def test_levels(rounds, count):
    assert levels(rounds) == count
