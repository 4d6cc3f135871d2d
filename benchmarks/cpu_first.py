"""How long the first call of a kernel takes in a new process, by Vyre or by numba.

    python benchmarks/cpu_first.py vyre

Printed as JSON, in milliseconds: the import, the first kernel's first call, a second kernel's.
"""

import json
import sys
import time
from collections.abc import Callable

import numpy as np

N = 1 << 16


def milliseconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return round(1e3 * (time.perf_counter() - start), 3)


def by_vyre() -> dict[str, float]:
    start = time.perf_counter()
    import vyre
    from vyre import kernels

    imported = round(1e3 * (time.perf_counter() - start), 3)
    assert vyre.__version__
    x, y, out = (np.ones(N, np.float32) for _ in range(3))
    return {
        "import_ms": imported,
        "first_ms": milliseconds(lambda: kernels.saxpy(x, y, a=2.5, out=out)),
        "second_ms": milliseconds(lambda: kernels.gelu(x, out=out)),
    }


def by_numba() -> dict[str, float]:
    start = time.perf_counter()
    import cpu_numba

    imported = round(1e3 * (time.perf_counter() - start), 3)
    x, y, out = (np.ones(N, np.float32) for _ in range(3))
    return {
        "import_ms": imported,
        "first_ms": milliseconds(lambda: cpu_numba.saxpy(x, y, np.float32(2.5), out)),
        "second_ms": milliseconds(lambda: cpu_numba.gelu(x, out)),
    }


if __name__ == "__main__":
    print(json.dumps(by_numba() if sys.argv[1] == "numba" else by_vyre()))
