"""What exact functions cost on an OpenCL processor: by OpenCL's names, and by the compiler's own.

    python benchmarks/opencl_functions.py [--device opencl:0]

Each function over 2^20 resident elements, both ways in one process, in turns; the host's time of a
call and the wait for it. That both give the same bits is checked on the way.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from measure import interleave, ratio, save

import vyre
from vyre.emit import OPENCL, OPENCL_BY_CLANG

ELEMENTS, BLOCKS, CALLS = 1 << 20, 15, 3
CALLED = {
    "sqrt": "vyre.sqrt({x})",
    "floor": "vyre.floor({x})",
    "ceil": "vyre.ceil({x})",
    "round": "vyre.round({x})",
    "trunc": "vyre.trunc({x})",
    "abs": "abs({x})",
    "copysign": "vyre.copysign({x}, -{x})",
    "fma": "vyre.fma({x}, {x}, {x})",
    "rsqrt": "vyre.rsqrt({x})",
}
SIDES = {"names": OPENCL, "builtins": OPENCL_BY_CLANG}


def kernels() -> str:
    """A module with two kernels for each function and type, which differ by a parameter's name."""
    made = "import vyre\nfrom vyre import In, Out, f32, f64\n"
    for dtype in ("f32", "f64"):
        for name, call in CALLED.items():
            for side in SIDES:
                value = call.format(x=f"{side}[i]")
                made += (
                    f"\n\n@vyre.kernel\ndef {name}_{dtype}_{side}({side}: In[{dtype}], "
                    f"out: Out[{dtype}]):\n    i = vyre.gid()\n    out[i] = {value}\n"
                )
    return made


def values(dtype: str) -> np.ndarray[Any, Any]:
    """Any bits, among them every kind of number."""
    kind: Any = np.float32 if dtype == "f32" else np.float64
    bits: Any = np.uint32 if dtype == "f32" else np.uint64
    found = np.random.default_rng(0).integers(0, np.iinfo(bits).max, ELEMENTS, dtype=bits)
    return found.view(kind)


def measured(device: vyre.Device, module: Any) -> dict[str, Any]:
    found = {}
    for dtype in ("f32", "f64"):
        given = values(dtype)
        x, out = device.array(given), device.array(np.zeros_like(given))
        for name in CALLED:
            sides, results = {}, []
            for side, dialect in SIDES.items():
                device.backend._dialect = dialect  # type: ignore[attr-defined]  # an OpenCL device
                kernel = getattr(module, f"{name}_{dtype}_{side}")
                sides[side] = partial(called, kernel, x, out, device)
                sides[side]()
                results.append(np.asarray(out).copy())
            assert np.array_equal(*results, equal_nan=True), name
            times = interleave(sides, blocks=BLOCKS, calls=CALLS)
            us = {side: round(1e6 * median(some), 1) for side, some in times.items()}
            found[f"{name} {dtype}"] = {**us, **ratio(times["names"], times["builtins"])}
            shown = f"{name:10} {dtype} {us['names']:10,} us {us['builtins']:9,} us"
            print(f"{shown} {found[f'{name} {dtype}']['ratio']:7.2f}x", flush=True)
    return found


def called(kernel: Any, x: Any, out: Any, device: vyre.Device) -> None:
    kernel(x, out=out)
    device.synchronize()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", default="opencl:0")
    given = parser.parse_args()
    vyre.mode("off")
    device = vyre.open(given.device)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "functions_opencl.py").write_text(kernels())
        sys.path.insert(0, folder)
        found = measured(device, importlib.import_module("functions_opencl"))
    path = save("opencl_functions", found, device=f"{device.info.model}, {device.info.compiler}")
    print(f"saved to {path.name}")


if __name__ == "__main__":
    main()
