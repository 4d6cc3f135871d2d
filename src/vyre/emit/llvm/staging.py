"""Rows of a loop that a panel's rows all read, brought together once, in the order of use.

In a panel of columns every row of the tile walks the same loop over the same elements, one row of
an array after the other. In a large array those lie far apart: each costs a page and evicts the
next panel's. Copied side by side they are read from the second cache by all rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from vyre.analysis.forms import ONE, Linear
from vyre.analysis.reader import LOAD, Touch, read
from vyre.emit.lanes import Variation
from vyre.emit.llvm import memory
from vyre.emit.llvm.body import Body
from vyre.emit.llvm.builder import U64
from vyre.emit.llvm.context import Access
from vyre.emit.llvm.shapes import counting
from vyre.emit.llvm.values import Shape, StagedAt, Value
from vyre.ir.expr import Expr, Var
from vyre.ir.node import Assign, Block, Let, Loop, Node, Region
from vyre.ir.program import Program
from vyre.ir.walk import bodies, expressions, statements

SCRATCH_BYTES = 512 << 10
"""What a task keeps for its panels: a part of a core's second cache."""


@dataclass(frozen=True, slots=True)
class Staged:
    """A load in a loop that is the same for all rows of a panel."""

    access: Access
    loop: Loop
    names: tuple[Let, ...]  # what its index and the loop's ends are made of, in order

    @property
    def buffer(self) -> str:
        return self.access[0]

    @property
    def index(self) -> Expr:
        return self.access[2]


def staged_loads(program: Program, across: Variation, down: Variation) -> tuple[Staged, ...]:
    """Every load that can be staged, each once."""
    once = _given_once(program)
    lets = {
        node.name: node
        for node in _outermost(program.entry)
        if isinstance(node, Let) and node.name in once
    }
    loops = {
        node.var: node
        for node in statements(program.entry)
        if isinstance(node, Loop) and node.var in once
    }
    found: dict[Access, Staged | None] = {}
    for touch in read(program).touches:
        key = (touch.buffer, touch.statement, touch.index)
        loop = _loop_of(touch, loops)
        parts = loop is None or across.apart(loop) or down.apart(loop)
        names = None
        if loop is not None and not parts and not program.buffer(touch.buffer).is_written:
            names = _made_of((touch.index, loop.start, loop.stop), lets, loop.var)
        one = None if loop is None or names is None else Staged(key, loop, names)
        found[key] = one if found.get(key, one) == one else None
    return tuple(one for one in found.values() if one is not None)


def _given_once(program: Program) -> frozenset[str]:
    """The names that one statement alone binds: two loops may count by the same one."""
    names: Counter[str] = Counter()
    for node in statements(program.entry):
        match node:
            case Let(name) | Assign(name) | Loop(name):
                names[name] += 1
            case _:
                pass
    return frozenset(name for name, times in names.items() if times == 1)


def _outermost(nodes: tuple[Node, ...]) -> Iterator[Node]:
    """Statements that every invocation comes by, once."""
    for node in nodes:
        yield node
        if isinstance(node, (Block, Region)):
            yield from _outermost(bodies(node)[0])


def _loop_of(touch: Touch, loops: dict[str, Loop]) -> Loop | None:
    """The loop whose counter alone moves an index from row to row of an array."""
    *outer, last = touch.indices
    if touch.kind != LOAD or not outer or not isinstance(last, Linear):
        return None
    if last.gids() != {0: ONE} or last.counters():
        return None
    counters = set()
    for form in outer:
        if not isinstance(form, Linear) or form.gids():
            return None
        counters |= {counter.name for counter in form.counters()}
    return loops.get(next(iter(counters))) if len(counters) == 1 else None


def _made_of(exprs: tuple[Expr, ...], lets: dict[str, Let], var: str) -> tuple[Let, ...] | None:
    """The names that expressions need beside `var`, where they can be computed beforehand.

    The expressions are linear in numbers of the launch, so that nothing but a name can change.
    """
    found: dict[str, Let] = {}

    def add(expr: Expr) -> bool:
        for part in expressions(expr):
            if not isinstance(part, Var) or part.name == var or part.name in found:
                continue
            if part.name not in lets or not add(lets[part.name].value):
                return False
            found[part.name] = lets[part.name]
        return True

    return tuple(found.values()) if all(map(add, exprs)) else None


def bring_together(body: Body, one: Staged, panel: str, room: int, worth: str) -> StagedAt:
    """Copy what a panel's rows load in each round to `panel`, if it has room and it is worth it.

    Else each round loads where the array has it, by the same code: only the stride differs.
    """
    b, do = body.b, body.do
    for let in one.names:
        body.give(let.name, body.expr(let.value))
    loop, held = one.loop, body.context.buffers[one.buffer]
    start, stop = body.expr(loop.start), body.expr(loop.stop)
    less = do.compare("slt" if start.dtype.is_signed else "ult", start, stop).registers[0]
    rounds = do.whole(do.plain("sub", stop, start), U64).registers[0]
    size = memory.row_bytes(do, held)

    def row(counter: Value) -> str:
        body.names[loop.var] = counter
        body.statement = one.access[1]
        return memory.address(do, held, body.place(one.buffer, one.index).index).registers[0]

    first = row(start)
    second = row(do.plain("add", start, do.number(start.dtype, 1)))
    numbers = [b.op(f"ptrtoint ptr {at} to i64") for at in (first, second)]
    apart = b.op(f"sub i64 {numbers[1]}, {numbers[0]}")
    fits = b.op(f"icmp ule i64 {rounds}, {room // size}")
    there = b.op(f"and i1 {b.op(f'and i1 {less}, {fits}')}, {worth}")
    copied = b.op(f"select i1 {there}, i64 {rounds}, i64 0")

    def copy(number: str) -> None:
        counted = do.whole(Value(U64, Shape.UNIFORM, (number,)), start.dtype)
        source = row(do.plain("add", start, counted))
        skip = b.op(f"mul i64 {number}, {size}")
        memory.copy_row(do, held, source, b.op(f"getelementptr i8, ptr {panel}, i64 {skip}"))

    counting(b, "0", copied, 1, copy, kind="i64")
    base = b.op(f"select i1 {there}, ptr {panel}, ptr {first}")
    stride = b.op(f"select i1 {there}, i64 {size}, i64 {apart}")
    return StagedAt(loop.var, start, base, stride)
