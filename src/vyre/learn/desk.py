"""The thread beside the calls: it hears what ran, and does what is due."""

from __future__ import annotations

import heapq
import logging
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from functools import partial
from itertools import count
from queue import Empty, SimpleQueue

from vyre.backend.base import Ticket
from vyre.errors import DeviceFailed, VyreError

log = logging.getLogger("vyre.learning")

_BEGINS_S = 0.002
"""The call that starts a desk is a program's first: it keeps the interpreter until it is done."""

_AT_ONCE, _PER_S = 12, 20.0
"""Pieces of planned work that may be done one after the other, and how many a second later."""

_DENSE, _CALLS_APART = 5_000.0, 2_000
"""Calls a second, beyond which so many of them lie between two pieces.

Each may keep the interpreter from a caller for a millisecond; of a thousand calls not one is to
feel it.
"""

_SOONEST_S, _LATEST_S = 1e-4, 2e-2  # between two looks at a launch under way
_MOST_UNDER_WAY = 1024  # launches whose times are waited for at once; one is given up, and told
_AT_A_LOOK = 16  # of which are looked at together; the others in their turn
_MOST_DRAINED = 256  # pieces of work that follow each other without end
_LONGEST_S = 3600.0  # to sleep: timers of some systems end earlier than numbers do

Work = Callable[[], None]
Hears = Callable[[int | VyreError | None], None]
"""Hears the time of a launch, its error, or None where it will not be known."""


class Desk:
    """One thread that does small pieces of work: at once, at a time, or when a launch has ended.

    What is planned for a time comes when it is due, but not too much of it in a second: callers
    share the interpreter. Work that raises is logged and dropped; the thread goes on. It starts
    with the first piece and does not keep the interpreter from exiting.
    """

    def __init__(
        self,
        *,
        at_once: int = _AT_ONCE,
        per_s: float = _PER_S,
        calls_apart: float = _CALLS_APART,
    ) -> None:
        """Do so many pieces of planned work one after the other, and so many a second later.

        Beside many calls a second, there are so many calls between two pieces.
        """
        self._at_once, self._per_s, self._calls_apart = at_once, per_s, calls_apart
        self._begin()
        _desks.add(self)

    def _begin(self) -> None:
        self._inbox: SimpleQueue[Work] = SimpleQueue()
        self._later: list[tuple[float, int, Work]] = []  # a heap
        self._number = count()
        self._allowed = float(self._at_once)  # pieces of planned work, at the time that follows
        self._allowed_at = time.monotonic()
        self._calls = self._calls_at = 0  # so far, about, and at that time
        self._under_way: deque[tuple[Ticket, Hears]] = deque()  # the longest not looked at first
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    def post(self, work: Work) -> None:
        """Do this soon. Any thread may call it, and never waits."""
        self._inbox.put(work)
        if self._thread is None or not self._thread.is_alive():
            self._start()

    def at(self, when: float, work: Work) -> None:
        """Do this at a time of the monotonic clock; called on the desk's own thread."""
        heapq.heappush(self._later, (when, next(self._number), work))

    def watch(self, ticket: Ticket, then: Hears) -> None:
        """Do this with what came of a launch; on the desk's own thread.

        Whoever waits for a launch always hears, also that its time was given up.
        """
        if len(self._under_way) >= _MOST_UNDER_WAY:
            _, given_up = self._under_way.popleft()
            self._do(lambda: given_up(None))
        self._under_way.append((ticket, then))

    def called(self, count: int) -> None:
        """Hear of so many calls; any thread may say it, and one that is lost does no harm."""
        self._calls += count

    def drained(self, timeout_s: float) -> bool:
        """Whether all that was posted or due has been done; for tests and for exits.

        What is planned anew for now while it waits is done as well, within reason.
        """
        done, looks = threading.Event(), iter(range(_MOST_DRAINED))

        def look() -> None:
            due = self._later and self._later[0][0] <= time.monotonic()
            if due and next(looks, None) is not None:
                self.post(look)  # behind it
            else:
                done.set()

        self.post(look)
        return done.wait(timeout_s)

    def _start(self) -> None:
        with self._starting:
            if self._thread is None or not self._thread.is_alive():
                thread = threading.Thread(target=self._run, name="vyre-learning", daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # no more threads, or the interpreter is ending
                    return
                self._thread = thread

    def _run(self) -> None:
        time.sleep(_BEGINS_S)
        pause = _SOONEST_S
        while True:
            due = self._due()
            if due is not None:
                self._do(due)
            posted = self._posted(0.0 if due is not None else self._wait_s(pause))
            if posted is not None:
                self._do(posted)
            pause = _SOONEST_S if self._look() else min(2 * pause, _LATEST_S)

    def _due(self) -> Work | None:
        """What was planned for now or earlier, if not too much was lately."""
        now = time.monotonic()
        if not self._later or self._later[0][0] > now:
            return None
        elapsed_s, calls = now - self._allowed_at, self._calls - self._calls_at
        regained = elapsed_s * self._per_s
        if calls > _DENSE * elapsed_s:
            regained = min(regained, calls / self._calls_apart)
        self._allowed = min(self._allowed + regained, self._at_once)
        self._allowed_at, self._calls_at = now, self._calls
        if self._allowed < 1.0:
            return None
        self._allowed -= 1.0
        return heapq.heappop(self._later)[2]

    def _posted(self, wait_s: float) -> Work | None:
        """What was posted, if anything comes by then."""
        try:
            return self._inbox.get(timeout=wait_s)
        except Empty:
            return None

    def _wait_s(self, pause: float) -> float:
        """How long there is nothing to do but to wait for a post."""
        waits = [_LONGEST_S, *([pause] if self._under_way else [])]
        if self._later:
            too_much_s = (1.0 - self._allowed) / self._per_s
            waits.append(max(self._later[0][0] - time.monotonic(), too_much_s))
        return max(min(waits), 0.0)

    def _look(self) -> bool:
        """Pass on the times that are known by now; whether there was something to do."""
        heard = False
        for _ in range(min(len(self._under_way), _AT_A_LOOK)):
            ticket, then = self._under_way.popleft()
            came = _came_of(ticket)
            if came is None:
                self._under_way.append((ticket, then))
            else:
                heard = True
                self._do(partial(then, came))
        return heard or not self._under_way

    def _do(self, work: Work) -> None:
        try:
            work()
        except Exception:
            log.exception("learning goes on without a piece of work that failed")


def _came_of(ticket: Ticket) -> int | VyreError | None:
    """The time of a launch, or its error; None while it runs."""
    try:
        return ticket.elapsed_ns()
    except VyreError as error:
        return error
    except Exception as error:
        log.exception("the time of a launch cannot be read")
        return DeviceFailed(f"its time cannot be read: {error!r}", "look at the log")


_desks: weakref.WeakSet[Desk] = weakref.WeakSet()


def _after_fork() -> None:
    for desk in tuple(_desks):
        desk._begin()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
