"""What is proved of conditions, choices, quotients and bits holds: all of it is counted out.

Small random programs are run for every invocation of a small launch, by the meaning of the IR's own
operators. An index that leaves an array unchecked, or two invocations that meet, convict a proof.
"""

from collections import defaultdict
from contextlib import suppress
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vyre.analysis import analyse
from vyre.ir import BufferDecl, DataType, Program
from vyre.ir.arithmetic import BINARY, UNARY
from vyre.ir.build import assign, buf_len, cast, gid, if_, let, load, loop, select, store, u32, var
from vyre.ir.expr import (
    Binary,
    BinaryOp,
    BufLen,
    Cast,
    Id,
    IdKind,
    Lit,
    Load,
    Select,
    Unary,
    UnaryOp,
    Var,
)
from vyre.ir.node import Assign, Break, Continue, If, Let, Loop, Region, Return, Store, While
from vyre.ir.storage import STORAGE
from vyre.ir.text import statement_text
from vyre.ir.validate import check

U32, U64, I32, F32 = DataType.U32, DataType.U64, DataType.I32, DataType.F32
BUFFERS = (
    BufferDecl.read_write("out", 0, U32),
    BufferDecl.read("x", 1, U32),
    BufferDecl.uniform("n", 2, U32).with_count(1),
)
OPS = (
    *(BinaryOp.ADD, BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL, BinaryOp.FLOOR_DIV, BinaryOp.MOD),
    *(BinaryOp.BIT_AND, BinaryOp.BIT_OR, BinaryOp.BIT_XOR, BinaryOp.SHR, BinaryOp.SHL),
    *(BinaryOp.MIN, BinaryOp.MAX, BinaryOp.SAT_SUB, BinaryOp.ABS_DIFF, BinaryOp.DIV),
)
SIGNED = (BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MIN, BinaryOp.MAX, BinaryOp.FLOOR_MOD, BinaryOp.SHR)
NARROW = (U64, DataType.U8, DataType.I8, DataType.I64, DataType.U16)
TESTS = (*(BinaryOp.LT, BinaryOp.LE, BinaryOp.GT, BinaryOp.GE), BinaryOp.EQ, BinaryOp.NE)


class Writer:
    """Writes a program of a few stores under conditions."""

    def __init__(self, rng: Random) -> None:
        self.rng, self.names, self.flags, self.count, self.loops = rng, [], [], 0, 0

    def number(self, depth: int):
        rng = self.rng
        if depth == 0 or rng.random() < 0.25:
            names = [var(name) for name in self.names]
            plain = [gid(), gid(), gid(1), u32(rng.choice((0, 1, 2, 3, 4, 7, 8)))]
            sizes = [load("n", 0), buf_len("x"), buf_len("out"), Id(IdKind.EXTENT, 0)]
            huge = [u32(0xFFFF_FFFF), u32(1 << 31)] if rng.random() < 0.1 else []
            return rng.choice((*names, *names, *plain, *sizes, *huge))
        kind = rng.random()
        if kind < 0.1:
            return select(self.test(1), self.number(depth - 1), self.number(depth - 1))
        if kind < 0.15:
            return load("x", self.number(depth - 1))
        if kind < 0.2:
            return cast(U32, cast(rng.choice(NARROW), self.number(depth - 1)))
        if kind < 0.28:  # as a signed number
            one, other = (cast(I32, self.number(depth - 1)) for _ in range(2))
            return cast(U32, Binary(rng.choice(SIGNED), one, other))
        if kind < 0.31:
            op = rng.choice((UnaryOp.ABS, UnaryOp.NEGATE))
            return cast(U32, Unary(op, cast(I32, self.number(depth - 1))))
        if kind < 0.33:
            return Unary(UnaryOp.BIT_NOT, self.number(depth - 1))
        return Binary(rng.choice(OPS), self.number(depth - 1), self.number(depth - 1))

    def test(self, depth: int):
        rng = self.rng
        if self.flags and rng.random() < 0.15:
            return var(rng.choice(self.flags))
        if rng.random() < 0.15:  # of which a proof knows nothing
            return Binary(BinaryOp.LT, cast(F32, load("x", self.number(0))), Lit.of(F32, 2.5))
        if rng.random() < 0.1:
            one, other = (cast(I32, self.number(1)) for _ in range(2))
            return Binary(rng.choice(TESTS), one, other)
        if depth and rng.random() < 0.5:
            if rng.random() < 0.2:
                return Unary(UnaryOp.LOGICAL_NOT, self.test(depth - 1))
            op = rng.choice((BinaryOp.AND, BinaryOp.AND, BinaryOp.OR))
            return Binary(op, self.test(depth - 1), self.test(depth - 1))
        return Binary(rng.choice(TESTS), self.number(1), self.number(1))

    def list(self, depth: int):
        made = []
        known, flags = len(self.names), len(self.flags)
        for _ in range(self.rng.randint(1, 3)):
            made += self.statement(depth)
        del self.names[known:], self.flags[flags:]
        return made

    def rounds(self, depth: int):
        self.loops += 1
        body = self.list(depth - 1)
        self.loops -= 1
        return body

    def fresh(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def statement(self, depth: int):
        rng, kind = self.rng, self.rng.random()
        if kind < 0.03:
            name, value = self.fresh(), self.test(1)
            self.flags.append(name)
            return [let(name, value)]
        if kind < 0.2:
            name, value = self.fresh(), self.number(2)
            self.names.append(name)
            return [let(name, value)]
        if kind < 0.22 and self.flags:
            return [assign(rng.choice(self.flags), self.test(1))]
        if kind < 0.3 and self.names:
            name = rng.choice(self.names)
            if not name.startswith("k"):
                return [assign(name, self.number(2))]
        if kind < 0.6 and depth:
            return [if_(self.test(2), self.list(depth - 1), self.list(depth - 1))]
        if kind < 0.7 and depth:
            name = "k" + self.fresh()
            start, stop = self.number(0), Binary(BinaryOp.MIN, self.number(1), u32(5))
            self.names.append(name)
            body = self.rounds(depth)
            self.names.remove(name)
            return [loop(name, start, stop, body)]
        if kind < 0.73 and depth:
            name = "k" + self.fresh()
            on = Binary(BinaryOp.AND, var(name) < 3, self.test(1))
            body = [assign(name, var(name) + 1), *self.rounds(depth)]
            return [let(name, u32(0)), While(on, tuple(body))]
        if kind < 0.78:
            leave = (Return(), Return(), Break(), Continue()) if self.loops else (Return(),)
            return [if_(self.test(1), [rng.choice(leave)])]
        value = rng.choice((gid(), load("x", self.number(2)), u32(3), load("n", 0)))
        return [store("out", self.number(2), value)]


class Launch:
    def __init__(self, rng: Random) -> None:
        self.extent = rng.choice(((1, 1, 1), (5, 1, 1), (8, 1, 1), (13, 1, 1), (3, 4, 1)))
        self.sizes = {name: rng.choice((0, 1, 3, 8, 13, 20, 40)) for name in ("out", "x", "n")}

    def value(self, symbol) -> int:
        return self.extent[symbol.axis] if symbol.kind == "extent" else self.sizes[symbol.name]


class Left(Exception):  # it is no error
    """An invocation has returned."""


class Broken(Exception):
    """It has left a loop."""


class Continued(Exception):
    """It has left a round."""


class Invocation:
    """Runs a program for one invocation, on memory as it was at the start."""

    def __init__(self, launch: Launch, position) -> None:
        self.launch, self.position, self.names = launch, position, {}
        self.seen: list[tuple[str, str, str, object, int, object]] = []
        self.statement = ""

    def number(self, expr):
        match expr:
            case Lit(dtype):
                return np.asarray(expr.value, STORAGE[dtype])
            case Var(name):
                return self.names[name]
            case Id(IdKind.EXTENT, axis):
                return np.asarray(self.launch.extent[axis], np.uint32)
            case Id(_, axis):
                return np.asarray(self.position[axis], np.uint32)
            case BufLen(buffer):
                return np.asarray(self.launch.sizes[buffer], np.uint32)
            case Load("n", _):
                return np.asarray(self.launch.sizes["n"], np.uint32)
            case Load(buffer, index):
                at = int(self.number(index))
                self.seen.append(("load", buffer, self.statement, index, at, None))
                inside = at < self.launch.sizes[buffer]
                return np.asarray(at * 5 % 7 if inside else 0, np.uint32)
            case Cast(target, value):
                return np.asarray(self.number(value).astype(STORAGE[target]))
            case Select(cond, true, false):
                yes, no = self.number(true), self.number(false)
                return yes if self.number(cond) else no
            case Binary(op, left, right):
                return np.asarray(BINARY[op](self.number(left), self.number(right)))
            case Unary(op, operand):
                return np.asarray(UNARY[op](self.number(operand)))

    def run(self, nodes) -> None:
        for node in nodes:
            self.statement = statement_text(node)
            match node:
                case Let(name, value) | Assign(name, value):
                    self.names[name] = self.number(value)
                case Store(buffer, index, value):
                    stored, at = int(self.number(value)), int(self.number(index))
                    self.seen.append(("store", buffer, self.statement, index, at, stored))
                case If(cond, then, otherwise):
                    self.run(then if self.number(cond) else otherwise)
                case Loop(name, start, stop, body):
                    first, last = int(self.number(start)), int(self.number(stop))
                    with suppress(Broken):
                        for k in range(first, last):
                            self.names[name] = np.asarray(k, np.uint32)
                            with suppress(Continued):
                                self.run(body)
                case While(cond, body):
                    with suppress(Broken):
                        while self.number(cond):
                            with suppress(Continued):
                                self.run(body)
                            self.statement = statement_text(node)
                case Break():
                    raise Broken
                case Continue():
                    raise Continued
                case Region(body=body):
                    self.run(body)
                case Return():
                    raise Left


def examine(seed: int) -> tuple[bool, bool]:
    """Whether a program was proved free, and whether an access under conditions lost its check."""
    rng = Random(seed)
    program = Program.wrapped(BUFFERS, (64, 1, 1), Writer(rng).list(3))
    check(program)
    launch, facts = Launch(rng), analyse(program)
    free, unchecked = facts.free_for(launch), facts.unchecked_for(launch)
    proofs = defaultdict(list)
    for access in facts.accesses:
        proofs[access.kind, access.buffer, access.statement, access.index].append(access)
    touched = defaultdict(list)
    x, y, z = launch.extent
    for position in ((i, j, k) for k in range(z) for j in range(y) for i in range(x)):
        one = Invocation(launch, position)
        with np.errstate(all="ignore"), suppress(Left):
            one.run(program.entry)
        for kind, buffer, statement, index, at, value in one.seen:
            mine = proofs[kind, buffer, statement, index]
            safe = unchecked and all(a.in_bounds is not None for a in mine)
            safe = safe or all(access.safe(launch) for access in mine)
            assert not safe or at < launch.sizes[buffer], f"seed {seed}: {statement} at {position}"
            touched[buffer, at].append((position, kind, value))
    for (buffer, _), all_of in touched.items():
        stores = [one for one in all_of if one[1] == "store"]
        if free and stores and buffer == "out":
            positions, values = {p for p, _, _ in all_of}, {v for _, _, v in stores}
            reads = len(stores) < len(all_of)
            alike = len(positions) == 1 or (len(values) == 1 and not reads)
            assert alike, f"seed {seed} is not free: {all_of}"
    guarded = any(i is not None and i.known for a in facts.accesses for i in a.by_axis)
    return free and bool(touched), unchecked and guarded


@pytest.mark.slow
@pytest.mark.parametrize("part", range(2))
def test_no_proof_is_contradicted_by_counting(part: int):
    results = [examine(seed) for seed in range(part * 400, part * 400 + 400)]

    # The law must have been tried, not only have been empty.
    assert sum(free for free, _ in results) > 30
    assert sum(lost for _, lost in results) > 10


@settings(max_examples=150)
@given(st.integers(10_000, 2**40))
def test_no_proof_of_an_arbitrary_program_is_contradicted_by_counting(seed: int):
    examine(seed)
