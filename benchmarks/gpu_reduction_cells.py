"""What the GPU suite of reductions runs: its cells, what they come to in float64, their limits.

A size is the elements of what is read; of `nearest` and `nbody_sums` it is points and bodies. Rows
are as long as there are rows. Limits are on Vyre after a sweep beside the fastest of some peers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isqrt
from typing import Any

from gpu_cells import Cell

POWERS: dict[str, tuple[int, ...]] = {
    "total": (16, 18, 20, 22, 24, 26, 28),
    "row_totals": (20, 22, 24, 26),
    "row_softmax": (24,),
    "row_softmax_fast": (24,),
    "layer_norm": (24,),
    "layer_norm_fast": (24,),
    "nearest2": (20,),
    "nearest4": (20,),
    "nbody_sums": (12, 14),
    "dot": (20, 26),
    "peak": (20, 26),
    "matrix_vector": (24,),
    "column_means": (20, 24, 26),
    "feature_means": (24,),
}
FAST = ("nbody_sums", "row_softmax_fast", "layer_norm_fast")
"""Cells that are run with `fast_math`, as their peers take the same freedoms."""


def written(kernel: str) -> str:
    """What a cell's kernel is called where it is written.

    >>> written("row_softmax_fast"), written("nearest2")
    ('row_softmax', 'nearest2')
    """
    return kernel.removesuffix("_fast")


CENTRES, FEATURES, EPS = 64, 64, 1e-5
SAME, APPROXIMATE = 1e-4, 1e-3
"""How far off a result may be, as a share of the results' root mean square; by `fast_math`."""

STRICT = {"total": 2e-6, "dot": 2e-6}
"""The same of Vyre's own: a block of 1024 left out of 2^28 numbers is 4e-6 of their sum."""

DECIDED = 1e-4
"""The share of points that may have another centre, where one rounding decides."""

SMALL, LARGE = 22, 26
MEMORY = 4e12  # bytes a second


@dataclass(frozen=True, slots=True)
class Limit:
    """How fast Vyre has to be: times the fastest of these peers, and in bytes a second."""

    peers: tuple[str, ...]
    least: float
    bytes_per_s: float = 0.0


def limit_of(kernel: str, power: int) -> Limit | None:
    """What a cell is held to, if to anything."""
    match written(kernel):
        case "total":
            least = 1.5 if power <= SMALL else 0.97
            return Limit(("torch_eager",), least, MEMORY if power >= LARGE else 0.0)
        case "row_totals":
            return Limit(("torch_eager", "torch_compile"), 0.95)
        case "row_softmax" | "layer_norm":
            return Limit(("torch_compile", "triton"), 0.95)
        case "nearest2" | "nearest4":
            return Limit(("torch_compile",), 1.0)
        case "nbody_sums":
            return Limit(("torch_compile", "triton", "cupy"), 0.9)
    return None


PEERS: Mapping[str, tuple[str, ...]] = {
    "total": ("torch_eager",),
    "row_totals": ("torch_eager", "torch_compile", "triton"),
    "row_softmax": ("torch_eager", "torch_compile", "triton"),
    "row_softmax_fast": ("torch_eager", "torch_compile", "triton"),
    "layer_norm": ("torch_eager", "torch_compile", "triton"),
    "layer_norm_fast": ("torch_eager", "torch_compile", "triton"),
    "nearest2": ("torch_compile",),
    "nearest4": ("torch_compile",),
    "nbody_sums": ("torch_compile", "triton", "cupy"),
    "dot": ("torch_eager",),
    "peak": ("torch_eager",),
    "matrix_vector": ("torch_eager",),
    "column_means": ("torch_eager", "torch_compile"),
    "feature_means": ("torch_eager", "torch_compile"),
}
"""Who is measured beside Vyre."""


def make(torch: Any, kernel: str, power: int, where: str = "cuda") -> Cell:
    """The arrays of a cell, the same in every process."""
    generator = torch.Generator(device=where).manual_seed(power)
    n = 1 << power
    rows = isqrt(n)

    def normal(*shape: int) -> Any:
        return torch.randn(shape, device=where, generator=generator)

    def positive(*shape: int) -> Any:
        return torch.rand(shape, device=where, generator=generator)

    def floats(*shape: int) -> Any:
        return torch.zeros(shape, device=where)

    def cell(arrays: tuple[Any, ...], outs: tuple[Any, ...], **options: Any) -> Cell:
        moved = sum(array.numel() * array.element_size() for array in (*arrays, *outs))
        same = APPROXIMATE if kernel in FAST else SAME
        decided = DECIDED if kernel.startswith("nearest") else 0.0
        return Cell(kernel, power, arrays, outs, moved, options, same=same, decided=decided)

    match written(kernel):
        case "total":
            return cell((positive(n),), (floats(1),))
        case "dot":
            return cell((positive(n), positive(n)), (floats(1),))
        case "peak":
            return cell((normal(n),), (floats(1),))
        case "row_totals" | "column_means":
            return cell((normal(rows, rows),), (floats(rows),))
        case "feature_means":
            return cell((normal(n // FEATURES, FEATURES),), (floats(FEATURES),))
        case "row_softmax":
            return cell((normal(rows, rows),), (floats(rows, rows),))
        case "layer_norm":
            return cell((normal(rows, rows),), (floats(rows, rows),), eps=EPS)
        case "matrix_vector":
            return cell((normal(rows, rows), normal(rows)), (floats(rows),))
        case "nearest2" | "nearest4":
            axes = int(kernel[-1])
            chosen = torch.zeros(n, dtype=torch.int32, device=where).view(torch.uint32)
            return cell((normal(n, axes), normal(CENTRES, axes)), (chosen,))
        case _:
            assert kernel == "nbody_sums", kernel
            places = (normal(n), normal(n), normal(n))
            return cell((*places, positive(n)), (floats(n), floats(n), floats(n)))


TOGETHER = 1 << 26
"""Numbers that are held at once where all pairs are looked at; half a gigabyte an array."""


def expected(torch: Any, cell: Cell) -> tuple[Any, ...]:
    """What a cell comes to, computed in float64, flat as results are."""
    x = cell.arrays[0]
    match written(cell.kernel):
        case "total":
            found = (x.sum(dtype=torch.float64),)
        case "peak":
            found = (x.max().double(),)
        case "dot":
            found = (torch.dot(x.double(), cell.arrays[1].double()),)
        case "row_totals":
            found = (x.sum(1, dtype=torch.float64),)
        case "column_means" | "feature_means":
            found = (x.mean(0, dtype=torch.float64),)
        case "matrix_vector":
            found = (x.double() @ cell.arrays[1].double(),)
        case "row_softmax":
            found = (torch.softmax(x.double(), 1),)
        case "layer_norm":
            found = (torch.nn.functional.layer_norm(x.double(), x.shape[1:], eps=EPS),)
        case "nearest2" | "nearest4":
            centres = cell.arrays[1].double()
            some = x.double().split(TOGETHER // (centres.numel()))
            near = [((one[:, None] - centres) ** 2).sum(2).argmin(1) for one in some]
            found = (torch.cat(near),)
        case _:
            found = _pulls(torch, *(array.double() for array in cell.arrays))
    return tuple(one.reshape(-1) for one in found)


def _pulls(torch: Any, x: Any, y: Any, z: Any, m: Any) -> tuple[Any, ...]:
    rows = max(1, TOGETHER // x.numel())
    parts = []
    for start in range(0, x.numel(), rows):
        some = slice(start, start + rows)
        dx, dy, dz = x - x[some, None], y - y[some, None], z - z[some, None]
        s = m * (dx * dx + dy * dy + dz * dz + 0.0001) ** -1.5
        parts.append([(s * d).sum(1) for d in (dx, dy, dz)])
    return tuple(torch.cat(one) for one in zip(*parts, strict=True))
