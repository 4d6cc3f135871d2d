"""Atomics: one lane after the other, in the order of lanes."""

from __future__ import annotations

from dataclasses import dataclass

from vyre.emit.llvm.arithmetic import Instructions, extreme
from vyre.emit.llvm.builder import BOOL, U64, scalar_type
from vyre.emit.llvm.memory.buffers import Buffer, Place
from vyre.emit.llvm.memory.places import address
from vyre.emit.llvm.shapes import where
from vyre.emit.llvm.values import Shape, Value
from vyre.ir.expr import AtomicOp, BinaryOp
from vyre.ir.types import DataType


@dataclass(frozen=True, slots=True)
class Change:
    """An atomic's operation and operands; `expected` comes first where there is one."""

    op: AtomicOp
    operands: tuple[Value, ...]
    is_read: bool  # whether anybody looks at what stood there before
    turn: int = 0  # which of several tables of counters is next


@dataclass(frozen=True, slots=True)
class _Turn:
    """What one lane changes, or a whole row of them one after the other."""

    index: Value
    operands: tuple[str, ...]
    inside: str | None  # a test, or a mask of the row
    result: str  # where what stood there before is put; empty where nobody looks at it


def atomic(
    do: Instructions, buffer: Buffer, place: Place, change: Change, mask: Value | None
) -> Value:
    """What stood at each lane's element before it changed it, lane after lane; 0 outside."""
    b, dtype = do.b, buffer.decl.element
    one = b.width == 1
    shape = Shape.UNIFORM if one else Shape.VECTOR
    ready = [part if one else b.vectors(part) for part in change.operands]
    index = place.index if one else b.vectors(place.index)
    lanes = place.inside if one else b.both(mask, place.inside)
    lanes = lanes if one or lanes is None else b.vectors(lanes)
    found = []
    for row in range(b.rows):  # also where all rows change one element by one number
        result = b.alloca(b.type(dtype, shape)) if change.is_read else ""
        if result:
            zero = "zeroinitializer" if not one else ("0.0" if dtype.is_float else "0")
            b.emit(f"store {b.type(dtype, shape)} {zero}, ptr {result}")
        turn = _Turn(
            Value(index.dtype, shape, (index.at(row),)),
            tuple(value.at(row) for value in ready),
            None if lanes is None else lanes.at(row),
            result,
        )
        (_change if one else _lane_by_lane)(do, buffer, change, turn)
        found.append(b.op(f"load {b.type(dtype, shape)}, ptr {result}") if result else "")
    if not change.is_read:
        return do.number(dtype, 0)
    return Value(dtype, shape, tuple(found))


def _lane_by_lane(do: Instructions, buffer: Buffer, change: Change, row: _Turn) -> None:
    b, kind = do.b, scalar_type(buffer.decl.element)
    counter = b.alloca("i32")
    head, body, after = b.name(), b.name(), b.name()
    b.emit(f"store i32 0, ptr {counter}")
    b.jump(head)
    b.place(head)
    lane = b.op(f"load i32, ptr {counter}")
    b.branch(b.op(f"icmp ult i32 {lane}, {b.width}"), body, after)
    b.place(body)

    def pick(kind: str, register: str) -> str:
        return b.op(f"extractelement {b.vector(kind)} {register}, i32 {lane}")

    inside = None if row.inside is None else pick("i1", row.inside)
    index = pick(scalar_type(row.index.dtype), row.index.registers[0])
    operands = tuple(pick(kind, operand) for operand in row.operands)
    result = row.result and b.op(f"getelementptr {kind}, ptr {row.result}, i32 {lane}")
    own = Value(row.index.dtype, Shape.UNIFORM, (index,))
    _change(do, buffer, change, _Turn(own, operands, inside, result))
    b.emit(f"store i32 {b.op(f'add i32 {lane}, 1')}, ptr {counter}")
    b.jump(head)
    b.place(after)


def _change(do: Instructions, buffer: Buffer, change: Change, lane: _Turn) -> None:
    """One lane's change, where it is inside."""
    b, dtype = do.b, buffer.decl.element

    def act() -> None:
        at = address(do, buffer, lane.index).registers[0]
        old = _exchange(do, change.op, dtype, at, lane.operands)
        if lane.result:
            b.emit(f"store {scalar_type(dtype)} {old}, ptr {lane.result}")

    if buffer.tables:
        _count(do, buffer, change.turn, lane)
    else:
        where(b, [] if lane.inside is None else [lane.inside], act)


def _count(do: Instructions, buffer: Buffer, turn: int, lane: _Turn) -> None:
    """Add to the thread's own counters; what lies outside, to one that nobody looks at."""
    b = do.b
    at = do.whole(lane.index, U64)
    if lane.inside is not None:
        test = Value(BOOL, Shape.UNIFORM, (lane.inside,))
        at = do.select(test, at, do.number(U64, buffer.decl.count))
    table = buffer.tables[turn % len(buffer.tables)]
    place = b.op(f"getelementptr i32, ptr {table}, i64 {at.registers[0]}")
    old = b.op(f"load i32, ptr {place}")
    b.emit(f"store i32 {b.op(f'add i32 {old}, {lane.operands[0]}')}, ptr {place}")


def _exchange(
    do: Instructions, op: AtomicOp, dtype: DataType, at: str, operands: tuple[str, ...]
) -> str:
    b, kind = do.b, scalar_type(dtype)
    if op in (AtomicOp.COMPARE_EXCHANGE, AtomicOp.COMPARE_EXCHANGE_WEAK):
        expected, value = operands
        pair = b.op(f"cmpxchg ptr {at}, {kind} {expected}, {kind} {value} monotonic monotonic")
        return b.op(f"extractvalue {{ {kind}, i1 }} {pair}, 0")
    if dtype.is_float and op is not AtomicOp.EXCHANGE:
        return _until_changed(do, op, dtype, at, operands[0])
    names = {
        AtomicOp.ADD: "add",
        AtomicOp.OR: "or",
        AtomicOp.AND: "and",
        AtomicOp.XOR: "xor",
        AtomicOp.EXCHANGE: "xchg",
        AtomicOp.FETCH_NAND: "nand",
        AtomicOp.MIN: "min" if dtype.is_signed else "umin",
        AtomicOp.MAX: "max" if dtype.is_signed else "umax",
    }
    return b.op(f"atomicrmw {names[op]} ptr {at}, {kind} {operands[0]} monotonic")


def _until_changed(do: Instructions, op: AtomicOp, dtype: DataType, at: str, operand: str) -> str:
    """A float's read-modify-write by compare-exchange, with the language's own min and max."""
    b, kind = do.b, scalar_type(dtype)
    whole = f"i{dtype.bits}"
    last = b.alloca(whole)
    first = b.op(f"load atomic {whole}, ptr {at} monotonic, align {dtype.bits // 8}")
    b.emit(f"store {whole} {first}, ptr {last}")
    again, after = b.name(), b.name()
    b.jump(again)
    b.place(again)
    seen = b.op(f"load {whole}, ptr {last}")
    old = Value(dtype, Shape.UNIFORM, (b.op(f"bitcast {whole} {seen} to {kind}"),))
    value = Value(dtype, Shape.UNIFORM, (operand,))
    if op is AtomicOp.ADD:
        new = do.plain("fadd", old, value)
    else:
        new = extreme(do, BinaryOp.MIN if op is AtomicOp.MIN else BinaryOp.MAX, old, value)
    bits = b.op(f"bitcast {kind} {new.registers[0]} to {whole}")
    pair = b.op(f"cmpxchg ptr {at}, {whole} {seen}, {whole} {bits} monotonic monotonic")
    b.emit(f"store {whole} {b.op(f'extractvalue {{ {whole}, i1 }} {pair}, 0')}, ptr {last}")
    b.branch(b.op(f"extractvalue {{ {whole}, i1 }} {pair}, 1"), after, again)
    b.place(after)
    return old.registers[0]
