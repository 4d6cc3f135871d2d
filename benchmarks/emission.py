"""What it costs to emit and hash all codes of a space of about 200 schedules."""

import argparse
import time
from statistics import median

import blake3
from measure import save

import vyre
from vyre import kernels
from vyre.emit import OPENCL, emit
from vyre.kernels.samples import sample


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    device = vyre.open("opencl")
    rows = []
    for kernel in kernels.ALL:
        launcher = kernel._dispatcher.launcher(device)
        given = sample(kernel.name, 1 << 20)
        bound = kernel._dispatcher.bind(given.arrays, None, None, None, given.options)
        numbers, alignment, _ = bound.numbered
        space = launcher.space(numbers, dict.fromkeys(alignment, 64))
        times = []
        for _ in range(5):
            start = time.perf_counter()
            for code in space.codes:
                source = emit(kernel.program, code, OPENCL, launcher.facts)
                blake3.blake3(source.text.encode()).hexdigest()
            times.append((time.perf_counter() - start) * 1e3)
        rows.append(
            {
                "kernel": kernel.name,
                "schedules": len(space.legal),
                "codes": len(space.codes),
                "ms": round(median(times), 1),
                "ms_per_200_schedules": round(median(times) * 200 / len(space.legal), 1),
            }
        )
        print(rows[-1])
    save("emission", rows)


if __name__ == "__main__":
    main()
