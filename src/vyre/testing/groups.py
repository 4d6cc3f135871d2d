"""Programs whose lanes work together: barriers, workgroup memory, all free of races.

They grow as those of `vyre.testing.programs` do, in phases: lanes fill workgroup memory, each its
own element, wait, read what others wrote, and wait again. Around that stand loops, branches, breaks
and returns that a whole workgroup takes together; behind the last barrier each lane goes its way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod
from random import Random

from vyre.ir.build import (
    assign,
    atomic,
    barrier,
    block,
    break_,
    cast,
    continue_,
    extent,
    gid,
    i32,
    if_,
    let,
    lit,
    load,
    local_id,
    loop,
    return_,
    select,
    store,
    u32,
    var,
    while_,
    workgroup_id,
    workgroup_size,
)
from vyre.ir.declare import Access, BufferDecl, Dim3
from vyre.ir.expr import AtomicOp, Binary, BinaryOp, Expr
from vyre.ir.node import Node
from vyre.ir.program import Program
from vyre.ir.types import DataType
from vyre.testing.names import hostile_names, renamed, variables_of
from vyre.testing.programs import COMPUTED, U32, Case, _Generator

SHAPES: tuple[Dim3, ...] = (
    *((7, 1, 1), (16, 16, 1), (64, 2, 1), (5, 3, 2), (1, 1, 1), (32, 1, 1), (128, 1, 1)),
    *((8, 8, 1), (3, 5, 1), (1, 9, 2), (4, 4, 4), (24, 2, 1), (100, 1, 1)),
)
_MET = (AtomicOp.ADD, AtomicOp.OR, AtomicOp.AND, AtomicOp.XOR, AtomicOp.MIN, AtomicOp.MAX)
_FOLDS = (BinaryOp.ADD, BinaryOp.MAX, BinaryOp.MIN, BinaryOp.MUL)
_ME, _LANE = var("me"), var("lane")  # bound by every program


def generate_group(rng: Random, size: int = 24) -> Case:
    """One such case under names that others use too; the same state gives the same case."""
    case = _Group(rng, size).case()
    program, names = case.program, Random(rng.getrandbits(32))
    variables = hostile_names(names, variables_of(program))
    buffers = hostile_names(names, (decl.name for decl in program.buffers))
    return replace(
        case,
        program=renamed(program, variables, buffers),
        arrays={buffers[name]: values for name, values in case.arrays.items()},
    )


class _Group(_Generator):
    """Grows one program; `self.left` is what may still be added."""

    def __init__(self, rng: Random, size: int) -> None:
        super().__init__(rng, size)
        self.tiles: list[BufferDecl] = []
        self.seen: list[BufferDecl] = []  # workgroup memory that may be read now
        self.shared: list[str] = []  # names of u32 that are one for a workgroup
        self.counter: BufferDecl | None = None
        self.lanes = 1
        self.depth = 0
        self.returns = 0.0  # a lane that has returned misses every barrier

    def case(self) -> Case:
        rng = self.rng
        shape = rng.choice(SHAPES)
        self.lanes = prod(shape)
        groups = (rng.randint(1, 3), *(rng.choice((1, 1, 2)) if n > 1 else 1 for n in shape[1:]))
        x, y, z = (
            max(1, n * size - rng.choice((0, 0, rng.randrange(size))))
            for n, size in zip(groups, shape, strict=True)
        )
        self.declare(prod(groups) * self.lanes, (x, y, z), 1)
        for number in range(rng.randint(1, 2)):
            count = max(1, self.lanes + rng.choice((0, 0, 0, 3, -1)))
            self.tiles.append(BufferDecl.workgroup(f"tile{number}", count, rng.choice(COMPUTED)))
        if rng.random() < 0.4:
            dtype = rng.choice((U32, DataType.I32))
            self.counter = BufferDecl.workgroup("counter", rng.choice((1, 5)), dtype)
        body = [*self.head(), *self.steps()]
        self.returns = 0.1
        body += self.after()
        shared = [*self.tiles, *([self.counter] if self.counter else [])]
        program = Program.wrapped([*self.buffers, *shared], shape, body)
        return Case(program=program, arrays=self.arrays, extent=(x, y, z))

    def head(self) -> list[Node]:
        """The lane's number in its workgroup, and one that no other lane of the launch has."""
        wide, high = workgroup_size(0), workgroup_size(1)
        lane = (local_id(2) * high + local_id(1)) * wide + local_id(0)
        across, down = ((extent(n) + workgroup_size(n) - 1) // workgroup_size(n) for n in (0, 1))
        group = (workgroup_id(2) * down + workgroup_id(1)) * across + workgroup_id(0)
        self.names[0] |= {"lane": U32, "group": U32, "me": U32}
        self.fixed |= {"lane", "group", "me"}
        self.shared.append("group")
        return [let("lane", lane), let("group", group), let("me", var("group") * self.lanes + lane)]

    # -- lists that all lanes take together

    def steps(self) -> list[Node]:
        found: list[Node] = []
        for _ in range(self.rng.randint(1, 3)):
            found += self.some_step()
        return found

    def some_step(self) -> list[Node]:
        choices: list[Callable[[], list[Node]]] = [self.exchange] * 3 + [self.fold, self.scan]
        choices += [self.named_for_all, self.alone]
        if self.counter is not None:
            choices += [self.count] * 2
        if self.depth < 2:
            choices += [self.rounds, self.turns, self.fork, self.inner]
        return self.rng.choice(choices)()

    def alone(self) -> list[Node]:
        """Statements of each lane on its own."""
        return [self.statement() for _ in range(self.rng.randint(1, 2))]

    def exchange(self) -> list[Node]:
        """Fill a tile, wait, read what others put there, wait."""
        tile = self.rng.choice(self.tiles)
        found = self.alone() if self.rng.random() < 0.3 else []
        found += [self.fill(tile), barrier()]
        self.seen.append(tile)
        found += self.alone()
        if self.rng.random() < 0.3:
            found += self.named_for_all()
        self.seen.remove(tile)
        return [*found, barrier()]

    def fill(self, tile: BufferDecl) -> Node:
        """Each lane's own element, in some order; what is outside is nowhere."""
        count = u32(self.lanes)
        at = self.rng.choice((_LANE, count - 1 - _LANE, (_LANE + 3) % count, _LANE))
        return store(tile.name, at, self.expr(tile.element, 2))

    def fold(self) -> list[Node]:
        """A tree: half of the lanes take what the other half has, until one is left."""
        tile = self.rng.choice(self.tiles)
        if tile.element.is_bool:
            return self.exchange()
        op, far = self.rng.choice(_FOLDS), self.new_name(None, "far")
        self.fixed.add(far)
        half = 1 << (self.lanes - 1).bit_length() >> 1
        mine, other = load(tile.name, _LANE), load(tile.name, _LANE + var(far))
        body = [
            if_(var(far) > _LANE, [store(tile.name, _LANE, Binary(op, mine, other))]),
            barrier(),
            assign(far, var(far) >> u32(1)),
        ]
        found = [store(tile.name, _LANE, self.expr(tile.element, 2)), barrier()]
        found += [let(far, u32(half)), while_(var(far) > 0, body)]
        self.seen.append(tile)
        found += self.alone()
        self.seen.remove(tile)
        return [*found, barrier()]

    def scan(self) -> list[Node]:
        """Running sums: what a lane reads it keeps over a barrier, then adds."""
        tile = self.rng.choice(self.tiles)
        if tile.element.is_bool:
            return self.exchange()
        far, got = self.new_name(None, "far"), self.new_name(None, "got")
        self.fixed |= {far, got}
        before = load(tile.name, _LANE - var(far))
        zero = lit(tile.element, 0)
        body = [
            let(got, select(var(far) > _LANE, zero, before)),
            barrier(),
            store(tile.name, _LANE, load(tile.name, _LANE) + var(got)),
            barrier(),
            assign(far, var(far) * 2),
        ]
        found = [store(tile.name, _LANE, self.expr(tile.element, 2)), barrier()]
        found += [let(far, u32(1)), while_(var(far) < self.lanes, body)]
        self.seen.append(tile)
        found += self.alone()
        self.seen.remove(tile)
        return [*found, barrier()]

    def count(self) -> list[Node]:
        """Lanes meet at a few elements by one operation whose order does not matter."""
        counter = self.counter
        assert counter is not None
        op = self.rng.choice(_MET)
        found: list[Node] = []
        for _ in range(self.rng.randint(1, 2)):
            at = self.rng.choice((_LANE % 6, u32(0), _ME % 3))
            change = atomic(op, counter.name, at, self.expr(counter.element, 2))
            node: Node = let(self.new_name(None, "old"), change)
            if self.rng.random() < 0.5:
                node = if_(self.expr(DataType.BOOL, 1), [node])
            found.append(node)
        self.seen.append(counter)
        found = [barrier(), *found, barrier(), *self.alone()]
        self.seen.remove(counter)
        return [*found, barrier()]

    def named_for_all(self) -> list[Node]:
        """A name with one value for the workgroup, sometimes from what lanes wrote."""
        name = self.new_name(None, "all")
        self.fixed.add(name)
        found = [let(name, self.for_all())]
        if self.rng.random() < 0.4:
            found.append(block([assign(name, var(name) + self.for_all())]))
        if self.rng.random() < 0.4:
            found.append(if_(self.test_for_all(), [assign(name, var(name) * 3)]))
        if self.rng.random() < 0.3:
            found.append(assign(name, self.for_all()))
        self.names[-1][name] = U32
        self.shared.append(name)
        return found

    def for_all(self) -> Expr:
        """A u32 that the lanes of a workgroup agree on."""
        known = [name for name in self.shared if any(name in scope for scope in self.names)]
        options = [u32(self.rng.randint(0, 5)), workgroup_id(0), extent(0) % 7, workgroup_size(1)]
        options += [var(name) for name in known] * 2
        options += [
            load(tile.name, u32(self.rng.randrange(self.lanes)))
            for tile in self.seen
            if tile.element == U32
        ] * 3
        options += [
            cast(U32, load(decl.name, 0))
            for decl in self.inputs
            if decl.access is Access.UNIFORM and decl.element.is_int
        ]
        first, second = self.rng.choice(options), self.rng.choice(options)
        op = self.rng.choice((BinaryOp.ADD, BinaryOp.MUL, BinaryOp.BIT_XOR))
        return first if self.rng.random() < 0.6 else Binary(op, first, second)

    def test_for_all(self) -> Expr:
        few = self.for_all() % self.rng.randint(2, 3)
        return few.eq(0) if self.rng.random() < 0.5 else few > 0

    def under(self, make: Callable[[], list[Node]]) -> list[Node]:
        """Statements whose names end with them."""
        self.names.append({})
        self.depth += 1
        found = make()
        self.depth -= 1
        self.names.pop()
        return found

    def rounds(self) -> list[Node]:
        """A loop that all lanes leave together, by its end, a break or a continue."""
        name = self.new_name(None, "turn")
        self.fixed.add(name)
        self.names.append({name: U32})
        self.shared.append(name)
        body = self.under(self.leaving)
        self.names.pop()
        return [loop(name, 0, self.for_all() % 4, body)]

    def leaving(self) -> list[Node]:
        found = self.steps()
        for _ in range(self.rng.randint(0, 2)):
            leave = self.rng.choice((break_(), continue_(), return_()))
            before = self.under(self.alone) if self.rng.random() < 0.3 else []
            found.append(if_(self.test_for_all(), [*before, leave]))
            found += self.some_step()
        return found

    def turns(self) -> list[Node]:
        """The same with a count of its own, which is changed as all agree to."""
        name = self.new_name(None, "count")
        self.fixed.add(name)
        self.names.append({name: U32})
        self.shared.append(name)
        more = assign(name, var(name) + 1)
        if self.rng.random() < 0.6:
            more = if_(self.test_for_all(), [assign(name, var(name) + 2)], [more])
        steps = self.under(self.leaving if self.rng.random() < 0.5 else self.steps)
        ends = while_(var(name) < self.rng.randint(1, 4), [block([more]), *steps])
        self.names.pop()
        return [block([let(name, u32(0)), ends])]

    def fork(self) -> list[Node]:
        """A branch that a workgroup takes as one."""
        test = self.test_for_all()
        then = self.under(self.steps)
        otherwise = self.under(self.steps) if self.rng.random() < 0.5 else []
        if self.rng.random() < 0.2:
            then.append(return_())
        return [if_(test, then, otherwise)]

    def inner(self) -> list[Node]:
        return [block(self.under(self.steps))]

    # -- behind the last barrier

    def after(self) -> list[Node]:
        """Some lanes return, the others store what they have."""
        found: list[Node] = []
        if self.rng.random() < 0.5:
            found.append(if_(self.expr(DataType.BOOL, 2), [return_()]))
        found += self.alone()
        beyond = gid(0) >= extent(0)
        if self.rng.random() < 0.3:
            found.append(if_(beyond, [return_()]))
        self.left = max(self.left, 4)
        return [*found, *self.final_stores()]

    def final_stores(self) -> list[Node]:
        return [store(d.name, _ME, self.expr(d.element.computed, 2)) for d in self.own]

    # -- expressions

    def leaf(self, dtype: DataType) -> Expr:
        """Also what lanes have put into workgroup memory, where that may be read."""
        known = [tile for tile in self.seen if tile.element == dtype]
        if not known or self.rng.random() < 0.3:
            return super().leaf(dtype)
        count = u32(self.lanes)
        options = (
            *(_LANE + 1, _LANE - 1, count - 1 - _LANE, (_LANE + 5) % count, _LANE ^ u32(1)),
            *(u32(0), local_id(0), cast(DataType.I32, _LANE) - i32(2), self.expr(U32, 1)),
        )
        return load(self.rng.choice(known).name, self.rng.choice(options))
