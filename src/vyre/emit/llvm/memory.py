"""Loads, stores and atomics: whole vectors where neighbours lie side by side, else lane by lane.

An index outside gives 0 or does nothing, as everywhere. What is proved, or holds in the interior of
a tile, is not checked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from vyre.emit.llvm.arithmetic import Arithmetic
from vyre.emit.llvm.builder import BOOL, U32, U64, Builder, scalar_type, stored_type
from vyre.emit.llvm.values import Shape, StagedAt, Value
from vyre.ir.declare import BufferDecl
from vyre.ir.expr import AtomicOp, BinaryOp
from vyre.ir.types import DataType

ZEROS = "@zeros"
"""Where a load from outside reads its 0: no element of the buffer need exist."""

NOWHERE = 0xFFFF_FFFF
"""The flat index of what is out of bounds."""


@dataclass(frozen=True, slots=True)
class Buffer:
    """A buffer as one function sees it."""

    decl: BufferDecl
    pointer: str
    length: Value
    dims: tuple[Value, ...] = ()  # of an array of several axes
    tables: tuple[str, ...] = ()  # a thread's own counters, several so that they do not wait


@dataclass(frozen=True, slots=True)
class Place:
    """An element's position, and the lanes for which it is inside; None is all of them."""

    index: Value
    inside: Value | None


class Memory:
    """Touches memory for the lanes of one builder."""

    def __init__(self, builder: Builder, arithmetic: Arithmetic) -> None:
        self.b, self.a = builder, arithmetic

    # -- positions

    def position(self, index: Value) -> Value:
        """An index in 32 or 64 bits."""
        if index.dtype.bits == 64:
            return self.a.bits(index, U64)
        if index.dtype.is_unsigned:
            return self.a.whole(index, U32)
        return index if index.dtype.bits == 32 else self.a.whole(index, DataType.I32)

    def below(self, index: Value, limit: Value) -> Value:
        """Whether an index is at least 0 and below a limit."""
        a = self.a
        if index.dtype == DataType.I32:
            plain = a.compare("ult", a.bits(index, U32), limit)
            return a.plain("and", plain, a.compare("sge", index, a.number(DataType.I32, 0)))
        return a.compare("ult", index, a.whole(limit, index.dtype))

    def within(self, buffer: Buffer, index: Value, *, free: bool) -> Place:
        """The place of one index."""
        at = self.position(index)
        if free or self._surely_inside(buffer, at):
            return Place(at, None)
        return Place(at, self.below(at, buffer.length))

    def _surely_inside(self, buffer: Buffer, at: Value) -> bool:
        count = buffer.decl.count
        return at.is_constant and 0 <= int(at.registers[0]) < count

    def flat(self, buffer: Buffer, indices: tuple[Value, ...], *, free: bool) -> Place:
        """The row-major place of indices, each axis checked."""
        a = self.a
        inside: Value | None = None
        flat: Value | None = None
        for index, dim in zip(indices, buffer.dims, strict=True):
            at = self.position(index)
            if not free:
                ok = self.below(at, dim)
                inside = ok if inside is None else a.plain("and", inside, ok)
            narrow = a.whole(at, U32)
            if flat is None:
                flat = narrow
            else:
                row = a.plain("mul", flat, dim)
                flat = a.binary(BinaryOp.ADD, row, narrow)
        assert flat is not None
        return Place(flat, inside)

    def flat_number(self, place: Place) -> Value:
        """A place as the number it is where a program computes with it."""
        if place.inside is None:
            return place.index
        return self.a.select(place.inside, place.index, self.a.number(U32, NOWHERE))

    # -- addresses

    def address(self, buffer: Buffer, index: Value) -> Value:
        """The address of one element for all lanes, or of the first lane's."""
        b, kind = self.b, stored_type(buffer.decl.element)
        source = scalar_type(index.dtype)

        def make(register: str) -> str:
            wide = register
            if index.dtype.bits < 64 and not index.is_constant:
                name = "sext" if index.dtype.is_signed else "zext"
                wide = b.op(f"{name} {source} {register} to i64")
            return b.op(f"getelementptr {kind}, ptr {buffer.pointer}, i64 {wide}")

        return b.map(U64, Shape.UNIFORM, make, index)

    def row_address(self, buffer: Buffer, index: Value) -> Value:
        """The address of the first lane, also where that lane lies before the buffer.

        A position of 32 bits that has wrapped below 0 is near 2**32: the lanes after it are at the
        buffer's first elements, so it counts as negative.
        """
        b = self.b
        if index.dtype != U32:
            return self.address(buffer, index)
        kind = stored_type(buffer.decl.element)

        def make(register: str) -> str:
            before = b.op(f"icmp ugt i32 {register}, {-b.width - 1}")
            below = b.op(f"sext i32 {register} to i64")
            above = b.op(f"zext i32 {register} to i64")
            wide = b.op(f"select i1 {before}, i64 {below}, i64 {above}")
            return b.op(f"getelementptr {kind}, ptr {buffer.pointer}, i64 {wide}")

        return b.map(U64, Shape.UNIFORM, make, index)

    def addresses(self, buffer: Buffer, index: Value) -> Value:
        """The address of each lane's element."""
        b, kind = self.b, stored_type(buffer.decl.element)
        at = b.vectors(index)
        source, wide = b.type(at.dtype), b.vector("i64")
        name = "sext" if at.dtype.is_signed else "zext"

        def make(register: str) -> str:
            if at.dtype.bits < 64:
                register = b.op(f"{name} {source} {register} to {wide}")
            return b.op(f"getelementptr {kind}, ptr {buffer.pointer}, {wide} {register}")

        return b.map(U64, Shape.VECTOR, make, at)

    # -- loads

    def load(self, buffer: Buffer, place: Place, mask: Value | None) -> Value:
        """The elements at a place; 0 where it is outside, anything where `mask` is not."""
        element = buffer.decl.element
        kind = stored_type(element)
        match place.index.shape:
            case Shape.UNIFORM if place.inside is None or place.inside.shape is Shape.UNIFORM:
                stored = self._load_one(buffer, place, kind)
            case Shape.LINEAR:
                stored = self._load_row(buffer, place, mask, kind)
            case _:
                stored = self._gather(buffer, place, mask, kind)
        return self.a.loaded(element, stored)

    def load_staged(self, buffer: Buffer, staged: StagedAt, number: Value) -> Value:
        """The vector of one round of a loop, from where its vectors were brought together."""
        b, element = self.b, buffer.decl.element
        kind = stored_type(element)
        skip = b.op(f"mul i64 {number.registers[0]}, {staged.stride}")
        at = b.op(f"getelementptr i8, ptr {staged.base}, i64 {skip}")
        text = f"load {b.vector(kind)}, ptr {at}, align {_align(kind)}"
        return self.a.loaded(element, Value(held_as(element), Shape.VECTOR, (b.op(text),)))

    def vector_bytes(self, buffer: Buffer) -> int:
        """What the lanes' elements take, side by side."""
        return self.b.width * _align(stored_type(buffer.decl.element))

    def copy_row(self, buffer: Buffer, source: str, target: str) -> None:
        """Copy the lanes' elements as they are."""
        b, kind = self.b, stored_type(buffer.decl.element)
        whole = b.vector(kind)
        row = b.op(f"load {whole}, ptr {source}, align {_align(kind)}")
        b.emit(f"store {whole} {row}, ptr {target}, align {_align(kind)}")

    def _load_one(self, buffer: Buffer, place: Place, kind: str) -> Value:
        b = self.b
        at = self.address(buffer, place.index)
        if place.inside is not None:
            at = b.map(
                U64,
                Shape.UNIFORM,
                lambda ok, p: b.op(f"select i1 {ok}, ptr {p}, ptr {ZEROS}"),
                place.inside,
                at,
            )
        return b.map(
            held_as(buffer.decl.element),
            Shape.UNIFORM,
            lambda p: b.op(f"load {kind}, ptr {p}, align {_align(kind)}"),
            at,
        )

    def _load_row(self, buffer: Buffer, place: Place, mask: Value | None, kind: str) -> Value:
        b, whole = self.b, self.b.vector(kind)
        stored = held_as(buffer.decl.element)
        lanes = b.both(mask, place.inside)
        if lanes is None:
            return b.map(
                stored,
                Shape.VECTOR,
                lambda p: b.op(f"load {whole}, ptr {p}, align {_align(kind)}"),
                self.address(buffer, place.index),
            )
        checked = place.inside is not None or mask is not None
        at = (self.row_address if checked else self.address)(buffer, place.index)
        name = f"llvm.masked.load.{b.suffix(kind)}.p0"
        types = ["ptr", "i32", b.type(BOOL), whole]

        def make(p: str, m: str) -> str:
            return b.call(whole, name, types, [p, str(_align(kind)), m, "zeroinitializer"])

        return b.map(stored, Shape.VECTOR, make, at, b.vectors(lanes))

    def _gather(self, buffer: Buffer, place: Place, mask: Value | None, kind: str) -> Value:
        b, whole = self.b, self.b.vector(kind)
        lanes = b.mask(b.both(mask, place.inside))
        pointers = b.vector("ptr")
        name = f"llvm.masked.gather.{b.suffix(kind)}.v{b.width}p0"
        types = [pointers, "i32", b.type(BOOL), whole]

        def make(p: str, m: str) -> str:
            return b.call(whole, name, types, [p, str(_align(kind)), m, "zeroinitializer"])

        found = self.addresses(buffer, place.index)
        return b.map(held_as(buffer.decl.element), Shape.VECTOR, make, found, lanes)

    # -- stores

    def store(self, buffer: Buffer, place: Place, value: Value, mask: Value | None) -> None:
        """Write the lanes of `mask` that are inside; where lanes meet, the last one's stays."""
        b = self.b
        element = buffer.decl.element
        kind = stored_type(element)
        stored = self.a.stored(element, value)
        rows = max(len(v.registers) for v in (stored, place.index, *_given(place.inside, mask)))
        index = place.index
        one = index.shape is Shape.UNIFORM and stored.shape is Shape.UNIFORM
        if one and (place.inside is None or place.inside.shape is Shape.UNIFORM):
            self._store_one(buffer, place, stored, mask, kind)
            return
        lanes, vectors = b.both(mask, place.inside), b.vectors(stored)
        whole = b.vector(kind)
        if index.shape is Shape.LINEAR and lanes is None:
            at = self.address(buffer, index)
            for row in range(rows):
                b.emit(f"store {whole} {vectors.at(row)}, ptr {at.at(row)}, align {_align(kind)}")
            return
        chosen, align = b.mask(lanes), str(_align(kind))
        if index.shape is Shape.LINEAR:
            at = self.row_address(buffer, index)
            name = f"llvm.masked.store.{b.suffix(kind)}.p0"
            types = [whole, "ptr", "i32", b.type(BOOL)]
        else:
            at = self.addresses(buffer, index)
            name = f"llvm.masked.scatter.{b.suffix(kind)}.v{b.width}p0"
            types = [whole, b.vector("ptr"), "i32", b.type(BOOL)]
        for row in range(rows):
            given = [vectors.at(row), at.at(row), align, chosen.at(row)]
            b.call("void", name, types, given)

    def _store_one(
        self, buffer: Buffer, place: Place, stored: Value, mask: Value | None, kind: str
    ) -> None:
        """One element for all lanes, if there are any; of rows, one after the other."""
        b = self.b
        at = self.address(buffer, place.index)
        values = (stored, at, *_given(place.inside, mask))
        for row in range(max(len(value.registers) for value in values)):
            tests = [] if place.inside is None else [place.inside.at(row)]
            if mask is not None:
                tests.append(b.any(Value(BOOL, Shape.VECTOR, (b.mask(mask).at(row),))))
            line = f"store {kind} {stored.at(row)}, ptr {at.at(row)}, align {_align(kind)}"
            self._where(tests, partial(b.emit, line))

    def _where(self, tests: list[str], act: Callable[[], object]) -> None:
        """Act where all tests hold."""
        b = self.b
        if not tests:
            act()
            return
        test = tests[0]
        for other in tests[1:]:
            test = b.op(f"and i1 {test}, {other}")
        yes, after = b.name(), b.name()
        b.branch(test, yes, after)
        b.place(yes)
        act()
        b.jump(after)
        b.place(after)

    # -- atomics

    def atomic(
        self,
        buffer: Buffer,
        place: Place,
        change: Change,
        mask: Value | None,
    ) -> Value:
        """What stood at each lane's element before it changed it, lane after lane; 0 outside."""
        b, dtype = self.b, buffer.decl.element
        one = b.width == 1
        shape = Shape.UNIFORM if one else Shape.VECTOR
        ready = [part if one else b.vectors(part) for part in change.operands]
        index = place.index if one else b.vectors(place.index)
        lanes = place.inside if one else b.both(mask, place.inside)
        lanes = lanes if one or lanes is None else b.vectors(lanes)
        values = (index, *ready, *_given(lanes, None))
        rows = max(len(value.registers) for value in values)
        found = []
        for row in range(rows):
            result = b.alloca(b.type(dtype, shape)) if change.is_read else ""
            if result:
                zero = "zeroinitializer" if not one else ("0.0" if dtype.is_float else "0")
                b.emit(f"store {b.type(dtype, shape)} {zero}, ptr {result}")
            rest = [value.at(row) for value in ready]
            chosen = None if lanes is None else lanes.at(row)
            if one:
                self._change(buffer, change, index.dtype, index.at(row), rest, chosen, result)
            else:
                self._lane_by_lane(buffer, change, index.dtype, index.at(row), rest, chosen, result)
            found.append(b.op(f"load {b.type(dtype, shape)}, ptr {result}") if result else "")
        if not change.is_read:
            return self.a.number(dtype, 0)
        return Value(dtype, shape, tuple(found))

    def _lane_by_lane(
        self,
        buffer: Buffer,
        change: Change,
        index_type: DataType,
        index: str,
        operands: list[str],
        chosen: str | None,
        result: str,
    ) -> None:
        b, dtype = self.b, buffer.decl.element
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

        inside = None if chosen is None else pick("i1", chosen)
        own = pick(scalar_type(index_type), index)
        given = [pick(scalar_type(dtype), operand) for operand in operands]
        place = result and b.op(f"getelementptr {scalar_type(dtype)}, ptr {result}, i32 {lane}")
        self._change(buffer, change, index_type, own, given, inside, place)
        b.emit(f"store i32 {b.op(f'add i32 {lane}, 1')}, ptr {counter}")
        b.jump(head)
        b.place(after)

    def _change(
        self,
        buffer: Buffer,
        change: Change,
        index_type: DataType,
        index: str,
        operands: list[str],
        inside: str | None,
        result: str,
    ) -> None:
        """One lane's change, where it is inside; the old element is put where `result` is."""
        b, dtype = self.b, buffer.decl.element
        kind = scalar_type(dtype)

        def act() -> None:
            own = Value(index_type, Shape.UNIFORM, (index,))
            at = self.address(buffer, own).registers[0]
            old = self._exchange(change.op, dtype, at, operands)
            if result:
                b.emit(f"store {kind} {old}, ptr {result}")

        if buffer.tables:
            self._count(buffer, change, index_type, index, operands, inside)
            return
        self._where([] if inside is None else [inside], act)

    def _count(
        self,
        buffer: Buffer,
        change: Change,
        index_type: DataType,
        index: str,
        operands: list[str],
        inside: str | None,
    ) -> None:
        """Add to the thread's own counters; what lies outside, to one that nobody looks at."""
        b = self.b
        own = Value(index_type, Shape.UNIFORM, (index,))
        at = self.a.whole(own, U64)
        if inside is not None:
            test = Value(BOOL, Shape.UNIFORM, (inside,))
            at = self.a.select(test, at, self.a.number(U64, buffer.decl.count))
        table = buffer.tables[change.turn % len(buffer.tables)]
        place = b.op(f"getelementptr i32, ptr {table}, i64 {at.registers[0]}")
        old = b.op(f"load i32, ptr {place}")
        b.emit(f"store i32 {b.op(f'add i32 {old}, {operands[0]}')}, ptr {place}")

    def _exchange(self, op: AtomicOp, dtype: DataType, at: str, operands: list[str]) -> str:
        b, kind = self.b, scalar_type(dtype)
        if op in (AtomicOp.COMPARE_EXCHANGE, AtomicOp.COMPARE_EXCHANGE_WEAK):
            expected, value = operands
            pair = b.op(f"cmpxchg ptr {at}, {kind} {expected}, {kind} {value} monotonic monotonic")
            return b.op(f"extractvalue {{ {kind}, i1 }} {pair}, 0")
        if dtype.is_float and op is not AtomicOp.EXCHANGE:
            return self._until_changed(op, dtype, at, operands[0])
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

    def _until_changed(self, op: AtomicOp, dtype: DataType, at: str, operand: str) -> str:
        """A float's read-modify-write by compare-exchange, with the language's own min and max."""
        b, kind = self.b, scalar_type(dtype)
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
            new = self.a.plain("fadd", old, value)
        else:
            new = self.a.extreme(BinaryOp.MIN if op is AtomicOp.MIN else BinaryOp.MAX, old, value)
        bits = b.op(f"bitcast {kind} {new.registers[0]} to {whole}")
        pair = b.op(f"cmpxchg ptr {at}, {whole} {seen}, {whole} {bits} monotonic monotonic")
        b.emit(f"store {whole} {b.op(f'extractvalue {{ {whole}, i1 }} {pair}, 0')}, ptr {last}")
        b.branch(b.op(f"extractvalue {{ {whole}, i1 }} {pair}, 1"), after, again)
        b.place(after)
        return old.registers[0]


@dataclass(frozen=True, slots=True)
class Change:
    """An atomic's operation and operands; `expected` comes first where there is one."""

    op: AtomicOp
    operands: tuple[Value, ...]
    is_read: bool  # whether anybody looks at what stood there before
    turn: int = 0  # which of several tables of counters is next


def held_as(element: DataType) -> DataType:
    """The type of what memory holds of an element."""
    if element.is_bool:
        return U32
    return element if element == element.computed else DataType.U16


def _given(*values: Value | None) -> tuple[Value, ...]:
    return tuple(value for value in values if value is not None)


def _align(kind: str) -> int:
    return {"float": 4, "double": 8}.get(kind) or int(kind[1:]) // 8
