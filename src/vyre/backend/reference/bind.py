"""Arrays to buffers: what a caller hands over, checked, and workgroup memory beside it."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vyre.backend.reference.lanes import Lanes
from vyre.backend.reference.memory import Cells
from vyre.errors import InvalidInput
from vyre.ir.declare import BufferDecl
from vyre.ir.expr import Atomic
from vyre.ir.node import Store
from vyre.ir.program import Program
from vyre.ir.storage import COMPUTED
from vyre.ir.types import Tag
from vyre.ir.walk import all_expressions, statements

STORED: Mapping[Tag, np.dtype[Any]] = {
    **COMPUTED,
    Tag.BOOL: np.dtype(np.uint32),
    Tag.F16: np.dtype(np.float16),
    Tag.BF16: np.dtype(np.uint16),
}
"""The NumPy type of an array of each scalar type: a bool is a word, a bf16 its bit pattern."""


def written_buffers(program: Program) -> frozenset[str]:
    """The buffers that some statement stores to or updates."""
    stores = {node.buffer for node in statements(program.entry) if isinstance(node, Store)}
    updates = {e.buffer for e in all_expressions(program.entry) if isinstance(e, Atomic)}
    return frozenset(stores | updates)


def bind(program: Program, arrays: Mapping[str, NDArray[Any]]) -> dict[str, Cells]:
    """The buffers that `arrays` hold, by name."""
    bound = [decl for decl in program.buffers if not decl.is_shared]
    names = [decl.name for decl in bound]
    for name in arrays:
        if name not in names:
            known = ", ".join(names) or "none"
            raise InvalidInput(
                f"array {name!r} is for no buffer; the program has: {known}",
                "leave it out, or give it a buffer's name",
            )
    written = written_buffers(program)
    for decl in bound:
        _check(decl, arrays.get(decl.name), decl.name in written)
    targets = [arrays[name] for name in names if name in written]
    return {
        decl.name: Cells(
            element=decl.element,
            data=arrays[decl.name].reshape(-1),
            shape=_shape(decl, arrays[decl.name]),
            length=arrays[decl.name].size,
            constant=not any(np.may_share_memory(arrays[decl.name], t) for t in targets),
        )
        for decl in bound
    }


def workgroup_memory(program: Program, lanes: Lanes) -> dict[str, Cells]:
    """Fresh workgroup memory, all zeros: a copy for each workgroup of `lanes`."""
    size = prod(lanes.workgroup)
    return {
        decl.name: Cells(
            element=decl.element,
            data=np.zeros(lanes.groups * decl.count, STORED[decl.element.tag]),
            shape=decl.shape or (decl.count,),
            length=decl.count,
            base=np.arange(lanes.count, dtype=np.intp) // size * decl.count,
        )
        for decl in program.buffers
        if decl.is_shared
    }


def _check(decl: BufferDecl, array: NDArray[Any] | None, written: bool) -> None:
    if array is None:
        raise InvalidInput(f"buffer {decl.name!r} has no array", f"pass one under {decl.name!r}")
    dtype = STORED[decl.element.tag]
    if array.dtype != dtype:
        raise InvalidInput(
            f"array {decl.name!r} is {array.dtype}; {decl.element} is kept as {dtype}",
            f"convert it with .astype(np.{dtype})",
        )
    if not array.flags.c_contiguous:
        raise InvalidInput(
            f"array {decl.name!r} is not C-contiguous", "copy it with np.ascontiguousarray"
        )
    if written and not array.flags.writeable:
        raise InvalidInput(
            f"array {decl.name!r} is read-only, and the program writes it", "pass a copy of it"
        )


def _shape(decl: BufferDecl, array: NDArray[Any]) -> tuple[int, ...]:
    if array.ndim == decl.rank:
        return array.shape
    if decl.rank == 1:
        return (array.size,)
    if prod(decl.shape) != array.size:
        raise InvalidInput(
            f"array {decl.name!r} of shape {array.shape} for a buffer of rank {decl.rank}",
            f"pass an array with {decl.rank} dimensions",
        )
    return decl.shape
