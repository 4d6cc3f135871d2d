"""Arrays that stay on a device across calls."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import count
from math import prod
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vyre.backend.base import Memory
from vyre.errors import DeviceFailed, InvalidInput
from vyre.plain import shown
from vyre.runtime.arrays.in_place import WIDEST, address_of

if TYPE_CHECKING:
    from vyre.runtime.devices.device import Device


MOST_KEYS = 1 << 16
"""Kinds of arrays told apart by a number; a stream of ever-new shapes starts anew there."""

_keys: dict[tuple[Device, tuple[int, ...], str], int] = {}
_fresh = count()  # never one number twice, whatever threads do at once


class DeviceArray:
    """An array in a device's memory; `numpy.asarray` brings it back.

    >>> import vyre
    >>> x = vyre.open("reference").array(np.arange(3))
    >>> x.shape, np.asarray(x).tolist()
    ((3,), [0, 1, 2])
    """

    __slots__ = ("__weakref__", "argument", "device", "dtype", "key", "memory", "shape", "size")

    device: Device
    memory: Memory
    argument: Memory
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    size: int
    key: int

    def __init__(
        self, device: Device, memory: Memory, shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> None:
        # A bool is a u8 to a kernel.
        argument = device.backend.typed(memory, np.dtype("u1") if dtype == np.bool_ else dtype)
        put = object.__setattr__  # one by one: 1 us less for each array that a call makes
        put(self, "device", device)
        put(self, "memory", memory)
        put(self, "argument", argument)
        put(self, "shape", shape)
        put(self, "dtype", dtype)
        put(self, "size", prod(shape))
        put(self, "key", _key(device, shape, dtype))

    def _set(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise InvalidInput(
            f"{name} of {self!r} cannot be set",
            "make another array, such as device.array(numpy.asarray(x).reshape(shape))",
        )

    @property
    def alignment(self) -> int:
        """What divides its address, up to `WIDEST`: drivers align what they allocate so."""
        return WIDEST

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def copy(self) -> DeviceArray:
        """Another array on the same device with the same elements."""
        made = self.device.empty(self.shape, self.dtype)
        self.device.backend.copy(self.memory, made.memory, self.nbytes)
        return made

    def __copy__(self) -> DeviceArray:
        return self.copy()

    def __deepcopy__(self, _: object) -> DeviceArray:
        return self.copy()

    def __reduce__(self) -> str:
        raise InvalidInput(
            f"{self!r} cannot be pickled: it is in a device's memory",
            "pickle numpy.asarray(x), and make it an array of a device again with device.array(x)",
        )

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(
        self, dtype: np.dtype[Any] | None = None, copy: bool | None = None
    ) -> NDArray[Any]:
        if copy is False:
            raise ValueError("an array on a device is always copied to come back")
        host = np.empty(self.shape, self.dtype)
        self.device.download(self, host)
        return host if dtype is None else host.astype(dtype)

    def __repr__(self) -> str:
        return f"<DeviceArray {self.dtype.name}{list(self.shape)} on {self.device.name}>"


AnyArray = NDArray[Any] | DeviceArray
"""What a call takes: an array of the host or of a device."""


def _key(device: Device, shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    """What a prepared launch depends on, as a number: every call looks it up."""
    kind = (device, shape, dtype.str)
    known = _keys.get(kind)
    if known is None:
        if len(_keys) >= MOST_KEYS:
            _keys.clear()
        known = _keys.setdefault(kind, next(_fresh))
    return known


def extents_of(shape: int | Sequence[int]) -> tuple[int, ...]:
    """A shape as NumPy's functions take it, as a tuple.

    >>> extents_of(3), extents_of([2, 3])
    ((3,), (2, 3))
    """
    sizes: Sequence[object] = (shape,)
    if isinstance(shape, Sequence) and not isinstance(shape, (str, bytes, bytearray, memoryview)):
        sizes = shape
    extents = tuple(_extent(size) for size in sizes)
    if None in extents:
        raise InvalidInput(f"shape {shown(shape)}", "pass whole numbers of at least 0")
    return extents  # type: ignore[return-value]  # None is not among them


def _extent(size: Any) -> int | None:
    """A whole number of at least 0, or None for what is none."""
    if isinstance(size, (bool, np.bool_)):
        return None
    try:
        found = index(size)
    except TypeError:
        return None
    return found if found >= 0 else None


def is_masked(value: object) -> bool:
    """Whether it is an array with a mask, of which a kernel would see the hidden elements."""
    # Whoever made one has loaded its module, which takes 17 ms.
    masked = sys.modules.get("numpy.ma")
    return masked is not None and isinstance(value, masked.MaskedArray)


def host_zeros(shape: tuple[int, ...], dtype: np.dtype[Any], what: str) -> NDArray[Any]:
    """Zeros on the host, for an output.

    Raises:
        DeviceFailed: there is no memory for them.
    """
    try:
        return np.zeros(shape, dtype)
    except MemoryError:
        raise DeviceFailed(
            f"the host has no {prod(shape) * dtype.itemsize:,} bytes for {what}",
            "split the call, or free arrays that are no longer needed",
        ) from None


def alignment_of(array: NDArray[Any] | DeviceArray) -> int:
    """The largest power of two, up to `WIDEST`, that divides the address of an array."""
    if isinstance(array, DeviceArray):
        return array.alignment
    address = address_of(array)
    return min(WIDEST, address & -address) or WIDEST
