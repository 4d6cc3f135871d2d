"""Kernels with reductions that are measured and recorded beside the bundled ones."""

# The annotations here are kernel types, which vyre.lang reads and mypy cannot.
# mypy: ignore-errors

from __future__ import annotations

import vyre
from vyre import In, Out, f32, u32


@vyre.kernel
def total(x: In[f32], out: Out[f32]):
    """All of an array."""
    out[0] = sum(x[k] for k in range(len(x)))


@vyre.kernel
def peak(x: In[f32], out: Out[f32]):
    """The greatest of an array."""
    out[0] = max(x[k] for k in range(len(x)))


@vyre.kernel
def row_totals(x: In[f32, 2], out: Out[f32]):
    """The sum of each row."""
    i = vyre.gid()
    out[i] = sum(x[i, k] for k in range(x.shape[1]))


@vyre.kernel
def column_means(x: In[f32, 2], out: Out[f32]):
    """The mean of each column."""
    j = vyre.gid()
    out[j] = sum(x[i, j] for i in range(len(x))) / f32(len(x))


@vyre.kernel
def column_spreads(x: In[f32, 2], out: Out[f32]):
    """The variance of each column."""
    j = vyre.gid()
    mean = sum(x[i, j] for i in range(len(x))) / f32(len(x))
    out[j] = sum((x[i, j] - mean) ** 2 for i in range(len(x))) / f32(len(x))


@vyre.kernel
def matrix_vector(a: In[f32, 2], v: In[f32], out: Out[f32]):
    """A matrix times a vector."""
    i = vyre.gid()
    out[i] = sum(a[i, k] * v[k] for k in range(len(v)))


@vyre.kernel
def nearest_of(points: In[f32, 2], centres: In[f32, 2], out: Out[u32]):
    """Which centre is nearest to each point, in as many dimensions as they have."""
    i = vyre.gid()
    out[i] = vyre.argmin(
        sum((points[i, d] - centres[c, d]) ** 2 for d in range(points.shape[1]))
        for c in range(len(centres))
    )


@vyre.function
def pull(dx: f32, dy: f32, dz: f32, m: f32) -> f32:
    """What a body of mass `m` pulls with, for each unit that it is away, softened."""
    r = vyre.rsqrt(dx * dx + dy * dy + dz * dz + 0.0001)
    return m * r * r * r


@vyre.kernel
def nbody_sums(
    x: In[f32], y: In[f32], z: In[f32], m: In[f32], ax: Out[f32], ay: Out[f32], az: Out[f32]
):
    """Each body's acceleration from all others, softened, as three sums."""
    i = vyre.gid()
    n = len(x)
    px, py, pz = x[i], y[i], z[i]
    ax[i] = sum(pull(x[j] - px, y[j] - py, z[j] - pz, m[j]) * (x[j] - px) for j in range(n))
    ay[i] = sum(pull(x[j] - px, y[j] - py, z[j] - pz, m[j]) * (y[j] - py) for j in range(n))
    az[i] = sum(pull(x[j] - px, y[j] - py, z[j] - pz, m[j]) * (z[j] - pz) for j in range(n))


KERNELS: dict[str, vyre.Kernel] = {
    kernel.name: kernel
    for kernel in (
        *(total, peak, row_totals, column_means, column_spreads),
        *(matrix_vector, nearest_of, nbody_sums),
    )
}
