"""What first calls cost on times that were recorded: the guess, its opening and live learning.

Every recorded launch (benchmarks/data/spaces-h200.json.gz, and -reductions.json.gz beside it) is
called a thousand times, with what Vyre builds in a first call, guesses and learns beside the calls,
on a clock that the launches move:
flat, as fast as a caller of 7 us a call can, and paced, a call every millisecond. Times that are
heard carry 3 % noise; a code takes 40 ms to compile. A figure is (time of the first N launches) /
(N x the best recorded time). No device is needed, and none is measured: schedules that were not
recorded are not there.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import spaces_kernels
from measure import save
from misled_calls import Table, lived

from vyre.backend.replayed import GPU, Replayed
from vyre.learn.rules import mode
from vyre.plan.guess import risk
from vyre.runtime.devices.device import Device
from vyre.runtime.devices.launcher import Launcher
from vyre.runtime.devices.opening import first_codes
from vyre.testing.recordings import (
    Recording,
    numbers_of,
    read,
    space_of,
    times_of,
    with_default,
)

DATA = Path(__file__).parent / "data"
SPACES = DATA / "spaces-h200.json.gz", DATA / "spaces-h200-reductions.json.gz"
H200 = replace(
    GPU,
    model="NVIDIA H200",
    limits=replace(GPU.limits, cache_bytes=60 << 20, group_bytes=48 << 10, lockstep=32),
)
PACES = {"flat": (1000, 7e-6), "paced": (1, 1e-3)}
"""Launches that a caller may be ahead, and seconds between two calls."""

CALLS, LARGE, FAR = 1000, 1 << 24, 1.3
Row = dict[str, Any]


@cache
def recordings() -> list[Recording]:
    return [one for path in SPACES for one in read(path)["spaces"]]


def table(number: int) -> tuple[Table, float]:
    """A recorded space as something to call, and what its guess may lose."""
    one = recordings()[number]
    kernel, _ = spaces_kernels.called(one["kernel"], 64)
    launcher = Launcher(kernel._translation, Device("replay:0", Replayed(lambda _: 1.0, info=H200)))
    numbers, alignment, space = numbers_of(one), one["alignment"], space_of(one)
    reduces = launcher.facts.alone is not None
    if reduces:  # whose default may be another by now
        space = with_default(space, launcher.default(numbers))
    guessed = launcher.guess(space, numbers)
    codes = first_codes(guessed, space, launcher, numbers, alignment)
    expected = dict(zip(guessed.ordered, guessed.expected, strict=True))
    gain = expected[space.default] - guessed.expected[0]
    made = Table(
        number=number,
        kind=one["kernel"],
        times_ns=dict(times_of(one)),
        guess=guessed.ordered,
        expected=expected,
        default=space.default,
        built=tuple(codes),
    )
    return made, 1.0 + risk(H200, gain, reduces=reduces)


def of_space(number: int) -> list[Row]:
    """Every pace of one recorded launch."""
    mode("natural")
    made, loses = table(number)
    size = recordings()[number]["size"]
    return [
        {"kernel": made.kind, "size": size, "pace": pace}
        | lived(made, lead, CALLS, loses, call_s)
        | {"guess": round(made.times_ns[made.guess[0]] / min(made.times_ns.values()), 4)}
        for pace, (lead, call_s) in PACES.items()
    ]


def mean(values: Iterable[float]) -> float:
    return round(math.exp(sum(map(math.log, some := list(values))) / len(some)), 4)


def figures(rows: list[Row]) -> Row:
    """What all launches come to, pace by pace."""
    found: Row = {}
    for pace in PACES:
        mine = [row for row in rows if row["pace"] == pace]
        large = [row for row in mine if row["size"] >= LARGE]
        found[pace] = {
            "launches": len(mine),
            "guess": mean(row["guess"] for row in mine),
            "at_100": mean(row["at_100"] for row in mine),
            "at_1000": mean(row["at_1000"] for row in mine),
            "ended": mean(row["ended"] for row in mine),
            "large_at_100": mean(row["at_100"] for row in large) if large else None,
            "large_at_1000": mean(row["at_1000"] for row in large) if large else None,
            "worst_at_1000": max(row["at_1000"] for row in mine),
            "far_at_1000": sum(row["at_1000"] > FAR for row in mine),
            "most_lost": max(row["lost"] for row in mine),
        }
    return found


def shown(found: Row, rows: list[Row]) -> Iterator[str]:
    words = ("launches", "guess", "at_100", "at_1000", "ended", "worst_at_1000", "most_lost")
    yield " " * 8 + "".join(f"{word:>14}" for word in words)
    for pace, some in found.items():
        yield f"{pace:8}" + "".join(f"{some[word]:14}" for word in words)
    yield "the worst:"
    for row in sorted(rows, key=lambda row: -row["at_1000"])[:12]:
        yield (
            f"  {row['kernel']:16}{'2^' + str(row['size'].bit_length() - 1):6}{row['pace']:7}"
            f"guess {row['guess']:.3f}  at 100 {row['at_100']:.3f}  at 1000 {row['at_1000']:.3f}"
            f"  ended {row['ended']:.3f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kernels", help="those of these names alone, with commas between")
    parser.add_argument("--reductions", action="store_true", help="those with reductions alone")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--print-only", action="store_true", help="write no result")
    given = parser.parse_args()
    known = {one["kernel"] for one in recordings()}
    names = set(given.kernels.split(",")) if given.kernels else known
    names &= {*spaces_kernels.reductions()} if given.reductions else names
    if unknown := sorted(names - known):
        parser.error(f"no recording of {unknown[0]!r}; there are {', '.join(sorted(known))}")
    if given.jobs < 1:
        parser.error(f"--jobs {given.jobs}: at least 1")
    wanted = [number for number, one in enumerate(recordings()) if one["kernel"] in names]
    with ProcessPoolExecutor(given.jobs, mp_context=get_context("spawn")) as pool:
        rows = [row for some in pool.map(of_space, wanted, chunksize=4) for row in some]
    apart = set(spaces_kernels.reductions())
    found: Row = {"rows": rows}
    for title, some in (
        ("figures", [row for row in rows if row["kernel"] not in apart]),
        ("reductions", [row for row in rows if row["kernel"] in apart]),
    ):
        if some:
            found[title] = figures(some)
            print(f"{title}:", *shown(found[title], some), sep="\n")
    if not given.print_only:
        save("first_calls_recorded", found)


if __name__ == "__main__":
    main()
