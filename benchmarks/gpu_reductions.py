"""Reductions on a CUDA device beside torch, Triton and CuPy: device time, and limits that are met.

Sums of arrays and of rows, softmax, layer normalisation, argmin over centres, n bodies by three
sums, and a few more, each on the same arrays, the sides taking turns: Vyre's default, its first
guess, what a sweep chooses and the best of its space; torch's own operators, torch.compile, Triton
under its autotuner. Device time is the median over replays of a CUDA graph. Results are compared
with float64 before anything is timed. What each cell is held to is in gpu_reduction_cells.py.

    python benchmarks/gpu_reductions.py --out DIR --prepare 8
    python benchmarks/gpu_reductions.py --out DIR --kernels total,row_totals --done EARLIER
    python benchmarks/gpu_reductions.py --collect DIR [DIR ...]

As in gpu.py, every cell is a line of DIR/cells.jsonl as soon as it is measured, and a run goes on
where the one before stopped. A run ends with the table; --collect prints it and writes
results/gpu_reductions.json.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import gpu_cells
import gpu_reduction_report
from gpu import environment, supervise
from gpu_journal import Journal, read
from gpu_prepare import prepare
from gpu_reduction_cells import PEERS, POWERS
from gpu_reduction_report import PART
from measure import save

COMPILED = {"torch_compile", "triton"}
"""Peers that take seconds to compile."""


def main() -> int:
    given = arguments()
    if given.collect:
        return collect(given.collect, write=not given.print_only)
    cells = gpu_cells.wanted(given.kernels, given.sizes, POWERS)
    if given.worker:
        return worker(given, cells)
    until = time.time() + given.limit
    given.out.mkdir(parents=True, exist_ok=True)
    journal = Journal(given.out / "cells.jsonl", given.done)
    if given.prepare:
        prepare(to_prepare(cells, journal), given.prepare, environment())
    supervise(__file__, given, PART, journal, until)
    return collect([*given.done, given.out], write=False)


def to_prepare(cells: list[tuple[str, int]], journal: Journal) -> list[tuple[str, int]]:
    """Cells that are not measured yet, and have peers that take long to compile."""
    return [
        (kernel, power)
        for kernel, power in cells
        if COMPILED & set(PEERS[kernel])
        and not journal.has({"part": PART, "kernel": kernel, "size": f"2^{power}"})
    ]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kernels", default="", help="names, by comma; all without it")
    parser.add_argument("--sizes", default="", help="such as 2^20,2^24; all without it")
    parser.add_argument("--out", type=Path, help="the folder where cells are kept")
    parser.add_argument("--done", type=Path, nargs="*", default=[], help="cells of earlier runs")
    parser.add_argument("--limit", type=float, default=500, help="seconds; no cell begins later")
    parser.add_argument("--cell-limit", type=float, default=60, help="seconds for one cell")
    parser.add_argument("--budget", type=float, default=3, help="seconds of a sweep")
    parser.add_argument("--leaders", type=int, default=64, help="schedules to time beside it")
    parser.add_argument("--space-limit", type=float, default=6, help="seconds to time them")
    parser.add_argument(
        "--prepare", type=int, default=0, help="processes that compile the peers beforehand"
    )
    parser.add_argument("--collect", type=Path, nargs="+", help="make the result of these cells")
    parser.add_argument("--print-only", action="store_true", help="with --collect, write nothing")
    parser.add_argument("--worker", default="", help=argparse.SUPPRESS)
    parser.add_argument("--until", type=float, default=0.0, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.out is None and not given.collect:
        parser.error("--out is needed, or --collect")
    if given.leaders < 1 or given.budget <= 0:
        parser.error("--leaders is at least 1, and --budget above 0")
    given.no_space = False  # as the sides of the other suite ask
    return given


def worker(given: argparse.Namespace, cells: list[tuple[str, int]]) -> int:
    """Measure what is left; the exit code."""
    import gpu_reduction_cells  # what follows loads torch, which only this process needs
    import gpu_work
    import torch
    from gpu_compile import Compilers
    from gpu_reduction_device import reduction_cell

    torch.zeros(1, device="cuda")
    journal = Journal(given.out / "cells.jsonl", given.done)
    journal.write({"part": "machine", **gpu_work.machine(Path(__file__).name)})
    compilers = Compilers("cuda")

    def measured(kernel: str, power: int) -> dict[str, object]:
        cell = gpu_reduction_cells.make(torch, kernel, power)
        return reduction_cell(cell, given, journal.broken(kernel), compilers)

    try:
        return gpu_work.cells(given, PART, given.until, journal, cells, measured)
    finally:
        compilers.close()


def collect(paths: list[Path], *, write: bool) -> int:
    """Print what the cells come to, and keep it where that is asked for."""
    made = gpu_reduction_report.result(read(paths))
    print("\n".join(gpu_reduction_report.table(made)))
    if write:
        results = made.pop("results")
        print(f"saved to {save('gpu_reductions', results, **made).name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
