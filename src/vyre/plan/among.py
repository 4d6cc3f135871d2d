"""The workgroups that a kernel's author names: which may run a launch, and why not others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from vyre.analysis import Facts
from vyre.analysis.forms import Launch
from vyre.errors import InvalidInput
from vyre.ir.among import program_for, workgroups_of
from vyre.ir.program import Program
from vyre.model import Code, DeviceInfo, Dim3, Limits, Schedule
from vyre.plan.default import default_for
from vyre.plan.simd import extent_of
from vyre.plan.space import Fit, Refused, Resources, Space


def named_space(
    device: DeviceInfo,
    program: Program,
    facts: Callable[[Program], Facts],
    launch: Launch,
    dropped: Mapping[Dim3, str],
    resources: Resources,
) -> Space:
    """One schedule for each workgroup that is named and can be launched; the first is the default.

    Args:
        device: where it runs.
        program: one whose author names workgroups.
        facts: what is proved of the program of one of them.
        launch: its numbers.
        dropped: workgroups that were seen to compute something else, and how.
        resources: what is known from compiling.

    Raises:
        InvalidInput: the device can launch none of them.
    """
    fit = Fit(extent_of(launch), device.limits, resources)
    legal: list[Schedule] = []
    refused: list[Refused] = []
    for workgroup in workgroups_of(program):
        own = program_for(program, workgroup)
        schedule = schedule_for(device, own, facts(own), launch, workgroup)
        why = _why_not(own, schedule, fit, device.limits)
        if why is None and legal:  # what others are compared with is not dropped
            why = dropped.get(workgroup)
        if why is None:
            legal.append(schedule)
        else:
            refused.append(Refused(f"workgroup {text_of(workgroup)}", why, 1))
    if not legal:
        reasons = "; ".join(f"{one.what.removeprefix('workgroup ')}: {one.why}" for one in refused)
        raise InvalidInput(
            f"{device.model} can launch none of the workgroups that are named: {reasons}",
            "name a smaller one as well in vyre.among(...)",
        )
    return Space(legal[0], tuple(legal), tuple(refused), resources)


def text_of(workgroup: Dim3) -> str:
    """A workgroup as schedules say it.

    >>> text_of((64, 1, 1)), text_of((16, 8, 1))
    ('64', '16x8')
    """
    return Schedule(workgroup).text


def schedule_for(
    device: DeviceInfo, program: Program, facts: Facts, launch: Launch, workgroup: Dim3
) -> Schedule:
    """How a launch runs in one of the workgroups that are named."""
    unchecked = facts.has_unchecked_form and facts.unchecked_for(launch)
    usual = default_for(device, program, facts, launch, workgroup, unchecked=unchecked)
    return replace(usual, code=sized(usual.code))


def sized(code: Code) -> Code:
    """The code, compiled for the workgroup of its schedule alone."""
    return replace(code, sized=True)


def shared_bytes(program: Program) -> int:
    """What a workgroup of a program takes of its memory."""
    return sum(decl.static_byte_len or 0 for decl in program.buffers if decl.is_shared)


def _why_not(program: Program, schedule: Schedule, fit: Fit, limits: Limits) -> str | None:
    """Why a device cannot launch the program of one workgroup."""
    problem = fit.problem(schedule)
    if problem is not None:
        return problem[1]
    held = shared_bytes(program)
    if limits.group_bytes and held > limits.group_bytes:
        return f"{held:,} bytes of workgroup memory; the device has {limits.group_bytes:,} for one"
    return None
