"""What a sweep gains over the default: each bundled kernel at 2^16, 2^20 and 2^24.

Tuned and default launches take turns in one process on the same arrays; times are the device's own.
Each cell is a median of paired ratios with its 95 % interval (bootstrap over the blocks); beside it
stands the A/A interval, the default against itself in the same run. Above 1 the sweep's choice is
faster. The last line is the geometric mean.
"""

import argparse
import math
import time
from functools import partial

from measure import ratio, save

import vyre
from vyre import kernels
from vyre.kernels.samples import Sample, sample
from vyre.model import Schedule
from vyre.runtime.call.agree import resident
from vyre.runtime.call.kernel import Kernel
from vyre.runtime.devices.launcher import Launcher

SIZES = {"2^16": 1 << 16, "2^20": 1 << 20, "2^24": 1 << 24}


class Cell:
    """One kernel at one size on resident arrays."""

    def __init__(self, kernel: Kernel, call: Sample, device: vyre.Device) -> None:
        self.kernel, self.device = kernel, device
        self.arrays = tuple(resident(device, array) for array in call.arrays)
        self.options = dict(call.options)
        self.launcher: Launcher = kernel._dispatcher.launcher(device)

    def launch(self, schedule: Schedule | None) -> "partial[float]":
        """A function that launches once and gives the device's nanoseconds."""
        bound = self.kernel._dispatcher.bind(self.arrays, None, None, None, self.options)
        numbers, alignment, _ = bound.numbered
        prepared = self.launcher.prepare(numbers, alignment, schedule)

        def once() -> float:
            ticket = bound.launch(prepared, timed=True)
            ticket.wait()
            return float(ticket.elapsed_ns() or 0)

        return partial(once)


def blocks(cell: Cell, tuned: Schedule, seconds: float) -> dict[str, list[float]]:
    """Device time per launch, block by block, the three sides in turns."""
    sides = {"default": None, "again": None, "tuned": tuned}
    runs = {name: cell.launch(schedule) for name, schedule in sides.items()}
    for run in runs.values():
        run()
        run()
    slowest = max(run() for run in runs.values()) * 1e-9
    repeats = max(1, min(20, int(0.002 / max(slowest, 1e-6))))
    times: dict[str, list[float]] = {name: [] for name in sides}
    order = list(sides)
    end = time.monotonic() + seconds
    while time.monotonic() < end or len(times["tuned"]) < 15:
        for name in order:
            times[name].append(sum(runs[name]() for _ in range(repeats)) / repeats)
        order.append(order.pop(0))
        if len(times["tuned"]) >= 400:
            break
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=float, default=8.0, help="seconds of sweep per cell")
    parser.add_argument("--seconds", type=float, default=2.0, help="of comparing per cell")
    parser.add_argument("--kernels", default="", help="names, by comma; all without it")
    parser.add_argument("--sizes", default=",".join(SIZES))
    given = parser.parse_args()
    device = vyre.open()
    wanted = given.kernels.split(",") if given.kernels else [k.name for k in kernels.ALL]
    results = []
    for kernel in kernels.ALL:
        if kernel.name not in wanted:
            continue
        for label in given.sizes.split(","):
            cell = Cell(kernel, sample(kernel.name, SIZES[label]), device)
            decision = kernel.tune(*cell.arrays, **cell.options, budget_s=given.budget, again=True)
            times = blocks(cell, decision.config, given.seconds)
            gain = ratio(times["default"], times["tuned"])
            same = ratio(times["default"], times["again"])
            results.append(
                {
                    "kernel": kernel.name,
                    "size": label,
                    "gain": gain,
                    "a_a": same,
                    "schedule": decision.config.text,
                    "default_us": round(
                        sorted(times["default"])[len(times["default"]) // 2] / 1e3, 1
                    ),
                    "blocks": len(times["tuned"]),
                }
            )
            print(
                f"{kernel.name:<11}{label:>5} {gain['ratio']:7.2f}x"
                f" [{gain['low']:.2f}, {gain['high']:.2f}]"
                f"  A/A [{same['low']:.2f}, {same['high']:.2f}]  {decision.config.text}",
                flush=True,
            )
    mean = math.exp(sum(math.log(row["gain"]["ratio"]) for row in results) / len(results))
    below = [row for row in results if row["gain"]["high"] < 0.98]
    print(f"geometric mean {mean:.2f}x over {len(results)} cells; {len(below)} wholly below 0.98")
    if not given.kernels:
        save(
            "schedules",
            results,
            device=f"{device.info.model}, {device.info.compiler}",
            geometric_mean=round(mean, 3),
            cells_wholly_below_098=len(below),
        )


if __name__ == "__main__":
    main()
