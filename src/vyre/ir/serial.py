"""Reductions as plain statements that one invocation goes through by itself.

Where the order of elements does not show, that is a loop. Where it does, elements come lane by lane
of their block, the lanes in the order in which they come together, and so do blocks: a handful of
names holds all that is not finished, however many elements there are.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise

from vyre.ir.expr import (
    Array,
    Binary,
    BinaryOp,
    Element,
    Expr,
    Lit,
    Load,
    Put,
    Select,
    Unary,
    UnaryOp,
    Var,
)
from vyre.ir.fold import BLOCK, HALVES, LANES, Folding, levels
from vyre.ir.known import (
    COUNTS,
    COUNTS_IN_ORDER,
    MOST_IN_COPY,
    rounds_inside,
    with_rounds,
    written_parts,
)
from vyre.ir.loops import ACTS
from vyre.ir.node import Assign, Block, If, Let, Loop, Node, Reduce, Store, Yield
from vyre.ir.program import Program
from vyre.ir.signs import never_negative
from vyre.ir.text import statement_text
from vyre.ir.types import DataType
from vyre.ir.walk import all_expressions, names_of, size_of, statements

U32_MAX = 0xFFFF_FFFF

MOST_WRITTEN = 1_024
"""Statements and expressions that a few rounds may become when each is written out."""

MOST_COPIED = 64
"""The same of rounds that are worth a second copy, where there is but one block."""

SHORT = (4, 8)
"""The most rounds of copies in which each is written out, and asks whether there are as many."""

BITS = 5  # of a lane's number


def has_reductions(program: Program) -> bool:
    """Whether something in a program is a reduction."""
    return any(isinstance(node, Reduce) for node in statements(program.entry))


@dataclass(frozen=True, slots=True)
class Alone:
    """A program whose invocations do their reductions by themselves."""

    program: Program
    texts: Mapping[str, Sequence[str]]  # what statements are called now, by what they were called


@lru_cache(maxsize=256)
def alone(program: Program, *, in_order: bool = False) -> Alone:
    """The same program without reductions, each done by its own invocation.

    Where rounds are taken in order, those of many blocks come as they are numbered.
    """
    if not has_reductions(program):
        return Alone(program, {})
    scalars = frozenset(decl.name for decl in program.buffers if decl.is_scalar_argument)
    work = Serial(Fresh(program), in_order=in_order, scalars=scalars)
    entry = work.plain(program.entry)
    return Alone(replace(program, entry=entry), work.texts)


def serial(program: Program, *, in_order: bool = False) -> Program:
    """The program of `alone` by itself."""
    return alone(program, in_order=in_order).program


class Fresh:
    """Names that nothing in a program has."""

    def __init__(self, program: Program) -> None:
        self.taken = set(names_of(program.entry)) | {decl.name for decl in program.buffers}

    def __call__(self, name: str) -> str:
        found, number = name, 0
        while found in self.taken:
            number += 1
            found = f"{name}{number}"
        self.taken.add(found)
        return found


@dataclass(frozen=True, slots=True)
class Together:
    """Reductions over the same rounds, which one walk over them computes."""

    reductions: tuple[Reduce, ...]
    others: tuple[Node, ...]  # statements between them, which may as well come behind

    @property
    def rounds(self) -> Expr:
        return self.reductions[0].rounds


def together(nodes: Sequence[Node]) -> Iterator[Node | Together]:
    """Statements of a list, with reductions that can be computed at once as one."""
    position = 0
    while position < len(nodes):
        node = nodes[position]
        if not isinstance(node, Reduce):
            yield node
            position += 1
            continue
        found, others, end = [node], list[Node](), position + 1
        bound, stored = {node.name}, set[str]()
        for ahead, other in enumerate(nodes[position + 1 :], position + 1):
            match other:
                case Reduce(name=name, rounds=rounds):
                    if rounds == node.rounds and not _needs(other, bound, stored):
                        found.append(other)
                        others += nodes[end:ahead]
                        end = ahead + 1
                    bound.add(name)
                case Let(name) if not _acts(other):
                    bound.add(name)
                case Store(buffer) if not _acts(other):
                    stored.add(buffer)
                case _:
                    break
        yield Together(tuple(found), tuple(others))
        position = end


def _needs(reduction: Reduce, bound: set[str], stored: set[str]) -> bool:
    """Whether a reduction takes something of the names or arrays that stand before it."""
    return any(
        (isinstance(part, Var) and part.name in bound)
        or (isinstance(part, Load) and part.buffer in stored)
        for part in all_expressions((reduction,))
    )


def _acts(node: Let | Store) -> bool:
    return any(isinstance(part, ACTS) for part in all_expressions((node,)))


@dataclass(slots=True)
class Held:
    """A reduction on its way: what its element is called, and whether there was any."""

    reduction: Reduce
    folding: Folding
    some: str | None  # the name that says so; None where the rounds tell

    @classmethod
    def of(cls, reduction: Reduce, fresh: Fresh) -> Held:
        positive = reduction.op.finds and never_negative(reduction)
        folding = Folding(reduction.op, reduction.dtype.computed, positive)
        asked = folding.tells_nothing and not always_yields(reduction.body)
        return cls(reduction, folding, fresh("some") if asked else None)

    def absent(self, names: Sequence[str]) -> Iterator[Node]:
        """Binds names to the state of nothing."""
        for name, literal in zip(names, self.folding.absent, strict=True):
            yield Let(name, literal)

    def put(self, names: Sequence[str], states: Sequence[Expr]) -> Iterator[Node]:
        """Gives names a state."""
        for name, state in zip(names, states, strict=True):
            yield Assign(name, state)


def always_yields(body: Sequence[Node]) -> bool:
    """Whether each round has an element."""
    match body[-1] if body else None:
        case Yield():
            return True
        case If(_, then, otherwise):
            return always_yields(then) and always_yields(otherwise)
        case _:
            return False


def is_ordered_around(node: Node) -> bool:
    """Whether it is a reduction around others, the order of whose elements shows."""
    return (
        isinstance(node, Reduce)
        and Folding(node.op, node.dtype.computed).is_ordered
        and has_inside(node)
    )


def has_inside(node: Reduce) -> bool:
    """Whether there are reductions in the rounds of one."""
    return any(isinstance(inner, Reduce) for inner in statements(node.body))


Given = Callable[[Expr], Iterator[Node]]
"""What becomes of the element that a round yields."""


def with_yield(body: Sequence[Node], given: Given) -> tuple[Node, ...]:
    """A round's statements, with what becomes of its element."""
    match body[-1] if body else None:
        case Yield(value):
            return (*body[:-1], *given(value))
        case If(cond, then, otherwise):
            last = If(cond, with_yield(then, given), with_yield(otherwise, given))
            return (*body[:-1], last)
        case _:
            return tuple(body)


@dataclass(slots=True)
class Serial:
    """Writes reductions as loops, with names that nothing else has."""

    fresh: Fresh
    in_order: bool = False  # rounds come one after the other, and lanes of a block wait in an array
    scalars: frozenset[str] = frozenset()  # numbers of a launch, which any statement may read
    others: frozenset[Expr] = frozenset()  # numbers of rounds inside that are not a copy's here
    is_copy: bool = False  # of rounds for a number of those inside, of which there are no more then
    held: list[Held] = field(default_factory=list)
    texts: dict[str, list[str]] = field(default_factory=dict)
    """What statements that read memory are called now, by what they were called."""

    def plain(self, nodes: Sequence[Node]) -> tuple[Node, ...]:
        """The statements of a list without reductions."""
        made: list[Node] = []
        others = list[Node]()
        for part in together(nodes):
            if not isinstance(part, Together):
                others.append(part)
                continue
            made += self.others_inside(others)
            made += self.computed(part)
            made += self.plain(part.others)
            others = []
        made += self.others_inside(others)
        return tuple(made)

    def others_inside(self, nodes: Sequence[Node]) -> Iterator[Node]:
        """Statements that are no reductions, one after the other, and what is inside them."""
        yield from map(self.inside, nodes)

    def inside(self, node: Node) -> Node:
        parts = {
            name: self.plain(getattr(node, name))
            for name in ("then", "otherwise", "body")
            if hasattr(node, name)
        }
        return replace(node, **parts) if parts else node  # type: ignore[type-var]  # every Node is a dataclass

    def computed(self, group: Together) -> Iterator[Node]:
        """The statements that bind the results of a group."""
        outer = self.held
        self.held = [Held.of(reduction, self.fresh) for reduction in group.reductions]
        count = self.fresh("rounds")
        yield Let(count, group.rounds)
        for reduction in group.reductions:
            self.note(reduction, Let(count, group.rounds))
        for held in self.held:
            if held.some is not None:
                yield Let(held.some, Lit.of(DataType.BOOL, False))
        whole = [self.names(held, "whole") for held in self.held]
        yield from self.all_absent(whole)
        yield from self.walked(group, count, whole)
        yield from self.told()
        yield from self.results(count, whole)
        self.held = outer

    def results(self, count: str, whole: list[Names]) -> Iterator[Node]:
        """Binds what the reductions at hand come to."""
        any_round = Binary(BinaryOp.NE, Var(count), u32(0))
        for held, names in zip(self.held, whole, strict=True):
            some = any_round if held.some is None else Var(held.some)
            yield Let(held.reduction.name, held.folding.result(as_state(names), some))

    def told(self) -> Iterator[Node]:
        """Lets names that say whether there was an element say it of all rounds."""
        yield from ()

    def walked(self, group: Together, count: str, whole: list[Names]) -> Iterator[Node]:
        """The statements that fold all rounds of a group into `whole`."""
        inner = None if self.in_order or self.is_copy else self.rounds_inside(group)
        if inner is None:
            yield from self.gone_through(group, count, whole)
        else:
            yield from self.by_number(inner, group, count, whole)

    def rounds_inside(self, group: Together) -> Expr | None:
        """How many rounds there are in each round of a group, where copies may know it.

        Not where a sum in them is around others itself: it has such copies, and each of the group's
        would have them once more.
        """
        body = [node for reduction in group.reductions for node in reduction.body]
        if any(map(is_ordered_around, statements(body))):
            return None
        changing = {reduction.var for reduction in group.reductions}.union(names_of(body))
        return rounds_inside(body, changing, self.scalars, self.others)

    def by_number(
        self, inner: Expr, group: Together, count: str, whole: list[Names]
    ) -> Iterator[Node]:
        """Folds the rounds of a group, a copy of them for each number that `inner` may well be."""
        number, held, others = self.fresh("number"), self.held, self.others
        yield Let(number, inner)
        self.others = others | {inner}
        found = tuple(self.walked(group, count, whole))
        self.is_copy = True
        in_order = any(one.folding.is_ordered for one in held)
        copies: list[tuple[int, tuple[Node, ...]]] = []
        for known in COUNTS_IN_ORDER if in_order else COUNTS:
            reductions = tuple(with_rounds(one.reduction, inner, known) for one in held)
            if written_parts(reductions) > MOST_WRITTEN:
                break
            pairs = zip(held, reductions, strict=True)
            self.held = [replace(one, reduction=reduction) for one, reduction in pairs]
            copy = tuple(self.gone_through(Together(reductions, ()), count, whole))
            if size_of(copy).parts > MOST_IN_COPY:
                break  # as those of more rounds would be
            copies.append((known, copy))
        for known, copy in reversed(copies):
            found = (If(Binary(BinaryOp.EQ, Var(number), u32(known)), copy, found),)
        self.held, self.others, self.is_copy = held, others, False
        yield from found

    def gone_through(self, group: Together, count: str, whole: list[Names]) -> Iterator[Node]:
        """The statements that fold all rounds of a group, whatever is known of those inside."""
        rounds = group.rounds
        if not any(held.folding.is_ordered for held in self.held):
            at = self.fresh("round")
            yield Loop(at, u32(0), Var(count), tuple(self.round(Var(at), whole)))
            return
        known = int(rounds.value) if isinstance(rounds, Lit) else None
        if known is not None and known <= LANES:
            parts = size_of([node for r in group.reductions for node in r.body]).parts
            if known * (parts + 8 * len(self.held)) <= MOST_WRITTEN:
                yield from self.written(known, whole)
                return
        if known is None and self.is_short(group):
            few = self.block(0, [count], u32(0), whole)
            more = self.blocks_of_blocks(levels(U32_MAX), count, whole)
            found = at_most(BLOCK, count, few, more)
            if not self.in_order:
                sure = (0, *SHORT)
                for at_least, most in reversed(list(pairwise(sure))):
                    written = self.written(most, whole, count, sure=at_least)
                    found = at_most(most, count, written, (found,))
            yield found
            return
        yield from self.blocks_of_blocks(levels(known or U32_MAX), count, whole)

    def is_short(self, group: Together) -> bool:
        """Whether rounds are worth a copy for where there is one block, which goes round less."""
        rounds = [node for reduction in group.reductions for node in reduction.body]
        nested = any(map(has_inside, group.reductions))
        return not nested and size_of(rounds).parts <= MOST_COPIED

    def blocks_of_blocks(self, most: int, count: str, whole: list[Names]) -> Iterator[Node]:
        """Folds blocks, and blocks of blocks, into `whole`."""
        totals = yield from self.totals(count, most)
        yield from self.block(most - 1, totals, u32(0), whole)

    def totals(self, count: str, most: int) -> Generator[Node, None, list[str]]:
        """The names of how many rounds there are, how many blocks of them, and blocks of these."""
        totals = [count]
        for _ in range(1, most):
            total = self.fresh("blocks")
            yield Let(total, up(Var(totals[-1]), BLOCK))
            totals.append(total)
        return totals

    # -- the rounds themselves

    def round(self, at: Expr, into: list[Names]) -> Iterator[Node]:
        """Folds the elements of a round into names, which hold those of lower rounds alone."""
        for held, names in zip(self.held, into, strict=True):
            yield Block((Let(held.reduction.var, at), *self.body(held, at, names)))

    def body(self, held: Held, at: Expr, names: Names) -> tuple[Node, ...]:
        def given(value: Expr) -> Iterator[Node]:
            element = self.fresh("element")
            yield Let(element, value)
            self.note(Yield(value), Let(element, value))
            states = held.folding.element(Var(element), at)
            if held.folding.op.finds:  # it is compared more than once
                key = self.fresh("key")
                yield Let(key, states[0])
                states = (Var(key), at)
            followed = held.folding.followed(as_state(names), tuple(states))
            yield from self.at_once(held, names, followed)
            if held.some is not None:
                yield Assign(held.some, Lit.of(DataType.BOOL, True))

        return with_yield(self.nested(held.reduction.body), given)

    def nested(self, nodes: Sequence[Node]) -> tuple[Node, ...]:
        """The statements of a round without reductions."""
        return self.plain(nodes)

    def note(self, before: Node, now: Node) -> None:
        self.texts.setdefault(statement_text(before), []).append(statement_text(now))

    def written(
        self, rounds: int, whole: list[Names], count: str | None = None, *, sure: int = 0
    ) -> Iterator[Node]:
        """A few rounds one by one: of so few, each is a lane of its own.

        Args:
            rounds: how many there are, or may be.
            whole: what they are folded into.
            count: the name that says how many there are, where that is not sure.
            sure: how many there are at least then.
        """

        def lanes(lane: int, step: int, into: list[Names]) -> Iterator[Node]:
            if step == LANES:
                found = self.round(u32(lane), into)
                if count is None or lane < sure:
                    yield from found
                else:
                    yield If(Binary(BinaryOp.LT, u32(lane), Var(count)), tuple(found))
                return
            if lane + step >= rounds:
                yield from lanes(lane, 2 * step, into)
                return
            for part in (lane, lane + step):
                own = [self.names(held, "part") for held in self.held]
                yield from self.all_absent(own)
                yield from lanes(part, 2 * step, own)
                yield from self.all_folded(into, own)

        if rounds:
            yield from lanes(0, 1, whole)

    # -- blocks of blocks

    def block(
        self, level: int, totals: Sequence[str], number: Expr, whole: list[Names]
    ) -> Iterator[Node]:
        """Gives `whole` what the elements of one block come to; at level 0 those are rounds."""
        first, left, bits = self.fresh("first"), self.fresh("left"), self.fresh("bits")
        yield Let(first, Binary(BinaryOp.MUL, number, u32(BLOCK)))
        yield Let(left, Binary(BinaryOp.SUB, Var(totals[level]), Var(first)))
        most = Binary(BinaryOp.MIN, Binary(BinaryOp.MAX, Var(left), u32(1)), u32(LANES))
        needed = Unary(UnaryOp.CLZ, Binary(BinaryOp.SUB, most, u32(1)))
        yield Let(bits, Binary(BinaryOp.SUB, u32(32), needed))
        stack = [[self.names(held, "half") for held in self.held] for _ in range(BITS + 1)]
        for step in stack:
            yield from self.all_absent(step)
        turn = self.fresh("turn")
        lanes = Binary(BinaryOp.SHL, u32(1), Var(bits))
        yield Loop(
            turn, u32(0), lanes, tuple(self.lane(level, totals, turn, first, left, bits, stack))
        )
        for place, held in enumerate(self.held):
            found: list[Expr] = [Var(name) for name in stack[BITS][place]]
            for power in reversed(range(BITS)):
                here = Binary(BinaryOp.EQ, Var(bits), u32(power))
                found = [
                    Select(here, Var(name), other)
                    for name, other in zip(stack[power][place], found, strict=True)
                ]
            yield from held.put(whole[place], found)

    def block_in_order(self, total: str, number: Expr, whole: list[Names]) -> Iterator[Node]:
        """Gives `whole` what the rounds of one block come to, one after the other as they are.

        What every lane of the block has so far is in an array. Where order does not show, there is
        no need for lanes; such names are absent before.
        """
        first, left = self.fresh("first"), self.fresh("left")
        yield Let(first, Binary(BinaryOp.MUL, number, u32(BLOCK)))
        behind = Binary(BinaryOp.SUB, Var(total), Var(first))
        yield Let(left, Binary(BinaryOp.MIN, behind, u32(BLOCK)))
        rows = [self.fresh("lanes") if held.folding.is_ordered else "" for held in self.held]
        kept = list(zip(self.held, whole, rows, strict=True))
        for held, _, row in kept:
            if row:
                (absent,) = held.folding.absent
                yield Let(row, Array.of(absent.dtype, (LANES,), [absent.value] * LANES))
        turn, at, lane = self.fresh("turn"), self.fresh("at"), self.fresh("lane")
        own = [self.names(held, "own") if row else names for held, names, row in kept]
        inner: list[Node] = [
            Let(at, Binary(BinaryOp.ADD, Var(first), Var(turn))),
            Let(lane, Binary(BinaryOp.BIT_AND, Var(turn), u32(LANES - 1))),
        ]
        for (_, _, row), names in zip(kept, own, strict=True):
            if row:
                inner.append(Let(names[0], Element(Var(row), (Var(lane),))))
        inner += self.round(Var(at), own)
        for (_, _, row), names in zip(kept, own, strict=True):
            if row:
                inner.append(Assign(row, Put(Var(row), (Var(lane),), Var(names[0]))))
        yield Loop(turn, u32(0), Var(left), tuple(inner))
        for held, names, row in kept:
            if row:
                yield from self.halved(held, row, left)
                yield from held.put(names, [Element(Var(row), (u32(0),))])

    def halved(self, held: Held, row: str, left: str) -> Iterator[Node]:
        """Lets the halves of a row of lanes come together until one is left."""
        for half in HALVES:
            lane = self.fresh("lane")
            here = Element(Var(row), (Var(lane),))
            there = Element(Var(row), (Binary(BinaryOp.ADD, Var(lane), u32(half)),))
            (state,) = held.folding.join((here,), (there,))
            joined = Assign(row, Put(Var(row), (Var(lane),), state))
            some = Binary(BinaryOp.GT, Var(left), u32(half))  # of the others each is absent
            yield If(some, (Loop(lane, u32(0), u32(half), (joined,)),), ())

    def lane(
        self,
        level: int,
        totals: Sequence[str],
        turn: str,
        first: str,
        left: str,
        bits: str,
        stack: list[list[Names]],
    ) -> Iterator[Node]:
        """One lane's elements in order, then what it comes together with by now."""
        lane, rows, row = self.fresh("lane"), self.fresh("rows"), self.fresh("row")
        last = Binary(BinaryOp.SUB, u32(BITS), Var(bits))
        yield Let(lane, Binary(BinaryOp.SHR, reversed_bits(Var(turn)), last))
        own = [self.names(held, "own") for held in self.held]
        yield from self.all_absent(own)
        beyond = Binary(BinaryOp.SUB, Var(left), Var(lane))
        some = Binary(BinaryOp.MIN, up(beyond, LANES), u32(BLOCK // LANES))
        yield Let(rows, Select(Binary(BinaryOp.LT, Var(lane), Var(left)), some, u32(0)))
        at = self.fresh("at")
        start = Binary(BinaryOp.ADD, Var(first), Var(lane))
        place = Binary(BinaryOp.ADD, start, Binary(BinaryOp.MUL, Var(row), u32(LANES)))
        inner: tuple[Node, ...]
        if level == 0:
            inner = tuple(self.round(Var(at), own))
        else:
            each = [self.names(held, "block") for held in self.held]
            if level == 1 and self.in_order:
                below = self.block_in_order(totals[0], Var(at), each)
            else:
                below = self.block(level - 1, totals, Var(at), each)
            inner = (
                *(
                    n
                    for held, names in zip(self.held, each, strict=True)
                    for n in held.absent(names)
                ),
                *below,
                *self.all_folded(own, each),
            )
        yield Loop(row, u32(0), Var(rows), (Let(at, place), *inner))
        yield from self.merged(turn, own, stack, 0)

    def merged(
        self, turn: str, own: list[Names], stack: list[list[Names]], step: int
    ) -> Iterator[Node]:
        """Puts what is complete where the lane it comes together with finds it, or finds it."""
        if step == BITS:
            yield from self.all_put(stack[step], own)
            return
        waits = Binary(BinaryOp.EQ, Binary(BinaryOp.BIT_AND, Var(turn), u32(1 << step)), u32(0))
        joined: list[Node] = []
        for held, mine, theirs in zip(self.held, own, stack[step], strict=True):
            states = held.folding.join(as_state(theirs), as_state(mine))
            joined += self.at_once(held, mine, states)
        yield If(
            waits,
            tuple(self.all_put(stack[step], own)),
            (*joined, *self.merged(turn, own, stack, step + 1)),
        )

    def folded(self, held: Held, names: Names, behind: Sequence[Expr]) -> Iterator[Node]:
        """Makes of names what they are with another state behind them."""
        yield from self.at_once(held, names, held.folding.join(as_state(names), tuple(behind)))

    def all_folded(self, into: list[Names], others: list[Names]) -> Iterator[Node]:
        for held, names, more in zip(self.held, into, others, strict=True):
            yield from self.folded(held, names, as_state(more))

    def at_once(self, held: Held, names: Names, states: Sequence[Expr]) -> Iterator[Node]:
        """Gives names states that are made of themselves."""
        if len(names) == 1:
            yield from held.put(names, states)
            return
        news = [self.fresh("new") for _ in names]
        for new, state in zip(news, states, strict=True):
            yield Let(new, state)
        yield from held.put(names, [Var(new) for new in news])

    def all_absent(self, into: list[Names]) -> Iterator[Node]:
        for held, names in zip(self.held, into, strict=True):
            yield from held.absent(names)

    def all_put(self, into: list[Names], others: list[Names]) -> Iterator[Node]:
        for held, names, more in zip(self.held, into, others, strict=True):
            yield from held.put(names, [Var(name) for name in more])

    def names(self, held: Held, name: str) -> Names:
        return [self.fresh(name) for _ in held.folding.state]


def at_most(rounds: int, count: str, few: Iterable[Node], more: Iterable[Node]) -> If:
    """What is done where a name says so many rounds at most, or more."""
    return If(Binary(BinaryOp.LE, Var(count), u32(rounds)), tuple(few), tuple(more))


Names = list[str]
"""Of the parts of a state."""


def as_state(names: Sequence[str]) -> tuple[Expr, ...]:
    """The state that names hold."""
    return tuple(Var(name) for name in names)


def u32(number: int) -> Expr:
    """A literal."""
    return Lit.of(DataType.U32, number)


def up(count: Expr, size: int) -> Expr:
    """How many pieces of a size, a power of two, hold a count, whatever it is."""
    power = u32(size.bit_length() - 1)
    rest = Binary(BinaryOp.NE, Binary(BinaryOp.BIT_AND, count, u32(size - 1)), u32(0))
    more = Select(rest, u32(1), u32(0))
    return Binary(BinaryOp.ADD, Binary(BinaryOp.SHR, count, power), more)


def reversed_bits(number: Expr) -> Expr:
    """A lane's number, its bits in reverse."""
    return Binary(BinaryOp.SHR, Unary(UnaryOp.REVERSE_BITS, number), u32(32 - BITS))
