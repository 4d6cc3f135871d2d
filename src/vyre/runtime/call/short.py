"""The short ways of one kernel's calls: what is kept of the long one, and how it is found again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

import numpy as np

from vyre.analysis.coverage import sets_all
from vyre.lang import Role, Translation
from vyre.learn.rules import Rule, rule
from vyre.learn.site import Site
from vyre.runtime.arrays.array import AnyArray, DeviceArray
from vyre.runtime.arrays.in_place import PLAIN, address_of, see
from vyre.runtime.call.arguments import unpacked
from vyre.runtime.call.bound import Bound
from vyre.runtime.call.fresh import Outputs, like
from vyre.runtime.call.repeat import LONGER, Repeat, look
from vyre.runtime.call.same import Same, same_of

T = TypeVar("T")

MOST_KEPT = 4096
"""Prepared calls and sites that a kernel keeps; a stream of ever-new sizes starts anew there."""


class ShortWays:
    """Launches that were prepared, by what they depend on."""

    def __init__(self, translation: Translation) -> None:
        self._translation = translation
        self.same: dict[tuple[object, ...], Same] = {}  # by rule and identities, output first
        self._repeats: dict[tuple[object, ...], Repeat] = {}
        self._fresh: dict[tuple[object, ...], Callable[[], Outputs]] = {}  # by inputs, on the host
        self._on_host = False  # whether NumPy's arrays were ever used where they are
        self._inputs = sum(p.role in (Role.IN, Role.INOUT) for p in translation.params)
        self._whole_scalars = tuple(
            param.name
            for param in translation.params
            if param.role is Role.SCALAR and param.dtype.is_int
        )

    def forget(self) -> None:
        """Keep nothing of the calls so far."""
        self._repeats.clear()
        self._fresh.clear()
        self.same.clear()

    def again(
        self,
        arrays: tuple[Any, ...],
        out: Any,
        shape: object,
        stream: Any,
        named: Mapping[str, Any],
    ) -> Any:
        """The result of a call like an earlier one, launched the short way, or `LONGER`."""
        if len(arrays) != self._inputs:  # else an output among the inputs would look like one
            return LONGER
        by, several = rule(), isinstance(out, (tuple, list))
        given = arrays if out is None else (*arrays, *out) if several else (*arrays, out)
        found = look(by, given, shape, named, self._whole_scalars, self._on_host)
        if found is None:
            return LONGER
        key, arguments = found
        if out is None and self._fresh:
            make = self._fresh.get(key)
            if make is not None:
                return self._anew(make, key, arguments, named, stream)
        repeat = self._repeats.get(key)
        if repeat is None or not repeat.run(given, arguments, named, stream):
            return LONGER
        if several:
            return unpacked(out)
        if shape is None and stream is None:
            if repeat.on_host and not repeat.comes_back(given, arguments):
                return out
            self._know(repeat, by, arrays, out, arguments, named)
        return out

    def _know(
        self,
        repeat: Repeat,
        by: Rule,
        arrays: tuple[Any, ...],
        out: Any,
        arguments: list[Any],
        named: Mapping[str, Any],
    ) -> None:
        """Let a call on these very arrays take the shortest way."""
        very = (by, id(out), *map(id, arrays))
        if very in self.same:  # other whole numbers than its own led here
            return
        whole = {name: named[name] for name in self._whole_scalars}
        gone = partial(_drop, self.same, very)
        same = same_of(repeat, arrays, out, arguments, gone, whole)
        if same is not None:
            put(self.same, very, same)

    def _anew(
        self,
        make: Callable[[], Outputs],
        key: tuple[object, ...],
        arguments: list[Any],
        named: Mapping[str, Any],
        stream: Any,
    ) -> Any:
        """The result of such a call in new arrays: where they lie is known when they are made."""
        try:
            made = make()
        except MemoryError:  # which the long way can explain
            return LONGER
        keys = list(key)
        see(made, keys, arguments)
        repeat = self._repeats.get(tuple(keys))
        if repeat is None or not repeat.run(made, arguments, named, stream):
            return LONGER
        return made[0] if len(made) == 1 else made

    def keep(
        self,
        bound: Bound,
        site: Site,
        arrays: tuple[Any, ...],
        out: object,
        shape: object,
        named: Mapping[str, Any],
    ) -> None:
        """Let calls like this one take the short way, if it leads there."""
        kernel, see_all = self._translation, partial(look, rule())
        outputs = [bound.arrays[p.name] for p in kernel.params if p.role is Role.OUT]
        given = (*arrays, *listed(out))
        on_host = bound.launcher.device.backend.uses_host_memory and all(
            isinstance(array, np.ndarray) for array in bound.arrays.values()
        )
        if on_host and out is None:
            given = (*arrays, *outputs)
        if len(given) != len(bound.arrays):
            return
        resident = all(isinstance(array, DeviceArray) for array in bound.arrays.values())
        if not resident and not (on_host and self._lie_where(bound, given)):
            return
        found = see_all(given, shape, named, self._whole_scalars, on_host)
        if found is None:
            return
        key, arguments = found
        repeat = Repeat(kernel, bound.launcher, site, bound.arrays)
        if on_host:
            if not repeat.fits(arguments):  # it was made for copies, which may lie otherwise
                return
            self._on_host = True
        put(self._repeats, key, repeat)
        if on_host and out is None and outputs:
            inputs = see_all(arrays, shape, named, self._whole_scalars, True)
            assert inputs is not None  # they were seen with the outputs
            put(self._fresh, inputs[0], self._maker(bound))

    def _maker(self, bound: Bound) -> Callable[[], Outputs]:
        """What makes the outputs of such a call; zeros, unless every element is surely set."""
        kernel = self._translation
        made = {p.name: bound.arrays[p.name] for p in kernel.params if p.role is Role.OUT}
        host = {name: array for name, array in made.items() if isinstance(array, np.ndarray)}
        covers = {name: array.shape == bound.call.covered for name, array in host.items()}
        is_set = [covers[name] and sets_all(kernel.program, kernel.rank, name) for name in host]
        return like(list(host.values()), is_set)

    def _lie_where(self, bound: Bound, given: tuple[Any, ...]) -> bool:
        """Whether a call used the very memory of the NumPy arrays that it was given."""
        names = [p.name for p in self._translation.params if p.role in (Role.IN, Role.INOUT)]
        names += [p.name for p in self._translation.params if p.role is Role.OUT]
        return all(
            type(array) in PLAIN
            and (
                bound.arrays[name] is array
                or (number < self._inputs and same_memory(bound.arrays[name], array))
            )
            for number, (name, array) in enumerate(zip(names, given, strict=True))
        )


def _drop(kept: dict[tuple[object, ...], T], key: tuple[object, ...], _gone: object) -> None:
    kept.pop(key, None)


def same_memory(array: AnyArray, other: np.ndarray[Any, Any]) -> bool:
    """Whether these are the same bytes, one after the other."""
    return (
        isinstance(array, np.ndarray)
        and array.nbytes == other.nbytes
        and other.flags.c_contiguous
        and other.flags.aligned
        and address_of(array) == address_of(other)
    )


def listed(out: Any) -> tuple[Any, ...]:
    """What was passed as `out=`, one by one."""
    return () if out is None else tuple(out) if isinstance(out, (tuple, list)) else (out,)


def put(kept: dict[tuple[object, ...], T], key: tuple[object, ...], value: T) -> None:
    """Keep something by its key; what is too much starts anew."""
    if len(kept) >= MOST_KEPT:
        kept.clear()
    kept[key] = value
