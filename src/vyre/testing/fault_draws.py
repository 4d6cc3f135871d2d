"""Draws configs that go wrong, and calls them in processes that may be lost."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from random import Random

from vyre import settings
from vyre.testing import faults
from vyre.testing.fault_calls import ADAPTERS, ALL, Came, Drawn

PATIENT_S = 900.0
_FIRST = {*faults.ENDING, *faults.HANGING, *faults.KERNEL_ENDING, *faults.KERNEL_HANGING}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """A process that did not come back with what it found."""

    why: str


def draws(seed: int, count: int, adapters: tuple[str, ...] = tuple(ADAPTERS)) -> Iterator[Drawn]:
    """Processes with at least so many faults together: all of each adapter before one again."""
    rng, left = Random(seed), count
    waiting: dict[str, list[str]] = {adapter: [] for adapter in adapters}
    shares = [one for one in adapters for _ in range(ceil(len(ALL[one].faults) / ALL[one].at_once))]
    while left > 0:
        for adapter in rng.sample(shares, len(shares)):
            if left <= 0:
                return
            if not waiting[adapter]:
                waiting[adapter] = rng.sample(sorted(ALL[adapter].faults), len(ALL[adapter].faults))
            taken = waiting[adapter][: ALL[adapter].at_once]
            del waiting[adapter][: ALL[adapter].at_once]
            left -= len(taken)
            yield Drawn(adapter=adapter, ways=_ordered(rng, taken))


def _ordered(rng: Random, wrong: list[str]) -> tuple[str, ...]:
    """The configs in an order in which the first that ends is right: it says what the others do."""
    ways = rng.sample([*wrong, "right"], len(wrong) + 1)
    before = [one for one in ways if one in _FIRST][: rng.choice((0, 0, 1, 2))]
    return (*before, "first", *(one for one in ways if one not in before))


def alone(drawn: Drawn, limit_s: float = PATIENT_S) -> Came | Lost:
    """What comes of it in a process of its own."""
    said = json.dumps({"adapter": drawn.adapter, "ways": drawn.ways})
    code = "from vyre.testing.fault_calls import main; main()"
    try:
        done = subprocess.run(  # noqa: S603  # our own
            [sys.executable, "-c", code, said],
            capture_output=True,
            text=True,
            check=False,
            timeout=limit_s,
            env=settings.for_child({"POCL_MAX_PTHREAD_COUNT": "1"}),
        )
    except subprocess.TimeoutExpired:
        return Lost(why=f"it did not end within {limit_s:g} s")
    lines = done.stdout.splitlines()
    if done.returncode or not lines:
        return Lost(why=f"it ended with {done.returncode}: {done.stderr[-2000:]}")
    return Came(**json.loads(lines[-1]))
