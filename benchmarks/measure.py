"""How the benchmarks measure: interleaved blocks, medians, bootstrap intervals, JSON results."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import TypeVar

from vyre.testing import provenance

T = TypeVar("T")

RESULTS = Path(__file__).parent / "results"


def interleave(
    sides: dict[str, Callable[[], object]], *, blocks: int, calls: int, warm_up: int = 3
) -> dict[str, list[float]]:
    """Seconds per call of each side, block by block, the sides taking turns in changing order."""
    for run in sides.values():
        for _ in range(warm_up):
            run()
    times: dict[str, list[float]] = {name: [] for name in sides}
    order = list(sides)
    for _ in range(blocks):
        for name in order:
            run = sides[name]
            start = time.perf_counter()
            for _ in range(calls):
                run()
            times[name].append((time.perf_counter() - start) / calls)
        order.append(order.pop(0))
    return times


def ratio(top: list[float], bottom: list[float], *, seed: int = 0) -> dict[str, float]:
    """The median of paired ratios with its 95 % interval, by bootstrap over the blocks."""
    pairs = [a / b for a, b in zip(top, bottom, strict=True)]
    rng = random.Random(seed)
    medians = sorted(median(rng.choices(pairs, k=len(pairs))) for _ in range(2000))
    return {
        "ratio": round(median(pairs), 4),
        "low": round(medians[50], 4),
        "high": round(medians[1949], 4),
    }


def halves(times: list[float]) -> dict[str, float]:
    """The A/A interval: one side against itself, even blocks over odd ones."""
    even, odd = times[::2], times[1::2]
    size = min(len(even), len(odd))
    return ratio(even[:size], odd[:size])


def picked(times: Mapping[T, list[float]]) -> tuple[T, float]:
    """The quickest of several, chosen by its even rounds and timed by its odd ones.

    Chosen and timed by the same rounds it would be the luckiest as well.

    >>> picked({"a": [1.0, 9.0, 1.0], "b": [2.0, 2.0, 2.0]})
    ('a', 9.0)
    """
    best = min(times, key=lambda one: median(times[one][::2]))
    return best, median(times[best][1::2] or times[best])


def save(name: str, results: object, **more: object) -> Path:
    """Write the results beside the scripts, with where they come from."""
    path = RESULTS / f"{name}.json"
    provenance.save(path, results, **more)
    return path
