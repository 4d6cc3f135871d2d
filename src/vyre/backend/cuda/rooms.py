"""Memory in which the workgroups of a launch keep results for each other.

Calls of one stream follow each other, so a stream has one room, which serves every kernel: it
begins with counters, which are 0 between two launches, and the rest holds whatever the last one
left. A call may be several launches, and those of another thread or of a signal handler may come
between them: a room is lent to one call until all of it is enqueued, and who comes meanwhile has
another. What a stream captures may be replayed beside anything, so that a capture has its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from vyre.backend.cuda.context import Context
from vyre.errors import DeviceFailed
from vyre.plan.shares import MOST_RESULTS

COUNTERS_BYTES = 4 * MOST_RESULTS
_ALIGNED = 256

IN_A_ROW = -1
"""In place of a stream: that on which launches in a row are timed, one such row at a time."""

Key = tuple[int, int]
"""A stream, by what no other stream is ever called, or by its handle in a capture, which comes
second; 0 for none."""


@dataclass(frozen=True, slots=True)
class Room:
    """Memory of one call at a time."""

    key: Key
    address: int
    size: int

    def arrays(self, sizes: Sequence[int]) -> list[int]:
        """Addresses of arrays of so many bytes, the first of which holds counters."""
        found, at = [self.address], self.address + COUNTERS_BYTES
        for size in sizes[1:]:
            found.append(at)
            at += _whole(size)
        return found


class Rooms:
    """The rooms of one device's streams.

    They grow by doubling and none is freed: a launch, or a graph that was captured, may still use
    the one before. Taking one is an atomic pop, as of frames, so no lock is needed.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._free: dict[Key, list[Room]] = {}

    def take(self, sizes: Sequence[int], stream: int, where: Any) -> Room:
        """A room for arrays of so many bytes, which nobody else has until it is given back.

        Args:
            sizes: as `Binary.room` has them.
            stream: CUDA's handle; 0 is the default one, and `IN_A_ROW` none of anybody else's.
            where: the stream on which new memory is cleared, as the driver is to have it.
        """
        counters, *others = sizes
        assert counters <= COUNTERS_BYTES, sizes
        key = self._key(where) if stream > 0 else (stream, 0)
        needed = COUNTERS_BYTES + sum(map(_whole, others))
        known = None
        with suppress(KeyError, IndexError):  # none was made yet, or all are lent
            known = self._free[key].pop()
        if known is not None and known.size >= needed:
            return known
        return self._made(key, max(needed, 2 * known.size if known else 1 << 16), where)

    def give_back(self, room: Room) -> None:
        """All that uses it is enqueued: what follows on its stream may have it."""
        self._free.setdefault(room.key, []).append(room)

    def _key(self, where: Any) -> Key:
        driver, value = self._context.driver, self._context.value
        with self._context.apart_from_captures():
            status, capture, *_ = value("look for a capture", driver.cuStreamGetCaptureInfo(where))
            if status != driver.CUstreamCaptureStatus.CU_STREAM_CAPTURE_STATUS_NONE:
                # A stream that captures tells nobody what it is called (driver 580).
                return int(where), int(capture)
            return int(value("tell a stream", driver.cuStreamGetId(where))), 0

    def _made(self, key: Key, size: int, where: Any) -> Room:
        """A new room, whose counters are 0 when the stream comes to what follows."""
        driver, value = self._context.driver, self._context.value
        with self._context.apart_from_captures():
            answer = driver.cuMemAlloc(size)
            if answer[0] == driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
                raise DeviceFailed(
                    f"{self._context.model} has no {size:,} bytes in which workgroups could keep "
                    "what they find",
                    "free arrays no longer needed, or run it with Code(shares=1)",
                )
            address = int(value("allocate memory", answer))
            cleared = driver.cuMemsetD8Async(address, 0, COUNTERS_BYTES, where)
            value("clear its memory", cleared)
            return Room(key, address, size)


def _whole(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED
