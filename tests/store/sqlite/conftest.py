"""Stores to test on: of this version, and as earlier releases made them."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from vyre.store.base import Kept
from vyre.store.notice import forget_said
from vyre.store.sqlite.rows import kept_row, measurement_row, workload_row
from vyre.store.sqlite.schema import APPLICATION_ID, STEPS
from vyre.testing.store_contract import START_NS, decision, measurement, workload


@pytest.fixture
def path(tmp_path: Path) -> Path:
    forget_said()
    return tmp_path / "store.sqlite3"


@pytest.fixture
def old_store(path: Path) -> Callable[[int], Path]:
    """Make a store of an earlier version, with decisions, four measurements of each, and a name."""

    def make(version: int, count: int = 2) -> Path:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            connection.execute("PRAGMA journal_mode = wal").fetchone()
            connection.execute("BEGIN")
            for step in STEPS[:version]:
                for statement in step:
                    connection.execute(statement)
            for number in range(count):
                kept = Kept(
                    decision=decision(number), stamp_ns=START_NS, writer="old", used_ns=START_NS
                )
                _add(connection, "workloads", workload_row(workload(number)))
                _add(connection, "decisions", kept_row(kept))
            for k in range(4 * count):
                _add(connection, "measurements", measurement_row(measurement(k % count, k)))
            if version > 1:
                _add(connection, "names", ("ab", "saxpy"))
            connection.execute("COMMIT")
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {version}")
        return path

    return make


def _add(connection: sqlite3.Connection, table: str, row: tuple[object, ...]) -> None:
    connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
