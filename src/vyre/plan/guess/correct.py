"""What other kernels on a device tell of it: by how much each of its machines is off the model.

The model's constants were fitted on some devices. Evidence from this one moves them, those of one
machine together, as far as the evidence outweighs how well they were known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp
from types import MappingProxyType
from typing import Any

import numpy as np

from vyre.model import DeviceInfo, Schedule
from vyre.plan.guess.amounts import Amounts, Shapes, Vector, amounts
from vyre.plan.guess.device import figures
from vyre.plan.guess.model import Constants, Figures, nanoseconds
from vyre.plan.guess.work import Work

MACHINES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "launch": ("launch", "first"),
        "arithmetic": ("issue",),
        "accesses": ("load", "store", "address", "check", "check_run", "turn"),
        "lines": ("line_loaded", "line_stored"),
        "caches": ("fetched", "walked", "stored"),
        "capacity": ("cache",),
        "memory": ("memory", "scattered"),
        "waiting": ("near_wait", "far_wait", "start", "warp"),
        "loops": ("chained", "round", "round_load", "wander"),
        "own time": ("own",),
        "groups": ("group",),
        "drain": ("drain",),
        "counters": ("near_atomic", "clear", "far_add", "barrier"),
        "atomics": ("atomic",),
    }
)
"""The constants that move together."""

PRIOR = 0.25  # how far a machine is off, in log time, before anything was measured
KERNEL = 4.0  # rows that those of one kernel count for: they err together


@dataclass(frozen=True, slots=True)
class Correction:
    """By how much the machines of a device differ from the model's, as logarithms of factors."""

    shifts: tuple[float, ...]

    def value(self) -> list[float]:
        """What stores keep of it."""
        return list(self.shifts)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was measured of one kernel at one launch: log(time / time of the default)."""

    work: Work
    default: Schedule
    ratios: tuple[tuple[Schedule, float], ...]

    def value(self) -> dict[str, Any]:
        """What stores keep of it; `of` reads it back."""
        return {
            "work": self.work.value(),
            "default": self.default.value(),
            "ratios": [[schedule.value(), ratio] for schedule, ratio in self.ratios],
        }

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> Evidence:
        """The evidence of its value."""
        ratios = tuple((Schedule.of(one), float(ratio)) for one, ratio in value["ratios"])
        return cls(Work.of(value["work"]), Schedule.of(value["default"]), ratios)


def corrected(constants: Constants, correction: Correction | None) -> Constants:
    """The constants of a device that evidence has told of."""
    if correction is None or not any(correction.shifts):
        return constants
    moved = {
        name: getattr(constants, name) * exp(shift)
        for names, shift in zip(MACHINES.values(), correction.shifts, strict=True)
        for name in names
    }
    return replace(constants, **moved)


def correct(evidence: Sequence[Evidence], info: DeviceInfo) -> Correction | None:
    """What evidence on kernels says of a device; None where it says nothing."""
    told = [one for one in evidence if one.ratios]
    if not told:
        return None
    device, known = figures(info)
    rows = [
        (
            amounts(one.work, Shapes.of([one.default, *(schedule for schedule, _ in one.ratios)])),
            np.array([ratio for _, ratio in one.ratios]),
        )
        for one in told
    ]
    shifts = np.zeros(len(MACHINES))
    for _ in range(3):
        shifts = _step(shifts, rows, known.constants, device, known.spread)
    return Correction(tuple(float(shift) for shift in shifts))


def _step(
    shifts: Vector,
    rows: Sequence[tuple[Amounts, Vector]],
    constants: Constants,
    device: Figures,
    spread: float,
) -> Vector:
    """One step of Gauss and Newton towards what prior and evidence make most likely."""
    precision = np.eye(len(shifts)) / PRIOR**2
    pull = np.zeros(len(shifts))
    for amount, measured in rows:
        base = _ratios(amount, constants, shifts, device)
        slopes = np.stack(
            [
                (_ratios(amount, constants, shifts + 0.05 * unit, device) - base) / 0.05
                for unit in np.eye(len(shifts))
            ]
        )
        # A row far off the model tells of what the model does not know, not of the machines.
        missed = np.clip(measured - base, -4 * spread, 4 * spread)
        weight = min(1.0, KERNEL / len(measured)) / spread**2
        precision += weight * slopes @ slopes.T
        pull += weight * slopes @ (missed + slopes.T @ shifts)
    found: Vector = np.clip(np.linalg.solve(precision, pull), -1.5, 1.5)
    return found


def _ratios(amount: Amounts, constants: Constants, shifts: Vector, device: Figures) -> Vector:
    moved = corrected(constants, Correction(tuple(shifts)))
    times = np.log(nanoseconds(amount, moved, device))
    found: Vector = times[1:] - times[0]
    return found
