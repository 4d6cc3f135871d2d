"""Reductions on the processor beside NumPy's: rows, softmax, layer norm, whole arrays, argmin.

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
from vyre import In, Out, f32, u32

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
    for power in (20, 24):
        x = normal(1 << power)
        yield cell("sum", f"2^{power}", total, (x,), np.empty(1, np.float32), lambda x: x.sum())
    points, centres = normal(1 << 16, 16), normal(64, 16)
    out = np.empty(len(points), np.uint32)
    size = "2^16 points, 64 centres, 16 axes"
    yield cell("argmin", size, nearest, (points, centres), out, numpy_nearest, shape=len(points))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.5, help="for each cell, tuning aside")
    parser.add_argument("--tune", type=float, default=2.0, help="seconds to tune each cell")
    given = parser.parse_args()
    vyre.mode("off")  # what tuning chose, and nothing that learns beside it
    device, rows = vyre.open("cpu"), []
    load = os.getloadavg()[0]
    print(f"load before: {load:.2f}")
    for cell in cells():
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
    save("cpu_reductions", {"device": device.info.model, "load_before": load, "rows": rows})


if __name__ == "__main__":
    main()
