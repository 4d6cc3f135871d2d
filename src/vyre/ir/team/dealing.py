"""Teams with many numbers: when the lanes of a row come together, each ends up with one of them.

By the fixed tree the halves of a row come together step by step. Where lanes have several numbers,
half of these is one half's to compute, and the rest the other's: so the lanes tell each other a
number for each that there is, and not five. What blocks come to is a lane's own from there on.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from vyre.ir.declare import Access, BufferDecl, MemoryKind
from vyre.ir.expr import (
    Alike,
    Array,
    Binary,
    BinaryOp,
    Element,
    Expr,
    FromLane,
    Load,
    Put,
    Select,
    Unary,
    UnaryOp,
    Var,
)
from vyre.ir.fold import BLOCK, HALVES, LANES, levels
from vyre.ir.node import Assign, Barrier, If, Let, Loop, Node, Store
from vyre.ir.serial import BITS, Held, Names, reversed_bits, u32, up
from vyre.ir.team.writer import LANE, Writer
from vyre.ir.types import DataType


@dataclass(slots=True)
class Dealing(Writer):
    """Writes what the lanes of a team do that has several results side by side."""

    dealt: dict[DataType, str] = field(default_factory=dict)
    """The arrays in which rows meet that have a number in each lane, by their type."""

    @property
    def is_dealt(self) -> bool:
        """Whether the numbers at hand are for each lane one, and come together alike."""
        kinds = {(held.folding.op, held.folding.dtype) for held in self.held}
        return self.is_ordered and len(kinds) == 1 and 1 < len(self.held) <= LANES

    @property
    def lead(self) -> Held:
        """One of the reductions at hand, which are all of a kind."""
        return self.held[0]

    def memory(self, binding: int) -> Iterator[BufferDecl]:
        yield from Writer.memory(self, binding)
        for number, (dtype, name) in enumerate(self.dealt.items(), len(self.meeting)):
            yield BufferDecl(
                name=name,
                binding=binding + number,
                access=Access.WORKGROUP,
                kind=MemoryKind.SHARED,
                element=dtype,
                count=self.rows * LANES,
            )

    def a_block_a_row(self, count: Expr, whole: list[Names]) -> Iterator[Node]:
        if not self.is_dealt:
            yield from Writer.a_block_a_row(self, count, whole)
            return
        mine = yield from self.nothing("mine")
        begin, left = yield from self.block_of_row(count)
        yield from self.dealt_block(left, begin, mine, copies=True)
        if self.rows > 1:
            yield from self.of_each_row(mine)
        yield from self.told_all(mine, whole)

    def of_many_blocks(
        self, count: str, rounds: int, whole: list[Names], *, copies: bool
    ) -> Iterator[Node]:
        if not self.is_dealt:
            yield from Writer.of_many_blocks(self, count, rounds, whole, copies=copies)
            return
        most = levels(rounds)
        totals = yield from self.totals(count, most)
        mine = yield from self.nothing("mine")
        if most == 1:
            yield from self.dealt_block(Var(count), u32(0), mine, copies=copies)
        else:
            yield from self.dealt_blocks(most - 1, totals, u32(0), mine, copies=copies)
        yield from self.told_all(mine, whole)

    def nothing(self, name: str) -> Generator[Node, None, str]:
        """A name for a lane's number, absent so far."""
        found = self.fresh(name)
        yield from self.lead.absent([found])
        return found

    def dealt_block(self, left: Expr, first: Expr, into: str, *, copies: bool) -> Iterator[Node]:
        """Gives each lane the number that is its own of what the rounds of one block come to."""
        own = yield from self.own_of_block(left, first, copies=copies)
        names: Sequence[str] = list(chain.from_iterable(own))
        for half in HALVES:
            names = yield from self.dealt_halves(names, half)
        (name,) = names
        yield Assign(into, Var(name))

    def dealt_halves(self, names: Sequence[str], half: int) -> Generator[Node, None, Sequence[str]]:
        """What two halves of lanes have together, some numbers in one half, some in the other.

        A number that is left over is in both.
        """
        upper = yield from self.upper(half)
        kept = up_to_half(len(names))
        made = list[str]()
        for place, low in enumerate(names[:kept]):
            mine = given = low
            if kept + place < len(names):
                high = names[kept + place]
                mine, given = self.fresh("mine"), self.fresh("given")
                yield Let(mine, Select(Var(upper), Var(high), Var(low)))
                yield Let(given, Select(Var(upper), Var(low), Var(high)))
            other, both = self.fresh("other"), self.fresh("both")
            yield Let(other, FromLane(Var(given), half))
            (state,) = self.lead.folding.join((Var(mine),), (Var(other),))
            yield Let(both, state)
            made.append(both)
        return made

    def told_all(self, mine: str, whole: list[Names]) -> Iterator[Node]:
        """Lets each lane hear of all numbers."""
        for held, names, lane in zip(self.held, whole, owners(len(whole)), strict=True):
            yield from held.put(names, [Alike(Var(mine), lane)])

    def upper(self, half: int) -> Generator[Node, None, str]:
        """A name that says whether a lane is in the upper of two halves."""
        upper = self.fresh("upper")
        bit = Binary(BinaryOp.BIT_AND, LANE, u32(half))
        yield Let(upper, Binary(BinaryOp.NE, bit, u32(0)))
        return upper

    # -- blocks of blocks

    def dealt_blocks(
        self, level: int, totals: Sequence[str], number: Expr, into: str, *, copies: bool
    ) -> Iterator[Node]:
        """Gives each lane its number of what the blocks of a block of them come to."""
        first, left = self.fresh("first"), self.fresh("left")
        yield Let(first, Binary(BinaryOp.MUL, number, u32(BLOCK)))
        yield Let(left, Binary(BinaryOp.SUB, Var(totals[level]), Var(first)))
        some = self.fresh("some")
        yield Let(some, Binary(BinaryOp.MIN, Var(left), u32(BLOCK)))
        if level == 1:
            yield from self.by_place(totals[0], first, some, into, copies=copies)
            if self.rows > 1:
                yield from self.of_each_row(into)
            return
        (absent,) = self.lead.folding.absent
        lanes, turn = self.fresh("lanes"), self.fresh("turn")
        yield Let(lanes, Array.of(absent.dtype, (LANES,), [absent.value] * LANES))
        each = yield from self.nothing("block")
        below = Binary(BinaryOp.ADD, Var(first), Var(turn))
        place = Binary(BinaryOp.BIT_AND, Var(turn), u32(LANES - 1))
        (state,) = self.lead.folding.join((Element(Var(lanes), (place,)),), (Var(each),))
        inner = (
            *self.dealt_blocks(level - 1, totals, below, each, copies=copies),
            Assign(lanes, Put(Var(lanes), (place,), state)),
        )
        yield Loop(turn, u32(0), Var(some), inner)
        yield from self.halved(self.lead, lanes, left)
        yield Assign(into, Element(Var(lanes), (u32(0),)))

    def by_place(
        self, rounds: str, first: str, some: str, into: str, *, copies: bool
    ) -> Iterator[Node]:
        """Gives each lane its number of what a row's places of a block of blocks come to.

        Of rows that are several each has every such place. It takes them in the order in which they
        come together, so that a few names hold what is not finished, and no lane has an array.
        """
        places = LANES // self.rows
        stack = list[str]()
        for _ in range(places.bit_length() - 1):
            stack.append((yield from self.nothing("half")))
        bits, turn = self.fresh("bits"), self.fresh("turn")
        own_places = Binary(BinaryOp.MIN, up(Var(some), self.rows), u32(places))
        most = Binary(BinaryOp.MAX, own_places, u32(1))
        needed = Unary(UnaryOp.CLZ, Binary(BinaryOp.SUB, most, u32(1)))
        yield Let(bits, Binary(BinaryOp.SUB, u32(32), needed))
        place, own, turns = self.fresh("place"), self.fresh("mine"), self.fresh("turns")
        last = Binary(BinaryOp.SUB, u32(BITS), Var(bits))
        number: Expr = Binary(BinaryOp.SHR, reversed_bits(Var(turn)), last)
        if self.rows > 1:
            number = Binary(BinaryOp.ADD, Binary(BinaryOp.MUL, number, u32(self.rows)), self.row)
        beyond = Binary(BinaryOp.SUB, Var(some), Var(place))
        inside = Binary(BinaryOp.LT, Var(place), Var(some))
        round_of_blocks, block = self.fresh("row"), self.fresh("number")
        begin, each = self.fresh("begin"), self.fresh("block")
        (state,) = self.lead.folding.join((Var(own),), (Var(each),))
        at = Binary(BinaryOp.ADD, Binary(BinaryOp.ADD, Var(first), Var(place)), Var(block))
        inner = (
            Let(block, Binary(BinaryOp.MUL, Var(round_of_blocks), u32(LANES))),
            Let(begin, Binary(BinaryOp.MUL, at, u32(BLOCK))),
            *self.lead.absent([each]),
            *self.dealt_block(
                Binary(BinaryOp.SUB, Var(rounds), Var(begin)), Var(begin), each, copies=copies
            ),
            Assign(own, state),
        )
        body = (
            Let(place, number),
            Let(turns, Select(inside, up(beyond, LANES), u32(0))),
            *self.lead.absent([own]),
            Loop(round_of_blocks, u32(0), Var(turns), inner),
            *self.merged_one(turn, own, stack),
            Assign(into, Var(own)),
        )
        yield Loop(turn, u32(0), Binary(BinaryOp.SHL, u32(1), Var(bits)), body)

    def merged_one(
        self, turn: str, own: str, stack: Sequence[str], step: int = 0
    ) -> Iterator[Node]:
        """Puts a number where the place it comes together with finds it, or finds that one's."""
        if step == len(stack):
            return
        waits = Binary(BinaryOp.EQ, Binary(BinaryOp.BIT_AND, Var(turn), u32(1 << step)), u32(0))
        (state,) = self.lead.folding.join((Var(stack[step]),), (Var(own),))
        yield If(
            waits,
            (Assign(stack[step], Var(own)),),
            (Assign(own, state), *self.merged_one(turn, own, stack, step + 1)),
        )

    def of_each_row(self, mine: str) -> Iterator[Node]:
        """Makes of a lane's number what all rows have of it, each of which has one block."""
        array = self.dealt_array()
        yield Store(array, self.cell(self.row), Var(mine))
        yield Barrier()
        names = [self.fresh("row") for _ in range(self.rows)]
        for number, name in enumerate(names):
            yield Let(name, Load(array, self.cell(u32(number))))
        yield Barrier()
        while len(names) > 1:
            half, made = len(names) // 2, list[str]()
            for one, other in zip(names[:half], names[half:], strict=True):
                both = self.fresh("both")
                (state,) = self.lead.folding.join((Var(one),), (Var(other),))
                yield Let(both, state)
                made.append(both)
            names = made
        yield Assign(mine, Var(names[0]))

    def cell(self, place: Expr) -> Expr:
        """Where a lane's number of a place is, in the array in which rows meet."""
        return Binary(BinaryOp.ADD, Binary(BinaryOp.MUL, place, u32(LANES)), self.lane_in_row)

    def dealt_array(self) -> str:
        (dtype,) = self.lead.folding.state
        if dtype not in self.dealt:
            self.dealt[dtype] = self.fresh("meeting")
        return self.dealt[dtype]


def owners(count: int) -> list[int]:
    """The first lane of those that have each of so many numbers when they are dealt out.

    >>> owners(5)
    [0, 4, 8, 16, 20]
    """
    lane_of = dict[int, int]()
    for lane in range(LANES):
        left = list(range(count))
        for half in HALVES:
            kept = up_to_half(len(left))
            upper = left[kept:] if lane & half else []
            left = [*upper, *left[len(upper) : kept]]
        lane_of.setdefault(left[0], lane)
    return [lane_of[number] for number in range(count)]


def up_to_half(count: int) -> int:
    """The larger half of a count.

    >>> up_to_half(5), up_to_half(1)
    (3, 1)
    """
    return (count + 1) // 2
