"""What to do with a damaged database: set it aside, untouched, and keep every row that is readable.

The file is first moved away, then read, then replaced. So whoever writes to it meanwhile either is
read, or notices and writes again. Whoever finds that the second or third step is missing, after a
crash, takes it up where it was left.
"""

from __future__ import annotations

import sqlite3
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from vyre.errors import StoreFailed
from vyre.store.sqlite.log import hides_commits as log_hides_commits
from vyre.store.sqlite.make import PARTS, make, part
from vyre.store.sqlite.pages import pages_of, rows_in
from vyre.store.sqlite.rows import DamagedRow, Row
from vyre.store.sqlite.schema import STEPS, Damaged, Step, version_of
from vyre.store.sqlite.tables import TABLES, Table

ERRORS = (sqlite3.Error, UnicodeDecodeError, Damaged)
"""What reading a database can raise; the second where a message quotes damaged text."""

_AWAY = ".repairing"
_LOOKS = 3


@dataclass(frozen=True, slots=True)
class Repaired:
    """What came of a repair."""

    path: Path
    aside: Path
    counts: Mapping[str, int]

    @property
    def text(self) -> str:
        return ", ".join(f"{count} {name}" for name, count in self.counts.items())


def fault_of(connection: sqlite3.Connection, path: Path) -> str:
    """What is wrong with an open database, looked at whole; empty where nothing is.

    Raises:
        StoreFailed: it is none of ours, or of a newer version.
    """
    try:
        version = version_of(connection, path)
        verdict = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
        bad = sum(1 for table in TABLES for _ in _bad_rows(connection, table, version))
    except Damaged as error:
        return str(error)
    except ERRORS as error:
        return f"{path} is damaged: {error}"
    if verdict != "ok":
        return f"{path} is damaged: {verdict}"
    return f"{path} holds {bad} rows that are damaged or make no sense" if bad else ""


def is_damaged(path: Path) -> bool:
    """Whether anything is wrong with a file, its log, its tables or its rows; changes nothing."""
    if not path.exists():
        return False
    if hides_commits(path):
        return True
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=30.0)) as opened:
            opened.text_factory = replacing_text
            return bool(fault_of(opened, path))
    except ERRORS:
        return True


def hides_commits(path: Path) -> bool:
    """Whether a log holds commits that SQLite does not see; asked before SQLite opens it.

    It reads a log up to the first damaged frame, and the next writer writes over what follows.
    """
    # A commit under way can look so, but never twice: what came after the gap was written after it.
    return all(log_hides_commits(_bytes(part(path, "-wal"))) for _ in range(_LOOKS))


def move_away(path: Path) -> None:
    """Take a database from its place; the caller holds the lock."""
    for end in PARTS:
        found = part(path, end)
        if found.exists():
            found.replace(part(path, _AWAY + end))


def is_away(path: Path) -> bool:
    """Whether a database was moved away and no other one is in its place.

    A log without its database counts, too: SQLite would take it for that of a new one.
    """
    if path.exists() and path.stat().st_size:
        return False
    lone = any(part(path, end).exists() for end in ("-wal", "-journal"))
    return lone or any(part(path, _AWAY + end).exists() for end in PARTS)


def put_back(path: Path, *, journal: str, steps: Sequence[Step] = STEPS) -> Repaired:
    """Put a database in its place with every readable row of the one that was moved away."""
    for end in PARTS[1:]:
        found = part(path, end)
        if found.exists():  # a crash came between the moves
            found.replace(part(path, _AWAY + end))
    main, log, _, old = (_bytes(part(path, _AWAY + end)) for end in PARTS)
    counts = make(path, journal=journal, steps=steps, rows=rows_in(pages_of(main, log, old)))
    return Repaired(path, _set_aside(path), counts)


def _set_aside(path: Path) -> Path:
    number = 1
    while any(part(path, f".damaged-{number}{end}").exists() for end in PARTS):
        number += 1
    for end in PARTS:
        found = part(path, _AWAY + end)
        if found.exists():
            found.replace(part(path, f".damaged-{number}{end}"))
    return part(path, f".damaged-{number}")


def replacing_text(data: bytes) -> str:
    """Text whose damaged bytes show, so that a row's own check refuses it."""
    return data.decode(errors="replace")


def _bad_rows(connection: sqlite3.Connection, table: Table, version: int) -> Iterator[Row]:
    if table.since > version:
        return
    for row in connection.execute(f"SELECT {table.listed(version)} FROM {table.name}"):  # noqa: S608  # our names
        try:
            table.read(table.unsealed(row, version))
        except DamagedRow:
            yield row


def _bytes(path: Path) -> bytes:
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a pipe would never answer
            raise StoreFailed(f"{path} is not a file", "move it away")
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise StoreFailed(
            f"{path} cannot be read: {error.strerror or error}",
            "give read permission there; it is left as it is",
        ) from error
