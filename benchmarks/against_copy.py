"""How near kernels come to a copy of as many bytes, by what was recorded on a GPU.

Reads benchmarks/data/spaces-h200.json.gz: each kernel's best schedule over that of the recorded
copy, at the same size. All kernels here read one array of floats and write another, so that a copy
is the least that they can take; rows that are summed are read alone, and beside half a copy.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from measure import save

from vyre.testing.recordings import read, times_of

SPACES = Path(__file__).parent / "data" / "spaces-h200.json.gz"
COPY = "copy"
KERNELS = ("stencil5", "filter3", "filter3_fast", "transpose", "row_sums")


def best_of(path: Path) -> dict[tuple[str, int], tuple[float, str]]:
    """What the best schedule of each recorded launch took, in nanoseconds, and its text."""
    found = {}
    for one in read(path)["spaces"]:
        times = times_of(one)
        best = min(times, key=times.__getitem__)
        found[one["kernel"], one["size"].bit_length() - 1] = times[best], best.text
    return found


def rows_of(path: Path) -> Iterator[dict[str, Any]]:
    best = best_of(path)
    powers = sorted({power for name, power in best if name == COPY})
    for name in KERNELS:
        for power in powers:
            if (name, power) in best:
                (ns, text), (copied, _) = best[name, power], best[COPY, power]
                yield {
                    "kernel": name,
                    "size": f"2^{power}",
                    "us": round(ns / 1e3, 2),
                    "over_copy": round(ns / copied, 3),
                    "schedule": text,
                }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--spaces", type=Path, default=SPACES)
    parser.add_argument("--print-only", action="store_true", help="write no result")
    given = parser.parse_args()
    try:
        rows = list(rows_of(given.spaces))
    except (OSError, ValueError, KeyError) as error:
        parser.error(f"{given.spaces} is no recording: {error}")
    print(f"{'kernel':14}{'size':6}{'us':>8}{'copies':>8}")
    for row in rows:
        print(f"{row['kernel']:14}{row['size']:6}{row['us']:8.2f}{row['over_copy']:8.3f}")
    if not given.print_only:
        kept = read(given.spaces)
        save("against_copy", rows, recorded={key: kept[key] for key in ("date", "device")})


if __name__ == "__main__":
    main()
