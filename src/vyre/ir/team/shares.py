"""Teams that share one result: each folds some of its rounds, and the last to come folds the rest.

What each has found it keeps in memory of the launch. The tree of a reduction that tells the order
of its elements is kept to by leaving what every block of rounds comes to; of any other a team
leaves what all its rounds come to. Where a reduction needs another one, the program is launched
once for each: a launch is where teams wait for all others.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace

from vyre.ir.declare import BufferDecl
from vyre.ir.expr import Binary, BinaryOp, Expr, Id, IdKind, Lit, Load, Select, Share, Var
from vyre.ir.fold import BLOCK
from vyre.ir.node import Arrive, Assign, Block, If, Let, Loop, Node, Store
from vyre.ir.serial import U32_MAX, Held, Names, as_state, u32, up
from vyre.ir.team.relay import Leg, Relay
from vyre.ir.team.writer import Writer, is_copied
from vyre.ir.types import DataType

ONE, BLOCKS, SHARES = "one", "blocks", "shares"


@dataclass(frozen=True, slots=True)
class Kept:
    """An array through which teams find each other's results: so much of each result.

    It has one element, one for each block of rounds, or one for each team.
    """

    name: str
    dtype: DataType
    elements: str  # ONE, BLOCKS or SHARES
    reduction: str = ""  # the name of that whose rounds are meant


@dataclass(slots=True)
class Sharing(Writer):
    """Writes what the teams of one result do, with names that nothing else has."""

    shares: int = 2
    relay: Relay = field(default_factory=lambda: Relay((), (), spreads=False))
    room: list[Kept] = field(default_factory=list)
    arrivals: str = ""  # the array that counts those who have come
    phase: str = ""  # the number of the launch, of which each leg has one
    result: str = ""  # the number of the result
    apart: bool = False  # each team goes through a part of the rounds
    start: str = ""  # the name of the round that its part begins with
    states: list[list[str]] = field(default_factory=list)
    """The arrays that hold the states of each reduction."""
    first: str = ""  # the name of the place where those of a result begin
    gathers: bool = False  # what is folded is what teams have kept

    def own_rounds(self, rounds: Expr) -> Generator[Node, None, Expr]:
        """How many of so many rounds a team has: all of them, or those of its part.

        Parts lie one behind the other, whole turns of lanes each, so that what teams read and store
        meanwhile lies apart.
        """
        if not self.apart:
            return rounds
        part, self.start, own = self.fresh("part"), self.fresh("start"), self.fresh("mine")
        turns = up(rounds, self.lanes * self.shares)
        yield Let(part, Binary(BinaryOp.MUL, turns, u32(self.lanes)))
        yield Let(self.start, Binary(BinaryOp.MUL, Share(), Var(part)))
        left = Binary(BinaryOp.SUB, rounds, Var(self.start))
        some = Binary(BinaryOp.LT, Var(self.start), rounds)
        yield Let(own, Select(some, Binary(BinaryOp.MIN, left, Var(part)), u32(0)))
        return Var(own)

    def place(self, turn: Expr) -> Expr:
        """The round that a lane has in a turn."""
        mine = Writer.place(self, turn)
        return Binary(BinaryOp.ADD, Var(self.start), mine) if self.apart else mine

    def round(self, at: Expr, into: list[Names]) -> Iterator[Node]:
        """Folds the elements of a round into names, or what teams have kept."""
        if not self.gathers:
            yield from Writer.round(self, at, into)
            return
        for held, names, arrays in zip(self.held, into, self.states, strict=True):
            own = self.names(held, "own")
            index = Binary(BinaryOp.ADD, Var(self.first), at)
            loads = (Let(n, Load(a, index)) for n, a in zip(own, arrays, strict=True))
            yield Block((*loads, *self.folded(held, names, as_state(own))))

    def memory(self, binding: int) -> Iterator[BufferDecl]:
        """The memory of the launch, the number of the launch, and the memory of a workgroup."""
        made = [BufferDecl.read_write(one.name, 0, one.dtype) for one in self.room]
        if self.phase:
            made.append(BufferDecl.uniform(self.phase, 0, DataType.U32).with_count(1))
        for number, decl in enumerate(made):
            yield replace(decl, binding=binding + number, kept=True)
        yield from Writer.memory(self, binding + len(made))

    def entry(self, nodes: Sequence[Node]) -> tuple[Node, ...]:  # noqa: ARG002  # they are in its relay
        """What each team does, leg by leg, and then the last one, or all of them."""
        self.arrivals, self.result = self.keep("arrivals", DataType.U32, ONE), self.fresh("result")
        if self.relay.launches > 1:
            self.phase = self.fresh("phase")
        return Let(self.result, self.number_of_result()), *self.from_leg(0)

    def from_leg(self, number: int) -> Iterator[Node]:
        """A leg, or in a later launch what follows it."""
        if number == len(self.relay.legs):
            yield from self.spread()
            return
        leg = self.relay.legs[number]
        yield from self.plain(leg.before)
        is_last = number + 1 == self.relay.launches
        found = () if is_last else tuple(self.places_of_results(leg))
        now = tuple(self.shared(leg, found))
        if is_last:
            yield from now
            return
        results = [
            Let(reduction.name, self.as_one(Load(array, Var(self.result))))
            for reduction, array in zip(leg.group.reductions, found, strict=True)
        ]
        here = Binary(BinaryOp.EQ, Load(self.phase, u32(0)), u32(number))
        yield If(here, now, (*results, *self.from_leg(number + 1)))

    def places_of_results(self, leg: Leg) -> Iterator[str]:
        """Arrays for what the reductions of a leg come to."""
        for reduction in leg.group.reductions:
            yield self.keep("found", reduction.result, ONE)

    def shared(self, leg: Leg, found: Sequence[str]) -> Iterator[Node]:
        """Each team's share of a leg, and what the last one makes of all."""
        group = leg.group
        self.held = [Held.of(reduction, self.fresh) for reduction in group.reductions]
        count, last = self.fresh("rounds"), self.fresh("last")
        yield Let(count, group.rounds)
        for reduction in group.reductions:
            self.note(reduction, Let(count, group.rounds))
        tells = [held for held in self.held if held.some is not None]
        for held in tells:
            yield Let(str(held.some), Lit.of(DataType.BOOL, False))
        copies = is_copied(group)
        fold = self.by_blocks if self.is_ordered else self.by_shares
        yield from fold(group.reductions[0].name, count, copies=copies)
        yield from self.told_to_others(tells)
        yield Arrive(last, self.shares, self.arrivals, Var(self.result))
        rest = list(self.gathered(count, tells))
        rest += (
            Store(array, Var(self.result), Var(reduction.name))
            for reduction, array in zip(group.reductions, found, strict=bool(found))
        )
        if not found:
            rest += self.plain(self.relay.behind)
        yield If(Var(last), tuple(rest))

    def spread(self) -> Iterator[Node]:
        """What all teams do when all that is reduced is known: each its rounds of loops."""
        for node in self.relay.behind:
            if isinstance(node, Loop):
                self.apart = True
                yield Block(tuple(self.divided(node)))
                self.apart = False
            elif isinstance(node, Store):
                mine = Binary(BinaryOp.EQ, Share(), u32(0))
                yield If(mine, tuple(self.settled(node)))
            else:
                yield node

    def number_of_result(self) -> Expr:
        """The number of a result among all, x fastest."""
        x, y, z = (Id(IdKind.INVOCATION, axis) for axis in range(3))
        wide, high = (Id(IdKind.EXTENT, axis) for axis in range(2))
        row = Binary(BinaryOp.ADD, y, Binary(BinaryOp.MUL, z, high))
        return row if self.x else Binary(BinaryOp.ADD, x, Binary(BinaryOp.MUL, row, wide))

    # -- what each team does

    def by_blocks(self, reduction: str, count: str, *, copies: bool) -> Iterator[Node]:
        """Folds whole blocks, a row of lanes each, and keeps what each comes to."""
        blocks, self.first = self.fresh("blocks"), self.fresh("first")
        yield Let(blocks, up(Var(count), BLOCK))
        yield Let(self.first, Binary(BinaryOp.MUL, Var(self.result), Var(blocks)))
        self.keep_states(BLOCKS, reduction)
        each = [self.names(held, "block") for held in self.held]
        turn, number = self.fresh("turn"), self.fresh("number")
        begin, left = self.fresh("begin"), self.fresh("left")
        rows = self.shares * self.rows
        own: Expr = Binary(BinaryOp.MUL, Share(), u32(self.rows))
        if self.rows > 1:
            own = Binary(BinaryOp.ADD, own, self.row)
        place = Binary(BinaryOp.ADD, Binary(BinaryOp.MUL, Var(turn), u32(rows)), own)
        inside = Binary(BinaryOp.LT, Var(number), Var(blocks))
        rest = Binary(BinaryOp.SUB, Var(count), Var(begin))
        body: list[Node] = [
            Let(number, place),
            Let(begin, Binary(BinaryOp.MUL, Var(number), u32(BLOCK))),
            Let(left, Select(inside, rest, u32(0))),
            *self.all_absent(each),
            *self.one_block(Var(left), Var(begin), each, copies=copies),
            If(inside, tuple(self.put_by(Var(number), each))),
        ]
        yield Loop(turn, u32(0), up(Var(blocks), rows), tuple(body))

    def by_shares(self, reduction: str, count: str, *, copies: bool) -> Iterator[Node]:
        """Folds rounds in whatever order, and keeps what all of a team's come to."""
        self.first = self.fresh("first")
        yield Let(self.first, Binary(BinaryOp.MUL, Var(self.result), u32(self.shares)))
        self.keep_states(SHARES, reduction)
        each = [self.names(held, "share") for held in self.held]
        yield from self.all_absent(each)
        self.apart = True
        yield from self.anyhow(Var(count), each, copies=copies)
        self.apart = False
        yield from self.put_by(Share(), each)

    def told_to_others(self, tells: Sequence[Held]) -> Iterator[Node]:
        """Keeps whether a team has seen an element, where that is asked."""
        yield from self.told()
        for held in tells:
            some = self.keep("some", DataType.U32, SHARES)
            yield Store(some, self.of_share(Share()), Select(Var(str(held.some)), u32(1), u32(0)))
            held.some = some

    # -- what the last one does

    def gathered(self, count: str, tells: Sequence[Held]) -> Iterator[Node]:
        """Folds what all have kept, and binds the results."""
        self.gathers = True
        whole = [self.names(held, "whole") for held in self.held]
        yield from self.all_absent(whole)
        if self.is_ordered:
            blocks = self.fresh("blocks")
            yield Let(blocks, up(Var(count), BLOCK))
            yield from self.folds(blocks, (U32_MAX + 1) // BLOCK, whole, copies=True)
        else:
            yield from self.anyhow(u32(self.shares), whole, copies=True)
        for held in tells:
            array, held.some = str(held.some), self.fresh("some")
            yield Let(held.some, Lit.of(DataType.BOOL, False))
            turn, at = self.fresh("turn"), self.fresh("at")
            word = Load(array, self.of_share(Var(at)))
            heard = Binary(BinaryOp.OR, Var(held.some), Binary(BinaryOp.NE, word, u32(0)))
            inside = Binary(BinaryOp.LT, Var(at), u32(self.shares))
            body = (Let(at, self.place(Var(turn))), If(inside, (Assign(held.some, heard),)))
            yield Loop(turn, u32(0), up(u32(self.shares), self.lanes), body)
        yield from self.told()
        yield from self.results(count, whole)
        self.gathers = False

    # -- memory

    def keep(self, name: str, dtype: DataType, elements: str, reduction: str = "") -> str:
        """A new array of the launch's memory."""
        self.room.append(Kept(self.fresh(name), dtype, elements, reduction))
        return self.room[-1].name

    def keep_states(self, elements: str, reduction: str) -> None:
        """New arrays for the states of the reductions at hand."""
        self.states = [
            [self.keep("kept", dtype, elements, reduction) for dtype in held.folding.state]
            for held in self.held
        ]

    def put_by(self, at: Expr, states: list[Names]) -> Iterator[Node]:
        """Stores states, which all lanes of a row have alike."""
        index = Binary(BinaryOp.ADD, Var(self.first), at)
        for own, names in zip(self.states, states, strict=True):
            for array, name in zip(own, names, strict=True):
                yield Store(array, index, Var(name))

    def of_share(self, share: Expr) -> Expr:
        """The place of a team of a result."""
        first = Binary(BinaryOp.MUL, Var(self.result), u32(self.shares))
        return Binary(BinaryOp.ADD, first, share)
