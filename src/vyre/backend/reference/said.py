"""What the lanes of a launch say: lines, and assertions that fail."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vyre.backend.reference.lanes import Lanes
from vyre.backend.reference.memory import Mask
from vyre.emit.spoken import Said
from vyre.ir.arithmetic import Value
from vyre.ir.expr import IdKind
from vyre.ir.node import Node, Print
from vyre.ir.printing import line, traps
from vyre.ir.program import Program


class Log:
    """Collects what is said, and gives it back by position."""

    def __init__(self, program: Program) -> None:
        self._numbers = {id(node): number for number, node in enumerate(traps(program))}
        self._lines: list[tuple[int, str]] = []
        self._failed: tuple[int, int] | None = None

    def print(self, node: Print, values: Sequence[Value], lanes: Lanes, mask: Mask) -> None:
        """Each lane of a mask says a line."""
        places = positions(lanes)
        whole = [np.broadcast_to(value, lanes.count) for value in values]
        for lane in taking_part(lanes, mask):
            text = line(node, [value[lane] for value in whole])
            self._lines.append((int(places[lane]), text))

    def fail(self, node: Node, lanes: Lanes, mask: Mask) -> bool:
        """The lanes of a mask fail an assertion; whether there is one within the extent."""
        found = taking_part(lanes, mask)
        if not found.size:
            return False
        lowest = int(positions(lanes)[found].min())
        mine = (lowest, self._numbers[id(node)])
        self._failed = mine if self._failed is None else min(self._failed, mine)
        return True

    @property
    def failed(self) -> bool:
        return self._failed is not None

    def said(self) -> Said:
        lines = sorted(self._lines, key=lambda said: said[0])
        return Said(tuple(text for _, text in lines), failed=self._failed)


def positions(lanes: Lanes) -> NDArray[np.int64]:
    """Where in the extent each lane is, x fastest; of lanes beyond it, something."""
    x, y, z = (lanes.id(IdKind.INVOCATION, axis).astype(np.int64) for axis in range(3))
    wide, high, _ = lanes.extent
    return np.broadcast_to(x + wide * (y + high * z), lanes.count)


def taking_part(lanes: Lanes, mask: Mask) -> NDArray[np.intp]:
    """The lanes of a mask that are within the extent, in order."""
    inside = np.broadcast_to(np.asarray(mask), lanes.count)
    if lanes.grouped:
        for axis in range(3):
            inside = inside & (lanes.id(IdKind.INVOCATION, axis) < lanes.extent[axis])
    return np.flatnonzero(inside)
