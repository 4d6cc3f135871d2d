"""Compares a device with the reference on generated programs: --count 20000 --seed 0 --device NAME.

Batches of programs take turns with the codes, plain ones first; a batch is compiled in one build.
Prints each difference with the seed that makes it, then how many programs agreed.
"""

import argparse
import sys
import time
from dataclasses import replace
from random import Random

import vyre
from vyre.model import Code, Order
from vyre.testing.compare import differences, provable
from vyre.testing.programs import generate

CODES = (
    Code(),
    Code(checked=False),
    Code(items=3, order=Order.BLOCKED),
    Code(items=4, vector=2, checked=False),
    Code(items=4, vector=4, unroll=4, checked=False),
    Code(items=8),
)


def soak(device: vyre.Device, seeds: range, batch: int = 32) -> list[int]:
    """The seeds whose programs differ."""
    bad: set[int] = set()
    start = time.monotonic()
    for first in range(seeds.start, seeds.stop, batch):
        chosen = range(first, min(first + batch, seeds.stop))
        cases = [generate(Random(seed)) for seed in chosen]
        code = CODES[first // batch % len(CODES)]
        free = [provable(device, case, code) for case in cases]
        for suited, form in ((True, code), (False, replace(code, checked=True))):
            mine = [number for number, fits in enumerate(free) if fits is suited]
            for item in differences(device, [cases[number] for number in mine], (form,)):
                seed = chosen[mine[item.case]]
                bad.add(seed)
                print(f"seed {seed}: {item}", flush=True)
        if (first // batch) % 32 == 31:
            done = chosen.stop - seeds.start
            rate = done / (time.monotonic() - start)
            print(f"{done} programs, {len(bad)} differ, {rate:.1f} a second", flush=True)
    return sorted(bad)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="opencl:0")
    given = parser.parse_args()
    bad = soak(vyre.open(given.device), range(given.seed, given.seed + given.count))
    print(f"{given.count} programs on {vyre.open(given.device)}, {len(bad)} mismatches")
    print(f"{given.count - len(bad)} passed, {len(bad)} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
