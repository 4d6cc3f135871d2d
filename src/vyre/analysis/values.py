"""What names and expressions stand for at each place of a program, and what conditions tell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from vyre.analysis.forms import (
    ONE,
    Counter,
    Gid,
    Linear,
    Poly,
    Symbol,
    extent_of,
    length_of,
    wrapped,
)
from vyre.analysis.made import MOST_WEIGHT, Known, Made, Way
from vyre.ir.declare import BufferDecl
from vyre.ir.expr import (
    Atomic,
    Binary,
    BinaryOp,
    Bitcast,
    BufDim,
    BufLen,
    Call,
    Cast,
    Expr,
    Id,
    IdKind,
    Lit,
    Load,
    OpaqueExpr,
    Select,
    Subgroup,
    Unary,
    UnaryOp,
    Var,
)
from vyre.ir.types import DataType
from vyre.ir.typing import WAVE
from vyre.ir.walk import operands

_FIRST = Lit.of(DataType.U32, 0)

Facts = tuple[Known, ...]

_MADE = frozenset(
    {
        *(BinaryOp.DIV, BinaryOp.MOD, BinaryOp.FLOOR_DIV, BinaryOp.FLOOR_MOD),
        *(BinaryOp.BIT_AND, BinaryOp.BIT_OR, BinaryOp.BIT_XOR, BinaryOp.SHR, BinaryOp.SHL),
        *(BinaryOp.MIN, BinaryOp.MAX, BinaryOp.MUL, BinaryOp.ABS_DIFF, BinaryOp.SAT_SUB),
    }
)
"""Operators of whole numbers of which a proof may know the range."""

_UNSIGNED = frozenset({BinaryOp.ABS_DIFF, BinaryOp.SAT_SUB})
"""Those that are followed in unsigned types alone."""

_COMPARED = {
    BinaryOp.LT: (BinaryOp.LT, False),
    BinaryOp.LE: (BinaryOp.LE, False),
    BinaryOp.GT: (BinaryOp.LT, True),
    BinaryOp.GE: (BinaryOp.LE, True),
    BinaryOp.EQ: (BinaryOp.EQ, False),
    BinaryOp.NE: (BinaryOp.NE, False),
}
"""A comparison as one of four, and whether its sides change places for that."""

_NEGATED = {
    BinaryOp.LT: (BinaryOp.LE, True),
    BinaryOp.LE: (BinaryOp.LT, True),
    BinaryOp.EQ: (BinaryOp.NE, False),
    BinaryOp.NE: (BinaryOp.EQ, False),
}

MOST_KNOWN = 24
"""How many comparisons are followed at a place: the innermost ones."""


@dataclass(frozen=True, slots=True)
class Test:
    """What holds where a condition does, and where it does not.

    `says_all` tells that the condition is nothing but what is known where it holds, `denies_all`
    that its opposite is nothing but what is known where it does not.
    """

    yes: Facts = ()
    no: Facts = ()
    says_all: bool = False
    denies_all: bool = False

    @property
    def negated(self) -> Test:
        return Test(self.no, self.yes, self.denies_all, self.says_all)


@dataclass(slots=True)
class Values:
    """What names stand for where a reader is; `written` are the arrays that the program changes."""

    buffers: Mapping[str, BufferDecl]
    written: frozenset[str]
    type_of: Callable[[Expr], DataType | None]
    names: dict[str, Linear | None] = field(default_factory=dict)
    fixed: dict[str, bool] = field(default_factory=dict)  # whether it is one number in a launch
    tests: dict[str, Test] = field(default_factory=dict)
    changes: list[tuple[str, Linear | None, bool]] = field(default_factory=list)
    made: int = 0

    # -- names

    def bind(self, name: str, expr: Expr) -> None:
        """A new name of a value."""
        self.names[name], self.fixed[name] = self.value(expr), self.is_fixed(expr)
        self.tests.pop(name, None)
        if self.type_of(expr) == DataType.BOOL:
            self.tests[name] = self.test(expr)

    def bind_any(self, name: str, dtype: DataType) -> None:
        """A new name of a value that nobody follows."""
        self.names[name] = self.any(dtype, name) if dtype.is_int else None
        self.fixed[name] = False
        self.tests.pop(name, None)

    def give(self, name: str, expr: Expr) -> None:
        """Another value for a name."""
        self._change(name, self.value(expr), fixed=self.is_fixed(expr))

    def _change(self, name: str, value: Linear | None, *, fixed: bool) -> None:
        self.changes.append((name, self.names.get(name), self.fixed.get(name, False)))
        self.names[name], self.fixed[name] = value, fixed
        self.tests.pop(name, None)

    def forget(self, names: Iterable[str]) -> None:
        """Names that have other values here, which nobody follows."""
        for name in names:
            before = self.names.get(name)
            value = None if before is None else self.any(before.dtype, name)
            self._change(name, value, fixed=False)

    def undone(self, mark: int) -> dict[str, tuple[Linear | None, bool]]:
        """Take back what names were given since `mark`; what they had last."""
        last: dict[str, tuple[Linear | None, bool]] = {}
        while len(self.changes) > mark:
            name, value, fixed = self.changes.pop()
            last.setdefault(name, (self.names[name], self.fixed[name]))
            self.names[name], self.fixed[name] = value, fixed
        return last

    def join(
        self,
        test: Test,
        yes: dict[str, tuple[Linear | None, bool]] | None,
        no: dict[str, tuple[Linear | None, bool]] | None,
    ) -> None:
        """Where two ways meet; None is one that never comes here."""
        for name in dict.fromkeys((*(yes or ()), *(no or ()))):
            before = self.names.get(name), self.fixed.get(name, False)
            first = None if yes is None else yes.get(name, before)
            second = None if no is None else no.get(name, before)
            if first is None or second is None:
                value, fixed = first or second or before
                self._change(name, value, fixed=fixed)
                continue
            a, b = first[0], second[0]
            value = None if a is None or b is None else self.choice(test, a, b)
            self._change(name, value, fixed=False)

    # -- numbers

    def any(self, dtype: DataType, label: str = "") -> Linear:
        """A number of which nothing is known."""
        self.made += 1
        return _only(Made(Way.ANY, (), dtype, f"{label}#{self.made}"))

    def counter(self, name: str, start: Expr, stop: Expr) -> Facts:
        """Bind a loop's counter; what holds of it in every round."""
        first, last = self.value(start), self.value(stop)
        dtype = self.type_of(start)
        self.tests.pop(name, None)
        self.fixed[name] = False
        if first is None or last is None or dtype is None:
            self.names[name] = None if dtype is None or not dtype.is_int else self.any(dtype, name)
            return ()
        if first.is_uniform and last.is_uniform:
            counter = Counter(name, first.offset, last.offset, dtype)
            self.names[name] = Linear({counter: ONE}, Poly(), dtype)
            return ()
        here = self.names[name] = self.any(dtype, name)
        return Known(BinaryOp.LE, first, here), Known(BinaryOp.LT, here, last)

    def value(self, expr: Expr) -> Linear | None:
        """The whole number that an expression is here; None where it is none."""
        match expr:
            case Lit(dtype):
                return Linear.uniform(Poly.of(int(expr.value)), dtype) if dtype.is_int else None
            case Var(name):
                return self.names.get(name)
            case Id(IdKind.INVOCATION, axis):
                return Linear({Gid(axis): ONE}, Poly(), DataType.U32)
            case Id(IdKind.EXTENT, axis):
                return Linear.uniform(Poly.of(Symbol("extent", axis=axis)), DataType.U32)
            case BufLen(buffer):
                return Linear.uniform(length_of(self.buffers[buffer]), DataType.U32)
            case BufDim(buffer, axis):
                return Linear.uniform(extent_of(self.buffers[buffer], axis), DataType.U32)
            case Load(buffer, index):
                return self.loaded(self.buffers[buffer], index)
            case Cast(target, value) | Bitcast(target, value) if target.is_int:
                inner = self.value(value)
                return self.any(target) if inner is None else cast(inner, target)
            case Binary(op, left, right):
                a = self.value(left)
                b = self.value(right) if a is not None else None
                found = None if a is None or b is None else _binary(op, a, b)
                return found or self._other(expr)
            case Unary(op, operand):
                a = self.value(operand)
                return (None if a is None else _unary(op, a)) or self._other(expr)
            case Select(cond, true, false):
                a, b = self.value(true), self.value(false)
                return None if a is None or b is None else self.choice(self.test(cond), a, b)
            case _:
                return self._other(expr)

    def _other(self, expr: Expr) -> Linear | None:
        dtype = self.type_of(expr)
        return self.any(dtype) if dtype is not None and dtype.is_int else None

    def loaded(self, decl: BufferDecl, index: Expr) -> Linear | None:
        if not decl.element.is_int:
            return None
        if decl.is_scalar_argument:
            if index == _FIRST:
                return Linear.uniform(Poly.of(Symbol("scalar", decl.name)), decl.element)
            return self.any(decl.element)
        place = self.value(index)
        if decl.name in self.written or decl.is_shared or place is None:
            return self.any(decl.element)
        made = Made(Way.LOAD, (place,), decl.element, decl.name)
        return _only(made) if made.weight <= MOST_WEIGHT else self.any(decl.element)

    def choice(self, test: Test, yes: Linear, no: Linear) -> Linear:
        """One of two numbers."""
        if yes == no:
            return yes
        if test.denies_all and not test.says_all:
            return self.choice(test.negated, no, yes)
        # What is known of a condition need not be all of it: such choices are told apart.
        label = "" if test.says_all else f"select#{self.made}"
        self.made += not test.says_all
        made = Made(Way.SELECT, (yes, no), yes.dtype, label, test.yes, test.no)
        found = _only(made, decided=test.says_all and all(one.is_uniform for one in test.yes))
        return found if found.weight <= MOST_WEIGHT else self.any(yes.dtype)

    # -- conditions

    def test(self, cond: Expr) -> Test:
        """What a condition tells."""
        match cond:
            case Var(name):
                return self.tests.get(name, Test())
            case Unary(UnaryOp.LOGICAL_NOT, operand):
                return self.test(operand).negated
            case Binary(BinaryOp.AND, left, right):
                a, b = self.test(left), self.test(right)
                return Test((*a.yes, *b.yes), (), says_all=a.says_all and b.says_all)
            case Binary(BinaryOp.OR, left, right):
                a, b = self.test(left), self.test(right)
                return Test((), (*a.no, *b.no), denies_all=a.denies_all and b.denies_all)
            case Binary(op, left, right) if op in _COMPARED:
                a_, b_ = self.value(left), self.value(right)
                if a_ is None or b_ is None or a_.weight + b_.weight > MOST_WEIGHT:
                    return Test()
                means, turned = _COMPARED[op]
                known = Known(means, b_, a_) if turned else Known(means, a_, b_)
                means, turned = _NEGATED[known.op]
                pair = (known.right, known.left) if turned else (known.left, known.right)
                return Test((known,), (Known(means, *pair),), says_all=True, denies_all=True)
            case _:
                return Test()

    # -- what all invocations agree on, all the time

    def is_fixed(self, expr: Expr) -> bool:
        """Whether an expression is one number in a launch, wherever and whenever it is computed."""
        match expr:
            case Lit() | BufLen() | BufDim():
                return True
            case Id(kind):
                return kind is IdKind.EXTENT
            case Var(name):
                return self.fixed.get(name, False)
            case Load(buffer, index):
                decl = self.buffers[buffer]
                changes = buffer in self.written or decl.is_shared
                return (decl.is_scalar_argument or not changes) and self.is_fixed(index)
            case Atomic() | Call() | OpaqueExpr() | Subgroup():
                return False
            case Binary(op) if op in WAVE:
                return False
            case _:
                return all(map(self.is_fixed, operands(expr)))


def _only(made: Made, *, decided: bool = True) -> Linear:
    """A number by itself; one of the launch, where it is made of such alone."""
    alike = made.how not in (Way.ANY, Way.LOAD) and decided
    if alike and all(operand.is_uniform for operand in made.operands):
        return Linear.uniform(Poly.of(Symbol("made", str(made), made=made)), made.dtype)
    return Linear({made: ONE}, Poly(), made.dtype)


def cast(form: Linear, target: DataType) -> Linear:
    """A number in another type of whole numbers."""
    if target.bits == form.dtype.bits:
        return Linear(form.terms, form.offset, target)
    constant = form.offset.constant
    if form.is_uniform and constant is not None:
        value = wrapped(constant, form.dtype)
        return Linear.uniform(Poly.of(wrapped(value, target)), target)
    return _only(Made(Way.CAST, (form,), target))


def _unary(op: UnaryOp, form: Linear) -> Linear | None:
    match op:
        case UnaryOp.NEGATE:
            return form.times(-ONE)
        case UnaryOp.BIT_NOT:  # -x - 1, in any width
            return form.times(-ONE).combine(Linear.uniform(ONE, form.dtype), -1)
        case UnaryOp.ABS:
            return _kept(Made(op, (form,), form.dtype))
        case _:
            return None


def _binary(op: BinaryOp, left: Linear, right: Linear) -> Linear | None:
    found = linear(op, left, right)
    if found is not None and found.is_small and found.weight <= MOST_WEIGHT:
        return found
    if op not in _MADE or (op in _UNSIGNED and not left.dtype.is_unsigned):
        return None
    return _kept(Made(op, (left, right), left.dtype))


def _kept(made: Made) -> Linear | None:
    small = made.weight <= MOST_WEIGHT and all(operand.is_small for operand in made.operands)
    return _only(made) if small else None


def linear(op: BinaryOp, left: Linear, right: Linear) -> Linear | None:
    """A sum or a product of two numbers, where that is linear."""
    match op:
        case BinaryOp.ADD | BinaryOp.WRAP_ADD:
            return left.combine(right, 1)
        case BinaryOp.SUB | BinaryOp.WRAP_SUB:
            return left.combine(right, -1)
        case BinaryOp.MUL if right.is_uniform:
            return left.times(right.offset)
        case BinaryOp.MUL if left.is_uniform:
            return right.times(left.offset)
        case BinaryOp.SHL if right.is_uniform and right.offset.constant is not None:
            return left.times(Poly.of(1 << (right.offset.constant % left.dtype.bits)))
        case _:
            return None
