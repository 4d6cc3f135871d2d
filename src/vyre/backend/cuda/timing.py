"""Launches between two events: ours behind a gate where the stream is idle, and those of others."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from vyre.backend.cuda.context import Context
from vyre.backend.cuda.events import Events, Pair, TimedTicket
from vyre.backend.cuda.gate import Closed, Gate
from vyre.errors import DeviceFailed

LITTLE_S = 3e-4
"""What may be left to do on a calm device: loading code waits for it, and callers may as well."""


class _Around:
    """What is around a launch of others: whatever interrupts it finds here what to undo."""

    __slots__ = ("ahead", "began", "closed", "pair", "where")

    def __init__(self, where: Any) -> None:
        self.where = where
        self.pair: Pair | None = None
        self.closed: Closed | None = None
        self.began = False  # the first event is recorded
        self.ahead = False  # the device had not come to it when the second was

    def open(self) -> None:
        """Let everything pass, where a gate is closed."""
        closed, self.closed = self.closed, None
        if closed is not None:
            self.ahead = closed.open()


class Timing:
    """Times launches on the streams of one device."""

    def __init__(
        self,
        context: Context,
        events: Events,
        gate: Gate,
        legacy: Any,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        """`legacy` is the default stream, by its name."""
        self._context, self._driver, self._legacy = context, context.driver, legacy
        self._events, self._gate, self._sleep = events, gate, sleep
        self._latest: tuple[Any, Pair] | None = None  # the stream of a timed launch, its events

    def launch(self, start: Callable[..., Any], where: Any, address: int) -> TimedTicket | None:
        """Launch between two events; None where nothing was launched, because of a capture.

        Args:
            start: the driver's launch, but for the three that follow.
            where: the stream.
            address: of the arguments.
        """
        driver, gate = self._driver, self._gate
        record = driver.cuEventRecord
        with self._context.apart_from_captures():
            if self.captures(where):
                return None
            pair = self._events.take()
            self._latest = where, pair

            def enqueue() -> tuple[Any, ...]:
                before = record(pair[0], where)
                return start(where, address, 0), before, record(pair[1], where)

            try:
                # On an idle stream the first event comes to be at once, and the host's time between
                # these three counts as well; behind other work they follow each other there.
                if driver.cuStreamQuery(where)[0]:
                    answers = enqueue()
                    ahead = driver.cuEventQuery(pair[0])[0] == driver.CUresult.CUDA_ERROR_NOT_READY
                else:
                    answers, ahead = gate.behind(where, enqueue)
                for one in answers:
                    self._context.value("launch a kernel", one)
            except BaseException:
                self._events.give_back(pair)
                raise
        then = None if gate.is_prepared else self.prepare
        return TimedTicket(self._events, pair, rough=not ahead, then=then)

    def around(
        self, where: Any, launch: Callable[[], object], *, enqueues: bool
    ) -> TimedTicket | None:
        """Call `launch`, which is another library's, between two events.

        Args:
            where: the stream.
            launch: what launches.
            enqueues: whether that is all it does, so that a gate may hold it on an idle stream;
                what waits for the stream would wait until the gate gives up.
        """
        around, recorded = _Around(where), False
        try:
            self._begin(around, enqueues=enqueues)
            launch()  # with the context that its library has made current
            recorded = self._end(around)
        finally:
            around.open()
            if not recorded:
                self._events.give_back(around.pair)
        if around.pair is None or not recorded:
            return None
        self._latest = where, around.pair
        then = self.prepare if enqueues and not self._gate.is_prepared else None
        return TimedTicket(self._events, around.pair, rough=not around.ahead, then=then)

    def _begin(self, around: _Around, *, enqueues: bool) -> None:
        """Record the first event, behind a gate where the stream is idle."""
        driver, where = self._driver, around.where
        try:
            with self._context.apart_from_captures():
                if self.captures(where):
                    return
                around.pair = self._events.take()
                if enqueues and not driver.cuStreamQuery(where)[0]:
                    around.closed = self._gate.close(where)
                around.began = not driver.cuEventRecord(around.pair[0], where)[0]
        except DeviceFailed:
            pass  # what cannot be timed is launched all the same
        if not around.began:
            around.open()

    def _end(self, around: _Around) -> bool:
        """Record the second event, and see whether the device has not come to the first yet."""
        driver, where, pair = self._driver, around.where, around.pair
        if pair is None or not around.began:
            return False
        try:
            with self._context.apart_from_captures():
                if self.captures(where) or driver.cuEventRecord(pair[1], where)[0]:
                    return False
                not_ready = driver.CUresult.CUDA_ERROR_NOT_READY
                around.ahead = bool(driver.cuEventQuery(pair[0])[0] == not_ready)
                return True
        except DeviceFailed:
            return False  # of what was launched, which its own library tells

    def prepare(self) -> bool:
        """Load the gate for launches to come, unless callers would wait for that; whether it is."""
        try:
            if not self._gate.is_prepared and self.is_calm():
                self._gate.prepare()
        except DeviceFailed:
            return True  # what ails the device, launches will tell
        return self._gate.is_prepared or self._context.is_forked

    def is_calm(self) -> bool:
        """Whether the stream of the latest timed launch has less than `LITTLE_S` left to do.

        Of another stream than the legacy one only our events are asked, because it may be gone: it
        counts as calm when that launch has ended.
        """
        latest = self._latest
        if latest is None or self._context.is_forked:
            return True
        (where, pair), driver, legacy = latest, self._driver, self._legacy
        not_ready = driver.CUresult.CUDA_ERROR_NOT_READY
        with self._context.apart_from_captures():
            if where is not legacy or self.captures(legacy):
                return bool(driver.cuEventQuery(pair[1])[0] != not_ready)
            if driver.cuStreamQuery(legacy)[0] != not_ready:
                return True
            probe = self._events.take()
            try:
                driver.cuEventRecord(probe[1], legacy)
                self._sleep(LITTLE_S)
                return bool(driver.cuEventQuery(probe[1])[0] != not_ready)
            finally:
                self._events.give_back(probe)

    def captures(self, where: Any) -> bool:
        """Whether a launch there would be captured; with the context current."""
        code, status = self._driver.cuStreamIsCapturing(where)
        if code == self._driver.CUresult.CUDA_ERROR_STREAM_CAPTURE_IMPLICIT:
            return True  # another stream captures, and the legacy stream would wait for it
        self._context.value("look for a capture", (code,))
        return bool(status != self._driver.CUstreamCaptureStatus.CU_STREAM_CAPTURE_STATUS_NONE)
