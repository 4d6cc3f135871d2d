"""Compares devices with the model of reductions: --count 100 --seed 0 --device cpu --device opencl.

Each seed draws every operation with every type of elements, over rows of rounds that begin and end
where lanes and blocks do, with and without conditions, -0, NaN, infinities and ties among the
elements. With --large they are 2**20, 2**20 + 1 and 2**25 rounds of one row, and with --nested
reductions in the rounds of others, a few rounds each. Every case runs under every code of
`codes_of`, and must give the model's bits. The device cuda-on-host is CUDA's own text
on this machine's processor. Prints each difference with what makes it, then how many cases agreed;
ends with status 1 where one did not.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from math import inf
from random import Random

import vyre
from vyre.model import Code
from vyre.runtime.devices.device import Device
from vyre.testing.compare import codes_of, differences
from vyre.testing.cuda_on_host import CudaOnHost
from vyre.testing.nested import Nested, nested, nests
from vyre.testing.programs import Case
from vyre.testing.reductions import KINDS, Row, modelled, rows

LARGE = (2**20, 2**20 + 1, 2**25)
BATCH = 8  # programs of one build
NESTS = 24  # of a seed


def opened(name: str) -> Device:
    """A device by its name; CUDA's text on the host is one of its own."""
    return Device(name, CudaOnHost()) if name == "cuda-on-host" else vyre.open(name)


def large(seed: int) -> Iterator[Row]:
    """Every kind of reduction of every large size."""
    for size in LARGE:
        for number, (op, dtype) in enumerate(KINDS):
            yield Row(op=op, dtype=dtype, rounds=size, passes=None if (number + seed) % 2 else 0.7)


def case_of(one: Row | Nested, rng: Random) -> Case:
    """A program, its arrays, and what the model makes of it."""
    return modelled(one, rng) if isinstance(one, Row) else nested(one, rng)


def codes_for(device: Device, one: Row | Nested) -> tuple[Code, ...]:
    """What cases run under; on a GPU several results of an invocation share what both read."""
    several = Code(items=2), Code(items=4, checked=False)
    is_wide = isinstance(one, Nested) and device.info.simd is None
    return (*codes_of(device), *several) if is_wide else codes_of(device)


def differing(device: Device, wanted: Sequence[Row | Nested], seed: int) -> Iterator[str]:
    """What a device computes otherwise than the model, in words."""
    for first in range(0, len(wanted), BATCH):
        chosen = wanted[first : first + BATCH]
        # One at a time where a case alone is a large share of the memory.
        whole = [chosen] if chosen[0].rounds < min(LARGE) else [[row] for row in chosen]
        for some in whole:
            cases = [case_of(row, Random(f"{seed} {row}")) for row in some]
            for item in differences(device, cases, codes_for(device, wanted[0])):
                yield f"seed {seed}, {some[item.case]}, {item.code}: {item.mismatch}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", action="append")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--nested", action="store_true")
    parser.add_argument("--seconds", type=float, default=inf)
    given = parser.parse_args()
    done = bad = 0
    began = time.monotonic()
    for name in given.device or ["reference"]:
        device = opened(name)
        for seed in range(given.seed, given.seed + given.count):
            if time.monotonic() - began > given.seconds:
                break
            wanted: list[Row | Nested] = list(large(seed) if given.large else rows(seed))
            if given.nested:
                wanted = list(nests(seed, NESTS))
            found = list(differing(device, wanted, seed))
            for text in found:
                print(f"{name}: {text}", flush=True)
            done, bad = done + len(wanted), bad + len(found)
    print(f"{done} reductions, {bad} differences, {time.monotonic() - began:.0f} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
