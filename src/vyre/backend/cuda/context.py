"""A device's primary context, the one that every library of the process shares."""

from __future__ import annotations

import os
import threading
from typing import Any

from vyre.backend.cuda.failure import failure
from vyre.errors import DeviceFailed


class Context:
    """The primary context of one device; retained when first needed, and kept."""

    def __init__(self, driver: Any, number: int, model: str) -> None:
        self.driver, self.model = driver, model
        self._number = number
        self._handle: Any = None
        self._address = 0
        self._opening = threading.Lock()
        self._process = os.getpid()

    @property
    def is_forked(self) -> bool:
        """Whether this is a copy of the process that opened the device."""
        return os.getpid() != self._process

    def refuse_fork(self) -> None:
        """CUDA answers nothing in a forked copy of a process that has started it."""
        if self.is_forked:
            raise DeviceFailed(
                f"{self.model} was opened before this process was forked; CUDA does not work there",
                'start processes with multiprocessing.get_context("spawn"), '
                "or use Vyre only in the children",
            )

    def value(self, doing: str, answer: tuple[Any, ...]) -> Any:
        """What a call of the driver gave.

        Raises:
            DeviceFailed: it gave an error.
        """
        code, *values = answer
        if code:
            self.refuse_fork()
            raise failure(self.model, doing, code)
        return values[0] if len(values) == 1 else values

    def current(self) -> Current:
        """Make it this thread's context; another library's choice of device is put back."""
        return Current(self, apart=False)

    def apart_from_captures(self) -> Current:
        """Do what a stream capture of another library forbids, without ending that capture.

        Asking an event or loading code counts as unsafe to every thread while anybody captures.
        """
        return Current(self, apart=True)

    def opened(self) -> tuple[Any, int]:
        """The context, and its address."""
        if not self._address:
            self._open()
        return self._handle, self._address

    def _open(self) -> None:
        self.refuse_fork()
        with self._opening:
            if not self._address:
                retain = self.driver.cuDevicePrimaryCtxRetain
                self._handle = self.value("make its context", retain(self._number))
                self._address = int(self._handle)


class Current:
    """A context made current for a block. Not a generator: one is made for every small task.

    A thread without any context keeps this one, so that its launches need not ask.
    """

    __slots__ = ("_apart", "_context", "_mode", "_pushed")

    def __init__(self, context: Context, *, apart: bool) -> None:
        self._context, self._apart = context, apart
        self._pushed = False
        self._mode: Any = None

    def __enter__(self) -> None:
        context = self._context
        handle, address = context.opened()
        driver = context.driver
        before = int(context.value("find its context", driver.cuCtxGetCurrent()))
        try:
            if before == 0:
                context.value("use its context", driver.cuCtxSetCurrent(handle))
            elif before != address:
                self._pushed = True
                context.value("use its context", driver.cuCtxPushCurrent(handle))
            if self._apart:
                relaxed = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
                asked = driver.cuThreadExchangeStreamCaptureMode(relaxed)
                self._mode = context.value("leave captures alone", asked)
        except BaseException:
            # What was interrupted on its way in has no exit of its own. Whether it had come as far
            # as the other context, only the driver knows.
            here = driver.cuCtxGetCurrent()
            if self._pushed and int(here[1]) == before:
                self._pushed = False
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        driver = self._context.driver
        if self._mode is not None:
            driver.cuThreadExchangeStreamCaptureMode(self._mode)
        if self._pushed:
            driver.cuCtxPopCurrent()
