"""What schedules make of the walks of a program on a GPU: of a team's own time, and of a launch.

Everything is counted from the walks and the schedules, for many schedules at once. No number here
is fitted: what an amount costs is `model`'s.

Of a walk whose order shows, each row of a team has whole blocks of rounds, so that rows without a
block have nothing to do; of any other, all lanes have rounds alike. Rows of a team meet after each
turn of blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vyre.analysis.reader import LOAD
from vyre.ir.fold import BLOCK, HALVES, LANES
from vyre.ir.team.relay import Relay
from vyre.model import Schedule
from vyre.plan.geometry import tiles_of
from vyre.plan.guess.shapes import LINE, SECTOR
from vyre.plan.guess.teams.walks import Access, Walk, Walks

Vector = NDArray[np.float64]
Flags = NDArray[np.bool_]
Numbers = Any  # a number, or one for each schedule

NEAR = 65_536.0  # bytes of an array of which every unit keeps a copy before long

_RECORD = 4.0  # loads of a round that one access to workgroup memory has


@dataclass(slots=True, kw_only=True)
class Amounts:
    """What is there of everything that takes time; "own" is what happens one after the other."""

    threads: Numbers  # of a group
    groups: Numbers
    lanes: Numbers  # of a team
    footprint: Numbers = 0.0  # bytes of all arrays
    held: Numbers = 0.0  # registers for what a lane keeps, or loads one behind the other
    # of a group's own time
    blocks: Numbers = 0.0  # rounds of whole blocks
    blocks_some: Numbers = 0.0  # the same where some are written one behind the other
    blocks_all: Numbers = 0.0  # where all are
    rests: Numbers = 0.0  # of a block that is not whole
    rests_some: Numbers = 0.0
    frees: Numbers = 0.0  # in an order that does not show
    frees_some: Numbers = 0.0
    crowded: Numbers = 0.0  # of several results, none written out
    singles: Numbers = 0.0  # one by one, too few for those that are written one behind the other
    taken: Numbers = 0.0  # rounds that are kept
    kept_rounds: Numbers = 0.0  # of what was kept
    alone: Numbers = 0.0  # of an invocation alone, of one block
    solos: Numbers = 0.0  # the same in an order that does not show
    begun: Numbers = 0.0  # lanes of blocks, each of which it goes through by itself
    long: Numbers = 0.0  # the same of many blocks
    rounds: Numbers = 0.0  # all of these that read
    far: Numbers = 0.0  # of those, rounds whose loads no unit keeps
    computed: Numbers = 0.0  # operations
    spread: Numbers = 0.0  # lines of loads beyond the first of each
    agreed: Numbers = 0.0  # times that the lanes of a row tell each other, for each number
    met: Numbers = 0.0  # numbers of rows that all others look at
    meetings: Numbers = 0.0  # of rows
    gathered: Numbers = 0.0  # numbers that one lane has of all others, of teams abreast
    walks: Numbers = 0.0
    ordered: Numbers = 0.0  # of those, walks by blocks
    placed: Numbers = 0.0  # turns of a loop over positions
    # of all groups: instructions of 32 lanes
    turns: Numbers = 0.0  # rounds
    operations: Numbers = 0.0
    functions: Numbers = 0.0
    inner: Numbers = 0.0  # rounds of further reductions
    loads: Numbers = 0.0
    agreeing: Numbers = 0.0
    meeting: Numbers = 0.0
    walking: Numbers = 0.0  # walks by blocks
    teams: Numbers = 0.0  # rows of teams, or of invocations alone
    # of all groups: what moves
    lines: Numbers = 0.0  # that caches look up
    fetched: Numbers = 0.0  # bytes that come to a unit
    requests: Numbers = 0.0  # of them, runs that are asked for together
    torn: Numbers = 0.0  # more of them, where a unit cannot keep lines until they are used up
    kept: Numbers = 0.0  # bytes of those lines, of a thread
    memory: Numbers = 0.0  # bytes of arrays, each once
    again: Numbers = 0.0  # bytes that a later walk reads again
    row: Numbers = 0.0  # of those, bytes that a group comes back to
    # of teams that share a result
    arrivals: Numbers = 0.0
    folded: Numbers = 0.0  # rounds of the last team, over what others have kept
    folded_met: Numbers = 0.0
    launches: Numbers = 0.0  # beyond the first


@dataclass(frozen=True, slots=True)
class _Teams:
    """Schedules, column by column."""

    lanes: Vector
    shares: Vector
    threads: Vector
    groups: Vector
    results: Vector  # or rows of them, or so many as a team has side by side
    across: Flags
    unroll: Vector
    keeps: Vector
    items: Vector  # results of a team
    abreast: Vector  # teams that have a lane each in every row
    brings: Flags  # those of a workgroup bring what their rounds read

    @property
    def rows(self) -> Vector:
        """Of a team's lanes."""
        return np.maximum(self.lanes / LANES, 1.0)

    @property
    def alone(self) -> Flags:
        """Those of invocations alone."""
        found: Flags = self.lanes == 1.0
        return found

    @property
    def warps(self) -> Vector:
        """Of the whole launch; those of invocations alone are filled."""
        alone = self.groups * np.ceil(self.threads / LANES)
        found: Vector = np.where(self.alone, alone, self.results * self.shares * self.rows)
        return found


def amounts(work: Walks, schedules: Sequence[Schedule], relay: Relay | None = None) -> Amounts:
    """What every schedule makes of the walks; `relay` is what teams do that share a result."""
    teams = _teams(work, schedules)
    found = Amounts(
        threads=teams.threads,
        groups=teams.groups,
        lanes=teams.lanes,
        footprint=work.footprint,
        memory=work.footprint,
        held=np.maximum(teams.keeps, np.where(teams.unroll >= LANES, 16.0, 0.0)),
        teams=teams.warps,
    )
    for walk in work.walks:
        _walked(found, walk, teams)
    _placed(found, work, teams, spreads=relay is not None and relay.spreads)
    if relay is not None:
        _shared(found, work, teams, relay)
    return found


def _teams(work: Walks, schedules: Sequence[Schedule]) -> _Teams:
    def column(values: Sequence[float]) -> Vector:
        return np.array(values, np.float64)

    codes = [schedule.code for schedule in schedules]
    extent, items = work.extent, column([code.items for code in codes])
    positions = column([prod(extent) / (extent[0] if code.across else 1) for code in codes])
    return _Teams(
        lanes=column([code.lanes for code in codes]),
        shares=column([code.shares for code in codes]),
        threads=column([prod(schedule.workgroup) for schedule in schedules]),
        groups=column([prod(tiles_of(extent, s)) * s.code.shares for s in schedules]),
        results=np.ceil(positions / items),
        across=np.array([code.across for code in codes], np.bool_),
        unroll=column([code.unroll for code in codes]),
        keeps=column([code.keeps for code in codes]),
        items=items,
        abreast=column([code.abreast for code in codes]),
        brings=np.array([code.depth > 0 and code.lanes > 1 for code in codes], np.bool_),
    )


def _walked(found: Amounts, walk: Walk, t: _Teams) -> None:
    many, times, teamed = float(walk.rounds), walk.times, ~t.alone
    several, keeping = t.rows > 1.0, t.keeps > 0.0
    again = all(one.again for one in walk.accesses if _is_far(one))
    if walk.is_ordered:
        turns = np.ceil(np.ceil(many / BLOCK) / (t.rows * t.shares)) * teamed
        whole = np.maximum(turns - (many % BLOCK > 0.0), 0.0) * (BLOCK / LANES)
        rest = np.where(turns > 0.0, np.ceil(many % BLOCK / LANES), 0.0)
        _in_blocks(found, whole * times * ~keeping, rest * times * ~keeping, t)
        own = np.where(teamed, whole + rest, many)
        rounds = np.ceil(many / LANES) * t.results  # of rows of lanes
        found.alone += own * times * (t.alone & (many <= BLOCK))
        found.begun += times * (t.alone & (many <= BLOCK)) * min(many, LANES)
        found.long += own * times * (t.alone & (many > BLOCK))
    else:
        turns = 1.0 * teamed
        own = np.where(teamed, np.ceil(many / (t.lanes * t.shares)), many)
        rounds = own * t.rows * t.shares * t.results
        _in_any_order(found, own * times * (teamed & ~keeping), t)
        found.solos += own * times * t.alone
    own = np.where(keeping, t.keeps, own) * times
    rounds = np.where(keeping, t.keeps * t.rows * t.results, rounds)
    rounds = np.where(teamed, rounds, many * t.warps) * times
    found.crowded += own * (teamed & (t.items > 1.0) & (t.unroll == 1.0))
    found.taken += own * (keeping & (not again))
    found.kept_rounds += own * (keeping & again)
    found.alone += own * walk.inner
    found.begun += own * walk.inner_lanes
    found.computed += own * (walk.operations + walk.functions) * t.items
    met, states = turns * times, walk.states * t.items
    looked = states  # at numbers of each row
    if walk.is_ordered:
        dealt = t.items > 1.0
        states, looked = np.where(dealt, _dealt(states), states), np.where(dealt, 1.0, states)
    found.agreed += met * states * (t.abreast == 1.0)
    found.gathered += (met + 1.0) * states * (t.abreast > 1.0)
    found.met += several * met * t.rows * looked
    found.meetings += several * met + t.brings * np.ceil(many / BLOCK) * times
    found.walks += times
    found.ordered += times * walk.is_ordered
    found.walking += t.warps * times * walk.is_ordered
    found.turns += rounds / np.where(keeping, LANES, np.where(teamed, t.unroll, 1.0))
    found.operations += rounds * walk.operations * t.items
    found.functions += rounds * walk.functions * t.items
    found.inner += rounds * walk.inner * t.items
    found.agreeing += t.warps * met * states
    found.meeting += t.warps * several * met * looked
    for access in walk.accesses:
        read = 1.0 - 1.0 * keeping * access.again  # what is kept is not read again
        _accessed(found, access, t, rounds * read, own * read)
    reading = own * ~(keeping & again)
    found.rounds += reading
    far = [access for access in walk.accesses if _is_far(access)]
    if far:  # what is brought is under way before it is asked for
        found.far += reading * (1.0 - t.brings * all(access.apart == 0 for access in far))


def _dealt(states: Vector) -> Vector:
    """As many numbers told at every step as are told where each half of lanes adds half of them."""
    told: Vector = sum((np.ceil(states * half / LANES) for half in HALVES), np.zeros_like(states))
    return told / len(HALVES)


def _in_blocks(found: Amounts, whole: Vector, rest: Vector, t: _Teams) -> None:
    """Adds the rounds of a lane in blocks, and in the last one, by how many stand together."""
    some, all_ = (t.unroll > 1.0) & (t.unroll < LANES), t.unroll >= LANES
    found.blocks += whole * (t.unroll == 1.0)
    found.blocks_some += whole * some
    found.blocks_all += whole * all_
    together = np.floor(rest / t.unroll) * t.unroll
    found.rests += together * (t.unroll == 1.0)
    found.rests_some += together * (t.unroll > 1.0)
    found.singles += rest - together


def _in_any_order(found: Amounts, own: Vector, t: _Teams) -> None:
    """The same of rounds in an order that does not show."""
    together = np.floor(own / t.unroll) * t.unroll
    found.frees += together * (t.unroll == 1.0)
    found.frees_some += together * (t.unroll > 1.0)
    found.singles += own - together


def _is_far(access: Access) -> bool:
    return access.array > NEAR


def _accessed(found: Amounts, access: Access, t: _Teams, rounds: Vector, own: Vector) -> None:
    """Adds the accesses of rounds, by all rows of lanes and by one of them."""
    beside = _beside(access, t)
    # What does not go by the result is read once for all results of a team, or of a workgroup.
    count = rounds * access.times * (t.items if access.apart != 0 else 1.0)
    lines = beside.pieces(LINE)
    if access.apart == 0:
        found.loads += np.where(t.brings, count / _RECORD, 0.0)
        count = np.where(t.brings, count * t.lanes / t.threads, count)
    found.loads += count
    found.lines += count * lines
    found.spread += own * access.times * (lines - 1.0)
    _moved(found, access, t, count, beside)


@dataclass(frozen=True, slots=True)
class _Beside:
    """How lanes of a row lie in memory: runs of some of them, each so many bytes from the next."""

    apart: Vector
    run: Vector | float = float(LANES)  # lanes
    runs: Vector | float = 1.0

    def pieces(self, size: float) -> Vector:
        """How many pieces of memory of a size all lanes touch."""
        found: Vector = self.runs * np.clip(np.ceil(self.apart * self.run / size), 1.0, self.run)
        return found


def _beside(access: Access, t: _Teams) -> _Beside:
    """How the lanes of a row lie in memory where each has a round, or a result, or some of both."""
    usual = np.where(t.alone, _apart(access.apart), _apart(access.step))
    if not access.apart:  # those abreast read the same
        run = np.where(t.abreast > 1.0, LANES / t.abreast, LANES)
        return _Beside(usual, run)
    apart = np.where(t.abreast > 1.0, _apart(access.apart), usual)
    run = np.where(t.abreast > 1.0, t.abreast, LANES)
    return _Beside(apart, run, LANES / run)


def _apart(distance: int | None) -> float:
    return SECTOR * 4.0 if distance is None else float(distance)


def _moved(found: Amounts, access: Access, t: _Teams, count: Vector, beside: _Beside) -> None:
    """Adds what comes to units: all bytes of a line that some lane uses, sooner or later."""
    size = float(access.size)
    if access.again and _is_far(access):
        found.again += access.array * (t.keeps == 0.0)
        found.row += access.array / t.results * t.threads / t.lanes
    if access.kind == LOAD and not _is_far(access):
        return
    lines, sectors = beside.pieces(LINE), beside.pieces(SECTOR) * SECTOR
    # Of every sector that lanes touch, what others of them, or later rounds, use.
    used = np.minimum(np.maximum(beside.apart * beside.run, size) * beside.runs, size * LANES)
    used = np.maximum(used, size)
    other = np.where(t.alone, _apart(access.step), _apart(access.apart))
    near = np.where(t.alone, SECTOR / size, t.threads / t.lanes)  # of them, at once
    near = np.where(t.abreast > 1.0, 1.0, near)  # they are in one row already
    once = np.minimum(np.maximum(SECTOR / np.maximum(other, 1.0), 1.0), SECTOR / size)
    shared = np.where(t.alone, once, np.minimum(once, near))
    least = np.maximum(sectors / shared, used)
    found.fetched += count * least
    found.requests += count * np.minimum(np.maximum(least / LINE, lines / shared), lines)
    found.torn += count * (sectors - least) * t.alone
    found.kept += t.alone * LANES * SECTOR * (sectors > least)


def _placed(found: Amounts, work: Walks, t: _Teams, *, spreads: bool) -> None:
    """Adds what is done for each position: by one lane of a team's where it has a row of them."""
    wide = float(work.extent[0])
    lanes = t.lanes * (t.shares if spreads else 1.0)
    own = np.where(t.across, np.ceil(wide / lanes), 1.0)
    rows = np.where(t.across, own * t.rows * (lanes / t.lanes) * t.results, t.warps * t.items)
    found.placed += own * t.across
    found.computed += own * (work.operations + work.functions)
    found.operations += rows * work.operations
    found.functions += rows * work.functions
    for access in work.accesses:
        near = t.across | t.alone | (t.abreast > 1.0)
        run = np.where(t.abreast > 1.0, t.abreast, LANES)
        beside = _Beside(np.where(near, _apart(access.apart), 0.0), run)
        lines = beside.pieces(LINE)
        count = np.where(t.abreast > 1.0, t.results / t.abreast, rows) * access.times
        found.loads += count
        found.lines += count * lines
        _moved(found, access, t, count, beside)


def _shared(found: Amounts, work: Walks, t: _Teams, relay: Relay) -> None:
    """Adds what it takes to share a result: to arrive, and to fold what all have kept."""
    several = t.shares > 1.0
    found.arrivals += several * len(relay.legs)
    found.launches += several * (relay.launches - 1.0)
    for walk in work.walks:
        kept = np.ceil(walk.rounds / BLOCK) if walk.is_ordered else t.shares
        if walk.is_ordered:
            turns = np.ceil(np.ceil(kept / BLOCK) / t.rows)
            own = turns * np.minimum(BLOCK / LANES, np.ceil(kept / LANES))
        else:
            turns, own = np.ones_like(t.shares), np.ceil(kept / t.lanes)
        found.folded += several * own
        found.folded_met += several * turns * t.rows * walk.states
