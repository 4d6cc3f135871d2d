"""Runs CUDA's own text on the host, without a GPU: --programs 1000 --seed 0.

What `vyre.emit` writes for CUDA is compiled by g++ and run with lanes as fibers, which meet at
shuffles and barriers, in a drawn order. Programs and schedules are those of
scripts/soak_tiles.py, and every other batch has extents that warps of several items fill, with
codes for whole tiles. Results must be the reference's bits. Memory lies between forbidden pages; a
vector at an address that it may not have, an overflow of a signed number, lanes that do not meet
and words behind the end of an array are findings.

Prints each finding with its program, and what was run by kind; ends with status 1 where anything
was found.
"""

import argparse
import sys
import time
from math import inf
from random import Random

from vyre.ir.text import to_text
from vyre.plain import plain_lines
from vyre.runtime.devices.device import Device
from vyre.testing.cuda_on_host import CudaOnHost
from vyre.testing.tile_compare import Tally, compare
from vyre.testing.tile_programs import generate_tiled

BATCH = 4  # programs of one build


def shown(seed: int, *, whole: bool) -> str:
    """The program of a seed, and what it ran on."""
    case = generate_tiled(Random(seed), whole=whole)
    shapes = {name: array.shape for name, array in case.arrays.items()}
    return plain_lines(f"extent {case.extent}, shapes {shapes}\n{to_text(case.program)}")


def soak(first: int, programs: int, schedules: int, seconds: float) -> Tally:
    """Compare batch after batch until the programs or the time are over."""
    device, whole_tally, began = Device("cuda-on-host", CudaOnHost()), Tally(), time.monotonic()
    for number, seed in enumerate(range(first, first + programs, BATCH)):
        if time.monotonic() - began > seconds:
            break
        whole = number % 2 == 0
        seeds = range(seed, min(seed + BATCH, first + programs))
        part = compare(device, seeds, count=schedules, whole=whole)
        for wrong in part.wrong:
            said = f"seed {wrong.seed}, whole {whole}, {wrong.schedule}: {wrong.what}"
            print(plain_lines(said), shown(wrong.seed, whole=whole), sep="\n", flush=True)
        whole_tally.add(part)
    return whole_tally


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--schedules", type=int, default=4, help="drawn for each program")
    parser.add_argument("--seconds", type=float, default=inf)
    given = parser.parse_args()
    tally = soak(given.seed, given.programs, given.schedules, given.seconds)
    print(f"{tally.programs} programs, {tally.runs} schedules run, {len(tally.wrong)} mismatches")
    print("run with: " + ", ".join(f"{n} {kind}" for kind, n in tally.kinds.most_common()))
    for why, n in tally.refused.most_common():
        print(f"refused {n}: {why}")
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
