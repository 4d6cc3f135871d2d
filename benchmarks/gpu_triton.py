"""The suite's kernels in Triton, each under `@triton.autotune` over several configurations.

Configurations are compared by the same graph replays as the suite's own times.
"""

# Triton's compiler reads these functions, so their parameters carry its types or none.
# ruff: noqa: ANN001, N803

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import triton
import triton.language as tl
from gpu_cells import Cell, signed
from gpu_replay import quick, seconds_of
from gpu_triton_blocks import CONFIGURATIONS, ROW, TILED

TUNING_S = 4e-4
"""How long one replay lasts while configurations are compared."""


@triton.jit
def saxpy(x, y, out, a, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    value = a * tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside)
    tl.store(out + i, value, mask=inside)


@triton.jit
def gelu(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    v = tl.load(x + i, mask=inside)
    inner = 0.7978845608 * (v + 0.044715 * v * v * v)
    tl.store(out + i, v * tl.sigmoid(2 * inner), mask=inside)


@triton.jit
def exp_log(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(out + i, tl.log(1 + tl.exp(tl.load(x + i, mask=inside))), mask=inside)


@triton.jit
def polynomial(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    v = tl.load(x + i, mask=inside)
    s = v
    for _ in range(512):
        s = s * v + 0.5
    tl.store(out + i, s, mask=inside)


@triton.jit
def stencil9(x, w, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.zeros([BLOCK], tl.float32)
    for k in tl.static_range(9):
        j = i + k - 4
        s += tl.load(w + k) * tl.load(x + j, mask=(j >= 0) & (j < n), other=0.0)
    tl.store(out + i, s, mask=i < n)


@triton.jit
def stencil5(x, out, rows, columns, BLOCK: tl.constexpr, ROWS: tl.constexpr):
    c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[None, :]
    r = tl.program_id(1) * ROWS + tl.arange(0, ROWS)[:, None]
    inside = (r < rows) & (c < columns)
    at = r * columns + c
    up = tl.load(x + at - columns, mask=inside & (r > 0), other=0.0)
    down = tl.load(x + at + columns, mask=inside & (r < rows - 1), other=0.0)
    left = tl.load(x + at - 1, mask=inside & (c > 0), other=0.0)
    right = tl.load(x + at + 1, mask=inside & (c < columns - 1), other=0.0)
    tl.store(out + at, 0.25 * (up + down + left + right), mask=inside)


@triton.jit
def gather(table, index, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    at = tl.load(index + i, mask=inside, other=0)
    tl.store(out + i, tl.load(table + at, mask=inside), mask=inside)


@triton.jit
def histogram(data, bins, n, BLOCK: tl.constexpr, ROUNDS: tl.constexpr):
    start = tl.program_id(0) * BLOCK * ROUNDS
    counts = tl.zeros([256], tl.int32)
    for turn in range(ROUNDS):
        i = start + turn * BLOCK + tl.arange(0, BLOCK)
        inside = i < n
        values = tl.load(data + i, mask=inside, other=0).to(tl.int32)
        counts += tl.histogram(values, 256, mask=inside)
    tl.atomic_add(bins + tl.arange(0, 256), counts)


@triton.jit
def mandelbrot(re, im, out, most, n, BLOCK: tl.constexpr, STEP: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    there = i < n
    cr = tl.load(re + i, mask=there, other=4.0)
    ci = tl.load(im + i, mask=there, other=4.0)
    zr = tl.zeros([BLOCK], tl.float32)
    zi = tl.zeros([BLOCK], tl.float32)
    count = tl.zeros([BLOCK], tl.int32)
    turn = 0
    going = 1
    while (turn < most) & (going > 0):
        for _ in tl.static_range(STEP):
            inside = (zr * zr + zi * zi <= 4.0) & (count < most)
            next_r = zr * zr - zi * zi + cr
            zi = tl.where(inside, 2 * zr * zi + ci, zi)
            zr = tl.where(inside, next_r, zr)
            count += inside.to(tl.int32)
        going = tl.max((zr * zr + zi * zi <= 4.0).to(tl.int32), 0)
        turn += STEP
    tl.store(out + i, count, mask=there)


@triton.jit
def nbody(x, y, z, m, ax, ay, az, n, BLOCK: tl.constexpr, OTHERS: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    there = i < n
    px = tl.load(x + i, mask=there)[:, None]
    py = tl.load(y + i, mask=there)[:, None]
    pz = tl.load(z + i, mask=there)[:, None]
    sx = tl.zeros([BLOCK, OTHERS], tl.float32)
    sy = tl.zeros([BLOCK, OTHERS], tl.float32)
    sz = tl.zeros([BLOCK, OTHERS], tl.float32)
    for start in range(0, n, OTHERS):
        j = start + tl.arange(0, OTHERS)
        known = j < n
        dx = tl.load(x + j, mask=known, other=0.0)[None, :] - px
        dy = tl.load(y + j, mask=known, other=0.0)[None, :] - py
        dz = tl.load(z + j, mask=known, other=0.0)[None, :] - pz
        r = tl.rsqrt(dx * dx + dy * dy + dz * dz + 0.0001)
        s = tl.load(m + j, mask=known, other=0.0)[None, :] * r * r * r
        sx += s * dx
        sy += s * dy
        sz += s * dz
    tl.store(ax + i, tl.sum(sx, 1), mask=there)
    tl.store(ay + i, tl.sum(sy, 1), mask=there)
    tl.store(az + i, tl.sum(sz, 1), mask=there)


@triton.jit
def transpose(x, out, rows, columns, BLOCK: tl.constexpr, ROWS: tl.constexpr):
    c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    r = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    inside = (r[:, None] < rows) & (c[None, :] < columns)
    tile = tl.load(x + r[:, None] * columns + c[None, :], mask=inside)
    turned = (c[:, None] < columns) & (r[None, :] < rows)
    tl.store(out + c[:, None] * rows + r[None, :], tl.trans(tile), mask=turned)


@triton.jit
def filter3(x, w, out, rows, columns, BLOCK: tl.constexpr, ROWS: tl.constexpr):
    c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[None, :]
    r = tl.program_id(1) * ROWS + tl.arange(0, ROWS)[:, None]
    s = tl.zeros([ROWS, BLOCK], tl.float32)
    for di in tl.static_range(3):
        for dj in tl.static_range(3):
            y = r + di - 1
            z = c + dj - 1
            there = (y >= 0) & (y < rows) & (z >= 0) & (z < columns)
            s += tl.load(w + 3 * di + dj) * tl.load(x + y * columns + z, mask=there, other=0.0)
    tl.store(out + r * columns + c, s, mask=(r < rows) & (c < columns))


@triton.jit
def row_sums(x, out, rows, columns, BLOCK: tl.constexpr, ROWS: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    s = tl.zeros([ROWS, BLOCK], tl.float32)
    for start in range(0, columns, BLOCK):
        c = start + tl.arange(0, BLOCK)
        there = (r[:, None] < rows) & (c[None, :] < columns)
        s += tl.load(x + r[:, None] * columns + c[None, :], mask=there, other=0.0)
    tl.store(out + r, tl.sum(s, 1), mask=r < rows)


@triton.jit
def product(a, b, out, n, BLOCK: tl.constexpr, ROWS: tl.constexpr, DEPTH: tl.constexpr):
    # Sides are multiples of every block, so nothing is masked.
    r = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.zeros([ROWS, BLOCK], tl.float32)
    for start in range(0, n, DEPTH):
        k = start + tl.arange(0, DEPTH)
        left = tl.load(a + r[:, None] * n + k[None, :])
        right = tl.load(b + k[:, None] * n + c[None, :])
        s = tl.dot(left, right, s, input_precision="ieee")
    tl.store(out + r[:, None] * n + c[None, :], s)


@triton.jit
def adam(p, m, v, g, rate, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    grad = tl.load(g + i, mask=inside)
    first = 0.9 * tl.load(m + i, mask=inside) + 0.1 * grad
    second = 0.999 * tl.load(v + i, mask=inside, other=1.0) + 0.001 * grad * grad
    moved = tl.load(p + i, mask=inside) - rate * first / (tl.sqrt(second) + 1e-8)
    tl.store(m + i, first, mask=inside)
    tl.store(v + i, second, mask=inside)
    tl.store(p + i, moved, mask=inside)


@triton.jit
def gray_u8(r, g, b, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    red = tl.load(r + i, mask=inside).to(tl.int32)
    green = tl.load(g + i, mask=inside).to(tl.int32)
    blue = tl.load(b + i, mask=inside).to(tl.int32)
    bright = (77 * red + 150 * green + 29 * blue) >> 8
    tl.store(out + i, bright.to(tl.uint8), mask=inside)


def _time(call: Callable[[], Any], quantiles: Sequence[float]) -> list[float]:
    """As the autotuner asks: milliseconds, once for each quantile."""
    launches = max(1, min(200, round(TUNING_S / seconds_of(call))))
    return [1e3 * quick(call, launches)] * len(quantiles)


def tuned(name: str) -> Any:
    """The kernel under the autotuner."""
    given = CONFIGURATIONS.get(name, ROW)
    return triton.autotune(
        configs=[
            triton.Config(
                {word: value for word, value in one.items() if word != "warps"},
                num_warps=one["warps"],
            )
            for one in given
        ],
        key=["rows", "columns"] if name in TILED else ["n"],
        do_bench=_time,
    )(KERNELS[name])


KERNELS = {
    "saxpy": saxpy,
    "gelu": gelu,
    "exp_log": exp_log,
    "polynomial": polynomial,
    "stencil9": stencil9,
    "stencil5": stencil5,
    "gather": gather,
    "histogram": histogram,
    "mandelbrot": mandelbrot,
    "nbody": nbody,
    "transpose": transpose,
    "filter3": filter3,
    "row_sums": row_sums,
    "product": product,
    "adam": adam,
    "gray_u8": gray_u8,
}
_tuned: dict[tuple[str, bool], Any] = {}


def run_of(cell: Cell, *, contract: bool = True) -> Callable[[], None]:
    """A launch of the tuned kernel on a cell's arrays, tuned when first called."""
    name, exact = cell.kernel, {} if contract else {"enable_fp_fusion": False}
    if (name, contract) not in _tuned:
        _tuned[name, contract] = tuned(name)
    kernel = _tuned[name, contract]
    arrays = [signed(array) for array in cell.arrays]
    outs = [] if cell.updates else [signed(out) for out in cell.outs]
    shape = tuple(cell.arrays[0].shape)
    n = shape[0] if name == "product" else cell.arrays[0].numel()
    sizes = shape if name in TILED else (n,)
    arguments = (*arrays, *outs, *cell.options.values(), *sizes)

    def grid(meta: Any) -> tuple[int, ...]:
        if name == "row_sums":
            return (triton.cdiv(shape[0], meta["ROWS"]),)
        if len(shape) == 2:
            return triton.cdiv(shape[1], meta["BLOCK"]), triton.cdiv(shape[0], meta["ROWS"])
        return (triton.cdiv(n, meta["BLOCK"] * meta.get("ROUNDS", 1)),)

    def run() -> None:
        kernel[grid](*arguments, **exact)

    return run


def chosen(cell: Cell, *, contract: bool = True) -> str:
    """What the autotuner chose last."""
    return str(_tuned[cell.kernel, contract].best_config)
