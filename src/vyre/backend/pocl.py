"""What is PoCL's own among OpenCL's drivers: where it compiles, and for which processors."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from vyre import settings
from vyre.backend import scratch
from vyre.backend.base import Unusable
from vyre.model import DeviceInfo

NEWER = (
    "install a newer PoCL, such as your system's own (apt install pocl-opencl-icd on Debian and "
    'Ubuntu), or use the device "cpu", which needs none'
)
"""What helps where its compiler is older than the processor."""

_ERROR = re.compile(r"error: *(.+)")


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


def is_doubtful(device: Any) -> bool:
    """Whether PoCL may be unable to compile for a device: LLVM does not know which processor it is.

    Such a one is called generic, a name that LLVM's own compiler refuses on x86-64. PoCL 3.0 passes
    it on all the same; 3.1 looks for a processor with the same instructions instead.
    """
    return is_pocl(device) and device.version.strip().endswith("-generic")


def unusable(info: DeviceInfo, log: str, *, replaced: bool) -> Unusable:
    """A device for which nothing can be compiled, by what its compiler said.

    Args:
        info: the device.
        log: of a build that failed.
        replaced: whether another OpenCL device that can be used is on the same processor.
    """
    said = _ERROR.search(log)
    return Unusable(
        f"{info.model} is left out, because PoCL {info.driver} cannot compile for this processor: "
        + (said[1].strip() if said else "it does not say why"),
        "use the other OpenCL device of this processor" if replaced else NEWER,
    )


def refuses_processor(log: str) -> bool:
    """Whether a build failed for the processor's sake, whatever was to be built."""
    return "unknown target CPU" in log
