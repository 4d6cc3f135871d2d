"""How fast Vyre is beside others in a cell of the GPU suite, and over cells; above 1 it is faster.

Two ratios matter. In the equal one everybody takes the same freedoms: Vyre's kernel says
`fast_math`, and peers run as they are, but for those that add in another order. In the exact one
Vyre rounds as the kernel says, and stands beside the fastest of all.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from gpu_cells import REORDERED

PEERS = ("cupy", "triton", "torch_eager", "torch_compile")
USUAL = (*PEERS, "hand_made")
ANY = (*USUAL, "cupy_exact", "triton_exact")
SMALL = range(14, 21)
"""Powers of the sizes where a launch is what takes the time."""

Row = Mapping[str, Any]


def geometric_mean(values: Iterable[float]) -> float | None:
    """The mean of ratios, or None of none.

    >>> geometric_mean([0.5, 2.0])
    1.0
    """
    logs = [math.log(value) for value in values]
    return round(math.exp(sum(logs) / len(logs)), 4) if logs else None


def exact_us(row: Row) -> float | None:
    """What Vyre takes in its own arithmetic; of earlier results, what a sweep chose."""
    us = row["us"]
    found: float | None = us.get("vyre_exact", us.get("vyre_swept"))
    return found


def fast_us(row: Row) -> float | None:
    """What Vyre takes with fast_math; earlier results have it where that makes a difference."""
    us = row["us"]
    found: float | None = us.get("vyre_fast")
    return exact_us(row) if found is None and "vyre_exact" not in us else found


def best_peer(row: Row, way: str) -> str | None:
    """The fastest that `way` compares with: `equal` or `exact`."""
    us = row["us"]
    left_out = REORDERED.get(row["kernel"], ())
    sides = [side for side in USUAL if side not in left_out] if way == "equal" else ANY
    found = [side for side in sides if side in us]
    return min(found, key=us.__getitem__) if found else None


def ratio(row: Row, way: str) -> float | None:
    """How many times as fast Vyre is as the fastest it is compared with."""
    peer = best_peer(row, way)
    mine = fast_us(row) if way == "equal" else exact_us(row)
    return round(row["us"][peer] / mine, 4) if peer and mine else None


def over(row: Row, side: str, way: str) -> float | None:
    """How many times as fast Vyre is as one side."""
    mine = fast_us(row) if way == "equal" else exact_us(row)
    theirs = row["us"].get(side)
    return round(theirs / mine, 4) if theirs and mine else None


def power(row: Row) -> int:
    return int(row["size"].removeprefix("2^"))


def summed_up(rows: Iterable[Row], way: str) -> dict[str, Any]:
    """The mean over cells, and the worst of them: where, how fast, beside whom."""
    known = [(value, row) for row in rows if (value := ratio(row, way)) is not None]
    if not known:
        return {"mean": None, "worst": None}
    value, row = min(known, key=lambda pair: pair[0])
    worst = [row["kernel"], row["size"], value, best_peer(row, way)]
    return {"mean": geometric_mean(one for one, _ in known), "worst": worst}


def by_kernel(rows: Iterable[Row]) -> dict[str, dict[str, Any]]:
    """Both ratios of each kernel over its sizes, and of all cells."""
    cells: dict[str, list[Row]] = {}
    for row in rows:
        cells.setdefault(row["kernel"], []).append(row)
    every = [row for some in cells.values() for row in some]
    return {
        name: {
            "cells": len(some),
            "equal": summed_up(some, "equal"),
            "exact": summed_up(some, "exact"),
        }
        for name, some in [*cells.items(), ("all", every)]
    }


BESIDE = (
    *((kernel, "copy", "equal") for kernel in ("stencil5", "stencil9", "filter3", "transpose")),
    *((kernel, "copy", "equal") for kernel in ("saxpy", "adam", "gray_u8", "row_sums")),
    ("row_sums", "hand_made", "exact"),
    ("row_sums", "torch_eager", "exact"),
    ("row_sums", "torch_compile", "exact"),
    *(("product", "torch_eager", way) for way in ("equal", "exact")),
    ("product", "triton", "equal"),
    *(("nbody", side, "equal") for side in ("cupy", "triton")),
)
"""Single comparisons that are shown by size."""


def beside(rows: Iterable[Row]) -> dict[str, dict[str, float]]:
    """Each of `BESIDE` by the size."""
    every = list(rows)
    found = {}
    for kernel, side, way in BESIDE:
        sizes = {
            row["size"]: value
            for row in every
            if row["kernel"] == kernel and (value := over(row, side, way)) is not None
        }
        if sizes:
            found[f"{kernel} / {side}, {way}"] = sizes
    return found


def small(rows: Iterable[Row]) -> dict[str, Any]:
    """Both ratios over the cells where a launch is what takes the time."""
    some = [row for row in rows if power(row) in SMALL and row["kernel"] not in _NEVER_SMALL]
    return {way: summed_up(some, way) for way in ("equal", "exact")}


_NEVER_SMALL = ("nbody", "product")
