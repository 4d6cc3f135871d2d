"""Whether invocations stay away from each other's elements, for one launch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from vyre.analysis.forms import Counter, Gid, Launch, Linear, Symbol
from vyre.analysis.made import Known
from vyre.analysis.ranges import Atom, Ends, Part, Ranges, Sum, Worlds

MOST_VISITS = 16
"""How many different accesses of one array are compared, each with each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """An access of an array: its index by axis, and what holds where invocations come by.

    One that is `is_fixed` stores the same value whoever comes, at whatever time.
    """

    indices: tuple[Linear | None, ...]
    known: tuple[Known, ...]
    is_load: bool
    is_fixed: bool
    stored: object = None  # tells visits apart that store other values at one place

    @property
    def scalars(self) -> frozenset[str]:
        forms = (form for form in self.indices if form is not None)
        tests = (test.scalars for test in self.known)
        return frozenset[str]().union(*(form.scalars for form in forms), *tests)

    def __str__(self) -> str:
        return ", ".join(str(form or "?") for form in self.indices)


@dataclass(frozen=True, slots=True)
class _Seen:
    """A visit in a launch: what is known there, and its index in numbers."""

    visit: Visit
    ranges: Ranges
    sums: tuple[Sum | None, ...]


def never_meet(visits: Sequence[Visit], launch: Launch) -> bool:
    """Whether no element that one invocation stores is touched by another.

    An element that all invocations give the same value is as good as one that one of them stores.
    """
    if len(visits) > MOST_VISITS:
        return False
    worlds = Worlds(launch)
    axes = {axis for axis in range(3) if launch.value(Symbol("extent", axis=axis)) > 1}
    seen = []
    for visit in visits:
        ranges = worlds.where(visit.known).assuming(())
        sums = tuple(None if form is None else ranges.exact(form) for form in visit.indices)
        if not ranges.is_empty:
            seen.append(_Seen(visit, ranges, sums))
    for one in seen:
        alone = one.visit.is_load or one.visit.is_fixed
        if not alone and not axes <= _told_apart(one, one):
            return False
    return all(
        (one.visit.is_load and other.visit.is_load)
        or _are_elsewhere(one, other)
        or axes <= _told_apart(one, other)
        for one, other in combinations(seen, 2)
    )


def _are_elsewhere(one: _Seen, other: _Seen) -> bool:
    """Whether two accesses are in different parts of an array."""
    for a, b in zip(one.sums, other.sums, strict=True):
        if a is not None and b is not None:
            below = one.ranges.upper(a) < other.ranges.lower(b)
            if below or other.ranges.upper(b) < one.ranges.lower(a):
                return True
    return False


def _told_apart(one: _Seen, other: _Seen) -> set[int]:
    """The axes along which two invocations are alike that touch one element by these accesses."""
    found = {axis for axis in range(3) if _is_pinned(one, other, Gid(axis))}

    def ends(atom: Atom) -> Ends:
        both = [seen.ranges.ends[atom] for seen in (one, other) if atom in seen.ranges.ends]
        return min(low for low, _ in both), max(high for _, high in both)

    for a, b in zip(one.sums, other.sums, strict=True):
        if a is not None and b is not None and a.terms == b.terms:
            atoms = _determined(a, abs(a.plus - b.plus), ends)
            found |= _axes(atoms, (one.ranges, other.ranges), ends)
    return found


def _is_pinned(one: _Seen, other: _Seen, position: Gid) -> bool:
    """Whether both accesses are made at one position along an axis."""
    a, b = (seen.ranges.ends.get(position, (0, -1)) for seen in (one, other))
    return a == b and a[0] == a[1]


def _determined(sum_: Sum, spread: int, ends: Callable[[Atom], Ends]) -> set[Atom]:
    """What a sum tells of its parts, where another may be up to `spread` away.

    It is read as a number in a mixed radix: the weight of a digit must exceed all that the smaller
    ones and the spread can add up to. What counts rounds may be left out, as more of a spread.
    """
    every: set[Atom] = set(sum_.terms)
    positions: set[Atom] = {atom for atom in every if not isinstance(atom, Counter)}
    for digits in (every, positions):
        sizes = {atom: ends(atom)[1] - ends(atom)[0] for atom in every}
        left = (abs(sum_.terms[atom]) * sizes[atom] for atom in every - digits)
        reach = spread + sum(left)
        for atom in sorted(digits, key=lambda atom: abs(sum_.terms[atom])):
            if abs(sum_.terms[atom]) <= reach:
                break
            reach += abs(sum_.terms[atom]) * sizes[atom]
        else:
            return digits
    return set()


def _axes(
    atoms: Iterable[Atom], places: Sequence[Ranges], ends: Callable[[Atom], Ends]
) -> set[int]:
    """The axes whose positions follow from what is determined."""
    found: set[int] = set()
    known = set(atoms)
    for atom in known:
        match atom:
            case Gid(axis):
                found.add(axis)
            case Part(of, by, False) if Part(of, by, True) in known:
                inner = Sum(dict(of[0]), of[1])
                found |= _axes(_determined(inner, 0, ends), places, ends)
            case _:
                turned = [place.turned.get(atom) for place in places]
                if turned[0] is not None and turned[0] == turned[-1]:
                    found |= _axes(_determined(turned[0], 0, ends), places, ends)
    return found
