"""The short way for a call like an earlier one: look up, pack the arguments, launch.

A call on arrays of the same shapes and types needs no binding, planning or checking again: on
arrays of a device, and on NumPy's where a launch takes their addresses.
Measured on PoCL, n = 1: the long way costs about 30 us, this one about 3 (Python 3.11).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from vyre.backend.base import Memory
from vyre.lang import Role, Translation
from vyre.learn.site import Site
from vyre.runtime.arrays.array import AnyArray, DeviceArray
from vyre.runtime.arrays.foreign import ForeignArray, handle_of
from vyre.runtime.arrays.foreign_kinds import UNREADABLE, kind_of
from vyre.runtime.arrays.in_place import PLAIN, see
from vyre.runtime.arrays.overlap import may_coincide
from vyre.runtime.call.scalars import maker
from vyre.runtime.devices.launcher import Launcher

Key = tuple[object, ...]

MOST_SEEN = 256
"""Places of arrays that are counted; on ever-new ones counting starts anew there."""

LONGER = object()
"""What a short way gives instead of a result where the call needs a longer one."""


def look(
    rule: object,
    arrays: Sequence[Any],
    shape: object,
    named: Mapping[str, Any],
    whole_scalars: tuple[str, ...],
    on_host: bool,
) -> tuple[Key, list[Any]] | None:
    """What a prepared launch depends on, and the arrays as arguments; None for the long way.

    NumPy's arrays have an argument, their address, where calls are made `on_host`.

    Equal keys mean the same launch, so nothing is in a key that equals something else: 10.0 is no
    shape and True no whole number, but both would be found where 10 and 1 were put.
    """
    if shape is not None and not _is_plain(shape):
        return None
    keys: list[object] = [rule, shape]
    for name in whole_scalars:
        value = named.get(name)
        if type(value) is not int and not isinstance(value, np.integer):
            return None
        keys.append(value)
    arguments: list[Any] = []
    if on_host and arrays and type(arrays[0]) in PLAIN:
        return (tuple(keys), arguments) if see(arrays, keys, arguments) else None
    for array in arrays:
        if type(array) is DeviceArray:
            arguments.append(array.argument)
            keys.append(array.key)
            continue
        kind = kind_of(array)
        if kind is None:
            return None
        try:
            pointer, key = kind.look(array)
        except UNREADABLE:
            return None
        arguments.append(pointer)
        keys.append(key)
    return tuple(keys), arguments


def _is_plain(shape: object) -> bool:
    if type(shape) is tuple:
        return all(type(size) is int for size in shape)
    return type(shape) is int


class Repeat:
    """Launches at one site, and where in their arguments each array and scalar goes."""

    __slots__ = (
        "_apart",
        "_has_streams",
        "_use_on",
        "backend",
        "on_host",
        "ordered",
        "own",
        "scalars",
        "seen",
        "site",
        "streams",
    )

    def __init__(
        self,
        kernel: Translation,
        launcher: Launcher,
        site: Site,
        arrays: Mapping[str, AnyArray],
    ) -> None:
        self.site = site
        self.backend = backend = launcher.device.backend
        inputs = [p.name for p in kernel.params if p.role in (Role.IN, Role.INOUT)]
        outputs = [p.name for p in kernel.params if p.role is Role.OUT]
        names = (*inputs, *outputs)
        scalars = [p for p in kernel.params if p.role is Role.SCALAR]
        self.scalars = tuple((p.name, maker(kernel, p)) for p in scalars)
        packed = (*names, *(p.name for p in scalars))
        self.ordered = None  # from inputs, outputs, scalars to the order of the arguments
        if packed != launcher.order:
            self.ordered = itemgetter(*(packed.index(name) for name in launcher.order))
        self.streams = streams_of(arrays.values())
        self._has_streams = backend.streams is not None
        self._use_on = backend.streams.use_on if backend.streams is not None else _as_it_is
        self.own = tuple(
            number
            for number, name in enumerate(names)
            if self._has_streams and not isinstance(arrays[name], ForeignArray)
        )
        written = [n for n, p in enumerate(names) if p in outputs or _is_inout(kernel, p)]
        sizes = [arrays[name].nbytes for name in names]
        self.seen: dict[tuple[object, ...], int] = {}  # calls by where arrays were, on the host
        self._apart: Callable[[Sequence[Any]], bool] = _distinct
        if backend.sharing is not None:
            self._apart = _ranges(written, sizes)
        self.on_host = all(isinstance(array, np.ndarray) for array in arrays.values())
        if self.on_host:
            together = may_coincide(kernel, arrays)
            places = {(names.index(one), names.index(other)) for one, other in together}
            self._apart = _ranges(written, sizes, places)

    def fits(self, arguments: Sequence[Any]) -> bool:
        """Whether nothing that is written shares memory in a way that asks for a copy."""
        return self._apart(arguments)

    def comes_back(self, arrays: Sequence[Any], arguments: Sequence[Any]) -> bool:
        """Whether a call on arrays in these places comes for the 2nd time, the 4th, the 8th, ...

        What the shortest way needs takes longer than a call. On ever-new arrays it is for nothing,
        and ever-new arrays may lie where others did.
        """
        places, seen = (*map(id, arrays), *arguments), self.seen
        times = seen.get(places, 0) + 1
        if len(seen) >= MOST_SEEN:
            seen.clear()
        seen[places] = times
        return times > 1 and not times & (times - 1)

    def run(
        self, arrays: Sequence[Any], pointers: Sequence[Any], named: Mapping[str, Any], stream: Any
    ) -> bool:
        """Launch, or say that this call needs the long way after all."""
        if len(named) != len(self.scalars) or not self._apart(pointers):
            return False
        if stream is not None and not self._has_streams:
            return False
        try:
            arguments = [*pointers, *[make(named[name]) for name, make in self.scalars]]
        except KeyError:
            return False
        if self.ordered is not None:
            arguments = self.ordered(arguments)
        where = 0 if stream is None else handle_of(stream)
        if self.streams:
            current, ordinal = self.streams[0]
            if stream is None:
                where = current(ordinal)
            for current, ordinal in self.streams:
                if current(ordinal) != where:
                    return False  # streams that have to wait for each other
        for number in self.own:
            memory = arrays[number].memory
            if memory.stream != where:
                self._use_on(memory, where)
        site = self.site
        site.tick()
        if site.asked and site.launched_asked(arguments, where):
            return True
        step = site.best or site.refreshed()
        step.start(arguments, where)
        return True


def _as_it_is(memory: Memory, stream: int) -> None:
    """Nothing is to be ordered where there is one stream."""


def streams_of(arrays: Any) -> tuple[tuple[Callable[[int], int], int], ...]:
    """How to ask each library for its current stream, each once; none where it has no opinion."""
    found = {}
    for array in arrays:
        if isinstance(array, ForeignArray) and array.kind.stream(array.seen.device) is not None:
            found[array.kind.name] = (array.kind.stream, array.seen.device)
    return tuple(found.values())  # type: ignore[arg-type]  # it has said that it has one


def _is_inout(kernel: Translation, name: str) -> bool:
    return any(p.name == name and p.role is Role.INOUT for p in kernel.params)


def _distinct(arguments: Sequence[Any]) -> bool:
    """Whether all are different memory: where a buffer is an object, arrays share all or none."""
    if len(arguments) == 2:
        return arguments[0] is not arguments[1]
    return len(set(map(id, arguments))) == len(arguments)


def _ranges(
    written: Sequence[int],
    sizes: Sequence[int],
    together: Collection[tuple[int, int]] = (),
) -> Callable[[Sequence[int]], bool]:
    """Whether what is written shares no byte with anything else, by addresses.

    Those that may go `together`, what is read and what is written, may be one and the same.
    """
    pairs = tuple(
        (one, sizes[one], other, sizes[other], (other, one) in together)
        for one in written
        for other in range(len(sizes))
        if other != one
    )

    def apart(addresses: Sequence[int]) -> bool:
        for one, size, other, other_size, may_be_one in pairs:
            first, second = addresses[one], addresses[other]
            if first < second + other_size and second < first + size:
                if may_be_one and first == second:
                    continue
                return False
        return True

    return apart
