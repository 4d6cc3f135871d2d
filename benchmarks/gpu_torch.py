"""The bundled kernels in torch: eager operators, and formulas under torch.compile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812  # as everybody calls it
from gpu_cells import Cell, signed

PAIRS = 1 << 26
"""Pairs of bodies that the eager form holds at a time; a quarter gigabyte for each array."""

Array = torch.Tensor


def eager(cell: Cell) -> Callable[[], Any]:
    """The quickest plain operators for a cell, its arrays bound."""
    arrays = [signed(array) for array in cell.arrays]
    outs = [signed(out) for out in cell.outs]
    return _EAGER[cell.kernel](arrays, outs, cell.options)


def _saxpy(arrays: Any, outs: Any, options: Any) -> Callable[[], Any]:
    x, y = arrays
    return lambda: torch.add(y, x, alpha=options["a"], out=outs[0])


def _gelu(arrays: Any, outs: Any, _: Any) -> Callable[[], Any]:
    return lambda: torch.ops.aten.gelu.out(arrays[0], approximate="tanh", out=outs[0])


def _exp_log(arrays: Any, outs: Any, _: Any) -> Callable[[], Any]:
    return lambda: torch.ops.aten.softplus.out(arrays[0], out=outs[0])


def _polynomial(arrays: Any, _: Any, __: Any) -> Callable[[], Any]:
    return lambda: polynomial(arrays[0])


def _stencil9(arrays: Any, _: Any, __: Any) -> Callable[[], Any]:
    x, w = arrays
    torch.backends.cudnn.allow_tf32 = False  # which would keep ten bits of each number
    x, w = x.view(1, 1, -1), w.view(1, 1, -1)
    return lambda: F.conv1d(x, w, padding=4)


def _stencil5(arrays: Any, _: Any, __: Any) -> Callable[[], Any]:
    return lambda: stencil5(arrays[0])


def _gather(arrays: Any, outs: Any, _: Any) -> Callable[[], Any]:
    table, index = arrays
    return lambda: torch.index_select(table, 0, index, out=outs[0])


def _histogram(arrays: Any, _: Any, __: Any) -> Callable[[], Any]:
    data, bins = arrays
    try:
        torch.histc(data[:1].int(), 256, 0, 256)
    except RuntimeError:  # not for whole numbers; for floats it would lose counts beyond 2^24
        ones = torch.ones_like(data, dtype=torch.int32)
        return lambda: bins.scatter_add_(0, data.long(), ones)
    return lambda: bins.add_(torch.histc(data.int(), 256, 0, 256))


def _mandelbrot(arrays: Any, _: Any, options: Any) -> Callable[[], Any]:
    re, im = arrays

    def run() -> Array:
        zr, zi = torch.zeros_like(re), torch.zeros_like(im)
        count = torch.zeros_like(re, dtype=torch.int32)
        return rounds(re, im, zr, zi, count, options["most"])[2]

    return run


def _nbody(arrays: Any, outs: Any, _: Any) -> Callable[[], Any]:
    x, y, z, m = arrays
    n = x.numel()
    rows = max(1, min(n, PAIRS // n))

    def run() -> None:
        for start in range(0, n, rows):
            some = slice(start, start + rows)
            made = nbody(x, y, z, m, x[some], y[some], z[some])
            for out, part in zip(outs, made, strict=True):
                out[some] = part

    return run


_EAGER = {
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
}


def saxpy(x: Array, y: Array, a: float) -> Array:
    return a * x + y


def gelu(x: Array) -> Array:
    return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def exp_log(x: Array) -> Array:
    return torch.log(1 + torch.exp(x))


def polynomial(x: Array) -> Array:
    s = x
    for _ in range(512):
        s = s * x + 0.5
    return s


def stencil9(x: Array, w: Array) -> Array:
    n, padded = x.numel(), F.pad(x, (4, 4))
    s = w[0] * padded[:n]
    for k in range(1, 9):
        s = s + w[k] * padded[k : k + n]
    return s


def stencil5(x: Array) -> Array:
    p = F.pad(x, (1, 1, 1, 1))
    return 0.25 * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:])


def gather(table: Array, index: Array) -> Array:
    return table[index]


def histogram(data: Array, bins: Array) -> Array:
    ones = torch.ones_like(data, dtype=torch.int32)
    return bins.scatter_add(0, data.long(), ones)


def rounds(
    re: Array, im: Array, zr: Array, zi: Array, count: Array, most: int
) -> tuple[Array, Array, Array]:
    """So many rounds of every orbit; one that has escaped stays where it is."""
    for _ in range(most):
        inside = zr * zr + zi * zi <= 4.0
        zr, zi = (
            torch.where(inside, zr * zr - zi * zi + re, zr),
            torch.where(inside, 2 * zr * zi + im, zi),
        )
        count = count + inside
    return zr, zi, count


def nbody(
    x: Array, y: Array, z: Array, m: Array, px: Array, py: Array, pz: Array
) -> tuple[Array, Array, Array]:
    dx, dy, dz = x - px[:, None], y - py[:, None], z - pz[:, None]
    r = torch.rsqrt(dx * dx + dy * dy + dz * dz + 0.0001)
    s = m * r * r * r
    return (s * dx).sum(1), (s * dy).sum(1), (s * dz).sum(1)


STEP = 10
"""Rounds of mandelbrot compiled together; a hundred take over a minute to compile."""

_FORMULAS: dict[str, Callable[..., Any]] = {
    "saxpy": saxpy,
    "gelu": gelu,
    "exp_log": exp_log,
    "polynomial": polynomial,
    "stencil9": stencil9,
    "stencil5": stencil5,
    "gather": gather,
    "histogram": histogram,
    "mandelbrot": rounds,
    "nbody": nbody,
}


def compiled(cell: Cell) -> Callable[[], Any]:
    """The cell's formula under `torch.compile(dynamic=False)`, its arrays bound."""
    torch._dynamo.reset()  # what was compiled for other sizes is not wanted again
    formula = torch.compile(_FORMULAS[cell.kernel], dynamic=False)
    arrays = [signed(array) for array in cell.arrays]
    if cell.kernel == "nbody":
        x, y, z, m = arrays
        return lambda: formula(x, y, z, m, x, y, z)
    if cell.kernel == "mandelbrot":
        re, im = arrays

        def run() -> Array:
            state = [torch.zeros_like(re), torch.zeros_like(im), torch.zeros_like(re).int()]
            for _ in range(cell.options["most"] // STEP):
                state = list(formula(re, im, *state, STEP))
            return state[2]

        return run
    return lambda: formula(*arrays, *cell.options.values())
