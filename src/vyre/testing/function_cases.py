"""Elementary functions of hostile numbers: what every processor must compute to the same bits."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import numpy as np
from numpy.typing import NDArray

from vyre.ir.build import gid, load, store
from vyre.ir.declare import BufferDecl
from vyre.ir.expr import Binary, BinaryOp, Expr, Unary, UnaryOp
from vyre.ir.functions import definition
from vyre.ir.program import Program
from vyre.ir.storage import STORAGE
from vyre.ir.types import DataType
from vyre.testing.programs import Case

Op = UnaryOp | BinaryOp

_SCALES = (1.0, 1e-3, 10.0, 100.0, 1e6)


def defined() -> Iterator[tuple[Op, DataType]]:
    """Every operator that has a definition, with each type it has one for."""
    for dtype in (DataType.F32, DataType.F64):
        for op in (*UnaryOp, *BinaryOp):
            if definition(op, dtype) is not None:
                yield op, dtype


def function_case(op: Op, dtype: DataType, rng: Random, count: int = 2048) -> Case:
    """A kernel that stores a function of each of `count` numbers, or pairs of them."""
    names = ("x",) if isinstance(op, UnaryOp) else ("x", "y")
    loads = [load(name, gid()) for name in names]
    value: Expr = Unary(op, loads[0]) if isinstance(op, UnaryOp) else Binary(op, *loads)
    buffers = [BufferDecl.read(name, place, dtype) for place, name in enumerate(names)]
    buffers.append(BufferDecl.write("out", len(names), dtype))
    arrays = {name: numbers(dtype, rng, count) for name in names}
    if len(names) > 1:
        _cross(arrays["x"], arrays["y"], special(dtype))
    return Case(
        program=Program.wrapped(buffers, (64, 1, 1), [store("out", gid(), value)]),
        arrays={**arrays, "out": np.zeros(count, STORAGE[dtype])},
        extent=(count, 1, 1),
    )


def numbers(dtype: DataType, rng: Random, count: int) -> NDArray[np.generic]:
    """Special values first, then patterns of random bits and numbers of ordinary sizes."""
    random = np.random.default_rng(rng.getrandbits(32))
    storage = STORAGE[dtype]
    patterns = random.integers(0, 1 << dtype.bits, count, f"u{storage.itemsize}", endpoint=False)
    found = patterns.view(storage).copy()
    third = count // 3
    scale = random.choice(_SCALES, third)
    found[:third] = (random.normal(0, 1, third) * scale).astype(storage)
    known = special(dtype)
    found[: known.size] = known[:count]
    return found


def special(dtype: DataType) -> NDArray[np.generic]:
    """Zeros, infinities, NaN, the ends of the range, and numbers where functions turn."""
    ends = np.finfo(STORAGE[dtype])
    parts = [0.0, 1.0, 0.5, 2.0, 3.0, np.pi / 2, np.pi, np.e, 1e-8, 88.7, 103.9, 709.7, 745.1, 1e15]
    parts += [float(end) for end in (ends.tiny, ends.smallest_subnormal, ends.max, ends.eps)]
    parts += [1.0 + float(ends.eps), 1.0 - float(ends.epsneg), np.inf]
    with np.errstate(over="ignore"):
        return np.array([*parts, *(-part for part in parts), np.nan], STORAGE[dtype])


def _cross(x: NDArray[np.generic], y: NDArray[np.generic], known: NDArray[np.generic]) -> None:
    """Every special value with every other, as many pairs as there is room for."""
    pairs = min(x.size, known.size**2)
    x[:pairs] = np.repeat(known, known.size)[:pairs]
    y[:pairs] = np.tile(known, known.size)[:pairs]
