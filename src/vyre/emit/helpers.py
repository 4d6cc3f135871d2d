"""Small functions that give C the exact meaning of our operations; a source holds those it uses."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from blake3 import blake3

from vyre.emit.dialect import Dialect
from vyre.ir.expr import Array, AtomicOp, BinaryOp, Lit, UnaryOp, float_bits
from vyre.ir.types import DataType, int_range

F32, F64, U32 = DataType.F32, DataType.F64, DataType.U32


def literal(dialect: Dialect, dtype: DataType, value: float) -> str:
    """A finite number as a C constant of exactly that type."""
    if dtype.is_float:
        return _shortest(float(value)) + "f" if dtype == F32 else repr(float(value))
    number = int(value)
    low, _ = int_range(dtype)
    if dtype.is_signed and number == low and dtype.bits >= 32:
        return f"({literal(dialect, dtype, number + 1)} - 1)"
    suffix = ("u" if dtype.is_unsigned else "") + (dialect.wide_suffix if dtype.bits == 64 else "")
    if dtype.bits < 32:
        return f"({dtype}){number}"
    return f"{number}{suffix}" if number >= 0 else f"({number}{suffix})"


def _shortest(value: float) -> str:
    """The shortest decimal that reads back as the same f32."""
    bits = float_bits(F32, value)
    text = next(
        text
        for digits in range(1, 10)
        if float_bits(F32, float(text := f"{value:.{digits}g}")) == bits
    )
    return text if "." in text or "e" in text else f"{text}.0"


def unsigned(dtype: DataType) -> DataType:
    """The unsigned type of the same width, where arithmetic wraps without undefined behaviour."""
    return {8: DataType.U8, 16: DataType.U16, 32: DataType.U32, 64: DataType.U64}[dtype.bits]


class Helpers:
    """The helper functions one source needs, each written once, in the order of need."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.texts: dict[str, str] = {}

    def define(self, name: str, result: str, parameters: str, *lines: str) -> str:
        """Add a function unless it is there, and give its name."""
        if name not in self.texts:
            if len(lines) == 1:
                body = f"{{ {lines[0]} }}"
            else:
                body = "{\n" + "".join(f"    {line}\n" for line in lines) + "}"
            self.texts[name] = f"{self.dialect.function} {result} {name}({parameters}) {body}\n"
        return name

    def lit(self, dtype: DataType, value: float) -> str:
        return literal(self.dialect, dtype, value)

    # -- arrays

    def table(self, array: Array) -> tuple[str, DataType]:
        """Constants beside the kernel, once for all that look them up: their name and their type.

        Bools are bytes, and where one is infinite or no number, floats are their bits: no dialect
        has a constant expression for those.
        """
        t, size = array.dtype, array.element_bytes
        bits = [
            int.from_bytes(array.data[start : start + size], "little")
            for start in range(0, len(array.data), size)
        ]
        numbers = [Lit(t, pattern).value for pattern in bits] or [0]
        if t.is_bool or not all(map(isfinite, numbers)):
            t = DataType.U8 if t.is_bool else unsigned(t)
            numbers = [*bits]
        digest = blake3(f"{t}{array.count}".encode() + array.data).hexdigest(8)
        name = f"table_{digest}"
        if name not in self.texts:
            texts = [self.lit(t, number) for number in numbers]
            lines = [", ".join(texts[start : start + 8]) for start in range(0, len(texts), 8)]
            listed = "".join(f"    {line},\n" for line in lines)
            declared = f"{self.dialect.constants} {t} {name}[{array.count}]"
            self.texts[name] = f"{declared} = {{\n{listed}}};\n"
        return name, t

    def element(
        self, t: DataType, shape: tuple[int, ...], wide: Sequence[bool], *, constant: bool
    ) -> str:
        """The function that reads an element of an array; 0 where an index is outside."""
        stored = "bool" if t.is_bool else str(t)
        kinds = "".join("w" if is_wide else "n" for is_wide in wide)
        name = (
            f"{'look_up' if constant else 'element'}_{stored}_{'x'.join(map(str, shape))}_{kinds}"
        )
        space = self.dialect.constant_pointer if constant else "const {type}*"
        places = [f"{'u64' if is_wide else 'u32'} at{n}" for n, is_wide in enumerate(wide)]
        flat = "at0"
        for axis in range(1, len(shape)):
            flat = f"({flat}) * {shape[axis]}u + at{axis}"
        inside = " && ".join(f"at{axis} < {extent}u" for axis, extent in enumerate(shape))
        return self.define(
            name,
            stored,
            ", ".join([f"{space.format(type=stored)} p", *places]),
            f"return {inside} ? p[{flat}] : 0;",
        )

    # -- lanes

    def exchange(self, t: DataType) -> str:
        """The function by which a lane gets what another one of its workgroup has."""
        local = self.dialect.local_pointer.format(const="", type=t)
        return self.define(
            f"from_lane_{t}",
            str(t),
            f"{local} memory, u32 lane, {t} mine, u32 away",
            "memory[lane] = mine;",
            self.dialect.barrier,
            f"const {t} found = memory[lane ^ away];",
            self.dialect.barrier,
            "return found;",
        )

    def arrive(self) -> str:
        """The function by which a workgroup learns whether it comes last of several."""
        return self.define(
            "arrive",
            "bool",
            f"{self.dialect.pointer.format(const='', type='u32')} counter, u32 lane, u32 shares",
            *self.dialect.arrive,
        )

    # -- arithmetic

    def binary(self, op: BinaryOp, t: DataType) -> str:
        """The function for `op` on two values of `t`."""
        name = f"{op.name.lower()}_{t}"
        two = f"{t} a, {t} b"
        if t.is_float:
            return self._float_binary(op, t, name, two)
        u, low, high = unsigned(t), *(self.lit(t, end) for end in int_range(t))
        match op:
            case BinaryOp.MIN:
                return self.define(name, str(t), two, "return a < b ? a : b;")
            case BinaryOp.MAX:
                return self.define(name, str(t), two, "return a > b ? a : b;")
            case BinaryOp.ABS_DIFF:
                return self.define(
                    name,
                    str(t),
                    two,
                    f"return a > b ? ({t})(({u})a - ({u})b) : ({t})(({u})b - ({u})a);",
                )
            case BinaryOp.DIV | BinaryOp.MOD | BinaryOp.FLOOR_DIV | BinaryOp.FLOOR_MOD:
                return self._divide(op, t, name, two)
            case BinaryOp.SAT_ADD | BinaryOp.SAT_SUB | BinaryOp.SAT_MUL:
                return self._saturate(op, t, name, two, low, high)
            case BinaryOp.MUL_HIGH:
                if t.bits == 64:
                    return self.dialect.mul_high[t]
                wide = "u64" if t.is_unsigned else "i64"
                return self.define(
                    name, str(t), two, f"return ({t})((({wide})a * ({wide})b) >> {t.bits});"
                )
            case BinaryOp.ROT_L | BinaryOp.ROT_R:
                left, right = ("<<", ">>") if op is BinaryOp.ROT_L else (">>", "<<")
                mask = t.bits - 1
                return self.define(
                    name,
                    str(t),
                    f"{t} a, u32 by",
                    f"const u32 k = by & {mask}u;",
                    f"const u32 back = ({t.bits}u - k) & {mask}u;",
                    f"return ({t})({u})((({u})a {left} k) | (({u})a {right} back));",
                )
            case _:
                raise AssertionError(f"no helper for {op.name} of {t}")

    def _divide(self, op: BinaryOp, t: DataType, name: str, two: str) -> str:
        zero = self.lit(t, 0)
        sign = "/" if op in (BinaryOp.DIV, BinaryOp.FLOOR_DIV) else "%"
        if t.is_unsigned:
            return self.define(
                name, str(t), two, f"return b == {zero} ? {zero} : ({t})(a {sign} b);"
            )
        if sign == "/":
            edge = f"if (b == -1) return ({t})(0 - ({unsigned(t)})a);"
            fix = f"return ({t})(a / b - (a % b != 0 && (a < 0) != (b < 0)));"
        else:
            edge = f"if (b == -1) return {zero};"
            fix = f"return ({t})(a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : {zero}));"
        last = (
            fix if op in (BinaryOp.FLOOR_DIV, BinaryOp.FLOOR_MOD) else f"return ({t})(a {sign} b);"
        )
        return self.define(name, str(t), two, f"if (b == {zero}) return {zero};", edge, last)

    def _saturate(self, op: BinaryOp, t: DataType, name: str, two: str, low: str, high: str) -> str:
        sign = {BinaryOp.SAT_ADD: "+", BinaryOp.SAT_SUB: "-", BinaryOp.SAT_MUL: "*"}[op]
        if t.bits < 64:
            wide = "u64" if t.is_unsigned and op is not BinaryOp.SAT_SUB else "i64"
            under = "" if wide == "u64" else f"r < ({wide}){low} ? {low} : "
            return self.define(
                name,
                str(t),
                two,
                f"const {wide} r = ({wide})a {sign} ({wide})b;",
                f"return {under}r > ({wide}){high} ? {high} : ({t})r;",
            )
        if t.is_unsigned:
            lines = {
                BinaryOp.SAT_ADD: f"return a + b < a ? {high} : a + b;",
                BinaryOp.SAT_SUB: f"return a < b ? {low} : a - b;",
                BinaryOp.SAT_MUL: f"return {self.dialect.mul_high[t]}(a, b) ? {high} : a * b;",
            }
            return self.define(name, str(t), two, lines[op])
        test = {
            BinaryOp.SAT_ADD: "((a ^ r) & (b ^ r)) < 0",
            BinaryOp.SAT_SUB: "((a ^ b) & (a ^ r)) < 0",
            BinaryOp.SAT_MUL: f"{self.dialect.mul_high[t]}(a, b) != (r >> 63)",
        }[op]
        below = "a < 0" if op is not BinaryOp.SAT_MUL else "(a < 0) != (b < 0)"
        return self.define(
            name,
            str(t),
            two,
            f"const i64 r = (i64)((u64)a {sign} (u64)b);",
            f"return {test} ? ({below} ? {low} : {high}) : r;",
        )

    def _float_binary(self, op: BinaryOp, t: DataType, name: str, two: str) -> str:
        functions = self.functions(t)
        match op:
            case BinaryOp.MIN | BinaryOp.MAX:
                # Without branches: loops through memory wait for one load after the other else.
                less, either = ("<", "|") if op is BinaryOp.MIN else (">", "&")
                bits = self.dialect.float_to_bits[t]
                zero = f"{self.dialect.bits_to_float[t]}({bits}(a) {either} {bits}(b))"
                return self.define(
                    name,
                    str(t),
                    two,
                    f"const {t} one = (a {less} b) | (b != b) ? a : b;",
                    f"return a == b ? {zero} : one;",
                )
            case BinaryOp.ABS_DIFF:
                return self.define(name, str(t), two, f"return {functions[UnaryOp.ABS]}(a - b);")
            case BinaryOp.FLOOR_MOD:
                return self.define(
                    name,
                    str(t),
                    two,
                    f"{t} m = {functions[BinaryOp.MOD]}(a, b);",
                    "if (b == 0) return m;",
                    f"if (m == 0) return {self.zero_signed(t, 'b')};",
                    "return (b < 0) != (m < 0) ? m + b : m;",
                )
            case BinaryOp.FLOOR_DIV:
                whole = self.unary(UnaryOp.FLOOR, t)
                return self.define(
                    name,
                    str(t),
                    two,
                    "if (b == 0) return a / b;",
                    f"const {t} m = {functions[BinaryOp.MOD]}(a, b);",
                    f"{t} q = (a - m) / b;",
                    f"if (m != 0 && (b < 0) != (m < 0)) q -= {self.lit(t, 1.0)};",
                    f"if (q == 0) return {self.zero_signed(t, 'a / b')};",
                    f"const {t} f = {whole}(q);",
                    f"return q - f > {self.lit(t, 0.5)} ? f + {self.lit(t, 1.0)} : f;",
                )
            case _:
                return functions[op]

    def extreme(self, op: BinaryOp) -> str:
        """The function for the larger or the smaller of two f32, by an instruction if there is one.

        Compilers write fewer rounds out of a loop of those: one that loads is slower by it.
        """
        if op not in self.dialect.extremes:
            return self.binary(op, F32)
        return self.instruction(f"{op.name.lower()}_at_once_f32", op, self.dialect.extremes[op])

    def instruction(self, name: str, op: UnaryOp | BinaryOp, instruction: str) -> str:
        """One instruction on f32 in the assembler of the device, which no compiler rewrites."""
        if isinstance(op, UnaryOp):
            given, places, parameters = '"f"(a)', "%0, %1", "f32 a"
        else:
            given, places, parameters = '"f"(a), "f"(b)', "%0, %1, %2", "f32 a, f32 b"
        return self.define(
            name,
            "f32",
            parameters,
            "f32 r;",
            f'asm("{instruction} {places};" : "=f"(r) : {given});',
            "return r;",
        )

    def hide(self, t: DataType) -> str:
        """A number as it is, but nothing to a compiler: it cannot know that `zero` is 0."""
        text = f"return ({t})(a ^ zero);"
        if t.is_float:
            bits, back = self.dialect.float_to_bits[t], self.dialect.bits_to_float[t]
            text = f"return {back}({bits}(a) ^ zero);"
        return self.define(f"hide_{t}", str(t), f"{t} a, u32 zero", text)

    def functions(self, t: DataType) -> dict[UnaryOp | BinaryOp, str]:
        return dict(self.dialect.float_functions if t == F32 else self.dialect.double_functions)

    def is_negative(self, t: DataType, value: str) -> str:
        return f"{self.dialect.float_to_bits[t]}({value}) >> {t.bits - 1} & 1"

    def zero_signed(self, t: DataType, like: str) -> str:
        """A zero with the sign of `like`."""
        return f"({self.is_negative(t, like)} ? {self.lit(t, -0.0)} : {self.lit(t, 0.0)})"

    def unary(self, op: UnaryOp, t: DataType) -> str:
        """The function for `op` on one value of `t`."""
        name, one = f"{op.name.lower()}_{t}", f"{t} a"
        match op:
            case UnaryOp.SIGN if t.is_float:
                plus, minus, zero = (self.lit(t, value) for value in (1.0, -1.0, 0.0))
                text = f"return a > 0 ? {plus} : a < 0 ? {minus} : a == 0 ? {zero} : a;"
                return self.define(name, str(t), one, text)
            case UnaryOp.SIGN:
                return self.define(name, str(t), one, f"return ({t})((a > 0) - (a < 0));")
            case UnaryOp.ABS if t.is_signed:
                return self.define(
                    name, str(t), one, f"return a < 0 ? ({t})(0 - ({unsigned(t)})a) : a;"
                )
            case UnaryOp.RECIPROCAL:
                return self.define(name, str(t), one, f"return {self.lit(t, 1.0)} / a;")
            case UnaryOp.INVERSE_SQRT if t == F32:
                return self._inverse_sqrt(name, one)
            case UnaryOp.INVERSE_SQRT:
                root = self.functions(t)[UnaryOp.SQRT]
                return self.define(name, str(t), one, f"return {self.lit(t, 1.0)} / {root}(a);")
            case UnaryOp.IS_NAN:
                return self.define(name, "bool", one, "return a != a;")
            case UnaryOp.IS_INF:
                size = self.functions(t)[UnaryOp.ABS]
                return self.define(name, "bool", one, f"return {size}(a) == {self.infinity(t)};")
            case UnaryOp.IS_FINITE:
                return self.define(name, "bool", one, "return a - a == 0;")
            case UnaryOp.POPCOUNT | UnaryOp.CLZ | UnaryOp.CTZ | UnaryOp.REVERSE_BITS:
                return self._bits(op, t, name, one)
            case _:
                return self.functions(t)[op]

    def _inverse_sqrt(self, name: str, one: str) -> str:
        """`1 / sqrt(a)` of f32 rounded once, which scripts/check_rsqrt.py proves.

        The last step takes what is 1 unit away to the nearest, an instruction's estimate takes one
        step of Newton's before it. Of 0, infinity and NaN the start is right, and the rest is NaN.
        """
        fma, functions = self.dialect.fma[F32], self.functions(F32)
        y, start = "y", f"1.0f / {functions[UnaryOp.SQRT]}(a)"
        step = []
        if self.dialect.inverse_sqrt:
            y, start = "s", f"{self.dialect.inverse_sqrt}(a)"
            step = [f"const f32 y = {fma}(s * 0.5f, {fma}(-(a * s), s, 1.0f), s);"]
        return self.define(
            name,
            "f32",
            one,
            f"const f32 {y} = {start};",
            *step,
            f"const f32 p = a * y, q = {fma}(a, y, -p);",
            f"const f32 r = {fma}(-q, y, {fma}(-p, y, 1.0f));",
            f"const f32 z = {fma}(y * r, {fma}(0.375f, r, 0.5f), y);",
            f"return {functions[UnaryOp.ABS]}(r) < 1.0f ? z : {y};",
        )

    def _bits(self, op: UnaryOp, t: DataType, name: str, one: str) -> str:
        width = 64 if t.bits == 64 else 32
        w = f"u{width}"
        value = f"({w})({unsigned(t)})a"
        match op:
            case UnaryOp.POPCOUNT:
                text = f"return ({t}){self.dialect.popcount[width]}({value});"
            case UnaryOp.CLZ:
                text = f"return ({t})({self.dialect.clz[width]}({value}) - {width - t.bits});"
            case UnaryOp.CTZ:
                count = self.dialect.popcount[width]
                return self.define(
                    name,
                    str(t),
                    one,
                    f"const {w} v = {value};",
                    f"return v == 0 ? ({t}){t.bits} : ({t}){count}(~v & (v - 1));",
                )
            case _:
                return self.define(
                    name,
                    str(t),
                    one,
                    f"{w} v = {value}, r = 0;",
                    f"for (u32 k = 0; k < {t.bits}u; ++k) {{",
                    "    r = r << 1 | (v & 1);",
                    "    v >>= 1;",
                    "}",
                    f"return ({t})r;",
                )
        return self.define(name, str(t), one, text)

    def infinity(self, t: DataType) -> str:
        pattern = "0x7f800000u" if t == F32 else f"0x7ff0000000000000u{self.dialect.wide_suffix}"
        return f"{self.dialect.bits_to_float[t]}({pattern})"

    # -- conversions

    def to_int(self, t: DataType, source: DataType) -> str:
        """A float made a whole number: toward zero, saturating, 0 for NaN."""
        low, high = int_range(t)
        return self.define(
            f"{t}_from_{source}",
            str(t),
            f"{source} a",
            f"if (a != a) return {self.lit(t, 0)};",
            f"if (a <= {self.lit(source, float(low))}) return {self.lit(t, low)};",
            f"if (a >= {self.lit(source, float(high + 1))}) return {self.lit(t, high)};",
            f"return ({t})a;",
        )

    def widen(self, t: DataType) -> str:
        """The f32 of a stored f16 or bf16."""
        as_float = self.dialect.bits_to_float[F32]
        if t == DataType.BF16:
            return self.define("f32_from_bf16", "f32", "u16 h", f"return {as_float}((u32)h << 16);")
        as_bits = self.dialect.float_to_bits[F32]
        return self.define(
            "f32_from_f16",
            "f32",
            "u16 h",
            "const u32 sign = (u32)(h & 0x8000u) << 16, e = h >> 10 & 31u, m = h & 1023u;",
            f"if (e == 31u) return {as_float}(sign | 0x7f800000u | m << 13);",
            f"if (e == 0u) return {as_float}(sign | {as_bits}((f32)m * 5.9604644775390625e-8f));",
            f"return {as_float}(sign | (e + 112u) << 23 | m << 13);",
        )

    def narrow(self, t: DataType) -> str:
        """The stored f16 or bf16 nearest to an f32, ties to even."""
        as_float, as_bits = self.dialect.bits_to_float[F32], self.dialect.float_to_bits[F32]
        if t == DataType.BF16:
            return self.define(
                "bf16_from_f32",
                "u16",
                "f32 a",
                "if (a != a) return 0x7fc0u;",
                f"const u32 x = {as_bits}(a);",
                "return (u16)((x + 0x7fffu + (x >> 16 & 1u)) >> 16);",
            )
        nearest = self.functions(F32)[UnaryOp.ROUND]
        return self.define(
            "f16_from_f32",
            "u16",
            "f32 a",
            f"const u32 bits = {as_bits}(a), sign = bits >> 16 & 0x8000u, x = bits & 0x7fffffffu;",
            "if (x > 0x7f800000u) return (u16)(sign | 0x7e00u);",
            "if (x >= 0x477ff000u) return (u16)(sign | 0x7c00u);",
            f"const f32 scaled = {as_float}(x) * 16777216.0f;",
            f"if (x < 0x38800000u) return (u16)(sign | (u32){nearest}(scaled));",
            "const u32 y = x - 0x38000000u;",
            "return (u16)(sign | (y + 0xfffu + (y >> 13 & 1u)) >> 13);",
        )

    # -- memory

    def load(self, stored: str, *, local: bool, wide: bool) -> str:
        """A checked load of a stored type: 0 outside. `wide` takes a 64-bit index."""
        pointer = self._pointer(stored, local=local, const=True)
        index = "u64" if wide else "u32"
        name = f"load{'_local' if local else ''}{'_wide' if wide else ''}_{stored}"
        return self.define(
            name, stored, f"{pointer} p, {index} i, u32 n", "return i < n ? p[i] : 0;"
        )

    def _pointer(self, stored: str, *, local: bool, const: bool) -> str:
        form = self.dialect.local_pointer if local else self.dialect.pointer
        return form.format(const="const " if const else "", type=stored)

    def flat(self, rank: int, *, wide: bool) -> str:
        """The row-major position of `rank` indices, each axis checked."""
        t = "u64" if wide else "u32"
        names = "ijkl"[:rank]
        parameters = ", ".join(
            [*(f"{t} {name}" for name in names), *(f"u32 d{a}" for a in range(rank))]
        )
        inside = " && ".join(f"{name} < d{axis}" for axis, name in enumerate(names))
        position = names[0]
        for axis in range(1, rank):
            position = f"{position if axis == 1 else f'({position})'} * d{axis} + {names[axis]}"
        return self.define(
            f"flat{rank}{'_wide' if wide else ''}",
            "u32",
            parameters,
            f"return {inside} ? (u32)({position}) : 0xffffffffu;",
        )

    def atomic(self, op: AtomicOp, t: DataType, *, local: bool) -> str:
        """A checked read-modify-write that gives what stood there before, 0 outside."""
        where = "_local" if local else ""
        name = f"atomic_{op.name.lower()}{where}_{t}"
        pointer = self._pointer(str(t), local=local, const=False)
        compare = op in (AtomicOp.COMPARE_EXCHANGE, AtomicOp.COMPARE_EXCHANGE_WEAK)
        parameters = f"{pointer} p, u64 i, u32 n, {f'{t} expected, ' if compare else ''}{t} v"
        outside = f"if (i >= n) return {self.lit(t, 0.0 if t.is_float else 0)};"
        direct = self.dialect.atomics.get((op, t.bits))
        if direct and t.is_int:
            return self.define(name, str(t), parameters, outside, f"return {direct}(p + i, v);")
        bits = unsigned(t)
        swap = self.dialect.compare_exchange[t.bits]
        cell = self._pointer(str(bits), local=local, const=False)
        if compare:
            return self.define(
                name,
                str(t),
                parameters,
                outside,
                f"return ({t}){swap}(({cell})(p + i), ({bits})expected, ({bits})v);",
            )
        unpack = f"{self.dialect.bits_to_float[t]}(seen)" if t.is_float else f"({t})seen"
        result = self._combined(op, t, unpack)
        packed = (
            f"({bits}){self.dialect.float_to_bits[t]}({result})"
            if t.is_float
            else f"({bits})({result})"
        )
        back = f"{self.dialect.bits_to_float[t]}(old)" if t.is_float else f"({t})old"
        return self.define(
            name,
            str(t),
            parameters,
            outside,
            f"{cell} q = ({cell})(p + i);",
            f"{bits} old = *q, seen;",
            "do {",
            "    seen = old;",
            f"    old = {swap}(q, seen, {packed});",
            "} while (old != seen);",
            f"return {back};",
        )

    def _combined(self, op: AtomicOp, t: DataType, seen: str) -> str:
        match op:
            case AtomicOp.ADD if t.is_float:
                return f"{seen} + v"
            case AtomicOp.ADD:
                u = unsigned(t)
                return f"({u}){seen} + ({u})v"
            case AtomicOp.OR:
                return f"{seen} | v"
            case AtomicOp.AND:
                return f"{seen} & v"
            case AtomicOp.XOR:
                return f"{seen} ^ v"
            case AtomicOp.FETCH_NAND:
                return f"~({seen} & v)"
            case AtomicOp.EXCHANGE:
                return "v"
            case AtomicOp.MIN:
                return f"{self.binary(BinaryOp.MIN, t)}({seen}, v)"
            case AtomicOp.MAX:
                return f"{self.binary(BinaryOp.MAX, t)}({seen}, v)"
            case _:
                raise AssertionError(f"no helper for atomic {op.name}")
