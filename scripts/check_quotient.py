"""Proves that quotients by a divisor's reciprocal round as a division does: all divisors of [1, 2).

Each is divided into all numbers whose quotient is so near to a midpoint of two numbers that it
could round elsewhere (vyre.testing.quotients says why no other can). Then every device divides
numbers of all exponents by a number that its rounds share: --device NAME for one. Ends with status
1 where a single quotient is another one.
"""

import argparse
import sys
from collections import Counter

import numpy as np

import vyre
from vyre import In, Out, f32
from vyre.testing.quotients import FIRST, LAST, drawn, wrong

PIECE = 1 << 18
DRAWS = 64


@vyre.kernel
def quotients(x: In[f32], by: In[f32], out: Out[f32, 2]):
    """All numbers by each divisor."""
    i = vyre.gid()
    divisor = by[i]
    for k in range(len(x)):
        out[i, k] = x[k] / divisor


def others(device: vyre.Device, seed: int) -> int:
    """How many quotients of a device are other ones than NumPy's."""
    x, by = drawn(np.random.default_rng(seed))
    out = device.array(np.zeros((len(by), len(x)), np.float32))
    quotients(device.array(x), device.array(by), out=out, shape=len(by))
    found = np.asarray(out)
    with np.errstate(all="ignore"):
        expected = x / by[:, None]
    same = found.view(np.uint32) == expected.view(np.uint32)
    same |= np.isnan(found) & np.isnan(expected)
    return int((~same).sum())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", help="the only device to try, such as cuda:0")
    chosen = parser.parse_args().device
    found: Counter[str] = Counter()
    for first in range(FIRST, LAST, PIECE):
        found["next to a midpoint"] += len(wrong(np.arange(first, first + PIECE)))
    for device in [vyre.open(chosen)] if chosen else vyre.devices():
        for seed in range(DRAWS):
            found[f"on {device.name}"] += others(device, seed)
    for way, count in found.items():
        print(f"{way:32} {count} wrong")
    return 1 if any(found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
