"""Teams that stand abreast: each row of a workgroup has one lane of several teams.

Where results lie closer in memory than rounds, as in sums over columns, what neighbouring teams
read in the same round lies side by side. So their lanes stand next to each other, and the 32 lanes
of one team below each other. They tell each other what they have through workgroup memory, and one
of them folds what all have left there.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from vyre.ir.expr import (
    Array,
    Binary,
    BinaryOp,
    Element,
    Expr,
    Id,
    IdKind,
    Lit,
    Load,
    Put,
    Select,
    Var,
)
from vyre.ir.fold import HALVES, LANES
from vyre.ir.node import Assign, Barrier, If, Let, Loop, Node, Reduce, Store
from vyre.ir.program import Program
from vyre.ir.serial import Fresh, Names, u32
from vyre.ir.team.beside import Copy, called, differing, why_not_beside
from vyre.ir.team.loops import stored_to
from vyre.ir.team.shares import Sharing
from vyre.ir.team.writer import LANE, Writer
from vyre.ir.types import DataType
from vyre.ir.walk import expressions

_X = Id(IdKind.INVOCATION, 0)
_EXTENT = Id(IdKind.EXTENT, 0)
_COLUMN = Id(IdKind.LOCAL, 0)

MOST_ABREAST = 32
"""Teams that stand abreast: a workgroup has 1024 invocations then."""

TURNS = 2
"""Parts of an array in which lanes meet: one is filled while the other is read."""


@dataclass(frozen=True, slots=True)
class Abreast:
    """A program whose invocations beyond the extent do the last position's work again."""

    nodes: tuple[Node, ...]
    copy: Copy


def why_not_abreast(nodes: Sequence[Node]) -> str | None:
    """Why teams cannot go through statements abreast: all of them have to go the same way."""
    if (why_not := why_not_beside(nodes)) is not None:
        return why_not
    differ, stored = differing(nodes), set(stored_to(nodes))
    for node in nodes:
        if isinstance(node, Reduce) and any(
            part == _X
            or (isinstance(part, Var) and part.name in differ)
            or (isinstance(part, Load) and part.buffer in stored)
            for part in expressions(node.rounds)
        ):
            return "its position along x, or what it stores to, says how many rounds there are"
    return None


def abreast(nodes: Sequence[Node], fresh: Fresh) -> Abreast:
    """The statements, at positions that are all within the extent."""
    assert why_not_abreast(nodes) is None, nodes
    position = fresh("position")
    names = Copy(Var(position), {}, {})
    moved = [names.of(node) for node in nodes]
    return Abreast(
        (Let(position, within_extent()), *moved), replace(names, texts=called(nodes, moved))
    )


def within_extent() -> Expr:
    """The position along x, or the last one where it is beyond."""
    return Binary(BinaryOp.MIN, _X, Binary(BinaryOp.SUB, _EXTENT, u32(1)))


@dataclass(slots=True)
class Columns(Sharing):
    """Writes what the lanes of teams do that stand abreast, whether they share results or not."""

    abreast: int = 2
    shares: int = 1

    def entry(self, nodes: Sequence[Node]) -> tuple[Node, ...]:
        return (Sharing if self.shares > 1 else Writer).entry(self, nodes)

    @property
    def meeting_size(self) -> int:
        return TURNS * LANES * self.abreast

    @property
    def hears_of_blocks(self) -> bool:
        return False

    def number_of_result(self) -> Expr:
        """The number of a result among all, x fastest."""
        y, z = (Id(IdKind.INVOCATION, axis) for axis in (1, 2))
        wide, high = (Id(IdKind.EXTENT, axis) for axis in range(2))
        row = Binary(BinaryOp.ADD, y, Binary(BinaryOp.MUL, z, high))
        return Binary(BinaryOp.ADD, within_extent(), Binary(BinaryOp.MUL, row, wide))

    # -- stores: by one lane of each team, if there is its result

    def waited(self) -> Iterator[Node]:
        yield Barrier()

    def alike(self, value: Expr) -> Expr:
        return value  # one lane stores it

    def as_one(self, value: Expr) -> Expr:
        return value

    def by_its_lane(self, store: Node) -> Node:
        first = Binary(BinaryOp.EQ, LANE, u32(0))
        return If(Binary(BinaryOp.AND, first, Binary(BinaryOp.LT, _X, _EXTENT)), (store,))

    def put_by(self, at: Expr, states: list[Names]) -> Iterator[Node]:
        yield from map(self.by_its_lane, Sharing.put_by(self, at, states))

    # -- lanes that tell each other

    def all_put_alike(self, into: list[Names], own: list[Names]) -> Iterator[Node]:
        yield from self.all_put(into, own)

    def agreed(self, own: list[Names]) -> Iterator[Node]:
        """Gives all lanes of a team what theirs come to: one folds it, and leaves it for all."""
        yield from self.left(own, u32(0))
        found = list[Node]()
        states = _collected(self.folded_by_one(u32(0)), found)
        found += self.left_at(states, u32(0), u32(1))
        yield If(Binary(BinaryOp.EQ, LANE, u32(0)), tuple(found))
        yield Barrier()
        told = [self.names(held, "told") for held in self.held]
        yield from self.loaded(told, u32(0), u32(1))
        yield from self.all_put(own, told)

    def round_of_blocks(
        self,
        totals: Sequence[str],
        turn: str,
        first: str,
        some: Expr,
        own: list[Names],
        each: list[Names],  # noqa: ARG002  # only the lane whose turn it is has what it comes to
        *,
        copies: bool,
    ) -> Iterator[Node]:
        """A block of rounds, and what it comes to for the lane whose turn it is.

        Meanwhile others go on: what they leave of the next block lies elsewhere.
        """
        number, begin, left = yield from self.block_of_turn(totals, turn, first, some)
        mine = yield from self.own_of_block(left, begin, copies=copies)
        half = Binary(BinaryOp.BIT_AND, number, u32(TURNS - 1))
        yield from self.left(mine, half)
        found = list[Node]()
        states = _collected(self.folded_by_one(half), found)
        found += self.all_folded(own, states)
        lane = Binary(BinaryOp.BIT_AND, number, u32(LANES - 1))
        yield If(Binary(BinaryOp.EQ, LANE, lane), tuple(found))

    def behind_blocks(self, own: list[Names]) -> Generator[Node, None, list[Names]]:
        yield Barrier()  # for who still folds the last one
        return own

    def left(self, own: list[Names], half: Expr) -> Iterator[Node]:
        """Lets each lane leave what it has where the others of its team find it."""
        yield from self.left_at(own, LANE, half)
        yield Barrier()

    def left_at(self, own: list[Names], lane: Expr, half: Expr) -> Iterator[Node]:
        """Leaves states at a lane's place."""
        for array, name in zip(self.arrays(), chain.from_iterable(own), strict=True):
            yield Store(array, self.place_of(lane, half), Var(name))

    def loaded(self, into: list[Names], lane: Expr, half: Expr) -> Iterator[Node]:
        """Binds names to the states at a lane's place."""
        for array, name in zip(self.arrays(), chain.from_iterable(into), strict=True):
            yield Let(name, Load(array, self.place_of(lane, half)))

    def folded_by_one(self, half: Expr) -> Generator[Node, None, list[Names]]:
        """What all lanes of a team have left, folded by the fixed tree."""
        each = [[self.fresh("each") for _ in held.folding.state] for held in self.held]
        for held, arrays in zip(self.held, each, strict=True):
            for array, dtype in zip(arrays, held.folding.state, strict=True):
                yield Let(array, Array(dtype, (LANES,)))
        lane, states = self.fresh("lane"), [self.names(held, "left") for held in self.held]
        found = list(self.loaded(states, Var(lane), half))
        for array, name in zip(chain.from_iterable(each), chain.from_iterable(states), strict=True):
            found.append(Assign(array, Put(Var(array), (Var(lane),), Var(name))))
        yield Loop(lane, u32(0), u32(LANES), tuple(found))
        for step in HALVES:
            lane = self.fresh("lane")
            yield Loop(lane, u32(0), u32(step), tuple(self.halved_at(each, Var(lane), step)))
        whole = [self.names(held, "whole") for held in self.held]
        for array, name in zip(chain.from_iterable(each), chain.from_iterable(whole), strict=True):
            yield Let(name, Element(Var(array), (u32(0),)))
        return whole

    def halved_at(self, each: list[Names], lane: Expr, step: int) -> Iterator[Node]:
        """Folds what arrays hold of one lane with what they hold of another."""
        other = Binary(BinaryOp.ADD, lane, u32(step))
        for held, arrays in zip(self.held, each, strict=True):
            here, there = (
                tuple(Element(Var(array), (at,)) for array in arrays) for at in (lane, other)
            )
            joined = [self.fresh("joined") for _ in arrays]
            for name, state in zip(joined, held.folding.join(here, there), strict=True):
                yield Let(name, state)
            for array, name in zip(arrays, joined, strict=True):
                yield Assign(array, Put(Var(array), (lane,), Var(name)))

    def place_of(self, lane: Expr, half: Expr) -> Expr:
        """Where a lane of a team leaves what it has."""
        row = Binary(BinaryOp.ADD, Binary(BinaryOp.MUL, half, u32(LANES)), lane)
        column = Binary(BinaryOp.BIT_AND, _COLUMN, u32(self.abreast - 1))  # as a compiler sees
        return Binary(BinaryOp.ADD, Binary(BinaryOp.MUL, row, u32(self.abreast)), column)

    def told(self) -> Iterator[Node]:
        for held in self.held:
            if held.some is None:
                continue
            array, heard = self.array(DataType.U32, 0), self.fresh("heard")
            word = Select(Var(held.some), u32(1), u32(0))
            yield Store(array, self.place_of(LANE, u32(0)), word)
            yield Barrier()
            yield Let(heard, Lit.of(DataType.BOOL, False))
            lane = self.fresh("lane")
            found = Binary(BinaryOp.NE, Load(array, self.place_of(Var(lane), u32(0))), u32(0))
            more = Assign(heard, Binary(BinaryOp.OR, Var(heard), found))
            yield Loop(lane, u32(0), u32(LANES), (more,))
            yield Barrier()
            held.some = heard


def group_bytes(program: Program) -> int:
    """The workgroup memory of a program for teams."""
    return sum(
        decl.count * (decl.element.size_bytes or 0) for decl in program.buffers if decl.is_shared
    )


def _collected(made: Generator[Node, None, list[Names]], into: list[Node]) -> list[Names]:
    """What a generator returns, its statements left in a list."""
    while True:
        try:
            into.append(next(made))
        except StopIteration as end:
            found: list[Names] = end.value
            return found
