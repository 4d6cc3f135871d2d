"""What other kernels on a device tell of it: by how much each of its machines is off the model.

The model's constants were fitted on some devices. Evidence from this one moves them, those of one
machine together, as far as the evidence outweighs how well they were known.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from math import exp, isfinite
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from vyre.model import DeviceInfo, Schedule
from vyre.plan.guess.amounts import Amounts, amounts
from vyre.plan.guess.device import figures
from vyre.plan.guess.model import Constants, Figures, nanoseconds
from vyre.plan.guess.shapes import Shapes, Vector
from vyre.plan.guess.work import Work

MACHINES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "launch": ("launch", "first"),
        "arithmetic": ("issue",),
        "accesses": ("load", "store", "address", "check", "check_run", "turn", "passed", "placing"),
        "lines": ("line_loaded", "line_stored", "near_line"),
        "caches": ("fetched", "walked", "stored"),
        "capacity": ("cache",),
        "memory": ("memory", "scattered"),
        "waiting": ("near_wait", "far_wait", "start", "guard", "warp"),
        "loops": ("chained", "round", "round_load", "round_alone", "round_held", "wander"),
        "own time": ("own", "near_round", "each", "alone"),
        "bringing": (
            *("brought", "ends", "near_load", "coming", "chunk", "bring", "ragged", "ended"),
        ),
        "groups": ("group",),
        "drain": ("drain",),
        "counters": ("near_atomic", "clear", "far_add", "barrier"),
        "atomics": ("atomic",),
    }
)
"""The constants that move together."""

PRIOR = 0.3  # how far a machine is off, in log time, before anything was measured
KERNEL = 3.0  # rows that those of one kernel count for: they err together
STEEP = 3.0  # a row that takes e times as long as the best counts for exp(-STEEP)
FAR = 4.0  # spreads of the model beyond which a row says no more
STEPS, NUDGE = 3, 0.05
MOST_SHIFT, MOST_RATIO = 1.5, 20.0
MOST_KERNELS, MOST_ROWS = 64, 32  # the latest count


@dataclass(frozen=True, slots=True)
class Correction:
    """By how much the machines of a device differ from the model's, as logarithms of factors."""

    shifts: tuple[float, ...]
    kernels: int = 0  # that told of it


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was measured of one kernel at one launch: log(time / time of the default)."""

    work: Work
    default: Schedule
    ratios: tuple[tuple[Schedule, float], ...]


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
    pieces = correcting(evidence, info)
    while True:
        try:
            next(pieces)
        except StopIteration as found:
            correction: Correction | None = found.value
            return correction


def correcting(
    evidence: Sequence[Evidence], info: DeviceInfo
) -> Generator[None, None, Correction | None]:
    """The same with a rest after each piece of work that takes about a millisecond."""
    told = [one for one in evidence if any(isfinite(ratio) for _, ratio in one.ratios)]
    if not told:
        return None
    device, known = figures(info)
    shifts = np.zeros(len(MACHINES))
    counted = []
    for one in told[-MOST_KERNELS:]:
        counted.append(_counted(one))
        yield
    rows = _Rows.of(counted)
    yield
    for _ in range(STEPS):
        times = []
        for tried in np.vstack([shifts, shifts + NUDGE * np.eye(len(shifts))]):
            times.append(_log_times(rows, known.constants, tried, device))
            yield
        shifts = _step(shifts, rows, np.stack(times), known.spread)
    return Correction(tuple(float(shift) for shift in shifts), len(told[-MOST_KERNELS:]))


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of all evidence, one after the other."""

    amounts: Amounts
    starts: NDArray[np.intp]  # the first row of each kernel, which is its default
    counts: NDArray[np.intp]
    measured: Vector
    weight: Vector

    @classmethod
    def of(cls, counted: Sequence[tuple[Amounts, Vector]]) -> _Rows:
        found, measured = zip(*counted, strict=True)
        counts = np.array([len(one) for one in measured])
        columns = {
            field.name: np.concatenate(
                [
                    np.broadcast_to(getattr(one, field.name), (count,))
                    for one, count in zip(found, counts, strict=True)
                ]
            )
            for field in fields(Amounts)
        }
        return cls(
            Amounts(**columns),
            np.cumsum(counts) - counts,
            counts,
            np.concatenate(measured),
            np.concatenate([_weights(one) for one in measured]),
        )

    def around(self, values: Vector, weight: Vector) -> Vector:
        """Values less the mean of their kernel: how good its default is says nothing of others."""
        total = np.add.reduceat(weight, self.starts)
        mean = np.add.reduceat(values * weight, self.starts, axis=-1) / np.maximum(total, 1e-9)
        found: Vector = values - np.repeat(mean, self.counts, axis=-1)
        return found


def _counted(one: Evidence) -> tuple[Amounts, Vector]:
    """The rows of one kernel, its default first."""
    known = [(schedule, at) for schedule, at in one.ratios if isfinite(at)][-MOST_ROWS:]
    schedules = [one.default, *(schedule for schedule, _ in known)]
    measured: Vector = np.clip([0.0, *(at for _, at in known)], -MOST_RATIO, MOST_RATIO)
    with np.errstate(all="ignore"):  # what is no number is left out
        return amounts(one.work, Shapes.of(schedules)), measured


def _weights(ratios: Vector) -> Vector:
    """What each row counts for: the constants were fitted to schedules that are nearly the best."""
    near: Vector = np.exp(-STEEP * np.minimum(ratios - ratios.min(), 2.0))
    return near * min(1.0, KERNEL / float(near.sum()))


def _log_times(rows: _Rows, constants: Constants, shifts: Vector, device: Figures) -> Vector:
    moved = corrected(constants, Correction(tuple(map(float, shifts))))
    with np.errstate(all="ignore"):
        found: Vector = np.log(nanoseconds(rows.amounts, moved, device))
    return found


def _step(shifts: Vector, rows: _Rows, times: Vector, spread: float) -> Vector:
    """One step of Gauss and Newton towards what prior and evidence make most likely.

    Args:
        shifts: where it begins.
        rows: what was measured.
        times: log times there, and where each machine in turn is nudged.
        spread: of the model's errors.
    """
    count = len(shifts)
    known = np.isfinite(times).all(axis=0)
    times, weight = np.where(known, times, 0.0), np.where(known, rows.weight, 0.0)
    slopes = rows.around((times[1:] - times[0]) / NUDGE, weight)
    missed = rows.around(rows.measured - times[0], weight)
    # A row far off the model tells of what the model does not know, not of the machines.
    missed = np.clip(missed, -FAR * spread, FAR * spread)
    weighed = slopes * (weight / spread**2)
    precision = np.eye(count) / PRIOR**2 + weighed @ slopes.T
    pull = weighed @ (missed + slopes.T @ shifts)
    found: Vector = np.clip(np.linalg.solve(precision, pull), -MOST_SHIFT, MOST_SHIFT)
    return found
