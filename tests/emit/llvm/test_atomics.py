"""Lanes that meet at one element: every operation, with and without what stood there before."""

import numpy as np
import pytest

from vyre.ir.build import atomic, cast, gid, i32, if_, let, lit, load, store, u32, var
from vyre.ir.expr import AtomicOp
from vyre.ir.storage import STORAGE
from vyre.ir.types import DataType
from vyre.model import Code
from vyre.testing.by_hand import RW, R, W, kernel

U32, I32, U64, I64 = DataType.U32, DataType.I32, DataType.U64, DataType.I64
F32, F64 = DataType.F32, DataType.F64
WHOLE = (
    *(AtomicOp.ADD, AtomicOp.OR, AtomicOp.AND, AtomicOp.XOR, AtomicOp.MIN, AtomicOp.MAX),
    *(AtomicOp.EXCHANGE, AtomicOp.FETCH_NAND),
)
REAL = (AtomicOp.ADD, AtomicOp.MIN, AtomicOp.MAX, AtomicOp.EXCHANGE)
CODES = (Code(), Code(vector=16))
N = 96  # whole vectors: what is left of one comes before the others


def values(dtype, seed):
    random = np.random.default_rng(seed)
    if dtype.is_float:
        parts = np.array([0.0, -0.0, np.nan, np.inf, -1.5, 2.25, 1e30, -np.inf])
        return random.choice(parts, N).astype(STORAGE[dtype])
    info = np.iinfo(STORAGE[dtype])
    return random.integers(info.min, info.max, N, info.dtype, endpoint=True)


@pytest.mark.parametrize("dtype", [U32, I64, F32, F64], ids=str)
def test_lanes_change_an_element_one_after_the_other(run_cases, dtype):
    """In one workgroup, so that their order is known."""
    ops = REAL if dtype.is_float else WHOLE
    used, unused, some = [], [], []
    for number, op in enumerate(ops):
        name, old = f"at{number}", f"old{number}"
        change = atomic(op, name, gid() % 3, load("x", gid()))
        used += [let(old, change), store("out", gid() + number * N, var(old))]
        unused.append(let(old, change))
        some.append(if_((gid() % 7).eq(number % 5), [store("out", gid() + number * N, change)]))
    places = {
        f"at{number}": (RW, dtype, values(dtype, number)[:2])  # one of three is outside
        for number in range(len(ops))
    }
    given = {"x": (R, dtype, values(dtype, 99)), "out": (RW, dtype, np.zeros(N * len(ops)))}

    bodies = (used, unused, some)
    run_cases([kernel(body, (N, 1, 1), (N, 1, 1), **given, **places) for body in bodies], CODES)


@pytest.mark.parametrize("op", [AtomicOp.COMPARE_EXCHANGE, AtomicOp.COMPARE_EXCHANGE_WEAK])
def test_an_exchange_happens_where_the_expected_stands(run_cases, op):
    cases = []
    for dtype in (U32, I32, U64, I64):
        expected, new = (cast(dtype, (gid() + shift) % 4) for shift in (0, 1))
        body = [store("out", gid(), atomic(op, "at", gid() % 5, new, expected))]
        given = {"at": (RW, dtype, [0, 1, 2, 3]), "out": (W, dtype, np.zeros(N))}
        cases.append(kernel(body, (N, 1, 1), (N, 1, 1), **given))

    run_cases(cases, CODES)


@pytest.mark.parametrize("count", [1, 8, 100])
def test_counters_leave_out_what_is_outside(run_cases, count):
    cases = []
    for dtype, shift in (
        (U32, u32(3)),
        (I32, i32(-20)),
        (U64, lit(U64, 2**40)),
        (I64, lit(I64, -9)),
    ):
        at = cast(dtype, gid() % 40) + shift
        body = [
            let("a", atomic(AtomicOp.ADD, "sums", at, gid() + u32(2**31))),
            let("b", atomic(AtomicOp.ADD, "totals", gid() % 11, cast(I32, gid()) - i32(50))),
        ]
        given = {
            "sums": (RW, U32, np.arange(count)),
            "totals": (RW, I32, np.full(count, -(2**31))),
        }
        cases.append(kernel(body, (333, 1, 1), fixed=("sums", "totals"), **given))

    run_cases(cases, [Code(unroll=4), Code(vector=16)])


@pytest.mark.parametrize("rows", [2, 4, 8])
def test_rows_side_by_side_each_change_an_element_that_is_one_for_all(run_cases, rows):
    body = [let("old", atomic(AtomicOp.ADD, "sum", u32(3), u32(1)))]
    given = {"sum": (RW, U32, np.zeros(5)), "x": (R, U32, np.zeros((9, 32)))}

    case = kernel(body, (32, 9, 1), (32, 9, 1), **given)
    run_cases([case], (Code(vector=16, rows=rows), Code(vector=4, rows=rows)))
