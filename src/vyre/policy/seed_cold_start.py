"""The Rust crate's guess of a workgroup width before anything was measured.

Its estimates only order widths among themselves. They carry the unit of a time but not its scale
(a millisecond where a kernel takes five microseconds), so nothing here is ever compared with a
measurement; what to launch first is decided in `plan`, and this map is kept for parity.
"""

from __future__ import annotations

from vyre.errors import InvalidInput
from vyre.model import U32_MAX, Limits
from vyre.policy.natural import NaturalGradientPolicy, TuningMeasurement, identity_fisher_q16

WORKGROUP_CANDIDATES = (32, 64, 128, 256, 512, 1024)
"""The one-dimensional widths that are tried on every device that allows them."""

_GROUP_NS = 1024
_IDLE_LANE_NS = 8
_POLICY = NaturalGradientPolicy(temperature_ns=4096)


def estimate_cold_start_ns(n: int, width: int) -> int:
    """Estimate `n` elements in groups of `width`, in a unit that no timing may be compared with.

    >>> [estimate_cold_start_ns(100, width) for width in (64, 128)]
    [2272, 1248]
    """
    if not 0 <= n <= U32_MAX or not 1 <= width <= U32_MAX:
        raise InvalidInput(
            f"an estimate for {n} elements in groups of {width}",
            "give 0 to 2**32 - 1 elements and a width of 1 to 2**32 - 1",
        )
    groups = -(-n // width)
    idle_lanes = groups * width - n
    return groups * _GROUP_NS + idle_lanes * _IDLE_LANE_NS


def seed_cold_start(n: int, declared: int, limits: Limits) -> int:
    """Guess the width to start with for `n` elements of a program that declares `declared`.

    An empty dispatch keeps its declared width. A width must fit the device's block and grid; where
    the device says how many threads a unit holds, only widths that fill it best are considered.

    >>> limits = Limits(max_threads=1024, max_block=(1024, 1024, 64), max_grid=(65535,) * 3)
    >>> seed_cold_start(4096, 32, limits), seed_cold_start(609, 32, limits)
    (1024, 256)

    Raises:
        InvalidInput: neither the candidates nor the declared width can be launched.

    """
    if n == 0:
        return declared
    widths = [width for width in WORKGROUP_CANDIDATES if _can_launch(n, width, limits)]
    if declared not in widths and _can_launch(n, declared, limits):
        widths.append(declared)
    if not widths:
        raise InvalidInput(
            f"no width launches {n} elements: neither {WORKGROUP_CANDIDATES} nor the declared"
            f" {declared} fits {limits.max_threads} threads, a block of {limits.max_block[0]}"
            f" and a grid of {limits.max_grid[0]}",
            "split the dispatch, or declare a workgroup that the device can launch",
        )
    widths = _filling_best(widths, limits.max_threads_per_unit)
    samples = [
        TuningMeasurement((width, 1, 1), estimate_cold_start_ns(n, width)) for width in widths
    ]
    return _POLICY.suggest(samples, identity_fisher_q16(len(samples))).selected_workgroup_size[0]


def _can_launch(n: int, width: int, limits: Limits) -> bool:
    return (
        width >= 1
        and _within(width, limits.max_threads)
        and _within(width, limits.max_block[0])
        and _within(-(-n // width), limits.max_grid[0])
    )


def _within(value: int, limit: int) -> bool:
    """Whether a limit allows a value; a limit of 0 is one that the device does not state."""
    return limit == 0 or value <= limit


def _filling_best(widths: list[int], max_threads_per_unit: int) -> list[int]:
    """Keep the widths whose groups fill most of a unit.

    Where the unit's size is unknown, or no width fits it, all of them are kept.
    """
    resident = [max_threads_per_unit // width * width for width in widths]
    peak = max(resident)
    return [width for width, threads in zip(widths, resident, strict=True) if threads == peak]
