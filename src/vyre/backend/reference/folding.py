"""How the elements of a reduction come together: blocks of lanes, as `vyre.ir.fold` has it.

Rows are rounds and columns are invocations, so that all invocations fold at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vyre.ir.arithmetic import BINARY, Operator, Value
from vyre.ir.expr import BinaryOp
from vyre.ir.fold import BLOCK, HALVES, LANES
from vyre.ir.node import NOWHERE, ReduceOp
from vyre.ir.storage import COMPUTED
from vyre.ir.types import DataType, int_range


@dataclass(frozen=True, slots=True)
class Elements:
    """Elements, which of them are there, and in which rounds they stood."""

    values: Value
    present: Value
    rounds: Value

    def each(self, change: Callable[[Value], Value]) -> Elements:
        return Elements(change(self.values), change(self.present), change(self.rounds))

    def __getitem__(self, part: tuple[slice | int, ...]) -> Elements:
        return self.each(lambda array: array[part])


def joined(parts: Sequence[Elements]) -> Elements:
    """The rows of all parts, one part after the other."""
    return Elements(
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.present for part in parts]),
        np.concatenate([part.rounds for part in parts]),
    )


def fold(op: ReduceOp, elements: Elements) -> Elements:
    """One row: what the elements of each column come to, absent where it has none."""
    found = fold_blocks(op, elements)
    while len(found.values) > 1:
        found = fold_blocks(op, found)
    return found


def fold_blocks(op: ReduceOp, elements: Elements) -> Elements:
    """A row for each block of rows; the first row begins a block."""
    rows, columns = elements.values.shape
    per_lane = -(-max(1, min(rows, BLOCK)) // LANES)
    blocks = -(-max(rows, 1) // (per_lane * LANES))
    missing = blocks * per_lane * LANES - rows

    def blocked(array: Value) -> Value:
        # What the padding holds is False where it is told what is present, so nobody looks at it.
        filled = np.concatenate([array, np.zeros((missing, columns), array.dtype)])
        return filled.reshape(blocks, per_lane, LANES, columns)

    of_lanes = elements.each(blocked)
    found = of_lanes[:, 0]
    for step in range(1, per_lane):
        found = combine(op, found, of_lanes[:, step])
    for half in HALVES:
        found = combine(op, found[:, :half], found[:, half : 2 * half])
    return found[:, 0]


def combine(op: ReduceOp, first: Elements, second: Elements) -> Elements:
    """Each element of `first` with that of `second`: absent with x is x."""
    both = first.present & second.present
    if op.finds:
        later = _is_found(op, second, first)
        takes_second = np.where(both, later, second.present)
        return Elements(
            np.where(takes_second, second.values, first.values),
            first.present | second.present,
            np.where(takes_second, second.rounds, first.rounds),
        )
    together = _TOGETHER[op](first.values, second.values)
    alone = np.where(first.present, first.values, second.values)
    return Elements(np.where(both, together, alone), first.present | second.present, first.rounds)


_TOGETHER: Mapping[ReduceOp, Operator] = {
    ReduceOp.SUM: np.add,
    ReduceOp.PROD: np.multiply,
    ReduceOp.MIN: BINARY[BinaryOp.MIN],
    ReduceOp.MAX: BINARY[BinaryOp.MAX],
    ReduceOp.ANY: np.logical_or,
    ReduceOp.ALL: np.logical_and,
}


def _is_found(op: ReduceOp, candidate: Elements, holder: Elements) -> Value:
    """Whether the candidate is less (or greater), or as good and of an earlier round."""
    ahead = _less if op is ReduceOp.ARGMIN else _greater
    alike = ~ahead(candidate.values, holder.values) & ~ahead(holder.values, candidate.values)
    return ahead(candidate.values, holder.values) | (alike & (candidate.rounds < holder.rounds))


def _less(a: Value, b: Value) -> Value:
    """Whether a < b, where NaN is beyond every number and -0 before +0."""
    if a.dtype.kind != "f":
        return np.less(a, b)
    return (a < b) | _signs_tell(a, b) | (np.isnan(b) & ~np.isnan(a))


def _greater(a: Value, b: Value) -> Value:
    """Whether a > b, where NaN is below every number and +0 beyond -0."""
    if a.dtype.kind != "f":
        return np.greater(a, b)
    return (a > b) | _signs_tell(b, a) | (np.isnan(b) & ~np.isnan(a))


def _signs_tell(a: Value, b: Value) -> Value:
    """Whether the two are -0 and +0."""
    told: Value = (a == 0) & (b == 0) & np.signbit(a) & ~np.signbit(b)
    return told


def result(op: ReduceOp, dtype: DataType, found: Elements) -> Value:
    """What a reduction binds: the element or its round, and of nothing at all what that is."""
    if op.finds:
        return np.where(found.present, found.rounds, np.uint32(NOWHERE))
    return np.where(found.present, found.values, of_nothing(op, dtype))


def of_nothing(op: ReduceOp, dtype: DataType) -> Value:
    """What no elements at all come to."""
    least, most = (-np.inf, np.inf) if dtype.is_float else (0, 1)
    if dtype.is_int:
        least, most = int_range(dtype)
    value = {
        ReduceOp.SUM: 0,
        ReduceOp.PROD: 1,
        ReduceOp.MIN: most,
        ReduceOp.MAX: least,
        ReduceOp.ANY: False,
        ReduceOp.ALL: True,
    }[op]
    return np.asarray(value, COMPUTED[dtype.tag])
