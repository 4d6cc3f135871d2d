"""Expressions as C: what is computed, and where in memory an index is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from math import prod

from vyre.analysis import Facts
from vyre.emit.accesses import Accesses, parts_of
from vyre.emit.approximate import quicker_quotient
from vyre.emit.helpers import F32, U32, unsigned
from vyre.emit.here import Here
from vyre.emit.names import Kind
from vyre.emit.operations import Operand, Operations, bare
from vyre.emit.quotients import is_shared, quick_quotient, shared_quotient
from vyre.emit.terms import Terms
from vyre.emit.unknown import Unknowable
from vyre.errors import UnsupportedFeature
from vyre.ir.declare import BufferDecl
from vyre.ir.expr import (
    Ahead,
    Alike,
    Array,
    Atomic,
    AtomicOp,
    Binary,
    BinaryOp,
    Bitcast,
    BufDim,
    BufLen,
    Call,
    Cast,
    Element,
    Expr,
    FlatIndex,
    Fma,
    FromLane,
    Id,
    IdKind,
    Lane,
    Lit,
    Load,
    OpaqueExpr,
    Select,
    Share,
    Unary,
    Var,
)
from vyre.ir.text import expr_text
from vyre.ir.types import DataType
from vyre.ir.typing import UNPACKS, WAVE
from vyre.ir.walk import expressions, operands

_OPERATIONS = (Binary, Unary, Select, Cast, Bitcast)
_SHORT = 12  # parts of an index that may be written twice


@dataclass(frozen=True, slots=True)
class Address:
    """Where an index is in its array, if all that has to be checked of it holds."""

    checks: tuple[str, ...]
    at: str


class Expressions:
    """Writes expressions in the terms of one kernel."""

    def __init__(self, terms: Terms, facts: Facts) -> None:
        self.terms, self.operations = terms, Operations(terms)
        self.accesses = Accesses(facts, terms.code)
        self.is_unknown = Unknowable(terms.program, facts.accesses, checked=terms.code.checked)

    def name(self, variable: str, here: Here, kind: Kind = Kind.VARIABLE) -> str:
        """The C name of a variable, that of the item at hand where each has its own."""
        axes = here.differ.axes_of.get(variable)
        if here.item is None or not axes:
            return self.terms.names.of(kind, variable)
        return self.terms.names.of(kind, variable, here.items.number(here.item, axes))

    def position(self, axis: int, here: Here) -> str:
        """The position along an axis of the item at hand."""
        if here.item is not None and axis in here.positions:
            return here.positions[axis][here.items.place(here.item)[axis]]
        return self.terms.id(IdKind.INVOCATION, axis)

    # -- values

    def expr(self, expr: Expr, here: Here) -> Operand:
        """C text that can stand as an operand, and its type."""
        text, dtype = self._any(expr, here)
        self.terms.types.add(dtype)
        if dtype in self.terms.dialect.unwrapped and isinstance(expr, _OPERATIONS):
            text = self.operations.opaque(text, dtype)
        return text, dtype

    def _any(self, expr: Expr, here: Here) -> Operand:
        terms = self.terms
        match expr:
            case Lit(dtype):
                return self.operations.lit(expr), dtype.computed
            case Var(name):
                return self.name(name, here), here.scope[name]
            case Load(buffer, index):
                return self._load(terms.buffers[buffer], index, here)
            case BufLen(buffer):
                return terms.word_length(terms.buffers[buffer]), U32
            case BufDim(buffer, axis):
                return terms.word_dim(terms.buffers[buffer], axis), U32
            case Id(IdKind.EXTENT, axis):
                return terms.word_extent(axis), U32
            case Id(IdKind.INVOCATION, axis):
                return self.position(axis, here), U32
            case Id(kind, axis):
                return terms.id(kind, axis), U32
            case FlatIndex(buffer, indices):
                return self._flat(terms.buffers[buffer], indices, here), U32
            case Binary(op) if op not in WAVE:
                if self.operations.is_fast and op is BinaryOp.DIV:
                    expr = quicker_quotient(expr)
                return self._operation(expr, here)
            case Unary(op) if op not in UNPACKS:
                return self._operation(expr, here)
            case Select(cond, true, false):
                a, dtype = self.expr(true, here)
                return f"({self.expr(cond, here)[0]} ? {a} : {self.expr(false, here)[0]})", dtype
            case Cast(target, value):
                return self.operations.cast(target, self.expr(value, here)), target.computed
            case Bitcast(target, value):
                return self.operations.bitcast(target, self.expr(value, here)), target
            case Fma(a, b, c):
                dtype = self.expr(a, here)[1]
                args = ", ".join(bare(self.expr(part, here)[0]) for part in (a, b, c))
                return f"{terms.dialect.fma[dtype]}({args})", dtype
            case Element(array, indices):
                return self._element(array, indices, here)
            case Atomic(op) if op is not AtomicOp.LRU_UPDATE:
                return self._atomic(expr, here)
            case Lane():
                return terms.lane(), U32
            case FromLane(value, away):
                form, other = terms.dialect.from_lane, f"{away}u"
                return self._from_lane(self.expr(value, here), form, away, other)
            case Alike(FromLane(value, 0)) if terms.dialect.from_lane:
                return self.expr(value, here)  # each has it by itself; where they wait, they say so
            case Alike(value, lane):
                form, own = terms.dialect.from_one_lane, terms.lane()
                other = f"({own} ^ {lane}u)" if lane else own
                return self._from_lane(self.expr(value, here), form, lane, other)
            case Share():
                return terms.share(), U32
            case Ahead(start, by):
                return f"({self.expr(start, here)[0]} + {self.expr(by, here)[0]})", U32
            case _:
                raise UnsupportedFeature(
                    f"{here.statement}: no device code for {expr_text(expr)}",
                    "leave it out, or run the program elsewhere",
                )

    def _operation(self, expr: Binary | Unary, here: Here) -> Operand:
        first, *others = [self.expr(part, here) for part in operands(expr)]
        unknown = all(map(self.is_unknown, operands(expr)))
        if first[1] == F32 and (name := self._of_here(expr, here)) is not None:
            return f"{name}({bare(first[0])}, {bare(others[0][0])})", F32
        if isinstance(expr, Unary):
            return self.operations.unary(expr.op, first, expr.operand, unknown=unknown)
        (second,) = others
        return self.operations.binary(expr.op, first, second, unknown=unknown)

    @property
    def shares_divisors(self) -> bool:
        """Whether quotients cost less where several have one divisor."""
        return self.terms.dialect.divides_slowly and not self.operations.is_fast

    def _of_here(self, expr: Binary | Unary, here: Here) -> str | None:
        """The function of two f32 that costs less where a text stands, if there is one."""
        helpers = self.terms.helpers
        match expr:
            case Binary(BinaryOp.MIN | BinaryOp.MAX as op) if not here.rolled:
                return helpers.extreme(op)
            case Binary(BinaryOp.DIV) if self.shares_divisors and expr in here.quick:
                return quick_quotient(helpers)
            case Binary(BinaryOp.DIV) if self.shares_divisors:
                shared = is_shared(expr, here, self.terms.buffers)
                return shared_quotient(helpers) if shared else None
            case _:
                return None

    def _from_lane(self, value: Operand, form: str, lane: int, other: str) -> Operand:
        """What another lane has, in a form of words, or through memory by the bits that differ."""
        text, dtype = value
        if dtype.bits < U32.bits or dtype.is_bool:  # what is narrow is passed on as a word
            word, _ = self._from_lane((f"(u32){text}", U32), form, lane, other)
            return f"({word} != 0u)" if dtype.is_bool else f"(({dtype}){word})", dtype
        if form:
            return form.format(value=bare(text), lane=lane), dtype
        memory, function = self.terms.exchange(dtype)
        return f"{function}({memory}, {self.terms.lane()}, {bare(text)}, {other})", dtype

    def _load(self, decl: BufferDecl, index: Expr, here: Here) -> Operand:
        name, dtype = self.terms.pointers[decl.name], decl.element.computed
        if decl.is_scalar_argument:
            if not isinstance(index, Lit) or index.value != 0:
                raise UnsupportedFeature(
                    f"{here.statement}: index into the scalar {decl.name!r}", "read it at index 0"
                )
            return self.operations.from_storage(decl, name), dtype
        if here.item is not None and (decl.name, index, here.item) in here.registers:
            text = here.registers[decl.name, index, here.item]
        elif is_short(index) or self.accesses.is_free(decl, index, here):
            address = self.address(decl, index, here)
            text = f"{name}[{bare(address.at)}]"
            if address.checks:
                text = f"({' && '.join(address.checks)} ? {text} : 0)"
        else:
            at, wide = self.index(index, here)
            function = self.terms.helpers.load(
                self.terms.stored(decl), local=decl.is_shared, wide=wide
            )
            text = f"{function}({name}, {bare(at)}, {self.terms.word_length(decl)})"
        return self.operations.from_storage(decl, text), dtype

    def _flat(self, decl: BufferDecl, indices: tuple[Expr, ...], here: Here) -> str:
        parts = [self.index(part, here) for part in indices]
        wide = any(is_wide for _, is_wide in parts)
        dims = [self.terms.word_dim(decl, axis) for axis in range(decl.rank)]
        args = ", ".join([*(bare(text) for text, _ in parts), *dims])
        return f"{self.terms.helpers.flat(decl.rank, wide=wide)}({args})"

    def _element(self, array: Expr, indices: tuple[Expr, ...], here: Here) -> Operand:
        """An element of an array of the invocation's own, or of a table."""
        if isinstance(array, Var):
            held = here.scope[array.name]
            assert held.element is not None, "an array has elements"
            dtype, stored, name = held.element, held.element, self.name(array.name, here)
        else:
            assert isinstance(array, Array), "an element is of a name or of constants"
            held, dtype = array.type, array.dtype
            name, stored = self.terms.table(array)
        shape, zero = held.params, self.operations.lit(Lit(stored, 0))
        at = fixed_at(indices, shape)
        if at is not None:
            text = f"{name}[{at}]" if at < prod(shape) else zero
        elif all(map(is_short, indices)):
            checks, place = self.within(indices, shape, here)
            text = f"({' && '.join(checks)} ? {name}[{place}] : {zero})"
        else:
            parts = [self.index(part, here) for part in indices]
            wide = [is_wide for _, is_wide in parts]
            constant = not isinstance(array, Var)
            function = self.terms.helpers.element(stored, shape, wide, constant=constant)
            text = f"{function}({name}, {', '.join(bare(part) for part, _ in parts)})"
        return self.operations.from_bits(stored, dtype, text), dtype

    def within(
        self, indices: tuple[Expr, ...], shape: tuple[int, ...], here: Here
    ) -> tuple[list[str], str]:
        """What has to hold of indices into an array of a fixed shape, and where they lead."""
        checks, at = [], ""
        for index, extent in zip(indices, shape, strict=True):
            text, _ = self.index(index, here)
            checks.append(f"{text} < {extent}u")
            at = f"({at}) * {extent}u + {text}" if at else bare(text)
        return checks, at

    def _atomic(self, expr: Atomic, here: Here) -> Operand:
        terms = self.terms
        decl = terms.buffers[expr.buffer]
        t = decl.element
        at, _ = self.index(expr.index, here)
        terms.types |= {DataType.U64, t, unsigned(t)}
        function = terms.helpers.atomic(expr.op, t, local=decl.is_shared)
        given = [expr.expected] if expr.expected is not None else []
        values = [bare(self.expr(part, here)[0]) for part in (*given, expr.value)]
        args = ", ".join([terms.pointers[decl.name], bare(at), terms.word_length(decl), *values])
        return f"{function}({args})", t

    # -- places in memory

    def index(self, index: Expr, here: Here) -> tuple[str, bool]:
        """An index that a comparison with a length decides, and whether it takes 64 bits."""
        text, dtype = self.expr(index, here)
        if dtype.is_unsigned:
            if dtype == U32 or dtype == DataType.U64:
                return text, dtype.bits == 64
            return f"(u32){text}", False
        self.terms.types |= {DataType.U64, DataType.I64}
        return f"(u64)(i64){text}", True

    def address(self, decl: BufferDecl, index: Expr, here: Here, *, back: int = 0) -> Address:
        """Where an index is, or the element that is `back` before it; the index is checked."""
        checks, at = [], ""
        for axis, (check, text) in enumerate(self.by_axis(decl, index, here, back=back)):
            checks += [check] if check else []
            at = f"({at} * {self.terms.word_dim(decl, axis)} + {text})" if axis else text
        if not checks and not back:
            at = self._ahead(decl, index, here) or at
        return Address(tuple(checks), at)

    def _ahead(self, decl: BufferDecl, index: Expr, here: Here) -> str:
        """Where an index is by another element, if that is known to be so many before it.

        Compilers find all such elements by one address then, and a number in each load.
        """
        *outer, last = parts_of(decl, index)
        at = ""
        for axis, part in enumerate(outer):
            text, _ = self.expr(part, here)
            at = f"({at} * {self.terms.word_dim(decl, axis)} + {text})" if axis else text
        match last:
            case Lit(DataType.U32):
                start, by = "", self.expr(last, here)[0]
            case Var(name) if name in here.ahead:
                start, by = here.ahead[name]
            case Binary(BinaryOp.ADD, first, Var(name)) if name in here.ahead and decl.kept:
                start, by = here.ahead[name]  # of what a launch asks for, no index is so large
                start = f"({self.expr(first, here)[0]} + {start or '0u'})"
            case _:
                return ""
        if not start and all(_is_known(part, here) for part in outer):
            return ""
        if at:  # of an array's elements none has a number that begins again at 0
            row = f"{at} * {self.terms.word_dim(decl, len(outer))}"
            start = f"({row} + {start})" if start else f"({row})"
        return f"(({self.terms.use(DataType.U64)}){start} + {by})"

    def by_axis(
        self, decl: BufferDecl, index: Expr, here: Here, *, back: int = 0
    ) -> Iterator[tuple[str, str]]:
        """Along each axis of the array, what has to be checked of an index, and the index."""
        terms, parts = self.terms, parts_of(decl, index)
        for axis, part in enumerate(parts):
            if self.accesses.is_free_along(decl, index, axis, here):
                text, check = self.expr(part, here)[0], ""
            else:
                text, _ = self.index(part, here)
                flat = len(parts) == 1
                length = terms.word_length(decl) if flat else terms.word_dim(decl, axis)
                check = f"{text} < {length}"
            if back and axis == len(parts) - 1:
                text = f"({text} - {back}u)"
            yield check, text


def fixed_at(indices: tuple[Expr, ...], shape: tuple[int, ...]) -> int | None:
    """The place of literal indices, counted row by row; beyond the last where one is outside."""
    at = 0
    for index, extent in zip(indices, shape, strict=True):
        if not isinstance(index, Lit):
            return None
        if not 0 <= index.value < extent:
            return prod(shape)
        at = at * extent + int(index.value)
    return at


def _is_known(index: Expr, here: Here) -> bool:
    """Whether an index is a literal, or a name for one."""
    match index:
        case Var(name) if name in here.ahead:
            start, _ = here.ahead[name]
            return not start
        case _:
            return isinstance(index, Lit)


def is_short(index: Expr) -> bool:
    """Whether an index may be written twice: once to check it, once to use it."""
    parts = list(islice(expressions(index), _SHORT + 1))
    computed = (Load, Element, Atomic, Call, OpaqueExpr)
    return len(parts) <= _SHORT and not any(isinstance(part, computed) for part in parts)
