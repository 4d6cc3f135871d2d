"""Reading and replacing whole files: bounded, under a lock, never half written."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import blake3
from filelock import FileLock, Timeout

from vyre.errors import StoreFailed

LOCK_WAIT_S = 60.0
_POLL_S = 0.005  # a save takes a few milliseconds; the default of 50 would be most of the wait
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
_RESERVED = frozenset(
    ["con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))]
)
_LONGEST = 100


def safe_stem(name: str) -> str:
    """A file name for `name`: itself where every system takes it, else with a digest of it.

    >>> safe_stem("native-sm120"), safe_stem("../etc/passwd")
    ('native-sm120', 'etc_passwd-f5d0da9f8b89abe8')
    """
    reserved = name.split(".")[0].lower() in _RESERVED
    plain = set(name) <= _PLAIN and len(name) <= _LONGEST and name == name.strip(".-")
    if name and plain and not reserved:
        return name
    kept = "".join(letter if letter in _PLAIN else "_" for letter in name[:60]).strip("._-")
    digest = blake3.blake3(name.encode(errors="surrogatepass")).hexdigest()[:16]
    return f"{'adapter' if reserved or not kept else kept}-{digest}"


def read_text(path: Path, most_bytes: int) -> str | None:
    """The text of a file, or None where there is none.

    Raises:
        StoreFailed: it is there and cannot be read, is too large or is not UTF-8.
    """
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise StoreFailed(f"{path} is not a file", "give the path of a file")
        if found.st_size > most_bytes:
            raise StoreFailed(
                f"{path} has {found.st_size} bytes; {most_bytes} allowed",
                "remove entries from it, or keep them in several files",
            )
        with path.open("rb") as file:
            data = file.read(most_bytes + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise unreadable(path, error) from error
    if len(data) > most_bytes:
        raise StoreFailed(
            f"{path} grew beyond {most_bytes} bytes while it was read", "read it again"
        )
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise StoreFailed(
            f"{path} line {line} is not UTF-8", "mend that line, or move the file away"
        ) from None


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold the lock that every writer of `path` takes, across processes; make its folder first."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(f"{path}.lock", timeout=LOCK_WAIT_S)
        lock.acquire(poll_interval=_POLL_S)
    except Timeout:
        raise StoreFailed(
            f"{path} has been locked by another process for {LOCK_WAIT_S:.0f} s",
            f"end the process that holds {path}.lock",
        ) from None
    except OSError as error:
        raise unwritable(path, error) from error
    try:
        yield
    finally:
        lock.release()


def replace_text(path: Path, text: str) -> None:
    """Put `text` in the place of a file at once: readers see the old text or the new.

    The caller holds `exclusive(path)`, so a temporary file that is there was left by a crash.
    """
    target = path.resolve()  # a link stays a link
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        for left in target.parent.glob(f".{target.name}.*.tmp"):
            left.unlink(missing_ok=True)
        try:
            with temporary.open("xb") as file:
                file.write(text.encode())
                file.flush()
                os.fsync(file.fileno())
            if target.exists():
                temporary.chmod(stat.S_IMODE(target.stat().st_mode))
            temporary.replace(target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _sync_folder(target.parent)
    except OSError as error:
        raise unwritable(path, error) from error


def unreadable(path: Path, error: OSError) -> StoreFailed:
    """The error to raise where a file cannot be read."""
    return StoreFailed(
        f"{path} cannot be read: {error.strerror or error}",
        "make it readable, or move it away; it is left as it is",
    )


def unwritable(path: Path, error: OSError) -> StoreFailed:
    """The error to raise where a file cannot be written."""
    return StoreFailed(
        f"{path} cannot be written: {error.strerror or error}",
        "make room and give write permission there, or set VYRE_CACHE_DIR to another folder",
    )


def _sync_folder(folder: Path) -> None:
    """Make a rename last through a power cut, where folders can be synchronised at all."""
    with suppress(OSError):  # Windows has no handle of a folder, some network systems no fsync
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
