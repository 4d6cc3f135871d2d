"""Statements over lanes in lockstep: masks where they part, branches where not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from vyre.emit.llvm import memory
from vyre.emit.llvm.arithmetic import Instructions
from vyre.emit.llvm.builder import BOOL, Builder, scalar_type
from vyre.emit.llvm.context import Access, Context
from vyre.emit.llvm.expressions import Expressions
from vyre.emit.llvm.masks import Places, mask_at, new_mask, put_mask
from vyre.emit.llvm.memory import Cells
from vyre.emit.llvm.values import Shape, Slot, Value
from vyre.emit.llvm.walks import stays_inside, walked
from vyre.errors import UnsupportedFeature
from vyre.ir.expr import Array, Atomic, Expr, Put, Var
from vyre.ir.loops import is_innermost, is_of_elements, rounds_of
from vyre.ir.node import (
    Arrive,
    Assign,
    Block,
    Break,
    Continue,
    If,
    Let,
    Loop,
    Meet,
    Node,
    Region,
    Return,
    Store,
    While,
)
from vyre.ir.text import statement_text
from vyre.ir.walk import statements

__all__ = ["Body", "Context"]


@dataclass(frozen=True, slots=True)
class _Jumps:
    """A loop that all lanes leave at once: the labels behind it, and of its next round."""

    stop: str
    again: str


@dataclass(frozen=True, slots=True)
class _Masks:
    """A loop that lanes leave on their own: who is still in it, and who in its present round."""

    stop: Places
    again: Places


@dataclass(slots=True)
class Body(Expressions):
    """Emits the statements of one program for the lanes and rows of one builder."""

    b: Builder
    context: Context
    end: str  # the label behind the last statement
    mask: Value | None = None
    names: dict[str, Value | Slot | Cells] = field(default_factory=dict)
    alive: list[Places] = field(default_factory=list)  # masks that lanes leave by
    loop: _Jumps | _Masks | None = None
    returned: Places = ()
    statement: str = ""
    unchecked: frozenset[Access] = frozenset()  # what the present loop was found to keep inside
    do: Instructions = field(init=False)

    def __post_init__(self) -> None:
        self.do = Instructions(self.b)

    def drop(self, places: Places) -> None:
        """The lanes that are here leave."""
        here = self.b.neither(self.b.mask(self.mask))
        left = self.b.both(mask_at(self.b, places), here)
        assert left is not None
        put_mask(self.b, places, left)

    def narrow(self) -> None:
        """Go on with the lanes that have not left."""
        for places in self.alive:
            self.mask = self.b.both(self.mask, mask_at(self.b, places))

    # -- statements

    def run(self, nodes: Sequence[Node]) -> None:
        """Statements that may end lanes before the last of them."""
        if self.b.width > 1 and any(isinstance(node, Return) for node in statements(nodes)):
            self.returned = new_mask(self.b, None)
            self.alive = [self.returned]
        self.block(nodes)

    def block(self, nodes: Sequence[Node]) -> None:
        """Statements whose names end with them."""
        before = dict(self.names)
        for node in nodes:
            self.step(node)
            if self.alive and _leaves(node):
                self.narrow()
        self.names = {name: self.names[name] for name in before}

    def step(self, node: Node) -> None:
        """One statement; what it binds stays bound."""
        if isinstance(node, (Block, Region)):
            self.block(node.body)
            return
        self.statement = statement_text(node)
        match node:
            case Let(name, Atomic() as expr):
                self.give(name, self.atomic(expr, is_read=name in self.context.read_names))
            case Let(name, Array() as array):
                by_lane = self.b.width > 1 and name in self.context.across.names
                cells = memory.new_cells(self.b, array, by_lane=by_lane)
                self.names[name] = cells
                memory.fill(self.do, cells, array, None)
            case Assign(name, Array() as array):
                memory.fill(self.do, self.cells(Var(name)), array, self.mask)
            case Assign(name, Put(_, indices, value)):
                given = self.expr(value)
                places = tuple(self.expr(index) for index in indices)
                memory.put(self.do, self.cells(Var(name)), places, given, self.mask)
            case Let(name, value):
                self.give(name, self.expr(value))
            case Assign(name, value):
                self.assign(name, self.expr(value))
            case Store(buffer, index, value):
                given = self.expr(value)
                place = self.place(buffer, index)
                memory.store(self.do, self.context.buffers[buffer], place, given, self.mask)
            case Meet():
                pass  # lanes of a vector are never apart
            case Arrive(name, shares, buffer, index):
                self.give(name, self.arrive(buffer, self.expr(index), shares))
            case If(cond, then, otherwise):
                self.branches(self.expr(cond), then, otherwise)
            case Loop():
                self.counted(node)
            case While(cond, body):
                self.repeated(node, cond, body)
            case Break() | Continue():
                self.leave(node)
            case Return():
                self.finish()
            case _:
                raise UnsupportedFeature(
                    f"{self.statement}: no device code for {type(node).__name__}",
                    "leave it out, or run the program elsewhere",
                )

    def arrive(self, buffer: str, index: Value, shares: int) -> Value:
        """Count a workgroup among those of a result; whether it is the last, and sees the rest."""
        at = memory.address(self.do, self.context.buffers[buffer], index).registers[0]
        before = self.b.op(f"atomicrmw uinc_wrap ptr {at}, i32 {shares - 1} acq_rel")
        return Value(BOOL, Shape.UNIFORM, (self.b.op(f"icmp eq i32 {before}, {shares - 1}"),))

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

    # -- control flow

    def branches(self, test: Value, then: Sequence[Node], otherwise: Sequence[Node]) -> None:
        outer = self.mask
        if test.is_scalar:
            yes, no, after = self.b.name(), self.b.name(), self.b.name()
            self.b.branch(test.registers[0], yes, no)
            for label, nodes in ((yes, then), (no, otherwise)):
                self.b.place(label)
                self.mask = outer
                self.block(nodes)
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
        self.block(nodes)
        self.b.jump(after)
        self.b.place(after)

    def parts(self, node: Loop | While) -> bool:
        """Whether lanes or rows may leave a loop at different times."""
        if self.b.width == 1:
            return False
        return self.context.across.apart(node) or (
            self.b.rows > 1 and self.context.down.apart(node)
        )

    def ends_under_mask(self, node: Loop | While) -> bool:
        """Whether lanes may end for good in a loop that some others are not in.

        Those that are go through it together; but where some lanes are left out, none jumps.
        """
        return self.mask is not None and any(isinstance(n, Return) for n in statements(node.body))

    def counted(self, node: Loop) -> None:
        """A counted loop, twice where one check before it makes those in one copy superfluous."""
        start, stop = self.expr(node.start), self.expr(node.stop)
        free = walked(self.context, node) if stop.dtype.bits >= 32 else frozenset[Access]()
        if not free:
            self.rounds(node, start, stop)
            return
        outer, checked = self.mask, self.unchecked
        whole, part, after = self.b.name(), self.b.name(), self.b.name()
        names = sorted({buffer for buffer, _, _ in free})
        lengths = [self.context.buffers[name].length for name in names]
        self.b.branch(stays_inside(self.do, self.mask, start, stop, lengths), whole, part)
        for label, found in ((whole, free), (part, frozenset())):
            self.b.place(label)
            self.unchecked = checked | found
            self.rounds(node, start, stop)
            self.mask, self.unchecked = outer, checked
            self.b.jump(after)
        self.b.place(after)

    def rounds(self, node: Loop, start: Value, stop: Value) -> None:
        if self.parts(node):
            self.counted_apart(node, start, stop, Shape.VECTOR)
        elif self.ends_under_mask(node):
            self.counted_apart(node, start, stop, Shape.UNIFORM)
        else:
            self.counted_together(node, start, stop)

    def counted_apart(self, node: Loop, start: Value, stop: Value, shape: Shape) -> None:
        """A counter for each lane, though all begin alike: some may go on to their next round."""
        kind = self.b.type(start.dtype, shape)
        rows = self.b.rows if shape is Shape.VECTOR else 1
        counter = Slot(start.dtype, shape, tuple(self.b.alloca(kind) for _ in range(rows)))
        self.put(counter, start)
        self.names[node.var] = counter
        one = self.do.number(start.dtype, 1)

        def more() -> Value:
            return self.do.compare(_less(start), self.taken(counter), stop)

        def count() -> None:
            self.put(counter, self.do.plain("add", self.taken(counter), one))

        self.masked(more, node.body, count)

    def counted_together(self, node: Loop, start: Value, stop: Value) -> None:
        b, kind = self.b, scalar_type(start.dtype)
        place = b.alloca(kind)
        b.emit(f"store {kind} {start.registers[0]}, ptr {place}")
        head, inside, again, after = (b.name() for _ in range(4))
        b.jump(head)
        b.place(head)
        now = b.op(f"load {kind}, ptr {place}")
        b.branch(b.op(f"icmp {_less(start)} {kind} {now}, {stop.registers[0]}"), inside, after)
        b.place(inside)
        self.names[node.var] = Value(start.dtype, Shape.UNIFORM, (now,))
        self.together(node.body, _Jumps(after, again))
        b.jump(again)
        b.place(again)
        b.emit(f"store {kind} {b.op(f'add {kind} {now}, 1')}, ptr {place}")
        # One around others would have a copy of each: compilers take seconds for a few of them.
        unroll = self.context.unroll if is_innermost(node) else 1
        if is_of_elements(node):
            unroll = rounds_of(node) or 1  # an element is a register where every index is a number
        b.jump(head, b.parts.unrolled(unroll) if unroll > 1 else "")
        b.place(after)
        del self.names[node.var]

    def together(self, body: Sequence[Node], leaving: _Jumps) -> None:
        """A round of a loop that all lanes go through at once."""
        outer, saved = self.mask, self.loop
        self.loop = leaving
        self.block(body)
        self.mask, self.loop = outer, saved

    def repeated(self, node: While, cond: Expr, body: Sequence[Node]) -> None:
        if self.parts(node) or self.ends_under_mask(node):
            self.masked(lambda: self.expr(cond), body, None)
            return
        head, inside, after = (self.b.name() for _ in range(3))
        self.b.jump(head)
        self.b.place(head)
        self.b.branch(self.expr(cond).registers[0], inside, after)
        self.b.place(inside)
        self.together(body, _Jumps(after, head))
        self.b.jump(head)
        self.b.place(after)

    def masked(
        self, more: Callable[[], Value], body: Sequence[Node], count: Callable[[], None] | None
    ) -> None:
        """A loop that runs while some lane is in it."""
        outer, saved = self.mask, (self.alive, self.loop)
        live = new_mask(self.b, outer)
        ends_early = any(isinstance(n, (Break, Continue, Return)) for n in statements(body))
        head, inside, after = (self.b.name() for _ in range(3))
        self.b.jump(head)
        self.b.place(head)
        self.mask = mask_at(self.b, live)
        self.narrow()
        staying = self.b.both(self.mask, self.b.vectors(more()))
        assert staying is not None
        put_mask(self.b, live, staying)
        self.b.branch(self.b.any(staying), inside, after)
        self.b.place(inside)
        self.mask = staying
        if ends_early:
            going_on = new_mask(self.b, None)
            self.alive = [*self.alive, live, going_on]
            self.loop = _Masks(live, going_on)
        self.block(body)
        self.alive, self.loop = saved
        if count is not None:
            count()
        self.b.jump(head)
        self.b.place(after)
        self.mask = outer

    def leave(self, node: Break | Continue) -> None:
        """These lanes are done with the loop, or with its round."""
        loop, stops = self.loop, isinstance(node, Break)
        assert loop is not None, "a break or continue stands in a loop"
        if isinstance(loop, _Jumps):
            self.b.jump(loop.stop if stops else loop.again)
            self.b.place(self.b.name())
        else:
            self.drop(loop.stop if stops else loop.again)

    def finish(self) -> None:
        """These lanes are done."""
        if self.mask is None:
            self.b.jump(self.end)
            self.b.place(self.b.name())
        else:
            self.drop(self.returned)


def _leaves(node: Node) -> bool:
    return any(isinstance(part, (Break, Continue, Return)) for part in statements((node,)))


def _less(counter: Value) -> str:
    return "slt" if counter.dtype.is_signed else "ult"
