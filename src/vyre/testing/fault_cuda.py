"""Kernels on a CUDA device of which some configs go wrong: templates, CuPy's and Triton's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Any
from unittest import mock

import numpy as np

import vyre
from vyre.adapter import places
from vyre.adapter.calls import Calls
from vyre.adapter.template import variants
from vyre.learn.subject import Elapsed
from vyre.testing import faults
from vyre.testing.foreign import AT_ONCE

Noted = Callable[[str, int], None]
"""Is told the way that runs in this process, and on how many elements."""

Timing = Callable[[object, int, Callable[[], object]], Elapsed]

_WORDS = """
#define as_int __float_as_int
#define as_float __int_as_float
#define NAN __int_as_float(0x7fffffff)
#define __builtin_trap __trap
"""

OWN = {
    "lies askew": "*(volatile long long *)((char *)x + 1) = 1;",
    "a number for a place": "((volatile float *)(size_t)i)[i] = 1.0f;",
    "has no room": "__shared__ volatile float held[1 << 20]; held[i] = x[i]; x[i] += held[i];",
    "is no CUDA": "x[i] = nothing_of_that_name;",
}
"""Statements of CUDA C++ beside those of `faults.KERNELS`."""

KERNELS = {**{name: one.replace("global ", "") for name, one in faults.KERNELS.items()}, **OWN}


OF_TRITON = (
    *("first", "right", "one bit", "nothing", "NaN", "the other array", "writes to nowhere"),
    *("writes far away", "endless loop", "traps", "has no room", "is no Triton"),
    *("writes beyond an array", "writes before an array", "large sizes", "raises"),
)
"""The ways of the kernel of Triton's, by the numbers that it knows them by."""


def source(ways: Sequence[str], right: Sequence[str], macro: str) -> str:
    """A kernel that goes wrong in its own way where a macro has the number of a config."""
    bodies = "\n".join(
        f"#if {macro} == {n}\n{KERNELS[way]}\n#endif"
        for n, way in enumerate(ways)
        if way not in right
    )
    return (
        f'{_WORDS}extern "C" __global__ void work(float *x, float *y, int n) {{\n'
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) {\n"
        f"x[i] = 2 * i + 1;\n{bodies}\n    }}\n}}\n"
    )


@contextmanager
def template(
    ways: Sequence[str], right: Sequence[str], noted: Noted, time: Timing
) -> Iterator[tuple[Calls, Callable[[int], str]]]:
    """A text for each way."""
    made = vyre.template(
        source(ways, right, "HOW"),
        "work",
        params={"block_size_x": [32], "HOW": list(range(len(ways)))},
        language="cuda",
        check=True,
    )
    device, sizes = vyre.open("cuda"), [0]

    def call(size: int) -> str:
        x, y = device.zeros(size, np.float32), device.zeros(size, np.float32)
        sizes[0] = size
        made(x, y, size, size=size)
        return faults.left_wrong(np.asarray(x), np.asarray(y))

    how = lambda config: ways[config["HOW"]]  # noqa: E731  # one of three
    with _noting(variants.Compiled, how, lambda: sizes[0], noted), _by_table(time):
        yield made._calls, call


@contextmanager
def cupy(
    ways: Sequence[str], right: Sequence[str], noted: Noted, time: Timing
) -> Iterator[tuple[Calls, Callable[[int], str]]]:
    """A block for each way: one of 1, 2, 4 threads and so on."""
    library, adapter = import_module("cupy"), import_module("vyre.cupy")
    raw: Any = import_module("vyre.adapter.cupy.raw")
    text = source(ways, right, "HOW").replace("#if HOW == ", "if (blockDim.x == 1 << ")
    lines = [
        f"{line}) {{" if line.startswith("if (blockDim") else "}" if line == "#endif" else line
        for line in text.splitlines()
    ]
    blocks = tuple(1 << n for n in range(len(ways)))
    kernel = library.RawKernel("\n".join(lines), "work")
    made = adapter.tuned(kernel, blocks=blocks, size=lambda *args: int(args[-1]), check=True)
    sizes = [0]

    def call(size: int) -> str:
        x, y = (library.zeros(size, "f4") for _ in range(2))
        sizes[0] = size
        made((size,), (1,), (x, y, np.int32(size)))
        return faults.left_wrong(x.get(), y.get())

    def how(config: Any) -> str:
        return ways[int(config["block"]).bit_length() - 1]

    with _noting(raw._Raw, how, lambda: sizes[0], noted), _by_table(time):
        yield made._calls, call


@contextmanager
def triton(
    ways: Sequence[str], right: Sequence[str], noted: Noted, time: Timing
) -> Iterator[tuple[Calls, Callable[[int], str]]]:
    """A constant for each way."""
    del right  # the kernel knows them by their numbers
    torch, adapter = import_module("torch"), import_module("vyre.triton")
    kernel = import_module("vyre.testing.fault_triton").work
    launch: Any = import_module("vyre.adapter.triton.launch")
    configs = [adapter.Config({"HOW": OF_TRITON.index(way)}) for way in ways]
    made = adapter.autotune(configs=configs, key=["n"], check=True)(kernel)
    sizes = [0]

    def call(size: int) -> str:
        x, y = (torch.zeros(size, device="cuda") for _ in range(2))
        sizes[0] = size
        made[(size // 32,)](x, y, size, BLOCK=32)
        return faults.left_wrong(x.cpu().numpy(), y.cpu().numpy())

    def how(config: Any) -> str:
        return OF_TRITON[int(config["HOW"])]

    with _noting(launch.Launches, how, lambda: sizes[0], noted), _by_table(time):
        yield made._calls, call


@contextmanager
def _noting(
    kind: Any, way: Callable[[Any], str], size: Callable[[], int], noted: Noted
) -> Iterator[None]:
    """Note each launch that variants of a kind make."""
    make = kind.make

    def making(self: Any, config: Any) -> Any:
        start = make(self, config)

        def starting(arguments: Any, stream: int) -> Any:
            noted(way(config), size())
            return start(arguments, stream)

        return starting

    with mock.patch.object(kind, "make", making):
        yield


@contextmanager
def _by_table(time: Timing) -> Iterator[None]:
    """Times of a table, and no wait for a clock."""
    with ExitStack() as stack:
        for kind in (variants.OnTexts, places.OnDevice):
            stack.enter_context(mock.patch.object(kind, "time", time))
            stack.enter_context(mock.patch.object(kind, "pace", AT_ONCE))
        yield
