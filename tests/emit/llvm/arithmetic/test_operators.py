"""Which instructions operators are: short where constants allow it, and total everywhere."""

import pytest

from vyre.emit.llvm.arithmetic import Instructions, binary, cast, fma, quotient, unary
from vyre.emit.llvm.builder import Builder, Parts
from vyre.emit.llvm.features import Features
from vyre.emit.llvm.values import Shape, Value
from vyre.ir.expr import BinaryOp, UnaryOp
from vyre.ir.types import DataType

BOOL, F32, F64, BF16 = DataType.BOOL, DataType.F32, DataType.F64, DataType.BF16
I16, I32, I64, U8, U32, U64 = (
    DataType.I16,
    DataType.I32,
    DataType.I64,
    DataType.U8,
    DataType.U32,
    DataType.U64,
)


def instructions(width=4, rows=1, **features):
    return Instructions(Builder(Parts(Features(**features)), width, rows))


def vector(name, dtype):
    return Value(dtype, Shape.VECTOR, (f"%{name}",))


def uniform(name, dtype):
    return Value(dtype, Shape.UNIFORM, (f"%{name}",))


def linear(name, dtype=U32, *, never_wraps=False):
    return Value(dtype, Shape.LINEAR, (f"%{name}",), never_wraps=never_wraps)


def written(do):
    """The instructions so far, without the registers they go to."""
    return [line.strip().split(" = ", 1)[-1] for line in do.b.lines]


class TestExtremes:
    @pytest.mark.parametrize(
        ("op", "less"), [(BinaryOp.MIN, "olt"), (BinaryOp.MAX, "ogt")], ids=["min", "max"]
    )
    def test_of_a_constant_one_comparison_decides(self, op, less):
        do = instructions()
        binary(do, op, vector("a", F32), do.number(F32, 1.0))

        assert written(do) == [
            f"fcmp {less} <4 x float> %a, splat (float 0x3FF0000000000000)",
            "select <4 x i1> %t1, <4 x float> %a, <4 x float> splat (float 0x3FF0000000000000)",
        ]

    @pytest.mark.parametrize(
        ("op", "end"),
        [
            (BinaryOp.MIN, 0.0),
            (BinaryOp.MAX, -0.0),
            (BinaryOp.MIN, float("nan")),
            (BinaryOp.MAX, float("nan")),
        ],
    )
    def test_of_a_nan_or_the_zero_that_would_lose_to_the_other_it_does_not(self, op, end):
        do = instructions()
        binary(do, op, vector("a", F32), do.number(F32, end))

        assert len(written(do)) > 2

    @pytest.mark.parametrize(("op", "end"), [(BinaryOp.MIN, -0.0), (BinaryOp.MAX, 0.0)])
    def test_of_the_zero_that_beats_the_other_it_does(self, op, end):
        """What is cut off at 0 is one instruction on most processors."""
        do = instructions()
        binary(do, op, vector("a", F32), do.number(F32, end))

        assert len(written(do)) == 2

    def test_of_a_constant_on_the_left_it_does_as_well(self):
        do = instructions(width=1)
        binary(do, BinaryOp.MAX, do.number(F32, 1.0), uniform("b", F32))

        assert written(do) == [
            "fcmp ogt float %b, 0x3FF0000000000000",
            "select i1 %t1, float %b, float 0x3FF0000000000000",
        ]

    def test_of_whole_numbers_the_processor_has_them(self):
        do = instructions()
        binary(do, BinaryOp.MIN, vector("a", I32), vector("b", I32))
        binary(do, BinaryOp.MAX, vector("a", U8), vector("b", U8))

        assert written(do) == [
            "call <4 x i32> @llvm.smin.v4i32(<4 x i32> %a, <4 x i32> %b)",
            "call <4 x i8> @llvm.umax.v4i8(<4 x i8> %a, <4 x i8> %b)",
        ]


class TestDivision:
    def quotient(self, dtype, *, divisor=None, shape=vector, **features):
        do = instructions(**features)
        quotient(do, shape("a", dtype), divisor or shape("b", dtype))
        return written(do)

    def test_a_constant_divides_whole_numbers_as_such(self):
        """LLVM makes a multiplication of it."""
        three = instructions().number(I32, 3)

        assert self.quotient(I32, divisor=three) == ["sdiv <4 x i32> %a, splat (i32 3)"]

    @pytest.mark.parametrize(
        ("dtype", "real", "there", "back"),
        [
            (I16, "float", "sitofp", "fptosi"),
            (U8, "float", "uitofp", "fptoui"),
            (I32, "double", "sitofp", "fptosi"),
        ],
        ids=str,
    )
    def test_vectors_divide_as_floats_that_hold_the_quotient(self, dtype, real, there, back):
        kind = f"i{dtype.bits}"

        assert self.quotient(dtype) == [
            f"{there} <4 x {kind}> %a to <4 x {real}>",
            f"{there} <4 x {kind}> %b to <4 x {real}>",
            f"fdiv <4 x {real}> %t1, %t2",
            f"{back} <4 x {real}> %t3 to <4 x {kind}>",
        ]

    def test_unsigned_words_need_conversions_that_wide_processors_have(self):
        assert self.quotient(U32, vector_bytes=32) == ["udiv <4 x i32> %a, %b"]
        assert len(self.quotient(U32, vector_bytes=64)) == 4

    @pytest.mark.parametrize("dtype", [I64, U64], ids=str)
    def test_no_float_holds_a_quotient_of_64_bits(self, dtype):
        name = "sdiv" if dtype == I64 else "udiv"

        assert self.quotient(dtype) == [f"{name} <4 x i64> %a, %b"]

    def test_one_number_for_all_lanes_is_divided_once(self):
        assert self.quotient(I32, shape=uniform) == ["sdiv i32 %a, %b"]

    @pytest.mark.parametrize("op", [BinaryOp.DIV, BinaryOp.MOD], ids=lambda op: op.name)
    def test_an_unsigned_division_by_0_is_0(self, op):
        do = instructions(width=1)
        found = binary(do, op, uniform("a", U32), uniform("b", U32))

        assert written(do)[:2] == ["icmp eq i32 %b, 0", "select i1 %t1, i32 1, i32 %b"]
        assert written(do)[-1].startswith("select i1 %t1, i32 0, i32 %t")
        assert found.registers == (do.b.lines[-1].split()[0],)

    def test_the_remainder_follows_the_divisors_sign_where_it_floors(self):
        do = instructions(width=1)
        binary(do, BinaryOp.FLOOR_MOD, uniform("a", I32), uniform("b", I32))

        assert written(do) == [
            "icmp eq i32 %b, 0",
            "select i1 %t1, i32 1, i32 %b",
            "icmp eq i32 %b, -1",
            "select i1 %t3, i32 1, i32 %t2",
            "sdiv i32 %a, %t4",
            "mul i32 %t5, %t4",
            "sub i32 %a, %t6",
            "xor i32 %a, %t4",
            "icmp slt i32 %t8, 0",
            "icmp ne i32 %t7, 0",
            "and i1 %t9, %t10",
            "sub i32 %t5, 1",
            "select i1 %t11, i32 %t12, i32 %t5",
            "add i32 %t7, %t4",
            "select i1 %t11, i32 %t14, i32 %t7",
            "select i1 %t3, i32 0, i32 %t15",
            "select i1 %t1, i32 0, i32 %t16",
        ]


class TestPositions:
    @pytest.mark.parametrize(
        ("op", "a", "b", "text"),
        [
            (BinaryOp.ADD, linear("i"), uniform("n", U32), "add i32 %i, %n"),
            (BinaryOp.WRAP_ADD, uniform("n", U32), linear("i"), "add i32 %n, %i"),
            (BinaryOp.SUB, linear("i"), uniform("n", U32), "sub i32 %i, %n"),
        ],
    )
    def test_neighbours_that_move_together_stay_neighbours(self, op, a, b, text):
        do = instructions()
        found = binary(do, op, a, b)

        assert written(do) == [text]
        assert found.shape is Shape.LINEAR

    @pytest.mark.parametrize(
        ("op", "a", "b"),
        [
            (BinaryOp.SUB, uniform("n", U32), linear("i")),
            (BinaryOp.MUL, linear("i"), uniform("n", U32)),
            (BinaryOp.ADD, linear("i"), linear("j")),
            (BinaryOp.ADD, linear("i"), vector("v", U32)),
        ],
    )
    def test_what_spreads_them_makes_vectors(self, op, a, b):
        assert binary(instructions(), op, a, b).shape is Shape.VECTOR

    def test_a_position_of_the_dispatch_widens_as_one_number(self):
        do = instructions()
        found = cast(do, U64, linear("i", never_wraps=True))

        assert written(do) == ["zext i32 %i to i64"]
        assert (found.shape, found.never_wraps) == (Shape.LINEAR, True)

    def test_a_position_that_may_wrap_widens_lane_by_lane(self):
        """The lane behind the last number of 32 bits is 0, not 2**32."""
        do = instructions()

        assert cast(do, U64, linear("i")).shape is Shape.VECTOR
        assert written(do)[-1] == "zext <4 x i32> %t3 to <4 x i64>"

    def test_a_moved_position_may_wrap(self):
        do = instructions()
        moved = binary(do, BinaryOp.ADD, linear("i", never_wraps=True), uniform("n", U32))

        assert not moved.never_wraps

    def test_a_narrower_position_is_a_vector(self):
        found = cast(instructions(), U8, linear("i", never_wraps=True))

        assert found.shape is Shape.VECTOR


class TestUnary:
    @pytest.mark.parametrize("dtype", [U32, I32, F32], ids=str)
    def test_an_absolute_value_of_no_sign_is_itself(self, dtype):
        do = instructions()
        found = unary(do, UnaryOp.ABS, vector("a", dtype))

        assert (found == vector("a", dtype)) is (dtype == U32)

    @pytest.mark.parametrize(("dtype", "steps"), [(U32, 2), (I32, 4), (F32, 6)], ids=str)
    def test_a_sign_asks_only_for_signs_that_there_are(self, dtype, steps):
        do = instructions()
        unary(do, UnaryOp.SIGN, vector("a", dtype))

        assert len(written(do)) == steps

    @pytest.mark.parametrize("op", [UnaryOp.EXP, UnaryOp.TANH], ids=lambda op: op.name)
    def test_a_function_has_a_definition_instead(self, op):
        do = instructions()

        assert unary(do, op, vector("a", F32)) is None
        assert unary(do, op, vector("a", I32)) is None
        assert binary(do, BinaryOp.HYPOT, vector("a", F32), vector("b", F32)) is None
        assert not written(do)


class TestFused:
    def test_a_processor_that_has_it_does_it(self):
        do = instructions(fma=True)
        fma(do, *(vector(name, F32) for name in "abc"))

        assert written(do) == [
            "call <4 x float> @llvm.fma.v4f32(<4 x float> %a, <4 x float> %b, <4 x float> %c)"
        ]

    def test_without_one_an_f32_goes_through_f64_and_calls_nothing(self):
        do = instructions(fma=False)
        found = fma(do, *(vector(name, F32) for name in "abc"))

        assert not [line for line in written(do) if "@llvm.fma" in line]
        assert written(do)[-1].startswith("fptrunc <4 x double>")
        assert found.dtype == F32

    def test_an_f64_always_asks_for_it(self):
        do = instructions(fma=False)
        fma(do, *(vector(name, F64) for name in "abc"))

        assert len(written(do)) == 1


class TestInverseRoots:
    def test_an_f32_is_corrected_by_fused_steps(self):
        do = instructions(fma=True)
        unary(do, UnaryOp.INVERSE_SQRT, vector("a", F32))

        assert sum("@llvm.fma.v4f32" in line for line in written(do)) == 5
        assert not [line for line in written(do) if "double" in line]

    def test_without_fused_steps_it_goes_through_f64(self):
        do = instructions(fma=False)
        unary(do, UnaryOp.INVERSE_SQRT, vector("a", F32))

        assert [line.split()[0] for line in written(do)] == ["fpext", "call", "fdiv", "fptrunc"]

    def test_an_f64_is_one_over_the_root(self):
        do = instructions()
        unary(do, UnaryOp.INVERSE_SQRT, vector("a", F64))

        assert [line.split()[0] for line in written(do)] == ["call", "fdiv"]


class TestCasts:
    @pytest.mark.parametrize(
        ("source", "target", "text"),
        [
            (BOOL, F32, "uitofp <4 x i1> %a to <4 x float>"),
            (BOOL, U32, "zext <4 x i1> %a to <4 x i32>"),
            (F32, BOOL, "fcmp une <4 x float> %a, splat (float 0x0000000000000000)"),
            (I32, BOOL, "icmp ne <4 x i32> %a, splat (i32 0)"),
            (I32, F64, "sitofp <4 x i32> %a to <4 x double>"),
            (U32, F32, "uitofp <4 x i32> %a to <4 x float>"),
            (F32, F64, "fpext <4 x float> %a to <4 x double>"),
            (F64, F32, "fptrunc <4 x double> %a to <4 x float>"),
            (I32, I64, "sext <4 x i32> %a to <4 x i64>"),
            (U64, U8, "trunc <4 x i64> %a to <4 x i8>"),
            (F32, I16, "call <4 x i16> @llvm.fptosi.sat.v4i16.v4f32(<4 x float> %a)"),
            (F64, U32, "call <4 x i32> @llvm.fptoui.sat.v4i32.v4f64(<4 x double> %a)"),
        ],
        ids=lambda value: str(value)[:6],
    )
    def test_a_conversion_is_one_instruction(self, source, target, text):
        do = instructions()
        found = cast(do, target, vector("a", source))

        assert written(do) == [text]
        assert found.dtype == target

    @pytest.mark.parametrize(
        ("source", "target"), [(BOOL, BOOL), (F32, F32), (U32, I32)], ids=["bool", "f32", "sign"]
    )
    def test_what_keeps_its_bits_needs_none(self, source, target):
        do = instructions()

        assert cast(do, target, vector("a", source)) == vector("a", target)
        assert not written(do)

    def test_a_constant_is_converted_beforehand(self):
        do = instructions()

        assert cast(do, U8, do.number(I32, -1)).registers == ("255",)
        assert not written(do)

    def test_to_a_half_it_is_rounded_and_stays_f32(self):
        do = instructions()

        assert cast(do, BF16, vector("a", F32)).dtype == F32
        assert written(do)[-1] == "bitcast <4 x i32> %t11 to <4 x float>"


def test_rows_have_a_register_each_and_share_what_they_have_in_common():
    do = instructions(rows=2)
    rows = Value(F32, Shape.VECTOR, ("%a", "%b"))
    found = binary(do, BinaryOp.ADD, rows, vector("c", F32))

    assert written(do) == ["fadd <4 x float> %a, %c", "fadd <4 x float> %b, %c"]
    assert len(found.registers) == 2


def test_an_operator_that_does_not_exist_for_whole_numbers_is_none():
    assert binary(instructions(), BinaryOp.SHUFFLE, vector("a", I32), vector("b", I32)) is None
