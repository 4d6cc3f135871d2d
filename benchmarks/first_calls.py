"""What the first calls cost: the first 100 and 1000 dispatches over as many of the best schedule.

    python benchmarks/first_calls.py --device cuda:0 --sweep 2 --seconds 560
    python benchmarks/first_calls.py --device cpu:0 --sizes 18,20,22 --sweep 20

Each kernel at each size, the bundled reductions among them, starts in a process of its own that
knows nothing: no choice is remembered and no code is kept. Every launch is noted; afterwards each
schedule that was launched is timed beside the best of a recording (or of a sweep, where there is
none), all in turns, in the same process. A figure is the device time of the launches over that of
as many of the best. Calls come flat out, without ever waiting, and paced, one a millisecond: there
each schedule is timed as such calls are made, alone, a pause after one of the same, since the best
of launches in a row need not be the best of those (`in_a_row` says what it would come to by their
times). `in turn` is one process that calls six sizes one after the other, a hundred times each.
Processes get ready beside each other and have the device one by one.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from first_calls_cell import LEADERS
from measure import RESULTS

from vyre import kernels, settings
from vyre.testing import provenance
from vyre.testing.recordings import read

HERE = Path(__file__).parent
SPACES = tuple(HERE / "data" / f"spaces-h200{of}.json.gz" for of in ("", "-reductions"))
SIZES = {"cuda": "18,20,22,24,26", "cpu": "18,20,22"}
IN_TURN = {"cuda": "16,18,20,22,24,26", "cpu": "14,16,18,20"}
OTHERS = {"cuda": ("transpose", "filter3", "row_sums", "product", "adam", "gray_planes")}
"""Kernels beside the bundled ones (spaces_kernels.py), by the devices that have recordings."""

LIMIT, LARGE = 1.3, 1 << 24
NEAR = 1.05  # of a recorded best: what may be the best of another day
LONGEST_S = 150.0  # of one process, with its turn for the device

Row = dict[str, Any]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--kernels", default="", help="names, by comma; all without it")
    parser.add_argument("--sizes", default="", help="powers of two, by comma")
    parser.add_argument("--in-turn", default="", help="those that one process calls in turn")
    parser.add_argument("--paces", default="flat,paced,in turn", help="which parts, by comma")
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--settle", type=float, default=2.0, help="seconds at most; 0 for none")
    parser.add_argument("--stands", type=float, default=0.7, help="seconds that a choice stood")
    parser.add_argument("--measure", type=float, default=0.6, help="seconds of timing schedules")
    parser.add_argument("--longest", type=float, default=20.0, help="seconds of calls in a cell")
    parser.add_argument(
        "--spaces", type=Path, nargs="+", help="recordings of the best on this machine"
    )
    parser.add_argument(
        "--sweep", type=float, default=0.0, help="seconds to sweep a cell that is not recorded"
    )
    parser.add_argument("--keep-code", type=Path, help="a folder of compiled code to start with")
    parser.add_argument("--jobs", type=int, default=0, help="processes that get ready at once")
    parser.add_argument("--seconds", type=float, default=math.inf, help="of the whole run")
    parser.add_argument("--out", type=Path, help="where to write; first_calls.json without it")
    parser.add_argument("--resume", action="store_true", help="leave out what was written before")
    given = parser.parse_args()
    kind = "cpu" if given.device.startswith("cpu") else "cuda"
    given.sizes = powers(given.sizes or SIZES[kind])
    given.in_turn = powers(given.in_turn or IN_TURN[kind])
    given.jobs = given.jobs or (1 if kind == "cpu" else 3)
    name = "first_calls_cpu.json" if kind == "cpu" else "first_calls.json"
    given.out = given.out or RESULTS / name
    given.spaces = given.spaces or (SPACES if kind == "cuda" else ())
    return given


def powers(text: str) -> list[int]:
    return [1 << int(word) for word in text.split(",")]


def tasks(given: argparse.Namespace, lock: Path, done: set[tuple[str, int, str]]) -> list[Row]:
    """What each process does, the one that may say most first."""
    names = given.kernels.split(",") if given.kernels else [k.name for k in kernels.ALL]
    names += [] if given.kernels else OTHERS.get(given.device.partition(":")[0], ())
    paces = [word.strip() for word in given.paces.split(",")]
    best = {cell: rows for path in given.spaces for cell, rows in recorded(path).items()}
    unknown = [name for name in names if name not in {kernel for kernel, _ in best}]
    if best and unknown and not given.sweep:
        print(f"not recorded: {', '.join(unknown)}; give --sweep for the best of them")
    common = {
        "device": given.device,
        "calls": given.calls,
        "stands": given.stands,
        "measure": given.measure,
        "longest": given.longest,
        "sweep": given.sweep,
        "lock": str(lock),
    }
    cells = [
        ([size], name, pace)
        for pace in paces
        if pace != "in turn"
        for size in given.sizes
        for name in names
    ]
    cells += [(given.in_turn, name, "in turn") for name in names if "in turn" in paces]
    return [
        {
            **common,
            "kernel": name,
            "sizes": sizes,
            "pace": pace,
            "settle": given.settle if pace == "flat" else 0.0,
            "best": {str(size): nearest(best, name, size) for size in sizes},
        }
        for sizes, name, pace in cells
        if (name, sizes[0], pace) not in done
    ]


Recorded = dict[tuple[str, int], list[list[Any]]]


def recorded(path: Path) -> Recorded:
    """The first of each recorded space, the fastest first."""
    if not path.exists():
        print(f"no recording {path.name}; without --sweep the best is what was launched")
        return {}
    spaces = read(path)["spaces"]
    found = {}
    for one in spaces:
        rows = sorted(one["rows"], key=lambda row: row[-1])[:LEADERS]
        close = [row for row in rows if row[-1] <= NEAR * rows[0][-1]]
        found[one["kernel"], one["size"]] = close
    return found


def nearest(best: Recorded, name: str, size: int) -> dict[str, Any]:
    """What is recorded for a cell, or for the size next to it."""
    sizes = [of for kernel, of in best if kernel == name]
    if not sizes:
        return {"rows": [], "from": ""}
    near = min(sizes, key=lambda of: abs(math.log2(of / size)))
    source = "recording" if near == size else f"recording of 2^{near.bit_length() - 1}"
    return {"rows": best[name, near], "from": source}


def cell(task: Row, folder: Path, keep_code: Path | None, ends: float) -> Row:
    """What a process of its own says of a task; why it says nothing, where it does not."""
    failed = {key: task[key] for key in ("kernel", "pace")} | {"size": task["sizes"][0]}
    if time.monotonic() > ends:
        return {"rows": [], "late": True}
    cache = Path(tempfile.mkdtemp(dir=folder))
    if keep_code is not None and keep_code.exists():
        shutil.copytree(keep_code, cache, dirs_exist_ok=True)
    words = {
        "VYRE_CACHE_DIR": str(cache),
        "VYRE_AUTOTUNER": "natural",
        "VYRE_POLICY": "natural",
        "VYRE_DEVICE": task["device"],
    }
    try:
        said = subprocess.run(  # noqa: S603  # our own script
            [sys.executable, str(HERE / "first_calls_cell.py"), json.dumps(task)],
            env=settings.for_child(words),
            capture_output=True,
            text=True,
            timeout=LONGEST_S + len(task["sizes"]) * task["sweep"],
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"rows": [{**failed, "error": "it took too long"}]}
    if keep_code is not None:
        keep(cache, keep_code)
    shutil.rmtree(cache, ignore_errors=True)
    answer = said.stdout.strip().rpartition("\n")[2]
    if said.returncode or not answer.startswith("{"):
        why = said.stderr.strip()[-600:] or f"it ended with {said.returncode}"
        return {"rows": [{**failed, "error": why}]}
    found: Row = json.loads(answer)
    return found


def keep(cache: Path, folder: Path) -> None:
    """Put what was compiled into a folder; choices that were made stay behind."""
    for path in cache.iterdir():
        if path.is_dir():
            shutil.copytree(path, folder / path.name, dirs_exist_ok=True)


def mean(values: Iterable[float | None]) -> float | None:
    some = [math.log(value) for value in values if value is not None]
    return round(math.exp(sum(some) / len(some)), 4) if some else None


def figures(rows: list[Row]) -> dict[str, object]:
    """What all cells come to, part by part."""
    good = [row for row in rows if "error" not in row]
    found: dict[str, object] = {}
    for pace in dict.fromkeys(row["pace"] for row in good):
        some = [row for row in good if row["pace"] == pace]
        large = [row for row in some if row["size"] >= LARGE]
        late = "at_100" if pace == "in turn" else "at_1000"
        reached = [row for row in some if row.get(late) is not None]
        worst = sorted(reached, key=lambda row: -row[late])[:5]
        found[pace] = {
            "cells": len(some),
            "at_100": mean(row["at_100"] for row in some),
            "at_1000": mean(row["at_1000"] for row in some),
            **({"in_a_row": in_a_row(some)} if pace == "paced" else {}),
            "at_100_large": mean(row["at_100"] for row in large),
            "at_1000_large": mean(row["at_1000"] for row in large),
            "first": mean(row["first"] for row in some),
            "default": mean(row["default"] for row in some),
            "settled": mean(row["settled"] for row in some),
            "above_limit": [f"{name(row)} {row[late]}" for row in reached if row[late] > LIMIT],
            "worst": [f"{name(row)} {row[late]}" for row in worst],
            "calls_that_waited": sum(len(row["waits"]) for row in some),
            "longest_wait_ms": max((w["ms"] for row in some for w in row["waits"]), default=0.0),
            "not_recorded": sum(row["best_from"] not in ("recording", "sweep") for row in some),
        }
    found["failed"] = [f"{name(row)} {row['pace']}" for row in rows if "error" in row]
    return found


def in_a_row(rows: list[Row]) -> dict[str, float | None]:
    """What paced calls come to by the times of launches in a row."""
    held = [row["in_a_row"] for row in rows if "in_a_row" in row]
    return {key: mean(row[key] for row in held) for key in ("at_100", "at_1000")}


def name(row: Mapping[str, Any]) -> str:
    return f"{row['kernel']} 2^{row['size'].bit_length() - 1}"


def line(row: Row) -> str:
    if "error" in row:
        return f"{name(row):18}{row['pace']:8} failed: {row['error'].splitlines()[-1]}"

    def shown(key: str) -> str:
        value = row.get(key)
        return f"{'-':>8}" if value is None else f"{value:8.3f}"

    columns = ("at_100", "at_1000", "settled", "first", "default")
    return (
        f"{name(row):18}{row['pace']:8}{''.join(map(shown, columns))}"
        f"{row['best_us']:11.2f}{row['slowest_later_ms']:9.2f}{len(row['waits']):6}"
    )


def main() -> None:
    given = arguments()
    ends = time.monotonic() + given.seconds
    before: list[Row] = []
    if given.resume and given.out.exists():
        held = json.loads(given.out.read_text())["results"]["rows"]
        before = [row for row in held if "error" not in row]
    done = {(row["kernel"], row["size"], row["pace"]) for row in before}
    rows, ended, late, device = list(before), 0, 0, ""
    head = "".join(f"{word:>8}" for word in ("100", "1000", "settled", "first", "default"))
    print(f"{'':26}{head}{'best us':>11}{'slow ms':>9}{'waits':>6}", flush=True)
    with tempfile.TemporaryDirectory() as made, ThreadPoolExecutor(given.jobs) as pool:
        folder = Path(made)
        todo = tasks(given, folder / "lock", done)
        futures = [pool.submit(cell, task, folder, given.keep_code, ends) for task in todo]
        for future in as_completed(futures):
            found, ended = future.result(), ended + 1
            late += "late" in found
            device = found.get("device", device)
            for row in found["rows"]:
                rows.append(row)
                print(line(row), flush=True)
            if found["rows"]:
                write(given.out, rows, device, left=len(todo) - ended + late)
    write(given.out, rows, device, left=late)
    tell(figures(rows), late)
    print(f"saved to {given.out.name}")


def write(path: Path, rows: list[Row], device: str, *, left: int) -> None:
    """Keep what is known by now, so that a run that is cut is not lost."""
    results = {"figures": figures(rows), "rows": rows}
    provenance.save(path, results, device=device, processes_left=left)


def tell(found: dict[str, Any], late: int) -> None:
    for pace, some in found.items():
        if pace == "failed":
            continue
        print(f"\n{pace}: {some['cells']} cells")
        print(
            f"  geometric mean at 100: {some['at_100']}, at 1000: {some['at_1000']}; from 2^24 up: "
            f"{some['at_100_large']}, {some['at_1000_large']}"
        )
        if "in_a_row" in some:
            by = some["in_a_row"]
            print(f"  by the times of launches in a row: {by['at_100']}, {by['at_1000']}")
        print(
            f"  the first launch {some['first']}, the default {some['default']}, "
            f"settled {some['settled']}"
        )
        print(f"  above {LIMIT}: {', '.join(some['above_limit']) or 'none'}")
        print(f"  worst: {', '.join(some['worst'])}")
        print(
            f"  calls after the first that waited for code: {some['calls_that_waited']}, "
            f"the longest {some['longest_wait_ms']} ms"
        )
        if some["not_recorded"]:
            print(f"  {some['not_recorded']} cells without a recording or sweep of their own")
    if found["failed"]:
        print(f"\nfailed: {', '.join(found['failed'])}")
    if late:
        print(f"\n{late} processes were left out: the time was over")


if __name__ == "__main__":
    main()
