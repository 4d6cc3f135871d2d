"""The shortest way: a call on the very arrays of an earlier one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import is_, itemgetter
from typing import Any
from weakref import ref

import numpy as np

from vyre.backend.base import Fixed
from vyre.learn.site import Site
from vyre.runtime.arrays.foreign_kinds import kind_of
from vyre.runtime.arrays.in_place import CAN_READ, PLAIN, Changed, Watch, layers_of
from vyre.runtime.call.fresh import Make
from vyre.runtime.call.repeat import LONGER, Repeat

Gone = Callable[[Any], object]

Same = Callable[[Sequence[Any], Any, Mapping[str, Any], Any], Any]
"""Makes a call on the very arrays of an earlier one: gives its result, or `LONGER`.

It takes what the call gave: its arrays as its `Form` has them, `out=`, what was named, `stream=`.
"""

Sites = dict[tuple[object, ...], Site]
"""Where calls are launched from, by whole numbers that matter and how new outputs are aligned."""

Packed = tuple[tuple[tuple[str, object], ...], Site, object, Fixed]
"""Numbers by name, their site, the step that they were packed for, and what launches it so."""

Anew = Callable[[Mapping[str, Any], int], bool]
"""Launches with numbers that were not packed yet, or says that the call needs a longer way."""

Told = tuple[tuple[object, ...], tuple[object, ...]]
"""A call's numbers, as given, and those of them that its site depends on."""


MOST_PACKED = 64
"""Whole numbers of which a call on known arrays keeps what was packed with them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """How a call brings its arrays, and what it says by name.

    Args:
        places: where each array is in what the call gave, inputs first, then outputs, in the order
            of declaration; outputs that are to be made have none.
        several: whether `out=` is a tuple or a list.
        inputs: how many inputs the kernel has.
        by_name: how many arrays come by name.
        whole: the numbers that the site depends on.
    """

    places: tuple[int, ...]
    several: bool
    inputs: int
    by_name: int
    whole: tuple[str, ...]

    def result(self) -> Callable[[Sequence[Any]], Any] | None:
        """What picks the outputs of what the call gave; None where `out=` is the result."""
        outputs = self.places[self.inputs :]
        in_out = not self.by_name and not self.several
        return None if in_out or not outputs else itemgetter(*outputs)


def same_of(
    repeat: Repeat,
    form: Form,
    given: Sequence[Any],
    pointers: Sequence[Any],
    sites: Sites,
    gone: Gone,
    make: Make | None = None,
) -> Same | None:
    """The same call on the same arrays, of which only the numbers may differ.

    The caller finds it by the identity of the arrays and drops it when `gone` says that one of
    them is no more, or is not what it was: arrays of other libraries, and NumPy's, are looked at
    each time, because their owners may change them in place. Where the numbers are the same objects
    as before, too, as a literal in a loop is, and cannot change, nothing is packed again.

    Outputs that the call does not bring are made by `make`. None where arrays share memory, or
    cannot be watched.
    """
    if not repeat.fits(pointers):
        return None
    known = pointers[: len(form.places)]
    if any(type(array) in PLAIN for array in given):
        if not CAN_READ:
            return None
        if make is None:
            return _watching(repeat, form, given, known, sites, gone)
        return _making(repeat, form, known, sites, _host_changes(given), make, gone, None)
    changed, by_itself = _foreign_changes(given)
    try:
        refs = [ref(given[at], gone) for at in form.places if at not in by_itself]
    except TypeError:  # an array without weak references
        return None
    if make is not None:
        return _making(repeat, form, known, sites, changed, make, gone, refs)
    return _on_device(repeat, form, known, sites, changed, gone, refs)


# Functions of their own, because a method of an object takes a third longer.


def _watching(
    repeat: Repeat,
    form: Form,
    given: Sequence[Any],
    pointers: Sequence[Any],
    sites: Sites,
    gone: Gone,
) -> Same:
    """On NumPy's arrays, which a launch uses at once and where they are."""
    packed, anew = _anew(repeat, form, pointers, sites)
    count, give = len(repeat.scalars) + form.by_name, form.result()
    kinds, watched = [type(one) for one in given], _watches(given)
    (fields, were), (extents, extended) = layers_of(watched)
    join = b"".join

    def run(
        given: Sequence[Any],
        out: Any,
        named: Mapping[str, Any],
        stream: Any,
        _kept: object = watched,
    ) -> Any:
        # As `_host_changes`, of which a call would take 0.1 us more.
        if [*map(type, given)] != kinds or join(fields) != were or join(extents) != extended:
            gone(None)
            return LONGER
        values, site, step, start = packed[0]
        if stream is not None:
            return LONGER
        if step is site.best and not site.asked and len(named) == count:
            for name, value in values:
                if named.get(name, run) is not value:
                    break
            else:
                site.tick()
                start(0)
                return out if give is None else give(given)
        if not anew(named, 0):
            return LONGER
        return out if give is None else give(given)

    return run


def _on_device(
    repeat: Repeat,
    form: Form,
    pointers: Sequence[Any],
    sites: Sites,
    changed: Changed | None,
    gone: Gone,
    refs: object,
) -> Same:
    """On arrays of a device: Vyre's, which nobody can change, and those of other libraries."""
    packed, anew = _anew(repeat, form, pointers, sites)
    count, give = len(repeat.scalars) + form.by_name, form.result()
    backend, where_of, follow = repeat.order.backend, repeat.order.where, _follower(repeat, form)
    currents = repeat.order.currents
    current, many = currents[0] if currents else None, len(currents) > 1

    def run(
        given: Sequence[Any], out: Any, named: Mapping[str, Any], stream: Any, _kept: object = refs
    ) -> Any:
        if changed is not None and changed(given):
            gone(None)
            return LONGER
        if stream is not None or many:
            where = where_of(stream)
            if where is None:
                return LONGER
        else:
            where = 0 if current is None else current()
        if follow is not None and (where or backend.strayed):
            follow(given, where)
        values, site, step, start = packed[0]
        if step is site.best and not site.asked and len(named) == count:
            for name, value in values:
                if named.get(name, run) is not value:
                    break
            else:
                site.tick()
                start(where)
                return out if give is None else give(given)
        if not anew(named, where):
            return LONGER
        return out if give is None else give(given)

    return run


def _making(
    repeat: Repeat,
    form: Form,
    pointers: Sequence[Any],
    sites: Sites,
    changed: Changed | None,
    make: Make,
    gone: Gone,
    refs: object,
) -> Same:
    """On known inputs, with outputs that are new each time."""
    tell, taken = _tell(repeat, form), _taken(repeat)
    ordered, order = repeat.ordered, repeat.order
    backend, brought = order.backend, len(form.places)
    own = [form.places[number] for number in order.own if number < brought]
    are_own = any(number >= brought for number in order.own)

    def run(
        given: Sequence[Any],
        out: Any,  # noqa: ARG001  # as every `Same`
        named: Mapping[str, Any],
        stream: Any,
        _kept: object = refs,
    ) -> Any:
        if changed is not None and changed(given):
            gone(None)
            return LONGER
        told = tell(named)
        if told is None:
            return LONGER
        numbers = taken(told[0])
        made = make()
        if made is None:
            return LONGER
        results, places, alignment = made
        site = sites.get((*told[1], *alignment))
        where = order.where(stream)  # after what filled the outputs
        if site is None or where is None:
            return LONGER
        if where or backend.strayed:
            order.follow([given[at].memory for at in own], where)
            if are_own:
                order.follow([result.memory for result in results], where)
        arguments: Any = [*pointers, *places, *numbers]
        if ordered is not None:
            arguments = ordered(arguments)
        site.launch(arguments, where)
        return results[0] if len(results) == 1 else results

    return run


def _anew(
    repeat: Repeat, form: Form, pointers: Sequence[Any], sites: Sites
) -> tuple[list[Packed], Anew]:
    """What was packed, and what launches with other numbers; those that come twice are packed.

    Twice in a row, that is, among calls at the same site: where numbers take turns that proofs
    depend on, each has its own.
    """
    tell, taken, ordered = _tell(repeat, form), _taken(repeat), repeat.ordered
    names, fix = [name for name, _ in repeat.scalars], repeat.order.backend.fix
    # Nothing yet: a step that no site has, as `best` is None after each change of choice.
    packed: list[Packed] = [((), repeat.site, object(), int)]
    before: dict[tuple[object, ...], tuple[tuple[object, ...], Packed | None]] = {}

    def anew(named: Mapping[str, Any], stream: int) -> bool:
        told = tell(named)
        site = None if told is None else sites.get(told[1])
        if told is None or site is None:
            return False
        values, asked = told
        last, known = before.get(asked, (None, None))
        are_last = last is not None and all(map(is_, last, values))
        if are_last and known is not None and known[2] is site.best and not site.asked:
            site.tick()
            packed[0] = known
            known[3](stream)
            return True
        arguments: Any = [*pointers, *taken(values)]
        if ordered is not None:
            arguments = ordered(arguments)
        site.tick()
        if site.asked and site.launched_asked(arguments, stream):
            return True
        step, known = site.best or site.refreshed(), None
        if are_last and all(map(_is_fixed, values)):
            start = fix(step.binary, step.grid, step.workgroup, step.words, arguments)
            packed[0] = known = tuple(zip(names, values, strict=True)), site, step, start
            start(stream)
        else:
            step.start(arguments, stream)
        if len(before) >= MOST_PACKED:
            before.clear()
        before[asked] = values, known
        return True

    return packed, anew


def _tell(repeat: Repeat, form: Form) -> Callable[[Mapping[str, Any]], Told | None]:
    """What reads a call's numbers; None for names that only the long way can answer."""
    names = [name for name, _ in repeat.scalars]
    count, whole = len(names) + form.by_name, [names.index(name) for name in form.whole]
    pick = itemgetter(*names) if len(names) > 1 else None
    only = names[0] if len(names) == 1 else None

    def tell(named: Mapping[str, Any]) -> Told | None:
        if len(named) != count:
            return None
        try:
            values = pick(named) if pick is not None else () if only is None else (named[only],)
        except KeyError:
            return None
        if not whole:
            return values, ()
        asked = tuple([values[at] for at in whole])
        for value in asked:
            if type(value) is not int and not isinstance(value, np.integer):
                return None
        return values, asked

    return tell


def _taken(repeat: Repeat) -> Callable[[Sequence[object]], list[Any]]:
    """What makes numbers as the kernel takes them, or raises what the long way does."""
    makers = [make for _, make in repeat.scalars]
    if len(makers) == 1:  # 0.2 us less than what follows
        (make,) = makers
        return lambda values: [make(values[0])]
    return lambda values: [make(value) for make, value in zip(makers, values)]  # noqa: B905  # 0.1 us


def _is_fixed(number: object) -> bool:
    """Whether the same object is the same number for good; an array without axes is not."""
    return type(number) in (int, float, bool) or isinstance(number, (np.number, np.bool_))


def _follower(repeat: Repeat, form: Form) -> Callable[[Sequence[Any], int], None] | None:
    """What lets a stream wait for Vyre's own arrays; None where the call brings none."""
    own = [form.places[number] for number in repeat.order.own if number < len(form.places)]
    if not own:
        return None
    follow = repeat.order.follow
    return lambda given, where: follow([given[at].memory for at in own], where)


def _watches(given: Sequence[Any]) -> list[Watch]:
    return [Watch.of(array) for array in given if type(array) in PLAIN]


def _host_changes(given: Sequence[Any]) -> Changed:
    """What tells whether NumPy's arrays are not what they were."""
    kinds, watched = [type(one) for one in given], _watches(given)
    (fields, were), (extents, extended) = layers_of(watched)
    join = b"".join

    def changed(given: Sequence[Any], _kept: object = watched) -> bool:
        return [*map(type, given)] != kinds or join(fields) != were or join(extents) != extended

    return changed


def _foreign_changes(given: Sequence[Any]) -> tuple[Changed | None, set[int]]:
    """What tells whether arrays of other libraries are not what they were; None without any.

    And the places where it tells of others that came to be there.
    """
    kinds = {at: kind_of(array) for at, array in enumerate(given) if array is not None}
    told: dict[str, Changed] = {}
    by_itself: set[int] = set()
    for kind in kinds.values():
        if kind is not None and kind.name not in told:
            alike = [at for at, other in kinds.items() if other and other.name == kind.name]
            told[kind.name], tells_of_others = kind.watch(given, alike)
            by_itself.update(alike if tells_of_others else ())
    if len(told) < 2:
        return next(iter(told.values()), None), by_itself
    watches = tuple(told.values())
    return (lambda given: any(changed(given) for changed in watches)), by_itself
