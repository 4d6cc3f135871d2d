"""The items of one invocation side by side: each statement for all of them, then the next.

Independent chains of arithmetic then overlap, loads are issued together, and stores come after.
What differs along one axis alone is computed once for all items along the others. Where their ways
part (a branch, a loop of different length), the items run one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

from vyre.emit.chunks import ROUNDS_INSIDE, Rounds
from vyre.emit.here import Here
from vyre.emit.lanes import MOST_NAMES, differences
from vyre.emit.loads import Loads
from vyre.emit.operations import bare
from vyre.emit.shelves import Shelves
from vyre.emit.writer import Writer
from vyre.ir.declare import BufferDecl
from vyre.ir.expr import Expr, Load
from vyre.ir.node import Assign, Block, If, Let, Loop, Node, Region, Store, While
from vyre.ir.walk import bodies, expressions


class Jam:
    """Writes statements for all items of an invocation."""

    def __init__(self, writer: Writer, shelves: Shelves | None = None) -> None:
        self.writer, self.terms, self.shelves = writer, writer.terms, shelves
        self.expressions, self.accesses = writer.expressions, writer.accesses
        self.loads = Loads(writer.expressions, shelves)

    def lines(self, here: Here) -> Iterator[str]:
        """The whole program, at the positions that items have `here`."""
        program, items = self.terms.program, here.items
        several = len(items) > 1 and self.shelves is None
        most = MOST_NAMES if several else None
        differ = differences(program, items.axes if several else (0, 1, 2), most)
        every = range(len(items))
        yield from self.body(program.entry, replace(here, differ=differ, now=every))

    def body(self, nodes: tuple[Node, ...], outer: Here) -> Iterator[str]:
        """All statements of a list; what is bound in it ends with it."""
        here = outer.inner()
        by_line = _is_line_by_line(nodes, here)
        first = 0
        if by_line:
            # What needs nothing of memory comes first, then all that is read, at once.
            first = len(list(takewhile(_reads_nothing, nodes)))
            for node in nodes[:first]:
                yield from self.one(node, (), self.accesses.at(node, here))
            if nodes[first:]:
                node, *coming = nodes[first:]
                yield from self.loads.before(node, coming, self.accesses.at(node, here))
        for line in here.items.lines() if by_line else (here.now,):
            for number, node in enumerate(nodes[first:], first + 1):
                coming = list(takewhile(lambda other: _is_simple(other, here), nodes[number:]))
                if bodies(node):
                    self.loads.forget(node, here)  # a round may read what one before has written
                yield from self.one(node, coming, self.accesses.at(node, replace(here, now=line)))
                self.loads.forget(node, here)

    def braced(self, head: str, nodes: tuple[Node, ...], here: Here) -> Iterator[str]:
        yield f"{here.pad}{head} {{" if head else f"{here.pad}{{"
        yield from self.body(nodes, here.deeper())
        yield f"{here.pad}}}"

    def one(self, node: Node, coming: Sequence[Node], here: Here) -> Iterator[str]:
        """The statement at hand; those `coming` follow it, as far as that is sure."""
        writer, expr, pad = self.writer, self.expressions.expr, here.pad
        if here.differ.apart(node):
            yield from self.in_turn(node, here)
            return
        match node:
            case Let(name) | Assign(name):
                axes = here.differ.axes_of.get(name)
                items = [item for item in here.items.along(axes or ()) if item in here.now]
                if axes and items:
                    here = yield from self.loads.before(node, coming, here)
                    for item in items:
                        yield from writer.one(node, here.of(item))
                elif items:
                    yield from writer.one(node, here)
            case Store():
                here = yield from self.loads.before(node, coming, here)
                yield from self.store(node, here)
            case If(cond, then, otherwise):
                text, _ = expr(cond, here)
                lines = list(self.braced(f"if ({bare(text)})", then, here))
                if otherwise:
                    lines[-1] = f"{pad}}} else {{"
                    lines += list(self.braced("", otherwise, here))[1:]
                yield from lines
            case Loop(var) if self.shelves is not None and self.shelves.of_loop(var):
                yield from self.in_chunks(self.shelves, node, here)
            case Loop(var, start, stop, body):
                head, dtype = writer.loop_head(var, start, stop, here)
                lines = list(writer.unrolled(node, here))
                yield from lines
                inside = here.counting(node, dtype, rolled=not lines)
                yield from self.braced(head, body, inside)
            case While(cond):
                text, _ = expr(cond, here)
                inside = here.turning(node)
                yield from self.braced(f"while ({bare(text)})", writer.turn(node), inside)
            case Block(body) | Region(_, body):
                if self.terms.program.entry == (node,):
                    yield from self.body(body, here)
                else:
                    yield from self.braced("", body, here)
            case _:
                yield from writer.one(node, here)

    def in_chunks(self, shelves: Shelves, loop: Loop, here: Here) -> Iterator[str]:
        """A loop whose rounds read what the workgroup has brought."""
        start, dtype = self.expressions.expr(loop.start, here)
        stop, _ = self.expressions.expr(loop.stop, here)
        inside = here.counting(loop, dtype, rolled=True).deeper(ROUNDS_INSIDE)
        body = list(self.body(loop.body, inside))
        yield from shelves.loop(Rounds(loop.var, dtype, start, stop, body), here)

    def in_turn(self, node: Node, here: Here) -> Iterator[str]:
        """One statement, item after item.

        Those beyond the extent leave it out: what it loops for is a number of their position, and
        `n - i` of one beyond `n` is four thousand million.
        """
        for item in here.now:
            own = here.of(item)
            if not here.beyond:
                yield from self.writer.one(node, own)
                continue
            yield f"{here.pad}if ({' && '.join(self.writer.inside(own))}) {{"
            inside = replace(own, beyond=False).deeper()  # what is proved holds there
            yield from self.writer.one(node, inside)
            yield f"{here.pad}}}"

    def store(self, node: Store, here: Here) -> Iterator[str]:
        """All values first, then all stores, so that no store stands between two loads."""
        writer, code, pad = self.writer, self.terms.code, here.pad
        decl, index = self.terms.buffers[node.buffer], node.index
        inner = here.deeper()
        yield f"{pad}{{"
        names = {item: f"value_{item}" for item in here.now}
        for item, name in names.items():
            text, _ = self.expressions.expr(node.value, here.of(item))
            stored = bare(writer.operations.to_storage(decl, text))
            yield f"{inner.pad}const {self.terms.stored(decl)} {name} = {stored};"
        in_vectors = code.at_once > 1 and self.accesses.is_whole_row(decl, index, here)
        one_by_one: list[str] = []
        if here.beyond or not in_vectors:
            for item, name in names.items():
                one_by_one += writer.store(decl, index, name, inner.of(item))
        if not in_vectors:
            yield from one_by_one
        elif here.beyond:
            yield f"{inner.pad}if (whole) {{"
            yield from self.vectors(decl, index, names, inner.deeper())
            if not code.fitted:
                yield f"{inner.pad}}} else {{"
                yield from ("    " + line for line in one_by_one)
            yield f"{inner.pad}}}"
        else:
            yield from self.vectors(decl, index, names, inner)
        yield f"{pad}}}"

    def vectors(
        self, decl: BufferDecl, index: Expr, names: dict[int, str], here: Here
    ) -> Iterator[str]:
        """The lines that store neighbours at once."""
        terms, width = self.terms, self.terms.code.at_once
        for first in here.now[::width]:
            address = self.expressions.address(decl, index, here.of(first))
            yield here.pad + terms.dialect.store_vector(
                terms.stored_type(decl),
                f"{terms.pointers[decl.name]} + ({bare(address.at)})",
                [names[item] for item in range(first, first + width)],
                streamed=terms.code.streamed,
            )


def _is_line_by_line(nodes: tuple[Node, ...], here: Here) -> bool:
    """Whether a whole line may go through `nodes` before the next: few registers wait then.

    A name that lines share must be given once, before any of them.
    """
    items = here.items
    several = items.counts[1] * items.counts[2] > 1
    whole = len(here.now) == len(items)
    if not several or not whole or not all(_is_simple(node, here) for node in nodes):
        return False
    lines = {axis for axis in items.axes if axis > 0}
    given = (node.name for node in nodes if isinstance(node, Assign))
    return all(lines <= here.differ.axes_of.get(name, frozenset()) for name in given)


def _is_simple(node: Node, here: Here) -> bool:
    """Whether all items run it side by side, come what may."""
    return isinstance(node, (Let, Assign, Store)) and not here.differ.apart(node)


def _reads_nothing(node: Node) -> bool:
    return isinstance(node, Let) and not any(isinstance(e, Load) for e in expressions(node))
