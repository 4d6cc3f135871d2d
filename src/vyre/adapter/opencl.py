"""Kernels of PyOpenCL: their local size, learned from the launches that are made anyway."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array

from vyre.adapter.calls import Calls, Entry
from vyre.adapter.copying import refuse_beyond
from vyre.adapter.kind import Job, Kind, Portable, Start
from vyre.adapter.places import sooner
from vyre.adapter.trials import Check
from vyre.backend import host
from vyre.backend import opencl as backend
from vyre.errors import DeviceFailed, InvalidInput
from vyre.learn.explain import Explanation
from vyre.learn.pace import Pace
from vyre.model import Clocks, Decision, DeviceInfo, DeviceKind, Knobs
from vyre.plain import shown
from vyre.policy.contest import Progress

Shape = tuple[int, ...]
Local = Shape | None

DRIVERS = "driver"
"""What a config says whose local size is left to the driver."""

_AXES = ("x", "y", "z")
_WIDTHS = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
_SQUARES = (
    *((8, 8), (16, 4), (16, 8), (16, 16), (32, 1), (32, 4), (32, 8), (32, 32), (64, 1), (64, 2)),
    *((64, 4), (128, 1), (128, 2), (256, 1), (512, 1), (1024, 1)),
)
_GROUPS = re.compile(
    r"\b(get_local_id|get_local_size|get_enqueued_local_size|get_group_id|get_num_groups"
    r"|get_local_linear_id|barrier|work_group_\w+|sub_group_\w+|__local|local)\b"
)
"""What makes a result depend on the local size, if anything does."""

_VALUES = (np.generic, np.ndarray, int, float, bytes, type(None))
"""What is passed by value."""

_REFUSED = (cl.LogicError, cl.RuntimeError, cl.MemoryError)


class UntimedQueueWarning(UserWarning):
    """Launches on a queue that gives no times, so that nothing can be learned from them."""


@dataclass(frozen=True, slots=True)
class Queues:
    """A device of OpenCL's, with the queues of whoever launches there."""

    info: DeviceInfo

    @property
    def pace(self) -> Pace:
        return sooner(Pace.beside(self.info, backend.OpenCL.unfelt_ns, backend.OpenCL.shortest_ns))

    def time(self, stream: int, launch: Callable[[], object]) -> backend.OpenCLTicket | None:
        """The launch's own event tells, where its queue lets events tell."""
        del stream
        event: Any = launch()
        queue = event.get_info(cl.event_info.COMMAND_QUEUE)
        if not queue.properties & cl.command_queue_properties.PROFILING_ENABLE:
            return None
        queue.flush()  # or a driver may leave it where it is
        return backend.OpenCLTicket(event)

    def is_capturing(self, stream: int) -> bool:  # noqa: ARG002  # nothing records launches
        return False

    def clocks(self) -> Clocks | None:
        return None


class TunedKernel:
    """A kernel that is called as before; the local size that it is given is the default."""

    def __init__(
        self, kernel: Any, local: tuple[Local, ...] | None, pad: bool, check: Check | None
    ) -> None:
        self._kernel, self._local, self._pad = kernel, local, pad
        self.name = str(kernel.function_name)
        self._calls = Calls(self.name, check=check)
        self._texts: dict[int, str] = {}

    def __call__(
        self,
        queue: Any,
        global_size: Sequence[int],
        local_size: Sequence[int] | None,
        *args: Any,
        global_offset: Sequence[int] | None = None,
        wait_for: Sequence[Any] | None = None,
        g_times_l: bool = False,
        allow_empty_ndrange: bool = False,
    ) -> Any:
        """Launch it once, and give its event."""
        key = (queue, global_size, local_size, g_times_l, *map(type, args))
        try:
            entry = self._calls.find(key)
        except TypeError:  # sizes in a list
            entry = None
        if entry is None:
            size, local = self._sizes(global_size, local_size, g_times_l=g_times_l)
            if 0 in size:  # nothing to learn from, and the library says what it says
                return self._kernel(
                    queue, size, local, *args, allow_empty_ndrange=allow_empty_ndrange
                )
            entry = self._entry(queue, size, local, args)
        return entry.launch((queue, args, global_offset, wait_for))

    def explain(self) -> Explanation:
        """What runs, why, and what is known besides."""
        return self._calls.explain()

    def tune(
        self,
        queue: Any,
        global_size: Sequence[int],
        local_size: Sequence[int] | None,
        *args: Any,
        budget_s: float = 2.0,
        progress: Callable[[Progress], None] | None = None,
    ) -> Decision:
        """Look for the fastest local size at once, on copies of the buffers, and remember it."""
        size, local = self._sizes(global_size, local_size)
        _refuse_to_copy_much(queue, args, f"tuning {self.name}")
        return self._entry(queue, size, local, args).tune(
            (queue, args, None, None), copies=_on_copies, budget_s=budget_s, progress=progress
        )

    def _sizes(
        self, global_size: object, local_size: object, *, g_times_l: bool = False
    ) -> tuple[Shape, Local]:
        size = _shape(global_size, "global_size", self.name)
        local = None if local_size is None else _shape(local_size, "local_size", self.name)
        if local is not None and (len(local) != len(size) or 0 in local):
            raise InvalidInput(
                f"local_size of {self.name} is {shown(local)}, and global_size {shown(size)}",
                "give as many axes to both, and sizes of at least 1",
            )
        if g_times_l and local is not None:
            size = tuple(a * b for a, b in zip(size, local, strict=True))
        return size, local

    def _entry(self, queue: Any, size: Shape, local: Local, args: tuple[Any, ...]) -> Entry:
        key = (queue, size, local, False, *map(type, args))
        entry = self._calls.find(key)
        if entry is not None:
            return entry
        timed = queue.properties & cl.command_queue_properties.PROFILING_ENABLE
        if not timed:
            warnings.warn(
                f"{self.name} is launched on a queue that gives no times, so nothing is learned; "
                "make it with properties=pyopencl.command_queue_properties.PROFILING_ENABLE",
                UntimedQueueWarning,
                stacklevel=4,
            )
        device = queue.device
        able, left_out = _able(self._kernel, device, size, local, self._local, pad=self._pad)
        info = backend.described(device)
        kind = Kind(
            name=self.name,
            text=self._text(device),
            place=Queues(info),
            configs=able if timed else able[:1],
            sizes=size,
            traits=(f"{len(size)} axes", f"default {able[0].text}", *_kinds(args)),
            size=prod(size),
            left_out=left_out,
            warm=info.kind is DeviceKind.GPU,  # drivers for processors compile each local size
        )
        variants = _Locals(self._kernel, size, self._pad)
        return self._calls.add(key, kind, variants, (queue, args, None, None))

    def _text(self, device: Any) -> str:
        """The source, or the binary where there is none, and how it was built."""
        if device.int_ptr not in self._texts:
            program = self._kernel.program
            built = program.get_build_info(device, cl.program_build_info.OPTIONS)
            text = source_of(program) or program.get_info(cl.program_info.BINARIES)[0].hex()
            self._texts[device.int_ptr] = f"{self.name}\n{built}\n{text}"
        return self._texts[device.int_ptr]


def _kinds(args: Iterable[Any]) -> tuple[str, ...]:
    """What the arguments of a launch are, in words."""
    return tuple(
        f"{type(one).__name__} {one.dtype}" if hasattr(one, "dtype") else type(one).__name__
        for one in args
    )


def _on_copies(arguments: Sequence[Any]) -> Sequence[Any]:
    """The same launch on copies of its buffers, which waits for nothing."""
    queue, args, offset, _ = arguments
    return queue, tuple(_copied(queue, n, one) for n, one in enumerate(args)), offset, None


def _refuse_to_copy_much(queue: Any, args: Iterable[Any], asked: str) -> None:
    """Refuse copies of buffers where too little memory is free, as far as that can be known."""
    sizes = [
        one.nbytes if isinstance(one, cl_array.Array) else one.size
        for one in args
        if isinstance(one, (cl_array.Array, cl.Buffer))
    ]
    device = queue.device
    refuse_beyond(
        sum(sizes),
        host.free_bytes() if device.host_unified_memory else device.global_mem_size,
        asked,
    )


@dataclass(frozen=True, slots=True)
class _Locals:
    """How a kernel is launched under each local size: nothing is compiled for it by us."""

    kernel: Any
    size: Shape
    pad: bool

    def is_ready(self, config: Knobs) -> bool:  # noqa: ARG002  # all are
        return True

    def job(self, config: Knobs) -> Job | None:  # noqa: ARG002  # all are ready
        return None

    def make(self, config: Knobs) -> Start:
        kernel, local = self.kernel, local_of(config)
        size = _padded(self.size, local) if self.pad else self.size

        def start(arguments: Sequence[Any], stream: int) -> Any:
            del stream  # a launch has its queue
            queue, args, offset, wait_for = arguments
            try:
                if offset is None and wait_for is None:
                    return kernel(queue, size, local, *args)
                return kernel(queue, size, local, *args, global_offset=offset, wait_for=wait_for)
            except _REFUSED as error:
                raise _failure(error, config) from error

        return start

    def portable(self, arguments: Sequence[Any]) -> Portable:
        """The kernel as its source, and its buffers' bytes."""
        queue, args, offset, _ = arguments
        program, device = self.kernel.program, queue.device
        source = source_of(program)
        if source is None:
            raise InvalidInput(
                f"check= of {self.kernel.function_name}, whose program has no source",
                "build it from source, or leave check= out",
            )
        _refuse_to_copy_much(queue, args, "check=")
        described = [_described(queue, one, number) for number, one in enumerate(args)]
        kernel = {
            "source": source,
            "options": program.get_build_info(device, cl.program_build_info.OPTIONS),
            "name": self.kernel.function_name,
            "platform": device.platform.name,
            "device": device.name,
            "size": list(self.size),
            "offset": None if offset is None else list(offset),
            "pad": self.pad,
            "arguments": [one for one, _ in described],
        }
        names = [f"argument {n}" for n, (one, _) in enumerate(described) if one["is"] == "buffer"]
        values = tuple(value for _, value in described)
        return Portable(
            entry="vyre.adapter.opencl:runs", kernel=kernel, arguments=values, names=tuple(names)
        )


def runs(kernel: Mapping[str, Any]) -> Callable[[Mapping[str, Any], Sequence[Any]], list[Any]]:
    """What runs a kernel on copies of its buffers, in the process that may die."""
    device = next(
        one
        for platform in cl.get_platforms()
        if platform.name == kernel["platform"]
        for one in platform.get_devices()
        if one.name == kernel["device"]
    )
    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    built = cl.Program(context, kernel["source"]).build(kernel["options"])
    function = cl.Kernel(built, kernel["name"])
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR

    def run(settings: Mapping[str, Any], values: Sequence[Any]) -> list[Any]:
        given: list[Any] = []
        for described, value in zip(kernel["arguments"], values, strict=True):
            match described["is"]:
                case "buffer" if value.nbytes:
                    given.append(cl.Buffer(context, flags, hostbuf=value))
                case "local":
                    given.append(cl.LocalMemory(described["bytes"]))
                case _:
                    given.append(value)
        local = local_of(Knobs.of(settings))
        size = _padded(tuple(kernel["size"]), local) if kernel["pad"] else tuple(kernel["size"])
        function(queue, size, local, *given, global_offset=kernel["offset"])
        written = []
        for described, value, buffer in zip(kernel["arguments"], values, given, strict=True):
            if described["is"] == "buffer":
                if value.nbytes:
                    cl.enqueue_copy(queue, value, buffer)
                written.append(value)
        queue.finish()
        return written

    return run


def _described(queue: Any, argument: Any, number: int) -> tuple[dict[str, Any], Any]:
    """An argument as another process has it."""
    if isinstance(argument, cl_array.Array):
        return {"is": "buffer"}, argument.get(queue)
    if isinstance(argument, cl.Buffer):
        return {"is": "buffer"}, _bytes_of(queue, argument)
    if isinstance(argument, cl.LocalMemory):
        return {"is": "local", "bytes": argument.size}, None
    if isinstance(argument, _VALUES):
        return {"is": "value"}, argument
    raise InvalidInput(
        f"argument {number}, {shown(argument)}, cannot be had in another process",
        "leave check= out, or pass buffers and plain values",
    )


def _bytes_of(queue: Any, buffer: Any) -> np.ndarray[Any, Any]:
    host = np.empty(buffer.size, np.uint8)
    cl.enqueue_copy(queue, host, buffer)
    return host


def _copied(queue: Any, number: int, argument: Any) -> Any:
    if isinstance(argument, cl_array.Array):
        return argument.copy(queue)
    if isinstance(argument, cl.Buffer):
        made = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, argument.size)
        cl.enqueue_copy(queue, made, argument)
        return made
    if isinstance(argument, (*_VALUES, cl.LocalMemory, cl.Sampler)):
        return argument
    raise InvalidInput(
        f"argument {number}, {shown(argument)}, cannot be copied",
        "pass buffers and plain values, or call it and let it learn",
    )


def source_of(program: Any) -> str | None:
    """The text that a program was built from, where it is known."""
    kept = getattr(program, "_source", None)
    if isinstance(kept, str) and kept:
        return kept
    try:
        return program.get_info(cl.program_info.SOURCE) or None
    except cl.Error:
        return None


def _able(
    kernel: Any,
    device: Any,
    size: Shape,
    given: Local,
    stated: tuple[Local, ...] | None,
    *,
    pad: bool,
) -> tuple[tuple[Knobs, ...], tuple[str, ...]]:
    """The configs that can run a launch, what it was given first; and what cannot, and why."""
    name = kernel.function_name
    fixed = kernel.get_work_group_info(cl.kernel_work_group_info.COMPILE_WORK_GROUP_SIZE, device)
    if any(fixed):
        why = f"it was compiled for a local size of {_said(tuple(fixed))} alone"
        return (knobs_of(given),), (why,)
    if stated is None:
        text = source_of(kernel.program)
        sign = _GROUPS.search(_without_comments(text)) if text is not None else None
        if text is None or sign is not None:
            why = "its source is not known" if sign is None else f"its source says {sign[0]}"
            return (knobs_of(given),), (
                f"all other local sizes: {why}, so what it gives may depend on them; "
                "local= names those that give the same",
            )
        stated = _usual(len(size))
    most = kernel.get_work_group_info(cl.kernel_work_group_info.WORK_GROUP_SIZE, device)
    able, left_out = {knobs_of(given): None}, []
    for local in stated:
        why_not = _why_not(local, size, most, device.max_work_item_sizes, pad=pad)
        if why_not is None:
            able[knobs_of(local)] = None
        else:
            left_out.append(f"{_said(local)}: {why_not}")
    if len(able) == 1:
        left_out.append(f"{name} has no other local size for {_said(size)} items")
    return tuple(able), tuple(left_out)


def _why_not(local: Local, size: Shape, most: int, axes: Sequence[int], *, pad: bool) -> str | None:
    if local is None:
        return None
    if len(local) != len(size):
        return f"it has {len(local)} axes, and the launch {len(size)}"
    if prod(local) > most or any(a > b for a, b in zip(local, axes, strict=False)):
        return f"the device allows {most} of this kernel"
    if not pad and any(n % m for n, m in zip(size, local, strict=True)):
        return f"it does not divide {_said(size)}"
    return None


def _usual(axes: int) -> tuple[Local, ...]:
    if axes == 1:
        return (None, *((n,) for n in _WIDTHS))
    if axes == 2:
        return (None, *_SQUARES)
    cubes = [
        one for one in product((1, 2, 4, 8, 16, 32, 64), repeat=axes) if 32 <= prod(one) <= 512
    ]
    return (None, *(one for one in cubes if one == tuple(sorted(one, reverse=True))))


def _padded(size: Shape, local: Local) -> Shape:
    if local is None:
        return size
    return tuple(-(-n // m) * m for n, m in zip(size, local, strict=True))


def knobs_of(local: Local) -> Knobs:
    """A local size as a config.

    >>> knobs_of((16, 4)).text, knobs_of(None).text
    ('local_x=16, local_y=4', 'local=driver')
    """
    if local is None:
        return Knobs.of({"local": DRIVERS})
    if len(local) == 1:
        return Knobs.of({"local": local[0]})
    return Knobs.of({f"local_{axis}": n for axis, n in zip(_AXES, local, strict=False)})


def local_of(config: Knobs) -> Local:
    """The local size of a config."""
    sizes = tuple(one for _, one in config.settings if isinstance(one, int))
    return sizes or None


def _shape(given: object, what: str, name: str) -> Shape:
    listed = (given,) if isinstance(given, (int, np.integer)) else given
    if isinstance(listed, Iterable) and not isinstance(listed, (str, bytes)):
        sizes = tuple(listed)
        whole = all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in sizes)
        if whole and 1 <= len(sizes) <= len(_AXES) and all(n >= 0 for n in sizes):
            return tuple(map(int, sizes))
    raise InvalidInput(
        f"{what} of {name} is {shown(given)}", "give one to three whole numbers of at least 0"
    )


def _said(sizes: Local) -> str:
    return "the driver's" if sizes is None else "x".join(map(str, sizes))


_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def _without_comments(text: str) -> str:
    return _COMMENT.sub(" ", text)


def _failure(error: Exception, config: Knobs) -> DeviceFailed:
    said = str(error).strip().splitlines()
    return DeviceFailed(
        f"{config.text} cannot be launched: {said[0] if said else type(error).__name__}",
        "give another local size",
    )


def tuned(
    kernel: Any,
    local: Iterable[int | Sequence[int] | None] | None = None,
    *,
    pad: bool = False,
    check: bool = False,
    rtol: float = 0.0,
    atol: float = 0.0,
) -> TunedKernel:
    """Let Vyre choose the local size of a `pyopencl.Kernel`: launches go on as before.

    Args:
        kernel: what is launched; the result is called as it is: with a queue, a global size, the
            local size that is the default (or None), and its arguments.
        local: the local sizes that may run it, by its author's word; a `None` among them leaves it
            to the driver. Left out, the usual ones are tried, unless the source asks for a local
            id, a group or workgroup memory: then what it gives may depend on them.
        pad: that more items than asked for do no harm, because the kernel looks where it is; then
            local sizes that do not divide the global size are tried, too.
        check: try each on copies of the buffers, in another process, before it serves.
        rtol: how close results must be, for arrays of floats; 0 with `atol` is bitwise.
        atol: the same, absolutely.
    """
    if not isinstance(kernel, cl.Kernel):
        raise InvalidInput(
            f"{shown(kernel)} is no pyopencl.Kernel",
            "give one, such as pyopencl.Kernel(program, name)",
        )
    name = kernel.function_name
    stated = None
    if local is not None:
        if isinstance(local, (int, np.integer, str, bytes)):
            raise InvalidInput(f"local={shown(local)} of {name}", "give a list, such as (64, 128)")
        stated = tuple(None if one is None else _shape(one, "a local size", name) for one in local)
        if not stated or any(one is not None and 0 in one for one in stated):
            raise InvalidInput(
                f"local={shown(local)} of {name}", "give at least one, of sizes of at least 1"
            )
    return TunedKernel(kernel, stated, bool(pad), Check.of(check, rtol, atol))
