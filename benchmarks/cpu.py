"""Vyre on the CPU beside numba, NumPy and tuned PoCL: sixteen kernels at three sizes, in one run.

    python benchmarks/cpu.py --kernels saxpy,heat --sizes 2^20

All sides run in one process on all cores, with NumPy arrays in and out (PoCL on its own arrays,
which spares it the copies), and take turns in changing order; each waits until the threads of the
one before have gone to sleep. What they compute is compared first. A ratio is the median over
rounds of another side's time over Vyre's, with its 95 % interval (bootstrap over the rounds); the
A/A interval is Vyre against itself. Vyre runs what a sweep chose; `guess` what it runs before
anything was measured. The result is written after each cell, into the cells that are there.

Sweeps start from nothing, unless VYRE_CACHE_DIR names a folder: then what one found there before,
in as much time, is taken.
"""

import argparse
import json
import sys
import tempfile
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any

import cpu_cells
import cpu_numpy
import cpu_report
import cpu_sides
import cpu_small
from cpu_measure import interleaved, ratio
from measure import RESULTS

import vyre
from vyre import settings
from vyre.testing import provenance

FIRST_S, SMALL_S = 30.0, 4.0
"""Kept back for the first calls and the small ones (measured: 5 times 3 processes, two cores)."""

SWEEP_SHARE = 0.25
"""Of a cell's time, that each of its sweeps may take."""

PARTS = ("cells", "small", "first")


def measured(
    kernel: str, label: str, peers: tuple[str, ...], seconds: float, sweep_s: float
) -> dict[str, Any]:
    """All sides of one cell, in turns."""
    began = time.monotonic()
    cell = cpu_cells.make(kernel, label)
    sides = cpu_sides.of_cell(cell, peers, min(sweep_s, SWEEP_SHARE * seconds))
    times = interleaved(sides.ready, began + seconds)
    return {
        "kernel": kernel,
        "label": label,
        "size": cell.size,
        "us": {name: float(f"{1e6 * median(some):.5g}") for name, some in times.items()},
        "ratios": {
            name: ratio(some, times["vyre"])
            for name, some in times.items()
            if name not in ("vyre", "again")
        },
        "a_a": ratio(times["again"], times["vyre"]),
        "elementwise": kernel in cpu_numpy.ELEMENTWISE,
        "schedules": sides.schedules,
        "off": sides.off,
        "left_out": sides.left_out,
        "rounds": {name: len(some) for name, some in times.items()},
        "took_s": round(time.monotonic() - began, 1),
    }


def environment(peers: tuple[str, ...]) -> dict[str, Any]:
    """Whom Vyre is compared with."""
    info = vyre.open().info
    found: dict[str, Any] = {
        "device": f"{vyre.open().name}, {info.model}, {info.compiler}, {info.compute_units} units",
        "same": f"{cpu_cells.SAME} of the root mean square, {cpu_cells.DECIDED} of whole numbers",
    }
    for package in ("numba", "llvmlite", "pyopencl"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    if "numba" in peers:
        import numba  # a library that need not be there

        found["numba_threads"] = numba.get_num_threads()
        found["numba_svml"] = bool(numba.config.USING_SVML)
    if "pocl" in peers:
        pocl = vyre.open(cpu_sides.POCL).info
        found["pocl"] = f"{pocl.model}, {pocl.compiler}"
    return found


class Kept:
    """The file of results, to which each run adds."""

    def __init__(self, path: Path, peers: tuple[str, ...]) -> None:
        self.path, self.peers = path, peers
        before = json.loads(path.read_text()) if path.exists() else {}
        self.results: dict[str, Any] = before.get("results", {"cells": []})
        self.commands: list[str] = before.get("commands", [])
        self.code = provenance.code()

    def add(self, part: str, found: Any) -> None:
        """Put a part, or a cell of it, in its place, and write."""
        if part == "cells":
            cell = {**found, "code": self.code["sources"]}
            found = cpu_report.merged(self.results["cells"], [cell])
            found.sort(key=_place)
        self.results[part] = found
        command = provenance.command(sys.argv)
        self.commands = [*(one for one in self.commands if one != command), command]
        more = {"beside": environment(self.peers), "commands": self.commands}
        beside = self.path.with_suffix(".part")
        figures = cpu_report.figures(self.results["cells"])
        provenance.save(beside, self.results, figures=figures, **more)
        beside.replace(self.path)


def _place(cell: dict[str, Any]) -> tuple[int, int]:
    return list(cpu_cells.KERNELS).index(cell["kernel"]), cpu_cells.LABELS.index(cell["label"])


def run_cells(kept: Kept, cells: list[tuple[str, str]], until: float, sweep_s: float) -> int:
    """Measure cell after cell; how many of them had a side that was wrong."""
    wrong = 0
    for number, (kernel, label) in enumerate(cells):
        left_s = until - time.monotonic()
        if left_s <= 0:
            print(f"the time is over; {len(cells) - number} cells are left to another run")
            break
        try:
            seconds = left_s / (len(cells) - number)
            cell = measured(kernel, label, kept.peers, seconds, sweep_s)
        except cpu_sides.Wrong as error:
            print(error, flush=True)
            wrong += 1
            continue
        kept.add("cells", cell)
        print(cpu_report.line(cell), flush=True)
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default=settings.peek("VYRE_DEVICE") or "cpu:0")
    parser.add_argument("--kernels", default="", help="names, by comma; all without it")
    parser.add_argument("--sizes", default="", help="of 2^16,2^20,2^24")
    parser.add_argument("--contenders", default=",".join(cpu_sides.PEERS))
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--budget-s", type=float, default=420.0, help="for the whole run")
    parser.add_argument("--sweep-s", type=float, default=2.0, help="for each sweep, at most")
    parser.add_argument("--out", type=Path, default=RESULTS / "cpu.json")
    given = parser.parse_args()
    began = time.monotonic()
    parts = given.parts.split(",")
    cells = cpu_cells.wanted(given.kernels, given.sizes) if "cells" in parts else []
    with tempfile.TemporaryDirectory() as folder:
        settings.preset("VYRE_CACHE_DIR", folder)  # nothing is remembered from before
        if settings.preset("VYRE_DEVICE", given.device) != given.device:
            parser.error(f"VYRE_DEVICE is set to another device than {given.device}")
        print(f"{vyre.open(given.device).name}: {vyre.open().info.model}")
        why_not = {peer: cpu_sides.missing(peer) for peer in given.contenders.split(",")}
        for peer, why in why_not.items():
            if why:
                print(f"without {peer}: {why}")
        kept = Kept(given.out, tuple(peer for peer, why in why_not.items() if not why))
        if provenance.provenance()["load"]["quiet"] is False:
            # A thread of numba's that waits for a core costs a call 8 ms and more (measured).
            print("the machine has other work: ratios to numba say nothing now")
        later_s = FIRST_S * ("first" in parts) + SMALL_S * ("small" in parts)
        print(cpu_report.HEAD)
        wrong = run_cells(kept, cells, began + given.budget_s - later_s, given.sweep_s)
        if "small" in parts:
            kept.add("small", cpu_small.repeated(kept.peers, SMALL_S))
        if "first" in parts:
            kept.add("first", cpu_small.first(kept.peers, given.device))
    print("", *cpu_report.table(kept.results["cells"]), sep="\n")
    print("", *cpu_report.summary(kept.results), sep="\n")
    print(f"saved to {given.out.name} after {time.monotonic() - began:.0f} s")
    if wrong:
        sys.exit(f"{wrong} cells are left out, because a side computed something else")


if __name__ == "__main__":
    main()
