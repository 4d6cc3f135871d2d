"""One database file: opened, made, migrated, written in transactions, repaired when damaged."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from vyre.errors import StoreFailed
from vyre.store.files import exclusive, unwritable
from vyre.store.notice import say_once
from vyre.store.sqlite.repair import ERRORS, is_damaged, replacing_text, salvage, set_aside
from vyre.store.sqlite.schema import STEPS, Damaged, Step, is_current, migrate

T = TypeVar("T")
Journal = Literal["wal", "delete"]

BUSY_S = 30.0
# Our statements are known to be good, so a plain error means that the tables are not.
_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR}


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """How a file is opened."""

    journal: Journal = "wal"
    read_only: bool = False
    steps: Sequence[Step] = STEPS


class DatabaseFile:
    """One connection to a file that any number of processes on one host may have open.

    The file is opened, or made, when it is first used. One that was replaced or removed, and a
    fork, are noticed at the next call.
    """

    def __init__(self, path: Path, opening: Opening) -> None:
        self.path, self._how = path, opening
        self._open: sqlite3.Connection | None = None
        self._identity: tuple[int, ...] = ()
        self._left_to_parent: list[sqlite3.Connection] = []

    def attempt(self, work: Callable[[], T]) -> T:
        """Do `work`; where the file turns out damaged, repair it and do `work` once more."""
        try:
            try:
                return work()
            except ERRORS as error:
                self.repair_after(error)
                return work()
        except ERRORS as error:
            raise self.failure(error) from error
        except OSError as error:
            raise unwritable(self.path, error) from error

    def repair_after(self, error: Exception) -> None:
        """Repair the file where an error tells of damage; else raise what it means."""
        if self._how.read_only or not _tells_of_damage(error):
            raise self.failure(error) from error
        self._repair()

    def connection(self) -> sqlite3.Connection:
        """The connection to use now; it is another one after a fork, or when the file changed.

        Raises:
            StoreFailed: the file cannot be opened, or is not a store that this version can use.
        """
        identity = self._identity_on_disk()
        if self._open is None or not identity or identity != self._identity:
            self._open = self._reopened()
            self._identity = self._identity_on_disk()
        return self._open

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """A connection whose changes are kept together, or not at all."""
        if self._how.read_only:
            raise StoreFailed(
                f"{self.path} is open for reading only",
                "give write permission there, or set VYRE_CACHE_DIR to another folder",
            )
        connection = self.connection()
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:  # after some errors SQLite has rolled back by itself
                connection.execute("ROLLBACK")
            raise

    def failure(self, error: Exception) -> StoreFailed:
        """The error to raise for one of SQLite's."""
        return StoreFailed(
            f"{self.path} failed: {error}",
            "make room and give write permission there, or set VYRE_CACHE_DIR to another folder",
        )

    def close(self) -> None:
        """Close what is open; the next call opens it again."""
        if self._open is not None:
            self._open.close()
        self._open, self._identity = None, ()

    def _reopened(self) -> sqlite3.Connection:
        if self._open is not None and self._identity[:1] != (os.getpid(),):
            # A connection must not be used or closed in a fork of the process that opened it.
            self._left_to_parent.append(self._open)
            self._open = None
        self.close()
        connection = self._connected()
        if connection is not None:
            return connection
        with exclusive(self.path):
            return self._created_or_migrated()

    def _connected(self) -> sqlite3.Connection | None:
        """A connection to a file with the tables of this version, or None where it needs work."""
        if not self._how.read_only and (not self.path.exists() or not self.path.stat().st_size):
            return None
        connection = self._connect()
        try:
            if is_current(connection, self.path, self._how.steps):
                return connection
        except BaseException:
            connection.close()
            raise
        connection.close()
        if self._how.read_only:
            raise StoreFailed(
                f"{self.path} has tables of an older version and cannot be written",
                "give write permission there, or set VYRE_CACHE_DIR to another folder",
            )
        return None

    def _created_or_migrated(self) -> sqlite3.Connection:
        connection = self._connect()
        try:
            if not is_current(connection, self.path, self._how.steps):
                # The first two count only in an empty file.
                connection.execute("PRAGMA page_size = 4096")
                connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
                connection.execute(f"PRAGMA journal_mode = {self._how.journal}").fetchone()
                migrate(connection, self._how.steps)
        except BaseException:
            connection.close()
            raise
        return connection

    def _connect(self) -> sqlite3.Connection:
        if not self._how.read_only:
            return self._connect_in("mode=rwc")
        try:
            return self._connect_in("mode=ro")
        except sqlite3.OperationalError:
            # A folder that cannot be written cannot hold SQLite's shared memory either.
            return self._connect_in("mode=ro&immutable=1")

    def _connect_in(self, mode: str) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?{mode}",
            uri=True,
            timeout=BUSY_S,
            isolation_level=None,
            check_same_thread=False,
        )
        connection.text_factory = replacing_text
        try:
            # In WAL mode NORMAL loses the last commits to a power cut at worst, none to a kill.
            level = "NORMAL" if self._how.journal == "wal" else "FULL"
            connection.execute(f"PRAGMA synchronous = {level}")
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA journal_size_limit = 4194304")
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except BaseException:
            connection.close()
            raise
        return connection

    def _identity_on_disk(self) -> tuple[int, ...]:
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return ()
        return (os.getpid(), found.st_dev, found.st_ino)

    def _repair(self) -> None:
        with exclusive(self.path):
            self.close()
            if not is_damaged(self.path):
                return  # another process was faster
            aside = set_aside(self.path)
            self._open = self._created_or_migrated()
            self._identity = self._identity_on_disk()
            found = salvage(aside)
            with self.transaction() as connection:
                for table, rows in found.items():
                    connection.executemany(table.insert, rows)
        counts = ", ".join(f"{len(rows)} {table.name}" for table, rows in found.items())
        say_once(
            StoreFailed(
                f"{self.path} was damaged and is now {aside.name}",
                f"delete {aside} when you do not need it any more",
            ),
            f"{counts} could be read and are kept",
        )


def _tells_of_damage(error: Exception) -> bool:
    if isinstance(error, UnicodeDecodeError | Damaged):
        return True
    code = getattr(error, "sqlite_errorcode", None)  # absent where Python itself complains
    return code is not None and int(code) & 0xFF in _DAMAGE
