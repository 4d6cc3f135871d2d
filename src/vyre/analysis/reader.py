"""Reads a program once: every memory access with its index form, every branch, every cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import lru_cache

from vyre.analysis.forms import (
    ONE,
    Counter,
    Form,
    Gid,
    Linear,
    Poly,
    Symbol,
    Unknown,
    extent_of,
    length_of,
    wrapped,
)
from vyre.analysis.made import Known
from vyre.analysis.values import MOST_KNOWN, Values, linear
from vyre.ir.accuracy import ULP_BOUND
from vyre.ir.declare import BufferDecl
from vyre.ir.expr import (
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
    Id,
    IdKind,
    Lit,
    Load,
    Put,
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
    Reduce,
    ReduceOp,
    Region,
    Return,
    Store,
    While,
    Yield,
)
from vyre.ir.program import Program
from vyre.ir.text import statement_text
from vyre.ir.types import DataType
from vyre.ir.typing import Scope, type_of
from vyre.ir.walk import all_expressions, bodies, expressions, operands, statements

LOAD, STORE, ATOMIC = "load", "store", "atomic"

GUESSED_ROUNDS = 16
"""Rounds counted for a loop whose length only the launch knows; it orders guesses, nothing else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Touch:
    """One place where the program touches a buffer."""

    kind: str
    buffer: str
    indices: tuple[Form, ...]  # one per axis of the buffer
    index: Expr
    value: Expr | None  # what a store writes
    atomic: AtomicOp | None
    is_float: bool
    result_used: bool
    guards: tuple[Linear, ...]  # forms that are 0 in every invocation that comes by
    by_all: bool  # whether every invocation comes by, or none
    rewritten: bool  # a load of the element that its own statement then stores
    statement: str
    rounds: int  # how often an invocation is expected to come by
    places: tuple[Linear | None, ...] = ()  # the index again, with all that it is made of
    known: tuple[Known, ...] = ()  # what holds wherever an invocation comes by
    is_fixed: bool = False  # whether what a store writes is one value in a launch


@dataclass(slots=True)
class Reading:
    """What one pass over a program found."""

    touches: list[Touch] = field(default_factory=list)
    operations: int = 0
    transcendental: int = 0
    parted: int = 0  # operations that some invocations come by and others do not
    counts: dict[BinaryOp | UnaryOp, int] = field(default_factory=dict)  # operations of each kind
    divergent: list[str] = field(default_factory=list)
    loop_scalars: set[str] = field(default_factory=set)
    form_scalars: set[str] = field(default_factory=set)  # of every form that leaves the reader
    rounds: dict[str, Linear | None] = field(default_factory=dict)
    """How many rounds each reduction has, by its name, where a launch tells."""


@lru_cache(maxsize=256)
def read(program: Program) -> Reading:
    """All touches, branches and operations of a valid program; the same object each time."""
    reader = _Reader(program, lambda _: None)
    reader.follow()
    reader.body(program.entry, (), 1)
    return reader.found


def read_for(program: Program, number: Callable[[Poly], int | None]) -> Reading:
    """How often a launch comes by each place; `number` is what it makes of a loop's length."""
    reader = _Reader(program, number)
    reader.body(program.entry, (), 1)
    return reader.found


class _Reader:
    def __init__(self, program: Program, number: Callable[[Poly], int | None]) -> None:
        self.program, self.number = program, number
        self.buffers: Mapping[str, BufferDecl] = {decl.name: decl for decl in program.buffers}
        self.changed = {node.name for node in statements(program.entry) if isinstance(node, Assign)}
        self.read_names = {
            expr.name for expr in all_expressions(program.entry) if isinstance(expr, Var)
        }
        # No name hides another in a valid program, so that one table serves all lists.
        self.forms: dict[str, Form] = {}
        self.types: dict[str, DataType | None] = {}
        self.by_all = True  # whether no condition so far tells invocations apart
        self.values: Values | None = None
        self.known: tuple[Known, ...] = ()
        self.found = Reading()

    def follow(self) -> None:
        """Follow what names stand for as they change, and what conditions tell of it."""
        written = {n.buffer for n in statements(self.program.entry) if isinstance(n, Store)}
        written |= {e.buffer for e in all_expressions(self.program.entry) if isinstance(e, Atomic)}
        if not all(isinstance(node, _SEEN_INTO) for node in statements(self.program.entry)):
            written |= set(self.buffers)
        self.values = Values(self.buffers, frozenset(written), self.type_of)

    def body(self, nodes: tuple[Node, ...], guards: tuple[Linear, ...], rounds: int) -> None:
        known = self.known
        for node in nodes:
            if self.values is not None and isinstance(node, While):
                self.values.forget(_given(node.body))  # its condition is asked again every round
            self.touch(node, guards, rounds)
            match node:
                case Let(name, value):
                    self.types[name] = self.type_of(value)
                    if self.values is not None:
                        self.values.bind(name, value)
                    form = self.form(value)
                    self.forms[name] = Unknown() if name in self.changed else form
                case Loop(var, start, stop, body):
                    self.types[var] = self.type_of(start)
                    trips = self.counted(node, start, stop)
                    read = self.body if isinstance(self.forms[var], Linear) else self.parted
                    with self.again(node):
                        read(body, guards, rounds * trips)
                case Reduce(name, var=var, rounds=many, body=body):
                    agreed = self.is_agreed(node)
                    self.types[var] = DataType.U32
                    trips = self.counted(node, _FIRST, many)
                    self.note_rounds(name, many)
                    self.count(_TOGETHER[node.op], rounds * trips)
                    read = self.body if isinstance(self.forms[var], Linear) else self.parted
                    with self.again(node):
                        read(body, guards, rounds * trips)
                    self.types[name] = node.result
                    if self.values is not None:
                        self.values.bind_any(name, node.result)
                    self.forms[name] = Unknown(uniform=agreed and name not in self.changed)
                case While(cond, body):
                    self.found.divergent.append(statement_text(node))
                    self.note_scalars((cond,))
                    with self.again(node):
                        self.parted(body, guards, rounds * GUESSED_ROUNDS)
                case If(cond, then, otherwise):
                    read = self.body
                    if not self.is_uniform(cond):
                        self.found.divergent.append(statement_text(node))
                        read = self.parted
                    with self.branches(node) as (one, other):
                        with one:
                            read(then, (*guards, *self.pinned(cond)), rounds)
                        with other:
                            read(otherwise, guards, rounds)
                case Assign(name, value):
                    if self.values is not None:
                        self.values.give(name, value)
                case _:
                    for inner_body in bodies(node):
                        self.body(inner_body, guards, rounds)
        self.known = known

    @contextmanager
    def again(self, node: Loop | While | Reduce) -> Iterator[None]:
        """Around the rounds of a loop: names that it gives have any value in them."""
        values, known = self.values, self.known
        if values is None:
            yield
            return
        given = _given(node.body)
        if isinstance(node, Loop):
            told = values.counter(node.var, node.start, node.stop)
            values.forget(given)
        elif isinstance(node, Reduce):
            told = values.counter(node.var, _FIRST, node.rounds)
            values.forget(given)
        else:
            told = values.test(node.cond).yes
        self.known = (*known, *told)[-MOST_KNOWN:]
        yield
        values.forget(given)
        self.known = known

    @contextmanager
    def branches(self, node: If) -> Iterator[tuple[AbstractContextManager[None], ...]]:
        """Around two ways: what is known on each of them, and where they meet."""
        values, known = self.values, self.known
        if values is None:
            yield nullcontext(), nullcontext()
            return
        test = values.test(node.cond)
        ends: list[dict[str, tuple[Linear | None, bool]] | None] = []

        @contextmanager
        def way(told: tuple[Known, ...], nodes: tuple[Node, ...]) -> Iterator[None]:
            mark = len(values.changes)
            self.known = (*known, *told)[-MOST_KNOWN:]
            yield
            last = values.undone(mark)
            ends.append(None if _leaves(nodes) else last)

        yield way(test.yes, node.then), way(test.no, node.otherwise)
        values.join(test, *ends)
        left = test.no if ends[0] is None else test.yes if ends[1] is None else ()
        self.known = (*known, *left)[-MOST_KNOWN:]

    def parted(self, nodes: tuple[Node, ...], guards: tuple[Linear, ...], rounds: int) -> None:
        """Read what some invocations run and others do not; who leaves it does so for good."""
        by_all, self.by_all = self.by_all, False
        self.body(nodes, guards, rounds)
        self.by_all = by_all and not any(
            isinstance(node, (Return, Break, Continue)) for node in statements(nodes)
        )

    def is_agreed(self, node: Reduce) -> bool:
        """Whether all invocations see the same elements in the same rounds."""
        inside = {node.var}
        for inner in statements(node.body):
            if isinstance(inner, (Let, Reduce)):
                inside.add(inner.name)
            if isinstance(inner, (Loop, Reduce)):
                inside.add(inner.var)

        def agreed(part: Expr) -> bool:
            match part:
                case Var(name):
                    return name in inside or self.is_uniform(part)
                case Id(kind):
                    return kind is IdKind.EXTENT
                case Load(buffer):
                    return self.buffers[buffer].is_scalar_argument
                case Atomic():
                    return False
                case _:
                    return True

        return all(agreed(part) for part in all_expressions([node]))

    def counted(self, node: Loop | Reduce, start: Expr, stop: Expr) -> int:
        """How many rounds to reckon with; what is known of the counter is noted on the way."""
        self.note_scalars((start, stop))
        self.forms[node.var], trips = self.counter(node, start, stop)
        return trips

    def counter(self, node: Loop | Reduce, start: Expr, stop: Expr) -> tuple[Form, int]:
        first, last = self.form(start), self.form(stop)
        dtype = self.types[node.var]
        if (
            not isinstance(first, Linear)
            or not isinstance(last, Linear)
            or not first.is_uniform
            or not last.is_uniform
            or dtype is None
        ):
            self.found.divergent.append(statement_text(node))
            return Unknown(), GUESSED_ROUNDS
        counter = Counter(node.var, first.offset, last.offset, dtype)
        self.found.form_scalars |= first.offset.scalars | last.offset.scalars
        apart = last.offset - first.offset
        length = self.number(apart) if apart.constant is None else apart.constant
        trips = GUESSED_ROUNDS if length is None else max(length, 0)
        return Linear({counter: ONE}, Poly(), dtype), trips

    def note_rounds(self, name: str, many: Expr) -> None:
        """Keep how many rounds a reduction has; of several by one name, only where they agree."""
        form = None if self.values is None else self.values.value(many)
        if form is None or not form.is_uniform or self.found.rounds.get(name, form) != form:
            self.found.rounds[name] = None
            return
        self.found.rounds[name] = form
        self.found.form_scalars |= form.scalars

    def note_scalars(self, exprs: tuple[Expr, ...]) -> None:
        for expr in exprs:
            for part in expressions(expr):
                if isinstance(part, Load) and self.buffers[part.buffer].is_scalar_argument:
                    self.found.loop_scalars.add(part.buffer)

    def touch(self, node: Node, guards: tuple[Linear, ...], rounds: int) -> None:
        text = statement_text(node)
        # An atomic may change what the index reads between the load and the store.
        stored = (
            (node.buffer, node.index)
            if isinstance(node, Store)
            and not any(isinstance(part, Atomic) for part in expressions(node))
            else None
        )

        def add(
            kind: str,
            buffer: str,
            index: Expr,
            *,
            value: Expr | None = None,
            op: AtomicOp | None = None,
            used: bool = False,
        ) -> None:
            if buffer in self.buffers and not self.buffers[buffer].is_scalar_argument:
                indices = self.indices(buffer, index)
                for form in (*indices, *guards):
                    if isinstance(form, Linear):
                        self.found.form_scalars |= form.scalars
                self.found.touches.append(
                    Touch(
                        kind=kind,
                        buffer=buffer,
                        indices=indices,
                        index=index,
                        value=value,
                        atomic=op,
                        is_float=self.buffers[buffer].element.is_float,
                        result_used=used,
                        guards=guards,
                        by_all=self.by_all,
                        rewritten=kind == LOAD and (buffer, index) == stored,
                        statement=text,
                        rounds=rounds,
                        places=self.places(buffer, index),
                        known=self.known,
                        is_fixed=value is not None and self.is_fixed(value),
                    )
                )

        for operand in operands(node):
            for part in expressions(operand):
                match part:
                    case Load(buffer, index):
                        add(LOAD, buffer, index)
                    case Atomic(op, buffer, index):
                        unread = (
                            isinstance(node, Let)
                            and node.value is part
                            and node.name not in self.read_names
                        )
                        add(ATOMIC, buffer, index, op=op, used=not unread)
                    case Binary() | Unary() | Fma() | Element() | Put():
                        self.count(part.op if isinstance(part, (Binary, Unary)) else None, rounds)
                    case _:
                        pass
        if isinstance(node, Store):
            add(STORE, node.buffer, node.index, value=node.value)

    def count(self, op: BinaryOp | UnaryOp | None, rounds: int) -> None:
        """Reckon with an operation; a fused one has no name of its own."""
        self.found.operations += rounds
        self.found.parted += 0 if self.by_all else rounds
        if op is not None:
            self.found.counts[op] = self.found.counts.get(op, 0) + rounds
            self.found.transcendental += rounds if op in _COSTLY else 0

    def indices(self, buffer: str, index: Expr) -> tuple[Form, ...]:
        if isinstance(index, FlatIndex) and index.buffer == buffer:
            return tuple(self.form(part) for part in index.indices)
        return (self.form(index),)

    def places(self, buffer: str, index: Expr) -> tuple[Linear | None, ...]:
        if self.values is None:
            return ()
        flat = isinstance(index, FlatIndex) and index.buffer == buffer
        return tuple(map(self.values.value, index.indices if flat else (index,)))  # type: ignore[attr-defined]

    def is_fixed(self, value: Expr) -> bool:
        return self.values is not None and self.values.is_fixed(value)

    def pinned(self, cond: Expr) -> tuple[Linear, ...]:
        """The forms of the invocation's position that are 0 wherever `cond` holds."""
        match cond:
            case Binary(BinaryOp.AND, left, right):
                return (*self.pinned(left), *self.pinned(right))
            case Binary(BinaryOp.EQ, left, right):
                a, b = self.form(left), self.form(right)
                if isinstance(a, Linear) and isinstance(b, Linear):
                    apart = a.combine(b, -1)
                    # A counter would make it another invocation in every round.
                    if apart.gids() and not apart.counters():
                        return (apart,)
                return ()
            case _:
                return ()

    def type_of(self, expr: Expr) -> DataType | None:
        return type_of(expr, Scope(self.types, self.buffers), lambda _: None)

    def is_uniform(self, expr: Expr) -> bool:
        return _alike(self.form(expr))

    def form(self, expr: Expr) -> Form:
        match expr:
            case Lit(dtype) if dtype.is_int:
                return Linear.uniform(Poly.of(int(expr.value)), dtype)
            case Lit() | Array():
                return Unknown(uniform=True)
            case Var(name):
                return self.forms.get(name, Unknown())
            case Id(IdKind.INVOCATION, axis):
                return Linear({Gid(axis): ONE}, Poly(), DataType.U32)
            case Id(IdKind.EXTENT, axis):
                return Linear.uniform(Poly.of(Symbol("extent", axis=axis)), DataType.U32)
            case BufLen(buffer):
                return Linear.uniform(length_of(self.buffers[buffer]), DataType.U32)
            case BufDim(buffer, axis):
                return Linear.uniform(extent_of(self.buffers[buffer], axis), DataType.U32)
            case Load(buffer, index) if buffer in self.buffers:
                decl = self.buffers[buffer]
                if decl.is_scalar_argument and decl.element.is_int and index == _FIRST:
                    return Linear.uniform(Poly.of(Symbol("scalar", buffer)), decl.element)
                return Unknown(uniform=decl.is_scalar_argument and self.is_uniform(index))
            case Cast(target, value) | Bitcast(target, value) if target.is_int:
                return _cast(self.form(value), target)
            case Binary(op, left, right):
                return _binary(op, self.form(left), self.form(right))
            case Unary(UnaryOp.NEGATE, operand):
                form = self.form(operand)
                return form.times(-ONE) if isinstance(form, Linear) else form
            case Id() | Atomic():
                return Unknown()
            case _:
                parts = operands(expr)
                return Unknown(uniform=bool(parts) and all(self.is_uniform(p) for p in parts))


_FIRST = Lit.of(DataType.U32, 0)

_TOGETHER = {
    ReduceOp.SUM: BinaryOp.ADD,
    ReduceOp.PROD: BinaryOp.MUL,
    ReduceOp.MIN: BinaryOp.MIN,
    ReduceOp.MAX: BinaryOp.MAX,
    ReduceOp.ANY: BinaryOp.OR,
    ReduceOp.ALL: BinaryOp.AND,
    ReduceOp.ARGMIN: BinaryOp.LT,
    ReduceOp.ARGMAX: BinaryOp.GT,
}
"""What each further element of a reduction costs."""

_SEEN_INTO = (
    *(Let, Assign, Store, If, Loop, While, Break, Continue, Return, Block, Region, Barrier),
    *(Reduce, Yield),
)
"""Statements that write what they say, and nothing else."""


def _given(nodes: tuple[Node, ...]) -> list[str]:
    """The names that statements give another value."""
    return list(dict.fromkeys(n.name for n in statements(nodes) if isinstance(n, Assign)))


def _leaves(nodes: tuple[Node, ...]) -> bool:
    """Whether nobody comes to the end of a list."""
    for node in nodes:
        match node:
            case Return() | Break() | Continue():
                return True
            case If(_, then, otherwise) if _leaves(then) and _leaves(otherwise):
                return True
            case Block(body) | Region(body=body) if _leaves(body):
                return True
            case _:
                pass
    return False


_COSTLY = frozenset(ULP_BOUND)  # what no device rounds exactly, it computes by a series


def _cast(form: Form, target: DataType) -> Form:
    if isinstance(form, Unknown):
        return form
    if target.bits == form.dtype.bits:
        return Linear(form.terms, form.offset, target)
    # A form that may have wrapped is not the same number in a wider type. A bare id never wraps,
    # unless it was made signed on the way.
    bare = form.terms == {Gid(axis): ONE for axis in form.gids()} and len(form.terms) == 1
    widened = target.bits > form.dtype.bits and form.dtype.is_unsigned
    if widened and bare and not form.offset.terms:
        return Linear(form.terms, form.offset, target)
    constant = form.offset.constant
    if form.is_uniform and constant is not None:
        return Linear.uniform(Poly.of(wrapped(constant, form.dtype)), target)
    return Unknown(uniform=form.is_uniform)


def _binary(op: BinaryOp, left: Form, right: Form) -> Form:
    if isinstance(left, Linear) and isinstance(right, Linear):
        found = linear(op, left, right)
        if found is not None and found.is_small:
            return found
    return Unknown(uniform=_alike(left) and _alike(right))


def _alike(form: Form) -> bool:
    return form.is_uniform if isinstance(form, Linear) else form.uniform
