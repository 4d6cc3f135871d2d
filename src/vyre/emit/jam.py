"""The items of one invocation side by side: each statement for all of them, then the next.

Independent chains of arithmetic then overlap, loads are issued together, and stores come after.
Where their ways part (a branch, a loop of different length), the items run one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator

from vyre.emit.lanes import variation
from vyre.emit.names import Kind
from vyre.emit.writer import Writer, bare
from vyre.ir.declare import BufferDecl
from vyre.ir.expr import Expr, Load
from vyre.ir.node import Assign, Block, If, Let, Loop, Node, Region, Store, While
from vyre.ir.types import DataType
from vyre.ir.walk import expressions, operands

Scope = dict[str, DataType]


class Jam:
    """Writes a program for items at the given positions."""

    def __init__(self, writer: Writer, positions: tuple[str, ...]) -> None:
        self.writer = writer
        self.items = range(len(positions))
        self.variation = variation(writer.program)
        writer.positions = positions
        writer.varying = self.variation.names

    def body(self, nodes: tuple[Node, ...], outer: Scope, level: int) -> Iterator[str]:
        """All statements of a list; the names bound in it end with it."""
        scope = dict(outer)
        for node in nodes:
            self.writer.enter(node)
            self.writer.fetched.clear()
            yield from self.one(node, scope, level)
        self.writer.item = None

    def braced(self, head: str, nodes: tuple[Node, ...], scope: Scope, level: int) -> Iterator[str]:
        pad = "    " * level
        yield f"{pad}{head} {{" if head else f"{pad}{{"
        yield from self.body(nodes, scope, level + 1)
        yield f"{pad}}}"

    def one(self, node: Node, scope: Scope, level: int) -> Iterator[str]:
        writer, pad = self.writer, "    " * level
        if self.variation.apart(node):
            yield from self.in_turn(node, scope, level)
            return
        match node:
            case Let(name) | Assign(name):
                if name in self.variation.names:
                    yield from self.fetch(node, scope, pad)
                    yield from self.in_turn(node, scope, level)
                else:
                    writer.item = None
                    yield from writer.one(node, scope, level)
            case Store(buffer, index, value):
                yield from self.store(writer.buffers[buffer], index, value, node, scope, level)
            case If(cond, then, otherwise):
                writer.item = None
                text, _ = writer.expr(cond, scope)
                lines = list(self.braced(f"if ({bare(text)})", then, scope, level))
                if otherwise:
                    lines[-1] = f"{pad}}} else {{"
                    lines += list(self.braced("", otherwise, scope, level))[1:]
                yield from lines
            case Loop(var, start, stop, body):
                writer.item = None
                head, dtype = writer.loop_head(var, start, stop, scope)
                yield from writer.unrolled(pad)
                yield from self.braced(head, body, {**scope, var: dtype}, level)
            case While(cond, body):
                writer.item = None
                text, _ = writer.expr(cond, scope)
                yield from self.braced(f"while ({bare(text)})", body, scope, level)
            case Block(body) | Region(_, body):
                if writer.program.entry == (node,):
                    yield from self.body(body, scope, level)
                else:
                    yield from self.braced("", body, scope, level)
            case _:
                writer.item = None
                yield from writer.one(node, scope, level)

    def in_turn(self, node: Node, scope: Scope, level: int) -> Iterator[str]:
        """One statement, item after item."""
        for item in self.items:
            self.writer.item = item
            self.writer.enter(node)
            yield from self.writer.one(node, scope, level)
        self.writer.item = None

    def store(
        self, decl: BufferDecl, index: Expr, value: Expr, node: Node, scope: Scope, level: int
    ) -> Iterator[str]:
        """All values first, then all stores, so that no store stands between two loads."""
        writer, pad = self.writer, "    " * level
        yield f"{pad}{{"
        inner = pad + "    "
        yield from self.fetch(node, scope, inner)
        names = [f"value_{item}" for item in self.items]
        for item in self.items:
            writer.item = item
            text, _ = writer.expr(value, scope)
            stored = bare(writer.to_storage(decl, text))
            yield f"{inner}const {writer.stored(decl)} {names[item]} = {stored};"
        width = writer.code.vector
        if width > 1 and self.is_row(decl, index):
            for first in range(0, len(names), width):
                writer.item = first
                at = writer.position(decl, index, scope)
                yield inner + writer.dialect.store_vector(
                    writer.stored_type(decl),
                    f"{writer.pointers[decl.name]} + {at}",
                    names[first : first + width],
                )
        else:
            for item in self.items:
                writer.item = item
                yield from writer.put(decl, index, names[item], scope, inner)
        writer.item = None
        yield f"{pad}}}"

    def fetch(self, node: Node, scope: Scope, pad: str) -> Iterator[str]:
        """Loads whole vectors where the items of a statement read neighbouring elements."""
        writer, width = self.writer, self.writer.code.vector
        if width == 1:
            return
        for operand in operands(node):
            for part in expressions(operand):
                if not isinstance(part, Load) or (part.buffer, part.index) in writer.fetched:
                    continue
                decl = writer.buffers[part.buffer]
                if not self.is_row(decl, part.index):
                    continue
                parts: list[str] = []
                for first in self.items[::width]:
                    writer.item = first
                    at = writer.position(decl, part.index, scope)
                    name = writer.names.fresh(Kind.ROW, part.buffer, first // width)
                    dtype = writer.stored_type(decl)
                    source = f"{writer.pointers[decl.name]} + {at}"
                    yield pad + writer.dialect.load_vector(dtype, width, name, source)
                    parts += [
                        f"{name}.{component}" for component in writer.dialect.components[:width]
                    ]
                writer.item = None
                writer.fetched[part.buffer, part.index] = tuple(parts)

    def is_row(self, decl: BufferDecl, index: Expr) -> bool:
        """Whether neighbouring items are neighbours in memory, proved to be inside."""
        writer = self.writer
        return writer.is_free(decl, index) and writer.is_contiguous(decl, index)
