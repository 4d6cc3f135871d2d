"""Programs to loaded kernels: emitted, compiled through the cache, loaded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from vyre.analysis.teams import formed
from vyre.backend.base import Compiled, Job, Unbuilt
from vyre.backend.cuda import gate, nvrtc
from vyre.backend.cuda.cache import CubinCache, name_of
from vyre.backend.cuda.context import Context
from vyre.backend.cuda.frame import Frames
from vyre.emit import CUDA, Source, WordLayout, bundle, emit
from vyre.emit.layout import arguments_of
from vyre.errors import InvalidInput
from vyre.ir.storage import STORAGE


@dataclass(frozen=True, slots=True)
class Resources:
    """What a compiled kernel takes."""

    max_threads: int  # the widest workgroup its registers allow
    registers: int  # of a thread
    shared_bytes: int  # of a workgroup
    local_bytes: int  # of a thread: spilled registers and arrays


@dataclass(frozen=True, slots=True)
class CudaBinary:
    """A loaded kernel."""

    function: Any
    layout: WordLayout
    arguments: tuple[str, ...]
    guarded: tuple[int, ...]
    resources: Resources
    frames: Frames
    room: tuple[int, ...] = ()
    launches: int = 1

    @property
    def max_threads(self) -> int:
        return self.resources.max_threads


class Builder:
    """Builds for one device. Compiling needs no context; loading does."""

    def __init__(
        self, context: Context, architecture: str, cache: CubinCache, most_threads: int
    ) -> None:
        self._context, self._architecture, self._cache = context, architecture, cache
        self._most_threads = most_threads

    def build(self, jobs: Sequence[Job]) -> list[CudaBinary | Unbuilt]:
        """Emit, compile in one build what the cache does not hold, and load."""
        sources = _sources(jobs)
        _, together = self._compile(sources)
        loaded = together if isinstance(together, Unbuilt) else self.load_image(together.image)
        if isinstance(loaded, Unbuilt):
            if len(jobs) > 1:
                return [built for job in jobs for built in self.build([job])]
            return [loaded]
        return [
            self._binary(loaded, job, _made(source))
            for job, source in zip(jobs, sources, strict=True)
        ]

    def compile_only(self, jobs: Sequence[Job]) -> list[Compiled | Unbuilt]:
        """Leave in the cache what `build` of these jobs will ask for; needs no context."""
        sources = _sources(jobs)
        name, together = self._compile(sources)
        if isinstance(together, Unbuilt):
            if len(jobs) > 1:
                return [built for job in jobs for built in self.compile_only([job])]
            return [together]
        most = (together.registers.get(source.entry, 0) for source in sources)
        return [
            _made(source, name, threads_for(registers, self._most_threads))
            for source, registers in zip(sources, most, strict=True)
        ]

    def load(self, jobs: Sequence[Job], made: Sequence[Compiled]) -> list[CudaBinary | Unbuilt]:
        """Load what was compiled, each file once; what is not in the cache is built."""
        found: dict[int, CudaBinary | Unbuilt] = {}
        for name, numbers in _by_name(made):
            kept = self._cache.get(name) if name else None
            module = Unbuilt("it is not kept") if kept is None else self.load_image(kept.image)
            if isinstance(module, Unbuilt):
                built = self.build([jobs[number] for number in numbers])
                found |= zip(numbers, built, strict=True)
                continue
            for number in numbers:
                found[number] = self._binary(module, jobs[number], made[number])
        return [found[number] for number in range(len(jobs))]

    def gate(self) -> Any | Unbuilt:
        """The kernel of `gate.TEXT`, loaded."""
        _, made = self._compile_text(gate.TEXT)
        loaded = made if isinstance(made, Unbuilt) else self.load_image(made.image)
        return loaded if isinstance(loaded, Unbuilt) else self.function_of(loaded, gate.ENTRY)

    def _compile(self, sources: Sequence[Source]) -> tuple[str, nvrtc.Cubin | Unbuilt]:
        return self._compile_text(bundle(sources))

    def _compile_text(self, text: str) -> tuple[str, nvrtc.Cubin | Unbuilt]:
        """What was compiled, and the name that it is kept under."""
        given = nvrtc.options(self._architecture)
        name = name_of(text, given, nvrtc.version())
        return name, self._cache.get_or_compile(name, text, given, nvrtc.compile)

    def load_image(self, image: bytes) -> Any | Unbuilt:
        """A module of machine code."""
        with self._context.apart_from_captures():
            code, module = self._context.driver.cuModuleLoadData(image)
        if code:
            self._context.refuse_fork()
            return Unbuilt(f"{self._context.model} could not load the kernel: {code.name}")
        return module

    def function_of(self, module: Any, entry: str) -> Any | Unbuilt:
        """A kernel of a module, loaded now."""
        driver = self._context.driver
        with self._context.apart_from_captures():
            found = driver.cuModuleGetFunction(module, entry.encode())
            function = self._context.value(f"find {entry}", found)
            # Now, because a function that is loaded by its first launch waits for the device then,
            # and cannot be captured.
            (code,) = driver.cuFuncLoad(function)
        if code:
            return Unbuilt(f"{self._context.model} could not load the kernel: {code.name}")
        return function

    def _binary(self, module: Any, job: Job, made: Compiled) -> CudaBinary | Unbuilt:
        function = self.function_of(module, made.entry)
        if isinstance(function, Unbuilt):
            return function
        with self._context.apart_from_captures():
            resources = self.resources_of(function)
        declared, layout = arguments_of(job.program), WordLayout.of(job.program)
        names = tuple(decl.name for decl in declared)
        if job.code.shares > 1:
            declared = arguments_of(formed(job.program, job.facts, job.code)[0])
        dtypes = [STORAGE[d.element] if d.is_scalar_argument else None for d in declared]
        frames = Frames(dtypes, made.words)
        return CudaBinary(function, layout, names, made.guarded, resources, frames)

    def resources_of(self, function: Any) -> Resources:
        """What a kernel takes; outside of captures."""
        names = self._context.driver.CUfunction_attribute
        threads, registers, shared, local = (
            self._context.value(
                "describe a kernel", self._context.driver.cuFuncGetAttribute(name, function)
            )
            for name in (
                names.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                names.CU_FUNC_ATTRIBUTE_NUM_REGS,
                names.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
                names.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,
            )
        )
        return Resources(threads, registers, shared, local)


def threads_for(registers: int, most: int) -> int:
    """The widest workgroup for so many registers a thread; 0 where they are not known.

    A quarter of the multiprocessor holds 16,384 registers and gives them to a warp in lots of 256.

    >>> threads_for(80, 1024), threads_for(24, 1024)
    (768, 1024)
    """
    if not registers:
        return 0
    of_warp = -(-registers * 32 // 256) * 256
    return min(most, 4 * (16_384 // of_warp) * 32)


def _made(source: Source, name: str = "", max_threads: int = 0) -> Compiled:
    """What a process needs of a kernel that is compiled from a source."""
    return Compiled(max_threads, name, source.entry, source.guarded, source.words)


def _by_name(made: Sequence[Compiled]) -> Iterator[tuple[str, list[int]]]:
    """Names, and the positions of what is kept under each."""
    for name in dict.fromkeys(one.name for one in made):
        yield name, [number for number, one in enumerate(made) if one.name == name]


def _sources(jobs: Sequence[Job]) -> list[Source]:
    if not jobs:
        raise InvalidInput("a build of nothing", "give at least one job")
    return [
        emit(job.program, job.code, CUDA, job.facts, f"vyre_kernel_{number}")
        for number, job in enumerate(jobs)
    ]
