"""What a kernel means, rule by rule, as the reference runs it."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vyre import ir
from vyre.backend.reference import run
from vyre.ir import AtomicOp, BinaryOp, BufferDecl, DataType, Expr, UnaryOp
from vyre.ir.accuracy import ULP_BOUND
from vyre.ir.expr import float_bits
from vyre.ir.functions import ULP
from vyre.ir.types import int_range
from vyre.testing.accuracy import errors

NUMPY = {
    DataType.BOOL: np.uint32,
    DataType.U8: np.uint8,
    DataType.U16: np.uint16,
    DataType.U32: np.uint32,
    DataType.U64: np.uint64,
    DataType.I8: np.int8,
    DataType.I16: np.int16,
    DataType.I32: np.int32,
    DataType.I64: np.int64,
    DataType.F16: np.float16,
    DataType.BF16: np.uint16,
    DataType.F32: np.float32,
    DataType.F64: np.float64,
}
INTEGERS = tuple(dtype for dtype in NUMPY if dtype.is_int)
SIGNED = tuple(dtype for dtype in NUMPY if dtype.is_signed)
FLOATS = (DataType.F32, DataType.F64)
U32, I32, F32, F64 = DataType.U32, DataType.I32, DataType.F32, DataType.F64
INF, NAN = math.inf, math.nan


def array(dtype, values):
    return np.array(values, NUMPY[dtype])


def apply(result, function, *operands):
    """`function` of the operands, given as (type, values), with a lane for each value."""
    arrays = {f"x{k}": array(dtype, values) for k, (dtype, values) in enumerate(operands)}
    lanes = max(a.size for a in arrays.values())
    buffers = [BufferDecl.read(f"x{k}", k, dtype) for k, (dtype, _) in enumerate(operands)]
    buffers.append(BufferDecl.write("out", len(operands), result))
    loads = [ir.load(name, ir.gid()) for name in arrays]
    program = ir.Program.wrapped(buffers, (64, 1, 1), [ir.store("out", ir.gid(), function(*loads))])
    ir.check(program)
    out = np.zeros(lanes, NUMPY[result])
    run(program, arrays | {"out": out}, (lanes, 1, 1))
    return out


def binary(op, dtype, a, b, result=None):
    found = apply(result or dtype, lambda x, y: ir.binary(op, x, y), (dtype, a), (dtype, b))
    return found.tolist()


def unary(op, dtype, values, result=None):
    return apply(result or dtype, lambda x: ir.unary(op, x), (dtype, values)).tolist()


def same(found, expected):
    """Whether two lists of floats agree to the sign of zero, NaN with NaN."""
    return [_shown(x) for x in found] == [_shown(x) for x in expected]


def _shown(x):
    return "nan" if math.isnan(x) else (math.copysign(1, x), x)


def wrap(dtype, value):
    low, high = int_range(dtype)
    return (value - low) % (high - low + 1) + low


def clamp(dtype, value):
    low, high = int_range(dtype)
    return max(low, min(high, value))


def integers(dtype):
    low, high = int_range(dtype)
    near = [n for n in (low, low + 1, -1, 0, 1, 2, high - 1, high) if low <= n <= high]
    return st.one_of(st.sampled_from(near), st.integers(low, high))


@st.composite
def integer_pairs(draw, types=INTEGERS):
    dtype = draw(st.sampled_from(types))
    pairs = draw(st.lists(st.tuples(integers(dtype), integers(dtype)), min_size=1, max_size=12))
    a, b = zip(*pairs, strict=True)
    return dtype, list(a), list(b)


def truncated(a, b):
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


EXACT = {
    BinaryOp.ADD: lambda a, b: a + b,
    BinaryOp.WRAP_ADD: lambda a, b: a + b,
    BinaryOp.SUB: lambda a, b: a - b,
    BinaryOp.WRAP_SUB: lambda a, b: a - b,
    BinaryOp.MUL: lambda a, b: a * b,
    BinaryOp.DIV: truncated,
    BinaryOp.MOD: lambda a, b: 0 if b == 0 else a - b * truncated(a, b),
    BinaryOp.FLOOR_DIV: lambda a, b: 0 if b == 0 else a // b,
    BinaryOp.FLOOR_MOD: lambda a, b: 0 if b == 0 else a % b,
    BinaryOp.BIT_AND: lambda a, b: a & b,
    BinaryOp.BIT_OR: lambda a, b: a | b,
    BinaryOp.BIT_XOR: lambda a, b: a ^ b,
    BinaryOp.ABS_DIFF: lambda a, b: abs(a - b),
    BinaryOp.MIN: min,
    BinaryOp.MAX: max,
}


@pytest.mark.parametrize("op", EXACT)
@given(integer_pairs())
def test_integers_wrap_at_their_own_width(op, case):
    dtype, a, b = case

    expected = [wrap(dtype, EXACT[op](x, y)) for x, y in zip(a, b, strict=True)]
    assert binary(op, dtype, a, b) == expected


def test_floor_division_floors_as_python_does_and_division_truncates():
    a, b = [-7, 7, -7, 7], [2, -2, -2, 2]

    assert binary(BinaryOp.FLOOR_DIV, I32, a, b) == [-4, -4, 3, 3]
    assert binary(BinaryOp.FLOOR_MOD, I32, a, b) == [1, -1, -1, 1]
    assert binary(BinaryOp.DIV, I32, a, b) == [-3, -3, 3, 3]
    assert binary(BinaryOp.MOD, I32, a, b) == [-1, 1, -1, 1]


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("op", [BinaryOp.DIV, BinaryOp.MOD, BinaryOp.FLOOR_DIV, BinaryOp.FLOOR_MOD])
def test_dividing_an_integer_by_zero_gives_zero(op, dtype):
    low, high = int_range(dtype)

    assert binary(op, dtype, [low, 0, 1, high], [0, 0, 0, 0]) == [0, 0, 0, 0]


@pytest.mark.parametrize("dtype", SIGNED, ids=str)
def test_the_least_integer_divided_by_minus_one_wraps(dtype):
    low, _ = int_range(dtype)

    assert binary(BinaryOp.DIV, dtype, [low], [-1]) == [low]
    assert binary(BinaryOp.FLOOR_DIV, dtype, [low], [-1]) == [low]
    assert binary(BinaryOp.MOD, dtype, [low], [-1]) == [0]
    assert binary(BinaryOp.FLOOR_MOD, dtype, [low], [-1]) == [0]


@given(integer_pairs())
def test_shift_counts_are_masked_by_the_width_and_signed_shifts_keep_the_sign(case):
    dtype, a, b = case
    pairs = [(x, y % dtype.bits) for x, y in zip(a, b, strict=True)]

    assert binary(BinaryOp.SHL, dtype, a, b) == [wrap(dtype, x << k) for x, k in pairs]
    assert binary(BinaryOp.SHR, dtype, a, b) == [x >> k for x, k in pairs]


@given(integer_pairs())
def test_rotations_bring_back_what_they_push_out(case):
    dtype, a, b = case
    width = dtype.bits
    pairs = [(x % 2**width, y % width) for x, y in zip(a, b, strict=True)]

    left = [wrap(dtype, x << k | x >> (width - k)) for x, k in pairs]
    right = [wrap(dtype, x >> k | x << (width - k)) for x, k in pairs]
    assert binary(BinaryOp.ROT_L, dtype, a, b) == left
    assert binary(BinaryOp.ROT_R, dtype, a, b) == right


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_every_integer_can_be_shifted_by_a_u32_count(dtype):
    counts = [0, 1, dtype.bits - 1, dtype.bits, dtype.bits + 3, 0xFFFF_FFFF]

    def shifted(op):
        return apply(
            dtype, lambda x, k: ir.binary(op, x, k), (dtype, [3] * 6), (U32, counts)
        ).tolist()

    width = dtype.bits
    assert shifted(BinaryOp.SHL) == [wrap(dtype, 3 << (k % width)) for k in counts]
    assert shifted(BinaryOp.SHR) == [3 >> (k % width) for k in counts]
    assert shifted(BinaryOp.ROT_R) == [
        wrap(dtype, 3 >> (k % width) | 3 << (width - k % width)) for k in counts
    ]


@given(integer_pairs())
def test_mul_high_is_the_upper_half_of_the_exact_product(case):
    dtype, a, b = case

    expected = [x * y >> dtype.bits for x, y in zip(a, b, strict=True)]
    assert binary(BinaryOp.MUL_HIGH, dtype, a, b) == expected


@given(integer_pairs())
def test_saturating_operators_stop_at_the_ends_of_the_type(case):
    dtype, a, b = case
    pairs = list(zip(a, b, strict=True))

    assert binary(BinaryOp.SAT_ADD, dtype, a, b) == [clamp(dtype, x + y) for x, y in pairs]
    assert binary(BinaryOp.SAT_SUB, dtype, a, b) == [clamp(dtype, x - y) for x, y in pairs]
    assert binary(BinaryOp.SAT_MUL, dtype, a, b) == [clamp(dtype, x * y) for x, y in pairs]


@given(integer_pairs())
def test_bit_counts_keep_the_type_and_see_every_bit(case):
    dtype, a, _ = case
    width = dtype.bits
    patterns = [f"{x % 2**width:0{width}b}" for x in a]

    ones = [wrap(dtype, p.count("1")) for p in patterns]
    leading = [wrap(dtype, width - len(p.lstrip("0"))) for p in patterns]
    trailing = [wrap(dtype, width - len(p.rstrip("0"))) for p in patterns]
    assert unary(UnaryOp.POPCOUNT, dtype, a) == ones
    assert unary(UnaryOp.CLZ, dtype, a) == leading
    assert unary(UnaryOp.CTZ, dtype, a) == trailing
    assert unary(UnaryOp.REVERSE_BITS, dtype, a) == [wrap(dtype, int(p[::-1], 2)) for p in patterns]
    assert unary(UnaryOp.BIT_NOT, dtype, a) == [wrap(dtype, ~x) for x in a]


@given(integer_pairs())
def test_negation_absolute_value_and_sign_of_integers_wrap_at_the_least_one(case):
    dtype, a, _ = case

    assert unary(UnaryOp.NEGATE, dtype, a) == [wrap(dtype, -x) for x in a]
    assert unary(UnaryOp.ABS, dtype, a) == [wrap(dtype, abs(x)) for x in a]
    assert unary(UnaryOp.SIGN, dtype, a) == [(x > 0) - (x < 0) for x in a]


@given(integer_pairs(), st.sampled_from(INTEGERS))
def test_a_cast_between_integers_wraps(case, target):
    dtype, a, _ = case

    found = apply(target, lambda x: ir.cast(target, x), (dtype, a))
    assert found.tolist() == [wrap(target, x) for x in a]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("target", INTEGERS, ids=str)
def test_float_to_integer_truncates_saturates_and_makes_nan_zero(target, dtype):
    low, high = int_range(target)
    kind = NUMPY[dtype]
    below = float(np.nextafter(kind(high + 1), kind(0)))  # the last float that fits
    values = [2.9, 0.5, -0.5, -0.0, 1e30, -1e30, INF, -INF, NAN, float(high + 1), below, float(low)]

    found = apply(target, lambda x: ir.cast(target, x), (dtype, values)).tolist()
    whole = [2, 0, 0, 0, high, low, high, low, 0, high, int(below), low]
    assert found == whole
    assert apply(target, lambda x: ir.cast(target, x), (dtype, [-2.9])).tolist() == [max(-2, low)]


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("target", FLOATS, ids=str)
def test_integer_to_float_rounds_once_to_even(target, dtype):
    low, high = int_range(dtype)
    tie = 2**40 + 2**16  # between two f32; a detour through f64 rounds what lies beside it to it
    wanted = [low, high, 0, 1, 2**24 + 1, 2**53 + 1, tie, tie + 1, tie - 1, 2**62 + 2**38 + 1]
    values = [n for n in (*wanted, 2**63 + 2**39 + 1) if low <= n <= high]

    found = apply(target, lambda x: ir.cast(target, x), (dtype, values)).tolist()
    digits = 24 if target == F32 else 53
    assert found == [nearest(n, digits) for n in values]


def nearest(n, digits):
    """The float with that many binary digits next to a whole number, ties to even."""
    drop = max(0, abs(n).bit_length() - digits)
    return float(round(Fraction(n, 2**drop)) * 2**drop)


def test_a_number_is_a_bool_where_it_is_not_zero_and_a_bool_is_zero_or_one():
    values = [0.0, -0.0, 0.25, NAN]

    assert apply(
        U32, lambda x: ir.cast(U32, ir.cast(DataType.BOOL, x)), (F32, values)
    ).tolist() == [
        0,
        0,
        1,
        1,
    ]
    assert apply(F64, lambda x: ir.cast(F64, x), (DataType.BOOL, [0, 1, 7])).tolist() == [0, 1, 1]


def test_a_load_out_of_bounds_gives_zero():
    for dtype, indices in ((U32, [0, 2, 3, 2**32 - 1]), (I32, [0, 2, 3, -1])):
        found = apply(U32, lambda i, _: ir.load("x1", i), (dtype, indices), (U32, [7, 8, 9]))
        assert found.tolist() == [7, 9, 0, 0]
    wide = [0, 2, 2**32, 2**63]
    found = apply(U32, lambda i, _: ir.load("x1", i), (DataType.U64, wide), (U32, [7, 8, 9]))
    assert found.tolist() == [7, 9, 0, 0]


def test_a_load_from_an_empty_buffer_gives_zero():
    found = apply(U32, lambda _, x: x + 1, (U32, [1, 2]), (U32, []))

    assert found.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("dtype", "indices"), [(I32, [-1, 4, 1, 2**31 - 1]), (U32, [2**32 - 1, 4, 1, 2**31])], ids=str
)
def test_a_store_out_of_bounds_is_dropped(dtype, indices):
    buffers = [BufferDecl.read("i", 0, dtype), BufferDecl.write("out", 1, U32)]
    stored = ir.store("out", ir.load("i", ir.gid()), 5)
    out = np.full(4, 9, np.uint32)

    run(
        ir.Program.wrapped(buffers, (64, 1, 1), [stored]),
        {"i": array(dtype, indices), "out": out},
        (4, 1, 1),
    )
    assert out.tolist() == [9, 5, 9, 9]


def test_an_atomic_out_of_bounds_is_dropped_and_returns_zero():
    buffers = [BufferDecl.read_write("sum", 0, I32), BufferDecl.write("old", 1, I32)]
    index = ir.cast(I32, ir.gid()) - ir.i32(1)
    body = [
        ir.let("before", ir.atomic(AtomicOp.ADD, "sum", index, ir.i32(3))),
        ir.store("old", ir.gid(), ir.var("before")),
    ]
    total, old = np.array([10, 20], np.int32), np.full(4, 9, np.int32)

    run(ir.Program.wrapped(buffers, (64, 1, 1), body), {"sum": total, "old": old}, (4, 1, 1))
    assert total.tolist() == [13, 23]
    assert old.tolist() == [0, 10, 20, 0]


def test_a_flat_index_checks_every_axis():
    buffers = [BufferDecl.read("x", 0, U32).with_shape(0, 0), BufferDecl.write("out", 1, U32)]
    row, column = ir.gid() % 3, ir.cast(I32, ir.gid()) - ir.i32(1)
    body = [ir.store("out", ir.gid(), ir.flat_index("x", row, column))]
    out = np.zeros(5, np.uint32)

    x = np.zeros((2, 3), np.uint32)
    run(ir.Program.wrapped(buffers, (64, 1, 1), body), {"x": x, "out": out}, (5, 1, 1))
    # (0, -1), (1, 0), (2, 1), (0, 2), (1, 3) in an array of two rows and three columns
    assert out.tolist() == [2**32 - 1, 3, 2**32 - 1, 2, 2**32 - 1]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_float_arithmetic_rounds_as_ieee_754_says(dtype):
    kind = NUMPY[dtype]
    rng = np.random.default_rng(1)
    patterns = rng.integers(0, 2**63, 500, np.uint64) * np.uint64(2) + np.uint64(1)
    a, b = (bits.astype(f"u{kind().itemsize}").view(kind) for bits in (patterns, patterns[::-1]))
    fine = np.isfinite(a) & np.isfinite(b) & (b != 0)
    a, b = a[fine], b[fine]

    pairs = [(Fraction(float(x)), Fraction(float(y))) for x, y in zip(a, b, strict=True)]
    for op, exact in (
        (BinaryOp.ADD, [x + y for x, y in pairs]),
        (BinaryOp.SUB, [x - y for x, y in pairs]),
        (BinaryOp.MUL, [x * y for x, y in pairs]),
        (BinaryOp.DIV, [x / y for x, y in pairs]),
    ):
        expected = [rounded(dtype, value) for value in exact]
        assert same(binary(op, dtype, a, b), expected), op


def rounded(dtype, value):
    """The float nearest to an exact value, ties to even, by whole-number arithmetic alone."""
    digits, least, greatest = (24, -149, 128) if dtype == F32 else (53, -1074, 1024)
    if value == 0:
        return 0.0
    size = abs(value.numerator).bit_length() - value.denominator.bit_length()
    size += 1 if abs(value) >= Fraction(2) ** size else 0
    unit = Fraction(2) ** max(size - digits, least)
    found = abs(round(value / unit) * unit)
    size = INF if found >= Fraction(2) ** greatest else float(found)
    return size if value > 0 else -size


def test_float_division_is_total():
    found = binary(BinaryOp.DIV, F32, [1, -1, 0, INF, 1], [0, 0, 0, INF, -INF])

    assert same(found, [INF, -INF, NAN, NAN, -0.0])


def test_square_root_and_reciprocals_round_each_step_once():
    values = [2.0, 0.0, -0.0, INF, -1.0, 3.0]
    single = np.float32

    assert same(
        unary(UnaryOp.SQRT, F32, values),
        [*np.sqrt(single([2, 0])), -0.0, INF, NAN, *np.sqrt(single([3]))],
    )
    assert same(
        unary(UnaryOp.RECIPROCAL, F32, values), [0.5, INF, -INF, 0.0, -1.0, single(1) / single(3)]
    )
    assert same(
        unary(UnaryOp.INVERSE_SQRT, F32, values),
        [single(2**-0.5), INF, -INF, 0.0, NAN, single(3**-0.5)],
    )


def test_a_product_and_a_sum_are_never_contracted():
    a, c = [1 + 2**-12], [-(1 + 2**-11)]

    apart = apply(F32, lambda x, z: x * x + z, (F32, a), (F32, c))
    fused = apply(F32, lambda x, z: ir.fma(x, x, z), (F32, a), (F32, c))
    assert (apart.tolist(), fused.tolist()) == ([0.0], [2**-24])


def test_a_sum_is_never_reassociated():
    found = apply(F32, lambda x, y, z: x + y + z, (F32, [1e8]), (F32, [-1e8]), (F32, [1.0]))
    other = apply(F32, lambda x, y, z: x + (y + z), (F32, [1e8]), (F32, [-1e8]), (F32, [1.0]))

    assert (found.tolist(), other.tolist()) == ([1.0], [0.0])


FINITE = {
    F32: st.floats(width=32, allow_nan=False, allow_infinity=False),
    F64: st.floats(allow_nan=False, allow_infinity=False),
}


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@given(st.data())
def test_fma_rounds_exactly_once(dtype, data):
    a, b, c = (data.draw(FINITE[dtype]) for _ in range(3))
    if data.draw(st.booleans()):  # so that most of the product cancels
        c = float(NUMPY[dtype](np.clip(-a * b, -1e38, 1e38)))

    found = apply(dtype, ir.fma, (dtype, [a]), (dtype, [b]), (dtype, [c])).tolist()
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    assert same(found, [rounded(dtype, exact) if exact else a * b + c])


def test_fma_of_f32_is_not_fooled_by_a_tie():
    # 1 + 2**-24 lies between two f32; what c adds is too small for f64 to see, and breaks the tie
    a, b, tiny = [1 + 2**-12] * 2, [1 + 2**-12] * 2, [2**-80, -(2**-80)]
    found = apply(F32, ir.fma, (F32, a), (F32, b), (F32, tiny))

    expected = [rounded(F32, Fraction(1 + 2**-12) ** 2 + Fraction(t)) for t in tiny]
    assert found.tolist() == expected
    assert expected[0] != expected[1]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_fma_keeps_infinities_nan_and_the_sign_of_zero(dtype):
    most = float(np.finfo(NUMPY[dtype]).max)
    a = [INF, INF, 0.0, most, most, -0.0, 0.0, 2.0, NAN]
    b = [1.0, 0.0, INF, 2.0, 2.0, 1.0, -1.0, -3.0, 1.0]
    c = [-INF, 1.0, 1.0, -INF, 1.0, -0.0, 0.0, 6.0, 1.0]

    found = apply(dtype, ir.fma, (dtype, a), (dtype, b), (dtype, c)).tolist()
    assert same(found, [NAN, NAN, NAN, -INF, INF, -0.0, 0.0, 0.0, NAN])


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_min_and_max_ignore_one_nan_and_put_minus_zero_before_zero(dtype):
    a = [0.0, -0.0, NAN, 1.0, NAN, -INF, 3.0]
    b = [-0.0, 0.0, 1.0, NAN, NAN, NAN, 2.0]

    assert same(binary(BinaryOp.MIN, dtype, a, b), [-0.0, -0.0, 1.0, 1.0, NAN, -INF, 2.0])
    assert same(binary(BinaryOp.MAX, dtype, a, b), [0.0, 0.0, 1.0, 1.0, NAN, -INF, 3.0])


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_round_goes_to_even_and_its_kin_where_they_say(dtype):
    values = [0.5, 1.5, 2.5, -0.5, -1.5, -0.0, 2.7, -2.7, INF, NAN]

    assert same(unary(UnaryOp.ROUND, dtype, values), [0, 2, 2, -0.0, -2, -0.0, 3, -3, INF, NAN])
    assert same(unary(UnaryOp.FLOOR, dtype, values), [0, 1, 2, -1, -2, -0.0, 2, -3, INF, NAN])
    assert same(unary(UnaryOp.CEIL, dtype, values), [1, 2, 3, -0.0, -1, -0.0, 3, -2, INF, NAN])
    assert same(unary(UnaryOp.TRUNC, dtype, values), [0, 1, 2, -0.0, -1, -0.0, 2, -2, INF, NAN])


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_sign_negation_and_absolute_value_of_floats(dtype):
    values = [2.5, -2.5, 0.0, -0.0, INF, -INF, NAN]

    assert same(unary(UnaryOp.SIGN, dtype, values), [1, -1, 0.0, 0.0, 1, -1, NAN])
    assert same(unary(UnaryOp.NEGATE, dtype, values), [-2.5, 2.5, -0.0, 0.0, -INF, INF, NAN])
    assert same(unary(UnaryOp.ABS, dtype, values), [2.5, 2.5, 0.0, 0.0, INF, INF, NAN])


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_tests_of_floats_see_nan_and_infinity(dtype):
    values = [1.0, INF, -INF, NAN]

    assert unary(UnaryOp.IS_NAN, dtype, values, DataType.BOOL) == [0, 0, 0, 1]
    assert unary(UnaryOp.IS_INF, dtype, values, DataType.BOOL) == [0, 1, 1, 0]
    assert unary(UnaryOp.IS_FINITE, dtype, values, DataType.BOOL) == [1, 0, 0, 0]


def test_comparisons_with_nan_are_false_but_for_not_equal():
    a, b = [1.0, NAN, NAN, 0.0], [NAN, 1.0, NAN, -0.0]

    def compared(op):
        return binary(op, F32, a, b, DataType.BOOL)

    assert compared(BinaryOp.EQ) == [0, 0, 0, 1]
    assert compared(BinaryOp.NE) == [1, 1, 1, 0]
    assert compared(BinaryOp.LT) == compared(BinaryOp.GT) == [0, 0, 0, 0]
    assert compared(BinaryOp.LE) == compared(BinaryOp.GE) == [0, 0, 0, 1]


def test_remainders_and_floored_quotients_of_floats_are_those_of_c_and_of_numpy():
    a, b = [5.5, -5.5, 5.5, -5.5, 1.0, INF, 1e30], [2, 2, -2, -2, 0, 1, 3]

    assert same(
        binary(BinaryOp.MOD, F64, a, b), [1.5, -1.5, 1.5, -1.5, NAN, NAN, math.fmod(1e30, 3)]
    )
    assert same(binary(BinaryOp.FLOOR_DIV, F64, a[:4], b[:4]), [2, -3, -3, 2])
    assert same(binary(BinaryOp.FLOOR_MOD, F64, a[:4], b[:4]), [1.5, 0.5, -0.5, -1.5])


def test_the_difference_of_floats_has_no_sign():
    assert same(binary(BinaryOp.ABS_DIFF, F32, [1, 3, -0.0], [3, 1, 0.0]), [2, 2, 0.0])


def test_f16_is_stored_in_half_precision_and_computed_in_f32():
    half = DataType.F16
    values = [2048.0, 1.0, 65504.0, 65520.0, 2**-24, 2**-26, 0.1]

    summed = apply(half, lambda x: x + ir.f32(1) - ir.f32(1), (half, [2048.0])).tolist()
    assert summed == [2048.0]
    assert apply(F32, lambda x: x + ir.f32(1), (half, [2048.0])).tolist() == [2049.0]
    stored = apply(half, lambda x: x, (F32, values)).tolist()
    assert stored == [2048.0, 1.0, 65504.0, INF, 2**-24, 0.0, 0.0999755859375]
    assert apply(half, lambda x: x, (F32, [2049.0, 2051.0])).tolist() == [2048.0, 2052.0]


@given(st.lists(st.floats(width=32), min_size=1))
def test_bf16_is_the_upper_half_of_an_f32_rounded_to_even(values):
    brain = DataType.BF16

    stored = apply(brain, lambda x: x, (F32, values)).tolist()
    assert stored == [float_bits(brain, value) for value in values]
    back = apply(F32, lambda x: x, (brain, stored)).tolist()
    assert same(back, np.array([bits << 16 for bits in stored], np.uint32).view(np.float32))


def test_a_cast_to_f16_or_bf16_rounds_and_stays_f32():
    found = apply(F32, lambda x: ir.cast(DataType.F16, x) + ir.f32(1), (F32, [2049.0]))
    brain = apply(F32, lambda x: ir.cast(DataType.BF16, x) + ir.f32(1), (F32, [257.0]))

    assert (found.tolist(), brain.tolist()) == ([2049.0], [257.0])


def test_bools_are_words_and_any_word_but_zero_is_true():
    found = apply(DataType.BOOL, lambda x: x, (DataType.BOOL, [0, 1, 2, 2**31]))
    other = apply(
        DataType.BOOL, lambda x: ir.unary(UnaryOp.LOGICAL_NOT, x), (DataType.BOOL, [0, 1, 2, 2**31])
    )

    assert (found.tolist(), other.tolist()) == ([0, 1, 1, 1], [1, 0, 0, 0])


def test_logical_operators_and_bit_operators_on_bools_agree():
    a, b = [0, 0, 1, 1], [0, 1, 0, 1]

    for op, expected in (
        (BinaryOp.AND, [0, 0, 0, 1]),
        (BinaryOp.BIT_AND, [0, 0, 0, 1]),
        (BinaryOp.OR, [0, 1, 1, 1]),
        (BinaryOp.BIT_OR, [0, 1, 1, 1]),
        (BinaryOp.BIT_XOR, [0, 1, 1, 0]),
        (BinaryOp.EQ, [1, 0, 0, 1]),
    ):
        assert binary(op, DataType.BOOL, a, b) == expected


EXAMPLES = {
    UnaryOp.EXP: (math.exp, [-87.0, -1.0, 0.0, 1.0, 88.0]),
    UnaryOp.EXP2: (math.exp2, [-126.0, -0.5, 0.0, 3.0, 127.5]),
    UnaryOp.LOG: (math.log, [1e-30, 0.5, 1.0, 2.0, 1e30]),
    UnaryOp.LOG2: (math.log2, [1e-30, 0.5, 1.0, 3.0, 1e30]),
    UnaryOp.SIN: (math.sin, [-3.0, -0.5, 0.0, 1.0, 1e6]),
    UnaryOp.COS: (math.cos, [-3.0, -0.5, 0.0, 1.0, 1e6]),
    UnaryOp.TAN: (math.tan, [-1.5, -0.5, 0.0, 1.0, 1e6]),
    UnaryOp.ASIN: (math.asin, [-1.0, -0.5, 0.0, 0.25, 1.0]),
    UnaryOp.ACOS: (math.acos, [-1.0, -0.5, 0.0, 0.25, 1.0]),
    UnaryOp.ATAN: (math.atan, [-1e9, -0.5, 0.0, 0.25, 7.0]),
    UnaryOp.SINH: (math.sinh, [-80.0, -0.5, 0.0, 0.25, 7.0]),
    UnaryOp.COSH: (math.cosh, [-80.0, -0.5, 0.0, 0.25, 7.0]),
    UnaryOp.TANH: (math.tanh, [-80.0, -0.5, 0.0, 0.25, 7.0]),
    UnaryOp.LOG10: (math.log10, [1e-30, 0.5, 1.0, 1000.0, 1e30]),
    UnaryOp.LOG1P: (math.log1p, [-0.5, -1e-9, 0.0, 1e-9, 1e30]),
    UnaryOp.EXPM1: (math.expm1, [-80.0, -1e-9, 0.0, 1e-9, 88.0]),
    UnaryOp.ASINH: (math.asinh, [-1e30, -1e-9, 0.0, 0.25, 7.0]),
    UnaryOp.ACOSH: (math.acosh, [1.0, 1.0000001, 1.5, 7.0, 1e30]),
    UnaryOp.ATANH: (math.atanh, [-0.999, -1e-9, 0.0, 0.25, 0.5]),
    UnaryOp.CBRT: (math.cbrt, [-27.0, -1e-40, 0.0, 2.0, 1e30]),
    UnaryOp.ERF: (math.erf, [-9.0, -1e-9, 0.0, 0.25, 2.0]),
    UnaryOp.ERFC: (math.erfc, [-9.0, -1e-9, 0.0, 0.25, 9.0]),
}


@pytest.mark.parametrize("op", EXAMPLES)
def test_a_transcendental_function_is_within_its_stated_bound(op):
    function, values = EXAMPLES[op]
    single = np.array([function(float(np.float32(x))) for x in values])
    double = np.array([function(x) for x in values])

    assert errors(np.float32(unary(op, F32, values)), single).max() <= ULP[op, F32]
    assert errors(np.float64(unary(op, F64, values)), double).max() <= ULP[op, F64] + 1


def test_pow_and_atan2_of_f32_are_near_and_have_the_special_values_of_c():
    a, b = [2.0, 3.0, 10.0, 0.5, -2.0], [0.5, -2.0, 38.0, 149.0, 3.0]

    for op, function in ((BinaryOp.POW, math.pow), (BinaryOp.ATAN2, math.atan2)):
        exact = np.array([function(x, y) for x, y in zip(a, b, strict=True)])
        assert errors(np.float32(binary(op, F32, a, b)), exact).max() <= ULP[op, F32]
    assert same(
        binary(BinaryOp.POW, F32, [1.0, NAN, 0.0, 10.0], [NAN, 0.0, -1.0, 39.0]), [1, 1, INF, INF]
    )
    assert same(binary(BinaryOp.ATAN2, F32, [0.0, -0.0], [-0.0, 0.0]), [np.float32(math.pi), -0.0])


def test_hypot_of_f32_is_the_nearest_f32_and_does_not_overflow_on_the_way():
    a, b = np.float32([3.0, 1e30, -1e-30, 0.1]), np.float32([4.0, 1e30, 1e-30, 0.2])
    exact = [math.hypot(x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]

    assert binary(BinaryOp.HYPOT, F32, a, b) == np.float32(exact).tolist()
    assert binary(BinaryOp.HYPOT, F32, [3e38], [3e38]) == [INF]
    assert binary(BinaryOp.HYPOT, F64, [3e300], [4e300]) == [5e300]
    assert same(binary(BinaryOp.HYPOT, F32, [INF, NAN, NAN], [NAN, -INF, 0.0]), [INF, INF, NAN])


@pytest.mark.parametrize("dtype", FLOATS)
def test_functions_beyond_their_domain_are_nan_and_at_its_ends_infinite(dtype):
    for op, values, expected in (
        (UnaryOp.LOG10, [0.0, -1.0, INF, NAN], [-INF, NAN, INF, NAN]),
        (UnaryOp.LOG1P, [-1.0, -2.0, INF, -0.0], [-INF, NAN, INF, -0.0]),
        (UnaryOp.EXPM1, [-INF, INF, -0.0, NAN], [-1.0, INF, -0.0, NAN]),
        (UnaryOp.ASINH, [-INF, INF, -0.0, NAN], [-INF, INF, -0.0, NAN]),
        (UnaryOp.ACOSH, [1.0, 0.5, INF, NAN], [0.0, NAN, INF, NAN]),
        (UnaryOp.ATANH, [1.0, -1.0, 2.0, -0.0], [INF, -INF, NAN, -0.0]),
        (UnaryOp.CBRT, [-8.0, -INF, -0.0, NAN], [-2.0, -INF, -0.0, NAN]),
        (UnaryOp.ERF, [-INF, INF, -0.0, NAN], [-1.0, 1.0, -0.0, NAN]),
        (UnaryOp.ERFC, [-INF, INF, -0.0, NAN], [2.0, 0.0, 1.0, NAN]),
    ):
        assert same(unary(op, dtype, values), expected), op


@pytest.mark.parametrize("dtype", FLOATS)
def test_copysign_takes_the_sign_of_a_zero_and_of_infinity_too(dtype):
    a, b = [2.5, -2.5, 0.0, INF, NAN, -1.0], [-0.0, 0.0, -INF, -1.0, -1.0, INF]

    assert same(binary(BinaryOp.COPYSIGN, dtype, a, b), [-2.5, 2.5, -0.0, -INF, NAN, 1.0])


@pytest.mark.parametrize("dtype", FLOATS)
def test_the_remainder_of_floats_has_the_sign_of_the_dividend(dtype):
    a, b = [5.5, -5.5, 5.5, -6.0, 1.0, INF, 1.0, NAN], [2.0, 2.0, -2.0, 2.0, INF, 2.0, 0.0, 1.0]

    assert same(binary(BinaryOp.MOD, dtype, a, b), [1.5, -1.5, 1.5, -0.0, 1.0, NAN, NAN, NAN])


def test_the_examples_cover_every_function_with_a_stated_bound():
    assert set(EXAMPLES) | {BinaryOp.POW, BinaryOp.ATAN2, BinaryOp.HYPOT} == set(ULP_BOUND)


PATTERNS = (0, 1, 0x7F, 0x80, 0xFF, 1 << 31, 0x4049_0FDB, 0xFF80_0000, 0x400921FB54442D18, 1 << 63)
WITH_BITS = tuple(dtype for dtype in NUMPY if dtype.is_int or dtype in FLOATS)


@pytest.mark.parametrize("source", WITH_BITS, ids=str)
def test_a_bitcast_keeps_every_bit(source):
    bits = f"u{source.bits // 8}"
    patterns = np.array([pattern % (1 << source.bits) for pattern in PATTERNS], bits)
    values = patterns.view(NUMPY[source])

    for target in (dtype for dtype in WITH_BITS if dtype.bits == source.bits):
        found = apply(target, lambda x, to=target: ir.bitcast(to, x), (source, values))
        assert found.view(bits).tolist() == patterns.tolist(), target


def test_a_bitcast_of_what_all_lanes_share_is_shared():
    found = apply(U32, lambda x: ir.bitcast(U32, ir.f32(1.0)) + x, (U32, [0, 1]))

    assert found.tolist() == [0x3F80_0000, 0x3F80_0001]


def test_a_half_shows_the_bits_of_the_f32_it_is_computed_in():
    found = apply(U32, lambda x: ir.bitcast(U32, x), (DataType.F16, [1.0, -2.0]))

    assert found.tolist() == [0x3F80_0000, 0xC000_0000]


def test_select_takes_each_side_where_it_holds():
    found = apply(U32, lambda x: ir.select(x > 1, x * 10, x + 100), (U32, [0, 1, 2, 3]))

    assert found.tolist() == [100, 101, 20, 30]


def test_select_and_logical_operators_evaluate_both_sides():
    def counted(cond: Expr):
        update = ir.atomic(AtomicOp.ADD, "n", 0, 1)
        return {
            "select": ir.select(cond, update, ir.u32(0)).eq(0),
            "and": ir.binary(BinaryOp.AND, cond, update.eq(0)),
            "or": ir.binary(BinaryOp.OR, ir.unary(UnaryOp.LOGICAL_NOT, cond), update.eq(0)),
        }

    for expr in counted(ir.gid() > 1000).values():
        n = np.zeros(1, np.uint32)
        program = ir.Program.wrapped(
            [BufferDecl.read_write("n", 0, U32)], (64, 1, 1), [ir.let("unused", expr)]
        )
        run(program, {"n": n}, (5, 1, 1))
        assert n.tolist() == [5]


def test_literals_keep_their_bits():
    quiet = ir.Program.wrapped(
        [BufferDecl.write("out", 0, F32)],
        (64, 1, 1),
        [
            ir.store("out", 0, ir.f32(-0.0)),
            ir.store("out", 1, ir.f32(1e-45)),
            ir.store("out", 2, ir.lit(DataType.F16, 0.1)),
            ir.store("out", 3, ir.lit(DataType.BF16, 0.1)),
        ],
    )
    out = np.zeros(4, np.float32)

    run(quiet, {"out": out}, (1, 1, 1))
    assert out.view(np.uint32)[:2].tolist() == [0x8000_0000, 1]
    assert out[2:].tolist() == [0.0999755859375, 0.10009765625]


def test_lanes_beyond_the_extent_do_nothing():
    out = np.zeros(100, np.uint32)
    program = ir.Program.wrapped(
        [BufferDecl.write("out", 0, U32)], (64, 1, 1), [ir.store("out", ir.gid(), 1)]
    )

    run(program, {"out": out}, (70, 1, 1))
    assert out.sum() == out[:70].sum() == 70


def test_an_empty_extent_runs_nothing():
    out = np.zeros(3, np.uint32)
    program = ir.Program.wrapped(
        [BufferDecl.write("out", 0, U32)], (64, 1, 1), [ir.store("out", 0, 1)]
    )

    for extent in ((0, 1, 1), (4, 0, 1), (4, 4, 0)):
        run(program, {"out": out}, extent)
    assert out.tolist() == [0, 0, 0]


def test_a_dispatch_covers_three_axes_with_x_fastest():
    place = (ir.gid(2) * ir.extent(1) + ir.gid(1)) * ir.extent(0) + ir.gid(0)
    value = ir.gid(2) * 100 + ir.gid(1) * 10 + ir.gid(0)
    out = np.zeros((2, 3, 4), np.uint32)
    program = ir.Program.wrapped(
        [BufferDecl.write("out", 0, U32).with_shape(0, 0, 0)],
        (64, 1, 1),
        [ir.store("out", place, value)],
    )

    run(program, {"out": out}, (4, 3, 2))
    z, y, x = np.indices(out.shape)
    assert (out == z * 100 + y * 10 + x).all()


def test_local_and_workgroup_ids_follow_the_launched_workgroup():
    buffers = [BufferDecl.write(name, k, U32) for k, name in enumerate(("local", "group", "size"))]
    body = [
        ir.store("local", ir.gid(), ir.local_id()),
        ir.store("group", ir.gid(), ir.workgroup_id()),
        ir.store("size", ir.gid(), ir.workgroup_size()),
    ]
    arrays = {decl.name: np.zeros(7, np.uint32) for decl in buffers}

    run(ir.Program.wrapped(buffers, (64, 1, 1), body), arrays, (7, 1, 1), (3, 1, 1))
    assert arrays["local"].tolist() == [0, 1, 2, 0, 1, 2, 0]
    assert arrays["group"].tolist() == [0, 0, 0, 1, 1, 1, 2]
    assert arrays["size"].tolist() == [3] * 7


def test_a_barrier_orders_what_a_workgroup_writes_and_reads():
    buffers = [BufferDecl.workgroup("tile", 4, U32), BufferDecl.write("out", 0, U32)]
    body = [
        ir.store("tile", ir.local_id(), ir.gid() * 10),
        ir.barrier(),
        ir.store("out", ir.gid(), ir.load("tile", ir.u32(3) - ir.local_id())),
    ]
    out = np.zeros(8, np.uint32)

    run(ir.Program.wrapped(buffers, (4, 1, 1), body), {"out": out}, (8, 1, 1))
    assert out.tolist() == [30, 20, 10, 0, 70, 60, 50, 40]


def test_workgroup_memory_starts_as_zeros_and_belongs_to_one_workgroup():
    buffers = [BufferDecl.workgroup("count", 1, U32), BufferDecl.write("out", 0, U32)]
    body = [
        ir.let("unused", ir.atomic(AtomicOp.ADD, "count", 0, 1)),
        ir.barrier(),
        ir.store("out", ir.gid(), ir.load("count", 0) + ir.load("count", 1)),
    ]
    out = np.zeros(6, np.uint32)

    run(ir.Program.wrapped(buffers, (3, 1, 1), body), {"out": out}, (6, 1, 1))
    assert out.tolist() == [3] * 6


def test_whole_workgroups_run_where_lanes_work_together():
    buffers = [BufferDecl.workgroup("tile", 4, U32), BufferDecl.write("out", 0, U32)]
    body = [
        ir.store("tile", ir.local_id(), ir.gid() + 1),
        ir.barrier(),
        ir.store("out", ir.gid(), ir.load("tile", 3)),
    ]
    out = np.zeros(8, np.uint32)

    run(ir.Program.wrapped(buffers, (4, 1, 1), body), {"out": out}, (5, 1, 1))
    assert out.tolist() == [4, 4, 4, 4, 8, 8, 8, 8]


def test_the_later_lane_wins_an_element():
    out = np.zeros(3, np.uint32)
    program = ir.Program.wrapped(
        [BufferDecl.write("out", 0, U32)], (64, 1, 1), [ir.store("out", ir.gid() % 3, ir.gid())]
    )

    run(program, {"out": out}, (8, 1, 1))
    assert out.tolist() == [6, 7, 5]


ATOMICS = {
    AtomicOp.ADD: lambda old, value: old + value,
    AtomicOp.OR: lambda old, value: old | value,
    AtomicOp.AND: lambda old, value: old & value,
    AtomicOp.XOR: lambda old, value: old ^ value,
    AtomicOp.MIN: min,
    AtomicOp.MAX: max,
    AtomicOp.EXCHANGE: lambda _old, value: value,
    AtomicOp.FETCH_NAND: lambda old, value: ~(old & value),
}


@pytest.mark.parametrize("is_read", [True, False], ids=["read", "unread"])
@pytest.mark.parametrize("dtype", [U32, I32, DataType.U64, DataType.I64], ids=str)
@pytest.mark.parametrize("op", ATOMICS)
def test_atomics_apply_in_lane_order_and_return_the_old_value(op, dtype, is_read):
    low, high = int_range(dtype)
    values = [high, 3, low, 1, high - 5, 6, 7]
    indices = [0, 1, 0, 1, 1, 0, 2]
    start = [high, 12345]
    buffers = [
        BufferDecl.read("i", 0, U32),
        BufferDecl.read("v", 1, dtype),
        BufferDecl.read_write("cells", 2, dtype),
        BufferDecl.write("old", 3, dtype),
    ]
    body = [
        ir.let("before", ir.atomic(op, "cells", ir.load("i", ir.gid()), ir.load("v", ir.gid())))
    ]
    if is_read:
        body.append(ir.store("old", ir.gid(), ir.var("before")))
    cells, old = array(dtype, start), np.zeros(7, NUMPY[dtype])

    arrays = {"i": array(U32, indices), "v": array(dtype, values), "cells": cells, "old": old}
    run(ir.Program.wrapped(buffers, (64, 1, 1), body), arrays, (7, 1, 1))
    expected, before = list(start), []
    for i, value in zip(indices, values, strict=True):
        before.append(expected[i] if i < 2 else 0)
        if i < 2:
            expected[i] = wrap(dtype, ATOMICS[op](expected[i], value))
    assert cells.tolist() == expected
    assert old.tolist() == (before if is_read else [0] * 7)


@pytest.mark.parametrize("op", [AtomicOp.COMPARE_EXCHANGE, AtomicOp.COMPARE_EXCHANGE_WEAK])
def test_compare_exchange_stores_where_it_finds_what_it_expected(op):
    buffers = [BufferDecl.read_write("lock", 0, U32), BufferDecl.write("old", 1, U32)]
    exchange = ir.atomic(op, "lock", 0, ir.gid() + 10, expected=ir.u32(0))
    body = [ir.let("before", exchange), ir.store("old", ir.gid(), ir.var("before"))]
    lock, old = np.zeros(1, np.uint32), np.zeros(3, np.uint32)

    run(ir.Program.wrapped(buffers, (64, 1, 1), body), {"lock": lock, "old": old}, (3, 1, 1))
    assert (lock.tolist(), old.tolist()) == ([10], [0, 10, 10])


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_float_atomics_round_in_lane_order_and_order_zeros_and_nan_as_min_and_max_do(dtype):
    def combined(op, start, values):
        cell = array(dtype, [start])
        body = [ir.let("unused", ir.atomic(op, "cell", 0, ir.load("v", ir.gid())))]
        buffers = [BufferDecl.read("v", 0, dtype), BufferDecl.read_write("cell", 1, dtype)]
        arrays = {"v": array(dtype, values), "cell": cell}
        run(ir.Program.wrapped(buffers, (64, 1, 1), body), arrays, (len(values), 1, 1))
        return cell.tolist()

    big = 2.0 ** (24 if dtype == F32 else 53)
    assert combined(AtomicOp.ADD, big, [1.0, 1.0, -big]) == [0.0]
    assert combined(AtomicOp.ADD, 0.0, [1.0, 1.0, big]) == [big + 2]
    assert same(combined(AtomicOp.MIN, NAN, [0.0, NAN, -0.0, 0.0]), [-0.0])
    assert same(combined(AtomicOp.MAX, -0.0, [NAN, 0.0, -0.0]), [0.0])
    assert combined(AtomicOp.EXCHANGE, 1.0, [2.0, 3.0]) == [3.0]
