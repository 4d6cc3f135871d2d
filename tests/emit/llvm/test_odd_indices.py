"""Indices that are negative, huge or wrapped; arrays that are short or empty; tails."""

import numpy as np

from vyre.ir.build import buf_len, cast, f32, flat_index, gid, if_, let, lit, load, store, u32, var
from vyre.ir.types import DataType, int_range
from vyre.model import Code, Order
from vyre.testing.by_hand import RW, K, R, W, kernel
from vyre.testing.launches import Subject, Way

U32, I32, U64, F32 = DataType.U32, DataType.I32, DataType.U64, DataType.F32
INTEGERS = (
    *(DataType.I8, DataType.U8, DataType.I16, DataType.U16),
    *(DataType.I32, DataType.U32, DataType.I64, DataType.U64),
)
N = 150


def test_an_index_of_any_type_reads_0_outside(run_cases):
    cases = []
    for dtype in INTEGERS:
        low, high = int_range(dtype)
        pool = [low, low + 1, high, high - 1, high // 2, 0, 1, 2, 49, 50, 51]
        pool += [-1, -2, -50] if dtype.is_signed else []
        where = np.resize(np.array(pool, object), N)
        body = [store("out", gid(), load("x", load("at", gid())))]
        for length in (0, 1, 50):
            x = np.arange(1, length + 1)
            cases.append(
                kernel(body, (N, 1, 1), x=(R, U32, x), at=(R, dtype, where), out=(W, U32, [0] * N))
            )

    run_cases(cases)


def test_an_index_of_any_type_writes_nowhere_outside(run_cases):
    cases = []
    for dtype in INTEGERS:
        most = min(N, int_range(dtype)[1])
        back = lit(dtype, 9)
        body = [store("out", cast(dtype, gid()) - back, gid() + 1)]
        cases += [
            kernel(body, (most, 1, 1), out=(RW, U32, np.full(length, 7)))
            for length in (0, 1, 3, 70, 200)
        ]

    run_cases(cases)


def test_positions_of_32_bits_wrap_to_the_start_of_an_array(run_cases):
    cases = []
    for away in (1, 15, 16, 17, 64, 2**31 - 5):
        at = gid() + u32(2**32 - away)
        body = [
            let("seen", load("x", at)),
            store("moved", at, gid() + 1),
            store("out", gid(), var("seen")),
        ]
        for length in (1, 20, N):
            arrays = {"x": (R, F32, np.arange(length)), "moved": (RW, U32, np.zeros(length))}
            cases.append(kernel(body, (N, 1, 1), **arrays, out=(W, F32, [0] * N)))

    run_cases(cases, [Code(vector=16)])


def test_signed_and_wide_positions_do_not_wrap_into_an_array(run_cases):
    cases = []
    for dtype, away in (
        *((I32, 2**31 - 9), (I32, -9), (I32, -(2**31))),
        *((U64, 2**32 - 5), (U64, 2**64 - 5), (U64, 2**63), (DataType.I64, -5)),
    ):
        at = cast(dtype, gid()) + lit(dtype, away)
        body = [
            let("seen", load("x", at)),
            store("moved", at, gid() + 1),
            store("out", gid(), var("seen")),
        ]
        arrays = {"x": (R, F32, np.arange(1, 41)), "moved": (RW, U32, np.zeros(40))}
        cases.append(kernel(body, (N, 1, 1), **arrays, out=(W, F32, [0] * N)))

    run_cases(cases)


def test_a_stencil_is_0_beyond_both_ends(run_cases):
    around = load("x", gid() - 2) + load("x", gid() - 1) * f32(3) + load("x", gid() + 5)
    cases = [
        kernel(
            [store("out", gid(), around)],
            (count, 1, 1),
            x=(R, F32, np.arange(1, length + 1)),
            out=(W, F32, np.zeros(max(count, 1))),
        )
        for count in (1, 2, 15, 16, 17, 65, 130)
        for length in (0, 1, count // 2, count, count + 9)
    ]

    run_cases(cases, [Code(), Code(vector=16), Code(vector=64)])


def test_an_extent_of_nothing_writes_nothing(run_cases):
    body = [store("out", gid(), gid() + 1)]
    cases = [
        kernel(body, extent, out=(RW, U32, [5, 6, 7]))
        for extent in ((0, 1, 1), (3, 0, 1), (3, 1, 0))
    ]

    run_cases(cases)


def test_tails_along_three_axes_are_covered_once(run_ways):
    wide, high = 21, 5
    at = (gid(2) * high + gid(1)) * wide + gid(0)
    value = load("x", at) + cast(F32, gid(0) * 100 + gid(1) * 10 + gid(2))
    total = wide * high * 3
    case = kernel(
        [store("out", at, load("out", at) + value)],
        (wide, high, 3),
        (8, 4, 1),
        x=(R, F32, np.arange(total)),
        out=(RW, F32, np.arange(total) * 0.5),
    )
    subject = Subject(case)
    codes = [
        Code(vector=vector, rows=rows, order=order)
        for vector, rows in ((1, 1), (4, 2), (4, 8), (16, 4))
        for order in Order
    ]
    tiles = ((8, 4, 1), (1, 1, 1), (16, 3, 2), (21, 5, 3), (64, 1, 1), (3, 64, 2))

    run_ways([(subject, Way(code, tile)) for code in codes for tile in tiles])


def test_an_array_of_two_axes_is_checked_along_each(run_cases):
    seen = load("x", flat_index("x", gid(1) - 1, gid(0) + 2)) + load(
        "x", flat_index("x", cast(I32, gid(1)) - lit(I32, 2), gid(0))
    )
    cases = [
        kernel(
            [store("out", flat_index("out", gid(1), gid(0)), seen)],
            (37, 6, 1),
            (16, 4, 1),
            x=(R, F32, np.arange(rows * columns).reshape(rows, columns)),
            out=(RW, F32, np.full((rows, columns), -1.0)),
        )
        for rows, columns in ((6, 37), (4, 20), (9, 50), (1, 37), (6, 1), (0, 5), (5, 0))
    ]

    run_cases(cases, [Code(), Code(vector=4, rows=2), Code(vector=16, rows=4, order=Order.BLOCKED)])


def test_lengths_are_those_of_the_arrays(run_cases):
    body = [store("out", gid(), buf_len("x") + buf_len("k") * 1000)]
    cases = [
        kernel(body, (20, 1, 1), x=(R, F32, np.zeros(n)), k=(K, F32, [1]), out=(W, U32, [0] * 20))
        for n in (0, 1, 77)
    ]

    run_cases(cases)


def test_a_guard_keeps_lanes_from_what_is_outside(run_cases):
    body = [if_(gid() < buf_len("x"), [store("out", gid(), load("x", gid()) * f32(2))])]
    cases = [
        kernel(body, (N, 1, 1), x=(R, F32, np.arange(n)), out=(RW, F32, np.full(N, 3)))
        for n in (0, 1, 33, N, N + 1)
    ]

    run_cases(cases)
