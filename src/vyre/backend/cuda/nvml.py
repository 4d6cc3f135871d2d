"""The clocks of an NVIDIA GPU, from NVML, the library of `nvidia-smi`.

By ctypes alone: the library comes with the driver, and four of its functions need no package.
Asking takes 50 us while an H200 works, 2 us while it rests, 4 ms the first time (driver 580).
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from typing import Any

from vyre.backend.sampled import Sampled
from vyre.model import Clocks

_SM = 1  # NVML_CLOCK_SM

_REASONS = {
    0x04: "power cap",
    0x08: "hardware slowdown",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "power brake",
}
"""By their bits; being idle and clocks that somebody chose hold nothing back."""


def load() -> Any:
    """NVML; raises OSError where it is not installed."""
    return ctypes.CDLL("libnvidia-ml.so.1")


class Nvml:
    """One device as NVML sees it; the library is loaded when it is first asked.

    Args:
        bus_id: where the device sits on the PCI bus; ordinals differ between NVML and CUDA.
        load: gives the library.
        now_ns: a clock that does not go back.
    """

    def __init__(
        self,
        bus_id: str,
        load: Callable[[], Any] = load,
        now_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._bus_id, self._load = bus_id, load
        self._opened: tuple[Any, Any, Any] | None = None  # its handle, and what is asked of it
        self._absent = False
        self.clocks = Sampled(self._read, now_ns)

    def _read(self) -> Clocks | None:
        if self._opened is None and not self._absent:
            self._opened = self._open()
            self._absent = self._opened is None
        if self._opened is None:
            return None
        handle, clock, reasons = self._opened
        mhz, bits = ctypes.c_uint(), ctypes.c_ulonglong()
        if clock(handle, _SM, ctypes.byref(mhz)) or not mhz.value:
            return None
        if reasons is None or reasons(handle, ctypes.byref(bits)):
            bits.value = 0
        throttled = tuple(word for bit, word in _REASONS.items() if bits.value & bit)
        return Clocks(mhz=mhz.value, throttled=throttled)

    def _open(self) -> tuple[Any, Any, Any] | None:
        try:
            library = self._load()
            handle = ctypes.c_void_p()
            found = library.nvmlDeviceGetHandleByPciBusId_v2
            if library.nvmlInit_v2() or found(self._bus_id.encode(), ctypes.byref(handle)):
                return None
            return handle, library.nvmlDeviceGetClockInfo, _reasons_of(library)
        except (OSError, AttributeError):  # no library, or one without these functions
            return None


def _reasons_of(library: Any) -> Any | None:
    """What tells why clocks are low; drivers before 535 have it under another name."""
    for name in ("EventReasons", "ThrottleReasons"):
        found = getattr(library, f"nvmlDeviceGetCurrentClocks{name}", None)
        if found is not None:
            return found
    return None
