"""What an expression of a kernel is while it is translated: typed, or still open to a type."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import inf, isfinite, isinf

from vyre.ir.expr import (
    Array,
    Binary,
    BinaryOp,
    Element,
    Expr,
    Lit,
    Select,
    Var,
    bits_float,
    float_bits,
)
from vyre.ir.types import DataType, int_range
from vyre.lang.exits import Round
from vyre.lang.source import Source

Number = int | float | bool
Key = tuple[object, ...]
"""Names a variable or a statement, the same in every pass over one kernel."""

Form = tuple["Form", ...] | None
"""How the values of a tuple are arranged; None for one value."""

PLACEHOLDER = Lit.of(DataType.I32, 0)
"""Stands where a variable's type is still open; a pass with one is never the last."""


@dataclass(slots=True)
class Decisions:
    """What the passes over a kernel found out so far; each pass adds to it."""

    types: dict[Key, DataType] = field(default_factory=dict)
    hoisted: dict[Key, set[str]] = field(default_factory=dict)  # names by statement
    rank: int = 1
    rounds: dict[int, Round] = field(default_factory=dict)  # by the loop they are of
    results: dict[Key, Form] = field(default_factory=dict)  # how calls arrange what they return


class Restart(Exception):
    """Starts the next pass, which knows what this one decided."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A number known while translating, and where it stands."""

    value: int | float
    node: ast.expr


@dataclass(slots=True, eq=False)
class Variable:
    """A name that the program binds. While its type is open it collects what must fit it."""

    name: str
    ir_name: str
    key: Key
    dtype: DataType | None = None
    is_ranged: bool = False
    is_float: bool = False
    is_open: bool = False
    grows: bool = False  # whether it is counted with, or given what was computed
    is_reduced: bool = False  # whether it is what elements come to, which no line names
    constants: list[tuple[Constant, Source]] = field(default_factory=list)
    sources: list[Variable] = field(default_factory=list)  # whose values it was given, still open

    @property
    def default(self) -> DataType:
        """The type it has, or takes when nothing else decides."""
        return self.dtype or (DataType.F32 if self.is_float else DataType.I32)

    @property
    def reach(self) -> tuple[float, float]:
        """The least and the most of the literals that it was given, or of its range."""
        numbers = [constant.value for constant, _ in self.constants]
        if self.is_ranged and not self.grows:
            if len(numbers) < 2:
                return -inf, inf  # a bound is a variable's
            start, stop = numbers
            return (start, stop - 1) if start < stop else (stop + 1, start)
        return min(numbers), max(numbers)

    def collect(self, value: Value, source: Source) -> None:
        """Leave the type open, and remember the literals of `value`."""
        self.is_open = True
        self.is_float = self.is_float or value.is_float
        self.constants.extend((constant, source) for constant in value.constants)
        self.sources.extend(value.needs)

    def takes(self, dtype: DataType) -> bool:
        """Whether all that it was given so far fits a type, and what it may grow to."""
        if (dtype.is_int and self.is_float) or (self.is_ranged and not dtype.is_int):
            return False
        if (self.grows or self.is_reduced) and is_narrow(dtype):
            return False
        return all(fits(constant.value, dtype) for constant, _ in self.constants)


@dataclass(frozen=True, slots=True)
class Value:
    """What an expression yields. Without a `dtype` it takes any type its constants fit."""

    node: ast.expr
    dtype: DataType | None
    build: Callable[[DataType], Expr]
    is_float: bool = False
    constants: tuple[Constant, ...] = ()
    needs: tuple[Variable, ...] = ()
    constant: Number | None = None
    is_product: bool = False  # written as one, where a sum around it may fuse with it
    is_whole: bool = False  # open, and made by what whole numbers alone have

    @classmethod
    def typed(cls, node: ast.expr, dtype: DataType, expr: Expr) -> Value:
        return cls(node, dtype.computed, lambda _: expr)

    @classmethod
    def literal(cls, node: ast.expr, number: Number) -> Value:
        if isinstance(number, bool):
            truth = Lit.of(DataType.BOOL, number)
            return cls(node, DataType.BOOL, lambda _: truth, constant=number)
        return cls(
            node,
            None,
            lambda dtype: literal(dtype, number),
            is_float=isinstance(number, float),
            constants=(Constant(number, node),),
            constant=number,
        )

    def at(self, node: ast.expr) -> Value:
        """The same value for messages about `node`."""
        constants = dict.fromkeys(Constant(constant.value, node) for constant in self.constants)
        return replace(self, node=node, constants=tuple(constants))

    @property
    def expr(self) -> Expr:
        assert self.dtype is not None, "only a typed value is an expression"
        return self.build(self.dtype)

    @property
    def default(self) -> DataType:
        """The type it has, or takes when nothing else decides."""
        return self.dtype or (DataType.F32 if self.is_float else DataType.I32)

    @property
    def is_bool(self) -> bool:
        return self.dtype == DataType.BOOL


def is_narrow(dtype: DataType) -> bool:
    """Whether a whole-number type is smaller than the one that numbers have by default."""
    return dtype.is_int and dtype.bits < DataType.I32.bits


def reach(value: Value) -> tuple[float, float]:
    """The least and the most that an open whole number may be, by the literals it is made of."""
    ranges = {variable.ir_name: variable.reach for variable in value.needs if variable.constants}
    return _reach(value.build(DataType.I64), ranges)


def _reach(expr: Expr, ranges: Mapping[str, tuple[float, float]]) -> tuple[float, float]:
    match expr:
        case Lit():
            return expr.value, expr.value
        case Var(name) if name in ranges:
            return ranges[name]
        case Element(Array() as table):
            numbers = [table.element(place).value for place in range(table.count)]
            return min(numbers), max(numbers)
        case Select(_, true, false) | Binary(BinaryOp.MIN | BinaryOp.MAX, true, false):
            lows, highs = zip(_reach(true, ranges), _reach(false, ranges), strict=True)
            return min(lows), max(highs)
        case Binary(op, left, right) if op in _EXTREMES:
            sides = _reach(left, ranges), _reach(right, ranges)
            found = [_EXTREMES[op](a, b) for a in sides[0] for b in sides[1]]
            return min(found), max(found)
        case Binary(op, left, right) if op in _SHRINKING:
            (least, most), by = _reach(left, ranges), _reach(right, ranges)
            return (0, _SHRINKING[op](most, *by)) if least >= 0 and by[0] >= 0 else (-inf, inf)
        case _:
            return -inf, inf


_SHRINKING: Mapping[BinaryOp, Callable[[float, float, float], float]] = {
    BinaryOp.FLOOR_DIV: lambda most, least_by, _: most // max(least_by, 1),
    BinaryOp.FLOOR_MOD: lambda most, _, most_by: min(most, max(most_by - 1, 0)),
    BinaryOp.BIT_AND: lambda most, _, most_by: min(most, most_by),
    BinaryOp.SHR: lambda most, least_by, _: most // 2 ** min(least_by, 63),
}
_EXTREMES: Mapping[BinaryOp, Callable[[float, float], float]] = {
    BinaryOp.ADD: operator.add,
    BinaryOp.SUB: operator.sub,
    BinaryOp.MUL: operator.mul,
}


def literal(dtype: DataType, number: int | float) -> Lit:
    """The literal of a type that `number` fits."""
    return Lit.of(dtype, float(number) if dtype.is_float else number)


def zero(dtype: DataType) -> Lit:
    """What a name holds before its first value: never seen, but the program needs one."""
    return Lit(dtype, 0)


def fits(number: int | float, dtype: DataType) -> bool:
    """Whether a literal may stand for a value of `dtype`: exact, or a float merely rounded."""
    if dtype.is_int:
        low, high = int_range(dtype)
        return isinstance(number, int) and low <= number <= high
    if not dtype.is_float:
        return False
    if isinstance(number, int) and abs(number) > 1 << 1023:
        return False
    rounded = bits_float(dtype, float_bits(dtype, float(number)))
    if isinstance(number, int):
        return isfinite(rounded) and int(rounded) == number
    return not isinf(rounded) or isinf(number)


def converted(number: Number, dtype: DataType) -> Number:
    """What a cast makes of a number: integers wrap, floats saturate, NaN gives 0."""
    if dtype.is_bool:
        return bool(number)
    if dtype.is_float:
        return bits_float(dtype, float_bits(dtype, _as_float(number)))
    low, high = int_range(dtype)
    if isinstance(number, float):
        if number != number:
            return 0
        return low if number <= low else high if number >= high else int(number)
    return (int(number) - low) % (high - low + 1) + low


def _as_float(number: Number) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")
