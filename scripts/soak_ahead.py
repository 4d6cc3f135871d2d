"""Prepares a soak of tiles for an NVIDIA GPU where there is none, and runs it where there is one.

    python scripts/soak_ahead.py make FOLDER --programs 2500 --seed 0
    python scripts/soak_ahead.py run FOLDER --json FILE

Compiling takes nearly all of the time of such a soak (scripts/soak_tiles.py says what it is), and
NVRTC needs no GPU for it. `make` leaves in a folder which schedules each program is to run under,
and their machine code; every other program has an extent that tiles fill, and codes for whole
tiles. `run` computes nothing but the reference's results, and compares. It says what differs, and
ends with status 1 where anything does; a process that is ended is a finding.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any

import vyre
from vyre import settings
from vyre.backend.base import Compiled, Job, Unbuilt
from vyre.model import DeviceInfo, DeviceKind, Limits, Schedule
from vyre.runtime.devices.device import Device
from vyre.testing import provenance
from vyre.testing.tile_compare import Tally, Trial, judged, trial
from vyre.testing.tile_programs import generate_tiled

INDEX = "soak.jsonl"
BLOCK = 25  # programs that a process is given at a time
MOST = 250  # and that it keeps the codes of

Record = dict[str, Any]


def hopper(folder: Path) -> Device:
    """A device that only compiles: an H200, as its driver describes it."""
    from cuda.bindings import driver  # optional, and needed here alone

    from vyre.backend.cuda.cache import CubinCache
    from vyre.backend.cuda.device import Cuda
    from vyre.backend.cuda.nvml import Nvml

    limits = Limits(
        max_threads=1024,
        max_block=(1024, 1024, 64),
        max_grid=(2**31 - 1, 65_535, 65_535),
        max_threads_per_unit=2048,
        group_bytes=48 << 10,
        cache_bytes=60 << 20,
    )
    info = DeviceInfo(
        backend="cuda",
        model="NVIDIA H200",
        driver="",
        compiler="",
        kind=DeviceKind.GPU,
        limits=limits,
        compute_units=132,
    )
    cache = CubinCache(folder / "cubin")
    made = Cuda(0, info, architecture="sm_90", cache=cache, driver=driver, nvml=Nvml(""))
    return Device("cuda:0", made)


def made(folder: Path, seeds: range, count: int) -> list[Record]:
    """What some programs run under; their codes are compiled, and kept in the folder."""
    device, found = hopper(folder), []
    for seed in seeds:
        one = trial(device, seed, Tally(), count=count, whole=seed % 2 == 1)
        program, facts = one.case.program, device.facts(one.case.program)
        jobs = [Job(program, schedule.code, facts) for schedule in one.schedules]
        compiled = device.backend.compile_only(jobs)  # type: ignore[attr-defined]  # CUDA's
        wrong = [str(unbuilt) for unbuilt in compiled if isinstance(unbuilt, Unbuilt)]
        codes = [
            {"schedule": schedule.value(), **dict(zip(_FIELDS, _told(binary), strict=True))}
            for schedule, binary in zip(one.schedules, compiled, strict=True)
            if isinstance(binary, Compiled)
        ]
        found.append({"seed": seed, "codes": codes, "wrong": wrong})
    return found


_FIELDS = ("max_threads", "name", "entry", "guarded", "words")


def _told(binary: Compiled) -> tuple[Any, ...]:
    return tuple(getattr(binary, field) for field in _FIELDS)


def ran(name: str, records: list[Record]) -> Tally:
    """What becomes of some programs on a device."""
    device, tally = vyre.open(name), Tally(programs=len(records))
    for record in records:
        if len(device._built) > MOST:
            device = Device(device.name, device.backend)
        case = generate_tiled(Random(record["seed"]), whole=record["seed"] % 2 == 1)
        codes = {
            Schedule.of(code["schedule"]): Compiled(
                code["max_threads"],
                code["name"],
                code["entry"],
                tuple(code["guarded"]),
                tuple(code["words"]),
            )
            for code in record["codes"]
        }
        device.load(case.program, {schedule.code: one for schedule, one in codes.items()})
        judged(device, [Trial(record["seed"], case, tuple(codes))], tally)
    return tally


def spread(given: argparse.Namespace, task: Any, parts: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
    """What a task gives of each of its parts, or the error of the process that was at it."""
    with ProcessPoolExecutor(given.jobs, mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(task, *part) for part in parts]
        for future in futures:
            try:
                yield future.result()
            except BrokenProcessPool as error:
                yield error


def make(given: argparse.Namespace) -> int:
    given.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    last = given.seed + given.programs
    blocks = [range(at, min(at + BLOCK, last)) for at in range(given.seed, last, BLOCK)]
    wrong = done = 0
    began = time.monotonic()
    with (given.folder / INDEX).open("a") as file:
        for found in spread(given, made, ((given.folder, one, given.schedules) for one in blocks)):
            if isinstance(found, BrokenProcessPool):
                print(f"a process was ended: {found}")
                return 1
            for record in found:
                file.write(json.dumps(record) + "\n")
                wrong += len(record["wrong"])
                for text in record["wrong"]:
                    print(f"seed {record['seed']}: {text[:2000]}", flush=True)
            done += len(found)
            print(f"{done} programs, {time.monotonic() - began:.0f} s", flush=True)
    return 1 if wrong else 0


def run(given: argparse.Namespace) -> int:
    settings.preset("VYRE_CACHE_DIR", str(given.folder.resolve()))
    records = [json.loads(line) for line in (given.folder / INDEX).read_text().splitlines()]
    blocks = [records[at : at + BLOCK] for at in range(0, len(records), BLOCK)]
    tally, ended, began = Tally(), 0, time.monotonic()
    for found in spread(given, ran, ((given.device, block) for block in blocks)):
        if isinstance(found, Tally):
            tally.add(found)
            for wrong in found.wrong:
                print(f"seed {wrong.seed}, {wrong.schedule}: {wrong.what}", flush=True)
        else:
            ended += 1
    seconds = time.monotonic() - began
    print(
        f"{tally.programs} programs, {tally.runs} schedules run, {len(tally.wrong)} mismatches,"
        f" {ended} blocks whose process was ended, {seconds:.0f} s"
    )
    print("run with: " + ", ".join(f"{n} {kind}" for kind, n in kinds(records).items()))
    print("".join(f"not launched {n}: {why}\n" for why, n in tally.refused.most_common()), end="")
    if given.json:
        info = vyre.open(given.device).info
        results = {
            "programs": tally.programs,
            "first_seed": records[0]["seed"],
            "schedules_run": tally.runs,
            "kinds": kinds(records),
            "not_launched": dict(tally.refused),
            "mismatches": len(tally.wrong),
            "blocks_ended": ended,
            "seconds": round(seconds, 1),
        }
        device = f"{info.model}, {info.driver}, {info.compiler}"
        provenance.save(given.json, results, device=device)
    return 1 if tally.wrong or ended else 0


def kinds(records: list[Record]) -> dict[str, int]:
    """How many schedules say each part otherwise than usual."""
    found: dict[str, int] = {}
    for record in records:
        for code in record["codes"]:
            for part, usual in (*vyre.model.PARTS.items(),):
                said = code["schedule"].get(part, usual)
                if said != usual:
                    word = part if part != "checked" else "unchecked"
                    found[word] = found.get(word, 0) + 1
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("do", choices=("make", "run"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--programs", type=int, default=2500, help="of a folder, at most 3,000")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--schedules", type=int, default=2, help="drawn for each program")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    return make(given) if given.do == "make" else run(given)


if __name__ == "__main__":
    sys.exit(main())
