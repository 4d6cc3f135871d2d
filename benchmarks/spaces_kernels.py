"""Kernels whose spaces are recorded beside the bundled ones, and calls of them.

Together they cover element sizes of 1 to 8 bytes, stencils along one to three axes, gathers and
scatters, transposes, sums of rows and columns, products, many arrays, loops that part neighbours,
functions, counters, reductions, and extents that no tile divides. The guess is fitted to what they
take, so each stands for many that people write.
"""

# The annotations here are kernel types, which vyre.lang reads and mypy cannot.
# mypy: ignore-errors

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import isqrt
from typing import Any

import numpy as np
import reduction_kernels

import vyre
from vyre import In, InOut, Out, f16, f32, f64, i16, i32, kernels, u8, u32, u64
from vyre.kernels.samples import sample

PATTERN = 1 << 20
"""Elements that are drawn; longer arrays repeat them, which is quicker and no different to run."""


@vyre.kernel
def copy(x: In[f32], out: Out[f32]):
    i = vyre.gid()
    out[i] = x[i]


@vyre.kernel
def invert_u8(x: In[u8], out: Out[u8]):
    i = vyre.gid()
    out[i] = u8(255 - u32(x[i]))


@vyre.kernel
def blend_u8(x: In[u8], y: In[u8], out: Out[u8], weight: u32):
    i = vyre.gid()
    out[i] = u8((u32(x[i]) * weight + u32(y[i]) * (256 - weight)) >> 8)


@vyre.kernel
def mix_i16(x: In[i16], y: In[i16], out: Out[i16]):
    i = vyre.gid()
    out[i] = i16((i32(x[i]) + i32(y[i])) >> 1)


@vyre.kernel
def axpy_f16(x: In[f16], y: In[f16], out: Out[f16], a: f32):
    i = vyre.gid()
    out[i] = f16(a * f32(x[i]) + f32(y[i]))


@vyre.kernel
def axpy_f64(x: In[f64], y: In[f64], out: Out[f64], a: f64):
    i = vyre.gid()
    out[i] = a * x[i] + y[i]


@vyre.kernel
def hash_u64(x: In[u64], out: Out[u64]):
    i = vyre.gid()
    v = x[i]
    for _ in range(4):
        v = v ^ (v << 13)
        v = v ^ (v >> 7)
        v = v ^ (v << 17)
    out[i] = v


@vyre.kernel
def triad4(a: In[f32], b: In[f32], c: In[f32], d: In[f32], out: Out[f32]):
    i = vyre.gid()
    out[i] = a[i] * b[i] + c[i] * d[i]


@vyre.kernel
def adam(p: InOut[f32], m: InOut[f32], v: InOut[f32], g: In[f32], rate: f32):
    i = vyre.gid()
    grad = g[i]
    first = 0.9 * m[i] + 0.1 * grad
    second = 0.999 * v[i] + 0.001 * grad * grad
    m[i] = first
    v[i] = second
    p[i] = p[i] - rate * first / (vyre.sqrt(second) + 1e-8)


@vyre.kernel
def scale_rows(x: In[f32, 2], s: In[f32], b: In[f32], out: Out[f32, 2]):
    i, j = vyre.gid(0), vyre.gid(1)
    out[i, j] = x[i, j] * s[j] + b[j]


@vyre.kernel
def options(s: In[f32], k: In[f32], t: In[f32], call: Out[f32], put: Out[f32]):
    i = vyre.gid()
    price, strike, years = s[i], k[i], t[i]
    root = 0.3 * vyre.sqrt(years)
    d1 = (vyre.log(price / strike) + (0.02 + 0.045) * years) / root
    d2 = d1 - root
    c1 = 0.5 * vyre.erfc(-0.70710678 * d1)
    c2 = 0.5 * vyre.erfc(-0.70710678 * d2)
    discount = strike * vyre.exp(-0.02 * years)
    call[i] = price * c1 - discount * c2
    put[i] = discount * (1.0 - c2) - price * (1.0 - c1)


@vyre.kernel
def waves(x: In[f32], out: Out[f32]):
    i = vyre.gid()
    v, s = x[i], 0.0
    for k in range(8):
        s += vyre.sin(v * f32(k + 1))
    out[i] = s


@vyre.kernel
def line3(x: In[f64], out: Out[f64]):
    i = vyre.gid()
    out[i] = x[i - 1] + x[i + 1] - 2.0 * x[i]


@vyre.kernel
def box9(x: In[f32, 2], out: Out[f32, 2]):
    i, j = vyre.gid(0), vyre.gid(1)
    s = 0.0
    for di in range(3):
        for dj in range(3):
            s += x[i + di - 1, j + dj - 1]
    out[i, j] = s / 9.0


@vyre.kernel
def filter3(x: In[f32, 2], w: In[f32, (9,)], out: Out[f32, 2]):
    i, j = vyre.gid(0), vyre.gid(1)
    s = 0.0
    for di in range(3):
        for dj in range(3):
            s += w[3 * di + dj] * x[i + di - 1, j + dj - 1]
    out[i, j] = s


@vyre.kernel
def heat3d(x: In[f32, 3], out: Out[f32, 3]):
    i, j, k = vyre.gid(0), vyre.gid(1), vyre.gid(2)
    around = x[i - 1, j, k] + x[i + 1, j, k] + x[i, j - 1, k]
    around = around + x[i, j + 1, k] + x[i, j, k - 1] + x[i, j, k + 1]
    out[i, j, k] = x[i, j, k] + 0.1 * (around - 6.0 * x[i, j, k])


@vyre.kernel
def transpose(x: In[f32, 2], out: Out[f32, 2]):
    i, j = vyre.gid(0), vyre.gid(1)
    out[i, j] = x[j, i]


@vyre.kernel
def transpose_u8(x: In[u8, 2], out: Out[u8, 2]):
    i, j = vyre.gid(0), vyre.gid(1)
    out[i, j] = x[j, i]


@vyre.kernel
def transpose_f64(x: In[f64, 2], out: Out[f64, 2]):
    i, j = vyre.gid(0), vyre.gid(1)
    out[i, j] = x[j, i]


@vyre.kernel
def gray_planes(r: In[u8], g: In[u8], b: In[u8], out: Out[u8]):
    i = vyre.gid()
    out[i] = u8((77 * u32(r[i]) + 150 * u32(g[i]) + 29 * u32(b[i])) >> 8)


@vyre.kernel
def gray_u8(rgb: In[u8], out: Out[u8]):
    i = vyre.gid()
    r, g, b = u32(rgb[3 * i]), u32(rgb[3 * i + 1]), u32(rgb[3 * i + 2])
    out[i] = u8((77 * r + 150 * g + 29 * b) >> 8)


@vyre.kernel
def magnitudes(z: In[f32], out: Out[f32]):
    i = vyre.gid()
    re, im = z[2 * i], z[2 * i + 1]
    out[i] = vyre.sqrt(re * re + im * im)


@vyre.kernel
def opacity(rgba: In[u8], out: Out[u8]):
    i = vyre.gid()
    r, g, b, a = rgba[4 * i], rgba[4 * i + 1], rgba[4 * i + 2], u32(rgba[4 * i + 3])
    out[i] = u8(((77 * u32(r) + 150 * u32(g) + 29 * u32(b)) * a) >> 16)


@vyre.kernel
def transpose_i16(x: In[i16, 2], out: Out[i16, 2]):
    i, j = vyre.gid(0), vyre.gid(1)
    out[i, j] = x[j, i]


@vyre.kernel
def look_up(table: In[f32], index: In[u8], out: Out[f32]):
    i = vyre.gid()
    out[i] = table[u32(index[i])]


@vyre.kernel(unique_writes="to")
def scatter(x: In[f32], index: In[u32], to: InOut[f32]):
    i = vyre.gid()
    to[index[i]] = x[i]


@vyre.kernel
def csr(start: In[u32], column: In[u32], value: In[f32], x: In[f32], out: Out[f32]):
    i = vyre.gid()
    s = 0.0
    for k in range(start[i], start[i + 1]):
        s += value[k] * x[column[k]]
    out[i] = s


@vyre.kernel
def collatz(x: In[u32], out: Out[u32]):
    i = vyre.gid()
    v, n = x[i], u32(0)
    while v > 1 and n < 200:
        v = v // 2 if v % 2 == 0 else 3 * v + 1
        n += 1
    out[i] = n


@vyre.kernel
def row_sums(x: In[f32, 2], out: Out[f32]):
    i = vyre.gid()
    s = 0.0
    for k in range(x.shape[1]):
        s += x[i, k]
    out[i] = s


@vyre.kernel
def product(a: In[f32, 2], b: In[f32, 2], out: Out[f32, 2]):
    i, j = vyre.gid(0), vyre.gid(1)
    s = 0.0
    for k in range(a.shape[1]):
        s += a[i, k] * b[k, j]
    out[i, j] = s


@vyre.kernel
def column_sums(x: In[f32, 2], out: Out[f32]):
    j = vyre.gid()
    s = 0.0
    for k in range(x.shape[0]):
        s += x[k, j]
    out[j] = s


@vyre.kernel
def product_rows(a: In[f32, 2], b: In[f32, 2], out: Out[f32, 2]):
    i, j = vyre.gid(0), vyre.gid(1)
    s = 0.0
    for k in range(a.shape[1]):
        s += a[i, k] * b[j, k]
    out[i, j] = s


@vyre.kernel
def pairs(x: In[f32], out: Out[f32]):
    i = vyre.gid()
    p, s = x[i], 0.0
    for k in range(len(x)):
        d = x[k] - p
        s += d / (1.0 + d * d)
    out[i] = s


@vyre.kernel
def column_peaks(x: In[f64, 2], out: Out[f64]):
    j = vyre.gid()
    s = x[0, j]
    for k in range(x.shape[0]):
        s = max(s, x[k, j])
    out[j] = s


@vyre.kernel
def row_dots(a: In[f32, 2], b: In[f32, 2], out: Out[f32]):
    i = vyre.gid()
    s = 0.0
    for k in range(a.shape[1]):
        s += a[i, k] * b[i, k]
    out[i] = s


@vyre.kernel
def add_turned(x: In[f32, 2], out: Out[f32, 2]):
    i, j = vyre.gid(0), vyre.gid(1)
    out[i, j] = 0.5 * (x[i, j] + x[j, i])


@vyre.kernel
def distances(a: In[f32, 2], b: In[f32, 2], out: Out[f32, 2]):
    i, j = vyre.gid(0), vyre.gid(1)
    s = 0.0
    for k in range(a.shape[1]):
        d = a[i, k] - b[j, k]
        s += d * d
    out[i, j] = s


@vyre.kernel
def filter5(x: In[f32, 2], w: In[f32, (5, 5)], out: Out[f32, 2]):
    i, j = vyre.gid(0), vyre.gid(1)
    s = 0.0
    for di in range(5):
        for dj in range(5):
            s += w[di, dj] * x[i + di - 2, j + dj - 2]
    out[i, j] = s


@vyre.kernel
def five_f64(x: In[f64, 2], out: Out[f64, 2]):
    i, j = vyre.gid(0), vyre.gid(1)
    out[i, j] = x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1] - 4.0 * x[i, j]


@vyre.kernel
def julia(re: In[f32], im: In[f32], out: Out[u32, 2], most: u32):
    i, j = vyre.gid(0), vyre.gid(1)
    zr, zi, n = re[j], im[i], u32(0)
    while n < most and zr * zr + zi * zi <= 4.0:
        zr, zi = zr * zr - zi * zi - 0.4, 2.0 * zr * zi + 0.6
        n += 1
    out[i, j] = n


@vyre.kernel
def logistic(x: In[f32], r: In[f32], out: Out[f32]):
    i = vyre.gid()
    v, a = x[i], r[i]
    for _ in range(200):
        v = a * v * (1.0 - v)
    out[i] = v


@vyre.kernel
def bisect(edges: In[f32], x: In[f32], out: Out[u32]):
    i = vyre.gid()
    low, high = u32(0), u32(len(edges))
    v = x[i]
    while low < high:
        middle = (low + high) // 2
        above = edges[middle] <= v
        low = middle + 1 if above else low
        high = high if above else middle
    out[i] = low


@vyre.kernel
def gamma_u8(table: In[u8, (256,)], x: In[u8], out: Out[u8]):
    i = vyre.gid()
    out[i] = table[u32(x[i])]


product_fast = vyre.kernel(fast_math=True)(product.__wrapped__)
pairs_fast = vyre.kernel(fast_math=True)(pairs.__wrapped__)
filter3_fast = vyre.kernel(fast_math=True)(filter3.__wrapped__)
nbody_sums_fast = vyre.kernel(fast_math=True)(reduction_kernels.nbody_sums.__wrapped__)
options_fast = vyre.kernel(fast_math=True)(options.__wrapped__)


@vyre.kernel
def bins16(data: In[u32], bins: InOut[u32, (16,)]):
    i = vyre.gid()
    vyre.atomic_add(bins, data[i] & 15, 1)


@vyre.kernel
def bins1024(data: In[u32], bins: InOut[u32, (1024,)]):
    i = vyre.gid()
    vyre.atomic_add(bins, data[i] & 1023, 1)


@vyre.kernel
def above(x: In[f32], count: InOut[u32, (1,)]):
    i = vyre.gid()
    if x[i] > 1.0:
        vyre.atomic_add(count, 0, 1)


@vyre.kernel
def clamp_pairs(x: In[f32], y: In[f32], low: Out[f32], high: Out[f32]):
    i = vyre.gid()
    low[i] = min(x[i], y[i])
    high[i] = max(x[i], y[i])


@dataclass(frozen=True, kw_only=True)
class Called:
    """What a kernel is called with."""

    arrays: tuple[Any, ...]
    options: dict[str, Any] = field(default_factory=dict)
    shape: tuple[int, ...] | None = None


def _reals(n: int, dtype: Any = np.float32, seed: int = 0) -> Any:
    drawn = np.random.default_rng(seed).uniform(0.1, 2.0, min(n, PATTERN)).astype(dtype)
    return np.resize(drawn, n)


def _whole(n: int, dtype: Any, below: int, seed: int = 0) -> Any:
    drawn = np.random.default_rng(seed).integers(0, below, min(n, PATTERN)).astype(dtype)
    return np.resize(drawn, n)


def _square(n: int, dtype: Any = np.float32) -> Any:
    rows = isqrt(n)
    columns = n // rows
    return _reals(rows * columns, dtype).reshape(rows, columns)


def _of_rows(n: int, length: int) -> Any:
    """Rows of a length."""
    return _reals(n // length * length).reshape(n // length, length)


def _uneven(n: int) -> Any:
    """A little less than a square; its rows are of an odd length."""
    rows = isqrt(n)
    rows, columns = rows - 3, n // rows - 5
    return _reals(rows * columns).reshape(rows, columns)


def _cube(n: int) -> Any:
    side = 1 << ((n.bit_length() - 1) // 3)
    return _reals(side * side * (n // side // side)).reshape(side, side, n // side // side)


def _csr(n: int) -> Called:
    rows = n // 8
    random = np.random.default_rng(0)
    lengths = random.integers(1, 16, rows)
    start = np.concatenate(([0], np.cumsum(lengths))).astype(np.uint32)
    column = random.integers(0, rows, int(start[-1])).astype(np.uint32)
    return Called(arrays=(start, column, _reals(len(column)), _reals(rows)), shape=(rows,))


def _product(n: int) -> Called:
    side = max(64, isqrt(n) // 4)
    return Called(arrays=(_square(side * side), _square(side * side)))


def _product_rows(n: int) -> Called:
    """A sixteenth as many results, of rows of at most 256."""
    side = max(64, isqrt(n // 16))
    length = min(256, side)
    return Called(arrays=tuple(_reals(side * length, seed=s).reshape(side, length) for s in (0, 1)))


def _filtered(x: Any) -> Called:
    return Called(arrays=(x, _reals(9)))


def _julia(n: int) -> Called:
    rows, columns = isqrt(n), n // isqrt(n)
    across = np.linspace(-1.6, 1.6, columns, dtype=np.float32)
    down = np.linspace(-1.2, 1.2, rows, dtype=np.float32)
    return Called(arrays=(across, down), options={"most": 100}, shape=(rows, columns))


def _bodies(n: int) -> Called:
    return Called(arrays=tuple(_reals(4 * isqrt(n), seed=s) for s in range(4)))


CALLS: dict[str, tuple[Any, Callable[[int], Called]]] = {
    "copy": (copy, lambda n: Called(arrays=(_reals(n),))),
    "invert_u8": (invert_u8, lambda n: Called(arrays=(_whole(n, np.uint8, 256),))),
    "blend_u8": (
        blend_u8,
        lambda n: Called(
            arrays=(_whole(n, np.uint8, 256), _whole(n, np.uint8, 256, 1)), options={"weight": 77}
        ),
    ),
    "mix_i16": (
        mix_i16,
        lambda n: Called(arrays=(_whole(n, np.int16, 9999), _whole(n, np.int16, 9999, 1))),
    ),
    "axpy_f16": (
        axpy_f16,
        lambda n: Called(arrays=(_reals(n, np.float16), _reals(n, np.float16)), options={"a": 2.5}),
    ),
    "axpy_f64": (
        axpy_f64,
        lambda n: Called(arrays=(_reals(n, np.float64), _reals(n, np.float64)), options={"a": 2.5}),
    ),
    "hash_u64": (hash_u64, lambda n: Called(arrays=(_whole(n, np.uint64, 1 << 60),))),
    "triad4": (triad4, lambda n: Called(arrays=tuple(_reals(n, seed=s) for s in range(4)))),
    "adam": (
        adam,
        lambda n: Called(
            arrays=tuple(_reals(n, seed=s) for s in range(4)), options={"rate": 0.001}
        ),
    ),
    "scale_rows": (scale_rows, lambda n: _scaled(_square(n))),
    "options": (options, lambda n: Called(arrays=tuple(_reals(n, seed=s) for s in range(3)))),
    "waves": (waves, lambda n: Called(arrays=(_reals(n),))),
    "line3": (line3, lambda n: Called(arrays=(_reals(n, np.float64),))),
    "box9": (box9, lambda n: Called(arrays=(_square(n),))),
    "filter3": (filter3, lambda n: _filtered(_square(n))),
    "filter3_odd": (filter3, lambda n: _filtered(_uneven(n))),
    "copy_odd": (copy, lambda n: Called(arrays=(_reals(n - 37),))),
    "heat3d": (heat3d, lambda n: Called(arrays=(_cube(n),))),
    "transpose": (transpose, lambda n: _turned(_square(n))),
    "transpose_u8": (
        transpose_u8,
        lambda n: _turned(_whole(isqrt(n) * (n // isqrt(n)), np.uint8, 256).reshape(isqrt(n), -1)),
    ),
    "transpose_f64": (transpose_f64, lambda n: _turned(_square(n, np.float64))),
    "gray_planes": (
        gray_planes,
        lambda n: Called(arrays=tuple(_whole(n, np.uint8, 256, seed) for seed in range(3))),
    ),
    "gray_u8": (
        gray_u8,
        lambda n: Called(arrays=(_whole(3 * n, np.uint8, 256),), shape=(n,)),
    ),
    "magnitudes": (magnitudes, lambda n: Called(arrays=(_reals(2 * n),), shape=(n,))),
    "opacity": (opacity, lambda n: Called(arrays=(_whole(4 * n, np.uint8, 256),), shape=(n,))),
    "transpose_i16": (
        transpose_i16,
        lambda n: _turned(_whole(isqrt(n) * (n // isqrt(n)), np.int16, 999).reshape(isqrt(n), -1)),
    ),
    "look_up": (
        look_up,
        lambda n: Called(arrays=(_reals(256), _whole(n, np.uint8, 256)), shape=(n,)),
    ),
    "scatter": (scatter, lambda n: _scattered(n)),
    "csr": (csr, _csr),
    "collatz": (collatz, lambda n: Called(arrays=(_whole(n // 4, np.uint32, 1 << 20),))),
    "row_sums": (row_sums, lambda n: _summed(_square(n))),
    "product": (product, _product),
    "product_fast": (product_fast, _product),
    "product_rows": (product_rows, _product_rows),
    "column_sums": (column_sums, lambda n: _summed(_square(n), 1)),
    "pairs": (pairs, lambda n: Called(arrays=(_reals(4 * isqrt(n)),))),
    "pairs_fast": (pairs_fast, lambda n: Called(arrays=(_reals(4 * isqrt(n)),))),
    "bins16": (bins16, lambda n: _counted(_whole(n, np.uint32, 1 << 30), 16)),
    "bins1024": (bins1024, lambda n: _counted(_whole(n, np.uint32, 1 << 30), 1024)),
    "above": (above, lambda n: _counted(_reals(n), 1)),
    "clamp_pairs": (clamp_pairs, lambda n: Called(arrays=(_reals(n), _reals(n, seed=1)))),
    "column_peaks": (column_peaks, lambda n: _summed(_square(n, np.float64), 1)),
    "row_dots": (row_dots, lambda n: _dotted(_square(n))),
    "add_turned": (add_turned, lambda n: Called(arrays=(_square(4 ** (n.bit_length() // 2)),))),
    "distances": (distances, _product_rows),
    "filter5": (filter5, lambda n: Called(arrays=(_square(n), _reals(25).reshape(5, 5)))),
    "filter3_fast": (filter3_fast, lambda n: _filtered(_square(n))),
    "five_f64": (five_f64, lambda n: Called(arrays=(_square(n, np.float64),))),
    "julia": (julia, _julia),
    "logistic": (logistic, lambda n: Called(arrays=(_reals(n // 4), _reals(n // 4, seed=1)))),
    "bisect": (
        bisect,
        lambda n: Called(arrays=(np.sort(_reals(4096)), _reals(n, seed=1)), shape=(n,)),
    ),
    "gamma_u8": (
        gamma_u8,
        lambda n: Called(arrays=(_whole(256, np.uint8, 256), _whole(n, np.uint8, 256)), shape=(n,)),
    ),
    "options_fast": (
        options_fast,
        lambda n: Called(arrays=tuple(_reals(n, seed=s) for s in range(3))),
    ),
    "total": (reduction_kernels.total, lambda n: Called(arrays=(_reals(n),))),
    "peak": (reduction_kernels.peak, lambda n: Called(arrays=(_reals(n),))),
    "row_totals": (reduction_kernels.row_totals, lambda n: _summed(_square(n))),
    "row_totals_odd": (reduction_kernels.row_totals, lambda n: _summed(_uneven(n))),
    "short_row_totals": (reduction_kernels.row_totals, lambda n: _summed(_of_rows(n, 64))),
    "long_row_totals": (reduction_kernels.row_totals, lambda n: _summed(_of_rows(n, n // 16))),
    "column_means": (reduction_kernels.column_means, lambda n: _summed(_square(n), 1)),
    "feature_means": (reduction_kernels.column_means, lambda n: _summed(_of_rows(n, 64), 1)),
    "column_spreads": (reduction_kernels.column_spreads, lambda n: _summed(_square(n), 1)),
    "matrix_vector": (
        reduction_kernels.matrix_vector,
        lambda n: Called(arrays=(_square(n), _reals(n // isqrt(n))), shape=(isqrt(n),)),
    ),
    "nearest_of": (
        reduction_kernels.nearest_of,
        lambda n: Called(
            arrays=(_reals(n).reshape(n // 4, 4), _reals(256, seed=1).reshape(64, 4)),
            shape=(n // 4,),
        ),
    ),
    "nbody_sums": (reduction_kernels.nbody_sums, _bodies),
    "nbody_sums_fast": (nbody_sums_fast, _bodies),
}
"""Kernels of the recordings alone, and what each is called with for about so many elements."""


def _scaled(x: Any) -> Called:
    return Called(arrays=(x, _reals(x.shape[1]), _reals(x.shape[1], seed=1)), shape=x.shape)


def _turned(x: Any) -> Called:
    return Called(arrays=(x,), shape=x.shape[::-1])


def _summed(x: Any, axis: int = 0) -> Called:
    return Called(arrays=(x,), shape=(x.shape[axis],))


def _dotted(x: Any) -> Called:
    return Called(arrays=(x, x[::-1].copy()), shape=(x.shape[0],))


def _scattered(n: int) -> Called:
    order = np.random.default_rng(0).permutation(n).astype(np.uint32)
    return Called(arrays=(_reals(n), order, np.zeros(n, np.float32)), shape=(n,))


def _counted(data: Any, bins: int) -> Called:
    return Called(arrays=(data, np.zeros(bins, np.uint32)), shape=data.shape)


def called(name: str, size: int) -> tuple[Any, Called]:
    """A kernel, bundled or of these, and what it is called with for about `size` elements."""
    if name in CALLS:
        kernel, make = CALLS[name]
        return kernel, make(size)
    given = sample(name, size)
    kernel = next(one for one in kernels.ALL if one.name == name)
    return kernel, Called(arrays=given.arrays, options=dict(given.options))


def reductions() -> list[str]:
    """Those with reductions, the bundled ones first."""
    own = {*reduction_kernels.KERNELS.values(), nbody_sums_fast}
    return [
        *(kernel.name for kernel in kernels.REDUCTIONS),
        *(name for name, (kernel, _) in CALLS.items() if kernel in own),
    ]


def names() -> list[str]:
    """Those without, the bundled ones first."""
    apart = set(reductions())
    return [kernel.name for kernel in kernels.MAPS] + [name for name in CALLS if name not in apart]
