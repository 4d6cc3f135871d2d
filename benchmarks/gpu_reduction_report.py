"""What the cells of the suite of reductions come to: which limits are met, in a short table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gpu_journal import Record, merged
from gpu_ratios import geometric_mean
from gpu_reduction_cells import PEERS, POWERS, limit_of
from gpu_report import origin

PART = "reductions"
OWN = ("default", "guess", "swept", "best")
WIDTH = 134
SHORT = {"torch_eager": "torch", "torch_compile": "compile"}
MOST_ERRORS = 10

Row = dict[str, Any]


def result(records: Iterable[Record]) -> dict[str, Any]:
    """Everything that is kept: where it was measured, the cells, what misses a limit."""
    every = list(records)
    found = rows(every)
    held = [row for row in found if row["met"] is not None]
    return {
        **origin(every),
        "figures": {
            "cells": len(found),
            "limits": len(held),
            "met": sum(row["met"] for row in held),
            **{f"{side}_over_best": _over_best(found, side) for side in OWN[:-1]},
        },
        "missed": [
            f"{row['kernel']} {row['size']}: {row['said']}" for row in held if not row["met"]
        ],
        "results": found,
    }


def rows(records: Iterable[Record]) -> list[Row]:
    """A row for each cell that was tried, with what it is held to."""
    kept = merged(records)
    found = []
    for kernel, powers in POWERS.items():
        for power in powers:
            record = kept.get((PART, kernel, f"2^{power}"))
            if record is not None:
                row = {name: value for name, value in record.items() if name != "part"}
                found.append(_judged(row, power))
    return found


def _judged(row: Row, power: int) -> Row:
    """A row with its ratio to the fastest peer, whether that is enough, and why."""
    if "error" in row:
        held = limit_of(row["kernel"], power) is not None
        whole = {"us": {}, "errors": {"cell": row["error"]}, "ratio": None, "peer": None}
        return {**whole, **row, "met": False if held else None, "said": "not measured"}
    us, limit = row["us"], limit_of(row["kernel"], power)
    beside = [side for side in (limit.peers if limit else PEERS[row["kernel"]]) if side in us]
    peer = min(beside, key=us.__getitem__) if beside else None
    mine = us.get("vyre_swept")
    known = mine is not None and peer is not None
    ratio = round(us[peer] / mine, 4) if known else None
    speed = round(row["moved"] / mine / 1e6, 4) if mine else None  # bytes a microsecond, in tera
    row = {**row, "ratio": ratio, "peer": peer, "tb_per_s": speed}
    if limit is None:
        return {**row, "met": None, "said": "no limit"}
    missing = [side for side in limit.peers if side not in us]
    enough = known and not missing and ratio is not None and ratio >= limit.least
    said = f"at least {limit.least:.2f}"
    if limit.bytes_per_s:
        fast = speed is not None and speed * 1e12 >= limit.bytes_per_s
        said += f" and {limit.bytes_per_s / 1e12:.0f} TB/s, {speed or 0.0:.2f} is"
        enough = enough and fast
    if missing:
        said += f", not measured: {', '.join(missing)}"
    return {**row, "met": enough, "said": said}


def _over_best(found: Iterable[Row], side: str) -> dict[str, Any]:
    """How near the best schedule a choice is: the mean over cells, and the worst."""
    ratios = {
        f"{row['kernel']} {row['size']}": row["us"][f"vyre_{side}"] / row["us"]["vyre_best"]
        for row in found
        if f"vyre_{side}" in row["us"] and "vyre_best" in row["us"]
    }
    if not ratios:
        return {"mean": None, "worst": None}
    worst = max(ratios, key=ratios.__getitem__)
    return {
        "mean": geometric_mean(ratios.values()),
        "worst": [worst, round(ratios[worst], 4)],
    }


def table(made: Mapping[str, Any]) -> list[str]:
    """The lines, for whoever reads them in a terminal."""
    figures = made["figures"]
    lines = [
        f"{figures['cells']} cells of {sum(map(len, POWERS.values()))}, {made['device']}, "
        f"{made['date']}; microseconds, then speed over the fastest peer",
        f"{'kernel':<17}{'size':<6}" + "".join(f"{side:>9}" for side in OWN) + "     ratio  beside",
        *map(_line, made["results"]),
    ]
    for side in OWN[:-1]:
        found = figures[f"{side}_over_best"]
        if found["mean"] is not None:
            where, worst = found["worst"]
            lines.append(f"{side}: {found['mean']} of the best time, at most {worst} ({where})")
    lines += _errors(made["results"])
    lines.append(f"limits met: {figures['met']} of {figures['limits']}")
    return [line[:WIDTH].rstrip() for line in lines]


def _line(row: Row) -> str:
    times = "".join(f"{_us(row['us'].get(f'vyre_{side}')):>9}" for side in OWN)
    ratio = "-" if row["ratio"] is None else f"{row['ratio']:.2f}"
    verdict = {True: "met: ", False: "MISSED: ", None: ""}[row["met"]]
    beside = "-"
    if row["peer"] is not None:
        beside = f"{SHORT.get(row['peer'], row['peer'])} {_us(row['us'][row['peer']])}"
    said = "" if row["met"] is None else f"{verdict}{row['said']}"
    return f"{row['kernel']:<17}{row['size']:<6}{times}{ratio:>10}  {beside:<16}  {said}"


def _errors(found: Iterable[Row]) -> list[str]:
    """What was not measured, what is wrong first."""
    every = [
        f"  {row['kernel']} {row['size']} {side}: {why[:80]}"
        for row in found
        for side, why in row.get("errors", {}).items()
    ]
    every.sort(key=lambda line: "WRONG" not in line)
    head = [f"{len(every)} sides or cells that were not measured:"] if every else []
    return [*head, *every[:MOST_ERRORS]]


def _us(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}" if value < 1000 else f"{value:.0f}"
