"""Lanes that end a round of a loop on their own, though they meet at its barrier."""

import numpy as np
import pytest

from vyre.ir.build import (
    assign,
    barrier,
    block,
    continue_,
    gid,
    if_,
    let,
    load,
    local_id,
    loop,
    return_,
    store,
    u32,
    var,
)
from vyre.ir.declare import BufferDecl
from vyre.ir.types import DataType
from vyre.model import Code
from vyre.testing.by_hand import K, W, kernel

U32 = DataType.U32
SOME = (local_id() % 3).eq(u32(0))
ALL = load("n", u32(0)) > var("r")
ADD = assign("k", var("k") + 100 + var("r"))
ONCE = assign("k", var("k") + 1)


@pytest.mark.parametrize(
    "body",
    [
        [barrier(), if_(SOME, [ONCE, continue_()]), ADD],
        [barrier(), if_(SOME, [ONCE], [ADD, continue_()]), ADD],
        [barrier(), if_(ALL, [block([ONCE, if_(SOME, [continue_()]), ADD]), ADD]), ADD],
        [if_(ALL, [ONCE, continue_()]), barrier(), if_(SOME, [continue_()]), ADD],
        [
            barrier(),
            loop("q", 0, local_id() % 4, [if_(SOME, [ONCE, continue_()]), ADD]),
            if_(SOME, [continue_()]),
            ADD,
        ],
        [if_(load("n", u32(0)) > u32(9), [return_()]), if_(SOME, [continue_()]), ADD],
    ],
    ids=["then", "else", "nested", "all, then some", "of an inner loop", "after a return"],
)
def test_a_lane_that_ends_its_round_takes_no_other_along(run_cases, body):
    nodes = [
        let("k", local_id() * 2),
        loop("r", u32(0), u32(3), body),
        barrier(),
        store("line", local_id(), var("k")),
        store("out", gid(), var("k") + load("line", local_id())),
    ]
    shared = [BufferDecl.workgroup("line", 12, U32)]
    case = kernel(
        nodes,
        (30, 1, 1),
        (12, 1, 1),
        shared=shared,
        n=(K, U32, [2]),
        out=(W, U32, np.zeros(30)),
    )

    run_cases([case], [Code(vector=4), Code(vector=16)])
