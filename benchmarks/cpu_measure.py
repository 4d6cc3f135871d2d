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
LEAST_ROUNDS, MOST_ROUNDS = 3, 60
"""Below eight pairs an interval is Student's, and wide."""

SLOW_S = 0.02
"""A call as long as this needs no warm one before it: threads wake up in a hundredth of it."""

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

    A round gives each side one block: calls to get warm, which are not timed, then as many as last
    2 ms, at least one. A side that has had its share of the time stays away from later rounds, so
    that one slow side does not cost the others theirs; pairs are those of its first rounds.

    Args:
        sides: by name.
        until: by `time.monotonic()`, when to end; not before there are `least` rounds.
        least: rounds, however long they take.
        most: rounds, however quick they are.
        seed: of the orders.
    """
    began = time.monotonic()
    share_s = (until - began) / len(sides)
    blocks = {name: _block_of(side) for name, side in sides.items()}
    times: dict[str, list[float]] = {name: [] for name in sides}
    spent = dict.fromkeys(sides, 0.0)
    rng = Random(seed)
    collects = gc.isenabled()
    gc.disable()
    try:
        for done in range(most):
            if done >= least and time.monotonic() > until:
                break
            order = [name for name in sides if done < least or spent[name] < share_s]
            rng.shuffle(order)
            for name in order:
                start = time.monotonic()
                times[name].append(_timed_block(sides[name], *blocks[name]))
                spent[name] += time.monotonic() - start
    finally:
        if collects:
            gc.enable()
    return times


def _block_of(side: Side) -> tuple[int, int]:
    """How many calls get a side warm, and how many last as long as a block, at least one."""
    side.enter()
    side.run()
    count = 1
    while True:
        seconds = seconds_of(side.run, count)
        if seconds >= SLOW_S:
            return 0, 1
        if seconds >= BLOCK_S / 4 or count >= MOST_CALLS:
            calls = min(max(1, ceil(BLOCK_S * count / max(seconds, 1e-9))), MOST_CALLS)
            return max(1, calls // 4), calls
        count *= 4


def _timed_block(side: Side, warm: int, calls: int) -> float:
    rest()
    side.enter()
    seconds_of(side.run, warm)
    return seconds_of(side.run, calls) / calls


def seconds_of(run: Callable[[], object], calls: int = 1) -> float:
    """How long so many calls take."""
    start = time.perf_counter()
    for _ in range(calls):
        run()
    return time.perf_counter() - start


def ratio(top: Sequence[float], bottom: Sequence[float]) -> dict[str, float]:
    """The median of ratios of the rounds that both have, with its 95 % interval, by bootstrap."""
    both = min(len(top), len(bottom))
    found = ratio_interval(top[:both], bottom[:both], Random(0))
    return {
        "ratio": _short(found.middle),
        "low": _short(found.low),
        "high": _short(found.high),
    }


def _short(value: float) -> float:
    return float(f"{value:.4g}")
