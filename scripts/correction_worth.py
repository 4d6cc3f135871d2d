"""What evidence on other kernels is worth to the guess, on recorded and on made devices.

A made device has the constants of a recorded one, those of each machine times exp(N(0, OFF)): what
a schedule takes there is what was recorded, times the model's ratio of the two devices.
"""

# mypy: ignore-errors  # it works on what `fit_guess` reads

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from vyre.model import U32_MAX, DeviceInfo, DeviceKind, Limits
from vyre.plan.guess import ALIKE
from vyre.plan.guess.correct import MACHINES, Correction, Evidence, correct, corrected
from vyre.plan.guess.device import figures
from vyre.plan.guess.model import nanoseconds
from vyre.plan.guess.ranking import ranked

OFF = (0.3, 0.6)  # in log time: how far machines are off
NOISE = 0.02  # of one ratio of times
TIMED = 20  # schedules of each kernel, the first guesses and others
KERNELS = (1, 3, 10)
MADE = 6  # devices


def worth(device: dict[str, Any], spaces: list[Any]) -> dict[str, Any]:
    """The geomean of time[guess] / time[best], by how many other kernels told of the device."""
    info = _info(device)
    rng = np.random.default_rng(0)
    recorded = Made(Correction((0.0,) * len(MACHINES)), [one.times for one in spaces])
    found = {"as recorded": _before_and_after(info, spaces, [recorded], rng)}
    for off in OFF:
        made = [_made(info, spaces, off, rng) for _ in range(MADE)]
        found[f"machines off by {off}"] = _before_and_after(info, spaces, made, rng)
    for title, values in found.items():
        print(f"{device['model']}, {title}:", values, flush=True)
    return found


def _info(device: dict[str, Any]) -> DeviceInfo:
    limits = Limits(
        max_threads=1024,
        max_block=(1024, 1024, 64),
        max_grid=(U32_MAX, 65_535, 65_535),
        max_threads_per_unit=device["max_threads_per_unit"],
    )
    return DeviceInfo(
        backend="recorded",
        model=device["model"],
        driver="",
        compiler="",
        kind=DeviceKind.GPU,
        limits=limits,
        compute_units=device["compute_units"],
    )


@dataclass(frozen=True)
class Made:
    """A device: how far it is off, and what every schedule of every space takes there."""

    off: Correction
    times: list[np.ndarray]


def _made(info: DeviceInfo, spaces: list[Any], off: float, rng: np.random.Generator) -> Made:
    device, known = figures(info)
    correction = Correction(tuple(rng.normal(0.0, off, len(MACHINES))))
    there = corrected(known.constants, correction)
    times = [
        one.times
        * nanoseconds(one.amounts, there, device)
        / nanoseconds(one.amounts, known.constants, device)
        for one in spaces
    ]
    return Made(correction, times)


def _before_and_after(
    info: DeviceInfo, spaces: list[Any], devices: list[Made], rng: np.random.Generator
) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for device in devices:
        pairs = list(zip(spaces, device.times, strict=True))
        told = [_evidence(info, one, times, rng) for one, times in pairs]
        for one, times in pairs:
            others = [place for place, other in enumerate(spaces) if other.kernel != one.kernel]
            by = {"nothing told": None}
            for count in KERNELS:
                chosen = rng.choice(others, count, replace=False)
                by[f"kernels: {count}"] = correct([told[place] for place in chosen], info)
            by["its own constants"] = device.off  # what no evidence can surpass by much
            for title, correction in by.items():
                found.setdefault(title, []).append(_ratio(info, one, times, correction))
    return {
        title: round(float(np.exp(np.log(ratios).mean())), 4) for title, ratios in found.items()
    }


def _ratio(info: DeviceInfo, one: Any, times: np.ndarray, correction: Correction | None) -> float:
    guess = _guess(info, one, correction)
    return float(times[one.space.legal.index(guess.ordered[0])] / times.min())


def _guess(info: DeviceInfo, one: Any, correction: Correction | None) -> Any:
    device, known = figures(info)
    times = nanoseconds(one.amounts, corrected(known.constants, correction), device)
    return ranked(one.space, np.log(times), ALIKE)


def _evidence(info: DeviceInfo, one: Any, times: np.ndarray, rng: np.random.Generator) -> Evidence:
    """The first guesses and some others, timed beside the default."""
    ordered = _guess(info, one, None).ordered
    first, rest = ordered[: TIMED // 2], ordered[TIMED // 2 :]
    others = rng.permutation(len(rest))[: TIMED - len(first)]
    places = {schedule: place for place, schedule in enumerate(one.space.legal)}
    default = times[places[one.space.default]]
    return Evidence(
        one.work,
        one.space.default,
        tuple(
            (schedule, float(np.log(times[places[schedule]] / default) + rng.normal(0.0, NOISE)))
            for schedule in (*first, *(rest[place] for place in others))
            if schedule != one.space.default
        ),
    )
