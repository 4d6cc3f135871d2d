"""What it is worth that several teams share a result: whole arrays and a long row, by device time.

Schedules of one team, and of two, eight and 32 that share a result, take turns in one process. A
ratio is the median time of one team over that of several: above 1 sharing is faster.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Sequence
from random import Random
from statistics import median

import numpy as np
from measure import ratio, save

import vyre
from vyre.kernels import dot
from vyre.model import Code, Failed, Schedule
from vyre.runtime.call.look import Look, look_at
from vyre.testing.reducers import normalise, softmax

LANES = {"cpu": 32, "cuda": 256}
SHARES = (1, 2, 8, 32)


def cells(powers: Iterable[int]):
    rng = np.random.default_rng(0)
    for power in powers:
        x = rng.standard_normal(2**power).astype(np.float32)
        yield dot, f"2^{power}", {"x": x, "y": x}, False
        yield normalise, f"2^{power}", {"x": x}, True
        yield softmax, f"1 x 2^{power}", {"x": x[None]}, True


def timed(look: Look, schedules: Sequence[Schedule], turns: int):
    times = {schedule: [] for schedule in schedules}
    for turn in range(turns + 1):
        order = list(schedules)
        Random(turn).shuffle(order)
        for schedule in order:
            took = look.time(schedule)
            if isinstance(took, Failed):
                raise SystemExit(f"{schedule.text}: {took.reason}")
            if turn:  # the first also loads the code
                times[schedule].append(took)
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu:0")
    parser.add_argument("--powers", default="16,18,20,22,24")
    parser.add_argument("--turns", type=int, default=15)
    given = parser.parse_args()
    vyre.mode("off")
    device, rows = vyre.open(given.device), []
    lanes, load = LANES[device.info.backend], os.getloadavg()[0]
    for kernel, size, arrays, across in cells(map(int, given.powers.split(","))):
        look = look_at(kernel, device, arrays, {})
        code = Code(lanes=lanes, across=across, checked=False)
        several = [
            Schedule((lanes, 1, 1), Code(**{**code.parts(), "shares": count})) for count in SHARES
        ]
        times = timed(look, several, given.turns)
        alone = times[several[0]]
        row = {"kernel": kernel.name, "size": size, "one_team_us": round(median(alone) / 1e3, 2)}
        for schedule in several[1:]:
            row[f"{schedule.code.shares} teams"] = ratio(alone, times[schedule])
        rows.append(row)
        shown = "  ".join(
            f"{row[f'{count} teams']['ratio']:5.2f}x of {count}" for count in SHARES[1:]
        )
        print(f"{kernel.name:10} {size:9} {row['one_team_us']:10.1f} us  {shown}", flush=True)
    results = {"device": device.info.model, "units": device.info.compute_units}
    save("shares", {**results, "load_before": load, "rows": rows})


if __name__ == "__main__":
    main()
