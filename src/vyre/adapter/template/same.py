"""Calls on the very arguments of an earlier one: found by their identities, and read no more.

For two arrays and a number: 1.3 us a call, where reading them takes 2.2 (Python 3.11, CUDA's
driver left out).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import partial
from itertools import count
from typing import Generic, TypeVar
from weakref import ref

from vyre.runtime.arrays.array import DeviceArray
from vyre.runtime.devices.keep import keep

_MOST, _MOST_SEEN = 4096, 2048
"""Calls that are kept, and that are counted; a stream of ever-new ones starts anew there."""

_EVERY = 13
"""Of so many calls one is counted, which takes 0.4 us; a prime, because calls may take turns."""

Very = tuple[int, ...]
"""The identities of a call's size and arguments."""

T = TypeVar("T")


class Same(Generic[T]):
    """What calls come to, by the very objects that they are given.

    Those are arrays of Vyre's, which nobody can change and which are not kept: when one goes, so
    does what is known of it, before another object can have its identity. All else is numbers,
    which are kept, for the same reason.
    """

    __slots__ = ("_known", "_seen", "_tick", "get")

    def __init__(self) -> None:
        self._known: dict[Very, tuple[T, object]] = {}
        self._seen: dict[int, int] = {}  # calls, by the hash of what is told of them
        self._tick = count(1).__next__
        self.get = self._known.get  # what a call comes to, and what is kept for it

    def add(self, very: Very, told: Hashable, given: Iterable[object], found: T) -> None:
        """Know such a call from now on, if it is counted for the 2nd time, the 4th, the 8th, ...

        To keep one takes longer than to read it, ever-new arrays may be where others were, and
        numbers may be ever-new objects: so calls are counted by what is told of them, a few of all.
        """
        if self._tick() % _EVERY:
            return
        place, seen = hash(told), self._seen
        times = seen.get(place, 0) + 1
        keep(seen, place, times, _MOST_SEEN)
        if times < 2 or times & (times - 1):
            return
        gone = partial(_drop, self._known, very)
        held = [ref(one, gone) if isinstance(one, DeviceArray) else one for one in given]
        keep(self._known, very, (found, held), _MOST)


def _drop(known: dict[Very, T], very: Very, _gone: object) -> None:
    known.pop(very, None)
