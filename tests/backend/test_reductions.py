"""The reference folds as the model does, bit for bit, and both as the meaning says."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from vyre import ir
from vyre.backend.reference import run
from vyre.ir import BufferDecl, DataType, Program, ReduceOp
from vyre.ir.fold import BLOCK
from vyre.ir.node import NOWHERE, Node
from vyre.ir.storage import COMPUTED, STORAGE
from vyre.testing.compare import apart
from vyre.testing.reductions import reduced

F32, F64, U32, BOOL = DataType.F32, DataType.F64, DataType.U32, DataType.BOOL
NUMBERS = (F32, F64, DataType.I32, U32, DataType.I64, DataType.U64)
SIZES = (0, 1, 31, 32, 33, 1023, 1024, 1025, 2**20, 2**20 + 1)
PAIRS = [
    (op, dtype)
    for op in ReduceOp
    for dtype in ((BOOL,) if op in (ReduceOp.ANY, ReduceOp.ALL) else NUMBERS)
]
K = ir.var("k")


def over(
    op: ReduceOp,
    dtype: DataType,
    *body: Node,
    rounds: ir.Expr | None = None,
    before: Iterable[Node] = (),
) -> Program:
    """Stores what the rounds of a body come to, for each invocation."""
    result = U32 if op.finds else dtype
    many = ir.buf_len("x") if rounds is None else rounds
    found: list[Node] = [*before, ir.reduce_("s", op, dtype, "k", rounds=many, body=body)]
    made = Program.wrapped(
        (
            BufferDecl.read("x", 0, dtype),
            BufferDecl.read("has", 1, DataType.U8),
            BufferDecl.write("out", 2, result),
        ),
        (64, 1, 1),
        [*found, ir.store("out", ir.gid(), ir.var("s"))],
    )
    ir.check(made)
    return made


def same_bits(found: Any, expected: Any) -> None:
    assert found.dtype == expected.dtype
    dtype = next(one for one in (*NUMBERS, BOOL) if COMPUTED[one.tag] == found.dtype)
    assert not apart(dtype, np.atleast_1d(expected), np.atleast_1d(found)).size, (found, expected)


ELEMENT = ir.yield_(ir.load("x", K))
WHERE_IT_HAS = ir.if_(ir.load("has", K).ne(ir.lit(DataType.U8, 0)), [ELEMENT])


def ran(
    program: Program, x: NDArray[Any], has: NDArray[Any] | None = None, n: int = 1
) -> NDArray[Any]:
    decl = program.buffer("out")
    out = np.zeros(n, STORAGE[decl.element])
    there = np.ones(len(x), np.uint8) if has is None else has.astype(np.uint8)
    stored = x.astype(STORAGE[program.buffer("x").element])
    run(program, {"x": stored, "has": there, "out": out}, (n, 1, 1))
    return out.astype(COMPUTED[decl.element.tag])


def elements(rng: np.random.Generator, dtype: DataType, n: int) -> NDArray[Any]:
    """Numbers of all sizes; of floats some are -0, NaN or infinite."""
    if dtype.is_bool:
        return rng.random(n) < 1 / (n + 1)
    kind = COMPUTED[dtype.tag]
    if dtype.is_int:
        ends = np.iinfo(kind)
        return rng.integers(ends.min, ends.max, n, kind, endpoint=True)
    values = np.ldexp(rng.uniform(-1, 1, n), rng.integers(-12, 12, n)).astype(kind)
    special = rng.integers(0, 12, n)
    values[special == 0] = -0.0
    values[special == 1] = 0.0
    return values


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("op", "dtype"), PAIRS, ids=str)
def test_the_reference_is_the_model(op: ReduceOp, dtype: DataType, size: int):
    rng = np.random.default_rng(size)
    x, has = elements(rng, dtype, size), rng.random(size) < 0.7
    if op is ReduceOp.ALL:
        x = ~x

    same_bits(ran(over(op, dtype, ELEMENT), x)[0], reduced(op, x))
    same_bits(ran(over(op, dtype, WHERE_IT_HAS), x, has)[0], reduced(op, x, has))


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(
    ("op", "dtype"), [pair for pair in PAIRS if pair[1] in (F32, F64)], ids=str
)
def test_infinities_and_nan_are_elements_like_any_other(
    op: ReduceOp, dtype: DataType, special: float
):
    rng = np.random.default_rng(5)
    for size in (1, 33, 1025, 5000):
        x, has = elements(rng, dtype, size), rng.random(size) < 0.7
        x[rng.random(size) < 3 / size] = special

        same_bits(ran(over(op, dtype, ELEMENT), x)[0], reduced(op, x))
        same_bits(ran(over(op, dtype, WHERE_IT_HAS), x, has)[0], reduced(op, x, has))


@pytest.mark.parametrize(("op", "dtype"), PAIRS, ids=str)
def test_nothing_at_all_has_a_result(op: ReduceOp, dtype: DataType):
    kind = COMPUTED[dtype.tag]
    ends = np.iinfo(kind) if dtype.is_int else None
    expected = {
        ReduceOp.SUM: 0,
        ReduceOp.PROD: 1,
        ReduceOp.MIN: np.inf if ends is None else ends.max,
        ReduceOp.MAX: -np.inf if ends is None else ends.min,
        ReduceOp.ANY: False,
        ReduceOp.ALL: True,
        ReduceOp.ARGMIN: NOWHERE,
        ReduceOp.ARGMAX: NOWHERE,
    }[op]
    made = over(op, dtype, WHERE_IT_HAS)
    wanted = np.asarray(expected, np.uint32 if op.finds else kind)[()]

    for size in (0, 1, 40, 1025):
        x, nobody = np.ones(size, kind), np.zeros(size, np.bool_)

        same_bits(ran(made, x, nobody)[0], wanted)
        same_bits(reduced(op, x, nobody), wanted)


NEVER = np.float32([np.nan, np.nan, -1, 3, np.nan, 3, -1])


@pytest.mark.parametrize(
    ("op", "x", "expected"),
    [
        (ReduceOp.SUM, np.float32([-0.0] * 40), np.float32(-0.0)),
        (ReduceOp.SUM, np.float32([-0.0] * 2000), np.float32(-0.0)),
        (ReduceOp.SUM, np.float32([-0.0, 0.0]), np.float32(0.0)),
        (ReduceOp.PROD, np.float32([-0.0]), np.float32(-0.0)),
        # Lane 0 has 2**24 and then 1, which is lost; in order of rounds nothing else would be.
        (ReduceOp.SUM, np.float32([2**24, *[0] * 31, 1]), np.float32(2**24)),
        # The 1 of another lane meets the 1 of lane 16 + it first, and both are kept.
        (ReduceOp.SUM, np.float32([2**24, 1, *[0] * 15, 1]), np.float32(2**24 + 2)),
        (ReduceOp.MIN, NEVER, np.float32(-1)),
        (ReduceOp.MAX, NEVER, np.float32(3)),
        (ReduceOp.ARGMIN, NEVER, np.uint32(2)),
        (ReduceOp.ARGMAX, NEVER, np.uint32(3)),
        (ReduceOp.ARGMIN, np.float32([0.0, -0.0, 0.0, -0.0]), np.uint32(1)),
        (ReduceOp.ARGMAX, np.float32([-0.0, 0.0, -0.0, 0.0]), np.uint32(1)),
        (ReduceOp.MIN, np.float32([0.0, -0.0]), np.float32(-0.0)),
        (ReduceOp.MAX, np.float32([-0.0, 0.0, -0.0]), np.float32(0.0)),
        (ReduceOp.ARGMIN, np.float32([np.nan] * 3), np.uint32(0)),
        (ReduceOp.ARGMAX, np.float32([np.nan] * 3), np.uint32(0)),
        (ReduceOp.MIN, np.float32([np.nan] * 3), np.float32(np.nan)),
        (ReduceOp.ARGMIN, np.float32([np.inf, np.nan]), np.uint32(0)),
        (ReduceOp.ARGMIN, np.float32([np.nan, np.inf]), np.uint32(1)),
        (ReduceOp.ARGMAX, np.float32([np.nan, -np.inf]), np.uint32(1)),
        (ReduceOp.SUM, np.int32([2**31 - 1, 1]), np.int32(-(2**31))),
        (ReduceOp.PROD, np.uint64([2**63, 2]), np.uint64(0)),
        # Round 32 is of lane 0 and so before round 1 in the fold; the earlier round is found.
        (ReduceOp.ARGMAX, np.int32([0, 7, *[0] * 30, 7]), np.uint32(1)),
        (ReduceOp.ARGMIN, np.int32([0] * 1500), np.uint32(0)),
    ],
)
def test_what_the_meaning_says_in_so_many_words(op: ReduceOp, x: NDArray[Any], expected: Any):
    dtype = next(one for one in NUMBERS if COMPUTED[one.tag] == x.dtype)

    same_bits(ran(over(op, dtype, ELEMENT), x)[0], expected)
    same_bits(reduced(op, x), expected)


def test_the_first_round_that_has_an_element_is_where_all_of_them_are_nan():
    x, has = np.float32([np.nan] * 50), np.arange(50) >= 7

    assert ran(over(ReduceOp.ARGMIN, F32, WHERE_IT_HAS), x, has)[0] == 7
    assert reduced(ReduceOp.ARGMIN, x, has) == 7


def one_by_one(op: ReduceOp, values: list[Any]) -> Any:
    """The meaning once more, an element at a time; None is absent."""

    def both(a: Any, b: Any) -> Any:
        if a is None or b is None:
            return b if a is None else a
        return a + b if op is ReduceOp.SUM else a * b

    blocks = []
    for first in range(0, len(values), BLOCK):
        lanes: list[Any] = [None] * 32
        for j, value in enumerate(values[first : first + BLOCK]):
            lanes[j % 32] = both(lanes[j % 32], value)
        for half in (16, 8, 4, 2, 1):
            lanes = [both(lanes[lane], lanes[lane + half]) for lane in range(half)]
        blocks.append(lanes[0])
    return blocks[0] if len(blocks) == 1 else one_by_one(op, blocks)


@given(
    size=st.integers(1, 2500),
    seed=st.integers(0, 999),
    share=st.sampled_from((0.0, 0.01, 0.5, 1.0)),
    op=st.sampled_from((ReduceOp.SUM, ReduceOp.PROD)),
    dtype=st.sampled_from((F32, F64)),
)
def test_a_float_comes_together_in_one_order(
    size: int, seed: int, share: float, op: ReduceOp, dtype: DataType
):
    rng = np.random.default_rng(seed)
    x, has = elements(rng, dtype, size), rng.random(size) < share
    with np.errstate(all="ignore"):
        listed = [value if there else None for value, there in zip(x, has, strict=True)]
        found = one_by_one(op, listed)
    expected = x.dtype.type(op is ReduceOp.PROD) if found is None else found

    same_bits(reduced(op, x, has), expected)
    same_bits(ran(over(op, dtype, WHERE_IT_HAS), x, has)[0], expected)


GOLDEN = {
    # f32 sum, f64 sum, f32 product, f64 product of the numbers below, found one by one
    0: ("00000000", "0000000000000000", "3f800000", "3ff0000000000000"),
    1: ("3f000000", "3fe0000000000000", "3f000000", "3fe0000000000000"),
    31: ("41f71620", "403ee2c40b000000", "3e54b658", "3fca96cb30f0daa8"),
    32: ("41fc5bde", "403f8b7bc8000000", "3e0c3056", "3fc1860ac4b20ecc"),
    33: ("420349ac", "404069357f800000", "3ddb8b67", "3fbb716cf475628a"),
    1023: ("447fa7ca", "408ff4f938d80000", "3f7c2095", "3fef8410b37edee8"),
    1024: ("447fd7b6", "408ffaf6b4380000", "3fa85c5f", "3ff50b8ad5130b75"),
    1025: ("44801798", "409002f2f5b00000", "3fe61dc6", "3ffcc3b776899655"),
    1048576: ("497ffffd", "412fffff9ee42000", "3fb0fdbe", "3ff61fe823e0cb97"),
    1048577: ("49800007", "41300000eb0a0400", "3fc4118f", "3ff8826787ffecda"),
}


def golden_elements(dtype: DataType, size: int) -> NDArray[Any]:
    """Numbers that need no generator: the digits of a sequence that repeats late."""
    j = np.arange(size, dtype=np.uint64)
    digits = (j * np.uint64(0x9E37_79B9_7F4A_7C15)) >> np.uint64(40)
    return (digits.astype(np.float64) / 2**24 + 0.5).astype(COMPUTED[dtype.tag])


def golden_bits(op: ReduceOp, dtype: DataType, size: int) -> str:
    x = golden_elements(dtype, size)
    if op is ReduceOp.PROD:  # of a number and its inverse in turn, so that none is 0 or infinite
        x = np.where(np.arange(size) // 32 % 2, 1 / x, x).astype(x.dtype)
    found = ran(over(op, dtype, ELEMENT), x)[0]
    same_bits(found, reduced(op, x))
    return found.tobytes()[::-1].hex()


@pytest.mark.parametrize("size", SIZES)
def test_the_bits_of_sums_and_products_never_change(size: int):
    found = tuple(
        golden_bits(op, dtype, size) for op in (ReduceOp.SUM, ReduceOp.PROD) for dtype in (F32, F64)
    )

    assert found == GOLDEN[size]


# -- invocations


def test_each_invocation_has_rounds_and_elements_of_its_own():
    """Some have none; together they are more than run at once."""
    n = 3000
    x = np.random.default_rng(2).standard_normal(n + 64).astype(np.float32)
    element = ir.yield_(ir.load("x", K + ir.gid()))
    made = over(ReduceOp.SUM, F32, element, rounds=ir.gid() % 50)

    found = ran(made, x, n=n)

    for me in range(n):
        same_bits(found[me], reduced(ReduceOp.SUM, x[me : me + me % 50]))


def test_only_invocations_that_come_by_reduce():
    n = 200
    x = np.arange(40, dtype=np.float32)
    inner = ir.reduce_("t", ReduceOp.SUM, F32, "k", rounds=ir.gid(), body=[ELEMENT])
    program = Program.wrapped(
        (BufferDecl.read("x", 0, F32), BufferDecl.write("out", 1, F32)),
        (64, 1, 1),
        [
            ir.let("v", ir.f32(-1)),
            ir.if_((ir.gid() % 3).eq(1), [inner, ir.assign("v", ir.var("t"))]),
            ir.store("out", ir.gid(), ir.var("v")),
        ],
    )
    ir.check(program)
    out = np.zeros(n, np.float32)

    run(program, {"x": x, "out": out}, (n, 1, 1))

    whole = np.concatenate([x, np.zeros(n, np.float32)])
    for me in range(n):
        expected = reduced(ReduceOp.SUM, whole[:me]) if me % 3 == 1 else np.float32(-1)
        same_bits(out[me], expected)


def test_a_round_may_hold_loops_branches_and_reductions():
    """sum(x[k] ** (k % 3) if k odd else max(x[:k])) by hand."""
    v, t = ir.var("v"), ir.var("t")
    power = ir.loop("i", 0, K % 3, [ir.assign("v", v * ir.load("x", K))])
    most = ir.reduce_(
        "t", ReduceOp.MAX, F32, "j", rounds=K, body=[ir.yield_(ir.load("x", ir.var("j")))]
    )
    body = ir.if_(
        (K % 2).eq(1), [ir.let("v", ir.f32(1)), power, ir.yield_(v)], [most, ir.yield_(t)]
    )
    x = np.random.default_rng(3).uniform(1, 2, 100).astype(np.float32)

    found = ran(over(ReduceOp.SUM, F32, body), x, n=3)

    elements = np.float32([-np.inf] * 100)
    for k in range(100):
        one = np.float32(1)
        for _ in range(k % 3):
            one *= x[k]
        elements[k] = one if k % 2 else (x[:k].max() if k else -np.inf)
    for value in found:
        same_bits(value, reduced(ReduceOp.SUM, elements))


def test_what_is_broken_out_of_in_a_round_stays_in_that_round():
    v = ir.var("v")
    steps = ir.while_(
        v < 100.0, [ir.assign("v", v * 2.0), ir.if_(v > ir.load("x", K), [ir.break_()])]
    )
    x = np.random.default_rng(3).uniform(1, 90, 70).astype(np.float32)

    found = ran(over(ReduceOp.MAX, F32, ir.let("v", ir.f32(1)), steps, ir.yield_(v)), x)

    assert found[0] == 2 ** np.ceil(np.log2(x.max()))


def test_a_round_of_a_workgroups_lane_sees_the_memory_of_its_workgroup():
    tile = BufferDecl.workgroup("tile", 0, F32).with_count(8)
    element = ir.yield_(ir.load("tile", K))
    program = Program.wrapped(
        (tile, BufferDecl.write("out", 1, F32)),
        (8, 1, 1),
        [
            ir.store("tile", ir.local_id(), ir.cast(F32, ir.gid())),
            ir.barrier(),
            ir.reduce_("s", ReduceOp.SUM, F32, "k", rounds=ir.workgroup_size(), body=[element]),
            ir.store("out", ir.gid(), ir.var("s")),
        ],
    )
    ir.check(program)
    out = np.zeros(20, np.float32)

    run(program, {"out": out}, (20, 1, 1))

    assert out.tolist() == [28.0] * 8 + [92.0] * 8 + [156.0] * 4


def test_elements_of_half_types_are_computed_in_single():
    x = np.float16([1, 2**-11, 2**-11])
    program = Program.wrapped(
        (BufferDecl.read("x", 0, DataType.F16), BufferDecl.write("out", 1, F32)),
        (64, 1, 1),
        [
            ir.reduce_("s", ReduceOp.SUM, F32, "k", rounds=ir.buf_len("x"), body=[ELEMENT]),
            ir.store("out", ir.gid(), ir.var("s")),
        ],
    )
    ir.check(program)
    out = np.zeros(1, np.float32)

    run(program, {"x": x, "out": out}, (1, 1, 1))

    assert out[0] == np.float32(1 + 2**-10)


@pytest.mark.parametrize("n", [1, 7])
def test_a_reduction_in_two_dimensions_takes_a_row_each(n: int):
    rows = np.random.default_rng(1).standard_normal((n, 1100)).astype(np.float32)
    at = ir.flat_index("x", ir.gid(0), K)
    program = Program.wrapped(
        (BufferDecl.read("x", 0, F32).with_shape(0, 0), BufferDecl.write("out", 1, F32)),
        (64, 1, 1),
        [
            ir.reduce_(
                "s",
                ReduceOp.SUM,
                F32,
                "k",
                rounds=ir.buf_dim("x", 1),
                body=[ir.yield_(ir.load("x", at))],
            ),
            ir.store("out", ir.gid(), ir.var("s")),
        ],
    )
    ir.check(program)
    out = np.zeros(n, np.float32)

    run(program, {"x": rows, "out": out}, (n, 1, 1))

    for me in range(n):
        same_bits(out[me], reduced(ReduceOp.SUM, rows[me]))
