"""What the GPU suite's cells come to: ratios, geometric means, what misses a limit, the tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import median
from typing import Any

import gpu_ratios
from gpu_cells import ARITHMETIC, POWERS
from gpu_journal import Key, Record, merged
from gpu_ratios import PEERS, geometric_mean

STREAMING = (
    *("saxpy", "gelu", "exp_log", "stencil9", "stencil5"),
    *("filter3", "transpose", "adam", "gray_u8"),
)
SMALL_US = 10.0
"""Below this, live learning need only be no slower than the default."""

SWEPT_LIMIT, LIVE_LIMIT, NO_SLOWER = 1.03, 1.05, 1.03
COPY_LIMIT = 0.95
FIRST_LIMIT_MS = 150.0
MEANS = {"best_peer": 1.0, "vyre_default": 1.2, "torch_compile": 1.1, "cupy": 1.5}
LAUNCHES = {
    "prepared / cuda_core": 1.15,
    "call_resident / cuda_core": 1.4,
    "call_resident / triton": 0.4,
    "call / triton": 0.4,
}


def rows(records: Mapping[Key, Record]) -> list[dict[str, Any]]:
    """A row for each cell that was measured on the device, with its ratios."""
    found = []
    for kernel, powers in POWERS.items():
        for power in powers:
            size = f"2^{power}"
            cell = records.get(("device", kernel, size))
            if cell is not None:
                learned = records.get(("live", kernel, size), {})
                found.append(_row(kernel, size, cell, learned))
    return found


def _row(kernel: str, size: str, cell: Record, learned: Record) -> dict[str, Any]:
    if "us" not in cell:
        return {"kernel": kernel, "size": size, "us": {}, "errors": {"cell": cell["error"]}}
    us, errors = dict(cell["us"]), dict(cell["errors"])
    space = {name: value for name, value in cell["space"].items() if name != "quick"}
    quick = {tuple(schedule): value for schedule, value in cell["space"]["quick"]}
    by_quick = False
    if "vyre_live" not in us and tuple(learned.get("schedule", ())) in quick:
        # Learned after the cell was measured: its place among the quick measurements tells.
        best = min(quick.values())
        us["vyre_live"] = space["best_us"] * quick[tuple(learned["schedule"])] / best
        by_quick = True
    if "error" in learned:
        errors["vyre_live"] = learned["error"]
    row: dict[str, Any] = {
        "kernel": kernel,
        "size": size,
        "us": us,
        "space": space,
        "schedules": cell["schedules"],
        "spread": median(cell["spread"].values()) if cell.get("spread") else None,
        "errors": errors,
    }
    if by_quick:
        row["live_by_quick_measurements"] = True
    if learned:
        kept = ("settled", "counted", "calls", "seconds", "slowest_call_ms", "reason", "compiled")
        row["live"] = {name: learned[name] for name in kept if name in learned}
    for side in ("swept", "live"):
        mine = us.get(f"vyre_{side}")
        if mine:
            row[f"{side}_over_best"] = round(mine / space["best_us"], 4)
    peers = {name: us[name] for name in PEERS if name in us}
    if peers:
        row["best_peer"] = min(peers, key=peers.__getitem__)
    for way in ("equal", "exact"):
        row[way] = {"ratio": gpu_ratios.ratio(row, way), "peer": gpu_ratios.best_peer(row, way)}
    if "fast" in cell:
        row["fast_is_the_same_program"] = cell["fast"]["same_program"]
    return row


def speeds(found: Iterable[dict[str, Any]], mine: str, other: str) -> list[float]:
    """How many times as fast one side is as another, in each cell that has both.

    `best_peer` is the fastest peer of each cell. `same_arithmetic` is the fastest that rounds as
    Vyre does, where arithmetic counts.
    """
    ratios = []
    for row in found:
        us = row["us"]
        against = _against(row, other)
        if against and mine in us:
            ratios.append(against / us[mine])
    return ratios


def _against(row: Mapping[str, Any], other: str) -> float | None:
    us: Mapping[str, float] = row["us"]
    if other == "best_peer":
        names: tuple[str, ...] = PEERS
    elif other == "same_arithmetic":
        exact = ("cupy_exact", "triton_exact", "torch_eager")
        names = exact if row["kernel"] in ARITHMETIC else PEERS
    else:
        names = (other,)
    known = [us[name] for name in names if name in us]
    return min(known) if known else None


def figures(found: list[dict[str, Any]], launch: Record, first: Record) -> dict[str, Any]:
    """The numbers that the suite is for."""
    others = ("best_peer", "same_arithmetic", "vyre_default", "vyre_occupancy", *PEERS)
    means = {
        side: {other: geometric_mean(speeds(found, f"vyre_{side}", other)) for other in others}
        for side in ("swept", "live")
    }
    streaming = {}
    for row in found:
        share = gpu_ratios.over(row, "copy", "exact")
        if row["kernel"] in STREAMING and gpu_ratios.power(row) >= 24 and share:
            streaming[f"{row['kernel']} {row['size']}"] = share
    return {
        "cells": len(found),
        "ratios": gpu_ratios.by_kernel(found),
        "small": gpu_ratios.small(found),
        "beside": gpu_ratios.beside(found),
        "geometric_means": means,
        "of_the_copy": streaming,
        "launch_us": launch.get("us", {}),
        "launch_ratios": launch.get("ratios", {}),
        "first_dispatch_ms": first.get("first_ms", []),
        "second_kernel_ms": first.get("second_ms", []),
    }


def misses(found: list[dict[str, Any]], numbers: Mapping[str, Any]) -> list[str]:
    """What is beyond its limit, and what was to be measured and is not."""
    lines = []
    means = numbers["geometric_means"]["swept"]
    for other, limit in MEANS.items():
        mean = means[other]
        if mean is None or mean < limit:
            lines.append(f"geometric mean against {other}: {mean} (limit {limit})")
    for name, share in numbers["of_the_copy"].items():
        if share < COPY_LIMIT:
            lines.append(f"{name}: {share} of the copy (limit {COPY_LIMIT})")
    for name, limit in LAUNCHES.items():
        value = numbers["launch_ratios"].get(name, {}).get("ratio")
        if value is None or value > limit:
            lines.append(f"launch, {name}: {value} (limit {limit})")
    worst = max(numbers["first_dispatch_ms"], default=None)
    if worst is None or worst > FIRST_LIMIT_MS:
        lines.append(f"first dispatch: {worst} ms (limit {FIRST_LIMIT_MS:g})")
    for row in found:
        lines += [f"{row['kernel']} {row['size']}: {text}" for text in _misses_of(row)]
    return lines


def _misses_of(row: Mapping[str, Any]) -> Iterable[str]:
    us = row["us"]
    swept, learned = row.get("swept_over_best"), row.get("live_over_best")
    if swept is None:
        yield f"no swept choice ({row['errors'].get('vyre_swept', 'not measured')})"
    elif swept > SWEPT_LIMIT:
        yield f"swept is {swept} of the best (limit {SWEPT_LIMIT})"
    if learned is None:
        yield f"no live choice ({row['errors'].get('vyre_live', 'not measured')})"
    elif row["space"]["best_us"] < SMALL_US:
        slower = us["vyre_live"] / us["vyre_default"]
        if slower > NO_SLOWER:
            yield f"live is {slower:.3f} of the default (limit {NO_SLOWER}, best below 10 us)"
    elif learned > LIVE_LIMIT:
        yield f"live is {learned} of the best (limit {LIVE_LIMIT})"
    if row.get("live", {}).get("settled") is False:
        yield "live learning had not settled within its time"
    space = row.get("space")
    if space and space["measured"] < space["legal"] // 2:
        yield f"of {space['legal']} schedules only {space['measured']} were measured"


SIDES = {
    "vyre_exact": "exact",
    "vyre_fast": "fast",
    "vyre_default": "256",
    "vyre_swept": "swept",
    "vyre_live": "live",
    "cupy": "CuPy",
    "triton": "Triton",
    "torch_eager": "eager",
    "torch_compile": "compile",
    "hand_made": "hand",
    "copy": "copy",
}


def cell_table(found: list[dict[str, Any]]) -> list[str]:
    """Microseconds of every side, a line for each cell."""
    head = "".join(f"{label:>9}" for label in SIDES.values())
    lines = [
        f"{'us':<11}{'size':>5}{'best':>9}{head}{'sw/best':>8}{'lv/best':>8}{'equal':>8}{'exact':>8}"
    ]
    for row in found:
        us = row["us"]
        times = "".join(f"{_short(us.get(side)):>9}" for side in SIDES)
        best = _short(row["space"]["best_us"]) if "space" in row else "-"
        both = (gpu_ratios.ratio(row, way) for way in ("equal", "exact"))
        ends = (row.get("swept_over_best"), row.get("live_over_best"), *both)
        lines.append(
            f"{row['kernel']:<11}{row['size']:>5}{best:>9}{times}"
            + "".join(f"{'-' if end is None else format(end, '.3f'):>8}" for end in ends)
        )
        lines += [f"    {side}: {why[:120]}" for side, why in row["errors"].items()]
    return lines


def summary(found: list[dict[str, Any]], numbers: Mapping[str, Any]) -> list[str]:
    """The figures in a few lines, what misses a limit last."""
    lines = [f"{numbers['cells']} cells of {sum(map(len, POWERS.values()))}"]
    for name, ratios in numbers["ratios"].items():
        equal, exact = ratios["equal"], ratios["exact"]
        lines.append(f"{name}: equal freedoms {equal['mean']}x, worst {equal['worst']}; ")
        lines[-1] += f"exact {exact['mean']}x, worst {exact['worst']}"
    for side, means in numbers["geometric_means"].items():
        shown = ", ".join(f"{other} {mean}x" for other, mean in means.items())
        lines.append(f"{side}, geometric means of speed: {shown}")
    shown = ", ".join(f"{name} {share}" for name, share in numbers["of_the_copy"].items())
    lines.append(f"of the copy: {shown or 'not measured'}")
    shown = ", ".join(f"{name} {us} us" for name, us in numbers["launch_us"].items())
    lines.append(f"launches: {shown or 'not measured'}")
    for name, value in numbers["launch_ratios"].items():
        lines.append(f"  {name}: {value['ratio']} [{value['low']}, {value['high']}]")
    first, second = numbers["first_dispatch_ms"], numbers["second_kernel_ms"]
    lines.append(f"first dispatch: {first} ms, of a second kernel {second} ms")
    missed = misses(found, numbers)
    return [*lines, f"{len(missed)} beyond a limit or missing:", *(f"  {line}" for line in missed)]


def result(records: Iterable[Record]) -> dict[str, Any]:
    """Everything that is kept: where it was measured, the cells, the figures."""
    every = list(records)
    kept = merged(every)
    found = rows(kept)
    launch, first = kept.get(("launch", "", ""), {}), kept.get(("first", "", ""), {})
    numbers = figures(found, launch, first)
    return {
        **origin(every),
        "figures": numbers,
        "beyond_a_limit": misses(found, numbers),
        "launch": {name: value for name, value in launch.items() if name != "part"},
        "first": {name: value for name, value in first.items() if name != "part"},
        "results": found,
    }


def origin(records: Iterable[Record]) -> dict[str, Any]:
    """Where records come from: the machine, the versions, the code and the commands."""
    machines = [record for record in records if record["part"] == "machine"]
    last: Record = machines[-1] if machines else {}
    codes = [record["code"] for record in machines if "code" in record]
    earlier = [code for n, code in enumerate(codes) if code not in (*codes[:n], codes[-1])]
    return {
        "machine": f"{last.get('device', 'unknown')}, Python {last.get('python', 'unknown')}",
        "device": last.get("device", "unknown"),
        "date": last.get("date", ""),
        "versions": {**last.get("versions", {}), "CUDA of torch": last.get("torch_cuda", "")},
        "code": {**(codes[-1] if codes else {}), **({"earlier": earlier} if earlier else {})},
        "load": last.get("load", {"quiet": None, "note": "not recorded"}),
        "runs": list(dict.fromkeys(record["command"] for record in machines)),
    }


def _short(us: float | None) -> str:
    return "-" if us is None else f"{us:.2f}" if us < 1000 else f"{us:.0f}"
