"""Loops that walk arrays: checks made once before them, rows brought together before panels."""

import numpy as np
import pytest

from vyre.ir.build import (
    assign,
    break_,
    buf_dim,
    cast,
    flat_index,
    fma,
    gid,
    if_,
    let,
    lit,
    load,
    loop,
    store,
    u32,
    var,
)
from vyre.ir.types import DataType
from vyre.model import Code, Order
from vyre.testing.by_hand import RW, K, R, kernel
from vyre.testing.launches import Subject, Way

U32, I32, U64, I64, F32 = (
    *(DataType.U32, DataType.I32, DataType.U64, DataType.I64),
    DataType.F32,
)
WIDE, HIGH, DEEP = 37, 11, 9


def add(value):
    return assign("sum", var("sum") + value)


def at(name, row, column):
    return load(name, flat_index(name, row, column))


@pytest.mark.parametrize("dtype", [I32, U32, I64, U64], ids=str)
def test_a_counter_may_leave_the_array_that_it_walks(run_cases, dtype):
    """By its first round, by its last, for some lanes only, or not at all."""
    own = cast(dtype, gid() % 13)
    ends = [(lit(dtype, 0), own), (own, lit(dtype, 9)), (lit(dtype, 3), own + lit(dtype, 4))]
    if dtype.is_signed:
        ends += [(lit(dtype, -3), own), (own - lit(dtype, 9), lit(dtype, 5))]
    cases = [
        kernel(
            [
                let("sum", lit(F32, 0)),
                loop("k", start, stop, [add(load("x", var("k"))), store("y", var("k"), u32(7))]),
                store("out", gid(), var("sum")),
            ],
            (50, 1, 1),
            x=(R, F32, np.arange(1, length + 1)),
            y=(RW, U32, np.zeros(length)),
            out=(RW, F32, np.zeros(50)),
        )
        for start, stop in ends
        for length in (0, 5, 9, 20)
    ]

    run_cases(cases)


PRODUCT = add(at("a", gid(1), var("k")) * at("b", var("k"), gid(0)))
BODIES = {
    "a product": [loop("k", 0, DEEP, [PRODUCT])],
    "two loops of one name": [
        loop("k", 0, 4, [add(at("b", var("k"), gid(0)))]),
        loop("k", 2, DEEP, [add(at("a", gid(1), var("k")) * at("b", var("k"), gid(0)))]),
    ],
    "two loops of one name over two arrays": [
        loop("k", 3, DEEP, [add(at("b", var("k"), gid(0)))]),
        loop("k", 0, 4, [add(at("c", var("k"), gid(0)))]),
    ],
    "one load in two loops": [
        loop("k", 0, 5, [PRODUCT]),
        loop("k", 4, DEEP, [PRODUCT]),
    ],
    "rounds that a test leaves out": [
        loop("k", 0, 40, [if_(var("k") < DEEP, [PRODUCT])]),
    ],
    "a break before the array's end": [
        loop("k", 0, 40, [if_(var("k").eq(DEEP), [break_()]), PRODUCT]),
    ],
    "a loop that a test leaves out": [
        if_(load("n", 0) > 100, [loop("k", 0, load("n", 0), [PRODUCT])]),
    ],
    "as many rounds as a scalar says": [loop("k", 0, load("n", 0), [PRODUCT])],
    "as many rounds as rows": [loop("k", 0, buf_dim("b", 0), [PRODUCT])],
    "every other row, from behind": [
        loop("k", 0, 5, [add(at("b", u32(8) - var("k") * 2, gid(0)))]),
    ],
    "a signed counter from below 0": [
        loop("k", lit(I32, -2), lit(I32, 6), [add(at("b", var("k") + lit(I32, 2), gid(0)))]),
    ],
    "no rounds": [loop("k", 5, 5, [PRODUCT]), loop("j", 7, 3, [add(at("b", var("j"), gid(0)))])],
    "a loop in a loop": [
        loop("i", 0, 3, [loop("k", var("i"), DEEP, [PRODUCT, add(at("c", var("i"), gid(0)))])]),
    ],
    "a window": [
        loop("i", 0, 3, [loop("j", 0, 3, [add(at("b", gid(1) + var("i"), gid(0) + var("j")))])]),
    ],
    "fused": [
        loop("k", 0, DEEP, [assign("sum", fma(at("b", var("k"), gid(0)), var("sum"), lit(F32, 1)))])
    ],
}


@pytest.mark.parametrize("what", BODIES)
def test_rows_that_a_loop_reads_are_those_of_the_arrays(run_ways, what):
    random = np.random.default_rng(1)
    body = [
        let("sum", lit(F32, 0)),
        *BODIES[what],
        store("out", flat_index("out", gid(1), gid(0)), var("sum")),
    ]
    subjects = [
        Subject(
            kernel(
                body,
                (WIDE, HIGH, 1),
                (16, 16, 1),
                a=(R, F32, random.normal(0, 1, (HIGH, DEEP))),
                b=(R, F32, random.normal(0, 1, (DEEP, wide))),
                c=(R, F32, random.normal(0, 1, (4, wide))),
                n=(K, U32, [rounds]),
                out=(RW, F32, np.zeros((HIGH, WIDE))),
            )
        )
        for wide, rounds in ((WIDE, DEEP), (WIDE - 5, 3), (WIDE + 2, DEEP + 1))
    ]
    codes = [
        Code(vector=4, rows=2, order=Order.BLOCKED, staged=True),
        Code(vector=16, order=Order.BLOCKED, staged=True, unroll=4),
        Code(vector=16, rows=4),
    ]
    codes += [Code(vector=8, order=Order.BLOCKED, staged=True, checked=False)]
    run_ways(
        [
            (subject, Way(code, tile))
            for subject in subjects
            for code in codes
            if code.checked or subject.is_unchecked
            for tile in ((16, 16, 1), (64, 64, 1))
        ]
    )
