"""Vyre on a CUDA device beside its peers: device time, what a launch costs, live learning.

Each kernel at each size, on the same arrays, the sides taking turns: Vyre exact and with fast_math,
after a sweep and after live learning, 256 threads, CUDA's occupancy suggestion, CuPy's
ElementwiseKernel, Triton under its autotuner, torch eager and torch.compile; beside them a copy by
hand of as many bytes, and the schedules of Vyre's space. Device time is the median over replays of
a CUDA graph. How the peers express each kernel, and which freedoms they take, is in gpu_cells.py.

    python benchmarks/gpu.py --parts live,device --kernels saxpy,gelu --out DIR --limit 500
    python benchmarks/gpu.py --no-live --leaders 24 --budget 1 --out DIR --done EARLIER
    python benchmarks/gpu.py --parts launch,first --out DIR
    python benchmarks/gpu.py --collect DIR [DIR ...] [--print-only]

Every cell is a line of DIR/cells.jsonl as soon as it is measured; a run goes on where the one
before stopped, also where only its lines are given with --done. Parts are measured in processes of
their own, with an empty cache; one that hangs or breaks is replaced. `live` comes before `device`,
which times what was learned beside the rest. By default the whole space of the exact kernel is
timed; --leaders takes the first of the guess's order instead, of both kernels, and --no-space none.
A run ends with the short table; --collect prints everything and writes results/gpu.json, with
--print-only it prints the short table alone.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import gpu_brief
import gpu_cells
import gpu_report
from gpu_journal import Journal, read
from gpu_prepare import prepare
from measure import save

from vyre import settings

HERE = Path(__file__).parent
PARTS = ("live", "device", "launch", "first")
AGAIN = 75
MOST_STARTS = 15
GRACE_S = 90
"""What a process may take longer than a cell's limit before it counts as hanging."""


def main() -> int:
    given = arguments()
    if given.collect:
        return collect(given.collect, write=not given.print_only)
    if given.worker:
        from gpu_work import work  # loads torch, which only this process needs

        return work(given, given.worker, given.until)
    until = time.time() + given.limit
    given.out.mkdir(parents=True, exist_ok=True)
    journal = Journal(given.out / "cells.jsonl", given.done)
    if given.prepare:
        cells = gpu_cells.wanted(given.kernels, given.sizes)
        places = [{"part": "device", "kernel": k, "size": f"2^{power}"} for k, power in cells]
        todo = [cell for cell, place in zip(cells, places, strict=True) if not journal.has(place)]
        prepare(todo, given.prepare, environment())
    for part in filter(None, given.parts.split(",")):
        if time.time() > until:
            break
        if part == "first":
            first(journal)
        else:
            supervise(__file__, given, part, journal, until)
    return collect([*given.done, given.out], write=False)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", default=",".join(PARTS), help="some of these, by comma")
    parser.add_argument("--kernels", default="", help="names, by comma; all without it")
    parser.add_argument("--sizes", default="", help="such as 2^14,2^20; all without it")
    parser.add_argument("--out", type=Path, help="the folder where cells are kept")
    parser.add_argument("--done", type=Path, nargs="*", default=[], help="cells of earlier runs")
    parser.add_argument("--limit", type=float, default=540, help="seconds; no cell begins later")
    parser.add_argument("--cell-limit", type=float, default=60, help="seconds for one cell")
    parser.add_argument("--budget", type=float, default=3, help="seconds of a sweep; 0: none")
    parser.add_argument(
        "--leaders", type=int, default=0, help="schedules to time, best guess first"
    )
    parser.add_argument("--no-space", action="store_true", help="do not time the whole space")
    parser.add_argument(
        "--prepare", type=int, default=0, help="processes that compile the peers beforehand"
    )
    parser.add_argument("--no-live", action="store_true", help="leave the live part out")
    parser.add_argument("--live-limit", type=float, default=6, help="seconds of live calls")
    parser.add_argument("--space-limit", type=float, default=8, help="seconds for a whole space")
    parser.add_argument("--collect", type=Path, nargs="+", help="make the result of these cells")
    parser.add_argument("--print-only", action="store_true", help="with --collect, write nothing")
    parser.add_argument("--worker", default="", help=argparse.SUPPRESS)
    parser.add_argument("--until", type=float, default=0.0, help=argparse.SUPPRESS)
    given = parser.parse_args()
    unknown = [part for part in given.parts.split(",") if part not in PARTS]
    if unknown:
        parser.error(f"no part {unknown[0]!r}; use some of {','.join(PARTS)}")
    if given.leaders < 0 or given.budget < 0:
        parser.error("--leaders and --budget are at least 0")
    if given.no_live:
        given.parts = ",".join(part for part in given.parts.split(",") if part != "live")
    if given.out is None and not given.collect:
        parser.error("--out is needed, or --collect")
    return given


def environment() -> dict[str, str]:
    """A process that finds nothing remembered, and compiles where it is."""
    return settings.for_child(
        {
            "VYRE_CACHE_DIR": tempfile.mkdtemp(prefix="vyre-gpu-"),
            "VYRE_AUTOTUNER": "natural",
            "TORCHINDUCTOR_COMPILE_THREADS": "1",  # a pool of processes pays for large models
            "PYTHONUNBUFFERED": "1",
        }
    )


def supervise(
    script: str, given: argparse.Namespace, part: str, journal: Journal, until: float
) -> None:
    """Run a part in processes of its own until it is done or the time is over."""
    command = [sys.executable, script, *sys.argv[1:], "--worker", part, "--until", str(until)]
    marker = given.out / "now.json"
    for _ in range(MOST_STARTS):
        if time.time() > until:
            return
        marker.unlink(missing_ok=True)
        process = subprocess.Popen(command, env=environment())  # noqa: S603  # ourselves
        code = wait(process, marker, given.cell_limit + GRACE_S, until + given.cell_limit)
        if code == 0:
            return
        print(f"the process for {part} ended with {code}; cells so far are kept", flush=True)
        if code == AGAIN:
            continue
        if not marker.exists():  # it never came to a cell, and would not next time
            return
        place = json.loads(marker.read_text())
        if not journal.has(place):
            journal.write({**place, "error": f"the process that measured it ended with {code}"})


def wait(
    process: "subprocess.Popen[bytes]", marker: Path, most_s: float, until: float
) -> int | str:
    """The exit code, or why it was ended."""
    started = time.time()
    while True:
        try:
            return process.wait(1.0)
        except subprocess.TimeoutExpired:
            pass
        began = marker.stat().st_mtime if marker.exists() else started
        why = ""
        if time.time() - began > most_s:
            why = f"no sign of life for {most_s:g} s"
        elif time.time() > until:
            why = "a cell longer than the time that was left"
        if why:
            process.kill()
            process.wait()
            return why


def first(journal: Journal) -> None:
    """The first dispatch of a new kernel, in three processes that know nothing."""
    if journal.has({"part": "first"}):
        return
    found: dict[str, list[float]] = {}
    for _ in range(3):
        try:
            asked = subprocess.run(  # noqa: S603  # ourselves
                [sys.executable, str(HERE / "gpu_first.py")],
                env=environment(),
                capture_output=True,
                text=True,
                timeout=120,
                check=True,
            )
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            said = str(error.stderr)[-400:]
            print(f"first: {error}: {said}", flush=True)
            journal.write({"part": "first", "error": said})
            return
        for name, value in json.loads(asked.stdout.splitlines()[-1]).items():
            found.setdefault(name, []).append(value)
    journal.write({"part": "first", **found})


def collect(paths: list[Path], *, write: bool) -> int:
    """Print what the cells come to in short, or all of it where it is to be kept."""
    made = gpu_report.result(list(read(paths)))
    found, numbers = made["results"], made["figures"]
    if not write:
        print("\n".join(gpu_brief.table(made)))
        return 0
    print("\n".join([*gpu_report.cell_table(found), *gpu_report.summary(found, numbers)]))
    results = made.pop("results")
    print(f"saved to {save('gpu', results, **made).name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
