"""What a run of the GPU suite came to, in at most sixty lines of eighty columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gpu_cells import POWERS
from gpu_ratios import geometric_mean

MOST_LINES, WIDTH = 60, 80
MOST_ERRORS = 10
SHORT = {
    "torch_eager": "eager",
    "torch_compile": "compile",
    "hand_made": "by hand",
    "cupy_exact": "cupy, exact",
    "triton_exact": "triton, exact",
}
LABELS = {
    "product / torch_eager, equal": "product / cuBLAS, fast",
    "product / torch_eager, exact": "product / cuBLAS, exact",
    "product / triton, equal": "product / triton, fast",
    "row_sums / hand_made, exact": "row_sums / by hand",
    "row_sums / torch_eager, exact": "row_sums / torch.sum",
    "row_sums / torch_compile, exact": "row_sums / compile",
    "nbody / cupy, equal": "nbody / cupy, fast",
    "nbody / triton, equal": "nbody / triton, fast",
}


def table(made: Mapping[str, Any]) -> list[str]:
    """The lines, for whoever reads them in a terminal."""
    numbers, rows = made["figures"], made["results"]
    lines = [
        f"{len(rows)} cells of {sum(map(len, POWERS.values()))}, {made['device']}, {made['date']}",
        "speeds, above 1 Vyre is faster; the worst cell is in brackets",
        f"{'kernel':<11}{'cells':>6}  {'fast_math, peers as they are':<31}exact, any peer",
        *(_ratios(name, found) for name, found in numbers["ratios"].items()),
    ]
    for way, found in numbers["small"].items():
        lines.append(f"2^14 to 2^20, {way}: {_told(found, every=True)}")
    lines += _by_size(numbers["beside"])
    lines += _choices(rows)
    lines += [
        f"{name}: {value['ratio']} [{value['low']}, {value['high']}]"
        for name, value in numbers["launch_ratios"].items()
    ]
    lines += _errors(rows)
    return [line[:WIDTH].rstrip() for line in lines[:MOST_LINES]]


def _ratios(name: str, found: Mapping[str, Any]) -> str:
    told = [_told(found[way], every=name == "all") for way in ("equal", "exact")]
    return f"{name:<11}{found['cells']:>6}  {told[0]:<31}{told[1]}"


def _told(found: Mapping[str, Any], *, every: bool) -> str:
    """A mean and its worst cell; of all kernels, which one it is instead of beside whom."""
    if found["mean"] is None:
        return "-"
    kernel, size, value, peer = found["worst"]
    where = f"{kernel} {size}" if every else f"{size} {SHORT.get(peer, peer)}"
    return f"{found['mean']:.2f} ({value:.2f} {where})"


def _by_size(beside: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    """A line for each single comparison, a column for each size."""
    sizes = sorted({size for found in beside.values() for size in found}, key=_power)
    if not sizes:
        return
    yield f"{'by size':<24}" + "".join(f"{size:>6}" for size in sizes)
    for name, found in beside.items():
        label = LABELS.get(name, name.removesuffix(", equal").replace(" / copy", " / a copy"))
        shown = (f"{found[size]:.2f}" if size in found else "" for size in sizes)
        yield f"{label:<24}" + "".join(f"{value:>6}" for value in shown)


def _choices(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """How near the best schedule those are that Vyre chooses by itself."""
    every = list(rows)
    for side in ("swept", "live"):
        found = {
            f"{row['kernel']} {row['size']}": row[f"{side}_over_best"]
            for row in every
            if row.get(f"{side}_over_best")
        }
        if found:
            worst = max(found, key=found.__getitem__)
            mean = geometric_mean(found.values())
            yield f"{side}: {mean} of the best time, at most {found[worst]} ({worst})"


def _errors(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """What was not measured, each reason once."""
    found: dict[str, list[str]] = {}
    for row in rows:
        for side, why in row["errors"].items():
            key = f"{row['kernel']} {side}: {why[:60]}"
            found.setdefault(key, []).append(row["size"])
    if found:
        yield f"{len(found)} sides or cells that were not measured:"
    grave_first = sorted(found.items(), key=lambda pair: "WRONG" not in pair[0])
    for key, sizes in grave_first[:MOST_ERRORS]:
        yield f"  {sizes[0]}{f' and {len(sizes) - 1} more' * (len(sizes) > 1)} {key}"


def _power(size: str) -> int:
    return int(size.removeprefix("2^"))
