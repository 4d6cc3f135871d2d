"""One CUDA device as a backend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from vyre.backend.base import Array, Compiled, Job, Sharing, Streams, Unbuilt
from vyre.backend.cuda.blocks import Blocks
from vyre.backend.cuda.build import Builder, CudaBinary
from vyre.backend.cuda.cache import CubinCache
from vyre.backend.cuda.context import Context, Current
from vyre.backend.cuda.events import Events, TimedTicket, UntimedTicket
from vyre.backend.cuda.failure import failure
from vyre.backend.cuda.frame import Frame
from vyre.backend.cuda.gate import Gate
from vyre.backend.cuda.memory import Bytes, CudaMemory, Pool, Staging
from vyre.backend.cuda.nvml import Nvml
from vyre.backend.cuda.rooms import IN_A_ROW, Room, Rooms
from vyre.backend.cuda.texts import CudaTexts
from vyre.backend.cuda.timing import Timing
from vyre.emit import CUDA, emit
from vyre.ir.declare import Dim3
from vyre.model import Clocks, DeviceInfo

OWN_STREAM = 0
"""The legacy default stream, which is also CuPy's and torch's: work of all three is in order."""


class Cuda:
    """One CUDA device; its context is made when first needed.

    Args:
        number: its ordinal among the devices that the process sees.
        info: what it is.
        architecture: what to compile for, such as `sm_90`.
        cache: where cubins are kept.
        driver: CUDA's driver, as `cuda.bindings.driver` has it.
        nvml: the same device as NVML sees it.
    """

    compiles = True
    dlpack_type = 2
    compiles_per_workgroup = False
    uses_host_memory = False
    loads_together = 4  # a module of 20 kernels disturbs callers a sixth as much as 20 (one H200)
    builds_first = 5
    every_threads = 256  # each with 255 registers, the most there are, of a block's 65,536
    unfelt_ns = 0  # launches follow each other on the device, so that a short one counts
    # Without a gate some of a time on an idle stream may be the host's: up to a switch between the
    # interpreter's threads, 5 ms (measured: 0.8 ms where a launch takes 2 us).
    shortest_ns = 10_000_000

    def __init__(
        self,
        number: int,
        info: DeviceInfo,
        *,
        architecture: str,
        cache: CubinCache,
        driver: Any,
        nvml: Nvml,
    ) -> None:
        self.info = info
        self._nvml = nvml
        self.number = number
        self._driver = driver
        self._context = Context(driver, number, info.model)
        self._builder = Builder(self._context, architecture, cache, info.limits.max_threads)
        # By name, because 0 can also mean the thread's own default stream.
        self._legacy = driver.CUstream(driver.CU_STREAM_LEGACY)
        self._events = Events(self._context)
        gate = Gate(self._context, self._builder.gate)
        self._timing = Timing(self._context, self._events, gate, self._legacy)
        self._blocks = Blocks(self._context, self._events)
        self._pool = Pool(self._context, number, info.memory_bytes, self._legacy)
        self._staging = Staging(self._context, self._legacy)
        self._rooms = Rooms(self._context)
        self._untimed = UntimedTicket(self._context, self._legacy)
        self._start = driver.cuLaunchKernel
        self.texts = CudaTexts(
            self._context,
            self._builder,
            architecture,
            cache.folder,
            legacy=self._legacy,
            again=self._start_again,
            time=partial(self.time, enqueues=True),
        )
        self.strayed = False  # whether memory was ever used on a stream that is not our own

    @property
    def streams(self) -> Streams:
        return self

    @property
    def sharing(self) -> Sharing:
        return self

    def clocks(self) -> Clocks | None:
        return self._nvml.clocks()

    # -- building

    def source(self, job: Job) -> str:
        return emit(job.program, job.code, CUDA, job.facts).text

    def build(self, jobs: Sequence[Job]) -> list[CudaBinary | Unbuilt]:
        """Emit, compile in one build what the cache does not hold, and load."""
        return self._builder.build(jobs)

    def compile_only(self, jobs: Sequence[Job]) -> list[Compiled | Unbuilt]:
        """Leave in the cache what `build` of these jobs will ask for; needs no context."""
        return self._builder.compile_only(jobs)

    def load(self, jobs: Sequence[Job], made: Sequence[Compiled]) -> list[CudaBinary | Unbuilt]:
        """Load what was compiled, each file once; what is not in the cache is built."""
        return self._builder.load(jobs, made)

    def is_calm(self) -> bool:
        """Whether the stream of the latest timed launch has little left to do.

        Loading code waits until what runs has ended, and callers that launch meanwhile wait too: 5
        ms behind a kernel of 5 ms, 0.03 ms on an idle device (one H200, driver 580).
        """
        return self._timing.is_calm()

    def keep(self, binary: CudaBinary) -> Compiled:
        """Every cubin is in the cache already."""
        return Compiled(binary.max_threads)

    # -- running

    def launch(
        self,
        binary: CudaBinary,
        grid: Dim3,
        workgroup: Dim3,
        arguments: Sequence[Any],
        words: bytes,
        *,
        timed: bool = False,
        stream: int = OWN_STREAM,
    ) -> TimedTicket | UntimedTicket:
        """Enqueue one launch; arguments are addresses or memory, and NumPy scalars."""
        where = stream or self._legacy
        if not binary.room:
            return self._launch(binary, grid, workgroup, arguments, words, stream, timed=timed)
        room = self._rooms.take(binary.room, stream, where)
        try:
            given = (*arguments, *_kept(binary, room))
            return self._launch(binary, grid, workgroup, given, words, stream, timed=timed)
        finally:
            self._rooms.give_back(room)

    def _launch(
        self,
        binary: CudaBinary,
        grid: Dim3,
        workgroup: Dim3,
        arguments: Sequence[Any],
        words: bytes,
        stream: int,
        *,
        timed: bool,
    ) -> TimedTicket | UntimedTicket:
        """The same with all that the kernel takes."""
        frames = binary.frames
        where = stream or self._legacy
        frame = frames.take(words)
        frames.pack(frame[0], 0, *arguments)
        start: Any = partial(self._start, binary.function, *grid, *workgroup, 0)
        if binary.launches > 1:
            start = frames.in_turn(start, frame, binary.launches)
        ticket: TimedTicket | UntimedTicket | None = None
        if timed:
            ticket = self._timing.launch(start, where, frame[1])
        if ticket is None:
            answer = start(where, frame[1], 0)
            if answer[0]:
                self._start_again(start, where, frame[1], answer)
            ticket = UntimedTicket(self._context, stream) if stream else self._untimed
        frames.free.append(frame)
        return ticket

    def bind(
        self, binary: CudaBinary, grid: Dim3, workgroup: Dim3, words: bytes
    ) -> Callable[..., None]:
        """`start(arguments, stream=0)`, untimed: the short way for calls like an earlier one.

        A function and not an object: 0.86 us against 0.96 on a stub driver (Python 3.11).
        """
        if binary.room:
            return partial(self._launch_in_room, binary, grid, workgroup, words)
        make, pack = partial(binary.frames.make, words), binary.frames.pack
        free: list[Frame] = []  # of this launch alone, so that the words stay in them
        legacy, again = self._legacy, self._start_again
        start = partial(self._start, binary.function, *grid, *workgroup, 0)

        def launch(arguments: Sequence[Any], stream: int = OWN_STREAM) -> None:
            try:
                frame = free.pop()
            except IndexError:
                frame = make()
            pack(frame[0], 0, *arguments)
            answer = start(stream or legacy, frame[1], 0)
            if answer[0]:
                again(start, stream or legacy, frame[1], answer)
            free.append(frame)

        return launch

    def _launch_in_room(
        self,
        binary: CudaBinary,
        grid: Dim3,
        workgroup: Dim3,
        words: bytes,
        arguments: Sequence[Any],
        stream: int = OWN_STREAM,
    ) -> None:
        """Launch untimed with memory for its workgroups, which is the stream's."""
        self.launch(binary, grid, workgroup, arguments, words, stream=stream)

    def fix(
        self,
        binary: CudaBinary,
        grid: Dim3,
        workgroup: Dim3,
        words: bytes,
        arguments: Sequence[Any],
    ) -> Callable[..., None]:
        """`start(stream=0)`, untimed: the driver's call and nothing else.

        The caller keeps the arguments' memory as long as what this returns.
        """
        if binary.room:
            return partial(self._launch_in_room, binary, grid, workgroup, words, arguments)
        frame = binary.frames.make(words)  # never written again, so that threads can share it
        binary.frames.pack(frame[0], 0, *arguments)
        address, legacy, again = frame[1], self._legacy, self._start_again
        start = partial(self._start, binary.function, *grid, *workgroup, 0)

        def launch(stream: int = OWN_STREAM, _frame: Frame = frame) -> None:
            answer = start(stream or legacy, address, 0)
            if answer[0]:
                again(start, stream or legacy, address, answer)

        return launch

    def prepare_timing(self) -> bool:
        """Load what holds launches on an idle stream, before many are under way."""
        return self._timing.prepare()

    def time(
        self, stream: int, launch: Callable[[], object], *, enqueues: bool = False
    ) -> TimedTicket | None:
        """Call `launch`, which is another library's, between two events."""
        return self._timing.around(stream or self._legacy, launch, enqueues=enqueues)

    def _start_again(self, start: Any, where: Any, address: int, answer: tuple[Any, ...]) -> None:
        """Launch what was refused once more, with the device's context current.

        A function belongs to its context, so in a thread that has none or another one the driver
        refuses; asking before every launch would cost 0.12 us more (cuda.bindings 13.5).
        """
        self._context.refuse_fork()
        codes = self._driver.CUresult
        if answer[0] in (
            codes.CUDA_ERROR_INVALID_CONTEXT,
            codes.CUDA_ERROR_INVALID_HANDLE,
            codes.CUDA_ERROR_CONTEXT_IS_DESTROYED,
        ):
            with self._context.current():
                answer = start(where, address, 0)
        if answer[0]:
            _, *sizes = start.args
            grid, workgroup = tuple(sizes[:3]), tuple(sizes[3:6])
            raise failure(self.info.model, f"launch grid {grid} of {workgroup}", answer[0])

    def time_block(
        self,
        binary: CudaBinary,
        grid: Dim3,
        workgroup: Dim3,
        arguments: Sequence[Any],
        words: bytes,
        count: int,
    ) -> float:
        """The device's nanoseconds of one launch among `count` in a row; waits for them."""
        frame = binary.frames.make(words)
        start: Any = partial(self._start, binary.function, *grid, *workgroup, 0)
        if not binary.room:
            binary.frames.pack(frame[0], 0, *arguments)
            return self._blocks.time(lambda stream: start(stream, frame[1], 0), count)
        # It is cleared before launches in a row begin: they wait for all work so far.
        room = self._rooms.take(binary.room, IN_A_ROW, self._legacy)
        try:
            binary.frames.pack(frame[0], 0, *arguments, *_kept(binary, room))
            if binary.launches > 1:
                start = binary.frames.in_turn(start, frame, binary.launches)
            return self._blocks.time(lambda stream: start(stream, frame[1], 0), count)
        finally:
            self._rooms.give_back(room)

    def is_capturing(self, stream: int = OWN_STREAM) -> bool:
        """Whether a launch there would be captured instead of run."""
        with self._context.current():
            return self._timing.captures(stream or self._legacy)

    def synchronize(self) -> None:
        """Wait for everything launched so far, on every stream."""
        with self._context.current():
            self._context.value("finish its work", self._driver.cuCtxSynchronize())

    def apart(self) -> Current:
        """A block for libraries that load code here: no capture of another thread ends by it."""
        return self._context.apart_from_captures()

    # -- memory

    def alloc(self, nbytes: int) -> CudaMemory:
        """Fresh device memory of at least `nbytes`."""
        return self._pool.alloc(nbytes)

    def free_bytes(self) -> int:
        """What the device has left for everybody."""
        with self._context.current():
            free, _ = self._context.value("ask for memory", self._driver.cuMemGetInfo())
            return int(free)

    def upload(self, memory: CudaMemory, array: Array) -> None:
        """Copy an array to the device; it may be changed when this returns."""
        if array.nbytes:
            self.use_on(memory, OWN_STREAM)
            self._staging.upload(memory.address, _bytes_of(array))

    def download(self, memory: CudaMemory, array: Array) -> None:
        """Copy device memory into an array, after everything launched before."""
        if array.nbytes:
            self.use_on(memory, OWN_STREAM)
            self._staging.download(memory.address, _bytes_of(array))

    def copy(self, source: Any, target: Any, nbytes: int, *, stream: int = OWN_STREAM) -> None:
        """Copy device memory to device memory."""
        if nbytes:
            for memory in (source, target):
                self.use_on(memory, stream)
            where = stream or self._legacy
            with self._context.current():
                asked = self._driver.cuMemcpyDtoDAsync(int(target), int(source), nbytes, where)
                self._context.value("copy on it", asked)

    def clear(self, memory: CudaMemory, nbytes: int, *, stream: int = OWN_STREAM) -> None:
        """Fill device memory with zeros."""
        if nbytes:
            self.use_on(memory, stream)
            where = stream or self._legacy
            with self._context.current():
                asked = self._driver.cuMemsetD8Async(memory.address, 0, nbytes, where)
                self._context.value("clear its memory", asked)

    def use_on(self, memory: Any, stream: int) -> None:
        """Make `stream` wait for what was done to memory on another; nothing where it is the same.

        In a capture it is left to the caller, because a capture cannot wait for what is outside it.
        """
        before = memory.stream
        if before == stream:
            return
        if not self.is_capturing(stream):
            driver, value = self._driver, self._context.value
            with self._context.current():
                pair = self._events.take()
                value("order two streams", driver.cuEventRecord(pair[1], before or self._legacy))
                later = driver.cuStreamWaitEvent(stream or self._legacy, pair[1], 0)
                value("order two streams", later)
            self._events.give_back(pair)
        memory.stream = stream
        self.strayed = self.strayed or stream != OWN_STREAM

    def device_of(self, address: int) -> int:
        """The ordinal of the device that holds an address."""
        name = self._driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
        with self._context.current():
            asked = self._driver.cuPointerGetAttribute(name, address)
            return int(self._context.value(f"find {address:#x}", asked))

    def typed(self, memory: CudaMemory, dtype: np.dtype[Any]) -> int:  # noqa: ARG002  # an address has no type
        """An argument is an address."""
        return memory.address

    def borrow(self, array: Array, *, read: bool) -> CudaMemory:
        """Memory for one launch."""
        memory = self.alloc(array.nbytes)
        if read:
            self.upload(memory, array)
        return memory

    def return_to(self, memory: CudaMemory, array: Array) -> None:
        """What was written to borrowed memory is in `array` when this returns."""
        self.download(memory, array)

    def finisher(self) -> Callable[[], object]:
        """Nothing to wait for: launches work on copies, and no copy outlasts the call it is for."""
        return bool


def _kept(binary: CudaBinary, room: Room) -> Sequence[int]:
    """The arguments of a launch that no caller gives."""
    arrays = room.arrays(binary.room)
    return arrays if binary.launches == 1 else [*arrays, 0]


def _bytes_of(array: Array) -> Bytes:
    """The bytes of a contiguous array, in place."""
    return array.reshape(-1).view(np.uint8)
