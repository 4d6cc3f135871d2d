"""The type of every expression, and what is wrong where it has none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from vyre.ir.declare import Access, BufferDecl
from vyre.ir.expr import (
    Array,
    Atomic,
    AtomicOp,
    Binary,
    BinaryOp,
    Bitcast,
    BufDim,
    BufLen,
    Cast,
    Element,
    Expr,
    FlatIndex,
    Fma,
    Id,
    Lit,
    Load,
    Put,
    Select,
    Subgroup,
    SubgroupOp,
    Unary,
    UnaryOp,
    Var,
)
from vyre.ir.types import SCALARS, DataType
from vyre.ir.walk import operands

COMPARISONS = frozenset(
    {BinaryOp.EQ, BinaryOp.NE, BinaryOp.LT, BinaryOp.GT, BinaryOp.LE, BinaryOp.GE}
)
LOGICAL = frozenset({BinaryOp.AND, BinaryOp.OR})
SHIFTS = frozenset({BinaryOp.SHL, BinaryOp.SHR, BinaryOp.ROT_L, BinaryOp.ROT_R})
WAVE = frozenset({BinaryOp.SHUFFLE, BinaryOp.BALLOT, BinaryOp.WAVE_REDUCE, BinaryOp.WAVE_BROADCAST})
_BITWISE = frozenset({BinaryOp.BIT_AND, BinaryOp.BIT_OR, BinaryOp.BIT_XOR})
_INT_ONLY = frozenset(
    {BinaryOp.SAT_ADD, BinaryOp.SAT_SUB, BinaryOp.SAT_MUL, BinaryOp.MUL_HIGH}
    | {BinaryOp.WRAP_ADD, BinaryOp.WRAP_SUB}
)
_FLOAT_ONLY = frozenset({BinaryOp.POW, BinaryOp.ATAN2, BinaryOp.HYPOT, BinaryOp.COPYSIGN})

_UNARY_ANY_NUMBER = frozenset({UnaryOp.NEGATE, UnaryOp.ABS, UnaryOp.SIGN})
_UNARY_INT = frozenset(
    {UnaryOp.BIT_NOT, UnaryOp.POPCOUNT, UnaryOp.CLZ, UnaryOp.CTZ, UnaryOp.REVERSE_BITS}
)
_UNARY_TEST = frozenset({UnaryOp.IS_NAN, UnaryOp.IS_INF, UnaryOp.IS_FINITE})
UNPACKS = frozenset(
    {UnaryOp.UNPACK4_LOW, UnaryOp.UNPACK4_HIGH, UnaryOp.UNPACK8_LOW, UnaryOp.UNPACK8_HIGH}
)
TRANSCENDENTAL = frozenset(
    {UnaryOp.COS, UnaryOp.SIN, UnaryOp.TAN, UnaryOp.ACOS, UnaryOp.ASIN, UnaryOp.ATAN}
    | {UnaryOp.TANH, UnaryOp.SINH, UnaryOp.COSH}
    | {UnaryOp.ASINH, UnaryOp.ACOSH, UnaryOp.ATANH}
    | {UnaryOp.EXP, UnaryOp.EXP2, UnaryOp.EXPM1}
    | {UnaryOp.LOG, UnaryOp.LOG2, UnaryOp.LOG10, UnaryOp.LOG1P}
    | {UnaryOp.CBRT, UnaryOp.ERF, UnaryOp.ERFC}
)
"""Functions whose last bits differ between devices; all others are exact."""


@dataclass(frozen=True, slots=True)
class TypeProblem:
    """Why an expression has no type, and how to give it one."""

    problem: str
    fix: str


@dataclass(frozen=True, slots=True)
class Scope:
    """The names and buffers that an expression can use."""

    names: Mapping[str, DataType | None]
    buffers: Mapping[str, BufferDecl]


Report = Callable[[TypeProblem], None]


def has_bits(dtype: DataType) -> bool:
    """Whether a value of a type can be seen as its bits: what is computed as it is stored."""
    return (dtype.is_int or dtype.is_float) and dtype.computed == dtype


_WITH_BITS = ", ".join(str(dtype) for dtype in SCALARS if has_bits(dtype))


def type_of(expr: Expr, scope: Scope, report: Report) -> DataType | None:
    """The type of `expr`; None, after telling `report` once, where it has none.

    What no backend here can see into (calls, subgroups, unknown extensions) has no type either and
    is not a problem.
    """

    def say(problem: str, fix: str) -> None:
        report(TypeProblem(problem, fix))

    def inner(part: Expr) -> DataType | None:
        return type_of(part, scope, report)

    def index(part: Expr, buffer: str) -> None:
        found = inner(part)
        if found is not None and not found.is_int:
            say(f"index of {buffer!r} is {found}", "index with a whole number")

    def access(name: str, verb: str, refused: tuple[Access, ...], instead: str) -> DataType | None:
        decl = scope.buffers.get(name)
        if decl is None:
            known = ", ".join(scope.buffers) or "none"
            say(f"no buffer {name!r}; declared: {known}", "declare it, or use a declared name")
            return None
        if decl.access in refused:
            say(f"{verb} {decl.access.name.lower()} buffer {name!r}", instead)
        return decl.element.computed

    match expr:
        case Lit(dtype):
            return dtype.computed
        case Var(name):
            if name not in scope.names:
                say(f"no name {name!r} here", "bind it with let before this statement")
                return None
            return scope.names[name]
        case Load(buffer, at):
            index(at, buffer)
            return access(
                buffer, "load from", (Access.WRITE_ONLY,), "declare it read_write to read it back"
            )
        case BufLen(buffer):
            access(buffer, "length of", (), "")
            return DataType.U32
        case BufDim(buffer, axis):
            access(buffer, "extent of", (), "")
            decl = scope.buffers.get(buffer)
            if decl is not None and axis not in range(decl.rank):
                say(f"axis {axis} of buffer {buffer!r} of rank {decl.rank}", "use one of its axes")
            return DataType.U32
        case FlatIndex(buffer, indices):
            for part in indices:
                index(part, buffer)
            access(buffer, "index of", (), "")
            decl = scope.buffers.get(buffer)
            if decl is not None and len(indices) != decl.rank:
                say(
                    f"{len(indices)} indices into buffer {buffer!r} of rank {decl.rank}",
                    "give one index per axis",
                )
            return DataType.U32
        case Id():
            return DataType.U32
        case Binary(op, left, right):
            return _binary(op, inner(left), inner(right), say)
        case Unary(op, operand):
            return _unary(op, inner(operand), say)
        case Select(cond, true, false):
            test, a, b = inner(cond), inner(true), inner(false)
            if any(side is not None and side.is_shaped for side in (a, b)):
                say("select between arrays", "select between their elements")
                return None
            if test is not None and not test.is_bool:
                say(f"condition of select is {test}", "compare it with something")
            if a is not None and b is not None and a != b:
                say(f"select between {a} and {b}", "cast one side")
                return None
            return a or b
        case Cast(target, value):
            found = inner(value)
            if not target.is_scalar or (found is not None and not found.is_scalar):
                say(f"cast from {found} to {target}", "cast between scalar types")
            return target.computed
        case Bitcast(target, value):
            return _bitcast(target, inner(value), say)
        case Array():
            return expr.type
        case Element(array, indices):
            return _element(array, indices, inner, say)
        case Put(array, indices, value):
            element, found = _element(array, indices, inner, say), inner(value)
            if element is not None and found is not None and found != element:
                say(f"the array holds {element}, the value is {found}", f"cast it to {element}")
            return scope.names.get(array.name) if isinstance(array, Var) else None
        case Fma(a, b, c):
            found_all = {found for part in (a, b, c) if (found := inner(part)) is not None}
            if len(found_all) > 1 or any(not found.is_float for found in found_all):
                names = ", ".join(sorted(str(found) for found in found_all))
                say(f"fma of {names}", "give it three values of one float type")
                return None
            return next(iter(found_all), None)
        case Atomic():
            stored = scope.buffers.get(expr.buffer)
            size = stored.element.min_bytes if stored else 4
            return _atomic(expr, size, inner, index, access, say)
        case Subgroup(op, args):
            for part in args:
                inner(part)
            return DataType.U32 if op in (SubgroupOp.LOCAL_ID, SubgroupOp.SIZE) else None
        case _:
            for part in operands(expr):
                inner(part)
            return None


Say = Callable[[str, str], None]


def _binary(
    op: BinaryOp, left: DataType | None, right: DataType | None, say: Say
) -> DataType | None:
    name = op.name.lower()
    if op in WAVE:
        return None
    if left is None or right is None:
        return DataType.BOOL if op in COMPARISONS or op in LOGICAL else left or right
    if op in SHIFTS:
        if not left.is_int or right not in (left, DataType.U32):
            say(f"{name} of {left} by {right}", f"shift a whole number by {left} or u32")
            return None
        return left
    if left != right:
        say(f"{name} of {left} and {right}", f"cast one side, to {left} or to {right}")
        return None
    if op in LOGICAL:
        wanted, good = "two bools", left.is_bool
    elif op in (BinaryOp.EQ, BinaryOp.NE):
        wanted, good = "two scalars", left.is_scalar
    elif op in _BITWISE:
        wanted, good = "two whole numbers or bools", left.is_int or left.is_bool
    elif op in _INT_ONLY:
        wanted, good = "two whole numbers", left.is_int
    elif op in _FLOAT_ONLY:
        wanted, good = "two floats", left.is_float
    else:
        wanted, good = "two numbers", left.is_int or left.is_float
    if not good:
        say(f"{name} of {left} and {right}", f"give it {wanted}")
        return None
    return DataType.BOOL if op in COMPARISONS else left


def _element(
    array: Expr, indices: tuple[Expr, ...], inner: Callable[[Expr], DataType | None], say: Say
) -> DataType | None:
    """The type of an element of an array, which its indices lead to."""
    if not isinstance(array, (Var, Array)):
        say("an element of neither a name nor constants", "bind the array with let")
        return None
    for part in indices:
        found = inner(part)
        if found is not None and not found.is_int:
            say(f"index of an array is {found}", "index with a whole number")
    held = inner(array)
    if held is None:
        return None
    if not held.is_shaped:
        say(f"an element of {held}", "take elements of an array")
        return None
    if len(indices) != len(held.params):
        say(f"{len(indices)} indices into {held}", "give one index per axis")
    return held.element


def _bitcast(target: DataType, found: DataType | None, say: Say) -> DataType | None:
    if not has_bits(target):
        say(f"bitcast to {target}", f"name one of {_WITH_BITS}")
        return None
    if found is not None and (not has_bits(found) or found.bits != target.bits):
        say(f"bitcast from {found} to {target}", f"give it {target.bits} bits: one of {_WITH_BITS}")
    return target


def _unary(op: UnaryOp, operand: DataType | None, say: Say) -> DataType | None:
    if op in UNPACKS:
        return None
    if op is UnaryOp.LOGICAL_NOT:
        wanted, good, result = "a bool", operand == DataType.BOOL, DataType.BOOL
    elif operand is None:
        return DataType.BOOL if op in _UNARY_TEST else None
    elif op in _UNARY_ANY_NUMBER:
        wanted, good, result = "a number", operand.is_int or operand.is_float, operand
    elif op in _UNARY_INT:
        wanted, good, result = "a whole number", operand.is_int, operand
    else:
        wanted, good = "a float", operand.is_float
        result = DataType.BOOL if op in _UNARY_TEST else operand
    if operand is not None and not good:
        say(f"{op.name.lower()} of {operand}", f"give it {wanted}")
        return None
    return result


_FLOAT_ATOMICS = (AtomicOp.ADD, AtomicOp.MIN, AtomicOp.MAX, AtomicOp.EXCHANGE)


def _atomic(
    expr: Atomic,
    size: int,
    inner: Callable[[Expr], DataType | None],
    index: Callable[[Expr, str], None],
    access: Callable[[str, str, tuple[Access, ...], str], DataType | None],
    say: Say,
) -> DataType | None:
    name = f"atomic {expr.op.name.lower()}"
    index(expr.index, expr.buffer)
    element = access(
        expr.buffer,
        f"{name} on",
        (Access.READ_ONLY, Access.UNIFORM),
        "declare it read_write",
    )
    compares = expr.op in (AtomicOp.COMPARE_EXCHANGE, AtomicOp.COMPARE_EXCHANGE_WEAK)
    if compares != (expr.expected is not None):
        say(
            f"{name} {'without' if compares else 'with'} an expected value",
            "give an expected value to compare_exchange alone",
        )
    given = [inner(part) for part in (expr.expected, expr.value) if part is not None]
    if element is None:
        return None
    if size < 4 or element.is_bool or (element.is_float and expr.op not in _FLOAT_ATOMICS):
        say(
            f"{name} on {element} buffer {expr.buffer!r}",
            "use a 32- or 64-bit integer; floats can add, min, max and exchange",
        )
    for found in given:
        if found is not None and found != element:
            say(f"{name} of {found} on {element} buffer {expr.buffer!r}", f"cast it to {element}")
    return element
