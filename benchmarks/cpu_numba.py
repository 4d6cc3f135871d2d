"""The CPU suite's kernels in numba: loops over `prange`, all cores, exact arithmetic.

Of the forms that a user of numba might write, each kernel has the one that was fastest (numba 0.68,
AVX-512, one thread). Whatever is read beside the element is read from slices: an index such as
`x[i - 4]` may count from the end, and the test for it keeps loops from becoming vectors (stencil9,
2^20: 2730 us, from slices 400). Numbers are f32 throughout; a plain 0.5 would make f64 of them.
Beyond edges there is 0, as in Vyre, so rows and ends at an edge are computed with tests, the rest
without. What is at the end of a row is stored through `out`: numba 0.68 loses a store to
`row[columns - 1]` after the loop over the row.
"""

# numba's decorators carry no types.
# ruff: noqa: ANN001, ANN202

from __future__ import annotations

import math

import numba
import numpy as np
from numba import prange

F = np.float32
ZERO, HALF, ONE, TWO, FOUR = F(0), F(0.5), F(1), F(2), F(4)
SIX, QUARTER, SOFT, FAR = F(6), F(0.25), F(0.0001), F(math.inf)
CUBE, ROOT = F(0.044715), F(0.7978845608)
K, A1, A2, A3, A4, A5 = (
    F(0.2316419),
    F(0.31938153),
    F(-0.356563782),
    F(1.781477937),
    F(-1.821255978),
    F(1.330274429),
)
DENSITY = F(0.3989422804)

parallel = numba.njit(
    parallel=True, fastmath=False, nogil=True, error_model="numpy", boundscheck=False
)
inner = numba.njit(fastmath=False, nogil=True, error_model="numpy", boundscheck=False)


@parallel
def saxpy(x, y, a, out):
    for i in prange(len(x)):
        out[i] = a * x[i] + y[i]


@parallel
def gelu(x, out):
    for i in prange(len(x)):
        v = x[i]
        out[i] = HALF * v * (ONE + math.tanh(ROOT * (v + CUBE * v * v * v)))


@parallel
def exp_log(x, out):
    for i in prange(len(x)):
        out[i] = math.log(ONE + math.exp(x[i]))


@parallel
def polynomial(x, out):
    for i in prange(len(x)):
        v = x[i]
        s = v
        for _ in range(512):
            s = s * v + HALF
        out[i] = s


@inner
def _nine(x, w, out):
    for i in range(len(out)):
        s = ZERO
        for k in range(9):
            s += w[k] * x[i + k]
        out[i] = s


@inner
def _nine_at_an_end(x, w, out, first, last):
    n = len(x)
    for i in range(first, last):
        s = ZERO
        for k in range(9):
            if 0 <= i + k - 4 < n:
                s += w[k] * x[i + k - 4]
        out[i] = s


@parallel
def stencil9(x, w, out):
    n, pieces = len(x), numba.get_num_threads()
    size = (n + pieces - 1) // pieces
    for piece in prange(pieces):
        first, last = max(piece * size, 4), min(piece * size + size, n - 4)
        if first < last:
            _nine(x[first - 4 : last + 4], w, out[first:last])
    _nine_at_an_end(x, w, out, 0, min(4, n))
    _nine_at_an_end(x, w, out, max(n - 4, min(4, n)), n)


@inner
def _at(x, i, j):
    return x[i, j] if 0 <= i < x.shape[0] and 0 <= j < x.shape[1] else ZERO


@inner
def _five_at(x, i, j):
    around = _at(x, i - 1, j) + _at(x, i + 1, j) + _at(x, i, j - 1) + _at(x, i, j + 1)
    return QUARTER * around


@parallel
def stencil5(x, out):
    rows, columns = x.shape
    for i in prange(rows):
        if i == 0 or i == rows - 1 or columns < 2:
            for j in range(columns):
                out[i, j] = _five_at(x, i, j)
        else:
            above, here, below, row = x[i - 1], x[i], x[i + 1], out[i]
            for j in range(1, columns - 1):
                row[j] = QUARTER * (above[j] + below[j] + here[j - 1] + here[j + 1])
            out[i, 0] = _five_at(x, i, 0)
            out[i, columns - 1] = _five_at(x, i, columns - 1)


@parallel
def gather(table, index, out):
    for i in prange(len(index)):
        out[i] = table[index[i]]


@parallel
def histogram(data, bins):
    n, pieces = len(data), numba.get_num_threads()
    size = (n + pieces - 1) // pieces
    counts = np.zeros((pieces, 256), np.uint32)
    for piece in prange(pieces):
        own = counts[piece]
        for value in data[piece * size : min(piece * size + size, n)]:
            own[value] += np.uint32(1)
    for piece in range(pieces):
        for value in range(256):
            bins[value] += counts[piece, value]


@parallel
def mandelbrot(re, im, most, out):
    for i in prange(len(re)):
        cr, ci = re[i], im[i]
        zr, zi = ZERO, ZERO
        n = np.uint32(0)
        while n < most and zr * zr + zi * zi <= FOUR:
            zr, zi = zr * zr - zi * zi + cr, TWO * zr * zi + ci
            n = np.uint32(n + np.uint32(1))
        out[i] = n


@parallel
def nbody(x, y, z, m, ax, ay, az):
    for i in prange(len(x)):
        px, py, pz = x[i], y[i], z[i]
        sx, sy, sz = ZERO, ZERO, ZERO
        for j in range(len(x)):
            dx, dy, dz = x[j] - px, y[j] - py, z[j] - pz
            r = ONE / math.sqrt(dx * dx + dy * dy + dz * dz + SOFT)
            s = m[j] * r * r * r
            sx += s * dx
            sy += s * dy
            sz += s * dz
        ax[i] = sx
        ay[i] = sy
        az[i] = sz


@inner
def _slopes_at(x, i, j):
    gx = (_at(x, i - 1, j + 1) + TWO * _at(x, i, j + 1) + _at(x, i + 1, j + 1)) - (
        _at(x, i - 1, j - 1) + TWO * _at(x, i, j - 1) + _at(x, i + 1, j - 1)
    )
    gy = (_at(x, i + 1, j - 1) + TWO * _at(x, i + 1, j) + _at(x, i + 1, j + 1)) - (
        _at(x, i - 1, j - 1) + TWO * _at(x, i - 1, j) + _at(x, i - 1, j + 1)
    )
    return math.sqrt(gx * gx + gy * gy)


@parallel
def sobel(x, out):
    rows, columns = x.shape
    for i in prange(rows):
        if i == 0 or i == rows - 1 or columns < 2:
            for j in range(columns):
                out[i, j] = _slopes_at(x, i, j)
        else:
            a, b, c, row = x[i - 1], x[i], x[i + 1], out[i]
            for j in range(1, columns - 1):
                gx = (a[j + 1] + TWO * b[j + 1] + c[j + 1]) - (a[j - 1] + TWO * b[j - 1] + c[j - 1])
                gy = (c[j - 1] + TWO * c[j] + c[j + 1]) - (a[j - 1] + TWO * a[j] + a[j + 1])
                row[j] = math.sqrt(gx * gx + gy * gy)
            out[i, 0] = _slopes_at(x, i, 0)
            out[i, columns - 1] = _slopes_at(x, i, columns - 1)


@inner
def _normal_below(d):
    k = ONE / (ONE + K * abs(d))
    tail = DENSITY * math.exp(-HALF * d * d)
    tail *= k * (A1 + k * (A2 + k * (A3 + k * (A4 + k * A5))))
    return ONE - tail if d > ZERO else tail


@parallel
def black_scholes(price, strike, years, rate, volatility, call, put):
    for i in prange(len(price)):
        s, x, t = price[i], strike[i], years[i]
        spread = volatility * math.sqrt(t)
        d1 = (math.log(s / x) + (rate + HALF * volatility * volatility) * t) / spread
        below1, below2 = _normal_below(d1), _normal_below(d1 - spread)
        later = x * math.exp(-rate * t)
        call[i] = s * below1 - later * below2
        put[i] = later * (ONE - below2) - s * (ONE - below1)


@parallel
def kmeans(points, centres, nearest):
    for i in prange(len(points)):
        point = points[i]
        best, least = np.uint32(0), FAR
        for c in range(16):
            centre = centres[c]
            total = ZERO
            for k in range(8):
                d = point[k] - centre[k]
                total += d * d
            if total < least:
                best, least = np.uint32(c), total
        nearest[i] = best


@inner
def _heat_at(x, c, i, j, k):
    around = ZERO
    if i > 0:
        around += x[i - 1, j, k]
    if i < x.shape[0] - 1:
        around += x[i + 1, j, k]
    if j > 0:
        around += x[i, j - 1, k]
    if j < x.shape[1] - 1:
        around += x[i, j + 1, k]
    if k > 0:
        around += x[i, j, k - 1]
    if k < x.shape[2] - 1:
        around += x[i, j, k + 1]
    return x[i, j, k] + c * (around - SIX * x[i, j, k])


@parallel
def heat(x, c, out):
    planes, rows, columns = x.shape
    for i in prange(planes):
        for j in range(rows):
            if 0 < i < planes - 1 and 0 < j < rows - 1 and columns > 1:
                front, back = x[i - 1, j], x[i + 1, j]
                above, here, below, row = x[i, j - 1], x[i, j], x[i, j + 1], out[i, j]
                for k in range(1, columns - 1):
                    around = front[k] + back[k] + above[k] + below[k] + here[k - 1] + here[k + 1]
                    row[k] = here[k] + c * (around - SIX * here[k])
                out[i, j, 0] = _heat_at(x, c, i, j, 0)
                out[i, j, columns - 1] = _heat_at(x, c, i, j, columns - 1)
            else:
                for k in range(columns):
                    out[i, j, k] = _heat_at(x, c, i, j, k)


@parallel
def product(a, b, out):
    for i in prange(a.shape[0]):
        row = out[i]
        row[:] = ZERO
        for k in range(a.shape[1]):
            factor, other = a[i, k], b[k]
            for j in range(len(row)):
                row[j] += factor * other[j]


@parallel
def csr(starts, columns, values, x, out):
    for i in prange(len(out)):
        s = ZERO
        for p in range(starts[i], starts[i + 1]):
            s += values[p] * x[columns[p]]
        out[i] = s
