"""Where compilers may write: a folder that they really can write to, with room for their files.

They do not say so themselves: PoCL without such a folder has no devices, and LLVM ends the process
when a disk is full.
"""

from __future__ import annotations

import atexit
import logging
import os
import secrets
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from vyre import settings

log = logging.getLogger("vyre.backend")

ROOM_BYTES = 16 << 20
"""What must be free to begin with; a compiled form of a kernel takes some 100 KB on PoCL."""

LEAST_BYTES = 4 << 20
"""What must be free for one more build."""

_PROBE = bytes(64 << 10)


def why_not(folder: Path, room: int = ROOM_BYTES) -> str | None:
    """Why compilers cannot work in a folder, found out by writing to it; None where they can."""
    if not folder.is_absolute():
        return "there is no home folder"
    probe = folder / f".{secrets.token_hex(8)}.tmp"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        probe.write_bytes(_PROBE)  # a quota shows only then
    except OSError as error:
        return error.strerror or str(error)
    finally:
        with suppress(OSError):
            probe.unlink(missing_ok=True)
    return too_full(folder, room)


def _why_open(folder: Path) -> str | None:
    return None if settings.is_private(folder) else "others can write there"


def too_full(folder: Path, room: int = LEAST_BYTES) -> str | None:
    """Why there is no room in a folder; None where there is, or where nobody knows."""
    try:
        free = shutil.disk_usage(folder).free
    except OSError:
        return None
    return None if free >= room else f"{free:,} bytes are free there, {room:,} are needed"


def for_compilers(wanted: Path | None) -> Path | None:
    """The folder, or a temporary one where it cannot be used; None where there is neither.

    They run what they find there, so others must not be able to write to it. What is not as wanted
    is said in the log. A temporary folder goes with the process.
    """
    if wanted is None:
        return _temporary()
    why = why_not(wanted) or _why_open(wanted)
    if why is None:
        return wanted
    temporary = _temporary()
    instead = (
        f"they work in {temporary} until this process ends" if temporary else "nor any other folder"
    )
    log.warning(
        "compilers cannot use %s: %s; %s\n"
        "Fix: make room and give write permission there, or set VYRE_CACHE_DIR to another folder",
        wanted,
        why,
        instead,
    )
    return temporary


def _temporary() -> Path | None:
    try:
        made = Path(tempfile.mkdtemp(prefix="vyre-"))
    except OSError:
        return None
    atexit.register(_remove, made, os.getpid())
    return made if why_not(made) is None else None


def _remove(folder: Path, owner: int) -> None:
    if os.getpid() == owner:  # a forked copy ends before the process that compiles here
        shutil.rmtree(folder, ignore_errors=True)
