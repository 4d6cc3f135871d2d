"""Reductions as loops of one invocation: which are computed at once, which names, which bits."""

from random import Random

import numpy as np
import pytest

import vyre
from vyre import In, Out, f32, ir
from vyre.backend.reference import run
from vyre.ir import BufferDecl, DataType, Program, ReduceOp
from vyre.ir.expr import Array, Atomic, AtomicOp
from vyre.ir.node import If, Let, Loop, Reduce, Yield
from vyre.ir.serial import (
    Together,
    always_yields,
    has_reductions,
    serial,
    together,
    with_yield,
)
from vyre.ir.storage import STORAGE
from vyre.ir.validate import check
from vyre.ir.walk import statements
from vyre.testing.compare import apart
from vyre.testing.programs import generate
from vyre.testing.reductions import Row, modelled, rows

F32, U32 = DataType.F32, DataType.U32
K, ME = ir.var("k"), ir.gid()
N = ir.buf_len("x")


def total(name, element=None, rounds=N, op=ReduceOp.SUM):
    body = (ir.yield_(ir.load("x", K) if element is None else element),)
    return ir.reduce_(name, op, F32, "k", rounds=rounds, body=body)


def program(*nodes):
    made = Program.wrapped(
        [BufferDecl.read("x", 0, F32), BufferDecl.write("out", 1, F32)],
        (64, 1, 1),
        [*nodes, ir.store("out", ME, ir.var("s"))],
    )
    check(made)
    return made


def groups(*nodes):
    """The names of reductions that are computed at once; None for what is not one."""
    return [
        tuple(r.name for r in found.reductions) if isinstance(found, Together) else None
        for found in together(nodes)
    ]


def test_a_program_without_reductions_is_itself():
    plain = program(ir.let("s", ir.f32(1)))

    assert not has_reductions(plain)
    assert serial(plain) is plain


def test_reductions_over_the_same_rounds_are_computed_at_once():
    assert groups(total("a"), total("b"), total("c", op=ReduceOp.MAX)) == [("a", "b", "c")]


def test_not_those_over_other_rounds():
    assert groups(total("a"), total("b", rounds=ir.u32(3))) == [("a",), ("b",)]


def test_not_those_that_use_what_another_comes_to():
    assert groups(total("a"), total("b", ir.var("a"))) == [("a",), ("b",)]


def test_a_name_between_them_comes_behind():
    mean = ir.let("mean", ir.var("a") / ir.f32(2))
    (found,) = together([total("a"), mean, total("b")])

    assert isinstance(found, Together)
    assert found.others == (mean,)
    assert found.rounds == N


def test_not_where_the_second_uses_the_name_between_them():
    mean = ir.let("mean", ir.var("a") / ir.f32(2))

    assert groups(total("a"), mean, total("b", ir.var("mean"))) == [("a",), None, ("b",)]


@pytest.mark.parametrize(
    "between",
    [
        ir.let("old", Atomic(AtomicOp.ADD, "out", ME, ir.f32(1))),
        ir.if_(ME < 3, [ir.let("t", ir.f32(1))]),
    ],
    ids=["atomic", "branch"],
)
def test_not_across_what_does_something(between):
    assert groups(total("a"), between, total("b")) == [("a",), None, ("b",)]


def test_across_a_store_to_what_it_does_not_read():
    other, own = (ir.store(name, ME, ir.f32(1)) for name in ("out", "x"))

    assert groups(total("a"), other, total("b")) == [("a", "b")]
    assert groups(total("a"), own, total("b")) == [("a",), None, ("b",)]


def test_a_round_may_always_have_an_element_or_not():
    element, nothing = (ir.yield_(ir.f32(1)),), ()

    assert always_yields(element)
    assert always_yields((If(ME < 3, element, element),))
    assert not always_yields((If(ME < 3, element, nothing),))
    assert not always_yields(())
    assert not always_yields((Let("t", ir.f32(1)),))


def test_what_becomes_of_an_element_stands_where_it_is_yielded():
    def given(value):
        yield Let("found", value)

    one, two = Yield(ir.f32(1)), Yield(ir.f32(2))
    before = Let("t", ir.f32(3))

    assert with_yield((before, If(ME < 3, (one,), (two,))), given) == (
        before,
        If(ME < 3, (Let("found", ir.f32(1)),), (Let("found", ir.f32(2)),)),
    )
    assert with_yield((before,), given) == (before,)
    assert with_yield((), given) == ()


def test_a_few_rounds_are_written_one_by_one():
    made = serial(program(total("s", rounds=ir.u32(5))))

    assert not any(isinstance(node, Loop) for node in statements(made.entry))


def test_of_no_rounds_nothing_is_written():
    made = serial(program(total("s", rounds=ir.u32(0))))

    assert not any(isinstance(node, Loop) for node in statements(made.entry))


def test_many_rounds_are_loops_as_deep_as_blocks_of_blocks():
    def depth(rounds):
        made = serial(program(total("s", rounds=rounds)))
        return sum(isinstance(node, Loop) for node in statements(made.entry))

    assert 0 < depth(ir.u32(1024)) < depth(ir.u32(1025)) < depth(N)


def test_where_order_does_not_show_it_is_one_loop():
    made = serial(program(total("s", op=ReduceOp.MAX)))

    assert sum(isinstance(node, Loop) for node in statements(made.entry)) == 1


@pytest.mark.parametrize("op", [ReduceOp.ARGMIN, ReduceOp.ARGMAX])
@pytest.mark.parametrize("dtype", [F32, DataType.F64, DataType.I32, U32])
def test_the_first_of_elements_that_are_all_last_is_found(op, dtype):
    """No number, or the end of a type: what nothing at all would have as well, or almost."""
    ends = {DataType.I32: (2**31 - 1, -(2**31)), U32: (2**32 - 1, 0)}
    least, greatest = ends.get(dtype, (float("nan"),) * 2)
    made = Program.wrapped(
        [BufferDecl.read("x", 0, dtype), BufferDecl.write("out", 1, U32)],
        (64, 1, 1),
        [
            ir.reduce_("s", op, dtype, "k", rounds=N, body=(ir.yield_(ir.load("x", K)),)),
            ir.store("out", ME, ir.var("s")),
        ],
    )
    for size in (1, 70):
        end = least if op is ReduceOp.ARGMIN else greatest
        arrays = {"x": np.full(size, end, STORAGE[dtype]), "out": np.full(1, 9, np.uint32)}
        run(serial(made), arrays, (1, 1, 1))

        assert arrays["out"].tolist() == [0]


def arrays_of(made):
    return [n for n in statements(made.entry) if isinstance(n, Let) and isinstance(n.value, Array)]


def test_rounds_in_order_keep_the_lanes_of_a_block_in_an_array():
    (lanes,) = arrays_of(serial(program(total("s")), in_order=True))

    assert lanes.value.shape == (32,)
    assert not arrays_of(serial(program(total("s"))))


def test_not_where_one_block_is_all_or_where_order_does_not_show():
    both = [total("s"), total("top", op=ReduceOp.MAX)]

    assert not arrays_of(serial(program(total("s", rounds=ir.u32(1024))), in_order=True))
    assert not arrays_of(serial(program(total("s", op=ReduceOp.MAX)), in_order=True))
    assert len(arrays_of(serial(program(*both), in_order=True))) == 1


def test_names_that_are_taken_are_left_alone():
    """Names that the rewriting would use itself stand for what they stood for."""
    names = ["rounds", "whole", "element", "turn", "lane", "at", "own", "half", "first", "left"]
    lets = [ir.let(name, ir.f32(number)) for number, name in enumerate(names)]
    told = sum((ir.var(name) for name in names[1:]), ir.var(names[0]))
    made = program(*lets, total("s0"), ir.let("s", ir.var("s0") + told))
    plain = serial(made)
    check(plain)
    bound = [node.name for node in statements(plain.entry) if isinstance(node, Let)]

    assert all(bound.count(name) == 1 for name in names)


@pytest.mark.parametrize("in_order", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_the_plain_form_gives_the_models_bits(seed, in_order):
    for row in rows(seed):
        case = modelled(row, Random(seed))
        plain = serial(case.program, in_order=in_order)
        check(plain)
        arrays = case.copies()
        run(plain, arrays, case.extent)

        assert not any(isinstance(node, (Reduce, Yield)) for node in statements(plain.entry))
        dtype = plain.buffer("out").element
        assert not apart(dtype, case.expected["out"], arrays["out"]).size, row


@pytest.mark.parametrize(("first", "in_order"), [(0, False), (20, False), (0, True)])
def test_the_plain_form_of_generated_programs_gives_the_same_bits(first, in_order):
    for seed in range(first, first + 20):
        case = generate(Random(seed), reductions=True)
        plain = serial(case.program, in_order=in_order)
        check(plain)
        wanted, found = case.copies(), case.copies()
        run(case.program, wanted, case.extent)
        run(plain, found, case.extent)
        for decl in plain.buffers:
            assert not apart(decl.element, wanted[decl.name], found[decl.name]).size, seed


@pytest.mark.parametrize("dtype", [F32, DataType.F64])
@pytest.mark.parametrize("rounds", [1025, 2049, 3071])
def test_many_rounds_in_order_give_the_models_bits(rounds, dtype):
    for op in (ReduceOp.SUM, ReduceOp.PROD):
        for passes in (None, 0.02):
            row = Row(op=op, dtype=dtype, rounds=rounds, rows=2, passes=passes)
            case = modelled(row, Random(rounds))
            arrays = case.copies()
            run(serial(case.program, in_order=True), arrays, case.extent)

            assert not apart(dtype, case.expected["out"], arrays["out"]).size, row


@vyre.kernel
def mean_and_spread(x: In[f32, 2], out: Out[f32], also: Out[f32]):
    i = vyre.gid()
    mean = sum(x[i, k] for k in range(x.shape[1])) / f32(x.shape[1])
    also[i] = mean
    out[i] = sum((x[i, k] - mean) ** 2 for k in range(x.shape[1]))


def test_a_kernel_of_two_passes_has_two_walks():
    made = serial(mean_and_spread.program)
    named = [
        n for n in statements(made.entry) if isinstance(n, Let) and n.name.startswith("rounds")
    ]

    assert len(named) == 2


@vyre.kernel
def named_otherwise(x: In[f32, 2], out: Out[f32]):
    i = vyre.gid()
    mean = sum(x[i, k] for k in range(x.shape[1])) / f32(x.shape[1])
    out[i] = sum((x[i, j] - mean) ** 2 for j in range(x.shape[1]))


def test_what_uses_a_mean_comes_behind_it_whatever_counts_its_rounds():
    made = serial(named_otherwise.program)
    check(made)
    bound = [node.name for node in statements(made.entry) if isinstance(node, Let)]

    assert bound.index("mean") < bound.index("rounds1")
