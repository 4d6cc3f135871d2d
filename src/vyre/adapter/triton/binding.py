"""How a call is recognised: what of its arguments Triton compiles for, without its binder."""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Mapping, Sequence
from functools import reduce
from operator import attrgetter, itemgetter, methodcaller, or_
from typing import Any

from triton.language import dtype
from triton.runtime.jit import JITCallable, KernelParam

_DTYPE, _ON_GPU = attrgetter("dtype"), attrgetter("is_cuda")
_ALIGNED = 15
_EXACT = (int, bool, str, type(None), dtype)
"""What is told apart by its value; its type is told apart anyway."""

Key = tuple[Any, ...]
"""What tells calls of one form apart: the whole numbers among it stand first."""

Picks = Callable[[Sequence[Any]], tuple[Any, ...]]


def picking(places: Sequence[int]) -> Picks:
    """What takes the values at some places, always as a tuple.

    >>> picking(())("abc"), picking((2,))("abc"), picking((2, 0))("abc")
    ((), ('c',), ('c', 'a'))
    """
    if not places:
        return lambda _: ()
    if len(places) == 1:
        at = places[0]
        return lambda given: (given[at],)
    return itemgetter(*places)


class Form:
    """The form of a call: which parameters are given, and values of which types.

    What is passed where is found by places alone, so that a call runs no line of Python for each
    of its arguments.
    """

    __slots__ = (
        *("_address", "_devices", "_doublings", "_exact", "_tensors", "_whole", "_words"),
        *("alike", "known", "names", "quick", "tensors"),
    )

    def __init__(
        self,
        names: Sequence[str],
        given: Sequence[Any],
        parameters: Mapping[str, KernelParam],
        key: Container[str],
        *,
        doublings: bool = False,
    ) -> None:
        """Of a call that was made; `names` are those of what is `given`."""
        self.names, self.quick, self._doublings = tuple(names), True, doublings
        self.known: dict[Hashable, Any] = {}  # by what `look` gives
        self.alike: dict[Hashable, Any] = {}  # by what `like` gives
        tensors, exact, whole, words, devices = [], [], [], [], True
        for at, (name, value) in enumerate(zip(names, given, strict=True)):
            parameter = parameters.get(name)
            constant = parameter is None or parameter.is_constexpr
            if parameter is not None and is_tensor(value) and _is_pointer(parameter):
                tensors.append(at)
                devices = devices and hasattr(value, "is_cuda")
            elif type(value) is int and not constant and name not in key:
                whole.append(at)
            elif type(value) in _EXACT or isinstance(value, JITCallable):
                exact.append(at)
            elif type(value) is float:  # at run time nothing depends on it, unless somebody says so
                if constant or name in key:
                    words.append(at)
            else:
                self.quick = False
        self.tensors = tuple(tensors)
        self._tensors, self._exact, self._whole = map(picking, (tensors, exact, whole))
        self._words = picking(words) if words else None
        self._devices = devices
        kinds = {type(given[at]) for at in tensors}
        address = getattr(next(iter(kinds)), "data_ptr", None) if len(kinds) == 1 else None
        # Of one type it is called by its function: 0.08 us for each, where looking it up is 0.13.
        self._address: Callable[[Any], int] = address or methodcaller("data_ptr")

    def look(self, given: Sequence[Any]) -> tuple[Key, tuple[Any, ...]]:
        """What tells such calls apart, and what is passed on for its tensors: their addresses.

        A tensor that is not on a GPU is passed on itself, for Triton to look at or to refuse.
        """
        tensors = self._tensors(given)
        passed = tuple(map(self._address, tensors))
        odd = reduce(or_, passed, 0) & _ALIGNED and tuple([at & _ALIGNED == 0 for at in passed])
        words = () if self._words is None else tuple(map(repr, self._words(given)))
        key = (self._whole(given), tuple(map(_DTYPE, tensors)), odd, self._exact(given), words)
        if self._devices and all(map(_ON_GPU, tensors)):
            return key, passed
        return key, tuple(
            at if getattr(one, "is_cuda", False) else one
            for at, one in zip(passed, tensors, strict=True)
        )

    def like(self, key: Key) -> Key:
        """The same, of whole numbers only what Triton compiles for, and their doublings if asked.

        There are few of these, while a number may be another at each call.
        """
        whole = key[0]
        doublings = tuple(one.bit_length() for one in whole) if self._doublings else ()
        return (tuple(map(row_of, whole)), doublings, *key[1:])


def row_of(number: int) -> int:
    """What Triton compiles for of a number: whether it is 1, its width, whether 16 divides it.

    What no type of Triton's holds is like nothing else, so that Triton is asked about it.

    >>> [row_of(n) for n in (1, 5, 16, 2**31 - 1, 2**31, -(2**31), 2**63)]
    [1, 8, 9, 8, 11, 9, 13]
    >>> row_of(2**64) == 2**64
    True
    """
    if number == 1:
        return 1
    if number >> 31 in (0, -1):
        width = 0
    elif number >> 63 in (0, -1):
        width = 2
    elif number >> 64 == 0:
        width = 4
    else:
        return number
    return 8 + width + (number & _ALIGNED == 0)


def is_tensor(value: Any) -> bool:
    """Whether Triton takes it for a pointer."""
    return hasattr(value, "data_ptr") and hasattr(value, "dtype")


def _is_pointer(parameter: KernelParam) -> bool:
    """Whether a kernel gets a tensor's address there.

    Where it is annotated as a number, Triton passes the one that a tensor of one element holds.
    """
    kind = parameter.annotation_type
    return not parameter.is_constexpr and (not kind or kind.startswith("*"))


class Standin:
    """A pointer without memory: what is compiled beside the calls is compiled for this."""

    __slots__ = ("_address", "dtype")

    def __init__(self, tensor: Any) -> None:
        self.dtype = tensor.dtype
        self._address: int = tensor.data_ptr() & _ALIGNED

    def data_ptr(self) -> int:
        return self._address
