"""What remembering costs: a decision from memory, a first look-up on disk, recording a measurement.

    python benchmarks/store.py --decisions 1000000

Writes benchmarks/results/store.json. Each cost is that of the call on the caller's own thread, in
batches so that the clock does not count; the quantiles are over batches, or over single calls for
the look-up, each in a process that has just opened the store. Recording is measured without a
pause, so that the thread that writes takes its share of the interpreter meanwhile. The exit status
is 1 where a median or a mean is above its claim.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from statistics import fmean, median, quantiles
from tempfile import TemporaryDirectory

from vyre.learn.recorder import Recorder
from vyre.model import Decision, Reason, Schedule, Timed, Workload
from vyre.store.base import Bounds, Kept
from vyre.store.open import new_writer, open_store
from vyre.testing import provenance

RESULT = Path(__file__).parent / "results" / "store.json"
CLAIMS_US = {"from memory": 1.0, "first look-up": 5000.0, "recording": 5.0}
SCHEDULE = Schedule((256, 1, 1))
BATCH = 1000


def workload(number: int) -> Workload:
    """One of very many workloads."""
    return Workload(
        fingerprint=number.to_bytes(32, "little"),
        buckets=(20, 20, 20),
        traits=("aligned", "unchecked"),
        device="d" * 64,
        toolchain="t" * 64,
    )


def fill(folder: Path, count: int) -> float:
    """Make a store of `count` decisions; how long that took, in seconds."""
    start = time.perf_counter()
    store = open_store(folder, writer=new_writer())
    now = time.time_ns()
    store.absorb(
        (
            Kept(
                decision=Decision(
                    workload=workload(k), config=SCHEDULE, reason=Reason.ADOPTED, gain=1.2
                ),
                stamp_ns=now,
                writer="fill",
                used_ns=now,
            )
            for k in range(count)
        ),
        (),
    )
    store.close()
    return time.perf_counter() - start


def first_look_up_us(folder: Path, number: int) -> tuple[float, float]:
    """Opening and the first look-up, each in microseconds."""
    wanted = workload(number)
    start = time.perf_counter_ns()
    store = open_store(folder, writer=new_writer())
    opened = time.perf_counter_ns()
    found = store.get(wanted)
    done = time.perf_counter_ns()
    assert found is not None, "the store does not know what it was given"
    store.close()
    return (opened - start) / 1e3, (done - opened) / 1e3


def per_call_us(call: Callable[[], object], batches: int) -> list[float]:
    """The mean cost of a call in each batch, in microseconds."""
    found = []
    for _ in range(batches):
        start = time.perf_counter_ns()
        for _ in range(BATCH):
            call()
        found.append((time.perf_counter_ns() - start) / BATCH / 1e3)
    return found


def row(values: list[float]) -> dict[str, float]:
    """The median and the tail."""
    cuts = quantiles(values, n=100, method="inclusive")
    return {
        "median_us": round(median(values), 3),
        "mean_us": round(fmean(values), 3),
        "p99_us": round(cuts[98], 3),
        "worst_us": round(max(values), 3),
    }


def measure(folder: Path, decisions: int, processes: int) -> dict[str, object]:
    """Every cost."""
    filled_s = fill(folder, decisions)
    size_mib = (folder / "store.sqlite3").stat().st_size / (1 << 20)
    rng = Random(1)
    opening, looking = [], []
    for _ in range(processes):
        child = subprocess.run(  # noqa: S603  # this script
            [sys.executable, __file__, "--look-up", str(rng.randrange(decisions)), str(folder)],
            capture_output=True,
            text=True,
            check=True,
        )
        opened, looked = (float(part) for part in child.stdout.split())
        opening.append(opened)
        looking.append(looked)
    bounds = Bounds(decisions=10 * decisions, size_bytes=1 << 40)  # or it would be pruned
    recorder = Recorder(open_store(folder, writer=new_writer()), bounds=bounds)
    known, equal = workload(7), workload(7)
    assert recorder.get(known) is not None
    timed = Timed(SCHEDULE, 12_345.0)
    costs = {
        "from memory": row(per_call_us(lambda: recorder.get(known), 300)),
        "from memory, an equal workload": row(per_call_us(lambda: recorder.get(equal), 300)),
        "first look-up": row(looking),
        "opening": row(opening),
        "recording": row(per_call_us(lambda: recorder.record(known, timed, 1 << 20), 90)),
    }
    recorder.close()
    return {
        "decisions": decisions,
        "file_mib": round(size_mib, 1),
        "fill_s": round(filled_s, 1),
        "costs": costs,
    }


def processor() -> str:
    """What this was measured on."""
    info = Path("/proc/cpuinfo")
    models = re.findall(r"model name\s*: (.*)", info.read_text()) if info.exists() else []
    return f"{models[0] if models else platform.machine()}, {os.cpu_count()} cores"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--decisions", type=int, default=1_000_000)
    parser.add_argument("--processes", type=int, default=30)
    parser.add_argument("--output", type=Path, default=RESULT)
    parser.add_argument("--look-up", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.look_up:
        print(*first_look_up_us(Path(args.look_up[1]), int(args.look_up[0])))
        return 0
    with TemporaryDirectory() as name:
        result = measure(Path(name), args.decisions, args.processes)
    provenance.save(args.output, result, device=processor(), sqlite=sqlite3.sqlite_version)
    costs = result["costs"]
    assert isinstance(costs, dict)
    missed = 0
    for name, cost in costs.items():
        claim = CLAIMS_US.get(name)
        met = "" if claim is None else f"(claimed {claim:g})"
        missed += claim is not None and max(cost["median_us"], cost["mean_us"]) > claim
        print(f"{name:<31}", *(f"{k[:-3]} {v:>9.3f} us " for k, v in cost.items()), met)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
