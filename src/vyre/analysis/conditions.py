"""Conditions on a launch: what must hold of its numbers for a proof to apply."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

from vyre.analysis.apart import Visit, never_meet
from vyre.analysis.forms import Gid, Launch, Linear, Poly, Symbol
from vyre.analysis.made import Known, is_plain, variables
from vyre.analysis.ranges import Worlds
from vyre.ir.types import int_range


@dataclass(frozen=True, slots=True)
class OwnElements:
    """No two invocations touch one element of `buffer`.

    `accesses` holds, for every access, one linear form per axis of its index. The accesses are
    apart when some set of axes tells all invocations apart. `guards` are forms that are 0 wherever
    the buffer is touched at all; they tell invocations apart as an axis of the index does.
    """

    buffer: str
    accesses: tuple[tuple[Linear | None, ...], ...]
    guards: tuple[Linear, ...] = ()
    visits: tuple[Visit, ...] = ()
    """The same accesses with all that is known of them, each with each where that has to be."""

    @property
    def scalars(self) -> frozenset[str]:
        return frozenset[str]().union(*(visit.scalars for visit in self.visits))

    def holds(self, launch: Launch) -> bool:
        return self._holds_together(launch) or (
            bool(self.visits) and never_meet(self.visits, launch)
        )

    def _holds_together(self, launch: Launch) -> bool:
        axes = {axis for axis in range(3) if launch.value(Symbol("extent", axis=axis)) > 1}
        told_apart: set[int] = set()
        for guard in self.guards:
            told_apart |= _separated([guard], launch)
        for forms in zip(*self.accesses, strict=True):
            known = [form for form in forms if form is not None]
            if len(known) == len(forms):
                told_apart |= _separated(known, launch)
        return axes <= told_apart

    def __str__(self) -> str:
        shown = sorted({", ".join(str(form or "?") for form in forms) for forms in self.accesses})
        shown = shown or sorted({str(visit) for visit in self.visits})
        where = f"[{'], ['.join(shown)}]" if shown else ""
        when = " where " if self.guards else ""
        when += " and ".join(f"{guard} == 0" for guard in self.guards)
        return f"each invocation has its own elements of {self.buffer}{where}{when}"


Digit = tuple[int | None, int, int]
"""An axis (None for a counter), its weight in the index, and how many values it takes."""


def _separated(forms: list[Linear], launch: Launch) -> set[int]:
    """The axes whose positions differ wherever these indices agree; empty if that is not sure.

    The indices are read as numbers in a mixed radix: a digit's weight must exceed all that the
    smaller digits and the offsets can add up to, and the whole must not wrap around.
    """
    digits = [_digits(form, launch) for form in forms]
    spans = [_span(form, launch) for form in forms]
    first = digits[0]
    if first is None or any(own is None for own in digits) or any(span is None for span in spans):
        return set()
    gids = _of_axes(first)
    if any(own is None or _of_axes(own) != gids for own in digits):
        return set()
    low = min(span[0] for span in spans if span is not None)
    high = max(span[1] for span in spans if span is not None)
    # Equal indices of two widths agree in the narrower one.
    limit = 1 << min(form.dtype.bits for form in forms)
    told_apart = {axis for axis, _, _ in gids if axis is not None}
    if _apart(gids, high - low, limit):
        return told_apart
    # Counters as digits of their own: out[k * n + i] keeps i apart although k spans everything.
    starts = [_start(form, launch) for form in forms]
    alike = all(own == first for own in digits)
    if alike and _apart(first, max(starts) - min(starts), limit):
        return told_apart
    return set()


def _of_axes(digits: list[Digit]) -> list[Digit]:
    return [digit for digit in digits if digit[0] is not None]


def _digits(form: Linear, launch: Launch) -> list[Digit] | None:
    """The variables of an index that take more than one value; None where a range is not known."""
    digits: list[Digit] = []
    for axis, factor in sorted(form.gids().items()):
        count = launch.value(Symbol("extent", axis=axis))
        if count > 1:
            digits.append((axis, factor.at(launch), count))
    for counter, factor in form.counters().items():
        bounds = counter.bounds(launch)
        if bounds is None:
            return None
        if bounds[1] - bounds[0] > 1:
            digits.append((None, factor.at(launch), bounds[1] - bounds[0]))
    return digits


def _start(form: Linear, launch: Launch) -> int:
    """The value of an index at position 0 of every axis, in the first round of every loop."""
    rounds = ((factor.at(launch), c.start.at(launch)) for c, factor in form.counters().items())
    return form.offset.at(launch) + sum(weight * start for weight, start in rounds)


def _span(form: Linear, launch: Launch) -> tuple[int, int] | None:
    """The smallest and largest value of an index at position 0 of every axis."""
    low = high = form.offset.at(launch)
    for counter, factor in form.counters().items():
        bounds = counter.bounds(launch)
        if bounds is None:
            return None
        start, stop = bounds
        weight = factor.at(launch)
        if stop > start:
            ends = (weight * start, weight * (stop - 1))
            low, high = low + min(ends), high + max(ends)
    return low, high


def _apart(digits: list[Digit], spread: int, limit: int) -> bool:
    reach = spread
    for _, weight, count in sorted(digits, key=lambda digit: abs(digit[1])):
        if abs(weight) <= reach:
            return False
        reach += abs(weight) * (count - 1)
    return reach < limit


@dataclass(frozen=True, slots=True)
class InBounds:
    """Every index of an access lies inside its array, where what is `known` holds."""

    form: Linear
    length: Poly
    known: tuple[Known, ...] = ()

    @property
    def is_guarded(self) -> bool:
        """Whether it holds only where the access stands."""
        return bool(self.known)

    @property
    def follows_positions(self) -> bool:
        """Whether it rests on where an invocation is, and so on where the last one is."""
        known = (variable for one in self.known for variable in one.variables())
        return any(isinstance(variable, Gid) for variable in chain(variables(self.form), known))

    @property
    def scalars(self) -> frozenset[str]:
        return self.form.scalars.union(self.length.scalars, *(one.scalars for one in self.known))

    def holds(self, launch: Launch) -> bool:
        plain = is_plain(self.form)
        if plain and self._holds_anywhere(launch):
            return True
        if plain and not self.known:
            return False
        world = launch if isinstance(launch, Worlds) else Worlds(launch)
        return world.where(self.known).is_within(self.form, self.length.at(world))

    def _holds_anywhere(self, launch: Launch) -> bool:
        span = _span(self.form, launch)
        if span is None:
            return False
        low, high = span
        for axis, factor in self.form.gids().items():
            last = factor.at(launch) * (launch.value(Symbol("extent", axis=axis)) - 1)
            low, high = low + min(0, last), high + max(0, last)
        return low >= 0 and high < self.length.at(launch) and high <= int_range(self.form.dtype)[1]

    def __str__(self) -> str:
        where = f" where {' and '.join(map(str, self.known))}" if self.known else ""
        return f"0 <= {self.form} < {self.length}{where}"


Condition = OwnElements
