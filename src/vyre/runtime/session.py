"""What this process shares: its settings, its memory of decisions, a compile helper per device."""

from __future__ import annotations

import functools
import threading

from vyre import settings
from vyre.runtime.device import Device
from vyre.runtime.helper import CompileHelper
from vyre.runtime.recorder import Recorder, recorder_of

_lock = threading.Lock()
_helpers: dict[str, CompileHelper] = {}


@functools.cache
def current() -> settings.Settings:
    """The settings, read once: a call never reads the environment."""
    return settings.load()


def recorder() -> Recorder:
    """Where decisions and measurements of this process go; under mode `off` nothing is written."""
    here = current()
    return recorder_of(here.cache_dir, writes=here.mode.writes)


def helper(device: Device) -> CompileHelper | None:
    """The process that compiles for a device; None where there is nothing to compile."""
    if device.info.backend == "reference":
        return None
    with _lock:
        known = _helpers.get(device.name)
        if known is None:
            known = _helpers[device.name] = CompileHelper(device)
        return known
