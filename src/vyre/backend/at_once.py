"""What devices share whose launches run at once, on arrays of the host where they are."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from vyre.backend import cpufreq, host
from vyre.backend.base import Array
from vyre.model import Clocks


@dataclass(frozen=True, slots=True)
class Over:
    """The ticket of a launch that is over."""

    ns: int
    rough: bool = False

    def elapsed_ns(self) -> int:
        return self.ns

    def wait(self) -> None:
        """It has run already."""


class AtOnce:
    """Nothing is ever under way, memory is arrays of bytes, and there is one stream."""

    compiles_per_workgroup = False
    loads_together = 1
    builds_first = 2  # one after the other, some 20 to 100 ms each
    sharing = None
    texts = None
    shortest_ns = 0
    strayed = False
    streams = None
    uses_host_memory = True

    def time(
        self,
        stream: int,  # noqa: ARG002  # there is one
        launch: Callable[[], object],
        *,
        enqueues: bool = False,  # noqa: ARG002  # it is over when it returns
    ) -> Over:
        """The host's time, since a launch here is over when it returns."""
        before = time.perf_counter_ns()
        launch()
        return Over(time.perf_counter_ns() - before, rough=True)

    def prepare_timing(self) -> bool:
        """There is a clock."""
        return True

    def is_capturing(self, stream: int = 0) -> bool:  # noqa: ARG002  # nothing records launches
        """Never: launches run."""
        return False

    def is_calm(self) -> bool:
        """Always: nothing is ever under way."""
        return True

    def synchronize(self) -> None:
        """Nothing is ever under way."""

    def free_bytes(self) -> int | None:
        return host.free_bytes()

    def upload(self, memory: Array, array: Array) -> None:
        memory[: array.nbytes] = array.reshape(-1).view("u1")

    def download(self, memory: Array, array: Array) -> None:
        array.reshape(-1).view("u1")[...] = memory[: array.nbytes]

    def copy(self, source: Array, target: Array, nbytes: int, *, stream: int = 0) -> None:  # noqa: ARG002  # there is one
        target[:nbytes] = source[:nbytes]

    def clear(self, memory: Array, nbytes: int, *, stream: int = 0) -> None:  # noqa: ARG002  # there is one
        """Fill memory with zeros."""
        memory[:nbytes] = 0

    def borrow(self, array: Array, *, read: bool) -> Array:  # noqa: ARG002  # the array itself serves
        return array

    def return_to(self, memory: Array, array: Array) -> None:
        """It was the array itself."""

    def finisher(self) -> Callable[[], object]:
        """Nothing to wait for: a launch is over when it returns."""
        return bool

    def clocks(self) -> Clocks | None:
        return cpufreq.clocks()
