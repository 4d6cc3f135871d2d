"""What goes through the memory of a workgroup's own: brought once, read by all who share it.

The same rules as `emit.staging` has, for many schedules at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vyre.emit.staging import ROUND
from vyre.plan.guess.shapes import LANES, LINE, SECTOR, Shapes, Vector
from vyre.plan.guess.streams import Brought, Stream

Flags = NDArray[np.bool_]

_VECTOR = 16.0  # bytes of an access


@dataclass(frozen=True, slots=True)
class Near:
    """Per position where nothing else is said."""

    brought: Vector  # loads of what is brought, vectors or elements
    ends: Vector  # of those, vectors within which an array may end
    lines: Vector  # of the caches, that those touch
    fetched: Vector  # bytes
    loads: Vector  # reads of the group's memory
    near_lines: Vector  # turns that its banks take
    bytes: Vector  # of a group
    chunks: Vector  # times that it is filled
    turns: Vector  # loads of a thread that brings, each time
    ragged: Vector  # of those, where the last is not for all such threads
    ended: Vector  # of those, such vectors, which part the ways of lanes
    ahead: Vector  # registers of what is under way


def near(stream: Stream, brought: Brought, elements: Vector, shapes: Shapes) -> Near:
    """What a stream is where it is brought; `elements` are those that a thread reads in a round."""
    size, copies, moves = float(stream.size), stream.copies, brought.moves
    spans = {
        0: shapes.x * shapes.items,
        1: shapes.y * shapes.lines,
        2: shapes.z * shapes.planes,
        ROUND: np.maximum(shapes.depth, 1.0),
        None: np.ones_like(shapes.x),
    }
    order = [move for move in (2, ROUND, 1, 0) if move in moves]
    last, fast = spans[moves[-1]], order[-1] if order else None
    total = np.ones_like(shapes.x)
    for move in moves:
        total = total * spans[move]
    # A lane that has a row of its own reads several rounds of it at once.
    walks = (shapes.each == 1.0) & (moves[-1] == ROUND and 0 in moves)
    turned = ~walks & (moves[-1] is not None and moves[-1] != fast)
    several = _VECTOR // size
    read = np.where(walks, several, _read_at_once(fast, shapes, size))
    side = np.where(walks, spans[ROUND], spans[fast])
    pad = np.where(walks, several, turned * np.where(read > 1.0, read, 1.0 - side % 2.0))
    width = _brought_at_once(brought, last, shapes, size)
    units = total / width
    is_loop = ROUND in moves
    halves = 2.0 if is_loop else 1.0
    chunks = np.ceil(stream.rounds / spans[ROUND]) if is_loop else np.ones_like(shapes.x)
    tile = shapes.lanes * shapes.each
    bringing = _bringing(shapes)
    turns = np.ceil(units / bringing)
    per_unit = copies * units * chunks / tile
    rows = np.maximum(1.0, LANES * width / last)  # that lanes side by side touch
    lines = rows * np.maximum(1.0, np.minimum(last, LANES * width) * size / LINE) / LANES
    loads = copies * elements / read * stream.rounds / shapes.each
    puts = per_unit * np.where(turned, width, 1.0)
    return Near(
        brought=per_unit,
        ends=per_unit * (width > 1.0) * (len(moves) == 1),
        lines=per_unit * lines,
        fetched=per_unit * width * size * np.maximum(1.0, SECTOR / (last * size)),
        loads=loads + puts,
        near_lines=loads * _banks(moves, read, size, shapes)
        + puts * _apart(last, width, side + pad, size, turned),
        bytes=copies * np.ceil(halves * total * (1.0 + pad / side) * size / 16.0) * 16.0,
        chunks=chunks,
        turns=copies * turns,
        ragged=copies * turns * (units % bringing > 0.0),
        ended=copies * turns * (width > 1.0) * (len(moves) == 1),
        ahead=copies * turns * width * max(size / 4.0, 1.0) * float(is_loop),
    )


def _bringing(shapes: Shapes) -> Vector:
    """Threads of a group that bring; no warp computes and brings where some do nothing else."""
    first = np.ceil(shapes.lanes / LANES) * LANES
    others = np.where(first < shapes.threads, shapes.threads - first, shapes.threads - shapes.lanes)
    found: Vector = np.where(shapes.loaders > 0.0, others, shapes.lanes)
    return found


def _read_at_once(fast: int | None, shapes: Shapes, size: float) -> Vector:
    """Neighbours that a lane reads in one access of the group's memory."""
    if fast == 0:
        across: Vector = np.where(shapes.vector * size <= _VECTOR, shapes.vector, 1.0)
        return across
    if fast == 1:
        four = (shapes.lines % 4.0 == 0.0) & (4.0 * size <= _VECTOR)
        two = (shapes.lines % 2.0 == 0.0) & (2.0 * size <= _VECTOR)
        down: Vector = np.where(four, 4.0, np.where(two, 2.0, 1.0))
        return down
    return np.ones_like(shapes.x)


def _brought_at_once(brought: Brought, last: Vector, shapes: Shapes, size: float) -> Vector:
    """Neighbours that a lane brings in one access of the array."""
    width = shapes.brings
    fits = (width <= 4.0) & (width * size <= _VECTOR) & (last % width == 0.0)
    moves = brought.aligned and brought.moves[-1] is not None
    found: Vector = np.where(fits & (shapes.checked == 0.0) & moves, width, 1.0)
    return found


def _apart(last: Vector, width: Vector, stride: Vector, size: float, turned: Flags) -> Vector:
    """Turns that putting an element takes for each lane, or a vector where it stays one.

    Neighbours of an array that lie a row apart in the group's memory may meet in one bank.
    """
    words = max(size / 4.0, 1.0)
    between = (width * stride * size).astype(np.int64)  # bytes; banks are four wide
    step = np.where(between % 4 == 0, np.gcd(between // 4, 32), 1)
    beside = np.minimum(LANES, last / width)  # lanes that put neighbours
    apart = np.maximum(words, beside * step / LANES)
    found: Vector = np.where(turned, apart, np.maximum(width * size * LANES / LINE, 1.0)) / LANES
    return found


def _banks(moves: tuple[int | None, ...], read: Vector, size: float, shapes: Shapes) -> Vector:
    """Turns that a read takes for each lane; lanes that read the same share it."""
    along_x = np.minimum(LANES, shapes.x)
    along_y = np.minimum(LANES / along_x, shapes.y)
    apart = (along_x if 0 in moves else 1.0) * (along_y if 1 in moves else 1.0)
    found: Vector = np.maximum(1.0, apart * read * size / LINE) / LANES
    return found
