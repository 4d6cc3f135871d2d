"""Operations as C: on operands whose text and type are there, with the bits that the IR states."""

from __future__ import annotations

import math

from vyre.emit.approximate import approximate, normal
from vyre.emit.helpers import F32, U32, literal, unsigned
from vyre.emit.terms import Terms
from vyre.ir.declare import BufferDecl
from vyre.ir.expr import BinaryOp, Expr, Lit, UnaryOp
from vyre.ir.types import DataType
from vyre.ir.typing import COMPARISONS, SHIFTS

_PLAIN = {BinaryOp.ADD: "+", BinaryOp.SUB: "-", BinaryOp.MUL: "*"} | {
    BinaryOp.WRAP_ADD: "+",
    BinaryOp.WRAP_SUB: "-",
}
_COMPARE = {
    BinaryOp.EQ: "==",
    BinaryOp.NE: "!=",
    BinaryOp.LT: "<",
    BinaryOp.GT: ">",
    BinaryOp.LE: "<=",
    BinaryOp.GE: ">=",
}
_BITS = {BinaryOp.BIT_AND: "&", BinaryOp.BIT_OR: "|", BinaryOp.BIT_XOR: "^"} | {
    BinaryOp.AND: "&",
    BinaryOp.OR: "|",
}

Operand = tuple[str, DataType]
"""C text that can stand as an operand, and its type."""


class Operations:
    """Writes operations in the terms of one kernel."""

    def __init__(self, terms: Terms) -> None:
        self.terms, self.dialect, self.helpers = terms, terms.dialect, terms.helpers
        self.is_fast = terms.program.options.fast_math and bool(terms.dialect.approximate)

    def lit(self, expr: Lit) -> str:
        dtype, value = expr.dtype.computed, expr.value
        if dtype.is_bool:
            return "true" if value else "false"
        if dtype.is_float and math.isnan(value):
            quiet = (
                "0x7fc00000u" if dtype == F32 else f"0x7ff8000000000000u{self.dialect.wide_suffix}"
            )
            return f"{self.dialect.bits_to_float[dtype]}({quiet})"
        if dtype.is_float and math.isinf(value):
            size = self.helpers.infinity(dtype)
            return size if value > 0 else f"(-{size})"
        text = literal(self.dialect, dtype, value)
        return f"({text})" if text.startswith("-") else text

    def from_bits(self, stored: DataType, dtype: DataType, text: str) -> str:
        """A constant by what a table holds of it."""
        if stored == dtype:
            return text
        return f"({text} != 0)" if dtype.is_bool else f"{self.dialect.bits_to_float[dtype]}({text})"

    def binary(self, op: BinaryOp, left: Operand, right: Operand, *, unknown: bool) -> Operand:
        """`op` of two operands, of which no compiler can know one where they are `unknown`."""
        (a, t), (b, _) = left, right
        if op in COMPARISONS:
            return f"({a} {_COMPARE[op]} {b})", DataType.BOOL
        if t.is_bool:
            return (f"({a} != {b})" if op is BinaryOp.BIT_XOR else f"({a} {_BITS[op]} {b})"), t
        if op in _BITS:
            return (f"({a} {_BITS[op]} {b})" if t.bits >= 32 else f"({t})({a} {_BITS[op]} {b})"), t
        if op in (BinaryOp.SHL, BinaryOp.SHR):
            return self.shift(op, a, t, b), t
        if op in _PLAIN and (t.is_float or t in (U32, DataType.U64)):
            return f"({a} {_PLAIN[op]} {b})", t
        if op in _PLAIN:
            u = U32 if t.bits < 32 else unsigned(t)
            self.terms.types.add(u)
            return f"({t})(({u}){a} {_PLAIN[op]} ({u}){b})", t
        if (rough := self.approximate(op, t)) is not None:
            return f"{rough}({self.opaque(a, t, unknown)}, {self.opaque(b, t, unknown)})", t
        if op is BinaryOp.DIV and t.is_float:
            return f"({a} / {b})", t
        if t.is_int and t.bits < 64:
            self.terms.types |= {DataType.U64, DataType.I64}
        by_other = op in SHIFTS and right[1] != U32
        second = f"(u32){b}" if by_other else self.hidden(op, b, t, unknown)
        return f"{self.helpers.binary(op, t)}({self.hidden(op, a, t, unknown)}, {second})", t

    def shift(self, op: BinaryOp, a: str, t: DataType, b: str) -> str:
        by = f"({b} & {literal(self.dialect, U32, t.bits - 1)})"
        if op is BinaryOp.SHR:
            return f"({a} >> {by})" if t.bits >= 32 else f"({t})({a} >> {by})"
        if t in (U32, DataType.U64):
            return f"({a} << {by})"
        u = U32 if t.bits < 32 else unsigned(t)
        self.terms.types.add(u)
        return f"({t})(({u}){a} << {by})"

    def unary(self, op: UnaryOp, operand: Operand, of: Expr, *, unknown: bool) -> Operand:
        """`op` of an operand, the text of which stands for the expression `of`."""
        a, t = operand
        if self.is_fast and t == F32 and (rough := normal(self.helpers, op, of)):
            return f"{rough}({self.opaque(a, t, unknown)})", t
        tests = (UnaryOp.IS_NAN, UnaryOp.IS_INF, UnaryOp.IS_FINITE)
        match op:
            case UnaryOp.LOGICAL_NOT:
                return f"(!{a})", t
            case UnaryOp.NEGATE if t.is_float:
                return f"(-{a})", t
            case UnaryOp.NEGATE:
                u = U32 if t.bits < 32 else unsigned(t)
                self.terms.types.add(u)
                return f"({t})(0 - ({u}){a})", t
            case UnaryOp.BIT_NOT:
                return (f"(~{a})" if t.bits >= 32 else f"({t})(~{a})"), t
            case UnaryOp.ABS if t.is_unsigned:
                return a, t
        if t.is_int:
            self.terms.types |= {U32, DataType.U64, unsigned(t)}
        if (rough := self.approximate(op, t)) is not None:
            return f"{rough}({self.opaque(a, t, unknown)})", t
        value = self.hidden(op, a, t, unknown)
        return f"{self.helpers.unary(op, t)}({value})", DataType.BOOL if op in tests else t

    def approximate(self, op: UnaryOp | BinaryOp, dtype: DataType) -> str | None:
        """The function of the device that a fast_math kernel calls for `op`, if there is one."""
        return approximate(self.helpers, op, dtype) if self.is_fast else None

    def cast(self, target: DataType, value: Operand) -> str:
        text, source = value
        to = target.computed
        if target.is_bool:
            return text if source.is_bool else f"({text} != 0)"
        self.terms.types.add(to)
        if to.is_int and source.is_float:
            converted = f"{self.helpers.to_int(to, source)}({bare(text)})"
        else:
            converted = text if to == source else f"({to}){text}"
        if target != to:
            narrow, widen = self.helpers.narrow(target), self.helpers.widen(target)
            self.terms.types.add(DataType.U16)
            return f"{widen}({narrow}({bare(converted)}))"
        return converted

    def bitcast(self, target: DataType, value: Operand) -> str:
        text, source = value
        if target == source:
            return text
        bits = unsigned(target)
        self.terms.types.add(bits)
        if source.is_float:
            text = f"{self.dialect.float_to_bits[source]}({bare(text)})"
            return f"({target}){text}"
        if target.is_float:
            text = text if source == bits else f"({bits}){text}"
            return f"{self.dialect.bits_to_float[target]}({bare(text)})"
        return f"({target}){text}"

    def from_storage(self, decl: BufferDecl, text: str) -> str:
        if decl.element.is_bool:
            return f"({text} != 0u)"
        if decl.element.computed != decl.element:
            return f"{self.helpers.widen(decl.element)}({bare(text)})"
        return text

    def to_storage(self, decl: BufferDecl, text: str) -> str:
        if decl.element.is_bool:
            return f"({text} ? 1u : 0u)"
        if decl.element.computed != decl.element:
            return f"{self.helpers.narrow(decl.element)}({bare(text)})"
        return text

    def hidden(self, op: UnaryOp | BinaryOp, text: str, dtype: DataType, unknown: bool) -> str:
        """An argument of `op` that the compiler takes for no constant, where that matters.

        It would compute the function itself then, to bits that another schedule, under which it
        sees less, does not give. It sees constants in unrolled loops, under equalities and behind
        arithmetic, so what it can see is not asked.
        """
        if not dtype.is_float or op not in self.dialect.folded:
            return bare(text)
        return self.opaque(text, dtype, unknown)

    def opaque(self, text: str, dtype: DataType, unknown: bool = False) -> str:
        """The same number, of which the compiler knows nothing; it may be `unknown` as it is."""
        if unknown and dtype.is_float:
            return bare(text)
        zero = self.terms.word("zero", self.terms.layout.zero)
        self.terms.types.add(U32)
        return f"{self.helpers.hide(dtype)}({bare(text)}, {zero})"


def bare(text: str) -> str:
    """The text without a pair of parentheses around the whole of it."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for position, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and position < len(text) - 1:
            return text
    return text[1:-1]
