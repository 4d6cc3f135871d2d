"""The tables of a store, and the steps from each version of them to the next."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from vyre.errors import StoreFailed

APPLICATION_ID = 0x56595245
"""`VYRE`, which SQLite keeps in the header of the file."""

Step = tuple[str, ...]


class Damaged(Exception):
    """A header that no version of this program wrote."""


STEPS: tuple[Step, ...] = (
    (
        """CREATE TABLE workloads (
            key BLOB PRIMARY KEY,
            fingerprint BLOB NOT NULL,
            buckets TEXT NOT NULL,
            traits TEXT NOT NULL,
            device TEXT NOT NULL,
            toolchain TEXT NOT NULL
        ) WITHOUT ROWID""",
        """CREATE TABLE decisions (
            workload BLOB PRIMARY KEY,
            schedule TEXT NOT NULL,
            reason TEXT NOT NULL,
            detail TEXT NOT NULL,
            gain REAL,
            confidence REAL,
            stamp_ns INTEGER NOT NULL,
            writer TEXT NOT NULL,
            used_ns INTEGER NOT NULL
        ) WITHOUT ROWID""",
        "CREATE INDEX decisions_by_use ON decisions (used_ns)",
        """CREATE TABLE measurements (
            writer TEXT NOT NULL,
            sequence INTEGER NOT NULL,
            workload BLOB NOT NULL,
            schedule TEXT NOT NULL,
            elapsed_ns REAL,
            failure TEXT,
            size INTEGER NOT NULL,
            at_ns INTEGER NOT NULL,
            PRIMARY KEY (writer, sequence)
        ) WITHOUT ROWID""",
        "CREATE INDEX measurements_by_workload ON measurements (workload)",
        "CREATE INDEX measurements_by_time ON measurements (at_ns)",
    ),
    ("CREATE TABLE names (digest TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID",),
)
"""Step n takes version n to n + 1; a step that was released never changes."""


def is_current(connection: sqlite3.Connection, path: Path, steps: Sequence[Step] = STEPS) -> bool:
    """Whether the tables are there in this version.

    Raises:
        StoreFailed: the file belongs to another program, or to a newer version of this one.
        Damaged: it is ours and has no version.
    """
    version = _pragma(connection, "user_version")
    application = _pragma(connection, "application_id")
    if application != APPLICATION_ID:
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if application or version or tables:
            raise StoreFailed(
                f"{path} is a database of another program",
                "move it away, or set VYRE_CACHE_DIR to another folder",
            )
        return False
    if version < 1:
        raise Damaged(f"{path} has no version")  # the two are written together
    if version > len(steps):
        raise StoreFailed(
            f"{path} has schema {version}; this version of Vyre knows up to {len(steps)}",
            "upgrade vyre, or set VYRE_CACHE_DIR to another folder",
        )
    return version == len(steps)


def migrate(connection: sqlite3.Connection, steps: Sequence[Step] = STEPS) -> None:
    """Bring the tables to this version, wholly or not at all."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        for step in steps[_pragma(connection, "user_version") :]:
            for statement in step:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(steps)}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])
