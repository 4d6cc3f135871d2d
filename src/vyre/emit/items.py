"""The positions that one invocation takes: how many along each axis, and which it is for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from math import prod

from vyre.model import Code, Dim3, Order


@dataclass(frozen=True, slots=True)
class Items:
    """Items numbered one after the other along x, then along y, then along z.

    >>> items = Items((4, 2, 1))
    >>> items.place(6), items.number(6, {1}), list(items.along({1}))
    ((2, 1, 0), 1, [0, 4])
    """

    counts: Dim3
    run: int = 1  # neighbours along x; between runs there is a workgroup's width

    @classmethod
    def of(cls, code: Code) -> Items:
        run = code.items if code.order is Order.BLOCKED else code.at_once
        return cls(code.items_by_axis, run)

    def __len__(self) -> int:
        return prod(self.counts)

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes along which there are several."""
        return tuple(axis for axis, count in enumerate(self.counts) if count > 1)

    def place(self, item: int) -> Dim3:
        """Which one an item is along each axis."""
        x, y, _ = self.counts
        return item % x, item // x % y, item // (x * y)

    def block(self, number: int) -> tuple[int, int]:
        """Which run the item of a number along x is in, and which of that run it is."""
        return divmod(number, self.run)

    def step(self, number: int, width: int) -> int:
        """How far the item of a number along x is from the first, in workgroups of a width."""
        block, within = self.block(number)
        return block * width * self.run + within

    def offset(self, number: int, lane: str, width: str) -> str:
        """The same from the beginning of the tile, as C: for a lane of a workgroup of a width."""
        block, within = self.block(number)
        parts = [lane if self.run == 1 else f"{lane} * {self.run}u"]
        parts += [f"{width} * {block * self.run}u"] if block else []
        parts += [f"{within}u"] if within else []
        return " + ".join(parts)

    def offset_in_turn(self, lane: str, width: str) -> str:
        """The same, where the number is the counter `item`."""
        if self.run == self.counts[0]:
            return f"{lane} * {self.run}u + item"
        if self.run == 1:
            return f"{lane} + item * {width}"
        run = f"{self.run}u"
        return f"({lane} + item / {run} * {width}) * {run} + item % {run}"

    def number(self, item: int, axes: Iterable[int]) -> int:
        """Which one an item is among those that differ along `axes`."""
        place, found = self.place(item), 0
        for axis in sorted(axes, reverse=True):
            found = found * self.counts[axis] + place[axis]
        return found

    def lines(self) -> Iterable[range]:
        """The items of each line."""
        x = self.counts[0]
        return (range(first, first + x) for first in range(0, len(self), x))

    def along(self, axes: Iterable[int]) -> Iterable[int]:
        """One item of each kind that differs along `axes`, in their order."""
        x, y, _ = self.counts
        spans = [
            range(count) if axis in set(axes) else range(1)
            for axis, count in enumerate(self.counts)
        ]
        for plane, line, item in product(spans[2], spans[1], spans[0]):
            yield (plane * y + line) * x + item


ONE_ITEM = Items((1, 1, 1))
