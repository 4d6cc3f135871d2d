"""A buffer around an array: where in it the array lies, and what was written beside the array."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vyre.adapter.trial.differences import Array, Part
from vyre.adapter.trial.together import Form, Together, sliced
from vyre.runtime.arrays.in_place import WIDEST, alignment_at

MARGIN = 4096
"""Bytes on each side; who writes further away than that goes unseen, or is ended by the system."""

UNTOUCHED = 0xA5

BESIDE = 2 * MARGIN + WIDEST
"""Bytes that a buffer has besides those of its array."""


@dataclass(frozen=True, slots=True)
class Surrounded:
    """An array in the middle of a buffer of bytes.

    Args:
        array: it, as its library has it.
        start: the place in the buffer where it begins.
        nbytes: what it takes.
        read: gives the bytes of the buffer from one place to another, on the host.
    """

    array: Any
    start: int
    nbytes: int
    read: Callable[[int, int], Array]

    def beside(self, name: str) -> Part:
        """What stands in its margins."""
        end = self.start + self.nbytes
        sides = (self.read(self.start - MARGIN, self.start), self.read(end, end + MARGIN))
        return around(name, np.concatenate(sides))


def around(name: str, margin: Array) -> Part:
    """What stands beside an array, as it is compared."""
    return Part(name=f"the memory beside {name}", kind="", array=margin)


def lies_at(address: int) -> int:
    """How far beyond a multiple of `WIDEST` a copy lies that is aligned as what is at an address.

    >>> lies_at(4096), lies_at(4096 + 16), lies_at(4096 + 48)
    (0, 16, 16)
    """
    return alignment_at(address) % WIDEST


def start_of(lies: int, base: int = 0) -> int:
    """Where an array begins in a buffer that is at an address."""
    return MARGIN + (lies - base) % WIDEST


def filled(array: Array, start: int) -> Array:
    """The bytes of a buffer around an array, which lies there in its order of axes."""
    whole = np.full(array.nbytes + BESIDE, UNTOUCHED, np.uint8)
    whole[start : start + array.nbytes] = array.ravel(order="K").view(np.uint8)
    return whole


def surrounded(
    host: Array,
    lies: int,
    to_device: Callable[[Array], Any],
    to_host: Callable[[Any], Array],
) -> Surrounded:
    """A copy with margins of an array of the host, where arrays are sliced and viewed as NumPy's.

    Args:
        host: the array.
        lies: what `lies_at` says of what it is a copy of.
        to_device: copies bytes to the device, aligned to `WIDEST` at least.
        to_host: copies them back.
    """
    if not (host.flags.c_contiguous or host.flags.f_contiguous):
        host = host.copy()
    start, end = start_of(lies), start_of(lies) + host.nbytes
    whole = to_device(filled(host, start))
    order = "C" if host.flags.c_contiguous else "F"
    array = whole[start:end].view(host.dtype).reshape(host.shape, order=order)
    return Surrounded(array, start, host.nbytes, lambda a, b: to_host(whole[a:b]))


@dataclass(frozen=True, slots=True)
class Given:
    """What a kernel is launched with on copies, of which the arrays have margins."""

    values: tuple[Any, ...]
    held: Mapping[int, Surrounded]

    @classmethod
    def of(
        cls,
        values: Sequence[Any],
        lies: Mapping[int, int],
        surround: Callable[[Array, int], Surrounded],
        to_device: Callable[[Array], Any],
        view: Callable[[Any, Form], Any] = sliced,
    ) -> Given:
        """Arguments of which some are arrays of the host that go to a device.

        Args:
            values: all of them, those that share memory as `taken_together` gives them.
            lies: how arrays are aligned, by where they stand among them.
            surround: copies one that is so aligned, with margins.
            to_device: copies one that has no bytes.
            view: gives an array in a copy of the memory that it shares with others.
        """
        given, held = list(values), dict[int, Surrounded]()
        shared = dict[int, Any]()
        for number, one in enumerate(values):
            if isinstance(one, Together):
                held[number] = surround(one.held, one.lies)
                shared |= one.within(held[number].array, view)
        for number, aligned in lies.items():
            if number in shared:
                given[number] = shared[number]
            elif values[number].nbytes:
                held[number] = surround(values[number], aligned)
                given[number] = held[number].array
            else:
                given[number] = to_device(values[number])
        return cls(tuple(given), held)

    def beside(self, name: Callable[[int], str] = "argument {}".format) -> list[Part]:
        """What stands in the margins of each array, by its name."""
        return [one.beside(name(number)) for number, one in self.held.items()]
