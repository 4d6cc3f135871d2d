"""Records a definition from Python arithmetic: every operation is a `Let` of a fresh name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from vyre.ir.expr import (
    Binary,
    BinaryOp,
    Bitcast,
    Cast,
    Expr,
    Fma,
    Lit,
    Select,
    Unary,
    UnaryOp,
    Var,
)
from vyre.ir.node import Assign, If, Let, Node, While
from vyre.ir.types import DataType

_COMPARISONS = frozenset(
    {BinaryOp.EQ, BinaryOp.NE, BinaryOp.LT, BinaryOp.GT, BinaryOp.LE, BinaryOp.GE}
)
_TESTS = frozenset({UnaryOp.IS_NAN, UnaryOp.IS_INF, UnaryOp.IS_FINITE})


class Code:
    """The statements recorded so far; `when` and `while_` nest."""

    def __init__(self) -> None:
        self._open: list[list[Node]] = [[]]
        self._count = 0

    @property
    def body(self) -> tuple[Node, ...]:
        return tuple(self._open[0])

    def parameter(self, name: str, dtype: DataType) -> Real:
        return Real(self, Var(name), dtype)

    def bind(self, expr: Expr, dtype: DataType) -> Real:
        """A fresh name for the value of `expr`."""
        name = f"t{self._count}"
        self._count += 1
        self._open[-1].append(Let(name, expr))
        return Real(self, Var(name), dtype)

    @contextmanager
    def when(self, cond: Real) -> Iterator[None]:
        """Statements for the elements where `cond` holds."""
        self._open.append([])
        yield
        body = tuple(self._open.pop())
        self._open[-1].append(If(cond.expr, body))

    @contextmanager
    def while_(self, cond: Expr) -> Iterator[None]:
        """Statements repeated while `cond`, an expression over variables, holds."""
        self._open.append([])
        yield
        body = tuple(self._open.pop())
        self._open[-1].append(While(cond, body))

    def assign(self, variable: Real, value: Real) -> None:
        assert isinstance(variable.expr, Var)
        self._open[-1].append(Assign(variable.expr.name, value.expr))


@dataclass(frozen=True, slots=True, eq=False)
class Real:
    """A recorded value; arithmetic on it records more. Plain numbers take the other's type."""

    code: Code
    expr: Expr
    dtype: DataType

    def lift(self, other: Number) -> Real:
        """`other` as a value of this type."""
        if isinstance(other, Real):
            return other
        return Real(self.code, Lit.of(self.dtype, other), self.dtype)

    def binary(self, op: BinaryOp, other: Number) -> Real:
        dtype = DataType.BOOL if op in _COMPARISONS else self.dtype
        return self.code.bind(Binary(op, self.expr, self.lift(other).expr), dtype)

    def unary(self, op: UnaryOp) -> Real:
        dtype = DataType.BOOL if op in _TESTS else self.dtype
        return self.code.bind(Unary(op, self.expr), dtype)

    def bits(self, target: DataType) -> Real:
        return self.code.bind(Bitcast(target, self.expr), target)

    def cast(self, target: DataType) -> Real:
        return self.code.bind(Cast(target, self.expr), target)

    def variable(self) -> Real:
        """A name of its own for this value, which can be assigned to."""
        return self.code.bind(self.expr, self.dtype)

    def __add__(self, other: Number) -> Real:
        return self.binary(BinaryOp.ADD, other)

    def __sub__(self, other: Number) -> Real:
        return self.binary(BinaryOp.SUB, other)

    def __rsub__(self, other: Number) -> Real:
        return self.lift(other).binary(BinaryOp.SUB, self)

    def __mul__(self, other: Number) -> Real:
        return self.binary(BinaryOp.MUL, other)

    def __rmul__(self, other: Number) -> Real:
        return self.lift(other).binary(BinaryOp.MUL, self)

    def __truediv__(self, other: Number) -> Real:
        return self.binary(BinaryOp.DIV, other)

    def __rtruediv__(self, other: Number) -> Real:
        return self.lift(other).binary(BinaryOp.DIV, self)

    def __mod__(self, other: Number) -> Real:
        return self.binary(BinaryOp.MOD, other)

    def __and__(self, other: Number) -> Real:
        return self.binary(BinaryOp.AND if self.dtype.is_bool else BinaryOp.BIT_AND, other)

    def __or__(self, other: Number) -> Real:
        return self.binary(BinaryOp.OR if self.dtype.is_bool else BinaryOp.BIT_OR, other)

    def __xor__(self, other: Number) -> Real:
        return self.binary(BinaryOp.BIT_XOR, other)

    def __lshift__(self, other: Number) -> Real:
        return self.binary(BinaryOp.SHL, other)

    def __rshift__(self, other: Number) -> Real:
        return self.binary(BinaryOp.SHR, other)

    def __lt__(self, other: Number) -> Real:
        return self.binary(BinaryOp.LT, other)

    def __gt__(self, other: Number) -> Real:
        return self.binary(BinaryOp.GT, other)

    def __ge__(self, other: Number) -> Real:
        return self.binary(BinaryOp.GE, other)

    def __neg__(self) -> Real:
        return self.unary(UnaryOp.NEGATE)

    def __invert__(self) -> Real:
        return self.unary(UnaryOp.LOGICAL_NOT if self.dtype.is_bool else UnaryOp.BIT_NOT)

    def __abs__(self) -> Real:
        return self.unary(UnaryOp.ABS)

    def eq(self, other: Number) -> Real:
        return self.binary(BinaryOp.EQ, other)

    def ne(self, other: Number) -> Real:
        return self.binary(BinaryOp.NE, other)

    def is_nan(self) -> Real:
        return self.ne(self)


Number = Real | float | int


def fma(a: Number, b: Number, c: Number) -> Real:
    """`a * b + c` with one rounding; at least one of them is recorded."""
    like = next(part for part in (a, b, c) if isinstance(part, Real))
    parts = [like.lift(part).expr for part in (a, b, c)]
    return like.code.bind(Fma(*parts), like.dtype)


def select(cond: Real, true: Number, false: Number) -> Real:
    """`true` where `cond` holds, else `false`; at least one of the two is recorded."""
    like = true if isinstance(true, Real) else false
    assert isinstance(like, Real)
    expr = Select(cond.expr, like.lift(true).expr, like.lift(false).expr)
    return like.code.bind(expr, like.dtype)


def sqrt(value: Real) -> Real:
    """The square root, rounded once."""
    return value.unary(UnaryOp.SQRT)


def polynomial(x: Real, coefficients: Sequence[float]) -> Real:
    """Horner's scheme with one rounding a step; the lowest power comes first."""
    result = x.lift(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result = fma(result, x, coefficient)
    return result


def at_most(x: Real, high: float) -> Real:
    """`x`, or `high` where that is less; NaN stays NaN."""
    return select(x > high, high, x)


def at_least(x: Real, low: float) -> Real:
    """`x`, or `low` where that is more; NaN stays NaN."""
    return select(x < low, low, x)
