"""What the machine has for tasks: cores this process may use, caches, the model's name."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_PROC, _GROUPS = Path("/proc"), Path("/sys/fs/cgroup")
_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_HEAD = 8192  # of cpuinfo: the kernel asks every processor for the rest, milliseconds on large ones


@dataclass(frozen=True, slots=True, kw_only=True)
class Caches:
    """Bytes of data that each level holds; what nobody says is taken for a small machine's."""

    l1: int = 32 << 10
    l2: int = 512 << 10
    l3: int = 8 << 20


def cores(proc: Path = _PROC, groups: Path = _GROUPS) -> int:
    """How many this process may keep busy: by its affinity, and by its control group's quota."""
    if sys.platform == "linux":
        allowed = len(os.sched_getaffinity(0))
    else:
        allowed = os.cpu_count() or 1
    shares = [max(1, -(-quota // period)) for quota, period in _quotas(proc, groups)]
    return max(1, min([allowed, *shares]))


def caches(folder: Path = _CACHES) -> Caches:
    """The caches of the first core."""
    found = _sysctl_caches() if sys.platform == "darwin" else dict(_listed_caches(folder))
    return Caches(**{name: size for name, size in found.items() if size > 0})


def model(proc: Path = _PROC) -> str:
    """What the processor calls itself; its architecture where it has no name."""
    if sys.platform == "darwin":
        return _sysctl_text("machdep.cpu.brand_string") or platform.machine()
    for line in cpuinfo(proc).splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name" and value.strip():
            return value.strip()
    return platform.processor() or platform.machine() or "unknown processor"


def cpuinfo(proc: Path = _PROC) -> str:
    """What Linux says of the first processors; empty elsewhere."""
    try:
        with (proc / "cpuinfo").open("rb", buffering=0) as file:
            return file.read(_HEAD).decode(errors="replace")
    except OSError:
        return ""


def _quotas(proc: Path, groups: Path) -> Iterator[tuple[int, int]]:
    """Microseconds that each group around this process may run, and of how many."""
    for line in _text(proc / "self" / "cgroup").splitlines():
        _, _, named = line.partition(":")
        kinds, _, path = named.partition(":")
        if kinds == "":
            for folder in _and_above(groups, path):
                quota, _, period = _text(folder / "cpu.max").strip().partition(" ")
                yield from _pair(quota, period)
        elif "cpu" in kinds.split(","):
            for root in (groups / "cpu", groups / kinds):
                for folder in _and_above(root, path):
                    quota = _text(folder / "cpu.cfs_quota_us").strip()
                    yield from _pair(quota, _text(folder / "cpu.cfs_period_us").strip())


def _and_above(root: Path, path: str) -> Iterator[Path]:
    """A group's folder and those of the groups around it, up to the root."""
    folder = root / path.strip("/")
    yield folder
    while folder != root and root in folder.parents:
        folder = folder.parent
        yield folder


def _pair(quota: str, period: str) -> Iterator[tuple[int, int]]:
    if quota.isdecimal() and period.isdecimal() and int(quota) > 0 and int(period) > 0:
        yield int(quota), int(period)  # "max" and -1 are no quota


def _listed_caches(folder: Path) -> Iterator[tuple[str, int]]:
    """Each level's size, as Linux lists them."""
    for number in range(8):
        one = folder / f"index{number}"
        kind, level = _text(one / "type").strip(), _text(one / "level").strip()
        size = _text(one / "size").strip()
        if kind in ("Data", "Unified") and level in ("1", "2", "3") and size[:-1].isdecimal():
            yield f"l{level}", int(size[:-1]) * _UNITS.get(size[-1], 1)


def _sysctl_caches() -> dict[str, int]:
    names = {"l1": "hw.l1dcachesize", "l2": "hw.l2cachesize", "l3": "hw.l3cachesize"}
    return {level: int.from_bytes(_sysctl(name), "little") for level, name in names.items()}


def _sysctl_text(name: str) -> str:
    return _sysctl(name).rstrip(b"\0").decode(errors="replace")


def _sysctl(name: str) -> bytes:
    """What macOS answers; empty where it does not know the name."""
    size = ctypes.c_size_t(256)
    answer = ctypes.create_string_buffer(size.value)
    library = ctypes.CDLL(None)
    failed = library.sysctlbyname(name.encode(), answer, ctypes.byref(size), None, 0)
    return b"" if failed else answer.raw[: size.value]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""
