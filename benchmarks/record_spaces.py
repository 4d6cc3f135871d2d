"""Records spaces: what every legal schedule of a kernel takes at a size, on the device here.

The guess is fitted to these files (`scripts/fit_guess.py`), policies are replayed on them, and
`first_calls.py` takes the best schedule from them. Times are the device's own, of launches in a
row: every schedule twice, and those within reach of the best again and again, in changing order;
the median counts. A processor also runs what others ask of it, which only ever makes a launch
slower: there every schedule is timed in three rounds at least, and the least of the rounds' times
counts.
What is recorded is written as it comes, so that a run may be cut short, and one that finds a file
goes on with what is missing there.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import time
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

import spaces_kernels

import vyre
from vyre.backend.base import Job, TimesBlocks
from vyre.errors import VyreError
from vyre.model import Code, DeviceInfo, DeviceKind, Schedule
from vyre.runtime.arrays.array import DeviceArray
from vyre.runtime.call.dispatch import Dispatcher
from vyre.runtime.devices.launcher import Prepared
from vyre.testing import provenance
from vyre.testing.recordings import read, row_of, write

BLOCK_NS = 3e5  # of launches in a row
MOST_IN_ROW = 40
MOST_BY_HOST = 15  # where the host's clock times each launch
ROUNDS, BY_HOST_ROUNDS = 2, 3  # of every schedule: no spike alone condemns one
NEAR = 1.35  # of the best so far: what is slower was timed often enough
LONG_NS = 2e7  # one launch of this is measured once
AHEAD = 3  # calls whose arrays are made while another is measured


def compile_ahead(device_name: str, name: str, code: Code) -> None:
    """Leave a code in the cache, in a process of its own."""
    device = vyre.open(device_name)
    kernel, _ = spaces_kernels.called(name, 64)
    job = Job(kernel.program, code, device.facts(kernel.program))
    device.backend.compile_only([job])  # type: ignore[attr-defined]  # CUDA's


class Space:
    """One kernel at one size: its arrays, and every schedule that may run it."""

    def __init__(self, device: vyre.Device, name: str, size: int, call: Any) -> None:
        self.device, self.name, self.size = device, name, size
        kernel, given = call
        arrays = tuple(device.array(array) for array in given.arrays)
        self.bound = Dispatcher(kernel._translation).bind(
            arrays, None, given.shape, None, given.options
        )
        self.numbers, self.alignment, _ = self.bound.numbered
        self.launcher = self.bound.launcher
        self.space = self.launcher.space(self.numbers, self.alignment)
        resident = {n: a for n, a in self.bound.arrays.items() if isinstance(a, DeviceArray)}
        self.arguments = self.launcher.arguments(resident, self.bound.call.scalars)

    def prepared(self) -> dict[Schedule, Prepared]:
        """What can be launched; what cannot is left out."""
        found = {}
        for schedule in self.space.legal:
            try:
                found[schedule] = self.launcher.prepare(self.numbers, self.alignment, schedule)
            except VyreError:
                continue
        return found

    def time(self, step: Prepared, count: int) -> float:
        """Nanoseconds of one launch among so many in a row; by the host, of a quick one."""
        backend = self.device.backend
        if isinstance(backend, TimesBlocks):
            return backend.time_block(
                step.binary, step.grid, step.workgroup, self.arguments, step.words, count
            )
        times = []
        for _ in range(min(count, MOST_BY_HOST)):
            start = time.perf_counter_ns()
            step.start(self.arguments, 0)
            times.append(time.perf_counter_ns() - start)
        return float(sorted(times)[len(times) // 4])

    def registers(self, steps: dict[Schedule, Prepared]) -> list[list[Any]]:
        found = {}
        for schedule, step in steps.items():
            resources = getattr(step.binary, "resources", None)
            if resources is not None:
                found[schedule.code] = [resources.registers, resources.local_bytes]
        return [[*row_of(Schedule((1, 1, 1), code))[3:], *of] for code, of in found.items()]

    def record(self, rounds: int, rng: random.Random) -> dict[str, Any]:
        by_device = isinstance(self.device.backend, TimesBlocks)
        middle = median if by_device else min
        every = ROUNDS if by_device else BY_HOST_ROUNDS
        steps = self.prepared()
        order = list(steps)
        times: dict[Schedule, list[float]] = {schedule: [] for schedule in order}
        for number in range(rounds):
            rng.shuffle(order)
            best = min((middle(t) for t in times.values() if t), default=float("inf"))
            for schedule in order:
                known = times[schedule]
                far = number >= every and known and min(known) > NEAR * best
                if number and (not known or far or best > LONG_NS):
                    continue
                try:
                    few = min(known) if known else self.time(steps[schedule], 2)
                    count = int(min(max(BLOCK_NS / max(few, 1), 2), MOST_IN_ROW))
                    long = few > LONG_NS and by_device
                    known.append(few if long else self.time(steps[schedule], count))
                except VyreError:
                    continue
        return {
            "kernel": self.name,
            "size": self.size,
            "extent": list(self.numbers.extent),
            "shapes": {name: list(shape) for name, shape in self.numbers.shapes.items()},
            "scalars": dict(self.numbers.scalars),
            "alignment": self.alignment,
            "default": row_of(self.space.default),
            "registers": self.registers(steps),
            "rows": [[*row_of(s), round(middle(t), 1)] for s, t in times.items() if t],
        }


def told(info: DeviceInfo) -> dict[str, Any]:
    """What a device says of itself, as far as a guess may ask."""
    limits = info.limits
    return {
        "backend": info.backend,
        "model": info.model,
        "driver": info.driver,
        "kind": info.kind.value,
        "compute_units": info.compute_units,
        "max_threads": limits.max_threads,
        "max_block": list(limits.max_block),
        "max_grid": list(limits.max_grid),
        "max_threads_per_unit": limits.max_threads_per_unit,
        "lanes": info.simd.lanes if info.simd else 0,
        "l1_bytes": info.simd.l1_bytes if info.simd else 0,
        "l2_bytes": info.simd.l2_bytes if info.simd else 0,
    }


def cells(given: argparse.Namespace, found: dict[str, Any]) -> list[tuple[str, int]]:
    known = {(space["kernel"], space["size"]) for space in found["spaces"]}
    wanted = given.kernels.split(",") if given.kernels else spaces_kernels.names()
    sizes = [1 << int(power) for power in given.powers.split(",")]
    every = [(name, size) for size in sizes for name in wanted]
    return [cell for cell in every if cell not in known]


def calls(todo: list[tuple[str, int]]) -> Iterator[tuple[str, int, Any]]:
    """Each cell with its arrays, which are made a few ahead."""
    with ThreadPoolExecutor(AHEAD) as pool:
        waiting: list[tuple[str, int, Future[Any]]] = []
        left = iter(todo)
        while True:
            while len(waiting) < AHEAD and (cell := next(left, None)) is not None:
                waiting.append((*cell, pool.submit(spaces_kernels.called, *cell)))
            if not waiting:
                return
            name, size, made = waiting.pop(0)
            yield name, size, made.result()


def ahead(device: vyre.Device, todo: list[tuple[str, int]], jobs: int) -> Any:
    """A pool that compiles what the cells ask for, each code once."""
    if not hasattr(device.backend, "compile_only") or jobs < 2:
        return None
    pool = ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"))
    asked: dict[tuple[str, Code], Future[Any]] = {}
    for name in dict.fromkeys(name for name, _ in todo):
        size = max(size for one, size in todo if one == name)
        call = spaces_kernels.called(name, min(size, 1 << 14))
        for code in Space(device, name, size, call).space.codes:
            asked[name, code] = pool.submit(compile_ahead, device.name, name, code)
    return pool, asked


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path, help="the file, gzipped JSON, made or added to")
    parser.add_argument("--device", default=None)
    parser.add_argument("--kernels", default="", help="names, by comma; all without it")
    parser.add_argument("--powers", default="20,24,22,26,18", help="sizes as powers of two")
    parser.add_argument("--seconds", type=float, default=500.0, help="after which nothing begins")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) - 2))
    given = parser.parse_args()
    began = time.monotonic()
    device = vyre.open(given.device)
    found = read(given.path) if given.path.exists() else {"spaces": []}
    todo = cells(given, found)
    found |= provenance.provenance()
    found["device"] = told(device.info)
    pool = ahead(device, todo, given.jobs)
    if pool is not None and device.info.kind is DeviceKind.CPU:
        for compiled in pool[1].values():  # or it is timed what compilers leave of the cores
            compiled.exception()
    rng = random.Random(0)
    for name, size, call in calls(todo):
        if time.monotonic() - began > given.seconds:
            break
        start = time.monotonic()
        if pool is not None:
            for (of, _), compiled in pool[1].items():
                if of == name:
                    compiled.exception()
        waited = time.monotonic() - start
        try:
            row = Space(device, name, size, call).record(given.rounds, rng)
        except VyreError as error:
            print(f"{name} {size}: {error.problem}", flush=True)
            continue
        found["spaces"].append(row)
        write(given.path, found)
        times = sorted(r[-1] for r in row["rows"])
        default = next((r[-1] for r in row["rows"] if r[:-1] == row["default"]), float("nan"))
        print(
            f"{name:12}2^{size.bit_length() - 1:<3}{len(times):4} {times[0] / 1e3:9.1f} us, "
            f"default {default / times[0]:5.2f}x, worst {times[-1] / times[0]:6.1f}x, "
            f"{time.monotonic() - start:5.1f} s, {waited:4.1f} waited",
            flush=True,
        )
    if pool is not None:
        pool[0].shutdown(wait=False, cancel_futures=True)
    print(f"{len(found['spaces'])} spaces, {time.monotonic() - began:.0f} s")
    os._exit(0)


if __name__ == "__main__":
    main()
