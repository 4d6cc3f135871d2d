"""The tables of a store, and the steps from each version of them to the next."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from vyre.errors import StoreFailed
from vyre.store.sqlite.tables import SEALED, TABLES, seal

APPLICATION_ID = 0x56595245
"""`VYRE`, which SQLite keeps in the header of the file."""

_FIRST_TABLES = {table.name for table in TABLES if table.since == 1}
_LAST_VERSION = 127  # that a release may reach; what is above was never written

Step = tuple[str, ...]


class Damaged(Exception):
    """A header, or tables, that no version of this program wrote."""


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
    (
        "ALTER TABLE workloads ADD COLUMN seal BLOB",
        """UPDATE workloads SET seal = row_seal('workloads',
            key, fingerprint, buckets, traits, device, toolchain)""",
        "ALTER TABLE decisions ADD COLUMN seal BLOB",
        """UPDATE decisions SET seal = row_seal('decisions',
            workload, schedule, reason, detail, gain, confidence, stamp_ns, writer, used_ns)""",
        "ALTER TABLE measurements ADD COLUMN seal BLOB",
        """UPDATE measurements SET seal = row_seal('measurements',
            writer, sequence, workload, schedule, elapsed_ns, failure, size, at_ns)""",
        "ALTER TABLE names ADD COLUMN seal BLOB",
        "UPDATE names SET seal = row_seal('names', digest, text)",
    ),
    # A column that is added comes last, and there the seal has to be: the table is made anew. A row
    # whose seal is broken keeps it, and so stays broken.
    (
        "ALTER TABLE measurements RENAME TO measurements_before",
        """CREATE TABLE measurements (
            writer TEXT NOT NULL,
            sequence INTEGER NOT NULL,
            workload BLOB NOT NULL,
            schedule TEXT NOT NULL,
            elapsed_ns REAL,
            failure TEXT,
            size INTEGER NOT NULL,
            at_ns INTEGER NOT NULL,
            clock TEXT NOT NULL DEFAULT '',
            seal BLOB,
            PRIMARY KEY (writer, sequence)
        ) WITHOUT ROWID""",
        """INSERT INTO measurements SELECT
            writer, sequence, workload, schedule, elapsed_ns, failure, size, at_ns, '',
            CASE row_seal('measurements',
                writer, sequence, workload, schedule, elapsed_ns, failure, size, at_ns)
            WHEN seal THEN row_seal('measurements',
                writer, sequence, workload, schedule, elapsed_ns, failure, size, at_ns, '')
            ELSE seal END
            FROM measurements_before""",
        "DROP TABLE measurements_before",
        "CREATE INDEX measurements_by_workload ON measurements (workload)",
        "CREATE INDEX measurements_by_time ON measurements (at_ns)",
    ),
)
"""Step n takes version n to n + 1; a step that was released never changes."""


def version_of(connection: sqlite3.Connection, path: Path, steps: Sequence[Step] = STEPS) -> int:
    """The version of the tables; 0 where there are none yet.

    Raises:
        StoreFailed: the file belongs to another program, or to a newer version of this one.
        Damaged: it is ours, and has no version or not the tables of its version.
    """
    version = _pragma(connection, "user_version")
    application = _pragma(connection, "application_id")
    if application != APPLICATION_ID:
        tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
        if tables >= _FIRST_TABLES:
            raise Damaged(f"{path} has a header that is not its own")
        if application or version or tables:
            raise StoreFailed(
                f"{path} is a database of another program",
                "move it away, or set VYRE_CACHE_DIR to another folder",
            )
        return 0
    if not 1 <= version <= _LAST_VERSION:
        raise Damaged(f"{path} has no version")  # it is written together with the tables
    if version > len(steps):
        raise StoreFailed(
            f"{path} has schema {version}; this version of Vyre knows up to {len(steps)}",
            "upgrade vyre, or set VYRE_CACHE_DIR to another folder",
        )
    _refuse_other_tables(connection, path, version)
    return version


def _refuse_other_tables(connection: sqlite3.Connection, path: Path, version: int) -> None:
    """Nothing in a file may run by itself: a view or a column that computes could go on forever."""
    kinds = {row[0] for row in connection.execute("SELECT type FROM sqlite_master")}
    if not kinds <= {"table", "index"}:
        raise Damaged(f"{path} holds views or triggers")
    for table in TABLES:
        if table.since > version:
            continue
        found = connection.execute(f"PRAGMA table_xinfo({table.name})").fetchall()
        columns = table.of(version)
        expected = (*columns, "seal") if version >= SEALED else columns
        names, computed = tuple(row[1] for row in found), any(row[6] for row in found)
        newer = version < SEALED and "seal" in names  # its number was hit, not its tables
        if computed or newer or names[: len(expected)] != expected:
            raise Damaged(f"{path} has another table {table.name}")


def migrate(connection: sqlite3.Connection, steps: Sequence[Step] = STEPS) -> None:
    """Bring the tables to this version, wholly or not at all."""
    connection.create_function(
        "row_seal", -1, lambda table, *row: seal(table, row), deterministic=True
    )
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
