"""The GPU suite's measuring process: cell after cell, each written down as soon as it is known."""

from __future__ import annotations

import gc
import importlib
import json
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import gpu_cells
import torch
from gpu_compile import Compilers
from gpu_device import device_cell
from gpu_journal import Journal
from gpu_sides import Tainted, told
from gpu_vyre import Target, live

import vyre
from vyre.testing import provenance

AGAIN = 75
"""The exit code that asks for a new process: something broke this one."""


def machine(script: str) -> dict[str, Any]:
    """Where this runs, and with what."""
    info = vyre.open("cuda").info
    versions = {}
    for package in ("vyre", "numpy", "torch", "triton", "cupy-cuda13x", "cuda-core"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "not a package here"
    versions["cuda-bindings"] = importlib.import_module("cuda.bindings").__version__
    return {
        "device": f"{info.model}, driver {info.driver}, {info.compiler}",
        "python": sys.version.split()[0],
        "torch_cuda": str(torch.version.cuda),
        "versions": versions,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "code": provenance.code(),
        "load": provenance.provenance()["load"],
        "command": provenance.command([f"benchmarks/{script}", *_asked()]),
    }


def _asked() -> list[str]:
    """The words of the command that started the run."""
    words = sys.argv[1:]
    return words[: words.index("--worker")] if "--worker" in words else words


def work(given: Namespace, part: str, until: float) -> int:
    """Measure what is left of a part; the exit code."""
    torch.zeros(1, device="cuda")
    journal = Journal(given.out / "cells.jsonl", given.done)
    journal.write({"part": "machine", **machine("gpu.py")})
    if part == "launch":
        return _launches(journal)
    compilers = Compilers("cuda")

    def measured(kernel: str, power: int) -> dict[str, Any]:
        return _measured(journal, part, kernel, power, given, compilers)

    wanted = gpu_cells.wanted(given.kernels, given.sizes)
    try:
        return cells(given, part, until, journal, wanted, measured)
    finally:
        compilers.close()


def cells(
    given: Namespace,
    part: str,
    until: float,
    journal: Journal,
    wanted: Iterable[tuple[str, int]],
    measured: Callable[[str, int], dict[str, Any]],
) -> int:
    """Measure the cells that are left; the exit code."""
    for kernel, power in wanted:
        place = {"part": part, "kernel": kernel, "size": f"2^{power}"}
        if journal.has(place):
            continue
        if time.time() > until:
            print("the time is over; the rest is left to another run", flush=True)
            return 0
        now(given.out, place)
        began = time.monotonic()
        try:
            record = measured(kernel, power)
        except Tainted as error:
            if error.side.startswith("schedule"):  # a number that means another one elsewhere
                journal.write({**place, "error": error.why})
            else:
                journal.write_broken(kernel, error.side, error.why)
            print(f"{kernel} {place['size']}: {error.side} broke the process: {error.why}")
            return AGAIN
        except Exception as error:  # noqa: BLE001  # the cell is lost, the others are not
            record = {"error": told(error)}
        record["took_s"] = round(time.monotonic() - began, 2)
        journal.write({**place, **record})
        print(_line(place, record), flush=True)
        gc.collect()
        try:
            torch.cuda.empty_cache()
            torch.zeros(1, device="cuda").add_(1).item()
        except Exception as error:  # noqa: BLE001  # whatever it was, this process is done
            print(f"the device is lost: {told(error)}", flush=True)
            return AGAIN
    return 0


def _measured(
    journal: Journal, part: str, kernel: str, power: int, given: Namespace, compilers: Compilers
) -> dict[str, Any]:
    cell = gpu_cells.make(torch, kernel, power)
    if part == "live":
        return live(Target(cell), given.live_limit)
    place = {"part": "live", "kernel": kernel, "size": cell.size}
    learned = journal.get(place).get("schedule")
    return device_cell(cell, given, learned, journal.broken(kernel), compilers)


def _launches(journal: Journal) -> int:
    if not journal.has({"part": "launch"}):
        launch = importlib.import_module("gpu_launch")
        journal.write({"part": "launch", **launch.measured()})
    return 0


_UNSAID = ("vyre_default", "vyre_occupancy", "vyre_fast_default", "vyre_fast_swept")
"""Sides that are kept, and not told to whoever watches."""


def _line(place: dict[str, str], record: dict[str, Any]) -> str:
    """A cell in a line, for whoever watches."""
    head = f"{place['part']} {place['kernel']} {place['size']} {record['took_s']} s:"
    if "error" in record:
        return f"{head} {record['error']}"
    if "us" in record:
        us = {side: value for side, value in record["us"].items() if side not in _UNSAID}
        shown = " ".join(f"{side}={value:.4g}" for side, value in us.items())
        failed = " ".join(f"[{side}: {why[:60]}]" for side, why in record["errors"].items())
        return f"{head} {shown} {failed}"
    return f"{head} {record['schedule']} settled={record['settled']}"


def now(out: Path, place: dict[str, str]) -> None:
    """Say what is measured now, so that a process that hangs can be told from one that works."""
    (out / "now.json").write_text(json.dumps(place))
