"""The device's time of many launches in a row, without the host's share: a graph, replayed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from vyre.backend.cuda.context import Context
from vyre.backend.cuda.events import Events

Launch = Callable[[Any], tuple[Any, ...]]
"""Launches once on a stream and answers as the driver does."""


class Blocks:
    """Times launches on a stream of its own.

    Short kernels end before the host has launched the next one, so that launch after launch would
    time the host. A graph is launched once, and the device runs it on its own.
    """

    def __init__(self, context: Context, events: Events) -> None:
        self._context, self._events = context, events
        self._stream: Any = None
        self._one_at_a_time = threading.Lock()

    def time(self, launch: Launch, count: int) -> float:
        """Nanoseconds of one launch, the mean over `count` in a row, after all work so far.

        Raises:
            DeviceFailed: a launch failed.
        """
        driver, value = self._context.driver, self._context.value
        with self._one_at_a_time, self._context.current():
            if self._stream is None:
                flags = int(driver.CUstream_flags.CU_STREAM_NON_BLOCKING)
                self._stream = value("make a stream", driver.cuStreamCreate(flags))
            stream = self._stream
            value("finish its work", driver.cuCtxSynchronize())
            graph = self._recorded(launch, count, stream)
            try:
                ready = value("prepare launches", driver.cuGraphInstantiate(graph, 0))
                try:
                    return self._replayed(ready, stream) / count
                finally:
                    driver.cuGraphExecDestroy(ready)
            finally:
                driver.cuGraphDestroy(graph)

    def _recorded(self, launch: Launch, count: int, stream: Any) -> Any:
        driver, value = self._context.driver, self._context.value
        # Of this thread alone: what other threads do meanwhile is not ours to forbid.
        mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
        refused = None
        try:
            value("record launches", driver.cuStreamBeginCapture(stream, mode))
            for _ in range(count):
                answer = launch(stream)
                if answer[0]:
                    refused = answer
                    break
        except BaseException:
            # A stream that went on recording could never run anything again.
            driver.cuStreamEndCapture(stream)
            raise
        ended = driver.cuStreamEndCapture(stream)
        if refused is not None:
            value("launch a kernel", refused)
        return value("record launches", ended)

    def _replayed(self, ready: Any, stream: Any) -> float:
        driver, value = self._context.driver, self._context.value
        before, after = pair = self._events.take()
        try:
            value("run launches", driver.cuGraphLaunch(ready, stream))  # the first one uploads it
            value("time launches", driver.cuEventRecord(before, stream))
            value("run launches", driver.cuGraphLaunch(ready, stream))
            value("time launches", driver.cuEventRecord(after, stream))
            value("run launches", driver.cuStreamSynchronize(stream))
            return float(value("time launches", driver.cuEventElapsedTime(before, after))) * 1e6
        finally:
            # Nobody else waits for this stream, and the arrays may be gone after an exception.
            driver.cuStreamSynchronize(stream)
            self._events.give_back(pair)
