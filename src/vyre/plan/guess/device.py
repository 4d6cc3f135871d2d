"""What the model asks of a device: its figures, and the constants of the nearest known one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Protocol, TypeVar

from vyre.model import DeviceInfo
from vyre.plan.guess import fitted
from vyre.plan.guess.missed import Missed
from vyre.plan.guess.model import Constants, Figures

_UNIT_THREADS = 2048  # held by a GPU's unit that does not say how many it holds


@dataclass(frozen=True, slots=True)
class Known:
    """A device whose spaces were recorded, and what was fitted to them."""

    model: str
    units: int
    unit_threads: int
    constants: Constants
    missed: Missed
    spread: float


KNOWN = tuple(
    Known(
        **{
            **entry,
            "constants": Constants(**entry["constants"]),
            "missed": Missed(*entry["missed"]),
        }
    )
    for entry in fitted.DEVICES
)


class Sized(Protocol):
    """What was recorded on a device of a name and a size."""

    @property
    def model(self) -> str: ...
    @property
    def units(self) -> int: ...
    @property
    def unit_threads(self) -> int: ...


Found = TypeVar("Found", bound=Sized)


def most_like(info: DeviceInfo, known: Sequence[Found]) -> Found:
    """What was recorded on the device most like this one: of its name, else of its size."""

    def apart(one: Found) -> float:
        if one.model == info.model:
            return -1.0
        size = max(info.compute_units, 1) * (info.limits.max_threads_per_unit or _UNIT_THREADS)
        return abs(log(size / (one.units * one.unit_threads)))

    return min(known, key=apart)


def nearest(info: DeviceInfo) -> Known:
    """The known device most like this one."""
    return most_like(info, KNOWN)


def figures(info: DeviceInfo) -> tuple[Figures, Known]:
    """A device's own figures, and the known device whose constants serve it.

    Memory, caches and what hands out groups are taken to grow with the units: that is how vendors
    build the small and the large of a family.
    """
    known = nearest(info)
    return figures_beside(info, known), known


def figures_beside(info: DeviceInfo, known: Sized) -> Figures:
    """A device's own figures, and how much larger it is than a known one."""
    units = max(info.compute_units, 1)
    threads = info.limits.max_threads_per_unit or _UNIT_THREADS
    scale = units * threads / (known.units * known.unit_threads)
    return Figures(units=float(units), unit_threads=float(threads), scale=scale)
