"""What a reduction comes to, straight from its meaning: the model that devices are held to.

Only a float's sum and product can tell in which order elements come together, so only those are
folded in that order here; all else is found in the way that a reader checks at a glance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vyre.ir.declare import BufferDecl
from vyre.ir.expr import BufLen, Expr, Id, IdKind, Lit, Load, Var
from vyre.ir.node import NOWHERE, If, Node, Reduce, ReduceOp, Store, Yield
from vyre.ir.program import Program
from vyre.ir.storage import COMPUTED, STORAGE
from vyre.ir.types import DataType
from vyre.testing.programs import REDUCED, Case

Array = NDArray[Any]

SIZES = (0, 1, 31, 32, 33, 1023, 1024, 1025, 2**20, 2**20 + 1, 2**25)
"""Rounds at which something changes: lanes, blocks and levels begin and end."""

KINDS: tuple[tuple[ReduceOp, DataType], ...] = tuple(
    (op, dtype)
    for op in ReduceOp
    for dtype in ((DataType.BOOL,) if op in (ReduceOp.ANY, ReduceOp.ALL) else REDUCED)
)
"""Every operation with every type of its elements."""


def reduced(op: ReduceOp, elements: Array, has: NDArray[np.bool_] | None = None) -> Any:
    """What the elements of all rounds come to; `has` says which rounds have one.

    It is a NumPy scalar of their own type, or a round, which is u32.

    >>> reduced(ReduceOp.SUM, np.float32([1, 2, 3])), reduced(ReduceOp.ARGMAX, np.int32([7, 9, 9]))
    (np.float32(6.0), np.uint32(1))
    """
    there = np.ones(len(elements), np.bool_) if has is None else has
    kept, kind = elements[there], elements.dtype.type
    with np.errstate(all="ignore"):
        match op:
            case ReduceOp.ANY:
                return np.bool_(kept.any())
            case ReduceOp.ALL:
                return np.bool_(kept.all())
            case ReduceOp.SUM | ReduceOp.PROD if elements.dtype.kind == "f":
                total, is_there = _tree(op, elements, there)
                return total if is_there else kind(op is ReduceOp.PROD)
            case ReduceOp.SUM:
                return kept.sum(dtype=elements.dtype)  # whole numbers wrap in any order
            case ReduceOp.PROD:
                return kept.prod(dtype=elements.dtype)
            case ReduceOp.ARGMIN | ReduceOp.ARGMAX:
                where = _first_best(op, elements, there)
                return np.uint32(NOWHERE if where is None else where)
            case ReduceOp.MIN | ReduceOp.MAX:
                where = _first_best(op, elements, there)
                return _end(op, elements.dtype) if where is None else elements[where]


def _first_best(op: ReduceOp, elements: Array, there: Array) -> int | None:
    """The first of the least rounds, or of the greatest; NaN only where there is nothing else."""
    rounds = np.flatnonzero(there)
    if elements.dtype.kind == "f" and not np.isnan(elements[rounds]).all():
        rounds = rounds[~np.isnan(elements[rounds])]
    if not rounds.size:
        return None
    least = op in (ReduceOp.MIN, ReduceOp.ARGMIN)
    best = elements[rounds].min() if least else elements[rounds].max()
    if np.isnan(best):
        return int(rounds[0])
    rounds = rounds[elements[rounds] == best]
    if elements.dtype.kind == "f" and best == 0:
        signed = np.signbit(elements[rounds]) == least  # -0 is less than +0
        rounds = rounds[signed] if signed.any() else rounds
    return int(rounds[0])


def _end(op: ReduceOp, dtype: np.dtype[Any]) -> Any:
    """The least of nothing at all is the greatest there is, and the other way round."""
    if dtype.kind == "f":
        return dtype.type(np.inf if op is ReduceOp.MIN else -np.inf)
    return dtype.type(np.iinfo(dtype).max if op is ReduceOp.MIN else np.iinfo(dtype).min)


def _tree(op: ReduceOp, elements: Array, there: Array) -> tuple[Any, bool]:
    """A float's sum or product, block by block of 1024; all blocks of a level at once."""
    combine = np.add if op is ReduceOp.SUM else np.multiply

    def both(a: tuple[Array, Array], b: tuple[Array, Array]) -> tuple[Array, Array]:
        (x, has_x), (y, has_y) = a, b
        alone = np.where(has_x, x, y)
        return np.where(has_x & has_y, combine(x, y), alone), has_x | has_y

    while True:
        blocks = max(1, (len(elements) + 1023) // 1024)
        x, has = np.zeros((blocks, 1024), elements.dtype), np.zeros((blocks, 1024), np.bool_)
        x.flat[: len(elements)], has.flat[: len(elements)] = elements, there
        lanes = []
        for lane in range(32):
            mine = x[:, lane], has[:, lane]
            for j in range(lane + 32, min(1024, len(elements)), 32):
                mine = both(mine, (x[:, j], has[:, j]))
            lanes.append(mine)
        for half in (16, 8, 4, 2, 1):
            lanes = [both(lanes[lane], lanes[lane + half]) for lane in range(half)]
        elements, there = lanes[0]
        if blocks == 1:
            return elements[0], bool(there[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What to reduce: as many rows of so many rounds, of all rounds or of those that pass."""

    op: ReduceOp
    dtype: DataType
    rounds: int
    rows: int = 1
    passes: float | None = None  # which share of the rounds has an element; None: no condition

    def __str__(self) -> str:
        some = "" if self.passes is None else f", {self.passes:.0%} of them"
        name = self.op.name.lower()
        return f"{name} of {self.dtype}, {self.rows} rows of {self.rounds} rounds{some}"


def modelled(row: Row, rng: Random) -> Case:
    """A program that reduces each row by an invocation, its arrays, and what the model makes of it.

    Any device compares with it under any code, as with the reference.
    """
    random = np.random.default_rng(rng.getrandbits(32))
    x = elements(random, row.dtype, row.rows * row.rounds)
    has = random.random(x.size) < (1.0 if row.passes is None else row.passes)
    result = DataType.U32 if row.op.finds else row.dtype
    expected = np.array(
        [
            reduced(row.op, x[first : first + row.rounds], has[first : first + row.rounds])
            for first in range(0, row.rows * row.rounds, max(row.rounds, 1))
        ]
        or [reduced(row.op, x)] * row.rows,
        COMPUTED[result.tag],
    ).astype(STORAGE[result])
    return Case(
        program=_program(row, result, rng.choice((32, 64, 128))),
        arrays={
            "x": x.astype(STORAGE[row.dtype]),
            "has": has.astype(np.uint8),
            "rounds": np.array([row.rounds], np.uint32),
            "out": np.zeros(row.rows, STORAGE[result]),
        },
        extent=(row.rows, 1, 1),
        expected={"out": expected},
    )


def _program(row: Row, result: DataType, workgroup: int) -> Program:
    me = Id(IdKind.INVOCATION, 0)
    many: Expr = Load("rounds", Lit.of(DataType.U32, 0))
    at = me * many + Var("k") if row.rows > 1 else Var("k")
    element: Node = Yield(Load("x", at))
    if row.passes is not None:
        element = If(Load("has", at).ne(Lit.of(DataType.U8, 0)), (element,))
    rounds = many if row.rows > 1 else BufLen("x")
    return Program.wrapped(
        (
            BufferDecl.read("x", 0, row.dtype),
            BufferDecl.read("has", 1, DataType.U8),
            BufferDecl.uniform("rounds", 2, DataType.U32).with_count(1),
            BufferDecl.write("out", 3, result),
        ),
        (workgroup, 1, 1),
        (
            Reduce("s", row.op, row.dtype, "k", rounds, (element,)),
            Store("out", me, Var("s")),
        ),
    )


def elements(random: np.random.Generator, dtype: DataType, n: int) -> Array:
    """Numbers of all sizes, ties among them; of floats some are -0, a few NaN or infinite."""
    if dtype.is_bool:
        share = random.choice((0.0, 0.5, 1.0, 1 / (n + 1), 1 - 1 / (n + 1)))
        return np.asarray(random.random(n) < share)
    kind = COMPUTED[dtype.tag]
    if dtype.is_int:
        ends = np.iinfo(kind)
        low, high = (ends.min, ends.max) if random.random() < 0.5 else (0, 3)
        return random.integers(low, high, n, kind, endpoint=True)
    exponents = random.integers(-1, 2, n) if random.random() < 0.5 else random.integers(-12, 12, n)
    values = np.ldexp(random.uniform(-1, 1, n), exponents).astype(kind)
    values[random.random(n) < 0.05] = -0.0
    for special in (np.nan, np.inf, -np.inf, 0.0):
        if random.random() < 0.25:
            values[random.random(n) < random.choice((0.5, 3 / (n + 1)))] = special
    return values


def rows(seed: int) -> Iterator[Row]:
    """Every kind of reduction once, of sizes and conditions that differ from seed to seed."""
    rng = Random(seed)
    for op, dtype in KINDS:
        rounds = rng.choice((*SIZES[:8], rng.randrange(3000)))
        yield Row(
            op=op,
            dtype=dtype,
            rounds=rounds,
            rows=rng.choice((1, 1, 3, 65)),
            passes=rng.choice((None, None, 0.0, 0.02, 0.7)),
        )
