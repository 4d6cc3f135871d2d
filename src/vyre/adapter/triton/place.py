"""A GPU as kernels of Triton are launched there."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from typing import Any

from triton.runtime.driver import driver

from vyre.adapter.kind import Place
from vyre.adapter.places import cuda
from vyre.backend.base import Ticket
from vyre.errors import UnsupportedFeature
from vyre.learn.pace import Pace
from vyre.model import Clocks, DeviceInfo
from vyre.runtime.devices.opened import load_cuda

Apart = Callable[[], AbstractContextManager[object]]


class _Here(threading.local):
    late = False


_here = _Here()


def compiled_late() -> None:
    """Say that the launch that is being made compiled first, so that its time tells nothing."""
    _here.late = True


@dataclass(frozen=True, slots=True)
class Gpu:
    """Where kernels of Triton run.

    Args:
        under: it, as whoever times launches sees it.
        apart: a block in which code is loaded, and which captures of other threads survive.
    """

    under: Place
    apart: Apart = nullcontext

    @property
    def info(self) -> DeviceInfo:
        return self.under.info

    @property
    def pace(self) -> Pace:
        return self.under.pace

    def prepare(self) -> bool:
        return self.under.prepare()

    def time(self, stream: int, launch: Callable[[], object]) -> Ticket | None:
        _here.late = False
        ticket = self.under.time(stream, launch)
        return None if _here.late else ticket

    def is_capturing(self, stream: int) -> bool:
        return self.under.is_capturing(stream)

    def clocks(self) -> Clocks | None:
        return self.under.clocks()


def device_of(active: Any) -> Callable[[], int]:
    """What tells the number of a driver's current device; where there is one, nobody is asked.

    Torch's own, which Triton asks, first sees whether torch has come up: 0.3 us of every launch.
    """
    asked: Callable[[], int] = active.get_current_device
    torch = sys.modules.get("torch")
    if torch is None or asked is not torch.cuda.current_device:
        return asked
    if torch.cuda.device_count() == 1:
        return int
    quick: Callable[[], int] = getattr(torch._C, "_cuda_getDevice", asked)  # whose last step it is
    return quick


@functools.cache
def load() -> None:
    """Load what a GPU is asked by, where kernels are decorated: 0.1 s that no first call takes.

    What is missing, or broken, is told by the first call.
    """
    with suppress(Exception):
        load_cuda()


@functools.cache
def place_on(device: int) -> Gpu:
    """The GPU of that number, as Triton counts them.

    Raises:
        UnsupportedFeature: Triton runs on something else there, or nothing can be timed.
    """
    backend = driver.active.get_current_target().backend
    if backend != "cuda":
        raise UnsupportedFeature(
            f"vyre.triton.autotune on {backend}, whose launches Vyre cannot time",
            "decorate the kernel with triton.autotune there",
        )
    on_device = cuda(device)
    return Gpu(on_device, on_device.device.backend.apart)  # type: ignore[attr-defined]  # CUDA's
