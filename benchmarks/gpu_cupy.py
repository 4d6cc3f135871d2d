"""The suite's kernels as CuPy's ElementwiseKernel, on views of torch's arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import cupy
import torch
from gpu_cells import Cell, signed

_KERNELS = {
    "saxpy": ("float32 x, float32 y, float32 a", "float32 out", "out = a * x + y;"),
    "gelu": (
        "float32 x",
        "float32 out",
        "out = 0.5f * x * (1.0f + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));",
    ),
    "exp_log": ("float32 x", "float32 out", "out = logf(1.0f + expf(x));"),
    "polynomial": (
        "float32 x",
        "float32 out",
        "const float v = x; float s = v; for (int k = 0; k < 512; ++k) s = s * v + 0.5f; out = s;",
    ),
    "stencil9": (
        "raw float32 x, raw float32 w, int32 length",
        "float32 out",
        """
        float s = 0.0f;
        const int at = static_cast<int>(i);
        for (int k = 0; k < 9; ++k) {
            const int j = at + k - 4;
            if (j >= 0 && j < length) s += w[k] * x[j];
        }
        out = s;
        """,
    ),
    "stencil5": (
        "raw float32 x, int32 rows, int32 columns",
        "float32 out",
        """
        const int at = static_cast<int>(i);
        const int r = at / columns, c = at - r * columns;
        const float up = r > 0 ? x[at - columns] : 0.0f;
        const float down = r < rows - 1 ? x[at + columns] : 0.0f;
        const float left = c > 0 ? x[at - 1] : 0.0f;
        const float right = c < columns - 1 ? x[at + 1] : 0.0f;
        out = 0.25f * (up + down + left + right);
        """,
    ),
    "gather": ("raw float32 table, uint32 index", "float32 out", "out = table[index];"),
    "histogram": ("uint8 value", "raw uint32 bins", "atomicAdd(&bins[value], 1u);"),
    "mandelbrot": (
        "float32 re, float32 im, uint32 most",
        "uint32 out",
        """
        float zr = 0.0f, zi = 0.0f;
        unsigned int count = 0;
        while (count < most && zr * zr + zi * zi <= 4.0f) {
            const float next = zr * zr - zi * zi + re;
            zi = 2.0f * zr * zi + im;
            zr = next;
            ++count;
        }
        out = count;
        """,
    ),
    "nbody": (
        "raw float32 x, raw float32 y, raw float32 z, raw float32 m, int32 length",
        "float32 ax, float32 ay, float32 az",
        """
        const float px = x[i], py = y[i], pz = z[i];
        float sx = 0.0f, sy = 0.0f, sz = 0.0f;
        for (int j = 0; j < length; ++j) {
            const float dx = x[j] - px, dy = y[j] - py, dz = z[j] - pz;
            const float r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.0001f);
            const float s = m[j] * r * r * r;
            sx += s * dx;
            sy += s * dy;
            sz += s * dz;
        }
        ax = sx;
        ay = sy;
        az = sz;
        """,
    ),
    "transpose": (
        "raw float32 x, int32 rows, int32 columns",
        "float32 out",
        """
        const int at = static_cast<int>(i);
        const int r = at / rows, c = at - r * rows;
        out = x[c * columns + r];
        """,
    ),
    "filter3": (
        "raw float32 x, raw float32 w, int32 rows, int32 columns",
        "float32 out",
        """
        const int at = static_cast<int>(i);
        const int r = at / columns, c = at - r * columns;
        float s = 0.0f;
        for (int di = -1; di <= 1; ++di) {
            for (int dj = -1; dj <= 1; ++dj) {
                const int y = r + di, x_at = c + dj;
                if (y >= 0 && y < rows && x_at >= 0 && x_at < columns)
                    s += w[3 * di + dj + 4] * x[at + di * columns + dj];
            }
        }
        out = s;
        """,
    ),
    "row_sums": (
        "raw float32 x, int32 columns",
        "float32 out",
        """
        const int start = static_cast<int>(i) * columns;
        float s = 0.0f;
        for (int k = 0; k < columns; ++k) s += x[start + k];
        out = s;
        """,
    ),
    "adam": (
        "float32 g, float32 rate",
        "float32 p, float32 m, float32 v",
        """
        const float first = 0.9f * m + 0.1f * g;
        const float second = 0.999f * v + 0.001f * g * g;
        m = first;
        v = second;
        p = p - rate * first / (sqrtf(second) + 1e-8f);
        """,
    ),
    "gray_u8": (
        "uint8 r, uint8 g, uint8 b",
        "uint8 out",
        "out = (77u * r + 150u * g + 29u * b) >> 8;",
    ),
}


@cache
def kernel_of(name: str, contract: bool) -> Any:
    options = () if contract else ("--fmad=false",)
    suffix = "" if contract else "_exact"
    return cupy.ElementwiseKernel(*_KERNELS[name], f"peer_{name}{suffix}", options=options)


@cache
def stream_of(handle: int) -> Any:
    """A stream of torch's as CuPy's."""
    if handle == 0:
        return cupy.cuda.Stream.null
    return cupy.cuda.Stream.from_external(torch.cuda.ExternalStream(handle))


def view(tensor: Any) -> Any:
    """The same memory as a CuPy array."""
    flat = cupy.from_dlpack(signed(tensor)).reshape(-1)
    return flat.view(cupy.uint32) if str(tensor.dtype) == "torch.uint32" else flat


def run_of(cell: Cell, *, contract: bool = True) -> Callable[[], None]:
    """A launch on the cell's arrays, on torch's current stream."""
    kernel = kernel_of(cell.kernel, contract)
    arguments = _arguments(cell)

    def run() -> None:
        with stream_of(torch.cuda.current_stream().cuda_stream):
            kernel(*arguments)

    return run


def _arguments(cell: Cell) -> tuple[Any, ...]:
    """What the kernel is called with, in the order of its own parameters."""
    arrays = [view(array) for array in cell.arrays]
    if cell.kernel == "adam":
        *state, gradient = arrays
        return (gradient, *cell.options.values(), *state)
    outs = [] if cell.updates else [view(out) for out in cell.outs]
    shape = tuple(cell.arrays[0].shape)
    sizes: tuple[int, ...] = ()
    if cell.kernel in ("stencil5", "filter3", "transpose"):
        sizes = shape
    elif cell.kernel == "row_sums":
        sizes = shape[1:]
    elif cell.kernel in ("stencil9", "nbody"):
        sizes = (cell.arrays[0].numel(),)
    return (*arrays, *cell.options.values(), *sizes, *outs)
