"""What the whole numbers of a kernel are, line by line, if nothing in them wraps around."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

from vyre.ir.declare import Access, Dim3
from vyre.ir.expr import (
    Array,
    Atomic,
    Binary,
    BinaryOp,
    Bitcast,
    BufDim,
    BufLen,
    Cast,
    Element,
    Expr,
    FlatIndex,
    Id,
    IdKind,
    Lit,
    Load,
    Select,
    Unary,
    UnaryOp,
    Var,
)
from vyre.ir.node import (
    Assign,
    Break,
    Continue,
    If,
    Let,
    Loop,
    Node,
    Reduce,
    Return,
    Store,
    Trap,
    While,
    Yield,
)
from vyre.ir.program import Program
from vyre.ir.types import DataType, int_range
from vyre.ir.typing import COMPARISONS, LOGICAL
from vyre.ir.walk import bodies, expressions, operands, statements
from vyre.lang.bounds import Bounds, Key, Sum, Unknown
from vyre.lang.source import Places


@dataclass(frozen=True, slots=True)
class Number:
    """The value of an expression; for an unsigned one, as it would be if nothing wrapped.

    `wraps` is a difference in it that may be below 0, as its author wrote it. `is_below` says that
    it is certain to be so in some lane, where that does not follow from the sum.
    """

    dtype: DataType | None
    total: Sum | None = None
    wraps: Expr | None = None
    is_below: bool = False
    is_carried: bool = False  # whether it is an earlier round of a loop that took it away


_MOST_TERMS = 8
_MOST_BITS = 70
_NEGATED = {
    BinaryOp.LT: BinaryOp.GE,
    BinaryOp.LE: BinaryOp.GT,
    BinaryOp.GT: BinaryOp.LE,
    BinaryOp.GE: BinaryOp.LT,
    BinaryOp.EQ: BinaryOp.NE,
    BinaryOp.NE: BinaryOp.EQ,
}
QUOTIENTS = (BinaryOp.DIV, BinaryOp.FLOOR_DIV)
REMAINDERS = (BinaryOp.MOD, BinaryOp.FLOOR_MOD)
_AS_BITS = (
    *(BinaryOp.BIT_AND, BinaryOp.BIT_OR, BinaryOp.BIT_XOR, BinaryOp.ROT_L, BinaryOp.ROT_R),
    *(BinaryOp.WRAP_ADD, BinaryOp.WRAP_SUB),
)
_NOT_ABOVE_RIGHT = (BinaryOp.BIT_AND, BinaryOp.MIN)
_NOT_ABOVE_LEFT = (*_NOT_ABOVE_RIGHT, *QUOTIENTS, *REMAINDERS, BinaryOp.SHR, BinaryOp.SAT_SUB)
_COUNTS_BITS = (UnaryOp.POPCOUNT, UnaryOp.CLZ, UnaryOp.CTZ)
_TRUE_OR_FALSE = (UnaryOp.LOGICAL_NOT, UnaryOp.IS_NAN, UnaryOp.IS_INF, UnaryOp.IS_FINITE)


class Numbers(ABC):
    """Reads a program and knows its numbers; what they are used for is left to who extends it."""

    @abstractmethod
    def used(self, expr: Expr, *parts: Number) -> None: ...

    @abstractmethod
    def counted(self, bound: Number) -> None: ...

    def __init__(self, program: Program, places: Places, workgroup: Dim3 | None) -> None:
        self.buffers = {decl.name: decl for decl in program.buffers}
        self.places, self.workgroup = places, workgroup
        self.whole_groups = program.runs_whole_workgroups
        self.bounds = Bounds()
        self.changed = {node.name for node in statements(program.entry) if isinstance(node, Assign)}
        self.of_data: set[str] = set()  # names whose values do not go by where a lane is
        self.names: dict[str, Number] = {}
        self.journal: list[tuple[str, Number | None]] = []
        self.stores = 0  # so many that what was loaded before may be another number now
        self.made = 0
        self.is_looking = True  # whether uses count, or numbers are only asked for again

    # -- statements

    def body(self, nodes: Sequence[Node]) -> bool:
        """Read statements; whether control comes out at their end."""
        mark, goes_on = self.bounds.mark(), True
        for node in nodes:
            goes_on = goes_on and self.statement(node)
        self.bounds.back_to(mark)
        return goes_on

    def statement(self, node: Node) -> bool:
        match node:
            case Let(name, value) | Assign(name, value):
                self.give(name, self.number(value))
                self.of_data.discard(name)
                if name not in self.changed and not self.is_positional(value):
                    self.of_data.add(name)
            case Store(_, index, value):
                self.number(index)
                self.number(value)
                self.stores += 1
            case If():
                return self.branches(node)
            case Loop() | While():
                self.rounds(node)
            case Reduce():
                self.reduced(node)
            case Yield(value):
                self.number(value)
            case Break() | Continue() | Return() | Trap():
                return False
            case _:
                self.stores += 1
                for expr in operands(node):
                    self.number(expr)
                return all(self.body(body) for body in bodies(node))
        return True

    def give(self, name: str, number: Number) -> None:
        self.journal.append((name, self.names.get(name)))
        self.names[name] = number

    def rolled_back(self, mark: int) -> dict[str, Number]:
        """Forget what was given since `mark`; what names had last that were there before."""
        last: dict[str, Number] = {}
        while len(self.journal) > mark:
            name, before = self.journal.pop()
            if before is None:
                del self.names[name]
                last.pop(name, None)
            else:
                last.setdefault(name, self.names[name])
                self.names[name] = before
        return last

    def branches(self, node: If) -> bool:
        self.number(node.cond)
        ends: dict[bool, dict[str, Number]] = {}
        for holds, body in ((True, node.then), (False, node.otherwise)):
            mark, back = len(self.journal), self.bounds.mark()
            self.learn(node.cond, holds=holds)
            goes_on = self.body(body)
            last = self.rolled_back(mark)
            if goes_on:
                ends[holds] = {name: self.settled(number) for name, number in last.items()}
            self.bounds.back_to(back)
        for name in dict.fromkeys(name for end in ends.values() for name in end):
            numbers = [end.get(name, self.names[name]) for end in ends.values()]
            self.give(name, self.joined(*numbers))
        if len(ends) == 1:
            self.learn(node.cond, holds=True in ends)
        return bool(ends)

    def joined(self, first: Number, *others: Number) -> Number:
        """One of several numbers."""
        if all(number == first for number in others):
            return first
        numbers = (first, *others)
        low = min(self.bounds.low(n.total) if n.total else 0 for n in numbers)
        high = max(self.bounds.high(n.total) if n.total else _most(n.dtype) for n in numbers)
        wrapped = self.first_wrapped(*numbers)
        if wrapped is None:
            return self.opaque(first.dtype, Unknown(max(low, 0), high, is_mixed=True))
        below = any(self.is_below(number) for number in numbers)
        return replace(self.doubtful(first.dtype, wrapped, low), is_below=below)

    def rounds(self, node: Loop | While) -> None:
        counter = self.counter(node) if isinstance(node, Loop) else None
        mark, back = len(self.journal), self.bounds.mark()
        self.forget(node.body)
        if isinstance(node, While):
            self.number(node.cond)
            self.learn(node.cond, holds=True)
        elif counter is not None:
            self.give(node.var, counter)
        self.body(node.body)
        self.bounds.back_to(back)
        self.rolled_back(mark)
        self.forget(node.body)

    def counter(self, node: Loop) -> Number:
        start, stop = self.number(node.start), self.number(node.stop)
        for bound in (start, stop):
            self.counted(bound)
        if start.total is None or stop.total is None or not start.dtype or self.may_wrap(start):
            return self.opaque(start.dtype)
        starts = self.bounds.doubts if isinstance(node.start, Lit) else None
        low = max(self.bounds.low(start.total), 0)
        made = self.opaque(start.dtype, Unknown(low, starts=starts))
        assert made.total is not None, "it is unsigned, as its start is"
        (key,) = made.total.factors
        left = stop.total.plus(made.total, -1).plus(Sum.of(1), -1)
        right = [] if self.may_wrap(stop) else [left]
        self.bounds.relations[key] = (made.total.plus(start.total, -1), *right)
        return made

    def reduced(self, node: Reduce) -> None:
        counter = self.round_of(node)
        mark, back = len(self.journal), self.bounds.mark()
        self.give(node.var, counter)
        self.body(node.body)
        self.bounds.back_to(back)
        self.rolled_back(mark)
        self.give(node.name, self.opaque(node.result.computed))

    def round_of(self, node: Reduce) -> Number:
        """A round of a reduction, which begins at 0 and ends by the bounds of its range."""
        self.number(node.rounds)
        made = self.opaque(DataType.U32, Unknown(0, starts=self.bounds.doubts))
        low, high, step = _range(node.rounds)
        start, stop = self.number(low), self.number(high)
        for bound in (start, stop):
            self.counted(bound)
        if start.total is None or stop.total is None or self.first_wrapped(start, stop):
            return made
        assert made.total is not None, "it is unsigned"
        (key,) = made.total.factors
        distance = stop.total.plus(start.total, -1)
        self.bounds.relations[key] = (distance.plus(made.total, -step).plus(Sum.of(1), -1),)
        return made

    def forget(self, body: Sequence[Node]) -> None:
        """Know nothing of what a loop changes but that it takes something away, where it does."""
        self.stores += 1
        for node in statements(body):
            if isinstance(node, Assign) and (before := self.names.get(node.name)):
                taken = self.taken_away(node)
                wraps = before.wraps if taken is None else taken
                made = replace(self.opaque(before.dtype), wraps=wraps, is_carried=bool(wraps))
                self.give(node.name, made)

    def taken_away(self, node: Assign) -> Expr | None:
        """The difference that a name is given of which itself is a part."""
        for part in expressions(node.value):
            is_difference = isinstance(part, Binary) and part.op is BinaryOp.SUB
            if is_difference and self.places.of(part) and Var(node.name) in operands(part):
                return part
        return None

    # -- what branches tell

    def learn(self, test: Expr, *, holds: bool) -> None:
        """A condition holds from here on, or does not."""
        match test:
            case Unary(UnaryOp.LOGICAL_NOT, operand):
                self.learn(operand, holds=not holds)
            case Binary(BinaryOp.AND, left, right) if holds:
                self.learn(left, holds=True)
                self.learn(right, holds=True)
            case Binary(BinaryOp.OR, left, right) if not holds:
                self.learn(left, holds=False)
                self.learn(right, holds=False)
            case Binary(op, left, right) if op in _NEGATED:
                looking, self.is_looking = self.is_looking, False
                a, b = self.number(left), self.number(right)
                self.is_looking = looking
                if a.total is None or b.total is None or self.first_wrapped(a, b):
                    self.doubt(test)
                else:
                    self.compared(op if holds else _NEGATED[op], a.total, b.total)
            case _:
                self.doubt(test)

    def doubt(self, test: Expr) -> None:
        """A condition keeps lanes away, but nobody knows which; by data alone it may be none."""
        if self.is_positional(test):
            self.bounds.doubt()

    def is_positional(self, expr: Expr) -> bool:
        """Whether a value may go by where a lane is, other than by what is loaded there."""
        match expr:
            case Load():
                return False
            case Var(name):
                return name not in self.of_data
            case Id(kind):
                return kind not in (IdKind.EXTENT, IdKind.WORKGROUP_SIZE)
            case _:
                return any(self.is_positional(part) for part in operands(expr))

    def compared(self, op: BinaryOp, a: Sum, b: Sum) -> None:
        above, below, one = a.plus(b, -1), b.plus(a, -1), Sum.of(1)
        match op:
            case BinaryOp.GE:
                self.bounds.learn(above)
            case BinaryOp.GT:
                self.bounds.learn(above.plus(one, -1))
            case BinaryOp.LE:
                self.bounds.learn(below)
            case BinaryOp.LT:
                self.bounds.learn(below.plus(one, -1))
            case BinaryOp.EQ:
                self.bounds.learn(above)
                self.bounds.learn(below)
            case _:  # they differ: who is not below the other is above it
                for difference in (above, below):
                    if self.bounds.is_whole(difference):
                        self.bounds.learn(difference.plus(one, -1))

    # -- expressions

    def number(self, expr: Expr) -> Number:
        match expr:
            case Lit(dtype):
                total = Sum.of(int(expr.value)) if dtype.is_unsigned else None
                return Number(dtype.computed, total)
            case Var(name):
                return self.names.get(name) or Number(None)
            case Id(kind, axis):
                return self.position(kind, axis)
            case BufLen(buffer):
                return self.size(("len", buffer), self.buffers[buffer].count)
            case BufDim(buffer, axis):
                shape = self.buffers[buffer].shape or (self.buffers[buffer].count,)
                return self.size(("dim", buffer, axis), shape[axis])
            case Load(buffer, index):
                return self.loaded(buffer, self.number(index))
            case Cast(target, value):
                return self.cast(self.inside(expr, value)[0], target)
            case Bitcast(target, value):
                self.number(value)
                return self.opaque(target)
            case Select(cond, true, false):
                self.number(cond)
                return self.joined(*self.sides(cond, true, false))
            case Binary(op, left, right) if op in LOGICAL:
                self.number(left)
                back = self.bounds.mark()
                self.learn(left, holds=op is BinaryOp.AND)
                self.number(right)
                self.bounds.back_to(back)
                return Number(DataType.BOOL)
            case Binary(op, left, right):
                return self.binary(expr, op, *self.inside(expr, left, right))
            case Unary(op, operand):
                return self.unary(expr, op, *self.inside(expr, operand))
            case Array():
                return Number(expr.type)
            case _:
                parts = [self.number(part) for part in operands(expr)]
                if isinstance(expr, Element):
                    held = parts[0].dtype
                    return self.opaque(held.element if held is not None else None)
                if isinstance(expr, FlatIndex):
                    return self.opaque(DataType.U32)
                if isinstance(expr, Atomic):
                    self.stores += 1
                    return self.opaque(self.buffers[expr.buffer].element)
                return Number(parts[0].dtype if parts else None)

    def inside(self, expr: Expr, *parts: Expr) -> list[Number]:
        """The numbers that an expression is made of, which it uses."""
        found = [self.number(part) for part in parts]
        if self.is_looking:
            self.used(expr, *found)
        return found

    def sides(self, cond: Expr, true: Expr, false: Expr) -> list[Number]:
        found = []
        for holds, side in ((True, true), (False, false)):
            back = self.bounds.mark()
            self.learn(cond, holds=holds)
            found.append(self.settled(self.number(side)))
            self.bounds.back_to(back)
        return found

    def settled(self, number: Number) -> Number:
        """A number with what is known of it here, for where that is not known any more."""
        if self.may_wrap(number) is None:
            return replace(number, wraps=None, is_carried=False)
        if number.is_carried or self.is_below(number):
            return number
        low = self.bounds.low(number.total) if number.total else 0
        return self.doubtful(number.dtype, number, low)

    def opaque(
        self,
        dtype: DataType | None,
        limits: Unknown | None = None,
        key: Key = None,
        relations: Sequence[Sum] = (),
    ) -> Number:
        """A number of which little is known."""
        if dtype is None or not dtype.is_unsigned:
            return Number(dtype)
        self.made += 1
        most = Unknown(0, _most(dtype), is_mixed=key is None)
        return Number(dtype, self.bounds.unknown(key or self.made, limits or most, relations))

    def position(self, kind: IdKind, axis: int) -> Number:
        fixed = self.workgroup[axis] if self.workgroup else 0
        match kind:
            case IdKind.WORKGROUP_SIZE if fixed:
                return Number(DataType.U32, Sum.of(fixed))
            case IdKind.EXTENT | IdKind.WORKGROUP_SIZE:
                return self.opaque(DataType.U32, Unknown(1), (kind, axis))
            case IdKind.LOCAL if fixed:
                return self.opaque(DataType.U32, Unknown(0, fixed - 1, starts=0), (kind, axis))
            case IdKind.INVOCATION if not self.whole_groups:
                extent = self.position(IdKind.EXTENT, axis).total
                assert extent is not None, "it is unsigned"
                last = extent.plus(Sum({(kind, axis): 1}, 1), -1)
                return self.opaque(DataType.U32, Unknown(starts=0), (kind, axis), [last])
            case _:
                return self.opaque(DataType.U32, Unknown(starts=0), (kind, axis))

    def size(self, key: Key, fixed: int) -> Number:
        if fixed:
            return Number(DataType.U32, Sum.of(fixed))
        return self.opaque(DataType.U32, key=key)

    def loaded(self, buffer: str, index: Number) -> Number:
        decl = self.buffers[buffer]
        if index.total is None:
            return self.opaque(decl.element.computed)
        changes = decl.access not in (Access.READ_ONLY, Access.UNIFORM)
        version = self.stores if changes else 0
        key = ("load", buffer, version, index.total.key)
        return self.opaque(decl.element.computed, key=key)

    def cast(self, inner: Number, target: DataType) -> Number:
        dtype = inner.dtype
        if dtype is not None and dtype.is_unsigned and target.is_unsigned:
            if target.bits > dtype.bits:
                return replace(inner, dtype=target, wraps=None)
            if target == dtype:
                return inner
        high = 1 if dtype is not None and dtype.is_bool else _most(target)
        return self.opaque(target.computed, Unknown(0, high))

    def unary(self, expr: Expr, op: UnaryOp, inner: Number) -> Number:
        dtype = DataType.BOOL if op in _TRUE_OR_FALSE else inner.dtype
        if dtype is None or not dtype.is_unsigned:
            return Number(dtype)
        if op is UnaryOp.NEGATE and inner.total is not None and self.places.of(expr):
            return Number(dtype, inner.total.times(-1), expr, is_below=True)
        if op in _COUNTS_BITS:
            return self.opaque(dtype, Unknown(0, dtype.bits))
        return self.opaque(dtype)

    def binary(self, expr: Expr, op: BinaryOp, a: Number, b: Number) -> Number:
        dtype = DataType.BOOL if op in COMPARISONS else a.dtype or b.dtype
        if dtype is None or not dtype.is_unsigned:
            return Number(dtype)
        if a.total is None or b.total is None:
            return self.opaque(dtype)
        match op:
            case BinaryOp.ADD:
                return self.kept(dtype, a.total.plus(b.total), a, b)
            case BinaryOp.SUB if self.places.of(expr):
                total = a.total.plus(b.total, -1)
                found = self.kept(dtype, total, a, b)
                is_whole = self.bounds.is_whole(total)
                return replace(found, wraps=None if is_whole else expr, is_carried=False)
            case BinaryOp.MUL if not b.total.factors:
                return self.kept(dtype, a.total.times(b.total.constant), a)
            case BinaryOp.MUL if not a.total.factors:
                return self.kept(dtype, b.total.times(a.total.constant), b)
            case BinaryOp.SHL if not b.total.factors:
                factor = 1 << (b.total.constant % dtype.bits)
                return self.kept(dtype, a.total.times(factor), a)
            case BinaryOp.MUL:
                return self.product(dtype, a, b)
            case _:
                wrapped = self.first_wrapped(a, b)
                if wrapped is None:
                    return self.limited(op, dtype, a.total, b.total)
                # Bits of it are bits; a part of a number that is wrong is wrong too.
                return self.opaque(dtype) if op in _AS_BITS else self.doubtful(dtype, wrapped)

    def first_wrapped(self, *numbers: Number) -> Number | None:
        return next((number for number in numbers if self.may_wrap(number) is not None), None)

    def doubtful(self, dtype: DataType | None, wrapped: Number, low: float = -inf) -> Number:
        """A number of which little is known but that one in it may have wrapped."""
        made = self.opaque(dtype, Unknown(low, is_mixed=True))
        return replace(made, wraps=wrapped.wraps, is_carried=wrapped.is_carried)

    def may_wrap(self, number: Number) -> Expr | None:
        """The difference in a number that may be below 0, if the number itself may."""
        if (
            number.total is not None
            and self.bounds.is_whole(number.total)
            and not number.is_carried
        ):
            return None
        return number.wraps

    def is_below(self, number: Number) -> bool:
        """Whether a number is certain to be below 0 in some lane."""
        if number.wraps is None or number.is_carried:
            return False
        if number.is_below:
            return not self.bounds.closed
        return number.total is not None and self.bounds.is_below_somewhere(number.total)

    def kept(self, dtype: DataType, total: Sum, *parts: Number) -> Number:
        """A number that is the sum of its parts, as far as that is worth following."""
        wrapped = self.first_wrapped(*parts)
        is_long = len(total.factors) > _MOST_TERMS or total.constant.bit_length() > _MOST_BITS
        if is_long:
            return self.opaque(dtype) if wrapped is None else self.doubtful(dtype, wrapped)
        made = Number(dtype, total)
        if wrapped is None:
            return made
        return replace(made, wraps=wrapped.wraps, is_carried=wrapped.is_carried)

    def product(self, dtype: DataType, a: Number, b: Number) -> Number:
        wrapped = self.first_wrapped(a, b)
        if wrapped is None:
            return self.opaque(dtype)
        below = any(
            self.is_below(one) and other.total is not None and self.bounds.low(other.total) >= 1
            for one, other in ((a, b), (b, a))
        )
        return replace(self.doubtful(dtype, wrapped), is_below=below)

    def limited(self, op: BinaryOp, dtype: DataType, a: Sum, b: Sum) -> Number:
        """A number that is not above, or not below, those it is made of."""
        key = (op, a.key, b.key)
        made, relations = Sum({key: 1}, 0), list[Sum]()
        low, high = 0.0, _most(dtype)
        for part, is_not_above in ((a, op in _NOT_ABOVE_LEFT), (b, op in _NOT_ABOVE_RIGHT)):
            if is_not_above:
                relations.append(part.plus(made, -1))
                high = min(high, self.bounds.high(part))
        if op in REMAINDERS:
            high = min(high, max(self.bounds.high(b) - 1, 0))
        if op is BinaryOp.MAX:
            relations += [made.plus(a, -1), made.plus(b, -1)]
            low = max(self.bounds.low(a), self.bounds.low(b), 0)
        return self.opaque(dtype, Unknown(low, high, is_mixed=True), key, relations)


def _most(dtype: DataType | None) -> float:
    """The most that a number of a type is; of wide types no number comes near it."""
    if dtype is None or not dtype.is_unsigned or dtype.bits > 16:
        return inf
    return int_range(dtype)[1]


def _range(rounds: Expr) -> tuple[Expr, Expr, int]:
    """The least bound of a range, the greatest and the step between, as its rounds were made."""
    match rounds:
        case Cast(_, inner) | Binary(BinaryOp.MIN, inner, Lit()):
            return _range(inner)
        case Select(Binary(BinaryOp.LT, low, high), count, Lit()):
            return low, high, _step(count)
        case _:
            return Lit.of(DataType.U32, 0), rounds, 1


def _step(count: Expr) -> int:
    match count:
        case Binary(BinaryOp.ADD, Binary(BinaryOp.DIV, _, Lit() as size)):
            return int(size.value)
        case _:
            return 1
