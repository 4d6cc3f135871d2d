"""Fills the caches of the peers' compilers for the cells of the GPU suite, in processes of its own.

Triton and torch.compile take seconds for a kernel, which a process that measures would wait for
again and again; what they keep on disk it finds at once. Nothing is measured here.

    python benchmarks/gpu_prepare.py saxpy:14 saxpy:18
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping, Sequence

MOST_S = 150.0


def prepare(cells: Sequence[tuple[str, int]], jobs: int, environment: Mapping[str, str]) -> None:
    """Have so many processes compile what the peers of these cells run."""
    began = time.monotonic()
    words = [f"{kernel}:{power}" for kernel, power in cells]
    shares = [words[number::jobs] for number in range(min(jobs, len(words)))]
    started = [
        subprocess.Popen([sys.executable, __file__, *share], env=dict(environment))  # noqa: S603  # ourselves
        for share in shares
    ]
    for process in started:
        try:
            process.wait(max(0.1, MOST_S - (time.monotonic() - began)))
        except subprocess.TimeoutExpired:
            process.kill()  # what it has compiled is kept; the rest is compiled where it is run
            process.wait()
    print(f"the peers of {len(words)} cells compiled in {time.monotonic() - began:.0f} s")


def main() -> None:
    import gpu_cells  # what follows loads torch, which only such a process needs
    import gpu_device
    import gpu_reduction_cells
    import gpu_reduction_device
    import gpu_triton
    import torch
    from gpu_sides import told

    def once(call: object, quantiles: Sequence[float]) -> list[float]:
        """Every configuration is compiled and run; which is quickest is found out later."""
        call()  # type: ignore[operator]
        return [1.0] * len(quantiles)

    gpu_triton._time = once
    for word in sys.argv[1:]:
        kernel, _, power = word.partition(":")
        reduces = kernel in gpu_reduction_cells.POWERS
        made_by = gpu_reduction_cells if reduces else gpu_cells
        cell = made_by.make(torch, kernel, int(power))
        for side, module, make in (gpu_reduction_device if reduces else gpu_device).peers(cell):
            try:
                make(__import__(module))()
                torch.cuda.synchronize()
            except Exception as error:  # noqa: BLE001  # the process that measures will tell
                print(f"{word} {side}: {told(error)}", flush=True)
        del cell
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
