"""The cold start of programs with reductions: by invocations alone, or by teams of lanes.

On GPUs a model of a few machines says how long a launch takes under every schedule; what an amount
costs there was fitted to recorded spaces (`scripts/fit_teams.py`). Processors have a model of their
own (`plan.team_times`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from vyre.analysis.forms import Launch
from vyre.ir.program import Program
from vyre.model import DeviceInfo, DeviceKind, Schedule
from vyre.plan import team_times
from vyre.plan.guess.device import figures_beside, most_like
from vyre.plan.guess.missed import Missed
from vyre.plan.guess.shapes import Vector
from vyre.plan.guess.teams import fitted
from vyre.plan.guess.teams.amounts import Amounts, amounts
from vyre.plan.guess.teams.model import Constants, nanoseconds
from vyre.plan.guess.teams.walks import walks_of
from vyre.plan.shares import shared_relay

__all__ = ("ALIKE", "DOUBT", "amounts_of", "log_times", "missed")

ALIKE = 0.01
"""Log times closer than this are no reason to prefer one."""


DOUBT = 0.05
"""Log time that another schedule must be expected to gain on a GPU's default to come before it."""


@dataclass(frozen=True, slots=True)
class Known:
    """A GPU whose reductions were recorded, and what was fitted to them."""

    model: str
    units: int
    unit_threads: int
    constants: Constants
    missed: Missed


@cache
def _known() -> tuple[Known, ...]:
    """What was fitted; asked for late, so that a fit can run that has further constants."""
    return tuple(
        Known(
            **{
                **entry,
                "constants": Constants(**entry["constants"]),
                "missed": Missed(*entry["missed"]),
            }
        )
        for entry in fitted.DEVICES
    )


def log_times(
    schedules: Sequence[Schedule], program: Program, info: DeviceInfo, launch: Launch
) -> Vector:
    """What each schedule is expected to take, as the logarithm of a time."""
    if info.kind is DeviceKind.CPU:
        return team_times.log_times(schedules, program, info, launch)
    known = most_like(info, _known())
    found = amounts_of(schedules, program, launch)
    logs: Vector = np.log(nanoseconds(found, known.constants, figures_beside(info, known)))
    return logs


def missed(info: DeviceInfo) -> Missed:
    """How far guesses were off on a GPU, of kernels that were left out."""
    return most_like(info, _known()).missed


def amounts_of(schedules: Sequence[Schedule], program: Program, launch: Launch) -> Amounts:
    """What every schedule makes of a launch of a program on a GPU."""
    several = any(schedule.code.shares > 1 for schedule in schedules)
    relay = shared_relay(program) if several else None
    return amounts(walks_of(program, launch), schedules, relay)
