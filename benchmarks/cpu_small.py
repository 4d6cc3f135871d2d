"""What a small call and a first call cost on the CPU, beside NumPy and numba."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from cpu_measure import Side, interleaved, ratio

import vyre
from vyre import kernels, settings

ELEMENTS = 16
REPEATS = 5


def repeated(peers: tuple[str, ...], seconds: float) -> dict[str, Any]:
    """A repeated call of saxpy on 16 elements: microseconds, and times Vyre's."""
    x, y, out = (np.ones(ELEMENTS, np.float32) for _ in range(3))
    a = np.float32(2.5)

    def numpy_out() -> None:
        np.multiply(x, a, out=out)
        np.add(out, y, out=out)

    def learns() -> None:
        vyre.mode("natural")
        vyre.policy("natural")

    call = partial(kernels.saxpy, x, y, a=2.5, out=out)
    sides = {
        "vyre": Side(call, learns),
        "again": Side(call, learns),
        "vyre_frozen": Side(call, vyre.freeze),
        "numpy": Side(lambda: a * x + y),
        "numpy_out": Side(numpy_out),
    }
    if "numba" in peers:
        import cpu_numba  # a library that need not be there

        sides["numba"] = Side(partial(cpu_numba.saxpy, x, y, a, out))
    learns()
    for _ in range(3000):  # what is learned at first is learned
        call()
    times = interleaved(sides, time.monotonic() + seconds, least=20)
    return {
        "elements": ELEMENTS,
        "us": {name: float(f"{1e6 * median(some):.4g}") for name, some in times.items()},
        "ratios": {
            name: ratio(some, times["vyre"]) for name, some in times.items() if name != "vyre"
        },
    }


def first(peers: tuple[str, ...], device: str) -> dict[str, Any]:
    """Medians of first calls in new processes: with nothing compiled, then from what was kept."""
    found: dict[str, Any] = {"repeats": REPEATS}
    runs: dict[str, list[dict[str, float]]] = {"cold": [], "kept": [], "numba": []}
    for _ in range(REPEATS):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("cold", "kept"):
                runs[name].append(_process("vyre", folder, device))
            if "numba" in peers:
                runs["numba"].append(_process("numba", folder, device))
    for name, each in runs.items():
        if each:
            found[name] = {key: round(median(one[key] for one in each), 3) for key in each[0]}
    return found


def _process(side: str, folder: str, device: str) -> dict[str, float]:
    names = ("VYRE_CACHE_DIR", "XDG_CACHE_HOME", "POCL_CACHE_DIR")
    changes = {name: f"{folder}/{name.lower()}" for name in names}
    for kept in changes.values():
        Path(kept).mkdir(exist_ok=True)
    said = subprocess.run(  # noqa: S603  # our own script
        [sys.executable, str(Path(__file__).with_name("cpu_first.py")), side],
        env=settings.for_child({**changes, "VYRE_DEVICE": device}),
        capture_output=True,
        text=True,
    )
    if said.returncode:
        raise SystemExit(f"the first call by {side} failed:\n{said.stderr}")
    answer: dict[str, float] = json.loads(said.stdout)
    return answer
