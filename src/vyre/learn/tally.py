"""Counting calls: as cheap as it gets for those who call, exact for those who look."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import count


class Tally:
    """A count that any thread may advance without a lock.

    `tick` is the next step of an `itertools.count`, one atomic operation of the interpreter: 0.03
    us, where a lock takes 0.1 (Python 3.11). An iterator tells how far it is only by going on, so
    a look is a step as well, and looks are counted to be taken off again.

    >>> tally = Tally()
    >>> for _ in range(3):
    ...     _ = tally.tick()
    >>> tally.value, tally.value
    (3, 3)
    """

    __slots__ = ("_looking", "_looks", "tick")

    def __init__(self) -> None:
        self.tick: Callable[[], int] = count().__next__
        self._looks = 0
        self._looking = threading.RLock()  # a signal's handler may look, too

    @property
    def value(self) -> int:
        """How many ticks there were."""
        with self._looking:
            steps = self.tick() - self._looks
            self._looks += 1
            return steps
