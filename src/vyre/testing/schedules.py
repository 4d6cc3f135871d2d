"""Whether every legal schedule gives the bits of the declared one, on generated programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from vyre.backend import reference
from vyre.backend.base import Unbuilt
from vyre.model import Schedule
from vyre.plan.geometry import tile_grid
from vyre.plan.space import LaunchTraits, Space, space
from vyre.runtime.array import alignment_of
from vyre.runtime.device import Device
from vyre.runtime.launcher import Numbers, words_of
from vyre.testing.compare import Array, apart
from vyre.testing.programs import Case


@dataclass(frozen=True, slots=True)
class Deviation:
    """A schedule that changed a result."""

    case: int
    schedule: Schedule
    buffer: str
    position: int
    expected: object
    found: object


def space_for(device: Device, case: Case) -> Space:
    """The legal schedules of a generated case."""
    scalars = {
        decl.name: int(case.arrays[decl.name][0])
        for decl in case.program.buffers
        if decl.is_scalar_argument and decl.element.is_int
    }
    arrays = {
        name: array
        for name, array in case.arrays.items()
        if not case.program.buffer(name).is_scalar_argument
    }
    return space(
        device.facts(case.program),
        case.program,
        Numbers(case.extent, {n: a.shape for n, a in case.arrays.items()}, scalars),
        device.info.limits,
        device.info.kind,
        case.program.workgroup_size,
        LaunchTraits({name: alignment_of(array) for name, array in arrays.items()}),
    )


def deviations(
    device: Device, cases: Sequence[Case], rng: Random, *, codes: int = 4, widths: int = 2
) -> Iterator[Deviation]:
    """Run a few codes of each case's space at a few workgroups each; yield what differs.

    All codes of all cases are compiled in one build.
    """
    chosen: list[list[Schedule]] = []
    for case in cases:
        legal = space_for(device, case).legal
        by_code = list(dict.fromkeys(schedule.code for schedule in legal))
        picked = rng.sample(by_code, min(codes, len(by_code)))
        some = [
            rng.sample(group, min(widths, len(group)))
            for code in picked
            for group in [[s for s in legal if s.code == code]]
        ]
        chosen.append([schedule for group in some for schedule in group])
    wanted = dict.fromkeys(
        (case.program, schedule.code)
        for case, schedules in zip(cases, chosen, strict=True)
        for schedule in schedules
    )
    device.binaries(list(wanted))
    for number, (case, schedules) in enumerate(zip(cases, chosen, strict=True)):
        expected = case.copies()
        reference.run(case.program, expected, case.extent)
        for schedule in schedules:
            yield from _one(device, number, case, schedule, expected)


def _one(
    device: Device, number: int, case: Case, schedule: Schedule, expected: dict[str, Array]
) -> Iterator[Deviation]:
    (binary,) = device.binaries([(case.program, schedule.code)])
    if isinstance(binary, Unbuilt):
        yield Deviation(number, schedule, "(build)", 0, "", binary.log)
        return
    found = case.copies()
    words = words_of(binary.layout, case.extent, {n: a.shape for n, a in found.items()})
    grid = tile_grid(case.extent, schedule)
    device.run(binary, grid, schedule.workgroup, found, case.program, words)
    for decl in case.program.buffers:
        if decl.is_written:
            before = expected[decl.name]
            where = apart(decl.element, before, found[decl.name], case.ulp.get(decl.name, 0))
            for position in where[:1]:
                yield Deviation(
                    number,
                    schedule,
                    decl.name,
                    int(position),
                    before.flat[position],
                    found[decl.name].flat[position],
                )
