"""One cell of the suite of reductions on the device: Vyre's choices and its peers, in turns."""

from __future__ import annotations

import importlib
import time
from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace
from statistics import median
from typing import Any

import gpu_reduction_cells
import torch
from gpu_cells import Cell, apart, results
from gpu_compile import Compilers
from gpu_device import ROUNDS, Own, spread
from gpu_journal import packed
from gpu_reduction_cells import FAST, PEERS, STRICT, written
from gpu_replay import interleaved
from gpu_sides import Run, Sides
from gpu_vyre import Target

AS_IN = {"row_totals": "row_sums", "nbody_sums": "nbody"}
"""Cells whose peers in Triton and CuPy the other suite has, by their names there."""


def peers(cell: Cell) -> list[tuple[str, str, Callable[[Any], Run]]]:
    """The peers of a cell: a name, the module that has it, and how it makes the launch."""
    same = replace(cell, kernel=written(cell.kernel))
    other = replace(cell, kernel=AS_IN.get(same.kernel, same.kernel))
    triton = "gpu_triton" if same.kernel in AS_IN else "gpu_reduction_triton"
    known: dict[str, tuple[str, Callable[[Any], Run]]] = {
        "torch_eager": ("gpu_reduction_torch", lambda module: module.eager(same)),
        "torch_compile": ("gpu_reduction_torch", lambda module: module.compiled(same)),
        "triton": (triton, lambda module: module.run_of(other)),
        "cupy": ("gpu_cupy", lambda module: module.run_of(other)),
    }
    return [(side, *known[side]) for side in PEERS[cell.kernel]]


def reduction_cell(
    cell: Cell, given: Namespace, skipped: dict[str, str], compilers: Compilers
) -> dict[str, Any]:
    """All sides of one cell, side by side.

    Raises:
        AssertionError: what Vyre computes by default is wrong.
    """
    until = time.monotonic() + given.cell_limit
    sides = Sides(cell, skipped, lambda: time.monotonic() > until)
    right = gpu_reduction_cells.expected(torch, cell)
    target = Target(cell, fast_math=cell.kernel in FAST)
    run = target.run_of(target.default)
    made = results(cell, run)
    strict = replace(cell, same=STRICT.get(cell.kernel, cell.same))
    sides.notes["vyre off"] = off = round(apart(strict, right, made), 6)
    if off > 1:
        raise AssertionError(f"the default's result is {off:.3g} of the allowed distance away")
    own = Own(sides, target, given, made)
    own.schedules["vyre_default"] = target.default
    own.plan("vyre_guess", lambda: target.guessed)
    own.look(compilers)
    if given.budget > 0:
        own.plan("vyre_swept", lambda: target.swept(given.budget))
    own.add()
    for side, module, make_run in peers(cell):
        launch = sides.attempt(
            side, lambda module=module, make=make_run: make(importlib.import_module(module))
        )
        if launch is not None:
            sides.add(side, launch, right, exact=False)
    return record(own, interleaved(sides.graphs, ROUNDS, sides.over))


def record(own: Own, found: dict[str, list[float]]) -> dict[str, Any]:
    """The cell as it is kept."""
    sides, cell = own.sides, own.sides.cell
    medians = {side: round(1e6 * median(times), 4) for side, times in found.items() if times}
    us = {side: value for side, value in medians.items() if not side.startswith("schedule")}
    errors = {side: why for side, why in sides.errors.items() if not side.startswith("schedule")}
    chosen = dict(own.schedules)
    for side, schedule in own.schedules.items():
        name = own.names.get(schedule, "")
        if name in medians:
            us[side] = medians[name]
        else:
            errors[side] = sides.errors.get(name, "it was not measured")
    best = own.best(found)
    if best is not None:
        chosen["vyre_best"], us["vyre_best"] = best
    return {
        "n": 1 << cell.power,
        "moved": cell.moved,
        "fast_math": own.target.fast_math,
        "us": us,
        "spread": {side: spread(times) for side, times in found.items() if len(times) > 4},
        "legal": len(own.target.space.legal),
        "quick": [[packed(one.schedule), round(1e6 * one.seconds, 4)] for one in own.timings],
        "schedules": {side: packed(schedule) for side, schedule in chosen.items()},
        "texts": {side: schedule.text for side, schedule in chosen.items()},
        "errors": errors,
        "notes": sides.notes,
    }
