"""Writes the table of results in README.md from benchmarks/results; --check only compares."""

import json
import math
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE, RESULTS = ROOT / "README.md", ROOT / "benchmarks" / "results"
BEGIN, END = "<!-- results: python scripts/results_table.py -->\n", "<!-- /results -->"


def load(name: str) -> dict:
    return json.loads((RESULTS / f"{name}.json").read_text())


def table() -> str:
    swept, calls = load("schedules"), load("calls")
    rows = {}
    for cell in swept["results"]:
        rows.setdefault(cell["kernel"], {})[cell["size"]] = cell["gain"]["ratio"]
    lines = [
        f"Tuned against default, device time, {swept['device']}, {swept['date']}; "
        "median of paired ratios, above 1 is faster:",
        "",
        "| kernel | 2^16 | 2^20 | 2^24 |",
        "|---|---|---|---|",
    ]
    for kernel, cells in rows.items():
        shown = " | ".join(f"{cells[size]:.2f}x" for size in ("2^16", "2^20", "2^24"))
        lines.append(f"| {kernel} | {shown} |")
    gains = [gain for cells in rows.values() for gain in cells.values()]
    mean = math.exp(sum(map(math.log, gains)) / len(gains))
    lines += [f"| geometric mean | {mean:.2f}x over all | | |", ""]
    lines += ["| what a call costs | ratio | 95 % interval |", "|---|---|---|"]
    lines += [
        f"| {row['what']} | {row['ratio']:.2f}x | {row['low']:.2f} to {row['high']:.2f} |"
        for row in calls["results"]
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    page = PAGE.read_text()
    before, _, rest = page.partition(BEGIN)
    old, _, after = rest.partition(END)
    if old == table():
        return 0
    if "--check" in sys.argv:
        print("README.md does not show the last results. Fix: run python scripts/results_table.py")
        return 1
    PAGE.write_text(before + BEGIN + table() + END + after)
    return 0


if __name__ == "__main__":
    sys.exit(main())
