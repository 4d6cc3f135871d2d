"""A call of a function as another process can have it, and what it gave and left there."""

from __future__ import annotations

import base64
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import cloudpickle
import numpy as np

from vyre.adapter.copying import copied, refuse_to_copy_much
from vyre.adapter.kind import Portable
from vyre.adapter.trials import packed
from vyre.runtime.arrays.array import DeviceArray
from vyre.runtime.arrays.foreign_kinds import kind_of

_PLAIN = (bool, int, float, complex, np.generic)


def portable_call(entry: str, function: Any, arguments: Sequence[Any]) -> Portable:
    """A function, or several, and a call's arguments, as another process can have them."""
    args, kwargs = arguments
    refuse_to_copy_much((args, kwargs), "check=")
    return Portable(
        entry=entry,
        kernel={"function": packed(function)},
        arguments=(copied(tuple(args)), copied(kwargs)),
        names=tuple(name for name, _ in _arrays_of(args, kwargs)),
    )


def runs(kernel: Mapping[str, Any]) -> Callable[[Mapping[str, Any], Sequence[Any]], list[Any]]:
    """What runs a function on copies, in the process that may die: arrays it changed, results."""
    function = unpacked(kernel)
    return lambda settings, arguments: ran(functools.partial(function, **settings), arguments)


def unpacked(kernel: Mapping[str, Any]) -> Any:
    """What `portable_call` was given to take along."""
    return cloudpickle.loads(base64.b64decode(kernel["function"]))


def ran(function: Callable[..., Any], arguments: Sequence[Any]) -> list[Any]:
    """Call a function on copies: the arrays among them as it left them, then what it gave."""
    args, kwargs = arguments
    held = [array for _, array in _arrays_of(args, kwargs)]
    given = function(*args, **kwargs)
    return [*map(as_numpy, held), *(as_numpy(one) for _, one in _leaves("", given))]


def _arrays_of(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The arrays among a call's arguments and what they hold, by their names for people."""
    named = [*((f"argument {n}", one) for n, one in enumerate(args)), *kwargs.items()]
    for name, value in named:
        yield from (leaf for leaf in _leaves(name, value) if _is_array(leaf[1]))


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """What a value holds that is compared as one: arrays, and lists of numbers."""
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from _leaves(f"{name}[{key!r}]", one)
    elif isinstance(value, (tuple, list)) and not all(isinstance(one, _PLAIN) for one in value):
        for number, one in enumerate(value):
            yield from _leaves(f"{name}[{number}]", one)
    else:
        yield name, value


def _is_array(value: Any) -> bool:
    return isinstance(value, (np.ndarray, DeviceArray)) or kind_of(value) is not None


def as_numpy(value: Any) -> Any:
    """A result as it is compared: arrays of devices come to the host."""
    if kind_of(value) is None:
        return np.asarray(value)
    if not hasattr(value, "detach"):
        return np.asarray(value.get() if hasattr(value, "get") else value)  # CuPy's, and the like
    plain = value.detach().cpu().to_dense().resolve_conj().resolve_neg()
    try:
        return np.asarray(plain)
    except TypeError:  # NumPy has no such type, and of these all numbers are f32s
        return np.asarray(plain.float())
