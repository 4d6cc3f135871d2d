"""Reductions shared by a team: lanes that stand where an invocation would, and go its way together.

What they compute is the same in each, but in the rounds of a reduction, of which each lane has its
own, and in loops that only store, each round elsewhere. Lanes of a row, 32 of them, tell each other
what they have; the rows of a larger team meet in workgroup memory.

Where no reduction depends on x, a team stands for a whole row of positions along it: what does not
depend on x is computed once, and the rest is one more loop that its lanes share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import chain

from vyre.ir.declare import Access, BufferDecl, MemoryKind
from vyre.ir.expr import (
    Alike,
    Binary,
    BinaryOp,
    Cast,
    Expr,
    FlatIndex,
    FromLane,
    Id,
    IdKind,
    Lane,
    Lit,
    Load,
    Select,
    Var,
)
from vyre.ir.fold import BLOCK, HALVES, LANES, levels
from vyre.ir.loops import ACTS
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
    Region,
    Return,
    Store,
    While,
    Yield,
)
from vyre.ir.program import Program
from vyre.ir.serial import (
    Fresh,
    Names,
    Serial,
    Together,
    as_state,
    has_reductions,
    names_of,
    u32,
    up,
)
from vyre.ir.text import statement_text
from vyre.ir.types import DataType
from vyre.ir.walk import all_expressions, expressions, rebuild, rebuild_node, size_of, statements

MOST_COPIED = 2_048
"""Statements and expressions of rounds that are worth two copies: with checks, and without."""

LANE = Lane()

_COUNTED = (DataType.U32, DataType.I32)

_SHARED = (
    *(Let, Assign, Store, If, Loop, While, Break, Continue, Return, Block, Region, Reduce),
    Yield,
)
"""Statements that all lanes of a team can go through for one invocation."""


def why_no_team(program: Program) -> str | None:
    """Why lanes cannot share what an invocation of a program does."""
    if not has_reductions(program):
        return "there is no reduction"
    parts = list(all_expressions(program.entry))
    if program.runs_whole_workgroups:
        return "its workgroups work together already"
    others = (n for n in statements(program.entry) if not isinstance(n, _SHARED))
    other = next(others, None)
    if other is not None:
        return f"of {type(other).__name__.lower()} there is one for each invocation"
    if any(isinstance(part, ACTS) for part in parts):
        return "it has atomics, or calls what nobody here can see into"
    ids = {part.kind for part in parts if isinstance(part, Id)}
    if ids & {IdKind.LOCAL, IdKind.WORKGROUP, IdKind.WORKGROUP_SIZE}:
        return "it asks for its place in a workgroup"
    for decl in program.buffers:
        if not _is_read_before(decl.name, _inside(program.entry)):
            return f"it may read {decl.name!r} where it has stored to it"
    return None


def _is_read_before(buffer: str, nodes: Sequence[Node]) -> bool:
    """Whether all that is read of an array is read before it is stored to.

    That is so where one statement stores to it, none behind it reads it, and the rounds of a loop
    read of it what they store themselves.
    """

    def reads(node: Node) -> list[Load]:
        found = (part for part in all_expressions((node,)) if isinstance(part, Load))
        return [load for load in found if load.buffer == buffer]

    stores = [
        (place, store)
        for place, node in enumerate(nodes)
        for store in statements((node,))
        if isinstance(store, Store) and store.buffer == buffer
    ]
    if not stores or not any(map(reads, nodes)):
        return True
    (place, store), *more = stores
    if more or any(map(reads, nodes[place + 1 :])):
        return False
    node = nodes[place]
    if node is store:
        return True
    once = Counter({buffer: 1})
    return (
        isinstance(node, Loop)
        and _is_shared(node, Counter(_stored((node,))) | once)
        and all(load.index == store.index for load in reads(node))
    )


def _stored(nodes: Sequence[Node]) -> Iterator[str]:
    return (node.buffer for node in statements(nodes) if isinstance(node, Store))


@dataclass(frozen=True, slots=True)
class Team:
    """A program for teams, and how it came of the one it was made of."""

    program: Program
    texts: Mapping[str, Sequence[str]]  # what statements are called now, by what they were called
    x: str | None  # the name of the position along x, where a team stands for a row of them

    def moved(self, expr: Expr) -> Expr:
        """An expression as it stands in the program for teams."""
        return expr if self.x is None else rebuild(expr, partial(_moved, self.x))


@lru_cache(maxsize=256)
def team(program: Program, lanes: int) -> Team:
    """The same program for teams of so many lanes, a multiple of 32."""
    assert why_no_team(program) is None, program
    assert lanes % LANES == 0, lanes
    fresh = Fresh(program)
    rows = _by_rows(program, fresh)
    source = program if rows is None else rows.program
    stored = Counter(_stored(source.entry))
    x = None if rows is None else rows.x
    work = _Team(fresh, rows=lanes // LANES, stored=stored, x=x)
    entry = work.plain(source.entry)
    buffers = (*program.buffers, *work.shared(len(program.buffers)))
    texts: dict[str, Sequence[str]] = dict(work.texts)
    if rows is not None:
        for before, now in rows.texts.items():
            texts.setdefault(before, now)
    made = replace(program, entry=entry, buffers=buffers)
    return Team(made, texts, x)


@lru_cache(maxsize=256)
def covers_rows(program: Program) -> bool:
    """Whether no reduction depends on x, along which there are positions."""
    return why_no_team(program) is None and _by_rows(program, Fresh(program)) is not None


# -- rows of positions


def _by_rows(program: Program, fresh: Fresh) -> Team | None:
    """The program with a loop over the positions along x, behind what does not depend on them."""
    across = Id(IdKind.INVOCATION, 0)
    nodes = _inside(program.entry)
    if any(isinstance(node, Return) for node in statements(nodes)):
        return None
    if not any(part == across for part in all_expressions(nodes)):
        return None
    changed = {node.name for node in statements(nodes) if isinstance(node, Assign)}
    written = {node.buffer for node in statements(nodes) if isinstance(node, Store)}
    before, behind, differs = list[Node](), list[Node](), set[str]()

    def depends(node: Node) -> bool:
        return any(
            part == across
            or (isinstance(part, Var) and part.name in differs | changed)
            or (isinstance(part, Load) and part.buffer in written)
            for part in all_expressions((node,))
        )

    for node in nodes:
        bound = set(names_of((node,)))
        if isinstance(node, (Let, Reduce)) and not bound & changed and not depends(node):
            before.append(node)
        else:
            behind.append(node)
            differs |= bound
    if any(isinstance(node, Reduce) for node in statements(behind)):
        return None
    x = fresh("x")
    body = tuple(rebuild_node(node, partial(_moved, x)) for node in behind)
    texts = {
        statement_text(old): (statement_text(new),)
        for old, new in zip(statements(behind), statements(body), strict=True)
    }
    row = Loop(x, u32(0), Id(IdKind.EXTENT, 0), body)
    return Team(replace(program, entry=(*before, row)), texts, x)


def _moved(x: str, expr: Expr) -> Expr:
    return Var(x) if expr == Id(IdKind.INVOCATION, 0) else expr


def _inside(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """A program's statements without the lists that only hold them."""
    match nodes:
        case (Region(body=body) | Block(body=body),):
            return _inside(body)
        case _:
            return tuple(nodes)


# -- loops that lanes share


def _is_shared(loop: Loop, stored: Mapping[str, int], around: frozenset[str] = frozenset()) -> bool:
    """Whether the rounds of a loop only store, each elsewhere, so that any lane may do any.

    Where a loop around it gives the names `around` other values, each time it comes by, and lanes
    do not wait for each other meanwhile, the lane that stores to a place has to be the same one
    each time: an earlier value could come last.
    """
    inside = tuple(statements(loop.body))
    leaves = (Break, Continue, Return, Reduce)
    if not isinstance(loop.start, Lit) or loop.start.dtype not in _COUNTED:
        return False
    if any(isinstance(node, leaves) for node in inside):
        return False
    own = {node.name for node in inside if isinstance(node, Let)}
    own |= {node.var for node in inside if isinstance(node, Loop)}
    changed = {node.name for node in inside if isinstance(node, Assign)}
    if changed - own or loop.var in changed:
        return False  # a round leaves something to the next
    bindings = Counter(names_of(loop.body))
    fixed, moving = {loop.var} | own | around, {loop.var}
    for node in inside:
        # A name that is bound on two ways may be another place on each.
        if isinstance(node, Let) and bindings[node.name] == 1:
            moving |= {node.name} if _moves(node.value, moving, fixed) else set()
    places: dict[str, list[Expr]] = {}
    for node in inside:
        if isinstance(node, Store):
            places.setdefault(node.buffer, []).append(node.index)
    # Of two stores to one array, those of different rounds could meet but where both go one way.
    return bool(places) and all(
        stored[name] == len(indices)
        and len(set(indices)) == 1
        and _moves(indices[0], moving, fixed)
        for name, indices in places.items()
    )


def _moves(index: Expr, moving: set[str], inside: set[str]) -> bool:
    """Whether an index is another one in each round, whatever else is in it."""
    if isinstance(index, FlatIndex):
        return any(_moves(part, moving, inside) for part in index.indices)
    match index:
        case Var(name):
            return name in moving
        case Cast(target, value):
            return target in _COUNTED and _moves(value, moving, inside)
        case Binary(BinaryOp.ADD, left, right):
            return (_moves(left, moving, inside) and _stays(right, inside)) or (
                _moves(right, moving, inside) and _stays(left, inside)
            )
        case Binary(BinaryOp.SUB, left, right):
            return _moves(left, moving, inside) and _stays(right, inside)
        case _:
            return False


def _stays(expr: Expr, inside: set[str]) -> bool:
    return not any(
        isinstance(part, Load) or (isinstance(part, Var) and part.name in inside)
        for part in expressions(expr)
    )


@dataclass(slots=True)
class _Team(Serial):
    """Writes what lanes of a team do, with names that nothing else has."""

    rows: int = 1  # of 32 lanes
    stored: Mapping[str, int] = field(default_factory=dict)  # how often arrays are stored to
    around: frozenset[str] = frozenset()  # names of loops around, not waited for
    x: str | None = None  # what counts the positions of a row, each of them on its own
    meeting: dict[tuple[DataType, int], str] = field(default_factory=dict)
    """The arrays in which rows meet, by their type and number."""

    @property
    def lanes(self) -> int:
        return self.rows * LANES

    def shared(self, binding: int) -> Iterator[BufferDecl]:
        """The workgroup memory that rows meet in."""
        for number, ((dtype, _), name) in enumerate(self.meeting.items()):
            yield BufferDecl(
                name=name,
                binding=binding + number,
                access=Access.WORKGROUP,
                kind=MemoryKind.SHARED,
                element=dtype,
                count=self.rows,
            )

    def nested(self, nodes: Sequence[Node]) -> tuple[Node, ...]:
        """A round is one lane's, and so are the reductions in it."""
        alone = Serial(self.fresh, texts=self.texts)
        return alone.plain(nodes)

    def inside(self, node: Node) -> Node:
        match node:
            case Loop(var) if var == self.x or _is_shared(node, self.stored, self.around):
                return Block(tuple(self.divided(node)))
            case Loop() | While():
                outer = self.around
                if self.rows == 1:  # rows that are several wait before each such loop
                    self.around = outer.union(names_of((node,)))
                made = Serial.inside(self, node)
                self.around = outer
                return made
            case Store():
                return Block(tuple(self.settled(node)))
            case _:
                return Serial.inside(self, node)

    def settled(self, store: Store) -> Iterator[Node]:
        """A store of what all lanes have, once all of them have it.

        What they read for it may lie where it goes: a caller may pass one array for both.
        """
        value = self.fresh("value")
        bound = Let(value, Alike(FromLane(store.value, 0)))
        stored = replace(store, value=Var(value))
        self.note(store, bound)
        self.note(store, stored)
        yield bound
        yield from self.waited()
        yield stored

    def waited(self) -> Iterator[Node]:
        """Lets rows of lanes wait for each other: those of one have heard of each other."""
        if self.rows > 1:
            yield Barrier()

    def divided(self, loop: Loop) -> Iterator[Node]:
        """A loop of whose rounds each lane has its own: as many whole turns as there are first."""
        yield from self.waited()  # for what others still read of where it stores
        assert isinstance(loop.start, Lit)
        dtype, origin = loop.start.dtype, int(loop.start.value)
        last, rounds = self.fresh("last"), self.fresh("rounds")
        yield Let(last, loop.stop)
        some = Binary(BinaryOp.GT, Var(last), loop.start)
        distance: Expr = Binary(BinaryOp.SUB, Var(last), loop.start)
        if dtype != DataType.U32:
            distance = Cast(DataType.U32, distance)  # which wraps to what it is
        yield Let(rounds, Select(some, distance, u32(0)))

        def turns(start: Expr, stop: Expr, *, checked: bool) -> Node:
            turn, at = self.fresh("turn"), self.fresh("at")
            counted: Expr = Var(at) if dtype == DataType.U32 else Cast(dtype, Var(at))
            if origin:
                counted = Binary(BinaryOp.ADD, counted, loop.start)
            body: tuple[Node, ...] = (Let(loop.var, counted), *loop.body)
            if checked:
                body = (If(Binary(BinaryOp.LT, Var(at), Var(rounds)), body),)
            return Loop(turn, start, stop, (Let(at, self.place(Var(turn))), *body))

        full = Binary(BinaryOp.SHR, Var(rounds), u32(self.lanes.bit_length() - 1))
        yield turns(u32(0), full, checked=False)
        yield turns(full, up(Var(rounds), self.lanes), checked=True)

    def place(self, turn: Expr) -> Expr:
        """The round that a lane has in a turn."""
        return Binary(BinaryOp.ADD, Binary(BinaryOp.MUL, turn, u32(self.lanes)), LANE)

    # -- reductions

    def walked(self, group: Together, count: str, whole: list[Names]) -> Iterator[Node]:
        rounds = group.rounds
        ordered = any(held.folding.is_ordered for held in self.held)
        known = int(rounds.value) if isinstance(rounds, Lit) else None
        parts = size_of([node for r in group.reductions for node in r.body]).parts
        copies = parts <= MOST_COPIED
        if not ordered:
            yield from self.anyhow(Var(count), whole, copies=copies)
            return
        most = 4 if known is None else levels(known)
        totals = [count]
        for _ in range(1, most):
            total = self.fresh("blocks")
            yield Let(total, up(Var(totals[-1]), BLOCK))
            totals.append(total)
        if most == 1:
            yield from self.one_block(Var(count), u32(0), whole, copies=copies)
        else:
            yield from self.blocks(most - 1, totals, u32(0), whole, copies=copies)

    def told(self) -> Iterator[Node]:
        for held in self.held:
            if held.some is None:
                continue
            for half in HALVES:
                other = self.fresh("other")
                yield Let(other, FromLane(Var(held.some), half))
                yield Assign(held.some, Binary(BinaryOp.OR, Var(held.some), Var(other)))
            if self.rows > 1:
                yield from self.told_by_rows(held.some)
            own, held.some = held.some, self.fresh("some")
            yield Let(held.some, Alike(Var(own)))

    def told_by_rows(self, some: str) -> Iterator[Node]:
        array = self.array(DataType.U32, 0)
        word = Select(Var(some), u32(1), u32(0))
        yield Store(array, self.row, word)
        yield Barrier()
        for row in range(self.rows):
            found = Binary(BinaryOp.NE, Load(array, u32(row)), u32(0))
            yield Assign(some, Binary(BinaryOp.OR, Var(some), found))
        yield Barrier()

    def anyhow(self, count: Expr, whole: list[Names], *, copies: bool) -> Iterator[Node]:
        """Rounds in whatever order: each lane's own, then all lanes' together."""
        own = [self.names(held, "own") for held in self.held]
        yield from self.all_absent(own)
        full: Expr = u32(0)
        if copies:
            full = Binary(BinaryOp.SHR, count, u32(self.lanes.bit_length() - 1))
            turn, at = self.fresh("turn"), self.fresh("at")
            body = (Let(at, self.place(Var(turn))), *self.round(Var(at), own))
            yield Loop(turn, u32(0), full, body)
        turn, at = self.fresh("turn"), self.fresh("at")
        inside = If(Binary(BinaryOp.LT, Var(at), count), tuple(self.round(Var(at), own)))
        last = up(count, self.lanes)
        yield Loop(turn, full, last, (Let(at, self.place(Var(turn))), inside))
        yield from self.agreed(own)
        if self.rows == 1:
            yield from self.all_put_alike(whole, own)
            return
        yield from self.met(own)
        for row in range(self.rows):
            every = [self.names(held, "every") for held in self.held]
            yield from self.found(row, every)
            yield from self.all_folded(whole, every)
        yield Barrier()

    def one_block(
        self, left: Expr, first: Expr, whole: list[Names], *, copies: bool
    ) -> Iterator[Node]:
        """Gives `whole` what the rounds of one block come to, for a row of lanes."""
        own = [self.names(held, "own") for held in self.held]
        yield from self.all_absent(own)
        lane = self.lane_in_row

        def rounds(stop: Expr, *, checked: bool) -> Node:
            row, at = self.fresh("row"), self.fresh("at")
            start = Binary(BinaryOp.ADD, first, lane)
            place = Binary(BinaryOp.ADD, start, Binary(BinaryOp.MUL, Var(row), u32(LANES)))
            body = tuple(self.round(Var(at), own))
            if checked:
                end = Binary(BinaryOp.LT, Binary(BinaryOp.SUB, Var(at), first), left)
                body = (If(end, body),)
            return Loop(row, u32(0), stop, (Let(at, place), *body))

        some = Binary(BinaryOp.MIN, up(left, LANES), u32(BLOCK // LANES))
        if copies:
            full = Binary(BinaryOp.GE, left, u32(BLOCK))
            yield If(
                full,
                (rounds(u32(BLOCK // LANES), checked=False),),
                (rounds(some, checked=True),),
            )
        else:
            yield rounds(some, checked=True)
        yield from self.agreed(own)
        yield from self.all_put_alike(whole, own)

    def blocks(
        self,
        level: int,
        totals: Sequence[str],
        number: Expr,
        whole: list[Names],
        *,
        copies: bool,
    ) -> Iterator[Node]:
        """Gives `whole` what the blocks of a block of them come to."""
        first, left = self.fresh("first"), self.fresh("left")
        yield Let(first, Binary(BinaryOp.MUL, number, u32(BLOCK)))
        yield Let(left, Binary(BinaryOp.SUB, Var(totals[level]), Var(first)))
        own = [self.names(held, "own") for held in self.held]
        each = [self.names(held, "block") for held in self.held]
        yield from self.all_absent(own)
        yield from self.all_absent(each)
        some = Binary(BinaryOp.MIN, Var(left), u32(BLOCK))
        turn = self.fresh("turn")
        inner: list[Node] = []
        if level > 1:
            block = Binary(BinaryOp.ADD, Var(first), Var(turn))
            inner += self.blocks(level - 1, totals, block, each, copies=copies)
            inner += self.kept(Var(turn), own, each)
            turns: Expr = some
        else:
            inner += self.round_of_blocks(totals, turn, first, some, own, each, copies=copies)
            turns = some if self.rows == 1 else up(some, self.rows)
        yield Loop(turn, u32(0), turns, tuple(inner))
        several = (*self.agreed(own), *self.all_put_alike(whole, own))
        if self.rows == 1 or level > 1:  # where each lane has what the only block came to
            one = Binary(BinaryOp.LE, Var(left), u32(1))
            yield If(one, tuple(self.all_put(whole, each)), several)
        else:
            yield from several

    def round_of_blocks(
        self,
        totals: Sequence[str],
        turn: str,
        first: str,
        some: Expr,
        own: list[Names],
        each: list[Names],
        *,
        copies: bool,
    ) -> Iterator[Node]:
        """A block of rounds for each row of lanes, and what they come to in order."""
        number, begin, left = self.fresh("number"), self.fresh("begin"), self.fresh("left")
        if self.rows == 1:
            yield Let(number, Var(turn))
        else:
            own_turn = Binary(BinaryOp.MUL, Var(turn), u32(self.rows))
            yield Let(number, Binary(BinaryOp.ADD, own_turn, self.row))
        block = Binary(BinaryOp.ADD, Var(first), Var(number))
        yield Let(begin, Binary(BinaryOp.MUL, block, u32(BLOCK)))
        total = Var(totals[0])
        inside = Binary(BinaryOp.LT, Var(number), some)
        yield Let(left, Select(inside, Binary(BinaryOp.SUB, total, Var(begin)), u32(0)))
        yield from self.one_block(Var(left), Var(begin), each, copies=copies)
        if self.rows == 1:
            yield from self.kept(Var(turn), own, each)
            return
        yield from self.met(each)
        for row in range(self.rows):
            every = [self.names(held, "every") for held in self.held]
            yield from self.found(row, every)
            before = Binary(BinaryOp.MUL, Var(turn), u32(self.rows))
            yield from self.kept(Binary(BinaryOp.ADD, before, u32(row)), own, every)
        yield Barrier()

    def kept(self, number: Expr, own: list[Names], each: list[Names]) -> Iterator[Node]:
        """Folds what a block came to into the lane whose turn it is."""
        turn = Binary(BinaryOp.BIT_AND, number, u32(LANES - 1))
        yield If(Binary(BinaryOp.EQ, self.lane_in_row, turn), tuple(self.all_folded(own, each)))

    # -- lanes that tell each other

    @property
    def row(self) -> Expr:
        """The number of the row that a lane is in."""
        return Binary(BinaryOp.SHR, LANE, u32(LANES.bit_length() - 1))

    @property
    def lane_in_row(self) -> Expr:
        return LANE if self.rows == 1 else Binary(BinaryOp.BIT_AND, LANE, u32(LANES - 1))

    def agreed(self, own: list[Names]) -> Iterator[Node]:
        """Gives all lanes of a row what theirs come to, by the fixed tree.

        A lane and the one it comes together with both compute it: their sum is the same from either
        side, and so is whichever of two is less.
        """
        for half in HALVES:
            for held, names in zip(self.held, own, strict=True):
                others = [self.fresh("other") for _ in names]
                for name, other in zip(names, others, strict=True):
                    yield Let(other, FromLane(Var(name), half))
                yield from self.folded(held, names, as_state(others))

    def all_put_alike(self, into: list[Names], own: list[Names]) -> Iterator[Node]:
        """What all lanes have by now, as one value of the team where it is one row."""
        for held, names, mine in zip(self.held, into, own, strict=True):
            states: list[Expr] = [Var(name) for name in mine]
            yield from held.put(names, [Alike(s) for s in states] if self.rows == 1 else states)

    def met(self, own: list[Names]) -> Iterator[Node]:
        """Lets each row of lanes leave what it has where all others find it."""
        for array, name in zip(self.arrays(), chain.from_iterable(own), strict=True):
            yield Store(array, self.row, Var(name))
        yield Barrier()

    def found(self, row: int, into: list[Names]) -> Iterator[Node]:
        """Binds names to what a row of lanes has left."""
        for array, name in zip(self.arrays(), chain.from_iterable(into), strict=True):
            yield Let(name, Load(array, u32(row)))

    def arrays(self) -> Iterator[str]:
        """The arrays in which rows meet, one for each part of each state."""
        given = Counter[DataType]()
        for dtype in chain.from_iterable(held.folding.state for held in self.held):
            yield self.array(dtype, given[dtype])
            given[dtype] += 1

    def array(self, dtype: DataType, number: int) -> str:
        key = dtype, number
        if key not in self.meeting:
            self.meeting[key] = self.fresh("meeting")
        return self.meeting[key]
