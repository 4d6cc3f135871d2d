"""Compares processors with the reference and with each other: --programs 20000 --targets v2,v3,v4.

Generated programs, programs of whole workgroups (--groups) and elementary functions of hostile
numbers (--functions) are compiled for each target under a code and a tile drawn for it, and run on
arrays between forbidden pages: x86-64 levels natively, aarch64 under qemu. Every result must be the
reference's, bit for bit, NaN for NaN. Blocks of seeds go to processes of their own; after --seconds
no more are begun. --json keeps it, with a digest of each thousand seeds by target, and --merge adds
the parts of earlier files, whose digests must agree.
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from math import inf
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from vyre import settings
from vyre.backend.base import Unbuilt
from vyre.backend.cpu import compiler, machine
from vyre.emit.llvm import Features, emit_llvm
from vyre.errors import UnsupportedFeature, VyreError
from vyre.testing import emulated, native, provenance
from vyre.testing.compare import Judge
from vyre.testing.function_cases import defined, function_case
from vyre.testing.groups import generate_group
from vyre.testing.launches import TARGETS, Subject, Way, draw, runs_here
from vyre.testing.programs import Case, generate

BLOCK = 50  # seeds of one process: what it has compiled stays in its memory
CHUNK = 1000  # seeds of one digest
OUT = Path(__file__).parents[1] / "benchmarks" / "results" / "soak_cpu.json"


@dataclass
class Tally:
    """What became of some seeds on each target."""

    programs: int = 0
    runs: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    unsupported: Counter[str] = field(default_factory=Counter)
    digests: dict[str, dict[str, int]] = field(default_factory=dict)

    def add(self, other: "Tally") -> None:
        self.programs += other.programs
        self.runs += other.runs
        self.wrong += other.wrong
        self.unsupported += other.unsupported
        for target, chunks in other.digests.items():
            for chunk, digest in chunks.items():
                self.mix(target, chunk, digest)

    def mix(self, target: str, chunk: str, digest: int) -> None:
        """The order in which results come does not matter."""
        held = self.digests.setdefault(target, {})
        held[chunk] = held.get(chunk, 0) ^ digest


def case_of(kind: str, seed: int, size: int) -> Case:
    """The case of a seed, none of whose buffers may be off by anything."""
    rng = Random(seed)
    if kind == "programs":
        return replace(generate(rng, size), ulp={})
    if kind == "groups":
        return generate_group(rng, size)
    known = list(defined())
    op, dtype = known[seed % len(known)]
    return function_case(op, dtype, rng)


def digest_of(case: Case, found: native.Arrays) -> int:
    """64 bits over what a case wrote; every NaN counts as the same."""
    hasher = blake2b(digest_size=8)
    for decl in case.program.buffers:
        if decl.is_written:
            array = found[decl.name].copy()
            if array.dtype.kind == "f":
                array[np.isnan(array)] = np.nan
            hasher.update(array.tobytes())
    return int.from_bytes(hasher.digest(), "little")


def block(kind: str, seeds: range, targets: Sequence[str], size: int) -> Tally:
    """What became of a few seeds, found in a process of its own."""
    tally = Tally(programs=len(seeds))
    cases = [(seed, Subject(case_of(kind, seed, size))) for seed in seeds]
    judges = {seed: Judge(subject.case) for seed, subject in cases}
    for target in targets:
        wanted = list(supported(cases, target, tally))
        pairs = [(subject, way) for _, subject, way in wanted]
        found = emulated.run(pairs) if target == "aarch64" else native.run(TARGETS[target], pairs)
        for (seed, subject, way), arrays in zip(wanted, found, strict=True):
            tally.runs[target] += 1
            where = f"{kind} seed {seed} on {target}, {way}"
            if isinstance(arrays, Unbuilt):
                tally.wrong.append(f"{where}: {arrays.reason} {arrays.log}")
                continue
            tally.wrong += [f"{where}: {m}" for m in judges[seed].mismatches(arrays)]
            tally.mix(target, str(seed // CHUNK * CHUNK), digest_of(subject.case, arrays))
    return tally


def supported(
    cases: Sequence[tuple[int, Subject]], target: str, tally: Tally
) -> Iterator[tuple[int, Subject, Way]]:
    """The cases that there is code for, each with how it is run."""
    for seed, subject in cases:
        way = draw(subject, Random(f"{seed} {target}"))
        try:
            emit_llvm(subject.case.program, way.code, Features(), subject.facts)
        except UnsupportedFeature as error:
            tally.unsupported[error.problem] += 1
            continue
        yield seed, subject, way


def soak(kind: str, seeds: range, targets: Sequence[str], given: argparse.Namespace) -> Tally:
    """All seeds in blocks, until the time is over."""
    whole, began = Tally(), time.monotonic()
    starts = range(seeds.start, seeds.stop, BLOCK)
    blocks = iter([range(first, min(first + BLOCK, seeds.stop)) for first in starts])
    context = get_context("spawn")
    with ProcessPoolExecutor(given.jobs, mp_context=context, max_tasks_per_child=4) as pool:
        waiting = []
        while True:
            while len(waiting) < 2 * given.jobs and time.monotonic() - began < given.seconds:
                following = next(blocks, None)
                if following is None:
                    break
                task = pool.submit(block, kind, following, targets, given.size)
                waiting.append((following, task))
            if not waiting:
                return whole
            some, future = waiting.pop(0)
            try:
                part = future.result()
            except BrokenProcessPool:  # its arrays lie between pages that nobody may touch
                whole.wrong.append(f"{kind} seeds from {some.start}: a process was ended")
                return whole
            for line in part.wrong:
                print(line, flush=True)
            whole.add(part)
            rate = whole.programs / (time.monotonic() - began)
            runs = sum(whole.runs.values())
            print(
                f"{kind}: {whole.programs} programs, {runs} runs, {len(whole.wrong)} wrong, "
                f"{sum(whole.unsupported.values())} unsupported, {rate:.2f} programs a second",
                flush=True,
            )


def part_of(kind: str, first: int, tally: Tally, seconds: float) -> dict[str, Any]:
    """What a file keeps of one kind of programs."""
    return {
        "kind": kind,
        "first_seed": first,
        "programs": tally.programs,
        "runs": dict(sorted(tally.runs.items())),
        "mismatches": len(tally.wrong),
        "wrong": tally.wrong[:20],
        "unsupported": dict(tally.unsupported),
        "seconds": round(seconds, 1),
        "code": provenance.code(),
        "llvm": compiler.version(),
        "processor": machine.model(),
        "digests": {
            target: {chunk: f"{digest:016x}" for chunk, digest in sorted(chunks.items())}
            for target, chunks in tally.digests.items()
        },
    }


def disagreements(parts: Sequence[dict[str, Any]]) -> list[str]:
    """The thousands of seeds of which two targets have whole results that are not the same."""
    seen: dict[str, dict[str, str]] = {}
    for part in parts:
        last = part["first_seed"] + part["programs"]
        for target, chunks in part["digests"].items():
            for chunk, digest in chunks.items():
                first = int(chunk)
                ends = min(first + CHUNK, last)
                key = f"{part['kind']} {max(first, part['first_seed'])}..{ends}"
                seen.setdefault(key, {}).setdefault(digest, target)
    return [
        f"{key}: {sorted(digests.values())}" for key, digests in seen.items() if len(digests) > 1
    ]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--programs", type=int, default=0)
    parser.add_argument("--groups", type=int, default=0, help="programs of whole workgroups")
    parser.add_argument("--functions", type=int, default=0, help="rounds of every function")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--size", type=int, default=16, help="statements of a program, about")
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=inf, help="of each kind of programs")
    parser.add_argument("--merge", type=Path, nargs="*", default=[])
    parser.add_argument("--json", type=Path, default=OUT)
    given = parser.parse_args()
    targets = usable(given.targets.split(","))
    settings.preset("OPENBLAS_NUM_THREADS", "1")
    parts: list[dict[str, Any]] = []
    for path in given.merge:
        record = json.loads(path.read_text())
        parts += [{"code": record["code"], **part} for part in record["results"]["parts"]]
    counts = {
        "programs": given.programs,
        "groups": given.groups,
        "functions": given.functions * len(list(defined())),
    }
    for kind, count in counts.items():
        if count:
            began = time.monotonic()
            tally = soak(kind, range(given.seed, given.seed + count), targets, given)
            parts.append(part_of(kind, given.seed, tally, time.monotonic() - began))
    return finish(parts, given.json)


def usable(names: Sequence[str]) -> list[str]:
    """The targets that can run here; the others are named."""
    info = machine.cpuinfo()
    here = [n for n in names if (emulated.tools() if n == "aarch64" else runs_here(n, info))]
    for name in names:
        if name not in here:
            print(f"{name} cannot run here")
    return here


def finish(parts: Sequence[dict[str, Any]], path: Path) -> int:
    """Sum up, keep it, and say whether all is well."""
    runs: Counter[str] = Counter()
    for part in parts:
        runs += Counter(part["runs"])
    apart = disagreements(parts)
    unsupported: Counter[str] = sum((Counter(part["unsupported"]) for part in parts), Counter())
    wrong = sum(part["mismatches"] for part in parts)
    totals = {
        "runs": dict(sorted(runs.items())),
        "mismatches": wrong,
        "targets_apart": apart,
        "unsupported": dict(unsupported),
    }
    print(json.dumps(totals, indent=1))
    provenance.save(path, {"totals": totals, "parts": list(parts)})
    return 1 if wrong or apart or unsupported else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except VyreError as error:
        sys.exit(str(error))
