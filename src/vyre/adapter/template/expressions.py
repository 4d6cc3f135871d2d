"""Expressions of others over named values, as Python writes them; nothing of them is ever run.

What may stand in one is in the tables below. Whoever wrote the text can compute with numbers and
compare texts, and can neither reach anything else nor keep the reader busy for long.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from vyre.errors import InvalidInput
from vyre.plain import shown

Values = Mapping[str, Any]

_LONGEST, _MOST_BITS, _MOST_ELEMENTS = 10_000, 4096, 10_000
_MODULES = ("math", "np", "numpy")


class NoValue(Exception):
    """An expression has no value for what it was given, and why."""


def _number(value: Any) -> Any:
    if isinstance(value, (int, float)):
        return value
    raise NoValue(f"{shown(value)} is no number")


def _whole(value: Any) -> int:
    if isinstance(value, int):
        return value
    raise NoValue(f"{shown(value)} is no whole number")


def _power(base: Any, exponent: Any) -> Any:
    if isinstance(base, int) and isinstance(exponent, int):
        # Of numbers below zero Python makes a float.
        _refuse_long(base.bit_length() * max(exponent, 1))
    found = base**exponent
    if isinstance(found, complex):
        raise NoValue(f"{shown(base)} ** {shown(exponent)} is complex")
    return found


def _shifted(value: int, by: int) -> int:
    _refuse_long(value.bit_length() + by)
    return value << by


def _times(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int):
        _refuse_long(a.bit_length() + b.bit_length())
    return a * b


def _refuse_long(bits: int) -> None:
    if bits > _MOST_BITS:
        raise NoValue(f"a whole number of more than {_MOST_BITS} bits")


def _prod(values: Iterable[Any]) -> Any:
    found: Any = 1
    for value in values:
        found = _times(found, _number(value))
    return found


def _rounded(value: Any, *digits: Any) -> Any:
    for one in digits:
        _refuse_long(-4 * _whole(one))  # that many digits before the point are computed with
    return round(_number(value), *digits)


_ARITHMETIC: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: _times,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
_BITS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.LShift: _shifted,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_COMPARED: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "abs": abs,
    "bool": bool,
    "ceil": math.ceil,
    "float": float,
    "floor": math.floor,
    "gcd": math.gcd,
    "int": lambda value: int(_number(value)),
    "len": len,
    "log2": math.log2,
    "max": max,
    "min": min,
    "prod": _prod,
    "round": _rounded,
    "sqrt": math.sqrt,
    "sum": sum,
}
_WRONG = (ArithmeticError, TypeError, ValueError)

_Run = Callable[[Values], Any]


@dataclass(frozen=True, slots=True)
class Expression:
    """A text that was read, the names it asks for, and what it comes to.

    >>> Expression.of("block * 2 <= 1024").value({"block": 256})
    True
    """

    text: str
    names: tuple[str, ...] = field(compare=False)
    _run: _Run = field(compare=False, repr=False)

    @classmethod
    def of(cls, text: str, what: str = "an expression") -> Expression:
        """The expression that a text is.

        Args:
            text: as Python writes it.
            what: what it is, for people.

        Raises:
            InvalidInput: it is none, or holds what has no place in one.
        """
        if len(text) > _LONGEST:
            raise InvalidInput(
                f"{what} of {len(text):,} letters", f"write it in at most {_LONGEST:,}"
            )
        try:
            tree = ast.parse(text.strip(), mode="eval").body
            names: dict[str, None] = {}
            run = _read(tree, names)
        except NoValue as error:
            raise InvalidInput(
                f"{what}, {shown(text)}, holds {error}",
                "use numbers, texts, names, + - * / // % **, comparisons, and, or, not, in, and "
                f"{', '.join(_FUNCTIONS)}",
            ) from None
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            said = error.msg if isinstance(error, SyntaxError) else type(error).__name__
            raise InvalidInput(
                f"{what}, {shown(text)}, is no expression of Python's: {said}",
                "write it as Python does: and, or, not, and == for equal",
            ) from None
        return cls(text.strip(), tuple(names), run)

    def __reduce__(self) -> tuple[Any, ...]:
        return Expression.of, (self.text,)

    def value(self, values: Values) -> Any:
        """What it comes to for these values of its names.

        Raises:
            NoValue: nothing, and why.
        """
        try:
            return self._run(values)
        except _WRONG as error:
            raise NoValue(f"{type(error).__name__}: {error}") from None
        except (RecursionError, MemoryError) as error:
            raise NoValue(type(error).__name__) from None


def literal(text: str, what: str) -> Any:
    """The value of a text that asks for no name: numbers, texts, lists, `range(1, 9)`.

    Lists may be added, and made by one `for` over another.

    Raises:
        InvalidInput: it has none.

    >>> literal("[2 * 16, 64]", "values"), literal("list(range(3))", "values")
    ((32, 64), (0, 1, 2))
    >>> literal("[1] + [2 ** i for i in range(4, 6)]", "values")
    (1, 16, 32)
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        return _listed(tree, {}, what) if _is_list(tree) else _alone(tree, {}, what)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        Expression.of(text, what)  # which says why
        raise
    except NoValue as error:
        raise InvalidInput(f"{what}, {shown(text)}, has no value: {error}", "mend it") from None


def _is_list(node: ast.expr) -> bool:
    match node:
        case ast.List() | ast.Tuple() | ast.ListComp():
            return True
        case ast.BinOp(left=left, op=ast.Add()):
            return _is_list(left)
        case ast.Call(func=ast.Name(id="list" | "tuple" | "range"), keywords=[]):
            return True
        case _:
            return False


def _listed(node: ast.expr, values: Values, what: str) -> tuple[Any, ...]:
    """The elements of a list, as a text writes it down."""
    found: Iterable[Any]
    match node:
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            found = [_alone(one, values, what) for one in parts]
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            found = (*_listed(left, values, what), *_listed(right, values, what))
        case ast.Call(func=ast.Name(id="list" | "tuple"), args=[inner], keywords=[]):
            found = _listed(inner, values, what)
        case ast.Call(func=ast.Name(id="range"), args=given, keywords=[]):
            numbers = [_alone(one, values, what) for one in given]
            if not 1 <= len(numbers) <= 3 or not all(type(one) is int for one in numbers):
                raise NoValue("range() takes one to three whole numbers")
            try:
                found = range(*numbers)
            except ValueError as error:
                raise NoValue(str(error)) from None
        case ast.ListComp(elt=each, generators=[one]) if isinstance(one.target, ast.Name):
            tests = one.ifs
            inner_values = [{**values, one.target.id: v} for v in _listed(one.iter, values, what)]
            found = [
                _alone(each, inner, what)
                for inner in inner_values
                if all(_alone(test, inner, what) for test in tests)
            ]
        case _:
            raise NoValue(f"{shown(ast.unparse(node))} is no list")
    try:
        long = len(found) > _MOST_ELEMENTS
    except OverflowError:
        long = True
    if long:
        raise NoValue(f"a list of more than {_MOST_ELEMENTS:,} elements")
    return tuple(found)


def _alone(node: ast.expr, values: Values, what: str) -> Any:
    """The value of what asks for no other names than these."""
    text = ast.unparse(node)
    found = Expression.of(text, what)
    for name in found.names:
        if name not in values:
            raise InvalidInput(
                f"{what}, {shown(text)}, names {shown(name)}", "write the values out"
            )
    return found.value(values)


def _read(node: ast.expr, names: dict[str, None]) -> _Run:
    """What computes a node; the names it asks for go into `names`."""
    match node:
        case ast.Constant(value=bool() | int() | float() | str() as value):
            if isinstance(value, int):
                _refuse_long(value.bit_length())
            return lambda _: value
        case ast.Name(id=name):
            names[name] = None
            return lambda values: values[name]
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
            runs = [_read(part, names) for part in parts]
            return lambda values: tuple([run(values) for run in runs])
        case ast.BinOp(left=left, op=op, right=right):
            return _binary(op, _read(left, names), _read(right, names))
        case ast.UnaryOp(op=op, operand=operand):
            return _unary(op, _read(operand, names))
        case ast.BoolOp(op=op, values=parts):
            return _boolean(op, [_read(part, names) for part in parts])
        case ast.Compare(left=left, ops=ops, comparators=others):
            return _comparison(ops, [_read(one, names) for one in (left, *others)])
        case ast.IfExp(test=test, body=body, orelse=orelse):
            asked, yes, no = (_read(one, names) for one in (test, body, orelse))
            return lambda values: yes(values) if asked(values) else no(values)
        case ast.Call(func=function, args=given, keywords=[]):
            return _call(_function(function), [_read(one, names) for one in given])
        case _:
            raise NoValue(f"{shown(ast.unparse(node))}, which has no place there")


def _binary(op: ast.operator, left: _Run, right: _Run) -> _Run:
    plain = _ARITHMETIC.get(type(op))
    if plain is not None:
        return lambda values: plain(_number(left(values)), _number(right(values)))
    bits = _BITS.get(type(op))
    if bits is None:
        raise NoValue(f"{type(op).__name__}, which has no place there")
    return lambda values: bits(_whole(left(values)), _whole(right(values)))


def _unary(op: ast.unaryop, run: _Run) -> _Run:
    match op:
        case ast.Not():
            return lambda values: not run(values)
        case ast.USub():
            return lambda values: -_number(run(values))
        case ast.UAdd():
            return lambda values: +_number(run(values))
        case _:
            return lambda values: ~_whole(run(values))


def _boolean(op: ast.boolop, runs: list[_Run]) -> _Run:
    """As Python does: the first that decides, or the last."""
    until = isinstance(op, ast.Or)

    def run(values: Values) -> Any:
        found: Any = None
        for one in runs:
            found = one(values)
            if bool(found) is until:
                break
        return found

    return run


def _comparison(ops: list[ast.cmpop], runs: list[_Run]) -> _Run:
    compared = [_COMPARED[type(op)] for op in ops]

    def run(values: Values) -> bool:
        left = runs[0](values)
        for compare, one in zip(compared, runs[1:], strict=True):
            right = one(values)
            if not compare(left, right):
                return False
            left = right
        return True

    return run


def _function(node: ast.expr) -> Callable[..., Any]:
    """A function by its name, also as one of a module that has it."""
    named = node
    if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") in _MODULES:
        named = ast.Name(node.attr)
    found = _FUNCTIONS.get(named.id) if isinstance(named, ast.Name) else None
    if found is None:
        raise NoValue(f"a call of {shown(ast.unparse(node))}, which has no place there")
    return found


def _call(function: Callable[..., Any], runs: list[_Run]) -> _Run:
    return lambda values: function(*[run(values) for run in runs])
