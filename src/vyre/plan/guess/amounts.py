"""What schedules make of a position's work: instructions, cache lines, bytes, waves, contention.

Everything is counted from the program, the launch and the schedule, for many schedules at once. No
number here is fitted: what an amount costs is `model`'s.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vyre.analysis.reader import ATOMIC, LOAD
from vyre.model import Order, Schedule
from vyre.plan.guess.streams import Stream
from vyre.plan.guess.work import Work

Vector = NDArray[np.float64]
Numbers = Any  # a number, or one for each schedule

LINE, SECTOR = 128.0, 32.0  # bytes that caches look up, and that they fetch
LANES = 32.0  # threads that access memory together
NEAR = 65_536.0  # bytes of an array of which every unit keeps a copy before long


@dataclass(frozen=True, slots=True)
class Shapes:
    """Schedules, column by column."""

    x: Vector
    y: Vector
    z: Vector
    items: Vector
    vector: Vector
    run: Vector  # neighbours along x that one thread takes
    checked: Vector  # 1 where every index is tested

    @classmethod
    def of(cls, schedules: Sequence[Schedule]) -> Shapes:
        rows = [
            (*s.workgroup, c.items, c.vector, c.order is Order.BLOCKED, c.checked)
            for s in schedules
            for c in (s.code,)
        ]
        x, y, z, items, vector, blocked, checked = np.array(rows, np.float64).reshape(-1, 7).T
        return cls(x, y, z, items, vector, np.where(blocked > 0, items, vector), checked)

    @property
    def threads(self) -> Vector:
        return self.x * self.y * self.z


@dataclass(slots=True, kw_only=True)
class Amounts:
    """Per position where nothing else is said; a plain number is the same for every schedule."""

    positions: Numbers  # of the launch
    threads: Numbers  # of a group
    items: Numbers
    groups: Numbers
    partial: Numbers  # the share of groups that are not full, whose items run one by one
    left: Numbers  # items of a thread of those
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
    inputs: Numbers = 0.0  # loads of one position that do not wait for each other
    held_loads: Numbers = 0.0  # registers for all that a thread loads before it computes
    rounds: Numbers = 1.0  # of the longest walk through memory
    round_loads: Numbers = 0.0  # of a thread, in each of its rounds
    wandered: Numbers = 0.0  # rounds of a position whose loads go anywhere, one after the other
    single: Numbers = 0.0  # load instructions of a position that is alone in its thread
    single_round: Numbers = 0.0  # of those, in each of its rounds
    operations: Numbers = 0.0
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
    tile = shapes.x * shapes.items
    across = np.ceil(x / tile)
    rest = x - np.floor(x / tile) * tile
    in_turn = np.where(shapes.run == shapes.items, rest, rest / shapes.x)
    checks = work.checked + shapes.checked * work.proved
    apart = min(
        work.checked, sum(s.taps * s.rounds * s.copies for s in work.streams if not s.strides)
    )
    found = Amounts(
        positions=float(work.positions),
        threads=shapes.threads,
        items=shapes.items,
        groups=across * np.ceil(y / shapes.y) * np.ceil(z / shapes.z),
        partial=(rest > 0) / across,
        left=np.minimum(shapes.items, np.ceil(in_turn)),
        checks=checks,
        check_runs=(checks - apart) / shapes.run + apart,
        operations=work.operations,
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
        else:
            found.footprint += stream.footprint
            if stream.strides is None:
                _anywhere(found, stream, shapes)
            else:
                _strided(found, stream, shapes, work.positions)
    return found


def _anywhere(found: Amounts, stream: Stream, shapes: Shapes) -> None:
    count = stream.taps * stream.rounds * stream.copies
    found.addresses += count
    far = stream.footprint > NEAR * stream.copies
    if stream.kind == LOAD:
        found.loads += count
        found.lines_loaded += count
        found.fetched += count * SECTOR * far
        found.inputs += stream.taps * stream.copies
        found.held_loads += stream.taps * stream.copies * shapes.items * max(stream.size / 4.0, 1.0)
        found.single += count
        if stream.rounds > 1:
            found.wandered = max(found.wandered, stream.rounds)
    else:
        found.stores += count
        found.lines_stored += count
        found.stored += count * SECTOR
    found.scattered += count * far
    if stream.parted:
        found.torn += count * far * (shapes.run - 1.0)
        found.kept += LINE * stream.copies


def _strided(found: Amounts, stream: Stream, shapes: Shapes, positions: int) -> None:
    size, run, copies = float(stream.size), shapes.run, stream.copies
    sx, sy, sz = (abs(stride) for stride in stream.strides or (0, 0, 0))
    if sx == 0:  # all items of a thread ask for the same
        count = copies * stream.taps * stream.rounds / shapes.items
        wide = np.full_like(run, size)
        found.addresses += copies * stream.rounds * stream.rows / shapes.items
    else:
        share = stream.vectors
        count = copies * stream.taps * stream.rounds * (share / shapes.vector + 1.0 - share)
        wide = size * np.where(share > 0.5, shapes.vector, 1.0)
        found.addresses += copies * stream.rounds * stream.rows / run
    # A line's worth is handed to lanes at a time: wide accesses take turns of fewer lanes.
    at_once = np.minimum(LANES, LINE / wide)
    along_x = np.minimum(at_once, shapes.x)
    along_y = np.minimum(at_once / along_x, shapes.y)
    along_z = np.minimum(at_once / along_x / along_y, shapes.z)
    lanes = along_x * along_y * along_z
    axes = [(size * sx * run, along_x), (size * sy, along_y), (size * sz, along_z)]
    if 0 < sy < sx:
        axes[:2] = axes[1::-1]
    if stream.kind == LOAD:
        found.loads += count
        found.lines_loaded += count * _chunks(wide, axes, LINE, stream.shifted) / lanes
        found.inputs += stream.taps * copies
        found.held_loads += copies * max(size / 4.0, 1.0) * _elements(stream, shapes)
        found.single += copies * stream.taps * stream.rounds
        bytes_ = copies * _tile_bytes(stream, shapes)
        if stream.rounds > 1:
            found.round_loads += count * shapes.items / stream.rounds
            found.single_round += copies * stream.taps
        if stream.walk:
            found.walked += bytes_
        else:
            found.fetched += bytes_
        if stream.walk and 0 < stream.walk * size < LINE and sx * size >= LINE:
            found.kept += LINE * shapes.items * copies
    else:
        found.stores += count
        found.lines_stored += count * _chunks(wide, axes, LINE, stream.shifted) / lanes
        found.stored += count * SECTOR * _chunks(wide, axes, SECTOR, stream.shifted) / lanes
    found.rounds = max(found.rounds, stream.rounds)
    found.memory += stream.footprint / positions


def _elements(stream: Stream, shapes: Shapes) -> Numbers:
    """What a thread loads of a stream at once, neighbours' elements counted once."""
    sx = abs((stream.strides or (0,))[0])
    if sx == 0:
        return stream.taps
    if sx > stream.columns:
        return stream.taps * shapes.items
    return (
        stream.rows * (stream.columns / shapes.run + sx * (1.0 - 1.0 / shapes.run)) * shapes.items
    )


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
    tile = (shapes.x * shapes.items, shapes.y, shapes.z)
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
    bytes_: Vector = count * sectors * SECTOR / (shapes.threads * shapes.items)
    return bytes_
