"""Arrays of torch and CuPy by their bytes, and how they lie: copies are made of them elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
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
from vyre.adapter.trial.together import Form, Together, begins, groups, is_rows, sliced
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


@dataclass(frozen=True, slots=True, eq=False)
class Among:
    """An array that shares its memory with others.

    Args:
        whole: all of that memory as an array of bytes; the others have the same one.
        form: how it lies there.
        wants: of a tensor, whether it wants gradients, and is conjugated or negated as it is read.
    """

    whole: Tensor | Contiguous
    form: Form
    wants: tuple[bool, bool, bool] = (False, False, False)

    def within(self, memory: Any) -> Any:
        """It in a copy of the memory."""
        if isinstance(self.whole, Contiguous):
            return array_in(memory, self.form)
        torch, form = import_module("torch"), self.form
        made = torch.empty(0, dtype=form.dtype, device=memory.device)
        at = (memory.storage_offset() + form.at) // form.itemsize
        strides = tuple(step // form.itemsize for step in form.strides)
        made.set_(memory.untyped_storage(), at, form.shape, strides)
        gradients, conjugated, negated = self.wants
        made = torch.conj(made) if conjugated else made
        made = torch._neg_view(made) if negated else made
        return made.requires_grad_(gradients)


def array_in(memory: Any, form: Form) -> Any:
    """An array of CuPy's in one of bytes."""
    if is_rows(form):
        return sliced(memory, form)
    first = memory[form.at : form.at + form.itemsize].view(form.dtype)
    strided = import_module("cupy").lib.stride_tricks.as_strided
    return strided(first, form.shape, form.strides)


Laid = Tensor | Contiguous


def overlapping(values: Iterable[Any]) -> dict[int, Among]:
    """The arrays of torch and CuPy among values that share memory with another, by their numbers.

    Of those that `laid` knows, and others that lie as they do but for what is between elements.
    """
    by_library: dict[str, list[Any]] = {}
    for one in {id(one): one for one in values}.values():
        kind = kind_of(one)
        if kind is not None and kind.name in _TOGETHER:
            by_library.setdefault(kind.name, []).append(one)
    found: dict[int, Among] = {}
    for name, theirs in by_library.items():
        if len(theirs) > 1:
            found |= _TOGETHER[name](theirs)
    return found


def _tensors_together(tensors: Sequence[Any]) -> dict[int, Among]:
    torch, found = import_module("torch"), dict[int, Among]()
    forms = {n: _form_of(one) for n, one in enumerate(tensors) if _is_plain(one)}
    for group in groups(forms):
        low = begins([forms[n] for n in group])
        nbytes = max(forms[n].bounds[1] for n in group) - low
        storages = [tensors[n].untyped_storage() for n in group]
        around = [one for one in storages if 0 <= low - one.data_ptr() <= one.nbytes() - nbytes]
        if not around:  # memory that several libraries said was theirs
            continue
        memory, device = around[0], tensors[group[0]].device
        bytes_ = torch.empty(0, dtype=torch.uint8, device=device)
        bytes_.set_(memory, low - memory.data_ptr(), (nbytes,), (1,))
        whole = Tensor(
            held=_bytes_of(bytes_.clone()),
            lies=lies_at(low),
            dtype=torch.uint8,
            shape=(nbytes,),
            strides=(1,),
            device=str(device),
            requires_grad=False,
        )
        for n in group:
            one = tensors[n]
            form = replace(forms[n], where=None, at=forms[n].at - low)
            wants = (one.requires_grad, one.is_conj(), one.is_neg())
            found[id(one)] = Among(whole, form, wants)
    return found


def _form_of(tensor: Any) -> Form:
    size = tensor.element_size()
    return Form(
        where=str(tensor.device),
        at=tensor.data_ptr(),
        shape=tuple(tensor.shape),
        strides=tuple(step * size for step in tensor.stride()),
        dtype=tensor.dtype,
        itemsize=size,
    )


def cupy_form(array: Any) -> Form:
    """How an array of CuPy's lies."""
    return Form.of(array, int(array.data.device_id), int(array.data.ptr))


def _arrays_together(arrays: Sequence[Any]) -> dict[int, Among]:
    found = dict[int, Among]()
    plain = [one for one in arrays if _is_plain_array(one)]
    forms = {n: cupy_form(one) for n, one in enumerate(plain)}
    for group in groups(forms):
        shared = {n: forms[n] for n in group}
        hosts = {n: plain[n].get(order="A") for n in group}
        together = Together.of(shared, hosts, lies_at(begins([*shared.values()])))
        device = int(plain[group[0]].data.device_id)
        whole = Contiguous(together.held, together.lies, device)
        found |= {id(plain[n]): Among(whole, form) for n, form in together.parts.items()}
    return found


def laid(value: Any) -> Laid | None:
    """An array of a library that says where it is by its bytes; None where margins cannot be."""
    kind = kind_of(value)
    make = None if kind is None else _LIBRARIES.get(kind.name)
    try:
        return None if make is None else make(value)
    except UNREADABLE:
        return None


def _is_plain(value: Any) -> bool:
    """Whether a tensor has elements, and they lie in memory as its steps say."""
    torch = import_module("torch")
    plain = type(value) in (torch.Tensor, torch.nn.Parameter) and value.layout is torch.strided
    if not plain or value.is_nested or value.is_quantized or value.device.type not in _DEVICES:
        return False
    return bool(value.numel())


def _tensor(value: Any) -> Tensor | None:
    if not _is_plain(value):
        return None
    torch = import_module("torch")
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


def _is_plain_array(value: Any) -> bool:
    return type(value) is import_module("cupy").ndarray and bool(value.size)


def _contiguous(value: Any) -> Contiguous | None:
    if not _is_plain_array(value):
        return None
    held = value.get(order="A")
    return Contiguous(held, lies_at(int(value.data.ptr)), int(value.data.device_id))


_LIBRARIES: Mapping[str, Callable[[Any], Laid | None]] = {"torch": _tensor, "cupy": _contiguous}
_TOGETHER: Mapping[str, Callable[[Sequence[Any]], dict[int, Among]]] = {
    "torch": _tensors_together,
    "cupy": _arrays_together,
}
_DEVICES = ("cpu", "cuda")


def _bytes_of(tensor: Any) -> Array:
    held: Array = np.asarray(tensor.cpu())
    return held
