"""One database file: opened, made, migrated, written in transactions, repaired when damaged."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from vyre.errors import StoreFailed
from vyre.settings import user_id
from vyre.store.files import exclusive, unreadable, unwritable
from vyre.store.notice import say_once
from vyre.store.sqlite.make import make
from vyre.store.sqlite.repair import (
    ERRORS,
    Repaired,
    hides_commits,
    is_away,
    is_damaged,
    move_away,
    put_back,
    replacing_text,
)
from vyre.store.sqlite.schema import STEPS, Damaged, Step, migrate, version_of

T = TypeVar("T")
Journal = Literal["wal", "delete"]

BUSY_S = 30.0
_TRIES = 4
_ROOM_BYTES = 16 << 20  # of a disk that is not full
# Our statements are known to be good, so a plain error means that the tables are not.
_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR}
_NO_LOG = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR}
_FIX_DAMAGE = 'run "vyre store repair" as the user who writes it, or move it away'
_FIX = "make room and give write permission there, or set VYRE_CACHE_DIR to another folder"


class Replaced(Exception):
    """The file was moved away, or another put in its place, while it was used."""


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
        self.version = 0  # of the tables, once it is open
        self._open: sqlite3.Connection | None = None
        self._identity: tuple[int, ...] = ()
        self._as_it_is = False  # read without its log: any change of the file counts
        self._left_to_parent: list[sqlite3.Connection] = []

    def attempt(self, work: Callable[[], T]) -> T:
        """Do `work`; again where the file was replaced meanwhile, or had to be repaired."""
        repaired = False
        try:
            for _ in range(_TRIES):
                try:
                    return work()
                except Replaced:
                    continue
                except ERRORS as error:
                    if repaired:
                        raise self.failure(error) from error
                    self.repair_after(error)
                    repaired = True
        except OSError as error:
            why = unreadable if self._how.read_only else unwritable
            raise why(self.path, error) from error
        raise StoreFailed(
            f"{self.path} is replaced again and again", "end what replaces it, and try again"
        )

    def repair_after(self, error: Exception) -> None:
        """Repair the file where an error tells of damage; else raise what it means."""
        if self._how.read_only or not self._may_be_damaged(error):
            raise self.failure(error) from error
        with exclusive(self.path):
            damaged = is_damaged(self.path)
            if damaged:
                # Before it is closed, because SQLite then ends the log.
                move_away(self.path)
                self.close()
                self._put_back()
        if not damaged and _code(error) == sqlite3.SQLITE_FULL:
            raise self.failure(error) from error
        self.close()  # another process may have been faster

    def connection(self) -> sqlite3.Connection:
        """The connection to use now; it is another one after a fork, or when the file changed.

        Raises:
            StoreFailed: the file cannot be opened, or is not a store that this version can use.
        """
        if self._open is None or not self._is_still(self._identity):
            self._open = self._reopened()
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
        if not self._is_still(self._identity):
            raise Replaced  # what was written may have gone with the file

    def failure(self, error: Exception) -> StoreFailed:
        """The error to raise for one of SQLite's."""
        damaged = self._how.read_only and self._may_be_damaged(error)
        return StoreFailed(f"{self.path} failed: {error}", _FIX_DAMAGE if damaged else _FIX)

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
        for _ in range(_TRIES):
            if not self._how.read_only and (self._is_missing() or hides_commits(self.path)):
                with exclusive(self.path):
                    self._put_in_place()
            connection = self._connected()
            if connection is not None:
                return connection
        raise Replaced

    def _connected(self) -> sqlite3.Connection | None:
        """A connection to the tables of this version, or None where they were not there yet."""
        identity = self._identity_on_disk()
        try:
            connection = self._connect()
        except sqlite3.OperationalError:
            if not self._how.read_only and not self._is_still(identity):
                return None  # it is being repaired
            raise
        try:
            version = version_of(connection, self.path, self._how.steps)
            if not self._how.read_only:
                self._choose_journal(connection)
            current = self._can_use(version)
            # SQLite finds a log by the name of the file: it must have had that name throughout.
            if current and self._is_still(identity):
                self.version, self._identity = version, identity
                return connection
        except BaseException:
            connection.close()
            raise
        connection.close()
        if not current:
            with exclusive(self.path):
                self._migrate(version)
        return None

    def _can_use(self, version: int) -> bool:
        """Whether tables of this version do: older ones can be read, and must be migrated first."""
        if self._how.read_only and not version:
            raise StoreFailed(f"{self.path} holds no tables yet", "tune or call a kernel first")
        return self._how.read_only or version == len(self._how.steps)

    def _is_missing(self) -> bool:
        identity = self._identity_on_disk()
        return not identity or not identity[-1]

    def _put_in_place(self) -> None:
        """Make the file where there is none, and do or end a repair that nothing else asks for."""
        if hides_commits(self.path):
            move_away(self.path)
        if is_away(self.path):
            self._put_back()
        elif self._is_missing():
            make(self.path, journal=self._how.journal, steps=self._how.steps)

    def _migrate(self, version: int) -> None:
        """Bring the tables to this version; the lock is held.

        Raises:
            Damaged: a step would read what the tables lead to, and lose the rest for good.
        """
        if not version:  # a crash of an earlier release left a file without tables
            make(self.path, journal=self._how.journal, steps=self._how.steps)
            return
        connection = self._connect()
        try:
            if version_of(connection, self.path, self._how.steps) < len(self._how.steps):
                verdict = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
                if verdict != "ok":
                    raise Damaged(f"{self.path} is damaged: {verdict}")
                migrate(connection, self._how.steps)
        finally:
            connection.close()

    def _choose_journal(self, connection: sqlite3.Connection) -> None:
        (journal,) = connection.execute("PRAGMA journal_mode").fetchone()
        if journal != self._how.journal:
            connection.execute("PRAGMA busy_timeout = 0")
            with suppress(sqlite3.OperationalError):  # others use it; the next one to open it will
                connection.execute(f"PRAGMA journal_mode = {self._how.journal}").fetchone()
            connection.execute(f"PRAGMA busy_timeout = {round(BUSY_S * 1000)}")

    def _connect(self) -> sqlite3.Connection:
        self._as_it_is = False
        if not self._how.read_only:
            return self._connect_in("mode=rw")
        logged = self._is_logged()
        if not (logged and self._would_leave_files()):
            try:
                return self._connect_in("mode=ro")
            except sqlite3.OperationalError as error:
                # Where nothing can be written, SQLite's shared memory cannot be either.
                if not logged or _code(error) not in _NO_LOG:
                    raise
        self._as_it_is = True
        return self._connect_in("mode=ro&immutable=1")

    def _is_logged(self) -> bool:
        """Whether the file is one with a write-ahead log, by its header."""
        with self.path.open("rb") as file:
            return file.read(20)[18:] == b"\2\2"

    def _would_leave_files(self) -> bool:
        """Whether opening another user's file would leave a log there that its owner cannot use."""
        theirs = user_id() not in (None, self.path.stat().st_uid)
        return theirs and os.access(self.path.parent, os.W_OK)

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
            connection.execute("PRAGMA cell_size_check = ON")
            # What is deleted is overwritten, so that no repair finds it again.
            connection.execute("PRAGMA secure_delete = ON")
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
        if not stat.S_ISREG(found.st_mode):  # a pipe would never answer
            raise StoreFailed(
                f"{self.path} is not a file",
                "move it away, or set VYRE_CACHE_DIR to another folder",
            )
        return (os.getpid(), found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size)

    def _is_still(self, identity: tuple[int, ...]) -> bool:
        """Whether the file in this process is the one it was; read without its log, unchanged."""
        count = len(identity) if self._as_it_is else 3
        return bool(identity) and self._identity_on_disk()[:count] == identity[:count]

    def _may_be_damaged(self, error: Exception) -> bool:
        if _code(error) == sqlite3.SQLITE_FULL:  # also where a damaged page leads beyond the end
            return shutil.disk_usage(self.path.parent).free > _ROOM_BYTES
        return isinstance(error, UnicodeDecodeError | Damaged) or _code(error) in _DAMAGE

    def _put_back(self) -> None:
        said(put_back(self.path, journal=self._how.journal, steps=self._how.steps))


def said(repaired: Repaired) -> None:
    """Say what was repaired, once."""
    say_once(
        StoreFailed(
            f"{repaired.path} was damaged and is now {repaired.aside.name}",
            f"delete {repaired.aside} when you do not need it any more",
        ),
        f"{repaired.text} could be read and are kept",
    )


def _code(error: Exception) -> int | None:
    code = getattr(error, "sqlite_errorcode", None)  # absent where Python itself complains
    return None if code is None else int(code) & 0xFF
