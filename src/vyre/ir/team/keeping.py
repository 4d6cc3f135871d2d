"""Teams whose lanes keep what rounds compute, where every lane has the same few rounds each time.

A row of lanes has one block of rounds at the most, so that what the fixed tree asks of a sum holds
of every walk. Of how many rounds there are, only a launch tells: where they are more than lanes
keep, or not the same in all walks, the team goes over them as others do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from vyre.ir.declare import BufferDecl
from vyre.ir.expr import (
    Ahead,
    Array,
    Binary,
    BinaryOp,
    Element,
    Expr,
    Lit,
    Load,
    Put,
    Select,
    Var,
)
from vyre.ir.fold import BLOCK, LANES
from vyre.ir.node import Assign, If, Let, Loop, Node
from vyre.ir.serial import U32_MAX, Names, Together, u32
from vyre.ir.team.again import Again, Body, Meanings, Value, Walk, needed
from vyre.ir.team.writer import LANE, Writer
from vyre.ir.text import statement_text
from vyre.ir.walk import exchanged, statements


def rounds_kept(lanes: int, keeps: int) -> int:
    """The rounds of a result that a team can keep, so many of each lane.

    >>> rounds_kept(32, 8), rounds_kept(128, 32)
    (256, 4096)
    """
    return min(lanes * keeps, BLOCK * (lanes // LANES))


@dataclass(slots=True)
class Keeping(Writer):
    """Writes what the lanes of a team do that keep what their rounds compute."""

    again: Again = field(default_factory=lambda: Again((), {}, ()))
    keeps: int = 0  # rounds of a lane
    decls: Mapping[str, BufferDecl] = field(default_factory=dict)
    known: dict[Expr, str] = field(default_factory=dict)  # what is kept so far, by its meaning
    start: str = ""  # the name of a lane's first round
    count: str = ""  # and of how many rounds there are
    whole: bool = False  # lanes have all the rounds that they keep
    slot: str = ""  # the name of a round's number among those of its lane; empty beside walks
    at: str = ""  # the name of that round
    called: dict[str, str] = field(default_factory=dict)
    """What statements were called before parts of them were exchanged."""

    def entry(self, nodes: Sequence[Node]) -> tuple[Node, ...]:  # noqa: ARG002  # they are in `again`
        first, walks = self.again.first, self.again.walks
        made = [node for part in self.again.parts[:first] for node in self.usual(part)]
        self.count = self.fresh("rounds")
        made.append(Let(self.count, walks[first].rounds))
        fits: Expr = Binary(BinaryOp.LE, Var(self.count), u32(self.most))
        for walk in list(walks.values())[1:]:
            same = Binary(BinaryOp.EQ, walk.rounds, Var(self.count))
            fits = Binary(BinaryOp.AND, fits, same)
        is_whole = Binary(BinaryOp.EQ, Var(self.count), u32(self.most))
        kept = If(is_whole, self.with_kept(whole=True), self.with_kept(whole=False))
        others = tuple(node for part in self.again.parts[first:] for node in self.usual(part))
        return (*made, If(fits, (kept,), others))

    @property
    def most(self) -> int:
        """The rounds that a team keeps at the most."""
        return rounds_kept(self.lanes, self.keeps)

    def usual(self, part: Node | Together) -> Iterator[Node]:
        """A part as other teams do it."""
        if isinstance(part, Together):
            yield from self.computed(part)
            yield from self.plain(part.others)
        else:
            yield self.inside(part)

    def with_kept(self, *, whole: bool) -> tuple[Node, ...]:
        """All from the first walk on, of as many rounds as lanes keep, or of fewer."""
        self.known, self.whole, self.start = {}, whole, self.fresh("start")
        begin: Expr = LANE
        if self.rows > 1:
            own = Binary(BinaryOp.MUL, self.row, u32(BLOCK))
            begin = Binary(BinaryOp.ADD, own, self.lane_in_row)
        made: list[Node] = [Let(self.start, begin)]
        for place in range(self.again.first, len(self.again.parts)):
            part, walk = self.again.parts[place], self.again.walks.get(place)
            if walk is None:
                made += self.usual(part)
                continue
            for value in self.again.values:
                if value.walk == place:
                    made += self.filled(value)
            self.begin_walk()
            made += self.walk(part, walk)
            self.slot = ""
        return tuple(made)

    def walk(self, part: Node | Together, walk: Walk) -> Iterator[Node]:
        """A walk, with what is kept in its place."""
        if isinstance(part, Loop):
            (body,) = walk.bodies
            yield from self.waited()
            yield self.over_rounds((Let(part.var, Var(self.at)), *self.with_known(body)))
            return
        assert isinstance(part, Together), part
        found = []
        for one, body in zip(part.reductions, walk.bodies, strict=True):
            now = replace(one, body=self.with_known(body))
            self.called[statement_text(now)] = statement_text(one)
            found.append(now)
        yield from self.computed(Together(tuple(found), ()))
        self.slot = ""  # what stands between them may reduce other rounds
        yield from self.plain(part.others)

    def walked(self, group: Together, count: str, whole: list[Names]) -> Iterator[Node]:
        if not self.slot:  # of more rounds than such a code is for: as briefly as may be
            rounds = group.rounds
            most = int(rounds.value) if isinstance(rounds, Lit) else U32_MAX
            yield from self.folds(count, most, whole, copies=False)
            return
        own = [self.names(held, "own") for held in self.held]
        yield from self.all_absent(own)
        yield self.over_rounds(tuple(self.round(Var(self.at), own)))
        yield from self.agreed(own)
        if self.rows > 1:
            own = yield from self.of_all_rows(own)
        yield from self.all_put_alike(whole, own)

    # -- rounds

    def begin_walk(self) -> None:
        self.slot, self.at = self.fresh("slot"), self.fresh("at")

    def over_rounds(self, body: tuple[Node, ...]) -> Node:
        """Statements for each round of a lane."""
        return self.over_all(body if self.whole else (If(self.inside_rounds, body),))

    def over_all(self, body: tuple[Node, ...]) -> Node:
        """The same for as many rounds as are kept, whether there are so many or not."""
        distance = Binary(BinaryOp.MUL, Var(self.slot), u32(LANES))
        at = Let(self.at, Ahead(Var(self.start), distance))
        return Loop(self.slot, u32(0), u32(self.keeps), (at, *body))

    @property
    def inside_rounds(self) -> Expr:
        """Whether there is the round at hand."""
        return Binary(BinaryOp.LT, Var(self.at), Var(self.count))

    def filled(self, value: Value) -> Iterator[Node]:
        """Keeps a value of all rounds of a lane."""
        array = self.fresh("kept")
        self.begin_walk()
        meanings = Meanings(value.body)
        before: list[Node] = []
        for node in value.body.nodes[: value.node]:
            if isinstance(node, Let):
                before.append(self.exchanged(node, meanings))
            meanings.bind(node)
        stands = value.body.nodes[value.node]
        found = exchanged(value.found, self.in_place(meanings))
        put: Node = Assign(array, Put(Var(array), (Var(self.slot),), found))
        self.called[statement_text(put)] = statement_text(stands)
        self.note(put, put)
        counter = Let(value.body.counter, Var(self.at))
        filling = [*needed(before, found), put]
        if not self.whole:
            filling = [self.guarded(node) for node in filling]
        yield Let(array, Array(value.dtype, (self.keeps,)))
        yield self.over_all((counter, *filling))
        self.slot, self.known[value.means] = "", array

    def guarded(self, node: Node) -> Node:
        """A statement that reads 0 where there is no such round: what it makes of it, nobody asks.

        So it needs no branch, and all loads are under way at once.
        """

        def loaded(part: Expr) -> Expr | None:
            if not isinstance(part, Load) or self.decls[part.buffer].is_scalar_argument:
                return None
            nothing = Lit.of(self.decls[part.buffer].element.computed, 0)
            return Select(self.inside_rounds, part, nothing)

        now = exchanged(node, loaded)
        self.note(node, now)
        return now

    def with_known(self, body: Body) -> tuple[Node, ...]:
        """The statements of a round, with what is kept in the place of what computes it."""
        meanings = Meanings(body)
        made = []
        for node in body.nodes:
            made.append(self.exchanged(node, meanings))
            meanings.bind(node)
        return tuple(made)

    def exchanged(self, node: Node, meanings: Meanings) -> Node:
        """A statement with what is kept in the place of what computes it."""
        now = exchanged(node, self.in_place(meanings))
        for old, new in zip(statements((node,)), statements((now,)), strict=True):
            self.called[statement_text(new)] = statement_text(old)
            self.note(old, new)
            self.note(old, old)  # as it stands where there are too many rounds
        return now

    def in_place(self, meanings: Meanings) -> Callable[[Expr], Expr | None]:
        def known(part: Expr) -> Expr | None:
            array = self.known.get(meanings.of(part))
            return None if array is None else Element(Var(array), (Var(self.slot),))

        return known

    def note(self, before: Node, now: Node) -> None:
        text = statement_text(before)
        found = self.texts.setdefault(self.called.get(text, text), [])
        if (made := statement_text(now)) not in found:
            found.append(made)
