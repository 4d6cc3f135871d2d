"""The machine's own processor as a device, through LLVM: its memory is the host's."""

from __future__ import annotations

import ctypes
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from vyre import settings
from vyre.analysis import analyse
from vyre.analysis.teams import formed
from vyre.backend import host
from vyre.backend.at_once import AtOnce, Over
from vyre.backend.base import Array, Compiled, Fixed, Job, Start, Unbuilt
from vyre.backend.cpu import compiler, machine, pool
from vyre.backend.cpu.objects import Host, Objects, name_of
from vyre.backend.speak import speak
from vyre.emit.layout import WordLayout, arguments_of
from vyre.emit.llvm import ENTRY, Features, Module, emit_llvm
from vyre.emit.llvm.frame import Frame
from vyre.emit.spoken import Spoken, spoken
from vyre.errors import DeviceFailed, UnsupportedFeature
from vyre.ir.declare import Dim3
from vyre.ir.printing import speaks
from vyre.ir.program import Program
from vyre.ir.storage import STORAGE
from vyre.model import U32_MAX, DeviceInfo, DeviceKind, Limits, Simd

PIECES = 16
"""Pieces of a launch for each thread, so that one that is slow or late leaves work to others."""

_HEAD = struct.Struct("<6I8x")
_CODES = {"f": {2: "e", 4: "f", 8: "d"}, "i": {1: "b", 2: "h", 4: "i", 8: "q"}}
_CODES["u"] = {size: code.upper() for size, code in _CODES["i"].items()}
_BLOCK_BYTES = 40
_NUMBER = struct.Struct("<I")


@dataclass(frozen=True, slots=True)
class CpuBinary:
    """A loaded kernel, and how a launch hands it its arguments."""

    task: int
    layout: WordLayout
    arguments: tuple[str, ...]
    guarded: tuple[int, ...]
    max_threads: int
    frame: Frame = field(repr=False)
    packed: struct.Struct = field(repr=False)  # of the arguments, eight bytes each
    spoken: Spoken | None = field(default=None, repr=False)  # where it prints or asserts
    room: tuple[int, ...] = ()
    launches: int = 1


def found(folder: Path | None) -> list[Cpu]:
    """The processor, as one device."""
    return [Cpu(Objects(None if folder is None else folder / "cpu"))]


class Cpu(AtOnce):
    """The processor: launches run at once, on all its cores, on arrays where they are."""

    compiles = True
    every_threads = 0
    unfelt_ns = 3_000  # what a call takes whatever it launches

    def __init__(self, objects: Objects, made_for: Host | None = None) -> None:
        self._objects = objects
        self._host = made_for or objects.host()
        target = self._host.target
        cores = machine.cores()
        threads = settings.load().threads or cores
        self.features = Features(
            vector_bytes=target.vector_bytes, fma=target.has_fma, half=target.has_f16c
        )
        caches = machine.caches()
        self.info = DeviceInfo(
            backend="cpu",
            model=machine.model(),
            driver=target.cpu,
            compiler=f"LLVM {self._host.llvm}",
            kind=DeviceKind.CPU,
            limits=Limits(
                max_threads=U32_MAX,
                max_block=(U32_MAX, U32_MAX, U32_MAX),
                max_grid=(U32_MAX, U32_MAX, U32_MAX),
            ),
            compute_units=threads,
            memory_bytes=host.total_bytes() or 0,
            traits={"threads": str(threads), "vectors": str(target.vector_bytes)},
            simd=Simd(lanes=self.features.lanes, l1_bytes=caches.l1, l2_bytes=caches.l2),
        )
        made = pool.opened(objects, self._host, threads, cores=cores)
        if isinstance(made, Unbuilt):
            raise UnsupportedFeature(
                f'backend "cpu" cannot start its threads: {made.reason} {made.log}'.strip(),
                "install another version of llvmlite, or use another device",
            )
        self._pool = made

    # -- building

    def source(self, job: Job) -> str:
        return self._emit(job, _spoken(job)).text

    def _emit(self, job: Job, spoken: Spoken | None) -> Module:
        if spoken is None:
            return emit_llvm(job.program, job.code, self.features, job.facts)
        return emit_llvm(spoken.program, job.code, self.features, analyse(spoken.program))

    def build(self, jobs: Sequence[Job]) -> list[CpuBinary | Unbuilt]:
        """Emit, and load from the folder of objects or compile."""
        return [self._build(job) for job in jobs]

    def _build(self, job: Job) -> CpuBinary | Unbuilt:
        spoken = _spoken(job)
        module = self._emit(job, spoken)
        loaded = self._objects.load(module.text, [ENTRY], self._host, _level(module))
        if isinstance(loaded, Unbuilt):
            return loaded
        (task,) = loaded
        return _binary(task, job, module.guarded, module.most_lanes, spoken)

    def compile_only(self, jobs: Sequence[Job]) -> list[Compiled | Unbuilt]:
        """Leave in the folder of objects what `build` of these jobs will ask for."""
        return [self._compile(job) for job in jobs]

    def _compile(self, job: Job) -> Compiled | Unbuilt:
        module = self._emit(job, _spoken(job))
        level = _level(module)
        made = self._objects.get_or_compile(module.text, self._host, level)
        if isinstance(made, Unbuilt):
            return made
        name = name_of(module.text, self._host, level)
        return Compiled(module.most_lanes, name, ENTRY, module.guarded)

    def load(self, jobs: Sequence[Job], made: Sequence[Compiled]) -> list[CpuBinary | Unbuilt]:
        """Load what was compiled; what is not in the folder of objects is built."""
        return [self._load(job, one) for job, one in zip(jobs, made, strict=True)]

    def _load(self, job: Job, made: Compiled) -> CpuBinary | Unbuilt:
        loaded = self._objects.load_kept(made.name, [made.entry], self._host)
        if loaded is None:
            return self._build(job)
        return _binary(loaded[0], job, made.guarded, made.max_threads, _spoken(job))

    def keep(self, binary: CpuBinary) -> Compiled:
        """It was kept when it was compiled."""
        return Compiled(binary.max_threads)

    # -- launching

    def launch(
        self,
        binary: CpuBinary,
        grid: Dim3,
        workgroup: Dim3,
        arguments: Sequence[Array | int | np.generic],
        words: bytes,
        *,
        timed: bool = False,  # noqa: ARG002  # every launch is timed
        stream: int = 0,  # noqa: ARG002  # there is one
    ) -> Over:
        """Run it; what it wrote is there when this returns."""
        if binary.spoken is not None:
            return self._launch_spoken(binary, binary.spoken, grid, workgroup, arguments, words)
        frame = self._frame(binary, grid, workgroup, words)
        frame.put(arguments)
        before = time.perf_counter_ns()
        self._run_all(frame)
        return Over(time.perf_counter_ns() - before)

    def _launch_spoken(
        self,
        binary: CpuBinary,
        spoken: Spoken,
        grid: Dim3,
        workgroup: Dim3,
        arguments: Sequence[Array | int | np.generic],
        words: bytes,
    ) -> Over:
        """The same of a program that prints or asserts; it is heard when it has run."""
        log, failed = spoken.memory()
        plain = binary.layout.plain_count
        frame = self._frame(binary, grid, workgroup, spoken.words(words, plain))
        frame.put((*arguments, log, failed))
        before = time.perf_counter_ns()
        self._run(frame.address)
        elapsed = time.perf_counter_ns() - before
        numbers = np.frombuffer(words, np.uint32)
        x, y, z = (int(numbers[binary.layout.extent(axis)]) for axis in range(3))
        speak(spoken.read(log, failed), spoken.said, (x, y, z))
        return Over(elapsed)

    def _run(self, address: int) -> None:
        if self._pool.entry(address):
            self._pool.start()

    def _run_all(self, frame: _Frame) -> None:
        """Run a launch as often as it takes."""
        self._run(frame.address)
        for number in range(1, frame.launches):
            frame.begin(number)
            self._run(frame.address)

    def _frame(self, binary: CpuBinary, grid: Dim3, workgroup: Dim3, words: bytes) -> _Frame:
        groups = grid[0] * grid[1] * grid[2]
        grain = max(1, groups // (PIECES * self._pool.threads))
        head = _HEAD.pack(*workgroup, *grid)
        return _Frame(self._pool, binary, head, words, groups, grain)

    def bind(self, binary: CpuBinary, grid: Dim3, workgroup: Dim3, words: bytes) -> Start:
        """A launch of which only the arguments are to come; calls at once have a frame each."""
        if binary.spoken is not None:
            return lambda arguments, _: self.launch(binary, grid, workgroup, arguments, words)
        first = self._frame(binary, grid, workgroup, words)
        free = [first]
        run, several = self._run, self._run_all if binary.launches > 1 else None

        def start(arguments: Sequence[Any], _: int) -> None:
            try:
                frame = free.pop()
            except IndexError:
                frame = self._frame(binary, grid, workgroup, words)
            frame.put(arguments)
            if several is None:
                run(frame.address)
            else:
                several(frame)
            free.append(frame)

        return start

    def fix(
        self,
        binary: CpuBinary,
        grid: Dim3,
        workgroup: Dim3,
        words: bytes,
        arguments: Sequence[Array | int | np.generic],
    ) -> Fixed:
        """A launch of which nothing is to come."""
        if binary.spoken is not None or binary.room:
            # Launches at once share no room.
            return partial(self.bind(binary, grid, workgroup, words), arguments)
        frame = self._frame(binary, grid, workgroup, words)
        frame.put(arguments)
        entry, begin, address = self._pool.entry, self._pool.start, frame.address

        def start(_: int, _kept: object = frame) -> None:
            if entry(address):
                begin()

        return start

    # -- memory

    def alloc(self, nbytes: int) -> Array:
        """Zeros that begin where a vector does."""
        try:
            whole = np.zeros(nbytes + 64, np.uint8)
        except MemoryError:
            raise DeviceFailed(
                f"{self.info.model} has no {nbytes:,} bytes for one array",
                "split the arrays, or free those no longer needed",
            ) from None
        first = -_address(whole) % 64
        return whole[first : first + nbytes]

    def typed(self, memory: Array, dtype: np.dtype[Any]) -> Array:  # noqa: ARG002  # an address has no type
        """Memory as an argument of a launch."""
        return memory


class _Frame:
    """The memory that one launch reads: a block for the pool, then the context of its tasks."""

    __slots__ = ("_held", "_kept", "_number_at", "_packed", "_room", "address", "launches")

    def __init__(
        self,
        pool: pool.Pool,
        binary: CpuBinary,
        head: bytes,
        words: bytes,
        groups: int,
        grain: int,
    ) -> None:
        size = _BLOCK_BYTES + 24 + binary.frame.size
        self._kept = ctypes.create_string_buffer(size)
        self.address = ctypes.addressof(self._kept)
        self._packed = binary.packed
        self._held: Sequence[Any] = ()
        self._room = tuple(np.zeros(-(-nbytes // 8), np.uint64) for nbytes in binary.room)
        self.launches = binary.launches
        self._number_at = 64 + binary.frame.words - 8  # the last argument, where there are several
        context = self.address + 64
        block = pool.block(binary.task, context, groups, grain)
        memory = memoryview(self._kept).cast("B")
        memory[: len(block)] = block
        memory[64 : 64 + len(head)] = head
        first = 64 + binary.frame.words
        memory[first : first + len(words)] = words

    def put(self, arguments: Sequence[Array | int | np.generic]) -> None:
        """The arguments, which are kept as long as they are here."""
        self._held = arguments
        given = [_address(one) if isinstance(one, np.ndarray) else one for one in arguments]
        if self._room:
            given += map(_address, self._room)
            if self.launches > 1:
                given.append(0)
        self._packed.pack_into(self._kept, 64 + 32, *given)

    def begin(self, number: int) -> None:
        """Say which of several launches is next."""
        _NUMBER.pack_into(self._kept, self._number_at, number)


def _spoken(job: Job) -> Spoken | None:
    return spoken(job.program) if speaks(job.program) else None


def _binary(
    task: int, job: Job, guarded: tuple[int, ...], most: int, spoken: Spoken | None
) -> CpuBinary:
    program = job.program
    layout, names = WordLayout.of(program), tuple(decl.name for decl in arguments_of(program))
    if spoken is not None:
        run = spoken.program
    else:
        run = formed(program, job.facts, job.code)[0] if job.code.shares > 1 else program
    # Which arrays may be one, the code knows.
    frame = Frame(run, layout if spoken is None else WordLayout.of(run), frozenset())
    return CpuBinary(task, layout, names, guarded, most, frame, _packing(run), spoken)


def _level(module: Module) -> int:
    return compiler.FEW if module.is_plain else compiler.USUAL


def _packing(program: Program) -> struct.Struct:
    """How arguments are laid out: addresses, and scalars at the start of eight bytes."""
    form = "<"
    for decl in arguments_of(program):
        if decl.is_scalar_argument:
            dtype = STORAGE[decl.element]
            form += f"{_CODES[dtype.kind][dtype.itemsize]}{8 - dtype.itemsize}x"
        else:
            form += "Q"
    return struct.Struct(form)


def _address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])
