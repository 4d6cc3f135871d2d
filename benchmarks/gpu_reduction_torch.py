"""The suite of reductions in torch: its own operators, and formulas under torch.compile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gpu_torch
import torch
import torch._inductor.config as inductor
import torch.nn.functional as F  # noqa: N812  # as everybody calls it
from gpu_cells import Cell

inductor.autotune_local_cache = False  # or a choice made while others compile beside it would stay

MODE = "max-autotune-no-cudagraphs"
"""Graphs are the suite's own; all else that torch tries for speed, it may."""

Array = torch.Tensor
Run = Callable[[], Any]


def eager(cell: Cell) -> Run:
    """The operator for a cell, its arrays bound."""
    x, out = cell.arrays[0], cell.outs[0]
    match cell.kernel:
        case "total":
            return lambda: torch.sum(x)
        case "peak":
            return lambda: torch.max(x)
        case "dot":
            return lambda: torch.dot(*cell.arrays)
        case "row_totals":
            return lambda: torch.sum(x, 1, out=out)
        case "column_means" | "feature_means":
            return lambda: torch.mean(x, 0, out=out)
        case "matrix_vector":
            return lambda: torch.mv(*cell.arrays, out=out)
        case "row_softmax":
            return lambda: torch.softmax(x, 1)
        case _:
            assert cell.kernel == "layer_norm", cell.kernel
            return lambda: F.layer_norm(x, x.shape[1:], eps=cell.options["eps"])


def row_totals(x: Array) -> Array:
    return x.sum(1)


def column_means(x: Array) -> Array:
    return x.mean(0)


def row_softmax(x: Array) -> Array:
    return torch.softmax(x, 1)


def layer_norm(x: Array, eps: float) -> Array:
    mean = x.mean(1, keepdim=True)
    variance = ((x - mean) ** 2).mean(1, keepdim=True)
    return (x - mean) * torch.rsqrt(variance + eps)


def nearest(points: Array, centres: Array) -> Array:
    """Axis by axis, so that distances need not be kept."""
    apart = (points[:, 0, None] - centres[:, 0]) ** 2
    for axis in range(1, points.shape[1]):
        apart = apart + (points[:, axis, None] - centres[:, axis]) ** 2
    return apart.argmin(1)


FORMULAS: dict[str, Callable[..., Any]] = {
    "row_totals": row_totals,
    "column_means": column_means,
    "feature_means": column_means,
    "row_softmax": row_softmax,
    "layer_norm": layer_norm,
    "nearest2": nearest,
    "nearest4": nearest,
    "nbody_sums": gpu_torch.nbody,
}


def compiled(cell: Cell) -> Run:
    """The cell's formula under `torch.compile`, its arrays bound."""
    torch._dynamo.reset()  # what was compiled for other sizes is not wanted again
    formula = torch.compile(FORMULAS[cell.kernel], dynamic=False, mode=MODE)
    arrays = cell.arrays
    if cell.kernel == "nbody_sums":
        arrays = (*arrays, *arrays[:3])  # each body, and all of them
    return lambda: formula(*arrays, *cell.options.values())
