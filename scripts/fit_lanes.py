"""Fits the constants of the guess for processors to recorded spaces, and says how well it guesses.

    PYTHONPATH=src python scripts/fit_lanes.py

Reads benchmarks/data/spaces-cpu*.json.gz, fits one set of constants to all of them and writes
src/vyre/plan/guess/lanes/fitted.py. What it reports is time[guess] / time[best] where whole kernels
were left out of the fit; benchmarks/results/guess-cpu.json keeps it. A wall clock's times have
spikes: one far above its neighbours' counts as their median.
"""

# mypy: ignore-errors  # the model computes with numbers and with tracked ones alike

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import partial
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
from fitting import (
    DATA,
    ROOT,
    Aims,
    Outcome,
    Pool,
    Recorded,
    Weights,
    descended,
    in_order,
    left_out,
    lines_of,
    missed,
    outcome,
    program_of,
    show,
    summary,
    times,
    worked,
)

from vyre.model import Schedule
from vyre.plan.guess.lanes import ALIKE, DOUBT
from vyre.plan.guess.lanes.amounts import Core, Form, Tiles, amounts
from vyre.plan.guess.lanes.model import Constants, nanoseconds
from vyre.plan.guess.ranking import with_doubt
from vyre.testing import provenance
from vyre.testing.recordings import Recording, read, space_of, times_of, undisturbed

OUT = ROOT / "src" / "vyre" / "plan" / "guess" / "lanes" / "fitted.py"
START: dict[str, float] = {
    "launch": 3000,
    "wake": 4000,
    "operation": 0.2,
    "heavy": 25,
    "function": 30,
    "conversion": 1.5,
    "check": 0.5,
    "scalar": 0.4,
    "scalar_function": 1,
    "skipped": 0.5,
    "waits": 0.8,
    "narrow": 0.5,
    "load": 0.17,
    "store": 0.33,
    "broadcast": 0.15,
    "single": 0.11,
    "gather": 0.3,
    "small": 0.6,
    "scatter": 0.5,
    "split": 0.17,
    "spill": 0.2,
    "step": 0.2,
    "round": 0.2,
    "chained": 0.7,
    "series": 8.0,
    "added": 1.3,
    "staged": 0.5,
    "near": 0.5,
    "far": 3.0,
    "far_shared": 0.1,
    "memory": 2.0,
    "cache": 6e7,
    "count": 0.3,
    "waiting": 0.1,
    "counted": 0.5,
    "crowded": 2.0,
    "masked": 0.5,
    "atomic": 6.0,
    "edge": 0.7,
    "tile": 25,
    "piece": 100,
    "late": 0.5,
    "uneven": 0.5,
    "clear": 1.0,
    "flush": 2.0,
    "overlap": 1.0,
    "overlap_far": 1.0,
}
"""What each may be by what is published of processors, or seen in a table: where a fit begins."""


@dataclass(frozen=True)
class OnLanes(Recorded):
    """One space of a processor, of which spikes are taken away, on how many threads."""

    threads: int
    noise: float  # log time by which neighbours differ, mostly


def spaces_of(path: Path) -> list[OnLanes]:
    """The spaces of a file."""
    device = read(path)["device"]
    core = Core(
        threads=device["compute_units"],
        lanes=device["lanes"],
        l1_bytes=device.get("l1_bytes", 48 << 10),
        l2_bytes=device.get("l2_bytes", 2 << 20),
    )
    calm = [one for one in undisturbed(path) if space_of(one).default in times_of(one)]
    return in_order(recorded(one, core) for one in calm)


def recorded(one: Recording, core: Core) -> OnLanes:
    name, space = one["kernel"], space_of(one)
    calm, noise = calmed(space.legal, times(one))
    form, tiles = Form.of(program_of(name)[0]), Tiles.of(space.legal)
    of = amounts(worked(one), form, tiles, core)
    return OnLanes(name, one["size"], space, calm, of, core.threads, noise)


SPIKE = 1.12  # above a time's second slowest neighbour of five


def calmed(schedules: tuple[Schedule, ...], times: np.ndarray) -> tuple[np.ndarray, float]:
    """The times, of which one far above its neighbours' is their median, and how even they are."""
    places = np.array(
        [
            (
                *(3 * log2(size) for size in s.workgroup),
                2 * log2(c.vector),
                2 * log2(c.rows),
                log2(c.unroll),
                2 * (c.order.value == "blocked"),
                c.staged,
            )
            for s in schedules
            for c in (s.code,)
        ]
    )
    logs, found, differ = np.log(times), np.log(times), []
    for place in range(len(times)):
        apart = np.abs(places - places[place]).sum(axis=1)
        near = np.argsort(apart, kind="stable")[1:6].tolist()
        usual = np.median(logs[near])
        same = [other for other in near if schedules[other].code == schedules[place].code]
        differ += [abs(logs[place] - np.median(logs[same]))] if len(same) > 1 else []
        if logs[place] > max(usual, np.sort(logs[near])[-2]) + np.log(SPIKE):
            found[place] = usual
    return np.exp(found), float(np.median(differ)) if differ else 0.0


# -- the fit


ALONE = 0.3  # what a space of one thread counts, which others disturbed
AIMS = Aims(
    START,
    sharp=0.04,
    weights=Weights(fit=1.0, loss=0.5, level=0.05, start=1e-2),
    far=0.25,
    # How the slowest decides trades with all others.
    firm={name: 10.0 for name in START if name.startswith("overlap")},
)


def fitted(spaces: list[OnLanes], starts: int = 1, most: int = 150) -> Constants:
    """The constants that fit some spaces best, of several starts."""
    pool = Pool.of(spaces, [1.0 if one.threads > 1 else ALONE for one in spaces])
    way = partial(nanoseconds, pool.amounts)
    return Constants(**descended(pool, AIMS, way, starts, most))


def guessed(one: OnLanes, constants: Constants) -> Outcome:
    log_ns = with_doubt(one.space, np.log(nanoseconds(one.amounts, constants)), DOUBT)
    return outcome(one, log_ns, ALIKE)


HEADER = '''"""The constants of the guess for processors, and what it may lose on kernels left out.

Written by `python scripts/fit_lanes.py` from:
    {data}
`model.Constants` says what each one is.
"""

from __future__ import annotations

'''


def written(constants: Constants, outcomes: list[Outcome], names: list[str]) -> str:
    least, share = missed(outcomes)
    lines = [
        f"MISSED = ({least:.3f}, {share:.2f})  # as `Missed` has it",
        "",
        "CONSTANTS: dict[str, float] = {",
        *lines_of(constants, " " * 4),
        "}",
    ]
    return HEADER.format(data="\n    ".join(names)) + "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--starts", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="fit and write, validate nothing")
    given = parser.parse_args()
    paths = sorted(given.data.glob("spaces-cpu*.json.gz"))
    names = [path.relative_to(ROOT).as_posix() for path in paths]
    spaces = [one for path in paths for one in spaces_of(path)]
    constants = fitted(spaces, given.starts, 300)
    outcomes = [guessed(one, constants) for one in spaces]
    results: dict[str, Any] = {"all in the fit": tables(spaces, outcomes, "all in the fit")}
    if not given.quick:
        outcomes = left_out(spaces, "kernel", given.jobs, fitted, guessed)
        results["kernels left out"] = tables(spaces, outcomes, "kernels left out")
    # Of several threads: one alone was timed beside other work, and its misses are mostly that.
    calm = [found for one, found in zip(spaces, outcomes, strict=True) if one.threads > 1]
    OUT.write_text(written(constants, calm, names))
    if not given.quick:
        provenance.save(ROOT / "benchmarks" / "results" / "guess-cpu.json", results)


def tables(spaces: list[OnLanes], outcomes: list[Outcome], title: str) -> dict[str, Any]:
    """Of each number of threads on its own."""
    found = {}
    for threads in sorted({one.threads for one in spaces}):
        pairs = zip(spaces, outcomes, strict=True)
        alike = [result for one, result in pairs if one.threads == threads]
        found[f"{threads} threads"] = summary(alike)
        show(f"{title}, {threads} threads", found[f"{threads} threads"], each=True)
        slower = np.exp([result.slower - result.gain for result in alike])
        print(
            f"    to default: geomean {np.exp(np.log(slower).mean()):.3f}, "
            f"p95 {np.quantile(slower, 0.95):.3f}, most {slower.max():.3f}"
        )
    return found


if __name__ == "__main__":
    main()
