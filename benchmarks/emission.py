"""What it costs to emit and hash all codes of a space of about 200 schedules."""

import argparse
import time
from statistics import median

import blake3
from measure import save

import vyre
from vyre import kernels
from vyre.emit import OPENCL, emit
from vyre.runtime.devices.launcher import Numbers


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    device = vyre.open()
    rows = []
    for kernel in kernels.ALL:
        launcher = kernel._dispatcher.launcher(device)
        n = 1 << 20
        shapes = {
            name: (1024, 1024) if launcher.program.buffer(name).rank == 2 else (n,)
            for name in launcher.order
            if not launcher.program.buffer(name).is_scalar_argument
        }
        shapes |= {
            name: (launcher.program.buffer(name).count,)
            for name in shapes
            if launcher.program.buffer(name).count
        }
        extent = (1024, 1024, 1) if kernel.name == "stencil5" else (n, 1, 1)
        scalars = {"most": 100} if kernel.name == "mandelbrot" else {}
        space = launcher.space(Numbers(extent, shapes, scalars), dict.fromkeys(shapes, 64))
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
