"""How a call is recognised: what of its arguments Triton compiles for, without its binder."""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from triton.language import dtype
from triton.runtime.jit import JITCallable, KernelParam

from vyre.adapter.written import written

_ALIGNED = 15

_MOST_KNOWN = 4096
"""Calls of one form that are known at sight."""

_EXACT = (int, bool, str, type(None), dtype)
"""What is told apart by its value; its type is told apart anyway."""

Key = tuple[Any, ...]
"""What tells calls of one form apart: the whole numbers among it stand first."""

Look = Callable[[Sequence[Any], Sequence[Any]], tuple[Key, tuple[Any, ...]]]

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

    What is passed where is found by places alone, in lines that are written for the form: for an
    add of three tensors they take 0.4 us, where functions of C's over all arguments took 0.9
    (Python 3.11).
    """

    __slots__ = (
        "_doublings",
        "_whole",
        "alike",
        "devices",
        "key",
        "known",
        "look",
        "names",
        "quick",
        "sights",
        "tensors",
        "typed",
        "types",
        "written",
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
        self.sights: dict[Hashable, Callable[..., Any]] = {}  # what makes calls, by the same
        self.written: dict[Hashable, Callable[..., Any]] = {}  # the same, by what launches them
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
        self._whole = len(whole)
        self.types, self.tensors = tuple(map(type, given)), tuple(tensors)
        self.typed = tuple(
            (name, None if at in tensors else type(value))
            for at, (name, value) in enumerate(zip(names, given, strict=True))
        )
        """What is given, by its name, with its type; None for tensors."""
        self.devices = devices
        """Whether each tensor says whether it is on a GPU."""
        self.key = _key(tensors, whole, exact, words)
        """What tells such calls apart but for some state, in words for what is given, and where."""
        self.look: Look = written(self._looking(), {})
        """The same with that state, and what is passed on in the place of what is given.

        That is addresses for tensors; one that is not on a GPU is passed on itself, for Triton to
        look at or to refuse.
        """

    @property
    def given(self) -> tuple[str, ...]:
        """Words for what is given."""
        return tuple(f"a{at}" for at in range(len(self.names)))

    @property
    def passed(self) -> tuple[str, ...]:
        """Words for what is passed on where all tensors are on a GPU."""
        return tuple(f"p{at}" if at in self.tensors else f"a{at}" for at in range(len(self.names)))

    @property
    def addresses(self) -> tuple[str, ...]:
        """The lines that find the addresses of tensors."""
        return tuple(f"p{at} = a{at}.data_ptr()" for at in self.tensors)

    @property
    def on_gpu(self) -> str:
        """Whether all tensors are on a GPU, in words."""
        return " and ".join(f"a{at}.is_cuda" for at in self.tensors) or "True"

    def _looking(self) -> Iterable[str]:
        """The lines of `look`."""
        passed = listed(self.passed)
        yield "def look(given, state):"
        yield f"    ({listed(self.given)}) = given"
        yield from (f"    {line}" for line in self.addresses)
        yield f"    key = ({self.key}*state, )"
        if self.devices and self.tensors:
            yield f"    if {self.on_gpu}:"
            yield f"        return key, ({passed})"
        for at in self.tensors:
            yield f"    p{at} = p{at} if getattr(a{at}, 'is_cuda', False) else a{at}"
        yield f"    return key, ({passed})"

    def find(self, key: Key) -> Any:
        """What is known of calls with this key; with new numbers they may be like others."""
        found = self.known.get(key)
        if found is None:
            found = self.alike.get(self.like(key))
            if found is not None:
                keep(self.known, key, found)
        return found

    def keep(self, key: Key, found: Any) -> None:
        """Know calls at sight from now on."""
        keep(self.known, key, found)
        keep(self.alike, self.like(key), found)

    def like(self, key: Key) -> Key:
        """The same, of whole numbers only what Triton compiles for, and their doublings if asked.

        There are few of these, while a number may be another at each call.
        """
        whole = key[: self._whole]
        doublings = tuple(one.bit_length() for one in whole) if self._doublings else ()
        return (tuple(map(row_of, whole)), doublings, *key[self._whole :])


def _key(
    tensors: Sequence[int], whole: Sequence[int], exact: Sequence[int], words: Sequence[int]
) -> str:
    """What tells calls of a form apart, in words.

    Args:
        tensors: the places of tensors.
        whole: those of whole numbers, of which little is compiled for.
        exact: those of what counts exactly.
        words: those of what counts by its text.
    """
    addresses = [f"p{at}" for at in tensors]
    odd = f"({' | '.join(addresses)}) & 15 and ({listed(f'{one} & 15 == 0' for one in addresses)})"
    return listed(
        (
            *(f"a{at}" for at in whole),
            *([odd] if tensors else ()),
            *(f"a{at}.dtype" for at in tensors),
            *(f"a{at}" for at in exact),
            *(f"repr(a{at})" for at in words),
        )
    )


def keep(known: dict[Hashable, Any], key: Hashable, found: Any) -> None:
    """Keep one more; a stream of ever-new ones is forgotten."""
    if len(known) >= _MOST_KNOWN:
        known.clear()
    known[key] = found


def listed(parts: Iterable[str]) -> str:
    """The inside of a tuple.

    >>> listed([]), listed("ab")
    ('', 'a, b, ')
    """
    return "".join(f"{one}, " for one in parts)


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
