"""Builders short enough to write programs by hand."""

from __future__ import annotations

from collections.abc import Iterable

from vyre.ir.expr import (
    Array,
    Atomic,
    AtomicOp,
    Binary,
    BinaryOp,
    Bitcast,
    BufDim,
    BufLen,
    Call,
    Cast,
    Element,
    Expr,
    FlatIndex,
    Fma,
    Id,
    IdKind,
    Lit,
    Load,
    Operand,
    Ordering,
    Put,
    Select,
    Unary,
    UnaryOp,
    Var,
    lift,
)
from vyre.ir.node import (
    Assign,
    Barrier,
    Block,
    Break,
    Continue,
    If,
    Let,
    Loop,
    Node,
    Print,
    Reduce,
    ReduceOp,
    Region,
    Return,
    Store,
    Trap,
    While,
    Yield,
)
from vyre.ir.types import DataType


def lit(dtype: DataType, value: float) -> Expr:
    return Lit.of(dtype, value)


def u32(value: int) -> Expr:
    return Lit.of(DataType.U32, value)


def i32(value: int) -> Expr:
    return Lit.of(DataType.I32, value)


def f32(value: float) -> Expr:
    return Lit.of(DataType.F32, value)


def f64(value: float) -> Expr:
    return Lit.of(DataType.F64, value)


def bool_(value: bool) -> Expr:
    return Lit.of(DataType.BOOL, value)


def var(name: str) -> Expr:
    return Var(name)


def load(buffer: str, index: Operand) -> Expr:
    return Load(buffer, lift(index))


def buf_len(buffer: str) -> Expr:
    return BufLen(buffer)


def buf_dim(buffer: str, axis: int) -> Expr:
    return BufDim(buffer, axis)


def flat_index(buffer: str, *indices: Operand) -> Expr:
    return FlatIndex(buffer, tuple(lift(index) for index in indices))


def gid(axis: int = 0) -> Expr:
    return Id(IdKind.INVOCATION, axis)


def local_id(axis: int = 0) -> Expr:
    return Id(IdKind.LOCAL, axis)


def workgroup_id(axis: int = 0) -> Expr:
    return Id(IdKind.WORKGROUP, axis)


def workgroup_size(axis: int = 0) -> Expr:
    return Id(IdKind.WORKGROUP_SIZE, axis)


def extent(axis: int = 0) -> Expr:
    return Id(IdKind.EXTENT, axis)


def binary(op: BinaryOp, left: Operand, right: Operand) -> Expr:
    return Binary(op, lift(left), lift(right))


def unary(op: UnaryOp, operand: Operand) -> Expr:
    return Unary(op, lift(operand))


def select(cond: Operand, true: Operand, false: Operand) -> Expr:
    return Select(lift(cond), lift(true), lift(false))


def cast(target: DataType, value: Operand) -> Expr:
    return Cast(target, lift(value))


def bitcast(target: DataType, value: Operand) -> Expr:
    return Bitcast(target, lift(value))


def fma(a: Operand, b: Operand, c: Operand) -> Expr:
    return Fma(lift(a), lift(b), lift(c))


def call(op_id: str, *args: Operand) -> Expr:
    return Call(op_id, tuple(lift(arg) for arg in args))


def array(dtype: DataType, *shape: int) -> Expr:
    """An array of zeros."""
    return Array(dtype, shape)


def table(dtype: DataType, shape: tuple[int, ...], values: Iterable[complex]) -> Expr:
    """An array of constants, row by row."""
    return Array.of(dtype, shape, values)


def element(held: Operand | str, *indices: Operand) -> Expr:
    """One element of a table, or of the array that a name holds."""
    whole = Var(held) if isinstance(held, str) else lift(held)
    return Element(whole, tuple(lift(index) for index in indices))


def put(name: str, indices: Operand | tuple[Operand, ...], value: Operand) -> Node:
    """Give one element of the array that a name holds another value."""
    places = indices if isinstance(indices, tuple) else (indices,)
    return Assign(name, Put(Var(name), tuple(lift(index) for index in places), lift(value)))


def atomic(
    op: AtomicOp,
    buffer: str,
    index: Operand,
    value: Operand,
    expected: Operand | None = None,
    *,
    ordering: Ordering = Ordering.RELAXED,
) -> Expr:
    compared = None if expected is None else lift(expected)
    return Atomic(op, buffer, lift(index), lift(value), compared, ordering)


def let(name: str, value: Operand) -> Node:
    return Let(name, lift(value))


def assign(name: str, value: Operand) -> Node:
    return Assign(name, lift(value))


def store(buffer: str, index: Operand, value: Operand) -> Node:
    return Store(buffer, lift(index), lift(value))


def if_(cond: Operand, then: Iterable[Node], otherwise: Iterable[Node] = ()) -> Node:
    return If(lift(cond), tuple(then), tuple(otherwise))


def loop(name: str, start: Operand, stop: Operand, body: Iterable[Node]) -> Node:
    return Loop(name, lift(start), lift(stop), tuple(body))


def while_(cond: Operand, body: Iterable[Node]) -> Node:
    return While(lift(cond), tuple(body))


def reduce_(
    name: str, op: ReduceOp, dtype: DataType, var: str, *, rounds: Operand, body: Iterable[Node]
) -> Node:
    return Reduce(name, op, dtype, var, lift(rounds), tuple(body))


def yield_(value: Operand) -> Node:
    return Yield(lift(value))


def break_() -> Node:
    return Break()


def continue_() -> Node:
    return Continue()


def block(body: Iterable[Node]) -> Node:
    return Block(tuple(body))


def region(generator: str, body: Iterable[Node], source_region: str | None = None) -> Node:
    return Region(generator, tuple(body), source_region)


def return_() -> Node:
    return Return()


def print_(*parts: str | tuple[Operand, DataType] | tuple[Operand, DataType, str]) -> Node:
    """Says a line: texts, and values with their types and, where they need one, their formats."""
    texts, values, dtypes, formats = [""], list[Expr](), list[DataType](), list[str]()
    for part in parts:
        if isinstance(part, str):
            texts[-1] += part
            continue
        values.append(lift(part[0]))
        dtypes.append(part[1])
        formats.append(part[2] if len(part) > 2 else "")
        texts.append("")
    return Print(tuple(texts), tuple(values), tuple(dtypes), tuple(formats))


def trap(token: str, address: Operand = 0) -> Node:
    """Ends the invocation, and the launch with an error that says `token`."""
    return Trap(lift(address), token)


def barrier(ordering: Ordering = Ordering.SEQ_CST) -> Node:
    return Barrier(ordering)
