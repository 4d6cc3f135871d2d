"""Statements as C, one line a statement, in the kernel's own names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

from vyre.analysis import Facts
from vyre.emit.expressions import Expressions, fixed_at, is_short
from vyre.emit.helpers import U32
from vyre.emit.here import Here
from vyre.emit.names import Kind
from vyre.emit.operations import bare
from vyre.emit.quotients import all_leave_room, of_elements
from vyre.emit.terms import Terms
from vyre.errors import UnsupportedFeature
from vyre.ir.declare import BufferDecl
from vyre.ir.expr import Ahead, Array, Binary, Element, Expr, IdKind, Lit, Put, Var
from vyre.ir.loops import is_innermost, is_of_elements, rounds_of, turn_of
from vyre.ir.node import (
    Arrive,
    Assign,
    Barrier,
    Block,
    Break,
    Continue,
    If,
    Let,
    Loop,
    Meet,
    Node,
    Region,
    Return,
    Store,
    While,
)
from vyre.ir.text import statement_text
from vyre.ir.types import DataType
from vyre.ir.walk import statements


class Writer:
    """Writes statements for one item, or for what is the same for all of them."""

    def __init__(self, terms: Terms, facts: Facts) -> None:
        self.terms, self.code = terms, terms.code
        self.expressions = Expressions(terms, facts)
        self.accesses = self.expressions.accesses
        self.operations = self.expressions.operations
        nodes = statements(terms.program.entry)
        self.changed = frozenset(node.name for node in nodes if isinstance(node, Assign))

    def body(self, nodes: tuple[Node, ...], here: Here) -> Iterator[str]:
        """All statements of a list; the names bound in it end with it."""
        inner = here.inner()
        for node in nodes:
            yield from self.one(node, self.accesses.at(node, inner))

    def braced(self, head: str, nodes: tuple[Node, ...], here: Here) -> Iterator[str]:
        yield f"{here.pad}{head} {{" if head else f"{here.pad}{{"
        yield from self.body(nodes, here.deeper())
        yield f"{here.pad}}}"

    def one(self, node: Node, here: Here) -> Iterator[str]:
        """The statement at hand."""
        expr, pad = self.expressions.expr, here.pad
        match node:
            case Let(name, Array() as array):
                here.scope[name] = array.type
                declared = f"{self.terms.use(array.dtype)} {self.name(name, here)}[{array.count}]"
                known = range(max(len(array.data) // array.element_bytes, 1))
                first = ", ".join(self.operations.lit(array.element(place)) for place in known)
                yield f"{pad}{declared} = {{{first}}};"
            case Assign(name, Array() as array):
                own, given = self.name(name, here), self.operations.lit(Lit(array.dtype, 0))
                if array.data:
                    table, held = self.terms.table(array)
                    given = self.operations.from_bits(held, array.dtype, f"{table}[at]")
                yield f"{pad}#pragma unroll"
                yield f"{pad}for (u32 at = 0u; at < {array.count}u; ++at) {own}[at] = {given};"
            case Assign(name, Put(_, indices, value)):
                yield from self.put_element(name, indices, value, here)
            case Let(name, value):
                text, dtype = expr(value, here)
                here.scope[name] = dtype
                self.keep_distance(name, value, here)
                yield f"{pad}{self.terms.use(dtype)} {self.name(name, here)} = {bare(text)};"
            case Assign(name, value):
                text, _ = expr(value, here)
                yield f"{pad}{self.name(name, here)} = {bare(text)};"
            case Store(buffer, index, value):
                decl = self.terms.buffers[buffer]
                stored = self.operations.to_storage(decl, expr(value, here)[0])
                yield from self.store(decl, index, bare(stored), here)
            case If(cond, then, otherwise):
                text, _ = expr(cond, here)
                lines = list(self.braced(f"if ({bare(text)})", then, here))
                if otherwise:
                    lines[-1] = f"{pad}}} else {{"
                    lines += list(self.braced("", otherwise, here))[1:]
                yield from lines
            case Loop():
                if quotients := self.quotients_of_elements(node, here):
                    yield from self.with_quotients(node, quotients, here)
                else:
                    yield from self.rounds(node, here)
            case While(cond):
                text, _ = expr(cond, here)
                inside = here.turning(node)
                yield from self.braced(f"while ({bare(text)})", self.turn(node), inside)
            case Break() | Continue():
                yield f"{pad}{type(node).__name__.lower()};"
            case Return():
                yield pad + here.leave
            case Block(body):
                yield from self.braced("", body, here)
            case Region(_, body):
                if self.terms.program.entry == (node,):
                    yield from self.body(body, here)
                else:
                    yield from self.braced("", body, here)
            case Barrier():
                yield pad + self.terms.dialect.barrier
            case Meet():
                yield pad + self.terms.dialect.meet
            case Arrive(name, shares, buffer, index):
                counter = f"{self.terms.pointers[buffer]} + {expr(index, here)[0]}"
                here.scope[name] = DataType.BOOL
                arrive = self.terms.helpers.arrive()
                given = f"{counter}, {self.terms.member()}, {shares}u"
                yield f"{pad}const bool {self.name(name, here)} = {arrive}({given});"
            case _:
                raise UnsupportedFeature(
                    f"{statement_text(node)}: no device code for {type(node).__name__}",
                    "leave it out, or run the program elsewhere",
                )

    def rounds(self, loop: Loop, here: Here) -> Iterator[str]:
        """A counted loop."""
        head, dtype = self.loop_head(loop.var, loop.start, loop.stop, here)
        lines = list(self.unrolled(loop, here))
        yield from lines
        yield from self.braced(head, loop.body, here.counting(loop, dtype, rolled=not lines))

    def quotients_of_elements(self, loop: Loop, here: Here) -> list[Binary]:
        """Those of a loop that one branch before it decides about."""
        if here.quick or here.item is not None or not self.expressions.shares_divisors:
            return []
        return of_elements(loop, here, self.terms.buffers)

    def with_quotients(self, loop: Loop, quotients: list[Binary], here: Here) -> Iterator[str]:
        """A loop twice: with quotients that exponents are known to leave room for, and without."""
        pad, inner = here.pad, here.deeper()
        yield f"{pad}{{"
        yield f"{inner.pad}bool room = true;"
        for quotient in quotients:
            assert isinstance(quotient.left, Element)
            assert isinstance(quotient.left.array, Var)
            divisor, array = self.expressions.expr(quotient.right, inner)[0], quotient.left.array
            lines = all_leave_room(
                self.terms.helpers,
                self.name(array.name, inner),
                prod(here.scope[array.name].params),
                bare(divisor),
                inner.deeper().pad,
            )
            yield from (f"{inner.pad}{{", *lines, f"{inner.pad}}}")
        known = replace(inner.deeper(), quick=frozenset(quotients))
        yield f"{inner.pad}if (room) {{"
        yield from self.rounds(loop, known.inner())
        yield f"{inner.pad}}} else {{"
        yield from self.rounds(loop, inner.deeper().inner())
        yield f"{inner.pad}}}"
        yield f"{pad}}}"

    def keep_distance(self, name: str, value: Expr, here: Here) -> None:
        """Note of a name, which keeps its number, how far ahead of another's that is."""
        here.ahead.pop(name, None)
        if name in self.changed:
            return
        match value:
            case Ahead(start, by):
                texts = (self.expressions.expr(part, here)[0] for part in (start, by))
                here.ahead[name] = next(texts), next(texts)
            case Lit(DataType.U32):
                here.ahead[name] = "", self.expressions.expr(value, here)[0]
            case Var(other) if other in here.ahead:
                here.ahead[name] = here.ahead[other]
            case _:
                pass

    def put_element(
        self, name: str, indices: tuple[Expr, ...], value: Expr, here: Here
    ) -> Iterator[str]:
        """The lines that change one element of an array of the invocation's own."""
        held, pad, own = here.scope[name], here.pad, self.name(name, here)
        text, dtype = self.expressions.expr(value, here)
        at = fixed_at(indices, held.params)
        if at is not None and at < prod(held.params):
            yield f"{pad}{own}[{at}] = {bare(text)};"
            return
        yield f"{pad}{{"
        places = []
        for axis, index in enumerate(indices):
            place, wide = self.expressions.index(index, here)
            t = self.terms.use(DataType.U64 if wide else U32)
            places.append(f"at{axis}")
            yield f"{pad}    const {t} at{axis} = {bare(place)};"
        yield f"{pad}    const {self.terms.use(dtype)} value = {bare(text)};"
        pairs = list(zip(places, held.params, strict=True))
        flat = places[0]
        for place, extent in pairs[1:]:
            flat = f"({flat}) * {extent}u + {place}"
        inside = " && ".join(f"{place} < {extent}u" for place, extent in pairs)
        yield f"{pad}    if ({inside}) {own}[{flat}] = value;"
        yield f"{pad}}}"

    def name(self, variable: str, here: Here, kind: Kind = Kind.VARIABLE) -> str:
        return self.expressions.name(variable, here, kind)

    def loop_head(self, var: str, start: Expr, stop: Expr, here: Here) -> tuple[str, DataType]:
        """The `for (…)` of a counted loop and its counter's type; the bounds are read once."""
        first, dtype = self.expressions.expr(start, here)
        last, _ = self.expressions.expr(stop, here)
        counter, t = self.name(var, here), self.terms.use(dtype)
        end, bound = last, ""
        if not isinstance(stop, Lit):
            end = self.name(var, here, Kind.END)
            bound = f", {end} = {bare(last)}"
        head = f"for ({t} {counter} = {bare(first)}{bound}; {counter} < {end}; ++{counter})"
        return head, dtype

    def unrolled(self, loop: Loop, here: Here) -> Iterator[str]:
        if is_of_elements(loop):
            # Elements are registers where every index is a number.
            yield f"{here.pad}#pragma unroll {max(rounds_of(loop) or 1, 1)}"
        elif self.code.unroll > 1 and is_innermost(loop):
            yield f"{here.pad}#pragma unroll {self.code.unroll}"

    def turn(self, loop: While) -> tuple[Node, ...]:
        """The rounds of a loop before it goes back."""
        return turn_of(self.terms.program, loop, self.code.unroll)

    def store(self, decl: BufferDecl, index: Expr, stored: str, here: Here) -> Iterator[str]:
        """The lines that store a value, with the checks it needs."""
        pad = here.pad
        inside = self.inside(here) if here.beyond else []
        here = replace(here, beyond=False)  # where it is inside, what is proved holds
        if is_short(index) or self.accesses.is_free(decl, index, here):
            address = self.expressions.address(decl, index, here)
            when = " && ".join([*inside, *address.checks])
            head = f"{pad}if ({when}) " if when else pad
            yield head + self.put(decl, bare(address.at), stored)
            return
        at, wide = self.expressions.index(index, here)
        t = self.terms.use(DataType.U64 if wide else U32)
        when = " && ".join([*inside, f"at < {self.terms.word_length(decl)}"])
        yield f"{pad}{{"
        yield f"{pad}    const {t} at = {bare(at)};"
        yield f"{pad}    if ({when}) {self.put(decl, 'at', stored)}"
        yield f"{pad}}}"

    def put(self, decl: BufferDecl, at: str, stored: str) -> str:
        """The line that stores a value."""
        target = self.terms.pointers[decl.name]
        if self.code.streamed and not decl.is_shared:
            return self.terms.dialect.stream.format(at=f"{target} + ({at})", value=stored)
        return f"{target}[{at}] = {stored};"

    def inside(self, here: Here) -> list[str]:
        """What has to hold of the item at hand, where lanes beyond the extent come by."""
        if self.code.fitted:
            return ["mine"]
        axes = (axis for axis in sorted(here.positions) if axis in self.terms.guarded)
        extents = (
            f"{self.expressions.position(axis, here)} < {self.terms.word_extent(axis)}"
            for axis in axes
        )
        return ["mine", *extents]

    def guard(self, axes: tuple[int, ...]) -> Iterator[str]:
        """Ends the invocations that lie beyond the dispatch along `axes`."""
        together = self.code.abreast > 1 or (self.code.lanes > 1 and self.code.depth)
        if self.code.fitted or together:  # who is beyond does the last one's work
            return
        outside = " || ".join(
            f"{self.terms.id(IdKind.INVOCATION, axis)} >= {self.terms.word_extent(axis)}"
            for axis in axes
        )
        if outside:
            yield f"    if ({outside}) return;"
