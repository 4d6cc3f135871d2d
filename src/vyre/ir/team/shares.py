"""Workgroups that share one result: each folds some of its rounds, and the last goes on alone.

What each has found it keeps in memory of the launch. The tree of a reduction that tells the order
of its elements is kept to by leaving what every block of rounds comes to; of any other a workgroup
leaves what all its rounds come to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from vyre.ir.declare import BufferDecl
from vyre.ir.expr import Binary, BinaryOp, Expr, Id, IdKind, Lit, Load, Select, Share, Var
from vyre.ir.fold import BLOCK
from vyre.ir.node import Arrive, Assign, Block, If, Let, Loop, Node, Return, Store
from vyre.ir.serial import U32_MAX, Held, Names, Together, as_state, together, u32, up
from vyre.ir.team.writer import Writer, is_copied, pieces
from vyre.ir.types import DataType
from vyre.ir.walk import statements

MOST_ROUNDS = 1 << 31
"""Rounds that workgroups share at most: numbers of rounds beyond the last one stay below 2**32."""


@dataclass(frozen=True, slots=True)
class Kept:
    """An array through which workgroups find each other's results: so much of each result.

    It has one element, one for each block of rounds, or one for each workgroup.
    """

    name: str
    dtype: DataType
    elements: str  # ONE, BLOCKS or SHARES


ONE, BLOCKS, SHARES = "one", "blocks", "shares"


@dataclass(frozen=True, slots=True)
class Cut:
    """A program's statements around the reductions that workgroups share."""

    before: tuple[Node, ...]  # which each of them goes through
    group: Together
    behind: tuple[Node, ...]  # which the last one does


def cut(nodes: Sequence[Node]) -> Cut | None:
    """Where workgroups begin to share, and where they end, if they can.

    That is at the first reduction whose rounds a launch decides, or the one of the most rounds that
    are written down, before anything is stored: what is done once would be done by each.
    """
    parts = list(together(nodes))
    best: tuple[int, int] | None = None  # rounds, and where
    for place, part in enumerate(parts):
        if isinstance(part, Together):
            if not isinstance(part.rounds, Lit):
                best = U32_MAX, -place
                break
            best = max(best or (0, -place), (int(part.rounds.value), -place))
        elif any(isinstance(node, (Store, Return)) for node in statements((part,))):
            break
    if best is None:
        return None
    place = -best[1]
    group = parts[place]
    assert isinstance(group, Together), group
    return Cut(_nodes(parts[:place]), group, (*group.others, *_nodes(parts[place + 1 :])))


def _nodes(parts: Sequence[Node | Together]) -> tuple[Node, ...]:
    found: list[Node] = []
    for part in parts:
        found += (*part.reductions, *part.others) if isinstance(part, Together) else (part,)
    return tuple(found)


@dataclass(slots=True)
class Sharing(Writer):
    """Writes what the workgroups of one result do, with names that nothing else has."""

    shares: int = 2
    room: list[Kept] = field(default_factory=list)
    apart: bool = False  # workgroups go through rounds beside each other
    states: list[list[str]] = field(default_factory=list)
    """The arrays that hold the states of each reduction."""
    first: str = ""  # the name of the place where those of a result begin
    gathers: bool = False  # what is folded is what workgroups have kept

    @property
    def beside(self) -> int:
        return self.lanes * (self.shares if self.apart else 1)

    def place(self, turn: Expr) -> Expr:
        """The round that a lane has in a turn."""
        mine = Writer.place(self, turn)
        if not self.apart:
            return mine
        return Binary(BinaryOp.ADD, mine, Binary(BinaryOp.MUL, Share(), u32(self.lanes)))

    def round(self, at: Expr, into: list[Names]) -> Iterator[Node]:
        """Folds the elements of a round into names, or what workgroups have kept."""
        if not self.gathers:
            yield from Writer.round(self, at, into)
            return
        for held, names, arrays in zip(self.held, into, self.states, strict=True):
            own = self.names(held, "own")
            index = Binary(BinaryOp.ADD, Var(self.first), at)
            loads = (Let(n, Load(a, index)) for n, a in zip(own, arrays, strict=True))
            yield Block((*loads, *self.folded(held, names, as_state(own))))

    def memory(self, binding: int) -> Iterator[BufferDecl]:
        """The memory of the launch, then that of a workgroup."""
        for number, one in enumerate(self.room):
            yield replace(BufferDecl.read_write(one.name, binding + number, one.dtype), kept=True)
        yield from Writer.memory(self, binding + len(self.room))

    def entry(self, nodes: Sequence[Node]) -> tuple[Node, ...]:
        """What each team does, and then the last one."""
        parts = cut(nodes)
        assert parts is not None, nodes
        group = parts.group
        made = list(self.plain(parts.before))
        self.held = [Held.of(reduction, self.fresh) for reduction in group.reductions]
        count, result, last = self.fresh("rounds"), self.fresh("result"), self.fresh("last")
        made.append(Let(count, group.rounds))
        for reduction in group.reductions:
            self.note(reduction, Let(count, group.rounds))
        made.append(Let(result, self.number_of_result()))
        arrivals = self.keep("arrivals", DataType.U32, ONE)
        tells = [held for held in self.held if held.some is not None]
        made += (Let(str(held.some), Lit.of(DataType.BOOL, False)) for held in tells)
        fold = self.by_blocks if self.is_ordered else self.by_shares
        made += fold(group, count, result)
        made += self.told_to_others(tells, result)
        made.append(Arrive(last, self.shares, arrivals, Var(result)))
        rest = list(self.gathered(count, result, tells))
        made.append(If(Var(last), (*rest, *self.plain(parts.behind))))
        return tuple(made)

    def number_of_result(self) -> Expr:
        """The number of a result among all, x fastest."""
        x, y, z = (Id(IdKind.INVOCATION, axis) for axis in range(3))
        wide, high = (Id(IdKind.EXTENT, axis) for axis in range(2))
        row = Binary(BinaryOp.ADD, y, Binary(BinaryOp.MUL, z, high))
        return row if self.x else Binary(BinaryOp.ADD, x, Binary(BinaryOp.MUL, row, wide))

    # -- what each workgroup does

    def by_blocks(self, group: Together, count: str, result: str) -> Iterator[Node]:
        """Folds whole blocks, a row of lanes each, and keeps what each comes to."""
        blocks, self.first = self.fresh("blocks"), self.fresh("first")
        yield Let(blocks, up(Var(count), BLOCK))
        yield Let(self.first, Binary(BinaryOp.MUL, Var(result), Var(blocks)))
        self.keep_states(BLOCKS)
        each = [self.names(held, "block") for held in self.held]
        turn, number = self.fresh("turn"), self.fresh("number")
        begin, left = self.fresh("begin"), self.fresh("left")
        rows = self.shares * self.rows
        own = Binary(BinaryOp.MUL, Share(), u32(self.rows))
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
            *self.one_block(Var(left), Var(begin), each, copies=is_copied(group)),
            If(inside, tuple(self.put_by(Var(number), each))),
        ]
        yield Loop(turn, u32(0), pieces(Var(blocks), rows), tuple(body))

    def by_shares(self, group: Together, count: str, result: str) -> Iterator[Node]:
        """Folds rounds in whatever order, and keeps what all of a workgroup's come to."""
        self.first = self.fresh("first")
        yield Let(self.first, Binary(BinaryOp.MUL, Var(result), u32(self.shares)))
        self.keep_states(SHARES)
        each = [self.names(held, "share") for held in self.held]
        yield from self.all_absent(each)
        self.apart = True
        yield from self.anyhow(Var(count), each, copies=is_copied(group))
        self.apart = False
        yield from self.put_by(Share(), each)

    def told_to_others(self, tells: Sequence[Held], result: str) -> Iterator[Node]:
        """Keeps whether a workgroup has seen an element, where that is asked."""
        yield from self.told()
        place = self.of_share(result, Share())
        for held in tells:
            some = self.keep("some", DataType.U32, SHARES)
            yield Store(some, place, Select(Var(str(held.some)), u32(1), u32(0)))
            held.some = some

    # -- what the last one does

    def gathered(self, count: str, result: str, tells: Sequence[Held]) -> Iterator[Node]:
        """Folds what all have kept, and binds the results."""
        self.gathers = True
        whole = [self.names(held, "whole") for held in self.held]
        yield from self.all_absent(whole)
        if self.is_ordered:
            blocks = self.fresh("blocks")
            yield Let(blocks, up(Var(count), BLOCK))
            yield from self.folds(blocks, MOST_ROUNDS // BLOCK, whole, copies=True)
        else:
            yield from self.anyhow(u32(self.shares), whole, copies=True)
        for held in tells:
            array, held.some = str(held.some), self.fresh("some")
            yield Let(held.some, Lit.of(DataType.BOOL, False))
            turn, at = self.fresh("turn"), self.fresh("at")
            word = Load(array, self.of_share(result, Var(at)))
            heard = Binary(BinaryOp.OR, Var(held.some), Binary(BinaryOp.NE, word, u32(0)))
            inside = Binary(BinaryOp.LT, Var(at), u32(self.shares))
            body = (Let(at, self.place(Var(turn))), If(inside, (Assign(held.some, heard),)))
            yield Loop(turn, u32(0), pieces(u32(self.shares), self.lanes), body)
        yield from self.told()
        yield from self.results(count, whole)
        self.gathers = False

    # -- memory

    def keep(self, name: str, dtype: DataType, elements: str) -> str:
        """A new array of the launch's memory."""
        self.room.append(Kept(self.fresh(name), dtype, elements))
        return self.room[-1].name

    def keep_states(self, elements: str) -> None:
        """New arrays for the states of the reductions at hand."""
        self.states = [
            [self.keep("kept", dtype, elements) for dtype in held.folding.state]
            for held in self.held
        ]

    def put_by(self, at: Expr, states: list[Names]) -> Iterator[Node]:
        """Stores states, which all lanes of a row have alike."""
        index = Binary(BinaryOp.ADD, Var(self.first), at)
        for own, names in zip(self.states, states, strict=True):
            for array, name in zip(own, names, strict=True):
                yield Store(array, index, Var(name))

    def of_share(self, result: str, share: Expr) -> Expr:
        """The place of a workgroup of a result."""
        return Binary(BinaryOp.ADD, Binary(BinaryOp.MUL, Var(result), u32(self.shares)), share)
