"""Programs to try a backend on: valid, terminating and race-free by construction.

Each invocation writes only elements that no other one touches, reads what nobody writes, and
combines into accumulators with one commutative operation each. So every backend and every schedule
must give the same bits, whatever the types, indices and values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from random import Random

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from vyre.ir.accuracy import apart_at_most
from vyre.ir.declare import Access, BufferDecl, Dim3
from vyre.ir.expr import (
    Atomic,
    AtomicOp,
    Binary,
    BinaryOp,
    Bitcast,
    BufLen,
    Cast,
    Expr,
    FlatIndex,
    Fma,
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
    Block,
    Break,
    Continue,
    If,
    Let,
    Loop,
    Node,
    Reduce,
    ReduceOp,
    Return,
    Store,
    While,
    Yield,
)
from vyre.ir.program import Program
from vyre.ir.storage import STORAGE
from vyre.ir.types import SCALARS, DataType
from vyre.ir.typing import TRANSCENDENTAL, has_bits
from vyre.testing.names import hostile_names, renamed, variables_of
from vyre.testing.values import array, literal

U32, BOOL = DataType.U32, DataType.BOOL

_BOTH = (BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL, BinaryOp.MIN, BinaryOp.MAX, BinaryOp.ABS_DIFF)
_DIVIDE = (BinaryOp.DIV, BinaryOp.MOD, BinaryOp.FLOOR_DIV, BinaryOp.FLOOR_MOD)
_INTEGER = (
    *(BinaryOp.BIT_AND, BinaryOp.BIT_OR, BinaryOp.BIT_XOR, BinaryOp.MUL_HIGH),
    *(BinaryOp.SHL, BinaryOp.SHR, BinaryOp.ROT_L, BinaryOp.ROT_R),
    *(BinaryOp.SAT_ADD, BinaryOp.SAT_SUB, BinaryOp.SAT_MUL),
    *(BinaryOp.WRAP_ADD, BinaryOp.WRAP_SUB),
)
_COMPARE = (BinaryOp.EQ, BinaryOp.NE, BinaryOp.LT, BinaryOp.GT, BinaryOp.LE, BinaryOp.GE)
_NUMBER_UNARY = (UnaryOp.NEGATE, UnaryOp.ABS, UnaryOp.SIGN)
_INTEGER_UNARY = (UnaryOp.BIT_NOT, UnaryOp.POPCOUNT, UnaryOp.CLZ, UnaryOp.CTZ, UnaryOp.REVERSE_BITS)
_FLOAT_UNARY = (
    *(UnaryOp.SQRT, UnaryOp.FLOOR, UnaryOp.CEIL, UnaryOp.ROUND, UnaryOp.TRUNC),
    *(UnaryOp.INVERSE_SQRT, UnaryOp.RECIPROCAL),
)
_TESTS = (UnaryOp.IS_NAN, UnaryOp.IS_INF, UnaryOp.IS_FINITE)
_COMMUTATIVE = (
    *(AtomicOp.ADD, AtomicOp.OR, AtomicOp.AND, AtomicOp.XOR, AtomicOp.MIN, AtomicOp.MAX),
)
_FUNCTIONS: tuple[UnaryOp | BinaryOp, ...] = (
    *sorted(TRANSCENDENTAL, key=lambda op: op.value),
    *(BinaryOp.POW, BinaryOp.ATAN2, BinaryOp.HYPOT),
)
_ROUNDS = (1, 2, 3, 4, 5, 7, 9, 12, 17, 33)  # of a loop that compilers may unroll as they like
_FEW_ROUNDS = (0, 1, 2, 5, 31, 32, 33, 40)  # of a reduction, inside of which others may be
_MANY_ROUNDS = (1023, 1024, 1025, 1057, 2049)  # of one that runs once
COMPUTED = tuple(dtype for dtype in SCALARS if dtype.computed == dtype)
"""The types an expression can have."""

REDUCED = tuple(dtype for dtype in COMPUTED if dtype.is_float or (dtype.is_int and dtype.bits > 16))
"""The types of numbers that reductions bring together."""


ANYTHING = 1 << 63
"""Units by which a buffer may be off the reference's; the runs of one device agree all the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A program with arguments for it, and how exactly each written buffer must agree."""

    program: Program
    arrays: Mapping[str, NDArray[np.generic]]
    extent: Dim3
    ulp: Mapping[str, int] = field(default_factory=dict)
    expected: Mapping[str, NDArray[np.generic]] | None = None
    """What written buffers must come to hold, where somebody else than the reference says so."""

    def copies(self) -> dict[str, NDArray[np.generic]]:
        """Fresh arrays to run on."""
        return {name: values.copy() for name, values in self.arrays.items()}


def race_free(*, size: int = 24, reductions: bool = False) -> st.SearchStrategy[Case]:
    """A strategy over race-free cases with about `size` statements and expressions each."""
    randoms = st.randoms(use_true_random=False)
    return st.builds(generate, randoms, st.just(size), reductions=st.just(reductions))


def generate(rng: Random, size: int = 24, *, reductions: bool = False) -> Case:
    """One race-free case, under names that others use too; the same state gives the same case."""
    case = grow(rng, size, reductions=reductions)
    program, names = case.program, Random(rng.getrandbits(32))
    variables = hostile_names(names, variables_of(program))
    buffers = hostile_names(names, (decl.name for decl in program.buffers))
    return replace(
        case,
        program=renamed(program, variables, buffers),
        arrays={buffers[name]: values for name, values in case.arrays.items()},
        ulp={buffers[name]: bound for name, bound in case.ulp.items()},
    )


def grow(rng: Random, size: int = 24, *, reductions: bool = False) -> Case:
    """One race-free case under plain names; `me` is the invocation's own number.

    With `reductions` there is one at least, and others where they come about.
    """
    return _Generator(rng, size, reductions=reductions).case()


class _Generator:
    """Grows one program; the budget `left` keeps it small."""

    def __init__(self, rng: Random, size: int, *, reductions: bool = False) -> None:
        self.rng, self.left = rng, size
        self.reductions = reductions
        self.counters: list[str] = []  # of the reductions around, whose rounds only compute
        self.own_scope = 0  # the first scope whose names a statement may change
        self.buffers: list[BufferDecl] = []
        self.arrays: dict[str, NDArray[np.generic]] = {}
        self.ulp: dict[str, int] = {}
        self.own: list[BufferDecl] = []  # read and written at one's own position
        self.accumulators: list[tuple[BufferDecl, AtomicOp]] = []
        self.inputs: list[BufferDecl] = []
        self.names: list[dict[str, DataType]] = [{}]
        self.fixed: set[str] = set()  # names that statements must not change
        self.loops = 0
        self.fresh = 0
        self.returns = 0.04  # how often a nested list ends some lanes

    def case(self) -> Case:
        rng = self.rng
        rank = rng.choices((1, 2, 3), (8, 2, 1))[0]
        extent = {
            1: (rng.choice((1, 2, 31, 64, 65, 100, 127, 256, 257, 509)), 1, 1),
            2: (rng.randint(1, 19), rng.randint(1, 9), 1),
            3: (rng.randint(1, 7), rng.randint(1, 5), rng.randint(1, 4)),
        }[rank]
        total = extent[0] * extent[1] * extent[2]
        self.declare(total, extent, rank)
        body: list[Node] = [Let("me", self.position(rank))]
        self.names[0]["me"] = U32
        self.fixed.add("me")
        if self.reductions:
            body.append(self.reduction())
        while self.left > 0:
            body.append(self.statement())
        body.extend(self.final_stores())
        workgroup = rng.choice(
            ((1, 1, 1), (32, 1, 1), (64, 1, 1), (8, 4, 1) if rank > 1 else (7, 1, 1))
        )
        program = Program.wrapped(self.buffers, workgroup, body)
        return Case(program=program, arrays=self.arrays, extent=extent, ulp=self.ulp)

    def declare(self, total: int, extent: Dim3, rank: int) -> None:
        rng = self.rng
        for _ in range(rng.randint(1, 3)):
            dtype = rng.choice(SCALARS)
            length = max(1, rng.choice((total, total, total - 3, total + 5, 7)))
            self.inputs.append(self.add("in", Access.READ_ONLY, dtype, length))
        if rank == 2:
            decl = self.add("grid", Access.READ_ONLY, rng.choice(SCALARS), (extent[1], extent[0]))
            self.inputs.append(decl)
        for _ in range(rng.randint(0, 2)):
            decl = self.add("k", Access.UNIFORM, rng.choice(COMPUTED), 1)
            self.inputs.append(decl)
        for _ in range(rng.randint(1, 2)):
            length = max(1, rng.choice((total, total, total - 2, total + 3)))
            access = rng.choice((Access.READ_WRITE, Access.WRITE_ONLY))
            self.own.append(self.add("out", access, rng.choice(SCALARS), length))
        if rng.random() < 0.4:
            decl = self.add("sum", Access.READ_WRITE, rng.choice((U32, DataType.I32)), 5)
            self.accumulators.append((decl, rng.choice(_COMMUTATIVE)))

    def add(
        self, stem: str, access: Access, dtype: DataType, shape: int | tuple[int, int]
    ) -> BufferDecl:
        name = f"{stem}{len(self.buffers)}"
        decl = BufferDecl.storage(name, len(self.buffers), access, dtype)
        if isinstance(shape, tuple):
            decl = decl.with_shape(0, 0)
        elif stem == "k":
            decl = decl.with_count(1)
        self.buffers.append(decl)
        if decl.access is Access.WRITE_ONLY:
            self.arrays[name] = np.zeros(shape, STORAGE[dtype])
        else:
            self.arrays[name] = array(self.rng, dtype, shape)
        return decl

    def position(self, rank: int) -> Expr:
        """This invocation's own number: no two share it."""
        x, y, z = (Id(IdKind.INVOCATION, axis) for axis in range(3))
        w, h = (Id(IdKind.EXTENT, axis) for axis in range(2))
        return {1: x, 2: y * w + x, 3: (z * h + y) * w + x}[rank]

    # -- statements

    def statement(self) -> Node:
        self.left -= 1
        stores = [] if self.counters else [self.store] * 2
        choices = [self.let] * 3 + stores + [self.assign] * 2 + [self.if_]
        if self.loops < 2:
            choices += [self.loop, self.while_]
        if self.accumulators and not self.counters:
            choices += [self.atomic] * 2
        if self.reductions and len(self.counters) < 2:
            choices += [self.reduction] * 2
        if self.left > 0 and self.rng.random() < 0.05:
            choices = [self.block]
        return self.rng.choice(choices)()

    def nested(self, *, head: tuple[Node, ...] = ()) -> tuple[Node, ...]:
        self.names.append({})
        body = [*head, *(self.statement() for _ in range(self.rng.randint(1, 3)))]
        if self.loops and self.rng.random() < 0.25:
            leave = self.rng.choice((Break(), Continue()))
            body.append(If(self.expr(BOOL, 1), (leave,)))
            body.append(self.statement())
        if not self.counters and self.rng.random() < self.returns:
            body.append(If(self.expr(BOOL, 1), (Return(),)))
        self.names.pop()
        return tuple(body)

    def new_name(self, dtype: DataType | None, stem: str = "v") -> str:
        self.fresh += 1
        name = f"{stem}{self.fresh}"
        if dtype is not None:
            self.names[-1][name] = dtype
        return name

    def let(self) -> Node:
        dtype = self.rng.choice(COMPUTED)
        value = self.expr(dtype, 3)
        return Let(self.new_name(dtype), value)

    def assign(self) -> Node:
        known = [
            (name, dtype)
            for scope in self.names[self.own_scope :]
            for name, dtype in scope.items()
            if name not in self.fixed
        ]
        if not known:
            return self.let()
        name, dtype = self.rng.choice(known)
        return Assign(name, self.expr(dtype, 3))

    def store(self) -> Node:
        decl = self.rng.choice(self.own)
        index: Expr = Var("me")
        if self.rng.random() < 0.15:
            index = Var("me") + BufLen(decl.name)  # always out of bounds
        return Store(decl.name, index, self.expr(decl.element.computed, 3))

    def if_(self) -> Node:
        cond = self.expr(BOOL, 2)
        otherwise = self.nested() if self.rng.random() < 0.5 else ()
        return If(cond, self.nested(), otherwise)

    def loop(self) -> Node:
        dtype = self.rng.choice((U32, DataType.I32))
        stop = Binary(BinaryOp.MOD, self.expr(dtype, 2), Lit.of(dtype, 5))
        var = self.new_name(None, "k")
        self.loops += 1
        self.names.append({var: dtype})
        self.fixed.add(var)
        body = self.nested()
        self.names.pop()
        self.loops -= 1
        return Loop(var, Lit.of(dtype, self.rng.randint(0, 2)), stop, body)

    def while_(self) -> Node:
        """Counts its rounds in a name of its own, so that it ends."""
        count = self.new_name(None, "n")
        self.names.append({count: U32})
        self.fixed.add(count)
        self.loops += 1
        body = self.nested(head=(Assign(count, Var(count) + 1),))
        self.loops -= 1
        cond = Binary(BinaryOp.AND, Var(count) < self.rng.randint(1, 4), self.expr(BOOL, 1))
        self.names.pop()
        return Block((Let(count, Lit.of(U32, 0)), While(cond, body)))

    def reduction(self) -> Node:
        """What the elements of some rounds come to, each computed by statements of its own."""
        rng = self.rng
        op = rng.choice(tuple(ReduceOp))
        dtype = BOOL if op in (ReduceOp.ANY, ReduceOp.ALL) else rng.choice(REDUCED)
        rounds: Expr = Lit.of(U32, rng.choice(_FEW_ROUNDS))
        if not self.counters and not self.loops and rng.random() < 0.2:
            rounds = Lit.of(U32, rng.choice(_MANY_ROUNDS))
        elif rng.random() < 0.5:
            rounds = Binary(BinaryOp.MOD, self.expr(U32, 2), Lit.of(U32, rng.choice((7, 40, 70))))
        var = self.new_name(None, "j")
        self.fixed.add(var)
        outside = self.own_scope, self.loops
        self.own_scope, self.loops = len(self.names), 0
        self.counters.append(var)
        self.names.append({var: U32})
        body = tuple(self.statement() for _ in range(rng.choice((0, 0, 1, 2))))
        body += self.element(dtype, 2)
        self.names.pop()
        self.counters.pop()
        self.own_scope, self.loops = outside
        name = self.new_name(U32 if op.finds else dtype, "s")
        return Reduce(name, op, dtype, var, rounds, body)

    def element(self, dtype: DataType, deep: int) -> tuple[Node, ...]:
        """The end of a round: an element, one of two, or one under a condition."""
        pick = self.rng.random()
        if not deep or pick < 0.5:
            return (Yield(self.expr(dtype, 3)),)
        cond = self.expr(BOOL, 2)
        self.names.append({})
        before = (self.statement(),) if self.rng.random() < 0.3 else ()
        then = (*before, *self.element(dtype, deep - 1))
        self.names.pop()
        return (If(cond, then, self.element(dtype, deep - 1) if pick < 0.75 else ()),)

    def block(self) -> Node:
        return Block(self.nested())

    def atomic(self) -> Node:
        decl, op = self.rng.choice(self.accumulators)
        index = (
            self.expr(U32, 1)
            if self.rng.random() < 0.3
            else Binary(BinaryOp.MOD, Var("me"), Lit.of(U32, 6))
        )
        return Let(
            self.new_name(None, "old"),
            Atomic(op, decl.name, index, self.expr(decl.element, 2)),
        )

    def final_stores(self) -> list[Node]:
        """Stores that make names visible, and each transcendental function on exact operands."""
        nodes: list[Node] = [
            Store(decl.name, Var("me"), self.expr(decl.element.computed, 2)) for decl in self.own
        ]
        if self.rng.random() < 0.3:  # compilers take long for them
            dtype = self.rng.choice((DataType.F32, DataType.F64))
            decl = self.add("fun", Access.WRITE_ONLY, dtype, 512)
            op = self.rng.choice(_FUNCTIONS)
            self.ulp[decl.name] = apart_at_most(op, dtype)
            first = self.expr(dtype, 2)
            second = first if isinstance(op, UnaryOp) else self.expr(dtype, 2)
            value = _applied(op, first, second)
            nodes.append(Store(decl.name, Var("me"), value))
        if self.rng.random() < 0.4:
            nodes += self.function_of_constants()
        return nodes

    def function_of_constants(self) -> list[Node]:
        """A function of what a compiler may know: a literal, a round of a loop, a guarded value.

        Where it unrolls and computes the function itself, it must come to what the device gives.
        """
        rng = self.rng
        dtype = rng.choice((DataType.F32, DataType.F64))
        decl = self.add("known", Access.WRITE_ONLY, dtype, 512)
        op = rng.choice(_FUNCTIONS)
        self.ulp[decl.name] = apart_at_most(op, dtype)
        found, turn, rounds = self.new_name(None), self.new_name(None, "k"), rng.choice(_ROUNDS)
        scale, shift = (Lit.of(dtype, rng.uniform(-2, 2)) for _ in range(2))
        number = Cast(dtype, Var(turn)) * scale + shift
        other = rng.choice((scale, number, Cast(dtype, Var(turn))))
        mine = Var(turn).eq(Binary(BinaryOp.MOD, Var("me"), Lit.of(U32, rounds)))
        value = literal(rng, dtype)
        guarded = self.expr(dtype, 1)
        return [
            Let(found, _applied(op, value, value)),
            Loop(
                turn,
                Lit.of(U32, 0),
                Lit.of(U32, rounds),
                (If(mine, (Assign(found, _applied(op, number, other)),)),),
            ),
            If(guarded.eq(scale), (Assign(found, _applied(op, guarded, scale)),)),
            Store(decl.name, Var("me"), Var(found)),
        ]

    # -- expressions

    def expr(self, dtype: DataType, depth: int) -> Expr:
        self.left -= 1
        if depth <= 0 or self.left <= 0 or self.rng.random() < 0.2:
            return self.leaf(dtype)
        if dtype.is_bool:
            return self.boolean(depth)
        choices = [self.both, self.both, self.unary, self.select, self.cast, self.bitcast]
        choices += [self.integer, self.integer] if dtype.is_int else [self.fma, self.copysign]
        return self.rng.choice([*choices, self.divide])(dtype, depth - 1)

    def leaf(self, dtype: DataType) -> Expr:
        options: list[Expr] = [literal(self.rng, dtype)]
        options += [
            Var(name) for scope in self.names for name, known in scope.items() if known == dtype
        ] * 2
        options += [
            Load(decl.name, self.index(decl))
            for decl in self.inputs
            if decl.element.computed == dtype
        ] * 2
        options += [
            Load(decl.name, Var("me"))
            for decl in self.own
            if decl.element.computed == dtype and decl.access is Access.READ_WRITE
        ]
        if dtype == U32:
            options += [Id(IdKind.INVOCATION, 0), Id(IdKind.EXTENT, 0)]
            options.append(BufLen(self.rng.choice(self.buffers).name))
        return self.rng.choice(options)

    def index(self, decl: BufferDecl) -> Expr:
        if decl.rank == 2:
            y, x = Id(IdKind.INVOCATION, 1), Id(IdKind.INVOCATION, 0)
            return FlatIndex(decl.name, (y - self.rng.randint(0, 1), x + self.rng.randint(0, 2)))
        if decl.is_scalar_argument:
            return Lit.of(U32, 0)
        if self.counters and self.rng.random() < 0.7:
            turn = Var(self.rng.choice(self.counters))
            return self.rng.choice((turn, turn, turn * 3 - 2, Var("me") + turn, Var("me") - turn))
        match self.rng.randint(0, 4):
            case 0:
                return literal(self.rng, U32)
            case 1:
                return Var("me") - self.rng.randint(1, 3)
            case 2:
                return Cast(DataType.I32, Var("me")) - Lit.of(DataType.I32, 2)
            case 3:
                return Var("me") * 3 + 1
            case _:
                return Var("me")

    def boolean(self, depth: int) -> Expr:
        match self.rng.randint(0, 5):
            case 0 | 1 | 2:
                dtype = self.rng.choice(COMPUTED)
                ops = _COMPARE[:2] if dtype.is_bool else _COMPARE
                return Binary(
                    self.rng.choice(ops), self.expr(dtype, depth - 1), self.expr(dtype, depth - 1)
                )
            case 3:
                op = self.rng.choice((BinaryOp.AND, BinaryOp.OR, BinaryOp.BIT_XOR))
                return Binary(op, self.expr(BOOL, depth - 1), self.expr(BOOL, depth - 1))
            case 4:
                return Unary(UnaryOp.LOGICAL_NOT, self.expr(BOOL, depth - 1))
            case _:
                dtype = self.rng.choice((DataType.F32, DataType.F64))
                return Unary(self.rng.choice(_TESTS), self.expr(dtype, depth - 1))

    def both(self, dtype: DataType, depth: int) -> Expr:
        return Binary(self.rng.choice(_BOTH), self.expr(dtype, depth), self.expr(dtype, depth))

    def divide(self, dtype: DataType, depth: int) -> Expr:
        return Binary(self.rng.choice(_DIVIDE), self.expr(dtype, depth), self.expr(dtype, depth))

    def integer(self, dtype: DataType, depth: int) -> Expr:
        return Binary(self.rng.choice(_INTEGER), self.expr(dtype, depth), self.expr(dtype, depth))

    def unary(self, dtype: DataType, depth: int) -> Expr:
        ops = _NUMBER_UNARY + (_INTEGER_UNARY if dtype.is_int else _FLOAT_UNARY)
        return Unary(self.rng.choice(ops), self.expr(dtype, depth))

    def select(self, dtype: DataType, depth: int) -> Expr:
        return Select(self.expr(BOOL, depth), self.expr(dtype, depth), self.expr(dtype, depth))

    def cast(self, dtype: DataType, depth: int) -> Expr:
        target = dtype
        if dtype == DataType.F32 and self.rng.random() < 0.3:
            target = self.rng.choice((DataType.F16, DataType.BF16))
        return Cast(target, self.expr(self.rng.choice(COMPUTED), depth))

    def bitcast(self, dtype: DataType, depth: int) -> Expr:
        alike = [other for other in COMPUTED if has_bits(other) and other.bits == dtype.bits]
        source = self.rng.choice(alike)
        value = self.expr(source, depth)
        return Bitcast(dtype, _number(source, value) if source.is_float else value)

    def copysign(self, dtype: DataType, depth: int) -> Expr:
        sign = _number(dtype, self.expr(dtype, depth))
        return Binary(BinaryOp.COPYSIGN, self.expr(dtype, depth), sign)

    def fma(self, dtype: DataType, depth: int) -> Expr:
        return Fma(*(self.expr(dtype, depth) for _ in range(3)))


def _number(dtype: DataType, value: Expr) -> Expr:
    """A float that is no NaN: whose sign and bits a NaN has, each device decides for itself."""
    return Select(Unary(UnaryOp.IS_NAN, value), Lit.of(dtype, 0.5), value)


def _applied(op: UnaryOp | BinaryOp, first: Expr, second: Expr) -> Expr:
    return Unary(op, first) if isinstance(op, UnaryOp) else Binary(op, first, second)
