"""How each library's arrays on CUDA devices are recognised and seen: CuPy, torch, any that tells.

Nothing here loads a library: a value is recognised by its type, whose module is loaded already.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np

from vyre.runtime.arrays.array import DeviceArray
from vyre.runtime.arrays.in_place import WIDEST, Changed
from vyre.runtime.arrays.shared import devices_sharing
from vyre.runtime.arrays.torch_in_place import layout_of

Shape = tuple[int, ...]
Key = tuple[object, ...]

BFLOAT16 = "bfloat16"
DL_CUDA = 2
"""What DLPack calls a CUDA device."""

_ALIGNMENT = WIDEST - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a library says of one of its arrays."""

    pointer: int
    shape: Shape
    dtype: str  # by NumPy's name, or `bfloat16`
    device: int  # CUDA's ordinal; -1 is the host
    contiguous: bool
    writeable: bool = True
    stream: int | None = None  # where its contents come to be, if the array itself says
    owner: object = None  # what keeps the memory, besides the array
    refusal: tuple[str, str] | None = None  # a problem of its own kind, and what to do


Watching = Callable[[Sequence[Any], Sequence[int]], tuple[Changed, bool]]
"""What tells from now on whether arrays, at places in what a call gave, were changed in place.

And whether it tells of another array in its place, too, so that no weak reference is needed.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """How the arrays of one library are used."""

    name: str
    look: Callable[[Sequence[Any], list[object], list[Any]], None]
    """Adds to keys what a launch on arrays depends on, and to arguments their addresses. Quick."""
    place: Callable[[Any], int]
    """The address alone; quicker."""
    watch: Watching
    see: Callable[[Any], Seen]
    """Everything, for the first call of its kind."""
    stream: Callable[[int], int | None]
    """The library's current stream on a device, as an integer; None where it has no such thing."""
    maker: Callable[[Seen, bool], Callable[[], Any]] | None
    """What makes arrays like one: zeros, unless it is True that all their elements will be set.

    None where the outputs are Vyre's own arrays.
    """
    copy: Callable[[Any], Any] | None
    make_contiguous: str
    copy_back: str  # from c, what `make_contiguous` gave
    cast: str  # with {name} and {dtype}
    to_device: str
    to_device_written: str


UNREADABLE = (AttributeError, BufferError, KeyError, RuntimeError, TypeError, ValueError)
"""What a library raises that cannot say where an array of its own is."""

_known: dict[type, Kind | None] = {}


def watching(token: Callable[[Any], object]) -> Watching:
    """Watches arrays by a token that changes when an owner makes one array another in place."""

    def watch(given: Sequence[Any], places: Sequence[int]) -> tuple[Changed, bool]:
        tokens = tuple([(at, token(given[at])) for at in places])

        def changed(given: Sequence[Any]) -> bool:
            for at, before in tokens:  # noqa: SIM110  # a generator takes 0.2 us more
                if token(given[at]) != before:
                    return True
            return False

        return changed, False

    return watch


def kind_of(value: object) -> Kind | None:
    """The kind of a value, or None for what is no array of another library's on a device."""
    family = type(value)
    try:
        return _known[family]
    except KeyError:
        pass
    for base in family.__mro__:
        make = _LIBRARIES.get((base.__module__.partition(".")[0], base.__name__))
        if make is not None:
            kind = _known[family] = make()
            return kind
    if isinstance(value, (np.ndarray, np.generic, DeviceArray)):
        _known[family] = None
        return None
    # Not remembered: arrays of one type can live on the host and on devices.
    if _told(value, "__cuda_array_interface__") is not None:
        return INTERFACE
    return DLPACK if _on_cuda(value) else None


def _told(value: object, name: str) -> Any:
    """What a value has under a name; None where it has no such thing, however it says so."""
    try:
        return getattr(value, name, None)
    except Exception:  # noqa: BLE001  # objects of anybody's, some of which raise a KeyError for it
        return None


def _torch() -> Kind:
    torch: Any = sys.modules["torch"]
    raw = torch._C._cuda_getCurrentRawStream if torch.cuda.is_available() else None
    layout = layout_of(torch)
    ask = watching(lambda x: (x.data_ptr(), x.shape, x.is_contiguous(), x.dtype, x.requires_grad))

    def watch(given: Sequence[Any], places: Sequence[int]) -> tuple[Changed, bool]:
        changed = None if layout is None else layout.watch_all(given, places)
        return ask(given, places) if changed is None else (changed, True)

    def look(arrays: Sequence[Any], keys: list[object], arguments: list[Any]) -> None:
        for x in arrays:
            at = x.data_ptr()
            arguments.append(at)
            keys += (x.dtype, x.shape, x.get_device(), at & _ALIGNMENT)
            keys += (x.is_contiguous(), x.requires_grad, x.is_neg(), x.is_conj())

    def see(x: Any) -> Seen:
        refusal = None
        if x.requires_grad:
            refusal = "is a torch tensor that requires grad", "pass {name}.detach()"
        elif x.layout != torch.strided:
            refusal = f"is a torch tensor of layout {x.layout}", "pass {name}.to_dense()"
        elif x.is_neg() or x.is_conj():
            refusal = "is a torch tensor with a lazy sign", "pass {name}.clone()"
        device = x.get_device() if x.is_cuda else -1
        usable = refusal is None and device >= 0
        return Seen(
            pointer=x.data_ptr() if usable else 0,
            shape=tuple(x.shape),
            dtype=str(x.dtype).removeprefix("torch."),
            device=device,
            contiguous=bool(usable and x.is_contiguous()),
            refusal=refusal,
        )

    def maker(like: Seen, is_set: bool) -> Callable[[], Any]:
        make = torch.empty if is_set else torch.zeros
        dtype, device = getattr(torch, like.dtype), f"cuda:{like.device}"
        return partial(make, like.shape, dtype=dtype, device=device)

    return Kind(
        name="torch",
        look=look,
        place=torch.Tensor.data_ptr,
        watch=watch,
        see=see,
        stream=raw or (lambda _: None),
        maker=maker,
        copy=lambda x: x.clone(),
        make_contiguous="{name}.contiguous()",
        copy_back="{name}.copy_(c)",
        cast="{name}.to(torch.{dtype})",
        to_device="pass {name}.cuda(), or {name}.numpy() to copy it for each call",
        to_device_written="pass {name}.numpy(), which is written in place, or make {name} on the "
        "device from the start",
    )


def _cupy() -> Kind:
    cupy: Any = sys.modules["cupy"]
    current = cupy.cuda.get_current_stream

    def look(arrays: Sequence[Any], keys: list[object], arguments: list[Any]) -> None:
        for x in arrays:
            data = x.data
            at = data.ptr
            arguments.append(at)
            keys += (x.dtype, x.shape, data.device_id, at & _ALIGNMENT, x.flags.c_contiguous)

    def see(x: Any) -> Seen:
        return Seen(
            pointer=int(x.data.ptr),
            shape=tuple(x.shape),
            dtype=x.dtype.name,
            device=int(x.data.device_id),
            contiguous=bool(x.flags.c_contiguous),
        )

    def maker(like: Seen, is_set: bool) -> Callable[[], Any]:
        make, dtype = cupy.empty if is_set else cupy.zeros, np.dtype(like.dtype)

        def made() -> Any:
            with cupy.cuda.Device(like.device):
                return make(like.shape, dtype)

        return made

    return Kind(
        name="cupy",
        look=look,
        place=lambda x: x.data.ptr,
        watch=watching(attrgetter("data.ptr", "shape", "strides")),
        see=see,
        stream=lambda _: int(current().ptr),
        maker=maker,
        copy=lambda x: x.copy(),
        make_contiguous="cupy.ascontiguousarray({name})",
        copy_back="{name}[...] = c",
        cast="{name}.astype(cupy.{dtype})",
        to_device="pass cupy.asarray({name})",
        to_device_written="make {name} on the device from the start",
    )


_LIBRARIES: Mapping[tuple[str, str], Callable[[], Kind]] = {
    ("torch", "Tensor"): _torch,
    ("cupy", "ndarray"): _cupy,
}
"""By the root of the module and the name of a class: a new library is one function and one line."""


def _of(
    look_by: Callable[[Any], Seen],
    name: str,
    quick: Callable[[Sequence[Any], list[object], list[Any]], None] | None = None,
) -> Kind:
    """A kind that is seen in one way and makes no arrays; `quick` tells the same in less time."""

    def token(x: Any) -> tuple[int, Key]:
        seen = look_by(x)
        at = seen.pointer
        flags = seen.contiguous, seen.writeable, seen.refusal
        return at, (seen.dtype, seen.shape, seen.device, at & _ALIGNMENT, seen.stream, flags)

    def look(arrays: Sequence[Any], keys: list[object], arguments: list[Any]) -> None:
        for x in arrays:
            at, key = token(x)
            arguments.append(at)
            keys.append(key)

    return Kind(
        name=name,
        look=quick or look,
        place=lambda x: look_by(x).pointer,
        watch=watching(token),
        see=look_by,
        stream=lambda _: None,
        maker=None,
        copy=None,
        make_contiguous="a contiguous copy of {name}",
        copy_back="copy c into {name}",
        cast="{name} as an array of {dtype}",
        to_device="pass an array on a CUDA device",
        to_device_written="pass an array on a CUDA device",
    )


def _see_interface(x: Any) -> Seen:
    told: Mapping[str, Any] = x.__cuda_array_interface__
    dtype, shape = np.dtype(told["typestr"]), tuple(int(size) for size in told["shape"])
    pointer, read_only = told["data"]
    refusal = None
    if told.get("mask") is not None:
        refusal = "is an array with a mask", "pass its elements without the mask"
    return Seen(
        pointer=int(pointer or 0),
        shape=shape,
        dtype=dtype.name if dtype.isnative else dtype.str,
        device=_ordinal(int(pointer or 0)),
        contiguous=_is_contiguous(shape, told.get("strides"), dtype.itemsize),
        writeable=not read_only,
        stream=told.get("stream"),
        refusal=refusal,
    )


def _look_interface(arrays: Sequence[Any], keys: list[object], arguments: list[Any]) -> None:
    """What `_see_interface` makes something of, as it is told: 2 us an array, and not 5."""
    for x in arrays:
        told: Mapping[str, Any] = x.__cuda_array_interface__
        pointer, read_only = told["data"]
        at, strides = int(pointer or 0), told.get("strides")
        arguments.append(at)
        keys += (told["typestr"], (*map(int, told["shape"]),), strides and (*map(int, strides),))
        keys += (_ordinal(at), at & _ALIGNMENT, told.get("stream"))
        keys += (bool(read_only), told.get("mask") is None)


def _is_contiguous(shape: Shape, strides: Iterable[int] | None, itemsize: int) -> bool:
    """Whether elements lie one after the other, the last axis fastest; axes of 1 do not count."""
    if strides is None or 0 in shape:
        return True
    expected = itemsize
    for size, stride in zip(reversed(shape), reversed(tuple(strides)), strict=True):
        if size > 1 and stride != expected:
            return False
        expected *= size
    return True


def _ordinal(pointer: int) -> int:
    """The CUDA device that holds an address, which the interface does not tell."""
    here = devices_sharing(DL_CUDA)
    sharing = here[0].backend.sharing if len(here) > 1 else None
    return sharing.device_of(pointer) if sharing is not None and pointer else 0


class _DLDevice(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int32), ("id", ctypes.c_int32))


class _DLDataType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", _DLDevice),
        ("ndim", ctypes.c_int32),
        ("dtype", _DLDataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


_DL_CODES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}


def _on_cuda(value: Any) -> bool:
    told = _told(value, "__dlpack_device__")
    if told is None:
        return False
    try:
        return int(told()[0]) == DL_CUDA
    except Exception:  # noqa: BLE001  # as above: then it is nowhere that we know
        return False


def _see_dlpack(x: Any) -> Seen:
    # The producer makes the legacy default stream, 1, wait for the array's contents.
    capsule = x.__dlpack__(stream=1)
    address = ctypes.pythonapi.PyCapsule_GetPointer
    address.restype, address.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    tensor = _DLTensor.from_address(address(capsule, b"dltensor"))
    shape = tuple(tensor.shape[axis] for axis in range(tensor.ndim))
    itemsize = max(tensor.dtype.bits // 8, 1)
    strides = None
    if tensor.strides:
        strides = [tensor.strides[axis] * itemsize for axis in range(tensor.ndim)]
    stem = _DL_CODES.get(tensor.dtype.code, f"type {tensor.dtype.code} of ")
    refusal = None
    if tensor.dtype.lanes != 1:
        refusal = "is an array of vectors", "pass an array of single numbers"
    return Seen(
        pointer=int(tensor.data or 0) + int(tensor.byte_offset),
        shape=shape,
        dtype="bool" if stem == "bool" else f"{stem}{tensor.dtype.bits}",
        device=int(tensor.device.id),
        contiguous=_is_contiguous(shape, strides, itemsize),
        stream=1,
        owner=capsule,  # it frees the tensor when it goes
        refusal=refusal,
    )


INTERFACE = _of(_see_interface, "__cuda_array_interface__", _look_interface)
DLPACK = _of(_see_dlpack, "DLPack")
