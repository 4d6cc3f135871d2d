"""Stores to test on: of this version, and as earlier releases made them.

What those wrote is written out here: their statements, and how they sealed a row.
"""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from vyre.model import Measurement, Timed
from vyre.store.base import Kept
from vyre.store.notice import forget_said
from vyre.store.sqlite.rows import kept_row, measurement_row, workload_row
from vyre.store.sqlite.schema import APPLICATION_ID, STEPS
from vyre.store.sqlite.tables import seal
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
            connection.create_function("row_seal", -1, lambda table, *row: seal(table, row))
            connection.execute("BEGIN")
            for step in STEPS[:version]:
                for statement in step:
                    connection.execute(statement)

            def add(table: str, row: tuple[object, ...]) -> None:
                values = (*row, seal(table, row)) if version >= 3 else row
                places = ", ".join("?" * len(values))
                connection.execute(f"INSERT INTO {table} VALUES ({places})", values)

            for number in range(count):
                kept = Kept(
                    decision=decision(number), stamp_ns=START_NS, writer="old", used_ns=START_NS
                )
                add("workloads", workload_row(workload(number)))
                add("decisions", kept_row(kept))
            for k in range(4 * count):
                add("measurements", measurement_row(measurement(k % count, k))[:8])
            if version > 1:
                add("names", ("ab", "saxpy"))
            connection.execute("COMMIT")
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {version}")
        return path

    return make


@pytest.fixture
def old_rows() -> Callable[[int], frozenset[Measurement]]:
    """The measurements of such a store: none of them tells clocks."""

    def rows(count: int = 2) -> frozenset[Measurement]:
        return frozenset(
            replace(row, outcome=replace(row.outcome, clock=""))
            if isinstance(row.outcome, Timed)
            else row
            for row in (measurement(k % count, k) for k in range(4 * count))
        )

    return rows
