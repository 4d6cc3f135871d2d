"""torch's tensors where they lie: whether one is still what it was.

torch tells what a launch depends on in 0.55 us a tensor. It is held in three objects, of which one
names the next: Python's, the tensor's and the storage's. Read where they are, together with those
of other tensors, they take 0.1 us a tensor (Python 3.11, torch 2.13). Where in them to read is
found out on a few tensors, and that every change in place shows there; where one does not, or
objects are no addresses, torch is asked.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from vyre.runtime.arrays.in_place import Changed, Watch, layers_of, part_at

_WORD = ctypes.sizeof(ctypes.c_size_t)
_NEAR = 8  # words of an object among which the next one is named
_TENSOR = 20 * _WORD  # of a tensor from there on: what it is a view of, extents, type, device, keys
_STORAGE = 5 * _WORD  # of a storage: the address, who frees it and how, its device, its size
_TYPE = object.__basicsize__ - _WORD  # where every object names its type
_MOST_AXES = 5  # of which extents are in the object itself


class NotAsExpected(Exception):
    """A tensor does not lie as others did."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where each object names the next one, in bytes, and what `autograd` keeps of a tensor."""

    types: tuple[type, ...]
    tensor: int
    storage: int
    address: int
    graph: int

    def watch(self, x: Any) -> Watch | None:
        """What a tensor is; None where it has to be asked.

        Another tensor in its place is as good, if all of this is the same. So no weak reference is
        needed, which would keep its owner from swapping it.
        """
        if type(x) not in self.types or x.dim() > _MOST_AXES:
            return None
        tensor, storage = x._cdata, x.untyped_storage()._cdata
        parts = (
            part_at(id(x) + _TYPE, self.tensor + _WORD - _TYPE),
            part_at(tensor + self.storage, _TENSOR),
            part_at(storage + self.address, _STORAGE),
        )
        return Watch(type(x), parts)

    def is_tracked(self, x: Any) -> bool:
        """Whether `autograd` keeps something of it, where alone it says if it needs a gradient."""
        return _word(x._cdata + self.graph) != 0

    def watch_all(self, given: Sequence[Any], places: Sequence[int]) -> Changed | None:
        """What tells whether any of those in places is not what it was; None where to ask torch."""
        watches = [self.watch(given[at]) for at in places]
        watched = [one for one in watches if one is not None]
        if len(watched) < len(watches):
            return None
        tracked = [at for at in places if self.is_tracked(given[at])]
        (heads, were), (bodies, held), (storages, kept) = layers_of(watched)
        join = b"".join

        def changed(given: Sequence[Any], _kept: object = watched) -> bool:
            return (
                join(heads) != were
                or join(bodies) != held
                or join(storages) != kept
                or (bool(tracked) and True in [given[at].requires_grad for at in tracked])
            )

        return changed


def layout_of(torch: Any) -> Layout | None:
    """How tensors lie, found out on a few; None where they have to be asked."""
    if sys.implementation.name != "cpython":
        return None
    try:
        with torch.inference_mode(False):
            layout = _found(torch)
            if all(_tells(layout, *probe) for probe in _probes(torch)):
                return layout
    except (AttributeError, NotAsExpected, RuntimeError, TypeError, ValueError):
        pass  # another torch than those that are known
    return None


def _found(torch: Any) -> Layout:
    x = _made(torch)
    tensor, storage = x._cdata, x.untyped_storage()
    own = torch.Tensor.__basicsize__ // _WORD
    names_storage = _where(tensor, _NEAR, storage._cdata)
    graph = names_storage + _WORD
    if _word(tensor + graph) or _word(id(x) + _TYPE) != id(type(x)):
        raise NotAsExpected
    x.requires_grad_()
    if not _word(tensor + graph):
        raise NotAsExpected
    return Layout(
        types=(torch.Tensor, torch.nn.Parameter),
        tensor=_where(id(x), own, tensor),
        storage=names_storage,
        address=_where(storage._cdata, _NEAR, storage.data_ptr()),
        graph=graph,
    )


def _where(address: int, words: int, value: int) -> int:
    """The first word there with that value, in bytes from the address."""
    for place in range(0, words * _WORD, _WORD):
        if _word(address + place) == value:
            return place
    raise NotAsExpected


def _word(address: int) -> int:
    return ctypes.c_size_t.from_address(address).value


def _made(torch: Any, *shape: int) -> Any:
    return torch.zeros(shape or (4, 4), dtype=torch.float32, device="cpu")


Probe = tuple[Any, Callable[[Any], object], bool]
"""A tensor, what is done to it, and whether that is a change."""


def _probes(torch: Any) -> Iterator[Probe]:
    """Everything that makes one tensor another in place, and what only sets its elements."""
    others = [_made(torch) for _ in range(3)]
    twice, wide = others[0].double(), _made(torch, 2, 3, 4, 5, 6)
    complex_ = torch.zeros(4, 4, dtype=torch.complex64, device="cpu")
    yield _made(torch), lambda x: x.set_(others[0]), True
    yield _made(torch), lambda x: setattr(x, "data", others[1]), True
    yield _made(torch), lambda x: setattr(x, "data", twice), True
    yield _made(torch), lambda x: setattr(x, "data", complex_.conj().imag), True
    yield _made(torch), lambda x: x.resize_(2, 8), True
    yield _made(torch), lambda x: x.resize_(64, 64), True
    yield _made(torch), lambda x: x.t_(), True
    yield _made(torch), lambda x: x.unsqueeze_(0), True
    yield _made(torch), lambda x: x.as_strided_((4, 4), (4, 1), 0).as_strided_((4, 3), (4, 1)), True
    yield wide, lambda x: x.transpose_(3, 4), True
    yield _made(torch), lambda x: x.untyped_storage().resize_(1 << 20), True
    yield _made(torch), lambda x: torch.utils.swap_tensors(x, others[2]), True
    yield _made(torch), lambda x: x.requires_grad_(), True
    yield _made(torch)[1:], lambda x: x.requires_grad_(), True
    if hasattr(torch, "_lazy_clone"):
        yield _made(torch), torch._lazy_clone, True  # which is copied when either is written
    yield _made(torch), lambda x: x.add_(1).fill_(2), False
    yield _made(torch), lambda x: (x[1:], x.t(), x.clone(), x.sum(), x.data_ptr(), str(x)), False


def _tells(layout: Layout, x: Any, change: Callable[[Any], object], is_one: bool) -> bool:
    changed = layout.watch_all([x], [0])
    if changed is None or changed([x]):
        return False
    kept = [change(x)]  # of which x may be a part
    told = changed([x])
    kept.clear()
    return told is is_one
