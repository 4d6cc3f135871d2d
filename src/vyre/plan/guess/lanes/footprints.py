"""What caches of a core see of a schedule: how many bytes come into each of two of them.

A tile is walked in nested blocks: one step of lanes and rows in one round of a loop, all rounds, a
sweep of steps, the tile, tiles side by side, a thread's share. A cache keeps what the largest block
that fits it touches; that block's lines come in once for each such block. What a share touches and
fits stays there from call to call.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

import numpy as np
from numpy.typing import NDArray

from vyre.analysis.reader import ATOMIC
from vyre.plan.guess.streams import Stream

Vector = NDArray[np.float64]

LINE = 64.0  # bytes that a cache looks up and fetches
L1_PERIOD = 4096  # bytes after which addresses compete for the same lines: of most first caches
L2_WAYS = 16
SHARP = 3.0  # how suddenly a block ceases to fit
USED = 0.8  # of a cache that holds what is meant to stay there


@dataclass(frozen=True, slots=True)
class Blocks:
    """The nested blocks of schedules: each a row, from the innermost, with a column for each."""

    x: Vector
    y: Vector
    z: Vector
    rounds: Vector  # of loops, one column

    @property
    def positions(self) -> Vector:
        return self.x * self.y * self.z


def brought_in(
    streams: tuple[Stream, ...], blocks: Blocks, l1_bytes: float, l2_bytes: float, staged: Vector
) -> tuple[Vector, Vector]:
    """Lines of the first and the second cache that come in for one position, by schedule."""
    sizes = (USED * l1_bytes, USED * l2_bytes)
    periods = (L1_PERIOD, max(int(l2_bytes) // L2_WAYS, L1_PERIOD))
    needs = [np.zeros_like(blocks.positions) for _ in sizes]
    moves = [np.zeros_like(blocks.positions) for _ in sizes]
    for stream in streams:
        if stream.kind == ATOMIC:
            continue
        touched, apart, pitch = _touched(stream, blocks)
        taken = np.minimum(blocks.rounds, stream.rounds)
        moved = touched * (stream.copies * stream.rounds) / (taken * blocks.positions)
        for size, period, need, move in zip(sizes, periods, needs, moves, strict=True):
            # Rows a power of two apart compete for few lines, unless they were brought together.
            crowded = np.maximum(1.0, gcd(pitch, period) / np.maximum(apart, LINE))
            if stream.rounds > 1 and stream.strides is not None and not stream.strides[1]:
                crowded = np.where(staged > 0.0, 1.0, crowded)
            need += touched * crowded * stream.copies
            # An array that is all used again and again stays, whatever passes by.
            move += moved * (1.0 - 1.0 / (1.0 + (2.0 * stream.footprint / size) ** SHARP))
    near, far = (
        _filled(move, need / size) / LINE
        for move, need, size in zip(moves, needs, sizes, strict=True)
    )
    return near, far


def _filled(moved: Vector, full: Vector) -> Vector:
    """What comes in, by how full each block makes the cache."""
    fits = np.minimum.accumulate(1.0 / (1.0 + np.minimum(full, 1e6) ** SHARP), axis=0)
    fits[0] = 1.0
    found: Vector = ((fits[:-1] - fits[1:]) * moved[:-1]).sum(axis=0)
    return found


def _touched(stream: Stream, blocks: Blocks) -> tuple[Vector, Vector, int]:
    """The bytes of lines that each block touches, of runs how long, and how far these lie apart."""
    size = float(stream.size)
    rounds = np.minimum(blocks.rounds, stream.rounds)
    if stream.strides is None:
        count = blocks.positions * stream.taps * rounds
        return np.minimum(count * LINE, max(stream.footprint / stream.copies, LINE)), count, 0
    strides = [abs(stride) for stride in stream.strides]
    reach = (stream.reach[0] / max(strides[0], 1), stream.reach[1], stream.reach[2])
    counts = (blocks.x, blocks.y, blocks.z)
    axes = [
        (stride, count + more)
        for stride, count, more in zip(strides, counts, reach, strict=True)
        if stride
    ]
    if stream.walk:
        axes.append((stream.walk, rounds))
    length, number = np.full_like(blocks.positions, size), np.ones_like(blocks.positions)
    pitch = 0
    for stride, count in sorted(axes, key=lambda axis: axis[0]):
        apart = size * stride
        near = apart <= np.maximum(length, LINE)
        length = np.where(near, (count - 1.0) * apart + length, length)
        number = np.where(near, number, number * count)
        if apart > LINE:
            pitch = int(apart)
    lines = np.maximum(length, LINE) + 0.5 * LINE * (number > 1.0)
    return number * lines, np.where(number > 1.0, length, 1e30), pitch
