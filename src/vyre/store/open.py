"""Opens the store of a folder; where that cannot be, opens one in memory and says so once."""

from __future__ import annotations

import secrets
import socket
from pathlib import Path

from vyre.errors import StoreFailed
from vyre.store.base import Store
from vyre.store.files import safe_stem
from vyre.store.memory import MemoryStore
from vyre.store.notice import say_once
from vyre.store.sqlite.database import Database
from vyre.store.sqlite.file import Opening
from vyre.store.sqlite.hosts import HostFiles
from vyre.store.sqlite.mounts import is_shared, read_mounts

NAME = "store.sqlite3"


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
    if read_only and not files_in(folder):
        return MemoryStore(writer=writer)
    try:
        return _on_disk(folder, writer, host or socket.gethostname(), mounts, read_only, strict)
    except StoreFailed as error:
        if strict:
            raise
        say_once(error, "what is learned is kept in memory only")
    return MemoryStore(writer=writer)


def files_in(folder: Path) -> tuple[Path, ...]:
    """Every database of a folder: that of a local disk, and those of hosts."""
    return tuple(sorted({*folder.glob("store.sqlite3"), *folder.glob("store.*.sqlite3")}))


def _on_disk(
    folder: Path, writer: str, host: str, mounts: str | None, read_only: bool, strict: bool
) -> Store:
    if not folder.is_absolute():
        raise StoreFailed(
            f"cache folder {str(folder)!r} is not absolute, as if there were no home folder",
            "set HOME, or VYRE_CACHE_DIR to a folder",
        )
    shared = is_shared(folder.resolve(), read_mounts() if mounts is None else mounts)
    own = folder / (f"store.{safe_stem(host)}.sqlite3" if shared else NAME)
    if read_only and not own.exists():
        own = files_in(folder)[0]
    opening = Opening(journal="delete" if shared else "wal", read_only=read_only)

    def others() -> list[Path]:
        return [path for path in files_in(folder) if path != own]

    def open_own() -> Database:
        if strict:
            return Database(own, writer=writer, opening=opening)
        return _open_or_read(own, writer, opening)

    return HostFiles(open_own, others) if shared or others() else open_own()


def _open_or_read(path: Path, writer: str, opening: Opening) -> Database:
    try:
        return Database(path, writer=writer, opening=opening)
    except StoreFailed as error:
        try:
            database = Database(path, writer=writer, opening=Opening(read_only=True))
        except StoreFailed:
            raise error from None
        say_once(error, "it is read, and what is learned is kept in memory only")
        return database
