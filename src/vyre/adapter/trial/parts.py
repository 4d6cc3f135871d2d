"""What a function left and gave, part by part, as two configs of it are compared."""

from __future__ import annotations

import array
import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Set
from enum import Enum
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from vyre.adapter.trial.differences import Array, Part
from vyre.runtime.arrays.array import DeviceArray
from vyre.runtime.arrays.foreign_kinds import kind_of

_NUMBERS = {bool, int, float, complex}
_MOST_WORK = 10_000  # to tell whether two arrays share an element


class Walk:
    """Takes values apart, in an order that two of the same kind share.

    What was met before is named, not walked again: an argument that is given back is another thing
    than a copy of it, and what holds itself comes to an end.
    """

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self._met: dict[int, tuple[str, Any]] = {}  # with the value, or its number is given away
        self._arrays: list[tuple[str, Array]] = []
        self._given = False

    def take_displaced(self, before: Iterable[tuple[str, Any]]) -> None:
        """Take arrays that stood among the arguments, and of which something is left elsewhere."""
        for name, one in before:
            if id(one) not in self._met:
                self._take_array(f"what stood at {name}", one)

    def begin_results(self) -> None:
        """What comes from now on was given; what is left in objects before counts by its arrays."""
        self._given = True

    def add(
        self, name: str, value: Any, kind: str, array: Array | None = None, *, inside: bool = False
    ) -> None:
        """A part as somebody else has taken it apart."""
        self._met[id(value)] = name, value
        if not inside:
            self.parts.append(Part(name=name, kind=kind, array=array))

    def take(self, name: str, value: Any, *, inside: bool = False) -> None:
        """Take a value apart.

        Args:
            name: what it is called.
            value: it.
            inside: whether an object of the caller's holds it, which may keep times and counts.
        """
        kind = _name(type(value))
        if _is_array(value):
            self._take_array(name, value)
        elif id(value) in self._met and _can_change(value):
            self.add(name, value, f"the same as {self._met[id(value)][0]}", inside=inside)
        elif isinstance(value, Mapping):
            held = tuple(value.items())
            keys = ", ".join(repr(key) for key, _ in held)
            self.add(name, value, f"{kind} of {keys or 'nothing'}", inside=inside)
            for key, one in held:
                self.take(f"{name}[{key!r}]", one, inside=inside)
        elif isinstance(value, (tuple, list)):
            self._take_sequence(name, value, inside=inside)
        elif _is_object(value):
            self._take_object(name, value, inside=inside)
        else:
            self.add(name, value, kind, _numbers_of(value), inside=inside)

    def _take_array(self, name: str, value: Any) -> None:
        numbers = as_numpy(value)
        said = _name(type(value))
        if kind_of(value) is not None:  # NumPy may know neither its type nor how it lies there
            said = " ".join((said, *_told(value, ("dtype", "device", "layout"))))
        if getattr(value, "requires_grad", False):
            said = f"{said} with gradients"
        if self._given:
            shared = [of for of, one in self._arrays if _share(one, numbers)]
            said = f"{said} in the memory of {shared[0]}" if shared else said
        self._arrays.append((name, numbers))
        self._met[id(value)] = name, value
        # What was given may be memory of the function's own, which its next call writes again.
        plain = np.array(numbers, subok=True) if self._given else numbers
        if isinstance(plain, np.ma.MaskedArray):
            hidden = np.ma.getmaskarray(plain)
            if hidden.dtype == bool:
                self.parts.append(Part(name=f"the mask of {name}", kind=said, array=hidden))
                plain = np.where(hidden, np.zeros((), plain.dtype), plain.data)
        self.parts.append(Part(name=name, kind=said, array=np.asarray(plain)))

    def _take_sequence(self, name: str, value: Any, *, inside: bool) -> None:
        kinds = {type(one) for one in value}
        said = f"{_name(type(value))} of {len(value)}"
        if len(kinds) == 1 and kinds <= _NUMBERS:
            (kind,) = kinds
            numbers = np.asarray(value)
            if (
                kind is int and numbers.dtype.kind == "f"
            ):  # large, and of two signs: they are rounded
                numbers = np.asarray(value, dtype=object)
            self.add(name, value, f"{said} {kind.__name__}", numbers, inside=inside)
            return
        self.add(name, value, said, inside=inside)
        for number, one in enumerate(tuple(value)):
            self.take(f"{name}[{number}]", one, inside=inside)

    def _take_object(self, name: str, value: Any, *, inside: bool) -> None:
        self.add(name, value, _name(type(value)), inside=inside)
        if dataclasses.is_dataclass(value):
            held = {one.name: getattr(value, one.name, None) for one in dataclasses.fields(value)}
        else:
            held, inside = dict(vars(value)), inside or not self._given
        for attribute, one in held.items():
            self.take(f"{name}.{attribute}", one, inside=inside)


def arrays_in(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The arrays that a value is, or holds in lists and the like, by their names."""
    if _is_array(value):
        yield name, value
    elif isinstance(value, Mapping):
        for key, one in value.items():
            yield from arrays_in(f"{name}[{key!r}]", one)
    elif isinstance(value, (tuple, list)) and not {type(one) for one in value} <= _NUMBERS:
        for number, one in enumerate(value):
            yield from arrays_in(f"{name}[{number}]", one)


def as_numpy(value: Any) -> Any:
    """A result as it is compared: arrays of devices come to the host."""
    if kind_of(value) is None:
        return np.asanyarray(value)
    if not hasattr(value, "detach"):
        return np.asarray(value.get() if hasattr(value, "get") else value)  # CuPy's, and the like
    plain = value.detach().cpu().to_dense().resolve_conj().resolve_neg()
    try:
        return np.asarray(plain)
    except TypeError:  # NumPy has no such type, and of these all numbers are f32s
        return np.asarray(plain.float())


def _is_array(value: Any) -> bool:
    return isinstance(value, (np.ndarray, DeviceArray)) or kind_of(value) is not None


def _told(value: Any, names: Iterable[str]) -> Iterator[str]:
    """What an array of another library says of itself."""
    return (str(getattr(value, name)) for name in names if hasattr(value, name))


def _is_object(value: Any) -> bool:
    """Whether it is an object that holds what it is made of, and no array to some library."""
    if dataclasses.is_dataclass(value):
        return not isinstance(value, type)
    if isinstance(value, (type, FunctionType, ModuleType, Enum, BaseException)):
        return False
    return hasattr(value, "__dict__") and not hasattr(value, "__array__")


def _can_change(value: Any) -> bool:
    return isinstance(value, (list, Mapping, Set, bytearray, array.array)) or _is_object(value)


def _share(one: Array, other: Array) -> bool:
    """Whether two arrays share an element, as far as that is quickly told."""
    try:
        return np.shares_memory(one, other, max_work=_MOST_WORK)  # type: ignore[arg-type]  # any number
    except np.exceptions.TooHardError:
        return True


def _numbers_of(value: Any) -> Array:
    """What has no parts as an array: numbers, texts, bytes, or itself."""
    if isinstance(value, Set):
        return np.asarray(sorted(map(repr, value)), dtype=object)
    if isinstance(value, (bytes, bytearray)):
        return np.frombuffer(bytes(value), np.uint8)
    if isinstance(value, (bool, int, float, complex, str, np.generic, array.array, memoryview)):
        return np.asarray(value)
    alone = np.empty((), dtype=object)
    alone[()] = value
    return alone


def _name(kind: type) -> str:
    return (
        kind.__qualname__
        if kind.__module__ == "builtins"
        else f"{kind.__module__}.{kind.__qualname__}"
    )
