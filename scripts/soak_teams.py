"""Compares schedules of reductions with the reference: --count 5000 --seed 0 --device cpu.

Each seed is a generated program with reductions, which runs under some of the schedules that may
run it, in teams of lanes above all, also with several teams for a result, with lanes that keep
what they compute again, with several results of a team, with teams that
bring what they read together, and with rounds that are written out. With
--walks the programs are those that go over rounds several times. Every --each'th seed is
followed by the kernels of `vyre.testing.reducers`, each under some schedules. Processes take turns
with blocks of seeds; after --seconds no more are begun. The device cuda-on-host is CUDA's own text
on this machine's processor.
Prints each difference with the seed that makes it, then how many programs and schedules agreed;
ends with status 1 where one did not.
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from math import inf
from multiprocessing import get_context
from random import Random

import vyre
from vyre import settings
from vyre.model import Schedule
from vyre.runtime.devices.device import Device
from vyre.testing.cuda_on_host import CudaOnHost
from vyre.testing.programs import generate
from vyre.testing.reducers import calls, deviations
from vyre.testing.schedules import deviations_under, in_teams, numbers_of, pinned, space_for
from vyre.testing.walks import walks

BLOCK = 25  # seeds of one process, which keeps all that it has built
BATCH = 5  # programs of one build


@dataclass
class Tally:
    """What ran, and what differed."""

    programs: int = 0
    in_teams: int = 0  # of them
    shared: int = 0  # of the schedules
    keeping: int = 0
    beside: int = 0
    abreast: int = 0
    bringing: int = 0
    schedules: int = 0
    calls: int = 0
    bad: list[str] = field(default_factory=list)

    def add(self, other: "Tally") -> None:
        self.programs += other.programs
        self.in_teams += other.in_teams
        self.shared += other.shared
        self.keeping += other.keeping
        self.beside += other.beside
        self.abreast += other.abreast
        self.bringing += other.bringing
        self.schedules += other.schedules
        self.calls += other.calls
        self.bad += other.bad

    def __str__(self) -> str:
        return (
            f"{self.programs} programs, {self.in_teams} of them in teams, and {self.calls} calls "
            f"under {self.schedules} schedules, {self.shared} of them with several teams for a "
            f"result, {self.keeping} with rounds that are kept, {self.beside} with several results "
            f"of a team, {self.abreast} abreast, {self.bringing} that bring what they read, "
            f"{len(self.bad)} differences"
        )

    def count(self, drawn: Sequence[Schedule]) -> None:
        """Note what kinds of schedules are drawn."""
        self.schedules += len(drawn)
        self.shared += sum(one.code.shares > 1 for one in drawn)
        self.keeping += sum(one.code.keeps > 0 for one in drawn)
        self.beside += sum(one.code.lanes > 1 and one.code.items > 1 for one in drawn)
        self.abreast += sum(one.code.abreast > 1 for one in drawn)
        self.bringing += sum(one.code.lanes > 1 and one.code.depth > 0 for one in drawn)


def opened(name: str) -> Device:
    """A device by its name; CUDA's text on the host is one of its own."""
    return Device(name, CudaOnHost()) if name == "cuda-on-host" else vyre.open(name)


def block(name: str, seeds: range, each: int, *, walk: bool) -> Tally:
    """What some seeds come to, found in a process of its own."""
    device, tally = opened(name), Tally()
    for first in range(seeds.start, seeds.stop, BATCH):
        chosen = range(first, min(first + BATCH, seeds.stop))
        cases = [
            walks(Random(seed)) if walk else generate(Random(seed), reductions=True)
            for seed in chosen
        ]
        draws = [
            [
                *in_teams(space_for(device, case), Random(seed), teams=1 if walk else 3),
                *pinned(device.info, case.program, numbers_of(case), Random(seed)),
            ]
            for seed, case in zip(chosen, cases, strict=True)
        ]
        tally.programs += len(cases)
        tally.in_teams += sum(any(s.code.lanes > 1 for s in draw) for draw in draws)
        for draw in draws:
            tally.count(draw)
        for found in deviations_under(device, cases, draws):
            schedule = f"{found.schedule.text}, {found.schedule.code}"
            tally.bad.append(f"seed {chosen[found.case]} as {schedule}: {found.mismatch}")
    for seed in seeds:
        if each and seed % each == 0:
            for call in calls(seed):
                rng = Random(seed)
                drawn = [*in_teams(call.space(device), rng), *call.pinned(device, rng)]
                tally.calls += 1
                tally.count(drawn)
                tally.bad += (f"seed {seed}: {text}" for text in deviations(call, device, drawn))
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--each", type=int, default=100)
    parser.add_argument("--walks", action="store_true")
    parser.add_argument("--seconds", type=float, default=inf)
    given = parser.parse_args()
    settings.preset("POCL_MAX_PTHREAD_COUNT", "1")  # the processes share the cores
    began, whole = time.monotonic(), Tally()
    end = given.seed + given.count
    blocks = [range(at, min(at + BLOCK, end)) for at in range(given.seed, end, BLOCK)]
    pool = ProcessPoolExecutor(given.jobs, mp_context=get_context("spawn"), max_tasks_per_child=1)
    with pool:
        under_way = [
            pool.submit(block, given.device, seeds, given.each, walk=given.walks)
            for seeds in blocks
        ]
        for future in under_way:
            if time.monotonic() - began > given.seconds:
                for one in under_way:
                    one.cancel()
            if future.cancelled():
                break
            if future.exception() is not None:  # told now, and not behind all other blocks
                for one in under_way:
                    one.cancel()
            tally = future.result()
            for text in tally.bad:
                print(text, flush=True)
            whole.add(tally)
            print(f"{given.device}: {whole}, {time.monotonic() - began:.0f} s", flush=True)
    return 1 if whole.bad else 0


if __name__ == "__main__":
    sys.exit(main())
