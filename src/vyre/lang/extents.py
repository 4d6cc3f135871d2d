"""The extents of workgroup memory: constants, and arithmetic of the workgroup's size."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from math import prod

from vyre.ir.among import size_in
from vyre.lang.among import written
from vyre.lang.context import NOTHING, Context
from vyre.lang.params import MAX_RANK
from vyre.lang.values import Value

MOST_SHARED = 1 << 24
"""Elements of workgroup memory: devices have kilobytes of it, so more is a mistake."""

Extents = tuple[int, ...]


def extents_of(
    work: Context, read: Callable[[ast.expr], Value], node: ast.expr
) -> tuple[Extents, ...]:
    """What `vyre.shared(dtype, node)` has along each axis, in each workgroup that is named.

    Args:
        work: the pass at hand.
        read: the value of an expression in it.
        node: the extents as they are written.

    Raises:
        LanguageError: it is no constant, has no elements, or far too many.
    """
    axes = _axes(work, node)
    by_axis = [_sizes(work, read, axis) for axis in axes]
    found = tuple(zip(*by_axis, strict=True))
    for workgroup, extents in zip(work.workgroups, found, strict=True):
        if prod(extents) > MOST_SHARED:
            several = f" in workgroup {written(workgroup)}" if len(found) > 1 else ""
            raise work.error(
                node,
                f"{prod(extents):,} elements of workgroup memory{several}; {MOST_SHARED:,} allowed",
                "use an array of the kernel for what does not fit a workgroup's memory",
            )
    return found


def _axes(work: Context, node: ast.expr) -> Sequence[ast.expr]:
    """The extents as they are written, one for each axis."""
    if isinstance(node, (ast.Tuple, ast.List)):
        axes: Sequence[ast.expr] = node.elts
    else:
        known = work.static(node)
        if known is NOTHING or not isinstance(known, (tuple, list)):
            return [node]
        axes = [ast.copy_location(ast.Constant(size), node) for size in known]
    if not 1 <= len(axes) <= MAX_RANK:
        raise work.error(
            node,
            f"workgroup memory of {len(axes)} axes; 1 to {MAX_RANK} allowed",
            "write vyre.shared(f32, 256) or vyre.shared(f32, (16, 16))",
        )
    return axes


def _sizes(work: Context, read: Callable[[ast.expr], Value], node: ast.expr) -> tuple[int, ...]:
    """An extent in each of the workgroups."""
    value = None if isinstance(node, ast.Starred) else read(node)
    number = value.constant if value is not None else None
    refused = work.error(
        node,
        f"the count {work.known_as(node, number)} is not a constant whole number from 1",
        "write a number, a name from outside the kernel, or vyre.workgroup_size()",
    )
    if value is None:
        raise refused
    if number is not None:
        if not isinstance(number, int) or isinstance(number, bool) or number < 1:
            raise refused
        return (number,) * len(work.workgroups)
    if value.dtype is None or not value.dtype.is_int:
        raise refused
    found = tuple(size_in(value.expr, workgroup) for workgroup in work.workgroups)
    for workgroup, size in zip(work.workgroups, found, strict=True):
        if size is None:
            raise refused
        if size < 1 or size >> 31:  # which has wrapped
            raise work.error(
                node,
                f"the count {work.text(node)} is below 1 in workgroup {written(workgroup)}",
                "write what is at least 1 in every workgroup",
            )
    return tuple(size for size in found if size is not None)
