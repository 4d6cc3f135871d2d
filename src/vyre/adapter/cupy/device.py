"""Where CuPy launches here and now: the device, its streams, and what it raises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cupy
import numpy as np

from vyre.adapter.kind import Place
from vyre.adapter.places import cuda
from vyre.backend.base import Ticket
from vyre.learn.pace import Pace
from vyre.model import Clocks, DeviceInfo

CURRENT = -1
"""In the place of a stream's handle: the thread's current one, asked for where it counts."""

REFUSED = (cupy.cuda.driver.CUDADriverError, cupy.cuda.runtime.CUDARuntimeError)
"""What says that a launch could not be made."""


@dataclass(frozen=True, slots=True)
class Streams:
    """A device, with the streams that CuPy's threads are on."""

    on: Place

    @property
    def info(self) -> DeviceInfo:
        return self.on.info

    @property
    def pace(self) -> Pace:
        return self.on.pace

    def prepare(self) -> bool:
        return self.on.prepare()

    def time(self, stream: int, launch: Callable[[], object]) -> Ticket | None:
        return self.on.time(_handle(stream), launch)

    def is_capturing(self, stream: int) -> bool:
        return self.on.is_capturing(_handle(stream))

    def clocks(self) -> Clocks | None:
        return self.on.clocks()


def _handle(stream: int) -> int:
    return int(cupy.cuda.get_current_stream().ptr) if stream == CURRENT else stream


def place() -> Streams:
    """Where a kernel that is launched here and now runs."""
    return Streams(cuda(cupy.cuda.runtime.getDevice()))


class Current:
    """The number of the current device; where there is one device, nobody is asked.

    How many there are is found out by the first call: whoever asks CUDA for it has started it, and
    it answers nothing in processes that are forked later.
    """

    __slots__ = ("number",)

    def __init__(self) -> None:
        self.number: Callable[[], int] = self._first

    def _first(self) -> int:
        runtime = cupy.cuda.runtime
        number: Callable[[], int] = int if runtime.getDeviceCount() == 1 else runtime.getDevice
        self.number = number
        return number()


def versions() -> str:
    """Of the library and its compiler."""
    return f"cupy {cupy.__version__}, nvrtc {cupy.cuda.nvrtc.getVersion()}"


def is_whole(given: Any) -> bool:
    """Whether it is a whole number, and not said as a truth."""
    return isinstance(given, (int, np.integer)) and not isinstance(given, bool)
