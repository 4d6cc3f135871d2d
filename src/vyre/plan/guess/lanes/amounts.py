"""What schedules of a processor with lanes make of a position's work, counted for many at once.

No number here is fitted: what an amount costs is `model`'s.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from vyre.analysis.reader import ATOMIC, LOAD
from vyre.emit.lanes import variation
from vyre.emit.llvm import loops_part
from vyre.ir.expr import Load
from vyre.ir.node import Assign, Loop, While
from vyre.ir.program import Program
from vyre.ir.walk import all_expressions, statements
from vyre.model import Order, Schedule
from vyre.plan.guess.amounts import Numbers
from vyre.plan.guess.lanes.footprints import LINE, Blocks, brought_in
from vyre.plan.guess.shapes import Vector
from vyre.plan.guess.streams import Stream
from vyre.plan.guess.work import Work

PIECES = 16  # of a launch for each thread, as the pool hands them out
ONE_HEAVY = 0.3  # of a division of all lanes is one alone
TURNS = 4  # positions that a step without lanes takes one after the other, at most


@dataclass(frozen=True, slots=True, kw_only=True)
class Core:
    """What a processor says of itself, as far as the model asks."""

    threads: float
    lanes: float  # of 32 bits, in a register
    l1_bytes: float
    l2_bytes: float

    @property
    def registers(self) -> float:
        """Of vectors: 256 bits come with 16, wider and narrower ones with 32."""
        return 16.0 if self.lanes == 8 else 32.0


@dataclass(frozen=True, slots=True)
class Tiles:
    """Schedules, column by column."""

    x: Vector
    y: Vector
    z: Vector
    vector: Vector
    rows: Vector
    unroll: Vector
    blocked: Vector
    staged: Vector
    checked: Vector

    @classmethod
    def of(cls, schedules: Sequence[Schedule]) -> Tiles:
        table = [
            (
                *s.workgroup,
                c.vector,
                c.rows,
                c.unroll,
                c.order is Order.BLOCKED,
                c.staged,
                c.checked,
            )
            for s in schedules
            for c in (s.code,)
        ]
        return cls(*np.array(table, np.float64).reshape(-1, 9).T)


@dataclass(frozen=True, slots=True)
class Form:
    """What of a program decides how lanes run it, beside what a position does."""

    parts: bool  # lanes leave loops at different times
    loops: bool
    chains: bool  # they load nothing: each round waits for the one before
    carried: int  # names that a round of a loop hands to the next

    @classmethod
    @lru_cache(maxsize=256)
    def of(cls, program: Program) -> Form:
        nodes = list(statements(program.entry))
        loops = [node for node in nodes if isinstance(node, (Loop, While))]
        loads = any(isinstance(e, Load) for loop in loops for e in all_expressions(loop.body))
        varied = variation(program).names
        carried = {node.name for node in nodes if isinstance(node, Assign) and node.name in varied}
        return cls(loops_part(program), bool(loops), bool(loops) and not loads, len(carried))


@dataclass(slots=True, kw_only=True)
class Amounts:
    """Per position where nothing else is said; a plain number is the same for every schedule."""

    positions: Numbers  # of the launch
    threads: Numbers  # that run it
    scalar: Numbers  # 1 where there are no lanes
    step: Numbers
    rounds: Numbers  # of loops, by the step
    arithmetic: Numbers  # instructions
    heavy: Numbers
    functions: Numbers
    converted: Numbers
    checks: Numbers
    parted: Numbers  # of the operations, the share that some lanes skip
    narrow: Numbers  # 1 where registers are at most half full
    waits: Numbers  # of what the slowest lane takes longer, how much of so many lanes wait for
    chain: Numbers  # operations of a step, each of which waits for the last
    series: Numbers  # functions of a step, whose terms wait for each other
    adds: Numbers  # the same, of sums over a walk
    spilled: Numbers
    loads: Numbers = 0.0  # registers
    stores: Numbers = 0.0
    broadcasts: Numbers = 0.0
    singles: Numbers = 0.0  # elements, where there are no lanes
    gathers: Numbers = 0.0  # elements that lanes load one by one
    small: Numbers = 0.0  # of those, of 1 or 2 bytes
    scatters: Numbers = 0.0
    split: Numbers = 0.0  # registers that lie across lines
    staging: Numbers = 0.0
    near: Numbers = 0.0  # lines that come into the first cache
    far: Numbers = 0.0  # lines that come into the second
    footprint: Numbers = 1.0  # bytes of all arrays
    counts: Numbers = 0.0  # additions to a thread's own counters, without lanes
    waiting: Numbers = 0.0  # those that may wait for the one before
    counted: Numbers = 0.0  # additions of lanes, one by one
    crowded: Numbers = 0.0  # those of more lanes than a register has
    masked: Numbers = 0.0  # those that some lanes skip
    atomics: Numbers = 0.0
    edge: Numbers = 0.0  # positions that are run with masks, and lanes left empty there
    tiles: Numbers  # of a thread, all of them
    pieces: Numbers  # of a thread, all of them
    longest: Numbers  # positions of the thread with the most
    piece: Numbers  # positions of a piece
    together: Numbers  # 1 where several threads run it
    counters: Numbers = 0.0
    flushed: Numbers = 0.0  # counters that a piece adds to everybody's


def amounts(work: Work, form: Form, tiles: Tiles, core: Core) -> Amounts:
    """What every schedule makes of the work."""
    vector, rows = tiles.vector, tiles.rows
    scalar = (vector == 1.0).astype(np.float64)
    width = 2.0 if work.wide else 1.0
    each = np.where(scalar > 0.0, 1.0, np.ceil(vector * width / core.lanes) / vector)
    turns = 1.0 if form.loops else np.minimum(np.where(scalar > 0.0, tiles.unroll, 1.0), TURNS)
    walked = max((s.rounds for s in work.streams if s.walk), default=1.0)
    taps = sum(min(s.taps, 4.0) * s.copies for s in work.streams if s.kind == LOAD)
    registers = each * vector * rows * (form.carried + 1.0 + taps / 2.0)
    over = (registers / core.registers) ** 2
    found = Amounts(
        positions=float(work.positions),
        scalar=scalar,
        step=1.0 / (vector * rows * turns),
        rounds=(walked - 1.0) / (vector * rows * tiles.unroll),
        arithmetic=work.operations * each,
        heavy=work.heavy * np.where(scalar > 0.0, ONE_HEAVY, width / core.lanes),
        functions=work.functions * each,
        converted=work.converted * each,
        checks=(work.checked + tiles.checked * work.proved) * each,
        parted=work.parted / max(work.operations, 1.0),
        narrow=(1.0 - scalar) * (vector * width <= core.lanes / 2.0),
        waits=form.parts * (1.0 - 1.0 / np.sqrt(vector * rows)),
        chain=form.chains * work.operations / (vector * rows),
        series=work.functions / (vector * rows * turns),
        adds=(walked - 1.0) / (vector * rows),
        spilled=(1.0 - scalar) * over / (1.0 + over) * work.operations * each,
        counters=float(work.counters),
        **_shared_out(work, tiles, core),
    )
    for stream in work.streams:
        _accessed(found, stream, tiles, core, work)
    found.footprint = 1.0 + sum(s.footprint for s in work.streams)
    found.edge = _edges(work, tiles, core)
    blocks = _blocks(work, tiles, turns, walked, found)
    found.near, found.far = brought_in(
        work.streams, blocks, core.l1_bytes, core.l2_bytes, tiles.staged
    )
    return found


def _shared_out(work: Work, tiles: Tiles, core: Core) -> dict[str, Numbers]:
    """How a launch falls to threads."""
    x, y, z = work.extent
    groups = np.ceil(x / tiles.x) * np.ceil(y / tiles.y) * np.ceil(z / tiles.z)
    grain = np.maximum(1.0, np.floor(groups / (PIECES * core.threads)))
    pieces = np.ceil(groups / grain)
    threads = np.minimum(pieces, core.threads)
    piece = np.minimum(tiles.x * tiles.y * tiles.z * grain, float(work.positions))
    return {
        "threads": threads,
        "tiles": groups / threads,
        "pieces": pieces / threads,
        "piece": piece,
        "longest": np.minimum(np.ceil(pieces / threads) * piece, float(work.positions)),
        "together": (pieces > 1.0).astype(np.float64),
    }


def _accessed(found: Amounts, stream: Stream, tiles: Tiles, core: Core, work: Work) -> None:
    """Count what one stream's accesses are made of."""
    count = stream.copies * stream.taps * stream.rounds
    scalar, vector, rows = found.scalar, tiles.vector, tiles.rows
    lanes = 1.0 - scalar
    if stream.kind == ATOMIC:
        if work.counters:
            found.counts += count * scalar
            found.waiting += count * scalar * (tiles.unroll == 1.0)
            found.counted += count * lanes
            found.crowded += count * (vector > core.lanes)
            found.masked += count * lanes * stream.parted
            found.flushed = np.minimum(work.counters, found.piece * count)
        else:
            found.atomics += count
        return
    sx, sy = (1, 1) if stream.strides is None else (abs(s) for s in stream.strides[:2])
    apart = stream.strides is None or sx > 1
    # Rows side by side load once what they share.
    once = (stream.rows - 1.0 + rows) / (stream.rows * rows) if sy else 1.0 / rows
    if stream.kind != LOAD:
        once = np.ones_like(rows)
    found.singles += count * once * scalar
    if sx == 0:
        found.broadcasts += count * once * lanes / vector
        return
    if apart:
        if stream.kind == LOAD:
            found.gathers += count * once * lanes
            found.small += count * once * lanes * (stream.size < 4)
        else:
            found.scatters += count * lanes
        return
    registers = count * once * lanes * np.ceil(vector * stream.size / (4.0 * core.lanes)) / vector
    found.split += registers * stream.shifted
    if stream.kind == LOAD:
        found.loads += registers
        if stream.walk and not sy:
            found.staging += tiles.staged * registers * rows / tiles.y
    else:
        found.stores += registers


def _edges(work: Work, tiles: Tiles, core: Core) -> Vector:
    """The share of positions that full steps do not cover, with the lanes left empty there."""
    x, y, _ = work.extent
    loads = [(s.strides, s.reach) for s in work.streams if s.kind == LOAD]
    reach_x = max((reach[0] for strides, reach in loads if strides and strides[0] == 1), default=0)
    reach_y = max((reach[1] for strides, reach in loads if strides and strides[1]), default=0)
    lanes = np.minimum(tiles.vector, core.lanes)
    columns = _left_over(tiles.x, tiles.vector, x, reach_x)
    rows = _left_over(tiles.y, tiles.rows, y, reach_y)
    columns = np.where(tiles.vector > 1.0, np.ceil(columns / lanes) * lanes / tiles.x, 0.0)
    share: Vector = np.minimum(columns + np.where(tiles.rows > 1.0, rows / tiles.y, 0.0), 1.0)
    return share


def _left_over(tile: Vector, step: Vector, extent: int, reach: int) -> Vector:
    """Of a tile along one axis, what full steps leave: at the ends of an extent also margins."""
    tile, count = np.minimum(tile, extent), np.ceil(extent / tile)
    at_ends = np.minimum(1.0, 2.0 / count)
    margin = np.where(count > 1.0, reach / 2.0, reach)
    inside = np.maximum(tile - margin, 0.0)
    left: Vector = (1.0 - at_ends) * (tile % step) + at_ends * (inside % step + margin)
    return left


def _blocks(work: Work, tiles: Tiles, turns: Numbers, walked: float, found: Amounts) -> Blocks:
    """The blocks in which every schedule walks its tiles."""
    x, y, z = work.extent
    walks = [s.walk * s.size for s in work.streams if 0 < s.walk * s.size < LINE]
    some = min(walked, LINE / min(walks)) if walks else 1.0
    smallest = min((s.size for s in work.streams), default=4)
    wide, high = np.minimum(tiles.x, x), np.minimum(tiles.y, y)
    step, rows = np.minimum(tiles.vector * turns, wide), np.minimum(tiles.rows, high)
    down, one = tiles.blocked > 0.0, np.ones_like(wide)
    # So many steps that one has come to the end of its lines.
    part_x = np.where(down, step, np.clip(LINE / smallest, step, wide))
    part_y = np.where(down, np.clip(LINE / smallest, rows, high), rows)
    sweep_x, sweep_y = np.where(down, step, wide), np.where(down, high, rows)
    share, all_x = found.longest, np.full_like(wide, x)
    share_x, share_y = np.minimum(all_x, np.maximum(share, wide)), np.clip(share / x, high, y)
    share_z = np.clip(share / (x * y), 1.0, z)
    return Blocks(
        np.stack([step, step, step, part_x, sweep_x, wide, all_x, share_x]),
        np.stack([rows, rows, rows, part_y, sweep_y, high, high, share_y]),
        np.stack([*(7 * [one]), share_z]),
        np.array([1.0, some, *(6 * [walked])])[:, None],
    )
