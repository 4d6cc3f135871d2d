"""Arrays of torch and CuPy by their bytes, and how they lie: copies are made of them elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from vyre.adapter.trial.around import (
    BESIDE,
    UNTOUCHED,
    Surrounded,
    lies_at,
    start_of,
    surrounded,
)
from vyre.adapter.trial.differences import Array
from vyre.runtime.arrays.foreign_kinds import UNREADABLE, kind_of


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """A tensor of torch's.

    Args:
        held: its bytes, among which are those of no other tensor.
        lies: how it is aligned.
        dtype: of torch's.
        shape: of it.
        strides: in elements.
        device: as torch calls it.
        requires_grad: whether it wants gradients.
    """

    held: Array
    lies: int
    dtype: Any
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    device: str
    requires_grad: bool

    def surrounded(self) -> Surrounded:
        """A copy of it with margins: a tensor of its own to torch, and no view of another."""
        torch = import_module("torch")
        nbytes = self.held.nbytes
        whole = torch.full((nbytes + BESIDE,), UNTOUCHED, dtype=torch.uint8, device=self.device)
        made = torch.empty(0, dtype=self.dtype, device=self.device)
        # To torch, an element begins a whole number of elements from where the memory does.
        at = start_of(self.lies, whole.data_ptr()) // made.element_size()
        start = at * made.element_size()
        whole[start : start + nbytes].copy_(torch.from_numpy(self.held))
        made.set_(whole.untyped_storage(), at, self.shape, self.strides)
        made.requires_grad_(self.requires_grad)
        return Surrounded(made, start, nbytes, lambda a, b: _bytes_of(whole[a:b]))


@dataclass(frozen=True, slots=True, eq=False)
class Contiguous:
    """A contiguous array of CuPy's."""

    held: Array
    lies: int
    device: int

    def surrounded(self) -> Surrounded:
        """A copy of it with margins."""
        cupy = import_module("cupy")
        with cupy.cuda.Device(self.device):
            return surrounded(self.held, self.lies, cupy.asarray, lambda part: part.get())


Laid = Tensor | Contiguous


def laid(value: Any) -> Laid | None:
    """An array of a library that says where it is by its bytes; None where margins cannot be."""
    kind = kind_of(value)
    make = None if kind is None else _LIBRARIES.get(kind.name)
    try:
        return None if make is None else make(value)
    except UNREADABLE:
        return None


def _tensor(value: Any) -> Tensor | None:
    torch = import_module("torch")
    plain = type(value) in (torch.Tensor, torch.nn.Parameter) and value.layout is torch.strided
    if not plain or value.is_nested or value.is_quantized or value.device.type not in _DEVICES:
        return None
    if not value.numel():
        return None
    copy = value.detach().clone()  # with the signs set that a view leaves for later
    nbytes, steps = copy.numel() * copy.element_size(), zip(copy.shape, copy.stride(), strict=True)
    if sum((size - 1) * step for size, step in steps) + 1 != copy.numel():
        return None  # there is something between its elements, or they overlap
    held = torch.empty(0, dtype=torch.uint8, device=copy.device)
    held.set_(copy.untyped_storage(), copy.storage_offset() * copy.element_size(), (nbytes,), (1,))
    return Tensor(
        held=_bytes_of(held),
        lies=lies_at(value.data_ptr()),
        dtype=copy.dtype,
        shape=tuple(copy.shape),
        strides=tuple(copy.stride()),
        device=str(copy.device),
        requires_grad=value.requires_grad,
    )


def _contiguous(value: Any) -> Contiguous | None:
    if type(value) is not import_module("cupy").ndarray or not value.size:
        return None
    held = value.get(order="A")
    return Contiguous(held, lies_at(int(value.data.ptr)), int(value.data.device_id))


_LIBRARIES: Mapping[str, Callable[[Any], Laid | None]] = {"torch": _tensor, "cupy": _contiguous}
_DEVICES = ("cpu", "cuda")


def _bytes_of(tensor: Any) -> Array:
    held: Array = np.asarray(tensor.cpu())
    return held
