"""What the lanes of a workgroup agree on, and the barriers that not all of them reach."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from vyre.analysis.phases import unsettled
from vyre.ir.declare import BufferDecl
from vyre.ir.expr import (
    Atomic,
    Binary,
    BinaryOp,
    BufDim,
    BufLen,
    Call,
    Expr,
    Id,
    IdKind,
    Load,
    OpaqueExpr,
    Ordering,
    Subgroup,
    Unary,
    UnaryOp,
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
    Print,
    Reduce,
    Region,
    Return,
    Store,
    Trap,
    While,
    Yield,
)
from vyre.ir.program import Program
from vyre.ir.typing import WAVE
from vyre.ir.walk import all_expressions, bodies, expressions, statements


@dataclass(frozen=True, slots=True)
class Divergence:
    """A barrier that not all lanes reach.

    `parting` is the statement nearest to it that lanes take differently or leave by, `cause` what
    differs between them. `is_bounds_test` says that it only keeps lanes beyond the last element
    away.
    """

    barrier: Barrier
    parting: Node
    cause: Expr
    is_bounds_test: bool


@dataclass(frozen=True, slots=True)
class Uniformity:
    """What lanes do differently.

    `varying` holds the identities of the statements whose condition, bounds or stored value may
    differ between lanes.
    """

    divergences: tuple[Divergence, ...]
    varying: frozenset[int]


def uniformity(program: Program, *, grid: bool = False) -> Uniformity:
    """What the lanes of a workgroup of a valid program agree on; with `grid`, all lanes there are.

    Uniform are constants, scalars, sizes, the position of the workgroup, what is loaded at a
    uniform place from an array that the program does not write, and what is loaded at a uniform
    place from workgroup memory that no lane writes between the same two barriers. All else varies.
    """
    reader = _Reader(program, grid=grid)
    reader.list(program.entry, _ALL)
    reader.spread()
    return Uniformity(
        tuple(
            reader.divergence(barrier, place)
            for barrier, place in reader.barriers
            if place in reader.causes and (barrier.ordering is Ordering.GRID_SYNC) is grid
        ),
        frozenset(id(node) for node, value in reader.decided if value in reader.causes),
    )


_ALL = 0
"""The point of the graph for what all lanes agree on, and for where all of them come by."""

_PLAIN = (
    *(Barrier, Block, Break, Continue, If, Let, Assign, Loop),
    *(Reduce, Print, Region, Return, Store, Trap, While, Yield),
)

Edge = tuple[int, Node | None]
"""What a point depends on, and the statement through which it does, where lanes part there."""


@dataclass(frozen=True, slots=True)
class _Exit:
    """A statement that lanes leave by, and the place from which they do."""

    node: Break | Continue | Return
    place: int


@dataclass(slots=True)
class _Loop:
    """A loop being read, and every value that is given to a name in it."""

    given: dict[str, list[int]] = field(default_factory=dict)


class _Reader:
    """Builds a graph of values and places, in which each point leads to what it depends on.

    Every assignment makes a value of its own. Where branches or rounds meet, a value depends on
    those that meet and on what decides between them. What leads to a source varies.
    """

    def __init__(self, program: Program, *, grid: bool) -> None:
        self.buffers = {decl.name: decl for decl in program.buffers}
        self.workgroup, self.grid = program.workgroup_size, grid
        self.written = _written(program)
        self.unsettled = unsettled(program)
        self.changed = _changed_in_loops(program.entry)
        self.fixed = _fixed_names(program)

        self.edges: list[list[Edge]] = [[]]
        self.sources: dict[int, Expr] = {}
        self.causes: dict[int, Edge | None] = {}
        self.values: dict[str, int] = {}
        self.journal: list[tuple[str, int | None]] = []
        self.loops: list[_Loop] = []
        self.exits: list[_Exit] = []
        self.elements: list[int] = []  # what rounds of the innermost reduction yield
        self.barriers: list[tuple[Barrier, int]] = []
        self.decided: list[tuple[Node, int]] = []

    # -- the graph

    def point(self, *edges: Edge) -> int:
        """A point that depends on others; that of all lanes where it depends on nothing."""
        kept = [edge for edge in edges if edge[0] != _ALL]
        if not kept:
            return _ALL
        self.edges.append(kept)
        return len(self.edges) - 1

    def later(self) -> int:
        """A point whose dependencies are found later."""
        self.edges.append([])
        return len(self.edges) - 1

    def source(self, expr: Expr) -> int:
        point = self.later()
        self.sources[point] = expr
        return point

    def spread(self) -> None:
        """Mark what varies, each point with the dependency through which it does."""
        behind: list[list[Edge]] = [[] for _ in self.edges]
        for point, edges in enumerate(self.edges):
            for target, through in edges:
                behind[target].append((point, through))
        self.causes = dict.fromkeys(self.sources)
        queue = deque(self.sources)
        while queue:
            target = queue.popleft()
            for point, through in behind[target]:
                if point not in self.causes:
                    self.causes[point] = (target, through)
                    queue.append(point)

    def divergence(self, barrier: Barrier, place: int) -> Divergence:
        point, partings = place, list[Node]()
        while (cause := self.causes[point]) is not None:
            point, through = cause
            if through is not None:
                partings.append(through)
        return Divergence(barrier, partings[0], self.sources[point], self.is_bounds_test(partings))

    def is_bounds_test(self, partings: Sequence[Node]) -> bool:
        match partings:
            case [Return() as node, If(cond, then), *_] if any(node is inner for inner in then):
                return _is_beyond(cond, self.fixed)
            case [If(cond, _, ()), *_]:
                return _is_beyond(Unary(UnaryOp.LOGICAL_NOT, cond), self.fixed)
            case _:
                return False

    # -- values

    def value(self, *exprs: Expr) -> int:
        """The point that some expressions depend on together."""
        found: dict[int, None] = {}
        for part in (part for expr in exprs for part in expressions(expr)):
            match part:
                case Var(name):
                    found[self.values.get(name, _ALL)] = None
                case Load():
                    found[self.loaded(part, self.buffers.get(part.buffer))] = None
                case Id(kind, axis) if self.tells_apart(kind, axis):
                    found[self.source(part)] = None
                case Atomic() | Call() | Subgroup() | OpaqueExpr():
                    found[self.source(part)] = None
                case Binary(op) if op in WAVE:
                    found[self.source(part)] = None
                case _:
                    pass
        found.pop(_ALL, None)
        return next(iter(found)) if len(found) == 1 else self.point(*((on, None) for on in found))

    def tells_apart(self, kind: IdKind, axis: int) -> bool:
        """Whether a position differs between lanes that wait for each other."""
        match kind:
            case IdKind.EXTENT | IdKind.WORKGROUP_SIZE:
                return False
            case IdKind.WORKGROUP:
                return self.grid
            case IdKind.LOCAL | IdKind.INVOCATION:
                return self.grid or self.workgroup[axis] > 1

    def loaded(self, load: Load, decl: BufferDecl | None) -> int:
        """What a load depends on beside its index."""
        if decl is None or load.buffer in self.written:
            return self.source(load)
        if not decl.is_shared:
            return _ALL
        return self.source(load) if self.grid or id(load) in self.unsettled else _ALL

    def give(self, name: str, value: int) -> None:
        self.journal.append((name, self.values.get(name)))
        self.values[name] = value
        if self.loops:
            self.loops[-1].given.setdefault(name, []).append(value)

    def rolled_back(self, mark: int) -> dict[str, int]:
        """Forget what was given since `mark`; what names had last that were there before."""
        last: dict[str, int] = {}
        while len(self.journal) > mark:
            name, before = self.journal.pop()
            if before is None:
                del self.values[name]
                last.pop(name, None)
            else:
                last.setdefault(name, self.values[name])
                self.values[name] = before
        return last

    # -- statements

    def list(self, nodes: Sequence[Node], place: int) -> int | None:
        """Read statements from a place on; the place after them, or None if nobody comes there."""
        after: int | None = place
        for node in nodes:
            if after is None:
                break
            after = self.statement(node, after)
        return after

    def statement(self, node: Node, place: int) -> int | None:
        match node:
            case Let(name, value) | Assign(name, value):
                self.give(name, self.value(value))
            case Store(_, _, value):
                self.decided.append((node, self.value(value)))
            case If():
                return self.branches(node, place)
            case Loop() | While():
                return self.rounds(node, place)
            case Reduce():
                self.reduction(node)
            case Yield(value):
                self.elements.append(self.point((self.value(value), None), (place, None)))
            case Break() | Continue() | Return():
                self.exits.append(_Exit(node, place))
                return None
            case Barrier():
                self.barriers.append((node, place))
            case _:
                after: int | None = place
                for body in bodies(node):
                    after = None if after is None else self.list(body, after)
                return after
        return place

    def reduction(self, node: Reduce) -> None:
        """What all elements come to: it varies where one does, or who has one, or how many.

        A round has names of its own alone, so that one reading stands for all of them. Lanes that
        come here make the same rounds wherever they come from: their place has no part in it.
        """
        many = self.value(node.rounds)
        self.decided.append((node, many))
        mark, around = len(self.journal), self.elements
        self.elements = []
        self.give(node.var, _ALL)
        self.list(node.body, _ALL)
        self.rolled_back(mark)
        found = [(point, None) for point in (many, *self.elements)]
        self.elements = around
        self.give(node.name, self.point(*found))

    def branches(self, node: If, place: int) -> int | None:
        test = self.value(node.cond)
        self.decided.append((node, test))
        inside = place if test == _ALL else self.point((place, None), (test, node))
        left = len(self.exits)
        ends: list[dict[str, int]] = []
        for body in (node.then, node.otherwise):
            mark = len(self.journal)
            goes_on = self.list(body, inside) is not None
            last = self.rolled_back(mark)
            if goes_on:
                ends.append(last)
        for name in dict.fromkeys(name for end in ends for name in end):
            meeting = [end.get(name, self.values[name]) for end in ends]
            decides = [test] if len(ends) > 1 else []
            self.give(name, self.point(*((value, None) for value in (*meeting, *decides))))
        return self.without(place, self.exits[left:]) if ends else None

    def without(self, place: int, exits: Sequence[_Exit]) -> int:
        """A place to which some do not come that were at an earlier one."""
        return (
            place if not exits else self.point((place, None), *((e.place, e.node) for e in exits))
        )

    def rounds(self, node: Loop | While, place: int) -> int:
        names = [name for name in self.changed[id(node)] if name in self.values]
        before = {name: self.values[name] for name in names}
        bounds = self.value(node.start, node.stop) if isinstance(node, Loop) else _ALL
        first = self.value(node.start) if isinstance(node, Loop) else _ALL
        mark, left, loop = len(self.journal), len(self.exits), _Loop()
        self.loops.append(loop)
        heads = {name: self.later() for name in names}
        for name, head in heads.items():
            self.give(name, head)
        if isinstance(node, Loop):
            self.give(node.var, first)
        else:
            bounds = self.value(node.cond)
        self.decided.append((node, bounds))
        round_ = self.later()
        goes_on = self.list(node.body, round_) is not None
        ended = {name: self.values[name] for name in names} if goes_on else {}
        self.rolled_back(mark)
        self.loops.pop()

        exits, self.exits[left:] = self.exits[left:], []
        breaks = [exit_ for exit_ in exits if isinstance(exit_.node, Break)]
        continues = [exit_ for exit_ in exits if isinstance(exit_.node, Continue)]
        returns = [exit_ for exit_ in exits if isinstance(exit_.node, Return)]
        self.exits += returns
        gone = ((exit_.place, exit_.node) for exit_ in (*breaks, *returns))
        self.edges[round_] += [edge for edge in ((place, None), (bounds, node), *gone) if edge[0]]
        # A name may have any value of the loop where a round ends early, and who does decides.
        early = self.point(*((exit_.place, None) for exit_ in continues))
        late = self.point((bounds, None), *((exit_.place, None) for exit_ in breaks))
        for name, head in heads.items():
            given = loop.given[name]
            next_round = [before[name], *([ended[name]] if goes_on else [])]
            next_round += [early, *given] if continues else []
            self.edges[head] += [(value, None) for value in next_round if value != _ALL]
            out = [head, late, *(given if breaks else [])]
            self.give(name, self.point(*((value, None) for value in dict.fromkeys(out))))
        return self.without(place, returns)


def _written(program: Program) -> frozenset[str]:
    """The arrays that a program may write; what it does not know may write any."""
    if not all(isinstance(node, _PLAIN) for node in statements(program.entry)):
        return frozenset(decl.name for decl in program.buffers if not decl.is_scalar_argument)
    shared = {decl.name for decl in program.buffers if decl.is_shared}
    stored = {node.buffer for node in statements(program.entry) if isinstance(node, Store)}
    updated = {expr.buffer for expr in all_expressions(program.entry) if isinstance(expr, Atomic)}
    return frozenset(stored | updated) - shared


def _changed_in_loops(nodes: Sequence[Node]) -> dict[int, dict[str, None]]:
    """By a loop's identity, the names that are given another value in it."""
    found: dict[int, dict[str, None]] = {}

    def read(inner: Sequence[Node]) -> dict[str, None]:
        changed: dict[str, None] = {}
        for node in inner:
            if isinstance(node, Assign):
                changed[node.name] = None
            own: dict[str, None] = {}
            for body in bodies(node):
                own |= read(body)
            if isinstance(node, (Loop, While)):
                found[id(node)] = own
            changed |= own
        return changed

    read(nodes)
    return found


def _fixed_names(program: Program) -> dict[str, Expr]:
    """What names stand for that have one value only."""
    changed = {node.name for node in statements(program.entry) if isinstance(node, Assign)}
    return {
        node.name: node.value
        for node in statements(program.entry)
        if isinstance(node, Let) and node.name not in changed
    }


_NEGATED = {
    BinaryOp.LT: BinaryOp.GE,
    BinaryOp.GE: BinaryOp.LT,
    BinaryOp.GT: BinaryOp.LE,
    BinaryOp.LE: BinaryOp.GT,
    BinaryOp.AND: BinaryOp.OR,
    BinaryOp.OR: BinaryOp.AND,
}


def _is_beyond(test: Expr, names: dict[str, Expr], *, negated: bool = False) -> bool:
    """Whether a test holds for lanes beyond the last element and for no others."""

    def is_position(expr: Expr) -> bool:
        found = names.get(expr.name) if isinstance(expr, Var) else expr
        return isinstance(found, Id) and found.kind is IdKind.INVOCATION

    def is_size(expr: Expr) -> bool:
        found = names.get(expr.name) if isinstance(expr, Var) else expr
        return isinstance(found, (BufLen, BufDim)) or (
            isinstance(found, Id) and found.kind is IdKind.EXTENT
        )

    match test:
        case Unary(UnaryOp.LOGICAL_NOT, operand):
            return _is_beyond(operand, names, negated=not negated)
        case Binary(op, left, right):
            means = _NEGATED.get(op, op) if negated else op
            sides = (left, right)
            return (
                (means is BinaryOp.GE and is_position(left) and is_size(right))
                or (means is BinaryOp.LE and is_size(left) and is_position(right))
                or (
                    means is BinaryOp.OR
                    and all(_is_beyond(side, names, negated=negated) for side in sides)
                )
            )
        case _:
            return False
