"""Proves that `rsqrt` of f32 is rounded once: every number of [1, 4), in each way it is computed.

All other positive numbers are those times powers of 4, and no step of a way comes near an end of
the range, so their results are the same times powers of 2. The ways are the reference's by f64, the
last step after an exact quotient and root (the CPU and OpenCL), and both steps after an estimate
that is up to 3 units away (CUDA). Then every device computes all of them: --device NAME for one.
Ends with status 1 where a single result is not the nearest.
"""

import argparse
import sys
from collections import Counter

import numpy as np

import vyre
from vyre import In, Out, f32
from vyre.testing.inverse_roots import FIRST, LAST, failures, not_nearest, numbers

PIECE = 1 << 18


@vyre.kernel
def inverse_roots(x: In[f32], out: Out[f32]):
    """`rsqrt` of each element."""
    i = vyre.gid()
    out[i] = vyre.rsqrt(x[i])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", help="the only device to try, such as cuda:0")
    chosen = parser.parse_args().device
    wrong: Counter[str] = Counter()
    for first in range(FIRST, LAST, PIECE):
        wrong.update(failures(numbers(np.arange(first, first + PIECE))))
    x = numbers(np.arange(FIRST, LAST))
    for device in [vyre.open(chosen)] if chosen else vyre.devices():
        found = np.asarray(inverse_roots(device.array(x)))
        wrong[f"on {device.name}"] = int(not_nearest(x, found).sum())
    for way, count in wrong.items():
        print(f"{way:32} {count} of {LAST - FIRST:,} not the nearest")
    return 1 if any(wrong.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
