"""Tiles of a dispatch whose invocations are on their own: vectors inside, masks at the edges.

A task runs workgroups one after the other; a workgroup is a tile of positions, walked row by row,
or, blocked, panel by panel: all rows of one vector's columns before the next columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

from vyre.analysis import Facts
from vyre.emit.lanes import Ids, Variation, variation
from vyre.emit.llvm.alignment import Lines, lines_of
from vyre.emit.llvm.body import Body
from vyre.emit.llvm.builder import BOOL, U32, Builder, Parts
from vyre.emit.llvm.context import Access, Context
from vyre.emit.llvm.frame import ENTRY, TASK, WORKGROUP, Frame
from vyre.emit.llvm.interior import Interior, Margin, interior, proved
from vyre.emit.llvm.memory import Buffer
from vyre.emit.llvm.shapes import counting, function
from vyre.emit.llvm.staging import SCRATCH_BYTES, Staged, bring_together, staged_loads
from vyre.emit.llvm.values import Shape, StagedAt, Value
from vyre.ir.expr import Array, Expr, IdKind, Var
from vyre.ir.node import Assign, If, Let, Loop, While
from vyre.ir.program import Program
from vyre.ir.walk import all_expressions, statements
from vyre.model import Code, Order

ACROSS: Ids = frozenset({(IdKind.INVOCATION, 0), (IdKind.LOCAL, 0)})
DOWN: Ids = frozenset({(IdKind.INVOCATION, 1), (IdKind.LOCAL, 1)})
"""What differs between the lanes of a row, and between rows."""

TOGETHER: Ids = frozenset()
"""What differs between the lanes of a team, beside their numbers."""

TABLES = 4
"""Copies of a thread's counters: a sum does not wait for the one before it."""

PAD = 16  # words between two tables, the first of which takes what lies outside

_POSITION = "i32 %x0, i32 %x1, i32 %y0, i32 %y1, i32 %z, i32 %ox, i32 %oy, i32 %oz"


def rows_side_by_side(program: Program) -> bool:
    """Whether rows can run side by side: none does what its neighbours do not, but lane by lane."""
    across, down = _variations(program)
    if any(isinstance(n, Let) and isinstance(n.value, Array) for n in statements(program.entry)):
        return False  # each row would have its own array
    return all(
        across.apart(node) or not down.apart(node)
        for node in statements(program.entry)
        if isinstance(node, (If, Loop, While))
    )


def loops_part(program: Program) -> bool:
    """Whether lanes may leave a loop at different times, so that each waits for the slowest."""
    across, _ = _variations(program)
    loops = (node for node in statements(program.entry) if isinstance(node, (Loop, While)))
    return any(across.apart(loop) for loop in loops)


def stages(program: Program) -> bool:
    """Whether the rows of a panel share something that can be brought together."""
    return bool(staged_loads(program, *_variations(program)))


def _variations(program: Program) -> tuple[Variation, Variation]:
    return variation(program, ACROSS, returns=True), variation(program, DOWN, returns=True)


def tiles(program: Program, code: Code, facts: Facts, parts: Parts, frame: Frame) -> Iterator[str]:
    """The functions of a program whose invocations work alone."""
    known = (
        proved(facts, checked=code.checked)
        if code.lanes > 1
        else interior(program, facts, checked=code.checked)
    )
    tile = _Tile(program, code, known, parts, frame)
    tile.counters = dict(facts.counters)
    if tile.has_edges:
        yield tile.edge()
    yield tile.whole()
    yield tile.task()


@dataclass
class _Tile:
    """One program's tile, and the task that runs many."""

    program: Program
    code: Code
    interior: Interior
    parts: Parts
    frame: Frame
    counters: dict[str, int] = field(default_factory=dict)

    @cached_property
    def turns(self) -> int:
        """Positions that one step takes one after the other, where neither lanes nor loops do."""
        loops = any(isinstance(n, (Loop, While)) for n in statements(self.program.entry))
        if self.width > 1 or loops:
            return 1
        return min(1 << (self.code.unroll.bit_length() - 1), TABLES)

    @property
    def width(self) -> int:
        """Lanes in lockstep: of a team, or of as many positions."""
        return self.code.lanes if self.code.lanes > 1 else self.code.vector

    @property
    def step(self) -> int:
        """Positions along x that one step covers."""
        return self.turns if self.code.lanes > 1 else self.code.vector * self.turns

    @cached_property
    def rows(self) -> int:
        wide = self.code.vector > 1 and self.code.lanes == 1
        return self.code.rows if wide and rows_side_by_side(self.program) else 1

    @cached_property
    def lines(self) -> Lines | None:
        """Where vectors should begin, if there are any."""
        return lines_of(self.program) if self.code.vector > 1 and self.code.lanes == 1 else None

    @property
    def has_edges(self) -> bool:
        return self.step > 1 or self.rows > 1 or bool(self.interior.margins)

    @property
    def edge_lanes(self) -> int:
        """At edges one register's lanes will do, and are sooner compiled."""
        return min(self.code.vector, self.parts.features.lanes)

    # -- parameters

    @property
    def parameters(self) -> str:
        tables = [f"ptr noalias %c{number}" for number in range(len(self.counters))]
        scratch = ["ptr noalias %scratch"] if self.staged else []
        share = ["i32 %share"] if self.code.shares > 1 else []
        return ", ".join([self.frame.parameters, *tables, *scratch, *share])

    def passed(self, share: str = "%share") -> str:
        """The same as the arguments of a call."""
        tables = [f"ptr %c{number}" for number in range(len(self.counters))]
        scratch = ["ptr %scratch"] if self.staged else []
        shares = [f"i32 {share}"] if self.code.shares > 1 else []
        return ", ".join([self.frame.passed, *tables, *scratch, *shares])

    def context(self, b: Builder, at: _At, *, inside: bool, turn: int = 0) -> Context:
        nodes = self.program.entry
        across, down = _variations(self.program)
        if self.code.lanes > 1:
            across = variation(self.program, TOGETHER, returns=True)
        none = Variation(frozenset(), frozenset(), frozenset())
        free, inner = self.interior.free, self.interior.inner
        kept = {decl.name for decl in self.program.buffers if decl.kept}

        def is_free(buffer: str, statement: str, index: Expr) -> bool:
            key = (buffer, statement, index)
            return key in free or (inside and key in inner) or buffer in kept

        return Context(
            buffers=at.buffers,
            scalars=at.scalars,
            ids=at.ids,
            is_free=is_free,
            across=across if b.width > 1 else none,
            down=down if b.rows > 1 else none,
            assigned=frozenset(n.name for n in statements(nodes) if isinstance(n, Assign)),
            read_names=frozenset(e.name for e in all_expressions(nodes) if isinstance(e, Var)),
            unroll=self.code.unroll,
            turn=turn,
            guarded=self.interior.guarded,
            staged=at.staged if inside else {},
            share=_uniform("%share") if self.code.shares > 1 else None,
        )

    def buffers(self, b: Builder) -> dict[str, Buffer]:
        found = self.frame.buffers(b)
        for number, (name, count) in enumerate(self.counters.items()):
            held = found[name]
            tables = tuple(
                b.first(f"getelementptr i32, ptr %c{number}, i64 {table * (count + PAD)}")
                for table in range(TABLES)
            )
            found[name] = Buffer(held.decl, held.pointer, held.length, held.dims, tables)
        return found

    def piece(self, b: Builder, at: _At, mask: Value | None, *, inside: bool) -> None:
        """The program's statements for the positions that one step covers."""
        for turn in range(self.turns if inside else 1):
            end = b.name()
            placed = at.moved(b, turn)
            body = Body(b, self.context(b, placed, inside=inside, turn=turn), end, mask)
            body.run(self.program.entry)
            b.jump(end)
            b.place(end)

    def at(self, b: Builder) -> _At:
        team = self.code.lanes > 1
        return _At(self.frame, self.buffers(b), self.frame.scalars(b), b, in_lanes=not team)

    # -- edges

    def edge(self) -> str:
        """Positions whose accesses are all checked, and whose last vector may be part empty."""
        b = Builder(self.parts, self.edge_lanes)
        at = self.at(b)

        def column(x: str) -> None:
            mask = None
            if b.width > 1:
                left = b.op(f"sub i32 %x1, {x}")
                kind = b.vector("i32")
                test = f"icmp ult {kind} {b.lanes('i32')}, {b.splat('i32', left)}"
                mask = Value(BOOL, Shape.VECTOR, (b.op(test),))
            at.x = x
            self.piece(b, at, mask, inside=False)

        def row(y: str) -> None:
            at.y = (y,)
            counting(b, "%x0", "%x1", b.width, column, saturating=True)

        counting(b, "%y0", "%y1", 1, row, saturating=True)
        return function("internal void @edge", f"{self.parameters}, {_POSITION}", b, "noinline")

    def call_edge(self, b: Builder, x0: str, x1: str, y0: str, y1: str) -> None:
        """Run a rectangle's positions one by one; nothing where it is empty."""
        test = b.op(f"icmp ult i32 {x0}, {x1}")
        both = b.op(f"and i1 {test}, {b.op(f'icmp ult i32 {y0}, {y1}')}")
        yes, after = b.name(), b.name()
        b.branch(both, yes, after)
        b.place(yes)
        places = f"i32 {x0}, i32 {x1}, i32 {y0}, i32 {y1}"
        origin = "i32 %z, i32 %ox, i32 %oy, i32 %oz"
        b.emit(f"call void @edge({self.passed()}, {places}, {origin})")
        b.jump(after)
        b.place(after)

    # -- the inside

    def whole(self) -> str:
        """A tile: what is inside without checks, the rest by `edge`."""
        b = Builder(self.parts, self.width, self.rows)
        at = self.at(b)
        x0, x1, y0, y1 = (
            self.inside(b, at.buffers) if self.has_edges else ("%x0", "%x1", "%y0", "%y1")
        )

        def piece() -> None:
            self.piece(b, at, None, inside=True)

        def across(then: Callable[[], None]) -> None:
            def column(x: str) -> None:
                at.x = x
                then()

            counting(b, x0, x1, self.step, column)

        def down(then: Callable[[], None]) -> None:
            def row(y: str) -> None:
                at.y = (y, *(b.op(f"add i32 {y}, {more}") for more in range(1, self.rows)))
                then()

            counting(b, y0, y1, self.rows, row)

        def panel() -> None:
            at.staged = self.stage(b, at, y0, y1)
            down(piece)

        if self.code.order is Order.BLOCKED:
            across(panel)
        else:
            down(lambda: across(piece))
        return function("internal void @tile", f"{self.parameters}, {_POSITION}", b)

    @cached_property
    def staged(self) -> tuple[Staged, ...]:
        """The loads that a panel's rows share, which need no check inside."""
        if not self.code.staged or self.code.order is not Order.BLOCKED or self.code.vector == 1:
            return ()
        known = (self.interior.free - self.interior.guarded) | self.interior.inner.keys()
        found = staged_loads(self.program, *_variations(self.program))
        return tuple(one for one in found if one.access in known)

    def stage(self, b: Builder, at: _At, y0: str, y1: str) -> dict[Access, StagedAt]:
        """Bring together what the rows of a panel read, where it fits and there are rows enough."""
        loads = self.staged
        if not loads:
            return {}
        rows = b.op(f"sub i32 {y1}, {y0}")
        some = b.op(f"icmp ugt i32 {rows}, {2 * self.rows}")
        there = b.op("icmp ne ptr %scratch, null")
        worth = b.op(f"and i1 {some}, {there}")
        part = SCRATCH_BYTES // len(loads)
        found = {}
        for number, one in enumerate(loads):
            panel = b.op(f"getelementptr i8, ptr %scratch, i64 {number * part}")
            body = Body(b, self.context(b, at, inside=True), "")
            found[one.access] = bring_together(body, one, panel, part, worth)
        return found

    def inside(self, b: Builder, buffers: dict[str, Buffer]) -> tuple[str, str, str, str]:
        """The part of a tile that full vectors cover without leaving an array."""
        low, high = ["%x0", "%y0"], ["%x1", "%y1"]
        tests: list[str] = []
        for margin in self.interior.margins:
            held = buffers[margin.buffer]
            dim = (held.dims[margin.dim] if held.dims else held.length).registers[0]
            top = _moved_down(b, dim, margin.high)
            if margin.axis in (0, 1):
                if margin.low < 0:
                    low[margin.axis] = _umax(b, low[margin.axis], str(-margin.low))
                high[margin.axis] = _umin(b, high[margin.axis], top)
            else:
                tests += self._fixed(b, margin, top)
        lines = self.lines
        if lines is not None:
            low[0] = lines.next(b, buffers[lines.name], low[0], "%x1")
        x0, x1 = self._steps(b, low[0], high[0], "%x1", self.step)
        y0, y1 = self._steps(b, low[1], high[1], "%y1", self.rows)
        if tests:
            test = tests[0]
            for other in tests[1:]:
                test = b.op(f"and i1 {test}, {other}")
            y1 = b.op(f"select i1 {test}, i32 {y1}, i32 {y0}")
        self.call_edge(b, "%x0", "%x1", "%y0", y0)
        self.call_edge(b, "%x0", "%x1", y1, "%y1")
        self.call_edge(b, "%x0", x0, y0, y1)
        self.call_edge(b, x1, "%x1", y0, y1)
        return x0, x1, y0, y1

    def _fixed(self, b: Builder, margin: Margin, top: str) -> Iterator[str]:
        """What must hold of an index that is one for the whole tile."""
        at = "%z" if margin.axis == 2 else "0"
        yield b.op(f"icmp ult i32 {at}, {top}")
        if margin.low < 0:
            yield b.op(f"icmp uge i32 {at}, {-margin.low}")

    def _steps(self, b: Builder, low: str, high: str, last: str, step: int) -> tuple[str, str]:
        """From where to where whole steps lie inside."""
        start = _umin(b, low, last)
        stop = _umax(b, _umin(b, high, last), start)
        if step == 1:
            return start, stop
        length = b.op(f"sub i32 {stop}, {start}")
        whole = b.op(f"and i32 {length}, {-step}")
        return start, b.op(f"add i32 {start}, {whole}")

    # -- tasks

    def task(self) -> str:
        """Workgroups from `first` to before `last`, counted along x, then y, then z."""
        b = Builder(self.parts, 1)
        self.frame.unpack(b)
        for number, count in enumerate(self.counters.values()):
            size = TABLES * (count + PAD)
            b.entry.append(f"  %c{number} = alloca [{size} x i32], align 64")
            b.call(
                "void",
                "llvm.memset.p0.i64",
                ["ptr", "i8", "i64", "i1"],
                [f"%c{number}", "0", str(4 * size), "false"],
            )
        extents = [
            self.frame.word(b, self.frame.layout.extent(axis)).registers[0] for axis in range(3)
        ]

        lines, moved = self.lines, "0"
        if lines is not None and lines.movable:
            moved = lines.first(b, self.frame.buffers(b)[lines.name])

        def group(number: str) -> None:
            lanes, shares, share = self.code.lanes, self.code.shares, "0"
            if shares > 1:
                share = b.op(f"trunc i64 {b.op(f'urem i64 {number}, {shares}')} to i32")
                number = b.op(f"udiv i64 {number}, {shares}")
            bounds = self.frame.bounds(b, number, extents, moved, lanes=lanes, shares=shares)
            if self.code.across:
                bounds[0] = ("0", "1")  # a team is there once for all of them
            (x0, x1), (y0, y1), (z0, z1) = bounds

            def layer(z: str) -> None:
                places = f"i32 {x0}, i32 {x1}, i32 {y0}, i32 {y1}, i32 {z}"
                origin = f"i32 {x0}, i32 {y0}, i32 {z0}"
                b.emit(f"call void @tile({self.passed(share)}, {places}, {origin})")

            counting(b, z0, z1, 1, layer, saturating=True)

        if self.staged:
            b.parts.declared["declare noalias ptr @malloc(i64)"] = None
            b.parts.declared["declare void @free(ptr)"] = None
            b.emit(f"%scratch = call noalias ptr @malloc(i64 {SCRATCH_BYTES})")
        counting(b, "%first", "%last", 1, group, kind="i64")
        if self.staged:
            b.emit("call void @free(ptr %scratch)")
        for number, (name, count) in enumerate(self.counters.items()):
            self.flush(b, number, name, count)
        return function(f"void @{ENTRY}", TASK, b)

    def flush(self, b: Builder, number: int, name: str, count: int) -> None:
        """Add a thread's counters to everybody's."""
        place = self.frame.buffers(b)[name].pointer

        def one(at: str) -> None:
            total = None
            for table in range(TABLES):
                base = b.op(f"getelementptr i32, ptr %c{number}, i64 {table * (count + PAD)}")
                own = b.op(f"load i32, ptr {b.op(f'getelementptr i32, ptr {base}, i64 {at}')}")
                total = own if total is None else b.op(f"add i32 {total}, {own}")
            yes, after = b.name(), b.name()
            b.branch(b.op(f"icmp ne i32 {total}, 0"), yes, after)
            b.place(yes)
            far = b.op(f"getelementptr i32, ptr {place}, i64 {at}")
            b.op(f"atomicrmw add ptr {far}, i32 {total} monotonic")
            b.jump(after)
            b.place(after)

        counting(b, "0", str(count), 1, one, kind="i64")


@dataclass(slots=True)
class _At:
    """Where the lanes of a piece stand."""

    frame: Frame
    buffers: dict[str, Buffer]
    scalars: dict[str, Value]
    b: Builder
    x: str = "%x0"
    y: tuple[str, ...] = ("%y0",)
    staged: dict[Access, StagedAt] = field(default_factory=dict)
    in_lanes: bool = True  # neighbours along x are lanes; else those of a team stand together

    def moved(self, b: Builder, by: int) -> _At:
        """The place so many pieces further along x."""
        x = b.op(f"add i32 {self.x}, {by * b.width}") if by else self.x
        return replace(self, b=b, x=x)

    def ids(self, kind: IdKind, axis: int) -> Value:
        b = self.b
        if kind is IdKind.EXTENT:
            return self.frame.word(b, self.frame.layout.extent(axis))
        if kind is IdKind.WORKGROUP_SIZE:
            return _uniform(self.frame.size_of(b, WORKGROUP, axis))
        origin = ("%ox", "%oy", "%oz")[axis]
        if kind is IdKind.WORKGROUP:
            size = self.frame.size_of(b, WORKGROUP, axis)
            return _uniform(b.op(f"udiv i32 {origin}, {size}"))
        registers = ((self.x,), self.y, ("%z",))[axis]
        if kind is IdKind.LOCAL:
            registers = tuple(b.op(f"sub i32 {register}, {origin}") for register in registers)
        side_by_side = axis == 0 and b.width > 1 and self.in_lanes
        shape = Shape.LINEAR if side_by_side else Shape.UNIFORM
        return Value(U32, shape, registers, never_wraps=True)


def _uniform(register: str) -> Value:
    return Value(U32, Shape.UNIFORM, (register,))


def _moved_down(b: Builder, dim: str, by: int) -> str:
    """A limit that a position must be below for its index, `by` further on, to be inside."""
    if by == 0:
        return dim
    name = "usub" if by > 0 else "uadd"
    return b.call("i32", f"llvm.{name}.sat.i32", ["i32", "i32"], [dim, str(abs(by))])


def _umax(b: Builder, one: str, other: str) -> str:
    return b.call("i32", "llvm.umax.i32", ["i32", "i32"], [one, other])


def _umin(b: Builder, one: str, other: str) -> str:
    return b.call("i32", "llvm.umin.i32", ["i32", "i32"], [one, other])
