"""Which part of an array the items of an invocation look at, and when all of it is inside.

Most invocations of a stencil are far from every border: they run without checks. Along the rows of
an array of several axes the few elements at a vector's ends are checked one by one instead, because
every row has two ends, and lanes that part there would keep their neighbours waiting.
"""

from __future__ import annotations

from dataclasses import dataclass

from vyre.analysis.facts import MemoryAccess
from vyre.analysis.forms import ONE, Gid, Linear
from vyre.analysis.reader import LOAD
from vyre.emit.items import Items
from vyre.ir.types import DataType


@dataclass(frozen=True, slots=True)
class Window:
    """How far items reach beyond their own positions along an axis of an array."""

    buffer: str
    axis: int  # of the array
    position: int  # the axis of the launch
    below: int  # elements before the first item
    above: int  # and after the last
    flat: bool  # whether one index stands for all axes of the array


def window_of(access: MemoryAccess, axis: int) -> tuple[int, int] | None:
    """The axis of the launch that an index follows, and how far from it; None where it does not."""
    form = access.forms[axis]
    if access.kind != LOAD or access.by_axis[axis] is not None or not isinstance(form, Linear):
        return None
    if len(access.forms) > 1 and axis == len(access.forms) - 1:
        return None
    offset = form.offset.constant
    if offset is None or form.dtype != DataType.U32 or len(form.terms) != 1:
        return None
    ((variable, factor),) = form.terms.items()
    return (variable.axis, offset) if isinstance(variable, Gid) and factor == ONE else None


def windows(accesses: list[MemoryAccess], items: Items, width: int) -> list[Window]:
    """What invocations look at that needs checks; in vectors of `width`, whole ones."""
    found: dict[tuple[str, int, int, bool], list[int]] = {}
    for access in accesses:
        for axis in range(len(access.forms)):
            window = window_of(access, axis)
            if window is not None:
                key = (access.buffer, axis, window[0], len(access.forms) == 1)
                found.setdefault(key, []).append(window[1])
    return [_window(key, offsets, items.run, width) for key, offsets in found.items()]


def _window(key: tuple[str, int, int, bool], offsets: list[int], run: int, width: int) -> Window:
    buffer, axis, position, flat = key
    low, high = min(offsets), max(offsets)
    if position == 0:  # where vectors lie; items of one run end with it
        low = low // width * width
        high = -(-(high + run) // width) * width - run
    return Window(buffer, axis, position, max(-low, 0), max(high, 0), flat)
