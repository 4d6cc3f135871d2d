"""Compares schedules of tiles with the reference on generated kernels: --programs 10000 --seed 0.

Kernels are stencils, windows, products, pairs, walked rows and transposes over odd extents, under
hostile names and in every element type. Each runs under its plain schedule and under some that are
drawn for it: several positions a thread along each axis, reads through workgroup memory, more
threads that only load, odd workgroups; on processors with lanes, their own fields. Every other
batch has extents that tiles fill, with codes for whole tiles. Arrays lie between forbidden pages
where the device works on them in place. Every result must be the reference's bits; of functions,
the bits of the plain schedule.

What an emitter refuses is counted by its reason, never as passed. Processes take turns with blocks
of seeds; one that is ended is a finding, and after --seconds no more are begun. Prints each finding
with its program and the seed that makes it again; --json keeps the counts. Ends with status 1 where
anything was found.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import inf
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from random import Random
from typing import Any

import vyre
from vyre import settings
from vyre.ir.text import to_text
from vyre.plain import plain_lines
from vyre.testing import provenance
from vyre.testing.tile_compare import Tally, Wrong, compare
from vyre.testing.tile_programs import generate_tiled

BLOCK = 48  # seeds of one process, which keeps all that it has built
BATCH = 8  # programs of one build
PATIENT = 1  # where each workgroup is compiled for: PoCL takes longer for each the more there are
SHOWN = 20  # findings that are printed whole


def worker(name: str, seeds: range, count: int, wide: bool, said: Connection) -> None:
    """Says which seeds are begun, then what became of them, batch after batch."""
    device = vyre.open(name)
    batch = PATIENT if device.backend.compiles_per_workgroup else BATCH
    for first in range(seeds.start, seeds.stop, batch):
        chosen = range(first, min(first + batch, seeds.stop))
        said.send(chosen)
        whole = wide and first // batch % 2 == 1
        said.send(compare(device, chosen, count=count, wide=wide, whole=whole))
    said.close()


@dataclass
class Task:
    """A block of seeds under way in a process of its own."""

    process: BaseProcess
    said: Connection
    seeds: range
    begun: range = range(0)


@dataclass
class Soak:
    """Blocks of seeds over a few processes, until they or the time are over."""

    device: str
    count: int
    wide: bool
    jobs: int
    limit_s: float
    tally: Tally = field(default_factory=Tally)
    ended: list[range] = field(default_factory=list)  # what processes were at that were ended
    waiting: list[range] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    def run(self, seeds: range) -> None:
        starts = range(seeds.start, seeds.stop, BLOCK)
        self.waiting = [range(first, min(first + BLOCK, seeds.stop)) for first in starts]
        tasks: list[Task] = []
        while True:
            while self.waiting and len(tasks) < self.jobs and self.has_time:
                tasks.append(self.start(self.waiting.pop(0)))
            if not tasks:
                return
            ready = wait([task.said for task in tasks])
            tasks = [task for task in tasks if task.said not in ready or self.heard(task)]

    @property
    def has_time(self) -> bool:
        return time.monotonic() - self.began < self.limit_s

    def start(self, seeds: range) -> Task:
        context = get_context("spawn")
        said, mouth = context.Pipe(duplex=False)
        arguments = (self.device, seeds, self.count, self.wide, mouth)
        process = context.Process(target=worker, args=arguments)
        process.start()
        mouth.close()
        return Task(process, said, seeds)

    def heard(self, task: Task) -> bool:
        """Take what a process says; whether it goes on."""
        try:
            message: Any = task.said.recv()
        except EOFError:
            task.process.join()
            if task.process.exitcode:
                self.lost(task)
            return False
        if isinstance(message, Tally):
            self.tell(message)
            task.begun = range(0)
        else:
            task.begun = message
        if not self.has_time and not task.begun:
            task.process.terminate()
            task.process.join()
            return False
        return True

    def lost(self, task: Task) -> None:
        """A process was ended: what it was at is a finding, what it had before it goes on."""
        at = task.begun or task.seeds
        self.ended.append(at)
        print(f"seeds {at.start}..{at.stop - 1}: ended with {task.process.exitcode}", flush=True)
        if len(at) == 1:
            print(shown(at.start), flush=True)
        if at.stop < task.seeds.stop:
            self.waiting.insert(0, range(at.stop, task.seeds.stop))

    def tell(self, part: Tally) -> None:
        before = self.tally.programs
        for wrong in part.wrong:
            print(plain_lines(said_of(wrong)), flush=True)
        for seed in dict.fromkeys(wrong.seed for wrong in part.wrong):
            if len(self.tally.wrong) < SHOWN:
                print(shown(seed), flush=True)
        self.tally.add(part)
        if before // 20 != self.tally.programs // 20:
            print(next(self.lines()), flush=True)

    def lines(self) -> Iterator[str]:
        whole = self.tally
        rate = whole.programs / (time.monotonic() - self.began)
        yield (
            f"{whole.programs} programs, {whole.runs} schedules run, "
            f"{sum(whole.refused.values())} refused, {len(whole.wrong)} mismatches, "
            f"{len(self.ended)} processes ended, {rate:.1f} programs a second"
        )
        yield "run with: " + ", ".join(f"{n} {kind}" for kind, n in whole.kinds.most_common())
        yield from (f"refused {n}: {why}" for why, n in whole.refused.most_common())


def said_of(wrong: Wrong) -> str:
    return f"seed {wrong.seed}, {wrong.schedule}: {wrong.what}"


def shown(seed: int) -> str:
    """The program of a seed, and what it ran on."""
    case = generate_tiled(Random(seed))
    shapes = {name: array.shape for name, array in case.arrays.items()}
    return plain_lines(f"extent {case.extent}, shapes {shapes}\n{to_text(case.program)}")


def found(soak: Soak, first: int) -> dict[str, Any]:
    """What a file keeps."""
    return {
        "programs": soak.tally.programs,
        "first_seed": first,
        "schedules_run": soak.tally.runs,
        "wide": soak.wide,
        "kinds": dict(soak.tally.kinds.most_common()),
        "refused": dict(soak.tally.refused.most_common()),
        "mismatches": len(soak.tally.wrong),
        "processes_ended": len(soak.ended),
        "wrong": [said_of(wrong) for wrong in soak.tally.wrong[:SHOWN]],
        "seconds": round(time.monotonic() - soak.began, 1),
    }


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--programs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="opencl")
    parser.add_argument("--schedules", type=int, default=6, help="drawn for each program")
    parser.add_argument("--plain", action="store_true", help="items along x alone, nothing staged")
    parser.add_argument("--optimized", action="store_true", help="let PoCL optimize: half as many")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=inf)
    parser.add_argument("--json", type=Path)
    return parser.parse_args(words)


def main() -> int:
    given = arguments()
    settings.preset("POCL_MAX_PTHREAD_COUNT", "1")  # the processes share the cores
    if not given.optimized:
        settings.preset("POCL_EXTRA_BUILD_FLAGS", "-cl-opt-disable")
    soak = Soak(given.device, given.schedules, not given.plain, given.jobs, given.seconds)
    soak.run(range(given.seed, given.seed + given.programs))
    for line in soak.lines():
        print(line)
    if given.json:
        info = vyre.open(given.device).info
        device = f"{info.model}, {info.driver}, {info.compiler}"
        provenance.save(given.json, found(soak, given.seed), device=device)
    return 1 if soak.tally.wrong or soak.ended else 0


if __name__ == "__main__":
    sys.exit(main())
