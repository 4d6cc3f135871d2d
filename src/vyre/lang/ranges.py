"""What `range()` counts in a kernel: its values, and the rounds it takes."""

from __future__ import annotations

import ast
from abc import ABC
from collections.abc import Callable
from dataclasses import dataclass

from vyre.ir.expr import Binary, BinaryOp, Cast, Expr, Lit, Select, Var
from vyre.ir.types import DataType
from vyre.lang.expressions import Expressions
from vyre.lang.values import Value, fits

_UNSIGNED = {8: DataType.U8, 16: DataType.U16, 32: DataType.U32, 64: DataType.U64}
_INDEXED = "write for k in range(len(x)): and index with k"


@dataclass(frozen=True, slots=True)
class Range:
    """What `range()` was given: two bounds, and a step that is known while translating."""

    node: ast.Call
    start: Value
    stop: Value
    step: int

    @property
    def known(self) -> Value | None:
        """A bound that has a type, which is that of every value of the range."""
        return next((value for value in (self.start, self.stop) if value.dtype is not None), None)

    @property
    def length(self) -> int | None:
        """How many rounds there are, where both bounds are known while translating."""
        match self.start.constant, self.stop.constant:
            case int() as start, int() as stop:
                return len(range(start, stop, self.step))
            case _:
                return None


@dataclass(frozen=True, slots=True)
class Rounds:
    """A range as rounds that are counted from 0: where it begins, its step, and how many.

    They are counted in the unsigned type of the same width: the distance between two bounds always
    fits it, and adding a step to the last value could not overflow.
    """

    dtype: DataType
    origin: Expr
    step: int
    count: Expr

    @property
    def counter(self) -> DataType:
        """The type that counts the rounds."""
        return _UNSIGNED[self.dtype.bits]

    def value(self, counted: Var, counter: DataType | None = None) -> Expr:
        """The value of the range in round `counted`, of type `counter`."""
        distance = reinterpreted(counted, counter or self.counter, self.dtype)
        if abs(self.step) != 1:
            distance = Binary(BinaryOp.MUL, distance, Lit.of(self.dtype, abs(self.step)))
        if self.step > 0 and self.origin == Lit(self.dtype, 0):
            return distance
        op = BinaryOp.ADD if self.step > 0 else BinaryOp.SUB
        return Binary(op, self.origin, distance)


class Ranges(Expressions, ABC):
    """Turns calls of `range()` into bounds and rounds."""

    def range_of(self, call: ast.expr, counts: str, fix: str = _INDEXED) -> Range:
        """What a call of `range()` was given.

        Args:
            call: The call.
            counts: What runs over it, as a message says it.
            fix: What to write where it is something else.
        """
        is_range = isinstance(call, ast.Call) and self.static(call.func) is range
        if not isinstance(call, ast.Call) or not is_range:
            raise self.error(
                call,
                f"{counts} runs over range(), and {self.text(call)} is not one",
                fix,
            )
        if call.keywords or not 1 <= len(call.args) <= 3:
            raise self.error(
                call,
                "range() takes 1 to 3 numbers",
                "write range(stop) or range(start, stop, step)",
            )
        values = self.values(*call.args)
        for value in values:
            self.check_int(value, "range()")
        zero_start = Value.literal(call, 0)
        start, stop = (zero_start, values[0]) if len(values) == 1 else (values[0], values[1])
        step = values[2].constant if len(values) == 3 else 1
        if not isinstance(step, int) or step == 0:
            raise self.error(
                call.args[2],
                f"the step {self.known_as(call.args[2], step)} is not a constant other than 0",
                "write a number, or count with while",
            )
        return Range(call, start, stop, step)

    def bounds(self, found: Range, dtype: DataType, other: str) -> tuple[Expr, Expr]:
        """Both bounds in the type of the range's values; `other` is what has it if none of them."""
        other = other if found.known is None else self.text(found.known.node)
        return self.fit(found.start, dtype, other), self.fit(found.stop, dtype, other)

    def rounds(
        self,
        found: Range,
        dtype: DataType,
        exprs: tuple[Expr, Expr],
        keep: Callable[[Value, str], Value],
    ) -> Rounds:
        """The rounds of a range whose bounds are `exprs`; `keep` makes them safe to use twice."""
        step, size = found.step, abs(found.step)
        if not fits(size, dtype):
            raise self.error(
                found.node,
                f"the step {step} does not fit {dtype}",
                "cast the bounds to a wider type",
            )
        counter = _UNSIGNED[dtype.bits]
        if found.length is not None:
            return Rounds(dtype, exprs[0], step, Lit.of(counter, found.length))
        if step == 1 and dtype == counter and found.start.constant == 0:
            return Rounds(dtype, exprs[0], step, exprs[1])
        first, last = (
            expr if isinstance(expr, Lit) else keep(Value.typed(found.node, dtype, expr), name).expr
            for expr, name in zip(exprs, ("start", "stop"), strict=True)
        )
        low, high = (first, last) if step > 0 else (last, first)
        count: Expr = Binary(
            BinaryOp.SUB,
            reinterpreted(high, dtype, counter),
            reinterpreted(low, dtype, counter),
        )
        if size != 1:
            one = Lit.of(counter, 1)
            whole = Binary(BinaryOp.SUB, count, one)
            count = Binary(BinaryOp.ADD, Binary(BinaryOp.DIV, whole, Lit.of(counter, size)), one)
        runs = Binary(BinaryOp.LT, low, high)
        return Rounds(dtype, first, step, Select(runs, count, Lit.of(counter, 0)))


def reinterpreted(expr: Expr, dtype: DataType, target: DataType) -> Expr:
    """`expr` of `dtype` as another integer type: the same bits where it has as many."""
    if dtype == target:
        return expr
    return Lit(target, expr.bits) if isinstance(expr, Lit) else Cast(target, expr)
