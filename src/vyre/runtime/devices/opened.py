"""Finding and opening devices."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import os
import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vyre import settings
from vyre.backend import scratch
from vyre.backend.base import Backend, Unusable
from vyre.backend.cpu import device as cpu
from vyre.backend.reference.device import Reference
from vyre.errors import InvalidInput, StoreFailed, UnsupportedFeature, labelled
from vyre.plain import shown
from vyre.runtime.arrays.shared import share_with
from vyre.runtime.devices.device import Device
from vyre.store.notice import say_once


class SlowDeviceWarning(UserWarning):
    """Kernels run on the reference, because no compiled device is there."""


def _cuda() -> list[Backend | Unusable]:
    return list(load_cuda().found(_private()))


def load_cuda() -> Any:
    """The backend of CUDA's devices; none is opened, so that the process may still fork.

    Raises:
        UnsupportedFeature: something of it is not installed.
    """
    try:
        installed = importlib.util.find_spec("cuda.bindings") is not None
    except ModuleNotFoundError:  # not even the package that holds it
        installed = False
    if not installed:
        raise UnsupportedFeature(
            'backend "cuda" needs cuda-bindings, which is not installed', 'pip install "vyre[cuda]"'
        )
    if not _has_driver():
        raise UnsupportedFeature(
            'backend "cuda" needs NVIDIA\'s driver, which is not installed',
            "install it, or use another device",
        )
    from vyre.backend import cuda  # an optional library, loaded when its backend is asked for

    return cuda


def _has_driver() -> bool:
    """Whether NVIDIA's driver is there: the bindings find that out in 60 ms, this in 0.1."""
    try:
        ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return False
    return True


def _opencl() -> list[Backend | Unusable]:
    if importlib.util.find_spec("pyopencl") is None:
        raise UnsupportedFeature(
            'backend "opencl" needs pyopencl, which is not installed',
            'pip install "vyre[opencl]"',
        )
    if scratch.why_not(settings.shared_cache_dir()) is not None:
        settings.preset("PYOPENCL_NO_CACHE", "1")  # read as it loads; it would fail at each kernel
    from vyre.backend import opencl  # an optional library, loaded when its backend is asked for

    return list(opencl.found(_private()))


def _private() -> Path | None:
    """The folder for compiled code; where there is none, that is said once."""
    asked = settings.load()
    folder = settings.private_cache_dir(asked)
    if folder is None:
        tried = dict.fromkeys((asked.cache_dir, asked.own_dir))
        say_once(
            StoreFailed(
                f"{' and '.join(map(str, tried))} cannot be written, or not by this user alone",
                "set VYRE_CACHE_DIR or XDG_CACHE_HOME to a folder of your own",
            ),
            "compiled kernels are not kept",
        )
    return folder


def _cpu() -> list[Backend | Unusable]:
    if importlib.util.find_spec("llvmlite") is None:
        raise UnsupportedFeature(
            'backend "cpu" needs llvmlite, which is not installed', "pip install llvmlite"
        )
    return list(cpu.found(_private()))


def _reference() -> list[Backend | Unusable]:
    return [Reference()]


BACKENDS: dict[str, Callable[[], list[Backend | Unusable]]] = {
    "cuda": _cuda,
    "cpu": _cpu,
    "opencl": _opencl,
    "reference": _reference,
}
"""A new backend is one module and one line here; the order is that of preference."""

SHARING = {2: "cuda"}
"""Which backend uses memory of other libraries where it is, by DLPack's type of their device."""

_ORDINAL = re.compile("[0-9]{0,9}")
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class _Found:
    """What a backend's drivers list: what can run kernels, and what cannot."""

    devices: tuple[Device, ...]
    unusable: tuple[Unusable, ...]


@functools.cache
def _found(backend: str) -> _Found:
    listed = BACKENDS[backend]()
    usable = [one for one in listed if not isinstance(one, Unusable)]
    return _Found(
        tuple(Device(f"{backend}:{number}", made) for number, made in enumerate(usable)),
        tuple(dict.fromkeys(one for one in listed if isinstance(one, Unusable))),
    )


def found(backend: str) -> tuple[Device, ...]:
    """The devices of one backend, the same objects each time.

    Raises:
        UnsupportedFeature: the backend's library is not installed, or no device of it is any use.
    """
    with _lock:
        here = _found(backend)
    if here.unusable and not here.devices:
        raise UnsupportedFeature(here.unusable[0].problem, here.unusable[0].fix)
    return here.devices


def left_out(backend: str) -> tuple[Unusable, ...]:
    """Devices that a backend's drivers list beside its own, and that can run nothing.

    Raises:
        UnsupportedFeature: the backend's library is not installed.
    """
    with _lock:
        return _found(backend).unusable


def sharing(dlpack_type: int) -> tuple[Device, ...]:
    """The devices that use such memory where it is, in the order of DLPack's ordinals.

    Raises:
        UnsupportedFeature: the backend's library is not installed.
    """
    return found(SHARING[dlpack_type]) if dlpack_type in SHARING else ()


share_with(sharing)


def devices() -> tuple[Device, ...]:
    """Every device that can run kernels here, the preferred one first.

    >>> devices()[-1].name
    'reference:0'
    """
    return tuple(_all())


def _all() -> Iterable[Device]:
    for backend in BACKENDS:
        try:
            yield from found(backend)
        except UnsupportedFeature:
            continue


def open(name: str | None = None) -> Device:  # noqa: A001  # read as vyre.open
    """The device of that name, such as `opencl:0` or `reference`; without one, the default.

    The default is what `VYRE_DEVICE` names, else the first of `devices()`.

    Raises:
        InvalidInput: there is no device of that name.
        UnsupportedFeature: the backend's library is not installed, or no device of it is any use.
    """
    return default() if name is None else _named(name)


def _named(name: object) -> Device:
    backend, _, number = name.partition(":") if isinstance(name, str) else ("", "", "")
    if backend not in BACKENDS:
        raise InvalidInput(
            f"no device {shown(name)}: no backend {shown(backend)}; known: {', '.join(BACKENDS)}"
            if isinstance(name, str)
            else f"no device {shown(name)}: a device's name is a text",
            f"use one of {', '.join(device.name for device in devices())}",
        )
    here = found(backend)
    if not _ORDINAL.fullmatch(number) or int(number or 0) >= len(here):
        others = "".join(f"; {one.problem}" for one in left_out(backend))
        raise InvalidInput(
            f"no device {shown(name)}; {backend} has {len(here)}{others}",
            f"use one of {', '.join(device.name for device in devices())}",
        )
    return here[int(number or 0)]


@functools.cache
def default() -> Device:
    """The device that calls use unless they say otherwise; chosen once per process."""
    wanted = settings.load().device
    if wanted is not None:
        with labelled("VYRE_DEVICE"):
            return _named(wanted)
    first = next(iter(_all()))
    if not first.backend.compiles:
        why, fix = "", "pip install llvmlite"
        try:
            found("cpu")
        except UnsupportedFeature as error:
            why, fix = f": {error.problem}", error.fix
        warnings.warn(
            f"no compiled device is here, so kernels run on NumPy, exactly but slowly{why}.\n"
            f"Fix: {fix}, or set VYRE_DEVICE=reference if that is meant",
            SlowDeviceWarning,
            stacklevel=3,
        )
    return first


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()  # whoever was opening a device was not copied


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
