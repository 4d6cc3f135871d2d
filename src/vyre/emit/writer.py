"""Statements and expressions as C, one line a statement, in the kernel's own names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from vyre.analysis import Facts
from vyre.analysis.facts import MemoryAccess, Pattern
from vyre.analysis.forms import Unknown
from vyre.emit.approximate import quicker_quotient
from vyre.emit.dialect import Dialect
from vyre.emit.helpers import U32, unsigned
from vyre.emit.items import ONE_ITEM, Items
from vyre.emit.lanes import ALIKE, Differences
from vyre.emit.names import Kind
from vyre.emit.operations import Operand, Operations, bare
from vyre.emit.terms import Terms
from vyre.emit.unknown import Unknowable
from vyre.emit.windows import window_of
from vyre.errors import UnsupportedFeature
from vyre.ir.declare import BufferDecl
from vyre.ir.expr import (
    Atomic,
    AtomicOp,
    Binary,
    BinaryOp,
    Bitcast,
    BufDim,
    BufLen,
    Call,
    Cast,
    Expr,
    FlatIndex,
    Fma,
    Id,
    IdKind,
    Lit,
    Load,
    OpaqueExpr,
    Select,
    Unary,
    Var,
)
from vyre.ir.node import (
    Assign,
    Barrier,
    Block,
    Break,
    Continue,
    If,
    Let,
    Loop,
    Node,
    Region,
    Return,
    Store,
    While,
)
from vyre.ir.program import Program
from vyre.ir.text import expr_text, statement_text
from vyre.ir.types import DataType
from vyre.ir.typing import UNPACKS, WAVE
from vyre.ir.walk import expressions, operands
from vyre.model import Code

_OPERATIONS = (Binary, Unary, Select, Cast, Bitcast)


class Writer:
    """Writes statements and expressions; it knows which item of the invocation they are for.

    An invocation of several items writes the text of each in turn: `item` is the one at hand, or
    None where the text is the same for all of them or there is only one.
    """

    item: int | None = None
    items: Items = ONE_ITEM
    differ: Differences = ALIKE

    def __init__(self, program: Program, code: Code, dialect: Dialect, facts: Facts) -> None:
        self.terms = Terms(program, code, dialect)
        self.operations = Operations(self.terms)
        self.accesses = _alike(facts)
        self.is_unknown = Unknowable(program, facts.accesses, checked=code.checked)
        self.statement = ""
        self.texts: dict[int, str] = {}  # of statements, which several items ask for again
        self.positions: dict[int, tuple[str, ...]] = {}  # by axis, one for each item along it
        self.single: dict[int, str] = {}  # by axis, where there is no item
        self.fetched: dict[tuple[str, Expr, int], str] = {}  # loads done already, by item
        self.in_lockstep = False  # whether lanes side by side along x come by together, all of them
        self.interior = False  # whether all that items look at is inside its arrays
        self.beyond = False  # whether lanes whose items lie beyond the extent come by as well
        self.leave = "return;"

    # -- names and types

    def name(self, variable: str, kind: Kind = Kind.VARIABLE) -> str:
        """The C name of a variable, that of the item at hand where each has its own."""
        axes = self.differ.axes_of.get(variable)
        own = self.item is not None and axes
        number = self.items.number(self.item, axes) if own else None  # type: ignore[arg-type]
        return self.terms.names.of(kind, variable, number)

    def here(self, axis: int) -> str:
        """The position along an axis of the item at hand."""
        if self.item is not None and axis in self.positions:
            return self.positions[axis][self.items.place(self.item)[axis]]
        return self.single.get(axis) or self.terms.id(IdKind.INVOCATION, axis)

    # -- statements

    def body(
        self, nodes: tuple[Node, ...], outer: dict[str, DataType], level: int
    ) -> Iterator[str]:
        scope = dict(outer)
        for node in nodes:
            self.enter(node)
            yield from self.one(node, scope, level)

    def enter(self, node: Node) -> None:
        """Make `node` the statement at hand, by which its accesses are known."""
        known = self.texts.get(id(node))
        if known is None:
            known = self.texts[id(node)] = statement_text(node)
        self.statement = known

    def braced(
        self, head: str, nodes: tuple[Node, ...], scope: dict[str, DataType], level: int
    ) -> Iterator[str]:
        pad = "    " * level
        yield f"{pad}{head} {{" if head else f"{pad}{{"
        yield from self.body(nodes, scope, level + 1)
        yield f"{pad}}}"

    def one(self, node: Node, scope: dict[str, DataType], level: int) -> Iterator[str]:
        pad = "    " * level
        match node:
            case Let(name, value):
                text, dtype = self.expr(value, scope)
                scope[name] = dtype
                yield f"{pad}{self.terms.use(dtype)} {self.name(name)} = {bare(text)};"
            case Assign(name, value):
                text, _ = self.expr(value, scope)
                yield f"{pad}{self.name(name)} = {bare(text)};"
            case Store(buffer, index, value):
                yield from self.store(self.terms.buffers[buffer], index, value, scope, pad)
            case If(cond, then, otherwise):
                text, _ = self.expr(cond, scope)
                lines = list(self.braced(f"if ({bare(text)})", then, scope, level))
                if otherwise:
                    lines[-1] = f"{pad}}} else {{"
                    lines += list(self.braced("", otherwise, scope, level))[1:]
                yield from lines
            case Loop(var, start, stop, body):
                head, dtype = self.loop_head(var, start, stop, scope)
                yield from self.unrolled(pad)
                yield from self.braced(head, body, {**scope, var: dtype}, level)
            case While(cond, body):
                text, _ = self.expr(cond, scope)
                yield from self.braced(f"while ({bare(text)})", body, scope, level)
            case Break() | Continue():
                yield f"{pad}{type(node).__name__.lower()};"
            case Return():
                yield pad + self.leave
            case Block(body):
                yield from self.braced("", body, scope, level)
            case Region(_, body):
                if self.terms.program.entry == (node,):
                    yield from self.body(body, scope, level)
                else:
                    yield from self.braced("", body, scope, level)
            case Barrier():
                yield pad + self.terms.dialect.barrier
            case _:
                raise UnsupportedFeature(
                    f"{statement_text(node)}: no device code for {type(node).__name__}",
                    "leave it out, or run the program elsewhere",
                )

    def loop_head(self, var: str, start: Expr, stop: Expr, scope: dict[str, DataType]) -> Operand:
        """The `for (…)` of a counted loop and its counter's type; the bounds are read once."""
        first, dtype = self.expr(start, scope)
        last, _ = self.expr(stop, scope)
        counter, t = self.name(var), self.terms.use(dtype)
        end, bound = last, ""
        if not isinstance(stop, Lit):
            end = self.name(var, Kind.END)
            bound = f", {end} = {bare(last)}"
        head = f"for ({t} {counter} = {bare(first)}{bound}; {counter} < {end}; ++{counter})"
        return head, dtype

    def unrolled(self, pad: str) -> Iterator[str]:
        if self.terms.code.unroll > 1:
            yield f"{pad}#pragma unroll {self.terms.code.unroll}"

    def store(
        self, decl: BufferDecl, index: Expr, value: Expr, scope: dict[str, DataType], pad: str
    ) -> Iterator[str]:
        text, _ = self.expr(value, scope)
        yield from self.put(decl, index, bare(self.operations.to_storage(decl, text)), scope, pad)

    def put(
        self, decl: BufferDecl, index: Expr, stored: str, scope: dict[str, DataType], pad: str
    ) -> Iterator[str]:
        """The line that stores a value, with the check it needs."""
        target, inside = self.terms.pointers[decl.name], self.inside() if self.beyond else []
        beyond, self.beyond = self.beyond, False  # where it is inside, what is proved holds
        yield from self._put(decl, index, stored, scope, pad, target, inside)
        self.beyond = beyond

    def _put(
        self,
        decl: BufferDecl,
        index: Expr,
        stored: str,
        scope: dict[str, DataType],
        pad: str,
        target: str,
        inside: list[str],
    ) -> Iterator[str]:
        if _is_short(index) or self.is_free(decl, index):
            checks, at = self.place(decl, index, scope)
            when = " && ".join([*inside, *checks])
            head = f"{pad}if ({when}) " if when else pad
            yield f"{head}{target}[{bare(at)}] = {stored};"
            return
        at, wide = self.index(index, scope)
        t = "u64" if wide else "u32"
        self.terms.use(DataType.U64 if wide else U32)
        when = " && ".join([*inside, f"at < {self.terms.word_length(decl)}"])
        yield f"{pad}{{"
        yield f"{pad}    const {t} at = {bare(at)};"
        yield f"{pad}    if ({when}) {target}[at] = {stored};"
        yield f"{pad}}}"

    def inside(self) -> list[str]:
        """What has to hold of the item at hand, where lanes beyond the extent come by."""
        if self.terms.code.fitted:
            return ["mine"]
        axes = (axis for axis in sorted(self.positions) if axis in self.terms.guarded)
        return ["mine", *(f"{self.here(axis)} < {self.terms.word_extent(axis)}" for axis in axes)]

    def guard(self, axes: tuple[int, ...]) -> Iterator[str]:
        """Ends the invocations that lie beyond the dispatch along `axes`."""
        if self.terms.code.fitted:
            return
        outside = " || ".join(
            f"{self.terms.id(IdKind.INVOCATION, axis)} >= {self.terms.word_extent(axis)}"
            for axis in axes
        )
        if outside:
            yield f"    if ({outside}) return;"

    def access(self, decl: BufferDecl, index: Expr) -> MemoryAccess | None:
        """What is proved of an access of the statement at hand, if that is one thing."""
        return self.accesses.get((decl.name, self.statement, index))

    def is_free(self, decl: BufferDecl, index: Expr) -> bool:
        """Whether an access needs no check at all."""
        access = self.access(decl, index)
        axes = range(1 if access is None else len(access.by_axis))
        return all(self.is_free_along(decl, index, axis) for axis in axes)

    def is_free_along(self, decl: BufferDecl, index: Expr, axis: int) -> bool:
        """Whether it needs no check along one axis of its array."""
        access = self.access(decl, index)
        if self.terms.code.checked or access is None:
            return False
        if access.by_axis[axis] is None:
            return self.interior and window_of(access, axis) is not None
        # Positions beyond the extent have no proof.
        beyond = self.beyond and not self.terms.code.fitted
        return not (beyond and self.differ.axes(parts_of(decl, index)[axis]))

    def is_whole_row(self, decl: BufferDecl, index: Expr) -> bool:
        """Whether items within the extent access neighbours, without a check."""
        access = self.access(decl, index)
        known = access is not None and access.pattern is Pattern.CONTIGUOUS
        return known and not self.terms.code.checked and access.in_bounds is not None  # type: ignore[union-attr]

    # -- expressions

    def index(self, index: Expr, scope: dict[str, DataType]) -> tuple[str, bool]:
        """An index that a comparison with a length decides, and whether it takes 64 bits."""
        text, dtype = self.expr(index, scope)
        if dtype.is_unsigned:
            if dtype == U32 or dtype == DataType.U64:
                return text, dtype.bits == 64
            return f"(u32){text}", False
        self.terms.types |= {DataType.U64, DataType.I64}
        return f"(u64)(i64){text}", True

    def place(
        self, decl: BufferDecl, index: Expr, scope: dict[str, DataType], *, back: int = 0
    ) -> tuple[list[str], str]:
        """What has to be checked of an index, and where it is if all of that holds.

        `back` is how many elements before the index is meant; what is checked is the index.
        """
        checks, at = [], ""
        for axis, (check, text) in enumerate(self.by_axis(decl, index, scope, back=back)):
            checks += [check] if check else []
            at = f"({at} * {self.terms.word_dim(decl, axis)} + {text})" if axis else text
        return checks, at

    def by_axis(
        self, decl: BufferDecl, index: Expr, scope: dict[str, DataType], *, back: int = 0
    ) -> Iterator[tuple[str, str]]:
        """Along each axis of the array, what has to be checked of an index, and the index."""
        parts = parts_of(decl, index)
        for axis, part in enumerate(parts):
            if self.is_free_along(decl, index, axis):
                text, check = self.expr(part, scope)[0], ""
            else:
                text, wide = self.index(part, scope)
                if wide:
                    self.terms.use(DataType.U64)
                flat = len(parts) == 1
                length = self.terms.word_length(decl) if flat else self.terms.word_dim(decl, axis)
                check = f"{text} < {length}"
            if back and axis == len(parts) - 1:
                text = f"({text} - {back}u)"
            yield check, text

    def expr(self, expr: Expr, scope: dict[str, DataType]) -> Operand:
        """C text that can stand as an operand, and its type."""
        text, dtype = self.any(expr, scope)
        self.terms.types.add(dtype)
        if dtype in self.terms.dialect.unwrapped and isinstance(expr, _OPERATIONS):
            text = self.operations.opaque(text, dtype)
        return text, dtype

    def any(self, expr: Expr, scope: dict[str, DataType]) -> Operand:
        match expr:
            case Lit(dtype):
                return self.operations.lit(expr), dtype.computed
            case Var(name):
                return self.name(name), scope[name]
            case Load(buffer, index):
                return self.load(self.terms.buffers[buffer], index, scope)
            case BufLen(buffer):
                return self.terms.word_length(self.terms.buffers[buffer]), U32
            case BufDim(buffer, axis):
                return self.terms.word_dim(self.terms.buffers[buffer], axis), U32
            case Id(IdKind.EXTENT, axis):
                return self.terms.word_extent(axis), U32
            case Id(IdKind.INVOCATION, axis):
                return self.here(axis), U32
            case Id(kind, axis):
                return self.terms.id(kind, axis), U32
            case FlatIndex(buffer, indices):
                return self.flat(self.terms.buffers[buffer], indices, scope), U32
            case Binary(op) if op not in WAVE:
                if self.operations.is_fast and op is BinaryOp.DIV:
                    expr = quicker_quotient(expr)
                return self.operation(expr, scope)
            case Unary(op) if op not in UNPACKS:
                return self.operation(expr, scope)
            case Select(cond, true, false):
                a, dtype = self.expr(true, scope)
                return f"({self.expr(cond, scope)[0]} ? {a} : {self.expr(false, scope)[0]})", dtype
            case Cast(target, value):
                return self.operations.cast(target, self.expr(value, scope)), target.computed
            case Bitcast(target, value):
                return self.operations.bitcast(target, self.expr(value, scope)), target
            case Fma(a, b, c):
                dtype = self.expr(a, scope)[1]
                args = ", ".join(bare(self.expr(part, scope)[0]) for part in (a, b, c))
                return f"{self.terms.dialect.fma[dtype]}({args})", dtype
            case Atomic(op) if op is not AtomicOp.LRU_UPDATE:
                return self.atomic(expr, scope)
            case _:
                raise UnsupportedFeature(
                    f"{self.statement}: no device code for {expr_text(expr)}",
                    "leave it out, or run the program elsewhere",
                )

    def operation(self, expr: Binary | Unary, scope: dict[str, DataType]) -> Operand:
        first, *others = [self.expr(part, scope) for part in operands(expr)]
        unknown = all(map(self.is_unknown, operands(expr)))
        if isinstance(expr, Unary):
            return self.operations.unary(expr.op, first, expr.operand, unknown=unknown)
        (second,) = others
        return self.operations.binary(expr.op, first, second, unknown=unknown)

    def load(self, decl: BufferDecl, index: Expr, scope: dict[str, DataType]) -> Operand:
        name, dtype = self.terms.pointers[decl.name], decl.element.computed
        if decl.is_scalar_argument and isinstance(index, Lit) and index.value == 0:
            return self.operations.from_storage(decl, name), dtype
        if decl.is_scalar_argument:
            raise UnsupportedFeature(
                f"{self.statement}: index into the scalar {decl.name!r}", "read it at index 0"
            )
        if self.item is not None and (decl.name, index, self.item) in self.fetched:
            return self.operations.from_storage(
                decl, self.fetched[decl.name, index, self.item]
            ), dtype
        if _is_short(index) or self.is_free(decl, index):
            checks, place = self.place(decl, index, scope)
            text = f"{name}[{bare(place)}]"
            if checks:
                text = f"({' && '.join(checks)} ? {text} : 0)"
            return self.operations.from_storage(decl, text), dtype
        at, wide = self.index(index, scope)
        if wide:
            self.terms.use(DataType.U64)
        function = self.terms.helpers.load(self.terms.stored(decl), local=decl.is_shared, wide=wide)
        text = f"{function}({name}, {bare(at)}, {self.terms.word_length(decl)})"
        return self.operations.from_storage(decl, text), dtype

    def flat(self, decl: BufferDecl, indices: tuple[Expr, ...], scope: dict[str, DataType]) -> str:
        parts = [self.index(part, scope) for part in indices]
        wide = any(is_wide for _, is_wide in parts)
        if wide:
            self.terms.use(DataType.U64)
        dims = [self.terms.word_dim(decl, axis) for axis in range(decl.rank)]
        args = ", ".join([*(bare(text) for text, _ in parts), *dims])
        return f"{self.terms.helpers.flat(decl.rank, wide=wide)}({args})"

    def atomic(self, expr: Atomic, scope: dict[str, DataType]) -> Operand:
        decl = self.terms.buffers[expr.buffer]
        t = decl.element
        at, _ = self.index(expr.index, scope)
        self.terms.types |= {DataType.U64, t, unsigned(t)}
        function = self.terms.helpers.atomic(expr.op, t, local=decl.is_shared)
        given = [expr.expected] if expr.expected is not None else []
        values = [bare(self.expr(part, scope)[0]) for part in (*given, expr.value)]
        args = ", ".join(
            [self.terms.pointers[decl.name], bare(at), self.terms.word_length(decl), *values]
        )
        return f"{function}({args})", t


Place = tuple[str, str, Expr]

_SHORT = 12  # parts of an index that may be written twice


def parts_of(decl: BufferDecl, index: Expr) -> tuple[Expr, ...]:
    """An index by the axes of its array."""
    if isinstance(index, FlatIndex) and index.buffer == decl.name:
        return index.indices
    return (index,)


def _is_short(index: Expr) -> bool:
    """Whether an index may be written twice: once to check it, once to use it."""
    parts = list(islice(expressions(index), _SHORT + 1))
    computed = (Load, Atomic, Call, OpaqueExpr)
    return len(parts) <= _SHORT and not any(isinstance(part, computed) for part in parts)


def _alike(facts: Facts) -> dict[Place, MemoryAccess]:
    """What is proved of each access, by where it stands in the text.

    Of accesses that read alike and are not (in two loops that count by one name), what holds of
    all of them: no form, and no proof.
    """
    found: dict[Place, MemoryAccess] = {}
    for access in facts.accesses:
        place = (access.buffer, access.statement, access.index)
        before = found.setdefault(place, access)
        if (before.forms, before.by_axis) != (access.forms, access.by_axis):
            both = zip(before.by_axis, access.by_axis, strict=True)
            found[place] = replace(
                before,
                forms=tuple(Unknown() for _ in before.forms),
                by_axis=tuple(a if b is not None else None for a, b in both),
                pattern=before.pattern if before.pattern is access.pattern else Pattern.GATHER,
            )
    return found
