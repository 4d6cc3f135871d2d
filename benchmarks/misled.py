"""What a misleading guess costs: random tables, callers far ahead of the evidence, no device.

Each table holds the times of a space of schedules, smooth in their sizes and rough beside, and a
guess that is honest, slightly wrong, random, upside down, or led by a schedule up to eight times as
slow as the default. Calls of it are learned from as live ones are, by a site and its decider, on a
clock that the launches move. A caller who is K launches ahead hears of a launch when K more have
been enqueued. What is lost is counted in dispatches of the default, beyond 1 % of the time spent,
at the worst moment; savings count against it. The promise is at most 20, unless the first guess is
slower than the recorded percentile says: those are listed with their loss.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from random import Random
from statistics import median
from typing import Any

from measure import save
from misled_calls import DEFAULT, Table, lived

from vyre.learn.rules import mode
from vyre.model import Code, Config, Schedule

LEADS = (1, 20, 200, 2000)
KINDS = ("honest", "slightly wrong", "random", "upside down", "led astray")
FREE = 20.0  # dispatches of the default that may be lost
SLIGHTLY, SLOWEST = 1.15, 8.0


def table(number: int) -> Table:
    """The same number gives the same table."""
    rng = Random(f"misled {number}")
    codes = [Code(items=i, vector=v, checked=False) for i in (1, 2, 4) for v in (1, 2, 4) if v <= i]
    space = [Schedule((1 << b, 1, 1), code) for b in range(6, 11) for code in codes]
    slopes = [rng.gauss(0.0, 0.15) for _ in range(3)]
    bends = [abs(rng.gauss(0.0, 0.08)) for _ in range(3)]
    middles = [rng.uniform(0.0, 2.0) for _ in range(3)]
    rough = rng.choice((0.02, 0.08, 0.2))

    def log_time(schedule: Schedule) -> float:
        code = schedule.code
        places = (math.log2(schedule.workgroup[0] / 256), math.log2(code.items), code.vector / 2)
        smooth = sum(
            slope * at + bend * (at - middle) ** 2
            for at, slope, bend, middle in zip(places, slopes, bends, middles, strict=True)
        )
        return smooth + rng.gauss(0.0, rough)

    logs = {one: log_time(one) for one in space}
    base = rng.uniform(math.log(5e3), math.log(1e6)) - logs[DEFAULT]
    times: dict[Config, float] = {one: math.exp(base + value) for one, value in logs.items()}
    kind = KINDS[number % len(KINDS)]
    seen = {one: math.log(ns) + rng.gauss(0.0, 0.1) for one, ns in times.items()}
    guess = sorted(times, key=seen.__getitem__)
    if kind == "random":
        rng.shuffle(guess)
    elif kind == "upside down":
        guess = sorted(times, key=times.__getitem__, reverse=True)
    elif kind != "honest":
        first = next(one for one in guess if one != DEFAULT)
        guess = [first, *(one for one in guess if one != first)]
        most = SLIGHTLY if kind == "slightly wrong" else SLOWEST
        times[first] = times[DEFAULT] * math.exp(rng.uniform(0.0, math.log(most)))
    # The guess believes in itself: its first is the fastest there is, and so on.
    expected = dict(zip(guess, sorted(map(math.log, times.values())), strict=True))
    return Table(number, kind, times, tuple(guess), expected)


def of_table(given: tuple[int, int, float]) -> list[dict[str, Any]]:
    """All callers of one table."""
    number, launches, risk = given
    mode("natural")
    return [lived(table(number), lead, launches + 2 * lead, risk) for lead in LEADS]


def mean(values: Iterable[float]) -> float:
    return round(math.exp(sum(map(math.log, some := list(values))) / len(some)), 4)


def figures(rows: list[dict[str, Any]], risk: float) -> dict[str, Any]:
    """What each kind of caller loses, with guesses as good as they say and with worse ones."""
    found: dict[str, Any] = {}
    for lead in LEADS:
        mine = [row for row in rows if row["lead"] == lead]
        within = [row for row in mine if row["misled"] <= risk]
        beyond = [row for row in mine if row["misled"] > risk]
        found[f"{lead} ahead"] = {
            "tables": len(mine),
            "most_lost": max((row["lost"] for row in within), default=0.0),
            "broken": sum(row["lost"] > FREE for row in within),
            "misled_beyond": len(beyond),
            "most_lost_beyond": max((row["lost"] for row in beyond), default=0.0),
            "median_lost_beyond": median([row["lost"] for row in beyond] or [0.0]),
            "broken_beyond": sum(row["lost"] > FREE for row in beyond),
            "at_1000": mean(row["at_1000"] for row in mine),
            "ratio": mean(row["ratio"] for row in mine),
            "default": mean(row["default"] for row in mine),
            "ended": mean(row["ended"] for row in mine),
        }
    return found


def said(row: dict[str, Any]) -> str:
    """What a misled guess cost, for people."""
    return (
        f"table {row['table']} ({row['kind']}), {row['lead']} ahead: its guess takes "
        f"{row['misled']:.2f} of the default, {row['lost']:.1f} default dispatches lost"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the number of the first table")
    parser.add_argument("--launches", type=int, default=2000, help="and two more for each ahead")
    parser.add_argument("--risk", type=float, default=1.2, help="the recorded percentile")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--print-only", action="store_true", help="write no result")
    given = parser.parse_args()
    numbers = range(given.first, given.first + given.tables)
    tasks = [(number, given.launches, given.risk) for number in numbers]
    with ProcessPoolExecutor(given.jobs, mp_context=get_context("spawn")) as pool:
        rows = [row for some in pool.map(of_table, tasks, chunksize=4) for row in some]
    found = figures(rows, given.risk)
    print(
        f"{'':12}{'tables':>7}{'lost':>8}{'broken':>8}  | {'beyond':>7}{'lost':>9}{'broken':>8}",
        end="",
    )
    print(f"  | {'at 1000':>8}{'all':>8}{'default':>8}{'ended':>8}")
    for lead, some in found.items():
        print(
            f"{lead:12}{some['tables']:7}{some['most_lost']:8.1f}{some['broken']:8}  | "
            f"{some['misled_beyond']:7}{some['most_lost_beyond']:9.1f}{some['broken_beyond']:8}  | "
            f"{some['at_1000']:8.3f}{some['ratio']:8.3f}{some['default']:8.3f}{some['ended']:8.3f}"
        )
    listed = sorted(
        (row for row in rows if row["misled"] > given.risk), key=lambda row: -row["lost"]
    )
    over = [row for row in listed if row["lost"] > FREE]
    print(f"guesses misled beyond {given.risk}: {len(listed)}, of which {len(over)} lost more")
    for row in (over or listed)[:8]:
        print(f"  {said(row)}")
    if not given.print_only:
        path = save("misled", {"figures": found, "beyond": list(map(said, over))}, risk=given.risk)
        print(f"saved to {path.name}")


if __name__ == "__main__":
    main()
