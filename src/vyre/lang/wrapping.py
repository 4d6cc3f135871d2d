"""Refuses differences of unsigned numbers that wrap around and are then taken for numbers.

`i - 1` of a `u32` position is 4294967295 at the first element. As an index that is beyond every
array, which is what its author wants; as a number it is not. Two kinds of use give it away. Some
make sense only of a number that may be below 0, such as `abs(i - 1)`: they are refused unless it is
proved not to be. Others show the number, such as `f32(i - 1)`: they are refused where it is certain
to be below 0 in some lane.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from vyre.ir.declare import Dim3
from vyre.ir.expr import Binary, BinaryOp, Cast, Expr, Lit, Unary, UnaryOp
from vyre.ir.program import Program
from vyre.ir.types import DataType
from vyre.lang.numbers import QUOTIENTS, REMAINDERS, Number, Numbers
from vyre.lang.source import Place, Places


def check_wrapping(program: Program, places: Places, workgroup: Dim3 | None) -> None:
    """Nothing, or an error at the line that takes a wrapped difference for a number.

    Args:
        program: what a kernel was translated to.
        places: where its parts are written; what the author did not write is not looked at.
        workgroup: the declared one, which bounds the positions in it.

    Raises:
        LanguageError: with a way to write what was meant.
    """
    _Uses(program, places, workgroup).body(program.entry)


_ORDER = {BinaryOp.LT: "<", BinaryOp.LE: "<=", BinaryOp.GT: ">", BinaryOp.GE: ">="}
_TURNED = {
    BinaryOp.LT: BinaryOp.GT,
    BinaryOp.LE: BinaryOp.GE,
    BinaryOp.GT: BinaryOp.LT,
    BinaryOp.GE: BinaryOp.LE,
}
_EXTREMES = {BinaryOp.MIN: "min()", BinaryOp.MAX: "max()"}


@dataclass(frozen=True, slots=True)
class _Difference:
    """A difference as its author wrote it: `left - right`, or what is taken away from a name."""

    text: str
    left: str
    right: str
    signed: DataType
    is_literal: bool  # whether what is taken away is one
    name: str | None = None

    @classmethod
    def at(cls, place: Place, dtype: DataType) -> _Difference:
        def text(node: ast.expr) -> str:
            found = place.source.text(node)
            return "..." if found == "this" else found

        signed = DataType.I64 if dtype == DataType.U64 else DataType.I32
        match place.node:
            case ast.BinOp(left=left, right=right) as node:
                is_literal = isinstance(right, ast.Constant)
                changed = isinstance(getattr(left, "ctx", None), ast.Store)
                shown = f"{text(left)} - {text(right)}" if changed else text(node)
                name = text(left) if changed else None
                return cls(shown, text(left), text(right), signed, is_literal, name)
            case ast.UnaryOp(operand=operand) as node:
                return cls(text(node), "0", text(operand), signed, is_literal=False)
            case node:
                raise AssertionError(f"{type(node).__name__} is no difference")

    def in_signed(self) -> str:
        """What to write where the number itself is wanted."""
        if self.name is not None:
            return (
                f"give {self.name} a signed type where it begins, for example "
                f"{self.name} = {self.signed}(...)"
            )
        left = "" if self.left == "0" else f"{self.signed}({self.left}) "
        right = self.right if self.is_literal else f"{self.signed}({self.right})"
        minus = f"{left}- {right}" if left else f"-{right}"
        return (
            f"compute it in a signed type, for example {minus}, or write "
            f"vyre.wrap_sub({self.left}, {self.right}) if it is meant to wrap"
        )

    def instead(self, form: str) -> str:
        """What to write where only a comparison, a distance or a part of it is wanted."""
        if self.name is not None:
            return self.in_signed()
        return f"write {form.format(self.left, self.right)}"


ABS_DIFF, SAT_SUB = "vyre.abs_diff({}, {})", "vyre.sat_sub({}, {}), which stops at 0"


class _Uses(Numbers):
    """Looks at what is done with numbers that may have wrapped."""

    def counted(self, bound: Number) -> None:
        if bound.wraps is not None:
            self.refuse_certain(self.places.of(bound.wraps), bound, "range()")

    def used(self, expr: Expr, *parts: Number) -> None:
        place = self.places.of(expr)
        if place is None:
            return  # the author did not write it
        match expr:
            case Cast(target):
                self.cast_to(place, target, *parts)
            case Unary(UnaryOp.ABS | UnaryOp.SIGN as op):
                self.refuse_doubtful(place, parts[0], f"{op.name.lower()}()", ABS_DIFF)
            case Binary(op, left, right) if op in _ORDER:
                self.compare(place, parts[0], op, right)
                self.compare(place, parts[1], _TURNED[op], left)
            case Binary(op, left, right) if op in _EXTREMES:
                self.extreme(place, op, parts[0], right)
                self.extreme(place, op, parts[1], left)
            case Binary(op, _, right) if op in REMAINDERS:
                # Of a power of two the remainder is right: it divides what numbers wrap by.
                if not isinstance(right, Lit) or right.bits.bit_count() != 1:
                    self.refuse_certain(place, parts[0], _named(place, "%"))
                self.refuse_certain(place, parts[1], "%")
            case Binary(op) if op in QUOTIENTS:
                for part in parts:
                    self.refuse_certain(place, part, "//")
            case Binary(BinaryOp.SHR):
                self.refuse_certain(place, parts[0], ">>")
            case _:
                pass

    def cast_to(self, place: Place, target: DataType, number: Number) -> None:
        dtype = number.dtype
        if dtype is None or not dtype.is_unsigned:
            return
        if target.is_float or (target.is_int and target.bits > dtype.bits):
            self.refuse_certain(place, number, f"{target}()")
            # Lengths and places are seldom so small; differences of samples are.
            if dtype.bits < DataType.U32.bits and _is_of_data(number.wraps):
                self.refuse(place, number, f"{target}()", self.may_wrap(number))

    def compare(self, place: Place, number: Number, op: BinaryOp, other: Expr) -> None:
        """Look at a comparison with a literal; one with a size is right about what has wrapped."""
        if not isinstance(other, Lit):
            return
        sign = _ORDER[op]
        if other.value == 0 and op in (BinaryOp.LT, BinaryOp.GE):
            self.refuse_doubtful(place, number, f"{sign} 0", f"{{}} {sign} {{}}")
        else:
            self.refuse_certain(place, number, f"{sign} {other.value}")

    def extreme(self, place: Place, op: BinaryOp, number: Number, other: Expr) -> None:
        if op is BinaryOp.MAX and isinstance(other, Lit) and other.value == 0:
            self.refuse_doubtful(place, number, "max()", SAT_SUB)
        else:
            self.refuse_certain(place, number, _named(place, _EXTREMES[op]))

    def refuse_doubtful(self, place: Place, number: Number, what: str, form: str) -> None:
        """Refuse a use that makes sense only of numbers that may be below 0."""
        self.refuse(place, number, what, self.may_wrap(number), form)

    def refuse_certain(self, place: Place | None, number: Number, what: str) -> None:
        """Refuse a use that shows a number which is below 0 in some lane."""
        if place is not None and self.is_below(number):
            self.refuse(place, number, what, number.wraps)

    def refuse(
        self, place: Place, number: Number, what: str, wraps: Expr | None, form: str = ""
    ) -> None:
        written = None if wraps is None else self.places.of(wraps)
        if number.dtype is None or not number.dtype.is_unsigned or written is None:
            return
        found = _Difference.at(written, number.dtype)
        where = "" if written.line == place.line else f" of line {written.line}"
        certain = "may wrap" if _is_of_data(wraps) else "wraps"
        raise place.error(
            f"{found.text}{where} {certain} around below 0, as it is {number.dtype}, and {what} "
            "takes it for a large number",
            found.instead(form) if form else found.in_signed(),
        )


def _named(place: Place, sign: str) -> str:
    """What takes a number: what is written, or the edge of the array that it is the index of."""
    if not isinstance(place.node, ast.Subscript):
        return sign
    return 'the "wrap" of a load' if sign == "%" else 'the "clamp" of a load'


def _is_of_data(difference: Expr | None) -> bool:
    match difference:
        case Binary(BinaryOp.SUB, left, right):
            return not isinstance(left, Lit) and not isinstance(right, Lit)
        case _:
            return False
