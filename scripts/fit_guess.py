"""Fits the constants of the cold-start guess to recorded spaces, and says how well it guesses.

    PYTHONPATH=src python scripts/fit_guess.py

Reads benchmarks/data/spaces-*.json.gz (`benchmarks/record_spaces.py` writes them), fits one set of
constants per GPU and writes src/vyre/plan/guess/fitted.py. What it reports, and writes to
benchmarks/results/guess.json, is time[guess] / time[best] where whole kernels, or whole sizes, were
left out of the fit.
"""

# mypy: ignore-errors  # the model computes with numbers and with tracked ones alike

from __future__ import annotations

import argparse
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from correction_worth import worth
from fitting import (
    DATA,
    ROOT,
    Aims,
    Outcome,
    Pool,
    Recorded,
    Weights,
    descended,
    files_of,
    in_order,
    left_out,
    lines_of,
    missed,
    outcome,
    show,
    summary,
    times,
    worked,
)

from vyre.model import Schedule
from vyre.plan.guess import ALIKE
from vyre.plan.guess.amounts import amounts
from vyre.plan.guess.model import Constants, Figures, nanoseconds
from vyre.plan.guess.shapes import Shapes
from vyre.plan.guess.work import Work
from vyre.testing import provenance
from vyre.testing.recordings import Recording, read, schedule_of, space_of

OUT = ROOT / "src" / "vyre" / "plan" / "guess" / "fitted.py"
START: dict[str, float] = {
    "launch": 850,
    "guard": 40,
    "operation": 2,
    "placing": 1,
    "heavy": 10,
    "function": 15,
    "conversion": 22,
    "wide": 1,
    "part": 0.1,
    "load": 4,
    "store": 10,
    "address": 2.5,
    "check": 1,
    "check_run": 5,
    "turn": 8,
    "turning": 0.1,
    "leaving": 0.3,
    "longest": 1.0,
    "wasted": 0.15,
    "item": 4,
    "thread": 2,
    "guarded": 6,
    "passed": 4,
    "brought": 20,
    "ends": 60,
    "near_load": 0.3,
    "fast": 0.05,
    "issue": 0.003,
    "line_loaded": 0.55,
    "line_stored": 0.8,
    "near_line": 0.35,
    "fetched": 1e-4,
    "walked": 3e-5,
    "stored": 1e-4,
    "memory": 2e-4,
    "scattered": 3e-3,
    "torn": 0.3,
    "kept": 2e5,
    "refetched": 1,
    "cache": 4e7,
    "cliff": 3,
    "streaming": 0.5,
    "near_wait": 150,
    "far_wait": 250,
    "more_inputs": 0.05,
    "flight": 20,
    "start": 100,
    "warp": 5,
    "chained": 2.5,
    "round": 30,
    "asked": 0.2,
    "round_load": 2,
    "round_alone": 15,
    "round_held": 5,
    "wander": 250,
    "own": 1.2,
    "beside": 0.25,
    "near_beside": 0.1,
    "each": 0.5,
    "alone": 0.7,
    "near_round": 0.2,
    "coming": 300,
    "chunk": 80,
    "bring": 8,
    "ragged": 80,
    "ended": 60,
    "one_by_one": 0.3,
    "group": 0.6,
    "handed": 0.5,
    "first": 10,
    "uneven": 0.7,
    "last_wave": 0.5,
    "last_group": 0.3,
    "drain": 0.05,
    "near_atomic": 0.03,
    "crowded": 3,
    "clear": 0.3,
    "far_add": 0.2,
    "slices": 0.7,
    "barrier": 80,
    "atomic": 0.1,
    "register": 1.1,
    "register_load": 0.8,
    "registers": 8,
    "overlap": 2.5,
    "overlap_memory": 2,
    "overlap_groups": 5,
    "overlap_adds": 3,
}
"""What each may be by what is published of such devices, or seen in a table: where a fit begins."""

HELD = ("register", "register_load", "registers")  # by what compilers told, not by times


@dataclass(frozen=True)
class OnGpu(Recorded):
    """One space of a GPU."""

    work: Work
    registers: tuple[tuple[int, float], ...]  # of a thread, by the place of a schedule of a code


def spaces_of(path: Path) -> tuple[dict[str, Any], list[OnGpu]]:
    """What a file says of its device, and its spaces, if that is a GPU."""
    data = read(path)
    found = data["spaces"] if data["device"]["kind"] == "gpu" else ()
    return data["device"], in_order(map(recorded, found))


def recorded(one: Recording) -> OnGpu:
    work, space = worked(one), space_of(one)
    return OnGpu(
        one["kernel"],
        one["size"],
        space,
        times(one),
        amounts(work, Shapes.of(space.legal)),
        work,
        told(one["registers"], space.legal),
    )


def told(rows: list[list[Any]], legal: tuple[Schedule, ...]) -> tuple[tuple[int, float], ...]:
    """The registers that compilers told, each by where the space has a schedule of that code."""
    place = {schedule.code: number for number, schedule in reversed(list(enumerate(legal)))}
    found = []
    for row in rows:
        # Older rows begin with the code, which no workgroup was laid out for.
        code = schedule_of([1, 1, 1, *row] if isinstance(row[3], str) else row).code
        if code in place:
            found.append((place[code], float(row[-2])))
    return tuple(found)


AIMS = Aims(
    {one.name: START[one.name] for one in fields(Constants) if one.name not in HELD},
    sharp=0.03,
    weights=Weights(fit=1.0, loss=0.5, level=0.02, start=1e-3),
)


def fitted(spaces: list[OnGpu], figures: Figures, starts: int = 1, most: int = 200) -> Constants:
    """The constants that fit some spaces best, of several starts."""
    pool, held = Pool.of(spaces, [1.0] * len(spaces)), registers(spaces)
    way = partial(nanoseconds, pool.amounts, device=figures)
    return Constants(**descended(pool, AIMS, way, starts, most, **held), **held)


def registers(spaces: list[OnGpu]) -> dict[str, float]:
    """Registers of a thread by what its items hold and load; up to 32 every compiler is free."""
    rows = np.array(
        [
            (held, loads, min(max(count, 32.0), 255.0))
            for one in {one.kernel: one for one in spaces}.values()
            for (place, count), (held, loads) in zip(one.registers, holding(one), strict=True)
        ]
    ).reshape(-1, 3)
    if not len(rows):
        return {name: START[name] for name in HELD}

    def missed(three: tuple[float, float, float]) -> float:
        guessed = three[0] * rows[:, 0] + three[1] * rows[:, 1] + three[2]
        return float(np.abs(np.clip(guessed, 32.0, 255.0) - rows[:, 2]).mean())

    tried = [
        (name / 10, load / 10, float(base))
        for name in range(5, 20)
        for load in range(0, 16, 2)
        for base in range(0, 36, 4)
    ]
    return dict(zip(HELD, min(tried, key=missed), strict=True))


def holding(one: OnGpu) -> list[tuple[float, float]]:
    """What the items of each code with known registers hold, and load ahead."""
    a = one.amounts
    loads = np.broadcast_to(a.held_loads * (a.chunks > 0.0) + a.ahead, one.times.shape)
    held = np.broadcast_to(a.held * a.items, one.times.shape)
    return [(float(held[place]), float(loads[place])) for place, _ in one.registers]


def guessed(one: OnGpu, constants: Constants, figures: Figures) -> Outcome:
    return outcome(one, np.log(nanoseconds(one.amounts, constants, figures)), ALIKE)


HEADER = '''"""The constants of the guess, by device, and how far it was off on kernels left out.

Written by `python scripts/fit_guess.py` from {data}.
`model.Constants` says what each one is.
"""

from __future__ import annotations

from typing import Any

DEVICES: tuple[dict[str, Any], ...] = (
'''


def entry(device: dict[str, Any], constants: Constants, by_kernel: list[Outcome]) -> str:
    least, share = missed(by_kernel)
    spread = float(np.sqrt(np.mean(np.concatenate([one.residuals for one in by_kernel]) ** 2)))
    lines = [
        "    {",
        f'        "model": "{device["model"]}",',
        f'        "units": {device["compute_units"]},',
        f'        "unit_threads": {device["max_threads_per_unit"]},',
        f'        "missed": ({least:.3f}, {share:.2f}),',
        f'        "spread": {spread:.3f},',
        '        "constants": {',
        *lines_of(constants, " " * 12),
        "        },",
        "    },",
    ]
    return "\n".join(lines) + "\n"


def check_correction(data: Path) -> None:
    """What evidence on other kernels is worth, on devices unlike the fitted ones."""
    results = {}
    for path in files_of(data):
        device, spaces = spaces_of(path)
        if spaces:
            results[device["model"]] = worth(device, spaces)
    provenance.save(ROOT / "benchmarks" / "results" / "guess_correction.json", results)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--starts", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="fit and write, validate nothing")
    parser.add_argument("--correction", action="store_true", help="check what evidence corrects")
    given = parser.parse_args()
    if given.correction:
        check_correction(given.data)
        return
    entries, results, names = "", {}, []
    for path in files_of(given.data):
        device, spaces = spaces_of(path)
        if not spaces:
            continue
        is_here = path.is_relative_to(ROOT)
        names.append(path.relative_to(ROOT).as_posix() if is_here else path.name)
        figures = Figures(
            units=float(device["compute_units"]),
            unit_threads=float(device["max_threads_per_unit"]),
        )
        constants = fitted(spaces, figures, given.starts, 400)
        by, fit = partial(guessed, figures=figures), partial(fitted, figures=figures)
        outcomes = [by(one, constants) for one in spaces]
        found = {"all in the fit": summary(outcomes)}
        show(f"{device['model']}, all in the fit", found["all in the fit"], each=given.quick)
        if not given.quick:
            by_kernel = left_out(spaces, "kernel", given.jobs, fit, by)
            found["kernels left out"] = summary(by_kernel)
            show("kernels left out", found["kernels left out"], each=True)
            by_size = left_out(spaces, "size", given.jobs, fit, by)
            found["sizes left out"] = summary(by_size)
            show("sizes left out", found["sizes left out"], each=False)
            outcomes = by_kernel
        results[device["model"]] = found
        entries += entry(device, constants, outcomes)
    OUT.write_text(HEADER.format(data=", ".join(names)) + entries + ")\n")
    if not given.quick:
        provenance.save(ROOT / "benchmarks" / "results" / "guess.json", results)


if __name__ == "__main__":
    main()
