"""Reading and replacing whole files: bounded, under a lock, never half written."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import blake3
from filelock import FileLock, Timeout

from vyre.errors import StoreFailed
from vyre.settings import user_id

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


def is_file(path: Path) -> bool:
    """Whether there is a file, not a folder or a pipe.

    Raises:
        StoreFailed: it cannot be told.
    """
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise unreadable(path, error) from error
    except ValueError:
        raise no_path(path) from None


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
    except ValueError:
        raise no_path(path) from None
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
        _make_lock(path.with_name(f"{path.name}.lock"))
        lock = FileLock(f"{path}.lock", timeout=LOCK_WAIT_S)
        lock.acquire(poll_interval=_POLL_S)
    except Timeout:
        raise StoreFailed(
            f"{path} has been locked by another process for {LOCK_WAIT_S:.0f} s",
            f"end the process that holds {path}.lock",
        ) from None
    except OSError as error:
        raise unwritable(path, error) from error
    except ValueError:
        raise no_path(path) from None
    try:
        yield
    finally:
        lock.release()


def _make_lock(lock: Path) -> None:
    """Make the file that is locked, for everybody who may write to its folder.

    Not left to `filelock`, which waits for its time limit where no file can be made at all.
    """
    handle = os.open(lock, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "its lock is not a file")
        if not found.st_size and user_id() == found.st_uid:
            os.fchmod(handle, 0o666 & lock.parent.stat().st_mode)
    finally:
        os.close(handle)


def replace_text(path: Path, text: str) -> None:
    """Put `text` in the place of a file at once: readers see the old text or the new.

    The caller holds `exclusive(path)`, so a temporary file that is there was left by a crash.
    """
    try:
        target = _behind_links(path)
        temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
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
        sync_folder(target.parent)
    except OSError as error:
        raise unwritable(path, error) from error
    except ValueError:
        raise no_path(path) from None


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
        "make room and give write permission there, or name another folder; that of the store is "
        "VYRE_CACHE_DIR",
    )


def no_path(path: Path) -> StoreFailed:
    """The error to raise where a system has no such path."""
    return StoreFailed(
        f"{str(path)!r} is no path: it is empty or holds a null character", "give another path"
    )


def _behind_links(path: Path) -> Path:
    """Where a file is written, so that a link stays a link."""
    target = Path(os.path.realpath(path))
    try:
        mode = target.lstat().st_mode
    except FileNotFoundError:
        return target
    if stat.S_ISLNK(mode):  # which leads back to itself
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    if not stat.S_ISREG(mode):  # a device must not become a file
        raise StoreFailed(f"{path} is not a file", "give the path of a file")
    return target


def sync_folder(folder: Path) -> None:
    """Make a rename last through a power cut, where folders can be synchronised at all."""
    with suppress(OSError):  # Windows has no handle of a folder, some network systems no fsync
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
