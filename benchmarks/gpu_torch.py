"""The suite's kernels in torch: eager operators, and formulas under torch.compile."""

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


def _transpose(arrays: Any, outs: Any, _: Any) -> Callable[[], Any]:
    return lambda: outs[0].copy_(arrays[0].t())


def _filter3(arrays: Any, _: Any, __: Any) -> Callable[[], Any]:
    x, w = arrays
    torch.backends.cudnn.allow_tf32 = False
    x, w = x[None, None], w.view(1, 1, 3, 3)
    return lambda: F.conv2d(x, w, padding=1)


def _row_sums(arrays: Any, outs: Any, _: Any) -> Callable[[], Any]:
    return lambda: torch.sum(arrays[0], 1, out=outs[0])


def _product(arrays: Any, outs: Any, _: Any) -> Callable[[], Any]:
    torch.set_float32_matmul_precision("highest")  # which is cuBLAS without TF32
    return lambda: torch.mm(*arrays, out=outs[0])


def _adam(arrays: Any, _: Any, options: Any) -> Callable[[], Any]:
    p, m, v, g = arrays
    rate = options["rate"]

    def run() -> None:
        m.mul_(0.9).add_(g, alpha=0.1)
        v.mul_(0.999).addcmul_(g, g, value=0.001)
        p.addcdiv_(m, v.sqrt().add_(1e-8), value=-rate)

    return run


def _gray_u8(arrays: Any, _: Any, __: Any) -> Callable[[], Any]:
    return lambda: gray_u8(*arrays)


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
    "transpose": _transpose,
    "filter3": _filter3,
    "row_sums": _row_sums,
    "product": _product,
    "adam": _adam,
    "gray_u8": _gray_u8,
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


def transpose(x: Array) -> Array:
    return x.t().contiguous()


def filter3(x: Array, w: Array) -> Array:
    rows, columns = x.shape
    p = F.pad(x, (1, 1, 1, 1))
    s = w[0] * p[:rows, :columns]
    for k in range(1, 9):
        i, j = divmod(k, 3)
        s = s + w[k] * p[i : i + rows, j : j + columns]
    return s


def row_sums(x: Array) -> Array:
    return x.sum(1)


def adam(p: Array, m: Array, v: Array, g: Array, rate: float) -> None:
    first = 0.9 * m + 0.1 * g
    second = 0.999 * v + 0.001 * g * g
    m.copy_(first)
    v.copy_(second)
    p.copy_(p - rate * first / (torch.sqrt(second) + 1e-8))


def gray_u8(r: Array, g: Array, b: Array) -> Array:
    return ((77 * r.int() + 150 * g.int() + 29 * b.int()) >> 8).to(torch.uint8)


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
    "transpose": transpose,
    "filter3": filter3,
    "row_sums": row_sums,
    "adam": adam,
    "gray_u8": gray_u8,
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
