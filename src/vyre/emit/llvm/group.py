"""Workgroups whose lanes work together: phase after phase between barriers, all lanes in each.

What stands between two barriers runs for all lanes of a workgroup, a vector of them at a time, so a
barrier itself is nothing. A name that lives from one phase to another has a place for each lane.
Control flow around a barrier is one for all lanes: a program in which it is not was refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from vyre.analysis import Facts
from vyre.emit.lanes import Ids, Variation, variation
from vyre.emit.llvm.arithmetic import quotient
from vyre.emit.llvm.body import Body
from vyre.emit.llvm.builder import BOOL, U32, Builder, Parts, scalar_type, stored_type
from vyre.emit.llvm.context import Context
from vyre.emit.llvm.frame import ENTRY, GRID, TASK, WORKGROUP, Frame
from vyre.emit.llvm.interior import interior
from vyre.emit.llvm.masks import mask_at, new_mask
from vyre.emit.llvm.memory import Buffer
from vyre.emit.llvm.shapes import counting, function
from vyre.emit.llvm.values import Shape, Slot, Value
from vyre.ir.expr import Atomic, Expr, IdKind, Var
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
    While,
)
from vyre.ir.program import Program
from vyre.ir.types import DataType
from vyre.ir.walk import all_expressions, bodies, statements
from vyre.model import Code

MOST_LANES = 4096
"""Of a workgroup that works together: its lanes' names are on a thread's stack."""

LANES: Ids = frozenset(
    (kind, axis) for kind in (IdKind.INVOCATION, IdKind.LOCAL) for axis in range(3)
)

_PLACE = "i32 %gx, i32 %gy, i32 %gz"


def groups(program: Program, code: Code, facts: Facts, parts: Parts, frame: Frame) -> Iterator[str]:
    """The functions of a program whose workgroups work together."""
    width = _width(program, code, parts)
    for in_rows in (True, False):
        yield _Group(program, code, facts, parts, frame, width, in_rows).function()
    yield _task(program, parts, frame, width)


def _width(program: Program, code: Code, parts: Parts) -> int:
    """Lanes at a time: as many as asked for, or fewer where a row of the workgroup has fewer."""
    width = max(code.vector, parts.features.lanes)
    across = program.workgroup_size[0]
    while width > 4 and across % width:
        width //= 2
    return width


def _shared(program: Program) -> list[tuple[str, int, str]]:
    return [
        (decl.name, decl.count, stored_type(decl.element))
        for decl in program.buffers
        if decl.is_shared
    ]


def _task(program: Program, parts: Parts, frame: Frame, width: int) -> str:
    """Workgroups from `first` to before `last`, each with fresh workgroup memory."""
    b = Builder(parts, 1)
    frame.unpack(b)
    shared = _shared(program)
    for number, (_, count, kind) in enumerate(shared):
        b.entry.append(f"  %s{number} = alloca [{count} x {kind}], align 64")
    across = frame.size_of(b, WORKGROUP, 0)
    grid = [frame.size_of(b, GRID, axis) for axis in range(3)]
    in_rows = b.op(f"icmp eq i32 {b.op(f'urem i32 {across}, {width}')}, 0")
    passed = ", ".join([frame.passed, *(f"ptr %s{n}" for n in range(len(shared)))])

    def group(number: str) -> None:
        for slot, (_, count, kind) in enumerate(shared):
            size = count * (int(kind[1:]) if kind[0] == "i" else {"float": 32, "double": 64}[kind])
            b.call(
                "void",
                "llvm.memset.p0.i64",
                ["ptr", "i8", "i64", "i1"],
                [f"%s{slot}", "0", str(size // 8), "false"],
            )
        wide = [b.op(f"zext i32 {size} to i64") for size in grid]
        x = b.op(f"urem i64 {number}, {wide[0]}")
        rest = b.op(f"udiv i64 {number}, {wide[0]}")
        y, z = b.op(f"urem i64 {rest}, {wide[1]}"), b.op(f"udiv i64 {rest}, {wide[1]}")
        place = ", ".join(f"i32 {b.op(f'trunc i64 {at} to i32')}" for at in (x, y, z))
        yes, no, after = (b.name() for _ in range(3))
        b.branch(in_rows, yes, no)
        for label, name in ((yes, "rows"), (no, "any")):
            b.place(label)
            b.emit(f"call void @group_{name}({passed}, {place})")
            b.jump(after)
        b.place(after)

    counting(b, "%first", "%last", 1, group, kind="i64")
    return function(f"void @{ENTRY}", TASK, b)


@dataclass(slots=True)
class _Group:
    """One workgroup as a function; `in_rows`, each vector of lanes lies in one row of it."""

    program: Program
    code: Code
    facts: Facts
    parts: Parts
    frame: Frame
    width: int
    in_rows: bool
    b: Builder = field(init=False)
    one: Builder = field(init=False)
    across: Variation = field(init=False)
    sizes: list[str] = field(init=False)
    total: str = field(init=False)
    slots: str = field(init=False)
    context: Context = field(init=False)
    scalar: Body = field(init=False)
    alive: str = ""
    base: str = ""

    def __post_init__(self) -> None:
        self.b = Builder(self.parts, self.width)
        self.one = self.b.one_lane()
        self.across = variation(
            self.program, LANES, returns=True, known=_changed_in_phases(self.program.entry)
        )
        b = self.b
        self.sizes = [self.frame.size_of(b, WORKGROUP, axis) for axis in range(3)]
        plane = b.first(f"mul i32 {self.sizes[0]}, {self.sizes[1]}")
        self.total = b.first(f"mul i32 {plane}, {self.sizes[2]}")
        self.slots = b.first(f"add i32 {self.total}, {self.width}")
        self.context = self._context()
        alone = replace(self.context, across=Variation(frozenset(), frozenset(), frozenset()))
        self.scalar = Body(self.one, alone, "end")

    def _context(self) -> Context:
        nodes = self.program.entry
        known = interior(self.program, self.facts, checked=self.code.checked)
        buffers = self.frame.buffers(self.b)
        decls = {decl.name: decl for decl in self.program.buffers}
        for number, (name, count, _) in enumerate(_shared(self.program)):
            decl = decls[name]
            dims = tuple(self.b.literal(U32, size) for size in decl.shape)
            buffers[name] = Buffer(decl, f"%s{number}", self.b.literal(U32, count), dims)

        def is_free(buffer: str, statement: str, index: Expr) -> bool:
            return (buffer, statement, index) in known.free

        return Context(
            buffers=buffers,
            scalars=self.frame.scalars(self.b),
            ids=self.id,
            is_free=is_free,
            across=self.across,
            down=Variation(frozenset(), frozenset(), frozenset()),
            assigned=frozenset(n.name for n in statements(nodes) if isinstance(n, Assign)),
            read_names=frozenset(e.name for e in all_expressions(nodes) if isinstance(e, Var)),
            unroll=self.code.unroll,
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
        shared = [f"ptr noalias %s{number}" for number in range(len(_shared(self.program)))]
        parameters = ", ".join([self.frame.parameters, *shared, _PLACE])
        b.jump("end")
        b.place("end")
        return function(f"internal void @group_{name}", parameters, b, "noinline")

    # -- positions

    def id(self, kind: IdKind, axis: int) -> Value:
        b = self.b
        if kind is IdKind.EXTENT:
            return self.frame.word(b, self.frame.layout.extent(axis))
        if kind is IdKind.WORKGROUP_SIZE:
            return Value(U32, Shape.UNIFORM, (self.sizes[axis],))
        group = Value(U32, Shape.UNIFORM, (("%gx", "%gy", "%gz")[axis],))
        if kind is IdKind.WORKGROUP:
            return group
        local = self.local(axis)
        if kind is IdKind.LOCAL:
            return local
        start = b.op(f"mul i32 {group.registers[0]}, {self.sizes[axis]}")
        if local.shape is Shape.VECTOR:
            first = Value(U32, Shape.UNIFORM, (start,))
            return self._body().do.plain("add", local, first)
        whole = b.op(f"add i32 {start}, {local.registers[0]}")
        return Value(U32, local.shape, (whole,), never_wraps=True)

    def local(self, axis: int) -> Value:
        """A lane's place in its workgroup along one axis."""
        b = self.b
        x, y, _ = self.sizes
        if self.in_rows:
            row = b.op(f"udiv i32 {self.base}, {x}")
            if axis == 0:
                at = b.op(f"urem i32 {self.base}, {x}")
                return Value(U32, Shape.LINEAR, (at,), never_wraps=True)
            name = "urem" if axis == 1 else "udiv"
            return Value(U32, Shape.UNIFORM, (b.op(f"{name} i32 {row}, {y}"),), never_wraps=True)
        do = self._body().do
        lane = Value(U32, Shape.LINEAR, (self.base,))
        across, down = (Value(U32, Shape.UNIFORM, (size,)) for size in (x, y))
        row_of = quotient(do, lane, across)
        if axis == 0:
            return do.plain("sub", lane, do.plain("mul", row_of, across))
        plane_of = quotient(do, row_of, down)
        if axis == 2:
            return plane_of
        return do.plain("sub", row_of, do.plain("mul", plane_of, down))

    def _body(self) -> Body:
        return Body(self.b, self.context, "")

    # -- lists with barriers in them

    def block(
        self,
        nodes: Sequence[Node],
        names: dict[str, Value | Slot | _PerLane],
        loop: _Around | None,
        *,
        waits: bool,
    ) -> None:
        """Statements, some of which all lanes take together; `waits`: barriers follow them."""
        names = dict(names)
        phase: list[Node] = []
        for number, node in enumerate(nodes):
            later = waits or _holds(nodes[number + 1 :], Barrier)
            if not (_is_together(node, waits=later) or self.is_uniform(node, names)):
                phase.append(node)
                continue
            self.phase(phase, names, nodes[number:])
            phase = []
            self.step(node, names, loop, waits=later)
        self.phase(phase, names, ())

    def is_uniform(self, node: Node, names: dict[str, Value | Slot | _PerLane]) -> bool:
        """Whether a name is given one value for all lanes."""
        if not isinstance(node, (Let, Assign)) or isinstance(node.value, Atomic):
            return False
        if node.name in self.across.names or self.across.varies(node.value):
            return False
        read = {e.name for e in all_expressions((node,)) if isinstance(e, Var)}
        return not any(isinstance(names.get(name), _PerLane) for name in read)

    def step(
        self,
        node: Node,
        names: dict[str, Value | Slot | _PerLane],
        loop: _Around | None,
        *,
        waits: bool,
    ) -> None:
        b = self.b
        match node:
            case Barrier():
                return
            case Let(name, value):
                self.scalar.names = _plain(names)
                self.scalar.give(name, self.scalar.expr(value))
                names[name] = self.scalar.names[name]
            case Assign(name, value):
                self.scalar.names = _plain(names)
                self.scalar.assign(name, self.scalar.expr(value))
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
                self.counted(node, names, waits=waits or _holds(node.body, Barrier))
            case While(cond, body):
                head, inside, after = (b.name() for _ in range(3))
                b.jump(head)
                b.place(head)
                b.branch(self.agreed(cond, names), inside, after)
                b.place(inside)
                again = waits or _holds(body, Barrier)
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

    def counted(
        self, node: Loop, names: dict[str, Value | Slot | _PerLane], *, waits: bool
    ) -> None:
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

    def agreed(self, expr: Expr, names: dict[str, Value | Slot | _PerLane]) -> str:
        return self.agreed_value(expr, names)[0]

    def agreed_value(
        self, expr: Expr, names: dict[str, Value | Slot | _PerLane]
    ) -> tuple[str, DataType]:
        """What all lanes make of an expression: that of the first."""
        self.base = "0"
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
        names: dict[str, Value | Slot | _PerLane],
        later: Sequence[Node],
    ) -> None:
        """Statements without a barrier, for one vector of lanes after the other."""
        if not nodes:
            return
        kept = _names_in(later)
        made: dict[str, _PerLane] = {}

        def chunk(base: str) -> None:
            self.base = base
            body = self._at_chunk(names)
            body.end = self.b.name()
            if self.alive:
                body.returned = new_mask(self.b, body.mask)
                body.alive = [body.returned]
                body.mask = mask_at(self.b, body.returned)
            for node in nodes:
                body.step(node)
                if isinstance(node, Let) and node.name in kept:
                    made[node.name] = self._keep(body, node.name)
                if body.alive and any(isinstance(n, Return) for n in statements((node,))):
                    body.narrow()
            self.b.jump(body.end)
            self.b.place(body.end)
            if self.alive:
                self._put_alive(mask_at(self.b, body.returned))

        counting(self.b, "0", self.total, self.width, chunk)
        names.update(made)

    def _at_chunk(self, names: dict[str, Value | Slot | _PerLane]) -> Body:
        """A body for the lanes from `base` on; those behind the last are masked."""
        b = self.b
        body = self._body()
        for name, held in names.items():
            body.names[name] = held.at(b, self.base) if isinstance(held, _PerLane) else held
        if not self.in_rows:
            left = b.op(f"sub i32 {self.total}, {self.base}")
            test = f"icmp ult {b.vector('i32')} {b.lanes('i32')}, {b.splat('i32', left)}"
            body.mask = Value(BOOL, Shape.VECTOR, (b.op(test),))
        if self.alive:
            place = b.op(f"getelementptr i8, ptr {self.alive}, i32 {self.base}")
            flags = b.op(f"load {b.vector('i8')}, ptr {place}, align 1")
            found = b.op(f"icmp ne {b.vector('i8')} {flags}, zeroinitializer")
            body.mask = b.both(body.mask, Value(BOOL, Shape.VECTOR, (found,)))
        return body

    def _put_alive(self, mask: Value) -> None:
        b = self.b
        place = b.op(f"getelementptr i8, ptr {self.alive}, i32 {self.base}")
        flags = b.op(f"zext {b.type(BOOL)} {mask.registers[0]} to {b.vector('i8')}")
        b.emit(f"store {b.vector('i8')} {flags}, ptr {place}, align 1")

    def _keep(self, body: Body, name: str) -> _PerLane:
        """A place for each lane of what was bound here, which later phases read."""
        b = self.b
        held = body.names[name]
        value = body.taken(held) if isinstance(held, Slot) else held
        kind = "i8" if value.dtype.is_bool else scalar_type(value.dtype)
        array = b.first(f"alloca {kind}, i32 {self.slots}, align 64")
        kept = _PerLane(value.dtype, array)
        slot = kept.at(b, self.base)
        body.put(slot, value)
        body.names[name] = slot
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


def _plain(names: dict[str, Value | Slot | _PerLane]) -> dict[str, Value | Slot]:
    return {name: held for name, held in names.items() if not isinstance(held, _PerLane)}


def _names_in(nodes: Sequence[Node]) -> frozenset[str]:
    """The names that statements read or change."""
    read = {e.name for e in all_expressions(nodes) if isinstance(e, Var)}
    return frozenset(read | {n.name for n in statements(nodes) if isinstance(n, Assign)})


def _leaves_outer(node: Node) -> bool:
    """Whether a break or continue in a statement is of a loop around it."""
    if isinstance(node, (Break, Continue)):
        return True
    if isinstance(node, (Loop, While)):
        return False
    return any(_leaves_outer(inner) for body in bodies(node) for inner in body)


def _holds(nodes: Sequence[Node], kind: type[Node]) -> bool:
    return any(isinstance(node, kind) for node in statements(nodes))


def _is_together(node: Node, *, waits: bool) -> bool:
    """Whether all lanes take a statement as one: a barrier, or what leads all past one.

    Where `waits`, a barrier may follow, so that lanes return together or not at all.
    """
    return _holds((node,), Barrier) or _leaves_outer(node) or (waits and _holds((node,), Return))


def _changed_in_phases(nodes: Sequence[Node], *, waits: bool = False) -> frozenset[str]:
    """Names that a statement changes which runs once for every vector of lanes."""
    found: set[str] = set()
    for number, node in enumerate(nodes):
        later = waits or _holds(nodes[number + 1 :], Barrier)
        if _is_together(node, waits=later):
            again = isinstance(node, (Loop, While)) and _holds((node,), Barrier)
            for body in bodies(node):
                found |= _changed_in_phases(body, waits=later or again)
        elif not isinstance(node, Assign):
            found |= {part.name for part in statements((node,)) if isinstance(part, Assign)}
    return frozenset(found)
