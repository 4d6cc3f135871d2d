"""What a reduction comes to, straight from its meaning: the model that devices are held to.

Only a float's sum and product can tell in which order elements come together, so only those are
folded in that order here; all else is found in the way that a reader checks at a glance.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vyre.ir.node import NOWHERE, ReduceOp

Array = NDArray[Any]


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
