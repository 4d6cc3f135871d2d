"""A helper's process as its parent holds it: a line for a line, within a time limit."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_LONGEST = 1 << 20
_LOG_BYTES = 8000
_MOST_PRINTED = 64 << 20
_LOOK_S = 0.25
_TO_END_S = 5.0  # an interpreter that unwinds on a busy machine takes a while


@dataclass(frozen=True, slots=True)
class Lost:
    """Why a process gave no line, and the last of what it printed."""

    reason: str
    log: str = ""


@dataclass(frozen=True, slots=True)
class Spoken:
    """How a process and what works in it are called where it is said what became of them."""

    process: str
    work: str
    stranger: str = "is another one than was asked for"  # what it is where its greeting is wrong


class Child:
    """One process. It is used from one thread; any thread may `kill` it.

    Raises:
        OSError: it could not be started.
    """

    def __init__(
        self, command: Sequence[str], variables: Mapping[str, str], spoken: Spoken
    ) -> None:
        self._spoken = spoken
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  # it lives as long as the process
        try:
            # A session of its own: Ctrl-C is for the caller, and one kill takes the linkers that a
            # compiler starts along. No buffers: their locks would not survive a fork of the caller.
            self._process = subprocess.Popen(  # noqa: S603  # our own command
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                bufsize=0,
                env=variables,
                start_new_session=True,
                creationflags=getattr(subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0),  # of Windows
            )
        except OSError:
            self._errors.close()
            raise
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self._output = self._process.stdin, self._process.stdout
        self._received = b""
        self._expired = False

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return not self._expired and not self._has_ended()

    def ask(self, line: bytes, limit_s: float) -> bytes | Lost:
        """Send a line, or nothing, and return the next line that comes back.

        A process that gives none within `limit_s` is killed; after `Lost` it is gone.
        """
        watch = threading.Timer(limit_s, self._expire)
        watch.daemon = True
        watch.start()
        try:
            self._send(line)
            answer = self._receive()
        except OSError:  # it ended before it had read everything
            answer = None
        finally:
            watch.cancel()
            watch.join()
        return self._ending(limit_s) if answer is None else answer

    def kill(self) -> None:
        """End it and what it has started, now."""
        if self._process.returncode is not None:  # its number may be somebody else's by now
            return
        if os.name != "posix":
            self._process.kill()
            return
        # Also where it has ended by itself: what it has started may go on, and hold our pipes open.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    def release(self) -> None:
        """Kill it and give back what it held; from the thread that uses it."""
        self.kill()
        self._process.wait()
        self._input.close()
        self._output.close()
        self._errors.close()

    def leave(self) -> None:
        """Let go of it in a forked copy of its parent, or it would outlive the parent itself."""
        self._input.close()
        self._output.close()
        self._errors.close()
        self._process.returncode = 0  # not ours to wait for

    def _expire(self) -> None:
        self._expired = True
        self.kill()

    def _send(self, line: bytes) -> None:
        rest = memoryview(line)
        while rest:
            rest = rest[self._input.write(rest) :]

    def _receive(self) -> bytes | None:
        while b"\n" not in self._received:
            more = self._output.read(65536) if self._is_heard() else b""
            if not more:
                return None
            self._received += more
            if len(self._received) > _LONGEST:
                break
        line, _, self._received = self._received.partition(b"\n")
        return line

    def _is_heard(self) -> bool:
        """Wait until there is something to read, or its end; not where it ended without a word.

        A process that it forked holds the pipe open beyond that, and may never end.
        """
        if os.name != "posix":  # nothing forks there, and pipes cannot be waited for
            return True
        waiting = select.poll()
        waiting.register(self._output, select.POLLIN)
        while not waiting.poll(_LOOK_S * 1000):
            if self._has_ended():
                return bool(waiting.poll(0))
            self._forget_much()
        return True

    def _has_ended(self) -> bool:
        """Whether it has; until it is waited for, nobody else is given its number."""
        if self._process.returncode is not None:
            return True
        if not hasattr(os, "waitid"):
            return self._process.poll() is not None
        try:
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:  # the caller's program waits for all that it has
            return self._process.poll() is not None

    def _forget_much(self) -> None:
        """Let what it prints without end fill no disk."""
        with contextlib.suppress(OSError):
            if os.fstat(self._errors.fileno()).st_size > _MOST_PRINTED:
                os.ftruncate(self._errors.fileno(), 0)
                os.lseek(self._errors.fileno(), 0, os.SEEK_SET)  # where it goes on, too

    def _ending(self, limit_s: float) -> Lost:
        until = time.monotonic() + _TO_END_S
        while not (ended := self._has_ended()) and time.monotonic() < until:
            time.sleep(0.01)
        self.kill()
        status = self._process.wait()
        if not ended:
            return Lost(f"{self._spoken.process} closed its output", self._printed())
        log = self._printed()
        if self._expired:
            return Lost(f"{self._spoken.work} took more than {limit_s:g} s", log)
        if status < 0:
            return Lost(f"{self._spoken.process} died with signal {-status}", log)
        return Lost(f"{self._spoken.process} ended with status {status}", log)

    def _printed(self) -> str:
        size = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, size - _LOG_BYTES))
        return self._errors.read().decode(errors="replace").strip()
