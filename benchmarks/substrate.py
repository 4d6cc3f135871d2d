"""Steps of many workloads in one dispatch against NumPy, and from which batch on a device pays.

Both sides give the same bits from host arrays to host arrays; copies to and from the device count.
Each figure is a median of ratios over interleaved blocks, with its 95 % interval and, beside it,
the A/A interval of NumPy against itself. A device pays from the smallest batch on from which the
interval stays below 1.
"""

import argparse
from collections.abc import Callable
from statistics import median

import numpy as np
from measure import halves, interleave, ratio, save

import vyre
from vyre import substrate
from vyre.substrate import fixed, floats

CANDIDATES = 64
BATCHES = (1, 4, 16, 64, 256, 1024, 4096)

Sides = dict[str, Callable[[], object]]


def sides(step: str, rows: int, device: vyre.Device) -> Sides:
    random = np.random.default_rng(rows)
    scratch = substrate.Scratch()
    costs = np.rint(random.lognormal(12, 1, (rows, CANDIDATES))).astype(np.int64)
    heat = np.full(rows, 50_000, np.uint64)
    weights = fixed.weights_q16(costs, heat)
    dispatch, n = device.dispatch, CANDIDATES
    if step == "softmax":
        return {
            "device": lambda: substrate.pick_config_pre_exp(dispatch, weights, scratch=scratch),
            "numpy": lambda: fixed.softmax_q16(weights),
        }
    if step == "pick":
        return {
            "device": lambda: substrate.pick_config(dispatch, costs, 50_000, scratch=scratch),
            "numpy": lambda: fixed.softmax_q16(fixed.weights_q16(costs, heat)),
            "numpy float64": lambda: floats.pick_config(costs, 50_000),
        }
    matrix = random.integers(-65536, 65537, (rows, n, n)).astype(np.int32)
    return {
        "device": lambda: substrate.natural_config_gradient_magnitude(
            dispatch, weights, matrix, scratch=scratch
        ),
        "numpy": lambda: fixed.precondition_q16(matrix, fixed.softmax_q16(weights)),
    }


def compare(step: str, rows: int, device: vyre.Device, blocks: int) -> dict[str, object]:
    calls = max(1, min(50, 1024 // rows))
    times = interleave(sides(step, rows, device), blocks=blocks, calls=calls)
    found = {
        "step": step,
        "rows": rows,
        "candidates": CANDIDATES,
        "ms": {side: round(median(taken) * 1e3, 4) for side, taken in times.items()},
        "device / numpy": ratio(times["device"], times["numpy"]),
        "a_a": halves(times["numpy"]),
    }
    if "numpy float64" in times:
        found["device / numpy float64"] = ratio(times["device"], times["numpy float64"])
    against, same = found["device / numpy"], found["a_a"]
    print(
        f"{step:<8} {rows:>5} x {CANDIDATES}  device {found['ms']['device']:9.3f} ms"
        f"  NumPy {found['ms']['numpy']:9.3f} ms  ratio {against['ratio']:8.3f}"
        f" [{against['low']:.3f}, {against['high']:.3f}]"
        f"  A/A [{same['low']:.3f}, {same['high']:.3f}]",
        flush=True,
    )
    return found


def pays_from(rows: list[dict[str, object]]) -> int | None:
    """The smallest batch from which on the device is faster at every batch measured."""
    first = None
    for row in sorted(rows, key=lambda row: -row["rows"]):
        if row["device / numpy"]["high"] >= 1:
            break
        first = row["rows"]
    return first


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="opencl:0")
    parser.add_argument("--blocks", type=int, default=20)
    given = parser.parse_args()
    device = vyre.open(given.device)
    results: list[dict[str, object]] = []
    starts = {}
    for step in ("softmax", "pick", "natural"):
        swept = [compare(step, rows, device, given.blocks) for rows in BATCHES]
        results += swept
        starts[step] = pays_from(swept)
        print(f"{step}: {device.name} pays from a batch of {starts[step] or 'none measured'}")
    path = save(
        f"substrate_{device.info.backend}",
        results,
        device=f"{device.info.model}, {device.info.compiler}",
        pays_from=starts,
    )
    print(f"saved to {path.name}")


if __name__ == "__main__":
    main()
