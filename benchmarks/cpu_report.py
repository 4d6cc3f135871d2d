"""What the CPU suite's cells come to: tables, geometric means, and what misses a limit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import exp, fsum, log
from typing import Any

Cells = Sequence[Mapping[str, Any]]

NUMBA_LIMIT = 0.95
"""A cell misses it where its whole 95 % interval lies below."""

NUMPY_LIMIT = 1.5
PEERS = ("numba", "numpy", "pocl")


def geometric_mean(values: Iterable[float]) -> float | None:
    """The mean of ratios, or None of none.

    >>> geometric_mean([0.5, 2.0])
    1.0
    """
    logs = [log(value) for value in values]
    return round(exp(fsum(logs) / len(logs)), 3) if logs else None


def figures(cells: Cells) -> dict[str, Any]:
    """The means over all cells, and the cells that miss a limit."""
    numba, pocl, guess = (_with(cells, name) for name in ("numba", "pocl", "guess"))
    numpy = [cell for cell in _with(cells, "numpy") if cell["elementwise"]]
    return {
        "cells": len(cells),
        "geometric_means": {
            "numba": geometric_mean(cell["ratios"]["numba"]["ratio"] for cell in numba),
            "pocl": geometric_mean(cell["ratios"]["pocl"]["ratio"] for cell in pocl),
            "numpy_elementwise": geometric_mean(c["ratios"]["numpy"]["ratio"] for c in numpy),
            "guess": geometric_mean(cell["ratios"]["guess"]["ratio"] for cell in guess),
        },
        "below_numba": [
            _named(cell) for cell in numba if cell["ratios"]["numba"]["high"] < NUMBA_LIMIT
        ],
        "below_numpy": [
            _named(cell) for cell in numpy if cell["ratios"]["numpy"]["ratio"] < NUMPY_LIMIT
        ],
    }


def _with(cells: Cells, name: str) -> list[Mapping[str, Any]]:
    return [cell for cell in cells if name in cell["ratios"]]


def _named(cell: Mapping[str, Any]) -> str:
    return f"{cell['kernel']} {cell['label']}"


HEAD = f"{'kernel':<13} {'size':<5}{'Vyre us':>9}  {'numba':<19}  {'NumPy':<19}  PoCL"


def line(cell: Mapping[str, Any]) -> str:
    """A cell in a line: microseconds, then how many times longer the others take."""
    shown = "".join(f"  {_ratio(cell, peer):<19}" for peer in PEERS)
    return f"{cell['kernel']:<13} {cell['label']:<5}{cell['us']['vyre']:>9.4g}{shown}".rstrip()


def _ratio(cell: Mapping[str, Any], peer: str) -> str:
    found = cell["ratios"].get(peer)
    if found is None:
        return "-"
    mark = "*" if peer == "numpy" and not cell["elementwise"] else ""
    return f"{short(found['ratio'])}{mark} {_bounds(found)}"


def short(value: float) -> str:
    """A ratio in at most four characters, unless it is beyond 9999.

    >>> short(0.049), short(9.87), short(12.34), short(123.4)
    ('0.05', '9.87', '12.3', '123')
    """
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:.{digits}f}"


def table(cells: Cells) -> list[str]:
    """All cells, the peers, then what Vyre's own choices are worth."""
    shown = [
        "Times Vyre's time [95 %]; above 1 Vyre is faster; * a routine of NumPy made for it",
        HEAD,
        *map(line, cells),
        "",
        f"{'kernel':<13} {'size':<5}{'guess/swept':>12} {'[95 %]':<15}{'A/A':<15}swept; of",
    ]
    for cell in cells:
        guess, same = cell["ratios"]["guess"], cell["a_a"]
        shown.append(
            f"{cell['kernel']:<13} {cell['label']:<5}{short(guess['ratio']):>12} "
            f"{_bounds(guess):<15}{_bounds(same):<15}"
            f"{cell['schedules']['vyre']}; {cell['size']}"[:100]
        )
    return shown


def _bounds(found: Mapping[str, float]) -> str:
    return f"[{short(found['low'])}, {short(found['high'])}]"


def summary(results: Mapping[str, Any]) -> list[str]:
    """What all of it comes to."""
    lines = []
    if results["cells"]:
        found = figures(results["cells"])
        means = found["geometric_means"]
        lines += [
            f"geometric means over {found['cells']} cells: "
            f"numba {_shown(means['numba'])}, PoCL {_shown(means['pocl'])}, "
            f"NumPy elementwise {_shown(means['numpy_elementwise'])}, "
            f"guess/swept {_shown(means['guess'])}",
            f"wholly below {NUMBA_LIMIT} of numba: {_listed(found['below_numba'])}",
            f"below {NUMPY_LIMIT} of elementwise NumPy: {_listed(found['below_numpy'])}",
        ]
    if small := results.get("small"):
        each = ", ".join(f"{name} {us:.3g}" for name, us in small["us"].items())
        lines.append(f"a repeated call on {small['elements']} elements, us: {each}")
    if first := results.get("first"):
        for name, ms in first.items():
            if name != "repeats":
                each = ", ".join(
                    f"{key.removesuffix('_ms')} {took:.3g}" for key, took in ms.items()
                )
                lines.append(f"first calls, {name}, ms: {each}")
    return lines


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"


def _shown(mean: float | None) -> str:
    return "-" if mean is None else f"{mean:.2f}x"


def merged(before: Cells, now: Cells) -> list[dict[str, Any]]:
    """The cells of both; of what is in both, the one measured now."""
    kept = {(cell["kernel"], cell["label"]): dict(cell) for cell in (*before, *now)}
    return list(kept.values())
