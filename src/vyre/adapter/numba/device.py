"""Where Numba launches here and now: the device, or the simulator where that is asked for."""

from __future__ import annotations

import functools
import importlib.metadata
from collections.abc import Callable, Mapping
from typing import Any

import numba
import numba.cuda as cuda
import numpy as np

from vyre.adapter.kind import Place
from vyre.adapter.places import HOST
from vyre.adapter.places import cuda as cuda_place
from vyre.model import Limits

SIMULATED = bool(numba.config.ENABLE_CUDASIM)
"""Whether Numba runs kernels as Python: then there is one configuration, which it changes."""

_LIBRARIES = (
    *("numba", "numba-cuda", "cuda-core", "nvidia-nvvm", "nvidia-cuda-nvcc", "nvidia-nvjitlink"),
    *("nvidia-cuda-nvcc-cu12", "nvidia-nvjitlink-cu12"),
)

_LIMITS = Limits(max_threads=1024, max_block=(1024, 1024, 64), max_grid=(2**31 - 1, 65535, 65535))


def current() -> int:
    """The number of the device on which a launch here and now runs."""
    if SIMULATED or _is_only():
        return 0
    return int(cuda.current_context().device.id)


def asked() -> Callable[[], int]:
    """What tells the number of the current device; where there is one, nobody is asked."""
    try:
        return int if SIMULATED or _is_only() else current
    except Exception:  # noqa: BLE001  # there is none, which a launch will say
        return current


@functools.cache
def _is_only() -> bool:
    return len(cuda.gpus) == 1


def capability(number: int) -> Any:
    """Of a device, by its number."""
    return cuda.gpus[number].compute_capability


def place() -> Place:
    """Where a kernel that is launched here and now runs."""
    return HOST if SIMULATED else cuda_place(current())


def limits() -> Limits:
    """Of what is launched there."""
    return _LIMITS if SIMULATED else place().info.limits


def handle_of(stream: Any) -> int | None:
    """A stream's number for the driver; the legacy default one is 0. None where it is not known."""
    stream = getattr(stream, "stream", stream)  # of what builds a graph
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    handle = getattr(stream, "handle", stream)
    value = getattr(handle, "value", handle) or 0
    return int(value) if isinstance(value, (int, np.integer)) else None


def options_of(kernel: Any) -> Mapping[str, Any]:
    """How a kernel is compiled, as `cuda.jit` was told."""
    found: Mapping[str, Any] = getattr(kernel, "targetoptions", {})
    return found


@functools.cache
def versions() -> str:
    """Of the library, and of what it compiles with."""
    found = [str(getattr(cuda, "implementation", "numba.cuda"))]
    for name in _LIBRARIES:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return ", ".join(found)
