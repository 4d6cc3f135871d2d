"""Six kernels that nobody tuned for, as a user of Vyre writes them."""

# The annotations here are kernel types, which vyre.lang reads.
# ruff: noqa: ANN001

import math

import vyre
from vyre import In, Out, f32, u32


@vyre.kernel
def sobel(x: In[f32, 2], out: Out[f32, 2]):
    i, j = vyre.gid(0), vyre.gid(1)
    right = x[i - 1, j + 1] + 2 * x[i, j + 1] + x[i + 1, j + 1]
    left = x[i - 1, j - 1] + 2 * x[i, j - 1] + x[i + 1, j - 1]
    below = x[i + 1, j - 1] + 2 * x[i + 1, j] + x[i + 1, j + 1]
    above = x[i - 1, j - 1] + 2 * x[i - 1, j] + x[i - 1, j + 1]
    gx, gy = right - left, below - above
    out[i, j] = vyre.sqrt(gx * gx + gy * gy)


@vyre.function
def normal_below(d):
    """The share of a normal distribution below `d` (Abramowitz and Stegun, 26.2.17)."""
    k = 1 / (1 + 0.2316419 * abs(d))
    tail = 0.3989422804 * vyre.exp(-0.5 * d * d)
    tail *= k * (
        0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429)))
    )
    return 1 - tail if d > 0 else tail


@vyre.kernel
def black_scholes(
    price: In[f32],
    strike: In[f32],
    years: In[f32],
    call: Out[f32],
    put: Out[f32],
    rate: f32,
    volatility: f32,
):
    i = vyre.gid()
    s, x, t = price[i], strike[i], years[i]
    spread = volatility * vyre.sqrt(t)
    d1 = (vyre.log(s / x) + (rate + 0.5 * volatility * volatility) * t) / spread
    below1, below2 = normal_below(d1), normal_below(d1 - spread)
    later = x * vyre.exp(-rate * t)
    call[i] = s * below1 - later * below2
    put[i] = later * (1 - below2) - s * (1 - below1)


@vyre.kernel
def kmeans(points: In[f32, 2], centres: In[f32, 2], nearest: Out[u32]):
    i = vyre.gid()
    best = u32(0)
    least = f32(math.inf)
    for c in range(16):
        total = 0.0
        for k in range(8):
            d = points[i, k] - centres[c, k]
            total += d * d
        if total < least:
            best = c
            least = total
    nearest[i] = best


@vyre.kernel
def heat(x: In[f32, 3], out: Out[f32, 3], c: f32):
    i, j, k = vyre.gid(0), vyre.gid(1), vyre.gid(2)
    around = x[i - 1, j, k] + x[i + 1, j, k]
    around += x[i, j - 1, k] + x[i, j + 1, k]
    around += x[i, j, k - 1] + x[i, j, k + 1]
    out[i, j, k] = x[i, j, k] + c * (around - 6 * x[i, j, k])


@vyre.kernel
def product(a: In[f32, 2], b: In[f32, 2], out: Out[f32, 2]):
    i, j = vyre.gid(0), vyre.gid(1)
    s = 0.0
    for k in range(a.shape[1]):
        s += a[i, k] * b[k, j]
    out[i, j] = s


@vyre.kernel
def csr(starts: In[u32], columns: In[u32], values: In[f32], x: In[f32], out: Out[f32]):
    i = vyre.gid()
    s = 0.0
    for p in range(starts[i], starts[i + 1]):
        s += values[p] * x[columns[p]]
    out[i] = s


ALL = (sobel, black_scholes, kmeans, heat, product, csr)
