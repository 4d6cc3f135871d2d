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
import gzip
import json
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from correction_worth import worth
from descent import Tracked, accumulate, least

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

import spaces_kernels  # noqa: E402  # of benchmarks/

from vyre import kernels  # noqa: E402
from vyre.analysis import analyse  # noqa: E402
from vyre.model import Code, Schedule  # noqa: E402
from vyre.plan.guess import ALIKE  # noqa: E402
from vyre.plan.guess.amounts import Amounts, Shapes, amounts  # noqa: E402
from vyre.plan.guess.model import Constants, Figures, nanoseconds  # noqa: E402
from vyre.plan.guess.ranking import ranked  # noqa: E402
from vyre.plan.guess.work import Work, work_of  # noqa: E402
from vyre.plan.space import Space  # noqa: E402
from vyre.runtime.devices.launcher import Numbers  # noqa: E402
from vyre.testing import provenance  # noqa: E402

OUT = ROOT / "src" / "vyre" / "plan" / "guess" / "fitted.py"
START: dict[str, float] = {
    "launch": 900,
    "operation": 2,
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
    "item": 4,
    "thread": 8,
    "issue": 0.003,
    "line_loaded": 0.55,
    "line_stored": 0.8,
    "fetched": 1e-4,
    "walked": 3e-5,
    "stored": 1e-4,
    "memory": 2e-4,
    "scattered": 3e-3,
    "torn": 0.3,
    "kept": 2e5,
    "refetched": 1,
    "cache": 4e7,
    "near_wait": 150,
    "far_wait": 250,
    "more_inputs": 0.05,
    "flight": 20,
    "start": 100,
    "warp": 5,
    "chained": 2.5,
    "round": 30,
    "round_load": 30,
    "wander": 250,
    "own": 1.2,
    "one_by_one": 0.3,
    "group": 0.6,
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
    "registers": 0,
    "overlap": 2.5,
    "overlap_memory": 2,
    "overlap_groups": 5,
    "overlap_adds": 3,
}
"""What each may be by what is published of such devices, or seen in a table: where a fit begins."""

HELD = ("register", "registers")  # by what compilers told, not by times
FREE = tuple(one.name for one in fields(Constants) if one.name not in HELD)
X0 = np.log([float(START[name]) for name in FREE])


@dataclass(frozen=True)
class Recorded:
    """One space: what every schedule took."""

    kernel: str
    size: int
    work: Work
    space: Space
    times: np.ndarray
    amounts: Amounts
    registers: tuple[tuple[int, int], ...]  # items of a code, registers of a thread

    @property
    def default_ns(self) -> float:
        return float(self.times[self.space.legal.index(self.space.default)])


def schedule_of(row: list[Any]) -> Schedule:
    """A schedule as `record_spaces.place_of` writes it."""
    x, y, z, items, vector, unroll, order, checked, rows, staged = row
    code = {"items": items, "vector": vector, "unroll": unroll, "order": order}
    return Schedule((x, y, z), Code(**code, checked=checked, rows=rows, staged=staged))


def read(path: Path) -> tuple[dict[str, Any], list[Recorded]]:
    """What a file says of its device, and its spaces."""
    with gzip.open(path, "rt") as file:
        data = json.load(file)
    programs, found = {}, []
    for one in data["spaces"] if data["device"]["kind"] == "gpu" else ():
        name = one["kernel"]
        if name not in programs:
            program = spaces_kernels.called(name, 64)[0].program
            programs[name] = program, analyse(program)
        shapes = {array: tuple(shape) for array, shape in one["shapes"].items()}
        work = work_of(*programs[name], Numbers(tuple(one["extent"]), shapes, one["scalars"]))
        legal = tuple(schedule_of(row[:-1]) for row in one["rows"])
        found.append(
            Recorded(
                name,
                one["size"],
                work,
                Space(schedule_of(one["default"]), legal, ()),
                np.array([row[-1] for row in one["rows"]]),
                amounts(work, Shapes.of(legal)),
                tuple((row[0], row[-2]) for row in one["registers"]),
            )
        )
    return data["device"], sorted(found, key=lambda one: (one.kernel, one.size))


# -- the fit


@dataclass(frozen=True)
class Pool:
    """Many spaces as columns."""

    amounts: Amounts
    log_ns: np.ndarray
    slower: np.ndarray  # than the best of its space, in log time
    space: np.ndarray
    count: int

    @classmethod
    def of(cls, spaces: list[Recorded]) -> Pool:
        columns = {
            field.name: np.concatenate(
                [
                    np.broadcast_to(
                        np.asarray(getattr(one.amounts, field.name), float), one.times.shape
                    )
                    for one in spaces
                ]
            )
            for field in fields(Amounts)
        }
        logs = [np.log(one.times) for one in spaces]
        return cls(
            Amounts(**columns),
            np.concatenate(logs),
            np.concatenate([log - log.min() for log in logs]),
            np.repeat(np.arange(len(spaces)), [len(log) for log in logs]),
            len(spaces),
        )


STEEP = 3.0  # near-best schedules count: what takes e times as long counts for exp(-STEEP)
SHARP = 0.03  # of the soft choice whose loss is fitted
WEIGHTS = {"fit": 1.0, "loss": 0.5, "level": 0.02, "start": 1e-3}


def objective(
    x: np.ndarray, pool: Pool, figures: Figures, held: dict[str, float]
) -> tuple[float, np.ndarray]:
    """How badly constants fit, and its slopes by their logarithms.

    Squares of log times around each space's own level, what a soft choice loses, a little of the
    level itself, and a little for leaving where the fit began.
    """
    constants = SimpleNamespace(**{n: Tracked(v) for n, v in zip(FREE, np.exp(x), strict=True)})
    for name in HELD:
        setattr(constants, name, held[name])
    found = np.log(nanoseconds(pool.amounts, constants, figures))
    space, count = pool.space, pool.count

    def per_space(values: np.ndarray) -> np.ndarray:
        return np.bincount(space, values, count)

    weight = np.exp(-STEEP * np.minimum(pool.slower, 2.0))
    weight = weight / per_space(weight)[space]
    missed = found.value - pool.log_ns
    level = per_space(weight * missed)
    around = missed - level[space]
    total = WEIGHTS["fit"] * (weight * around**2).sum() / count
    slope = WEIGHTS["fit"] * 2.0 * weight * around / count
    near = np.abs(level) < 1.0
    total += WEIGHTS["level"] * np.minimum(level**2, 1.0).mean()
    slope = slope + WEIGHTS["level"] * 2.0 * (level * near)[space] * weight / count
    least = np.full(count, np.inf)
    np.minimum.at(least, space, found.value)
    chosen = np.exp(-(found.value - least[space]) / SHARP)
    chosen = chosen / per_space(chosen)[space]
    loss = np.minimum(pool.slower, 1.0)
    expected = per_space(chosen * loss)
    total += WEIGHTS["loss"] * expected.mean()
    slope = slope - WEIGHTS["loss"] * chosen * (loss - expected[space]) / SHARP / count
    accumulate(found, slope)
    tracked = [getattr(constants, name) for name in FREE]
    slopes = np.array([0.0 if t.slope is None else float(t.slope * t.value) for t in tracked])
    total += WEIGHTS["start"] * ((x - X0) ** 2).mean()
    return float(total), slopes + 2.0 * WEIGHTS["start"] * (x - X0) / len(x)


def fitted(spaces: list[Recorded], figures: Figures, starts: int = 1, most: int = 200) -> Constants:
    """The constants that fit some spaces best, of several starts."""
    pool, held = Pool.of(spaces), registers(spaces)
    rng = np.random.default_rng(0)
    results = [
        least(
            partial(objective, pool=pool, figures=figures, held=held),
            X0 + (rng.normal(0.0, 0.3, len(X0)) if start else 0.0),
            most,
        )
        for start in range(starts)
    ]
    _, best = min(results, key=lambda result: result[0])
    values = dict(zip(FREE, (float(f"{v:.4g}") for v in np.exp(best)), strict=True))
    return Constants(**values, **held)


def registers(spaces: list[Recorded]) -> dict[str, float]:
    """Registers of a thread by the names that its items hold; up to 32 every compiler is free."""
    rows = np.array(
        [
            (one.work.held * items, max(count, 32.0))
            for one in {one.kernel: one for one in spaces}.values()
            for items, count in one.registers
        ]
    )
    if not len(rows):
        return {name: START[name] for name in HELD}

    def missed(pair: tuple[float, float]) -> float:
        return float(((np.maximum(pair[0] * rows[:, 0] + pair[1], 32.0) - rows[:, 1]) ** 2).mean())

    pairs = [(each / 10, base) for each in range(5, 20) for base in range(0, 24, 4)]
    each, base = min(pairs, key=missed)
    return {"register": each, "registers": float(base)}


# -- how well it guesses


def expected(one: Recorded, constants: Constants, figures: Figures) -> np.ndarray:
    return np.log(nanoseconds(one.amounts, constants, figures))


@dataclass(frozen=True)
class Outcome:
    """What a guess took, beside the best and the default."""

    kernel: str
    size: int
    ratio: float  # to the best
    gain: float  # log time by which it was expected to be faster than the default
    slower: float  # log time by which it was slower than expected, beside the default
    residuals: np.ndarray  # log(measured / expected), around their middle


def outcome(one: Recorded, constants: Constants, figures: Figures) -> Outcome:
    found = expected(one, constants, figures)
    guess = ranked(one.space, found, ALIKE)
    ns = float(one.times[one.space.legal.index(guess.ordered[0])])
    slower = float(np.log(ns / one.default_ns)) + guess.gain
    logs = np.log(one.times)
    off = logs - found
    near = logs < logs.min() + 0.3
    residuals = off[near] - np.median(off[near])
    return Outcome(one.kernel, one.size, ns / one.times.min(), guess.gain, slower, residuals)


def missed(outcomes: list[Outcome]) -> tuple[float, float]:
    """The line over the gain expected that 19 of 20 guesses were not slower than."""
    others = [one for one in outcomes if one.gain > 0.0]  # than the default: that is no risk
    gains = np.array([one.gain for one in others])
    slower = np.array([one.slower for one in others])

    def cost(line: tuple[float, float]) -> float:
        above = slower - line[0] - line[1] * gains
        return float(np.maximum(0.95 * above, -0.05 * above).sum())

    lines = [(least / 500, share / 100) for least in range(150) for share in range(101)]
    return min(lines, key=cost)


def left_out(spaces: list[Recorded], figures: Figures, by: str, jobs: int) -> list[Outcome]:
    """What is guessed of each kernel, or size, by constants that were fitted without it."""
    parts = list(dict.fromkeys(getattr(one, by) for one in spaces))
    rest = [[one for one in spaces if getattr(one, by) != part] for part in parts]
    with ProcessPoolExecutor(jobs) as pool:
        found = pool.map(partial(fitted, figures=figures), rest)
        return [
            outcome(one, constants, figures)
            for part, constants in zip(parts, found, strict=True)
            for one in spaces
            if getattr(one, by) == part
        ]


def summary(outcomes: list[Outcome]) -> dict[str, Any]:
    ratios = np.array([one.ratio for one in outcomes])
    bundled = {kernel.name for kernel in kernels.ALL}
    own = np.array([one.kernel in bundled for one in outcomes])
    sizes = sorted({one.size for one in outcomes})

    def mean(chosen: np.ndarray) -> float:
        return round(float(np.exp(np.log(ratios[chosen]).mean())), 4)

    return {
        "geomean": mean(ratios > 0),
        "worst": round(float(ratios.max()), 3),
        "above_1.3": int((ratios > 1.3).sum()),
        "bundled": mean(own),
        "bundled_worst": round(float(ratios[own].max()), 3),
        "by_size": {
            f"2^{size.bit_length() - 1}": [
                mean(np.array([one.size == size for one in outcomes])),
                mean(np.array([one.size == size for one in outcomes]) & own),
            ]
            for size in sizes
        },
        "by_kernel": {
            name: [round(one.ratio, 3) for one in outcomes if one.kernel == name]
            for name in dict.fromkeys(one.kernel for one in outcomes)
        },
    }


def show(title: str, found: dict[str, Any], *, each: bool) -> None:
    print(
        f"{title}: geomean {found['geomean']:.4f}, worst {found['worst']:.3f}, "
        f"{found['above_1.3']} above 1.3; bundled {found['bundled']:.4f}, "
        f"worst {found['bundled_worst']:.3f}"
    )
    for size, (every, own) in found["by_size"].items():
        print(f"    {size}: {every:.4f}, bundled {own:.4f}")
    for name, ratios in found["by_kernel"].items() if each else ():
        print(f"    {name:12}", *(f"{ratio:.3f}" for ratio in ratios), flush=True)


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
        *(f'            "{f.name}": {getattr(constants, f.name)!r},' for f in fields(Constants)),
        "        },",
        "    },",
    ]
    return "\n".join(lines) + "\n"


def check_correction(data: Path) -> None:
    """What evidence on other kernels is worth, on devices unlike the fitted ones."""
    results = {}
    for path in sorted(data.glob("spaces-*.json.gz")):
        device, spaces = read(path)
        if spaces:
            results[device["model"]] = worth(device, spaces)
    provenance.save(ROOT / "benchmarks" / "results" / "guess_correction.json", results)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT / "benchmarks" / "data")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--starts", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="fit and write, validate nothing")
    parser.add_argument("--correction", action="store_true", help="check what evidence corrects")
    given = parser.parse_args()
    if given.correction:
        check_correction(given.data)
        return
    entries, results, names = "", {}, []
    for path in sorted(given.data.glob("spaces-*.json.gz")):
        device, spaces = read(path)
        if not spaces:
            continue
        names.append(path.relative_to(ROOT).as_posix())
        figures = Figures(
            units=float(device["compute_units"]),
            unit_threads=float(device["max_threads_per_unit"]),
        )
        constants = fitted(spaces, figures, given.starts, 400)
        outcomes = [outcome(one, constants, figures) for one in spaces]
        found = {"all in the fit": summary(outcomes)}
        show(f"{device['model']}, all in the fit", found["all in the fit"], each=given.quick)
        if not given.quick:
            by_kernel = left_out(spaces, figures, "kernel", given.jobs)
            found["kernels left out"] = summary(by_kernel)
            show("kernels left out", found["kernels left out"], each=True)
            by_size = left_out(spaces, figures, "size", given.jobs)
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
