"""The items of one invocation side by side: each statement for all of them, then the next.

Independent chains of arithmetic then overlap, loads are issued together, and stores come after.
What differs along one axis alone is computed once for all items along the others. Where their ways
part (a branch, a loop of different length), the items run one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import takewhile

from vyre.emit.items import Items
from vyre.emit.lanes import differences
from vyre.emit.loads import Loads
from vyre.emit.operations import bare
from vyre.emit.staged import Staged
from vyre.emit.writer import Writer
from vyre.ir.declare import BufferDecl
from vyre.ir.expr import Expr, Load
from vyre.ir.node import Assign, Block, If, Let, Loop, Node, Region, Store, While
from vyre.ir.types import DataType
from vyre.ir.walk import bodies, expressions

Scope = dict[str, DataType]


class Jam:
    """Writes a program for all items of an invocation, at the positions that the writer has."""

    def __init__(self, writer: Writer, items: Items, staged: Staged | None = None) -> None:
        self.writer, self.items, self.staged = writer, items, staged
        several = len(items) > 1 and staged is None
        self.differ = differences(writer.terms.program, items.axes if several else (0, 1, 2))
        writer.items, writer.differ = items, self.differ
        self.loads = Loads(writer, staged)
        self.now = range(len(items))  # the items at hand: all of them, or those of a line
        self.coming: list[Node] = []  # what follows the statement at hand, as far as that is sure

    def body(self, nodes: tuple[Node, ...], outer: Scope, level: int) -> Iterator[str]:
        """All statements of a list; the names bound in it end with it."""
        scope, known = dict(outer), dict(self.loads.known)
        every = self.now
        by_line = self.is_line_by_line(nodes)
        first = 0
        if by_line:
            # What needs nothing of memory comes first, then all that is read, at once.
            first = len(list(takewhile(_reads_nothing, nodes)))
            for node in nodes[:first]:
                self.writer.enter(node)
                yield from self.one(node, scope, level)
            if nodes[first:]:
                self.writer.enter(nodes[first])
                coming = nodes[first + 1 :]
                yield from self.loads.fetch(nodes[first], coming, every, scope, "    " * level)
        for line in self.items.lines() if by_line else (every,):
            self.now = line
            for number, node in enumerate(nodes):
                if number < first:
                    continue
                self.writer.enter(node)
                self.writer.fetched.clear()
                self.coming = list(takewhile(self.is_simple, nodes[number + 1 :]))
                if bodies(node):
                    self.loads.forget(node)  # a round may read what the one before has written
                yield from self.one(node, scope, level)
                self.loads.forget(node)
        self.now = every
        self.loads.known = known
        self.writer.item = None

    def is_line_by_line(self, nodes: tuple[Node, ...]) -> bool:
        """Whether a whole line may go through `nodes` before the next: few registers wait then.

        A name that lines share must be given once, before any of them.
        """
        several = self.items.counts[1] * self.items.counts[2] > 1
        whole = len(self.now) == len(self.items)
        if not several or not whole or not all(map(self.is_simple, nodes)):
            return False
        lines = {axis for axis in self.items.axes if axis > 0}
        given = (node.name for node in nodes if isinstance(node, Assign))
        return all(lines <= self.differ.axes_of.get(name, frozenset()) for name in given)

    def at_hand(self, axes: Iterable[int]) -> Iterable[int]:
        """Of the items at hand, one of each kind that differs along `axes`."""
        return (item for item in self.items.along(axes) if item in self.now)

    def is_simple(self, node: Node) -> bool:
        """Whether all items run it side by side, come what may."""
        return isinstance(node, (Let, Assign, Store)) and not self.differ.apart(node)

    def braced(self, head: str, nodes: tuple[Node, ...], scope: Scope, level: int) -> Iterator[str]:
        pad = "    " * level
        yield f"{pad}{head} {{" if head else f"{pad}{{"
        yield from self.body(nodes, scope, level + 1)
        yield f"{pad}}}"

    def one(self, node: Node, scope: Scope, level: int) -> Iterator[str]:
        writer, pad = self.writer, "    " * level
        if self.differ.apart(node):
            yield from self.in_turn(node, scope, level)
            return
        match node:
            case Let(name) | Assign(name):
                axes = self.differ.axes_of.get(name)
                items = list(self.at_hand(axes or ()))
                if axes and items:
                    yield from self.loads.fetch(node, self.coming, self.now, scope, pad)
                    for item in items:
                        writer.item = item
                        yield from writer.one(node, scope, level)
                    writer.item = None
                elif items:
                    yield from writer.one(node, scope, level)
            case Store(buffer, index, value):
                yield from self.store(
                    writer.terms.buffers[buffer], index, value, node, scope, level
                )
            case If(cond, then, otherwise):
                text, _ = writer.expr(cond, scope)
                lines = list(self.braced(f"if ({bare(text)})", then, scope, level))
                if otherwise:
                    lines[-1] = f"{pad}}} else {{"
                    lines += list(self.braced("", otherwise, scope, level))[1:]
                yield from lines
            case Loop(var) if self.staged is not None and self.staged.of_loop(var):
                yield from self.in_chunks(self.staged, node, scope, level)
            case Loop(var, start, stop, body):
                head, dtype = writer.loop_head(var, start, stop, scope)
                yield from writer.unrolled(pad)
                yield from self.braced(head, body, {**scope, var: dtype}, level)
            case While(cond, body):
                text, _ = writer.expr(cond, scope)
                yield from self.braced(f"while ({bare(text)})", body, scope, level)
            case Block(body) | Region(_, body):
                if writer.terms.program.entry == (node,):
                    yield from self.body(body, scope, level)
                else:
                    yield from self.braced("", body, scope, level)
            case _:
                yield from writer.one(node, scope, level)

    def in_chunks(self, staged: Staged, loop: Loop, scope: Scope, level: int) -> Iterator[str]:
        """A loop whose rounds read what the workgroup has brought."""
        start, dtype = self.writer.expr(loop.start, scope)
        stop, _ = self.writer.expr(loop.stop, scope)
        body = list(self.body(loop.body, {**scope, loop.var: dtype}, level + 5))
        yield from staged.chunks(loop.var, dtype, start, stop, body, level)

    def in_turn(self, node: Node, scope: Scope, level: int) -> Iterator[str]:
        """One statement, item after item."""
        for item in self.now:
            self.writer.item = item
            self.writer.enter(node)
            yield from self.writer.one(node, scope, level)
        self.writer.item = None

    def store(
        self, decl: BufferDecl, index: Expr, value: Expr, node: Node, scope: Scope, level: int
    ) -> Iterator[str]:
        """All values first, then all stores, so that no store stands between two loads."""
        writer, pad = self.writer, "    " * level
        yield from self.loads.fetch(node, self.coming, self.now, scope, pad)
        yield f"{pad}{{"
        inner = pad + "    "
        names = {item: f"value_{item}" for item in self.now}
        for item, name in names.items():
            writer.item = item
            text, _ = writer.expr(value, scope)
            stored = bare(writer.operations.to_storage(decl, text))
            yield f"{inner}const {writer.terms.stored(decl)} {name} = {stored};"
        width = writer.terms.code.vector
        one_by_one: list[str] = []
        if width == 1 or writer.beyond or not writer.is_whole_row(decl, index):
            for item, name in names.items():
                writer.item = item
                one_by_one += writer.put(decl, index, name, scope, inner)
        if width == 1 or not writer.is_whole_row(decl, index):
            yield from one_by_one
        elif writer.beyond:
            yield f"{inner}if (whole) {{"
            yield from self.vectors(decl, index, names, scope, inner + "    ")
            if not writer.terms.code.fitted:
                yield f"{inner}}} else {{"
                yield from ("    " + line for line in one_by_one)
            yield f"{inner}}}"
        else:
            yield from self.vectors(decl, index, names, scope, inner)
        writer.item = None
        yield f"{pad}}}"

    def vectors(
        self, decl: BufferDecl, index: Expr, names: dict[int, str], scope: Scope, pad: str
    ) -> Iterator[str]:
        """The lines that store neighbours at once."""
        writer, width = self.writer, self.writer.terms.code.vector
        for first in self.now[::width]:
            writer.item = first
            _, at = writer.place(decl, index, scope)
            yield pad + writer.terms.dialect.store_vector(
                writer.terms.stored_type(decl),
                f"{writer.terms.pointers[decl.name]} + ({bare(at)})",
                [names[item] for item in range(first, first + width)],
            )


def _reads_nothing(node: Node) -> bool:
    return isinstance(node, Let) and not any(isinstance(e, Load) for e in expressions(node))
