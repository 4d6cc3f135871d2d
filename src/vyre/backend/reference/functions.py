"""Elementary functions: the definitions of `vyre.ir.functions`, over arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, partial

import numpy as np

from vyre.backend.reference.convert import convert
from vyre.backend.reference.fused import fma
from vyre.ir import arithmetic
from vyre.ir.arithmetic import Operator, Value
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
from vyre.ir.functions import ULP, Definition, definition
from vyre.ir.node import Assign, If, Let, Node, While
from vyre.ir.storage import COMPUTED
from vyre.ir.types import DataType
from vyre.ir.walk import operands

_Names = dict[str, Value]
_DTYPES = {np.dtype(np.float32): DataType.F32, np.dtype(np.float64): DataType.F64}


def run(function: Definition, *arguments: Value) -> Value:
    """The result of a definition for every element."""
    names: _Names = dict(zip(function.parameters, arguments, strict=True))
    for node, done in _steps(function):
        _step(node, names, None)
        for name in done:
            names.pop(name, None)  # a branch that no element took bound none
    return _value(function.result, names)


@cache
def _steps(function: Definition) -> tuple[tuple[Node, tuple[str, ...]], ...]:
    """The statements, each with the names that nothing after it reads.

    Those are let go, so that the arrays alive at once stay in cache.
    """
    alive = set(_names_in(function.result))
    steps = []
    for node in reversed(function.body):
        used = set(_names_of(node))
        steps.append((node, tuple(sorted(used - alive))))
        alive |= used
    return tuple(reversed(steps))


def _names_of(node: Node) -> Iterator[str]:
    match node:
        case Let(name, value) | Assign(name, value):
            yield name
            yield from _names_in(value)
        case If(cond, then, otherwise):
            yield from _names_in(cond)
            for inner in (*then, *otherwise):
                yield from _names_of(inner)
        case While(cond, body):
            yield from _names_in(cond)
            for inner in body:
                yield from _names_of(inner)
        case _:
            raise AssertionError(f"{type(node).__name__} in a definition")


def _names_in(expr: Expr) -> Iterator[str]:
    if isinstance(expr, Var):
        yield expr.name
    for part in operands(expr):
        yield from _names_in(part)


def _step(node: Node, names: _Names, mask: Value | None) -> None:
    """One statement, for the elements of `mask` or for all of them."""
    match node:
        case Let(name, expr):
            names[name] = _value(expr, names)
        case Assign(name, expr):
            value = _value(expr, names)
            names[name] = value if mask is None else np.where(mask, value, names[name])
        case If(cond, then, ()):
            test = _both(mask, _value(cond, names))
            if test.any():
                for inner in then:
                    _step(inner, names, test)
        case While(cond, body):
            while (test := _both(mask, _value(cond, names))).any():
                for inner in body:
                    _step(inner, names, test)
        case _:
            raise AssertionError(f"{type(node).__name__} in a definition")


def _both(mask: Value | None, test: Value) -> Value:
    return test if mask is None else mask & test


def _value(expr: Expr, names: _Names) -> Value:
    match expr:
        case Var(name):
            return names[name]
        case Lit(dtype, bits):
            return _literal(dtype, bits)
        case Fma(a, b, c):
            return fma(_value(a, names), _value(b, names), _value(c, names))
        case Binary(op, left, right):
            return arithmetic.BINARY[op](_value(left, names), _value(right, names))
        case Select(cond, true, false):
            return np.where(_value(cond, names), _value(true, names), _value(false, names))
        case Unary(op, operand):
            return arithmetic.UNARY[op](_value(operand, names))
        case Bitcast(target, operand):
            return _value(operand, names).view(COMPUTED[target.tag])
        case Cast(target, operand):
            return convert(_value(operand, names), target)
        case _:
            raise AssertionError(f"{type(expr).__name__} in a definition")


@cache
def _literal(dtype: DataType, bits: int) -> Value:
    kind = COMPUTED[dtype.tag]
    if dtype.is_bool:
        return np.asarray(bool(bits))
    return np.asarray(bits, f"u{kind.itemsize}").view(kind)


def _defined(op: UnaryOp | BinaryOp, *arguments: Value) -> Value:
    function = definition(op, _DTYPES[arguments[0].dtype])
    assert function is not None, op
    return run(function, *arguments)


# What NumPy computes exactly (fmod, copysign and flooring division) it computes much faster.
UNARY: Mapping[UnaryOp, Operator] = {
    op: partial(_defined, op)
    for op, _ in ULP
    if isinstance(op, UnaryOp) and op not in arithmetic.UNARY
}
BINARY: Mapping[BinaryOp, Operator] = {
    op: partial(_defined, op)
    for op, _ in ULP
    if isinstance(op, BinaryOp) and op not in arithmetic.BINARY
}
