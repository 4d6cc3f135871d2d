"""The short way for a call like an earlier one: look up, pack the arguments, launch.

A call on arrays of the same shapes and types needs no binding, planning or checking again: on
arrays of a device, and on NumPy's where a launch takes their addresses.
Measured on PoCL, n = 1: the long way costs about 30 us, this one about 3 (Python 3.11).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from vyre.lang import Role, Translation
from vyre.learn.site import Site
from vyre.runtime.arrays.array import AnyArray, DeviceArray
from vyre.runtime.arrays.foreign_kinds import UNREADABLE, kind_of
from vyre.runtime.arrays.in_place import PLAIN, see
from vyre.runtime.arrays.overlap import may_coincide
from vyre.runtime.call.identity import Key
from vyre.runtime.call.scalars import maker
from vyre.runtime.call.streams import Order
from vyre.runtime.devices.launcher import Launcher

MOST_SEEN = 2048
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

    NumPy's arrays have an argument, their address, where calls are made `on_host`. The shape is a
    plain one, as `plain_shape` gives it.

    Equal keys mean the same launch, so nothing is in a key that equals something else: True is no
    whole number, but would be found where 1 was put.
    """
    keys: list[object] = [rule, shape]
    for name in whole_scalars:
        value = named.get(name)
        if type(value) is not int and not isinstance(value, np.integer):
            return None
        keys.append(value)
    arguments: list[Any] = []
    if not see_arrays(arrays, keys, arguments, on_host):
        return None
    return tuple(keys), arguments


def see_arrays(
    arrays: Sequence[Any], keys: list[object], arguments: list[Any], on_host: bool
) -> bool:
    """Add what a launch on these arrays depends on, and their arguments; False for the long way."""
    if on_host and arrays and type(arrays[0]) in PLAIN:
        return see(arrays, keys, arguments)
    groups: Sequence[Sequence[Any]] = (arrays,)  # each of one kind, and seen at once
    if len({*map(type, arrays)}) != 1:
        groups = [[array] for array in arrays]
    for group in groups:
        if type(group[0]) is DeviceArray:
            arguments += [array.argument for array in group]
            keys += [array.key for array in group]
            continue
        kind = kind_of(group[0])
        if kind is None:
            return False
        keys.append(kind.name)  # whose arrays the following describes
        try:
            kind.look(group, keys, arguments)
        except UNREADABLE:
            return False
    return True


_WHOLE = frozenset({int, *(np.dtype(code).type for code in "bhilqBHILQ")})


def plain_shape(shape: object) -> int | tuple[int, ...] | None:
    """A shape to look up by; None for one that only looks like it, as 10.0 and True do.

    >>> plain_shape(10), plain_shape([2, 3]), plain_shape((True,)), plain_shape(10.0)
    (10, (2, 3), None, None)
    """
    if type(shape) in _WHOLE:
        return shape  # type: ignore[return-value]  # a whole number of some type
    if isinstance(shape, (tuple, list)):
        for size in shape:
            if type(size) not in _WHOLE:
                return None
        return tuple(shape)
    return None


class Repeat:
    """Launches at one site, and where in their arguments each array and scalar goes."""

    __slots__ = ("_apart", "_seen", "order", "ordered", "scalars", "site")

    def __init__(
        self,
        kernel: Translation,
        launcher: Launcher,
        site: Site,
        arrays: Mapping[str, AnyArray],
    ) -> None:
        self.site = site
        backend = launcher.device.backend
        inputs = [p.name for p in kernel.params if p.role in (Role.IN, Role.INOUT)]
        outputs = [p.name for p in kernel.params if p.role is Role.OUT]
        names = (*inputs, *outputs)
        scalars = [p for p in kernel.params if p.role is Role.SCALAR]
        self.scalars = tuple((p.name, maker(kernel, p)) for p in scalars)
        packed = (*names, *(p.name for p in scalars))
        self.ordered = None  # from inputs, outputs, scalars to the order of the arguments
        if packed != launcher.order:
            self.ordered = itemgetter(*(packed.index(name) for name in launcher.order))
        self.order = Order(backend, [arrays[name] for name in names])
        written = [n for n, p in enumerate(names) if p in outputs or _is_inout(kernel, p)]
        sizes = [arrays[name].nbytes for name in names]
        self._seen: dict[int, int] = {}  # calls, by the hash of their arrays' identities
        together = may_coincide(kernel, arrays)
        places = {(names.index(one), names.index(other)) for one, other in together}
        on_host = all(isinstance(array, np.ndarray) for array in arrays.values())
        by_address = on_host or backend.sharing is not None
        self._apart = (_ranges if by_address else _distinct)(written, sizes, places)

    def fits(self, arguments: Sequence[Any]) -> bool:
        """Whether nothing that is written shares memory in a way that asks for a copy."""
        return self._apart(arguments)

    def comes_back(self, very: Key) -> bool:
        """Whether this very call, by its arrays, comes for the 2nd time, the 4th, the 8th, ...

        What the shortest way needs takes longer than a call. On ever-new arrays it is for nothing,
        and ever-new arrays may be where others were.
        """
        place, seen = hash(very), self._seen
        times = seen.get(place, 0) + 1
        if len(seen) >= MOST_SEEN:
            seen.clear()
        seen[place] = times
        return times > 1 and not times & (times - 1)

    def run(
        self,
        arrays: Sequence[Any],
        pointers: Sequence[Any],
        named: Mapping[str, Any],
        stream: Any,
        fresh: bool,
    ) -> bool:
        """Launch, or say that this call needs the long way after all.

        Outputs that are `fresh` overlap nothing.
        """
        if not fresh and not self._apart(pointers):
            return False
        try:
            arguments = [*pointers, *[make(named[name]) for name, make in self.scalars]]
        except KeyError:
            return False
        order, where = self.order, 0
        if stream is not None or order.currents:
            found = order.where(stream)
            if found is None:
                return False
            where = found
        if self.ordered is not None:
            arguments = self.ordered(arguments)
        if order.own:
            order.follow([arrays[number].memory for number in order.own], where)
        self.site.launch(arguments, where)
        return True


def _is_inout(kernel: Translation, name: str) -> bool:
    return any(p.name == name and p.role is Role.INOUT for p in kernel.params)


Apart = Callable[[Sequence[Any]], bool]
"""Whether what is written shares no byte with anything else.

An input and what is written that may go together may be one and the same.
"""


def _pairs(written: Sequence[int], count: int) -> Iterator[tuple[int, int]]:
    """What is written, and everything else."""
    for one in written:
        yield from (
            (one, other)
            for other in range(count)
            if other != one and (other not in written or other > one)
        )


def _distinct(
    written: Sequence[int], sizes: Sequence[int], together: Collection[tuple[int, int]]
) -> Apart:
    """Where memory is an object, arrays share all of it or nothing."""
    pairs = tuple(
        (one, other) for one, other in _pairs(written, len(sizes)) if (other, one) not in together
    )

    def apart(arguments: Sequence[Any]) -> bool:
        for one, other in pairs:  # noqa: SIM110  # a generator takes 0.2 us more
            if arguments[one] is arguments[other]:
                return False
        return True

    return apart


def _ranges(
    written: Sequence[int], sizes: Sequence[int], together: Collection[tuple[int, int]]
) -> Apart:
    """Where memory is told by its address, arrays may share a part."""
    pairs = tuple(
        (one, sizes[one], other, sizes[other], (other, one) in together)
        for one, other in _pairs(written, len(sizes))
    )

    def apart(addresses: Sequence[int]) -> bool:
        for one, size, other, other_size, may_be_one in pairs:
            behind = addresses[one] - addresses[other]
            if -size < behind < other_size and not (may_be_one and not behind):
                return False
        return True

    return apart
