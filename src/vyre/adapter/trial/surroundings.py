"""What a process has that a function may change for everybody in it, and leave so."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from vyre import settings


def _directory() -> Path | None:
    try:
        return Path.cwd()
    except OSError:  # somebody has removed it
        return None


def _enter(directory: Path | None) -> None:
    if directory is not None:
        os.chdir(directory)


def _handlers() -> dict[signal.Signals, Any]:
    return {one: signal.getsignal(one) for one in signal.valid_signals()}


def _handle(handlers: Mapping[signal.Signals, Any]) -> None:
    for number, handler in handlers.items():
        if handler is not None and signal.getsignal(number) is not handler:
            with suppress(OSError, ValueError):  # not for everybody to set, or not on this thread
                signal.signal(number, handler)


_KEPT: Mapping[str, tuple[Callable[[], Any], Callable[[Any], object]]] = {
    "directory": (_directory, _enter),
    "environment": (settings.environment, settings.put_back),
    "signal handlers": (_handlers, _handle),
    "limit of recursion": (sys.getrecursionlimit, sys.setrecursionlimit),
    "answer to errors of floats": (np.geterr, lambda answer: np.seterr(**answer)),
}


def surroundings() -> dict[str, Any]:
    """Them, as they are."""
    return {name: read() for name, (read, _) in _KEPT.items()}


def changed_since(before: Mapping[str, Any]) -> tuple[str, ...]:
    """What of them is another now, by its names; it is put back, for whoever runs next."""
    changed = []
    for name, (read, put) in _KEPT.items():
        if read() != before[name]:
            changed.append(name)
            with suppress(OSError):  # a folder may be gone
                put(before[name])
    return tuple(changed)
