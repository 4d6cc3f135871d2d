"""The GPU suite's measuring process: cell after cell, each written down as soon as it is known."""

from __future__ import annotations

import gc
import importlib
import json
import sys
import time
from argparse import Namespace
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any

import gpu_cells
import torch
from gpu_cells import ARITHMETIC, Cell, apart, results
from gpu_journal import Journal
from gpu_replay import CaptureFailed, Graph, fitted, interleaved
from gpu_vyre import Target, Timing, live, packed, unpacked

import vyre
from vyre.testing import provenance

ROUNDS = 21
LEADERS = 5
"""Of the space, the schedules that are measured again beside all sides: the best of many quick
measurements is often lucky."""

AGAIN = 75
"""The exit code that asks for a new process: something broke this one."""

Run = Callable[[], Any]


class Tainted(Exception):
    """This process can measure no more; a side broke it."""

    def __init__(self, side: str, why: str) -> None:
        super().__init__(side, why)
        self.side, self.why = side, why


class Sides:
    """What is compared in one cell: launches that work, and why others do not."""

    def __init__(self, cell: Cell, skipped: dict[str, str], over: Callable[[], bool]) -> None:
        self.cell, self.over = cell, over
        self.errors: dict[str, str] = dict(skipped)
        self.graphs: dict[str, Graph] = {}
        self.notes: dict[str, Any] = {}

    def attempt(self, side: str, task: Callable[[], Any]) -> Any:
        """What the task gives, or None with the reason kept.

        Raises:
            Tainted: it left the device or torch broken.
        """
        if side in self.errors:
            return None
        if self.over():
            self.errors[side] = "left out: the cell's time was over"
            return None
        began = time.monotonic()
        try:
            made = task()
            torch.cuda.synchronize()
        except CaptureFailed as error:
            raise Tainted(side, f"it cannot be captured: {error}") from error
        except Exception as error:  # noqa: BLE001  # whatever a peer does, the others are measured
            self.errors[side] = _told(error)
            self._still_works(side, error)
            return None
        self.notes[f"{side} took_s"] = round(time.monotonic() - began, 2)
        return made

    def _still_works(self, side: str, error: Exception) -> None:
        try:
            torch.cuda.synchronize()
            torch.zeros(1, device="cuda").add_(1).item()
        except Exception:  # noqa: BLE001  # as above
            raise Tainted(side, _told(error)) from error

    def add(self, side: str, run: Run, expected: Any, *, exact: bool) -> None:
        """Take a launch in, if what it computes is right."""

        def task() -> Graph:
            run()  # what is compiled or tuned by the first call is not part of any result
            off = apart(self.cell, expected, results(self.cell, run))
            self.notes[f"{side} off"] = round(off, 6)
            if off > (0.0 if exact else 1.0):
                raise AssertionError(f"its result is {off:.3g} of the allowed distance away")
            return fitted(run)

        graph = self.attempt(side, task)
        if graph is not None:
            self.graphs[side] = graph


def device_cell(
    cell: Cell, given: Namespace, learned: list[Any] | None, skipped: dict[str, str]
) -> dict[str, Any]:
    """All sides of one cell, side by side."""
    until = time.monotonic() + given.cell_limit
    sides = Sides(cell, skipped, lambda: time.monotonic() > until)
    target = Target(cell)
    default = target.default
    run = target.run_of(default)
    run()
    expected = results(cell, run)
    schedules = {"vyre_default": default}
    plans: dict[str, Callable[[], Any]] = {
        "vyre_occupancy": target.occupancy,
        "vyre_swept": lambda: target.swept(given.budget),
        "vyre_live": lambda: unpacked(learned) if learned else None,
    }
    if learned is None:
        del plans["vyre_live"]
    sides.attempt("vyre_call", lambda: _same_by_a_call(target, expected))
    for side, plan in plans.items():
        chosen = sides.attempt(side, plan)
        if chosen is not None:
            schedules[side] = chosen
    timings = _space(sides, target, given)
    leaders = sorted(timings, key=lambda timing: timing.seconds)[:LEADERS]
    # One graph for each schedule, so that sides that chose the same are the same.
    every = dict.fromkeys([*schedules.values(), *(leader.config for leader in leaders)])
    names = {schedule: f"schedule {number}" for number, schedule in enumerate(every)}
    for schedule, name in names.items():
        launch = sides.attempt(name, lambda schedule=schedule: target.run_of(schedule))
        if launch is not None:
            sides.add(name, launch, expected, exact=True)
    if cell.kernel in ARITHMETIC:
        _fast(sides, given, expected)
    for side, module, make in _peers(cell):
        launch = sides.attempt(
            side, lambda module=module, make=make: make(importlib.import_module(module))
        )
        if launch is not None:
            sides.add(side, launch, expected, exact=False)
    copy = sides.attempt("copy", lambda: fitted(_copy(cell)))
    if copy is not None:
        sides.graphs["copy"] = copy
    found = interleaved(sides.graphs, ROUNDS, sides.over)
    us = {side: _us(times) for side, times in found.items()}
    by_schedule = {schedule: us.get(name) for schedule, name in names.items()}
    timed = {schedule: value for schedule, value in by_schedule.items() if value}
    best = min(timed, key=timed.__getitem__)
    errors = {side: why for side, why in sides.errors.items() if not side.startswith("schedule")}
    for side, schedule in schedules.items():
        if by_schedule[schedule] is None:
            errors[side] = sides.errors.get(names[schedule], "it was not measured")
    return {
        "n": 1 << cell.power,
        "moved": cell.moved,
        "us": {
            **{side: by_schedule[s] for side, s in schedules.items() if by_schedule[s]},
            **{side: value for side, value in us.items() if not side.startswith("schedule")},
        },
        "spread": {side: _spread(times) for side, times in found.items() if len(times) > 4},
        "space": {
            "legal": len(target.space.legal),
            "measured": len(timings),
            "best_us": timed[best],
            "best": packed(best),
            "quick": [
                [packed(timing.config), round(1e6 * timing.seconds, 4)] for timing in timings
            ],
        },
        "schedules": {side: packed(schedule) for side, schedule in schedules.items()},
        "errors": errors,
        "notes": {**sides.notes, "triton": _triton_choice(cell)},
        "launches": {side: graph.launches for side, graph in sides.graphs.items()},
    }


def _same_by_a_call(target: Target, expected: tuple[Any, ...]) -> None:
    def call() -> None:
        target.call(schedule=target.default)

    if apart(target.cell, expected, results(target.cell, call)):
        raise AssertionError("a plain call gives another result than a launch of its schedule")


def _space(sides: Sides, target: Target, given: Namespace) -> list[Timing]:
    """What of the space was measured, as far as that went."""
    timings: list[Timing] = []

    def task() -> None:
        sides.notes["codes"] = target.compile_space()
        timings.extend(target.measure_space(given.space_limit))

    sides.attempt("space", task)
    return timings


def _fast(sides: Sides, given: Namespace, expected: tuple[Any, ...]) -> None:
    """Vyre's kernel with the freedom that peers take."""
    target = Target(sides.cell, fast_math=True)
    schedule = sides.attempt("vyre_fast", lambda: target.swept(given.budget / 2))
    if schedule is not None:
        sides.add("vyre_fast", target.run_of(schedule), expected, exact=False)


def _peers(cell: Cell) -> list[tuple[str, str, Callable[[Any], Run]]]:
    """The peers of a cell: a name, the module that has it, and how it makes the launch."""
    peers: list[tuple[str, str, Callable[[Any], Run]]] = [
        ("cupy", "gpu_cupy", lambda module: module.run_of(cell)),
        ("triton", "gpu_triton", lambda module: module.run_of(cell)),
        ("torch_eager", "gpu_torch", lambda module: module.eager(cell)),
        ("torch_compile", "gpu_torch", lambda module: module.compiled(cell)),
    ]
    if cell.kernel in ARITHMETIC:
        peers += [
            ("cupy_exact", "gpu_cupy", lambda module: module.run_of(cell, contract=False)),
            ("triton_exact", "gpu_triton", lambda module: module.run_of(cell, contract=False)),
        ]
    return peers


def _triton_choice(cell: Cell) -> str:
    module = sys.modules.get("gpu_triton")
    try:
        return str(module.chosen(cell)) if module else ""
    except (AttributeError, KeyError):  # it was not tuned
        return ""


def _copy(cell: Cell) -> Run:
    """A copy on the device that moves as many bytes as the cell's kernel has to."""
    source = torch.ones(max(cell.moved // 2, 1), dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    return lambda: target.copy_(source)


def _us(times: list[float]) -> float:
    return round(1e6 * median(times), 4)


def _spread(times: list[float]) -> float:
    """The middle half of the times, as a share of their median."""
    ordered = sorted(times)
    quarter = len(ordered) // 4
    return round((ordered[-1 - quarter] - ordered[quarter]) / median(ordered), 4)


def _told(error: BaseException) -> str:
    """An error in one line that fits a record."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:400]


def machine() -> dict[str, Any]:
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
        "command": provenance.command(["benchmarks/gpu.py", *_asked()]),
    }


def _asked() -> list[str]:
    """The words of the command that started the run."""
    words = sys.argv[1:]
    return words[: words.index("--worker")] if "--worker" in words else words


def work(given: Namespace, part: str, until: float) -> int:
    """Measure what is left of a part; the exit code."""
    torch.zeros(1, device="cuda")
    journal = Journal(given.out / "cells.jsonl", given.done)
    journal.write({"part": "machine", **machine()})
    if part == "launch":
        return _launches(journal)
    for kernel, power in gpu_cells.wanted(given.kernels, given.sizes):
        place = {"part": part, "kernel": kernel, "size": f"2^{power}"}
        if journal.has(place):
            continue
        if time.time() > until:
            print("the time is over; the rest is left to another run", flush=True)
            return 0
        now(given.out, place)
        began = time.monotonic()
        try:
            record = _measured(journal, part, kernel, power, given)
        except Tainted as error:
            if error.side.startswith("schedule"):  # a number that means another one elsewhere
                journal.write({**place, "error": error.why})
            else:
                journal.write_broken(kernel, error.side, error.why)
            print(f"{kernel} {place['size']}: {error.side} broke the process: {error.why}")
            return AGAIN
        except Exception as error:  # noqa: BLE001  # the cell is lost, the others are not
            record = {"error": _told(error)}
        record["took_s"] = round(time.monotonic() - began, 2)
        journal.write({**place, **record})
        print(_line(place, record), flush=True)
        gc.collect()
        try:
            torch.cuda.empty_cache()
            torch.zeros(1, device="cuda").add_(1).item()
        except Exception as error:  # noqa: BLE001  # whatever it was, this process is done
            print(f"the device is lost: {_told(error)}", flush=True)
            return AGAIN
    return 0


def _measured(
    journal: Journal, part: str, kernel: str, power: int, given: Namespace
) -> dict[str, Any]:
    cell = gpu_cells.make(torch, kernel, power)
    if part == "live":
        return live(Target(cell), given.live_limit)
    place = {"part": "live", "kernel": kernel, "size": cell.size}
    learned = journal.get(place).get("schedule")
    return device_cell(cell, given, learned, journal.broken(kernel))


def _launches(journal: Journal) -> int:
    if not journal.has({"part": "launch"}):
        launch = importlib.import_module("gpu_launch")
        journal.write({"part": "launch", **launch.measured()})
    return 0


def _line(place: dict[str, str], record: dict[str, Any]) -> str:
    """A cell in a line, for whoever watches."""
    head = f"{place['part']} {place['kernel']} {place['size']} {record['took_s']} s:"
    if "error" in record:
        return f"{head} {record['error']}"
    if "us" in record:
        shown = " ".join(f"{side}={value:.4g}" for side, value in record["us"].items())
        failed = " ".join(f"[{side}: {why[:60]}]" for side, why in record["errors"].items())
        return f"{head} best={record['space']['best_us']:.4g} {shown} {failed}"
    return f"{head} {record['schedule']} settled={record['settled']}"


def now(out: Path, place: dict[str, str]) -> None:
    """Say what is measured now, so that a process that hangs can be told from one that works."""
    (out / "now.json").write_text(json.dumps(place))
