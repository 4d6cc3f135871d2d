"""CUDA's own text on a machine without a GPU: a device whose kernels the host's compiler reads.

Lanes run as fibers that meet where warps and workgroups wait. All memory ends, or begins, where
forbidden pages are, begins at a multiple of 16 bytes, and what fills it up must stay as it is.
A launch that reads or writes outside, at an address a vector may not have, or whose lanes do not
meet, fails with a reason.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import tempfile
import time
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from vyre.analysis.teams import formed
from vyre.backend.at_once import AtOnce, Over
from vyre.backend.base import Array, Compiled, Fixed, Job, Start, Unbuilt
from vyre.backend.cuda.frame import Frames
from vyre.emit import CUDA, Source, WordLayout, emit
from vyre.emit.dialect import Dialect
from vyre.emit.layout import arguments_of
from vyre.errors import DeviceFailed
from vyre.ir.declare import Dim3
from vyre.ir.storage import STORAGE
from vyre.model import DeviceInfo, DeviceKind, Limits
from vyre.testing.guarded import guarded

_HERE = Path(__file__).parent
_CHECKS = "alignment,bounds,shift,signed-integer-overflow,integer-divide-by-zero"
_OPTIONS = (
    *("-std=c++17", "-O0", "-fPIC", "-ffp-contract=off", "-fno-strict-aliasing", "-w"),
    *(f"-fsanitize={_CHECKS}", "-fsanitize-undefined-trap-on-error"),
    *("-U_FORTIFY_SOURCE", "-fno-stack-protector"),
)
_PTX = re.compile(r'asm\("(\w+)\.(\w+)[\w.]* [^"]*" : "=f"\(r\) : ((?:"f"\(\w\)(?:, )?)+)\);')
_ALIGNED = 16  # bytes, which every vector of a GPU's is content with
_FILL = 0xA5


def compiler() -> str | None:
    """A compiler of C++ for the host that has what is asked of it; None where there is none."""
    return shutil.which("g++")


@dataclass(frozen=True, slots=True)
class Loaded:
    """A kernel that can be called."""

    library: ctypes.CDLL
    entry: int
    layout: WordLayout
    arguments: tuple[str, ...]
    guarded: tuple[int, ...]
    frames: Frames
    max_threads: int = 1024
    room: tuple[int, ...] = ()
    launches: int = 1


class CudaOnHost(AtOnce):
    """A GPU of NVIDIA's as far as its language says what it does; nothing of its speed.

    Args:
        dialect: what to emit in; a changed one shows whether a mistake would be seen.
    """

    compiles = True
    every_threads = 1024
    unfelt_ns = 0
    uses_host_memory = True
    info = DeviceInfo(
        backend="cuda",
        model="the host, as a GPU",
        driver="none",
        compiler="g++",
        kind=DeviceKind.GPU,
        limits=Limits(
            max_threads=1024,
            max_block=(1024, 1024, 64),
            max_grid=(2**31 - 1, 65_535, 65_535),
            max_threads_per_unit=2048,
            group_bytes=48 << 10,
            cache_bytes=60 << 20,
            lockstep=32,
        ),
        compute_units=1,
    )

    def __init__(self, dialect: Dialect = CUDA) -> None:
        self.dialect = dialect
        self._folder = tempfile.TemporaryDirectory(prefix="vyre-cuda-on-host-")
        weakref.finalize(self, self._folder.cleanup)  # with the device, and nobody is warned
        self._numbers = count()
        self._seeds = count()
        self._at_end = False
        self._rests: dict[int, Array] = {}  # what follows memory that is no whole number of units

    # -- building

    def source(self, job: Job) -> str:
        return self._source(job, 0).text

    def _source(self, job: Job, number: int) -> Source:
        return emit(job.program, job.code, self.dialect, job.facts, f"vyre_kernel_{number}")

    def build(self, jobs: Sequence[Job]) -> list[Loaded | Unbuilt]:
        """All in one library; each text in a namespace of its own."""
        sources = [self._source(job, number) for number, job in enumerate(jobs)]
        library = self._compiled([source.text for source in sources])
        if isinstance(library, Unbuilt):
            if len(jobs) == 1:
                return [library]
            return [built for job in jobs for built in self.build([job])]
        return [
            self._loaded(library, job, number, sources[number]) for number, job in enumerate(jobs)
        ]

    def _loaded(self, library: ctypes.CDLL, job: Job, number: int, source: Source) -> Loaded:
        layout = WordLayout.of(job.program)
        declared = arguments_of(formed(job.program, job.facts, job.code)[0])
        dtypes = [STORAGE[d.element] if d.is_scalar_argument else None for d in declared]
        entry = ctypes.cast(library[f"vyre_entry_{number}"], ctypes.c_void_p).value or 0
        frames = Frames(dtypes, source.words)
        names = tuple(decl.name for decl in declared if not decl.kept)
        return Loaded(library, entry, layout, names, source.guarded, frames)

    def _compiled(self, texts: Sequence[str]) -> ctypes.CDLL | Unbuilt:
        folder = Path(self._folder.name)
        name = folder / f"k{next(self._numbers)}"
        lines = [f'#include "{_HERE / "cuda_on_host.h"}"']
        for number, text in enumerate(texts):
            lines += [
                f"namespace n{number} {{",
                _PTX.sub(_in_words, text),
                "}",
                f'extern "C" void vyre_entry_{number}(void **given)'
                f" {{ vyre_call(&n{number}::vyre_kernel_{number}, given); }}",
            ]
        name.with_suffix(".cc").write_text("\n".join([*lines, ""]))
        wanted = [str(compiler()), *_OPTIONS, "-shared", "-o", f"{name}.so", f"{name}.cc"]
        said = subprocess.run(  # noqa: S603  # a compiler that `compiler` found
            [*wanted, "-lm"], capture_output=True, text=True, check=False
        )
        if said.returncode:
            return Unbuilt("g++ refuses the kernel", said.stderr)
        _runtime()  # whose functions it calls
        return ctypes.CDLL(f"{name}.so")

    def keep(self, binary: Loaded) -> Compiled:  # noqa: ARG002  # it ends with the process
        """There is nothing to keep."""
        return Compiled()

    # -- launching

    def launch(
        self,
        binary: Loaded,
        grid: Dim3,
        workgroup: Dim3,
        arguments: Sequence[Array | int | np.generic],
        words: bytes,
        *,
        timed: bool = False,  # noqa: ARG002  # every launch is timed
        stream: int = 0,  # noqa: ARG002  # there is one
    ) -> Over:
        start = time.perf_counter_ns()
        kept = [self.alloc(nbytes) for nbytes in binary.room]
        for memory in kept:
            memory[...] = 0
        given = [_address(value) for value in (*arguments, *kept)]
        for number in range(binary.launches):
            self._once(binary, grid, workgroup, words, given, number)
        for value in given:
            rest = self._rests.get(value) if isinstance(value, int) else None
            if rest is not None and (rest != _FILL).any():
                raise Strayed("something was written behind the end of an array")
        return Over(time.perf_counter_ns() - start)

    def _once(
        self,
        binary: Loaded,
        grid: Dim3,
        workgroup: Dim3,
        words: bytes,
        given: Sequence[int | np.generic],
        number: int,
    ) -> None:
        frame = binary.frames.take(words)
        binary.frames.pack(frame[0], 0, *given, *([number] if binary.launches > 1 else []))
        said = ctypes.create_string_buffer(256)
        three = ctypes.c_uint * 3
        begin, end = (_symbol(binary.library, f"{side}_vyre_shared") for side in _SIDES)
        failed = _runtime().vyre_launch(
            ctypes.c_void_p(binary.entry),
            ctypes.c_void_p(frame[1]),
            three(*grid),
            three(*workgroup),
            ctypes.c_uint64(next(self._seeds)),
            ctypes.c_void_p(begin),
            ctypes.c_void_p(end),
            said,
            ctypes.c_size_t(len(said)),
        )
        binary.frames.free.append(frame)
        if failed:
            raise Strayed(said.value.decode())

    def bind(self, binary: Loaded, grid: Dim3, workgroup: Dim3, words: bytes) -> Start:
        """A launch of which only the arguments are to come."""
        return lambda arguments, _: self.launch(binary, grid, workgroup, arguments, words)

    def fix(
        self,
        binary: Loaded,
        grid: Dim3,
        workgroup: Dim3,
        words: bytes,
        arguments: Sequence[Array | int | np.generic],
    ) -> Fixed:
        """A launch of which only the stream is to come."""
        return partial(self.bind(binary, grid, workgroup, words), arguments)

    # -- memory

    def alloc(self, nbytes: int) -> Array:
        """Memory at the end of what may be touched, and the next at its beginning."""
        self._at_end = not self._at_end
        units = -(-nbytes // _ALIGNED) * _ALIGNED
        whole = guarded(np.full(units, _FILL, np.uint8), at_end=self._at_end)
        memory = whole[:nbytes]
        address = _address(memory)
        assert isinstance(address, int)
        if units > nbytes:
            self._rests[address] = whole[nbytes:]
            weakref.finalize(memory, self._rests.pop, address, None)
        return memory

    def typed(self, memory: Array, dtype: np.dtype[Any]) -> Array:
        """Memory as an argument of a launch."""
        return memory.view(dtype)

    def borrow(self, array: Array, *, read: bool) -> Array:  # noqa: ARG002  # all of it is kept
        """A copy between forbidden pages."""
        memory = self.alloc(array.nbytes)
        self.upload(memory, np.ascontiguousarray(array))
        return memory

    def return_to(self, memory: Array, array: Array) -> None:
        array[...] = memory.view(array.dtype).reshape(array.shape)


class Strayed(DeviceFailed):
    """A launch that did what a GPU does not allow, or promises nothing of."""

    def __init__(self, what: str) -> None:
        super().__init__(what, "look at the kernel's source for what does it")


@cache
def _runtime() -> ctypes.CDLL:
    """What runs lanes, once for all kernels: its stacks are many."""
    with tempfile.TemporaryDirectory() as folder:
        made, source = Path(folder) / "cuda_on_host.so", _HERE / "cuda_on_host.c"
        options = ("-std=gnu11", "-O2", "-fPIC", "-shared", "-U_FORTIFY_SOURCE")
        subprocess.run(  # noqa: S603  # a compiler that is asked for by name
            [str(shutil.which("gcc")), *options, "-o", str(made), str(source)], check=True
        )
        return ctypes.CDLL(str(made), ctypes.RTLD_GLOBAL)


_SIDES = ("__start", "__stop")


def _symbol(library: ctypes.CDLL, name: str) -> int:
    """Where workgroup memory begins or ends; 0 where a library has none."""
    try:
        return ctypes.addressof(ctypes.c_char.in_dll(library, name))
    except ValueError:
        return 0


def _address(value: Array | int | np.generic) -> Any:
    if isinstance(value, np.ndarray):
        return int(value.__array_interface__["data"][0])
    return value.item() if isinstance(value, np.generic) else value


def _in_words(found: re.Match[str]) -> str:
    """An instruction of PTX as a function of the header's."""
    names = ", ".join(re.findall(r'"f"\((\w)\)', found[3]))
    return f"r = vyre_{found[1]}_{found[2]}({names});"
