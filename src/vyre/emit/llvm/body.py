"""Statements and expressions over lanes in lockstep: masks where they part, branches where not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from vyre.emit.lanes import Variation
from vyre.emit.llvm import memory
from vyre.emit.llvm.arithmetic import Instructions, binary, cast, fma, unary
from vyre.emit.llvm.builder import BOOL, U32, Builder, scalar_type
from vyre.emit.llvm.functions import call
from vyre.emit.llvm.memory import Buffer, Change, Place
from vyre.emit.llvm.values import Shape, Slot, Value
from vyre.errors import UnsupportedFeature
from vyre.ir.expr import (
    Atomic,
    Binary,
    Bitcast,
    BufDim,
    BufLen,
    Cast,
    Expr,
    FlatIndex,
    Fma,
    Id,
    IdKind,
    Lit,
    Load,
    Select,
    Unary,
    Var,
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
    Region,
    Return,
    Store,
    While,
)
from vyre.ir.text import expr_text, statement_text
from vyre.ir.walk import statements

Ids = Callable[[IdKind, int], Value]
IsFree = Callable[[str, str, Expr], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a program's statements mean where they are emitted."""

    buffers: Mapping[str, Buffer]
    scalars: Mapping[str, Value]
    ids: Ids
    is_free: IsFree  # whether an access of a buffer, in a statement, at an index needs no check
    across: Variation  # what differs between lanes
    down: Variation  # what differs between rows
    assigned: frozenset[str]  # names that are given more than one value
    read_names: frozenset[str]
    unroll: int = 1
    turn: int = 0


@dataclass(slots=True)
class _Leaving:
    """Where lanes go that leave a loop: by a jump of all of them, or out of a mask."""

    stop: str  # a label, or the place of a mask
    again: str
    jumps: bool


@dataclass(slots=True)
class Body:
    """Emits the statements of one program for the lanes and rows of one builder."""

    b: Builder
    context: Context
    end: str  # the label behind the last statement
    mask: Value | None = None
    names: dict[str, Value | Slot] = field(default_factory=dict)
    alive: list[tuple[str, ...]] = field(default_factory=list)  # masks that lanes leave by
    loop: _Leaving | None = None
    returned: tuple[str, ...] = ()
    statement: str = ""
    do: Instructions = field(init=False)

    def __post_init__(self) -> None:
        self.do = Instructions(self.b)

    # -- masks in memory, one for each row

    def new_mask(self, value: Value | None) -> tuple[str, ...]:
        kind = self.b.type(BOOL)
        places = tuple(self.b.alloca(kind) for _ in range(self.b.rows))
        whole = self.b.mask(value)
        for row, place in enumerate(places):
            self.b.emit(f"store {kind} {whole.at(row)}, ptr {place}")
        return places

    def mask_at(self, places: tuple[str, ...]) -> Value:
        kind = self.b.type(BOOL)
        registers = tuple(self.b.op(f"load {kind}, ptr {place}") for place in places)
        return Value(BOOL, Shape.VECTOR, registers)

    def put_mask(self, places: tuple[str, ...], value: Value) -> None:
        kind = self.b.type(BOOL)
        for row, place in enumerate(places):
            self.b.emit(f"store {kind} {value.at(row)}, ptr {place}")

    def drop(self, places: tuple[str, ...]) -> None:
        """The lanes that are here leave."""
        here = self.b.neither(self.b.mask(self.mask))
        left = self.b.both(self.mask_at(places), here)
        assert left is not None
        self.put_mask(places, left)

    def narrow(self) -> None:
        """Go on with the lanes that have not left."""
        for places in self.alive:
            self.mask = self.b.both(self.mask, self.mask_at(places))

    # -- statements

    def run(self, nodes: Sequence[Node]) -> None:
        """Statements that may end lanes before the last of them."""
        if self.b.width > 1 and any(isinstance(node, Return) for node in statements(nodes)):
            self.returned = self.new_mask(None)
            self.alive = [self.returned]
        self.list(nodes)

    def list(self, nodes: Sequence[Node]) -> None:
        before = dict(self.names)
        for node in nodes:
            self.step(node)
            if self.alive and _leaves(node):
                self.narrow()
        self.names = {name: self.names[name] for name in before}

    def step(self, node: Node) -> None:
        match node:
            case Block(body) | Region(_, body):
                self.list(body)
                return
            case If() | Loop() | While():
                pass
            case _:
                pass
        self.statement = statement_text(node)
        match node:
            case Let(name, Atomic() as expr):
                self.give(name, self.atomic(expr, is_read=name in self.context.read_names))
            case Let(name, value):
                self.give(name, self.expr(value))
            case Assign(name, value):
                self.assign(name, self.expr(value))
            case Store(buffer, index, value):
                given = self.expr(value)
                place = self.place(buffer, index)
                memory.store(self.do, self.context.buffers[buffer], place, given, self.mask)
            case If(cond, then, otherwise):
                self.branches(self.expr(cond), then, otherwise)
            case Loop(var, start, stop, body):
                self.counted(node, var, self.expr(start), self.expr(stop), body)
            case While(cond, body):
                self.repeated(node, cond, body)
            case Break() | Continue():
                self.leave(node)
            case Return():
                self.finish()
            case Barrier():
                pass  # lanes are in lockstep
            case _:
                raise UnsupportedFeature(
                    f"{self.statement}: no device code for {type(node).__name__}",
                    "leave it out, or run the program elsewhere",
                )

    def give(self, name: str, value: Value) -> None:
        """Bind a new name."""
        if name not in self.context.assigned:
            self.names[name] = value
            return
        slot = self.slot(name, value)
        self.names[name] = slot
        self.put(slot, value)

    def slot(self, name: str, value: Value) -> Slot:
        varies = self.b.width > 1 and name in self.context.across.names
        shape = Shape.VECTOR if varies else Shape.UNIFORM
        rows = self.b.rows if name in self.context.down.names else 1
        kind = self.b.type(value.dtype, shape)
        return Slot(value.dtype, shape, tuple(self.b.alloca(kind) for _ in range(rows)))

    def put(self, slot: Slot, value: Value) -> None:
        whole = self.b.vectors(value) if slot.shape is Shape.VECTOR else value
        kind = self.b.type(slot.dtype, slot.shape)
        for row, place in enumerate(slot.places):
            self.b.emit(f"store {kind} {whole.at(row)}, ptr {place}")

    def assign(self, name: str, value: Value) -> None:
        slot = self.names[name]
        assert isinstance(slot, Slot)
        if slot.shape is Shape.VECTOR and self.mask is not None:
            value = self.do.select(self.mask, value, self.taken(slot))
        self.put(slot, value)

    def taken(self, slot: Slot) -> Value:
        kind = self.b.type(slot.dtype, slot.shape)
        registers = tuple(self.b.op(f"load {kind}, ptr {place}") for place in slot.places)
        return Value(slot.dtype, slot.shape, registers)

    # -- control flow

    def branches(self, test: Value, then: Sequence[Node], otherwise: Sequence[Node]) -> None:
        outer = self.mask
        if test.is_scalar:
            yes, no, after = self.b.name(), self.b.name(), self.b.name()
            self.b.branch(test.registers[0], yes, no)
            for label, nodes in ((yes, then), (no, otherwise)):
                self.b.place(label)
                self.mask = outer
                self.list(nodes)
                self.b.jump(after)
            self.b.place(after)
            self.mask = outer
            return
        test = self.b.vectors(test)
        if then:
            self.under(self.b.both(outer, test), then)
        if otherwise:
            self.under(self.b.both(outer, self.b.neither(test)), otherwise)
        self.mask = outer

    def under(self, mask: Value | None, nodes: Sequence[Node]) -> None:
        """Run statements for the lanes of a mask, if there are any."""
        assert mask is not None
        yes, after = self.b.name(), self.b.name()
        self.b.branch(self.b.any(mask), yes, after)
        self.b.place(yes)
        self.mask = mask
        self.list(nodes)
        self.b.jump(after)
        self.b.place(after)

    def parts(self, node: Loop | While) -> bool:
        """Whether lanes or rows may leave a loop at different times."""
        if self.b.width == 1:
            return False
        return self.context.across.apart(node) or (
            self.b.rows > 1 and self.context.down.apart(node)
        )

    def counted(
        self, node: Loop, var: str, start: Value, stop: Value, body: Sequence[Node]
    ) -> None:
        less = "slt" if start.dtype.is_signed else "ult"
        if self.parts(node):
            rows = self.b.rows
            kind = self.b.type(start.dtype)
            counter = Slot(
                start.dtype, Shape.VECTOR, tuple(self.b.alloca(kind) for _ in range(rows))
            )
            self.put(counter, start)
            self.names[var] = counter
            one = self.do.number(start.dtype, 1)

            def more() -> Value:
                return self.do.compare(less, self.taken(counter), stop)

            def count() -> None:
                self.put(counter, self.do.plain("add", self.taken(counter), one))

            self.masked(more, body, count)
            return
        kind = scalar_type(start.dtype)
        place = self.b.alloca(kind)
        self.b.emit(f"store {kind} {start.registers[0]}, ptr {place}")
        head, inside, again, after = (self.b.name() for _ in range(4))
        self.b.jump(head)
        self.b.place(head)
        now = self.b.op(f"load {kind}, ptr {place}")
        self.b.branch(self.b.op(f"icmp {less} {kind} {now}, {stop.registers[0]}"), inside, after)
        self.b.place(inside)
        self.names[var] = Value(start.dtype, Shape.UNIFORM, (now,))
        self.together(body, _Leaving(after, again, jumps=True))
        self.b.jump(again)
        self.b.place(again)
        self.b.emit(f"store {kind} {self.b.op(f'add {kind} {now}, 1')}, ptr {place}")
        unroll = self.context.unroll
        self.b.jump(head, self.b.parts.unrolled(unroll) if unroll > 1 else "")
        self.b.place(after)
        del self.names[var]

    def together(self, body: Sequence[Node], leaving: _Leaving) -> None:
        """A round of a loop that all lanes go through at once."""
        outer, saved = self.mask, self.loop
        self.loop = leaving
        self.list(body)
        self.mask, self.loop = outer, saved

    def repeated(self, node: While, cond: Expr, body: Sequence[Node]) -> None:
        if self.parts(node):
            self.masked(lambda: self.expr(cond), body, None)
            return
        head, inside, after = (self.b.name() for _ in range(3))
        self.b.jump(head)
        self.b.place(head)
        self.b.branch(self.expr(cond).registers[0], inside, after)
        self.b.place(inside)
        self.together(body, _Leaving(after, head, jumps=True))
        self.b.jump(head)
        self.b.place(after)

    def masked(
        self, more: Callable[[], Value], body: Sequence[Node], count: Callable[[], None] | None
    ) -> None:
        """A loop that runs while some lane is in it."""
        outer, saved = self.mask, (self.alive, self.loop)
        live = self.new_mask(outer)
        ends_early = any(isinstance(n, (Break, Continue, Return)) for n in statements(body))
        head, inside, after = (self.b.name() for _ in range(3))
        self.b.jump(head)
        self.b.place(head)
        self.mask = self.mask_at(live)
        self.narrow()
        staying = self.b.both(self.mask, self.b.vectors(more()))
        assert staying is not None
        self.put_mask(live, staying)
        self.b.branch(self.b.any(staying), inside, after)
        self.b.place(inside)
        self.mask = staying
        if ends_early:
            going_on = self.new_mask(None)
            self.alive = [*self.alive, live, going_on]
            self.loop = _Leaving(",".join(live), ",".join(going_on), jumps=False)
        self.list(body)
        self.alive, self.loop = saved
        if count is not None:
            count()
        self.b.jump(head)
        self.b.place(after)
        self.mask = outer

    def leave(self, node: Break | Continue) -> None:
        loop = self.loop
        assert loop is not None, "a break or continue stands in a loop"
        target = loop.stop if isinstance(node, Break) else loop.again
        if loop.jumps:
            self.b.jump(target)
            self.b.place(self.b.name())
        else:
            self.drop(tuple(target.split(",")))

    def finish(self) -> None:
        """These lanes are done."""
        if self.mask is None:
            self.b.jump(self.end)
            self.b.place(self.b.name())
        else:
            self.drop(self.returned)

    # -- expressions

    def expr(self, expr: Expr) -> Value:
        match expr:
            case Lit(dtype, bits):
                return self.b.literal(dtype, bits)
            case Var(name):
                found = self.names[name]
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
                done = binary(self.do, op, a, b)
                return call(self.b, op, a, b) if done is None else done
            case Unary(op, operand):
                a = self.expr(operand)
                done = unary(self.do, op, a)
                return call(self.b, op, a) if done is None else done
            case Select(cond, true, false):
                return self.do.select(self.expr(cond), self.expr(true), self.expr(false))
            case Cast(target, value):
                return cast(self.do, target, self.expr(value))
            case Bitcast(target, value):
                return self.do.bits(self.expr(value), target)
            case Fma(a, b, c):
                return fma(self.do, self.expr(a), self.expr(b), self.expr(c))
            case Atomic():
                return self.atomic(expr, is_read=True)
            case _:
                raise UnsupportedFeature(
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
        free = self.context.is_free(buffer, self.statement, index)
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
        place = self.place(expr.buffer, expr.index)
        return memory.load(self.do, self.context.buffers[expr.buffer], place, self.mask)

    def atomic(self, expr: Atomic, *, is_read: bool) -> Value:
        place = self.place(expr.buffer, expr.index)
        given = [expr.expected] if expr.expected is not None else []
        values = tuple(self.expr(part) for part in (*given, expr.value))
        change = Change(expr.op, values, is_read, self.context.turn)
        return memory.atomic(self.do, self.context.buffers[expr.buffer], place, change, self.mask)


def _leaves(node: Node) -> bool:
    return any(isinstance(part, (Break, Continue, Return)) for part in statements((node,)))
