"""Which workgroup to launch when the caller leaves it open."""

from __future__ import annotations

from collections.abc import Callable

from vyre.analysis import Facts, analyse
from vyre.ir.program import Program
from vyre.model import Dim3, Limits, Mode
from vyre.plan.config import DispatchConfig
from vyre.plan.geometry import LaunchLimits
from vyre.plan.launch_numbers import LaunchNumbers, proved_free

ColdStart = Callable[[int, int, Limits], int]
"""From a count of elements, the declared width and the limits to the width to start with."""


def keep_declared(n: int, declared: int, limits: Limits) -> int:  # noqa: ARG001  # a ColdStart
    """Guess nothing: the cold start for callers that have none."""
    return declared


def resolve_launch_workgroup(
    program: Program,
    config: DispatchConfig,
    limits: LaunchLimits,
    element_count: int,
    *,
    mode: Mode = Mode.NATURAL_GRADIENT,
    cold_start: ColdStart = keep_declared,
) -> Dim3:
    """Choose the workgroup to launch: the caller's, a guess, or the declared one.

    `cold_start` is asked only where the result is proved to be the same for every width.
    """
    return resolve_launch_workgroup_for_mode(
        program, config, limits, element_count, mode, cold_start=cold_start
    )


def resolve_launch_workgroup_for_mode(
    program: Program,
    config: DispatchConfig,
    limits: LaunchLimits,
    element_count: int,
    mode: Mode,
    *,
    cold_start: ColdStart = keep_declared,
    facts: Facts | None = None,
    numbers: LaunchNumbers | None = None,
) -> Dim3:
    """Choose the workgroup to launch in an explicit mode.

    Args:
        program: what is launched.
        config: its `workgroup_override` is returned as it is; the plan validates it.
        limits: what `cold_start` may choose from.
        element_count: how many elements the launch covers along x.
        mode: every mode but natural gradient keeps the declared shape.
        cold_start: guesses a width; it answers for the limits, and raises where none fits.
        facts: what is proved of the program, where the caller has analysed it before.
        numbers: those of the launch, where more is known than its element count.
    """
    if config.workgroup_override is not None:
        return config.workgroup_override
    declared = program.workgroup_size
    # With a given grid the width decides how many lanes there are at all.
    if mode is not Mode.NATURAL_GRADIENT or config.fixed_grid is not None:
        return declared
    if declared[0] == 0 or declared[1:] != (1, 1) or element_count == 0:
        return declared
    known = numbers or LaunchNumbers.of_extent(program, (element_count, 1, 1))
    if not proved_free(facts or analyse(program), known):
        return declared
    return (cold_start(element_count, declared[0], limits.as_limits()), 1, 1)
