"""Compiling beside the caller: bundles go to a process of their own, answers are polled."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from vyre.backend.base import Backend, Compiled, Unbuilt
from vyre.errors import InvalidInput
from vyre.ir.program import Program
from vyre.model import DeviceInfo
from vyre.runtime.compile.bundle import Bundle, spelt, to_request
from vyre.runtime.compile.child import Spoken
from vyre.runtime.compile.worker import Worker, python_command

_PROCESS = "the compile helper"
_SERVER = "vyre.runtime.devices.compile_server"
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


class Compiling(Protocol):
    """A device to compile for."""

    @property
    def name(self) -> str: ...
    @property
    def info(self) -> DeviceInfo: ...
    @property
    def backend(self) -> Backend: ...


class CompileHelper(Worker[Bundle, Ready]):
    """One process that compiles for one device.

    Args:
        device: what to compile for.
        time_limit_s: for one bundle, and for the process to come up.
        command: what to run instead of our own server.
    """

    def __init__(
        self, device: Compiling, *, time_limit_s: float = 30.0, command: Sequence[str] | None = None
    ) -> None:
        own = tuple(command) if command is not None else None
        stranger = f"compiles for something else than {device.name}"
        super().__init__(
            lambda: own or python_command(_PROCESS, _SERVER, device.name),
            device.info.toolchain,
            time_limit_s=time_limit_s,
            spoken=Spoken(_PROCESS, "the compiler", stranger),
            variables=_VARIABLES,
        )
        self._spelt: tuple[Program, str] | None = None  # the latest: bundles of one come in a row

    def request(self, bundle: Bundle) -> Mapping[str, Any]:
        if self._spelt is None or self._spelt[0] is not bundle.program:
            self._spelt = bundle.program, spelt(bundle.program)
        return to_request(bundle, self._spelt[1])

    def read(self, answer: Mapping[str, Any]) -> Ready | None:
        match answer:
            case {"max_threads": [*threads], **more}:
                cpu_s, made = more.get("cpu_s", 0.0), _made(more.get("made", []))
                whole = all(isinstance(count, int) for count in threads)
                if not whole or not isinstance(cpu_s, float) or made is None:
                    return None
                fits = len(made) in (0, len(threads))
                return Ready(tuple(threads), cpu_s, made) if fits else None
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
