"""What every backend offers: building, launching, memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from vyre.analysis import Facts
from vyre.emit import WordLayout
from vyre.errors import InvalidInput
from vyre.ir.declare import Dim3
from vyre.ir.program import Program
from vyre.model import Clocks, Code, DeviceInfo

Array = NDArray[Any]
Memory = Any
"""A backend's own handle of device memory."""


Start = Callable[[Sequence[Any], int], object]
"""Launches with arguments on a stream."""

Fixed = Callable[[int], object]
"""Launches on a stream; everything else is known."""


@dataclass(frozen=True, slots=True)
class Unbuilt:
    """A program this device's compiler refused, and what it said."""

    reason: str
    log: str = ""
    fix: str = ""  # where it is the device that has to be mended, and not the program


@dataclass(frozen=True, slots=True)
class Unusable:
    """A device that its driver lists and that can run nothing: why, and what to do about it."""

    problem: str
    fix: str


@dataclass(frozen=True, slots=True)
class Job:
    """A program to compile as `code` says."""

    program: Program
    code: Code
    facts: Facts


_NAME = re.compile(r"[0-9a-f]{64}(\.[a-z]+)?")


@dataclass(frozen=True, slots=True)
class Compiled:
    """A job that was compiled, and what a process needs that loads it instead of compiling it."""

    max_threads: int = 0  # of a workgroup, as its registers allow; 0 where that is not known
    name: str = ""  # under which the backend keeps it; empty where it does not
    entry: str = ""  # its function there
    guarded: tuple[int, ...] = (0, 1, 2)
    words: tuple[int, ...] = ()  # the places of those that it takes of a launch's

    def __post_init__(self) -> None:
        if self.name and not _NAME.fullmatch(self.name):  # it becomes a part of a path
            raise InvalidInput(
                f"compiled code by the name {self.name!r}", "give 64 hexadecimal digits"
            )


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

    @property
    def room(self) -> tuple[int, ...]:
        """Bytes of each array that workgroups of a launch keep for each other, zeros at first.

        They are the last arguments, which no caller gives: a launch has them to itself. Who
        prepares it says how large they are, by `dataclasses.replace`.
        """
        ...

    @property
    def launches(self) -> int:
        """How often it is launched for one: above 1, its number, from 0, is the last argument."""
        ...


class Ticket(Protocol):
    """A launch under way; `elapsed_ns` is None until its time on the device is known.

    Where it is `rough`, the host's time may be a part of it.
    """

    @property
    def rough(self) -> bool: ...
    def elapsed_ns(self) -> int | None: ...
    def wait(self) -> None: ...


class Queue(Protocol):
    """Builds and runs. A launch's geometry has been checked against the limits."""

    def build(self, jobs: Sequence[Job]) -> Sequence[Any | Unbuilt]: ...
    def source(self, job: Job) -> str:
        """What `build` compiles for a job, to read; where nothing is compiled, OpenCL's text."""
        ...

    def launch(
        self,
        binary: Any,
        grid: Dim3,
        workgroup: Dim3,
        arguments: Sequence[Memory | np.generic],
        words: bytes,
        *,
        timed: bool = False,
        stream: int = 0,
    ) -> Ticket:
        """Enqueue; only the ticket of a `timed` launch need come to know its time.

        A stream is CUDA's handle; 0 is the default one, and the only one of other backends.
        """
        ...

    def bind(self, binary: Any, grid: Dim3, workgroup: Dim3, words: bytes) -> Start:
        """The quickest way to launch again and again with changing arguments, untimed."""
        ...

    def fix(
        self,
        binary: Any,
        grid: Dim3,
        workgroup: Dim3,
        words: bytes,
        arguments: Sequence[Memory | np.generic],
    ) -> Fixed:
        """The quickest way to launch again and again with the same arguments, untimed.

        The caller keeps the arguments' memory as long as what this returns.
        """
        ...

    def time(
        self, stream: int, launch: Callable[[], object], *, enqueues: bool = False
    ) -> Ticket | None:
        """Call `launch` once, whatever it launches there, and give a ticket of its time.

        None where no time can be had, as on a stream that is capturing. What `launch` raises passes
        through, and then nothing is left behind.

        Args:
            stream: where.
            launch: what launches.
            enqueues: whether that is all it does: then it may be held back until it has returned.
        """
        ...

    def prepare_timing(self) -> bool:
        """Get ready to time launches, which may wait for a compiler; whether no more is to be done.

        Where callers would wait for it as well, it is to be asked again a little later.
        """
        ...

    def is_capturing(self, stream: int = 0) -> bool:
        """Whether launches there are recorded instead of run."""
        ...

    def synchronize(self) -> None: ...
    def is_calm(self) -> bool:
        """Whether code can be loaded now without waiting for the device, and callers with it."""
        ...

    def keep(self, binary: Any) -> Compiled:
        """Let other processes have what was compiled of it by now, and say where they find it."""
        ...


class Transfers(Protocol):
    """Keeps and moves data."""

    def alloc(self, nbytes: int) -> Memory: ...
    def free_bytes(self) -> int | None:
        """How much could still be had; None where nobody says."""
        ...

    def upload(self, memory: Memory, array: Array) -> None: ...
    def download(self, memory: Memory, array: Array) -> None: ...
    def copy(self, source: Memory, target: Memory, nbytes: int, *, stream: int = 0) -> None: ...
    def clear(self, memory: Memory, nbytes: int, *, stream: int = 0) -> None:
        """Fill memory with zeros."""
        ...


class Borrowing(Protocol):
    """Lends a host array to one launch, itself where host and device share memory.

    `typed` gives device memory the form of an argument; `return_to` puts what was written to
    borrowed memory into its array.
    """

    def typed(self, memory: Memory, dtype: np.dtype[Any]) -> Memory: ...
    def borrow(self, array: Array, *, read: bool) -> Memory: ...
    def return_to(self, memory: Memory, array: Array) -> None: ...
    def finisher(self) -> Callable[[], object]:
        """What waits until no launch uses borrowed arrays any more.

        The driver's own function where there is one to wait for: Python raises what a signal's
        handler raised when a function of its own begins, but not before a driver's has ended.
        """
        ...


class Streams(Protocol):
    """Several orders of work on one device.

    Its memory has an attribute `stream`: where it was used last.
    """

    def use_on(self, memory: Memory, stream: int) -> None:
        """Make `stream` wait for what was done to memory on another."""
        ...


class Sharing(Protocol):
    """Uses memory of other libraries where it is, so that its arguments are addresses."""

    @property
    def dlpack_type(self) -> int:
        """What DLPack calls devices with such memory; 2 is CUDA's."""
        ...

    def device_of(self, address: int) -> int:
        """The ordinal of the device that holds an address."""
        ...


class Backend(Queue, Transfers, Borrowing, Protocol):
    """A device, open, and what it can do."""

    info: DeviceInfo
    compiles: bool
    """Whether a code becomes a binary of its own; where not, all run alike, exactly but slowly."""
    compiles_per_workgroup: bool
    """Whether the driver compiles anew for each workgroup and size of grid."""
    unfelt_ns: int
    """What a launch must take to be felt beside what launching costs the host."""
    shortest_ns: int
    """What a launch must take for a rough time to tell schedules apart."""
    loads_together: int
    """Codes to compile and load as one at most: more than 1 where loading stops callers."""
    builds_first: int
    """Codes that a program's first call builds at most, the guess's before any other.

    A later size that none of them serves waits for a compiler, so more than 1 where several are
    built in little more time than one.
    """
    every_threads: int
    """The threads of a workgroup that every compiled kernel allows; 0 where that is not known."""
    uses_host_memory: bool
    """Whether a launch takes the addresses of host arrays, and is over when it returns."""
    strayed: bool
    """Whether its memory was ever used on a stream other than the default one."""

    @property
    def streams(self) -> Streams | None:
        """How its streams are ordered; None where there is only one."""
        ...

    @property
    def sharing(self) -> Sharing | None:
        """Whose memory it uses besides its own; None where an array has to be copied first."""
        ...

    @property
    def texts(self) -> Texts | None:
        """How it runs kernels of others from their source; None where it cannot."""
        ...

    def clocks(self) -> Clocks | None:
        """How fast it runs now, as of a few milliseconds ago; None where it does not tell.

        An idle device clocks down, so ask when a launch has just ended. Never raises.
        """
        ...


@runtime_checkable
class TimesBlocks(Protocol):
    """A backend that can time launches in a row without the host's share."""

    def time_block(
        self,
        binary: Any,
        grid: Dim3,
        workgroup: Dim3,
        arguments: Sequence[Any],
        words: bytes,
        count: int,
    ) -> float:
        """The device's nanoseconds of one launch among `count` in a row; waits for them."""
        ...


@runtime_checkable
class CompilesAhead(Protocol):
    """A backend that can compile without running anything, where another process finds it."""

    def compile_only(self, jobs: Sequence[Job]) -> Sequence[Compiled | Unbuilt]: ...


@runtime_checkable
class Loads(Protocol):
    """A backend that loads what another process has compiled, and emits no source for it."""

    def load(self, jobs: Sequence[Job], made: Sequence[Compiled]) -> Sequence[Any | Unbuilt]:
        """What `build` would give; it is built where it is not kept, or no longer."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """Source of somebody else's, and the one kernel of it that is launched.

    Args:
        source: what is compiled.
        entry: the kernel's name there.
        options: for the compiler, beside those that the device needs.
        included: all that the source takes from files, so that it is another text when they change.
    """

    source: str
    entry: str
    options: tuple[str, ...] = ()
    included: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """A launch as like as may be to those that are to come, for drivers that compile for each.

    Args:
        grid: workgroups along each axis.
        block: threads of one along each axis.
        arguments: `("array", dtype, elements)`, `("number", dtype, value)` or `("local", bytes)`.
    """

    grid: Dim3
    block: Dim3
    arguments: tuple[tuple[Any, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Taken:
    """What a compiled kernel takes at one place, as far as its driver tells.

    Args:
        kind: `array`, `number` or `local`, as in a rehearsal, or the type of what is none of them;
            empty where the driver does not tell.
        nbytes: how many it is; 0 where the driver does not tell.
        said: its type, as the driver has it.
    """

    kind: str = ""
    nbytes: int = 0
    said: str = ""

    def refusal(self, given: tuple[Any, ...]) -> str | None:
        """Why an argument of a rehearsal cannot be handed over: it would be read as other bytes."""
        kind = str(given[0])
        nbytes = 0 if kind == "local" else 8 if kind == "array" else np.dtype(given[1]).itemsize
        if self.kind in ("", kind) and self.nbytes in (0, nbytes):
            return None
        named = {"local": "workgroup memory", "array": "an array"}
        wanted = self.said or named.get(self.kind) or f"{self.nbytes} bytes"
        return f"takes {wanted}, not {named.get(kind) or f'numpy.{np.dtype(given[1]).name}'}"


@dataclass(frozen=True, slots=True)
class LoadedText:
    """A kernel of a text, ready to be launched."""

    kernel: Any
    max_threads: int  # of a workgroup, as its registers allow; 0 where that is not known
    parameters: tuple[Taken, ...] | None = None  # None where the driver does not tell
    free: list[Any] = field(default_factory=list, compare=False)
    group_bytes: int = 0  # of workgroup memory that its source declares, where the driver tells


StartText = Callable[[Dim3, Dim3, int, Sequence[Any], int], Any]
"""Launches a grid of blocks with so many bytes of workgroup memory, arguments and a stream."""


class Texts(Protocol):
    """Compiles and launches kernels of others from their source."""

    @property
    def language(self) -> str:
        """What the source is written in: `cuda` or `opencl`."""
        ...

    def compile(self, text: Text, rehearsal: Rehearsal) -> bool | Unbuilt:
        """Compile it, and say whether `load` of any process finds what came of it."""
        ...

    def load(self, text: Text, rehearsal: Rehearsal) -> LoadedText | Unbuilt:
        """What was compiled, or else what is compiled now."""
        ...

    def bind(self, loaded: LoadedText, dtypes: Sequence[np.dtype[Any] | None]) -> StartText:
        """The quickest way to launch it with such arguments: None is memory."""
        ...

    def time(self, stream: int, launch: Callable[[], Any]) -> Ticket | None:
        """Call `launch`, which launches one, and give a ticket of its time."""
        ...

    @property
    def parts_at(self) -> int:
        """Parts of memory begin at multiples of so many bytes."""
        ...

    def part(self, memory: Memory, start: int, nbytes: int) -> Memory:
        """A part of memory, as an argument of its own; what is written to one is in the other."""
        ...
