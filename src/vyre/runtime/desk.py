"""The thread beside the calls: it hears what ran, and does what is due."""

from __future__ import annotations

import heapq
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable
from itertools import count
from queue import Empty, SimpleQueue
from typing import Any

from vyre.backend.base import Ticket
from vyre.errors import VyreError

log = logging.getLogger("vyre.learning")

_SOONEST_S, _LATEST_S = 1e-4, 2e-2  # between two looks at a launch under way
_MOST_UNDER_WAY = 64  # launches whose times are waited for at once; the oldest is given up

Work = Callable[[], None]


class Desk:
    """One thread that does small pieces of work: at once, at a time, or when a launch has ended.

    Work that raises is logged and dropped; the thread goes on. It starts with the first piece and
    does not keep the interpreter from exiting.
    """

    def __init__(self) -> None:
        self._begin()
        _desks.add(self)

    def _begin(self) -> None:
        self._inbox: SimpleQueue[Work] = SimpleQueue()
        self._later: list[tuple[float, int, Work]] = []  # a heap
        self._number = count()
        self._under_way: list[tuple[Ticket, Callable[[int | VyreError], None]]] = []
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    def post(self, work: Work) -> None:
        """Do this soon. Any thread may call it, and never waits."""
        self._inbox.put(work)
        if self._thread is None:
            self._start()

    def at(self, when: float, work: Work) -> None:
        """Do this at a time of the monotonic clock; called on the desk's own thread."""
        heapq.heappush(self._later, (when, next(self._number), work))

    def watch(self, ticket: Ticket, then: Callable[[int | VyreError], None]) -> None:
        """Do this with the time of a launch, or with its error; on the desk's own thread."""
        if len(self._under_way) >= _MOST_UNDER_WAY:
            self._under_way.pop(0)
        self._under_way.append((ticket, then))

    def drained(self, timeout_s: float) -> bool:
        """Whether all that was posted before has been done by then; for tests and for exits."""
        done = threading.Event()
        self.post(done.set)
        return done.wait(timeout_s)

    def _start(self) -> None:
        with self._starting:
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="vyre-learning", daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # no more threads, or the interpreter is ending
                    return
                self._thread = thread

    def _run(self) -> None:
        pause = _SOONEST_S
        while True:
            work = self._next(pause)
            if work is not None:
                self._do(work)
            pause = _SOONEST_S if self._look() else min(2 * pause, _LATEST_S)

    def _next(self, pause: float) -> Work | None:
        """What to do now; None when it is time to look at launches again."""
        now = time.monotonic()
        if self._later and self._later[0][0] <= now:
            return heapq.heappop(self._later)[2]
        waits = [pause] if self._under_way else []
        waits += [self._later[0][0] - now] if self._later else []
        try:
            return self._inbox.get(timeout=min(waits, default=None))
        except Empty:
            return None

    def _look(self) -> bool:
        """Pass on the times that are known by now; whether there was something to do."""
        ended = []
        for entry in self._under_way:
            ticket, then = entry
            try:
                elapsed: int | VyreError | None = ticket.elapsed_ns()
            except VyreError as error:
                elapsed = error
            if elapsed is None:
                break  # launches end in the order in which they began, as good as always
            ended.append(entry)
            self._do_with(then, elapsed)
        self._under_way = [entry for entry in self._under_way if entry not in ended]
        return bool(ended) or not self._under_way

    def _do_with(self, then: Callable[[Any], None], value: Any) -> None:
        self._do(lambda: then(value))

    def _do(self, work: Work) -> None:
        try:
            work()
        except Exception:
            log.exception("learning goes on without a piece of work that failed")


_desks: weakref.WeakSet[Desk] = weakref.WeakSet()


def _after_fork() -> None:
    for desk in tuple(_desks):
        desk._begin()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
