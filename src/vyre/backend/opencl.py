"""OpenCL devices through pyopencl; PoCL from pip is the embedded one."""

from __future__ import annotations

import os
import sqlite3
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl

from vyre import settings
from vyre.backend import cpufreq, host, pocl, scratch
from vyre.backend.base import Array, Compiled, Fixed, Job, Start, Unbuilt, Unusable
from vyre.backend.binaries import Binaries, name_of
from vyre.backend.opencl_texts import OpenCLTexts
from vyre.backend.opencl_time import OpenCLTicket as OpenCLTicket
from vyre.backend.opencl_time import cause
from vyre.emit import OPENCL, OPENCL_BY_CLANG, WordLayout, bundle, emit
from vyre.emit.layout import arguments_of, taken
from vyre.errors import DeviceFailed, UnsupportedFeature
from vyre.ir.declare import Dim3
from vyre.model import U32_MAX, Clocks, DeviceInfo, DeviceKind, Limits

# Of fast_math kernels as well: they say in the program what is fused, and native_* promise nothing.
_OPTIONS = "-cl-fp32-correctly-rounded-divide-sqrt"
_TRIAL = "__kernel void vyre_trial(__global int* x) { x[0] = 1; }"
_ASKED_FOR = 64 << 20  # bytes from which it is worth asking what is free, which takes 50 us


def found(private: Path | None) -> list[OpenCL | Unusable]:
    """Every OpenCL device of this machine, in the order of the drivers, or why it is no use.

    Args:
        private: a folder for compiled code that nobody else can write, if there is one.

    Raises:
        UnsupportedFeature: PoCL has no folder to work in, and there is no other driver.
    """
    folder = pocl.prepare(private)
    devices = list(_devices())
    if not devices and folder is None:
        raise UnsupportedFeature(
            'backend "opencl" has no folder to compile in: neither the cache folder nor a '
            "temporary one can be written",
            "make room and give write permission there, or set VYRE_CACHE_DIR to another folder",
        )
    kept = Binaries(None if private is None else private / "opencl")
    kept.prune()
    listed = [OpenCL(device, kept, folder) for device in devices]
    refused = {one: log for one in listed if (log := one.refusal()) is not None}
    replaced = any(one.info.kind is DeviceKind.CPU for one in listed if one not in refused)
    return [
        pocl.unusable(one.info, refused[one], replaced=replaced) if one in refused else one
        for one in listed
    ]


def _devices() -> Iterator[Any]:
    try:
        platforms = cl.get_platforms()
    except cl.LogicError:  # what the loader raises where no driver is installed
        return
    for platform in platforms:
        try:
            yield from platform.get_devices()
        except cl.Error:  # of a driver that does not start; others may
            continue


def _kernel(program: Any, entry: str) -> Any:
    """A kernel object of a program; pyopencl keeps something of each in a cache of its own."""
    try:
        return cl.Kernel(program, entry)
    except (OSError, sqlite3.Error) as error:
        raise DeviceFailed(
            f"pyopencl could not write to its cache: {error}",
            "make room in your cache folder, or set PYOPENCL_NO_CACHE=1",
        ) from error


@dataclass(slots=True)
class OpenCLBinary:
    """A built program.

    Arguments belong to a kernel object, so each launch takes one for itself until it is enqueued.
    Taking one is an atomic pop, so threads and signal handlers never share one; one that an
    exception kept from coming back is made anew.
    """

    program: Any
    layout: WordLayout
    arguments: tuple[str, ...]
    made: Compiled  # under whose name it is kept on disk
    max_threads: int
    free: list[Any] = field(default_factory=list)
    room: tuple[int, ...] = ()  # no workgroup knows of another's end
    launches: int = 1

    @property
    def guarded(self) -> tuple[int, ...]:
        return self.made.guarded

    def take(self) -> Any:
        """A kernel object that nobody else uses; `free.append` gives it back."""
        try:
            return self.free.pop()
        except IndexError:
            return _kernel(self.program, self.made.entry)


class MarkedTicket:
    """What was launched between two markers."""

    __slots__ = ("_after", "_before", "rough")

    def __init__(self, before: Any, after: Any, *, rough: bool) -> None:
        self._before, self._after, self.rough = before, after, rough

    def elapsed_ns(self) -> int | None:
        """From the end of what came before to the end of what was launched; None while it runs."""
        status = self._after.command_execution_status
        if status != cl.command_execution_status.COMPLETE:
            return None
        return int(self._after.profile.end - self._before.profile.end)

    def wait(self) -> None:
        self._after.wait()


class OpenCL:
    """One OpenCL device; its context and queue are made when first needed."""

    compiles = True
    streams = None
    sharing = None
    compiles_per_workgroup = True  # PoCL does; other drivers are not known to mind
    uses_host_memory = False
    loads_together = 1
    builds_first = 1
    strayed = False
    shortest_ns = 0
    unfelt_ns = 20_000  # on PoCL a call takes 30 us and more whatever it launches

    def __init__(self, device: Any, kept: Binaries, folder: Path | None = None) -> None:
        self._device, self._kept = device, kept
        is_pocl = pocl.is_pocl(device)
        self._folder = folder if is_pocl else None  # where it compiles
        self._opened: tuple[Any, Any] | None = None
        self._opening = threading.Lock()
        self._process = os.getpid()
        self._unified = bool(device.host_unified_memory)
        self.info = described(device)
        # Registers are a matter of GPUs; a CPU's drivers allow every kernel what the device allows.
        is_cpu = self.info.kind is DeviceKind.CPU
        self.every_threads = self.info.limits.max_threads if is_cpu else 0
        self._dialect = OPENCL_BY_CLANG if is_pocl and is_cpu else OPENCL
        self.texts = OpenCLTexts(
            self.info,
            device,
            opened=self._open,
            check=self._refuse_full,
            kept=kept,
            rehearses=is_pocl,
        )

    def _open(self) -> tuple[Any, Any]:
        """The context and the queue."""
        if os.getpid() != self._process:
            raise DeviceFailed(
                f"{self.info.model} was opened before this process was forked; OpenCL hangs there",
                'start processes with multiprocessing.get_context("spawn"), '
                "or use Vyre only in the children",
            )
        opened = self._opened
        if opened is None:
            with self._opening:
                opened = self._opened
                if opened is None:
                    context = cl.Context([self._device])
                    profiling = cl.command_queue_properties.PROFILING_ENABLE
                    opened = context, cl.CommandQueue(context, properties=profiling)
                    self._opened = opened
        return opened

    def refusal(self) -> str | None:
        """What the compiler says that can build nothing here; None where it can.

        Only the doubtful are tried: a build takes 35 ms, and 800 on a machine's first (PoCL 3.1, 2
        cores of an EPYC), a refusal 1 to 7, and each leaves files in PoCL's folder. So what came of
        it is remembered, unless it was refused for what may be mended by the next time.
        """
        if not pocl.is_doubtful(self._device):
            return None
        name = name_of(self.info.model, self.info.toolchain, self._device.version, _TRIAL, "built")
        known = self._kept.get(name)
        if known is not None:
            return known.decode() or None
        try:
            built = self._compile(_TRIAL)
        except (DeviceFailed, cl.Error):  # it was not asked: there is no room, for instance
            return None
        log = built.log or built.reason if isinstance(built, Unbuilt) else ""
        if not log or pocl.refuses_processor(log):
            self._kept.put(name, log.encode(errors="replace"))
        return log or None

    # -- building and running

    def source(self, job: Job) -> str:
        return emit(job.program, job.code, self._dialect, job.facts).text

    def build(self, jobs: Sequence[Job]) -> list[OpenCLBinary | Unbuilt]:
        """Emit and compile, all in one build; what the compiler refuses is a value with its log."""
        sources = [
            emit(job.program, job.code, self._dialect, job.facts, f"vyre_kernel_{number}")
            for number, job in enumerate(jobs)
        ]
        together = self._compile(bundle(sources))
        if isinstance(together, Unbuilt) and len(sources) > 1:
            return [built for job in jobs for built in self.build([job])]
        if isinstance(together, Unbuilt):
            return [together]
        program, name = together
        made = [Compiled(0, name, one.entry, one.guarded, one.words) for one in sources]
        return [self._binary(program, job, one) for job, one in zip(jobs, made, strict=True)]

    def load(self, jobs: Sequence[Job], made: Sequence[Compiled]) -> list[OpenCLBinary | Unbuilt]:
        """Load what was kept; what is not there any more is built."""
        programs: dict[str, Any] = {}
        if all(one.name for one in made):
            context, _ = self._open()
            self._refuse_full()
            for one in made:
                if one.name not in programs:
                    programs[one.name] = self._loaded(context, one.name)
        if not programs or None in programs.values():
            return self.build(jobs)
        return [
            self._binary(programs[one.name], job, one) for job, one in zip(jobs, made, strict=True)
        ]

    def _binary(self, program: Any, job: Job, made: Compiled) -> OpenCLBinary:
        names = tuple(decl.name for decl in arguments_of(job.program))
        most = self._max_threads(program, made.entry)
        return OpenCLBinary(program, WordLayout.of(job.program), names, made, most)

    def is_calm(self) -> bool:
        """Always: building and loading go on beside what runs."""
        return True

    def keep(self, binary: OpenCLBinary) -> Compiled:
        """Keep on disk what the driver has compiled of it by now, for other processes.

        Not for the caller's own: PoCL compiles one more form of each kernel to be able to.
        """
        self._kept.put(binary.made.name, binary.program.get_info(cl.program_info.BINARIES)[0])
        return replace(binary.made, max_threads=binary.max_threads)

    def _max_threads(self, program: Any, entry: str) -> int:
        """What the registers of one compiled kernel leave of the device's limit."""
        asked = cl.kernel_work_group_info.WORK_GROUP_SIZE
        return int(_kernel(program, entry).get_work_group_info(asked, self._device))

    def _compile(self, text: str) -> tuple[Any, str] | Unbuilt:
        """The program of a text, and its name among those that are kept."""
        context, _ = self._open()
        self._refuse_full()
        name = name_of(self.info.model, self.info.toolchain, _OPTIONS, text)
        with warnings.catch_warnings():  # the compiler's own, about names nobody reads
            warnings.simplefilter("ignore", cl.CompilerWarning)
            loaded = self._loaded(context, name)
            if loaded is not None:
                return loaded, name
            try:
                program = cl.Program(context, text).build(_OPTIONS)
            except cl.RuntimeError as error:
                log = str(error)
                reason = f"{self.info.model} could not build the kernel"
                return Unbuilt(reason, log, pocl.NEWER if pocl.refuses_processor(log) else "")
        return program, name

    def _refuse_full(self) -> None:
        """LLVM ends the process where a disk is full, so nothing is compiled there.

        PoCL fails without a word where its folder was removed meanwhile, so it is made again.
        """
        if self._folder is None:
            return
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        full = scratch.too_full(self._folder)
        if full is not None:
            raise DeviceFailed(
                f"{self.info.model} cannot compile in {self._folder}: {full}",
                "make room there, or set POCL_CACHE_DIR to another folder",
            )

    def _loaded(self, context: Any, name: str) -> Any | None:
        """What was built before, or by the compile helper: on PoCL 1 ms in the place of 25."""
        binary = self._kept.get(name)
        if binary is None:
            return None
        try:
            return cl.Program(context, [self._device], [binary]).build(_OPTIONS)
        except (cl.RuntimeError, cl.LogicError):  # of another driver than it says
            return None

    def launch(
        self,
        binary: OpenCLBinary,
        grid: Dim3,
        workgroup: Dim3,
        arguments: Sequence[Any],
        words: bytes,
        *,
        timed: bool = False,  # noqa: ARG002  # a profiling queue times every launch
        stream: int = 0,  # noqa: ARG002  # there is one
    ) -> OpenCLTicket:
        """Enqueue one launch."""
        return self._launch(binary, grid, workgroup, arguments, taken(words, binary.made.words))

    def _launch(
        self,
        binary: OpenCLBinary,
        grid: Dim3,
        workgroup: Dim3,
        arguments: Sequence[Any],
        words: bytes,
    ) -> OpenCLTicket:
        """The same, with the words that the kernel takes and no others."""
        _, queue = self._open()
        kernel = binary.take()
        position = 0
        # set_arg spends 6.5 us finding out what a NumPy scalar is; the call it ends in takes 0.1
        # (pyopencl 2026.1, measured). Buffers are found at once.
        for argument in arguments:
            if isinstance(argument, np.generic):
                kernel._set_arg_buf(position, argument)
            else:
                kernel.set_arg(position, argument)
            position += 1
        if words:
            kernel._set_arg_buf(position, words)
        size = (grid[0] * workgroup[0], grid[1] * workgroup[1], grid[2] * workgroup[2])
        try:
            event = cl.enqueue_nd_range_kernel(queue, kernel, size, workgroup)
        except cl.Error as error:
            raise DeviceFailed(
                f"{self.info.model} refused to launch grid {grid} of {workgroup}: {cause(error)}",
                "use a smaller workgroup, or free device memory",
            ) from None
        binary.free.append(kernel)
        return OpenCLTicket(event)

    def bind(self, binary: OpenCLBinary, grid: Dim3, workgroup: Dim3, words: bytes) -> Start:
        """A launch of which only the arguments are to come."""
        self._refuse_full()  # PoCL compiles for this workgroup when it is first launched
        own = taken(words, binary.made.words)
        return lambda arguments, _: self._launch(binary, grid, workgroup, arguments, own)

    def fix(
        self,
        binary: OpenCLBinary,
        grid: Dim3,
        workgroup: Dim3,
        words: bytes,
        arguments: Sequence[Any],
    ) -> Fixed:
        """A launch of which only the stream is to come.

        It was bound before, so that nothing is compiled, and a full disk is no matter.
        """
        own = taken(words, binary.made.words)
        return lambda _: self._launch(binary, grid, workgroup, arguments, own)

    def time(
        self,
        stream: int,
        launch: Callable[[], object],
        *,
        enqueues: bool = False,  # noqa: ARG002  # nothing can be held back
    ) -> MarkedTicket | None:
        """Call `launch` between two markers on our queue, or on that of the handle `stream`."""
        queue = cl.CommandQueue.from_int_ptr(stream) if stream else self._open()[1]
        if not queue.properties & cl.command_queue_properties.PROFILING_ENABLE:
            launch()
            return None
        before = cl.enqueue_marker(queue)
        launch()
        # Where the queue was busy until now, what was launched follows the marker on the device.
        idle = before.command_execution_status == cl.command_execution_status.COMPLETE
        try:
            after = cl.enqueue_marker(queue)
            queue.flush()  # or a driver may leave both where they are
        except cl.Error:  # of what was launched, which its own library tells
            return None
        return MarkedTicket(before, after, rough=idle)

    def prepare_timing(self) -> bool:
        """Events are all there is to it."""
        return True

    def is_capturing(self, stream: int = 0) -> bool:  # noqa: ARG002  # nothing records launches
        """Never: launches run."""
        return False

    def synchronize(self) -> None:
        """Wait for everything launched so far."""
        self._open()[1].finish()

    # -- memory

    def alloc(self, nbytes: int) -> Any:
        """Fresh device memory of at least `nbytes`."""
        context, _ = self._open()
        limit = self.info.limits.max_buffer_bytes
        if limit and nbytes > limit:
            raise _exhausted(self.info, nbytes)
        # PoCL takes memory when it is first touched, and ends the process where there is none.
        if nbytes > _ASKED_FOR and (free := self.free_bytes()) is not None and nbytes > free:
            raise _exhausted(self.info, nbytes, free)
        try:
            return cl.Buffer(context, cl.mem_flags.READ_WRITE, max(nbytes, 4))
        except (cl.MemoryError, cl.LogicError):
            raise _exhausted(self.info, nbytes) from None

    def free_bytes(self) -> int | None:
        """What the host has, where it shares its memory; drivers do not tell of any other."""
        return host.free_bytes() if self._unified else None

    def upload(self, memory: Any, array: Array) -> None:
        """Copy an array to the device."""
        if array.nbytes:
            try:
                cl.enqueue_copy(self._open()[1], memory, array, is_blocking=True)
            except cl.MemoryError:  # drivers allocate when memory is first touched
                raise _exhausted(self.info, array.nbytes) from None

    def download(self, memory: Any, array: Array) -> None:
        """Copy device memory into an array, after everything launched before."""
        if array.nbytes:
            cl.enqueue_copy(self._open()[1], array, memory, is_blocking=True)

    def copy(self, source: Any, target: Any, nbytes: int, *, stream: int = 0) -> None:  # noqa: ARG002  # there is one
        """Copy device memory to device memory."""
        cl.enqueue_copy(self._open()[1], target, source, byte_count=nbytes)

    def clear(self, memory: Any, nbytes: int, *, stream: int = 0) -> None:  # noqa: ARG002  # there is one
        """Fill device memory with zeros."""
        if nbytes:
            try:
                cl.enqueue_fill_buffer(self._open()[1], memory, np.uint8(0), 0, nbytes)
            except cl.MemoryError:  # drivers allocate when memory is first touched
                raise _exhausted(self.info, nbytes) from None

    def typed(self, memory: Any, dtype: np.dtype[Any]) -> Any:  # noqa: ARG002  # a buffer has no type of its own
        """A buffer has no type of its own."""
        return memory

    def borrow(self, array: Array, *, read: bool) -> Any:
        """Memory for one launch: the array itself where host and device share it."""
        if array.nbytes == 0:
            return self.alloc(4)
        if self._unified:
            flags = cl.mem_flags.USE_HOST_PTR | cl.mem_flags.READ_WRITE
            if not array.flags.writeable:
                flags = cl.mem_flags.USE_HOST_PTR | cl.mem_flags.READ_ONLY
            try:
                return cl.Buffer(self._open()[0], flags, hostbuf=array)
            except (cl.MemoryError, cl.LogicError):
                raise _exhausted(self.info, array.nbytes) from None
        memory = self.alloc(array.nbytes)
        if read:
            self.upload(memory, array)
        return memory

    def return_to(self, memory: Any, array: Array) -> None:
        """What was written to borrowed memory is in `array` when this returns."""
        if array.nbytes == 0:
            return
        if not self._unified:
            self.download(memory, array)
            return
        _, queue = self._open()
        mapped, _ = cl.enqueue_map_buffer(
            queue, memory, cl.map_flags.READ, 0, array.shape, array.dtype
        )
        mapped.base.release(queue)  # not waited for: what is mapped to be read is left as it is

    def finisher(self) -> Callable[[], object]:
        """What waits for everything launched so far."""
        finish: Callable[[], object] = self._open()[1].finish
        return finish

    def clocks(self) -> Clocks | None:
        """The host's, where it is the device; drivers do not tell of any other."""
        return cpufreq.clocks() if self.info.kind is DeviceKind.CPU else None


def described(device: Any) -> DeviceInfo:
    """A device of pyopencl's by what may change which schedule wins there."""
    kind = DeviceKind.GPU if device.type & cl.device_type.GPU else DeviceKind.CPU
    block = tuple(device.max_work_item_sizes)[:3]
    traits = {}
    if pocl.is_pocl(device):
        # Measured to change which schedule wins: how many threads there are, and whether they move.
        traits = {
            "threads": settings.peek("POCL_MAX_PTHREAD_COUNT") or str(device.max_compute_units),
            "affinity": settings.peek("POCL_AFFINITY"),
        }
    return DeviceInfo(
        backend="opencl",
        model=device.name.strip(),
        driver=device.driver_version.strip(),
        compiler=device.platform.version.strip(),
        kind=kind,
        limits=Limits(
            max_threads=device.max_work_group_size,
            max_block=(block[0], block[1], block[2]),
            max_grid=(U32_MAX, U32_MAX, U32_MAX),
            max_buffer_bytes=device.max_mem_alloc_size,
            group_bytes=device.local_mem_size,
        ),
        compute_units=device.max_compute_units,
        memory_bytes=device.global_mem_size,
        traits=traits,
    )


def _exhausted(info: DeviceInfo, nbytes: int, free: int | None = None) -> DeviceFailed:
    left = "" if free is None else f", {free:,} free"
    return DeviceFailed(
        f"{info.model} has no {nbytes:,} bytes for one buffer "
        f"(limit {info.limits.max_buffer_bytes:,}{left})",
        "split the arrays, or free device arrays that are no longer needed",
    )
