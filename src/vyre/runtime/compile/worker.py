"""Work for a process of its own: handed in by any thread, done in its order, answers are polled."""

from __future__ import annotations

import atexit
import json
import os
import queue
import sys
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Self, TypeVar

from vyre import settings
from vyre.errors import WireError
from vyre.runtime.compile.child import Child, Lost, Spoken
from vyre.runtime.compile.serving import LAST

MAX_FAILED_STARTS = 3
"""A process that did not come up this often in a row will not; the last refusal then stands."""

_TO_CLOSE_S = 5.0
_SHOWN = 200

Work = TypeVar("Work")
Done = TypeVar("Done")


@dataclass(frozen=True, slots=True)
class Refused:
    """The work was not done, and why."""

    reason: str
    log: str = ""
    by_helper: bool = field(default=False, compare=False)  # the process's own fault, not the work's


class Pending(Generic[Done]):
    """Work that was handed in."""

    __slots__ = ("_answer", "_done", "_then")

    def __init__(self, then: Callable[[], object] | None = None) -> None:
        self._answer: Done | Refused | None = None
        self._done = threading.Event()
        self._then = then

    def poll(self) -> Done | Refused | None:
        """What came of it, or None while it is not known; never waits."""
        return self._answer

    def wait(self, timeout_s: float | None = None) -> Done | Refused | None:
        """What came of it, waiting for it; None after `timeout_s`."""
        self._done.wait(timeout_s)
        return self._answer

    def cancel(self) -> None:
        """Nobody wants it any more: it is not done unless that has begun."""
        if self._answer is None:
            self.settle(Refused("it was no longer wanted", by_helper=True))

    def settle(self, answer: Done | Refused) -> None:
        self._answer = answer
        self._done.set()
        if self._then is not None:
            self._then()


class Worker(ABC, Generic[Work, Done]):
    """One process that does work in the order of submission.

    It starts with the first piece and starts anew after a crash or a piece that took too long.
    Whatever goes wrong there is a `Refused`; no method raises for it or waits for the process.

    Args:
        command: what to run, or why there is nothing.
        greeting: the line that the process says when it has come up.
        time_limit_s: for one piece, and for the process to come up.
        spoken: how the process and its work are called where it is said what became of them.
    """

    def __init__(
        self,
        command: Callable[[], Sequence[str] | Refused],
        greeting: object,
        *,
        time_limit_s: float,
        spoken: Spoken,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self._command, self._greeting, self._spoken = command, greeting, spoken
        self._limit_s = time_limit_s
        self._variables = {**(variables or {}), "PYTHONPATH": os.pathsep.join(_searched())}
        self._waiting: queue.SimpleQueue[tuple[Work, Pending[Done]] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()  # guards what follows
        self._thread: threading.Thread | None = None
        self._child: Child | None = None
        self._closed = ""  # why, once it is
        self._serving = threading.Lock()  # held by the thread, to its end
        # of the thread alone
        self._sent = 0
        self._failed_starts: list[Refused] = []  # in a row

    @abstractmethod
    def request(self, work: Work) -> Mapping[str, Any]:
        """What the process is asked, but for its number and its limit.

        Raises:
            WireError: it cannot be said.
        """

    @abstractmethod
    def read(self, answer: Mapping[str, Any]) -> Done | Refused | None:
        """What the process says, or None where that is no such thing."""

    def limit_s(self, work: Work) -> float:  # noqa: ARG002  # of a worker whose pieces are alike
        """For how long a piece of work may take."""
        return self._limit_s

    def submit(self, work: Work, then: Callable[[], object] | None = None) -> Pending[Done]:
        """Hand work in; `then` is called, on any thread, once there is an answer."""
        pending: Pending[Done] = Pending(then)
        with self._lock:
            if not self._closed and not (self._thread and self._thread.is_alive()):
                self._begin()
            if self._closed:
                pending.settle(Refused(self._closed, by_helper=True))
            else:
                self._waiting.put((work, pending))
        return pending

    def close(self) -> None:
        """End the process; what is not done yet is refused."""
        with self._lock:
            self._closed = self._closed or f"{self._spoken.process} is closed"
            thread, self._thread = self._thread, None
            if self._child is not None:
                self._child.kill()
        if thread is not None:
            self._waiting.put(None)
            thread.join(_TO_CLOSE_S)
        atexit.unregister(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _begin(self) -> None:
        _open.add(self)
        if self._thread is None:
            atexit.register(self.close)
        self._thread = threading.Thread(target=self._serve, name="vyre-compile", daemon=True)
        try:
            self._thread.start()
        except RuntimeError as error:  # no more threads, or the interpreter is ending
            self._closed = f"{self._spoken.process}'s thread could not be started: {error}"
            self._thread = None

    # -- what follows runs on the worker's thread

    def _serve(self) -> None:
        # Who is interrupted while a thread starts does not know of it, and starts another.
        if not self._serving.acquire(blocking=False):
            return
        pending = None
        try:
            while (work := self._waiting.get()) is not None:
                piece, pending = work
                if pending.poll() is None:  # else it was cancelled
                    pending.settle(
                        Refused(self._closed, by_helper=True) if self._closed else self._ask(piece)
                    )
        finally:
            self._end(pending)

    def _end(self, last: Pending[Done] | None) -> None:
        """Leave nobody waiting, even where a mistake of ours ended the thread."""
        with self._lock:
            self._closed = (
                self._closed or f"{self._spoken.process}'s thread ended by a mistake of Vyre's"
            )
        self._drop()
        left = [] if last is None or last.poll() else [last]
        while not self._waiting.empty():
            work = self._waiting.get()
            left += [] if work is None else [work[1]]
        for pending in left:
            pending.settle(Refused(self._closed, by_helper=True))

    def _ask(self, work: Work) -> Done | Refused:
        self._sent += 1
        limit_s = self.limit_s(work)
        try:
            request = {"id": self._sent, "limit_s": limit_s, **self.request(work)}
        except WireError as error:
            return Refused(error.problem)
        child = self._running()
        if isinstance(child, Refused):
            return child
        line = child.ask(json.dumps(request).encode() + b"\n", limit_s)
        if isinstance(line, Lost):
            self._drop()
            return self._refusal(line.reason, line.log)
        answer = self._answer(line, self._sent)
        if answer is not None and LAST.items() <= _parsed(line).items():
            self._drop()
        if answer is None:
            self._drop()
            said = line[:_SHOWN].decode(errors="replace")
            return Refused(f"{self._spoken.process} gave an answer that cannot be read", said)
        return answer

    def _answer(self, line: bytes, number: int) -> Done | Refused | None:
        """The answer to request `number`, or None where the line is no such thing."""
        parsed = _parsed(line)
        match parsed:
            case {"id": of, "ok": True} if of == number:
                return self.read(parsed)
            case {"id": of, "ok": False, "reason": str(reason), "log": str(log)} if of == number:
                return Refused(reason, log)
            case _:
                return None

    def _running(self) -> Child | Refused:
        """The process, come up."""
        if self._child is not None and self._child.alive:
            return self._child
        self._drop()
        if len(self._failed_starts) >= MAX_FAILED_STARTS:
            return self._failed_starts[-1]
        started = self._start()
        if isinstance(started, Refused):
            self._failed_starts.append(started)
        else:
            self._failed_starts.clear()
        return started

    def _start(self) -> Child | Refused:
        command = self._command()
        if isinstance(command, Refused):
            return command
        variables = settings.for_child(self._variables)
        try:
            child = Child(command, variables, self._spoken)
        except OSError as error:
            return Refused(f"{self._spoken.process} could not be started: {error}", by_helper=True)
        with self._lock:
            self._child = child
            if self._closed:
                child.kill()  # `close` came before there was something to kill
        line = child.ask(b"", self._limit_s)
        if isinstance(line, Lost):
            self._drop()
            reason = f"{self._spoken.process} did not come up: {line.reason}"
            return Refused(self._closed or reason, line.log, by_helper=True)
        if _parsed(line) != {"ready": self._greeting}:
            self._drop()
            return Refused(f"{self._spoken.process} {self._spoken.stranger}", by_helper=True)
        return child

    def _refusal(self, reason: str, log: str) -> Refused:
        return Refused(self._closed or reason, log, by_helper=bool(self._closed))

    def _drop(self) -> None:
        with self._lock:
            child, self._child = self._child, None
        if child is not None:
            child.release()

    # -- and this in a forked copy of the caller

    def leave(self) -> None:
        """Leave the process to the one that started it: the thread was not copied."""
        self._lock = threading.Lock()  # whoever held the old one was not copied either
        self._closed = f"{self._spoken.process} was started before this process was forked"
        self._thread = None
        if self._child is not None:
            self._child.leave()
            self._child = None


_open: weakref.WeakSet[Worker[Any, Any]] = weakref.WeakSet()


def _leave_all() -> None:
    for worker in list(_open):
        worker.leave()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_all)


def python_command(process: str, module: str, *arguments: str) -> tuple[str, ...] | Refused:
    """What starts a module of ours in a process of its own."""
    if getattr(sys, "frozen", False) or not sys.executable:
        # There, sys.executable is the user's program, and running it again is not what was asked.
        return Refused(
            f"{process} needs a Python interpreter, and this program has none", by_helper=True
        )
    # -P, or modules of the folder we are called from could stand in for the library's.
    return (sys.executable, "-P", "-m", module, *arguments)


def _searched() -> list[str]:
    """Where modules are looked for; imports pass over what is no text there, too."""
    found: list[object] = [*sys.path]
    return [one for one in found if isinstance(one, str)]


def _parsed(line: bytes) -> Any:
    """The JSON of a line, or None where it is none."""
    try:
        return json.loads(line)
    except ValueError:
        return None
