"""Fourteen kernels to try, tune and compare, prefix sums, and larger things made of kernels."""

# The annotations here are kernel types, which vyre.lang reads and mypy cannot.
# mypy: ignore-errors

from __future__ import annotations

import vyre.lang as vl
from vyre.kernels.scans import cumsum as cumsum
from vyre.lang import In, InOut, Out, f32, u8, u32
from vyre.runtime.call.making import kernel


@kernel
def saxpy(x: In[f32], y: In[f32], out: Out[f32], a: f32):
    """`a * x + y`: two reads, one write, two operations."""
    i = vl.gid()
    out[i] = a * x[i] + y[i]


@kernel
def gelu(x: In[f32], out: Out[f32]):
    """The tanh form of the Gaussian error linear unit."""
    i = vl.gid()
    v = x[i]
    inner = 0.7978845608 * (v + 0.044715 * v * v * v)
    out[i] = 0.5 * v * (1 + vl.tanh(inner))


@kernel
def exp_log(x: In[f32], out: Out[f32]):
    """`log(1 + exp(x))`, the softplus."""
    i = vl.gid()
    out[i] = vl.log(1 + vl.exp(x[i]))


@kernel
def polynomial(x: In[f32], out: Out[f32]):
    """512 dependent multiply-adds: arithmetic with almost no memory."""
    i = vl.gid()
    v = x[i]
    s = v
    for _ in range(512):
        s = s * v + 0.5
    out[i] = s


@kernel
def stencil9(x: In[f32], w: In[f32, (9,)], out: Out[f32]):
    """Nine weighted neighbours along a line; beyond the ends there is 0."""
    i = vl.gid()
    s = 0.0
    for k in range(9):
        s += w[k] * x[i + k - 4]
    out[i] = s


@kernel
def stencil5(x: In[f32, 2], out: Out[f32, 2]):
    """One Jacobi step of the five-point Laplacian; beyond the edges there is 0."""
    i, j = vl.gid(0), vl.gid(1)
    out[i, j] = 0.25 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])


@kernel
def gather(table: In[f32], index: In[u32], out: Out[f32]):
    """`table[index]`: reads wherever the index points."""
    i = vl.gid()
    out[i] = table[index[i]]


@kernel
def histogram(data: In[u8], bins: InOut[u32, (256,)]):
    """Counts each byte value into `bins`."""
    i = vl.gid()
    vl.atomic_add(bins, u32(data[i]), 1)


@kernel
def mandelbrot(re: In[f32], im: In[f32], out: Out[u32], most: u32):
    """Rounds until the orbit of each point escapes: neighbours take different paths."""
    i = vl.gid()
    cr, ci = re[i], im[i]
    zr, zi = 0.0, 0.0
    n = u32(0)
    while n < most and zr * zr + zi * zi <= 4.0:
        zr, zi = zr * zr - zi * zi + cr, 2 * zr * zi + ci
        n += 1
    out[i] = n


@kernel
def nbody(x: In[f32], y: In[f32], z: In[f32], m: In[f32], ax: Out[f32], ay: Out[f32], az: Out[f32]):
    """Each body's acceleration from all others, softened."""
    i = vl.gid()
    px, py, pz = x[i], y[i], z[i]
    sx, sy, sz = 0.0, 0.0, 0.0
    for j in range(len(x)):
        dx, dy, dz = x[j] - px, y[j] - py, z[j] - pz
        r = vl.rsqrt(dx * dx + dy * dy + dz * dz + 0.0001)
        s = m[j] * r * r * r
        sx += s * dx
        sy += s * dy
        sz += s * dz
    ax[i] = sx
    ay[i] = sy
    az[i] = sz


@kernel
def row_softmax(x: In[f32, 2], out: Out[f32, 2]):
    """Each row as shares of 1, by the exponentials of its elements."""
    i, j = vl.gid()
    top = max(x[i, k] for k in range(x.shape[1]))
    out[i, j] = vl.exp(x[i, j] - top) / sum(vl.exp(x[i, k] - top) for k in range(x.shape[1]))


@kernel
def layer_norm(x: In[f32, 2], out: Out[f32, 2], eps: f32):
    """Each row moved and scaled to a mean of 0 and a variance of 1."""
    i, j = vl.gid()
    n = f32(x.shape[1])
    mean = sum(x[i, k] for k in range(x.shape[1])) / n
    variance = sum((x[i, k] - mean) ** 2 for k in range(x.shape[1])) / n
    out[i, j] = (x[i, j] - mean) * vl.rsqrt(variance + eps)


@kernel
def dot(x: In[f32], y: In[f32], out: Out[f32]):
    """The sum of products: all of two arrays come to one number."""
    out[0] = sum(x[k] * y[k] for k in range(len(x)))


@kernel
def nearest(x: In[f32], y: In[f32], z: In[f32], centres: In[f32, (64, 3)], out: Out[u32]):
    """Which of 64 centres is nearest to each point."""
    i = vl.gid()
    out[i] = vl.argmin(
        (x[i] - centres[c, 0]) ** 2 + (y[i] - centres[c, 1]) ** 2 + (z[i] - centres[c, 2]) ** 2
        for c in range(64)
    )


MAPS = (saxpy, gelu, exp_log, polynomial, stencil9, stencil5, gather, histogram, mandelbrot, nbody)
"""Kernels in which each invocation works by itself."""

REDUCTIONS = (row_softmax, layer_norm, dot, nearest)
"""Kernels with `sum`, `max` or `argmin` of many elements, which lanes may share."""

ALL = (*MAPS, *REDUCTIONS)
