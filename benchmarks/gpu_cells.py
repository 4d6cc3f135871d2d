"""What the GPU suite runs: each kernel at each size, on arrays made on the device.

How each peer expresses a kernel, and where it cannot do so as the kernel is meant:

| kernel     | CuPy elementwise | Triton             | torch eager       | torch.compile       |
|------------|------------------|--------------------|-------------------|---------------------|
| saxpy      | yes              | yes                | add(alpha=)       | yes                 |
| gelu       | yes              | by a sigmoid       | gelu("tanh")      | yes                 |
| exp_log    | yes              | yes                | softplus          | yes                 |
| polynomial | yes              | yes                | 1,024 operators   | 512 rounds unrolled |
| stencil9   | raw x            | yes                | conv1d            | a sum of slices     |
| stencil5   | raw x            | 2-D tiles          | a sum of slices   | a sum of slices     |
| gather     | raw table        | yes                | index_select      | yes                 |
| histogram  | atomicAdd        | tl.histogram, adds | histc             | scatter_add         |
| mandelbrot | yes              | a block's rounds   | 100 masked rounds | 10 rounds at a time |
| nbody      | raw arrays       | tiles of pairs     | rows of pairs     | one reduction       |
| transpose  | raw x            | 2-D tiles, trans   | copy_ of x.t()    | contiguous x.t()    |
| filter3    | raw x            | 2-D tiles          | conv2d            | a sum of slices     |
| row_sums   | a row a thread   | tiles, reordered   | sum, reordered    | sum, reordered      |
| product    | -                | dot("ieee")        | mm, no TF32       | -                   |
| adam       | yes              | yes                | in-place, seven   | yes                 |
| gray_u8    | yes              | yes                | in 32 bits        | in 32 bits          |

A loop that each element leaves on its own (mandelbrot) is beyond Triton and torch: Triton goes on
until a whole block is done, torch makes every round for all. `row_sums` has one more side: a kernel
made by hand that keeps the order of each sum (`gpu_hand.py`).

Peers contract `a * b + c` into one rounding unless they are told not to, and some approximate
functions; Vyre does so only where a kernel says `fast_math`. So every kernel is run both ways: with
`fast_math` beside peers as they are (freedoms are equal), and exact beside the fastest of all.
Where the order of a sum is what takes the time, peers that change it take a freedom that
`fast_math` does not give (`REORDERED`): they are beside the exact kernel alone. Those that do so in
nbody count as the others do. Where arithmetic is what takes the time (`ARITHMETIC`), CuPy and
Triton are also run without contraction.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isqrt
from typing import Any

LARGE = (14, 18, 20, 22, 24, 26, 28)
SQUARES = (20, 22, 24, 26)
POWERS: dict[str, tuple[int, ...]] = {
    "saxpy": LARGE,
    "gelu": LARGE,
    "exp_log": LARGE,
    "polynomial": LARGE[:-1],
    "stencil9": LARGE,
    "stencil5": LARGE,
    "gather": LARGE,
    "histogram": LARGE,
    "mandelbrot": LARGE[:-1],
    "nbody": (12, 14, 16),
    "transpose": SQUARES,
    "filter3": SQUARES,
    "row_sums": SQUARES,
    "product": (22, 24),
    "adam": LARGE,
    "gray_u8": LARGE,
}
ARITHMETIC = ("polynomial", "mandelbrot", "nbody")
REORDERED = {"row_sums": ("triton", "torch_eager", "torch_compile")}
"""Peers that add up in another order than the kernel says."""

WITHOUT = {"product": ("cupy", "torch_compile")}
"""Peers that have nothing of their own to offer: both would call what `torch_eager` calls."""

UPDATED = {"histogram": (1,), "adam": (0, 1, 2)}
"""Kernels whose results are arguments that each call changes, and which of them."""

SAME = 1e-3
"""How far a peer's number may be off, as a share of the results' root mean square."""

ESCAPED = 0.01
"""The share of points whose count may differ: near the set, one rounding decides."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One kernel at one size: torch tensors on the device."""

    kernel: str
    power: int
    arrays: tuple[Any, ...]  # what is read, in the kernel's order, and what is updated
    outs: tuple[Any, ...]  # what is written
    moved: int  # bytes that have to be read and written
    options: dict[str, Any] = field(default_factory=dict)
    before: tuple[Any, ...] = ()  # what the outputs hold before a call, where it changes them
    same: float = SAME
    decided: float = 0.0  # the share of whole numbers that one rounding may change

    @property
    def size(self) -> str:
        return f"2^{self.power}"

    @property
    def out(self) -> Any:
        """As `out=` of a call takes it."""
        return None if self.updates else self.outs[0] if len(self.outs) == 1 else self.outs

    @property
    def updates(self) -> bool:
        """Whether the results are arguments that each call changes."""
        return self.kernel in UPDATED

    def clear(self) -> None:
        """Leave nothing in the outputs that could pass for a result."""
        if self.updates:
            for out, held in zip(self.outs, self.before, strict=True):
                signed(out).copy_(held)
            return
        for out in self.outs:
            whole = signed(out)
            whole.fill_(float("nan") if whole.is_floating_point() else _POISON[str(whole.dtype)])


_POISON = {"torch.int32": -1, "torch.uint8": 255}


def wanted(
    kernels: str, sizes: str, every: Mapping[str, tuple[int, ...]] = POWERS
) -> list[tuple[str, int]]:
    """The cells of the words of a command line, such as `saxpy,gelu` and `2^14,2^20`.

    >>> wanted("nbody,gelu", "2^14,2^28")
    [('gelu', 14), ('gelu', 28), ('nbody', 14)]
    """
    names = kernels.split(",") if kernels else list(every)
    unknown = [name for name in names if name not in every]
    if unknown:
        raise SystemExit(f"no kernel {unknown[0]!r}\nFix: use some of {','.join(every)}")
    powers = [int(size.removeprefix("2^")) for size in sizes.split(",")] if sizes else None
    return [
        (name, power)
        for name, all_of in every.items()
        if name in names
        for power in all_of
        if powers is None or power in powers
    ]


def make(torch: Any, kernel: str, power: int) -> Cell:
    """The arrays of a cell, the same in every process."""
    generator = torch.Generator(device="cuda").manual_seed(power)
    n = 1 << power

    def normal(*shape: int) -> Any:
        return torch.randn(shape, device="cuda", generator=generator)

    def between(low: float, high: float) -> Any:
        return torch.rand(n, device="cuda", generator=generator) * (high - low) + low

    def whole(most: int, dtype: Any) -> Any:
        return torch.randint(0, most, (n,), device="cuda", generator=generator, dtype=dtype)

    def floats(*shape: int) -> Any:
        return torch.zeros(shape, device="cuda")

    def cell(arrays: Any, outs: Any, per_element: int, more: int = 0, **options: Any) -> Cell:
        moved = per_element * n + more
        before = [signed(arrays[place]).clone() for place in UPDATED.get(kernel, ())]
        decided = ESCAPED if kernel == "mandelbrot" else 0.0
        return Cell(
            *(kernel, power, tuple(arrays), tuple(outs), moved, options, tuple(before)),
            decided=decided,
        )

    rows = isqrt(n)
    columns = n // rows
    match kernel:
        case "saxpy":
            return cell((normal(n), normal(n)), (floats(n),), 12, a=2.5)
        case "gelu" | "exp_log":
            return cell((normal(n),), (floats(n),), 8)
        case "polynomial":
            return cell((between(-0.9, 0.9),), (floats(n),), 8)
        case "stencil9":
            return cell((normal(n), normal(9)), (floats(n),), 8)
        case "stencil5":
            return cell((normal(rows, columns),), (floats(rows, columns),), 8)
        case "filter3":
            return cell((normal(rows, columns), normal(9)), (floats(rows, columns),), 8)
        case "transpose":
            return cell((normal(rows, columns),), (floats(columns, rows),), 8)
        case "row_sums":
            return cell((normal(rows, columns),), (floats(rows),), 4, 4 * rows)
        case "product":
            return cell((normal(rows, rows), normal(rows, rows)), (floats(rows, rows),), 12)
        case "adam":
            # Second moments are squares; the first ones and the rest may be anything.
            state = (normal(n), normal(n), between(0, 1))
            return cell((*state, normal(n)), state, 28, rate=0.001)
        case "gray_u8":
            planes = [whole(256, torch.uint8) for _ in range(3)]
            return cell(planes, (torch.zeros_like(planes[0]),), 4)
        case "gather":
            index = whole(n, torch.int32).view(torch.uint32)
            return cell((normal(n), index), (floats(n),), 12)
        case "histogram":
            bins = torch.zeros(256, dtype=torch.int32, device="cuda").view(torch.uint32)
            return cell((whole(256, torch.uint8), bins), (bins,), 1)
        case "mandelbrot":
            counts = torch.zeros(n, dtype=torch.int32, device="cuda").view(torch.uint32)
            return cell((between(-2, 1), between(-1.5, 1.5)), (counts,), 12, most=100)
        case _:
            assert kernel == "nbody", kernel
            places = [normal(n) for _ in range(3)]
            return cell((*places, between(0, 1)), [floats(n) for _ in range(3)], 28)


def signed(array: Any) -> Any:
    """Unsigned 32-bit numbers as signed ones, which torch computes with; others as they are."""
    # Where a tensor is at hand, torch is; who only reads results need not load it.
    return array.view(sys.modules["torch"].int32) if str(array.dtype) == "torch.uint32" else array


def results(cell: Cell, run: Callable[[], Any]) -> tuple[Any, ...]:
    """What a side computes, copied: what it returns, or what it leaves in the outputs."""
    cell.clear()
    made = run()
    if made is None:
        made = cell.outs
    several = made if isinstance(made, (tuple, list)) else (made,)
    return tuple(signed(one).clone().reshape(-1) for one in several)


def apart(cell: Cell, expected: tuple[Any, ...], found: tuple[Any, ...]) -> float:
    """How far two results are apart, as a share of what is allowed; above 1 is wrong."""
    most = 0.0
    for right, got in zip(expected, found, strict=True):
        if right.shape != got.shape:
            return float("inf")
        if not right.is_floating_point():
            share, allowed = (right != got).float().mean().item(), cell.decided
            most = max(most, share / allowed if allowed else float("inf") if share else 0.0)
            continue
        scale = right.square().mean().sqrt()
        off = ((right - got).abs().max() / scale).item() / cell.same
        most = max(most, off if off == off else float("inf"))  # what is not a number is wrong
    return most
