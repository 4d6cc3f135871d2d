"""Schedules of programs with reductions: by invocations alone, or by teams of lanes.

An invocation that is alone goes through all rounds itself; the lanes of a team share them. Which of
the two is faster, and how large a team, depends on how many results there are, how many rounds each
has, and what lies side by side in memory: the rounds of a result, or the results. Of few results
with many rounds, several teams share each.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import product
from math import ceil, log, log2, prod

from vyre.analysis import Facts
from vyre.analysis.facts import Pattern
from vyre.analysis.forms import Launch
from vyre.analysis.reader import LOAD
from vyre.ir.fold import BLOCK, LANES
from vyre.ir.program import Program
from vyre.ir.team import covers_rows, why_no_team
from vyre.model import Code, DeviceInfo, DeviceKind, Dim3, Order, Schedule
from vyre.plan import simd, space
from vyre.plan.launch_numbers import NumberNotKnown
from vyre.plan.shares import results_of, rounds_to_share, why_not_shares
from vyre.plan.space import Fit, Refused, Resources, Space
from vyre.plan.team_times import PROCESSOR, USUAL, Amounts, log_times, machine_of

WIDE = USUAL
"""Lanes of the team that a result has by default on a GPU."""

_TEAMS = (32, 64, 128, 256, 512, 1024)
_SIDE_BY_SIDE = (1, 2, 4, 8, 16)  # teams of one row in a workgroup
_HOPELESS = 16
"""How many times as long as the best a schedule may be expected to take, and be worth a try.

Each element of a row that computes the row's sum again takes a thousand times as long: no budget of
lost time is large enough for one such launch.
"""
_ALONE = (64, 128, 256, 512)  # invocations of a workgroup that are alone
_ITEMS = (2, 4)
"""Results of an invocation that is alone on a GPU, where all results read the same."""
_SHARING = (128, 256, 512, 1024)  # lanes of teams that share a result on a GPU
_WAVES = {DeviceKind.GPU: (1, 2, 4, 8), DeviceKind.CPU: (1, 4, 16)}
"""Of teams that share results, how many there are for each unit of a device."""
_WORTH_SHARING = {DeviceKind.GPU: 4 * BLOCK, DeviceKind.CPU: 64 * BLOCK}
"""Rounds from which a result is shared by default: below, a single team is as soon done."""


def default_for(
    device: DeviceInfo,
    program: Program,
    facts: Facts,
    launch: Launch,
    declared: Dim3 | None,
    *,
    unchecked: bool,
    max_threads: int,
) -> Schedule:
    """What losses are counted against: a team for each result, where there can be teams.

    On a processor that is a vector of lanes, where those lie side by side what they read; on a GPU
    as many lanes as a workgroup has by default.
    """
    if device.simd is not None:
        if declared is None and why_no_team(program) is None:
            amounts = Amounts.of(program, launch)
            if amounts.along >= amounts.beside:
                usual = _team(program, LANES, unchecked=unchecked)
                shared = _shared_by_default(usual, device, program, launch)
                return shared or _tile(usual, amounts, simd.extent_of(launch), device)
        return simd.default_schedule(facts, program, launch, declared, device, unchecked=unchecked)
    if declared is None and device.kind is DeviceKind.GPU and why_no_team(program) is None:
        usual = _team(program, _widest(device), unchecked=unchecked)
        whole = Schedule((usual.lanes, 1, 1), usual)
        if not (usual.across and _is_better_alone(whole, program, launch, device)):
            fits = Fit(simd.extent_of(launch), device.limits, Resources())
            shared = _shared_by_default(usual, device, program, launch)
            every = (*([shared] if shared else []), *_covering(whole, device))
            covers = (one for one in every if fits.problem(one) is None)
            if (found := next(covers, None)) is not None:
                return found
    if declared is None:
        for row in _rows(device, program, launch, unchecked=unchecked):
            if not _is_better_alone(row, program, launch, device):
                return row
    return space.default_schedule(
        declared,
        device.kind,
        simd.extent_of(launch),
        device.limits,
        unchecked=unchecked,
        max_threads=max_threads,
        one_item=True,
    )


def space_for(
    device: DeviceInfo,
    program: Program,
    facts: Facts,
    launch: Launch,
    declared: Dim3 | None,
    resources: Resources | None = None,
    *,
    among: Collection[Code] | None = None,
) -> Space:
    """Every schedule that gives the default's bits, of some codes or all; the default first."""
    known = resources or Resources()
    extent = simd.extent_of(launch)
    unchecked = facts.has_unchecked_form and _holds(facts, launch)
    default = default_for(
        device,
        program,
        facts,
        launch,
        declared,
        unchecked=unchecked,
        max_threads=known.max_threads_by_code.get(Code(checked=not unchecked), 0),
    )
    fits = Fit(extent, device.limits, known)
    fits.require(default)
    why_not = tuple(why_not_free(program, facts, launch))
    if why_not or not prod(extent):
        why_not = why_not or (f"the extent {extent} holds nothing",)
        refused = tuple(Refused("every other schedule", why, 1) for why in why_not)
        return Space(default, (default,), refused, known)
    found: dict[Schedule, None] = {default: None}
    refused = ()
    if prod(extent) == 1:
        one = Schedule((1, 1, 1), Code(checked=not unchecked))
        if among is None or one.code in among:
            found[one] = None
    elif device.simd is not None:
        lonely = simd.space(
            facts, program, launch, declared, device, unchecked=unchecked, among=among
        )
        found |= dict.fromkeys(one for one in lonely.legal if _is_plain(one.code))
    else:
        for one in _lonely(facts, extent, device, unchecked=unchecked):
            if (among is None or one.code in among) and fits.problem(one) is None:
                found[one] = None
    no_team = why_no_team(program) or _why_none_on(device)
    if no_team is not None:
        refused = (Refused("teams of lanes", no_team, len(_TEAMS)),)
        for one in _rows(device, program, launch, unchecked=unchecked):
            if (among is None or one.code in among) and fits.problem(one) is None:
                found[one] = None
    else:
        for one in _teams(device, program, launch, unchecked=unchecked):
            if (among is None or one.code in among) and fits.problem(one) is None:
                found[one] = None
        if (none := _why_not_shared_on(device, program, launch)) is not None:
            refused = (Refused("several teams for a result", none, len(_SHARING)),)
    whole = Space(default, tuple(found), (), known)
    times = log_times(whole, program, device, launch)
    slow = times > times.min() + log(_HOPELESS)
    kept = [one for one, is_slow in zip(found, slow, strict=True) if not is_slow or one == default]
    if len(kept) < len(found):
        why = f"they are expected to take more than {_HOPELESS} times as long as others"
        refused = (*refused, Refused("other schedules", why, len(found) - len(kept)))
    return Space(default, tuple(kept), refused, known)


def _lonely(
    facts: Facts, extent: Dim3, device: DeviceInfo, *, unchecked: bool
) -> Iterator[Schedule]:
    """Invocations alone: one result each, or several that share what all results read."""
    for width in _ALONE:
        yield Schedule((width, 1, 1), Code(checked=not unchecked))
    if not unchecked or device.kind is not DeviceKind.GPU or not _reads_alike(facts):
        return
    for items, width in product(_ITEMS, _ALONE):
        if items * width * max(device.compute_units, 1) <= extent[0]:
            yield Schedule((width, 1, 1), Code(items=items, checked=False))


def _reads_alike(facts: Facts) -> bool:
    """Whether there are rounds in which all results read the same element."""
    return any(
        access.kind == LOAD and access.rounds > 1 and access.pattern is Pattern.UNIFORM
        for access in facts.accesses
    )


def _why_none_on(device: DeviceInfo) -> str | None:
    """Why teams are not worth a trial on a device.

    PoCL 3.1 had not compiled two sums and an argmax in 30 s, which took 3.7 by invocations alone:
    teams wait for each other at barriers there, many times for each reduction.
    """
    if device.kind is DeviceKind.CPU and device.simd is None:
        return "lanes of a processor would meet at barriers, which take long to compile"
    return None


def why_not_free(program: Program, facts: Facts, launch: Launch) -> Iterator[str]:
    """Why a launch has to run as declared; that of one invocation, who meets nobody, has not."""
    if prod(simd.extent_of(launch)) != 1 or why_no_team(program) is not None:
        yield from space.why_not_free(facts, launch)


def _is_plain(code: Code) -> bool:
    """Whether an invocation's loops are as they are: those of a reduction gain nothing by more."""
    return (code.unroll, code.rows, code.order) == (1, 1, Order.STRIDED)


def why_not_group(schedule: Schedule, device: DeviceInfo) -> str | None:
    """Why the workgroup of a schedule is none of teams."""
    code, (x, y, z) = schedule.code, schedule.workgroup
    if code.across and code.lanes == 1 and x > 1:
        return f"{x} invocations along x, where each stands for all positions along it"
    if code.lanes == 1:
        return None
    if code.shares > 1 and (x, y, z) != (code.lanes, 1, 1):
        return "teams that share a result are workgroups of their own"
    if x % code.lanes or (code.across and x != code.lanes):
        return f"{x} invocations along x are no whole teams of {code.lanes}"
    alone = code.lanes > LANES or device.limits.lockstep != LANES
    if device.simd is None and alone and (x, y, z) != (code.lanes, 1, 1):
        return f"a team of {code.lanes} lanes is a workgroup of its own"
    return None


def _holds(facts: Facts, launch: Launch) -> bool:
    try:
        return facts.unchecked_for(launch)
    except NumberNotKnown:
        return False


def _widest(device: DeviceInfo) -> int:
    """The lanes of a result's team by default, as many as the device allows."""
    lanes = WIDE if device.limits.lockstep == LANES else LANES
    most = min(device.limits.max_threads or lanes, device.limits.max_block[0] or lanes)
    while lanes > LANES and lanes > most:
        lanes //= 2
    return lanes


def _shares(
    code: Code, device: DeviceInfo, program: Program, launch: Launch, waves: Sequence[int]
) -> list[int]:
    """How many teams may share a result: enough for so many waves, and a block of rounds each."""
    rounds = rounds_to_share(program, launch) if _can_share(device) else None
    if rounds is None or why_not_shares(program, replace(code, shares=2), launch) is not None:
        return []
    units, results = max(device.compute_units, 1), results_of(code, launch)
    most = _power_near(ceil(max(rounds.values()) / (BLOCK * code.lanes // LANES)))
    wanted = (min(_power_near(units * wave / results), most) for wave in waves)
    return sorted({count for count in wanted if count > 1})


def _why_not_shared_on(device: DeviceInfo, program: Program, launch: Launch) -> str | None:
    """Why results that are fewer than a device's units have one team each."""
    code = Code(lanes=LANES, shares=2, across=covers_rows(program))
    if results_of(code, launch) >= max(device.compute_units, 1):
        return None
    if not _can_share(device):
        return "workgroups of one launch cannot tell there that others have stored"
    return why_not_shares(program, code, launch)


def _can_share(device: DeviceInfo) -> bool:
    """Whether a workgroup learns that others of its launch have stored what it is to read."""
    return device.simd is not None or device.limits.lockstep == LANES


def _power_near(number: float) -> int:
    """The power of two that is nearest to a number, in doublings; at least 1."""
    return 1 << round(log2(max(number, 1)))


def _shared_by_default(
    usual: Code, device: DeviceInfo, program: Program, launch: Launch
) -> Schedule | None:
    """A team of each unit, where there are more units than results, and many rounds of each."""
    rounds = rounds_to_share(program, launch)
    if rounds is None or max(rounds.values()) < _WORTH_SHARING[device.kind]:
        return None
    for shares in _shares(usual, device, program, launch, (1,)):
        return Schedule((usual.lanes, 1, 1), replace(usual, shares=shares))
    return None


def _covering(whole: Schedule, device: DeviceInfo) -> Iterator[Schedule]:
    """A schedule, then those for more rows or planes than a device has workgroups along an axis."""
    yield whole
    if device.limits.lockstep == LANES:
        small = replace(whole.code, lanes=LANES)
        for size in (*_SIDE_BY_SIDE[1:], LANES):
            yield Schedule((LANES, size, 1), small)
            yield Schedule((LANES, 1, size), small)


def _is_better_alone(whole: Schedule, program: Program, launch: Launch, device: DeviceInfo) -> bool:
    """Whether few rounds for a long row are sooner done again at every position of it."""
    amounts, extent = Amounts.of(program, launch), simd.extent_of(launch)
    machine = machine_of(device)
    alone = Schedule((WIDE, 1, 1), Code(checked=whole.code.checked))
    team, each = (
        machine.nanoseconds(one, amounts, extent, max(device.compute_units, 1), None)
        for one in (whole, alone)
    )
    return each < team


def _team(program: Program, lanes: int, *, unchecked: bool) -> Code:
    return Code(lanes=lanes, across=covers_rows(program), checked=not unchecked)


def _teams(
    device: DeviceInfo, program: Program, launch: Launch, *, unchecked: bool
) -> Iterator[Schedule]:
    extent = simd.extent_of(launch)
    one = _team(program, LANES, unchecked=unchecked)
    if device.simd is not None:
        amounts = Amounts.of(program, launch)
        usual = _tile(one, amounts, extent, device)
        for unroll in (1, 4):
            code = replace(one, unroll=unroll)
            for factor in (1, 0.25, 4):
                yield _tile(code, amounts, extent, device, factor)
        yield replace(usual, workgroup=_of_teams(one, extent, prod(extent)))
        yield from _shared(one, device, program, launch)
        return
    if device.limits.lockstep != LANES:  # they tell each other through memory
        yield Schedule((LANES, 1, 1), one)
        return
    several = extent[1] if one.across else extent[0]
    for count in _SIDE_BY_SIDE:
        if count > 1 and count > several:
            break
        yield Schedule((LANES, count, 1) if one.across else (LANES * count, 1, 1), one)
    for lanes in _TEAMS[1:]:
        yield Schedule((lanes, 1, 1), replace(one, lanes=lanes))
    for lanes in _SHARING:
        yield from _shared(replace(one, lanes=lanes), device, program, launch)


def _rows(
    device: DeviceInfo, program: Program, launch: Launch, *, unchecked: bool
) -> Iterator[Schedule]:
    """Invocations that stand for a row of positions each, where no team does; the default first."""
    if device.simd is not None or _why_none_on(device) is None or not covers_rows(program):
        return
    code = Code(across=True, checked=not unchecked)
    most = max(1, min(64, simd.extent_of(launch)[1] // max(device.compute_units, 1)))
    for rows in dict.fromkeys((most, 1, *(size for size in (4, 16) if size < most))):
        yield Schedule((1, rows, 1), code)


def _shared(code: Code, device: DeviceInfo, program: Program, launch: Launch) -> Iterator[Schedule]:
    for shares in _shares(code, device, program, launch, _WAVES[device.kind]):
        yield Schedule((code.lanes, 1, 1), replace(code, shares=shares))


def _of_teams(code: Code, extent: Dim3, results: float) -> Dim3:
    """A workgroup of about so many results."""
    x, y, z = (max(size, 1) for size in extent)
    if code.across:
        rows = max(1, min(y, int(results)))
        return LANES, rows, max(1, min(z, int(results) // rows)) if rows == y else 1
    wide = max(1, min(x, int(results)))
    rows = max(1, min(y, int(results) // wide)) if wide == x else 1
    return LANES * wide, rows, 1


_TASK_NS = 40_000
_TASKS = 4  # for each thread at least, so that none waits long for the last


def _tile(
    code: Code, amounts: Amounts, extent: Dim3, device: DeviceInfo, factor: float = 1.0
) -> Schedule:
    """A tile of results that is worth handing out, and leaves some to every thread."""
    assert device.simd is not None
    results = prod(extent) / (extent[0] if code.across else 1)
    each = PROCESSOR.result_ns(code, amounts, extent, device.simd)
    threads = max(device.compute_units, 1)
    wanted = min(_TASK_NS / each, results / (threads * _TASKS)) if threads > 1 else results
    return Schedule(_of_teams(code, extent, max(1.0, wanted * factor)), code)
