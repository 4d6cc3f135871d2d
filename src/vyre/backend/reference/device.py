"""The reference as a device: always there, exact, and not fast."""

from __future__ import annotations

import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from vyre.backend.at_once import AtOnce, Over
from vyre.backend.base import Array, Compiled, Fixed, Job, Start
from vyre.backend.reference import run
from vyre.backend.reference.refuse import refuse_unsupported
from vyre.emit import OPENCL, emit
from vyre.emit.layout import WordLayout, arguments_of
from vyre.errors import DeviceFailed
from vyre.ir.declare import Dim3
from vyre.ir.program import Program
from vyre.ir.storage import STORAGE
from vyre.model import U32_MAX, DeviceInfo, DeviceKind, Limits


@dataclass(frozen=True, slots=True)
class ReferenceBinary:
    """A program; there is nothing to compile."""

    program: Program
    layout: WordLayout
    arguments: tuple[str, ...]
    guarded: tuple[int, ...] = (0, 1, 2)
    max_threads: int = 0
    room: tuple[int, ...] = ()  # which nobody uses: every code runs alike
    launches: int = 1


@dataclass(frozen=True, slots=True)
class _Lying:
    """Elements in the host's memory, as NumPy asks for them."""

    __array_interface__: dict[str, object]


def _at(address: int, dtype: np.dtype[Any], count: int) -> Array:
    """So many elements that lie there; whoever passes an address keeps what it is of."""
    place = {"data": (address, False), "shape": (count,), "typestr": dtype.str, "version": 3}
    return np.asarray(_Lying(place))


class Reference(AtOnce):
    """NumPy as a device: its memory is arrays, or addresses, its launches run at once."""

    compiles = False
    every_threads = U32_MAX
    unfelt_ns = 0

    info = DeviceInfo(
        backend="reference",
        model=f"NumPy {np.__version__}",
        driver=platform.python_version(),
        compiler="",
        kind=DeviceKind.CPU,
        limits=Limits(
            max_threads=U32_MAX,
            max_block=(U32_MAX, U32_MAX, U32_MAX),
            max_grid=(U32_MAX, U32_MAX, U32_MAX),
        ),
    )

    def source(self, job: Job) -> str:
        return emit(job.program, job.code, OPENCL, job.facts).text

    def build(self, jobs: Sequence[Job]) -> list[ReferenceBinary]:
        """One meaning, whatever the code."""
        return [self._build(job.program) for job in jobs]

    def _build(self, program: Program) -> ReferenceBinary:
        refuse_unsupported(program)
        names = tuple(decl.name for decl in arguments_of(program))
        return ReferenceBinary(program, WordLayout.of(program), names)

    def keep(self, binary: ReferenceBinary) -> Compiled:  # noqa: ARG002  # nothing is compiled
        """There is nothing to keep."""
        return Compiled()

    def launch(
        self,
        binary: ReferenceBinary,
        grid: Dim3,  # noqa: ARG002  # it follows from the extent
        workgroup: Dim3,
        arguments: Sequence[Array | int | np.generic],
        words: bytes,
        *,
        timed: bool = False,  # noqa: ARG002  # every launch is timed
        stream: int = 0,  # noqa: ARG002  # there is one
    ) -> Over:
        start = time.perf_counter_ns()
        numbers = np.frombuffer(words, np.uint32)
        layout = binary.layout
        arrays = {}
        for name, value in zip(binary.arguments, arguments, strict=True):
            dims = layout.dims.get(name)
            if isinstance(value, int):
                length = int(numbers[layout.length(name)])
                value = _at(value, STORAGE[binary.program.buffer(name).element], length)
            array = np.atleast_1d(value)
            arrays[name] = array.reshape(numbers[list(dims)]) if dims else array.reshape(-1)
        x, y, z = (int(numbers[layout.extent(axis)]) for axis in range(3))
        run(binary.program, arrays, (x, y, z), workgroup)
        return Over(time.perf_counter_ns() - start)

    def bind(self, binary: ReferenceBinary, grid: Dim3, workgroup: Dim3, words: bytes) -> Start:
        """A launch of which only the arguments are to come."""
        return lambda arguments, _: self.launch(binary, grid, workgroup, arguments, words)

    def fix(
        self,
        binary: ReferenceBinary,
        grid: Dim3,
        workgroup: Dim3,
        words: bytes,
        arguments: Sequence[Array | int | np.generic],
    ) -> Fixed:
        """A launch of which only the stream is to come."""
        return partial(self.bind(binary, grid, workgroup, words), arguments)

    def alloc(self, nbytes: int) -> Array:
        try:
            return np.zeros(nbytes, np.uint8)
        except MemoryError:
            raise DeviceFailed(
                f"{self.info.model} has no {nbytes:,} bytes for one array",
                "split the arrays, or free those no longer needed",
            ) from None

    def typed(self, memory: Array, dtype: np.dtype[Any]) -> Array:
        """Memory as an argument of a launch."""
        return memory.view(dtype)
