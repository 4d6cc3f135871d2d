"""The short ways of one kernel's calls: what is kept of the long one, and how it is found again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from vyre.analysis.coverage import sets_all
from vyre.lang import Role, Translation
from vyre.learn.rules import Rule, rule
from vyre.learn.site import Site
from vyre.runtime.arrays.array import AnyArray, DeviceArray, alignment_of
from vyre.runtime.arrays.in_place import PLAIN, address_of
from vyre.runtime.call.arguments import unpacked
from vyre.runtime.call.bound import Bound
from vyre.runtime.call.fresh import Make, like
from vyre.runtime.call.identity import Key, key_of
from vyre.runtime.call.repeat import LONGER, Repeat, look, plain_shape, see_arrays
from vyre.runtime.call.same import Form, Same, Sites, same_of
from vyre.runtime.devices.keep import keep

Given = tuple[Any, ...]

MOST_KEPT = 4096
"""Prepared calls and sites that a kernel keeps; a stream of ever-new sizes starts anew there."""

SEVERAL = frozenset({tuple, list})
"""What `out=` is found by its elements in, and not by itself."""


class ShortWays:
    """Launches that were prepared, by what they depend on.

    A call on the very arrays of an earlier one is found by their identities, in what it gave: its
    positional arrays, then those of `out=`, then where arrays come by name those of the parameters
    that are left. The key tells apart how they were given, so that a call with an array too many
    finds nothing: an identity is never as small as a count.
    """

    def __init__(self, translation: Translation) -> None:
        self._translation = translation
        self.same: dict[Key, Same] = {}  # by rule and identities
        self._sites: dict[Key, Sites] = {}  # of those
        self._repeats: dict[Key, Repeat] = {}
        self._fresh: dict[Key, Make] = {}  # by inputs
        self._on_host = False  # whether NumPy's arrays were ever used where they are
        params = translation.params
        self._inputs = tuple(p.name for p in params if p.role in (Role.IN, Role.INOUT))
        self._outputs = tuple(p.name for p in params if p.role is Role.OUT)
        self._names = (*self._inputs, *self._outputs)
        self.numbers = len(params) - len(self._names)
        scalars = [param for param in params if param.role is Role.SCALAR]
        self._whole = tuple(param.name for param in scalars if param.dtype.is_int)

    def forget(self) -> None:
        """Keep nothing of the calls so far."""
        for kept in (self._repeats, self._fresh, self.same, self._sites):
            kept.clear()

    def found_by(
        self, by: Rule, arrays: Given, out: Any, shape: object, named: Mapping[str, Any]
    ) -> tuple[Key | None, Given]:
        """The key of a call that says a shape, or arrays by name, and what it gave.

        None for a shape that is none, or a strange one.
        """
        plain = None
        if shape is not None and (plain := plain_shape(shape)) is None:
            return None, ()
        brought, count = len(arrays), -2
        outs: Sequence[Any] = ()
        if type(out) in SEVERAL:
            outs, count = out, len(out)
        elif out is not None:
            outs, count = (out,), -1
        if len(named) == self.numbers:
            given = (*arrays, *outs)
        elif brought > len(self._inputs):
            return None, ()
        else:
            left = self._names if out is None else self._inputs
            given = (*arrays, *outs, *map(named.get, left[brought:]))
        return key_of(by, (plain, brought, count), given), given

    def again(
        self,
        very: Key,
        given: Given,
        arrays: Given,
        out: Any,
        shape: object,
        stream: Any,
        named: Mapping[str, Any],
        *,
        known: bool,
    ) -> Any:
        """The result of a call like an earlier one, launched the short way, or `LONGER`.

        Args:
            very: the key of this very call.
            given: what it gave, in the order of its key.
            arrays: as passed.
            out: as passed.
            shape: as passed.
            stream: as passed.
            named: as passed.
            known: whether the very arrays were known, and did not lead to a result.
        """
        inputs, all_come = len(self._inputs), out is not None and len(given) == len(self._names)
        every: Given | None = given
        if not all_come or len(arrays) != inputs or len(named) != self.numbers:
            every = self._arranged(arrays, out, named)
        if every is None:
            return LONGER
        plain = None if shape is None else plain_shape(shape)
        found = look(very[0], every, plain, named, self._whole, self._on_host)
        if found is None:
            return LONGER
        key, arguments = found
        make, alignment = None, tuple[int, ...]()
        outputs = every[inputs:]
        if len(outputs) < len(self._outputs):
            make = self._fresh.get(key)
            made = None if make is None else make()
            if made is None:
                return LONGER
            outputs, places, alignment = made
            key = (key, alignment)
            arguments += places
            every += outputs
        repeat = self._repeats.get(key)
        if repeat is None or not repeat.run(every, arguments, named, stream, make is not None):
            return LONGER
        sites = self._sites.get(very) if known else None
        if sites is not None:  # other whole numbers than its own led here
            keep(sites, self._about(named, alignment), repeat.site, MOST_KEPT)
        elif not repeat.site.asked and repeat.comes_back(very):  # calls that are timed take longer
            self._know(repeat, very, given, arrays, out, arguments, named, make, alignment)
        return unpacked(outputs)

    def _about(self, named: Mapping[str, Any], alignment: tuple[int, ...]) -> tuple[object, ...]:
        """What the site of a call on known arrays depends on."""
        return (*[named[name] for name in self._whole], *alignment)

    def _arranged(self, arrays: Given, out: Any, named: Mapping[str, Any]) -> Given | None:
        """A call's arrays, inputs first, as declared, then outputs, if it brings any.

        None for what the long way refuses, and where some outputs come and others do not.
        """
        by_name, inputs, outputs = len(named) - self.numbers, self._inputs, self._outputs
        outs = () if out is None else out if isinstance(out, (tuple, list)) else (out,)
        if out is not None and len(outs) != len(outputs):
            return None
        if not by_name:
            return (*arrays, *outs) if len(arrays) == len(inputs) else None
        rest = [named.get(name) for name in inputs[len(arrays) :]]
        if out is None:
            outs = tuple([named[name] for name in outputs if name in named])
            by_name -= len(outs)
        if len(arrays) > len(inputs) or by_name != len(rest) or len(outs) not in (0, len(outputs)):
            return None
        return (*arrays, *rest, *outs)

    def _know(
        self,
        repeat: Repeat,
        very: Key,
        given: Given,
        arrays: Given,
        out: Any,
        arguments: list[Any],
        named: Mapping[str, Any],
        make: Make | None,
        alignment: tuple[int, ...],
    ) -> None:
        """Let a call on these very arrays take the shortest way."""
        form = self._form(arrays, out, named)
        if form is None:
            return
        sites: Sites = {self._about(named, alignment): repeat.site}
        gone = partial(_drop, (self.same, self._sites), very)
        same = same_of(repeat, form, given, arguments, sites, gone, make)
        if same is not None:
            keep(self._sites, very, sites, MOST_KEPT)
            keep(self.same, very, same, MOST_KEPT)

    def _form(self, arrays: Given, out: Any, named: Mapping[str, Any]) -> Form | None:
        """Where a call's arrays are in what it gave; None where it is not found by them."""
        several = type(out) in SEVERAL
        if not several and isinstance(out, (tuple, list)):
            return None
        inputs, outputs, brought = len(self._inputs), len(self._outputs), len(arrays)
        if several and not outputs:
            return None
        last = inputs if out is None else inputs + outputs  # behind those by name, if any is
        places = [*range(brought), *range(last - inputs + brought, last)]
        if out is not None:
            places += range(brought, brought + outputs)
        elif outputs and self._outputs[0] in named:
            places += range(inputs, inputs + outputs)
        by_name = len(named) - self.numbers
        return Form(
            places=tuple(places),
            several=several,
            inputs=inputs,
            by_name=by_name,
            whole=self._whole,
        )

    def keep(
        self,
        bound: Bound,
        site: Site,
        arrays: Given,
        out: object,
        shape: object,
        named: Mapping[str, Any],
    ) -> None:
        """Let calls like this one take the short way, if it leads there."""
        every = self._arranged(arrays, out, named)
        plain = None if shape is None else plain_shape(shape)
        if every is None or (shape is not None and plain is None):
            return
        asked = bound.launcher.facts.asked_scalars  # other whole numbers are data, like any
        self._whole = tuple(name for name in self._whole if name in asked)
        outputs = [bound.arrays[name] for name in self._outputs]
        made = outputs if len(every) < len(bound.arrays) else []
        on_host = bound.launcher.device.backend.uses_host_memory and all(
            isinstance(array, np.ndarray) for array in bound.arrays.values()
        )
        resident = all(isinstance(array, DeviceArray) for array in bound.arrays.values())
        if not resident and not (on_host and self._lie_where(bound, (*every, *made))):
            return
        found = look(rule(), every, plain, named, self._whole, on_host)
        if found is None:
            return
        key, arguments = found
        repeat = Repeat(self._translation, bound.launcher, site, bound.arrays)
        if on_host:
            see_arrays(made, [], arguments, on_host)
            if not repeat.fits(arguments):  # it was made for copies, which may lie otherwise
                return
            self._on_host = True
        if made:
            keep(self._fresh, key, self._maker(bound, made), MOST_KEPT)
            key = (key, tuple(map(alignment_of, made)))
        keep(self._repeats, key, repeat, MOST_KEPT)

    def _maker(self, bound: Bound, made: Sequence[AnyArray]) -> Make:
        """What makes the outputs of such a call; zeros, unless every element is surely set."""
        kernel, covered = self._translation, bound.call.covered
        is_set = [
            array.shape == covered and sets_all(kernel.program, kernel.rank, name)
            for name, array in zip(self._outputs, made, strict=True)
        ]
        return like(made, is_set)

    def _lie_where(self, bound: Bound, given: Given) -> bool:
        """Whether a call used the very memory of the NumPy arrays that it was given."""
        return all(
            type(array) in PLAIN
            and (
                bound.arrays[name] is array
                or (number < len(self._inputs) and same_memory(bound.arrays[name], array))
            )
            for number, (name, array) in enumerate(zip(self._names, given, strict=True))
        )


def _drop(kept: Sequence[dict[Key, Any]], key: Key, _gone: object) -> None:
    for one in kept:
        one.pop(key, None)


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
