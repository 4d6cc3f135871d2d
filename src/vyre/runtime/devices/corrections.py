"""What this process has timed of other kernels on a device, as a correction of its guesses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from vyre.learn import process
from vyre.learn.deciders import MOST as MOST_LEARNED
from vyre.model import DeviceKind, Schedule, Workload
from vyre.plan.guess import Evidence, correcting, work_of

if TYPE_CHECKING:
    from vyre.runtime.devices.device import Device
    from vyre.runtime.devices.launcher import Launcher, Numbers

MOST = 16
"""Kernels that a correction is made of, the latest: reckoning it takes a few milliseconds."""


def began(launcher: Launcher, numbers: Numbers, workload: Workload) -> None:
    """A workload is learned from now on: what is timed of it will tell of its device."""
    launched = launcher.device.launched
    launched.pop(workload, None)
    launched[workload] = launcher, numbers
    while len(launched) > MOST_LEARNED:
        launched.pop(next(iter(launched)), None)


def renewing(device: Device) -> Iterator[None]:
    """Correct a device's guesses by what was timed since; in pieces, for the thread that learns.

    Calls read `device.correction` as it is; they never wait for it.
    """
    if device.info.kind is not DeviceKind.GPU or device.info.simd is not None:
        return
    timed = _timed(device)
    if len(timed) == device.corrected_by:
        return
    device.corrected_by = len(timed)
    told = []
    for one in timed[-MOST:]:
        told.append(_evidence(*one))
        yield
    device.correction = yield from correcting(told, device.info)


Timed = tuple["Launcher", "Numbers", dict[Schedule, float]]


def _timed(device: Device) -> list[Timed]:
    """Each workload of this device of which several schedules were timed."""
    found = []
    for decider in process.deciders().all():
        launched = device.launched.get(decider.workload)
        if launched is None or decider.standing.policy is None:
            continue
        ratios = decider.standing.policy.ratios()
        known = {one: at for one, at in ratios.items() if isinstance(one, Schedule)}
        if len(known) > 1:
            found.append((*launched, known))
    return found


def _evidence(launcher: Launcher, numbers: Numbers, ratios: dict[Schedule, float]) -> Evidence:
    work = work_of(launcher.program, launcher.facts, numbers)
    return Evidence(work, launcher.default(numbers), tuple(ratios.items()))
