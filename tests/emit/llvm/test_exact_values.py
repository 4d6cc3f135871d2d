"""Conversions and whole numbers at their corners: all halves, all small divisions, every edge."""

import numpy as np

from vyre.ir.build import cast, fma, gid, load, store
from vyre.ir.expr import Binary, BinaryOp, Unary, UnaryOp
from vyre.ir.storage import STORAGE
from vyre.ir.types import DataType, int_range
from vyre.model import Code
from vyre.testing.by_hand import R, W, kernel

F16, BF16, F32, F64 = DataType.F16, DataType.BF16, DataType.F32, DataType.F64
INTEGERS = (
    *(DataType.I8, DataType.U8, DataType.I16, DataType.U16),
    *(DataType.I32, DataType.U32, DataType.I64, DataType.U64),
)
DIVISIONS = (BinaryOp.DIV, BinaryOp.MOD, BinaryOp.FLOOR_DIV, BinaryOp.FLOOR_MOD)
SHIFTS = (BinaryOp.SHL, BinaryOp.SHR, BinaryOp.ROT_L, BinaryOp.ROT_R)
OTHERS = (
    *(BinaryOp.ADD, BinaryOp.MUL, BinaryOp.MUL_HIGH, BinaryOp.ABS_DIFF, BinaryOp.MIN),
    *(BinaryOp.SAT_ADD, BinaryOp.SAT_SUB, BinaryOp.SAT_MUL, BinaryOp.MAX),
)
UNARY = (
    *(UnaryOp.NEGATE, UnaryOp.ABS, UnaryOp.SIGN, UnaryOp.BIT_NOT),
    *(UnaryOp.POPCOUNT, UnaryOp.CLZ, UnaryOp.CTZ, UnaryOp.REVERSE_BITS),
)
CODES = (Code(), Code(vector=16))
x, y = load("x", gid()), load("y", gid())


def each(values, target, *made):
    """A kernel that stores several things made of `x`, and of `y` where it is given."""
    return mixed(values, *((target, value) for value in made))


def mixed(values, *made):
    """The same, each thing with a type of its own."""
    count = len(values[0][1])
    names = ("x", "y")[: len(values)]
    given = {name: (R, *value) for name, value in zip(names, values, strict=True)}
    outs = {f"out{n}": (W, target, np.zeros(count)) for n, (target, _) in enumerate(made)}
    body = [store(f"out{n}", gid(), value) for n, (_, value) in enumerate(made)]
    return kernel(body, (count, 1, 1), (4096, 1, 1), **given, **outs)


def edges(dtype):
    low, high = int_range(dtype)
    near = {low, low + 1, high, high - 1, high // 2 + 1, 0, 1, 2, 3, 7, 8, 31, 32, 63, 64, 65, 100}
    near |= {-1, -2, -7, low // 2} if dtype.is_signed else set()
    near |= {value + step for value in (127, 255, 32767, 65535, 2**31, 2**32) for step in (-1, 1)}
    return np.array(sorted(v for v in near if low <= v <= high), STORAGE[dtype])


def pairs_of(values):
    return np.repeat(values, values.size), np.tile(values, values.size)


def test_every_half_is_read_and_kept(run_cases):
    patterns = np.arange(1 << 16, dtype=np.uint16)
    cases = [
        each([(dtype, patterns.view(STORAGE[dtype]))], target, x)
        for dtype, target in ((F16, F32), (BF16, F32), (F16, F16), (BF16, BF16))
    ]

    run_cases(cases, CODES)


def test_floats_round_to_the_nearest_half(run_cases):
    patterns = np.arange(1 << 15, dtype=np.uint32)
    halves = patterns.astype(np.uint16).view(np.float16).astype(np.float32).view(np.uint32)
    between = [halves + step for step in (0, 1, 0xFFF, 0x1000, 0x1001)]
    brains = [(patterns << 16) + step for step in (0, 1, 0x7FFF, 0x8000, 0x8001)]
    bits = np.concatenate([*between, *brains]).astype(np.uint32)
    values = np.concatenate([bits, bits | np.uint32(1 << 31)]).view(np.float32)

    cases = [each([(F32, values)], dtype, x) for dtype in (F16, BF16)]
    cases += [each([(F32, values)], F32, cast(F16, x), cast(BF16, x))]
    run_cases(cases, CODES)


def test_all_divisions_of_small_integers(run_cases):
    cases = []
    for dtype in (DataType.I8, DataType.U8):
        low, high = int_range(dtype)
        a, b = pairs_of(np.arange(low, high + 1).astype(STORAGE[dtype]))
        values = [(dtype, a), (dtype, b)]
        cases.append(each(values, dtype, *(Binary(op, x, y) for op in DIVISIONS)))

    run_cases(cases, CODES)


def test_whole_numbers_at_their_edges(run_cases):
    cases = []
    for dtype in INTEGERS:
        a, b = pairs_of(edges(dtype))
        values = [(dtype, a), (dtype, b)]
        ops = (*DIVISIONS, *SHIFTS, *OTHERS)
        cases.append(each(values, dtype, *(Binary(op, x, y) for op in ops)))
        cases.append(each([(dtype, a)], dtype, *(Unary(op, x) for op in UNARY)))

    run_cases(cases, [Code(vector=16)])


def test_32_bit_quotients_that_floats_could_round_wrong(run_cases):
    random = np.random.default_rng(5)
    cases = []
    for dtype in (DataType.I32, DataType.U32, DataType.I16, DataType.U16):
        low, high = int_range(dtype)
        b = random.integers(1, high, 4000, np.int64, endpoint=True)
        whole = random.integers(1, np.maximum(high // b, 1), endpoint=True) * b
        a = np.clip(whole + random.integers(-1, 1, 4000, endpoint=True), low, high)
        values = [(dtype, a), (dtype, b)]
        cases.append(each(values, dtype, *(Binary(op, x, y) for op in DIVISIONS)))

    run_cases(cases, CODES)


def test_casts_saturate_and_nan_is_0(run_cases):
    ends = [float(end) for dtype in INTEGERS for end in int_range(dtype)]
    near = [end + step for end in ends for step in (-1.5, -1, -0.5, 0.5, 1, 1.5)]
    parts = [*ends, *near, 0.5, -0.5, -0.0, np.nan, np.inf, 1e30, 1e300, 5e-324, 2.0**63, 2.0**64]
    parts += [np.nextafter(end, to) for end in ends for to in (0, np.inf)]
    whole = np.array([*parts, *(-part for part in parts)])
    cases = []
    for source in (F32, F64):
        with np.errstate(over="ignore"):
            values = whole.astype(STORAGE[source])
        made = [(target, cast(target, x)) for target in (*INTEGERS, DataType.BOOL)]
        cases.append(mixed([(source, values)], *made))

    run_cases(cases, CODES)


def test_whole_numbers_become_floats_and_each_other(run_cases):
    targets = (F32, F64, F16, *INTEGERS)
    made = [(target, cast(target, x)) for target in targets]

    run_cases([mixed([(source, edges(source))], *made) for source in INTEGERS], [Code(vector=16)])


def test_a_fused_product_is_rounded_once(run_cases):
    random = np.random.default_rng(3)
    count = 4000
    for dtype in (F32, F64):
        storage = STORAGE[dtype]
        bits = random.integers(0, 1 << dtype.bits, (2, count), f"u{storage.itemsize}")
        a, b = bits.view(storage)
        with np.errstate(all="ignore"):
            a[: count // 2] = random.normal(0, 1, count // 2)
            b[: count // 2] = random.normal(0, 1, count // 2)
        values = [(dtype, a), (dtype, b)]
        run_cases([each(values, dtype, fma(x, y, -(x * y)), fma(x, x, y), fma(x, y, x))], CODES)
