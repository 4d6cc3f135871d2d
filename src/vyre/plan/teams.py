"""Schedules of programs with reductions: by invocations alone, or by teams of lanes.

An invocation that is alone goes through all rounds itself; the lanes of a team share them. Which of
the two is faster, and how large a team, depends on how many results there are, how many rounds each
has, and what lies side by side in memory: the rounds of a result, or the results. Of few results
with many rounds, several teams share each.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import product
from math import log, prod

from vyre.analysis import Facts
from vyre.analysis.facts import Pattern
from vyre.analysis.forms import Launch
from vyre.analysis.reader import LOAD
from vyre.ir.fold import BLOCK, LANES
from vyre.ir.program import Program
from vyre.ir.team import (
    covers_rows,
    rounds_kept,
    team,
    why_no_team,
    why_none_abreast,
    why_none_beside,
    why_none_bring,
)
from vyre.model import U32_MAX, Code, DeviceInfo, DeviceKind, Dim3, Order, Schedule
from vyre.plan import simd, space
from vyre.plan.guess.teams import log_times
from vyre.plan.guess.teams.walks import walks_of
from vyre.plan.launch_numbers import NumberNotKnown
from vyre.plan.shares import results_of, rounds_of, why_not_shares
from vyre.plan.space import Fit, Refused, Resources, Space
from vyre.plan.team_default import (
    SIDE_BY_SIDE,
    WIDE,
    can_share,
    keeping_code,
    shared_by_default,
    shares_for,
    team_code,
    usual_on_gpu,
)
from vyre.plan.team_groups import group_of, why_not_held
from vyre.plan.team_times import PROCESSOR, Amounts

_TEAMS = (32, 64, 128, 256, 512, 1024)
_UNROLLS = (1, 8, 32)
"""Rounds of a lane that are written one behind the other: of a block, it has 32."""
_HOPELESS = 16
"""How many times as long as the best a schedule may be expected to take, and be worth a try.

Each element of a row that computes the row's sum again takes a thousand times as long: no budget of
lost time is large enough for one such launch.
"""
_ALONE = (64, 128, 256, 512)  # invocations of a workgroup that are alone
_ITEMS = (2, 4)
"""Results of an invocation that is alone on a GPU, where all results read the same."""
_SHARING = (128, 256, 512, 1024)  # lanes of teams that share a result on a GPU
_ABREAST = (4, 8, 16, 32)  # teams of a row of lanes each: 128 to 1024 invocations
_RESULTS = (2, 4, 8)
"""Results that a team has side by side: each takes registers for what a round computes."""
_BRINGING = 16
"""Teams of a workgroup that bring together what their rounds read: 512 invocations.

On one H200 the pull of 2^14 bodies on each other takes 174 µs by 16 teams of eight results, and 188
by eight of them (CUDA by hand).
"""
_WAVES = {DeviceKind.GPU: (1, 2, 4, 8), DeviceKind.CPU: (1, 4, 16)}
"""Of teams that share results, how many there are for each unit of a device."""


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

    On a processor that is a vector of lanes, where those lie side by side what they read. On a GPU
    it has a row of lanes for each block of rounds, and at most as many as a workgroup by default,
    or the fewest that keep what rounds compute again; teams of one row stand side by side. Where
    the results fill the device and rounds do not lie side by side in memory, or are fewer than a
    row of lanes, each result has an invocation.
    """
    if device.simd is not None:
        if declared is None and why_no_team(program) is None:
            amounts = Amounts.of(program, launch)
            if amounts.along >= amounts.beside:
                usual = team_code(program, LANES, unchecked=unchecked)
                shared = shared_by_default(usual, device, program, launch)
                return shared or _tile(usual, amounts, simd.extent_of(launch), device)
        return simd.default_schedule(facts, program, launch, declared, device, unchecked=unchecked)
    if declared is None and device.kind is DeviceKind.GPU and why_no_team(program) is None:
        fits = Fit(simd.extent_of(launch), device.limits, Resources())
        every = usual_on_gpu(device, program, launch, unchecked=unchecked)
        if (found := next((one for one in every if fits.problem(one) is None), None)) is not None:
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
        for code in _of_other_sizes(among or (), device, program, launch):
            one = _team_group(code, simd.extent_of(launch))
            if code.checked == default.code.checked and fits.problem(one) is None:
                found[one] = None
        if (none := _why_not_shared_on(device, program, launch)) is not None:
            refused = (Refused("several teams for a result", none, len(_SHARING)),)
    times = log_times(tuple(found), program, device, launch)
    slow = times > times.min() + log(_HOPELESS)
    kept = [one for one, is_slow in zip(found, slow, strict=True) if not is_slow or one == default]
    if len(kept) < len(found):
        why = f"they are expected to take more than {_HOPELESS} times as long as others"
        refused = (*refused, Refused("other schedules", why, len(found) - len(kept)))
    return Space(default, tuple(kept), refused, known)


def _of_other_sizes(
    codes: Collection[Code], device: DeviceInfo, program: Program, launch: Launch
) -> Iterator[Code]:
    """Of codes that are loaded, those that a launch would have others for, and may run as well."""
    if device.simd is not None:
        return
    for code in codes:
        if code.shares > 1 and why_not_shares(program, code, launch) is None:
            yield code
        elif code.keeps:
            rounds = rounds_of(program, launch)
            if rounds is not None and rounds <= rounds_kept(code.lanes, code.keeps):
                yield code


def _team_group(code: Code, extent: Dim3) -> Schedule:
    """A code of teams in a workgroup of four of one row, or of one that has more."""
    if code.abreast > 1:
        return Schedule(group_of(code), code)
    several = 1
    if code.lanes == LANES and code.shares == 1:
        several = min(4, extent[1] if code.across else extent[0])
    return Schedule((code.lanes, several, 1) if code.across else (code.lanes * several, 1, 1), code)


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
    if code.abreast > 1:
        if (x, y, z) == group_of(code):
            return None
        return f"{code.abreast} teams abreast are a workgroup, and so are lanes below each other"
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


def _why_not_shared_on(device: DeviceInfo, program: Program, launch: Launch) -> str | None:
    """Why results that are fewer than a device's units have one team each."""
    code = Code(lanes=LANES, shares=2, across=covers_rows(program))
    if results_of(code, launch) >= max(device.compute_units, 1):
        return None
    if not can_share(device):
        return "workgroups of one launch cannot tell there that others have stored"
    return why_not_shares(program, code, launch)


def _is_better_alone(row: Schedule, program: Program, launch: Launch, device: DeviceInfo) -> bool:
    """Whether few rounds for a long row are sooner done again at every position of it."""
    alone = Schedule((WIDE, 1, 1), Code(checked=row.code.checked))
    amounts, extent = Amounts.of(program, launch), simd.extent_of(launch)
    units = max(device.compute_units, 1)
    team, each = (PROCESSOR.nanoseconds(one, amounts, extent, units, None) for one in (row, alone))
    return each < team


def _teams(
    device: DeviceInfo, program: Program, launch: Launch, *, unchecked: bool
) -> Iterator[Schedule]:
    extent = simd.extent_of(launch)
    one = team_code(program, LANES, unchecked=unchecked)
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
        yield from _abreast(one, program, launch, device)
        return
    several = extent[1] if one.across else extent[0]
    for unroll in _UNROLLS:
        code = replace(one, unroll=unroll)
        for count in SIDE_BY_SIDE:
            if count > 1 and count > several:
                break
            yield Schedule((LANES, count, 1) if one.across else (LANES * count, 1, 1), code)
        for lanes in _TEAMS[1:]:
            yield Schedule((lanes, 1, 1), replace(code, lanes=lanes))
    for lanes in _SHARING:
        yield from _shared(replace(one, lanes=lanes), device, program, launch)
    yield from _beside(one, program, launch, device)
    yield from _abreast(one, program, launch, device)
    kept = keeping_code(one, program, launch)
    if kept is not None:
        for count in SIDE_BY_SIDE if kept.lanes == LANES else (1,):
            if count == 1 or count <= several:
                side = (LANES, count, 1) if kept.across else (kept.lanes * count, 1, 1)
                yield Schedule(side if count > 1 else (kept.lanes, 1, 1), kept)


def written_by_teams(program: Program, code: Code) -> Program | None:
    """The form whose loops tell how many rounds a pinned team may write out.

    None for so few as spaces offer, whatever is in them: what one holds may be pinned.
    """
    offered = _UNROLLS[:2] if code.items in _RESULTS and not code.depth else _UNROLLS
    if code.unroll in offered and code.items in (1, *_RESULTS):
        return None
    return team(program, LANES).program


def _beside(one: Code, program: Program, launch: Launch, device: DeviceInfo) -> Iterator[Schedule]:
    """Teams of several results, where their rounds read something for all of them alike."""
    if why_none_beside(program) is not None or Amounts.of(program, launch).shared == 0:
        return
    results = simd.extent_of(launch)[0]
    if results > U32_MAX // 2 or results < max(device.compute_units, 1):
        return
    for items in _RESULTS:
        for unroll in _UNROLLS[:2]:
            code = replace(one, items=items, unroll=unroll, order=Order.BLOCKED)
            for count in SIDE_BY_SIDE[1:4]:
                yield Schedule((LANES * count, 1, 1), code)
            yield Schedule((4 * LANES, 1, 1), replace(code, lanes=4 * LANES))
    yield from _bringing(one, program, launch, device)


def _bringing(
    one: Code, program: Program, launch: Launch, device: DeviceInfo
) -> Iterator[Schedule]:
    """Teams that bring together what rounds read, where half of a device's units have them.

    Where rounds read at their position as well, it is that which takes their time; and where there
    is but one block of them, nothing is under way meanwhile.
    """
    amounts, results = Amounts.of(program, launch), simd.extent_of(launch)[0]
    if amounts.along or amounts.beside or amounts.apart or amounts.rounds <= BLOCK:
        return
    if why_none_bring(program) is not None:
        return
    for items in _RESULTS[1:]:
        if 2 * results < max(device.compute_units, 1) * _BRINGING * items:
            break
        for unroll in _UNROLLS[1:]:
            code = replace(one, items=items, unroll=unroll, order=Order.BLOCKED, depth=BLOCK)
            schedule = Schedule((_BRINGING * LANES, 1, 1), code)
            if why_not_held(program, schedule.code, device.limits) is None:
                yield schedule


def _abreast(one: Code, program: Program, launch: Launch, device: DeviceInfo) -> Iterator[Schedule]:
    """Teams that stand abreast, where results lie closer in memory than rounds."""
    if why_none_abreast(program) is not None or not walks_of(program, launch).longest.is_beside:
        return
    results = simd.extent_of(launch)[0]
    for abreast in _ABREAST:
        if abreast >= 2 * results:
            break
        code = replace(one, abreast=abreast)
        several = [Schedule(group_of(code), replace(code, unroll=u)) for u in _UNROLLS[:2]]
        several += _shared(replace(code, unroll=_UNROLLS[1]), device, program, launch)
        for schedule in several:
            if why_not_held(program, schedule.code, device.limits) is None:
                yield schedule


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
    for shares in shares_for(code, device, program, launch, _WAVES[device.kind]):
        yield Schedule(group_of(code), replace(code, shares=shares))


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
