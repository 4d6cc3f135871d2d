"""Kernels written by hand, launched by CuPy: the copy beside each cell, and sums of rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import cupy
import numpy as np
import torch
from gpu_cells import Cell
from gpu_cupy import stream_of, view
from gpu_replay import capture, replays, seconds_of
from gpu_sources import COPIES, COPY, ROW_SUMS, SUMS

TRIAL_S = 3e-4
PIECE = 16
"""Bytes of one access."""

Run = Callable[[], None]


@cache
def _module(source: str) -> Any:
    """A source compiled, once in a process."""
    return cupy.RawModule(code=source)


def _launch(source: str, entry: str, grid: int, block: int, arguments: tuple[Any, ...]) -> Run:
    """A launch on torch's current stream."""
    function = _module(source).get_function(entry)

    def run() -> None:
        with stream_of(torch.cuda.current_stream().cuda_stream):
            function((grid,), (block,), arguments)

    return run


def _quickest(runs: dict[str, Run]) -> tuple[str, Run]:
    """Of launches that do the same, the one that takes least, by a few replays of each."""
    launches = max(1, min(100, round(TRIAL_S / seconds_of(next(iter(runs.values()))))))
    took = {name: sorted(replays(capture(run, launches), 3))[1] for name, run in runs.items()}
    best = min(took, key=took.__getitem__)
    return best, runs[best]


def copy_of(cell: Cell) -> tuple[str, Run]:
    """The quickest copy that moves as many bytes as the cell's kernel has to, and its name."""
    pieces = max(1, cell.moved // 2 // PIECE)
    source = torch.randint(0, 256, (pieces * PIECE,), dtype=torch.uint8, device="cuda")
    target = torch.zeros_like(source)
    arguments = (view(source), view(target), np.uint32(pieces))
    units = torch.cuda.get_device_properties(source.device).multi_processor_count
    runs = {}
    for entry, block, each, waves in COPIES:
        grid = waves * units or -(-pieces // (block * each))
        runs[f"{entry} {block}"] = _launch(COPY, entry, grid, block, arguments)
    name, run = _quickest(runs)
    target.zero_()
    run()
    if not torch.equal(source, target):
        raise AssertionError(f"{name} does not copy")
    return name, run


def row_sums(cell: Cell) -> Run:
    """The quickest of the sums by hand, on a cell's arrays."""
    rows, columns = cell.arrays[0].shape
    arguments = (view(cell.arrays[0]), view(cell.outs[0]), np.uint32(columns))
    runs = {
        f"{tall} {wide} {warps}": _launch(
            ROW_SUMS, f"sums_{tall}_{wide}_{warps}", rows // tall, 32 * (warps + 1), arguments
        )
        for tall, wide, warps in SUMS
        if rows % tall == 0 and columns % wide == 0
    }
    return _quickest(runs)[1]
