"""What runs a program with reductions on a GPU where nothing was learned, by rule.

It is what somebody would write who knows how many results there are, how many rounds each has, and
what lies side by side in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import ceil, log2, prod

from vyre.analysis.forms import Launch
from vyre.ir.fold import BLOCK, LANES
from vyre.ir.program import Program
from vyre.ir.team import (
    covers_rows,
    rounds_kept,
    why_none_abreast,
    why_nothing_kept,
)
from vyre.model import Code, DeviceInfo, DeviceKind, Schedule
from vyre.plan import simd
from vyre.plan.guess.teams.walks import Walks, walks_of
from vyre.plan.shares import results_of, rounds_of, rounds_to_share, why_not_shares
from vyre.plan.team_groups import group_of, held

WIDE = DeviceKind.GPU.default_width
"""Threads of a workgroup of teams by default on a GPU."""

SIDE_BY_SIDE = (1, 2, 4, 8, 16)
"""Teams of one row of lanes in a workgroup."""

_KEEPING = (
    *((LANES, keeps) for keeps in (4, 8, 16, LANES)),
    *((lanes, LANES) for lanes in (64, 128, 256, 512, 1024)),
)
"""Lanes of teams that keep rounds, and how many each keeps."""
_WAVES = {DeviceKind.GPU: 4, DeviceKind.CPU: 1}
"""Of teams that share results, how many there are for each unit of a device.

By one for each unit of an H200, a sum of 2^24 floats takes 1.4 to 2 times as long as the best.
"""
_ABREAST, _WAVES_ABREAST, _TOGETHER = 16, 2, 8
"""Teams that stand abreast by default; where they share, workgroups of them for each unit, and how
many rounds are written one behind the other."""

_WORTH_MEETING, _WORTH_FEW = BLOCK // 2, 4 * BLOCK
"""Rounds from which they do, and from which they share results that are few.

On an H200 columns of 512 take 1.0 to 1.1 of the best so, and 1.1 to 1.4 by 32 lanes side by side;
columns of 256 1.0 to 1.2 and 1.0 to 1.2.
"""
_WORTH_SHARING = {DeviceKind.GPU: 32 * BLOCK, DeviceKind.CPU: 64 * BLOCK}
"""Rounds from which a result is shared by default: below, a single team is as soon done."""


def usual_on_gpu(
    device: DeviceInfo, program: Program, launch: Launch, *, unchecked: bool
) -> Iterator[Schedule]:
    """The default of a GPU, then what is most like it and covers more rows; none: it is no team."""
    work, extent = walks_of(program, launch), simd.extent_of(launch)
    if _is_better_alone(device, work, across=covers_rows(program)):
        return
    if (columns := _abreast_by_default(device, program, launch, unchecked=unchecked)) is not None:
        yield columns
    width = _width(device)
    most = width if device.limits.lockstep == LANES else LANES
    usual = team_code(program, most, unchecked=unchecked)
    if (shared := shared_by_default(usual, device, program, launch)) is not None:
        yield shared
    lanes = min(_lanes_for(work, across=usual.across), most)
    code = replace(usual, lanes=lanes)
    kept = keeping_code(usual, program, launch) if device.limits.lockstep == LANES else None
    if kept is not None and kept.lanes <= most:
        lanes, code = kept.lanes, kept
    if lanes > LANES or device.limits.lockstep != LANES:
        yield Schedule((lanes, 1, 1), code)
    else:
        results = max(extent[1] if usual.across else extent[0], 1)
        # At least two, and no more than leave every unit a workgroup.
        several = min(results, max(results // max(device.compute_units, 1), 2), width // LANES)
        several = 1 << several.bit_length() - 1
        yield Schedule((LANES, several, 1) if usual.across else (LANES * several, 1, 1), code)
    if device.limits.lockstep == LANES:
        small = replace(usual, lanes=LANES)
        for size in (*SIDE_BY_SIDE[1:], LANES):  # more rows than workgroups along an axis
            yield Schedule((LANES, size, 1), small)
            yield Schedule((LANES, 1, size), small)


def _abreast_by_default(
    device: DeviceInfo, program: Program, launch: Launch, *, unchecked: bool
) -> Schedule | None:
    """Teams that stand abreast, where results lie closer than rounds, and rounds are many.

    They share their results where that leaves units without a workgroup.
    """
    longest = walks_of(program, launch).longest
    if not longest.is_beside or not longest.is_told or longest.rounds < _WORTH_MEETING:
        return None
    if why_none_abreast(program) is not None:
        return None
    width = min(_ABREAST, _power_over(simd.extent_of(launch)[0]))
    code = replace(team_code(program, LANES, unchecked=unchecked), abreast=width)
    if longest.rounds >= _WORTH_FEW and groups_of(code, launch) < max(device.compute_units, 1):
        for shares in shares_for(code, device, program, launch, (_WAVES_ABREAST,)):
            code = replace(code, shares=shares, unroll=_TOGETHER)
    code = held(program, code, device.limits)
    # Less than four floats are less than the 32 bytes that memory gives at once.
    return Schedule(group_of(code), code) if code.abreast >= _ABREAST // 4 else None


def _lanes_for(work: Walks, *, across: bool) -> int:
    """The lanes of a result's team: a row of them for each block of rounds.

    Where results lie closer in memory than rounds, teams of one row share lines of it. Of a team
    that stands for a row, twice as many have the row's positions as well.
    """
    longest = work.longest
    if across:
        each = max(longest.rounds, work.extent[0])
        most = 2 * LANES * _power_over(ceil(each / BLOCK))
        return min(most, max(LANES, _power_over(each))) if longest.is_told else WIDE
    if longest.is_beside:
        return LANES
    return LANES * _power_over(ceil(longest.rounds / BLOCK)) if longest.is_told else WIDE


def _is_better_alone(device: DeviceInfo, work: Walks, *, across: bool) -> bool:
    """Whether an invocation for each result fills the device, and a team would gain little.

    Lanes gain by reading side by side what lies so, if there are rounds for a row of them. Where a
    team stands for a row of positions, each of those would do the rounds again.
    """
    units, positions = max(device.compute_units, 1), prod(work.extent)
    few = work.longest.is_told and work.longest.rounds < LANES
    if positions < units * WIDE:
        return False
    if across:
        return few and positions // work.extent[0] < units
    return few or not work.longest.is_along


def _width(device: DeviceInfo) -> int:
    """The threads of a workgroup of teams by default, as many as the device allows."""
    width = WIDE
    most = min(device.limits.max_threads or width, device.limits.max_block[0] or width)
    while width > LANES and width > most:
        width //= 2
    return width


def shares_for(
    code: Code, device: DeviceInfo, program: Program, launch: Launch, waves: Sequence[int]
) -> list[int]:
    """How many teams may share a result: enough for so many waves, and a block of rounds each."""
    rounds = rounds_to_share(program, launch) if can_share(device) else None
    if rounds is None or why_not_shares(program, replace(code, shares=2), launch) is not None:
        return []
    units, results = max(device.compute_units, 1), groups_of(code, launch)
    most = _power_near(ceil(max(rounds.values()) / (BLOCK * code.lanes // LANES)))
    wanted = (min(_power_near(units * wave / results), most) for wave in waves)
    return sorted({count for count in wanted if count > 1})


def groups_of(code: Code, launch: Launch) -> int:
    """How many workgroups find results in a launch, where each result has one team."""
    x, *others = simd.extent_of(launch)
    if code.abreast > 1:
        return ceil(x / code.abreast) * prod(others)
    return results_of(code, launch)


def can_share(device: DeviceInfo) -> bool:
    """Whether a workgroup learns that others of its launch have stored what it is to read."""
    return device.simd is not None or device.limits.lockstep == LANES


def _power_over(number: int) -> int:
    """The least power of two that is not less than a number; at least 1."""
    return 1 << max(number - 1, 0).bit_length()


def _power_near(number: float) -> int:
    """The power of two that is nearest to a number, in doublings; at least 1."""
    return 1 << round(log2(max(number, 1)))


def shared_by_default(
    usual: Code, device: DeviceInfo, program: Program, launch: Launch
) -> Schedule | None:
    """Teams for all units, where there are more units than results, and many rounds of each."""
    rounds = rounds_to_share(program, launch)
    if rounds is None or max(rounds.values()) < _WORTH_SHARING[device.kind]:
        return None
    if results_of(usual, launch) >= max(device.compute_units, 1):
        return None
    for shares in shares_for(usual, device, program, launch, (_WAVES[device.kind],)):
        return Schedule((usual.lanes, 1, 1), replace(usual, shares=shares))
    return None


def keeping_code(one: Code, program: Program, launch: Launch) -> Code | None:
    """The fewest lanes, and rounds of each, that keep all rounds of a result; None: none do."""
    rounds = rounds_of(program, launch) if why_nothing_kept(program) is None else None
    for lanes, keeps in _KEEPING if rounds is not None else ():
        if rounds is not None and rounds_kept(lanes, keeps) >= rounds:
            return replace(one, lanes=lanes, keeps=keeps)
    return None


def team_code(program: Program, lanes: int, *, unchecked: bool) -> Code:
    """The code of a team of so many lanes, for each result or for a row of positions."""
    return Code(lanes=lanes, across=covers_rows(program), checked=not unchecked)
