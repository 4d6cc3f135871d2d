"""Makes a database beside its place and puts it there whole: nobody sees half of one."""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path

from vyre.store.files import sync_folder
from vyre.store.sqlite.log import PAGE
from vyre.store.sqlite.rows import Row
from vyre.store.sqlite.schema import STEPS, Step, migrate
from vyre.store.sqlite.tables import TABLES, Table

PARTS = ("", "-wal", "-shm", "-journal")
"""What a database consists of, by the ends of the names."""


def part(path: Path, end: str) -> Path:
    """The file beside a database whose name ends so."""
    return path.with_name(path.name + end)


def make(
    path: Path,
    *,
    journal: str,
    steps: Sequence[Step] = STEPS,
    rows: Iterable[tuple[Table, Row]] = (),
) -> dict[str, int]:
    """Put a database with these rows in the place of whatever is there; how many it has of each.

    The caller holds the lock, so a temporary file that is there was left by a crash.
    """
    path = path.resolve()  # a link stays a link
    for left in path.parent.glob(f".{path.name}.*.tmp*"):
        left.unlink(missing_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with closing(sqlite3.connect(temporary, isolation_level=None)) as connection:
            # These count only in an empty file. Until it is in its place nobody needs a journal.
            connection.execute(f"PRAGMA page_size = {PAGE}")
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            connection.execute("PRAGMA journal_mode = OFF").fetchone()
            migrate(connection, steps)
            counts = _fill(connection, rows)
            connection.execute(f"PRAGMA journal_mode = {journal}").fetchone()
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        for end in PARTS:
            part(temporary, end).unlink(missing_ok=True)
        raise
    sync_folder(path.parent)
    return counts


def _fill(connection: sqlite3.Connection, rows: Iterable[tuple[Table, Row]]) -> dict[str, int]:
    connection.execute("BEGIN")
    for table, row in rows:
        connection.execute(table.join, table.sealed(row))
    connection.execute("COMMIT")
    return {
        table.name: int(connection.execute(f"SELECT count(*) FROM {table.name}").fetchone()[0])  # noqa: S608  # our names
        for table in TABLES
    }
