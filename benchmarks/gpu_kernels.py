"""The kernels of the GPU suite: the bundled ones, and a few more that many people write."""

# The annotations here are kernel types, which vyre.lang reads and mypy cannot.
# mypy: ignore-errors

from __future__ import annotations

from typing import Any

import reduction_kernels
import spaces_kernels

import vyre
from vyre import In, Out, f32, kernels, u8, u32


@vyre.kernel
def filter3(x: In[f32, 2], w: In[f32, (9,)], out: Out[f32, 2]):
    """Three by three weighted neighbours; beyond the edges there is 0."""
    i, j = vyre.gid(0), vyre.gid(1)
    s = 0.0
    for di in range(3):
        for dj in range(3):
            s += w[3 * di + dj] * x[i + di - 1, j + dj - 1]
    out[i, j] = s


@vyre.kernel
def gray_u8(r: In[u8], g: In[u8], b: In[u8], out: Out[u8]):
    """Three planes of bytes to one of their brightness, in whole numbers."""
    i = vyre.gid()
    out[i] = u8((77 * u32(r[i]) + 150 * u32(g[i]) + 29 * u32(b[i])) >> 8)


KERNELS: dict[str, vyre.Kernel] = {
    kernel.name: kernel
    for kernel in (
        *kernels.MAPS,
        *(spaces_kernels.transpose, filter3, spaces_kernels.row_sums, spaces_kernels.product),
        *(spaces_kernels.adam, gray_u8),
    )
}
"""By the names of the cells, each in Vyre's own arithmetic."""

REDUCTIONS: dict[str, vyre.Kernel] = {
    **{kernel.name: kernel for kernel in (kernels.row_softmax, kernels.layer_norm, kernels.dot)},
    **reduction_kernels.KERNELS,
    "row_softmax_fast": kernels.row_softmax,
    "layer_norm_fast": kernels.layer_norm,
    "feature_means": reduction_kernels.column_means,
    "nearest2": reduction_kernels.nearest_of,
    "nearest4": reduction_kernels.nearest_of,
}
"""The same for the suite of reductions."""

_fast: dict[str, vyre.Kernel] = {}


def kernel_of(name: str, fast_math: bool) -> vyre.Kernel:
    """A kernel of the suite, or the same function as one that gives up exact rounding."""
    exact = KERNELS[name] if name in KERNELS else REDUCTIONS[name]
    if not fast_math:
        return exact
    if name not in _fast:
        function: Any = exact.__wrapped__  # by functools.update_wrapper
        _fast[name] = vyre.kernel(fast_math=True)(function)
    return _fast[name]
