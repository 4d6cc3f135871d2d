"""Launches of OpenCL's under way, and what its errors say."""

from __future__ import annotations

from typing import Any

import pyopencl as cl

from vyre.errors import DeviceFailed


class OpenCLTicket:
    """A launch under way, by its event. Not a dataclass: one is made on every call."""

    __slots__ = ("event",)
    rough = False

    def __init__(self, event: Any) -> None:
        self.event = event

    def elapsed_ns(self) -> int | None:
        """Kernel time from the event's profile, or None while it runs."""
        status = self.event.command_execution_status
        if status < 0:
            raise DeviceFailed(
                f"a launch ended with OpenCL's error {status}",
                "make the arrays that it writes anew, and run it again",
            )
        if status != cl.command_execution_status.COMPLETE:
            return None
        return int(self.event.profile.end - self.event.profile.start)

    def wait(self) -> None:
        self.event.wait()


def cause(error: Exception) -> str:
    """What an error of pyopencl's says besides the name of the call."""
    return str(error).partition(" failed: ")[2] or str(error)
