"""Launches under way: their times come from events that are polled."""

from __future__ import annotations

from typing import Any

from vyre.backend.cuda.context import Context

Pair = tuple[Any, Any]


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
    """A launch between two events."""

    __slots__ = ("_events", "_ns", "_pair", "rough")

    def __init__(self, events: Events, pair: Pair, *, rough: bool = False) -> None:
        self._events, self.rough = events, rough
        self._pair: Pair | None = pair
        self._ns: int | None = None

    def elapsed_ns(self) -> int | None:
        """The device's time between the events, or None while the launch runs; never waits."""
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
        self._ns = round(milliseconds * 1e6)
        self._give_back()
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
