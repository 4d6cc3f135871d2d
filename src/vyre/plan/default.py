"""How a launch runs where nothing was learned, and what may run it: on any device, said here."""

from __future__ import annotations

from collections.abc import Collection

from vyre.analysis import Facts
from vyre.analysis.forms import Launch
from vyre.ir.program import Program
from vyre.model import Code, DeviceInfo, Dim3, Schedule
from vyre.plan import simd, space, teams
from vyre.plan.space import Resources, Space
from vyre.plan.vectors import LaunchTraits


def default_for(
    device: DeviceInfo,
    program: Program,
    facts: Facts,
    launch: Launch,
    declared: Dim3 | None = None,
    *,
    unchecked: bool = False,
    max_threads: int = 0,
    one_item: bool = False,
) -> Schedule:
    """What losses are counted against on a device.

    Args:
        device: where it runs: a processor with lanes has tiles, others a row of invocations.
        program: what is launched.
        facts: what is proved of it.
        launch: its numbers; of one it does not know, nothing is made.
        declared: the workgroup, if its author or the caller gave one.
        unchecked: leave out the bounds checks.
        max_threads: what the compiled kernel allows in a workgroup; 0 where that is not known.
        one_item: take one item whatever the grid's limit, because the code is given.
    """
    if facts.alone is not None:
        return teams.default_for(
            device,
            program,
            facts,
            launch,
            declared,
            unchecked=unchecked,
            max_threads=max_threads,
        )
    if device.simd is not None:
        return simd.default_schedule(facts, program, launch, declared, device, unchecked=unchecked)
    return space.default_schedule(
        declared,
        device.kind,
        simd.extent_of(launch),
        device.limits,
        unchecked=unchecked,
        max_threads=max_threads,
        one_item=one_item or program.runs_whole_workgroups,
    )


def space_for(
    device: DeviceInfo,
    program: Program,
    facts: Facts,
    launch: Launch,
    declared: Dim3 | None,
    traits: LaunchTraits,
    resources: Resources | None = None,
    *,
    among: Collection[Code] | None = None,
) -> Space:
    """Every schedule that gives the default's bits on a device, of some codes or all.

    Raises:
        InvalidInput: the default itself cannot be launched there.
    """
    if facts.alone is not None:
        return teams.space_for(device, program, facts, launch, declared, resources, among=among)
    if device.simd is None:
        return space.space(
            facts,
            program,
            launch,
            device.limits,
            device.kind,
            declared,
            traits,
            resources,
            among=among,
        )
    return simd.space(
        facts,
        program,
        launch,
        declared,
        device,
        unchecked=facts.has_unchecked_form and facts.unchecked_for(launch),
        resources=resources,
        among=among,
    )
