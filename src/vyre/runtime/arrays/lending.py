"""Host memory lent to a device: kept until the device is done with it, whatever ends the call."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar
from weakref import ref

from vyre.backend.base import Array, Borrowing, Memory

T = TypeVar("T")


class Loan:
    """What one call lends."""

    __slots__ = ("__weakref__", "lent")

    def __init__(self) -> None:
        self.lent: list[tuple[Memory, Array]] = []

    def lend(self, memory: Memory, array: Array) -> Memory:
        """Keep memory and the array behind it until the call has waited for the device."""
        self.lent.append((memory, array))
        return memory


class Loans:
    """What the calls of one device have lent it.

    An exception can come at any moment of a call: a signal's, a second one's while the first is on
    its way, one that another thread sends. What is lent is kept here and not by the call, so that
    the device never writes to memory that is somebody else's by then; and the exception goes on
    only when the device is done.
    """

    def __init__(self, backend: Borrowing) -> None:
        self._backend = backend
        self._kept: dict[ref[Loan], list[tuple[Memory, Array]]] = {}

    def during(self, work: Callable[[Loan], T]) -> T:
        """Do `work`, which waits for what it launches; the device is done however this ends."""
        if self._kept:
            self._let_go()
        finish = self._backend.finisher()
        loan = Loan()
        key, lent = ref(loan), loan.lent
        self._kept[key] = lent
        try:
            done = work(loan)
        except BaseException:
            # Exceptions come on the return from a call and at the start of a Python function. The
            # driver's own function is neither before it has waited, so none comes first.
            try:
                if lent:
                    finish()
            finally:
                if lent:
                    finish()
            self._kept.pop(key, None)
            raise
        self._kept.pop(key, None)
        return done

    def _let_go(self) -> None:
        """Give up what calls left behind that were interrupted even here."""
        left = [key for key in list(self._kept) if key() is None]
        if left:
            self._backend.finisher()()
            for key in left:
                self._kept.pop(key, None)
