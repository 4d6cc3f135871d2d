"""How much of the host's memory can still be had."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

try:
    import resource
except ImportError:  # not on Windows
    resource = None  # type: ignore[assignment]  # asked for below

_PROC, _GROUPS = Path("/proc"), Path("/sys/fs/cgroup")


def free_bytes(proc: Path = _PROC, groups: Path = _GROUPS) -> int | None:
    """What the system, this process's control group and its own limit all leave.

    None where nothing says so.

    Args:
        proc: where the system tells of itself.
        groups: where control groups do.
    """
    known = [_of_system(proc), *_of_groups(proc, groups), _of_process(proc)]
    left = [number for number in known if number is not None]
    return max(min(left), 0) if left else None


def total_bytes(proc: Path = _PROC) -> int | None:
    """What the system has in all; None where nothing says so."""
    for line in _text(proc / "meminfo").splitlines():
        name, _, value = line.partition(":")
        if name == "MemTotal":
            return _number(value.removesuffix("kB"), 1024)
    return None


def _of_system(proc: Path) -> int | None:
    """What could be had without swapping."""
    for line in _text(proc / "meminfo").splitlines():
        name, _, value = line.partition(":")
        if name == "MemAvailable":
            return _number(value.removesuffix("kB"), 1024)
    return None


def _of_groups(proc: Path, groups: Path) -> Iterator[int | None]:
    """What each group that holds this process leaves; a page of a file can be dropped."""
    for line in _text(proc / "self" / "cgroup").splitlines():
        _, _, named = line.partition(":")
        kinds, _, path = named.partition(":")
        if kinds == "":
            folder, limit, used = groups / path.strip("/"), "memory.max", "memory.current"
        elif "memory" in kinds.split(","):
            folder = groups / "memory" / path.strip("/")
            limit, used = "memory.limit_in_bytes", "memory.usage_in_bytes"
        else:
            continue
        most, taken = _number(_text(folder / limit)), _number(_text(folder / used))
        if most is not None and taken is not None:
            yield most - taken + _droppable(_text(folder / "memory.stat"))


def _droppable(stat: str) -> int:
    rows = dict(line.split(maxsplit=1) for line in stat.splitlines() if " " in line)
    found = rows.get("total_inactive_file", rows.get("inactive_file", ""))
    return _number(found) or 0


def _of_process(proc: Path) -> int | None:
    """What a limit on the size of this process leaves."""
    if resource is None:
        return None
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    pages = _number(_text(proc / "self" / "statm").partition(" ")[0])
    if most == resource.RLIM_INFINITY or pages is None:
        return None
    return most - pages * os.sysconf("SC_PAGE_SIZE")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""


def _number(text: str, unit: int = 1) -> int | None:
    text = text.strip()
    return int(text) * unit if text.isdecimal() else None
