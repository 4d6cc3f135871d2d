"""What every backend offers: building, launching, memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vyre.analysis import Facts
from vyre.emit import WordLayout
from vyre.ir.declare import Dim3
from vyre.ir.program import Program
from vyre.model import Code, DeviceInfo

Array = NDArray[Any]
Memory = Any
"""A backend's own handle of device memory."""


@dataclass(frozen=True, slots=True)
class Unbuilt:
    """A program this device's compiler refused, and what it said."""

    reason: str
    log: str = ""


@dataclass(frozen=True, slots=True)
class Job:
    """A program to compile as `code` says."""

    program: Program
    code: Code
    facts: Facts


class Binary(Protocol):
    """A program compiled for a device."""

    @property
    def layout(self) -> WordLayout: ...
    @property
    def guarded(self) -> tuple[int, ...]: ...
    @property
    def arguments(self) -> tuple[str, ...]: ...
    @property
    def max_threads(self) -> int:
        """The widest workgroup its registers allow; 0 where the device does not say."""
        ...


class Ticket(Protocol):
    """A launch under way; `elapsed_ns` is None until its time on the device is known."""

    def elapsed_ns(self) -> int | None: ...
    def wait(self) -> None: ...


class Queue(Protocol):
    """Builds and runs. A launch's geometry has been checked against the limits."""

    def build(self, jobs: Sequence[Job]) -> Sequence[Any | Unbuilt]: ...
    def launch(
        self,
        binary: Any,
        grid: Dim3,
        workgroup: Dim3,
        arguments: Sequence[Memory | np.generic],
        words: bytes,
    ) -> Ticket: ...
    def synchronize(self) -> None: ...


class Transfers(Protocol):
    """Keeps and moves data."""

    def alloc(self, nbytes: int) -> Memory: ...
    def upload(self, memory: Memory, array: Array) -> None: ...
    def download(self, memory: Memory, array: Array) -> None: ...
    def copy(self, source: Memory, target: Memory, nbytes: int) -> None: ...


class Borrowing(Protocol):
    """Lends a host array to one launch, itself where host and device share memory.

    `typed` gives device memory the form of an argument; `return_to` puts what was written to
    borrowed memory into its array.
    """

    def typed(self, memory: Memory, dtype: np.dtype[Any]) -> Memory: ...
    def borrow(self, array: Array, *, read: bool) -> Memory: ...
    def return_to(self, memory: Memory, array: Array) -> None: ...


class Backend(Queue, Transfers, Borrowing, Protocol):
    """A device, open."""

    info: DeviceInfo
