"""Writes the tables of results in README.md from benchmarks/results; --check only compares."""

import json
import math
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE, RESULTS = ROOT / "README.md", ROOT / "benchmarks" / "results"
sys.path.insert(0, str(ROOT / "benchmarks"))

import gpu_ratios  # noqa: E402  # benchmarks are no package: they import each other by name

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
    lines += [f"| geometric mean | {geometric_mean(gains)} over all | | |", ""]
    lines += ["| what a call costs | ratio | 95 % interval |", "|---|---|---|"]
    lines += [
        f"| {row['what']} | {row['ratio']:.2f}x | {row['low']:.2f} to {row['high']:.2f} |"
        for row in calls["results"]
    ]
    if (RESULTS / "cpu.json").exists():
        lines = [*cpu_table(load("cpu")), "", *lines]
    if (RESULTS / "gpu.json").exists():
        lines += ["", *gpu_table(load("gpu"))]
    if (RESULTS / "first_calls.json").exists():
        lines += ["", *first_table(load("first_calls"))]
    return "\n".join(lines) + "\n"


def cpu_table(cpu: dict) -> list[str]:
    """Vyre's swept choice on the processor against the others, by kernel and over all cells."""
    peers = {"numba": "numba", "numpy": "NumPy", "pocl": "PoCL, tuned"}
    cells: dict[str, list[dict]] = {}
    for cell in cpu["results"]["cells"]:
        cells.setdefault(cell["kernel"], []).append(cell)
    lines = [
        f"On the processor against others, NumPy arrays in and out, {cpu['beside']['device']}, "
        f"numba {cpu['beside']['numba']}, {cpu['date']}; geometric means over the sizes measured, "
        "above 1 Vyre is faster:",
        "",
        f"| kernel | {' | '.join(peers.values())} |",
        f"|---|{'---|' * len(peers)}",
    ]
    rows = [*cells.items(), ("all", [cell for some in cells.values() for cell in some])]
    for kernel, some in rows:
        shown = []
        for peer in peers:
            found = [cell["ratios"][peer]["ratio"] for cell in some if peer in cell["ratios"]]
            shown.append(geometric_mean(found) if found else "")
        lines.append(f"| {kernel} | {' | '.join(shown)} |")
    return lines


def gpu_table(gpu: dict) -> list[str]:
    """Vyre beside the others of the GPU suite, by kernel and over all cells."""
    others = {
        "the fastest peer, freedoms equal": lambda row: gpu_ratios.ratio(row, "equal"),
        "exact, the fastest of all": lambda row: gpu_ratios.ratio(row, "exact"),
        "256 threads": lambda row: gpu_ratios.over(row, "vyre_default", "exact"),
        "Triton": lambda row: gpu_ratios.over(row, "triton", "equal"),
        "torch.compile": lambda row: gpu_ratios.over(row, "torch_compile", "equal"),
        "CuPy": lambda row: gpu_ratios.over(row, "cupy", "equal"),
    }
    cells: dict[str, list[dict]] = {}
    for row in gpu["results"]:
        if gpu_ratios.exact_us(row):
            cells.setdefault(row["kernel"], []).append(row)
    lines = [
        f"Tuned against others on one GPU, device time by graph replay, {gpu['device']}, "
        f"{gpu['date']}; geometric means over sizes, above 1 is faster:",
        "",
        f"| kernel | sizes | {' | '.join(others)} |",
        f"|---|---|{'---|' * len(others)}",
    ]
    every = [("all", [row for rows in cells.values() for row in rows])]
    for name, rows in [*cells.items(), *every]:
        ratios = [[value for row in rows if (value := speed(row))] for speed in others.values()]
        sizes = f"{rows[0]['size']} to {rows[-1]['size']}" if name != "all" else "all"
        shown = " | ".join(geometric_mean(some) for some in ratios)
        lines.append(f"| {name} | {sizes} | {shown} |")
    lines += [
        "",
        "The peers contract `a*b+c` and approximate `1/sqrt`; Vyre does so only for a kernel that "
        "says `fast_math`. Freedoms are equal where it does, and where no peer adds in another "
        "order; exact, it rounds as the kernel is written.",
    ]
    launches = gpu["figures"]["launch_ratios"]
    if launches:
        lines += ["", "| what a launch costs the host | ratio | 95 % interval |", "|---|---|---|"]
    lines += [
        f"| {spoken(what)} | {row['ratio']:.2f}x | {row['low']:.2f} to {row['high']:.2f} |"
        for what, row in launches.items()
    ]
    return lines


def first_table(first: dict) -> list[str]:
    """What the first calls of a process cost, with nothing remembered."""
    words = {
        "flat": "flat out",
        "paced": "a call a millisecond",
        "in turn": "six sizes in one process",
    }
    kernels = {row["kernel"] for row in first["results"]["rows"]}
    lines = [
        f"First calls with an empty store, {first['device']}, {first['date']}: device time over "
        f"that of as many launches of the best schedule, geometric means over {len(kernels)} "
        "kernels, 2^18 to 2^26 (in turn, from 2^16):",
        "",
        "| | the default | the first launch | first 100 | first 1000 |",
        "|---|---|---|---|---|",
    ]
    for part, word in words.items():
        found = first["results"]["figures"].get(part)
        if found:
            keys = ("default", "first", "at_100", "at_1000")
            shown = ["" if found[key] is None else f"{found[key]:.2f}" for key in keys]
            lines.append(f"| {word} | {' | '.join(shown)} |")
    return lines


LAUNCHES = {
    "prepared": "a prepared launch",
    "call_resident": "a repeated call on Vyre's arrays",
    "call": "a repeated call on torch tensors",
    "cuda_core": "cuda.core.launch",
    "triton": "Triton's launch",
    "cu_launch_kernel": "cuLaunchKernel",
}


def spoken(pair: str) -> str:
    """Two ways to launch, by the names that readers know."""
    return " / ".join(LAUNCHES[side] for side in pair.split(" / "))


def geometric_mean(ratios: list[float]) -> str:
    return f"{math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}x" if ratios else ""


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
