"""Injects faults into configs that are checked, and looks for callers that are lost or misled.

    python scripts/soak_faults.py --count 110 --seed 0 --json benchmarks/results/soak_faults.json
    python scripts/soak_faults.py --adapters cuda-template cupy triton  # on a CUDA device

Configs crash, hang, fork, flood, allocate without end, raise whatever can be raised, write beside
their arrays, change their process, or give and leave something else than they should, in functions
under `vyre.tuned`, kernels under `vyre.opencl.tuned` and templates, each with `check=True`. Times
are from a table in which whatever goes wrong is fastest. Each caller is a process of its own, with
a limit of memory: it calls until its faults were found, then goes on, and compares each result.

Prints a table, and each finding: a caller that was lost, a wrong result, a config that served and
should not have, a fault that was not reached. --json keeps them. Ends with status 1 where anything
was found.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from vyre.plain import plain_lines
from vyre.testing import provenance
from vyre.testing.fault_calls import ADAPTERS, ALL, RIGHT, Came, Drawn
from vyre.testing.fault_draws import Lost, alone, draws

Whole = list[tuple[Drawn, Came | Lost]]
COLUMNS = ("callers", "faults", "found", "calls", "lost", "wrong", "served", "longest call, ms")


def row(whole: Whole) -> dict[str, Any]:
    """What came of some callers, in numbers."""
    came = [one for _, one in whole if isinstance(one, Came)]
    return {
        "callers": len(whole),
        "faults": sum(len(drawn.wrong) for drawn, _ in whole),
        "found": sum(len(one.dropped) for one in came),
        "calls": sum(one.calls for one in came),
        "lost": len(whole) - len(came),
        "wrong": sum(len(one.wrong) for one in came),
        "served": sum(len(one.served) for one in came),
        "longest call, ms": round(max((one.longest_s for one in came), default=0.0) * 1e3, 1),
    }


def findings(drawn: Drawn, came: Came | Lost) -> list[str]:
    """What should not have come of a caller."""
    if isinstance(came, Lost):
        return [f"lost: {came.why}"]
    chosen = ALL[drawn.adapter].way_of(drawn, came.chosen)
    return [
        *(f"wrong: {one}" for one in came.wrong),
        *(f"served: {one}" for one in came.served),
        *(f"not found: {one}" for one in came.unreached),
        *([] if chosen in RIGHT else [f"chosen: {came.chosen}"]),
    ]


def shown(rows: dict[str, dict[str, Any]]) -> list[str]:
    lines = [f"{'':<10}" + "".join(f"{one:>18}" for one in COLUMNS)]
    lines += [
        f"{name:<10}" + "".join(f"{one[column]:>18}" for column in COLUMNS)
        for name, one in rows.items()
    ]
    return lines


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=110, help="faults, at least")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--adapters", nargs="+", choices=tuple(ALL), default=tuple(ADAPTERS))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path)
    return parser.parse_args(words)


def main() -> int:
    given = arguments()
    began = time.monotonic()
    drawn = list(draws(given.seed, given.count, tuple(given.adapters)))
    whole: Whole = []
    found: list[str] = []
    with ThreadPoolExecutor(given.jobs) as pool:
        for one, came in zip(drawn, pool.map(alone, drawn), strict=True):
            whole.append((one, came))
            said = findings(one, came)
            found += [f"{one.adapter} {one.ways}: {line}" for line in said]
            print(f"{one.adapter}: {', '.join(one.wrong)}", flush=True)
            for line in said:
                print(plain_lines(f"  {line}"), flush=True)
    rows = {name: row([one for one in whole if one[0].adapter == name]) for name in given.adapters}
    rows["all"] = row(whole)
    for line in shown(rows):
        print(line)
    if given.json:
        reasons = {
            f"{one.adapter}: {way}": why
            for one, came in whole
            if isinstance(came, Came)
            for way, why in came.dropped.items()
        }
        results = {
            "seed": given.seed,
            "rows": rows,
            "findings": found,
            "reasons": dict(sorted(reasons.items())),
            "seconds": round(time.monotonic() - began, 1),
        }
        provenance.save(given.json, results)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
