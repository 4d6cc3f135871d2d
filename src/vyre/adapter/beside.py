"""Work beside the calls: in processes of their own, and on a thread where it cannot leave ours."""

from __future__ import annotations

import atexit
import functools
import os
import queue
import threading
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from vyre.adapter.failure import words_of
from vyre.adapter.kind import Job
from vyre.adapter.server import GREETING
from vyre.errors import VyreError
from vyre.runtime.compile.child import Spoken
from vyre.runtime.compile.worker import Pending, Refused, Worker, python_command

_SERVER = "vyre.adapter.server"
_FILLED = MappingProxyType({"MALLOC_PERTURB_": "90"})
"""With it glibc fills what is allocated and what is freed, so that who reads it is found out."""

_TO_COME_UP_S = 60.0  # libraries of others are loaded there
_TO_CLOSE_S = 10.0  # for what is being made here when the process ends
_ENDING = "this process is ending"


class Jobs(Worker[Job, Mapping[str, Any]]):
    """A process that does jobs, and may die of one without harm to whoever asked."""

    def __init__(
        self,
        spoken: Spoken,
        time_limit_s: float = _TO_COME_UP_S,
        variables: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        super().__init__(
            lambda: python_command(spoken.process, _SERVER),
            GREETING,
            time_limit_s=time_limit_s,
            spoken=spoken,
            # One thread each, because the cores are the caller's.
            variables={"POCL_MAX_PTHREAD_COUNT": "1", "POCL_AFFINITY": "0", **variables},
        )

    def request(self, work: Job) -> Mapping[str, Any]:
        return {"entry": work.entry, "given": work.given}

    def read(self, answer: Mapping[str, Any]) -> Mapping[str, Any] | None:
        done = answer.get("done")
        return done if isinstance(done, dict) else None

    def limit_s(self, work: Job) -> float:
        return work.limit_s


@functools.cache
def compiling() -> Jobs:
    """The process that compiles kernels of others ahead of the calls."""
    return Jobs(Spoken("the process that compiles", "compiling"))


@functools.cache
def trying() -> Jobs:
    """The process that runs configs on copies before they serve."""
    spoken = Spoken("the process that tried it", "a run on copies")
    return Jobs(spoken, variables=_FILLED)


class Aside:
    """One thread for what cannot be made in another process; callers share its interpreter."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._closed = False
        self._waiting: queue.SimpleQueue[tuple[Callable[[], None], Pending[None]] | None] = (
            queue.SimpleQueue()
        )
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def close(self) -> None:
        """Take nothing more, and end with what is being done, so that it is not cut short.

        A thread that comes back to an interpreter which is ending takes the process down, where it
        stands in a library of C++.
        """
        with self._lock:
            self._closed, thread = True, self._thread
        self._waiting.put(None)
        if thread is not None:
            thread.join(_TO_CLOSE_S)

    def submit(self, work: Callable[[], None], then: Callable[[], object]) -> Pending[None]:
        """Do this soon; a `VyreError` of it is a refusal, and `then` says that it is over."""
        pending: Pending[None] = Pending(then)
        with self._lock:
            if not self._closed:
                self._waiting.put((work, pending))
            if self._closed:
                pending.settle(Refused(_ENDING, by_helper=True))
            elif self._thread is None or not self._thread.is_alive():
                # Kept before it starts: who is interrupted there would start another beside it.
                self._thread = threading.Thread(target=self._run, name="vyre-making", daemon=True)
                try:
                    self._thread.start()
                except RuntimeError as error:  # no more threads, or the interpreter is ending
                    self._thread = None
                    pending.settle(Refused(f"no thread could be started: {error}", by_helper=True))
        return pending

    def _run(self) -> None:
        while (asked := self._waiting.get()) is not None:
            work, pending = asked
            if pending.poll() is not None:
                continue
            if self._closed:
                pending.settle(Refused(_ENDING, by_helper=True))
                continue
            try:
                work()
            except VyreError as error:
                pending.settle(Refused(error.problem))
            except Exception as error:  # noqa: BLE001  # of a library of others: it drops one config
                pending.settle(Refused(f"{type(error).__name__}: {words_of(error)}"))
            else:
                pending.settle(_DONE)


class _Done:
    """That something was done, which is all there is to know of it."""


_DONE: Any = _Done()


@functools.cache
def aside() -> Aside:
    """The thread of this process for what cannot be made elsewhere."""
    made = Aside()
    _made.append(made)
    return made


@functools.cache
def meanwhile() -> Aside:
    """The thread of this process for what a call needs later, while it does something else.

    It is another one than that which calls need not wait for.
    """
    made = Aside()
    _made.append(made)
    return made


_made: list[Aside] = []


def _at_exit() -> None:
    """Runs after workers have closed: what those refuse then is not begun here."""
    for made in _made:
        made.close()


# Now, and not when one is made: functions that are registered while others run are left out.
atexit.register(_at_exit)


def _after_fork() -> None:
    _made.clear()
    for made in (compiling, trying, aside, meanwhile):
        made.cache_clear()  # what was started belongs to the process before the fork


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
