"""What schedules make of a position's work: instructions, cache lines, bytes, waves, contention.

Everything is counted from the program, the launch and the schedule, for many schedules at once. No
number here is fitted: what an amount costs is `model`'s.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vyre.analysis.reader import ATOMIC, LOAD
from vyre.emit.windows import MANY
from vyre.plan.guess.near import Near, near
from vyre.plan.guess.shapes import LANES, LINE, SECTOR, Kind, Shapes, Vector
from vyre.plan.guess.shared import loaded
from vyre.plan.guess.streams import Stream
from vyre.plan.guess.work import Work

Numbers = Any  # a number, or one for each schedule

NEAR = 65_536.0  # bytes of an array of which every unit keeps a copy before long


@dataclass(slots=True, kw_only=True)
class Amounts:
    """Per position where nothing else is said; a plain number is the same for every schedule."""

    positions: Numbers  # of the launch
    threads: Numbers  # of a group, that compute
    loaders: Numbers = 0.0  # more for each of them, that only load
    items: Numbers  # positions of a thread
    groups: Numbers
    partial: Numbers  # the share of groups with threads that are not full, and run one by one
    left: Numbers  # items of a thread of those
    fitted: Numbers = 0.0  # 1 where nothing is compared with the extent
    lined: Numbers = 0.0  # 1 where a thread has several lines or planes
    at_once: Numbers = 1.0  # rounds of a loop for each turn of it
    written: Numbers = 1.0  # the same of a loop that lanes leave one by one
    ahead_of: Numbers = 1.0  # rounds whose loads a thread asks for together, where it is told to
    fast: Numbers = 0.0  # 1 where functions and divisions are the device's own
    loads: Numbers = 0.0  # instructions
    stores: Numbers = 0.0
    addresses: Numbers = 0.0  # computed anew, where no neighbour's serves
    checks: Numbers = 0.0  # of indices
    check_runs: Numbers = 0.0  # the same, neighbours in a thread counted once
    lines_loaded: Numbers = 0.0
    lines_stored: Numbers = 0.0
    fetched: Numbers = 0.0  # bytes that come to a unit
    walked: Numbers = 0.0  # of those, in loops through memory
    stored: Numbers = 0.0  # bytes that leave it, whole sectors
    memory: Numbers = 0.0  # bytes of arrays, each once
    scattered: Numbers = 0.0  # accesses anywhere in an array that no unit keeps
    torn: Numbers = 0.0  # those of parted loops whose neighbours are another thread's, further off
    kept: Numbers = 0.0  # bytes of lines that a thread comes back to, for all its items
    footprint: Numbers = 1.0  # bytes of all arrays
    streamed: Numbers = 0.0  # of those, what is stored for no cache to keep
    passed: Numbers = 0.0  # elements that come from neighbouring lanes
    brought: Numbers = 0.0  # loads into memory of a group's own
    ends: Numbers = 0.0  # of those, vectors within which an array may end
    near_loads: Numbers = 0.0  # from there
    near_lines: Numbers = 0.0
    near_bytes: Numbers = 0.0  # of a group
    chunks: Numbers = 0.0  # times that a group waits for what is brought; 0: nothing is
    turns: Numbers = 0.0  # loads of a thread that brings, for each of them
    ragged: Numbers = 0.0  # of those, where not all such threads have as many
    ended: Numbers = 0.0  # of those, such vectors
    ahead: Numbers = 0.0  # registers for those
    inputs: Numbers = 0.0  # loads of one position that do not wait for each other
    held_loads: Numbers = 0.0  # registers for all that a thread loads before it computes
    rounds: Numbers = 1.0  # of the longest walk through memory
    round_loads: Numbers = 0.0  # of a thread, in each of its rounds
    round_held: Numbers = 0.0  # registers for those
    round_alone: Numbers = 0.0  # of those loads, the only ones of their rows
    wandered: Numbers = 0.0  # rounds of a position whose loads go anywhere, one after the other
    single: Numbers = 0.0  # load instructions of a position that is alone in its thread
    single_round: Numbers = 0.0  # of those, in each of its rounds
    operations: Numbers = 0.0
    placing: Numbers = 0.0  # those that say where one position's elements are
    heavy: Numbers = 0.0
    functions: Numbers = 0.0
    converted: Numbers = 0.0
    chain: Numbers = 0.0
    parted: Numbers = 0.0  # of the operations, the share that some invocations skip
    looped: Numbers = 0.0  # 1 where items run one after the other
    wide: Numbers = 0.0
    held: Numbers = 0.0  # registers for the names of one item
    registers: Numbers = 0.0  # of a thread, where compiling has told; else 0
    atomics: Numbers = 0.0
    counters: Numbers = 0.0


def amounts(work: Work, shapes: Shapes) -> Amounts:
    """What every schedule makes of the work."""
    x, y, z = work.extent
    partial, left = _partial(work, shapes)
    found = Amounts(
        positions=float(work.positions),
        threads=shapes.lanes,
        loaders=shapes.loaders,
        items=shapes.each,
        groups=np.ceil(x / (shapes.x * shapes.items))
        * np.ceil(y / (shapes.y * shapes.lines))
        * np.ceil(z / (shapes.z * shapes.planes)),
        partial=partial,
        left=left,
        fitted=shapes.fitted,
        lined=1.0 * (shapes.lines * shapes.planes > 1.0),
        at_once=1.0 if work.looped else shapes.rounds_at_once,
        written=shapes.unroll if work.looped else 1.0,
        ahead_of=np.where((shapes.depth > 0.0) | work.looped, 1.0, shapes.unroll),
        fast=float(work.fast),
        operations=work.operations - work.placing,
        placing=np.where(shapes.each > 1.0, 0.0, work.placing),
        heavy=work.heavy,
        functions=work.functions,
        converted=work.converted,
        chain=work.chain,
        parted=work.parted / max(work.operations, 1.0),
        looped=float(work.looped),
        wide=float(work.wide),
        held=work.held,
        counters=float(work.counters),
    )
    for stream in work.streams:
        if stream.kind == ATOMIC:
            found.atomics += stream.taps * stream.rounds
            _checked(found, stream, shapes, 0.0)
        else:
            found.footprint += stream.footprint
            if stream.strides is None:
                _anywhere(found, stream, shapes)
            else:
                _strided(found, stream, shapes, work)
    return found


def _partial(work: Work, shapes: Shapes) -> tuple[Vector, Vector]:
    """The share of groups with threads some of whose items are beyond the extent; those left.

    Lanes take items in runs, a group's width apart along x, and side by side along y and z.
    """
    each = shapes.each
    width = shapes.x * shapes.items
    rest = work.extent[0] % width
    runs = shapes.items / shapes.run
    last = rest - (runs - 1.0) * shapes.x * shapes.run  # positions of the last runs
    few = np.minimum(np.ceil(rest / shapes.x), shapes.items)
    own = np.where(last > 0.0, shapes.items - shapes.run + last % shapes.run, few)
    uneven = (rest > 0.0) & (own > 0.0)
    shares = [uneven / np.ceil(work.extent[0] / width)]
    left = uneven * own * shapes.lines * shapes.planes
    for axis, size, count in ((1, shapes.y, shapes.lines), (2, shapes.z, shapes.planes)):
        over = work.extent[axis] % count
        shares.append((over > 0.0) / np.ceil(work.extent[axis] / (size * count)))
        left = np.maximum(left, each / count * over)
    some = (each > 1.0) & (shapes.depth == 0.0)
    whole = (1.0 - shares[0]) * (1.0 - shares[1]) * (1.0 - shares[2])
    return some * (1.0 - whole), np.minimum(np.where(some, left, 1.0), each)


def _checked(found: Amounts, stream: Stream, shapes: Shapes, several: Numbers) -> None:
    """Adds what a stream's accesses test; `several` are those of threads of several positions."""
    all_ = stream.taps * stream.rounds * stream.copies
    some: Numbers = all_ * stream.checked
    if stream.followed and stream.checked:
        some = np.where(shapes.each > 1.0, several, some)
    checks = np.where(shapes.checked > 0.0, all_, some)
    found.checks += checks
    found.check_runs += checks / (shapes.run if stream.strides else 1.0)


def _anywhere(found: Amounts, stream: Stream, shapes: Shapes) -> None:
    count = stream.taps * stream.rounds * stream.copies
    found.addresses += count
    far = stream.footprint > NEAR * stream.copies
    # Lanes that go anywhere in a short table meet in its lines.
    lines = max(stream.footprint / stream.copies / LINE, 1.0)
    met = lines * (1.0 - (1.0 - 1.0 / lines) ** LANES) / LANES
    if stream.kind == LOAD:
        found.loads += count
        found.lines_loaded += count * met
        found.fetched += count * SECTOR * far
        found.inputs += stream.taps * stream.copies
        found.held_loads += stream.taps * stream.copies * shapes.each * max(stream.size / 4.0, 1.0)
        found.single += count
        if stream.rounds > 1:
            found.wandered = max(found.wandered, stream.rounds)
    else:
        found.stores += count
        found.lines_stored += count * met
        found.stored += count * SECTOR
    _checked(found, stream, shapes, 0.0)
    found.scattered += count * far
    if stream.parted:
        found.torn += count * far * (shapes.run - 1.0)
        found.kept += LINE * stream.copies


def _strided(found: Amounts, stream: Stream, shapes: Shapes, work: Work) -> None:
    if stream.kind == LOAD:
        _loads(found, stream, shapes, work)
    else:
        _stores(found, stream, shapes)
    found.rounds = max(found.rounds, stream.rounds)
    found.memory += stream.footprint / work.positions


def _stores(found: Amounts, stream: Stream, shapes: Shapes) -> None:
    share = stream.vectors if stream.steps[0][0] else 0.0
    count = stream.copies * stream.taps * stream.rounds * (share / shapes.vector + 1.0 - share)
    wide = stream.size * np.where(share > 0.5, shapes.vector, 1.0)
    found.stores += count
    found.addresses += stream.copies * stream.rounds * stream.rows / shapes.run
    found.lines_stored += count * _touched(stream, shapes, wide, LINE)
    found.stored += count * SECTOR * _touched(stream, shapes, wide, SECTOR)
    found.streamed += shapes.streamed * stream.footprint
    _checked(found, stream, shapes, 0.0)


def _loads(found: Amounts, stream: Stream, shapes: Shapes, work: Work) -> None:
    """What comes through registers alone; where it goes through a group's memory, that instead."""
    size, copies = float(stream.size), stream.copies

    def of(kind: Kind) -> Sequence[float]:
        return loaded(stream, kind if work.passing else (*kind[:5], False))

    vectors, singles, passed, elements, rows = shapes.by_kind(of)
    per = copies * stream.rounds / shapes.each
    direct: Numbers = 1.0
    if stream.brought is not None and np.any(shapes.depth > 0.0):
        direct = 1.0 * (shapes.depth == 0.0)
        _bring(found, near(stream, stream.brought, elements, shapes), 1.0 - direct)
    found.loads += direct * (vectors + singles) * per
    found.passed += direct * passed * per
    found.addresses += direct * rows * per
    found.lines_loaded += (
        direct
        * per
        * (
            vectors * _touched(stream, shapes, size * shapes.vector, LINE)
            + singles * _touched(stream, shapes, np.full_like(per, size), LINE)
            + passed / LANES
        )
    )
    found.inputs += stream.taps * copies
    found.held_loads += copies * max(size / 4.0, 1.0) * elements
    found.single += copies * stream.taps * stream.rounds
    if len(stream.offsets[0]) > 1:  # ends of rows, and the rows around those of a thread's own
        beyond = min(sum(stream.reach[1:]), float(np.max(rows, initial=1.0)))
        several = singles + beyond * vectors / np.maximum(rows, 1.0)
    else:
        several = (vectors + singles) * (shapes.items < MANY)
    _checked(found, stream, shapes, direct * several * per)
    bytes_ = direct * copies * _tile_bytes(stream, shapes)
    if stream.rounds > 1:
        found.round_loads += direct * copies * (vectors + singles)
        found.round_alone += direct * copies * rows * (vectors + singles <= rows)
        found.round_held += direct * copies * max(size / 4.0, 1.0) * elements
        found.single_round += copies * stream.taps
    if stream.walk:
        found.walked += bytes_
    else:
        found.fetched += bytes_
    sx = abs((stream.strides or (0,))[0])
    if stream.walk and 0 < stream.walk * size < LINE and sx * size >= LINE:
        found.kept += direct * LINE * shapes.items * copies


def _bring(found: Amounts, by_way: Near, staged: Vector) -> None:
    """Adds what goes through a group's own memory, where it does."""
    found.brought += staged * by_way.brought
    found.ends += staged * by_way.ends
    found.lines_loaded += staged * by_way.lines
    found.near_loads += staged * by_way.loads
    found.near_lines += staged * by_way.near_lines
    found.near_bytes += staged * by_way.bytes
    found.fetched += staged * by_way.fetched
    found.chunks = np.maximum(found.chunks, staged * by_way.chunks)
    found.turns += staged * by_way.turns
    found.ragged += staged * by_way.ragged
    found.ended += staged * by_way.ended
    found.ahead += staged * by_way.ahead


def _touched(stream: Stream, shapes: Shapes, wide: Vector, unit: float) -> Vector:
    """Chunks of `unit` bytes that an access of a lane touches, those of its neighbours shared."""
    size = float(stream.size)
    sx, sy, sz = (abs(stride) for stride in stream.strides or (0, 0, 0))
    # A line's worth is handed to lanes at a time: wide accesses take turns of fewer lanes.
    at_once = np.minimum(LANES, LINE / wide)
    along_x = np.minimum(at_once, shapes.x)
    along_y = np.minimum(at_once / along_x, shapes.y)
    along_z = np.minimum(at_once / along_x / along_y, shapes.z)
    axes = [
        (size * sx * shapes.run, along_x),
        (size * sy * shapes.lines, along_y),
        (size * sz * shapes.planes, along_z),
    ]
    if 0 < sy < sx:
        axes[:2] = axes[1::-1]
    found: Vector = _chunks(wide, axes, unit, stream.shifted) / (along_x * along_y * along_z)
    return found


def _chunks(
    wide: Vector, axes: Sequence[tuple[Numbers, Vector]], unit: float, shifted: float
) -> Vector:
    """How many chunks of `unit` bytes the lanes of one access touch, `wide` bytes each."""
    length, count = wide, np.ones_like(wide)
    for stride, lanes in axes:
        near = stride <= np.maximum(length, unit)
        length = np.where(near, (lanes - 1.0) * stride + length, length)
        count = np.where(near, count, count * lanes)
    return count * (np.maximum(1.0, length / unit) + shifted)


def _tile_bytes(stream: Stream, shapes: Shapes) -> Vector:
    """The bytes that a group fetches for one position, what its threads share counted once."""
    size = float(stream.size)
    sx, sy, sz = (abs(stride) for stride in stream.strides or (0, 0, 0))
    tile = (shapes.x * shapes.items, shapes.y * shapes.lines, shapes.z * shapes.planes)
    reach = (stream.reach[0] / max(sx, 1), stream.reach[1], stream.reach[2])
    axes: list[tuple[float, Numbers]] = [
        (size * stride, tile[axis] + reach[axis])
        for axis, stride in enumerate((sx, sy, sz))
        if stride
    ]
    if stream.walk:
        axes.append((size * stream.walk, stream.rounds))
    length, count = np.full_like(shapes.x, size), np.ones_like(shapes.x)
    for stride, number in sorted(axes, key=lambda axis: axis[0]):
        near = stride <= np.maximum(length, SECTOR)
        length = np.where(near, (number - 1.0) * stride + length, length)
        count = np.where(near, count, count * number)
    sectors = np.maximum(1.0, length / SECTOR) + 0.5 * stream.shifted
    bytes_: Vector = count * sectors * SECTOR / (shapes.lanes * shapes.each)
    return bytes_
