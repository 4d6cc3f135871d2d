"""Compares the substrate's steps on devices with the host: --device NAME… --count 10000 --seed 0.

Prints each difference with the seed that makes it, then how many inputs agreed on each device. With
--calls N it calls one step N times afterwards and prints by how much the process has grown.
"""

import argparse
import resource
import sys
import time

import numpy as np

import vyre
from vyre import substrate
from vyre.testing.steps import LARGEST, step_case, step_differences

ROWS = 8


def soak(device: vyre.Device, count: int, seed: int, largest: int) -> int:
    bad, start = 0, time.monotonic()
    cases = -(-count // ROWS)
    for number in range(cases):
        for found in step_differences(device.dispatch, step_case(seed + number, ROWS, largest)):
            bad += 1
            print(f"{device.name}: {found}", flush=True)
        if number % 100 == 99:
            spent = time.monotonic() - start
            print(f"{device.name}: {(number + 1) * ROWS} inputs in {spent:.0f} s", flush=True)
    print(f"{device}: {cases * ROWS} inputs of five steps, {bad} differ from the host")
    return bad


def growth(device: vyre.Device, calls: int) -> None:
    """By how much the peak of the process rises after the first tenth of the calls."""
    random, scratch = np.random.default_rng(0), substrate.Scratch()
    weights = random.integers(0, 65537, (4, 64)).astype(np.uint32)
    matrix = random.integers(-65536, 65537, (4, 64, 64)).astype(np.int32)
    out = np.empty((4, 64), np.int32)
    peak = 0
    for call in range(calls):
        substrate.natural_config_gradient_magnitude(
            device.dispatch, weights, matrix, scratch=scratch, out=out
        )
        if call == calls // 10:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak
    print(f"{device}: {calls} calls, {grown} KiB more after the first {calls // 10}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", nargs="+", default=[d.name for d in vyre.devices()])
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--largest", type=int, default=LARGEST)
    parser.add_argument("--calls", type=int, default=0)
    given = parser.parse_args()
    opened = [vyre.open(name) for name in given.device]
    bad = sum(soak(device, given.count, given.seed, given.largest) for device in opened)
    if given.calls:
        for device in opened:
            growth(device, given.calls)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
