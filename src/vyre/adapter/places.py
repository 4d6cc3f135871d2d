"""Where kernels of others are launched: on the host, or on a device that Vyre can time."""

from __future__ import annotations

import functools
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from vyre.backend.base import Ticket
from vyre.backend.cpu import machine
from vyre.learn.pace import Pace
from vyre.learn.subject import Elapsed
from vyre.model import Clocks, DeviceInfo, DeviceKind, Limits
from vyre.runtime.devices.device import Device
from vyre.runtime.devices.opened import open as open_device

_SHARE, _ADVANCE_S, _PER_SEEN, _PER_LIVED = 0.01, 0.1, 1.0, 0.25

_WHOLE_NS = 100_000
"""What a function must take on an idle device to be told from others: what the host does between
its launches is in that time, as its caller feels it, and now and then a switch of threads."""


@dataclass(frozen=True, slots=True)
class Host:
    """The machine's own processor, for what is over when it returns."""

    @property
    def info(self) -> DeviceInfo:
        return _host_info()

    def prepare(self) -> bool:
        """There is a clock."""
        return True

    def time(self, stream: int, launch: Callable[[], object]) -> Ticket:  # noqa: ARG002  # there is one
        """By the host's clock, which is what whoever calls the function feels."""
        began = time.perf_counter_ns()
        launch()
        return Elapsed(time.perf_counter_ns() - began)

    def is_capturing(self, stream: int) -> bool:  # noqa: ARG002  # nothing records launches
        return False

    def clocks(self) -> Clocks | None:
        return None

    @property
    def pace(self) -> Pace:
        return sooner(Pace.beside(self.info))


HOST = Host()


@dataclass(frozen=True, slots=True)
class OnDevice:
    """A device of Vyre's, on which other libraries launch as well.

    Args:
        device: it.
        enqueues: whether what is timed is one launch, which waits for nothing; and not a function
            that may launch several, or look at what came of them.
    """

    device: Device
    enqueues: bool

    @property
    def info(self) -> DeviceInfo:
        return self.device.info

    def prepare(self) -> bool:
        return self.device.backend.prepare_timing()

    def time(self, stream: int, launch: Callable[[], object]) -> Ticket | None:
        return self.device.backend.time(stream, launch, enqueues=self.enqueues)

    def is_capturing(self, stream: int) -> bool:
        return self.device.backend.is_capturing(stream)

    def clocks(self) -> Clocks | None:
        return self.device.backend.clocks()

    @property
    def pace(self) -> Pace:
        backend = self.device.backend
        shortest_ns = backend.shortest_ns if self.enqueues else min(backend.shortest_ns, _WHOLE_NS)
        return sooner(Pace.beside(backend.info, backend.unfelt_ns, shortest_ns))


def on_device(device: Device) -> OnDevice:
    """A device of Vyre's as a place where whole functions run."""
    return OnDevice(device, enqueues=False)


def sooner(pace: Pace) -> Pace:
    """The pace for a kernel whose configs nobody has ordered: what is slow is found out early.

    Its default may be far behind, as that of Vyre's own kernels is not, so a hundredth of the time
    is well spent where calls and learning share cores. There, processes that compile and try give
    way to the calls, so they may work for as long as the calls have by then. Beside a GPU they may
    work a quarter of the time in any case, so that a program that makes few calls learns as well.
    """
    return replace(
        pace,
        share=max(pace.share, _SHARE),
        advance_s=max(pace.advance_s, _ADVANCE_S),
        cores=0,
        per_seen=_PER_SEEN if pace.cores else pace.per_seen,
        per_lived=0.0 if pace.cores else _PER_LIVED,
    )


@functools.cache
def cuda(ordinal: int) -> OnDevice:
    """The CUDA device of that number, as every library counts them, where single kernels run.

    Raises:
        UnsupportedFeature: it cannot be timed, because a library or the driver is missing.
    """
    return OnDevice(open_device(f"cuda:{ordinal}"), enqueues=True)


@functools.cache
def cuda_functions(ordinal: int) -> OnDevice:
    """The same where whole functions run."""
    return on_device(cuda(ordinal).device)


@functools.cache
def _host_info() -> DeviceInfo:
    """The processor as what runs functions of Python's: its model, its cores, the interpreter."""
    return DeviceInfo(
        backend="host",
        model=machine.model(),
        driver=platform.system(),
        compiler=f"{platform.python_implementation()} {platform.python_version()}",
        kind=DeviceKind.CPU,
        limits=Limits(max_threads=1, max_block=(1, 1, 1), max_grid=(1, 1, 1)),
        compute_units=machine.cores(),
    )
