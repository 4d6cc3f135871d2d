"""Records spaces: what the legal schedules of a kernel take at a size, on the device here.

    PYTHONPATH=src python benchmarks/record_spaces.py benchmarks/data/spaces-h200.json.gz
    PYTHONPATH=src python benchmarks/record_spaces.py reductions.json.gz --reductions

Of a large space a part is recorded: the default, what the guess takes first, and an even draw
(`spaces_sample.py`); "of" says how many there are. Kernels with reductions are recorded by
themselves: how long their schedules take is guessed by other rules.

The guess is fitted to these files (`scripts/fit_guess.py`), policies are replayed on them, and
`first_calls.py` takes the best schedule from them. Times are the device's own, of launches in a
row: every schedule twice, and those within reach of the best again and again, in changing order;
the median counts. A processor also runs what others ask of it, which only ever makes a launch
slower: there every schedule is timed in three rounds at least, and the least of the rounds' times
counts.
What is recorded is written every few seconds, so that a run may be cut short, and one that finds a
file goes on with what is missing there. A schedule that breaks the device is noted under "broken",
left out, and the script starts again with the rest.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Collection, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

import spaces_kernels
from spaces_compile import Ahead, planned
from spaces_sample import MOST

import vyre
from vyre.backend.base import TimesBlocks
from vyre.errors import VyreError
from vyre.model import DeviceInfo, DeviceKind, Schedule
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
FAR = 3.0  # of the best so far: two launches tell enough
SHORT_NS = 1e5  # of a launch; of a shorter one they tell too little
LONG_NS = 2e7  # one launch of this is measured once
AHEAD = 3  # calls whose arrays are made while another is measured
POWERS, OF_REDUCTIONS = "20,24,22,26,18", "20,24,16,22,26,14,18"
EVERY_S = 5.0  # between two times that all is written: it takes a tenth of a second


class BrokenDevice(Exception):
    """A schedule after which nothing runs any more, and of what."""

    def __init__(self, name: str, schedule: Schedule, problem: str) -> None:
        super().__init__(name, schedule, problem)
        self.name, self.schedule, self.problem = name, schedule, problem


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

    def prepared(self, wanted: Collection[Schedule]) -> dict[Schedule, Prepared]:
        """What of these can be launched; what cannot is left out."""
        found = {}
        for schedule in self.space.legal:
            if schedule not in wanted:
                continue
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

    def first(self, step: Prepared) -> float:
        """The same of the first launches, but for one that comes before: code is loaded then."""
        self.time(step, 1)
        return self.time(step, 2)

    def registers(self, steps: dict[Schedule, Prepared]) -> list[list[Any]]:
        found = {}
        for schedule, step in steps.items():
            resources = getattr(step.binary, "resources", None)
            if resources is not None:
                found[schedule.code] = [
                    *row_of(schedule),
                    resources.registers,
                    resources.local_bytes,
                ]
        return list(found.values())

    def record(
        self, wanted: Collection[Schedule], rounds: int, rng: random.Random
    ) -> dict[str, Any]:
        """The times of schedules.

        Raises:
            BrokenDevice: one of them leaves the device so that nothing runs any more.
        """
        by_device = isinstance(self.device.backend, TimesBlocks)
        middle = median if by_device else min
        every = ROUNDS if by_device else BY_HOST_ROUNDS
        steps = self.prepared(wanted)
        order = list(steps)
        times: dict[Schedule, list[float]] = {schedule: [] for schedule in order}
        for number in range(rounds):
            rng.shuffle(order)
            best = min((middle(t) for t in times.values() if t), default=float("inf"))
            for schedule in order:
                known = times[schedule]
                far = number >= every and known and min(known) > NEAR * best
                slow = known and min(known) > max(FAR * best, SHORT_NS)
                if number and (not known or far or slow or best > LONG_NS):
                    continue
                try:
                    few = min(known) if known else self.first(steps[schedule])
                    enough = by_device and (few > LONG_NS or few > max(FAR * best, SHORT_NS))
                    count = int(min(max(BLOCK_NS / max(few, 1), 2), MOST_IN_ROW))
                    known.append(few if enough else self.time(steps[schedule], count))
                    best = min(best, known[-1])
                except VyreError as error:
                    self.refuse_broken(schedule, error)
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
            "of": len(self.space.legal),
        }

    def refuse_broken(self, schedule: Schedule, error: VyreError) -> None:
        """Nothing, where others still run after a schedule that failed.

        Raises:
            BrokenDevice: none does.
        """
        try:
            usual = self.launcher.prepare(self.numbers, self.alignment, self.space.default)
            self.time(usual, 1)
        except VyreError:
            raise BrokenDevice(self.name, schedule, error.problem) from error


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
        "lockstep": limits.lockstep,
        "lanes": info.simd.lanes if info.simd else 0,
        "l1_bytes": info.simd.l1_bytes if info.simd else 0,
        "l2_bytes": info.simd.l2_bytes if info.simd else 0,
    }


def cells(given: argparse.Namespace, found: dict[str, Any]) -> list[tuple[str, int]]:
    """What is missing, kernel by kernel, so that sizes share what is compiled."""
    known = {(space["kernel"], space["size"]) for space in found["spaces"]}
    all_of = spaces_kernels.reductions() if given.reductions else spaces_kernels.names()
    wanted = given.kernels.split(",") if given.kernels else all_of
    powers = given.powers or (OF_REDUCTIONS if given.reductions else POWERS)
    sizes = [1 << int(power) for power in powers.split(",")]
    every = [(name, size) for name in wanted for size in sizes]
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


class Recorder:
    """Records cells one after the other into a file, as long as there is time."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given, self.began = given, time.monotonic()
        self.device = vyre.open(given.device)
        self.found = read(given.path) if given.path.exists() else {"spaces": []}
        self.found |= provenance.provenance()
        self.found["device"] = told(self.device.info)
        self.todo = cells(given, self.found)
        is_cpu = self.device.info.kind is DeviceKind.CPU
        self.most = (0 if is_cpu else MOST) if given.most is None else given.most
        compiles = hasattr(self.device.backend, "compile_only") and given.jobs > 1
        self.ahead = Ahead(self.device.name, self.todo, self.most, given.jobs) if compiles else None
        self.rng = random.Random(0)
        self.written = 0.0  # when it was

    def write(self) -> None:
        write(self.given.path, self.found)
        self.written = self.seconds

    @property
    def seconds(self) -> float:
        """Since it began."""
        return time.monotonic() - self.began

    def all(self) -> None:
        if self.ahead is not None and self.device.info.kind is DeviceKind.CPU:
            for name in dict.fromkeys(name for name, _ in self.todo):
                self.ahead.compiled(name)  # or it is timed what compilers leave of the cores
        for name, size, call in calls(self.todo):
            if self.seconds > self.given.seconds:
                return
            try:
                self.one(name, size, call)
            except VyreError as error:
                print(f"{name} {size}: {error.problem}", flush=True)

    def one(self, name: str, size: int, call: Any) -> None:
        start = time.monotonic()
        if self.ahead is None:
            wanted = planned(self.device, name, size, self.most)
        else:
            made = self.ahead.compiled(name)
            wanted = [s for s in self.ahead.plan(name)[size] if s.code in made]
            self.device.load(call[0].program, {s.code: made[s.code] for s in wanted})
        waited = time.monotonic() - start
        broken = [row[1:] for row in self.found.get("broken", ()) if row[0] == name]
        wanted = [s for s in wanted if row_of(s) not in broken]
        row = Space(self.device, name, size, call).record(set(wanted), self.given.rounds, self.rng)
        self.found["spaces"].append(row)
        if self.seconds - self.written > EVERY_S:
            self.write()
        times = sorted(r[-1] for r in row["rows"])
        default = next((r[-1] for r in row["rows"] if r[:-1] == row["default"]), float("nan"))
        print(
            f"{name:18}2^{size.bit_length() - 1:<3}{len(times):4} of {row['of']:4} "
            f"{times[0] / 1e3:9.1f} us, "
            f"default {default / times[0]:5.2f}x, worst {times[-1] / times[0]:6.1f}x, "
            f"{time.monotonic() - start:5.1f} s, {waited:4.1f} waited",
            flush=True,
        )

    def begin_anew(self, broken: BrokenDevice) -> None:
        """Note what broke the device and start this script again: no other process can go on."""
        print(f"{broken.name}, {broken.schedule.text} broke it: {broken.problem}", flush=True)
        self.found.setdefault("broken", []).append([broken.name, *row_of(broken.schedule)])
        self.write()
        left = max(self.given.seconds - self.seconds, 0.0)
        os.execv(sys.executable, [sys.executable, *sys.argv, "--seconds", f"{left:.0f}"])  # noqa: S606

    def close(self) -> None:
        self.write()
        if self.ahead is not None:
            self.ahead.close()
        print(f"{len(self.found['spaces'])} spaces, {self.seconds:.0f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path, help="the file, gzipped JSON, made or added to")
    parser.add_argument("--device", default=None)
    parser.add_argument("--kernels", default="", help="names, by comma; all without it")
    parser.add_argument("--reductions", action="store_true", help="kernels with reductions alone")
    parser.add_argument("--powers", default="", help=f"sizes as powers of two; {POWERS}")
    parser.add_argument("--seconds", type=float, default=500.0, help="after which nothing begins")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--most", type=int, help=f"of a space, 0 for all; GPUs: {MOST}")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) - 2))
    recorder = Recorder(parser.parse_args())
    try:
        recorder.all()
    except BrokenDevice as broken:
        recorder.begin_anew(broken)
    recorder.close()
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
