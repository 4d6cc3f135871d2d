"""What lanes of a team do: each has its own rounds of a reduction, and of loops that only store.

Lanes of a row, 32 of them, tell each other what they have; the rows of a larger team meet in
workgroup memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, groupby

from vyre.ir.declare import Access, BufferDecl, MemoryKind
from vyre.ir.expr import (
    Ahead,
    Alike,
    Binary,
    BinaryOp,
    Cast,
    Expr,
    FromLane,
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
    If,
    Let,
    Loop,
    Meet,
    Node,
    Store,
    While,
)
from vyre.ir.serial import (
    U32_MAX,
    Names,
    Serial,
    Together,
    as_state,
    u32,
    up,
)
from vyre.ir.team.loops import is_shared
from vyre.ir.types import DataType
from vyre.ir.walk import all_expressions, names_of, size_of

MOST_COPIED = 2_048
"""Statements and expressions of rounds that are worth two copies: with checks, and without."""

LANE = Lane()


@dataclass(slots=True)
class Writer(Serial):
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

    def entry(self, nodes: Sequence[Node]) -> tuple[Node, ...]:
        """What a team does for the statements of an invocation."""
        return self.plain(nodes)

    def memory(self, binding: int) -> Iterator[BufferDecl]:
        """The workgroup memory that rows meet in."""
        for number, ((dtype, _), name) in enumerate(self.meeting.items()):
            yield BufferDecl(
                name=name,
                binding=binding + number,
                access=Access.WORKGROUP,
                kind=MemoryKind.SHARED,
                element=dtype,
                count=self.meeting_size,
            )

    @property
    def meeting_size(self) -> int:
        """Elements of an array in which rows, or lanes, meet."""
        return LANES

    def nested(self, nodes: Sequence[Node]) -> tuple[Node, ...]:
        """A round is one lane's, and so are the reductions in it."""
        alone = Serial(self.fresh, texts=self.texts)
        return alone.plain(nodes)

    def inside(self, node: Node) -> Node:
        match node:
            case Loop(var) if var == self.x or is_shared(node, self.stored, self.around):
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

    def others_inside(self, nodes: Sequence[Node]) -> Iterator[Node]:
        """The same, but lanes wait once for stores that follow each other and read nothing."""
        for settle, some in groupby(nodes, only_stores):
            several = list(some)
            if settle and len(several) > 1:
                yield from self.settled_at_once(several)
            else:
                yield from Serial.others_inside(self, several)

    def settled_at_once(self, nodes: Sequence[Node]) -> Iterator[Node]:
        """Stores of what all lanes have, once all of them have all of it."""
        ready = list[Node]()
        for node in nodes:
            store = node.then[0] if isinstance(node, If) else node
            assert isinstance(store, Store), node
            bound, stored = self.bound_before(store)
            yield bound
            ready.append(replace(node, then=(stored,)) if isinstance(node, If) else stored)
        yield from self.waited()
        yield from map(self.by_its_lane, ready)

    def bound_before(self, store: Store) -> tuple[Let, Store]:
        """A name for what is stored, and a store of that."""
        value = self.fresh("value")
        bound = Let(value, self.alike(store.value))
        stored = replace(store, value=Var(value))
        self.note(store, bound)
        self.note(store, stored)
        return bound, stored

    def settled(self, store: Store) -> Iterator[Node]:
        """A store of what all lanes have, once all of them have it.

        What they read for it may lie where it goes: a caller may pass one array for both.
        """
        bound, stored = self.bound_before(store)
        yield bound
        yield from self.waited()
        yield self.by_its_lane(stored)

    def alike(self, value: Expr) -> Expr:
        """What all lanes of a team have alike."""
        return self.as_one(FromLane(value, 0))

    def as_one(self, value: Expr) -> Expr:
        """A value that all lanes of a team have, for those who keep one of it."""
        return Alike(value)

    def by_its_lane(self, store: Node) -> Node:
        """A store of what all lanes have: each of them does it, as one access to memory."""
        return store

    def waited(self) -> Iterator[Node]:
        """Lets all lanes of a team wait for each other."""
        yield Barrier() if self.rows > 1 else Meet()

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

        own = yield from self.own_rounds(Var(rounds))
        full = Binary(BinaryOp.SHR, own, u32(self.lanes.bit_length() - 1))
        yield turns(u32(0), full, checked=False)
        yield turns(full, up(own, self.lanes), checked=True)

    def own_rounds(self, rounds: Expr) -> Generator[Node, None, Expr]:
        """How many of so many rounds a team has: all of them."""
        yield from ()
        return rounds

    def place(self, turn: Expr) -> Expr:
        """The round that a lane has in a turn."""
        return Binary(BinaryOp.ADD, Binary(BinaryOp.MUL, turn, u32(self.lanes)), LANE)

    # -- reductions

    def walked(self, group: Together, count: str, whole: list[Names]) -> Iterator[Node]:
        rounds = group.rounds
        most = int(rounds.value) if isinstance(rounds, Lit) else U32_MAX
        yield from self.folds(count, most, whole, copies=is_copied(group))

    def folds(self, count: str, rounds: int, whole: list[Names], *, copies: bool) -> Iterator[Node]:
        """Folds as many rounds as a name says, of at most so many, into `whole`."""
        if not self.is_ordered:
            yield from self.anyhow(Var(count), whole, copies=copies)
            return
        if rounds > BLOCK and copies:
            few = tuple(self.a_block_a_row(Var(count), whole))
            more = tuple(self.of_many_blocks(count, rounds, whole, copies=copies))
            yield If(Binary(BinaryOp.LE, Var(count), u32(BLOCK * self.rows)), few, more)
        else:
            yield from self.of_many_blocks(count, rounds, whole, copies=copies)

    def of_many_blocks(
        self, count: str, rounds: int, whole: list[Names], *, copies: bool
    ) -> Iterator[Node]:
        """The same of blocks of blocks, as many as there may be."""
        most = levels(rounds)
        totals = yield from self.totals(count, most)
        if most == 1:
            yield from self.one_block(Var(count), u32(0), whole, copies=copies)
        else:
            yield from self.blocks(most - 1, totals, u32(0), whole, copies=copies)

    def a_block_a_row(self, count: Expr, whole: list[Names]) -> Iterator[Node]:
        """The same where each row of lanes has one block at the most."""
        if self.rows == 1:
            yield from self.one_block(count, u32(0), whole, copies=True)
            return
        each = [self.names(held, "block") for held in self.held]
        yield from self.all_absent(each)
        begin, left = yield from self.block_of_row(count)
        yield from self.one_block(left, begin, each, copies=True)
        every = yield from self.of_all_rows(each)
        yield from self.all_put_alike(whole, every)

    def block_of_row(self, count: Expr) -> Generator[Node, None, tuple[Expr, Expr]]:
        """Where the only block of a row begins, and how many rounds it has."""
        if self.rows == 1:
            return u32(0), count
        begin, left = self.fresh("begin"), self.fresh("left")
        yield Let(begin, Binary(BinaryOp.MUL, self.row, u32(BLOCK)))
        behind = Binary(BinaryOp.SUB, count, Var(begin))
        inside = Binary(BinaryOp.LT, Var(begin), count)
        yield Let(left, Select(inside, behind, u32(0)))
        return Var(begin), Var(left)

    @property
    def is_ordered(self) -> bool:
        """Whether the order of elements shows in one of the reductions at hand."""
        return any(held.folding.is_ordered for held in self.held)

    def told(self) -> Iterator[Node]:
        for held in self.held:
            if held.some is None:
                continue
            for half in HALVES:
                other = self.fresh("other")
                yield Let(other, FromLane(Var(held.some), half))
                yield Assign(held.some, Binary(BinaryOp.OR, Var(held.some), Var(other)))
            if self.rows > 1:
                yield from self.toldby_rows(held.some)
            own, held.some = held.some, self.fresh("some")
            yield Let(held.some, Alike(Var(own)))

    def toldby_rows(self, some: str) -> Iterator[Node]:
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
        mine = yield from self.own_rounds(count)
        full: Expr = u32(0)
        if copies:
            full = Binary(BinaryOp.SHR, mine, u32(self.lanes.bit_length() - 1))
            turn, at = self.fresh("turn"), self.fresh("at")
            body = (Let(at, self.place(Var(turn))), *self.round(Var(at), own))
            yield Loop(turn, u32(0), full, body)
        turn, at = self.fresh("turn"), self.fresh("at")
        inside = If(Binary(BinaryOp.LT, Var(at), count), tuple(self.round(Var(at), own)))
        last = up(mine, self.lanes)
        yield Loop(turn, full, last, (Let(at, self.place(Var(turn))), inside))
        yield from self.agreed(own)
        if self.rows > 1:
            own = yield from self.of_all_rows(own)
        yield from self.all_put_alike(whole, own)

    def one_block(
        self, left: Expr, first: Expr, whole: list[Names], *, copies: bool
    ) -> Iterator[Node]:
        """Gives `whole` what the rounds of one block come to, for a row of lanes."""
        own = yield from self.own_of_block(left, first, copies=copies)
        yield from self.agreed(own)
        yield from self.all_put_alike(whole, own)

    def own_of_block(
        self, left: Expr, first: Expr, *, copies: bool
    ) -> Generator[Node, None, list[Names]]:
        """What the rounds of one block come to that are a lane's own."""
        own = [self.names(held, "own") for held in self.held]
        yield from self.all_absent(own)
        yield from self.rounds_of_block(left, first, own, copies=copies)
        return own

    def rounds_of_block(
        self, left: Expr, first: Expr, own: list[Names], *, copies: bool
    ) -> Iterator[Node]:
        """Folds the rounds of one block that are a lane's own into names."""
        lane = self.lane_in_row

        start = self.fresh("start")
        yield Let(start, Binary(BinaryOp.ADD, first, lane))

        def rounds(begin: Expr, stop: Expr, *, checked: bool) -> Node:
            row, at = self.fresh("row"), self.fresh("at")
            distance = Binary(BinaryOp.MUL, Var(row), u32(LANES))
            place: Expr = Ahead(Var(start), distance)
            body = tuple(self.round_in_block(row, at, own))
            if checked:
                place = Binary(BinaryOp.ADD, Var(start), distance)
                end = Binary(BinaryOp.LT, Binary(BinaryOp.SUB, Var(at), first), left)
                body = (If(end, body),)
            return Loop(row, begin, stop, (Let(at, place), *body))

        if copies:
            full = Binary(BinaryOp.SHR, left, u32(LANES.bit_length() - 1))
            yield If(
                Binary(BinaryOp.GE, left, u32(BLOCK)),
                (rounds(u32(0), u32(BLOCK // LANES), checked=False),),
                (
                    rounds(u32(0), full, checked=False),
                    rounds(full, up(left, LANES), checked=True),
                ),
            )
        else:
            some = Binary(BinaryOp.MIN, up(left, LANES), u32(BLOCK // LANES))
            yield rounds(u32(0), some, checked=True)

    def round_in_block(self, row: str, at: str, own: list[Names]) -> Iterator[Node]:  # noqa: ARG002  # for who reads by it
        """A round of a lane, by its number among those of the lane's in the block."""
        yield from self.round(Var(at), own)

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
        if level == 1:
            own = yield from self.behind_blocks(own)
        several = (*self.agreed(own), *self.all_put_alike(whole, own))
        if self.hears_of_blocks or level > 1:  # each lane has what the only block came to
            one = Binary(BinaryOp.LE, Var(left), u32(1))
            yield If(one, tuple(self.all_put(whole, each)), several)
        else:
            yield from several

    @property
    def hears_of_blocks(self) -> bool:
        """Whether each lane has what a block of rounds came to."""
        return self.rows == 1

    def behind_blocks(self, own: list[Names]) -> Generator[Node, None, list[Names]]:
        """What lanes have behind a loop over blocks, where each row has it."""
        if self.rows > 1:
            own = yield from self.of_their_rows(own)
        return own

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
        """A block of rounds for each row of lanes, and what they come to in order.

        Blocks that are of one lane are of one row, too, so that rows need not meet in between.
        """
        number, begin, left = yield from self.block_of_turn(totals, turn, first, some)
        yield from self.one_block(left, begin, each, copies=copies)
        yield from self.kept(number, own, each)

    def block_of_turn(
        self, totals: Sequence[str], turn: str, first: str, some: Expr
    ) -> Generator[Node, None, tuple[Expr, Expr, Expr]]:
        """The number of a row's block, where it begins, and how many rounds it has."""
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
        return Var(number), Var(begin), Var(left)

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
        """What all lanes of a row have by now, as one value: of a NaN, the same bits."""
        for held, names, mine in zip(self.held, into, own, strict=True):
            yield from held.put(names, [Alike(Var(name)) for name in mine])

    def of_their_rows(self, own: list[Names]) -> Generator[Node, None, list[Names]]:
        """What lanes have in the rows whose blocks were theirs; each row has it then."""
        mine = Binary(BinaryOp.BIT_AND, self.lane_in_row, u32(self.rows - 1))
        names = list(chain.from_iterable(own))
        arrays = list(self.arrays())
        stores = (
            Store(array, self.lane_in_row, Var(name))
            for array, name in zip(arrays, names, strict=True)
        )
        yield If(Binary(BinaryOp.EQ, mine, self.row), tuple(stores))
        yield Barrier()
        every = [self.names(held, "every") for held in self.held]
        for array, name in zip(arrays, chain.from_iterable(every), strict=True):
            yield Let(name, Load(array, self.lane_in_row))
        yield Barrier()
        return every

    def of_all_rows(self, own: list[Names]) -> Generator[Node, None, list[Names]]:
        """What the rows of lanes come to together, in order; each lane of a row has it."""
        yield from self.met(own)
        every = [self.names(held, "every") for held in self.held]
        yield from self.all_absent(every)
        yield from self.joined(self.lane_in_row, every)
        yield Barrier()
        yield from self.agreed(every)
        return every

    def joined(self, number: Expr, into: list[Names]) -> Iterator[Node]:
        """Folds what the row of a number has left into names, where there is one."""
        row = self.fresh("from")
        yield Let(row, number)
        found = [self.names(held, "found") for held in self.held]
        parts = zip(self.arrays(), chain.from_iterable(found), strict=True)
        loads = tuple(Let(name, Load(array, Var(row))) for array, name in parts)
        inside = Binary(BinaryOp.LT, Var(row), u32(self.rows))
        yield If(inside, (*loads, *self.all_folded(into, found)))

    def met(self, own: list[Names]) -> Iterator[Node]:
        """Lets each row of lanes leave what it has where all others find it."""
        for array, name in zip(self.arrays(), chain.from_iterable(own), strict=True):
            yield Store(array, self.row, Var(name))
        yield Barrier()

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


def only_stores(node: Node) -> bool:
    """Whether a statement stores something, perhaps on a condition, and reads no memory for it."""
    match node:
        case Store() | If(_, (Store(),), ()):
            return not any(isinstance(part, (Load, *ACTS)) for part in all_expressions((node,)))
        case _:
            return False


def is_copied(group: Together) -> bool:
    """Whether the rounds of a group are worth two copies."""
    return size_of([node for r in group.reductions for node in r.body]).parts <= MOST_COPIED
