"""Arrays of other libraries as arguments, used where they are, on the stream they are on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from vyre.errors import InvalidInput
from vyre.ir.storage import STORAGE
from vyre.ir.types import DataType
from vyre.plain import shown
from vyre.runtime.arrays.advice import conversion, kept_copy, written_back
from vyre.runtime.arrays.array import DeviceArray
from vyre.runtime.arrays.foreign_kinds import (
    BFLOAT16,
    DL_CUDA,
    UNREADABLE,
    Kind,
    Seen,
    Shape,
    kind_of,
)
from vyre.runtime.arrays.in_place import WIDEST
from vyre.runtime.arrays.shared import devices_sharing

if TYPE_CHECKING:
    from vyre.runtime.devices.device import Device


class Borrowed:
    """Another library's memory; its array lives as long as this."""

    __slots__ = ("address", "nbytes", "owner", "stream")

    def __init__(self, address: int, nbytes: int, owner: object, stream: int) -> None:
        self.address, self.nbytes, self.owner, self.stream = address, nbytes, owner, stream

    def __index__(self) -> int:
        return self.address


class ForeignArray(DeviceArray):
    """Another library's array as a device array; `source` is what the caller passed."""

    __slots__ = ("kind", "seen", "source")

    kind: Kind
    seen: Seen
    source: Any

    def __init__(
        self, device: Device, source: Any, kind: Kind, seen: Seen, dtype: np.dtype[Any]
    ) -> None:
        nbytes = prod(seen.shape) * dtype.itemsize
        memory = Borrowed(seen.pointer, nbytes, (source, seen.owner), _current(kind, seen) or 0)
        super().__init__(device, memory, seen.shape, dtype)
        self._set(source=source, kind=kind, seen=seen)

    @property
    def alignment(self) -> int:
        """The largest power of two, up to `WIDEST`, that divides its address."""
        return min(WIDEST, self.seen.pointer & -self.seen.pointer) or WIDEST

    def zeros(self, shape: Shape, dtype: DataType) -> DeviceArray:
        """A new array of the same kind on the same device; `result_of` gives the library's own."""
        kind, storage = self.kind, STORAGE[dtype]
        if kind.maker is None:
            return self.device.zeros(shape, storage)
        # An output of 16-bit patterns is what the inputs are: bfloat16 or whole numbers.
        both = self.seen.dtype == BFLOAT16 and storage == np.uint16
        like = replace(self.seen, shape=shape, dtype=BFLOAT16 if both else storage.name)
        made = kind.maker(like, False)()
        return ForeignArray(self.device, made, kind, kind.see(made), storage)

    def copy(self) -> DeviceArray:
        """Another array with the same elements, copied on the library's current stream."""
        if self.kind.copy is None:
            made = self.device.empty(self.shape, self.dtype)
            where = self.memory.stream
            self.device.backend.copy(self.memory, made.memory, self.nbytes, stream=where)
            return made
        source = self.kind.copy(self.source)
        return ForeignArray(self.device, source, self.kind, self.kind.see(source), self.dtype)


def view(value: object, *, where: str, dtype: DataType, written: bool) -> ForeignArray | None:
    """A foreign array as an argument declared `dtype`, or None for what is none.

    Args:
        value: what the caller passed.
        where: the parameter, for errors, such as `x of saxpy`.
        dtype: the declared type.
        written: whether the kernel writes it.

    Raises:
        InvalidInput: it is on the host, not contiguous, of another type, read-only where it is
            written, or on a device that Vyre does not see.
    """
    return _viewed(
        value,
        where,
        lambda kind, seen: _storage(kind, seen, where, dtype, written=written),
        written=written,
    )


def view_as_it_is(value: object, *, where: str, written: bool) -> ForeignArray | None:
    """A foreign array as an argument of whatever type it has; None for what is none.

    Raises:
        InvalidInput: as `view`, and of a type that NumPy has no numbers for.
    """
    return _viewed(value, where, lambda _, seen: _own_storage(seen, where), written=written)


def _viewed(
    value: object, where: str, storage: Callable[[Kind, Seen], np.dtype[Any]], *, written: bool
) -> ForeignArray | None:
    kind = kind_of(value)
    if kind is None:
        return None
    name = where.partition(" ")[0]
    try:
        seen = kind.see(value)
    except UNREADABLE as error:
        raise InvalidInput(
            f"{where} is a {kind.name} array that does not say where it is: {error}",
            f"pass a copy of {name} that its library can read itself",
        ) from error
    if seen.refusal is not None:
        raise InvalidInput(f"{where} {seen.refusal[0]}", seen.refusal[1].format(name=name))
    if seen.device < 0:
        raise InvalidInput(
            f"{where} is a {kind.name} array in host memory",
            (kind.to_device_written if written else kind.to_device).format(name=name),
        )
    dtype = storage(kind, seen)
    if not seen.contiguous:
        make = kind.make_contiguous.format(name=name)
        raise InvalidInput(
            f"{where} is a {kind.name} array that is not contiguous",
            written_back(make, kind.copy_back.format(name=name)) if written else f"pass {make}",
        )
    if written and not seen.writeable:
        raise InvalidInput(f"{where} is written, but its array is read-only", kept_copy(name))
    here = devices_sharing(DL_CUDA)
    if seen.device >= len(here):
        raise InvalidInput(
            f"{where} is on CUDA device {seen.device}; Vyre sees {len(here)}",
            "set CUDA_VISIBLE_DEVICES before the first library uses CUDA, and not afterwards",
        )
    return ForeignArray(here[seen.device], value, kind, seen, dtype)


def _own_storage(seen: Seen, where: str) -> np.dtype[Any]:
    """How NumPy holds the elements of an array; patterns of 16 bits for a bfloat16."""
    try:
        return np.dtype("u2" if seen.dtype == BFLOAT16 else seen.dtype)
    except TypeError:
        raise InvalidInput(
            f"{where} is {seen.dtype}, which NumPy has no numbers for",
            "pass it as whole numbers of as many bits",
        ) from None


def result_of(array: DeviceArray) -> Any:
    """What the caller gets for an output: the library's own array."""
    return array.source if isinstance(array, ForeignArray) else array


def stream_for(
    arrays: Mapping[str, DeviceArray], stream: object = None, *, where: str = "this call"
) -> int:
    """The stream to launch on: `stream=` where it is given, else where all the arrays are.

    Raises:
        InvalidInput: the libraries are on different streams, or `stream` is none.
    """
    if stream is not None:
        return handle_of(stream)
    used = {
        name: (array.kind, current)
        for name, array in arrays.items()
        if isinstance(array, ForeignArray)
        and (current := _current(array.kind, array.seen)) is not None
    }
    if len({current for _, current in used.values()}) > 1:
        listed = ", ".join(
            f"{name} ({kind.name}) on {_shown(current)}" for name, (kind, current) in used.items()
        )
        raise InvalidInput(
            f"the arrays of {where} are on different streams: {listed}",
            "make one stream current in each library, or pass stream= and order the others by it",
        )
    return next((current for _, current in used.values()), 0)


def handle_of(stream: Any) -> int:
    """The driver's handle of a stream of any library; the legacy default stream is 0.

    >>> handle_of(1), handle_of(4096)
    (0, 4096)
    """
    handle = _handle(stream)
    if handle is None or not 0 <= handle < 1 << 64:
        what = shown(stream) if isinstance(stream, int) else f"a {type(stream).__name__}"
        raise InvalidInput(
            f"stream= is {what}, not a CUDA stream",
            "pass a stream of CuPy, torch or cuda.core, or its handle as an integer",
        )
    return 0 if handle == 1 else handle


def _handle(stream: Any) -> int | None:
    """What a stream says its handle is; None where it says nothing of the kind."""
    if isinstance(stream, int):
        return None if isinstance(stream, bool) else stream
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        try:
            return int((protocol() if callable(protocol) else protocol)[1])
        except (IndexError, TypeError, ValueError):
            return None
    for name in ("cuda_stream", "ptr"):  # torch's, CuPy's
        handle = getattr(stream, name, None)
        if isinstance(handle, int):
            return handle
    return None


def overlap(a: DeviceArray, b: DeviceArray) -> bool:
    """Whether two arrays of one CUDA device share a byte."""
    first, second = int(a.argument), int(b.argument)
    return bool(a.nbytes and b.nbytes) and first < second + b.nbytes and second < first + a.nbytes


def identical(a: DeviceArray, b: DeviceArray) -> bool:
    """Whether two arrays of one CUDA device are the same range in the same shape."""
    return int(a.argument) == int(b.argument) and a.nbytes == b.nbytes and a.shape == b.shape


def _current(kind: Kind, seen: Seen) -> int | None:
    """The stream that an array's contents come to be on."""
    stream = seen.stream if seen.stream is not None else kind.stream(seen.device)
    return None if stream is None else handle_of(stream)


def _shown(stream: int) -> str:
    return f"stream {stream:#x}" if stream else "the default stream"


def _storage(
    kind: Kind, seen: Seen, where: str, declared: DataType, *, written: bool
) -> np.dtype[Any]:
    """How NumPy holds the elements, or an error that says how to convert them."""
    wanted = STORAGE[declared]
    if seen.dtype == "bool" and declared == DataType.U8:
        return np.dtype(np.bool_)
    named = BFLOAT16 if declared == DataType.BF16 else wanted.name
    if seen.dtype == named or (declared == DataType.BF16 and seen.dtype == wanted.name):
        return wanted
    name = where.partition(" ")[0]
    cast = kind.cast.format(name=name, dtype=named)
    raise InvalidInput(
        f"{where} is {seen.dtype}, not {declared} ({wanted.name})",
        conversion(name, seen.dtype, wanted, cast, written=written),
    )
