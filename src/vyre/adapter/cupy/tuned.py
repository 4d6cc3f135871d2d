"""What users call: a kernel of CuPy, whose block is to be learned."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import cupy

from vyre.adapter import grids
from vyre.adapter.cupy.elements import TunedElementwiseKernel
from vyre.adapter.cupy.raw import TunedRawKernel
from vyre.adapter.grids import Grid
from vyre.adapter.trial.trials import Check
from vyre.errors import InvalidInput
from vyre.plain import shown


def tuned(
    kernel: Any,
    blocks: Iterable[int | Sequence[int]] | None = None,
    *,
    size: Any = None,
    grid: str | None = None,
    check: bool = False,
    rtol: float = 0.0,
    atol: float = 0.0,
) -> Any:
    """Let Vyre choose the block of a kernel of CuPy's: calls go on as before.

    Args:
        kernel: a `RawKernel`, such as a `RawModule` gives, or an `ElementwiseKernel`; the result is
            called as it is, and the block that it is given is the default.
        blocks: the blocks that may run it, by its author's word. Left out, the usual ones are
            tried, unless the source asks for its threads in another way than `blockIdx.x *
            blockDim.x + threadIdx.x`, or for shared memory: then what it gives may depend on them.
        size: how many positions a launch covers, along the first axes, or a function of the
            kernel's arguments that says it: the grid is as many blocks as that takes, and the
            kernel must do nothing beyond. Left out, only those blocks are tried under which there
            are as many threads as before.
        grid: `"stride"` for a kernel that goes on by its grid until all is done, so that any number
            of threads is right; `"same"` for one in which each block does a piece of its own, so
            that their number stays: then `blocks` must name some.
        check: try each on copies of the arrays, in another process, before it serves.
        rtol: how close results must be, for arrays of floats; 0 with `atol` is bitwise.
        atol: the same, absolutely.
    """
    asked = Check.of(check, rtol, atol)
    if isinstance(kernel, cupy.ElementwiseKernel):
        name = str(kernel.name)
        for option, given in (("size", size), ("grid", grid)):
            if given is not None:
                raise InvalidInput(
                    f"{option}={shown(given)} of {name}, an ElementwiseKernel",
                    "leave it out: its grid follows from its arrays",
                )
        named = grids.named(blocks, name)
        if named is not None and any(len(one) != 1 for one in named):
            raise InvalidInput(
                f"blocks={shown(blocks)} of {name}, an ElementwiseKernel", "give numbers of threads"
            )
        return TunedElementwiseKernel(kernel, named, asked)
    if not isinstance(kernel, cupy.RawKernel):
        raise InvalidInput(
            f"{shown(kernel)} is no RawKernel or ElementwiseKernel of CuPy's",
            "give one, such as cupy.RawModule(code=...).get_function(name)",
        )
    name = str(kernel.name)
    named, way = grids.named(blocks, name), Grid.of(grid, name)
    return TunedRawKernel(kernel, named, grids.sizing(size, named, way, name), way, asked)
