"""Fits the constants of the guess for reductions on GPUs, and says how well it guesses.

    PYTHONPATH=src python scripts/fit_teams.py

Reads benchmarks/data/spaces-*-reductions.json.gz (`benchmarks/record_spaces.py --reductions` writes
them), fits one set of constants per GPU and writes src/vyre/plan/guess/teams/fitted.py. What it
reports, and writes to benchmarks/results/guess-teams.json, is time[guess] / time[best] where whole
kernels, all kernels of one program, or whole sizes were left out of the fit, and
time[default] / time[best] of the default as it is now.
"""

# mypy: ignore-errors  # the model computes with numbers and with tracked ones alike

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from fitting import (
    BUNDLED,
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
    program_of,
    show,
    summary,
    times,
)

from vyre.model import DeviceInfo, DeviceKind, Limits
from vyre.plan.default import default_for
from vyre.plan.guess.model import Figures
from vyre.plan.guess.ranking import with_doubt
from vyre.plan.guess.teams import ALIKE, DOUBT, amounts_of
from vyre.plan.guess.teams.model import Constants, nanoseconds
from vyre.testing import provenance
from vyre.testing.recordings import Recording, numbers_of, read, space_of, with_default

OUT = ROOT / "src" / "vyre" / "plan" / "guess" / "teams" / "fitted.py"
START: dict[str, float] = {
    "launch": 1100,
    "block": 10,
    "block_some": 12,
    "block_all": 8,
    "rest": 12,
    "rest_some": 10,
    "free": 14,
    "free_some": 14,
    "crowded": 10,
    "single": 100,
    "take": 6,
    "keep": 3,
    "lonely": 12,
    "solo": 30,
    "begun": 200,
    "long": 100,
    "far": 1,
    "missing": 3,
    "computed": 1,
    "spread": 1,
    "agreed": 100,
    "met": 20,
    "meeting": 40,
    "gathered": 300,
    "walk": 50,
    "ordered": 50,
    "placed": 30,
    "start": 100,
    "warp": 5,
    "turn": 3,
    "operation": 0.3,
    "function": 2,
    "inner": 10,
    "load": 0.5,
    "agreeing": 10,
    "looking": 2,
    "walking": 5,
    "team": 5,
    "line": 0.55,
    "fetched": 1e-4,
    "request": 5e-3,
    "kept": 2e5,
    "memory": 2.3e-4,
    "cache": 4e7,
    "cliff": 3,
    "room": 4e7,
    "group": 0.6,
    "handed": 0.5,
    "last_wave": 0.5,
    "uneven": 0.7,
    "arrival": 1000,
    "folded": 10,
    "folded_met": 10,
    "relaunch": 1500,
    "overlap": 2.0,
    "overlap_memory": 2.0,
}
"""What each may be by what is published of such devices, or seen in a table: where a fit begins."""


@dataclass(frozen=True)
class OnTeams(Recorded):
    """One space of a GPU."""

    program: str  # several kernels may be one program on arrays of other forms


def spaces_of(path: Path) -> tuple[dict[str, Any], list[Recorded]]:
    """What a file says of its device, and its spaces."""
    data = read(path)
    by = partial(recorded, info=info_of(data["device"]))
    return data["device"], in_order(map(by, data["spaces"]))


def info_of(told: dict[str, Any]) -> DeviceInfo:
    """A device as a recording tells of it."""
    return DeviceInfo(
        backend=told["backend"],
        model=told["model"],
        driver=told["driver"],
        compiler="",
        kind=DeviceKind(told["kind"]),
        limits=Limits(
            max_threads=told["max_threads"],
            max_block=tuple(told["max_block"]),
            max_grid=tuple(told["max_grid"]),
            max_threads_per_unit=told["max_threads_per_unit"],
            lockstep=told["lockstep"],
        ),
        compute_units=told["compute_units"],
    )


def recorded(one: Recording, info: DeviceInfo) -> OnTeams:
    space, (program, facts) = space_of(one), program_of(one["kernel"])
    numbers, unchecked = numbers_of(one), not space.default.code.checked
    default = default_for(info, program, facts, numbers, unchecked=unchecked)
    space = with_default(space, default)
    found = amounts_of(space.legal, program, numbers)
    fingerprint = program.fingerprint().hex()
    return OnTeams(one["kernel"], one["size"], space, times(one), found, fingerprint)


TWICE = 2.0
"""How much a space of a bundled kernel counts: without it one takes 1.49 of its best, not 1.00."""

AIMS = Aims(START, sharp=0.04, weights=Weights(fit=1.0, loss=1.0, level=0.05, start=3e-3), far=0.3)


def fitted(spaces: list[Recorded], figures: Figures, starts: int = 1, most: int = 200) -> Constants:
    """The constants that fit some spaces best, of several starts."""
    pool = Pool.of(spaces, [TWICE if one.kernel in BUNDLED else 1.0 for one in spaces])
    way = partial(nanoseconds, pool.amounts, device=figures)
    return Constants(**descended(pool, AIMS, way, starts, most))


def guessed(one: Recorded, constants: Constants, figures: Figures) -> Outcome:
    log_ns = np.log(nanoseconds(one.amounts, constants, figures))
    return outcome(one, with_doubt(one.space, log_ns, DOUBT), ALIKE)


HEADER = '''"""The constants of the guess for reductions, by GPU; what it lost on kernels left out.

Written by `python scripts/fit_teams.py` from {data}.
`model.Constants` says what each one is.
"""

from __future__ import annotations

from typing import Any

DEVICES: tuple[dict[str, Any], ...] = (
'''


def entry(device: dict[str, Any], constants: Constants, outcomes: list[Outcome]) -> str:
    least, share = missed(outcomes)
    lines = [
        "    {",
        f'        "model": "{device["model"]}",',
        f'        "units": {device["compute_units"]},',
        f'        "unit_threads": {device["max_threads_per_unit"]},',
        f'        "missed": ({least:.3f}, {share:.2f}),',
        '        "constants": {',
        *lines_of(constants, " " * 12),
        "        },",
        "    },",
    ]
    return "\n".join(lines) + "\n"


def far_off(spaces: list[Recorded], constants: Constants, figures: Figures) -> dict[str, float]:
    """Of the best of each space, how many times the least expected it is expected to take."""
    found = {}
    for one in spaces:
        expected = nanoseconds(one.amounts, constants, figures)
        at_best = expected[int(one.times.argmin())] / expected.min()
        found[one.kernel] = max(found.get(one.kernel, 1.0), round(float(at_best), 2))
    return found


def defaults(spaces: list[Recorded]) -> dict[str, Any]:
    """What the default takes, over the best."""
    ratios = np.array([one.default_ns / one.times.min() for one in spaces])
    found = {
        "geomean": round(float(np.exp(np.log(ratios).mean())), 4),
        "worst": round(float(ratios.max()), 3),
    }
    print(f"the default: geomean {found['geomean']:.4f}, worst {found['worst']:.3f}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--starts", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="fit and write, validate nothing")
    given = parser.parse_args()
    entries, results, names = "", {}, []
    for path in files_of(given.data, reductions=True):
        device, spaces = spaces_of(path)
        is_here = path.is_relative_to(ROOT)
        names.append(path.relative_to(ROOT).as_posix() if is_here else path.name)
        figures = Figures(
            units=float(device["compute_units"]),
            unit_threads=float(device["max_threads_per_unit"]),
        )
        constants = fitted(spaces, figures, given.starts, 400)
        by, fit = partial(guessed, figures=figures), partial(fitted, figures=figures)
        outcomes = [by(one, constants) for one in spaces]
        found: dict[str, Any] = {"default": defaults(spaces), "all in the fit": summary(outcomes)}
        show(f"{device['model']}, all in the fit", found["all in the fit"], each=True)
        found["the best over the least expected"] = far_off(spaces, constants, figures)
        print(
            "expected of the best, over the least expected:",
            found["the best over the least expected"],
        )
        if not given.quick:
            outcomes = left_out(spaces, "kernel", given.jobs, fit, by)
            found["kernels left out"] = summary(outcomes)
            show("kernels left out", found["kernels left out"], each=True)
            by_program = left_out(spaces, "program", given.jobs, fit, by)
            found["programs left out"] = summary(by_program)
            show("programs left out", found["programs left out"], each=False)
            by_size = left_out(spaces, "size", given.jobs, fit, by)
            found["sizes left out"] = summary(by_size)
            show("sizes left out", found["sizes left out"], each=False)
        results[device["model"]] = found
        entries += entry(device, constants, outcomes)
    OUT.write_text(HEADER.format(data=", ".join(names)) + entries + ")\n")
    if not given.quick:
        provenance.save(ROOT / "benchmarks" / "results" / "guess-teams.json", results)


if __name__ == "__main__":
    main()
