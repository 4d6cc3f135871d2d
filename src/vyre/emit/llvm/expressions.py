"""Expressions over lanes in lockstep."""

from __future__ import annotations

from vyre.emit.llvm import memory
from vyre.emit.llvm.arithmetic import Instructions, binary, cast, fma, unary
from vyre.emit.llvm.builder import U32, U64, Builder
from vyre.emit.llvm.context import Access, Context
from vyre.emit.llvm.functions import call
from vyre.emit.llvm.memory import Cells, Change, Place
from vyre.emit.llvm.values import Shape, Slot, Value
from vyre.errors import UnsupportedFeature
from vyre.ir.expr import (
    Ahead,
    Alike,
    Array,
    Atomic,
    AtomicOp,
    Binary,
    BinaryOp,
    Bitcast,
    BufDim,
    BufLen,
    Cast,
    Element,
    Expr,
    FlatIndex,
    Fma,
    FromLane,
    Id,
    Lane,
    Lit,
    Load,
    Select,
    Share,
    Unary,
    Var,
)
from vyre.ir.functions import definition
from vyre.ir.text import expr_text


class Expressions:
    """Emits expressions where a body stands: its names, its lanes, its statement."""

    __slots__ = ()

    b: Builder
    do: Instructions
    context: Context
    mask: Value | None
    names: dict[str, Value | Slot | Cells]
    statement: str
    unchecked: frozenset[Access]

    def taken(self, slot: Slot) -> Value:
        kind = self.b.type(slot.dtype, slot.shape)
        registers = tuple(self.b.op(f"load {kind}, ptr {place}") for place in slot.places)
        return Value(slot.dtype, slot.shape, registers)

    def expr(self, expr: Expr) -> Value:
        """The value of an expression for the lanes that are here."""
        match expr:
            case Lit(dtype, bits):
                return self.b.literal(dtype, bits)
            case Var(name):
                found = self.names[name]
                assert not isinstance(found, Cells), "arrays are taken element by element"
                return self.taken(found) if isinstance(found, Slot) else found
            case Load(buffer):
                return self.load(expr)
            case BufLen(buffer):
                return self.length(buffer)
            case BufDim(buffer, axis):
                return self.dim(buffer, axis)
            case Id(kind, axis):
                return self.context.ids(kind, axis)
            case FlatIndex(buffer, indices):
                parts = tuple(self.expr(part) for part in indices)
                held = self.context.buffers[buffer]
                return memory.flat_number(
                    self.do, memory.flat_place(self.do, held, parts, free=False)
                )
            case Binary(op, left, right):
                a, b = self.expr(left), self.expr(right)
                return binary(self.do, op, a, b) or self.function(expr, a, b)
            case Unary(op, operand):
                a = self.expr(operand)
                return unary(self.do, op, a) or self.function(expr, a)
            case Select(cond, true, false):
                return self.do.select(self.expr(cond), self.expr(true), self.expr(false))
            case Cast(target, value):
                return cast(self.do, target, self.expr(value))
            case Bitcast(target, value):
                return self.do.bits(self.expr(value), target)
            case Fma(a, b, c):
                return fma(self.do, self.expr(a), self.expr(b), self.expr(c))
            case Element(array, indices):
                parts = tuple(self.expr(part) for part in indices)
                return memory.element(self.do, self.cells(array), parts)
            case Atomic():
                return self.atomic(expr, is_read=True)
            case Lane():
                return Value(U32, Shape.LINEAR, ("0",), never_wraps=True)
            case Share():
                assert self.context.share is not None, "its code has shares"
                return self.context.share
            case FromLane(value, away):
                return self.from_lane(self.expr(value), away)
            case Alike(value, lane):
                return self.one_of(self.expr(value), lane)
            case Ahead(start, by):
                return self.expr(Binary(BinaryOp.ADD, start, by))
            case _:
                raise self.refusal(expr)

    def cells(self, array: Expr) -> Cells:
        """Where an array is: the one that a name holds, or constants."""
        if isinstance(array, Var):
            held = self.names[array.name]
            assert isinstance(held, Cells), "elements are of arrays"
            return held
        assert isinstance(array, Array), "an element is of a name or of constants"
        return memory.table(self.b, array)

    def from_lane(self, value: Value, away: int) -> Value:
        """What the lanes have whose numbers differ in the bits of `away`."""
        if value.shape is Shape.UNIFORM:
            return value
        found = self.b.vectors(value)
        kind = self.b.type(found.dtype)
        places = ", ".join(f"i32 {lane ^ away}" for lane in range(self.b.width))
        order = f"<{self.b.width} x i32> <{places}>"
        return self.b.map(
            found.dtype,
            Shape.VECTOR,
            lambda r: self.b.op(f"shufflevector {kind} {r}, {kind} poison, {order}"),
            found,
        )

    def one_of(self, value: Value, lane: int) -> Value:
        """What a lane has, as one value for all."""
        if value.shape is not Shape.VECTOR:
            return value
        kind = self.b.type(value.dtype)
        return self.b.map(
            value.dtype,
            Shape.UNIFORM,
            lambda r: self.b.op(f"extractelement {kind} {r}, i64 {lane}"),
            value,
        )

    def function(self, expr: Binary | Unary, *values: Value) -> Value:
        """A function of values that is called by name."""
        if definition(expr.op, values[0].dtype) is None:
            raise self.refusal(expr)
        return call(self.b, expr.op, *values)

    def refusal(self, expr: Expr) -> UnsupportedFeature:
        return UnsupportedFeature(
            f"{self.statement}: no device code for {expr_text(expr)}",
            "leave it out, or run the program elsewhere",
        )

    def length(self, buffer: str) -> Value:
        if buffer in self.context.scalars:
            return self.do.number(U32, 1)
        return self.context.buffers[buffer].length

    def dim(self, buffer: str, axis: int) -> Value:
        held = self.context.buffers.get(buffer)
        return held.dims[axis] if held is not None and held.dims else self.length(buffer)

    def place(self, buffer: str, index: Expr) -> Place:
        held = self.context.buffers[buffer]
        access = (buffer, self.statement, index)
        free = access in self.unchecked or self.context.is_free(*access)
        if isinstance(index, FlatIndex) and index.buffer == buffer and held.dims:
            parts = tuple(self.expr(part) for part in index.indices)
            return memory.flat_place(self.do, held, parts, free=free)
        return memory.place(self.do, held, self.expr(index), free=free)

    def load(self, expr: Load) -> Value:
        scalar = self.context.scalars.get(expr.buffer)
        if scalar is not None:
            if isinstance(expr.index, Lit) and expr.index.value == 0:
                return scalar
            raise UnsupportedFeature(
                f"{self.statement}: index into the scalar {expr.buffer!r}", "read it at index 0"
            )
        held = self.context.buffers[expr.buffer]
        staged = self.context.staged.get((expr.buffer, self.statement, expr.index))
        if staged is not None:
            round_ = self.do.plain("sub", self.expr(Var(staged.var)), staged.start)
            return memory.load_staged(self.do, held, staged, self.do.whole(round_, U64))
        place = self.place(expr.buffer, expr.index)
        if (expr.buffer, self.statement, expr.index) in self.context.guarded:
            place = memory.reached(self.do, place, self.mask)
        return memory.load(self.do, held, place, self.mask)

    def atomic(self, expr: Atomic, *, is_read: bool) -> Value:
        if expr.op is AtomicOp.LRU_UPDATE:
            raise self.refusal(expr)
        place = self.place(expr.buffer, expr.index)
        given = [expr.expected] if expr.expected is not None else []
        values = tuple(self.expr(part) for part in (*given, expr.value))
        change = Change(expr.op, values, is_read, self.context.turn)
        return memory.atomic(self.do, self.context.buffers[expr.buffer], place, change, self.mask)
