"""Calls like an earlier one: what they are launched from, found by a token of their arguments.

The first call of a form, which is the types of its arguments, says how such arguments are read: by
functions that are written in C, so that a call runs no line of Python for an array of Vyre's or a
whole number. For two arrays and a number that is another each time: 2.5 us a call in the place of
30 (Python 3.11, CUDA's driver left out).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter, call, itemgetter
from typing import Any

import numpy as np

from vyre.adapter.calls import Entry
from vyre.adapter.template.arguments import Value, converter, teller
from vyre.adapter.template.recipe import Recipe
from vyre.adapter.template.same import Same, Very
from vyre.adapter.template.sizes import Size
from vyre.backend.base import Backend
from vyre.learn.rules import Rule, rule
from vyre.runtime.arrays.array import DeviceArray
from vyre.runtime.arrays.foreign import ForeignArray
from vyre.runtime.call.repeat import see_arrays
from vyre.runtime.call.streams import Order
from vyre.runtime.devices.keep import keep

_MOST = 4096
"""Calls that are told apart, of one form, and sizes; a stream of ever-new ones forgets all."""

_WHOLE, _NUMBERS = {int}, (int, float, bool)  # and nothing else: True and 1.0 equal 1
_KEY, _ARGUMENT = attrgetter("key"), attrgetter("argument")

Given = Sequence[Any]
Tell = Callable[[Any], Hashable]
Take = Callable[[Any], Any]
Pick = Callable[[Given], tuple[Any, ...]]

Sized = tuple[Size | None, Hashable]
"""A problem's size, and what of it tells calls apart."""


@dataclass(frozen=True, slots=True)
class _Known:
    entries: dict[Hashable, Entry]  # by what `key=` says
    takes: tuple[Take, ...]  # of each argument that is read by itself
    order: Order
    own: tuple[int, ...]  # where Vyre's own arrays are


@dataclass(frozen=True, slots=True)
class _Form:
    """How arguments of some types are read.

    Args:
        tells: of each argument that is read by itself, what of it tells calls apart.
        together: takes out arrays where any is another library's: they are looked at together.
        alone: takes out all others.
        ordered: from both to the order of the arguments.
    """

    tells: tuple[Tell, ...]
    together: Pick | None = None
    alone: Pick = tuple
    ordered: Pick = tuple
    known: dict[Hashable, _Known] = field(default_factory=dict)

    def look(self, args: Given, *common: Hashable) -> tuple[Hashable, list[Any], Given] | None:
        """What tells such calls apart, addresses of arrays, and what is read by itself.

        None of arrays whose library has to say what is wrong with them.
        """
        if self.together is None:
            return (*common, *map(call, self.tells, args)), [], args
        told: list[object] = list(common)
        places: list[Any] = []
        if not see_arrays(self.together(args), told, places, on_host=False):
            return None
        alone = self.alone(args)
        return (*told, *map(call, self.tells, alone)), places, alone


_Found = tuple[Rule, _Known, tuple[Size | None, Given, tuple[()]] | None]
"""By which rule a call is decided, where it is launched from, and with what: a `Bound`.

None in its place where there is nothing to do.
"""


class Short:
    """The calls of one template that have been made.

    Args:
        recipe: the template's.
        about: what of a size tells calls apart.
        is_empty: whether a call of that size has nothing to do.
        key: what tells calls apart besides; None where nothing does.
    """

    __slots__ = ("_about", "_forms", "_is_empty", "_key", "_recipe", "_same", "_sizes")

    def __init__(
        self,
        recipe: Recipe,
        about: Callable[[Size | None], Hashable],
        is_empty: Callable[[Size | None], bool],
        key: Callable[[Given], Hashable] | None,
    ) -> None:
        self._recipe, self._about, self._is_empty, self._key = recipe, about, is_empty, key
        self._forms: dict[tuple[type, ...], _Form] = {}
        self._same: Same[_Found] = Same()
        self._sizes: dict[int | tuple[int, ...] | None, Sized] = {}  # with something to do

    def launch(self, args: Given, size: Any, stream: Any) -> bool:
        """Make a call like an earlier one, and say whether this is one.

        What is wrong with a number it says as a first call does, and before what is wrong with
        anything behind it.
        """
        very = (id(size), *map(id, args))
        same = self._same.get(very)
        found = None if same is None else same[0]
        if found is None or found[0] is not rule():
            found = self._found(args, size, very)
            if found is None:
                return False
        _, known, bound = found
        if bound is None:
            return True
        order, where = known.order, 0
        if stream is not None or order.currents:
            there = order.where(stream)
            if there is None:
                return False
            where = there
        if where or order.backend.strayed:
            order.follow([args[at].memory for at in known.own], where)
        entry = known.entries.get(self._key and self._key(args))
        if entry is None:
            return False
        entry.launch(bound, where)
        return True

    def _found(self, args: Given, size: Any, very: Very) -> _Found | None:
        """What a call comes to by a look at each of its arguments; None of one like no other."""
        form = self._forms.get((*map(type, args),))
        if form is None:
            return None
        kind = type(size)
        if kind is tuple or kind is list:
            size = tuple(size)
            if {*map(type, size)} != _WHOLE:
                return None
        elif kind is not int and size is not None:
            return None
        known_size = self._sizes.get(size)
        sized = known_size or self._sized(size)
        if sized is None:
            return None
        by, (given, about) = rule(), sized
        if form.together is None:  # as `look`, which would take 0.2 us more
            known = form.known.get((by, about, *map(call, form.tells, args)))
            if known is None:
                return None
            values: Given = (*map(call, known.takes, args),)
        else:
            seen = form.look(args, by, about)
            known = None if seen is None else form.known.get(seen[0])
            if seen is None or known is None:
                return None
            values = form.ordered([*seen[1], *map(call, known.takes, seen[2])])
        if known_size is None:
            if self._is_empty(given):
                return by, known, None
            keep(self._sizes, size, sized, _MOST)
        found: _Found = by, known, (given, values, ())
        if form.together is None and kind is not list:  # whose identity says little
            self._same.add(very, (by, given, values), (size, *args), found)
        return found

    def add(
        self,
        args: Given,
        held: Sequence[Value],
        size: Size | None,
        asked: Hashable,
        entry: Entry,
        *,
        backend: Backend,
    ) -> None:
        """Remember a call that was launched, if others like it can be told by their arguments.

        Args:
            args: what was passed.
            held: the same as arrays and numbers.
            size: of the problem.
            asked: what `key=` says.
            entry: where it was launched from, by its rule: that of now may be another one.
            backend: where it was launched.
        """
        types = (*map(type, args),)
        form = self._forms.get(types)
        if form is None:
            form = self._form(args, held)
            if form is None:
                return
            keep(self._forms, types, form, _MOST)
        seen = form.look(args, entry.by, self._about(size))
        if seen is None:
            return
        known = form.known.get(seen[0])
        if known is None:
            known = keep(form.known, seen[0], self._known(form, args, held, backend), _MOST)
        keep(known.entries, asked, entry, _MOST)

    def _known(self, form: _Form, args: Given, held: Sequence[Value], backend: Backend) -> _Known:
        arrays = [(n, one) for n, one in enumerate(held) if isinstance(one, DeviceArray)]
        takes = [
            _ARGUMENT if isinstance(one, DeviceArray) else converter(self._recipe, n, args[n])
            for n, one in enumerate(held)
            if form.together is None or isinstance(one, np.generic)
        ]
        return _Known(
            entries={},
            takes=tuple(takes),
            order=Order(backend, [one for _, one in arrays]),
            own=tuple(n for n, one in arrays if not isinstance(one, ForeignArray)),
        )

    def _sized(self, size: int | tuple[int, ...] | None) -> Sized | None:
        """A size that is one; None of what is too short, too long, or negative."""
        given = (size,) if isinstance(size, int) else size
        if given is not None and (len(given) > 3 or min(given) < 0):
            return None
        return given, self._about(given)

    def _form(self, args: Given, held: Sequence[Value]) -> _Form | None:
        """How arguments of these types are read; None where one is of a type that takes a look."""
        tells, arrays, numbers, foreign = list[Tell](), list[int](), list[int](), False
        for n, (given, one) in enumerate(zip(args, held, strict=True)):
            if isinstance(one, np.generic):
                if type(given) not in _NUMBERS and not isinstance(given, np.generic):
                    return None
                numbers.append(n)
                tells.append(teller(self._recipe, n, given))
            elif type(given) is DeviceArray or isinstance(one, ForeignArray):
                arrays.append(n)
                foreign = foreign or isinstance(one, ForeignArray)
                tells.append(_KEY)
            else:
                return None
        if not foreign:
            return _Form(tuple(tells))
        order = [*arrays, *numbers]
        return _Form(
            tuple(tells[n] for n in numbers),
            _picking(arrays),
            _picking(numbers),
            _picking([order.index(n) for n in range(len(order))]),
        )


def _picking(places: Sequence[int]) -> Pick:
    """What takes the values at some places, always as a tuple."""
    if len(places) > 1:
        return itemgetter(*places)
    return lambda given: tuple([given[at] for at in places])
