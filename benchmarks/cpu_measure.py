"""How the CPU suite measures: sides in turns, each alone on the machine, by the wall clock."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from random import Random

from vyre.stats import ratio_interval

BLOCK_S = 0.002
MOST_CALLS = 2000
LEAST_ROUNDS, MOST_ROUNDS = 8, 60
"""Below eight pairs an interval is Student's, and wide."""

REST_S, MOST_RESTS = 0.001, 40
QUIET = 0.3
"""Of a rest: with less processor time than this spent in it, no thread of the process spins."""


@dataclass(frozen=True, slots=True)
class Side:
    """One of those compared: what a call is, and what has to hold before the first of a block."""

    run: Callable[[], object]
    enter: Callable[[], object] = lambda: None


def rest() -> None:
    """Wait until no thread of this process runs.

    Workers spin for a while after a call: those of numba's OpenMP for 6 ms (measured, two cores),
    and whoever comes next would have a core less.
    """
    for _ in range(MOST_RESTS):
        before = time.process_time()
        time.sleep(REST_S)
        if time.process_time() - before < QUIET * REST_S:
            return


def interleaved(
    sides: Mapping[str, Side],
    until: float,
    *,
    least: int = LEAST_ROUNDS,
    most: int = MOST_ROUNDS,
    seed: int = 0,
) -> dict[str, list[float]]:
    """Seconds per call of each side, round by round, in a new order each.

    A round gives each side one block: what is warm is its first quarter or first call, not timed;
    then as many calls as last 2 ms, at least one.

    Args:
        sides: by name.
        until: by `time.monotonic()`, when to end; not before there are `least` rounds.
        least: rounds, however long they take.
        most: rounds, however quick they are.
        seed: of the orders.
    """
    calls = {name: _calls(side) for name, side in sides.items()}
    times: dict[str, list[float]] = {name: [] for name in sides}
    order, rng = list(sides), Random(seed)
    collects = gc.isenabled()
    gc.disable()
    try:
        for done in range(most):
            if done >= least and time.monotonic() > until:
                break
            rng.shuffle(order)
            for name in order:
                times[name].append(_block(sides[name], calls[name]))
    finally:
        if collects:
            gc.enable()
    return times


def _calls(side: Side) -> int:
    """How many calls last as long as a block, at least one."""
    side.enter()
    side.run()
    count = 1
    while True:
        seconds = _timed(side.run, count)
        if seconds >= BLOCK_S / 4 or count >= MOST_CALLS:
            return min(max(1, ceil(BLOCK_S * count / max(seconds, 1e-9))), MOST_CALLS)
        count *= 4


def _block(side: Side, calls: int) -> float:
    rest()
    side.enter()
    _timed(side.run, max(1, calls // 4))
    return _timed(side.run, calls) / calls


def _timed(run: Callable[[], object], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        run()
    return time.perf_counter() - start


def ratio(top: Sequence[float], bottom: Sequence[float]) -> dict[str, float]:
    """The median of paired ratios with its 95 % interval, by bootstrap over the rounds."""
    found = ratio_interval(top, bottom, Random(0))
    return {
        "ratio": _short(found.middle),
        "low": _short(found.low),
        "high": _short(found.high),
    }


def _short(value: float) -> float:
    return float(f"{value:.4g}")
