"""A reading that costs something, taken anew only when it is old."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

LASTS_NS = 20_000_000
"""How long a reading of a clock serves; governors and firmware change clocks about as often."""


class Sampled(Generic[T]):
    """What `read` gave at most `LASTS_NS` ago.

    Args:
        read: takes the reading; must not raise.
        now_ns: a clock that does not go back.
    """

    def __init__(
        self, read: Callable[[], T], now_ns: Callable[[], int] = time.monotonic_ns
    ) -> None:
        self._read, self._now_ns = read, now_ns
        self._last: tuple[int, T] | None = None  # one value, so that threads need no lock

    def __call__(self) -> T:
        now, last = self._now_ns(), self._last
        if last is None or now - last[0] >= LASTS_NS:
            last = self._last = now, self._read()
        return last[1]
