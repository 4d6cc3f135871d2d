"""Workgroups whose lanes work together: phase after phase between barriers, all lanes in each.

What stands between two barriers runs for all lanes of a workgroup, a vector of them at a time, so a
barrier itself is nothing. A name that lives from one phase to another has a place for each lane.
Control flow around a barrier is one for all lanes: a program in which it is not was refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from vyre.emit.lanes import Ids, Variation, variation
from vyre.emit.llvm.body import Body
from vyre.emit.llvm.builder import BOOL, U32, Builder, Parts, scalar_type, stored_type
from vyre.emit.llvm.context import Context
from vyre.emit.llvm.frame import WORKGROUP, Frame
from vyre.emit.llvm.group.chunk import PLACE, Chunk
from vyre.emit.llvm.group.together import changed_in_phases, holds, is_together, names_in
from vyre.emit.llvm.interior import Interior
from vyre.emit.llvm.masks import mask_at, new_mask
from vyre.emit.llvm.memory import Buffer, Cells, fill
from vyre.emit.llvm.shapes import counting, function
from vyre.emit.llvm.values import Shape, Slot, Value
from vyre.ir.expr import Array, Atomic, Expr, IdKind, Var
from vyre.ir.node import (
    Assign,
    Barrier,
    Block,
    Break,
    If,
    Let,
    Loop,
    Node,
    Region,
    Return,
    While,
)
from vyre.ir.program import Program
from vyre.ir.types import DataType
from vyre.ir.walk import all_expressions, statements
from vyre.model import Code

LANES: Ids = frozenset(
    (kind, axis) for kind in (IdKind.INVOCATION, IdKind.LOCAL) for axis in range(3)
)
"""What differs between the lanes of a workgroup."""


def shared_arrays(program: Program) -> list[tuple[str, int, str]]:
    """A workgroup's own arrays: their names, lengths and elements."""
    return [
        (decl.name, decl.count, stored_type(decl.element))
        for decl in program.buffers
        if decl.is_shared
    ]


@dataclass(slots=True)
class Group:
    """One workgroup as a function; `in_rows`, each vector of lanes lies in one row of it."""

    program: Program
    code: Code
    known: Interior
    parts: Parts
    frame: Frame
    width: int
    in_rows: bool
    b: Builder = field(init=False)
    one: Builder = field(init=False)
    across: Variation = field(init=False)
    chunk: Chunk = field(init=False)
    total: str = field(init=False)
    slots: str = field(init=False)
    context: Context = field(init=False)
    scalar: Body = field(init=False)
    alive: str = ""
    lane_bytes: int = 1  # of the stack that each lane takes, whether it is alive among them

    def __post_init__(self) -> None:
        self.b = Builder(self.parts, self.width)
        self.one = self.b.one_lane()
        self.across = variation(
            self.program, LANES, returns=True, known=changed_in_phases(self.program.entry)
        )
        b = self.b
        x, y, z = (self.frame.size_of(b, WORKGROUP, axis) for axis in range(3))
        self.chunk = Chunk(b, self.frame, (x, y, z), self.in_rows)
        self.total = b.first(f"mul i32 {b.first(f'mul i32 {x}, {y}')}, {z}")
        self.slots = b.first(f"add i32 {self.total}, {self.width}")
        self.context = self._context()
        alone = replace(self.context, across=Variation(frozenset(), frozenset(), frozenset()))
        self.scalar = Body(self.one, alone, "end")

    def _context(self) -> Context:
        nodes = self.program.entry
        buffers = self.frame.buffers(self.b)
        decls = {decl.name: decl for decl in self.program.buffers}
        for number, (name, count, _) in enumerate(shared_arrays(self.program)):
            decl = decls[name]
            dims = tuple(self.b.literal(U32, size) for size in decl.shape)
            buffers[name] = Buffer(decl, f"%s{number}", self.b.literal(U32, count), dims)

        def is_free(buffer: str, statement: str, index: Expr) -> bool:
            return (buffer, statement, index) in self.known.free

        return Context(
            buffers=buffers,
            scalars=self.frame.scalars(self.b),
            ids=self.chunk.id,
            is_free=is_free,
            across=self.across,
            down=Variation(frozenset(), frozenset(), frozenset()),
            assigned=frozenset(n.name for n in statements(nodes) if isinstance(n, Assign)),
            read_names=frozenset(e.name for e in all_expressions(nodes) if isinstance(e, Var)),
            unroll=self.code.unroll,
            guarded=self.known.guarded,
        )

    def function(self) -> str:
        b = self.b
        if any(isinstance(node, Return) for node in statements(self.program.entry)):
            self.alive = b.first(f"alloca i8, i32 {self.slots}")
            wide = b.op(f"zext i32 {self.slots} to i64")
            types = ["ptr", "i8", "i64", "i1"]
            b.call("void", "llvm.memset.p0.i64", types, [self.alive, "1", wide, "false"])
        self.block(self.program.entry, {}, None, waits=False)
        name = "rows" if self.in_rows else "any"
        shared = [f"ptr noalias %s{number}" for number in range(len(shared_arrays(self.program)))]
        parameters = ", ".join([self.frame.parameters, *shared, PLACE])
        b.jump("end")
        b.place("end")
        return function(f"internal void @group_{name}", parameters, b, "noinline")

    def _body(self) -> Body:
        return Body(self.b, self.context, "")

    # -- lists with barriers in them

    def block(
        self,
        nodes: Sequence[Node],
        names: _Names,
        loop: _Around | None,
        *,
        waits: bool,
    ) -> None:
        """Statements, some of which all lanes take together; `waits`: barriers follow them."""
        names = dict(names)
        phase: list[Node] = []
        for number, node in enumerate(nodes):
            later = waits or holds(nodes[number + 1 :], Barrier)
            if not (is_together(node, waits=later) or self.is_uniform(node, names)):
                phase.append(node)
                continue
            self.phase(phase, names, nodes[number:])
            phase = []
            self.step(node, names, loop, waits=later)
        self.phase(phase, names, ())

    def is_uniform(self, node: Node, names: _Names) -> bool:
        """Whether a name is given one value for all lanes."""
        if not isinstance(node, (Let, Assign)) or isinstance(node.value, Atomic):
            return False
        if node.name in self.across.names or self.across.varies(node.value):
            return False
        read = {e.name for e in all_expressions((node,)) if isinstance(e, Var)}
        apart = (_PerLane, _CellsPerLane)
        return not any(isinstance(names.get(name), apart) for name in read)

    def step(
        self,
        node: Node,
        names: _Names,
        loop: _Around | None,
        *,
        waits: bool,
    ) -> None:
        b = self.b
        match node:
            case Barrier():
                return
            case Let(name):
                self.scalar.names = _plain(names)
                self.scalar.step(node)
                names[name] = self.scalar.names[name]
            case Assign():
                self.scalar.names = _plain(names)
                self.scalar.step(node)
            case Block(body) | Region(_, body):
                self.block(body, names, loop, waits=waits)
            case If(cond, then, otherwise):
                yes, no, after = (b.name() for _ in range(3))
                b.branch(self.agreed(cond, names), yes, no)
                for label, body in ((yes, then), (no, otherwise)):
                    b.place(label)
                    self.block(body, names, loop, waits=waits)
                    b.jump(after)
                b.place(after)
            case Loop():
                self.counted(node, names, waits=waits or holds(node.body, Barrier))
            case While(cond, body):
                head, inside, after = (b.name() for _ in range(3))
                b.jump(head)
                b.place(head)
                b.branch(self.agreed(cond, names), inside, after)
                b.place(inside)
                again = waits or holds(body, Barrier)
                self.block(body, names, _Around(after, head), waits=again)
                b.jump(head)
                b.place(after)
            case Return():
                b.jump("end")
                b.place(b.name())
            case _:
                assert loop is not None, "a break or continue stands in a loop"
                b.jump(loop.stop if isinstance(node, Break) else loop.again)
                b.place(b.name())

    def counted(self, node: Loop, names: _Names, *, waits: bool) -> None:
        b = self.b
        start, dtype = self.agreed_value(node.start, names)
        stop, _ = self.agreed_value(node.stop, names)
        kind = scalar_type(dtype)
        place = b.alloca(kind)
        b.emit(f"store {kind} {start}, ptr {place}")
        head, inside, again, after = (b.name() for _ in range(4))
        b.jump(head)
        b.place(head)
        now = b.op(f"load {kind}, ptr {place}")
        less = "slt" if dtype.is_signed else "ult"
        b.branch(b.op(f"icmp {less} {kind} {now}, {stop}"), inside, after)
        b.place(inside)
        counter = Value(dtype, Shape.UNIFORM, (now,))
        within = {**names, node.var: counter}
        self.block(node.body, within, _Around(after, again), waits=waits)
        b.jump(again)
        b.place(again)
        b.emit(f"store {kind} {b.op(f'add {kind} {now}, 1')}, ptr {place}")
        b.jump(head)
        b.place(after)

    def agreed(self, expr: Expr, names: _Names) -> str:
        return self.agreed_value(expr, names)[0]

    def agreed_value(self, expr: Expr, names: _Names) -> tuple[str, DataType]:
        """What all lanes make of an expression: that of the first."""
        self.chunk.base = "0"
        body = self._at_chunk(names)
        value = body.expr(expr)
        if value.shape is not Shape.VECTOR:
            return value.registers[0], value.dtype
        kind = self.b.type(value.dtype)
        first = self.b.op(f"extractelement {kind} {value.registers[0]}, i64 0")
        return first, value.dtype

    # -- phases

    def phase(
        self,
        nodes: Sequence[Node],
        names: _Names,
        later: Sequence[Node],
    ) -> None:
        """Statements without a barrier, for one vector of lanes after the other."""
        if not nodes:
            return
        kept = names_in(later)
        made: dict[str, _PerLane | _CellsPerLane] = {}

        def chunk(base: str) -> None:
            self.chunk.base = base
            body = self._at_chunk(names)
            body.end = self.b.name()
            if self.alive:
                body.returned = new_mask(self.b, body.mask)
                body.alive = [body.returned]
                body.mask = mask_at(self.b, body.returned)
            for node in nodes:
                body.step(node)
                if isinstance(node, Let) and node.name in kept:
                    made[node.name] = (
                        self._keep_cells(body, node.name, node.value)
                        if isinstance(node.value, Array)
                        else self._keep(body, node.name)
                    )
                if body.alive and any(isinstance(n, Return) for n in statements((node,))):
                    body.narrow()
            self.b.jump(body.end)
            self.b.place(body.end)
            if self.alive:
                self._put_alive(mask_at(self.b, body.returned))

        counting(self.b, "0", self.total, self.width, chunk)
        names.update(made)

    def _at_chunk(self, names: _Names) -> Body:
        """A body for the lanes from `base` on; those behind the last are masked."""
        b = self.b
        body = self._body()
        for name, held in names.items():
            if isinstance(held, (_PerLane, _CellsPerLane)):
                body.names[name] = held.at(b, self.chunk.base)
            else:
                body.names[name] = held
        if not self.in_rows:
            left = b.op(f"sub i32 {self.total}, {self.chunk.base}")
            test = f"icmp ult {b.vector('i32')} {b.lanes('i32')}, {b.splat('i32', left)}"
            body.mask = Value(BOOL, Shape.VECTOR, (b.op(test),))
        if self.alive:
            place = b.op(f"getelementptr i8, ptr {self.alive}, i32 {self.chunk.base}")
            flags = b.op(f"load {b.vector('i8')}, ptr {place}, align 1")
            found = b.op(f"icmp ne {b.vector('i8')} {flags}, zeroinitializer")
            body.mask = b.both(body.mask, Value(BOOL, Shape.VECTOR, (found,)))
        return body

    def _put_alive(self, mask: Value) -> None:
        b = self.b
        place = b.op(f"getelementptr i8, ptr {self.alive}, i32 {self.chunk.base}")
        flags = b.op(f"zext {b.type(BOOL)} {mask.registers[0]} to {b.vector('i8')}")
        b.emit(f"store {b.vector('i8')} {flags}, ptr {place}, align 1")

    def _keep(self, body: Body, name: str) -> _PerLane:
        """A place for each lane of what was bound here, which later phases read."""
        b = self.b
        held = body.names[name]
        assert not isinstance(held, Cells), "an array has a place for each element"
        value = body.taken(held) if isinstance(held, Slot) else held
        kind = "i8" if value.dtype.is_bool else scalar_type(value.dtype)
        self.lane_bytes += (value.dtype.bits + 7) // 8
        array = b.first(f"alloca {kind}, i32 {self.slots}, align 64")
        kept = _PerLane(value.dtype, array)
        slot = kept.at(b, self.chunk.base)
        body.put(slot, value)
        body.names[name] = slot
        return kept

    def _keep_cells(self, body: Body, name: str, array: Array) -> _CellsPerLane:
        """The same for an array: a place for each lane of each element."""
        b, kind = self.b, stored_type(array.dtype)
        self.lane_bytes += array.count * array.dtype.bits // 8
        wide = b.first(f"mul i32 {self.slots}, {array.count}")
        places = b.first(f"alloca {kind}, i32 {wide}, align 64")
        kept = _CellsPerLane(Cells(array.dtype, array.shape, places, self.slots))
        own = body.names[name] = kept.at(b, self.chunk.base)
        fill(body.do, own, array, None)
        return kept


@dataclass(frozen=True, slots=True)
class _Around:
    """The loop around a list: where lanes go that leave it, or its round."""

    stop: str
    again: str


@dataclass(frozen=True, slots=True)
class _PerLane:
    """A name that lives through several phases: an array with an element for each lane."""

    dtype: DataType
    array: str

    def at(self, b: Builder, base: str) -> Slot:
        kind = "i8" if self.dtype.is_bool else scalar_type(self.dtype)
        place = b.op(f"getelementptr {kind}, ptr {self.array}, i32 {base}")
        return Slot(self.dtype, Shape.VECTOR, (place,))


@dataclass(frozen=True, slots=True)
class _CellsPerLane:
    """The same for an array: for each element, one after the other, a place for each lane."""

    cells: Cells

    def at(self, b: Builder, base: str) -> Cells:
        kind = stored_type(self.cells.dtype)
        place = b.op(f"getelementptr {kind}, ptr {self.cells.pointer}, i32 {base}")
        return replace(self.cells, pointer=place)


_Names = dict[str, Value | Slot | Cells | _PerLane | _CellsPerLane]


def _plain(names: _Names) -> dict[str, Value | Slot | Cells]:
    apart = (_PerLane, _CellsPerLane)
    return {name: held for name, held in names.items() if not isinstance(held, apart)}
