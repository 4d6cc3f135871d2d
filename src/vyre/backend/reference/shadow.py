"""Who touched which element of a buffer, and whether two that did so were in order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Tags = NDArray[np.int64]

_EPOCHS = 20  # bits of a tag for barriers, the rest being the invocation
NOBODY = -1
WROTE, READ, CHANGED = range(3)


class Shadow:
    """For each element its last writer, two readers and two who changed it by atomics.

    Two invocations are in order where one came by a barrier of their workgroup in between. Of those
    who read, or changed by atomics, two are enough: whoever comes is another than one of them.
    """

    def __init__(self, size: int, workgroup: int) -> None:
        self.is_set = np.zeros(size, np.bool_)
        self._workgroup = workgroup
        self._writer, self._readers, self._changers = (
            np.full((slots, size), NOBODY, np.int64) for slots in (1, 2, 2)
        )

    def read(self, at: NDArray[Any], who: Tags, epochs: Tags) -> tuple[Tags, NDArray[np.int8]]:
        """Note loads; whom each meets, and how that one touched the element."""
        tags = _tags(who, epochs)
        met = self._met(at, tags, ((self._writer, WROTE), (self._changers, CHANGED)))
        _join(self._readers, at, tags)
        return met

    def changed(self, at: NDArray[Any], who: Tags, epochs: Tags) -> tuple[Tags, NDArray[np.int8]]:
        """Note atomics, which meet no other atomic."""
        tags = _tags(who, epochs)
        met = self._met(at, tags, ((self._writer, WROTE), (self._readers, READ)))
        _join(self._changers, at, tags)
        self.is_set[at] = True
        return met

    def wrote(
        self,
        at: NDArray[Any],
        who: Tags,
        epochs: Tags,
        before: NDArray[Any],
        data: NDArray[Any],
        values: NDArray[Any],
    ) -> tuple[Tags, NDArray[np.int8]]:
        """Note stores; several may store the same at one element.

        Args:
            at: the elements.
            who: which invocations store there, in order.
            epochs: how many barriers they came by.
            before: what stood there.
            data: the whole buffer, now.
            values: what each stored, as it was computed.
        """
        tags = _tags(who, epochs)
        another, how = self._met(at, tags, ((self._readers, READ), (self._changers, CHANGED)))
        writer = self._writer[0][at]
        differs = _bits(before) != _bits(data[at])
        meets = self._unordered(writer, tags) & differs
        another[meets], how[meets] = writer[meets] >> _EPOCHS, WROTE
        order = np.argsort(at, kind="stable")
        same = at[order][1:] == at[order][:-1]
        clash = same & (_bits(values)[order][1:] != _bits(values)[order][:-1])
        later, earlier = order[1:][clash], order[:-1][clash]
        another[later], how[later] = who[earlier], WROTE
        self._writer[0][at] = tags
        self.is_set[at] = True
        return another, how

    def _met(
        self, at: NDArray[Any], tags: Tags, slots: tuple[tuple[NDArray[np.int64], int], ...]
    ) -> tuple[Tags, NDArray[np.int8]]:
        another = np.full(at.size, NOBODY, np.int64)
        how = np.zeros(at.size, np.int8)
        for kept, kind in slots:
            for slot in kept:
                other = slot[at]
                meets = self._unordered(other, tags) & (another < 0)
                another[meets], how[meets] = other[meets] >> _EPOCHS, kind
        return another, how

    def _unordered(self, other: Tags, mine: Tags) -> NDArray[np.bool_]:
        """Whether somebody else touched it, with no barrier in between."""
        him, me = other >> _EPOCHS, mine >> _EPOCHS
        together = him // self._workgroup == me // self._workgroup
        first = (other & _LOW) < (mine & _LOW)
        unordered: NDArray[np.bool_] = (other >= 0) & (him != me) & ~(together & first)
        return unordered


_LOW = (1 << _EPOCHS) - 1


def _tags(who: Tags, epochs: Tags) -> Tags:
    return who << _EPOCHS | np.minimum(epochs, _LOW)


def _join(slots: NDArray[np.int64], at: NDArray[Any], tags: Tags) -> None:
    """Keep one of those who touched an element, and another that is not the same."""
    first, second = slots
    free = first[at] < 0
    first[at[free]] = tags[free]
    others = first[at] >> _EPOCHS != tags >> _EPOCHS
    second[at[others]] = tags[others]
    mine = ~others & (first[at] < tags)  # the same again, after a barrier
    first[at[mine]] = tags[mine]


def _bits(values: NDArray[Any]) -> NDArray[Any]:
    """Values to compare by their bits, so that a NaN is itself."""
    plain = np.ascontiguousarray(values)
    return plain.view(f"u{plain.dtype.itemsize}")
