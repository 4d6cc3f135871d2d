"""The cold start: what to run before anything was measured, and how good that should be.

On GPUs a model of a few machines says how long a launch takes under every schedule; what an amount
costs there was fitted to recorded spaces (`scripts/fit_guess.py`). Processors have a model of their
own (`lanes`), and so have programs with reductions (`teams`). Only ratios of their times are used.
Once schedules were timed, the timings decide between them.
"""

from __future__ import annotations

from math import log, prod

import numpy as np

from vyre.analysis import Facts
from vyre.analysis.forms import Launch, Symbol
from vyre.ir.program import Program
from vyre.model import DeviceInfo, DeviceKind, Schedule
from vyre.plan.guess import lanes, teams
from vyre.plan.guess.amounts import amounts
from vyre.plan.guess.correct import Correction, Evidence, correct, corrected, correcting
from vyre.plan.guess.cpu import efforts
from vyre.plan.guess.device import figures, nearest
from vyre.plan.guess.model import nanoseconds
from vyre.plan.guess.ranking import Guess, ranked, with_doubt
from vyre.plan.guess.shapes import Shapes, Vector
from vyre.plan.guess.work import Work, work_of
from vyre.plan.space import Space

__all__ = (
    "Correction",
    "Evidence",
    "Guess",
    "Work",
    "correct",
    "correcting",
    "guess",
    "order",
    "risk",
    "work_of",
)

ALIKE = 0.005
"""Log times closer than this are no reason to prefer one."""

_CPU_ALIKE = log(1.03)
_UNKNOWN_RISK = 1.0  # where no misses were recorded: twice the default's time


def guess(
    space: Space,
    program: Program,
    facts: Facts,
    info: DeviceInfo,
    launch: Launch,
    correction: Correction | None = None,
) -> Guess:
    """All of a space, the best guess first; among equal ones the default, then fewer items.

    Args:
        space: what to order, and what compiling has told of it.
        program: what is launched.
        facts: what is proved of it.
        info: the device to run on.
        launch: its numbers.
        correction: what evidence on other kernels says of the device.
    """
    count = len(space.legal)
    if count == 1 or not prod(launch.value(Symbol("extent", axis=axis)) for axis in range(3)):
        return Guess(space.legal, (0.0,) * count)
    if facts.alone is not None:
        times = teams.log_times(space.legal, program, info, launch)
        doubt = teams.DOUBT if info.kind is DeviceKind.GPU else 0.0
        return ranked(space, with_doubt(space, times, doubt), teams.ALIKE)
    if info.simd is not None:
        work = work_of(program, facts, launch)
        return ranked(space, lanes.log_times(space, program, work, info), lanes.ALIKE)
    if info.kind is DeviceKind.CPU:
        return ranked(space, efforts(space, facts, info, launch), _CPU_ALIKE)
    device, known = figures(info)
    shapes = Shapes.of(space.legal)
    found = amounts(work_of(program, facts, launch), shapes)
    found.registers = _told(space, info, device.unit_registers)
    times = nanoseconds(found, corrected(known.constants, correction), device)
    return ranked(space, np.log(times), ALIKE, shapes)


def order(
    space: Space, program: Program, facts: Facts, info: DeviceInfo, launch: Launch
) -> tuple[Schedule, ...]:
    """All of a space, the best guess first."""
    return guess(space, program, facts, info, launch).ordered


def risk(info: DeviceInfo, gain: float, *, reduces: bool = False) -> float:
    """How many default dispatches one launch of the guess may lose, 19 times of 20.

    Args:
        info: the device to run on.
        gain: how much faster than the default the guess is expected to be, in log time.
        reduces: whether the program has reductions.
    """
    if info.simd is not None:
        return lanes.missed.risk(max(gain, 0.0))
    if info.kind is DeviceKind.CPU:
        return _UNKNOWN_RISK
    if reduces:
        return teams.missed(info).risk(max(gain, 0.0))
    return nearest(info).missed.risk(max(gain, 0.0))


def _told(space: Space, info: DeviceInfo, unit_registers: float) -> Vector:
    """The registers of each schedule's code, where compiling has told that they are many.

    A code for one workgroup allows no wider one, however few registers it has.
    """
    fitting = {
        code: threads
        for code, threads in space.resources.max_threads_by_code.items()
        if code.group is None
    }
    if not fitting:
        return np.zeros(len(space.legal))
    threads = np.array([fitting.get(schedule.code, 0) for schedule in space.legal], np.float64)
    few = (threads > 0) & (threads < info.limits.max_threads)
    told: Vector = np.where(few, unit_registers / np.maximum(threads, 1.0), 0.0)
    return told
