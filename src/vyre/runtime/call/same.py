"""The shortest way: a call on the very arrays of an earlier one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import is_
from typing import Any
from weakref import ref

import numpy as np

from vyre.backend.base import Fixed
from vyre.runtime.arrays.foreign_kinds import kind_of
from vyre.runtime.arrays.in_place import CAN_READ, PLAIN, Watch
from vyre.runtime.call.repeat import LONGER, Repeat

Gone = Callable[[Any], object]

Same = Callable[[Sequence[Any], Any, Mapping[str, Any]], Any]
"""Makes a call on the very arrays of an earlier one: gives its result, or `LONGER`."""

Packed = tuple[tuple[tuple[str, object], ...], object, Fixed]
"""Numbers by name, the step that they were packed for, and what launches it with them."""

Anew = Callable[[Mapping[str, Any], int], bool]
"""Launches with numbers that were not packed yet, or says that the call needs a longer way."""


def same_of(
    repeat: Repeat,
    arrays: Sequence[Any],
    out: Any,
    pointers: Sequence[Any],
    gone: Gone,
    whole: Mapping[str, Any] | None = None,
) -> Same | None:
    """The same call on the same arrays, of which only the numbers may differ.

    The caller finds it by the identity of the arrays and drops it when `gone` says that one of
    them is no more, or is not what it was: arrays of other libraries, and NumPy's, are looked at
    each time, because their owners may change them in place. Where the numbers are the same objects
    as before, too, as a literal in a loop is, and cannot change, nothing is packed again. `whole`
    numbers are part of what was proved, so that another one takes a longer way.

    None where arrays share memory, where libraries have a stream each, and where Vyre's arrays
    would have to follow a library's stream.
    """
    mixed = len(repeat.streams) > 1 or (repeat.streams and repeat.own)
    if mixed or not repeat.fits(pointers):
        return None
    every = (*arrays, *([] if out is None else [out]))
    # Nothing yet: a step that no site has, as `best` is None after each change of choice.
    packed: list[Packed] = [((), object(), int)]
    anew = _anew(repeat, tuple(pointers), packed, tuple((whole or {}).items()))
    if any(type(array) in PLAIN for array in every):
        return _watching(repeat, every, packed, anew, gone) if CAN_READ else None
    try:
        refs = [ref(array, gone) for array in every]
    except TypeError:  # an array without weak references
        return None
    tokens = [_token(at, array) for at, array in enumerate(arrays)]
    tokens += [_token(None, out)] if out is not None else []
    changing = [token for token in tokens if token is not None]
    if changing or repeat.streams:
        return _following(repeat, changing, packed, anew, gone, refs)
    return _trusting(repeat, packed, anew, refs)


# Functions of their own, because a method of an object takes a third longer.


def _trusting(repeat: Repeat, packed: list[Packed], anew: Anew, refs: object) -> Same:
    """On arrays of Vyre's, which nobody can change."""
    site, backend, tick = repeat.site, repeat.backend, repeat.site.tick

    def run(
        arrays: Sequence[Any],  # noqa: ARG001  # as every `Same`
        out: Any,
        named: Mapping[str, Any],
        _kept: object = refs,
    ) -> Any:
        values, step, start = packed[0]
        if step is site.best and not site.asked and len(named) == len(values):
            for name, value in values:
                if named.get(name, run) is not value:
                    return out if anew(named, 0) else LONGER
            if not backend.strayed:
                tick()
                start(0)
                return out
        return out if anew(named, 0) else LONGER

    return run


def _watching(
    repeat: Repeat,
    every: Sequence[Any],
    packed: list[Packed],
    anew: Anew,
    gone: Gone,
) -> Same:
    """On NumPy's arrays, which a launch uses at once and where they are."""
    site, tick = repeat.site, repeat.site.tick
    watched = [Watch.of(array) for array in every]
    watches = tuple([(w.kind, w.fields, w.were, w.extents, w.extended) for w in watched])

    def run(
        arrays: Sequence[Any], out: Any, named: Mapping[str, Any], _kept: object = watched
    ) -> Any:
        # As `has_changed`, of which three calls would take 0.3 us more; without an output there is
        # one array more than watches.
        for array, (kind, fields, were, extents, extended) in zip((*arrays, out), watches):  # noqa: B905
            if type(array) is not kind or fields.raw != were or extents.raw != extended:
                gone(None)
                return LONGER
        values, step, start = packed[0]
        if step is site.best and not site.asked and len(named) == len(values):
            for name, value in values:
                if named.get(name, run) is not value:
                    return out if anew(named, 0) else LONGER
            tick()
            start(0)
            return out
        return out if anew(named, 0) else LONGER

    return run


def _following(
    repeat: Repeat,
    changing: Sequence[Token],
    packed: list[Packed],
    anew: Anew,
    gone: Gone,
    refs: object,
) -> Same:
    """On arrays of another library, and on its stream."""
    site, backend, tick = repeat.site, repeat.backend, repeat.site.tick
    current = None
    for where, ordinal in repeat.streams:
        current = partial(where, ordinal)

    def run(arrays: Sequence[Any], out: Any, named: Mapping[str, Any], _kept: object = refs) -> Any:
        for at, token, value in changing:
            if token(out if at is None else arrays[at]) != value:
                gone(None)
                return LONGER
        stream = 0 if current is None else current()
        values, step, start = packed[0]
        if (
            step is site.best
            and not site.asked
            and len(named) == len(values)
            and not backend.strayed
        ):
            for name, value in values:
                if named.get(name, run) is not value:
                    break
            else:
                tick()
                start(stream)
                return out
        return out if anew(named, stream) else LONGER

    return run


def _anew(
    repeat: Repeat,
    pointers: tuple[Any, ...],
    packed: list[Packed],
    whole: Sequence[tuple[str, Any]],
) -> Anew:
    """Launches with numbers that differ; those that come twice are packed."""
    site, backend, tick = repeat.site, repeat.backend, repeat.site.tick
    scalars, ordered = repeat.scalars, repeat.ordered
    before: tuple[object, ...] | None = None

    def anew(named: Mapping[str, Any], stream: int) -> bool:
        nonlocal before
        if len(named) != len(scalars) or backend.strayed:
            return False
        for name, proved in whole:
            value = named.get(name)
            if type(value) is not type(proved) or value != proved:
                return False
        try:
            values = tuple([named[name] for name, _ in scalars])
            numbers = [make(value) for value, (_, make) in zip(values, scalars, strict=True)]
        except KeyError:
            return False
        arguments: Any = [*pointers, *numbers]
        if ordered is not None:
            arguments = ordered(arguments)
        tick()
        if site.asked and site.launched_asked(arguments, stream):
            return True
        step = site.best or site.refreshed()
        if before is not None and all(map(is_, before, values)) and all(map(_is_fixed, values)):
            start = backend.fix(step.binary, step.grid, step.workgroup, step.words, arguments)
            names = (name for name, _ in scalars)
            packed[0] = tuple(zip(names, values, strict=True)), step, start
            start(stream)
        else:
            step.start(arguments, stream)
        before = values
        return True

    return anew


Token = tuple[int | None, Callable[[Any], object], object]
"""Which array it is, None for the output; what tells whether it was changed; and what that was."""


def _token(at: int | None, array: Any) -> Token | None:
    kind = kind_of(array)
    return None if kind is None else (at, kind.token, kind.token(array))


def _is_fixed(number: object) -> bool:
    """Whether the same object is the same number for good; an array without axes is not."""
    return type(number) in (int, float, bool) or isinstance(number, (np.number, np.bool_))
