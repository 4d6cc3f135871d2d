"""Launches under way: their times come from events that are polled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vyre.backend.cuda.context import Context

Pair = tuple[Any, Any]

FIXED_NS = 2_200
"""What two events around one launch add to it where the host adds nothing.

On one H200 (driver 580): 2.21 us behind a kernel that only takes time and 2.22 us on a busy stream,
by lines through 26 kernels of 0.5 to 30 us, whose slopes are 1.02 and 1.01.
"""

_LEAST = 1 / 4  # of what was measured is left, whatever the device


def without_events(measured_ns: float) -> int:
    """A launch's own share of the time between its events.

    >>> without_events(3904.0), without_events(1600.0)
    (1704, 400)
    """
    return round(max(measured_ns - FIXED_NS, measured_ns * _LEAST))


class Events:
    """Pairs of events, used again and again: making one costs more than a launch."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self._free: list[Pair] = []

    def take(self) -> Pair:
        """The events before and after one launch; with the context current."""
        try:
            return self._free.pop()
        except IndexError:
            return self._make(), self._make()

    def give_back(self, pair: Pair | None) -> None:
        """Let others have them, also while they are to come: the later record counts."""
        if pair is not None:
            self._free.append(pair)

    def _make(self) -> Any:
        return self.context.value("make an event", self.context.driver.cuEventCreate(0))


class TimedTicket:
    """A launch between two events.

    Args:
        events: which the two go back to.
        pair: the two.
        rough: whether the host's time may be between them.
        then: what whoever asks does once the time is known, for launches to come.
    """

    __slots__ = ("_events", "_ns", "_pair", "_then", "rough")

    def __init__(
        self,
        events: Events,
        pair: Pair,
        *,
        rough: bool = False,
        then: Callable[[], object] | None = None,
    ) -> None:
        self._events, self.rough, self._then = events, rough, then
        self._pair: Pair | None = pair
        self._ns: int | None = None

    def elapsed_ns(self) -> int | None:
        """The launch's time on the device, or None while it runs; never waits for it."""
        pair = self._pair
        if pair is None:
            return self._ns
        context = self._events.context
        driver = context.driver
        with context.apart_from_captures():
            answer = driver.cuEventQuery(pair[1])
            if answer[0] == driver.CUresult.CUDA_ERROR_NOT_READY:
                return None
            context.value("run a launch", answer)
            milliseconds = context.value("time a launch", driver.cuEventElapsedTime(*pair))
        self._ns = without_events(milliseconds * 1e6)
        self._give_back()
        then, self._then = self._then, None
        if then is not None:
            then()
        return self._ns

    def wait(self) -> None:
        if self._pair is not None:
            context = self._events.context
            with context.current():
                context.value("run a launch", context.driver.cuEventSynchronize(self._pair[1]))

    def _give_back(self) -> None:
        pair, self._pair = self._pair, None
        self._events.give_back(pair)

    def __del__(self) -> None:
        self._give_back()


class UntimedTicket:
    """A launch that nobody timed; waiting for it waits for its stream."""

    __slots__ = ("_context", "_stream")
    rough = True

    def __init__(self, context: Context, stream: Any) -> None:
        self._context, self._stream = context, stream

    def elapsed_ns(self) -> None:
        """It is never known."""

    def wait(self) -> None:
        context = self._context
        with context.current():
            context.value("run a launch", context.driver.cuStreamSynchronize(self._stream))
