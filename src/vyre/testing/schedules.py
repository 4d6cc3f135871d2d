"""Whether every legal schedule gives the bits of the declared one, on generated programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

from vyre.analysis import analyse
from vyre.analysis.teams import MOST_BESIDE, TEAMS_THAT_BRING
from vyre.backend.base import Unbuilt
from vyre.errors import InvalidInput
from vyre.ir.expr import Id, IdKind
from vyre.ir.fold import BLOCK, LANES
from vyre.ir.program import Program
from vyre.ir.team import (
    covers_rows,
    why_no_team,
    why_none_abreast,
    why_none_beside,
    why_none_bring,
    why_not_shared,
    why_nothing_kept,
)
from vyre.ir.walk import all_expressions
from vyre.model import Code, DeviceInfo, Order, Schedule
from vyre.plan import default
from vyre.plan.geometry import tile_grid
from vyre.plan.shares import launches_of, room_for, why_not_shares
from vyre.plan.space import Space, refuse_unbounded
from vyre.plan.team_groups import bytes_of_group, group_of
from vyre.plan.teams import written_by_teams
from vyre.plan.vectors import LaunchTraits
from vyre.runtime.arrays.array import alignment_of
from vyre.runtime.devices.device import Device
from vyre.runtime.devices.launcher import Numbers, words_of
from vyre.testing.compare import Judge, Mismatch
from vyre.testing.programs import Case


@dataclass(frozen=True, slots=True)
class Deviation:
    """A schedule that changed a result."""

    case: int
    schedule: Schedule
    mismatch: Mismatch


def numbers_of(case: Case) -> Numbers:
    """The numbers of the launch of a generated case."""
    scalars = {
        decl.name: int(case.arrays[decl.name][0])
        for decl in case.program.buffers
        if decl.is_scalar_argument and decl.element.is_int
    }
    return Numbers(case.extent, {n: a.shape for n, a in case.arrays.items()}, scalars)


def space_for(device: Device, case: Case) -> Space:
    """The legal schedules of a generated case."""
    arrays = {
        name: array
        for name, array in case.arrays.items()
        if not case.program.buffer(name).is_scalar_argument
    }
    return default.space_for(
        device.info,
        case.program,
        device.facts(case.program),
        numbers_of(case),
        case.program.workgroup_size,
        LaunchTraits({name: alignment_of(array) for name, array in arrays.items()}),
    )


def drawn(space: Space, rng: Random, *, codes: int = 4, widths: int = 2) -> list[Schedule]:
    """A few codes of a space at a few workgroups each."""
    by_code = list(dict.fromkeys(schedule.code for schedule in space.legal))
    picked = rng.sample(by_code, min(codes, len(by_code)))
    groups = [[one for one in space.legal if one.code == code] for code in picked]
    return [one for group in groups for one in rng.sample(group, min(widths, len(group)))]


def in_teams(space: Space, rng: Random, *, teams: int = 3) -> list[Schedule]:
    """One schedule whose invocations are alone, and some whose lanes share what each does."""
    found = [one for one in space.legal if one.code.lanes > 1]
    alone = [one for one in space.legal if one.code.lanes == 1]
    return [*rng.sample(alone, min(1, len(alone))), *rng.sample(found, min(teams, len(found)))]


def sharing(
    info: DeviceInfo, program: Program, numbers: Numbers, rng: Random, *, count: int = 2
) -> list[Schedule]:
    """A few schedules whose teams share each result, whatever it is worth; none where none can."""
    if why_not_shared(program) is not None or not (info.simd or info.limits.lockstep == LANES):
        return []
    sizes = (32,) if info.simd else (32, 64, 256)
    drawn = [
        Code(
            lanes=rng.choice(sizes),
            shares=rng.choice((2, 4, 8, 64)),
            across=covers_rows(program),
            checked=rng.random() < 0.5 or not _needs_no_checks(program, numbers),
        )
        for _ in range(count)
    ]
    return [
        Schedule((code.lanes, 1, 1), code)
        for code in dict.fromkeys(drawn)
        if why_not_shares(program, code, numbers) is None
    ]


def keeping(
    info: DeviceInfo, program: Program, numbers: Numbers, rng: Random, *, count: int = 2
) -> list[Schedule]:
    """A few schedules whose lanes keep what they compute again; none where that is nothing."""
    if why_nothing_kept(program) is not None or not (info.simd or info.limits.lockstep == LANES):
        return []
    lanes = [rng.choice(_lanes(info)) for _ in range(count)]
    drawn = [
        Code(
            lanes=one,
            keeps=LANES if one > LANES else rng.choice((1, 2, 4, 8, 16, 32)),
            unroll=rng.choice(UNROLLS),
            across=covers_rows(program),
            checked=rng.random() < 0.5 or not _needs_no_checks(program, numbers),
        )
        for one in lanes
    ]
    return [_grouped(code, program, rng) for code in _bounded(info, program, drawn)]


def besides(
    info: DeviceInfo, program: Program, numbers: Numbers, rng: Random, *, count: int = 2
) -> list[Schedule]:
    """A few schedules whose teams have several results each; none where there are no such teams."""
    if why_none_beside(program) is not None or info.simd or info.limits.lockstep != LANES:
        return []
    drawn = [
        Code(
            lanes=rng.choice(_lanes(info)),
            items=rng.choice((2, 2, 3, 4, 5, MOST_BESIDE)),
            order=Order.BLOCKED,
            unroll=rng.choice(UNROLLS),
            checked=rng.random() < 0.5 or not _needs_no_checks(program, numbers),
        )
        for _ in range(count)
    ]
    return [_grouped(code, program, rng) for code in _bounded(info, program, drawn)]


def abreast(
    info: DeviceInfo, program: Program, numbers: Numbers, rng: Random, *, count: int = 2
) -> list[Schedule]:
    """A few schedules of teams that stand abreast; none where they would not go the same way."""
    if why_none_abreast(program) is not None or info.simd:
        return []
    can_share = why_not_shared(program) is None and info.limits.lockstep == LANES
    drawn = [
        Code(
            lanes=LANES,
            abreast=rng.choice((2, 4, 8, 16, 32)),
            shares=rng.choice((1, 1, 2, 8)) if can_share else 1,
            unroll=rng.choice(UNROLLS),
            checked=rng.random() < 0.5 or not _needs_no_checks(program, numbers),
        )
        for _ in range(count)
    ]
    return [
        Schedule(group_of(code), code)
        for code in _bounded(info, program, drawn)
        if why_not_shares(program, code, numbers) is None
        and bytes_of_group(program, code) <= (info.limits.group_bytes or 1 << 15)
    ]


def bringing(
    info: DeviceInfo, program: Program, numbers: Numbers, rng: Random, *, count: int = 2
) -> list[Schedule]:
    """A few schedules of teams that bring together what their rounds read; none where none can."""
    if why_none_bring(program) is not None or info.simd or info.limits.lockstep != LANES:
        return []
    drawn = [
        Code(
            lanes=LANES,
            items=rng.choice((1, 2, 3, 4, MOST_BESIDE)),
            order=Order.BLOCKED,
            depth=BLOCK,
            unroll=rng.choice(UNROLLS),
            checked=rng.random() < 0.5 or not _needs_no_checks(program, numbers),
        )
        for _ in range(count)
    ]
    most = info.limits.max_threads or 1024
    sizes = [size for size in TEAMS_THAT_BRING if size * LANES <= most]
    return [
        Schedule((rng.choice(sizes) * LANES, 1, 1), code) for code in _bounded(info, program, drawn)
    ]


def unrolled(
    info: DeviceInfo, program: Program, numbers: Numbers, rng: Random, *, count: int = 2
) -> list[Schedule]:
    """A few schedules of teams that write some rounds one behind the other."""
    if why_no_team(program) is not None or not (info.simd or info.limits.lockstep == LANES):
        return []
    drawn = [
        Code(
            lanes=rng.choice(_lanes(info)),
            unroll=rng.choice(UNROLLS),
            across=covers_rows(program),
            checked=rng.random() < 0.5 or not _needs_no_checks(program, numbers),
        )
        for _ in range(count)
    ]
    return [_grouped(code, program, rng) for code in _bounded(info, program, drawn)]


def pinned(
    info: DeviceInfo, program: Program, numbers: Numbers, rng: Random, *, count: int = 2
) -> list[Schedule]:
    """A few schedules of each kind of teams, whatever they are worth."""
    kinds = (sharing, keeping, besides, abreast, bringing, unrolled)
    return [one for kind in kinds for one in kind(info, program, numbers, rng, count=count)]


UNROLLS = (1, 8, 32)
"""Rounds that are written one behind the other in what is drawn here."""


def _lanes(info: DeviceInfo) -> tuple[int, ...]:
    return (LANES,) if info.simd else (LANES, LANES, LANES, 64, 64, 128, 256, 1024)


def _bounded(info: DeviceInfo, program: Program, codes: Iterable[Code]) -> Iterator[Code]:
    """Each of the codes once that is not refused for what it would write out."""
    for code in dict.fromkeys(codes):
        try:
            refuse_unbounded(code, info.simd, written_by_teams(program, code))
        except InvalidInput:
            continue
        yield code


def _grouped(code: Code, program: Program, rng: Random) -> Schedule:
    """A code in a workgroup of one team, or of several that stand side by side, if they can."""
    teams = rng.choice((1, 1, 2, 4)) if code.lanes == LANES else 1
    if code.across and Id(IdKind.INVOCATION, 1) not in all_expressions(program.entry):
        teams = 1  # there is one row
    x, y = (code.lanes, teams) if code.across else (code.lanes * teams, 1)
    return Schedule((x, y, 1), code)


def _needs_no_checks(program: Program, numbers: Numbers) -> bool:
    facts = analyse(program)
    return facts.has_unchecked_form and facts.unchecked_for(numbers)


def deviations(
    device: Device, cases: Sequence[Case], rng: Random, *, codes: int = 4, widths: int = 2
) -> Iterator[Deviation]:
    """Run a few codes of each case's space at a few workgroups each; yield what differs."""
    some = [drawn(space_for(device, case), rng, codes=codes, widths=widths) for case in cases]
    return deviations_under(device, cases, some)


def deviations_under(
    device: Device, cases: Sequence[Case], schedules: Sequence[Sequence[Schedule]]
) -> Iterator[Deviation]:
    """Run each case under its schedules; yield what differs.

    All codes of all cases are compiled in one build.
    """
    wanted = dict.fromkeys(
        (case.program, schedule.code)
        for case, some in zip(cases, schedules, strict=True)
        for schedule in some
    )
    device.binaries(list(wanted))
    for number, (case, some) in enumerate(zip(cases, schedules, strict=True)):
        judge = Judge(case)
        for schedule in some:
            for mismatch in _one(device, schedule, judge):
                yield Deviation(number, schedule, mismatch)


def _one(device: Device, schedule: Schedule, judge: Judge) -> Iterator[Mismatch]:
    case = judge.case
    (binary,) = device.binaries([(case.program, schedule.code)])
    if isinstance(binary, Unbuilt):
        yield Mismatch("(build)", 0, "", binary.log)
        return
    if room := room_for(case.program, schedule.code, numbers_of(case)):
        launches = launches_of(case.program, schedule.code)
        binary = replace(binary, room=room, launches=launches)
    found = case.copies()
    words = words_of(binary.layout, case.extent, {n: a.shape for n, a in found.items()})
    grid = tile_grid(case.extent, schedule)
    device.run(binary, grid, schedule.block, found, case.program, words)
    yield from judge.mismatches(found)
