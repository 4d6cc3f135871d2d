"""Teams side by side that bring what their rounds read to workgroup memory, once for all of them.

What rounds read whatever the position, each team would load for itself. Here the teams of a
workgroup go through the same blocks of rounds. While they go through one, their lanes load what the
next one reads, and leave it behind their rounds, where nobody reads any more. What a round reads is
a record there, so that one access has all of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from vyre.ir.declare import Access, BufferDecl, MemoryKind
from vyre.ir.expr import (
    Ahead,
    Array,
    Binary,
    BinaryOp,
    BufDim,
    BufLen,
    Cast,
    Element,
    Expr,
    FlatIndex,
    Id,
    IdKind,
    Lit,
    Load,
    Put,
    Select,
    Unary,
    Var,
)
from vyre.ir.fold import BLOCK, LANES
from vyre.ir.node import Assign, Barrier, Block, If, Let, Loop, Node, Reduce, Store
from vyre.ir.program import Program
from vyre.ir.serial import Names, Together, u32, up
from vyre.ir.team.abreast import why_not_abreast
from vyre.ir.team.again import ROUND, Body, Meanings, needed
from vyre.ir.team.beside import differing
from vyre.ir.team.dealing import Dealing
from vyre.ir.team.loops import stored_to
from vyre.ir.team.writer import LANE
from vyre.ir.text import statement_text
from vyre.ir.types import DataType
from vyre.ir.walk import exchanged, expressions, names_of, operands, statements

LEAST_TEAMS, MOST_TEAMS = 4, 32
"""Teams of a workgroup: of fewer, each lane would have more than eight rounds under way."""

MOST_WORDS = 6
"""Elements that there is memory for: two blocks of them are 48 KiB, which every GPU has."""

_X, _EXTENT = Id(IdKind.INVOCATION, 0), Id(IdKind.EXTENT, 0)
_MEMBER = Id(IdKind.LOCAL, 0)
_RECORD = 4  # elements: 16 bytes, of one access
_HALVES = 2  # blocks that there is memory for: one is read while the other is brought
_HELD = (DataType.U32, DataType.I32, DataType.F32)
_Key = tuple[DataType, int]  # of an array that holds records: their type, and which of that
_PLAIN = (Lit, Binary, Unary, Select, Cast, BufLen, BufDim, FlatIndex)


@dataclass(frozen=True, slots=True)
class Read:
    """What each round reads whatever the position, and the statement in which it does."""

    means: Expr  # itself, with one name for any round
    load: Load
    counter: str  # what the round is called there
    before: tuple[Let, ...]  # what its index needs
    statement: Node


def why_nothing_brought(program: Program, nodes: Sequence[Node]) -> str | None:
    """Why teams side by side cannot bring what the rounds of statements read."""
    if (why_not := why_not_abreast(nodes)) is not None:
        return why_not
    decls = {decl.name: decl for decl in program.buffers}
    walks: dict[Expr, list[Reduce]] = {}
    for node in nodes:
        if isinstance(node, Reduce):
            walks.setdefault(node.rounds, []).append(node)
    read = [reads(walk, nodes, decls) for walk in walks.values()]
    if not any(read):
        return "no round reads what it reads for all positions alike"
    for one in chain.from_iterable(read):
        element = decls[one.load.buffer].element
        if element not in _HELD:
            return f"a round reads {element} of {one.load.buffer!r}, which is not of 32 bits"
    room = dict[_Key, int]()  # walks leave records of a type in the same memory
    for found in read:
        for key, record in keyed(records(found, decls)):
            room[key] = max(room.get(key, 0), record.words)
    if (words := sum(room.values())) > MOST_WORDS:
        return f"its rounds read {words} elements for all positions alike, more than {MOST_WORDS}"
    return None


@dataclass(frozen=True, slots=True)
class Record:
    """What a round reads of one type, as much as one access has."""

    dtype: DataType
    parts: tuple[Read, ...]

    @property
    def words(self) -> int:
        """Elements from one record to the next: a power of two."""
        return 1 << (len(self.parts) - 1).bit_length()


def records(found: Sequence[Read], decls: Mapping[str, BufferDecl]) -> tuple[Record, ...]:
    """What rounds read, in records."""
    made = list[Record]()
    for dtype in _HELD:
        some = [read for read in found if decls[read.load.buffer].element == dtype]
        for first in range(0, len(some), _RECORD):
            made.append(Record(dtype, tuple(some[first : first + _RECORD])))
    return tuple(made)


def keyed(found: Sequence[Record]) -> Iterator[tuple[_Key, Record]]:
    """The records of a walk, and which array each is in."""
    given = Counter[DataType]()
    for record in found:
        yield (record.dtype, given[record.dtype]), record
        given[record.dtype] += 1


def reads(
    reductions: Sequence[Reduce], nodes: Sequence[Node], decls: Mapping[str, BufferDecl]
) -> tuple[Read, ...]:
    """What the rounds of some of the statements read for all positions alike, each thing once."""
    differ, stored = differing(nodes), set(stored_to(nodes))
    found = dict[Expr, Read]()
    for one in reductions:
        given = differ.union(names_of(one.body))
        meanings, lets = Meanings(Body(one.var, one.body)), list[Node]()
        for node in one.body:
            for part in (part for whole in operands(node) for part in expressions(whole)):
                if not isinstance(part, Load) or part.buffer in stored:
                    continue
                index = meanings.of(part.index)
                if _is_by_round(index, given, decls):
                    means = Load(part.buffer, index)
                    before = needed(lets, part.index)
                    found.setdefault(means, Read(means, part, one.var, before, node))
            meanings.bind(node)
            if isinstance(node, Let):
                lets.append(node)
    return tuple(found.values())


def _is_by_round(index: Expr, given: set[str], decls: Mapping[str, BufferDecl]) -> bool:
    """Whether an index goes by the round and by nothing else that a launch does not say.

    Args:
        index: it, in terms that all rounds share.
        given: names of the round, and of what goes by the position.
        decls: the arrays there are.
    """

    def is_plain(part: Expr) -> bool:
        match part:
            case Var(name):
                return name not in given
            case Load(buffer):
                return decls[buffer].is_scalar_argument
            case Id(kind, axis):
                return kind is IdKind.EXTENT or (kind is IdKind.INVOCATION and axis > 0)
            case _:
                return isinstance(part, _PLAIN)

    parts = list(expressions(index))
    return Var(ROUND) in parts and all(map(is_plain, parts))


@dataclass(slots=True)
class Bringing(Dealing):
    """Writes what the lanes of teams do that bring what their rounds read together."""

    teams: int = LEAST_TEAMS
    nodes: tuple[Node, ...] = ()  # all that a team does
    decls: Mapping[str, BufferDecl] = field(default_factory=dict)
    brought: dict[_Key, tuple[str, int]] = field(default_factory=dict)
    """Arrays that hold records, and of how many elements at most, by their type and number."""
    arrays_now: tuple[tuple[str, Record], ...] = ()  # of the walk at hand
    names_now: dict[Expr, str] = field(default_factory=dict)  # what its rounds call what they read
    slot: str = ""  # the name of where a lane's records of the block at hand are
    called: dict[str, str] = field(default_factory=dict)
    """What statements were called before their loads gave way."""

    def memory(self, binding: int) -> Iterator[BufferDecl]:
        others = list(Dealing.memory(self, binding))
        yield from others
        for number, ((dtype, _), (name, words)) in enumerate(self.brought.items()):
            yield BufferDecl(
                name=name,
                binding=binding + len(others) + number,
                access=Access.WORKGROUP,
                kind=MemoryKind.SHARED,
                element=dtype,
                count=_HALVES * BLOCK * words,
                kept=True,
            )

    # -- stores: of all teams, once none of them reads any more, if there is its result

    def waited(self) -> Iterator[Node]:
        yield Barrier()

    def by_its_lane(self, store: Node) -> Node:
        return If(Binary(BinaryOp.LT, _X, _EXTENT), (store,))

    def inside(self, node: Node) -> Node:
        """The same; of a store on a condition all teams wait, whether it holds or not."""
        match node:
            case If(_, (Store() as store,), ()):
                bound, stored = self.bound_before(store)
                now = self.by_its_lane(replace(node, then=(stored,)))
                return Block((bound, *self.waited(), now))
            case _:
                return Dealing.inside(self, node)

    # -- walks

    def walked(self, group: Together, count: str, whole: list[Names]) -> Iterator[Node]:
        found = records(reads(group.reductions, self.nodes, self.decls), self.decls)
        self.arrays_now = tuple(self.held_in(found))
        every = chain.from_iterable(record.parts for record in found)
        self.names_now = {read.means: self.fresh("read") for read in every}
        if found:
            self.held = [replace(one, reduction=self.exchanged(one.reduction)) for one in self.held]
            yield Barrier()  # for who still reads what an earlier walk has brought
            names = yield from self.under_way(u32(0), Var(count))
            yield from self.left_behind(names, u32(0))
            yield Barrier()
        yield from Dealing.walked(self, group, count, whole)
        self.arrays_now = ()

    def held_in(self, found: Sequence[Record]) -> Iterator[tuple[str, Record]]:
        """The arrays that hold records of a walk."""
        for key, record in keyed(found):
            name, words = self.brought.get(key) or (self.fresh("brought"), 0)
            self.brought[key] = name, max(words, record.words)
            yield name, record

    def folds(self, count: str, rounds: int, whole: list[Names], *, copies: bool) -> Iterator[Node]:
        if self.arrays_now and self.is_ordered:  # blocks come one by one, be there one or many
            yield from self.of_many_blocks(count, rounds, whole, copies=copies)
        else:
            yield from Dealing.folds(self, count, rounds, whole, copies=copies)

    def anyhow(self, count: Expr, whole: list[Names], *, copies: bool) -> Iterator[Node]:
        if not self.arrays_now:
            yield from Dealing.anyhow(self, count, whole, copies=copies)
            return
        own = [self.names(held, "own") for held in self.held]
        yield from self.all_absent(own)
        turn, begin, left = self.fresh("turn"), self.fresh("begin"), self.fresh("left")
        body = (
            Let(begin, Binary(BinaryOp.MUL, Var(turn), u32(BLOCK))),
            Let(left, Binary(BinaryOp.SUB, count, Var(begin))),
            *self.rounds_of_block(Var(left), Var(begin), own, copies=copies),
        )
        yield Loop(turn, u32(0), up(count, BLOCK), body)
        yield from self.agreed(own)
        yield from self.all_put_alike(whole, own)

    def by_place(
        self, rounds: str, first: str, some: str, into: str, *, copies: bool
    ) -> Iterator[Node]:
        """The same block by block, as they lie in memory, with an array for what places have."""
        (absent,) = self.lead.folding.absent
        lanes, turn = self.fresh("lanes"), self.fresh("turn")
        yield Let(lanes, Array.of(absent.dtype, (LANES,), [absent.value] * LANES))
        begin, left, each = self.fresh("begin"), self.fresh("left"), self.fresh("block")
        block = Binary(BinaryOp.ADD, Var(first), Var(turn))
        place = Binary(BinaryOp.BIT_AND, Var(turn), u32(LANES - 1))
        (state,) = self.lead.folding.join((Element(Var(lanes), (place,)),), (Var(each),))
        inner = (
            Let(begin, Binary(BinaryOp.MUL, block, u32(BLOCK))),
            Let(left, Binary(BinaryOp.SUB, Var(rounds), Var(begin))),
            *self.lead.absent([each]),
            *self.dealt_block(Var(left), Var(begin), each, copies=copies),
            Assign(lanes, Put(Var(lanes), (place,), state)),
        )
        yield Loop(turn, u32(0), Var(some), inner)
        yield from self.halved(self.lead, lanes, some)
        yield Assign(into, Element(Var(lanes), (u32(0),)))

    # -- blocks

    def rounds_of_block(
        self, left: Expr, first: Expr, own: list[Names], *, copies: bool
    ) -> Iterator[Node]:
        """The same, while the next block is under way."""
        if not self.arrays_now:
            yield from Dealing.rounds_of_block(self, left, first, own, copies=copies)
            return
        more, half = self.fresh("more"), self.fresh("half")
        self.slot = self.fresh("slot")
        yield Let(more, Binary(BinaryOp.GT, left, u32(BLOCK)))
        yield Let(half, Binary(BinaryOp.BIT_AND, first, u32(BLOCK)))
        yield Let(self.slot, Binary(BinaryOp.ADD, Var(half), LANE))
        next_left = Select(Var(more), Binary(BinaryOp.SUB, left, u32(BLOCK)), u32(0))
        names = yield from self.under_way(Binary(BinaryOp.ADD, first, u32(BLOCK)), next_left)
        yield from Dealing.rounds_of_block(self, left, first, own, copies=copies)
        other = Binary(BinaryOp.BIT_XOR, Var(half), u32(BLOCK))
        yield If(Var(more), (*self.left_behind(names, other), Barrier()))

    def round_in_block(self, row: str, at: str, own: list[Names]) -> Iterator[Node]:
        for array, record in self.arrays_now:
            away = Binary(BinaryOp.MUL, Var(row), u32(LANES * record.words))
            for number, read in enumerate(record.parts):
                place = self.fresh("place")
                start = Binary(BinaryOp.MUL, Var(self.slot), u32(record.words))
                yield Let(place, Ahead(start, Binary(BinaryOp.ADD, away, u32(number))))
                yield Let(self.names_now[read.means], Load(array, Var(place)))
        yield from Dealing.round_in_block(self, row, at, own)

    def under_way(self, first: Expr, left: Expr) -> Generator[Node, None, Names]:
        """Loads what a lane brings of a block that has so many rounds or more; gives its names."""
        names = Names()
        begin, rest = self.fresh("begin"), self.fresh("left")
        yield Let(begin, first)
        yield Let(rest, left)
        for turn in range(BLOCK // self.members):
            number, at = self.fresh("number"), self.fresh("at")
            yield Let(number, Binary(BinaryOp.ADD, _MEMBER, u32(turn * self.members)))
            yield Let(at, Binary(BinaryOp.ADD, Var(begin), Var(number)))
            inside = Binary(BinaryOp.LT, Var(number), Var(rest))
            for _, record in self.arrays_now:
                for read in record.parts:
                    name, nothing = self.fresh("next"), Lit.of(record.dtype, 0)
                    put = Assign(name, Select(inside, read.load, nothing))
                    self.note(read.statement, put)
                    yield Let(name, nothing)
                    yield Block((Let(read.counter, Var(at)), *read.before, put))
                    names.append(name)
        return names

    def left_behind(self, names: Names, half: Expr) -> Iterator[Node]:
        """Leaves what a lane has loaded in a half of the memory."""
        given = iter(names)
        for turn in range(BLOCK // self.members):
            number = Binary(BinaryOp.ADD, _MEMBER, u32(turn * self.members))
            slot = Binary(BinaryOp.ADD, half, number)
            for array, record in self.arrays_now:
                start = Binary(BinaryOp.MUL, slot, u32(record.words))
                for number_of_part in range(len(record.parts)):
                    place = self.fresh("place")
                    yield Let(place, Ahead(start, u32(number_of_part)))
                    yield Store(array, Var(place), Var(next(given)))

    @property
    def members(self) -> int:
        """Invocations of a workgroup."""
        return self.teams * LANES

    # -- rounds whose loads have given way

    def exchanged(self, reduction: Reduce) -> Reduce:
        """A reduction that reads what was brought."""
        meanings = Meanings(Body(reduction.var, reduction.body))
        body = list[Node]()
        for node in reduction.body:
            body.append(self.without_loads(node, meanings))
            meanings.bind(node)
        return replace(reduction, body=tuple(body))

    def without_loads(self, node: Node, meanings: Meanings) -> Node:
        def brought(part: Expr) -> Expr | None:
            if not isinstance(part, Load):
                return None
            name = self.names_now.get(Load(part.buffer, meanings.of(part.index)))
            return None if name is None else Var(name)

        now = exchanged(node, brought)
        for old, new in zip(statements((node,)), statements((now,)), strict=True):
            before, after = statement_text(old), statement_text(new)
            if before != after:
                self.called[after] = before
                self.note(old, new)
        return now

    def note(self, before: Node, now: Node) -> None:
        text = statement_text(before)
        found = self.texts.setdefault(self.called.get(text, text), [])
        if (made := statement_text(now)) not in found:
            found.append(made)
