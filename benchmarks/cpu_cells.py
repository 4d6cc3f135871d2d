"""What the CPU suite runs: ten of the bundled kernels and six others, at three sizes each, in f32.

A size is written as the elements of its largest array, of all dimensions together, with these
exceptions: the polynomial and mandelbrot do so much per element that they get a sixteenth (as in
`vyre.kernels.samples`), n-body and the matrix product are named by bodies and by rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isqrt
from typing import Any

import cpu_work
import numpy as np
from numpy.typing import NDArray

from vyre import Kernel, kernels
from vyre.kernels.samples import sample

Array = NDArray[Any]

KERNELS: dict[str, Kernel] = {kernel.name: kernel for kernel in (*kernels.MAPS, *cpu_work.ALL)}
LABELS = ("2^16", "2^20", "2^24")
OTHER = {  # what stands for these sizes, where it is something else
    "nbody": (1 << 10, 1 << 12, 1 << 13),
    "product": (256, 1024, 2048),
}
CENTRES, AXES, PER_ROW = 16, 8, 16

SAME = 1e-4
"""How far two results may be apart, as a share of their root mean square: sums of many terms."""

DECIDED = 1e-3
"""The share of counts and indices that may differ: where one rounding decides between two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One kernel at one size, on NumPy arrays."""

    kernel: str
    label: str
    size: str  # what it is of, in words
    inputs: tuple[Array, ...]  # in the kernel's order; what is updated comes last
    outs: tuple[Array, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def results(self) -> tuple[Array, ...]:
        """What holds the result after a call: the outputs, or what is updated."""
        return self.outs or self.inputs[-1:]

    @property
    def out(self) -> Any:
        """As `out=` of a call takes it."""
        return None if not self.outs else self.outs[0] if len(self.outs) == 1 else self.outs

    def clear(self) -> None:
        """Leave nothing that could pass for a result."""
        for array in self.results:
            if not self.outs:
                array.fill(0)  # what is updated is added to
            else:
                array.fill(np.nan if array.dtype.kind == "f" else np.iinfo(array.dtype).max)

    def arguments(self) -> tuple[Any, ...]:
        """Inputs, scalars of 32 bits and outputs, as a plain function takes them."""
        return (*self.inputs, *map(_narrow, self.options.values()), *self.outs)


def _narrow(value: float) -> np.generic:
    return np.uint32(value) if isinstance(value, int) else np.float32(value)


def make(kernel: str, label: str) -> Cell:
    """The arrays of a cell, the same in every process."""
    number = LABELS.index(label)
    return of_size(kernel, OTHER.get(kernel, (1 << 16, 1 << 20, 1 << 24))[number], label)


def of_size(kernel: str, size: int, label: str = "") -> Cell:
    """A kernel's arrays at about this size, or of this many bodies or rows."""
    rng = np.random.default_rng(size)
    if kernel in _MADE:
        return _MADE[kernel](size, label, rng)
    given = sample(kernel, (size // 4) ** 2 if kernel == "nbody" else size)
    count = {"nbody": 3, "histogram": 0}.get(kernel, 1)
    dtype = np.uint32 if kernel == "mandelbrot" else np.float32
    shape = given.arrays[0].shape
    return Cell(
        kernel=kernel,
        label=label,
        size=f"{'x'.join(map(str, shape))} {'bodies' if kernel == 'nbody' else 'elements'}",
        inputs=given.arrays,
        outs=tuple(np.zeros(shape, dtype) for _ in range(count)),
        options=given.options,
    )


def _normal(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal(shape, dtype=np.float32)


def _sobel(size: int, label: str, rng: np.random.Generator) -> Cell:
    rows = isqrt(size)
    shape = (rows, size // rows)
    return Cell(
        kernel="sobel",
        label=label,
        size=f"{shape[0]}x{shape[1]} elements",
        inputs=(_normal(rng, *shape),),
        outs=(np.zeros(shape, np.float32),),
    )


def _black_scholes(size: int, label: str, rng: np.random.Generator) -> Cell:
    ranges = ((5, 30), (1, 100), (0.25, 10))
    return Cell(
        kernel="black_scholes",
        label=label,
        size=f"{size} options",
        inputs=tuple(rng.uniform(low, high, size).astype(np.float32) for low, high in ranges),
        outs=(np.zeros(size, np.float32), np.zeros(size, np.float32)),
        options={"rate": 0.02, "volatility": 0.3},
    )


def _kmeans(size: int, label: str, rng: np.random.Generator) -> Cell:
    points = max(1, size // AXES)
    return Cell(
        kernel="kmeans",
        label=label,
        size=f"{points} points of {AXES} axes, {CENTRES} centres",
        inputs=(_normal(rng, points, AXES), _normal(rng, CENTRES, AXES)),
        outs=(np.zeros(points, np.uint32),),
    )


def _heat(size: int, label: str, rng: np.random.Generator) -> Cell:
    power = size.bit_length() - 1
    shape = (1 << power // 3, 1 << (power + 1) // 3, 1 << (power + 2) // 3)
    return Cell(
        kernel="heat",
        label=label,
        size=f"{shape[0]}x{shape[1]}x{shape[2]} elements",
        inputs=(_normal(rng, *shape),),
        outs=(np.zeros(shape, np.float32),),
        options={"c": 0.1},
    )


def _product(size: int, label: str, rng: np.random.Generator) -> Cell:
    return Cell(
        kernel="product",
        label=label,
        size=f"{size}x{size} by {size}x{size}",
        inputs=(_normal(rng, size, size), _normal(rng, size, size)),
        outs=(np.zeros((size, size), np.float32),),
    )


def _csr(size: int, label: str, rng: np.random.Generator) -> Cell:
    rows = max(1, size // PER_ROW)
    lengths = rng.integers(0, 2 * PER_ROW + 1, rows)
    starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.uint32)
    entries = int(starts[-1])
    return Cell(
        kernel="csr",
        label=label,
        size=f"{rows} rows, {entries} entries",
        inputs=(
            starts,
            rng.integers(0, rows, entries).astype(np.uint32),
            _normal(rng, entries),
            _normal(rng, rows),
        ),
        outs=(np.zeros(rows, np.float32),),
    )


_MADE: dict[str, Callable[[int, str, np.random.Generator], Cell]] = {
    "sobel": _sobel,
    "black_scholes": _black_scholes,
    "kmeans": _kmeans,
    "heat": _heat,
    "product": _product,
    "csr": _csr,
}


def wanted(names: str, labels: str) -> list[tuple[str, str]]:
    """The cells of the words of a command line, the small ones first.

    >>> wanted("heat,saxpy", "2^16,2^20")
    [('saxpy', '2^16'), ('heat', '2^16'), ('saxpy', '2^20'), ('heat', '2^20')]
    """
    chosen = names.split(",") if names else list(KERNELS)
    sizes = labels.split(",") if labels else list(LABELS)
    for kind, words, known in (("kernel", chosen, KERNELS), ("size", sizes, LABELS)):
        unknown = [word for word in words if word not in known]
        if unknown:
            raise SystemExit(f"no {kind} {unknown[0]!r}\nFix: use some of {','.join(known)}")
    return [
        (name, label) for label in LABELS if label in sizes for name in KERNELS if name in chosen
    ]


def copied(arrays: tuple[Any, ...]) -> tuple[Array, ...]:
    """The arrays' contents now, on the host."""
    return tuple(np.array(array) for array in arrays)


def apart(expected: tuple[Array, ...], found: tuple[Array, ...]) -> float:
    """How far two results are apart, as a share of what is allowed; above 1 is wrong."""
    most = 0.0
    for right, got in zip(expected, found, strict=True):
        if right.shape != got.shape:
            return float("inf")
        if right.dtype.kind != "f":
            most = max(most, float(np.mean(right != got)) / DECIDED)
            continue
        scale = float(np.sqrt(np.mean(np.square(right, dtype=np.float64))))
        off = float(np.max(np.abs(right - got))) / (SAME * scale)
        most = max(most, off if off == off else float("inf"))  # what is not a number is wrong
    return most
