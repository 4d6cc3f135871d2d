"""Kernels of PyOpenCL: their local size, learned from the launches that are made anyway."""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import gcd, prod
from typing import Any

import numpy as np
import pyopencl as cl

from vyre.adapter import blocks
from vyre.adapter.blocks import Shape, shape_of
from vyre.adapter.calls import Calls, Entry
from vyre.adapter.failure import Raised
from vyre.adapter.kind import Job, Kind, Portable, Start
from vyre.adapter.looks import NOT_SEEN, Looks
from vyre.adapter.opencl_copies import on_copies, portable_launch, refuse_to_copy_much
from vyre.adapter.opencl_program import binary_of, options_of, sign_in, source_of
from vyre.adapter.places import sooner
from vyre.adapter.trial.trials import Check
from vyre.backend import opencl as backend
from vyre.errors import InvalidInput
from vyre.learn import rules
from vyre.learn.explain import Explanation
from vyre.learn.pace import Pace
from vyre.model import Clocks, Decision, DeviceInfo, DeviceKind, Knobs
from vyre.plain import shown
from vyre.policy.contest import Progress

Local = Shape | None

_MOST_QUEUES = 64
"""That are known at sight, and held; a stream of ever-new ones forgets all."""

DRIVERS = "driver"
"""What a config says whose local size is left to the driver."""

_ITS_OWN = re.compile(r"-I *(\"[^\"]*pyopencl.cl\"|\S*pyopencl.cl)(?=\s|$)")
"""Where PyOpenCL keeps its headers, which it adds to all options: it is another place elsewhere."""

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

    def prepare(self) -> bool:
        """Events are all there is to it."""
        return True

    def time(self, stream: int, launch: Callable[[], object]) -> backend.OpenCLTicket | None:
        """The launch's own event tells, where its queue lets events tell."""
        del stream
        event: Any = launch()
        queue = event.get_info(cl.event_info.COMMAND_QUEUE)
        if not _is_timed(queue):
            return None
        queue.flush()  # or a driver may leave it where it is
        return backend.OpenCLTicket(event)

    def is_capturing(self, stream: int) -> bool:  # noqa: ARG002  # nothing records launches
        return False

    def clocks(self) -> Clocks | None:
        return None


@dataclass(frozen=True, slots=True, eq=False)
class _Queue:
    """What of a queue tells launches apart: programs may make one for each.

    There is one of each kind, told apart by identity, because every launch looks for its own.
    """

    device: Any
    is_timed: bool


@functools.cache
def _queue_of(device: Any, *, is_timed: bool) -> _Queue:
    return _Queue(device, is_timed)


def _is_timed(queue: Any) -> bool:
    return bool(queue.properties & cl.command_queue_properties.PROFILING_ENABLE)


class TunedKernel:
    """A kernel that is called as before; the local size that it is given is the default."""

    def __init__(
        self, kernel: Any, local: tuple[Local, ...] | None, pad: bool, check: Check | None
    ) -> None:
        self._kernel, self._local, self._pad = kernel, local, pad
        self.name = str(kernel.function_name)
        self._calls = Calls(self.name, check=check)
        self._texts: dict[int, str] = {}
        self._queues: dict[Any, _Queue] = {}
        self._again, self._looks = self._calls.again, Looks()

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
        entry: Entry | None = None
        try:
            if not g_times_l:
                gcd(*global_size, *(local_size or ()))  # not of 64.0, which is found where 64 was
                looked, by = self._looks.latest(args), rules.usual or rules.rule()
                entry = self._again[by, self._queues[queue], global_size, local_size, looked]
        except NOT_SEEN:  # or a queue that is new, sizes in a list
            pass
        if entry is None:
            size, local = self._sizes(global_size, local_size)
            if g_times_l and local is not None:
                size = _product(size, local)
                global_offset = None if global_offset is None else _product(global_offset, local)
            if 0 in size:  # nothing to learn from, and the library says what it says
                return self._kernel(
                    queue,
                    size,
                    local,
                    *args,
                    global_offset=global_offset,
                    wait_for=wait_for,
                    allow_empty_ndrange=allow_empty_ndrange,
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
        refuse_to_copy_much(queue, args, f"tuning {self.name}")
        return self._entry(queue, size, local, args).tune(
            (queue, args, None, None), copies=on_copies, budget_s=budget_s, progress=progress
        )

    def _sizes(self, global_size: object, local_size: object) -> tuple[Shape, Local]:
        size = shape_of(global_size, "global_size", self.name)
        local = None if local_size is None else shape_of(local_size, "local_size", self.name)
        if local is not None and (len(local) != len(size) or 0 in local):
            raise InvalidInput(
                f"local_size of {self.name} is {shown(local)}, and global_size {shown(size)}",
                "give as many axes to both, and sizes of at least 1",
            )
        return size, local

    def _entry(self, queue: Any, size: Shape, local: Local, args: tuple[Any, ...]) -> Entry:
        of_queue = self._queues.get(queue)
        if of_queue is None:
            of_queue = _queue_of(queue.device, is_timed=_is_timed(queue))
            if len(self._queues) >= _MOST_QUEUES:
                self._queues.clear()  # of one that was left, its library warns even here
            self._queues[queue] = of_queue
        key = (of_queue, size, local, self._looks.exactly(args))
        entry = self._calls.find(key)
        if entry is not None:
            return self._calls.keep(key, entry)
        if not of_queue.is_timed:
            warnings.warn(
                f"{self.name} is launched on a queue that gives no times, so nothing is learned; "
                "make it with properties=pyopencl.command_queue_properties.PROFILING_ENABLE",
                UntimedQueueWarning,
                stacklevel=3,
            )
        device = of_queue.device
        able, left_out = _able(self._kernel, device, size, local, self._local, pad=self._pad)
        info = backend.described(device)
        kind = Kind(
            name=self.name,
            text=self._text(device),
            place=Queues(info),
            configs=able if of_queue.is_timed else able[:1],
            sizes=(*size, *(n for n in map(_doublings, args) if n is not None)),
            traits=(
                f"{len(size)} axes",
                f"default {able[0].text}",
                *(type(one).__name__ for one in args),
            ),
            size=prod(size),
            left_out=left_out,
            warm=info.kind is DeviceKind.GPU,  # drivers for processors compile each local size
        )
        variants = _Locals(self._kernel, size, self._pad)
        entry = self._calls.add(key, kind, variants, (queue, args, None, None))
        return self._calls.keep(key, entry)

    def _text(self, device: Any) -> str:
        """The source, or the binary where there is none, and how it was built."""
        if device.int_ptr not in self._texts:
            program = self._kernel.program
            built = _ITS_OWN.sub("", options_of(program, device)).strip()
            text = source_of(program) or binary_of(program, device).hex()
            self._texts[device.int_ptr] = f"{self.name}\n{built}\n{text}"
        return self._texts[device.int_ptr]


def _doublings(argument: Any) -> int | None:
    """The largest number that counts as one does: it may say how often a loop goes round."""
    if isinstance(argument, (int, np.integer)):
        return (1 << int(argument).bit_length()) - 1
    return None


def _product(sizes: Iterable[int], local: Iterable[int]) -> Shape:
    return tuple(a * b for a, b in zip(sizes, local, strict=True))


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
                raise Raised(error) from error

        return start

    def portable(self, arguments: Sequence[Any]) -> Portable:
        """The kernel as its source, and its buffers' bytes."""
        return portable_launch(self.kernel, self.size, arguments, pad=self.pad)


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
        sign = sign_in(text, options_of(kernel.program, device), pad=pad)
        if sign is not None:
            return blocks.alone(knobs_of(given), sign, "local", "local sizes")
        stated = (None, *blocks.usual(len(size)))
    most = kernel.get_work_group_info(cl.kernel_work_group_info.WORK_GROUP_SIZE, device)
    axes = device.max_work_item_sizes
    return blocks.sorted_out(
        knobs_of(given),
        ((knobs_of(one), _said(one), _why_not(one, size, most, axes, pad=pad)) for one in stated),
        f"{name} has no other local size for {_said(size)} items",
    )


def _why_not(local: Local, size: Shape, most: int, axes: Sequence[int], *, pad: bool) -> str | None:
    if local is None:
        return None
    if len(local) != len(size):
        return f"it has {len(local)} axes, and the launch {len(size)}"
    if prod(local) > most or any(a > b for a, b in zip(local, axes, strict=False)):
        return f"the device allows {most} of this kernel"
    if not pad and not blocks.divides(local, size):
        return f"it does not divide {_said(size)}"
    return None


def _padded(size: Shape, local: Local) -> Shape:
    if local is None:
        return size
    return blocks.padded(size, local)


def knobs_of(local: Local) -> Knobs:
    """A local size as a config.

    >>> knobs_of((16, 4)).text, knobs_of(None).text
    ('local_x=16, local_y=4', 'local=driver')
    """
    if local is None:
        return Knobs.of({"local": DRIVERS})
    return blocks.knobs_of(local, "local")


def local_of(config: Knobs) -> Local:
    """The local size of a config."""
    return blocks.block_of(config) or None


def _said(sizes: Local) -> str:
    return "the driver's" if sizes is None else blocks.said(sizes)


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
    stated = None if local is None else blocks.stated(local, "local", "a local size", name)
    return TunedKernel(kernel, stated, bool(pad), Check.of(check, rtol, atol))
