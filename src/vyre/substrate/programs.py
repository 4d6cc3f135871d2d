"""The programs of a step: a workgroup for each row of candidates, its lanes sharing the work.

Whole numbers only, so that every backend gives the same bits. One program serves all sizes up to a
power of two, because compiling one takes longer than running it many times; the size is an input.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from vyre import ir
from vyre.ir import BinaryOp, BufferDecl, DataType, Expr, Node, Program, UnaryOp
from vyre.ir.expr import AtomicOp
from vyre.substrate.fixed import (
    ABSENT,
    DROPPED,
    FRACTION,
    HALVING,
    HOTTEST,
    I32_MAX,
    I32_MIN,
    LOG2_E,
    ONE,
)

U32, I32, U64, I64 = DataType.U32, DataType.I32, DataType.U64, DataType.I64

MOST_LANES = 256
MOST_CANDIDATES = 0xFFFF
"""The largest size whose square fits the 32-bit indices of a buffer."""

_N, _ROW, _BASE = ir.var("n"), ir.workgroup_id(), ir.var("base")
_LANE, _I = ir.local_id(), ir.var("i")


def softmax_step(n: int) -> Program:
    """Weights in 16.16 (`pre_exp`) to probabilities (`out`), as `fixed.softmax_q16` has it.

    >>> softmax_step(65) is softmax_step(100)
    True
    """
    return _softmax(_log2_ceil(n))


def pick_step(n: int) -> Program:
    """Costs and temperatures to probabilities: `fixed.weights_q16`, then the softmax."""
    return _pick(_log2_ceil(n))


def natural_step(n: int) -> Program:
    """Weights and a matrix per row to probabilities and their product, in one dispatch."""
    return _natural(_log2_ceil(n))


def precondition(n: int) -> Program:
    """A matrix and a vector per row to their product, as `fixed.precondition_q16` has it."""
    return _precondition(_log2_ceil(n))


def best_step(n: int) -> Program:
    """Costs to the position of the least one in each row, the first of equals."""
    return _best(_log2_ceil(n))


@dataclass(frozen=True, slots=True)
class _Row:
    """How the lanes of a workgroup share a row of at most `2**bits` candidates."""

    bits: int

    @property
    def lanes(self) -> int:
        return min(1 << self.bits, MOST_LANES)

    @property
    def items(self) -> int:
        return (1 << self.bits) // self.lanes

    def each(self, body: Iterable[Node]) -> Node:
        """Runs `body` for every candidate `i` of this lane, side by side with its neighbours'."""
        if self.items == 1:
            return ir.block([ir.let("i", _LANE), ir.if_(_I < _N, body)])
        mine = ir.var("item") * self.lanes + _LANE
        return ir.loop("item", 0, self.items, [ir.let("i", mine), ir.if_(_I < _N, body)])

    def combine(
        self, name: str, cells: str, partial: Expr, join: Callable[[Expr, Expr], Expr]
    ) -> list[Node]:
        """Binds `name` to what all lanes' `partial` make together, by a tree in `cells`."""
        if self.lanes == 1:
            return [ir.let(name, partial)]
        # The first barrier is for what the cells held before: every lane has read it.
        half = ir.u32(self.lanes // 2) >> ir.var("fold")
        joined = join(ir.load(cells, _LANE), ir.load(cells, _LANE + half))
        fold = [ir.barrier(), ir.if_(half > _LANE, [ir.store(cells, _LANE, joined)])]
        return [
            ir.barrier(),
            ir.store(cells, _LANE, partial),
            ir.loop("fold", 0, self.lanes.bit_length() - 1, fold),
            ir.barrier(),
            ir.let(name, ir.load(cells, 0)),
        ]


_HEAD = (ir.let("n", ir.load("size", 0)), ir.let("base", _ROW * _N))


@functools.cache
def _softmax(bits: int) -> Program:
    row = _Row(bits)
    buffers = [
        BufferDecl.read("pre_exp", 0, U32),
        BufferDecl.read_write("out", 1, U32),
        _size(2),
        *_shared(row),
    ]
    return _program("softmax_step", row, buffers, _normalised(row, "pre_exp", "out"))


@functools.cache
def _pick(bits: int) -> Program:
    row = _Row(bits)
    buffers = [
        BufferDecl.read("costs", 0, I64),
        BufferDecl.read("temperatures", 1, U64),
        BufferDecl.read_write("out", 2, U32),
        _size(3),
        BufferDecl.workgroup("lowest", row.lanes, I64),
        *_shared(row),
    ]
    # The weights wait in `out`, each read again only by the lane that wrote it.
    body = [*_weighed(row), *_normalised(row, "out", "out")]
    return _program("pick_step", row, buffers, body)


@functools.cache
def _natural(bits: int) -> Program:
    row = _Row(bits)
    buffers = [
        BufferDecl.read("pre_exp", 0, U32),
        BufferDecl.read("matrix", 1, I32),
        BufferDecl.read_write("probabilities", 2, U32),
        BufferDecl.read_write("out", 3, I32),
        _size(4),
        *_shared(row),
    ]
    body = [
        *_normalised(row, "pre_exp", "probabilities"),
        ir.barrier(),
        _product(row, "probabilities"),
    ]
    return _program("natural_step", row, buffers, body)


@functools.cache
def _precondition(bits: int) -> Program:
    row = _Row(bits)
    buffers = [
        BufferDecl.read("matrix", 0, I32),
        BufferDecl.read("gradient", 1, I32),
        BufferDecl.read_write("out", 2, I32),
        _size(3),
    ]
    return _program("precondition", row, buffers, [_product(row, "gradient")])


@functools.cache
def _best(bits: int) -> Program:
    row = _Row(bits)
    buffers = [
        BufferDecl.read("costs", 0, I64),
        BufferDecl.read_write("out", 1, U32),
        _size(2),
        BufferDecl.workgroup("lowest", row.lanes, I64),
        BufferDecl.workgroup("places", row.lanes, U32),
    ]
    place = ir.binary(BinaryOp.MIN, ir.var("place"), _I)
    body = [
        *_least(row),
        ir.let("place", _N),
        row.each([ir.if_(_cost().eq(ir.var("least")), [ir.assign("place", place)])]),
        *row.combine("first", "places", ir.var("place"), _smaller),
        ir.if_(_LANE.eq(0), [ir.store("out", _ROW, ir.var("first"))]),
    ]
    return _program("best_step", row, buffers, body)


def _program(name: str, row: _Row, buffers: Iterable[BufferDecl], body: Iterable[Node]) -> Program:
    region = ir.region(f"vyre.substrate.{name}", [*_HEAD, *body])
    return Program.wrapped(buffers, (row.lanes, 1, 1), [region])


def _size(binding: int) -> BufferDecl:
    return BufferDecl.uniform("size", binding, U32).with_count(1)


def _shared(row: _Row) -> list[BufferDecl]:
    cells = [BufferDecl.workgroup("cells", row.lanes, U64)]
    if row.items > 1:
        cells.append(BufferDecl.workgroup("counts", 32 + row.bits, U32))
    return cells


def _log2_ceil(n: int) -> int:
    return (n - 1).bit_length()


def _u64(value: int) -> Expr:
    return ir.lit(U64, value)


def _smaller(a: Expr, b: Expr) -> Expr:
    return ir.binary(BinaryOp.MIN, a, b)


def _added(a: Expr, b: Expr) -> Expr:
    return a + b


def _cost() -> Expr:
    return ir.load("costs", _BASE + _I)


def _least(row: _Row) -> list[Node]:
    """Binds `least` to the least cost of the row."""
    return [
        ir.let("mine", ir.lit(I64, ABSENT)),
        row.each([ir.assign("mine", _smaller(ir.var("mine"), _cost()))]),
        *row.combine("least", "lowest", ir.var("mine"), _smaller),
    ]


def _weighed(row: _Row) -> list[Node]:
    """Writes the weights of the row's costs to `out`."""
    above, shift, cooled = ir.var("above"), ir.var("shift"), ir.var("cooled")
    whole, fraction = ir.var("whole"), ir.var("fraction")
    length = _u64(64) - ir.unary(UnaryOp.CLZ, above)
    long = ir.binary(BinaryOp.MAX, length, _u64(32)) - _u64(32)
    exponent = ((above >> shift) * _u64(LOG2_E) / cooled) >> ir.u32(30 - FRACTION)
    slope = _u64(HALVING[-1])
    for coefficient in HALVING[-2::-1]:
        slope = _u64(coefficient) - ((slope * fraction) >> ir.u32(FRACTION))
    power = _u64(1 << 30) - ((slope * fraction) >> ir.u32(FRACTION))
    halved = (power + (_u64(1 << 13) << whole)) >> (_u64(14) + whole)
    cold = ir.select(above.eq(_u64(0)), _u64(ONE), _u64(0))
    weight = ir.select(cooled.eq(_u64(0)), cold, halved)
    present = ir.select(_cost().eq(ir.lit(I64, ABSENT)), _u64(0), weight)
    return [
        *_least(row),
        ir.let("temperature", ir.load("temperatures", _ROW)),
        row.each(
            [
                ir.let("above", ir.cast(U64, _cost()) - ir.cast(U64, ir.var("least"))),
                ir.let("shift", long),
                ir.let("cooled", ir.var("temperature") >> shift),
                ir.let(
                    "exponent",
                    ir.select(ir.var("temperature").eq(_u64(HOTTEST)), _u64(0), exponent),
                ),
                ir.let(
                    "whole",
                    _smaller(ir.var("exponent") >> ir.u32(FRACTION), _u64(DROPPED)),
                ),
                ir.let("fraction", ir.var("exponent") & _u64((1 << FRACTION) - 1)),
                ir.store("out", _BASE + _I, ir.cast(U32, present)),
            ]
        ),
    ]


def _normalised(row: _Row, weights: str, out: str) -> list[Node]:
    """Turns the row's weights into probabilities that add up to `ONE`."""
    stored = ir.cast(U64, ir.load(weights, _BASE + _I))
    weight = ir.select(ir.var("total").eq(_u64(0)), _u64(1), stored)
    share = (weight << ir.u32(16)) / ir.var("whole_row")
    nodes = [
        ir.let("sum", _u64(0)),
        row.each([ir.assign("sum", ir.var("sum") + stored)]),
        *row.combine("total", "cells", ir.var("sum"), _added),
        ir.let(
            "whole_row",
            ir.select(ir.var("total").eq(_u64(0)), ir.cast(U64, _N), ir.var("total")),
        ),
        ir.let("shares", _u64(0)),
        row.each([ir.assign("shares", ir.var("shares") + share)]),
        *row.combine("given", "cells", ir.var("shares"), _added),
        ir.let("left", _u64(ONE) - ir.var("given")),
    ]
    # Of two candidates the one with the larger key is given a unit first; no two keys are equal.
    last = ir.u32((1 << row.bits) - 1)
    key = (weight << ir.u32(row.bits)) | ir.cast(U64, last - _I)
    chosen, find = (_by_rank if row.items == 1 else _by_threshold)(row, key)
    one = ir.select(chosen, _u64(1), _u64(0))
    return [*nodes, *find, row.each([ir.store(out, _BASE + _I, ir.cast(U32, share + one))])]


def _by_rank(row: _Row, key: Expr) -> tuple[Expr, list[Node]]:
    """Whether fewer than `left` keys are larger: counted by every lane for its one candidate."""
    larger = ir.select(ir.load("cells", ir.var("j")) > ir.var("key"), _u64(1), _u64(0))
    find = [
        ir.let("key", _u64(0)),
        row.each([ir.assign("key", key)]),
        ir.barrier(),
        ir.store("cells", _LANE, ir.var("key")),
        ir.barrier(),
        ir.let("rank", _u64(0)),
        ir.loop("j", 0, _N, [ir.assign("rank", ir.var("rank") + larger)]),
    ]
    return ir.var("rank") < ir.var("left"), find


def _by_threshold(row: _Row, key: Expr) -> tuple[Expr, list[Node]]:
    """Whether the key is among the `left` largest, whose least is found bit by bit."""
    bits = 32 + row.bits
    trial, bit = ir.var("trial"), ir.var("bit")
    reached = ir.select(key >= trial, ir.u32(1), ir.u32(0))
    count = ir.atomic(AtomicOp.ADD, "counts", bit, ir.var("reaching"))
    enough = ir.cast(U64, ir.load("counts", bit)) >= ir.var("left")
    # Each bit has a counter of its own, so that one barrier a bit is enough.
    search = [
        ir.let("trial", ir.var("threshold") | (_u64(1) << (ir.u32(bits - 1) - bit))),
        ir.let("reaching", ir.u32(0)),
        row.each([ir.assign("reaching", ir.var("reaching") + reached)]),
        ir.if_(ir.var("reaching") > 0, [ir.let("before", count)]),
        ir.barrier(),
        ir.if_(enough, [ir.assign("threshold", trial)]),
    ]
    find = [ir.let("threshold", _u64(0)), ir.loop("bit", 0, bits, search)]
    some = ir.var("left") > _u64(0)
    return ir.binary(BinaryOp.AND, some, key >= ir.var("threshold")), find


def _product(row: _Row, vector: str) -> Node:
    """Writes the product of the row's matrix and `vector` to `out`."""
    entry = ir.load("matrix", (_BASE + _I) * _N + ir.var("j"))
    factor = ir.load(vector, _BASE + ir.var("j"))
    term = (ir.cast(I64, entry) * ir.cast(I64, factor)) >> ir.u32(16)
    cut = ir.binary(
        BinaryOp.MAX,
        ir.binary(BinaryOp.MIN, ir.var("terms"), ir.lit(I64, I32_MAX)),
        ir.lit(I64, I32_MIN),
    )
    return row.each(
        [
            ir.let("terms", ir.lit(I64, 0)),
            ir.loop("j", 0, _N, [ir.assign("terms", ir.var("terms") + term)]),
            ir.store("out", _BASE + _I, ir.cast(I32, cut)),
        ]
    )
