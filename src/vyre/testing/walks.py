"""Programs that go over rounds several times, and may compute again what they have computed.

A walk is a group of reductions or a loop that stores. What walks read and compute is drawn from a
few terms that they share, by themselves or under names; how many rounds they have, from lengths
that are equal, or only happen to be. Results are those of a position, of a pair of positions, of a
row that is stored by loops, or by elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from enum import Enum, auto
from random import Random

import numpy as np
from numpy.typing import NDArray

from vyre.ir.build import (
    assign,
    buf_dim,
    buf_len,
    cast,
    flat_index,
    gid,
    if_,
    let,
    lit,
    load,
    loop,
    reduce_,
    select,
    store,
    u32,
    unary,
    var,
    yield_,
)
from vyre.ir.declare import Access, BufferDecl, Dim3
from vyre.ir.expr import Binary, BinaryOp, Expr, UnaryOp
from vyre.ir.node import Node, ReduceOp
from vyre.ir.program import Program
from vyre.ir.team.loops import stored_to
from vyre.ir.types import DataType
from vyre.testing.names import hostile_names, renamed, variables_of
from vyre.testing.programs import ANYTHING, Case
from vyre.testing.values import array

U32, F32, F64 = DataType.U32, DataType.F32, DataType.F64

ROUNDS = (0, 1, 2, 3, 7, 31, 32, 33, 40, 63, 64, 65, 127, 128, 129, 255, 256, 257, 300)
"""Rounds of walks at which something changes, where there are several results."""

MANY = (1023, 1024, 1025, 1500, 2047, 2048, 2049, 3072, 4096, 4097)
"""The same of a few results."""

_COMPUTED = (F32, F32, F32, F64, DataType.I32, U32, DataType.I64, DataType.U64)
_STORED = {
    F32: (F32, F32, F32, DataType.F16, DataType.BF16, F64),
    F64: (F64, F64, F32),
    DataType.I32: (DataType.I32, DataType.I8, DataType.I16, DataType.U8, DataType.U16),
    U32: (U32, DataType.U8, DataType.U16),
    DataType.I64: (DataType.I64, DataType.I32),
    DataType.U64: (DataType.U64, U32),
}
_OPS = (
    *(ReduceOp.SUM, ReduceOp.SUM, ReduceOp.SUM, ReduceOp.MAX, ReduceOp.MIN, ReduceOp.PROD),
    *(ReduceOp.ARGMIN, ReduceOp.ARGMAX, ReduceOp.ANY, ReduceOp.ALL),
)
_FUNCTIONS = (UnaryOp.EXP, UnaryOp.TANH, UnaryOp.SIN)

Term = Callable[[Expr], Expr]
"""A value of a round, by the round's number."""


class Shape(Enum):
    """What a result is that an invocation has."""

    POSITION = auto()
    PAIR = auto()  # of two positions, of which reductions depend on both
    ROW = auto()  # whose elements are stored by loops
    ELEMENT = auto()  # of a row, on which no reduction depends


def walks(rng: Random) -> Case:
    """One race-free case, under names that others use too; the same state gives the same case."""
    case = _Walks(rng).case()
    variables = hostile_names(rng, variables_of(case.program))
    buffers = hostile_names(rng, (decl.name for decl in case.program.buffers))
    return replace(
        case,
        program=renamed(case.program, variables, buffers),
        arrays={buffers[name]: values for name, values in case.arrays.items()},
        ulp={buffers[name]: bound for name, bound in case.ulp.items()},
    )


class _Walks:
    """Draws one program, statement by statement."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.dtype = rng.choice(_COMPUTED)
        self.shape = rng.choice(tuple(Shape))
        few = rng.random() < 0.8
        self.rounds = rng.choice(ROUNDS if few else MANY)
        self.results = rng.choice((1, 2, 3, 5, 9, 17, 33) if few else (1, 1, 2, 3))
        self.others = rng.choice((1, 2, 3, 5, 8)) if self.shape is Shape.PAIR else 1
        self.has_functions = self.dtype.is_float and rng.random() < 0.3
        self.in_place = self.shape is Shape.ROW and rng.random() < 0.4
        self.row = gid(0) if self.shape in (Shape.POSITION, Shape.ROW) else gid(1)
        self.buffers: list[BufferDecl] = []
        self.arrays: dict[str, NDArray[np.generic]] = {}
        self.nodes: list[Node] = []
        self.found: dict[str, DataType] = {}  # what reductions came to
        self.names = 0

    def case(self) -> Case:
        rng = self.rng
        self.declare()
        self.many = self.lengths()
        self.terms = [self.term() for _ in range(rng.randint(2, 4))]
        for place in range(rng.randint(2, 4)):
            self.walk()
            if rng.random() < 0.3:
                self.between(place)
        self.last()
        # Functions have a device's own last bits; the runs of one agree all the same.
        written = (decl.name for decl in self.buffers if decl.is_written)
        ulp = dict.fromkeys(written, ANYTHING) if self.has_functions else {}
        program = Program.wrapped(self.buffers, (32, 1, 1), self.nodes)
        return Case(program=program, arrays=self.arrays, extent=self.extent, ulp=ulp)

    @property
    def extent(self) -> Dim3:
        match self.shape:
            case Shape.POSITION | Shape.ROW:
                return self.results, 1, 1
            case Shape.PAIR:
                return self.others, self.results, 1
            case Shape.ELEMENT:
                return self.rounds, self.results, 1

    # -- arrays

    def declare(self) -> None:
        rng, most = self.rng, self.rounds
        stored = _STORED[self.dtype]
        access = Access.READ_WRITE if self.in_place else Access.READ_ONLY
        self.add("x", access, rng.choice(stored), (self.results, most))
        self.add("w", Access.READ_ONLY, rng.choice(stored), (most, self.others))
        self.add("y", Access.READ_ONLY, rng.choice(stored), most if rng.random() < 0.7 else 40)
        self.add("where", Access.READ_ONLY, U32, most)
        self.arrays["where"] = np.array([rng.randrange(50) for _ in range(most)], np.uint32)
        self.add("n", Access.UNIFORM, U32, 1)
        same = rng.random() < 0.6
        self.arrays["n"] = np.array([most if same else rng.choice(ROUNDS)], np.uint32)
        self.arrays["n"] = np.minimum(self.arrays["n"], np.uint32(4096))
        self.add("sizes", Access.READ_ONLY, U32, self.results)
        sizes = [rng.choice((0, most, most, 5)) for _ in range(self.results)]
        self.arrays["sizes"] = np.array(sizes, np.uint32)
        whole = (self.results, {Shape.PAIR: self.others}.get(self.shape, most))
        one = self.shape is Shape.POSITION
        self.add("out", Access.WRITE_ONLY, rng.choice(stored), self.results if one else whole)
        self.add("also", Access.READ_WRITE, rng.choice(stored), whole)

    def add(self, name: str, access: Access, dtype: DataType, shape: int | tuple[int, int]) -> None:
        place = len(self.buffers)
        if access is Access.UNIFORM:
            decl = BufferDecl.uniform(name, place, dtype).with_count(1)
        else:
            decl = BufferDecl.storage(name, place, access, dtype)
        if isinstance(shape, tuple):
            decl = decl.with_shape(0, 0)
        self.buffers.append(decl)
        self.arrays[name] = array(self.rng, dtype, shape)

    def lengths(self) -> list[Expr]:
        """How many rounds walks have: mostly as many, said in several ways."""
        along = buf_dim("x", 1)
        self.nodes.append(let("many", self.rng.choice((along, load("n", 0), along + u32(0)))))
        usual = self.rng.choice((along, along, var("many"), load("n", 0), lit(U32, self.rounds)))
        others = (along, var("many"), load("n", 0), buf_len("y"), load("sizes", self.row))
        return [usual, usual, usual, usual, self.rng.choice(others)]

    # -- terms

    def loaded(self, name: str, index: Expr) -> Expr:
        dtype = next(decl.element for decl in self.buffers if decl.name == name)
        value = load(name, index)
        return value if dtype.computed == self.dtype else cast(self.dtype, value)

    def at(self, place: Expr) -> Expr:
        return self.loaded("x", flat_index("x", self.row, place))

    def term(self) -> Term:
        rng, dtype = self.rng, self.dtype
        kind = rng.randrange(9)
        if kind <= 1:
            return self.at
        if kind == 2:  # one of several
            return lambda k: self.loaded("y", k)
        if kind == 3:
            return lambda k: self.loaded("y", load("where", k))
        if kind == 4:  # which begins again behind 0
            return lambda k: self.at(k - u32(1))
        if kind == 5:
            nothing = lit(dtype, 0)
            return lambda k: select(k > u32(0), self.at(k - u32(1)), nothing)
        if kind == 6 and self.shape is Shape.PAIR:
            return lambda k: self.at(k) * self.loaded("w", flat_index("w", k, gid(0)))
        if kind == 7 and self.has_functions:
            op = rng.choice(_FUNCTIONS)
            return lambda k: unary(op, self.at(k))
        small = lit(dtype, rng.choice((0, 1, 2, 3)))
        return lambda k: self.at(k) / (self.loaded("y", k) + small)

    def value(self, k: Expr, body: list[Node]) -> Expr:
        """A value of a round, some of it under names of its own."""
        rng = self.rng
        first, second = (self.said(rng.choice(self.terms)(k), body) for _ in range(2))
        mixed = (first, first + second, first * second, second - first)
        value = rng.choice(mixed)
        known = [name for name, dtype in self.found.items() if dtype == self.dtype]
        if known and rng.random() < 0.6:
            value = rng.choice((value - var(rng.choice(known)), value * var(rng.choice(known))))
        if self.has_functions and rng.random() < 0.4:
            value = unary(rng.choice(_FUNCTIONS), value)
        elif self.dtype.is_float and rng.random() < 0.3:
            value = unary(UnaryOp.SQRT, unary(UnaryOp.ABS, value))
        return self.said(value, body)

    def said(self, value: Expr, body: list[Node]) -> Expr:
        if self.rng.random() < 0.5:
            return value
        name = self.fresh("t")
        body.append(let(name, value))
        return var(name)

    def fresh(self, stem: str) -> str:
        self.names += 1
        return f"{stem}{self.names}"

    # -- walks

    def walk(self) -> None:
        if self.shape is Shape.ROW and self.rng.random() < 0.25 and "also" not in self.stored:
            self.nodes.append(self.storing("also"))
            return
        for rounds in [self.rng.choice(self.many)] * self.rng.choice((1, 1, 2)):
            other = self.rng.choice(self.many) if self.rng.random() < 0.1 else rounds
            self.nodes.append(self.reduction(other))

    @property
    def stored(self) -> set[str]:
        return set(stored_to(self.nodes))

    def reduction(self, rounds: Expr) -> Node:
        rng = self.rng
        name, counter = self.fresh("s"), rng.choice(("k", "k", self.fresh("k")))
        op, k = rng.choice(_OPS), var(counter)
        body: list[Node] = []
        element = self.value(k, body)
        dtype = self.dtype
        if op in (ReduceOp.ANY, ReduceOp.ALL):
            element, dtype = element > lit(dtype, 1), DataType.BOOL
        last: Node = yield_(element)
        if rng.random() < 0.3:
            asked = self.value(k, body) > lit(self.dtype, 0)
            others = (yield_(element),) if rng.random() < 0.2 and not dtype.is_bool else ()
            last = if_(asked, (last,), others)
        made = reduce_(name, op, dtype, counter, rounds=rounds, body=(*body, last))
        self.found[name] = made.result if hasattr(made, "result") else dtype
        return made

    def between(self, place: int) -> None:
        """A statement that stands between walks."""
        rng = self.rng
        kinds = ("let", "change", "store", "some")
        kind = rng.choice(kinds)
        if kind == "let":
            name = self.fresh("m")
            self.nodes.append(let(name, self.result()))
            self.found[name] = self.dtype
        elif kind == "change":
            halved = Binary(BinaryOp.SHR, var("many"), u32(1))
            change = assign("many", halved)
            alike = if_(load("n", 0) > u32(100), (change,), ())
            self.nodes.append(rng.choice((change, alike)))
        elif kind == "store" and place == 0 and "also" not in self.stored:
            if self.shape is Shape.ELEMENT:
                return
            first = flat_index("also", self.row, u32(0) if self.shape is Shape.ROW else gid(0))
            if self.shape is not Shape.POSITION:
                self.nodes.append(store("also", first, self.as_stored("also", self.result())))
        elif kind == "some":
            self.nodes.append(let(self.fresh("more"), var("many") + u32(1)))

    def result(self) -> Expr:
        """What reductions so far came to."""
        value = lit(self.dtype, 1)
        for name, dtype in self.found.items():
            part = var(name) if dtype == self.dtype else cast(self.dtype, var(name))
            value = value + part if self.rng.random() < 0.8 else value * part
        return value

    def as_stored(self, name: str, value: Expr) -> Expr:
        dtype = next(decl.element for decl in self.buffers if decl.name == name)
        return value if dtype.computed == self.dtype and dtype == self.dtype else cast(dtype, value)

    def storing(self, name: str) -> Node:
        """A loop that stores to a row of an array."""
        rng = self.rng
        j, body = var("j"), list[Node]()
        value = self.value(j, body) + self.result()
        put = store(name, flat_index(name, self.row, j), self.as_stored(name, value))
        some = rng.random() < 0.2
        body.append(if_(self.value(j, body) > lit(self.dtype, 0), (put,), ()) if some else put)
        rounds = rng.choice((buf_dim(name, 1), *self.many))
        return loop("j", u32(0), rounds, body)

    def last(self) -> None:
        """What is stored in the end."""
        match self.shape:
            case Shape.POSITION:
                value = self.result()
                self.nodes.append(store("out", gid(), self.as_stored("out", value)))
            case Shape.PAIR:
                at = flat_index("out", gid(1), gid(0))
                self.nodes.append(store("out", at, self.as_stored("out", self.result())))
                if self.rng.random() < 0.4 and "also" not in self.stored:
                    at = flat_index("also", gid(1), gid(0))
                    value = self.loaded("also", at) + self.result()
                    self.nodes.append(store("also", at, self.as_stored("also", value)))
            case Shape.ROW:
                self.nodes.append(self.storing("x" if self.in_place else "out"))
            case Shape.ELEMENT:
                body: list[Node] = []
                value = self.value(gid(0), body) + self.result()
                self.nodes += body
                at = flat_index("out", gid(1), gid(0))
                self.nodes.append(store("out", at, self.as_stored("out", value)))


def several(seed: int, count: int) -> Iterator[Case]:
    """Some cases, each of a seed of its own."""
    return (walks(Random(one)) for one in range(seed, seed + count))
