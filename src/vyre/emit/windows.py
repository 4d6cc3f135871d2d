"""Which part of an array the items of an invocation look at, and when all of it is inside.

Most invocations of a stencil are far from every border. Where an array is one row, those of many
items run a copy of the statements without checks. Where it has several axes, the few rows around an
invocation's own and the few elements at a vector's ends are checked instead: a copy and the way to
it cost more than that (one H200: 5-point stencils and 3x3 filters, 2 to 8 %).
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


MANY = 5
"""Items that are worth a copy: 4 run 7 to 10 % faster without one up to 2^18 positions, 8 run 3 to
7 % slower from 2^20 up (stencil9, one H200)."""


def is_worth_a_copy(found: list[Window], items: Items) -> bool:
    """Whether invocations that see no border get statements of their own."""
    return items.counts[0] >= MANY and any(window.position == 0 for window in found)


def _window(key: tuple[str, int, int, bool], offsets: list[int], run: int, width: int) -> Window:
    buffer, axis, position, flat = key
    low, high = min(offsets), max(offsets)
    if position == 0:  # where vectors lie; items of one run end with it
        low = low // width * width
        high = -(-(high + run) // width) * width - run
    return Window(buffer, axis, position, max(-low, 0), max(high, 0), flat)
