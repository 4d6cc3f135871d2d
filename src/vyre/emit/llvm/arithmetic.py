"""Operators of the language as LLVM's: the same bits on every processor.

No instruction carries a fast-math flag, so nothing is contracted or reassociated.
"""

from __future__ import annotations

from collections.abc import Mapping

from vyre.emit.llvm.builder import BOOL, F32, F64, U32, Builder, float_of, scalar_type
from vyre.emit.llvm.values import Shape, Value
from vyre.ir.expr import BinaryOp, UnaryOp, float_bits
from vyre.ir.types import DataType, int_range
from vyre.ir.typing import COMPARISONS, SHIFTS

_WHOLE: Mapping[BinaryOp, str] = {
    BinaryOp.ADD: "add",
    BinaryOp.WRAP_ADD: "add",
    BinaryOp.SUB: "sub",
    BinaryOp.WRAP_SUB: "sub",
    BinaryOp.MUL: "mul",
    BinaryOp.BIT_AND: "and",
    BinaryOp.BIT_OR: "or",
    BinaryOp.BIT_XOR: "xor",
    BinaryOp.AND: "and",
    BinaryOp.OR: "or",
}
_REAL: Mapping[BinaryOp, str] = {
    BinaryOp.ADD: "fadd",
    BinaryOp.SUB: "fsub",
    BinaryOp.MUL: "fmul",
    BinaryOp.DIV: "fdiv",
}
_COMPARED: Mapping[BinaryOp, tuple[str, str, str]] = {  # floats, signed, unsigned
    BinaryOp.EQ: ("oeq", "eq", "eq"),
    BinaryOp.NE: ("une", "ne", "ne"),
    BinaryOp.LT: ("olt", "slt", "ult"),
    BinaryOp.GT: ("ogt", "sgt", "ugt"),
    BinaryOp.LE: ("ole", "sle", "ule"),
    BinaryOp.GE: ("oge", "sge", "uge"),
}
_DIVISIONS = (BinaryOp.DIV, BinaryOp.MOD, BinaryOp.FLOOR_DIV, BinaryOp.FLOOR_MOD)
_SATURATED = {BinaryOp.SAT_ADD: "add", BinaryOp.SAT_SUB: "sub"}
_ROUNDED: Mapping[UnaryOp, str] = {
    UnaryOp.SQRT: "sqrt",
    UnaryOp.FLOOR: "floor",
    UnaryOp.CEIL: "ceil",
    UnaryOp.ROUND: "roundeven",
    UnaryOp.TRUNC: "trunc",
}


class Arithmetic:
    """Operators on values of one builder."""

    def __init__(self, builder: Builder) -> None:
        self.b = builder

    # -- small steps

    def plain(self, name: str, a: Value, b: Value, dtype: DataType | None = None) -> Value:
        """One instruction of two operands of one type."""
        shape, (x, y) = self.b.alike(a, b)
        kind = self.b.type(x.dtype, shape)
        return self.b.map(
            dtype or x.dtype, shape, lambda p, q: self.b.op(f"{name} {kind} {p}, {q}"), x, y
        )

    def compare(self, name: str, a: Value, b: Value) -> Value:
        return self.plain(f"{'fcmp' if a.dtype.is_float else 'icmp'} {name}", a, b, BOOL)

    def select(self, test: Value, yes: Value, no: Value) -> Value:
        """Lane by lane; one test for all chooses whole vectors."""
        b = self.b
        if test.shape is Shape.UNIFORM:
            shape, (x, y) = b.alike(yes, no)
            choose = "i1"
        else:
            shape, (test, x, y) = b.alike(test, yes, no)
            choose = b.type(BOOL, shape)
        kind = b.type(x.dtype, shape)
        return b.map(
            x.dtype,
            shape,
            lambda t, p, q: b.op(f"select {choose} {t}, {kind} {p}, {kind} {q}"),
            test,
            x,
            y,
        )

    def number(self, dtype: DataType, value: float) -> Value:
        if dtype.is_float:
            return self.b.literal(dtype, float_bits(dtype, value))
        return self.b.literal(dtype, int(value) & ((1 << dtype.bits) - 1))

    def intrinsic(self, name: str, *values: Value, extra: str = "") -> Value:
        """An overloaded function of LLVM on values of one type."""
        b = self.b
        shape, given = b.alike(*values)
        kind = b.type(given[0].dtype, shape)
        full = f"llvm.{name}.{b.suffix(scalar_type(given[0].dtype), shape)}"
        types = [kind] * len(given) + (["i1"] if extra else [])

        def make(*registers: str) -> str:
            return b.call(kind, full, types, [*registers, *([extra] if extra else [])])

        return b.map(given[0].dtype, shape, make, *given)

    def convert(self, name: str, value: Value, target: DataType) -> Value:
        """A conversion by one instruction."""
        b = self.b
        value = b.vectors(value) if value.shape is Shape.LINEAR else value
        source, kind = b.type(value.dtype, value.shape), b.type(target, value.shape)
        return b.map(target, value.shape, lambda r: b.op(f"{name} {source} {r} to {kind}"), value)

    # -- operators

    def binary(self, op: BinaryOp, a: Value, b: Value) -> Value | None:
        """`a op b`; None where it is a function that has a definition."""
        dtype = a.dtype
        if op in COMPARISONS:
            names = _COMPARED[op]
            place = 0 if dtype.is_float else 1 if dtype.is_signed else 2
            return self.compare(names[place], a, b)
        if dtype.is_float:
            return self._real(op, a, b)
        moved = self._moved(op, a, b)
        if moved is not None:
            return moved
        if op in _WHOLE:
            return self.plain(_WHOLE[op], a, b)
        if op in SHIFTS:
            return self._shift(op, a, b)
        if op in _DIVISIONS:
            return self._divide(op, a, b)
        return self._odd(op, a, b)

    def _moved(self, op: BinaryOp, a: Value, b: Value) -> Value | None:
        """Positions moved by one number for all lanes stay positions."""
        adds = op in (BinaryOp.ADD, BinaryOp.WRAP_ADD)
        takes = op in (BinaryOp.SUB, BinaryOp.WRAP_SUB)
        if not (adds or takes):
            return None
        shapes = a.shape, b.shape
        if shapes == (Shape.LINEAR, Shape.UNIFORM) or (
            adds and shapes == (Shape.UNIFORM, Shape.LINEAR)
        ):
            kind = scalar_type(a.dtype)
            text = f"{'add' if adds else 'sub'} {kind}"
            return self.b.map(
                a.dtype, Shape.LINEAR, lambda p, q: self.b.op(f"{text} {p}, {q}"), a, b
            )
        return None

    def _real(self, op: BinaryOp, a: Value, b: Value) -> Value | None:
        if op in _REAL:
            return self.plain(_REAL[op], a, b)
        match op:
            case BinaryOp.MIN | BinaryOp.MAX:
                return self.extreme(op, a, b)
            case BinaryOp.ABS_DIFF:
                return self.intrinsic("fabs", self.plain("fsub", a, b))
            case BinaryOp.COPYSIGN:
                return self.intrinsic("copysign", a, b)
            case _:
                return None

    def extreme(self, op: BinaryOp, a: Value, b: Value) -> Value:
        """The smaller or larger float: one NaN loses, and -0 is below +0."""
        first = self.compare("olt" if op is BinaryOp.MIN else "ogt", a, b)
        if _is_ordered(b):
            return self.select(first, a, b)
        if _is_ordered(a):
            second = self.compare("olt" if op is BinaryOp.MIN else "ogt", b, a)
            return self.select(second, b, a)
        first = self.plain("or", first, self.compare("uno", b, b))
        negative = self.negative(a if op is BinaryOp.MIN else b)
        tie = self.plain("and", self.compare("oeq", a, b), negative)
        return self.select(self.plain("or", first, tie), a, b)

    def negative(self, a: Value) -> Value:
        """Whether a float's sign is set."""
        whole = DataType.I32 if a.dtype == F32 else DataType.I64
        return self.compare("slt", self.bits(a, whole), self.number(whole, 0))

    def bits(self, a: Value, target: DataType) -> Value:
        """The same bits as another type."""
        if a.dtype == target:
            return a
        if a.dtype.is_int and target.is_int:
            return Value(target, a.shape, a.registers, a.is_constant, a.never_wraps)
        return self.convert("bitcast", a, target)

    def _shift(self, op: BinaryOp, a: Value, b: Value) -> Value:
        dtype = a.dtype
        masked = self.plain("and", b, self.number(b.dtype, dtype.bits - 1))
        count = self.whole(masked, dtype)
        match op:
            case BinaryOp.SHL:
                return self.plain("shl", a, count)
            case BinaryOp.SHR:
                return self.plain("ashr" if dtype.is_signed else "lshr", a, count)
            case _:
                return self.intrinsic("fshl" if op is BinaryOp.ROT_L else "fshr", a, a, count)

    def _divide(self, op: BinaryOp, a: Value, b: Value) -> Value:
        """Total division: 0 where `b` is 0, and the lowest number by -1 wraps."""
        dtype = a.dtype
        zero, one = self.number(dtype, 0), self.number(dtype, 1)
        of_zero = self.compare("eq", b, zero)
        safe = self.select(of_zero, one, b)
        quotient_wanted = op in (BinaryOp.DIV, BinaryOp.FLOOR_DIV)
        floors = op in (BinaryOp.FLOOR_DIV, BinaryOp.FLOOR_MOD) and dtype.is_signed
        if dtype.is_signed:
            by_minus = self.compare("eq", b, self.number(dtype, -1))
            safe = self.select(by_minus, one, safe)
        quotient = self.quotient(a, safe)
        rest = self.plain("sub", a, self.plain("mul", quotient, safe))
        if floors:
            apart = self.plain("xor", a, safe)
            signs = self.compare("slt", apart, zero)
            down = self.plain("and", signs, self.compare("ne", rest, zero))
            quotient = self.select(down, self.plain("sub", quotient, one), quotient)
            rest = self.select(down, self.plain("add", rest, safe), rest)
        found = quotient if quotient_wanted else rest
        if dtype.is_signed:
            wrapped = self.plain("sub", zero, a) if quotient_wanted else zero
            found = self.select(by_minus, wrapped, found)
        return self.select(of_zero, zero, found)

    def quotient(self, a: Value, b: Value) -> Value:
        """`a / b` toward 0, for a `b` that is neither 0 nor -1.

        Processors divide whole numbers one by one, floats by the vector. A quotient of numbers of
        32 bits that is no whole number is further from one than an f64 can round it.
        """
        dtype = a.dtype
        signed = dtype.is_signed
        by_lane = a.shape is Shape.UNIFORM and b.shape is Shape.UNIFORM
        wide = self.b.parts.features.vector_bytes >= 64
        if by_lane or b.is_constant or dtype.bits == 64 or not (signed or wide or dtype.bits < 32):
            return self.plain("sdiv" if signed else "udiv", a, b)
        real = F32 if dtype.bits < 32 else F64
        to_real, back = ("sitofp", "fptosi") if signed else ("uitofp", "fptoui")
        x, y = (self.convert(to_real, part, real) for part in (a, b))
        return self.convert(back, self.plain("fdiv", x, y), dtype)

    def _odd(self, op: BinaryOp, a: Value, b: Value) -> Value:
        dtype = a.dtype
        sign = "s" if dtype.is_signed else "u"
        match op:
            case BinaryOp.MIN | BinaryOp.MAX:
                return self.intrinsic(f"{sign}{op.name.lower()}", a, b)
            case BinaryOp.ABS_DIFF:
                more = self.compare("sgt" if dtype.is_signed else "ugt", a, b)
                return self.select(more, self.plain("sub", a, b), self.plain("sub", b, a))
            case BinaryOp.SAT_ADD | BinaryOp.SAT_SUB:
                return self.intrinsic(f"{sign}{_SATURATED[op]}.sat", a, b)
            case BinaryOp.SAT_MUL:
                return self._saturated_product(a, b)
            case BinaryOp.MUL_HIGH:
                return self.product_high(a, b)
            case _:
                raise AssertionError(f"no instruction for {op.name} of {dtype}")

    def product_high(self, a: Value, b: Value) -> Value:
        """The upper half of the exact product."""
        builder, bits = self.b, a.dtype.bits
        shape, (x, y) = builder.alike(a, b)
        extend = "sext" if a.dtype.is_signed else "zext"
        kind = builder.type(a.dtype, shape)
        wide = f"i{2 * bits}" if shape is Shape.UNIFORM else builder.vector(f"i{2 * bits}")
        by = str(bits) if shape is Shape.UNIFORM else f"splat (i{2 * bits} {bits})"

        def make(p: str, q: str) -> str:
            left, right = (builder.op(f"{extend} {kind} {r} to {wide}") for r in (p, q))
            product = builder.op(f"mul {wide} {left}, {right}")
            upper = builder.op(f"lshr {wide} {product}, {by}")
            return builder.op(f"trunc {wide} {upper} to {kind}")

        return builder.map(a.dtype, shape, make, x, y)

    def _saturated_product(self, a: Value, b: Value) -> Value:
        dtype = a.dtype
        low, high = (self.number(dtype, end) for end in int_range(dtype))
        product, upper = self.plain("mul", a, b), self.product_high(a, b)
        if dtype.is_unsigned:
            return self.select(self.compare("eq", upper, self.number(dtype, 0)), product, high)
        sign = self.plain("ashr", product, self.number(dtype, dtype.bits - 1))
        below = self.compare("slt", self.plain("xor", a, b), self.number(dtype, 0))
        end = self.select(below, low, high)
        return self.select(self.compare("eq", upper, sign), product, end)

    def unary(self, op: UnaryOp, a: Value) -> Value | None:
        """`op a`; None where it is a function that has a definition."""
        dtype = a.dtype
        match op:
            case UnaryOp.LOGICAL_NOT:
                return self.b.neither(a)
            case UnaryOp.BIT_NOT:
                return self.plain("xor", a, self.number(dtype, -1))
            case UnaryOp.NEGATE if dtype.is_int:
                return self.plain("sub", self.number(dtype, 0), a)
            case UnaryOp.NEGATE:
                kind = self.b.type(dtype, a.shape)
                return self.b.map(dtype, a.shape, lambda r: self.b.op(f"fneg {kind} {r}"), a)
            case UnaryOp.POPCOUNT:
                return self.intrinsic("ctpop", a)
            case UnaryOp.CLZ:
                return self.intrinsic("ctlz", a, extra="false")
            case UnaryOp.CTZ:
                return self.intrinsic("cttz", a, extra="false")
            case UnaryOp.REVERSE_BITS:
                return self.intrinsic("bitreverse", a)
            case UnaryOp.ABS if dtype.is_float:
                return self.intrinsic("fabs", a)
            case UnaryOp.ABS if dtype.is_signed:
                return self.intrinsic("abs", a, extra="false")
            case UnaryOp.ABS:
                return a
            case UnaryOp.SIGN:
                return self._sign(a)
            case _:
                return self._of_float(op, a)

    def _sign(self, a: Value) -> Value:
        zero = self.number(a.dtype, 0)
        if not a.dtype.is_float:
            up = self.compare("sgt" if a.dtype.is_signed else "ugt", a, zero)
            rest = zero
            if a.dtype.is_signed:
                down = self.compare("slt", a, zero)
                rest = self.select(down, self.number(a.dtype, -1), zero)
            return self.select(up, self.number(a.dtype, 1), rest)
        rest = self.select(self.compare("oeq", a, zero), zero, a)  # NaN stays
        rest = self.select(self.compare("olt", a, zero), self.number(a.dtype, -1.0), rest)
        return self.select(self.compare("ogt", a, zero), self.number(a.dtype, 1.0), rest)

    def _of_float(self, op: UnaryOp, a: Value) -> Value | None:
        if op in _ROUNDED:
            return self.intrinsic(_ROUNDED[op], a)
        match op:
            case UnaryOp.IS_NAN:
                return self.compare("uno", a, a)
            case UnaryOp.IS_INF:
                return self.compare("oeq", self.intrinsic("fabs", a), self._infinity(a))
            case UnaryOp.IS_FINITE:
                return self.compare("olt", self.intrinsic("fabs", a), self._infinity(a))
            case UnaryOp.RECIPROCAL:
                return self.plain("fdiv", self.number(a.dtype, 1.0), a)
            case UnaryOp.INVERSE_SQRT:
                root = self.intrinsic("sqrt", a)
                return self.plain("fdiv", self.number(a.dtype, 1.0), root)
            case _:
                return None

    def _infinity(self, a: Value) -> Value:
        return self.number(a.dtype, float("inf"))

    def fma(self, a: Value, b: Value, c: Value) -> Value:
        """`a * b + c` rounded once, also where the processor has no such instruction.

        LLVM calls the C library there, lane by lane; an f32 is quicker through f64, whose sum is
        rounded to odd so that narrowing it cannot round twice.
        """
        if self.b.parts.features.fma or a.dtype == F64:
            return self.intrinsic("fma", a, b, c)
        x, y, z = (self.convert("fpext", part, F64) for part in (a, b, c))
        product = self.plain("fmul", x, y)  # exact: 24 + 24 bits
        total = self.plain("fadd", product, z)
        shift = self.plain("fsub", total, product)
        lost = self.plain(
            "fadd",
            self.plain("fsub", product, self.plain("fsub", total, shift)),
            self.plain("fsub", z, shift),
        )
        whole = DataType.I64
        bits = self.bits(total, whole)
        even = self.compare(
            "eq", self.plain("and", bits, self.number(whole, 1)), self.number(whole, 0)
        )
        size = self.intrinsic("fabs", total)
        finite = self.compare("olt", size, self.number(F64, float("inf")))
        inexact = self.plain("and", finite, self.compare("one", lost, self.number(F64, 0.0)))
        # A step away from 0 is one up in the pattern, whatever the sign.
        apart = self.plain("xor", bits, self.bits(lost, whole))
        toward_zero = self.compare("slt", apart, self.number(whole, 0))
        step = self.select(toward_zero, self.number(whole, -1), self.number(whole, 1))
        odd = self.bits(self.plain("add", bits, step), F64)
        rounded = self.select(self.plain("and", inexact, even), odd, total)
        return self.convert("fptrunc", rounded, F32)

    # -- conversions

    def whole(self, value: Value, target: DataType) -> Value:
        """A whole number in another width; what is cut off is lost."""
        source = value.dtype
        if source.bits == target.bits:
            return self.bits(value, target)
        if value.is_constant:
            bits = int(value.registers[0]) & ((1 << target.bits) - 1)
            return self.b.literal(target, bits)
        longer = "sext" if source.is_signed else "zext"
        name = "trunc" if target.bits < source.bits else longer
        if value.shape is Shape.LINEAR and value.never_wraps and target.bits > source.bits:
            kind, to = scalar_type(source), scalar_type(target)
            moved = self.b.map(
                target, Shape.LINEAR, lambda r: self.b.op(f"{name} {kind} {r} to {to}"), value
            )
            return Value(target, Shape.LINEAR, moved.registers, never_wraps=True)
        return self.convert(name, value, target)

    def cast(self, target: DataType, value: Value) -> Value:
        """A value converted to `target`; to f16 or bf16 it is rounded and stays f32."""
        to, source = target.computed, value.dtype
        if target.is_bool:
            if source.is_bool:
                return value
            zero = self.number(source, 0)
            return self.compare("une" if source.is_float else "ne", value, zero)
        if source.is_bool:
            made = self.convert("uitofp" if to.is_float else "zext", value, to)
        elif source.is_int and to.is_int:
            made = self.whole(value, to)
        elif source.is_int:
            made = self.convert("sitofp" if source.is_signed else "uitofp", value, to)
        elif to.is_int:
            made = self._saturated(value, to)
        elif to.bits == source.bits:
            made = value
        else:
            made = self.convert("fpext" if to.bits > source.bits else "fptrunc", value, to)
        return self.widened(target, self.narrowed(target, made)) if target != to else made

    def _saturated(self, value: Value, target: DataType) -> Value:
        """A float made a whole number: toward zero, saturating, 0 for NaN."""
        b = self.b
        source, kind = b.type(value.dtype, value.shape), b.type(target, value.shape)
        from_, to = (b.suffix(scalar_type(dtype), value.shape) for dtype in (value.dtype, target))
        sign = "s" if target.is_signed else "u"
        name = f"llvm.fpto{sign}i.sat.{to}.{from_}"
        return b.map(target, value.shape, lambda r: b.call(kind, name, [source], [r]), value)

    def loaded(self, element: DataType, stored: Value) -> Value:
        """The value of what an element holds in memory."""
        if element.is_bool:
            return self.compare("ne", stored, self.number(U32, 0))
        return self.widened(element, stored) if element != element.computed else stored

    def stored(self, element: DataType, value: Value) -> Value:
        """What an element holds in memory for a value."""
        if element.is_bool:
            return self.convert("zext", value, U32)
        return self.narrowed(element, value) if element != element.computed else value

    def widened(self, element: DataType, pattern: Value) -> Value:
        """The f32 of a stored f16 or bf16."""
        if element == DataType.BF16:
            wide = self.whole(pattern, U32)
            return self.bits(self.plain("shl", wide, self.number(U32, 16)), F32)
        if self.b.parts.features.half:
            return self._through_half(pattern, "half", "float", F32)
        h = self.whole(pattern, U32)
        sign = self.plain(
            "shl", self.plain("and", h, self.number(U32, 0x8000)), self.number(U32, 16)
        )
        size = self.plain("and", h, self.number(U32, 0x7FFF))
        fraction = self.plain("shl", size, self.number(U32, 13))
        usual = self.plain("add", fraction, self.number(U32, 112 << 23))
        special = self.plain("or", fraction, self.number(U32, 0x7F80_0000))
        tiny = self.plain("fmul", self.convert("uitofp", size, F32), self.number(F32, 2.0**-24))
        found = self.select(self.compare("uge", size, self.number(U32, 0x7C00)), special, usual)
        is_tiny = self.compare("ult", size, self.number(U32, 0x0400))
        found = self.select(is_tiny, self.bits(tiny, U32), found)
        return self.bits(self.plain("or", sign, found), F32)

    def narrowed(self, element: DataType, value: Value) -> Value:
        """The stored f16 or bf16 nearest to an f32, ties to even."""
        bits = self.bits(value, U32)
        number = self.number
        if element == DataType.BF16:
            last = self.plain("and", self.plain("lshr", bits, number(U32, 16)), number(U32, 1))
            up = self.plain("add", self.plain("add", bits, number(U32, 0x7FFF)), last)
            nearest = self.plain("lshr", up, number(U32, 16))
            is_nan = self.compare("uno", value, value)
            return self.whole(self.select(is_nan, number(U32, 0x7FC0), nearest), DataType.U16)
        if self.b.parts.features.half:
            return self._through_half(value, "float", "half", DataType.U16)
        sign = self.plain("and", self.plain("lshr", bits, number(U32, 16)), number(U32, 0x8000))
        x = self.plain("and", bits, number(U32, 0x7FFF_FFFF))
        scaled = self.plain("fmul", self.bits(x, F32), number(F32, 2.0**24))
        tiny = self._saturated(self.intrinsic("roundeven", scaled), U32)
        y = self.plain("sub", x, number(U32, 0x3800_0000))
        last = self.plain("and", self.plain("lshr", y, number(U32, 13)), number(U32, 1))
        up = self.plain("add", self.plain("add", y, number(U32, 0xFFF)), last)
        found = self.plain("lshr", up, number(U32, 13))
        found = self.select(self.compare("ult", x, number(U32, 0x3880_0000)), tiny, found)
        found = self.select(
            self.compare("uge", x, number(U32, 0x477F_F000)), number(U32, 0x7C00), found
        )
        found = self.select(
            self.compare("ugt", x, number(U32, 0x7F80_0000)), number(U32, 0x7E00), found
        )
        return self.whole(self.plain("or", sign, found), DataType.U16)

    def _through_half(self, value: Value, source: str, target: str, dtype: DataType) -> Value:
        b = self.b
        vector = value.shape is Shape.VECTOR
        first, last = (b.vector(kind) if vector else kind for kind in (source, target))
        short = b.vector("i16") if vector else "i16"

        def make(register: str) -> str:
            if source == "half":
                half = b.op(f"bitcast {short} {register} to {first}")
                return b.op(f"fpext {first} {half} to {last}")
            half = b.op(f"fptrunc {first} {register} to {last}")
            return b.op(f"bitcast {last} {half} to {short}")

        return b.map(dtype, value.shape, make, value)


def _is_ordered(value: Value) -> bool:
    """Whether a comparison alone says which is smaller: neither a zero nor NaN."""
    return value.is_constant and abs(float_of(value.registers[0])) > 0
