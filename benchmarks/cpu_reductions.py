"""Reductions on the processor beside NumPy's: rows, columns, norms, whole arrays, argmin.

Both sides take turns, after a warm-up in which Vyre was tuned. A ratio is the median of NumPy's
time over Vyre's, with its 95 % interval: above 1 Vyre is faster. Beside it stands Vyre against
itself, as a third side of the same turns: what is not beyond that says nothing.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from measure import interleave, ratio, save

import vyre
from vyre import In, Out, f32, f64, i32, u8, u32

# The annotations here are kernel types, which vyre.lang reads and mypy cannot.
# mypy: ignore-errors


@vyre.kernel
def row_sums(x: In[f32, 2], out: Out[f32]):
    i = vyre.gid()
    out[i] = sum(x[i, k] for k in range(x.shape[1]))


@vyre.kernel
def softmax(x: In[f32, 2], out: Out[f32, 2]):
    i, j = vyre.gid()
    top = max(x[i, k] for k in range(x.shape[1]))
    out[i, j] = vyre.exp(x[i, j] - top) / sum(vyre.exp(x[i, k] - top) for k in range(x.shape[1]))


@vyre.kernel
def softmax_of_rows(x: In[f32, 2], out: Out[f32, 2]):
    i = vyre.gid()
    n = x.shape[1]
    top = max(x[i, k] for k in range(n))
    total = sum(vyre.exp(x[i, k] - top) for k in range(n))
    for k in range(n):
        out[i, k] = vyre.exp(x[i, k] - top) / total


@vyre.kernel
def layer_norm(x: In[f32, 2], out: Out[f32, 2]):
    i = vyre.gid()
    n = x.shape[1]
    mean = sum(x[i, k] for k in range(n)) / f32(n)
    scale = vyre.rsqrt(sum((x[i, k] - mean) ** 2 for k in range(n)) / f32(n) + 1e-5)
    for k in range(n):
        out[i, k] = (x[i, k] - mean) * scale


@vyre.kernel
def total(x: In[f32], out: Out[f32]):
    out[0] = sum(x[k] for k in range(len(x)))


@vyre.kernel
def column_sums(x: In[f32, 2], out: Out[f32]):
    j = vyre.gid()
    out[j] = sum(x[k, j] for k in range(x.shape[0]))


@vyre.kernel
def columns_by_vector(x: In[f32, 2], v: In[f32], out: Out[f32]):
    j = vyre.gid()
    out[j] = sum(x[k, j] * v[k] for k in range(x.shape[0]))


@vyre.kernel
def rows_by_vector(x: In[f32, 2], v: In[f32], out: Out[f32]):
    i = vyre.gid()
    out[i] = sum(x[i, k] * v[k] for k in range(x.shape[1]))


@vyre.kernel
def total_f64(x: In[f64], out: Out[f64]):
    out[0] = sum(x[k] for k in range(len(x)))


@vyre.kernel
def total_i32(x: In[i32], out: Out[i32]):
    out[0] = sum(x[k] for k in range(len(x)))


@vyre.kernel
def total_u8(x: In[u8], out: Out[u32]):
    out[0] = sum(u32(x[k]) for k in range(len(x)))


@vyre.kernel
def least(x: In[f32], out: Out[f32]):
    out[0] = min(x[k] for k in range(len(x)))


@vyre.kernel
def greatest_i32(x: In[i32], out: Out[i32]):
    out[0] = max(x[k] for k in range(len(x)))


@vyre.kernel
def place_of_greatest(x: In[f32], out: Out[u32]):
    out[0] = vyre.argmax(x[k] for k in range(len(x)))


@vyre.kernel
def some(x: In[u8], out: Out[u32]):
    out[0] = u32(any(x[k] != 0 for k in range(len(x))))


@vyre.kernel
def dot(x: In[f32], y: In[f32], out: Out[f32]):
    out[0] = sum(x[k] * y[k] for k in range(len(x)))


@vyre.kernel
def norm(x: In[f32], out: Out[f32]):
    out[0] = vyre.sqrt(sum(x[k] * x[k] for k in range(len(x))))


@vyre.kernel
def nearest(points: In[f32, 2], centres: In[f32, 2], out: Out[u32]):
    i = vyre.gid()
    out[i] = vyre.argmin(
        sum((points[i, d] - centres[c, d]) ** 2 for d in range(points.shape[1]))
        for c in range(len(centres))
    )


@dataclass(frozen=True, slots=True)
class Cell:
    """One kernel at one size, and NumPy's way to the same numbers."""

    kernel: str
    size: str
    ours: Callable[[], object]
    tune: Callable[[float], object]
    numpys: Callable[[], object]


def numpy_softmax(x: Any) -> Any:
    e = np.exp(x - x.max(1, keepdims=True))
    e /= e.sum(1, keepdims=True)
    return e


def numpy_layer_norm(x: Any) -> Any:
    y = x - x.mean(1, keepdims=True)
    y /= np.sqrt((y * y).mean(1, keepdims=True) + np.float32(1e-5))
    return y


def numpy_nearest(points: Any, centres: Any) -> Any:
    # The square of the point is the same for all centres; this is the usual product form.
    return ((centres * centres).sum(1) - 2 * (points @ centres.T)).argmin(1).astype(np.uint32)


def cells() -> Iterator[Cell]:
    random = np.random.default_rng(0)

    def cell(
        name: str,
        size: str,
        kernel: Any,
        arrays: tuple[Any, ...],
        out: Any,
        numpys: Any,
        **more: Any,
    ) -> Cell:
        return Cell(
            name,
            size,
            lambda: kernel(*arrays, out=out, **more),
            lambda budget: kernel.tune(*arrays, out=out, budget_s=budget, **more),
            lambda: numpys(*arrays),
        )

    def normal(*shape: int) -> Any:
        return random.standard_normal(shape, dtype=np.float32)

    for n in (1024, 2048, 4096):
        x = normal(n, n)
        yield cell(
            "sum(axis=1)", f"{n}^2", row_sums, (x,), np.empty(n, np.float32), lambda x: x.sum(1)
        )
    for n in (1024, 4096):
        x = normal(n, n)
        out = np.empty_like(x)
        yield cell("softmax of rows", f"{n}^2", softmax_of_rows, (x,), out, numpy_softmax, shape=n)
        yield cell("softmax by element", f"{n}^2", softmax, (x,), out, numpy_softmax)
        yield cell("layer norm", f"{n}^2", layer_norm, (x,), out, numpy_layer_norm, shape=n)
    for height, width in ((1024, 1024), (4096, 4096), (65536, 64), (64, 65536)):
        x, v = normal(height, width), normal(height)
        out, size = np.empty(width, np.float32), f"{height} x {width}"
        more = {"shape": width}
        yield cell("sum(axis=0)", size, column_sums, (x,), out, lambda x: x.sum(0), **more)
        yield cell("v @ x", size, columns_by_vector, (x, v), out, lambda x, v: v @ x, **more)
    for n in (1024, 4096):
        x, v, out = normal(n, n), normal(n), np.empty(n, np.float32)
        yield cell("x @ v", f"{n}^2", rows_by_vector, (x, v), out, lambda x, v: x @ v, shape=n)
    for power in (10, 14, 20, 24):
        x, y = normal(1 << power), normal(1 << power)
        wide = x.astype(np.float64)
        whole = (100 * x).astype(np.int32)
        bytes_ = whole.astype(np.uint8)
        nothing = np.zeros(1 << power, bool)
        for name, kernel, arrays, dtype, numpys in (
            ("sum", total, (x,), np.float32, lambda x: x.sum()),
            ("sum of f64", total_f64, (wide,), np.float64, lambda x: x.sum()),
            ("sum of i32", total_i32, (whole,), np.int32, lambda x: x.sum(dtype=np.int32)),
            ("sum of u8", total_u8, (bytes_,), np.uint32, lambda x: x.sum(dtype=np.uint32)),
            ("min", least, (x,), np.float32, lambda x: x.min()),
            ("max of i32", greatest_i32, (whole,), np.int32, lambda x: x.max()),
            ("argmax", place_of_greatest, (x,), np.uint32, lambda x: x.argmax()),
            ("any of none", some, (nothing,), np.uint32, lambda x: x.any()),
            ("dot", dot, (x, y), np.float32, lambda x, y: x @ y),
            ("norm", norm, (x,), np.float32, lambda x: np.sqrt(x @ x)),
        ):
            yield cell(name, f"2^{power}", kernel, arrays, np.empty(1, dtype), numpys)
    points, centres = normal(1 << 16, 16), normal(64, 16)
    out = np.empty(len(points), np.uint32)
    size = "2^16 points, 64 centres, 16 axes"
    yield cell("argmin", size, nearest, (points, centres), out, numpy_nearest, shape=len(points))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.5, help="for each cell, tuning aside")
    parser.add_argument("--only", default="", help="cells whose kernel and size hold this")
    parser.add_argument("--tune", type=float, default=2.0, help="seconds to tune each cell")
    given = parser.parse_args()
    vyre.mode("off")  # what tuning chose, and nothing that learns beside it
    device, rows = vyre.open("cpu"), []
    load = os.getloadavg()[0]
    print(f"load before: {load:.2f}")
    for cell in cells():
        if given.only not in f"{cell.kernel}, {cell.size}":
            continue
        cell.tune(given.tune)
        sides = {"vyre": cell.ours, "numpy": cell.numpys, "vyre again": cell.ours}
        began = time.perf_counter()
        cell.ours(), cell.numpys()
        pair_s = time.perf_counter() - began
        # Several calls a turn: the first after another side finds threads asleep and caches full.
        calls = max(1, min(20, int(0.01 / pair_s)))
        blocks = max(11, min(61, int(given.seconds / (1.5 * calls * pair_s))))
        times = interleave(sides, blocks=blocks, calls=calls)
        rows.append(
            {
                "kernel": cell.kernel,
                "size": cell.size,
                "turns": blocks,
                "calls": calls,
                "vyre_ms": round(median(times["vyre"]) * 1e3, 4),
                "numpy_ms": round(median(times["numpy"]) * 1e3, 4),
                "times_numpy": ratio(times["numpy"], times["vyre"]),
                "vyre_against_itself": ratio(times["vyre again"], times["vyre"]),
                "load": round(os.getloadavg()[0], 2),
            }
        )
        print(rows[-1], flush=True)
    if given.only:
        return
    save("cpu_reductions", {"device": device.info.model, "load_before": load, "rows": rows})


if __name__ == "__main__":
    main()
