"""Inputs to try the substrate's steps on, hostile ones among them, and what a device gets wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import exp, log

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from vyre.model import U32_MAX
from vyre.substrate import calls, fixed

LARGEST = 4096
_MATRIX_CELLS = 1 << 20  # of one case: more would spend the time of a soak on a few large products


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCase:
    """Rows of one size for every step; `seed` makes them again."""

    seed: int
    pre_exp: NDArray[np.uint32]
    costs: NDArray[np.int64]
    temperatures: NDArray[np.uint64]
    matrix: NDArray[np.int32]  # for the first rows, as many as it has
    gradient: NDArray[np.int32]

    @property
    def n(self) -> int:
        return int(self.pre_exp.shape[1])


def step_case(
    seed: int, rows: int = 8, largest: int = LARGEST, *, n: int | None = None
) -> StepCase:
    """The case of that seed: its size is `n`, else log-uniform from 1 to `largest`."""
    random = np.random.default_rng(seed)
    if n is None:
        n = min(int(exp(random.uniform(0.0, log(largest + 1)))), largest)
    squares = max(1, min(rows, _MATRIX_CELLS // (n * n)))
    bits = int(random.integers(8, 32))
    matrix = random.integers(-(1 << bits), 1 << bits, (squares, n, n)).astype(np.int32)
    gradient = random.integers(-(1 << bits), 1 << bits, (squares, n)).astype(np.int32)
    return StepCase(
        seed=seed,
        pre_exp=np.stack([_weights(random, n) for _ in range(rows)]),
        costs=np.stack([_costs(random, n) for _ in range(rows)]),
        temperatures=np.array([_temperature(random) for _ in range(rows)], np.uint64),
        matrix=matrix,
        gradient=gradient,
    )


def step_differences(dispatch: calls.Dispatch, case: StepCase) -> Iterator[str]:
    """The steps whose bits are not those of the host."""
    weights = fixed.weights_q16(case.costs, case.temperatures)
    few = len(case.matrix)
    softmax = fixed.softmax_q16(case.pre_exp)
    # As given: the largest temperature stands for infinity already.
    heat = case.temperatures.astype(object)
    found: dict[str, tuple[Callable[[], NDArray[np.generic]], NDArray[np.generic]]] = {
        "softmax": (lambda: calls.pick_config_pre_exp(dispatch, case.pre_exp), softmax),
        "pick": (
            lambda: calls.pick_config(dispatch, case.costs, heat),
            fixed.softmax_q16(weights),
        ),
        "best": (
            lambda: calls.pick_best_config(dispatch, case.costs),
            case.costs.argmin(axis=1),
        ),
        "precondition": (
            lambda: calls.precondition_gradient(dispatch, case.matrix, case.gradient),
            fixed.precondition_q16(case.matrix, case.gradient),
        ),
        "natural": (
            lambda: calls.natural_config_gradient_magnitude(
                dispatch, case.pre_exp[:few], case.matrix
            ),
            fixed.precondition_q16(case.matrix, softmax[:few]),
        ),
    }
    for name, (run, wanted) in found.items():
        if not np.array_equal(run(), wanted):
            yield f"{name} of {case.n} candidates, seed {case.seed}"


def _weights(random: Generator, n: int) -> NDArray[np.uint32]:
    match random.integers(8):
        case 0:
            return np.zeros(n, np.uint32)
        case 1:
            one = np.zeros(n, np.uint32)
            one[random.integers(n)] = random.integers(1, U32_MAX, endpoint=True)
            return one
        case 2:
            return np.full(n, random.integers(1, U32_MAX, endpoint=True), np.uint32)
        case 3:
            return np.full(n, U32_MAX, np.uint32)
        case 4:
            return random.integers(0, 3, n).astype(np.uint32)
        case 5:
            return random.integers(0, U32_MAX, n, np.uint32, endpoint=True)
        case _:
            above = random.exponential(random.choice((0.01, 1.0, 5.0)), n)
            weights = np.rint(np.exp(above.min() - above) * fixed.ONE)
            return np.asarray(weights, np.uint32)


def _costs(random: Generator, n: int) -> NDArray[np.int64]:
    match random.integers(7):
        case 0:
            return np.full(n, random.integers(-(1 << 63), fixed.ABSENT), np.int64)
        case 1:
            ends = np.array([-(1 << 63), -1, 0, fixed.ABSENT - 1, fixed.ABSENT])
            return random.choice(ends, n)
        case 2:
            return random.integers(-(1 << 63), fixed.ABSENT, n, endpoint=True)
        case 3:
            return np.where(random.random(n) < 0.5, fixed.ABSENT, random.integers(0, 10_000, n))
        case 4:
            return random.integers(1_000_000, 1_000_012, n)
        case _:
            return np.rint(random.lognormal(12, 1, n)).astype(np.int64)


def _temperature(random: Generator) -> int:
    match random.integers(6):
        case 0:
            return int(random.choice((0, 1)))
        case 1:
            return int(
                random.choice(
                    np.array([fixed.HOTTEST, fixed.HOTTEST - 1, 1 << 63, (1 << 63) - 1], np.uint64)
                )
            )
        case _:
            return int(2 ** random.uniform(0, 62))
