"""What users call: a kernel of Numba's, whose block is to be learned."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import FunctionType
from typing import Any

from vyre.adapter import grids
from vyre.adapter.grids import Grid
from vyre.adapter.numba.device import options_of
from vyre.adapter.numba.kernel import Said, TunedKernel
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
) -> TunedKernel:
    """Let Vyre choose the block of a kernel of Numba's: launches go on as before.

    Args:
        kernel: what `numba.cuda.jit` made; the result is configured and called as it is, and the
            block that it is given is the default.
        blocks: the blocks that may run it, by its author's word. Left out, the usual ones are
            tried, unless the function asks for its threads in another way than `cuda.grid`, or for
            shared memory: then what it gives may depend on them.
        size: how many positions a launch covers, along the first axes, or a function of the
            kernel's arguments that says it: the grid is as many blocks as that takes, and the
            kernel must do nothing beyond. Left out, only those blocks are tried under which there
            are as many threads as before. `forall` says it itself.
        grid: `"stride"` for a kernel that goes on by `cuda.gridsize` until all is done, so that any
            number of threads is right; `"same"` for one in which each block does a piece of its
            own, so that their number stays: then `blocks` must name some.
        check: try each on copies of the arrays, in another process, before it serves.
        rtol: how close results must be, for arrays of floats; 0 with `atol` is bitwise.
        atol: the same, absolutely.
    """
    function = getattr(kernel, "py_func", None)
    if not (isinstance(function, FunctionType) and hasattr(kernel, "forall")):
        raise InvalidInput(
            f"{shown(kernel)} is no kernel of Numba's", "give what numba.cuda.jit made"
        )
    name = function.__name__
    if options_of(kernel).get("device"):
        raise InvalidInput(f"{name} is a device function", "give the kernel that calls it")
    named, way = grids.named(blocks, name), Grid.of(grid, name)
    says = Said(named, grids.sizing(size, named, way, name), way)
    return TunedKernel(kernel, says, Check.of(check, rtol, atol))
