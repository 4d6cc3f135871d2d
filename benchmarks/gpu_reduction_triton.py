"""The suite of reductions in Triton: a program a row, as its tutorials write it, autotuned."""

# Triton's compiler reads these functions, so their parameters carry its types or none.
# ruff: noqa: ANN001, N803

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gpu_triton
import triton
import triton.language as tl
from gpu_cells import Cell

WARPS = (4, 8, 16, 32)


@triton.jit
def row_softmax(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    k = tl.arange(0, BLOCK)
    inside = k < columns
    v = tl.load(x + row * columns + k, mask=inside, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * columns + k, e / tl.sum(e, axis=0), mask=inside)


@triton.jit
def layer_norm(x, out, eps, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    k = tl.arange(0, BLOCK)
    inside = k < columns
    v = tl.load(x + row * columns + k, mask=inside, other=0.0)
    mean = tl.sum(v, axis=0) / columns
    d = tl.where(inside, v - mean, 0.0)
    scale = tl.rsqrt(tl.sum(d * d, axis=0) / columns + eps)
    tl.store(out + row * columns + k, d * scale, mask=inside)


KERNELS = {"row_softmax": row_softmax, "layer_norm": layer_norm}
_tuned: dict[str, Any] = {}


def _time(call: Callable[[], Any], quantiles: Sequence[float]) -> list[float]:
    return gpu_triton._time(call, quantiles)  # as it is by then: who only compiles changes it


def run_of(cell: Cell) -> Callable[[], None]:
    """A launch on a cell's arrays, of a row a program; tuned when first called."""
    name = cell.kernel
    if name not in _tuned:
        configs = [triton.Config({}, num_warps=warps) for warps in WARPS]
        _tuned[name] = triton.autotune(configs=configs, key=["columns"], do_bench=_time)(
            KERNELS[name]
        )
    kernel = _tuned[name]
    rows, columns = cell.arrays[0].shape
    arguments = (*cell.arrays, *cell.outs, *cell.options.values(), columns)

    def run() -> None:
        kernel[(rows,)](*arguments, BLOCK=triton.next_power_of_2(columns))

    return run
