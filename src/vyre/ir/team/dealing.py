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
from vyre.ir.expr import Array, Binary, BinaryOp, Element, Expr, FromLane, Load, Put, Select, Var
from vyre.ir.fold import BLOCK, HALVES, LANES, levels
from vyre.ir.node import Assign, Barrier, Let, Loop, Node, Store
from vyre.ir.serial import Held, Names, u32, up
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
                count=LANES * LANES,
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
        counts = [len(whole)]
        for _ in HALVES:
            counts.append(up_to_half(counts[-1]))
        names = [mine]
        for half, count in zip(reversed(HALVES), reversed(counts[:-1]), strict=True):
            upper = yield from self.upper(half)
            lower, higher = list[str](), list[str]()
            for place, name in enumerate(names):
                if place + len(names) >= count:
                    lower.append(name)
                    continue
                other, low, high = self.fresh("other"), self.fresh("low"), self.fresh("high")
                yield Let(other, FromLane(Var(name), half))
                yield Let(low, Select(Var(upper), Var(other), Var(name)))
                yield Let(high, Select(Var(upper), Var(name), Var(other)))
                lower.append(low)
                higher.append(high)
            names = [*lower, *higher]
        yield from self.all_put_alike(whole, [[name] for name in names])

    def upper(self, half: int) -> Generator[Node, None, str]:
        """A name that says whether a lane is in the upper of two halves."""
        upper = self.fresh("upper")
        bit = Binary(BinaryOp.BIT_AND, LANE, u32(half))
        yield Let(upper, Binary(BinaryOp.NE, bit, u32(0)))
        return upper

    # -- blocks of blocks: a lane has an array for its number, where what is rare is not in the way

    def dealt_blocks(
        self, level: int, totals: Sequence[str], number: Expr, into: str, *, copies: bool
    ) -> Iterator[Node]:
        """Gives each lane its number of what the blocks of a block of them come to."""
        first, left = self.fresh("first"), self.fresh("left")
        yield Let(first, Binary(BinaryOp.MUL, number, u32(BLOCK)))
        yield Let(left, Binary(BinaryOp.SUB, Var(totals[level]), Var(first)))
        (absent,) = self.lead.folding.absent
        lanes = self.fresh("lanes")
        yield Let(lanes, Array.of(absent.dtype, (LANES,), [absent.value] * LANES))
        some = Binary(BinaryOp.MIN, Var(left), u32(BLOCK))
        turn = self.fresh("turn")
        turns = up(some, self.rows) if self.rows > 1 and level == 1 else some
        inner = self.dealt_turn(level, totals, turn, first, some, lanes, copies=copies)
        yield Loop(turn, u32(0), turns, tuple(inner))
        if self.rows > 1 and level == 1:
            yield from self.rows_met(lanes)
        yield from self.halved(self.lead, lanes, left)
        yield Assign(into, Element(Var(lanes), (u32(0),)))

    def dealt_turn(
        self,
        level: int,
        totals: Sequence[str],
        turn: str,
        first: str,
        some: Expr,
        lanes: str,
        *,
        copies: bool,
    ) -> Iterator[Node]:
        """Folds what a block comes to into the place whose turn it is, or one for each row."""
        number: Expr = Var(turn)
        each = yield from self.nothing("block")
        if level > 1:
            below = Binary(BinaryOp.ADD, Var(first), number)
            yield from self.dealt_blocks(level - 1, totals, below, each, copies=copies)
        else:
            number, begin, left = yield from self.block_of_turn(totals, turn, first, some)
            yield from self.dealt_block(left, begin, each, copies=copies)
        place = self.fresh("place")
        yield Let(place, Binary(BinaryOp.BIT_AND, number, u32(LANES - 1)))
        before = Element(Var(lanes), (Var(place),))
        (state,) = self.lead.folding.join((before,), (Var(each),))
        yield Assign(lanes, Put(Var(lanes), (Var(place),), state))

    def rows_met(self, lanes: str) -> Iterator[Node]:
        """Gives each row the places of all others, which are those of their blocks."""
        array = self.dealt_array()
        turn, place = self.fresh("turn"), self.fresh("place")
        mine = Binary(BinaryOp.MUL, Var(turn), u32(self.rows))
        store = Store(array, self.cell(Var(place)), Element(Var(lanes), (Var(place),)))
        own = (Let(place, Binary(BinaryOp.ADD, mine, self.row)), store)
        yield Loop(turn, u32(0), u32(LANES // self.rows), own)
        yield Barrier()
        place = self.fresh("place")
        found = Load(array, self.cell(Var(place)))
        put = Assign(lanes, Put(Var(lanes), (Var(place),), found))
        yield Loop(place, u32(0), u32(LANES), (put,))
        yield Barrier()

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


def up_to_half(count: int) -> int:
    """The larger half of a count.

    >>> up_to_half(5), up_to_half(1)
    (3, 1)
    """
    return (count + 1) // 2
