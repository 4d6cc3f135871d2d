"""Where in a tile no access can leave its array: from there the checks are left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vyre.analysis import Facts
from vyre.analysis.forms import ONE, Linear
from vyre.analysis.reader import Touch, read
from vyre.emit.llvm.context import Access
from vyre.ir.program import Program
from vyre.ir.types import DataType


@dataclass(frozen=True, slots=True)
class Margin:
    """An index reaches from `low` to `high` around the position along `axis`, or around 0.

    It stays inside where that is at least 0 and below the buffer's extent along `dim`.
    """

    buffer: str
    dim: int
    axis: int | None
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Interior:
    """Accesses that need no check anywhere, and those that need none away from the margins.

    Of those that are `guarded` this holds only for lanes that come to where they stand.
    """

    free: frozenset[Access]
    inner: Mapping[Access, tuple[Margin, ...]]
    guarded: frozenset[Access]

    @property
    def margins(self) -> tuple[Margin, ...]:
        """All of them, each once."""
        return tuple(dict.fromkeys(m for margins in self.inner.values() for m in margins))


def interior(program: Program, facts: Facts, *, checked: bool) -> Interior:
    """What is known of every access; where `checked`, no proof about the launch holds."""
    free: set[Access] = set()
    inner: dict[Access, tuple[Margin, ...]] = {}
    bound: set[Access] = set()  # some access that reads so needs its check
    guarded: set[Access] = set()
    for access, touch in zip(facts.accesses, read(program).touches, strict=True):
        key = (touch.buffer, touch.statement, touch.index)
        margins = _margins(touch)
        if access.in_bounds is not None and not checked:
            free.add(key)
            if any(item.is_guarded for item in access.in_bounds):
                guarded.add(key)
        elif margins is not None:
            inner[key] = tuple(dict.fromkeys((*inner.get(key, ()), *margins)))
        else:
            bound.add(key)
    kept = {key: margins for key, margins in inner.items() if key not in bound}
    return Interior(frozenset(free - bound - inner.keys()), kept, frozenset(guarded))


def proved(facts: Facts, *, checked: bool) -> Interior:
    """What is known where lanes share what an invocation does: nothing but what is proved."""
    spots = [(access.buffer, access.statement, access.index) for access in facts.accesses]
    pairs = list(zip(spots, facts.accesses, strict=True))
    bound = {spot for spot, access in pairs if access.in_bounds is None}
    free = frozenset() if checked else frozenset(spots) - bound
    guarded = {
        spot
        for spot, access in pairs
        if spot in free and any(item.is_guarded for item in access.in_bounds or ())
    }
    return Interior(free, {}, frozenset(guarded))


def _margins(touch: Touch) -> tuple[Margin, ...] | None:
    """Around which position an access reaches how far; None where that is not a plain number."""
    found = []
    for dim, form in enumerate(touch.indices):
        if not isinstance(form, Linear) or form.dtype.bits < 32:
            return None
        gids = form.gids()
        offset = form.offset.constant
        if offset is None or len(gids) > 1 or any(factor != ONE for factor in gids.values()):
            return None
        low = high = _signed(offset, form.dtype)
        for counter, factor in form.counters().items():
            weight, start, stop = factor.constant, counter.start.constant, counter.stop.constant
            if weight is None or start is None or stop is None or stop <= start:
                return None
            ends = (weight * start, weight * (stop - 1))
            low, high = low + min(ends), high + max(ends)
        if max(abs(low), abs(high)) >= 1 << 30:
            return None
        found.append(Margin(touch.buffer, dim, next(iter(gids), None), low, high))
    return tuple(found)


def _signed(offset: int, dtype: DataType) -> int:
    """An offset that has wrapped below 0 as the negative number it was."""
    if dtype.is_unsigned and offset >= 1 << (dtype.bits - 1):
        return offset - (1 << dtype.bits)
    return offset
