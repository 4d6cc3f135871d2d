"""Prefix sums on the processor beside NumPy's: medians, and the least, of calls in turns."""

import argparse
import time
from collections.abc import Callable
from statistics import median

import numpy as np
from measure import save

import vyre
from vyre.kernels import cumsum

CELLS = (
    ((1 << 10,), 0),
    ((1 << 16,), 0),
    ((1 << 20,), 0),
    ((1 << 24,), 0),
    ((1024, 4096), 1),
    ((4096, 1024), 0),
    ((64, 1024, 64), 1),
)
TYPES = ("float32", "int32", "float64")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0, help="for each line")
    given = parser.parse_args()
    device, rows = vyre.open("cpu"), []
    random = np.random.default_rng(0)
    for name in TYPES:
        for shape, axis in CELLS:
            x = (100 * random.standard_normal(shape)).astype(name)
            out, theirs = np.empty_like(x), np.empty_like(x)
            began = time.perf_counter()
            cumsum(x, axis, out=out)
            first_s = time.perf_counter() - began
            sides: tuple[Callable[[], object], ...] = (
                lambda x=x, axis=axis, out=out: cumsum(x, axis, out=out),
                lambda x=x, axis=axis, out=theirs: np.cumsum(x, axis=axis, dtype=x.dtype, out=out),
            )
            times: tuple[list[float], list[float]] = ([], [])
            until = time.perf_counter() + given.seconds
            while time.perf_counter() < until or len(times[0]) < 3:
                for side, taken in zip(sides, times, strict=True):
                    began = time.perf_counter()
                    side()
                    taken.append(time.perf_counter() - began)
            ours, numpys = (median(taken) for taken in times)
            rows.append(
                {
                    "type": name,
                    "shape": list(shape),
                    "axis": axis,
                    "turns": len(times[0]),
                    "first_call_s": round(first_s, 3),
                    "vyre_ms": round(ours * 1e3, 4),
                    "numpy_ms": round(numpys * 1e3, 4),
                    "speed_of_numpy": round(numpys / ours, 3),
                    "least_vyre_ms": round(min(times[0]) * 1e3, 4),
                    "least_numpy_ms": round(min(times[1]) * 1e3, 4),
                }
            )
            print(rows[-1])
    save("scans", {"device": device.info.model, "rows": rows})


if __name__ == "__main__":
    main()
