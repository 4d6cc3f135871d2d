"""Reductions in the rounds of others, and what the model makes of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from random import Random

import numpy as np

from vyre.ir.build import buf_dim, flat_index, gid, let, load, u32, var
from vyre.ir.declare import BufferDecl
from vyre.ir.expr import Binary, BinaryOp, Expr, Lit
from vyre.ir.node import If, Node, Reduce, ReduceOp, Store, Yield
from vyre.ir.program import Program
from vyre.ir.storage import COMPUTED, STORAGE
from vyre.ir.types import DataType
from vyre.testing.programs import Case
from vyre.testing.reductions import elements, reduced

ROUNDS = (*range(10), 15, 16, 17, 31, 32, 33)
"""Rounds inside others at which something changes."""

OPS = tuple(op for op in ReduceOp if op not in (ReduceOp.ANY, ReduceOp.ALL))
"""Operations that reduce what others come to."""

_DTYPES = (DataType.F32, DataType.F32, DataType.F64, DataType.I32)
_COUNTED = ("axis", "scalar", "name", "less")


@dataclass(frozen=True, slots=True, kw_only=True)
class Nested:
    """What to reduce: of each of `rows`, so many rounds around so many others."""

    outer: ReduceOp
    inner: ReduceOp
    dtype: DataType
    around: int
    rounds: int
    counted: str = "axis"  # what says how many rounds there are inside
    passes: float | None = None  # which share of those has an element; None: no condition
    rows: int = 5

    def __str__(self) -> str:
        some = "" if self.passes is None else f", {self.passes:.0%} of them"
        names = f"{self.outer.name.lower()} of {self.inner.name.lower()} of {self.dtype}"
        return f"{names}, {self.around} x {self.rounds} rounds by {self.counted}{some}"


def nested(one: Nested, rng: Random) -> Case:
    """A program that reduces what products of elements of two arrays are reduced to."""
    random = np.random.default_rng(rng.getrandbits(32))
    x = elements(random, one.dtype, one.rows * one.rounds).reshape(one.rows, one.rounds)
    y = elements(random, one.dtype, one.around * one.rounds).reshape(one.around, one.rounds)
    has = random.random(y.shape) < (1.0 if one.passes is None else one.passes)
    between = DataType.U32 if one.inner.finds else one.dtype
    result = DataType.U32 if one.outer.finds else between
    expected = np.zeros(one.rows, COMPUTED[result.tag])
    with np.errstate(all="ignore"):
        for row in range(one.rows):
            found = np.zeros(one.around, COMPUTED[between.tag])
            for c in range(one.around):
                count = min(c, one.rounds) if one.counted == "less" else one.rounds
                found[c] = reduced(one.inner, (x[row] * y[c])[:count], has[c][:count])
            expected[row] = reduced(one.outer, found)
    return Case(
        program=_program(one, between, result),
        arrays={
            "x": x.astype(STORAGE[one.dtype]),
            "y": y.astype(STORAGE[one.dtype]),
            "has": has.astype(np.uint8),
            "rounds": np.array([one.rounds], np.uint32),
            "out": np.zeros(one.rows, STORAGE[result]),
        },
        extent=(one.rows, 1, 1),
        expected={"out": expected.astype(STORAGE[result])},
    )


def _program(one: Nested, between: DataType, result: DataType) -> Program:
    c, d = var("c"), var("d")
    rounds: dict[str, Expr] = {
        "axis": buf_dim("x", 1),
        "scalar": load("rounds", 0),
        "name": var("many"),
        "less": Binary(BinaryOp.MIN, c, var("many")),
    }
    element: Node = Yield(load("x", flat_index("x", gid(), d)) * load("y", flat_index("y", c, d)))
    if one.passes is not None:
        element = If(load("has", flat_index("has", c, d)).ne(Lit.of(DataType.U8, 0)), (element,))
    inner = Reduce("t", one.inner, one.dtype, "d", rounds[one.counted], (element,))
    body = (inner, Yield(var("t")))
    arrays = (("x", one.dtype), ("y", one.dtype), ("has", DataType.U8))
    return Program.wrapped(
        (
            *(
                BufferDecl.read(name, place, dtype).with_shape(0, 0)
                for place, (name, dtype) in enumerate(arrays)
            ),
            BufferDecl.uniform("rounds", 3, DataType.U32).with_count(1),
            BufferDecl.write("out", 4, result),
        ),
        (32, 1, 1),
        (
            let("many", buf_dim("x", 1) + u32(0)),
            Reduce("s", one.outer, between, "c", buf_dim("y", 0), body),
            Store("out", gid(), var("s")),
        ),
    )


def nests(seed: int, count: int) -> Iterator[Nested]:
    """Some of all pairs of operations, with numbers of rounds that differ from seed to seed."""
    rng = Random(seed)
    pairs = list(product(OPS, OPS))
    for number in range(count):
        outer, inner = rng.choice(pairs) if number % 2 else rng.choice(_USUAL)
        yield Nested(
            outer=outer,
            inner=inner,
            dtype=rng.choice(_DTYPES),
            around=rng.choice((0, 1, 5, 33, 70)),
            rounds=rng.choice(ROUNDS),
            counted=rng.choice(_COUNTED),
            passes=rng.choice((None, None, 0.0, 0.5, 0.9)),
        )


_USUAL = (
    (ReduceOp.ARGMIN, ReduceOp.SUM),
    (ReduceOp.SUM, ReduceOp.SUM),
    (ReduceOp.MIN, ReduceOp.SUM),
    (ReduceOp.SUM, ReduceOp.ARGMIN),
    (ReduceOp.SUM, ReduceOp.PROD),
)
