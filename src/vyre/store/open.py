"""Opens the store of a folder; where that cannot be, opens one in memory and says so once."""

from __future__ import annotations

import os
import re
import secrets
import socket
import stat
from pathlib import Path

from vyre.errors import StoreFailed
from vyre.settings import is_ours, user_id
from vyre.store.base import Store
from vyre.store.files import no_path, safe_stem, unwritable
from vyre.store.memory import MemoryStore
from vyre.store.notice import say_once
from vyre.store.sqlite.database import Database
from vyre.store.sqlite.file import Journal, Opening
from vyre.store.sqlite.mounts import is_shared, read_mounts
from vyre.store.sqlite.shared import SharedFiles

NAME = "store.sqlite3"
_NAMES = re.compile(r"store\.(.+\.)?sqlite3")
_ELSEWHERE = "set VYRE_CACHE_DIR to another folder"


def new_writer(host: str | None = None) -> str:
    """A name that no other process has, and that tells its host."""
    return f"{host or socket.gethostname()}-{secrets.token_hex(8)}"


def open_store(
    folder: Path,
    *,
    writer: str,
    host: str | None = None,
    mounts: str | None = None,
    read_only: bool = False,
    strict: bool = False,
) -> Store:
    """The store kept in `folder`, or one in memory where nothing there can be read or made.

    A store that can be read and not written is read: what is learned then stays in memory.

    Args:
        folder: made where it is not there; must be absolute.
        writer: the name of this process in what it writes.
        host: names this host's file where hosts share the folder.
        mounts: a mount table, where the system's own is not meant.
        read_only: open what is there, and make nothing.
        strict: raise where the store cannot be used as asked.

    Raises:
        StoreFailed: it cannot be used, and `strict` is set.
    """
    if read_only and not (strict or folder.is_absolute()):
        return MemoryStore(writer=writer)
    try:
        if read_only:
            return _to_read(folder, writer)
        return _to_write(folder, writer, host or socket.gethostname(), mounts)
    except StoreFailed as error:
        if strict:
            raise
        store = None if read_only else _readable(folder, writer)
        if store is None:
            say_once(error, "what is learned is kept in memory only")
        else:
            say_once(error, "it is read, and what is learned is kept in memory only")
    return store or MemoryStore(writer=writer)


def files_in(folder: Path) -> tuple[Path, ...]:
    """Every database of a folder: of a local disk, of hosts, of users.

    Raises:
        StoreFailed: the folder is there and cannot be looked into.
    """
    try:
        names = sorted(name for name in os.listdir(folder) if _NAMES.fullmatch(name))  # noqa: PTH208  # without a Path for each
        return tuple(path for path in map(folder.joinpath, names) if _holds_something(path))
    except FileNotFoundError:
        return ()
    except NotADirectoryError:
        raise _no_folder(folder) from None
    except OSError as error:
        raise StoreFailed(
            f"{folder} cannot be read: {error.strerror or error}",
            "set VYRE_CACHE_DIR to a folder that can be read",
        ) from error
    except ValueError:
        raise no_path(folder) from None


def _no_folder(folder: Path) -> StoreFailed:
    return StoreFailed(f"{folder} is not a folder", "set VYRE_CACHE_DIR to a folder")


def _holds_something(path: Path) -> bool:
    """Whether there is anything but an empty file; what is no file is refused when it is opened."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return not stat.S_ISREG(found.st_mode) or found.st_size > 0


def _to_read(folder: Path, writer: str) -> Store:
    _refuse_relative(folder)
    files = files_in(folder)
    if not files:
        return MemoryStore(writer=writer)
    if len(files) == 1:
        return Database(files[0], writer=writer, opening=Opening(read_only=True))
    return SharedFiles(None, lambda: files_in(folder))


def _to_write(folder: Path, writer: str, host: str, mounts: str | None) -> Store:
    _refuse_relative(folder)
    made = _made(folder)
    host_named = host if _is_on_network(folder, mounts) else ""
    own = folder / _own_name(folder, made, host_named)
    opening = Opening(journal=journal_in(folder, mounts))

    def others() -> list[Path]:
        return [path for path in files_in(folder) if path != own]

    def open_own() -> Database:
        return Database(own, writer=writer, opening=opening)

    alone = opening.journal == "wal" and not others()
    return open_own() if alone else SharedFiles(open_own, others)


def journal_in(folder: Path, mounts: str | None = None) -> Journal:
    """How a store is written in a folder: with a log, where no other host or user is near it."""
    return "wal" if is_ours(folder.stat()) and not _is_on_network(folder, mounts) else "delete"


def is_own(path: Path) -> bool:
    """Whether a file is this user's; a link is whose that made it."""
    return user_id() in (None, path.lstat().st_uid)


def _is_on_network(folder: Path, mounts: str | None) -> bool:
    table = read_mounts() if mounts is None else mounts
    return is_shared(Path(os.path.realpath(folder)), table)


def _refuse_relative(folder: Path) -> None:
    if not folder.is_absolute():
        raise StoreFailed(
            f"cache folder {str(folder)!r} is not absolute, as if there were no home folder",
            "set HOME, or VYRE_CACHE_DIR to a folder",
        )


def _made(folder: Path) -> os.stat_result:
    """The folder, made where it is not there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return folder.stat()
    except FileExistsError:
        raise _no_folder(folder) from None
    except OSError as error:
        raise unwritable(folder, error) from error
    except ValueError:
        raise no_path(folder) from None


def _own_name(folder: Path, made: os.stat_result, host: str) -> str:
    """The name of the file that we write: the folder's owner has the plain one.

    Another user has a file of their own, because the log of one is closed to the other. So has an
    owner whose plain file another user made.
    """
    stem = f"store.{safe_stem(host)}" if host else "store"
    user = user_id()
    if user is None or (made.st_uid == user and _owner(folder / f"{stem}.sqlite3") == user):
        return f"{stem}.sqlite3"
    own = folder / f"{stem}.user-{user}.sqlite3"
    if own.is_symlink():
        raise StoreFailed(f"{own} is a link, and others can write there", _ELSEWHERE)
    return own.name


def _owner(path: Path) -> int | None:
    """Whose a file is; ours where there is none yet."""
    try:
        return path.lstat().st_uid
    except OSError:
        return user_id()


def _readable(folder: Path, writer: str) -> Store | None:
    """What can be read of a store that cannot be written, if anything."""
    try:
        found = folder.is_absolute() and any(map(_can_read, files_in(folder)))
        return _to_read(folder, writer) if found else None
    except StoreFailed:
        return None


def _can_read(path: Path) -> bool:
    try:
        Database(path, writer="", opening=Opening(read_only=True)).close()
    except StoreFailed:
        return False
    return True
