"""Arguments for the bundled kernels, and what NumPy says the results are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One call of a bundled kernel."""

    elements: int
    arrays: tuple[Array, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    expected: Callable[[], tuple[Array, ...]]  # the outputs, by NumPy


def sample(name: str, size: int, seed: int = 0) -> Sample:
    """A call of the bundled kernel `name` over about `size` elements.

    Kernels that do much work per element get fewer of them: the polynomial, mandelbrot and nearest
    a sixteenth, n-body about the root.
    """
    return _SAMPLES[name](size, np.random.default_rng(seed))


def _normal(random: np.random.Generator, size: int | tuple[int, ...]) -> Array:
    return random.standard_normal(size, dtype=np.float32)


def _saxpy(size: int, random: np.random.Generator) -> Sample:
    x, y = _normal(random, size), _normal(random, size)
    return Sample(
        elements=size,
        arrays=(x, y),
        options={"a": 2.5},
        expected=lambda: (np.float32(2.5) * x + y,),
    )


def _gelu(size: int, random: np.random.Generator) -> Sample:
    x = _normal(random, size)

    def expected() -> tuple[Array, ...]:
        v = x.astype(np.float64)
        return (0.5 * v * (1 + np.tanh(0.7978845608 * (v + 0.044715 * v**3))),)

    return Sample(elements=size, arrays=(x,), expected=expected)


def _exp_log(size: int, random: np.random.Generator) -> Sample:
    x = _normal(random, size)
    return Sample(
        elements=size, arrays=(x,), expected=lambda: (np.log(1 + np.exp(x.astype(np.float64))),)
    )


def _polynomial(size: int, random: np.random.Generator) -> Sample:
    size = max(1, size // 16)
    x = random.uniform(-0.9, 0.9, size).astype(np.float32)

    def expected() -> tuple[Array, ...]:
        s = x.copy()
        for _ in range(512):
            s = s * x + np.float32(0.5)
        return (s,)

    return Sample(elements=size, arrays=(x,), expected=expected)


def _stencil9(size: int, random: np.random.Generator) -> Sample:
    x, w = _normal(random, size), _normal(random, 9)

    def expected() -> tuple[Array, ...]:
        padded = np.pad(x, 4)
        s = np.zeros(size, np.float32)
        for k in range(9):
            s = s + w[k] * padded[k : k + size]
        return (s,)

    return Sample(elements=size, arrays=(x, w), expected=expected)


def _rows(random: np.random.Generator, size: int) -> Array:
    """About as many rows as columns."""
    rows = max(1, isqrt(size))
    return _normal(random, (rows, max(1, size // rows)))


def _stencil5(size: int, random: np.random.Generator) -> Sample:
    x = _rows(random, size)

    def expected() -> tuple[Array, ...]:
        p = np.pad(x, 1)
        around = p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]
        return (np.float32(0.25) * around,)

    return Sample(elements=x.size, arrays=(x,), expected=expected)


def _gather(size: int, random: np.random.Generator) -> Sample:
    table = _normal(random, size)
    index = random.integers(0, size, size).astype(np.uint32)
    return Sample(elements=size, arrays=(table, index), expected=lambda: (table[index],))


def _histogram(size: int, random: np.random.Generator) -> Sample:
    data = random.integers(0, 256, size).astype(np.uint8)
    bins = np.zeros(256, np.uint32)
    return Sample(
        elements=size,
        arrays=(data, bins),
        expected=lambda: (np.bincount(data, minlength=256).astype(np.uint32),),
    )


def _mandelbrot(size: int, random: np.random.Generator) -> Sample:
    size = max(1, size // 16)
    re = random.uniform(-2, 1, size).astype(np.float32)
    im = random.uniform(-1.5, 1.5, size).astype(np.float32)
    most = 100

    def expected() -> tuple[Array, ...]:
        n = np.zeros(size, np.uint32)
        zr, zi = np.zeros_like(re), np.zeros_like(im)
        with np.errstate(all="ignore"):
            for _ in range(most):
                inside = zr * zr + zi * zi <= 4
                zr, zi = (
                    np.where(inside, zr * zr - zi * zi + re, zr),
                    np.where(inside, 2 * zr * zi + im, zi),
                )
                n += inside
        return (n,)

    return Sample(elements=size, arrays=(re, im), options={"most": most}, expected=expected)


def _nbody(size: int, random: np.random.Generator) -> Sample:
    size = max(1, 4 * isqrt(size))
    x, y, z = (_normal(random, size) for _ in range(3))
    m = random.random(size, dtype=np.float32)

    def expected() -> tuple[Array, ...]:
        p = np.stack((x, y, z)).astype(np.float64)
        d = p[:, None, :] - p[:, :, None]
        s = m * (np.sum(d * d, axis=0) + 0.0001) ** -1.5
        return tuple(np.sum(s * d[axis], axis=1) for axis in range(3))

    return Sample(elements=size, arrays=(x, y, z, m), expected=expected)


def _row_softmax(size: int, random: np.random.Generator) -> Sample:
    x = _rows(random, size)

    def expected() -> tuple[Array, ...]:
        e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
        return (e / e.sum(1, keepdims=True),)

    return Sample(elements=x.size, arrays=(x,), expected=expected)


def _layer_norm(size: int, random: np.random.Generator) -> Sample:
    x = _rows(random, size)

    def expected() -> tuple[Array, ...]:
        v = x.astype(np.float64)
        variance = v.var(1, keepdims=True)
        return ((v - v.mean(1, keepdims=True)) / np.sqrt(variance + 1e-5),)

    return Sample(elements=x.size, arrays=(x,), options={"eps": 1e-5}, expected=expected)


def _dot(size: int, random: np.random.Generator) -> Sample:
    x, y = (random.random(size, dtype=np.float32) for _ in range(2))
    return Sample(
        elements=size,
        arrays=(x, y),
        expected=lambda: (np.dot(x.astype(np.float64), y.astype(np.float64)).reshape(1),),
    )


def _nearest(size: int, random: np.random.Generator) -> Sample:
    size = max(1, size // 16)
    x, y, z = (_normal(random, size) for _ in range(3))
    centres = _normal(random, (64, 3))

    def expected() -> tuple[Array, ...]:
        apart = [(p[:, None] - centres[:, axis]) ** 2 for axis, p in enumerate((x, y, z))]
        return ((apart[0] + apart[1] + apart[2]).argmin(1).astype(np.uint32),)

    return Sample(elements=size, arrays=(x, y, z, centres), expected=expected)


_SAMPLES = {
    "saxpy": _saxpy,
    "gelu": _gelu,
    "exp_log": _exp_log,
    "polynomial": _polynomial,
    "stencil9": _stencil9,
    "stencil5": _stencil5,
    "gather": _gather,
    "histogram": _histogram,
    "mandelbrot": _mandelbrot,
    "nbody": _nbody,
    "row_softmax": _row_softmax,
    "layer_norm": _layer_norm,
    "dot": _dot,
    "nearest": _nearest,
}
