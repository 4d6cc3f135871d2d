"""What the fits of the guess share: recorded spaces, the way down to constants, and the verdict."""

# mypy: ignore-errors  # the model computes with numbers and with tracked ones alike

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, fields
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from descent import Tracked, accumulate, least

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

import spaces_kernels  # noqa: E402  # of benchmarks/

from vyre import kernels  # noqa: E402
from vyre.analysis import Facts, analyse  # noqa: E402
from vyre.ir.program import Program  # noqa: E402
from vyre.plan.guess.ranking import ranked  # noqa: E402
from vyre.plan.guess.work import Work, work_of  # noqa: E402
from vyre.plan.space import Space  # noqa: E402
from vyre.testing.recordings import Recording, numbers_of, times_of  # noqa: E402

DATA = ROOT / "benchmarks" / "data"
STEEP = 3.0  # near-best schedules count: what takes e times as long counts for exp(-STEEP)

# -- what was recorded


def files_of(data: Path, *, reductions: bool = False) -> list[Path]:
    """The recordings in a folder, of kernels with reductions or of those without."""
    every = sorted(data.glob("spaces-*.json.gz"))
    return [path for path in every if path.name.endswith("-reductions.json.gz") == reductions]


BUNDLED = frozenset(kernel.name for kernel in kernels.ALL)
"""What people call without writing it."""


@dataclass(frozen=True)
class Recorded:
    """One space: what every schedule took, and how much there is of what a model counts."""

    kernel: str
    size: int
    space: Space
    times: np.ndarray
    amounts: Any

    @property
    def default_ns(self) -> float:
        return float(self.times[self.space.legal.index(self.space.default)])


@cache
def program_of(kernel: str) -> tuple[Program, Facts]:
    program = spaces_kernels.called(kernel, 64)[0].program
    return program, analyse(program)


def worked(space: Recording) -> Work:
    """What a launch of a recorded space does."""
    return work_of(*program_of(space["kernel"]), numbers_of(space))


def times(space: Recording) -> np.ndarray:
    return np.array(list(times_of(space).values()))


def in_order(spaces: Iterator[Recorded]) -> list[Recorded]:
    return sorted(spaces, key=lambda one: (one.kernel, one.size))


# -- the fit


@dataclass(frozen=True)
class Pool:
    """Many spaces as columns."""

    amounts: Any
    log_ns: np.ndarray
    slower: np.ndarray  # than the best of its space, in log time
    space: np.ndarray
    weights: np.ndarray  # of the spaces

    @classmethod
    def of(cls, spaces: Sequence[Recorded], weights: Sequence[float]) -> Pool:
        kind = type(spaces[0].amounts)
        columns = {
            field.name: np.concatenate(
                [
                    np.broadcast_to(
                        np.asarray(getattr(one.amounts, field.name), float), one.times.shape
                    )
                    for one in spaces
                ]
            )
            for field in fields(kind)
        }
        logs = [np.log(one.times) for one in spaces]
        return cls(
            kind(**columns),
            np.concatenate(logs),
            np.concatenate([log - log.min() for log in logs]),
            np.repeat(np.arange(len(spaces)), [len(log) for log in logs]),
            np.array(weights),
        )

    @property
    def count(self) -> int:
        return len(self.weights)

    def per_space(self, values: np.ndarray) -> np.ndarray:
        return np.bincount(self.space, values, self.count)

    def near_best(self) -> np.ndarray:
        """What each schedule counts among those of its space."""
        weight = np.exp(-STEEP * np.minimum(self.slower, 2.0))
        return weight / self.per_space(weight)[self.space]

    def softly_chosen(self, log_ns: np.ndarray, sharp: float) -> np.ndarray:
        """How far each is the choice of its space, by the times that a model gives."""
        lowest = np.full(self.count, np.inf)
        np.minimum.at(lowest, self.space, log_ns)
        chosen = np.exp(-(log_ns - lowest[self.space]) / sharp)
        return chosen / self.per_space(chosen)[self.space]


def tracked(names: Sequence[str], x: np.ndarray, **held: float) -> SimpleNamespace:
    """Constants whose slopes can be asked for, by their logarithms, and some that stay."""
    free = {name: Tracked(value) for name, value in zip(names, np.exp(x), strict=True)}
    return SimpleNamespace(**free, **held)


def slopes(names: Sequence[str], constants: SimpleNamespace) -> np.ndarray:
    """By the logarithms of the constants."""
    found = [getattr(constants, name) for name in names]
    return np.array([0.0 if one.slope is None else float(one.slope * one.value) for one in found])


@dataclass(frozen=True)
class Weights:
    """How much of each a fit is after."""

    fit: float  # of log times around each space's own level
    loss: float  # of what a soft choice loses
    level: float  # of the level itself
    start: float  # of how far the constants are from where the fit began


@dataclass(frozen=True)
class Aims:
    """What a fit of some constants is after, and where it begins."""

    start: Mapping[str, float]  # constants by name
    sharp: float  # of the soft choice whose loss is fitted
    weights: Weights
    far: float = np.inf  # log time beyond which a miss counts by its size and not by its square
    firm: Mapping[str, float] = field(default_factory=dict)  # how much less some are left; 1 else

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.start)

    @property
    def begin(self) -> np.ndarray:
        return np.log(list(map(float, self.start.values())))


def misfit(
    x: np.ndarray, pool: Pool, aims: Aims, expected: Callable[[SimpleNamespace], Any], **held: float
) -> tuple[float, np.ndarray]:
    """How badly constants fit, and its slopes by their logarithms."""
    constants, weights = tracked(aims.names, x, **held), aims.weights
    found = np.log(expected(constants))
    space, per_space, near_best = pool.space, pool.per_space, pool.near_best()
    of_space = (pool.weights / pool.weights.sum())[space]
    missed = found.value - pool.log_ns
    level = per_space(near_best * missed)
    around = missed - level[space]
    clipped = np.clip(around, -aims.far, aims.far)
    total = weights.fit * (of_space * near_best * clipped * (2.0 * around - clipped)).sum()
    slope = weights.fit * 2.0 * of_space * near_best * clipped
    slope = slope - near_best * per_space(slope)[space]
    near = np.abs(level) < 1.0
    total += weights.level * (of_space * near_best * np.minimum(level**2, 1.0)[space]).sum()
    slope = slope + weights.level * 2.0 * (level * near)[space] * near_best * of_space
    chosen = pool.softly_chosen(found.value, aims.sharp)
    loss = np.minimum(pool.slower, 1.0)
    lost = per_space(chosen * loss)
    total += weights.loss * (of_space * chosen * loss).sum()
    slope = slope - weights.loss * of_space * chosen * (loss - lost[space]) / aims.sharp
    accumulate(found, slope)
    firm = np.array([aims.firm.get(name, 1.0) for name in aims.names])
    left = x - aims.begin
    total += weights.start * (firm * left**2).mean()
    return float(total), slopes(aims.names, constants) + 2.0 * weights.start * firm * left / len(x)


def descended(
    pool: Pool,
    aims: Aims,
    expected: Callable[[SimpleNamespace], Any],
    starts: int,
    most: int,
    **held: float,
) -> dict[str, float]:
    """The constants that fit best, of several starts."""
    rng, x0 = np.random.default_rng(0), aims.begin
    objective = partial(misfit, pool=pool, aims=aims, expected=expected, **held)
    results = [
        least(objective, x0 + (rng.normal(0.0, 0.3, len(x0)) if start else 0.0), most)
        for start in range(starts)
    ]
    _, best = min(results, key=lambda result: result[0])
    return dict(zip(aims.names, (float(f"{v:.4g}") for v in np.exp(best)), strict=True))


# -- how well it guesses


@dataclass(frozen=True)
class Outcome:
    """What a guess took, beside the best and the default."""

    kernel: str
    size: int
    ratio: float  # to the best
    gain: float  # log time by which it was expected to be faster than the default
    slower: float  # log time by which it was slower than expected, beside the default
    residuals: np.ndarray  # log(measured / expected), around their middle


def outcome(one: Recorded, log_ns: np.ndarray, alike: float) -> Outcome:
    """What comes of guessing by such log times."""
    guess = ranked(one.space, log_ns, alike)
    ns = float(one.times[one.space.legal.index(guess.ordered[0])])
    slower = float(np.log(ns / one.default_ns)) + guess.gain
    logs = np.log(one.times)
    near = logs < logs.min() + 0.3
    off = (logs - log_ns)[near]
    ratio = ns / one.times.min()
    return Outcome(one.kernel, one.size, ratio, guess.gain, slower, off - np.median(off))


def left_out(
    spaces: list[Recorded],
    by: str,
    jobs: int,
    fitted: Callable[[list[Recorded]], Any],
    guessed: Callable[[Recorded, Any], Outcome],
) -> list[Outcome]:
    """What is guessed of each kernel, or size, by constants that were fitted without it."""
    parts = list(dict.fromkeys(getattr(one, by) for one in spaces))
    rest = [[one for one in spaces if getattr(one, by) != part] for part in parts]
    with ProcessPoolExecutor(jobs) as pool:
        found = dict(zip(parts, pool.map(fitted, rest), strict=True))
    return [guessed(one, found[getattr(one, by)]) for one in spaces]


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


def summary(outcomes: list[Outcome]) -> dict[str, Any]:
    ratios = np.array([one.ratio for one in outcomes])
    own = np.array([one.kernel in BUNDLED for one in outcomes])
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


def lines_of(constants: Any, indent: str) -> list[str]:
    """The constants as lines of a dict."""
    return [f'{indent}"{f.name}": {getattr(constants, f.name)!r},' for f in fields(constants)]
