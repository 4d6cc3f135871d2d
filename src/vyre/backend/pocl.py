"""What is PoCL's own among OpenCL's drivers: where it compiles, and for which processors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from vyre import settings
from vyre.backend import scratch


def is_pocl(device: Any) -> bool:
    """Whether PoCL is a device's driver, by its own words."""
    return "pocl" in device.version.lower()


def prepare(private: Path | None) -> Path | None:
    """Where PoCL compiles; it reads these when its first platform is asked for, never again.

    It runs what it finds in its folder, so that has to be one that nobody else can write.
    """
    settings.preset("POCL_AFFINITY", "1")
    chosen = settings.peek("POCL_CACHE_DIR")
    if chosen:
        return Path(chosen)  # the user's own choice, or that of the process that started this one
    folder = scratch.for_compilers(None if private is None else private / "pocl")
    if folder is not None:
        settings.preset("POCL_CACHE_DIR", str(folder))
    return folder
