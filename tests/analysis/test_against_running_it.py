"""What is proved holds: small odd programs are run, one invocation at a time, and watched.

The interpreter here knows nothing of the analysis. It runs some invocations of a launch, each on
the memory as it was at the start, and notes every element they touch. If two of them meet, the
program is not free; if one steps outside, its check is needed. Launches may be huge, because any
few invocations can convict a proof.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from math import prod
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vyre.analysis import Facts, analyse
from vyre.analysis.facts import MemoryAccess
from vyre.analysis.forms import Symbol
from vyre.backend import reference
from vyre.ir import BufferDecl, DataType, Program
from vyre.ir.declare import Dim3
from vyre.ir.expr import (
    Atomic,
    AtomicOp,
    Binary,
    BinaryOp,
    Bitcast,
    BufDim,
    BufLen,
    Cast,
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
    Barrier,
    Block,
    Break,
    Continue,
    If,
    Let,
    Loop,
    Node,
    Reduce,
    ReduceOp,
    Region,
    Return,
    Store,
    While,
    Yield,
)
from vyre.ir.storage import STORAGE
from vyre.ir.text import statement_text
from vyre.ir.types import int_range
from vyre.ir.validate import check
from vyre.ir.walk import all_expressions, expressions, statements

pytestmark = pytest.mark.slow

U8, U32, I32, U64, I64 = (
    *(DataType.U8, DataType.U32, DataType.I32),
    *(DataType.U64, DataType.I64),
)
BOOL = DataType.BOOL
NOWHERE = 0xFFFF_FFFF
COMMUTATIVE = (
    *(AtomicOp.ADD, AtomicOp.OR, AtomicOp.AND, AtomicOp.XOR, AtomicOp.MIN, AtomicOp.MAX),
)


@dataclass(frozen=True)
class Launch:
    """A program and the numbers it is launched with."""

    program: Program
    extent: Dim3
    shapes: Mapping[str, tuple[int, ...]]
    scalars: Mapping[str, int]

    def value(self, symbol: Symbol) -> int:
        match symbol.kind:
            case "extent":
                return self.extent[symbol.axis]
            case "len":
                return prod(self.shapes[symbol.name])
            case "dim":
                return self.shapes[symbol.name][symbol.axis]
            case _:
                return self.scalars[symbol.name]


# -- running


RANGE = {dtype: (int_range(dtype)[0], 1 << dtype.bits) for dtype in (U8, U32, I32, U64, I64)}


def wrap(value: int, dtype: DataType) -> int:
    low, size = RANGE[dtype]
    return (value - low) % size + low


def first_value(buffer: str, element: int) -> int:
    """What stands in memory at the start: small numbers, so that they serve as indices."""
    return (element * 5 + len(buffer)) % 7


Element = tuple[str, int]
Place = tuple[str, str, str, Expr]


@dataclass
class Watched:
    """What some invocations did."""

    touched: dict[Element, list[tuple[int, str, object]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    inside: dict[Place, set[bool]] = field(default_factory=lambda: defaultdict(set))
    texts: dict[int, str] = field(default_factory=dict)  # of statements, by their identity

    def text(self, node: Node) -> str:
        if id(node) not in self.texts:
            self.texts[id(node)] = statement_text(node)
        return self.texts[id(node)]


class TooLong(Exception):
    pass


GO_ON, BREAK, CONTINUE, RETURN = range(4)


class Invocation:
    """One invocation, at `position`, changing `memory` and telling `watched`."""

    def __init__(
        self, launch: Launch, number: int, position: Dim3, memory: dict[Element, int], seen: Watched
    ) -> None:
        self.launch, self.number, self.position = launch, number, position
        self.memory, self.seen = memory, seen
        self.buffers = {decl.name: decl for decl in launch.program.buffers}
        self.names: dict[str, tuple[int, DataType]] = {}
        entry = launch.program.entry
        self.read_names = {e.name for e in all_expressions(entry) if isinstance(e, Var)}
        self.written = {node.buffer for node in statements(entry) if isinstance(node, Store)}
        self.written |= {e.buffer for e in all_expressions(entry) if isinstance(e, Atomic)}
        self.own: set[str] = set()  # names whose value is made of what is the invocation's own
        self.statement = ""
        self.steps = 0
        self.element: int | None = None  # what the round of a reduction yielded

    def run(self) -> None:
        self.body(self.launch.program.entry)

    def body(self, nodes: tuple[Node, ...]) -> int:
        for node in nodes:
            self.steps += 1
            if self.steps > 500:
                raise TooLong
            self.statement = self.seen.text(node)
            signal = self.one(node)
            if signal != GO_ON:
                return signal
        return GO_ON

    def one(self, node: Node) -> int:
        match node:
            case Let(name, Atomic() as value):
                self.names[name] = self.atomic(value, used=name in self.read_names)
                self.own.add(name)
            case Let(name, value) | Assign(name, value):
                self.names[name] = self.value(value)
                (self.own.add if self.is_own(value) else self.own.discard)(name)
            case Store(buffer, index, value):
                stored, _ = self.value(value)
                at = self.locate("store", buffer, index)
                if at is not None:
                    same = (self.number, stored) if self.is_own(value) else stored
                    self.seen.touched[buffer, at].append((self.number, "store", same))
                    self.memory[buffer, at] = stored
            case If(cond, then, otherwise):
                return self.body(then if self.value(cond)[0] else otherwise)
            case Loop(var, start, stop, body):
                (first, dtype), (last, _) = self.value(start), self.value(stop)
                self.own.add(var)
                for count in range(first, last):
                    self.names[var] = count, dtype
                    signal = self.body(body)
                    if signal in (BREAK, RETURN):
                        return GO_ON if signal == BREAK else RETURN
            case While(cond, body):
                text = self.statement
                while self.value(cond)[0]:
                    signal = self.body(body)
                    if signal in (BREAK, RETURN):
                        return GO_ON if signal == BREAK else RETURN
                    self.statement = text
            case Reduce(name, op, var=var, rounds=rounds, body=body):
                elements: list[int] = []
                self.own |= {name, var}
                for count in range(self.value(rounds)[0]):
                    self.names[var], self.element = (count, U32), None
                    self.body(body)
                    elements += [] if self.element is None else [self.element]
                self.names[name] = come_to(op, elements, node.dtype), node.dtype
            case Yield(value):
                self.element = self.value(value)[0]
            case Block(body) | Region(_, body):
                return self.body(body)
            case Break():
                return BREAK
            case Continue():
                return CONTINUE
            case Return():
                return RETURN
            case Barrier():
                pass
            case _:
                raise AssertionError(node)
        return GO_ON

    def is_own(self, value: Expr) -> bool:
        """Whether a value is made of what another invocation, or another round, has otherwise."""
        return any(
            part.kind is not IdKind.EXTENT
            if isinstance(part, Id)
            else (isinstance(part, Var) and part.name in self.own)
            or (isinstance(part, Load) and part.buffer in self.written)
            or isinstance(part, Atomic)
            for part in expressions(value)
        )

    def locate(self, kind: str, buffer: str, index: Expr) -> int | None:
        at, _ = self.value(index)
        inside = 0 <= at < prod(self.launch.shapes[buffer])
        self.seen.inside[kind, buffer, self.statement, index].add(inside)
        return at if inside else None

    def atomic(self, expr: Atomic, *, used: bool) -> tuple[int, DataType]:
        dtype = self.buffers[expr.buffer].element
        given, _ = self.value(expr.value)
        at = self.locate("atomic", expr.buffer, expr.index)
        if at is None:
            return 0, dtype
        element = expr.buffer, at
        self.seen.touched[element].append((self.number, "atomic", (expr.op, used)))
        old = self.memory.get(element, first_value(*element))
        new = {
            AtomicOp.ADD: old + given,
            AtomicOp.OR: old | given,
            AtomicOp.AND: old & given,
            AtomicOp.XOR: old ^ given,
            AtomicOp.MIN: min(old, given),
            AtomicOp.MAX: max(old, given),
            AtomicOp.EXCHANGE: given,
        }[expr.op]
        self.memory[element] = wrap(new, dtype)
        return old, dtype

    def value(self, expr: Expr) -> tuple[int, DataType]:
        match expr:
            case Lit(dtype):
                return int(expr.value), dtype
            case Var(name):
                return self.names[name]
            case Id(IdKind.INVOCATION, axis):
                return self.position[axis], U32
            case Id(IdKind.EXTENT, axis):
                return self.launch.extent[axis], U32
            case BufLen(buffer):
                return prod(self.launch.shapes[buffer]), U32
            case BufDim(buffer, axis):
                return self.launch.shapes[buffer][axis], U32
            case Load(buffer, _) if self.buffers[buffer].is_scalar_argument:
                return self.launch.scalars[buffer], self.buffers[buffer].element
            case Load(buffer, index):
                at = self.locate("load", buffer, index)
                if at is None:
                    return 0, self.buffers[buffer].element
                self.seen.touched[buffer, at].append((self.number, "load", None))
                found = self.memory.get((buffer, at), first_value(buffer, at))
                return found, self.buffers[buffer].element
            case FlatIndex(buffer, indices):
                place = 0
                for index, size in zip(indices, self.launch.shapes[buffer], strict=True):
                    at, _ = self.value(index)
                    if not 0 <= at < size:
                        return NOWHERE, U32
                    place = place * size + at
                return place, U32
            case Cast(target, operand) | Bitcast(target, operand):
                return wrap(self.value(operand)[0], target), target
            case Unary(UnaryOp.NEGATE, operand):
                found, dtype = self.value(operand)
                return wrap(-found, dtype), dtype
            case Select(cond, true, false):
                yes, no = self.value(true), self.value(false)
                return yes if self.value(cond)[0] else no
            case Binary(op, left, right):
                return self.binary(op, *self.value(left), self.value(right)[0])
            case Atomic():
                return self.atomic(expr, used=True)
            case _:
                raise AssertionError(expr)

    def binary(self, op: BinaryOp, a: int, dtype: DataType, b: int) -> tuple[int, DataType]:
        match op:
            case BinaryOp.EQ:
                return a == b, BOOL
            case BinaryOp.LT:
                return a < b, BOOL
            case BinaryOp.GE:
                return a >= b, BOOL
            case BinaryOp.AND:
                return a and b, BOOL
            case BinaryOp.ADD | BinaryOp.WRAP_ADD:
                found = a + b
            case BinaryOp.SUB | BinaryOp.WRAP_SUB:
                found = a - b
            case BinaryOp.MUL:
                found = a * b
            case BinaryOp.SHL:
                found = a << (b & (dtype.bits - 1))
            case BinaryOp.MIN:
                found = min(a, b)
            case BinaryOp.BIT_AND:
                found = a & b
            case BinaryOp.FLOOR_MOD:
                found = a % b if b else 0
            case BinaryOp.FLOOR_DIV:
                found = a // b if b else 0
            case _:
                raise AssertionError(op)
        return wrap(found, dtype), dtype


def come_to(op: ReduceOp, elements: list[int], dtype: DataType) -> int:
    low, high = int_range(dtype)
    match op:
        case ReduceOp.SUM:
            return wrap(sum(elements), dtype)
        case ReduceOp.MIN:
            return min(elements, default=high)
        case _:
            return max(elements, default=low)


def positions(launch: Launch, rng: Random) -> list[Dim3]:
    """All invocations of a small launch, some of a large one; beyond the extent where they run."""
    extent = launch.extent
    if launch.program.runs_whole_workgroups:
        groups = zip(extent, launch.program.workgroup_size, strict=True)
        x, y, z = (-(-n // size) * size for n, size in groups)
        extent = x, y, z
    if prod(extent) <= 32:
        return list(product(*map(range, extent)))
    odd = [{0, 1, n // 2, n // 2 - 1, (1 << 31) + 1, n - 2, n - 1} for n in extent]
    sets = [sorted(at for at in some if 0 <= at < n) for some, n in zip(odd, extent, strict=True)]
    found = list(product(*sets))
    return found if len(found) <= 12 else rng.sample(found, 12)


def watch(launch: Launch, rng: Random) -> Watched:
    """Runs invocations side by side: none sees what another one writes."""
    seen = Watched()
    for number, position in enumerate(positions(launch, rng)):
        Invocation(launch, number, position, {}, seen).run()
    return seen


def meetings(seen: Watched) -> Iterator[Element]:
    """The elements on which invocations meet in a way that the order of them can show."""
    for element, touches in seen.touched.items():
        kinds = {kind for _, kind, _ in touches}
        if len({number for number, _, _ in touches}) < 2 or kinds == {"load"}:
            continue
        details = {detail for _, _, detail in touches}
        one_value = kinds == {"store"} and len(details) == 1
        one_sum = kinds == {"atomic"} and details in [{(op, False)} for op in COMMUTATIVE]
        if not one_value and not one_sum:
            yield element


def by_place(facts: Facts) -> dict[Place, list[MemoryAccess]]:
    """Accesses as the emitter knows them: those that look alike stand and fall together."""
    found: dict[Place, list[MemoryAccess]] = defaultdict(list)
    for access in facts.accesses:
        found[access.kind, access.buffer, access.statement, access.index].append(access)
    return found


def safe_for(accesses: list[MemoryAccess], launch: Launch) -> bool:
    return all(access.safe(launch) for access in accesses)


def unchecked_places(facts: Facts) -> set[Place]:
    """What the emitter leaves unchecked in a launch that is proved."""
    return {
        place
        for place, accesses in by_place(facts).items()
        if all(access.in_bounds is not None for access in accesses)
    }


# -- programs


class Writer:
    """Writes one odd program: indices that are linear or nearly so, guards, loops, atomics."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.names: list[dict[str, DataType]] = [{}]
        self.fixed: set[str] = set()
        self.fresh = 0
        self.stride = rng.choice((1, 2, 3, 4, 1 << 16, 1 << 31))
        self.depth = 0

    def launch(self) -> Launch:
        rng = self.rng
        extent = rng.choice(
            [
                (rng.randint(1, 9), 1, 1),
                (rng.randint(1, 9), 1, 1),
                (rng.randint(1, 5), rng.randint(1, 4), 1),
                (rng.randint(1, 3), rng.randint(1, 3), rng.randint(1, 3)),
                ((1 << 31) + rng.randint(0, 5), 1, 1),
                (1 << 16, (1 << 16) - 1, 1),
                ((1 << 32) - 2, 1, 1),
            ]
        )
        self.extent = extent
        total = prod(extent)
        lengths = (total, total, total + 3, 4 * total, 8, 40, (1 << 32) - 2)
        length = min(rng.choice(lengths), (1 << 32) - 2)
        shape = rng.choice([(extent[1], extent[0]), (4, 3), (1, 40), (2, 2)])
        self.shapes: dict[str, tuple[int, ...]] = {
            "out": (length,),
            "image": shape,
            "sums": (rng.choice((3, total)),),
            "table": (rng.choice((7, total, length)),),
        }
        element = rng.choice((U32, I32))
        decls = [
            BufferDecl.read_write("out", 0, element),
            BufferDecl.read_write("image", 1, U32).with_shape(0, 0),
            BufferDecl.read_write("sums", 2, I32),
            BufferDecl.read("table", 3, U32),
        ]
        for place, decl in enumerate(decls[:2]):
            if rng.random() < 0.2:
                size = self.shapes[decl.name]
                decls[place] = decl.with_shape(*size) if decl.rank > 1 else decl.with_count(*size)
        self.scalars = {
            "n": rng.choice((0, 1, 2, 3, extent[0], (1 << 32) - 1, 1 << 31)),
            "m": rng.choice((-3, 0, 1, 2, 5, -(1 << 31))),
            "wide": rng.choice((0, 1, 4, 1 << 32, 1 << 63)),
        }
        for name, dtype in (("n", U32), ("m", I32), ("wide", U64)):
            decls.append(BufferDecl.uniform(name, len(decls), dtype).with_count(1))
        self.buffers = {decl.name: decl for decl in decls}
        body = [self.statement() for _ in range(rng.randint(1, 4))]
        if rng.random() < 0.05:
            body.append(Barrier())
        program = Program.wrapped(decls, rng.choice(((4, 1, 1), (2, 2, 1))), body)
        check(program)
        return Launch(program, extent, self.shapes, self.scalars)

    def name(self, dtype: DataType | None) -> str:
        self.fresh += 1
        if dtype is not None:
            self.names[-1][f"v{self.fresh}"] = dtype
        return f"v{self.fresh}"

    def nested(self, count: int = 2, **names: DataType) -> tuple[Node, ...]:
        self.names.append(names)
        self.depth += 1
        body = tuple(self.statement() for _ in range(self.rng.randint(1, count)))
        self.depth -= 1
        self.names.pop()
        return body

    def statement(self) -> Node:
        rng = self.rng
        kinds = ["store"] * 6 + ["let", "load", "atomic", "if", "if", "assign"]
        if self.depth < 3:
            kinds += ["loop"] * 3 + ["while", "leave", "pair", "reduce", "reduce"]
        match rng.choice(kinds):
            case "let":
                dtype = self.dtype()
                value = self.affine(dtype)
                return Let(self.name(dtype), value)
            case "load":
                buffer = rng.choice(("out", "table", "image"))
                value = Load(buffer, self.index(buffer))
                return Let(self.name(self.buffers[buffer].element), value)
            case "assign":
                known = [
                    (name, dtype)
                    for scope in self.names
                    for name, dtype in scope.items()
                    if name not in self.fixed
                ]
                if known:
                    name, dtype = rng.choice(known)
                    return Assign(name, self.affine(dtype))
            case "atomic":
                return self.atomic()
            case "if":
                cond = self.guard()
                return If(cond, self.nested(), self.nested(1) if rng.random() < 0.3 else ())
            case "loop":
                return self.loop()
            case "while":
                count = self.name(None)
                self.fixed.add(count)
                step = Assign(count, Var(count) + 1)
                body = (step, *self.nested(1, **{count: U32}))
                return Block((Let(count, Lit.of(U32, 0)), While(Var(count) < 2, body)))
            case "pair":
                return self.pair()
            case "reduce":
                return self.reduction()
            case "leave" if self.depth:
                return If(self.guard(), (Return(),))
        buffer = rng.choice(("out", "out", "out", "image"))
        return Store(buffer, self.index(buffer), self.stored(self.buffers[buffer].element))

    def stored(self, dtype: DataType) -> Expr:
        if self.rng.random() < 0.2:
            return Lit.of(dtype, 7)
        value = self.affine(dtype)
        if self.rng.random() < 0.3:
            buffer = self.rng.choice(("out", "table"))
            value = value + Cast(dtype, Load(buffer, self.index(buffer)))
        return value

    def atomic(self) -> Node:
        rng = self.rng
        buffer = rng.choice(("sums", "sums", "out"))
        dtype = self.buffers[buffer].element
        op = rng.choice((AtomicOp.ADD, AtomicOp.ADD, AtomicOp.MAX, AtomicOp.EXCHANGE))
        found = Atomic(op, buffer, self.index(buffer), self.affine(dtype))
        return Let(self.name(dtype if rng.random() < 0.3 else None), found)

    def loop(self) -> Node:
        rng = self.rng
        dtype = rng.choice((U32, U32, I32, U8))
        start: Expr = Lit.of(dtype, rng.choice((0, 0, 1, 2, 4)))
        stop: Expr = Lit.of(dtype, rng.choice((0, 1, 3, 4, self.stride & 7, 6)))
        if rng.random() < 0.3:
            stop = self.uniform(dtype) - Lit.of(dtype, rng.choice((0, 1, 5)))
        match rng.randint(0, 9):
            case 0:
                start = start - Lit.of(dtype, 2)
            case 1:
                start = Lit.of(dtype, int_range(dtype)[1]) + Lit.of(dtype, rng.choice((2, 3)))
        var = self.name(None)
        self.fixed.add(var)
        return Loop(var, start, stop, self.nested(2, **{var: dtype}))

    def reduction(self) -> Node:
        """Reads, where rounds may be as many as anything in sight, and what is found a name."""
        rng = self.rng
        few = Lit.of(U32, rng.choice((0, 1, 3, 4, self.stride & 7)))
        rounds = rng.choice((few, few, self.uniform(U32), Id(IdKind.INVOCATION, 0)))
        var, dtype = self.name(None), rng.choice((U32, U32, I32, U64, I64))
        self.fixed.add(var)
        self.names.append({var: U32})
        self.depth += 1
        body: list[Node] = []
        if rng.random() < 0.6:
            buffer = rng.choice(("out", "table", "image"))
            body.append(Let(self.name(None), Load(buffer, self.index(buffer))))
        if self.depth < 3 and rng.random() < 0.3:
            body.append(self.reduction())
        element: Node = Yield(self.stored(dtype))
        if rng.random() < 0.4:
            other = (Yield(self.stored(dtype)),) if rng.random() < 0.5 else ()
            element = If(self.guard(), (element,), other)
        self.depth -= 1
        self.names.pop()
        op = rng.choice((ReduceOp.SUM, ReduceOp.MIN, ReduceOp.MAX))
        return Reduce(self.name(dtype), op, dtype, var, rounds, (*body, element))

    def pair(self) -> Node:
        """Two stores that look as if they kept apart."""
        rng = self.rng
        x = Id(IdKind.INVOCATION, 0)
        element = self.buffers["out"].element

        def put(index: Expr) -> Node:
            return Store("out", index, Cast(element, x))

        match rng.randint(0, 2):
            case 0:  # loops that start apart
                first, second = rng.choice((0, 1)), rng.choice((0, 1, 2, 4))
                count = rng.choice((1, 2, 4))
                loops = []
                for start in (first, second):
                    var = self.name(None)
                    body = (put(x * Lit.of(U32, self.stride) + Var(var)),)
                    stop = Lit.of(U32, start + count)
                    loops.append(Loop(var, Lit.of(U32, start), stop, body))
                return Block(tuple(loops))
            case 1:  # one factor in two widths
                factor = rng.choice((1, 3, 1 << 33))
                narrow = (x << Lit.of(U32, 31)) << Lit.of(U32, 2) if factor > 3 else x * factor
                nodes = [put(Cast(U64, x) * Lit.of(U64, factor)), put(narrow)]
                rng.shuffle(nodes)
                return Block(tuple(nodes))
            case _:  # guards, each for one invocation
                guards = [x.eq(Lit.of(U32, rng.choice((0, 1)))) for _ in range(2)]
                return Block(tuple(If(guard, (put(Lit.of(U32, 2)),)) for guard in guards))

    def counters(self) -> list[Expr]:
        return [
            Var(name)
            for scope in self.names
            for name, dtype in scope.items()
            if dtype == U32 and name in self.fixed
        ]

    def guard(self) -> Expr:
        rng = self.rng
        if self.counters() and rng.random() < 0.3:
            return Id(IdKind.INVOCATION, 0).eq(rng.choice(self.counters()))
        dtype = self.dtype()
        left, right = self.affine(dtype), self.uniform(dtype)
        if rng.random() < 0.2:
            right = self.affine(dtype)
        found = Binary(rng.choice((BinaryOp.EQ, BinaryOp.EQ, BinaryOp.LT)), left, right)
        if rng.random() < 0.25:
            found = Binary(BinaryOp.AND, found, self.guard())
        return found

    def dtype(self) -> DataType:
        return self.rng.choice((U32, U32, U32, U32, I32, U64, I64, U8))

    def index(self, buffer: str) -> Expr:
        decl = self.buffers[buffer]
        if decl.rank == 2 and self.rng.random() < 0.8:
            if self.rng.random() < 0.4:
                y, x = (Id(IdKind.INVOCATION, axis) for axis in (1, 0))
                return FlatIndex(buffer, (y, x))
            return FlatIndex(buffer, (self.affine(self.dtype()), self.affine(self.dtype())))
        found = self.own(buffer) if self.rng.random() < 0.6 else self.affine(self.dtype())
        # A negative literal is no valid index.
        return Lit.of(U32, 2) if isinstance(found, (Lit, Unary)) else found

    def own(self, buffer: str) -> Expr:
        """An index that is one's own, or nearly."""
        rng = self.rng
        x, y, z = (Id(IdKind.INVOCATION, axis) for axis in range(3))
        w, h = (Id(IdKind.EXTENT, axis) for axis in range(2))
        base = rng.choice((x, x, x, y * w + x, (z * h + y) * w + x, x * h + y, w - 1 - x, x + y))
        counters = self.counters()
        if rng.random() < 0.5:
            base = base * Lit.of(U32, self.stride)
        if counters and rng.random() < 0.8:
            counter = rng.choice(counters)
            base = base + rng.choice((counter, counter, counter * w, counter * BufLen(buffer)))
        if rng.random() < 0.1:
            base = base + Lit.of(U32, rng.choice((1, 2, 4)))
        match rng.randint(0, 11):
            case 0:
                return Cast(I32, base)
            case 1:
                return Cast(U64, base)
            case 2:
                return Cast(I64, rng.choice((Cast, Bitcast))(I32, base))
            case 3:
                return (base << Lit.of(U32, 31)) << Lit.of(U32, 2)
            case 4:
                return Cast(U64, x) * Lit.of(U64, self.stride << rng.choice((0, 2)))
            case _:
                return base

    def affine(self, dtype: DataType) -> Expr:
        """A sum of few terms; now and then something that is no sum at all."""
        rng = self.rng
        found = self.term(dtype)
        for _ in range(rng.choice((0, 0, 1, 1, 2))):
            op = rng.choice((BinaryOp.ADD, BinaryOp.ADD, BinaryOp.SUB, BinaryOp.WRAP_ADD))
            found = Binary(op, found, self.term(dtype))
        match rng.randint(0, 24):
            case 0:
                return Binary(BinaryOp.FLOOR_MOD, found, Lit.of(dtype, 3))
            case 1:
                return Binary(BinaryOp.FLOOR_DIV, found, Lit.of(dtype, 2))
            case 2:
                return Binary(BinaryOp.MIN, found, Lit.of(dtype, 4))
            case 3:
                return Unary(UnaryOp.NEGATE, found)
            case 4:
                return Select(self.term(U32) < 2, found, self.term(dtype))
            case _:
                return found

    def term(self, dtype: DataType) -> Expr:
        rng = self.rng
        atom = self.atom(dtype)
        match rng.randint(0, 9):
            case 0 | 1:
                return atom * self.uniform(dtype)
            case 2:
                return atom << Lit.of(U32, rng.choice((1, 2, 31, 33)))
            case _:
                return atom

    def atom(self, dtype: DataType) -> Expr:
        rng = self.rng
        known: list[Expr] = [Var(n) for s in self.names for n, t in s.items() if t == dtype]
        if dtype == U32:
            known += [Id(IdKind.INVOCATION, rng.choice((0, 0, 0, 1, 2))) for _ in range(4)]
        elif rng.random() < 0.6:
            return Cast(dtype, self.atom(rng.choice((U32, U32, I32, U8))))
        return rng.choice([*known, self.uniform(dtype)])

    def uniform(self, dtype: DataType) -> Expr:
        rng = self.rng
        low, high = int_range(dtype)
        corners = (high, high - 1, high // 2 + 1, low)
        pool = (0, 1, 2, 3, self.stride & 0x7F) if rng.random() < 0.8 else corners
        options: list[Expr] = [Lit.of(dtype, rng.choice(pool))] * 3
        options += [
            Load(name, Lit.of(U32, 0))
            for name in self.scalars
            if self.buffers[name].element == dtype
        ]
        if dtype == U32:
            options += [Id(IdKind.EXTENT, rng.choice((0, 1))), BufLen("out"), BufDim("image", 1)]
            options.append(Cast(U32, Lit.of(U8, 200) + Lit.of(U8, rng.choice((54, 57, 60)))))
        return rng.choice(options)


# -- the laws


def examine(seed: int) -> tuple[bool, bool]:
    """Whether the program of this seed was proved free, and whether it lost a check; both tried."""
    rng = Random(seed)
    launch = Writer(rng).launch()
    facts = analyse(launch.program)
    is_free = facts.free_for(launch)
    places = unchecked_places(facts) if facts.unchecked_for(launch) else set()
    safe = {place for place, accesses in by_place(facts).items() if safe_for(accesses, launch)}
    if not is_free and not places and not safe:
        return False, False  # nothing is claimed
    try:
        seen = watch(launch, rng)
    except TooLong:
        return False, False
    if is_free:
        met = {element: seen.touched[element] for element in meetings(seen)}
        assert met == {}, f"seed {seed} is not free"
    outside = [place for place in places | safe if False in seen.inside.get(place, ())]
    assert outside == [], f"seed {seed} needs its checks"
    return is_free, bool(places)


@pytest.mark.parametrize("part", range(3))
def test_no_proof_is_contradicted_by_a_run(part: int):
    results = [examine(seed) for seed in range(part * 700, part * 700 + 700)]

    # The law must have been tried, not only have been empty.
    assert sum(is_free for is_free, _ in results) > 70
    assert sum(is_unchecked for _, is_unchecked in results) > 70


@settings(max_examples=150)
@given(st.integers(10_000, 2**40))
def test_no_proof_of_an_arbitrary_program_is_contradicted(seed: int):
    examine(seed)


def in_order(launch: Launch, order: list[Dim3]) -> dict[Element, int]:
    """Memory after running invocations one after the other."""
    memory: dict[Element, int] = {}
    for number, position in enumerate(order):
        Invocation(launch, number, position, memory, Watched()).run()
    return {element: v for element, v in memory.items() if v != first_value(*element)}


def small_and_free(seeds: range) -> Iterator[Launch]:
    for seed in seeds:
        launch = Writer(Random(seed)).launch()
        small = prod(launch.extent) <= 32 and all(prod(s) < 200 for s in launch.shapes.values())
        if small and analyse(launch.program).free_for(launch):
            yield launch


def test_a_free_launch_gives_the_same_memory_in_every_order_and_on_the_reference():
    tried = 0
    for launch in small_and_free(range(1000)):
        order = list(product(*map(range, launch.extent)))
        try:
            expected = in_order(launch, order)
        except TooLong:
            continue
        for seed in range(3):
            Random(seed).shuffle(order)
            assert in_order(launch, order) == expected
        for workgroup in ((1, 1, 1), (4, 2, 1), (32, 1, 1)):
            assert on_reference(launch, workgroup) == expected
        tried += 1

    assert tried > 60


def on_reference(launch: Launch, workgroup: Dim3) -> dict[Element, int]:
    arrays = {}
    for decl in launch.program.buffers:
        kind = STORAGE[decl.element]
        if decl.is_scalar_argument:
            arrays[decl.name] = np.array([launch.scalars[decl.name]], kind)
        else:
            shape = launch.shapes[decl.name]
            values = [first_value(decl.name, at) for at in range(prod(shape))]
            arrays[decl.name] = np.array(values, kind).reshape(shape)
    reference.run(launch.program, arrays, launch.extent, workgroup)
    return {
        (name, at): int(v)
        for name, array in arrays.items()
        if name in launch.shapes
        for at, v in enumerate(array.ravel())
        if v != first_value(name, at)
    }
