"""Kernels drawn at random, and what each of their threads does on the host under several blocks.

Some ask for threads and blocks in no other way than by their place, others in all kinds of ways. A
thread runs alone, on memory as it was before the launch; what it leaves there is what it does.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

_AXES = ("x", "y", "z")
_SIZE = 128  # elements of each array, a power of two
THREADS = (24, 4, 2)
BLOCKS = ((24, 4, 2), (8, 1, 1), (1, 4, 2), (12, 2, 1), (1, 1, 1), (3, 4, 1))

_GOOD = (
    "(int)(blockIdx.{a} * blockDim.{a} + threadIdx.{a})",
    "(threadIdx.{a} + blockDim.{a} * blockIdx.{a})",
    "((long long)blockIdx.{a} * blockDim.{a} + threadIdx.{a})",
    "(blockIdx.{a} * (unsigned long long)blockDim.{a} + threadIdx.{a})",
)
_BAD = (
    *("threadIdx.{a}", "blockIdx.{a}", "blockDim.{a}", "gridDim.{a}"),
    "(blockIdx.{a} * blockDim.{a})",
    "(blockIdx.{a} * blockDim.{b} + threadIdx.{a})",
    "(blockIdx.{b} * blockDim.{a} + threadIdx.{a})",
    "(blockIdx.{a} * blockDim.{a} + threadIdx.{b})",
    "(blockIdx.{a} * blockDim.{a} - threadIdx.{a})",
    "(blockIdx.{a} * blockDim.{a} | threadIdx.{a})",
    "(blockIdx.{a} * blockDim.{a} + 2 * threadIdx.{a})",
    "(threadIdx.{a} * blockDim.{a} + blockIdx.{a})",
    "(blockIdx.{a} * 8 + threadIdx.{a})",
    "((blockIdx.{a} + 1) * blockDim.{a} + threadIdx.{a})",
    "(gridDim.{a} * blockDim.{a} + threadIdx.{a})",
    "(blockIdx.{a} * gridDim.{a} + threadIdx.{a})",
    "(blockIdx.{a} ^ threadIdx.{a})",
    "(blockIdx.{a} + threadIdx.{a})",
)
_BINARY = ("+", "-", "*", "&", "|", "^", "<", "==", "!=", ">=")


@dataclass(frozen=True, slots=True)
class Draft:
    """A kernel.

    Args:
        name: as it is called.
        text: in CUDA C++, which the host's compiler reads as well.
        asks: whether it asks for threads or blocks in another way than by a place.
        counts: whether it asks for the number of threads.
    """

    name: str
    text: str
    asks: bool
    counts: bool


class _Drawing:
    """Draws one kernel."""

    def __init__(self, rng: Random, *, odd: float) -> None:
        self.rng, self.odd = rng, odd
        self.asks = self.counts = False
        self.names = ["n", "m"]
        self.axes = rng.choice((("x",), ("x", "y"), _AXES))
        self.number = 0

    def leaf(self) -> str:
        rng = self.rng
        if rng.random() < self.odd:
            self.asks = True
            a = rng.choice(self.axes)
            return rng.choice(_BAD).format(a=a, b=rng.choice([b for b in _AXES if b != a]))
        kind = rng.random()
        if kind < 0.35:
            return rng.choice(_GOOD).format(a=rng.choice(self.axes))
        if kind < 0.4:
            self.counts = True
            return "(int)(blockDim.{a} * gridDim.{a})".format(a=rng.choice(self.axes))
        if kind < 0.75:
            return rng.choice(self.names)
        return str(rng.choice((0, 1, 2, 3, 7, 31, 100, -1)))

    def term(self, depth: int) -> str:
        rng = self.rng
        if depth <= 0 or rng.random() < 0.15:
            return self.leaf()
        kind = rng.random()
        if kind < 0.5:
            return f"({self.term(depth - 1)} {rng.choice(_BINARY)} {self.term(depth - 1)})"
        if kind < 0.6:
            return f"({self.term(depth - 1)} {rng.choice(('/', '%'))} {rng.choice((3, 5, 16))})"
        if kind < 0.68:
            return f"({self.term(depth - 1)} {rng.choice(('>>', '<<'))} {rng.randrange(1, 6)})"
        if kind < 0.8:
            return f"x[{self.term(depth - 1)} & {_SIZE - 1}]"
        if kind < 0.9:
            return f"({self.term(1)} ? {self.term(depth - 1)} : {self.term(depth - 1)})"
        return f"helped({self.term(depth - 1)}, {self.term(depth - 1)})"

    def name(self) -> str:
        self.number += 1
        return f"v{self.number}"

    def block(self, depth: int, count: int) -> str:
        """Statements, whose names end with them."""
        known = len(self.names)
        made = " ".join(self.statement(depth) for _ in range(count))
        del self.names[known:]
        return made

    def statement(self, depth: int) -> str:
        rng, kind = self.rng, self.rng.random()
        if kind < 0.3:
            value, made = self.term(3), self.name()
            self.names.append(made)
            return f"{rng.choice(('int', 'unsigned', 'long long'))} {made} = {value};"
        if kind < 0.6 or depth <= 0:
            return f"y[{self.term(2)} & {_SIZE - 1}] = {self.term(3)};"
        if kind < 0.68:
            return f"if ({self.term(2)}) return;"
        if kind < 0.8:
            other = f" else {{ {self.block(depth - 1, 1)} }}" if rng.random() < 0.5 else ""
            return f"if ({self.term(2)}) {{ {self.block(depth - 1, 2)} }}{other}"
        if kind < 0.92:
            made, end = self.name(), self.term(2)
            self.names.append(made)
            inner = self.block(depth - 1, 2)
            self.names.remove(made)
            return f"for (int {made} = 0; {made} < ({end} & 7); {made}++) {{ {inner} }}"
        made = self.name()
        held = ", ".join(f"(int)({self.term(1)})" for _ in range(4))
        at, where, to = self.term(2), self.term(1), self.name()
        self.names.append(to)
        return f"int {made}[4] = {{{held}}}; {made}[{where} & 3] += 1; int {to} = {made}[{at} & 3];"


def draft(name: str, rng: Random) -> Draft:
    """A kernel of that name."""
    drawing = _Drawing(rng, odd=rng.choice((0.0, 0.0, 0.02, 0.1)))
    place = rng.choice(_GOOD).format(a="x")
    drawing.names.append("i")
    body = f"int i = {place}; {drawing.block(2, rng.randrange(2, 6))} y[i & {_SIZE - 1}] += i;"
    head = f'extern "C" __global__ void {name}(const int *x, int *y, unsigned n, int m)'
    return Draft(name, f"{head} {{ {body} }}", drawing.asks, drawing.counts)


HELPED = "__device__ inline int helped(int a, int b) { return a < b ? a * 3 + b : a - (b >> 1); }\n"

_HOST = """
#include <cstring>
struct Three { unsigned x, y, z; };
static Three threadIdx, blockIdx, blockDim, gridDim;
#define __global__
#define __device__
typedef void (*Kernel)(const int *, int *, unsigned, int);
extern "C" void each_alone(Kernel kernel, const unsigned *grid, const unsigned *block, const int *x,
                           const int *y, int *left, unsigned n, int m, unsigned size) {
    gridDim = {grid[0], grid[1], grid[2]}; blockDim = {block[0], block[1], block[2]};
    const unsigned w = grid[0] * block[0], h = grid[1] * block[1], d = grid[2] * block[2];
    for (unsigned p = 0; p < w * h * d; p++) {
        const unsigned a = p % w, b = p / w % h, c = p / w / h;
        threadIdx = {a % block[0], b % block[1], c % block[2]};
        blockIdx = {a / block[0], b / block[1], c / block[2]};
        memcpy(left + size * p, y, 4 * size);
        kernel(x, left + size * p, n, m);
    }
}
"""


def on_host(drafts: Sequence[Draft], folder: Path) -> Iterator[tuple[Draft, bool]]:
    """Each kernel, and whether a thread at a place left the same under every block."""
    source, library = folder / "drafts.cc", folder / f"drafts{id(drafts)}.so"
    source.write_text("\n".join((_HOST, HELPED, *(one.text for one in drafts))))
    options = ("-std=c++17", "-O1", "-fwrapv", "-fno-strict-aliasing", "-w", "-fPIC", "-shared")
    subprocess.run(  # noqa: S603  # a compiler that is asked for by name
        [str(shutil.which("g++")), *options, "-o", str(library), str(source)], check=True
    )
    loaded = ctypes.CDLL(str(library))
    rng = np.random.default_rng(7)
    x, y = (rng.integers(-(2**31), 2**31, _SIZE, np.int32) for _ in range(2))
    for one in drafts:
        left = [_left(loaded, one, block, x, y) for block in BLOCKS]
        yield one, all((left[0] == other).all() for other in left[1:])


def _left(
    loaded: Any, one: Draft, block: Sequence[int], x: NDArray[np.int32], y: NDArray[np.int32]
) -> NDArray[np.int32]:
    """What each thread leaves, with two pairs of numbers as arguments."""
    three = ctypes.c_uint * 3
    grid = [n // m for n, m in zip(THREADS, block, strict=True)]
    made = np.zeros((2, int(np.prod(THREADS)), _SIZE), np.int32)
    for number, (n, m) in enumerate(((20, 5), (4_000_000_000, -3))):
        loaded.each_alone(
            ctypes.cast(loaded[one.name], ctypes.c_void_p),
            *(three(*grid), three(*block)),
            *(ctypes.c_void_p(array.ctypes.data) for array in (x, y, made[number])),
            *(ctypes.c_uint(n), ctypes.c_int(m), ctypes.c_uint(_SIZE)),
        )
    return made
