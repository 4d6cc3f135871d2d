"""Launches of PyOpenCL on copies of their buffers, here and in another process."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyopencl as cl

from vyre.adapter import blocks
from vyre.adapter.blocks import Shape
from vyre.adapter.kind import Portable
from vyre.adapter.opencl_program import options_of, source_of
from vyre.adapter.trial.around import MARGIN, UNTOUCHED, Surrounded
from vyre.adapter.trial.copying import refuse_beyond
from vyre.adapter.trial.together import Form, Together, begins, groups, taken_together
from vyre.backend import host
from vyre.errors import InvalidInput
from vyre.model import Knobs
from vyre.plain import shown

_VECTOR = re.compile(r"([a-z]+)\d*\*$")

_VALUES = (np.generic, np.ndarray, int, float, bytes, type(None))
"""What is passed by value."""

_NUMBERS = {
    "char": "i1",
    "short": "i2",
    "int": "i4",
    "long": "i8",
    "half": "f2",
    "float": "f4",
    "uchar": "u1",
    "ushort": "u2",
    "uint": "u4",
    "ulong": "u8",
    "double": "f8",
}
"""What numbers of OpenCL's are called, and what they are."""


def on_copies(arguments: Sequence[Any]) -> Sequence[Any]:
    """The same launch on copies of its buffers, which waits for nothing."""
    queue, args, offset, _ = arguments
    forms = _forms_of(args)
    made: dict[int, Any] = {}
    for group in groups(forms):
        shared = {number: forms[number] for number in group}
        first = begins([*shared.values()])
        last = max(one.bounds[1] for one in shared.values())
        whole = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, last - first)
        for number, form in shared.items():
            cl.enqueue_copy(queue, whole, args[number], dst_offset=form.at - first)
        made |= _parts_of(whole, -first, shared)
    copies = (made[n] if n in made else _copied(queue, n, one) for n, one in enumerate(args))
    return queue, tuple(copies), offset, None


def _forms_of(args: Sequence[Any]) -> dict[int, Form]:
    """How buffers lie, of which several may be one, or parts of one."""
    forms: dict[int, Form] = {}
    for number, one in enumerate(args):
        if _is_buffer(one):
            whole = one.get_info(cl.mem_info.ASSOCIATED_MEMOBJECT) or one
            at = one.get_info(cl.mem_info.OFFSET)
            forms[number] = Form.rows((one.size,), np.dtype(np.uint8), whole.int_ptr, at)
    return forms


def _parts_of(whole: Any, start: int, forms: Mapping[int, Form]) -> dict[int, Any]:
    """Parts of a buffer, which begin so far beyond where they say; what was one stays one."""
    made: dict[Form, Any] = {}
    for form in forms.values():
        if form not in made:
            made[form] = whole.get_sub_region(start + form.at, form.shape[0])
    return {number: made[form] for number, form in forms.items()}


def refuse_to_copy_much(queue: Any, args: Iterable[Any], asked: str, beside: int = 0) -> None:
    """Refuse copies of buffers where too little memory is free, as far as that can be known."""
    device, needed = queue.device, sum(one.size + beside for one in args if _is_buffer(one))
    free = host.free_bytes() if device.host_unified_memory else device.global_mem_size
    refuse_beyond(needed, free, asked, beside)


def _is_buffer(argument: Any) -> bool:
    """Whether it is memory that can be copied byte by byte, of a pool's or of its own."""
    return isinstance(argument, cl.MemoryObjectHolder) and not isinstance(argument, cl.Image)


def portable_launch(kernel: Any, size: Shape, arguments: Sequence[Any], *, pad: bool) -> Portable:
    """A kernel as its source, and its buffers' bytes, as another process can have them."""
    queue, args, offset, _ = arguments
    program, device = kernel.program, queue.device
    source = source_of(program)
    if source is None:
        raise InvalidInput(
            f"check= of {kernel.function_name}, whose program has no source",
            "build it from source, or leave check= out",
        )
    refuse_to_copy_much(queue, args, "check=", _before(device) + MARGIN)
    described = [_described(queue, one, number) for number, one in enumerate(args)]
    taken = {
        "source": source,
        "options": options_of(program, device),
        "name": kernel.function_name,
        "platform": device.platform.name,
        "device": device.name,
        "size": list(size),
        "offset": None if offset is None else list(offset),
        "pad": pad,
        "arguments": [one for one, _ in described],
    }
    names = [f"argument {n}" for n, (one, _) in enumerate(described) if one["is"] == "buffer"]
    lies = dict.fromkeys(range(len(args)), 0)  # a buffer begins where the device has it
    values = taken_together([value for _, value in described], _forms_of(args), lies)
    return Portable(
        entry="vyre.adapter.opencl_copies:runs", kernel=taken, arguments=values, names=tuple(names)
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
    options = f"{kernel['options']} -cl-kernel-arg-info"  # what numbers of Python's are there
    built = cl.Program(context, kernel["source"]).build(options)
    function = cl.Kernel(built, kernel["name"])

    def run(settings: Mapping[str, Any], values: Sequence[Any]) -> list[Any]:
        given: list[Any] = []
        held: dict[int, Surrounded] = {}
        shared: dict[int, Any] = {}
        for number, (described, value) in enumerate(zip(kernel["arguments"], values, strict=True)):
            match described["is"]:
                case "buffer" if isinstance(value, Together):
                    held[number], whole = _surrounded(queue, value.held)
                    shared |= _parts_of(whole, held[number].start, value.parts)
                    given.append(shared[number])
                case "buffer" if number in shared:
                    given.append(shared[number])
                case "buffer":
                    held[number], _ = _surrounded(queue, value)
                    given.append(held[number].array)
                case "local":
                    given.append(cl.LocalMemory(described["bytes"]))
                case _:
                    given.append(_typed(function, number, value))
        local = blocks.block_of(Knobs.of(settings)) or None
        size = tuple(kernel["size"])
        if kernel["pad"] and local is not None:
            size = blocks.padded(size, local)
        function(queue, size, local, *given, global_offset=kernel["offset"])
        written: list[Any] = []
        for number, described in enumerate(kernel["arguments"]):
            if described["is"] == "buffer":
                written.append(_elements(function, number, _bytes_of(queue, given[number])))
        written += [one.beside(f"argument {number}") for number, one in held.items()]
        queue.finish()
        return written

    return run


def _before(device: Any) -> int:
    """Bytes before a part of a buffer: a part begins where the device has it, told in bits."""
    return max(MARGIN, int(device.mem_base_addr_align) // 8)


def _surrounded(queue: Any, held: np.ndarray[Any, Any]) -> tuple[Surrounded, Any]:
    """A copy of a buffer's bytes, which is a part of a larger buffer; and that."""
    start = _before(queue.device)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    filled = np.pad(held, (start, MARGIN), constant_values=UNTOUCHED)
    whole = cl.Buffer(queue.context, flags, hostbuf=filled)

    def read(first: int, last: int) -> np.ndarray[Any, Any]:
        host = np.empty(last - first, np.uint8)
        cl.enqueue_copy(queue, host, whole, src_offset=first)
        return host

    return Surrounded(whole.get_sub_region(start, held.size), start, held.size, read), whole


def _typed(kernel: Any, number: int, value: Any) -> Any:
    """A number of Python's as the kernel has it, which its caller may have told the library."""
    if not isinstance(value, (int, float)):
        return value
    name = kernel.get_arg_info(number, cl.kernel_arg_info.TYPE_NAME)
    return np.dtype(_NUMBERS[name]).type(value) if name in _NUMBERS else value


def _elements(kernel: Any, number: int, value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The bytes of a buffer as the numbers that the kernel says it points to, if it does."""
    name = kernel.get_arg_info(number, cl.kernel_arg_info.TYPE_NAME)
    plain = _VECTOR.match(name)
    if plain is None or plain[1] not in _NUMBERS:
        return value
    dtype = np.dtype(_NUMBERS[plain[1]])
    return value[: value.size // dtype.itemsize * dtype.itemsize].view(dtype)


def _described(queue: Any, argument: Any, number: int) -> tuple[dict[str, Any], Any]:
    """An argument as another process has it."""
    if _is_buffer(argument):
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
    if _is_buffer(argument):
        made = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, argument.size)
        cl.enqueue_copy(queue, made, argument)
        return made
    if isinstance(argument, (*_VALUES, cl.LocalMemory, cl.Sampler)):
        return argument
    raise InvalidInput(
        f"argument {number}, {shown(argument)}, cannot be copied",
        "pass buffers and plain values, or call it and let it learn",
    )
