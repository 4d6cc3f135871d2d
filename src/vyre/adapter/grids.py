"""What a launch of CUDA's is under another block: its grid, and whether it covers the same."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import gcd, prod
from typing import Any

import numpy as np

from vyre.adapter import blocks
from vyre.adapter.blocks import AXES, Shape
from vyre.errors import InvalidInput
from vyre.model import Knobs, Limits
from vyre.plain import shown

_MOST_THREADS = 2**31
"""Along one axis; from there on a position that is an `int` would be negative, and one of 32 bits
may begin anew within a block whose threads are no power of two."""

_MOST_BLOCKS = 65536
"""Along y and z."""

_STEPS = 1024
_WARP = 32


class Grid(StrEnum):
    """What a grid is under another block, where no size says it."""

    THREADS = "threads"  # as many threads along each axis as there were
    STRIDE = "stride"  # about as many, because a kernel goes on by its grid: any number is right
    SAME = "same"  # as many blocks: each does one piece of the work

    @classmethod
    def of(cls, given: object, name: str) -> Grid:
        """What `grid=` asks for."""
        if given is None:
            return cls.THREADS
        if isinstance(given, str) and given in (cls.STRIDE, cls.SAME):
            return cls(given)
        raise InvalidInput(
            f"grid={shown(given)} of {name}",
            'give "stride" for a kernel that goes on by its grid until all is done, "same" for one '
            "in which each block does a piece of its own, or leave it out",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A launch as its caller wrote it, along three axes.

    Args:
        grid: blocks.
        width: threads of each.
        size: positions that it covers, by its author's word, along the first axes: threads beyond
            do nothing. Where it is not said, each thread counts.
        way: what its grid is under another block.
    """

    grid: Shape
    width: Shape
    size: Shape = ()
    way: Grid = Grid.THREADS
    threads: Shape = field(init=False)  # along each axis
    axes: int = field(init=False)  # that have more than one; one at least

    def __post_init__(self) -> None:
        threads = tuple(n * m for n, m in zip(self.grid, self.width, strict=True))
        axes = max(len(self.size), 1, *(n + 1 for n, one in enumerate(threads) if one > 1))
        object.__setattr__(self, "threads", threads)
        object.__setattr__(self, "axes", axes)

    @classmethod
    def of(
        cls, grid: Sequence[int], block: Sequence[int], size: Shape = (), way: Grid = Grid.THREADS
    ) -> Launch:
        """A launch whose axes may not all be written out.

        >>> Launch.of((4,), (64, 2)).threads
        (256, 2, 1)
        """
        whole, width = _three(grid), _three(block)
        while size and size[-1] == whole[len(size) - 1] == width[len(size) - 1] == 1:
            size = size[:-1]  # an axis that nobody uses, so that nothing need look at it
        return cls(grid=whole, width=width, size=size, way=way)

    def value(self) -> dict[str, Any]:
        """All of it, as another process is told.

        >>> launch = Launch.of((4,), (64,), (200,), Grid.STRIDE)
        >>> Launch.told(launch.value()) == launch
        True
        """
        return {
            "grid": list(self.grid),
            "width": list(self.width),
            "size": list(self.size),
            "way": str(self.way),
        }

    @classmethod
    def told(cls, value: Mapping[str, Any]) -> Launch:
        """What `value` gave."""
        shapes = {name: tuple(value[name]) for name in ("grid", "width", "size")}
        return cls(**shapes, way=Grid(value["way"]))

    def refuse_others(self, config: Knobs, able: frozenset[Knobs]) -> None:
        """Refuse a config that is for other launches of this doubling of threads."""
        if config not in able:
            raise InvalidInput(
                f"{config.text} cannot run {blocks.said(self.threads)} threads",
                "choose among those that explain() shows",
            )

    @property
    def default(self) -> Knobs:
        """The block that its caller wrote, as a config."""
        return self.config(self.width)

    def config(self, block: Sequence[int]) -> Knobs:
        """A block as a config of this launch."""
        return blocks.knobs_of(_three(block)[: self.axes], "block")

    def block(self, config: Knobs) -> Shape:
        """The block of a config of this launch."""
        return _three(blocks.block_of(config))

    def under(self, block: Shape) -> Shape:
        """Its grid under another block, which can run it.

        >>> Launch.of((4,), (64,)).under((128, 1, 1))
        (2, 1, 1)
        >>> Launch.of((4,), (64,), size=(200,)).under((96, 1, 1))
        (3, 1, 1)
        """
        if block == self.width or self.way is Grid.SAME:
            return self.grid
        covered = (*self.size, *self.threads[len(self.size) :])
        return tuple(-(-n // m) for n, m in zip(covered, block, strict=True))

    def why_not(self, block: Sequence[int], most: int, limits: Limits) -> str | None:
        """Why a block cannot run it, or would not cover the same; None where it can and does."""
        if len(block) > self.axes and prod(block[self.axes :]) > 1:
            return f"it has {len(block)} axes, and the launch {self.axes}"
        full = _three(block)
        if prod(full) > most or any(n > m for n, m in zip(full, limits.max_block, strict=False)):
            return f"the device allows {most} threads of this kernel"
        if self.way is Grid.SAME:
            return None
        exact = slice(len(self.size), None) if self.way is Grid.THREADS else slice(0)
        if not blocks.divides(full[exact], self.threads[exact]):
            return f"it does not divide {blocks.said(self.threads[: self.axes])}"
        grid = self.under(full)
        if any(n > m for n, m in zip(grid, limits.max_grid, strict=False)):
            return f"the device allows no grid of {blocks.said(grid)}"
        for axis, n, m, before, width in zip(
            AXES, grid, full, self.threads, self.width, strict=True
        ):
            beyond = n * m > _MOST_THREADS
            if beyond and (n * m > before or m & (m - 1) or width & (width - 1)):
                return f"more than 2^31 threads along {axis}"
        return None

    @property
    def too_small(self) -> str | None:
        """What is wrong with a size that the launch does not cover."""
        for axis, n, threads in zip(AXES, self.size, self.threads, strict=False):
            if n > threads:
                return f"size= says {n:,} along {axis}, and the launch has {threads:,} threads"
        return None

    @property
    def is_free(self) -> bool:
        """Whether the same blocks can run it as any other launch of about this size."""
        covers = self.way is Grid.STRIDE or len(self.size) >= self.axes
        few = self.threads[0] < _MOST_THREADS // 2 and max(self.threads[1:]) < _MOST_BLOCKS
        return covers and few and self.way is not Grid.SAME and self.too_small is None

    @property
    def like(self) -> tuple[Hashable, ...]:
        """What free launches have in common that are made from one entry."""
        sizes = (*self.threads, *self.size)
        return (self.width, self.axes, len(self.size), *(n.bit_length() for n in sizes))

    @property
    def traits(self) -> tuple[str, ...]:
        """What tells launches apart besides their sizes: which blocks can run them, and how."""
        exact = self.threads[len(self.size) : self.axes] if self.way is Grid.THREADS else ()
        steps = blocks.said(gcd(n, _STEPS) for n in exact)
        return (
            f"{self.axes} axes",
            f"default {self.default.text}",
            f"grid {self.way}",
            *((f"steps {steps}",) if exact else ()),
        )

    @property
    def sizes(self) -> Shape:
        """How much it is."""
        counted = self.threads if self.way is not Grid.SAME else (*self.grid, *self.width)
        return (*counted, *self.size)

    @property
    def count(self) -> int:
        """How many positions it covers, as far as anybody says."""
        return prod((*self.size, *self.threads[len(self.size) :]))


def usual(axes: int) -> tuple[Shape, ...]:
    """The blocks that are tried where nobody names any: of whole warps.

    >>> usual(1)
    ((32,), (64,), (128,), (256,), (512,), (1024,))
    """
    return tuple(one for one in blocks.usual(axes) if prod(one) <= _STEPS and not prod(one) % _WARP)


def able(
    launch: Launch, named: Sequence[Shape] | None, sign: str | None, most: int, limits: Limits
) -> tuple[tuple[Knobs, ...], tuple[str, ...]]:
    """The configs that can run a launch, its own first; and what cannot, and why.

    Args:
        launch: as its caller wrote it.
        named: the blocks that its author says give the same, where any are named.
        sign: what may make results depend on the block, as far as the kernel can be read.
        most: threads that a block of this kernel can have.
        limits: of the device.
    """
    if named is None and sign is not None:
        return blocks.alone(launch.default, sign, "blocks", "blocks")
    if launch.too_small is not None:
        return (launch.default,), (f"all other blocks: {launch.too_small}",)
    tried = usual(launch.axes) if named is None else named
    return blocks.sorted_out(
        launch.default,
        (
            (launch.config(one), blocks.said(one), launch.why_not(one, most, limits))
            for one in tried
        ),
        f"there is no other block for {blocks.said(launch.threads[: launch.axes])} threads",
    )


def size_of(given: Any, name: str) -> Shape:
    """How many positions a launch covers, as `size=` says it."""
    return blocks.shape_of(given, "size=", name)


def stated_of(given: Any, name: str) -> Any:
    """What `size=` says of a launch, as one launch is told from another by it.

    >>> stated_of([8, 8], "f"), stated_of(64, "f"), stated_of(None, "f")
    ((8, 8), 64, None)
    """
    if given is None:
        return None
    if isinstance(given, (int, np.integer, tuple)):
        try:
            hash(given)
        except TypeError:  # a tuple of what is no number
            return size_of(given, name)
        return given
    return size_of(given, name)


def _three(sizes: Sequence[int]) -> Shape:
    return (*map(int, sizes), 1, 1, 1)[:3]


def named(given: Any, name: str) -> tuple[Shape, ...] | None:
    """The blocks that an author names; None where none are."""
    if given is None:
        return None
    found = blocks.stated(given, "blocks", "a block", name)
    if None in found:
        raise InvalidInput(f"blocks={shown(given)} of {name}", "give sizes, such as (64, 128)")
    return tuple(one for one in found if one is not None)


def sizing(
    given: Any, named: Sequence[Shape] | None, way: Grid, name: str
) -> Callable[..., Any] | None:
    """How many positions a launch covers, as a function of a kernel's arguments.

    Raises:
        InvalidInput: it is none, or does not go with what else was said.
    """
    if way is Grid.SAME and named is None:
        raise InvalidInput(
            f'grid="same" of {name} without blocks=', "name the blocks that give the same"
        )
    if given is None:
        return None
    if way is not Grid.THREADS:
        raise InvalidInput(
            f'size= and grid="{way}" of {name}', "give one of the two: size= says what the grid is"
        )
    if callable(given):
        return given  # type: ignore[no-any-return]  # what it gives is looked at
    size = size_of(given, name)
    return lambda *_: size


class Covering:
    """The grids of free launches under one block, each found out once."""

    __slots__ = ("_block", "_known", "_way", "_width")

    def __init__(self, launch: Launch, block: Shape) -> None:
        self._block, self._width, self._way = block, launch.width, launch.way
        self._known: dict[Any, Shape] = {}

    def grid(self, given: Any, stated: Any, name: str) -> Shape:
        """The grid in the place of the one that a caller gave, over what `size=` said of it."""
        found = self._known.get((given, stated))
        if found is None:
            size = () if stated is None else size_of(stated, name)
            found = Launch.of(given, self._width, size, self._way).under(self._block)
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[given, stated] = found
        return found


_MOST_KNOWN = 4096
