"""Compares a device with the reference on generated programs: --count 20000 --seed 0 --device NAME.

Each program runs under every code below, checked where nothing is proved. Its names are words that
compilers and emitters use themselves, and it calls functions of loop variables and of literals:
what those give must be the same bits under every code. Processes take turns with blocks of seeds;
after --seconds no more are begun. With --reductions every program has some; the device cuda-on-host
is CUDA's own text on this machine's processor. Prints each difference with the seed that makes it,
then how many programs agreed; --json keeps it.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from math import inf
from multiprocessing import get_context
from pathlib import Path
from random import Random

import vyre
from vyre import settings
from vyre.model import Code, Order
from vyre.runtime.devices.device import Device
from vyre.testing import provenance
from vyre.testing.compare import codes_of, differences, provable
from vyre.testing.cuda_on_host import CudaOnHost
from vyre.testing.programs import Case, generate

ITEMS = (
    Code(),
    Code(unroll=2, checked=False),
    Code(items=3, order=Order.BLOCKED),
    Code(items=2, vector=2, checked=False),
    Code(items=4, vector=4, unroll=4, checked=False),
    Code(unroll=64),
)
"""Where invocations take items; where they are lanes, `codes_of` says."""

BLOCK = 50  # seeds of one process, which keeps all that it has built
BATCH = 16  # programs of one build
PATIENT = 2  # where each workgroup is compiled for: PoCL takes longer for each the more there are


def opened(name: str) -> Device:
    """A device by its name; CUDA's text on the host is one of its own."""
    return Device(name, CudaOnHost()) if name == "cuda-on-host" else vyre.open(name)


def forms(device: vyre.Device, case: Case) -> tuple[Code, ...]:
    """The codes as they suit a case."""
    codes = ITEMS if device.info.simd is None else codes_of(device)
    made = (code if provable(device, case, code) else replace(code, checked=True) for code in codes)
    return tuple(dict.fromkeys(made))


def differing(
    device: vyre.Device, seeds: range, *, reductions: bool = False
) -> Iterator[tuple[int, str]]:
    """The seeds whose programs differ, and how."""
    batch = PATIENT if device.backend.compiles_per_workgroup else BATCH
    for first in range(seeds.start, seeds.stop, batch):
        chosen = range(first, min(first + batch, seeds.stop))
        cases = [generate(Random(seed), reductions=reductions) for seed in chosen]
        wanted = [(case.program, code) for case in cases for code in forms(device, case)]
        device.binaries(wanted)  # in one build
        for seed, case in zip(chosen, cases, strict=True):
            for item in differences(device, [case], forms(device, case)):
                yield seed, f"{item.code}: {item.mismatch}"


def block(name: str, seeds: range, *, reductions: bool) -> list[tuple[int, str]]:
    """What differs among some seeds, found in a process of its own."""
    return list(differing(opened(name), seeds, reductions=reductions))


def soak(
    name: str, seeds: range, jobs: int, limit_s: float, *, reductions: bool = False
) -> tuple[int, list[int]]:
    """How many programs ran on a device, from the first seed on, and which seeds differ."""
    starts = range(seeds.start, seeds.stop, BLOCK)
    blocks = [range(first, min(first + BLOCK, seeds.stop)) for first in starts]
    bad: set[int] = set()
    done, began = 0, time.monotonic()
    settings.preset("POCL_MAX_PTHREAD_COUNT", "1")  # the processes share the cores
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), max_tasks_per_child=1)
    with pool:
        under_way = [pool.submit(block, name, seeds, reductions=reductions) for seeds in blocks]
        for seeds_done, future in zip(blocks, under_way, strict=True):
            if time.monotonic() - began > limit_s:
                for one in under_way:
                    one.cancel()
            if future.cancelled():
                break
            for seed, text in future.result():
                bad.add(seed)
                print(f"seed {seed}: {text}", flush=True)
            done += len(seeds_done)
            rate = done / (time.monotonic() - began)
            print(f"{done} programs, {len(bad)} differ, {rate:.1f} a second", flush=True)
    return done, sorted(bad)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--reductions", action="store_true")
    parser.add_argument("--seconds", type=float, default=inf)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    seeds = range(given.seed, given.seed + given.count)
    done, bad = soak(given.device, seeds, given.jobs, given.seconds, reductions=given.reductions)
    device = opened(given.device)
    info = device.info
    codes = len(ITEMS if info.simd is None else codes_of(device))
    print(f"{done} programs under {codes} codes each on {info.model}")
    print(f"{done - len(bad)} passed, {len(bad)} failed")
    if given.json:
        found = {
            "programs": done,
            "first_seed": given.seed,
            "codes": codes,
            "mismatches": len(bad),
            "differing": bad,
        }
        named = f"{info.model}, {info.driver}, {info.compiler}"
        provenance.save(given.json, found, device=named)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
