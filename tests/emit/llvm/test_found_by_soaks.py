"""Programs that generated ones were once wrong about, made small."""

import numpy as np

from vyre import ir
from vyre.ir.build import (
    atomic,
    bitcast,
    cast,
    gid,
    if_,
    let,
    lit,
    load,
    loop,
    return_,
    store,
    u32,
    var,
    while_,
)
from vyre.ir.expr import AtomicOp, BinaryOp
from vyre.ir.types import DataType
from vyre.model import Code
from vyre.testing.by_hand import RW, R, W, kernel

F16, F32, F64, I8, I32, U8, U32 = (
    *(DataType.F16, DataType.F32, DataType.F64, DataType.I8),
    *(DataType.I32, DataType.U8, DataType.U32),
)
CODES = (Code(), Code(vector=4), Code(vector=16), Code(vector=64))


def test_a_constant_of_other_bits_is_widened_as_its_new_type(run_cases):
    wide = cast(I32, bitcast(U8, lit(I8, -2)))
    back = cast(U32, bitcast(I8, lit(U8, 254)))
    body = [store("out", gid(), wide), store("more", gid(), back)]
    given = {"out": (W, I32, np.zeros(5)), "more": (W, U32, np.zeros(5))}

    run_cases([kernel(body, (5, 1, 1), (64, 1, 1), **given)], CODES)


def test_lanes_that_return_together_leave_loops_that_others_are_not_in(run_cases):
    """Where the last vector is part empty, or a condition left some lanes out."""
    count = let("old", atomic(AtomicOp.ADD, "sum", gid(), u32(1)))
    turns = [let("n", u32(0)), while_(var("n") < 3, [count, *_next("n"), return_()])]
    nested = [loop("k", u32(0), u32(3), [loop("j", u32(0), u32(2), [count, return_()]), count])]
    some = [if_((gid() % 3).eq(1), [loop("k", u32(0), u32(4), [count, return_()])]), count]
    given = {"sum": (RW, U32, np.zeros(31))}

    cases = [kernel(body, (31, 1, 1), (64, 1, 1), **given) for body in (turns, nested, some)]
    run_cases(cases, CODES)


def _next(name):
    return [ir.assign(name, var(name) + 1)]


def test_a_half_with_the_sign_of_a_rounded_double_needs_no_library(run_cases):
    rounded = cast(F32, load("s", 0))
    value = ir.binary(BinaryOp.COPYSIGN, load("x", gid()), rounded)
    given = {"x": (R, F32, np.arange(9)), "s": (R, F64, [-0.25]), "out": (W, F16, np.zeros(9))}

    run_cases([kernel([store("out", gid(), value)], (9, 1, 1), (64, 1, 1), **given)], CODES)
