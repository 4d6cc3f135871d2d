"""When every element of an output is surely set."""

import pytest

from vyre.analysis.coverage import sets_all
from vyre.ir.build import (
    atomic,
    f32,
    flat_index,
    gid,
    if_,
    let,
    load,
    loop,
    return_,
    store,
    u32,
    var,
    while_,
)
from vyre.ir.expr import AtomicOp
from vyre.ir.node import Block

I = gid()  # noqa: E741  # as the kernels themselves write it
DOUBLE = store("out", I, load("x", I) * 2)


@pytest.mark.parametrize(
    "nodes",
    [
        (DOUBLE,),
        (let("v", load("x", I)), if_(I < 9, [store("out", I, 1)]), store("out", I, var("v"))),
        (let("i", I), store("out", var("i"), 1)),
        (loop("k", 0, 4, [let("v", load("x", I))]), DOUBLE),
        (Block((DOUBLE,)),),
        (DOUBLE, DOUBLE),
    ],
)
def test_a_store_at_the_own_position_that_nothing_guards_sets_all(program, nodes):
    assert sets_all(program(*nodes), 1, "out")


@pytest.mark.parametrize(
    "nodes",
    [
        (),
        (if_(I < 9, [DOUBLE]),),
        (if_(load("x", u32(0)) < 9, [DOUBLE]),),
        (loop("k", 0, 1, [DOUBLE]),),
        (loop("k", 0, load("x", u32(0)), [DOUBLE]),),
        (while_(load("x", I) < 3, [DOUBLE]),),
        (if_(I < 9, [return_()]), DOUBLE),
        (store("out", I + 1, 1),),
        (store("out", I * 2, 1),),
        (store("out", u32(0), 1),),
        (store("out", load("x", I), 1),),
        (
            Block((if_(I < 9, [let("i", I), store("out", var("i"), 1)]),)),
            let("i", u32(0)),
            store("out", var("i"), 2),
        ),
        (store("out", gid(1), 1),),
        (let("v", load("out", I)), DOUBLE),
        (DOUBLE, let("v", load("out", I + 1))),
        (let("v", atomic(AtomicOp.ADD, "out", I, 1)), DOUBLE),
        (store("fixed", I, 1),),
    ],
)
def test_anything_else_may_leave_something(program, nodes):
    assert not sets_all(program(*nodes), 1, "out")


def test_positions_along_every_axis_are_needed(program):
    own = store("image", flat_index("image", gid(1), gid(0)), f32(1))
    turned = store("image", flat_index("image", gid(0), gid(1)), f32(1))

    assert not sets_all(program(DOUBLE), 2, "out")
    assert sets_all(program(own), 2, "image")
    assert not sets_all(program(turned), 2, "image")


def test_an_output_of_a_shape_of_its_own_is_not_what_is_covered(program):
    assert not sets_all(program(store("fixed", I, 1)), 1, "fixed")
