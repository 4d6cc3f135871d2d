"""Operators of a kernel: Python's signs over values of one type."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from dataclasses import replace

from vyre.errors import LanguageError
from vyre.ir.expr import Binary, BinaryOp, Expr, Lit
from vyre.ir.types import DataType
from vyre.lang.context import Context
from vyre.lang.fusing import fused
from vyre.lang.values import Number, Value

_ARITHMETIC: dict[type[ast.operator], BinaryOp] = {
    ast.Add: BinaryOp.ADD,
    ast.Sub: BinaryOp.SUB,
    ast.Mult: BinaryOp.MUL,
    ast.Div: BinaryOp.DIV,
    ast.FloorDiv: BinaryOp.FLOOR_DIV,
    ast.Mod: BinaryOp.FLOOR_MOD,
    ast.Pow: BinaryOp.POW,
    ast.LShift: BinaryOp.SHL,
    ast.RShift: BinaryOp.SHR,
    ast.BitAnd: BinaryOp.BIT_AND,
    ast.BitOr: BinaryOp.BIT_OR,
    ast.BitXor: BinaryOp.BIT_XOR,
}
_TRUNCATING = {BinaryOp.FLOOR_DIV: BinaryOp.DIV, BinaryOp.FLOOR_MOD: BinaryOp.MOD}
COMPARISONS: dict[type[ast.cmpop], BinaryOp] = {
    ast.Eq: BinaryOp.EQ,
    ast.NotEq: BinaryOp.NE,
    ast.Lt: BinaryOp.LT,
    ast.LtE: BinaryOp.LE,
    ast.Gt: BinaryOp.GT,
    ast.GtE: BinaryOp.GE,
}
_ON_HOST: dict[type[ast.AST], Callable[..., Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
SYMBOLS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**", ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|",
    ast.BitXor: "^", ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">",
    ast.GtE: ">=", ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not",
}  # fmt: skip  # a table of signs, read across
_BITWISE = (ast.BitAnd, ast.BitOr, ast.BitXor)
_SHIFTS = (ast.LShift, ast.RShift)
_LARGEST_SHIFT = 1024  # keeps numbers computed while translating small
_LARGEST_POWER = 4  # up to here a power is written out as products


class Operators(Context):
    """Turns operators into values, and says what they take."""

    def binary(self, node: ast.expr, op: ast.operator, left: Value, right: Value) -> Value:
        """`left op right`, by Python's meaning of the sign."""
        if type(op) not in _ARITHMETIC:
            raise self.error(
                node,
                "@ is not part of the kernel language",
                "write sum(a[k] * b[k] for k in range(n))",
            )
        sign, kind = SYMBOLS[type(op)], _ARITHMETIC[type(op)]
        for value in (left, right):
            if value.is_bool and not isinstance(op, _BITWISE):
                raise self.error(
                    value.node,
                    f"{sign} of {self.text(value.node)}, which is bool",
                    f"cast it, for example i32({self.text(value.node)})",
                )
            if isinstance(op, (*_SHIFTS, *_BITWISE)) and not value.is_bool:
                self.check_int(value, sign)
        if left.constant is not None and right.constant is not None:
            return self.on_host(node, op, left.constant, right.constant)
        if isinstance(op, ast.Pow):
            return self.power(node, left, right)
        if isinstance(op, ast.Div):
            for value in (left, right):
                if value.dtype is not None and value.dtype.is_int:
                    text = self.text(value.node)
                    double = DataType.F64 in (left.dtype, right.dtype)
                    cast = DataType.F64 if double else DataType.F32
                    raise self.error(
                        node,
                        f"/ divides floats, and {text} is {value.dtype}",
                        f"use // for whole numbers, or cast to a float, for example {cast}({text})",
                    )
            left, right = self.as_float(left, sign), self.as_float(right, sign)
        if isinstance(op, _SHIFTS) and left.dtype is not None and right.dtype == DataType.U32:
            shifted = self.noted(Binary(kind, left.expr, right.expr), node)
            return Value.typed(node, left.dtype, shifted)

        fuses = isinstance(op, (ast.Add, ast.Sub)) and (left.is_product or right.is_product)

        def build(dtype: DataType, parts: tuple[Expr, ...]) -> Expr:
            if dtype.is_float and fuses:
                return fused(kind, *parts, is_left=left.is_product)
            # Floor and truncate agree where nothing is negative, and truncating is cheaper.
            return Binary(_TRUNCATING.get(kind, kind) if dtype.is_unsigned else kind, *parts)

        made = self.combine(node, [left, right], build)
        if isinstance(op, (*_SHIFTS, *_BITWISE)):
            return whole(made)
        return replace(made, is_product=True) if self.fast_math and kind is BinaryOp.MUL else made

    def power(self, node: ast.expr, base: Value, exponent: Value) -> Value:
        """Small whole powers are products, exact for every type; others are for floats."""
        number = exponent.constant
        if isinstance(number, int) and 0 <= number <= _LARGEST_POWER:
            if number == 0:
                return self.combine(node, [base], lambda dtype, _: _one(dtype))
            base = base if number == 1 else self.once(base, "base")

            def product(_: DataType, parts: tuple[Expr, ...]) -> Expr:
                (x,) = parts
                square = Binary(BinaryOp.MUL, x, x)
                if number == _LARGEST_POWER:
                    return Binary(BinaryOp.MUL, square, square)
                return {1: x, 2: square}.get(number, Binary(BinaryOp.MUL, square, x))

            if number == _LARGEST_POWER and base.dtype is not None:
                square = Value.typed(node, base.dtype, Binary(BinaryOp.MUL, base.expr, base.expr))
                square = self.once(square, "square")
                expr = Binary(BinaryOp.MUL, square.expr, square.expr)
                return Value.typed(node, base.dtype, expr)
            return self.combine(node, [base], product)
        for value in (base, exponent):
            if value.dtype is not None and value.dtype.is_int:
                text = self.text(value.node)
                raise self.error(
                    node,
                    f"** with this exponent takes floats, and {text} is {value.dtype}",
                    f"multiply, or cast to a float, for example f32({text})",
                )
        values = [self.as_float(base, "**"), self.as_float(exponent, "**")]
        return self.combine(node, values, lambda _, parts: Binary(BinaryOp.POW, *parts))

    def on_host(
        self, node: ast.expr, op: ast.operator | ast.cmpop, left: Number, right: Number
    ) -> Value:
        """Two numbers known while translating are computed as Python does."""
        too_large = isinstance(op, (ast.LShift, ast.Pow)) and abs(right) > _LARGEST_SHIFT
        try:
            if too_large and isinstance(left, int) and isinstance(right, int):
                raise OverflowError
            result = _ON_HOST[type(op)](left, right)
        except (ArithmeticError, ValueError):
            raise self.error(
                node,
                f"{left!r} {SYMBOLS[type(op)]} {right!r} has no value",
                "change one of the two constants",
            ) from None
        if isinstance(result, complex):
            raise self.error(
                node, f"{left!r} ** {right!r} is a complex number", "use a base from 0"
            )
        return Value.literal(node, result)

    def as_float(self, value: Value, what: str) -> Value:
        """`value` for something that takes floats: what has no type yet becomes a float."""
        if value.dtype is not None:
            if not value.dtype.is_float:
                raise self.takes(value, what, "a float", "f32")
            return value
        ranged = value.is_whole or any(variable.is_ranged for variable in value.needs)
        if not value.is_float and ranged:
            raise self.takes(value, what, "a float", "f32")
        return Value(
            value.node, None, value.build, True, value.constants, value.needs, value.constant
        )

    def check_int(self, value: Value, what: str) -> None:
        if value.is_float or not value.default.is_int:
            raise self.takes(value, what, "a whole number", "i32")

    def check_number(self, value: Value, what: str) -> None:
        if value.is_bool:
            raise self.takes(value, what, "a number", "i32")

    def takes(self, value: Value, what: str, wanted: str, cast: str) -> LanguageError:
        text = self.text(value.node)
        return self.error(
            value.node,
            f"{what} takes {wanted}, and {text} is {value.default}",
            f"cast it, for example {cast}({text})",
        )

    def check_bool(self, value: Value) -> None:
        if not value.is_bool:
            text = self.text(value.node)
            raise self.error(
                value.node,
                f"{text} is {value.default}, and a condition is true or false",
                f"compare it, for example {text} != 0",
            )

    def compare(self, node: ast.expr, op: ast.cmpop, left: Value, right: Value) -> Value:
        kind = COMPARISONS[type(op)]
        if left.constant is not None and right.constant is not None:
            return self.on_host(node, op, left.constant, right.constant)
        if kind not in (BinaryOp.EQ, BinaryOp.NE):
            for value in (left, right):
                self.check_number(value, SYMBOLS[type(op)])
        return self.combine(
            node, [left, right], lambda _, parts: Binary(kind, *parts), DataType.BOOL
        )

    def both(self, node: ast.expr, op: BinaryOp, left: Value, right: Value) -> Value:
        """`left and right` or `left or right` of two bools, shortened where one is known."""
        decides = op is BinaryOp.OR
        for known, other in ((left, right), (right, left)):
            if known.constant is not None:
                return known if bool(known.constant) is decides else other
        return Value.typed(node, DataType.BOOL, Binary(op, left.expr, right.expr))


def whole(value: Value) -> Value:
    """A value that takes no float type, as what was done with it is not for floats."""
    return replace(value, is_whole=True) if value.dtype is None else value


def _one(dtype: DataType) -> Lit:
    return Lit.of(dtype, 1.0 if dtype.is_float else 1)
