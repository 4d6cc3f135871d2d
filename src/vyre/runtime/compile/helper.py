"""Compiling beside the caller: bundles go to a process of their own, answers are polled."""

from __future__ import annotations

import atexit
import json
import os
import queue
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from vyre import settings
from vyre.backend.base import Backend, Compiled, Unbuilt
from vyre.errors import InvalidInput, WireError
from vyre.ir.program import Program
from vyre.model import DeviceInfo
from vyre.runtime.compile.bundle import Bundle, spelt, to_request
from vyre.runtime.compile.child import Child, Lost

MAX_FAILED_STARTS = 3
"""A helper that did not come up this often in a row will not; the last refusal then stands."""

_TO_CLOSE_S = 5.0
_SHOWN = 200
_VARIABLES = {"POCL_MAX_PTHREAD_COUNT": "1", "POCL_AFFINITY": "0"}
"""PoCL compiles on its worker threads; these go to whatever core the caller leaves free."""


@dataclass(frozen=True, slots=True)
class Ready:
    """The driver's cache holds the bundle: building it and its first launches are quick now.

    `made` tells of each code where it is, for `Device.load`, or why it could not be compiled; it is
    empty where nobody knows, and then each is built.
    """

    max_threads: tuple[int, ...]  # of each code; 0 where the device does not say
    cpu_s: float = field(default=0.0, compare=False, repr=False)  # what the helper spent on it
    made: tuple[Compiled | Unbuilt, ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Refused:
    """The bundle was not compiled, and why."""

    reason: str
    log: str = ""
    by_helper: bool = field(default=False, compare=False)  # its own fault, not the bundle's


Answer = Ready | Refused


class Pending:
    """A bundle that was handed in."""

    __slots__ = ("_answer", "_done", "_then")

    def __init__(self, then: Callable[[], object] | None = None) -> None:
        self._answer: Answer | None = None
        self._done = threading.Event()
        self._then = then

    def poll(self) -> Answer | None:
        """What came of it, or None while it is not known; never waits."""
        return self._answer

    def wait(self, timeout_s: float | None = None) -> Answer | None:
        """What came of it, waiting for it; None after `timeout_s`."""
        self._done.wait(timeout_s)
        return self._answer

    def cancel(self) -> None:
        """Nobody wants it any more: it is not compiled unless that has begun."""
        if self._answer is None:
            self.settle(Refused("it was no longer wanted", by_helper=True))

    def settle(self, answer: Answer) -> None:
        self._answer = answer
        self._done.set()
        if self._then is not None:
            self._then()


class Compiling(Protocol):
    """A device to compile for."""

    @property
    def name(self) -> str: ...
    @property
    def info(self) -> DeviceInfo: ...
    @property
    def backend(self) -> Backend: ...


class CompileHelper:
    """One process that compiles for one device, in the order of submission.

    It starts with the first bundle and starts anew after a crash or a compile that took too long.
    Whatever goes wrong there is a `Refused`; no method raises for it or waits for the process.

    Args:
        device: what to compile for.
        time_limit_s: for one bundle, and for the process to come up.
        command: what to run instead of our own server.
    """

    def __init__(
        self, device: Compiling, *, time_limit_s: float = 30.0, command: Sequence[str] | None = None
    ) -> None:
        self._toolchain = device.info.toolchain
        self._limit_s = time_limit_s
        self._command = None if command is None else tuple(command)
        self._device_name = device.name
        self._waiting: queue.SimpleQueue[tuple[Bundle, Pending] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()  # guards what follows
        self._thread: threading.Thread | None = None
        self._child: Child | None = None
        self._closed = ""  # why, once it is
        # of the thread alone
        self._sent = 0
        self._failed_starts: list[Refused] = []  # in a row
        self._spelt: tuple[Program, str] | None = None  # the latest: bundles of one come in a row

    def submit(self, bundle: Bundle, then: Callable[[], object] | None = None) -> Pending:
        """Hand a bundle in; `then` is called, on any thread, once there is an answer."""
        pending = Pending(then)
        with self._lock:
            if not self._closed and self._thread is None:
                self._begin()
            if self._closed:
                pending.settle(Refused(self._closed, by_helper=True))
            else:
                self._waiting.put((bundle, pending))
        return pending

    def close(self) -> None:
        """End the process; what is not compiled yet is refused."""
        with self._lock:
            self._closed = self._closed or "the compile helper is closed"
            thread, self._thread = self._thread, None
            if self._child is not None:
                self._child.kill()
        if thread is not None:
            self._waiting.put(None)
            thread.join(_TO_CLOSE_S)
        atexit.unregister(self.close)

    def __enter__(self) -> CompileHelper:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _begin(self) -> None:
        thread = threading.Thread(target=self._serve, name="vyre-compile", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # no more threads, or the interpreter is ending
            self._closed = f"the compile helper's thread could not be started: {error}"
            return
        self._thread = thread
        _open.add(self)
        atexit.register(self.close)

    # -- what follows runs on the helper's thread

    def _serve(self) -> None:
        pending = None
        try:
            while (work := self._waiting.get()) is not None:
                bundle, pending = work
                if pending.poll() is None:  # else it was cancelled
                    pending.settle(
                        Refused(self._closed, by_helper=True)
                        if self._closed
                        else self._compile(bundle)
                    )
        finally:
            self._end(pending)

    def _end(self, last: Pending | None) -> None:
        """Leave nobody waiting, even where a mistake of ours ended the thread."""
        with self._lock:
            self._closed = (
                self._closed or "the compile helper's thread ended by a mistake of Vyre's"
            )
        self._drop()
        left = [] if last is None or last.poll() else [last]
        while not self._waiting.empty():
            work = self._waiting.get()
            left += [] if work is None else [work[1]]
        for pending in left:
            pending.settle(Refused(self._closed, by_helper=True))

    def _compile(self, bundle: Bundle) -> Answer:
        self._sent += 1
        request = {"id": self._sent, "limit_s": self._limit_s}
        try:
            if self._spelt is None or self._spelt[0] is not bundle.program:
                self._spelt = bundle.program, spelt(bundle.program)
            request |= to_request(bundle, self._spelt[1])
        except WireError as error:
            return Refused(error.problem)
        child = self._running()
        if isinstance(child, Refused):
            return child
        line = child.ask(json.dumps(request).encode() + b"\n", self._limit_s)
        if isinstance(line, Lost):
            self._drop()
            return self._refusal(line.reason, line.log)
        answer = _read(line, self._sent)
        if answer is None:
            self._drop()
            said = line[:_SHOWN].decode(errors="replace")
            return Refused("the compile helper gave an answer that cannot be read", said)
        return answer

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
        command = self._command or _own_command(self._device_name)
        if isinstance(command, Refused):
            return command
        variables = settings.for_child({**_VARIABLES, "PYTHONPATH": os.pathsep.join(sys.path)})
        try:
            child = Child(command, variables)
        except OSError as error:
            return Refused(f"the compile helper could not be started: {error}", by_helper=True)
        with self._lock:
            self._child = child
            if self._closed:
                child.kill()  # `close` came before there was something to kill
        line = child.ask(b"", self._limit_s)
        if isinstance(line, Lost):
            self._drop()
            reason = f"the compile helper did not come up: {line.reason}"
            return Refused(self._closed or reason, line.log, by_helper=True)
        if _parsed(line) != {"ready": self._toolchain}:
            self._drop()
            return Refused(
                f"the compile helper compiles for something else than {self._device_name}",
                by_helper=True,
            )
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
        self._closed = "the compile helper was started before this process was forked"
        self._thread = None
        if self._child is not None:
            self._child.leave()
            self._child = None


_open: weakref.WeakSet[CompileHelper] = weakref.WeakSet()


def _leave_all() -> None:
    for helper in list(_open):
        helper.leave()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_all)


def _own_command(device_name: str) -> tuple[str, ...] | Refused:
    if getattr(sys, "frozen", False) or not sys.executable:
        # There, sys.executable is the user's program, and running it again is not what was asked.
        return Refused(
            "the compile helper needs a Python interpreter, and this program has none",
            by_helper=True,
        )
    # -P, or modules of the folder we are called from could stand in for the library's.
    return (sys.executable, "-P", "-m", "vyre.runtime.devices.compile_server", device_name)


def _parsed(line: bytes) -> Any:
    """The JSON of a line, or None where it is none."""
    try:
        return json.loads(line)
    except ValueError:
        return None


def _read(line: bytes, number: int) -> Answer | None:
    """The answer to request `number`, or None where the line is no such thing."""
    match _parsed(line):
        case {"id": of, "ok": True, "max_threads": [*threads], **more} if of == number:
            cpu_s, made = more.get("cpu_s", 0.0), _made(more.get("made", []))
            whole = all(isinstance(count, int) for count in threads)
            if not whole or not isinstance(cpu_s, float) or made is None:
                return None
            return Ready(tuple(threads), cpu_s, made) if len(made) in (0, len(threads)) else None
        case {"id": of, "ok": False, "reason": str(reason), "log": str(log)} if of == number:
            return Refused(reason, log)
        case _:
            return None


def _made(listed: Any) -> tuple[Compiled | Unbuilt, ...] | None:
    """What each code came to, or None where that is not what the list says."""
    found: list[Compiled | Unbuilt] = []
    for one in listed if isinstance(listed, list) else [None]:
        match one:
            case {"reason": str(reason), "log": str(log)}:
                found.append(Unbuilt(reason, log))
            case {
                "max_threads": int(most),
                "name": str(name),
                "entry": str(entry),
                "guarded": [*axes],
                "words": [*places],
            } if all(isinstance(number, int) for number in (*axes, *places)):
                try:
                    found.append(Compiled(most, name, entry, tuple(axes), tuple(places)))
                except InvalidInput:
                    return None
            case _:
                return None
    return tuple(found)


_lock = threading.Lock()
_helpers: dict[str, CompileHelper] = {}


def helper_of(device: Compiling) -> CompileHelper | None:
    """The process that compiles for a device; None where there is nothing to compile."""
    if not device.backend.compiles:
        return None
    with _lock:
        known = _helpers.get(device.name)
        if known is None:
            known = _helpers[device.name] = CompileHelper(device)
        return known
