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
from vyre.learn.gaps import Gaps, Made, Manners
from vyre.learn.tally import Tally

log = logging.getLogger("vyre.learning")

_BEGINS_S = 0.002
"""The call that starts a desk is a program's first: it keeps the interpreter until it is done."""

_SOONEST_S, _LATEST_S = 1e-4, 2e-2  # between two looks at a launch under way
_MOST_UNDER_WAY = 1024  # launches whose times are waited for at once; one is given up, and told
_AT_A_LOOK = 16  # of which are looked at together; the others in their turn
_MOST_DRAINED = 256  # pieces of work that follow each other without end
_LONGEST_S = 60.0  # to sleep: one that is not needed any more, and missed the bell, ends by then

Work = Callable[[], None]
Hears = Callable[[int | VyreError | None], None]
"""Hears the time of a launch, its error, or None where it will not be known."""


class Desk:
    """One thread that does small pieces of work: soon, at a time, or when a launch has ended.

    All of it is done while callers pause, if they do, and else all together now and then: callers
    share the interpreter. Work that raises is logged and dropped; the thread goes on. It starts
    with the first piece and does not keep the interpreter from exiting.
    """

    def __init__(self, manners: Manners = Manners()) -> None:  # noqa: B008  # it cannot change
        self._manners = manners
        self._begin()
        _desks.add(self)

    def _begin(self) -> None:
        self._inbox: deque[Work] = deque()
        self._bell: SimpleQueue[None] = SimpleQueue()
        self._is_dense = False  # callers do not pause: what they post can wait for the next look
        self._awaited_by: set[object] = set()  # whoever waits for what is due
        self._later: list[tuple[float, int, Work]] = []  # a heap
        self._number = count()
        self._gaps = Gaps(self._manners, time.monotonic())
        self._calls = 0  # so far, about
        self._tally: Tally | None = None  # of the latest callers that were heard of
        self._looked: tuple[Made, float] | None = None  # what they had made then
        self._under_way: deque[tuple[Ticket, Hears]] = deque()  # the longest not looked at first
        self._thread: threading.Thread | None = None
        self._starting = threading.RLock()  # a call in a signal's handler may come here, too
        self._is_starting = False

    def post(self, work: Work) -> None:
        """Do this soon. Any thread may call it, and never waits."""
        self._inbox.append(work)
        if not self._is_dense:
            self._bell.put(None)
        if self._thread is None or not self._thread.is_alive():
            self._start()

    def at(self, when: float, work: Work) -> None:
        """Do this at a time of the monotonic clock; called on the desk's own thread."""
        heapq.heappush(self._later, (when, next(self._number), work))

    def soon(self, work: Work) -> None:
        """Do this when a first call is over and those that follow it can be told from a pause."""
        self.at(time.monotonic() + self._manners.begins_s, work)

    def watch(self, ticket: Ticket, then: Hears) -> None:
        """Do this with what came of a launch; on the desk's own thread.

        Whoever waits for a launch always hears, also that its time was given up.
        """
        if len(self._under_way) >= _MOST_UNDER_WAY:
            _, given_up = self._under_way.popleft()
            self._do(lambda: given_up(None))
        self._under_way.append((ticket, then))

    def called(self, count: int, tally: Tally | None = None) -> None:
        """Hear of so many calls, and who counts them all.

        Any thread may say it, and one that is lost does no harm.
        """
        self._calls += count
        self._tally = tally

    def drained(self, timeout_s: float) -> bool:
        """Whether all that was posted or due has been done; for tests and for exits.

        What is planned anew for now while it waits is done as well, within reason.
        """
        done, looks = threading.Event(), iter(range(_MOST_DRAINED))

        def look() -> None:
            if self._is_due() and next(looks, None) is not None:
                self.post(look)  # behind it
            else:
                self._awaited_by.discard(done)
                done.set()

        try:
            self._awaited_by.add(done)
            self.post(look)
            self._bell.put(None)
            return done.wait(timeout_s)
        finally:
            self._awaited_by.discard(done)

    def _start(self) -> None:
        with self._starting:
            if self._is_starting or (self._thread is not None and self._thread.is_alive()):
                return
            try:
                self._is_starting = True
                # Told first: an interrupt may come while it starts, and the next one replaces it.
                self._thread = threading.Thread(target=self._run, name="vyre-learning", daemon=True)
                self._thread.start()
            except RuntimeError:  # no more threads, or the interpreter is ending
                pass
            finally:
                self._is_starting = False

    def _run(self) -> None:
        time.sleep(_BEGINS_S)
        pause_s = _SOONEST_S
        while self._thread is threading.current_thread():  # of two that were started, one goes on
            if self._inbox or self._under_way or self._is_due():
                self._is_dense = not self._awaited_by and not self._callers_pause()
                made = self._made()
                if not self._is_dense or self._gaps.may_disturb(time.monotonic(), made):
                    pause_s = _SOONEST_S if self._worked(made) else min(2 * pause_s, _LATEST_S)
            else:
                self._is_dense = False  # nothing is left to wait for: whoever posts is heard
            self._wait(pause_s)
        self._bell.put(None)  # the last one that it heard may have been for the one that goes on

    def _is_due(self) -> bool:
        early_s = self._manners.begins_s if self._awaited_by else 0.0
        return bool(self._later) and self._later[0][0] <= time.monotonic() + early_s

    def _callers_pause(self) -> bool:
        """Look twice how many calls there were, some time apart; the first look may be the last."""
        look_s = self._manners.look_s
        if self._tally is None or not look_s:
            return True
        if self._looked is not None and not self._is_quiet_since(*self._looked):
            return False
        before, began = self._made(), time.monotonic()
        time.sleep(look_s)
        return self._is_quiet_since(before, began)

    def _is_quiet_since(self, before: Made, then: float) -> bool:
        made, now = self._made(), time.monotonic()
        self._looked = made, now
        return made.few_since(before, now - then)

    def _made(self) -> Made:
        tally = self._tally
        return Made(self._calls, tally, 0 if tally is None else tally.value)

    def _worked(self, made: Made) -> bool:
        """Do what was posted, look what has ended, and do what is due; whether there was any."""
        worked = False
        for _ in range(len(self._inbox)):
            worked = True
            self._do(self._inbox.popleft())
        worked |= self._look()
        now = time.monotonic()
        if self._is_due() and (self._awaited_by or self._gaps.may_plan(now, made)):
            worked = True
            self._do(heapq.heappop(self._later)[2])
        return worked

    def _wait(self, pause_s: float) -> None:
        """Wait for a post, and for no longer than until there is something to do or to look at."""
        waits = [_LONGEST_S, *([pause_s] if self._under_way else [])]
        if self._later:
            waits.append(max(self._later[0][0] - time.monotonic(), self._gaps.wait_s))
        wait_s = min(waits)
        if self._is_dense:
            wait_s = self._manners.rest_s  # whoever posts rings no bell
        elif self._inbox or (self._awaited_by and self._is_due()):
            wait_s = 0.0
        try:
            self._bell.get(timeout=max(wait_s, 0.0))
            while True:  # once for all that rang
                self._bell.get_nowait()
        except Empty:
            pass

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
        return heard

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
