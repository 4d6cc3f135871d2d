"""A gate on an idle stream: what is launched behind it is all enqueued before any of it begins.

Without one, the host's time between two driver calls is in the time of a short launch. The gate is
a kernel of one thread that reads a word of the host until the host has written it there, and that
gives up after a while. So nothing can wait for it for long: not a launch that an interrupt cut
short, not a driver that runs one launch after the other (`CUDA_LAUNCH_BLOCKING`, debuggers), not
code that another thread loads, which holds the driver's lock until the device has come to rest.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from vyre.backend.base import Unbuilt
from vyre.backend.cuda.context import Context
from vyre.backend.cuda.frame import Frame, Frames
from vyre.errors import DeviceFailed

ENTRY = "vyre_gate"

TEXT = f"""\
extern "C" __global__ void {ENTRY}(volatile unsigned* word, unsigned number, long long cycles)
{{
    const long long began = clock64();
    do {{
        if ((int)(word[0] - number) >= 0) return;
    }} while (clock64() - began < cycles);
    word[1] = number;
}}
"""

CYCLES = 400_000
"""After which it gives up: 0.2 ms at 2 GHz. The host needs 14 us for what comes behind (H200)."""

MOST_IN_A_ROW = 8
"""Times that a gate may give up until it is no longer used: nothing here is enqueued ahead."""

_WORDS, _APART = 64, 64  # gates at once, each with a line of the host's cache
_SLOT = [None, np.dtype(np.uint32), np.dtype(np.int64)]

T = TypeVar("T")


class Slot:
    """One gate: its two words, and the launch that closes it. Nobody shares one."""

    __slots__ = ("_address", "_context", "_frame", "_pack", "_words", "number")

    def __init__(self, context: Context, frames: Frames, host: int, device: int) -> None:
        self._context, self._address, self._pack = context, device, frames.pack
        self._frame: Frame = frames.make(b"")
        self._words = (ctypes.c_uint32 * 2).from_address(host)
        # Of the latest gate. It goes round at 32 bits, as the kernel compares; 0 says of the second
        # word that no gate has given up.
        self.number = 0

    def close(self) -> int:
        """Where the arguments of the next gate are."""
        self.number = self.number % 0xFFFF_FFFF + 1
        self._pack(self._frame[0], 0, self._address, self.number, CYCLES)
        return self._frame[1]

    def open(self) -> bool:
        """Let everything pass; whether the gate had held until now.

        Gates that were closed with earlier numbers are open as well. A forked copy of the process
        has no such words, and no launch behind them.
        """
        if self._context.is_forked:
            return False
        self._words[0] = self.number
        return int(self._words[1]) != self.number


class Closed:
    """A gate that is closed, until it is opened."""

    __slots__ = ("_free", "_slot", "stands")

    def __init__(self, slot: Slot, free: list[Slot]) -> None:
        self._slot, self._free = slot, free
        self.stands = False

    def open(self) -> bool:
        """Let everything pass, once; whether it had held until now."""
        try:
            return self._slot.open() and self.stands
        finally:
            self._free.append(self._slot)


class Gate:
    """The gates of one device. Any thread may use them; no two get one."""

    def __init__(self, context: Context, build: Callable[[], Any | Unbuilt]) -> None:
        """`build` gives the loaded kernel of `TEXT`."""
        self._context, self._build = context, build
        self._start = context.driver.cuLaunchKernel
        self._function: Any = None
        self._free: list[Slot] = []  # taken by an atomic pop, as frames are
        self._preparing = threading.Lock()
        self._refused = False
        self._in_a_row = 0

    @property
    def is_prepared(self) -> bool:
        """Whether there is nothing to prepare any more."""
        return self._refused or self._function is not None

    def prepare(self) -> None:
        """Load the kernel and pin its words, once; a device that refuses is left alone.

        It may wait for the device, so it is for the thread that asks for times, not for a launch.
        """
        if self.is_prepared or self._context.is_forked or not self._preparing.acquire(False):
            return
        try:
            if not self.is_prepared:
                self._refused = not self._prepared()
        except DeviceFailed:
            self._refused = True
        finally:
            self._preparing.release()

    def _prepared(self) -> bool:
        driver, value = self._context.driver, self._context.value
        function = self._build()
        if isinstance(function, Unbuilt):
            return False
        with self._context.apart_from_captures():
            flags = driver.CU_MEMHOSTALLOC_PORTABLE | driver.CU_MEMHOSTALLOC_DEVICEMAP
            host = int(value("pin words", driver.cuMemHostAlloc(_WORDS * _APART, flags)))
            device = int(value("map words", driver.cuMemHostGetDevicePointer(host, 0)))
        ctypes.memset(host, 0, _WORDS * _APART)
        frames = Frames(_SLOT, ())
        places = range(0, _WORDS * _APART, _APART)
        self._free += [Slot(self._context, frames, host + at, device + at) for at in places]
        self._function = function
        return True

    def behind(self, where: Any, enqueue: Callable[[], T]) -> tuple[T, bool]:
        """What `enqueue` gives, and whether all it enqueued did wait behind a gate on `where`.

        With the context current. `enqueue` must not wait for the stream: it would wait until the
        gate gives up.
        """
        closed = self.close(where)
        if closed is None:
            return enqueue(), False
        held = False
        try:
            given = enqueue()
        finally:
            held = closed.open()
        self._in_a_row = 0 if held else self._in_a_row + 1
        self._refused = self._in_a_row >= MOST_IN_A_ROW
        return given, held

    def close(self, where: Any) -> Closed | None:
        """Close a gate on `where`, which whoever asks opens soon, whatever happens.

        With the context current. None where there is no gate.
        """
        slot = self._taken()
        if slot is None:
            return None
        closed = Closed(slot, self._free)
        try:
            address = slot.close()
            answer = self._start(self._function, 1, 1, 1, 1, 1, 1, 0, where, address, 0)
        except BaseException:
            closed.open()
            raise
        closed.stands = not answer[0]
        return closed

    def _taken(self) -> Slot | None:
        if self._refused or self._function is None:
            return None
        try:
            return self._free.pop()
        except IndexError:
            return None
