"""Memory in which the workgroups of a launch keep results for each other.

Launches of one stream follow each other, so a stream has one room, which serves every kernel: it
begins with counters, which are 0 between two launches, and the rest holds whatever the last one
left. What a stream captures may be replayed beside anything, so that a capture has its own.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from vyre.backend.cuda.context import Context
from vyre.errors import DeviceFailed
from vyre.plan.shares import MOST_RESULTS

COUNTERS_BYTES = 4 * MOST_RESULTS
_ALIGNED = 256

IN_A_ROW = -1
"""In place of a stream: that on which launches in a row are timed, one such row at a time."""

Key = tuple[int, int]
"""A stream, by what no other stream is ever called, and its capture; 0 for none."""


class Rooms:
    """The rooms of one device's streams.

    They grow by doubling and none is given back: a launch, or a graph that was captured, may still
    use the one before.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._rooms: dict[Key, tuple[int, int]] = {}  # addresses and bytes
        self._growing = threading.Lock()

    def arrays(self, sizes: Sequence[int], stream: int, where: Any) -> list[int]:
        """Addresses of arrays of so many bytes, the first of which holds counters.

        Args:
            sizes: as `Binary.room` has them.
            stream: CUDA's handle; 0 is the default one, and `IN_A_ROW` none of anybody else's.
            where: the stream on which new memory is cleared, as the driver is to have it.
        """
        counters, *others = sizes
        assert counters <= COUNTERS_BYTES, sizes
        key = self._key(where) if stream > 0 else (stream, 0)
        needed = COUNTERS_BYTES + sum(map(_whole, others))
        known = self._rooms.get(key)
        address = known[0] if known and known[1] >= needed else self._grow(key, needed, where)
        found = [address]
        at = address + COUNTERS_BYTES
        for size in others:
            found.append(at)
            at += _whole(size)
        return found

    def _key(self, where: Any) -> Key:
        driver, value = self._context.driver, self._context.value
        with self._context.apart_from_captures():
            name = int(value("tell a stream", driver.cuStreamGetId(where)))
            status, capture, *_ = value("look for a capture", driver.cuStreamGetCaptureInfo(where))
        captures = status != driver.CUstreamCaptureStatus.CU_STREAM_CAPTURE_STATUS_NONE
        return name, int(capture) if captures else 0

    def _grow(self, key: Key, needed: int, where: Any) -> int:
        """A larger room, whose counters are 0 when the stream comes to what follows."""
        driver, value = self._context.driver, self._context.value
        with self._growing, self._context.apart_from_captures():
            known = self._rooms.get(key)
            if known is not None and known[1] >= needed:
                return known[0]
            size = max(needed, 2 * known[1] if known else 1 << 16)
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
            self._rooms[key] = address, size
            return address


def _whole(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED
