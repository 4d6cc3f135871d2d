"""What learning from live calls is worth: calls that learn against calls of the default.

Each bundled kernel is called at two sizes, one where 2,000 default dispatches last at least 10 s
and a small one. Blocks of calls that learn, from the first call of the process on, take turns with
blocks of calls that do not; both work on resident arrays and wait for each result. A ratio is the
median over pairs of blocks with its 95 % interval, the time spent on learning included; `whole` is
all of the one's time over all of the other's. The A/A interval compares the default with itself.
"""

import argparse
import math
import tempfile
import time
from collections.abc import Callable
from statistics import median

import numpy as np
from measure import halves, ratio, save

import vyre
from vyre import kernels, settings
from vyre.kernels.samples import sample
from vyre.learn import process

LARGE_S = 0.005
SMALL = 1 << 12


def caller(kernel: vyre.Kernel, device: vyre.Device, size: int) -> Callable[[], None]:
    given = sample(kernel.name, size)
    arrays = [device.array(array) for array in given.arrays]
    out = kernel(*arrays, **given.options)

    def call() -> None:
        kernel(*arrays, out=out, **given.options)
        device.synchronize()

    return call


def seconds(call: Callable[[], None], count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        call()
    return time.perf_counter() - start


def large_size(kernel: vyre.Kernel, device: vyre.Device) -> int:
    """The first power of two where the default takes long enough; never learned from."""
    size = SMALL
    with vyre.mode("off"):
        while True:
            call = caller(kernel, device, size)
            call()
            took = min(seconds(call, 1) for _ in range(3))
            if took >= LARGE_S:
                return size
            size *= 2 if took > LARGE_S / 3 else 4


def cell(
    kernel: vyre.Kernel, device: vyre.Device, size: int, blocks: int, calls: int
) -> dict[str, object]:
    with vyre.mode("off"):
        default = caller(kernel, device, size)
        default()
    # Calls under `off` would launch what is learned meanwhile; these stay with the default.
    process.recorder()._followers.clear()
    learning = caller(kernel, device, size)
    times: dict[str, list[float]] = {"default": [], "learning": []}
    for number in range(blocks):
        for side in ("default", "learning") if number % 2 else ("learning", "default"):
            if side == "default":
                with vyre.mode("off"):
                    times[side].append(seconds(default, calls))
            else:
                times[side].append(seconds(learning, calls))
    learner = process.deciders().all()[-1] if process.deciders().all() else None
    standing = learner.standing if learner else None
    late = blocks // 2
    return {
        "kernel": kernel.name,
        "size": size,
        "default_ms": round(1e3 * median(times["default"]) / calls, 4),
        "learning": ratio(times["learning"], times["default"]),
        "second_half": ratio(times["learning"][late:], times["default"][late:]),
        "whole": round(sum(times["learning"]) / sum(times["default"]), 4),
        "a_a": halves(times["default"]),
        "chosen": standing.decision.config.text if standing else "left alone",
        "reason": standing.decision.reason.value if standing else "not free",
        "timings": standing.timings if standing else 0,
        "probes": standing.probes if standing else 0,
        "compiled": standing.compiled if standing else 0,
    }


def overhead(device: vyre.Device) -> dict[str, object]:
    """The decision alone, and a call on one element with learning and without."""
    with vyre.mode("off"):
        off = caller(kernels.saxpy, device, 1)
        seconds(off, 100)
    on = caller(kernels.saxpy, device, 1)
    seconds(on, 3000)
    time.sleep(2)  # what was asked for is over
    site = next(s for s in kernels.saxpy._dispatcher.sites if s.teacher is not None)
    empty, decision = [], []
    for _ in range(15):
        start = time.perf_counter()
        for _ in range(100_000):
            pass
        middle = time.perf_counter()
        for _ in range(100_000):
            site.tick()
            if site.asked:
                site.next_asked()
            step = site.best or site.refreshed()
        end = time.perf_counter()
        assert step is not None
        empty.append(middle - start)
        decision.append(end - middle)
    calls: dict[str, list[float]] = {"off": [], "on": []}
    for _ in range(60):
        with vyre.mode("off"):
            calls["off"].append(seconds(off, 500))
        calls["on"].append(seconds(on, 500))
    return {
        "decision_us": round(10 * (median(decision) - median(empty)), 4),
        "call_us": round(1e6 * median(calls["on"]) / 500, 3),
        "call_over_off": ratio(calls["on"], calls["off"]),
        "a_a": halves(calls["off"]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=40)
    parser.add_argument("--calls", type=int, default=50, help="in a block, of the large size")
    parser.add_argument("--small-calls", type=int, default=500)
    parser.add_argument("--kernels", default="", help="names, by comma; all without it")
    parser.add_argument("--print-only", action="store_true", help="write no result")
    given = parser.parse_args()
    settings.preset("VYRE_CACHE_DIR", tempfile.mkdtemp())  # nothing is known beforehand
    device = vyre.open("opencl")
    names = given.kernels.split(",") if given.kernels else [k.name for k in kernels.ALL]
    cells = []
    print(f"{'kernel':12}{'size':>10}{'default':>11}  {'learning / default':22}{'2nd half':>9}")
    for kernel in kernels.ALL:
        if kernel.name not in names:
            continue
        for size, calls in (
            (large_size(kernel, device), given.calls),
            (SMALL, given.small_calls),
        ):
            row = cell(kernel, device, size, given.blocks, calls)
            cells.append({"large": size != SMALL, **row})
            r, late = row["learning"], row["second_half"]
            assert isinstance(r, dict)
            assert isinstance(late, dict)
            interval = f"{r['ratio']:.3f} [{r['low']:.3f}, {r['high']:.3f}]"
            print(
                f"{kernel.name:12}{size:10,}{row['default_ms']:8.3f} ms  {interval:22}"
                f"{late['ratio']:9.3f}",
                flush=True,
            )
    cost = overhead(device)
    large = [c["learning"]["ratio"] for c in cells if c["large"]]  # type: ignore[index]  # made above
    whole = [c["whole"] for c in cells if c["large"]]
    above = [c for c in cells if c["learning"]["low"] > 1.02]  # type: ignore[index]  # made above
    figures = {
        "geometric_mean_large": round(math.exp(np.mean(np.log(large))), 4),
        "geometric_mean_large_whole": round(math.exp(np.mean(np.log(whole))), 4),
        "cells_wholly_above_1.02": len(above),
        "overhead": cost,
    }
    print(f"geometric mean of the large sizes {figures['geometric_mean_large']} (limit 0.85)")
    print(f"  by all time spent {figures['geometric_mean_large_whole']}")
    print(f"cells wholly above 1.02: {len(above)} (limit 0)")
    r = cost["call_over_off"]
    assert isinstance(r, dict)
    print(f"decision {cost['decision_us']} us (limit 0.3), call / call with tuning off")
    print(f"  {r['ratio']} [{r['low']}, {r['high']}] (limit 1.2)")
    if not given.print_only:
        path = save(
            "live",
            {**figures, "cells": cells},
            device=f"{device.info.model}, {device.info.compiler}",
            stats=str(vyre.stats()).splitlines(),
        )
        print(f"saved to {path.name}")


if __name__ == "__main__":
    main()
