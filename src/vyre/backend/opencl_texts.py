"""Kernels of others from their source, through OpenCL."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
import pyopencl as cl

from vyre.backend import host
from vyre.backend.base import LoadedText, Rehearsal, StartText, Taken, Text, Unbuilt
from vyre.backend.binaries import Binaries, name_of
from vyre.backend.opencl_time import OpenCLTicket, cause
from vyre.errors import DeviceFailed
from vyre.ir.declare import Dim3
from vyre.model import DeviceInfo

_WIDE = 1 << 16
"""Items along an axis from which PoCL compiles another form of a kernel (3.0; see its cache)."""

_ALWAYS = ("-cl-kernel-arg-info",)
"""So that a wrong argument is an error, where PoCL ends the process or computes with an address."""

_OTHERS = ("sampler_t", "event_t", "queue_t")
"""What is handed over by value, and is no number."""

_AROUND = 4096
"""Bytes on each side of an array that a rehearsal is given: whole elements of all numbers."""

_SHARE = 4  # of the memory that is free, for what a rehearsal is given


class OpenCLTexts:
    """Texts for one device.

    Args:
        info: the device.
        device: the same as pyopencl has it.
        opened: gives its context and its queue.
        check: raises where nothing can be compiled now.
        kept: where binaries are kept.
        rehearses: whether the driver compiles a kernel anew for each size of a workgroup.
    """

    language = "opencl"

    def __init__(
        self,
        info: DeviceInfo,
        device: Any,
        *,
        opened: Callable[[], tuple[Any, Any]],
        check: Callable[[], None],
        kept: Binaries,
        rehearses: bool,
    ) -> None:
        self._info, self._device, self._kept = info, device, kept
        self._opened, self._check, self._rehearses = opened, check, rehearses

    def compile(self, text: Text, rehearsal: Rehearsal) -> bool | Unbuilt:
        """Keep the binary, with the form of it that such a launch asks for."""
        name = self._name(text, rehearsal)
        if self._kept.get(name) is None:
            built = self._built(text)
            if isinstance(built, Unbuilt):
                return built
            if self._rehearses:
                self._rehearse(cl.Kernel(built, text.entry), rehearsal)
            self._kept.put(name, built.get_info(cl.program_info.BINARIES)[0])
        return self._kept.get(name) is not None

    def load(self, text: Text, rehearsal: Rehearsal) -> LoadedText | Unbuilt:
        """Load the binary, or else build the source."""
        program = self._loaded(text, rehearsal) or self._built(text)
        if isinstance(program, Unbuilt):
            return program
        try:
            kernel = cl.Kernel(program, text.entry)
        except (cl.LogicError, cl.RuntimeError):
            return Unbuilt(f"there is no kernel {text.entry} in what was built")
        most = kernel.get_work_group_info(cl.kernel_work_group_info.WORK_GROUP_SIZE, self._device)
        taken, declared = _taken(kernel), self._declared_bytes(kernel)
        return LoadedText((program, text.entry), int(most), taken, [kernel], declared)

    def bind(self, loaded: LoadedText, dtypes: Sequence[np.dtype[Any] | None]) -> StartText:  # noqa: ARG002  # arguments tell
        """Launches with kernel objects that are used again: each has arguments of its own."""
        self._check()  # PoCL compiles for this block when it is first launched
        free, model = loaded.free, self._info.model
        _, queue = self._opened()

        def start(
            grid: Dim3, block: Dim3, shared_bytes: int, arguments: Sequence[Any], stream: int
        ) -> Any:
            del shared_bytes, stream  # an argument, and there is one queue
            try:
                kernel = free.pop()
            except IndexError:
                kernel = cl.Kernel(*loaded.kernel)
            try:
                for position, argument in enumerate(arguments):
                    if isinstance(argument, np.generic):
                        kernel._set_arg_buf(position, argument)
                    elif isinstance(argument, int):  # bytes of workgroup memory
                        kernel.set_arg(position, cl.LocalMemory(argument))
                    else:
                        kernel.set_arg(position, argument)
                size = (grid[0] * block[0], grid[1] * block[1], grid[2] * block[2])
                event = cl.enqueue_nd_range_kernel(queue, kernel, size, block)
            except cl.Error as error:
                raise DeviceFailed(
                    f"{model} refused to launch grid {grid} of {block}: {cause(error)}",
                    "use a smaller block, and arguments of the types that the kernel takes",
                ) from None
            free.append(kernel)
            return event

        return start

    def time(self, stream: int, launch: Callable[[], Any]) -> OpenCLTicket:
        """By the launch's own event."""
        del stream
        ticket = OpenCLTicket(launch())
        self._opened()[1].flush()  # or a driver may leave it where it is
        return ticket

    @property
    def parts_at(self) -> int:
        """What the device aligns the memory of arguments to; it is told in bits."""
        return int(self._device.mem_base_addr_align) // 8

    def part(self, memory: Any, start: int, nbytes: int) -> Any:
        return memory.get_sub_region(start, nbytes)

    def _built(self, text: Text) -> Any | Unbuilt:
        context, _ = self._opened()
        self._check()
        with warnings.catch_warnings():  # the compiler's own, about names nobody reads
            warnings.simplefilter("ignore", cl.CompilerWarning)
            try:
                return cl.Program(context, text.source).build([*_ALWAYS, *text.options])
            except (cl.RuntimeError, cl.LogicError) as error:
                return Unbuilt(f"{self._info.model} could not build the kernel", str(error))

    def _loaded(self, text: Text, rehearsal: Rehearsal) -> Any | None:
        binary = self._kept.get(self._name(text, rehearsal))
        if binary is None:
            return None
        try:
            program = cl.Program(self._opened()[0], [self._device], [binary])
            return program.build([*_ALWAYS, *text.options])
        except (cl.RuntimeError, cl.LogicError):  # of another driver than it says
            return None

    def _name(self, text: Text, rehearsal: Rehearsal) -> str:
        launch = (str(rehearsal.block), str(_wide(rehearsal))) if self._rehearses else ()
        own = (self._info.model, self._info.toolchain, *launch)
        return name_of(
            "text", *own, *_ALWAYS, *text.options, text.entry, text.included, text.source
        )

    def _declared_bytes(self, kernel: Any) -> int:
        """Workgroup memory that a kernel declares; its arguments come on top."""
        name = cl.kernel_work_group_info.LOCAL_MEM_SIZE
        return int(kernel.get_work_group_info(name, self._device))

    def _rehearse(self, kernel: Any, rehearsal: Rehearsal) -> None:
        """Launch part of it on ones, so that the driver compiles what a launch asks for.

        As many elements as a launch has, so that what a kernel reads and writes is there, and ones,
        which are indices of something and divide everything.
        """
        taken, arguments = _taken(kernel), rehearsal.arguments
        if len(taken) != len(arguments) or any(map(Taken.refusal, taken, arguments)):
            return  # which is said where it is launched
        shared = self._declared_bytes(kernel) + sum(
            given[1] for given in arguments if given[0] == "local"
        )
        if shared > self._info.limits.group_bytes:  # as above; PoCL ends the process
            return
        needed = sum(
            np.dtype(given[1]).itemsize * given[2] + 2 * _AROUND
            for given in arguments
            if given[0] == "array"
        )
        free = host.free_bytes()
        if free is not None and needed > free // _SHARE:
            return
        held: list[Any] = []  # a kernel's argument keeps no buffer
        try:
            for position, given in enumerate(arguments):
                held.append(self._set(kernel, position, given))
        except cl.Error:  # a launch says so itself
            return
        wide = _wide(rehearsal)
        size = tuple(
            min(groups, -(-_WIDE // items)) * items if along else items
            for groups, items, along in zip(rehearsal.grid, rehearsal.block, wide, strict=True)
        )
        if 0 in size or prod(rehearsal.block) > self._info.limits.max_threads:
            return
        try:
            _, queue = self._opened()
            cl.enqueue_nd_range_kernel(queue, kernel, size, rehearsal.block).wait()
        except cl.Error:  # as above
            return

    def _set(self, kernel: Any, position: int, given: tuple[Any, ...]) -> Any:
        """Give a rehearsal's argument to a kernel, and what has to be kept for it."""
        match given:
            case ("array", dtype, elements):
                # In the midst of others, or what is written beside it ends the process later on.
                itemsize = np.dtype(dtype).itemsize
                start = -(-_AROUND // self.parts_at) * self.parts_at
                nbytes = max(elements, 1) * itemsize
                ones = np.ones(-(-(start + nbytes + _AROUND) // itemsize), dtype)
                flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
                whole = cl.Buffer(self._opened()[0], flags, hostbuf=ones)
                made = self.part(whole, start, nbytes)
                kernel.set_arg(position, made)
                return made
            case ("number", dtype, value):
                kernel._set_arg_buf(position, np.dtype(dtype).type(value))
            case (_, nbytes):
                kernel.set_arg(position, cl.LocalMemory(nbytes))
            case _:
                raise AssertionError(f"{given} is no argument")
        return None


def _taken(kernel: Any) -> tuple[Taken, ...]:
    """What a kernel takes, by its compiler's word."""
    return tuple(_taken_at(kernel, place) for place in range(kernel.num_args))


def _taken_at(kernel: Any, place: int) -> Taken:
    info, where = cl.kernel_arg_info, cl.kernel_arg_address_qualifier
    try:
        said = kernel.get_arg_info(place, info.TYPE_NAME)
        access = kernel.get_arg_info(place, info.ACCESS_QUALIFIER)
        address = kernel.get_arg_info(place, info.ADDRESS_QUALIFIER)
    except cl.Error:  # of a binary that was made without
        return Taken()
    if access != cl.kernel_arg_access_qualifier.NONE or said in _OTHERS:
        return Taken(said, said=said)
    kinds = {where.PRIVATE: "number", where.LOCAL: "local"}
    return Taken(kinds.get(address, "array"), said=said)


def _wide(rehearsal: Rehearsal) -> tuple[bool, bool, bool]:
    """Along which axes a launch has so many items that it is compiled for another way."""
    x, y, z = (a * b >= _WIDE for a, b in zip(rehearsal.grid, rehearsal.block, strict=True))
    return x, y, z
