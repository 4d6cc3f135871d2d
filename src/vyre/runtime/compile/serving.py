"""The inside of a helper's process: one request a line, one answer a line, until its input ends."""

from __future__ import annotations

import json
import math
import os
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

LOG_CHARACTERS = 8000
"""How much of a compiler's log is worth sending; errors come last."""

LAST = {"last": True}
"""What is added to an answer after which the process is not to be asked again."""

_GRACE_S = 5
_NICE = 10

Answers = Callable[[dict[str, Any]], Mapping[str, Any]]


def serve(begin: Callable[[], tuple[object, Answers]]) -> None:
    """Say the greeting that `begin` gives, then answer requests until there are no more.

    The pipes are ours from the start: what a compiler or a kernel prints goes where errors go.
    """
    requests, answers = _claim_pipes()
    _give_way()
    greeting, answer = begin()
    here = os.getpid()
    try:
        _say(answers, {"ready": greeting})
        for line in requests:
            request = json.loads(line)
            _empty_log()
            _end_after(math.ceil(request["limit_s"]) + _GRACE_S)
            said = answer(request)
            if os.getpid() != here:  # a fork that came back: it answers for nobody
                os._exit(1)
            _end_after(0)
            _say(answers, {"id": request["id"], **said})
    except BrokenPipeError:
        pass  # our parent is gone


def refusal(reason: str, log: str = "") -> dict[str, Any]:
    """The answer that something cannot be done."""
    return {"ok": False, **why(reason, log)}


def why(reason: str, log: str) -> dict[str, str]:
    """A reason, and the end of the log that goes with it."""
    return {"reason": reason, "log": log.strip()[-LOG_CHARACTERS:]}


def _give_way() -> None:
    """Let the caller's kernels come first: they may run on the same cores, in the same memory."""
    if os.name != "posix":
        return
    os.nice(_NICE)
    # Where memory runs out because of us, Linux may otherwise end the caller.
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    # Linux weighs sessions against each other, however nice the processes in each of them are.
    with suppress(OSError):
        Path("/proc/self/autogroup").write_text(str(_NICE), encoding="ascii")


def _claim_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Keep the pipes for ourselves: what a compiler prints goes where errors go."""
    requests, answers = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return os.fdopen(requests, "rb"), os.fdopen(answers, "wb")


def _empty_log() -> None:
    """Forget what earlier requests left, where errors go to a file."""
    try:
        os.ftruncate(2, 0)
        os.lseek(2, 0, os.SEEK_SET)
    except OSError:
        pass  # a terminal or a pipe keeps nothing


def _end_after(seconds: int) -> None:
    """Our parent kills us at the limit; should it be gone, this does. 0 takes it back.

    It works while the compiler holds the interpreter's lock, because nothing handles the signal.
    """
    if os.name == "posix":
        signal.alarm(seconds)


def _say(answers: BinaryIO, message: dict[str, Any]) -> None:
    answers.write(json.dumps(message).encode() + b"\n")
    answers.flush()
