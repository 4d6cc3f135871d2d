"""How many workgroups of which size: counted, inferred and checked against a device's limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt, prod

from vyre.errors import InvalidInput, InvalidProgram
from vyre.ir.expr import Atomic, Binary, Subgroup
from vyre.ir.program import Program
from vyre.ir.typing import WAVE
from vyre.ir.walk import all_expressions
from vyre.model import U32_MAX, Dim3, Limits, Schedule
from vyre.plan.binding import Binding

DEFAULT_1D_WORKGROUP_SIZE: Dim3 = (64, 1, 1)

_LARGEST_POWER = 1 << 31


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchLimits:
    """What a backend's device can launch; 0 means that it does not say."""

    backend: str
    max_threads_per_block: int
    max_block_dim: Dim3
    max_grid_dim: Dim3
    max_threads_per_sm: int = 0

    @classmethod
    def of(cls, backend: str, limits: Limits) -> LaunchLimits:
        return cls(
            backend=backend,
            max_threads_per_block=limits.max_threads,
            max_block_dim=limits.max_block,
            max_grid_dim=limits.max_grid,
            max_threads_per_sm=limits.max_threads_per_unit,
        )

    def as_limits(self) -> Limits:
        """Give the same numbers without the backend's name."""
        return Limits(
            max_threads=self.max_threads_per_block,
            max_block=self.max_block_dim,
            max_grid=self.max_grid_dim,
            max_threads_per_unit=self.max_threads_per_sm,
        )

    def blocks_per_unit(self, threads: int) -> int | None:
        """Count the whole workgroups that one unit holds; None where that cannot be said."""
        if self.max_threads_per_sm == 0 or threads == 0:
            return None
        return self.max_threads_per_sm // threads

    def resident_threads(self, threads: int) -> int | None:
        """Count the threads that fill one unit so; None where that cannot be said."""
        blocks = self.blocks_per_unit(threads)
        return None if blocks is None else blocks * threads


def validate_launch_geometry(workgroup: Dim3, grid: Dim3, limits: LaunchLimits) -> None:
    """Check a launch against a device's limits, in the order in which they are named below.

    Raises:
        InvalidProgram: an axis is below 1; the workgroup's threads overflow 32 bits or are too
            many; an axis of the workgroup, or of the grid, is too large.
    """
    backend = limits.backend
    if min(*workgroup, *grid) < 1:
        raise InvalidProgram(
            f"workgroup {workgroup} on grid {grid} has an axis below 1 ({backend})",
            "give every axis at least 1",
        )
    threads = prod(workgroup)
    if threads > U32_MAX:
        raise InvalidProgram(
            f"workgroup {workgroup} is {threads} threads, more than 32 bits count ({backend})",
            "choose a smaller workgroup",
        )
    if not _within(threads, limits.max_threads_per_block):
        raise InvalidProgram(
            f"workgroup {workgroup} is {threads} threads;"
            f" {backend} allows {limits.max_threads_per_block}",
            f"choose a workgroup of at most {limits.max_threads_per_block} threads",
        )
    for axis, size, most in zip("xyz", workgroup, limits.max_block_dim, strict=True):
        if not _within(size, most):
            raise InvalidProgram(
                f"workgroup {workgroup} is {size} along {axis}; {backend} allows {most}",
                f"choose a workgroup of at most {most} along {axis}",
            )
    for axis, size, most in zip("xyz", grid, limits.max_grid_dim, strict=True):
        if not _within(size, most):
            raise InvalidProgram(
                f"grid {grid} is {size} workgroups along {axis}; {backend} allows {most}",
                "choose a larger workgroup, or split the dispatch",
            )


def wrapping_axis(tile: Dim3, grid: Dim3) -> int | None:
    """The first axis along which the last workgroup's tile reaches beyond 2**32, if there is one.

    A position is a word of 32 bits. Beyond it begins again at 0, passes its check against the
    extent, and its element is computed a second time.
    """
    reach = (size * groups for size, groups in zip(tile, grid, strict=True))
    return next((axis for axis, end in enumerate(reach) if end > U32_MAX + 1), None)


def refuse_wrapping(
    workgroup: Dim3, grid: Dim3, items: Dim3 = (1, 1, 1), *, lanes: int = 1
) -> None:
    """Check that no position of a launch begins again at 0.

    Args:
        workgroup: its invocations, or `lanes` of each along x.
        grid: how many workgroups there are.
        items: how many positions an invocation takes, by axis.
        lanes: how many stand where an invocation would.

    Raises:
        InvalidInput: one does.
    """
    x, *others = workgroup
    stand = (max(x // lanes, 1), *others)
    x, y, z = (size * each for size, each in zip(stand, items, strict=True))
    axis = wrapping_axis((x, y, z), grid)
    if axis is not None:
        several = f" of {items[axis]} items" if items[axis] > 1 else ""
        powers: object = tuple(_power_in(size) for size in workgroup)
        if items[axis] != _power_in(items[axis]):
            powers = f"{powers} and {_power_in(items[axis])} items"
        raise InvalidInput(
            f"{grid[axis]} workgroups {workgroup}{several} along {'xyz'[axis]} reach beyond 2**32, "
            "where positions begin again at 0",
            f"use powers of two, such as {powers}, or split the call",
        )


def _power_in(size: int) -> int:
    """The largest power of two in a size."""
    return 1 << (size.bit_length() - 1)


def admit_dispatch_grid(grid: Dim3, max_per_axis: int, backend: str) -> None:
    """Check a grid against a ceiling that all axes share; 0 is no ceiling.

    Raises:
        InvalidProgram: an axis is below 1 or beyond the ceiling.
    """
    anything = (0, 0, 0)
    limits = LaunchLimits(
        backend=backend,
        max_threads_per_block=0,
        max_block_dim=anything,
        max_grid_dim=(max_per_axis, max_per_axis, max_per_axis),
    )
    validate_launch_geometry((1, 1, 1), grid, limits)


def dispatch_element_count_for_program(program: Program, bindings: Sequence[Binding]) -> int:
    """Count the elements that a launch covers when nobody says: at least 1.

    The longest output decides. A program with workgroup memory, atomics or subgroups covers its
    longest buffer of all: a lane without an output of its own still adds to what others write.
    """
    longest = longest_output = 0
    has_shared = False
    for binding in bindings:
        if binding.is_shared:
            has_shared = True
            continue
        longest = max(longest, binding.element_count)
        if binding.role.gives_output:
            longest_output = max(longest_output, binding.element_count)
    if longest_output == 0 or has_shared or _lanes_work_together(program):
        return max(longest, 1)
    return longest_output


def infer_dispatch_grid_for_count(n: int, workgroup: Dim3) -> Dim3:
    """Lay workgroups over `n` elements: in a line, about a square, or about a cube.

    >>> infer_dispatch_grid_for_count(1000, (64, 1, 1))
    (16, 1, 1)

    Raises:
        InvalidProgram: an axis of the workgroup is below 1.
        InvalidInput: `n` is no 32-bit count.
    """
    if min(workgroup) < 1:
        raise InvalidProgram(
            f"workgroup {workgroup} has an axis below 1", "give every axis at least 1"
        )
    if not 0 <= n <= U32_MAX:
        raise InvalidInput(f"a grid for {n} elements", f"use 0 to {U32_MAX} elements")
    n = max(n, 1)
    x, y, z = workgroup
    if (y, z) == (1, 1):
        return (ceil_div(n, x), 1, 1)
    if z == 1:
        side = isqrt(n - 1) + 1
        return (ceil_div(side, x), ceil_div(ceil_div(n, side), y), 1)
    side = _ceil_cube_root(n)
    return (ceil_div(side, x), ceil_div(side, y), ceil_div(ceil_div(n, side * side), z))


@dataclass(frozen=True, slots=True)
class TailMaskPolicy:
    """A count rounded up to a power of two; lanes from `original_count` on must do nothing."""

    original_count: int
    rounded_count: int

    @property
    def tail_lanes(self) -> int:
        return self.rounded_count - self.original_count

    @property
    def is_aligned(self) -> bool:
        return self.tail_lanes == 0


def coerce_to_pow2(count: int) -> TailMaskPolicy:
    """Round `count` up to a power of two; 0 stays 0.

    >>> coerce_to_pow2(1000).tail_lanes
    24

    Raises:
        InvalidInput: the power of two would not fit 32 bits.
    """
    if not 0 <= count <= _LARGEST_POWER:
        raise InvalidInput(
            f"{count} elements rounded up to a power of two", f"use 0 to {_LARGEST_POWER} elements"
        )
    return TailMaskPolicy(count, 1 << (count - 1).bit_length() if count else 0)


def coerce_to_pow2_or_keep(count: int) -> TailMaskPolicy:
    """Round `count` up to a power of two, or keep it where that would not fit 32 bits."""
    return TailMaskPolicy(count, count) if count > _LARGEST_POWER else coerce_to_pow2(count)


def why_not_fitted(extent: Dim3, schedule: Schedule) -> str | None:
    """Why a code that is compiled for whole tiles cannot cover `extent`."""
    if not schedule.code.fitted:
        return None
    whole = all(size % tile == 0 for size, tile in zip(extent, schedule.tile, strict=True))
    return None if whole else f"{extent} is no whole number of tiles {schedule.tile}"


def tiles_of(extent: Dim3, schedule: Schedule) -> Dim3:
    """Count the tiles of a schedule that cover `extent`."""
    x, y, z = map(ceil_div, extent, schedule.tile)
    return x, y, z


def tile_grid(extent: Dim3, schedule: Schedule) -> Dim3:
    """Count the workgroups of a schedule that cover `extent`: one for a tile, or several."""
    x, y, z = tiles_of(extent, schedule)
    return x * schedule.code.shares, y, z


def ceil_div(count: int, size: int) -> int:
    """Count the pieces of `size` that hold `count`."""
    return -(-count // size)


def _within(value: int, limit: int) -> bool:
    return limit == 0 or value <= limit


def _lanes_work_together(program: Program) -> bool:
    return any(
        isinstance(expr, (Atomic, Subgroup)) or (isinstance(expr, Binary) and expr.op in WAVE)
        for expr in all_expressions(program.entry)
    )


def _ceil_cube_root(n: int) -> int:
    """Find the smallest side whose cube holds `n`; a float root is off by one at some cubes."""
    low, high = 1, 1 << -(-n.bit_length() // 3)
    while low < high:
        middle = (low + high) // 2
        if middle**3 >= n:
            high = middle
        else:
            low = middle + 1
    return low
