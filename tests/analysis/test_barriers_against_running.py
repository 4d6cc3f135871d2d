"""What is said about barriers, against lanes that run one by one, in any order."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod

import pytest

from vyre.analysis.missing_barriers import missing_barrier
from vyre.analysis.uniformity import uniformity
from vyre.ir import BufferDecl, DataType, Expr, Node, Program
from vyre.ir.build import (
    assign,
    atomic,
    barrier,
    break_,
    continue_,
    gid,
    if_,
    let,
    load,
    local_id,
    loop,
    reduce_,
    return_,
    select,
    store,
    u32,
    var,
    while_,
    yield_,
)
from vyre.ir.expr import Atomic, AtomicOp, Binary, BinaryOp, Id, IdKind, Lit, Load, Select, Var
from vyre.ir.node import (
    Assign,
    Barrier,
    Block,
    Break,
    Continue,
    If,
    Let,
    Loop,
    Reduce,
    ReduceOp,
    Return,
    Store,
    While,
    Yield,
)
from vyre.ir.text import to_text
from vyre.ir.validate import check
from vyre.ir.walk import statements

pytestmark = pytest.mark.slow

U32 = DataType.U32
CELLS, NAMES = 4, ("a", "b")
BUFFERS = (
    BufferDecl.read("x", 0, U32).with_count(8),
    BufferDecl.read_write("out", 1, U32).with_count(8),
    BufferDecl.uniform("n", 2, U32).with_count(1),
    BufferDecl.workgroup("tile", CELLS, U32),
)


def program(nodes: Sequence[Node], width: int = 4) -> Program:
    made = Program.wrapped(BUFFERS, (width, 1, 1), [*(let(n, u32(0)) for n in NAMES), *nodes])
    check(made)
    return made


# -- running lanes one by one


class Diverged(Exception):
    """Some lanes wait for others that do not come."""


class Left(Exception):
    """A lane leaves a loop, a round or the program."""

    def __init__(self, by: type[Node]) -> None:
        super().__init__()
        self.by = by


@dataclass
class Workgroup:
    """The memory that lanes share, and who touched which cell since the last barrier."""

    x: list[int]
    n: int
    out: list[int] = field(default_factory=lambda: [0] * 8)
    tile: list[int] = field(default_factory=lambda: [0] * CELLS)
    touched: list[tuple[int, int, str]] = field(default_factory=list)
    met: bool = False
    ran: set[int] = field(default_factory=set)  # the identities of statements

    def touch(self, lane: int, cell: int, kind: str) -> None:
        self.met = self.met or any(
            other != lane and where == cell and {kind, how} not in ({"read"}, {"atomic"})
            for other, where, how in self.touched
        )
        self.touched.append((lane, cell, kind))


@dataclass
class Lane:
    """One lane, which stops before everything that others can see."""

    group: Workgroup
    number: int
    names: dict[str, int] = field(default_factory=dict)
    elements: list[int] = field(default_factory=list)

    def run(self, nodes: Sequence[Node]) -> Iterator[Barrier | None]:
        for node in nodes:
            self.group.ran.add(id(node))
            match node:
                case Let(name, value) | Assign(name, value):
                    self.names[name] = yield from self.value(value)
                case Store(buffer, index, value):
                    at = yield from self.value(index)
                    stored = yield from self.value(value)
                    yield None
                    self.memory(buffer, at, "write")[at] = stored
                case If(cond, then, otherwise):
                    test = yield from self.value(cond)
                    yield from self.run(then if test else otherwise)
                case Loop(var_, start, stop, body):
                    first, last = (yield from self.value(start)), (yield from self.value(stop))
                    for count in range(first, last):
                        self.names[var_] = count
                        if not (yield from self.round(body)):
                            break
                case While(cond, body):
                    while (yield from self.value(cond)) and (yield from self.round(body)):
                        pass
                case Reduce(name, var=var_, rounds=rounds, body=body):
                    around, self.elements = self.elements, []
                    for count in range((yield from self.value(rounds))):
                        self.names[var_] = count
                        yield from self.run(body)
                    self.names[name] = sum(self.elements) % 2**32
                    self.elements = around
                case Yield(value):
                    self.elements.append((yield from self.value(value)))
                case Break() | Continue() | Return():
                    raise Left(type(node))
                case Barrier():
                    yield node
                case _:
                    yield from self.run(node.body)

    def round(self, body: Sequence[Node]) -> Iterator[Barrier | None]:
        try:
            yield from self.run(body)
        except Left as left:
            if left.by is Return:
                raise
            return left.by is Continue
        return True

    def value(self, expr: Expr) -> Iterator[None]:
        match expr:
            case Lit():
                return int(expr.value)
            case Var(name):
                return self.names[name]
            case Id(IdKind.LOCAL | IdKind.INVOCATION):
                return self.number
            case Id():
                return 0
            case Load(buffer, index):
                at = yield from self.value(index)
                yield None
                cells = self.memory(buffer, at, "read")
                return cells[at] if at < len(cells) else 0
            case Atomic(_, buffer, index, value):
                at = yield from self.value(index)
                added = yield from self.value(value)
                yield None
                cells = self.memory(buffer, at, "atomic")
                cells[at], old = (cells[at] + added) % 2**32, cells[at]
                return old
            case Select(cond, true, false):
                test, yes = (yield from self.value(cond)), (yield from self.value(true))
                no = yield from self.value(false)
                return yes if test else no
            case Binary(op, left, right):
                a, b = (yield from self.value(left)), (yield from self.value(right))
                return OPERATORS[op](a, b)
        raise AssertionError(expr)

    def memory(self, buffer: str, at: int, kind: str) -> list[int]:
        if buffer == "tile":
            self.group.touch(self.number, at, kind)
        return [self.group.n] if buffer == "n" else getattr(self.group, buffer)


OPERATORS = {
    BinaryOp.ADD: lambda a, b: (a + b) % 2**32,
    BinaryOp.BIT_XOR: lambda a, b: a ^ b,
    BinaryOp.BIT_AND: lambda a, b: a & b,
    BinaryOp.LT: lambda a, b: a < b,
    BinaryOp.EQ: lambda a, b: a == b,
    BinaryOp.AND: lambda a, b: a and b,
    BinaryOp.OR: lambda a, b: a or b,
}


def run(made: Program, group: Workgroup, order: random.Random) -> None:
    """Run all lanes of a workgroup, the next one taken by chance at every step."""

    def whole(lane: Lane) -> Iterator[Barrier | None]:
        try:
            yield from lane.run(made.entry)
        except Left:
            return

    lanes = [whole(Lane(group, number)) for number in range(prod(made.workgroup_size))]
    waiting: dict[int, Barrier] = {}
    finished: set[int] = set()
    while len(finished) < len(lanes):
        free = [k for k in range(len(lanes)) if k not in waiting and k not in finished]
        if not free:
            if finished or len({id(node) for node in waiting.values()}) > 1:
                raise Diverged
            waiting.clear()
            group.touched.clear()
            continue
        lane = order.choice(free)
        try:
            stop = next(lanes[lane])
        except StopIteration:
            finished.add(lane)
        else:
            if stop is not None:
                waiting[lane] = stop


# -- programs to run


@dataclass
class Author:
    """Writes programs by chance, mostly of what lanes agree on, so that many of them are right."""

    chance: random.Random
    depth: int = 3
    in_loop: bool = False
    waits: bool = True
    counters: tuple[str, ...] = ()  # of the reductions around, whose rounds only compute

    def deeper(self, *, in_loop: bool) -> Author:
        return Author(self.chance, self.depth - 1, self.in_loop or in_loop, self.waits)

    def inside(self, counter: str) -> Author:
        counters = (*self.counters, counter)
        return Author(self.chance, self.depth - 1, counters=counters)

    def value(self, depth: int = 2) -> Expr:
        pick = self.chance.random()
        if depth == 0 or pick < 0.6:
            named = var(self.chance.choice((*NAMES, *self.counters)))
            shared = [u32(self.chance.randrange(3)), named]
            return self.chance.choice([*shared, *shared, load("n", u32(0)), local_id()])
        a, b = self.value(depth - 1), self.value(depth - 1)
        made = [a + b, a ^ b, load("x", a & 7), load("out", a & 7)]
        made += [load("tile", a & 3), load("tile", a & 3)]
        made += [] if self.counters else [atomic(AtomicOp.ADD, "tile", a & 3, b)]
        return self.chance.choice([*made, select(a < b, self.value(depth - 1), b)])

    def test(self) -> Expr:
        a, b = self.value(), self.value()
        return self.chance.choice([a < b, a.eq(b), Binary(BinaryOp.AND, a < b, b.eq(self.value()))])

    def plain(self) -> Node:
        made = [assign(self.chance.choice(NAMES), self.value())]
        made += [store("tile", place, self.value()) for place in (self.value() & 3, local_id())]
        made += [store("out", gid() & 7, self.value())]
        return self.chance.choice([*made, *[barrier()] * (2 * self.waits)])

    def reduction(self) -> Node:
        """A sum that lanes may see differently, and a name that has it."""
        counter, name = f"j{self.depth}", f"s{self.depth}"
        rounds, inner = self.value() & 3, self.inside(counter)
        body: list[Node] = [yield_(inner.value())]
        if self.chance.random() < 0.5:
            body = [if_(inner.test(), body, [yield_(inner.value())] * self.chance.randrange(2))]
        if self.depth > 1 and self.chance.random() < 0.3:
            body = [inner.reduced(), *body]
        made = reduce_(name, ReduceOp.SUM, U32, counter, rounds=rounds, body=body)
        return Block((made, assign(self.chance.choice(NAMES), var(name))))

    def reduced(self) -> Node:
        """A sum in a round of another."""
        counter = f"j{self.depth}"
        element = yield_(self.inside(counter).value())
        name, rounds = f"s{self.depth}", self.value() & 3
        return reduce_(name, ReduceOp.SUM, U32, counter, rounds=rounds, body=[element])

    def body(self) -> list[Node]:
        made: list[Node] = []
        for _ in range(self.chance.randrange(1, 5)):
            kinds = ["plain", "plain", "plain", "if", "loop", "while", "leave", "reduce"]
            kind = self.chance.choice(kinds)
            inner = self.deeper(in_loop=kind != "if")
            if kind == "plain" or self.depth == 0:
                made.append(self.plain())
            elif kind == "reduce":
                made.append(self.reduction())
            elif kind == "if":
                other = inner.body() if self.chance.random() < 0.5 else ()
                made.append(if_(self.test(), inner.body(), other))
            elif kind == "loop":
                stop = self.value() & 3
                made.append(loop(f"k{self.depth}", u32(0), stop, inner.body()))
            elif kind == "while":
                # At most three rounds, whatever the condition: the counter is a name of its own.
                rounds = f"r{self.depth}"
                test = Binary(BinaryOp.AND, var(rounds) < 3, self.test())
                body = [assign(rounds, var(rounds) + 1), *inner.body()]
                made.append(Block((let(rounds, u32(0)), while_(test, body))))
            else:
                ways = [break_(), continue_()] if self.in_loop else [return_()]
                made.append(if_(self.test(), [self.chance.choice(ways)]))
        return made


def programs(seed: int, count: int) -> Iterator[Program]:
    """Half of them wait here and there; half go by what they found, and wait at the end."""
    chance = random.Random(seed)
    for number in range(count):
        body = Author(chance, depth=chance.randrange(1, 4), waits=number % 2 == 0).body()
        if number % 2:
            body += [if_(var(chance.choice(NAMES)).eq(chance.randrange(3)), [barrier()])]
        made = program(body)
        if any(isinstance(node, Barrier) for node in statements(made.entry)):
            yield made


def accepted(seed: int, count: int) -> list[Program]:
    return [made for made in programs(seed, count) if not uniformity(made).divergences]


@pytest.mark.parametrize("seed", range(6))
def test_a_barrier_that_is_accepted_is_reached_by_all_lanes_in_any_order(seed):
    made, order = accepted(seed, 200), random.Random(seed)

    for one in made:
        for _ in range(6):
            data = Workgroup([order.randrange(4) for _ in range(8)], order.randrange(4))
            run(one, data, order)

    assert len(made) > 20, "too few of them are accepted to say anything"


@pytest.mark.parametrize("seed", range(6))
def test_lanes_that_are_said_to_meet_do_meet_where_they_come_by(seed):
    order, count = random.Random(seed), 0

    for one in accepted(seed + 100, 200):
        meeting = missing_barrier(one, uniformity(one).varying)
        if meeting is None:
            continue
        launches = [Workgroup([value] * 8, n) for n in range(4) for value in range(4)]
        for launch in launches:
            run(one, launch, order)
        if any(id(meeting.later.node) in launch.ran for launch in launches):
            count += 1
            assert any(launch.met for launch in launches), to_text(one)

    assert count > 5, "too few of them are said to meet to say anything"
