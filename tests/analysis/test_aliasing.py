"""When one array can be both an input and an output of a call."""

import pytest

from vyre.analysis.aliasing import may_share
from vyre.ir import BufferDecl, DataType
from vyre.ir.build import atomic, flat_index, gid, if_, let, load, loop, store, u32, var, while_
from vyre.ir.expr import AtomicOp

I = gid()  # noqa: E741  # as the kernels themselves write it
DOUBLE = store("out", I, load("x", I) * 2)


def test_an_element_that_is_read_and_then_written_may_be_one(program):
    assert may_share(program(DOUBLE), 1, "x", "out")
    assert may_share(program(let("v", load("x", I)), if_(I < 9, [DOUBLE])), 1, "x", "out")
    assert may_share(program(loop("k", 0, 1, [DOUBLE])), 1, "x", "out")


@pytest.mark.parametrize(
    "nodes",
    [
        (store("out", I, load("x", I + 1)),),
        (store("out", I * 2, load("x", I * 2)),),
        (store("out", u32(0), load("x", u32(0))),),
        (store("out", load("x", I), 1),),
        (DOUBLE, let("late", load("x", I))),
        (loop("k", 0, 2, [DOUBLE]),),
        (while_(load("x", I) < 3, [DOUBLE]),),
        (let("v", load("x", I) + atomic(AtomicOp.ADD, "out", I, 1)),),
        (let("v", atomic(AtomicOp.ADD, "out", I, load("x", I))),),
        (let("v", load("x", I)),),
        (store("out", gid(1), load("x", gid(1))),),
    ],
)
def test_anything_else_may_not(program, nodes):
    found = program(*nodes)

    assert not may_share(found, 1, "x", "out")


def test_rows_of_a_wider_dispatch_meet_in_one_element(program):
    """The program asks for x alone; over two rows, the second would read what the first wrote."""
    assert may_share(program(DOUBLE), 1, "x", "out")
    assert not may_share(program(DOUBLE), 2, "x", "out")


def test_all_axes_in_the_arrays_order_may_be_one(program):
    source = BufferDecl.read("source", 9, DataType.F32).with_shape(0, 0)

    def copied(*indices):
        at = [flat_index(name, *indices) for name in ("source", "image")]
        return program(store("image", at[1], load("source", at[0])), extra=(source,))

    assert may_share(copied(gid(1), gid(0)), 2, "source", "image")
    assert not may_share(copied(gid(0), gid(1)), 2, "source", "image")
    assert not may_share(copied(gid(1), gid(0)), 3, "source", "image")


def test_elements_of_two_types_are_never_one(program):
    signed = BufferDecl.read("signed", 9, DataType.I32)
    found = program(let("v", load("signed", I)), store("out", I, 1), extra=(signed,))

    assert not may_share(found, 1, "signed", "out")


def test_a_loaded_value_may_be_used_after_the_write(program):
    found = program(let("v", load("x", I)), store("out", I, var("v")), let("w", var("v") + 1))

    assert may_share(found, 1, "x", "out")
