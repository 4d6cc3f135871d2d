"""`vyre tune`: run the bundled kernels and say how long each takes."""

from __future__ import annotations

import time
from statistics import median

from rich.console import Console
from rich.progress import track
from rich.table import Table

from vyre.kernels import ALL
from vyre.kernels.samples import sample
from vyre.runtime.devices import default

ROUNDS = 3


def tune_bundled(size: int, console: Console) -> None:
    """Time each bundled kernel at about `size` elements and print a table."""
    device = default()
    table = Table(title=f"bundled kernels on {device.name} ({device.info.model})")
    table.add_column("kernel")
    table.add_column("elements", justify="right")
    table.add_column("median of 3", justify="right")
    for kernel in track(ALL, "running", console=console, transient=True):
        call = sample(kernel.name, size)
        times = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            kernel(*call.arrays, **call.options)
            times.append(time.perf_counter() - start)
        table.add_row(kernel.name, f"{call.elements:,}", f"{median(times) * 1e3:.2f} ms")
    console.print(table)
