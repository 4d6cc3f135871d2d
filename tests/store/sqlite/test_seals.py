"""Rows that prove themselves: a flipped bit in any of them is noticed, and costs that row alone."""

import logging
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vyre.errors import StoreFailed
from vyre.model import Failed, Measurement, Timed
from vyre.store.sqlite.database import Database
from vyre.store.sqlite.file import Opening
from vyre.store.sqlite.repair import is_damaged
from vyre.store.sqlite.rows import DamagedRow, measurement_row, read_measurement
from vyre.store.sqlite.schema import STEPS
from vyre.store.sqlite.tables import SEAL_BYTES, TABLES, Table, seal
from vyre.testing.store_contract import START_NS, contents, decision, measurement, workload

READ_ONLY = Opening(read_only=True)
COLUMNS = [(table, column) for table in TABLES for column in table.columns]
Old = Callable[..., Path]
Rows = Callable[..., frozenset[Measurement]]


def filled(path: Path) -> None:
    with closing(Database(path, writer="me", now_ns=lambda: START_NS)) as store:
        store.put(decision(1), decision(2))
        store.append(measurement(k % 2 + 1, k) for k in range(8))
        store.name({"ab": "saxpy", "cd": "gelu"})


def execute(path: Path, sql: str, *given: object) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(sql, given)
        connection.commit()


def value(path: Path, sql: str) -> object:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchone()[0]


def flipped(value: object) -> object:
    """The value with one bit changed, as a disk changes it."""
    match value:
        case None:
            return 0
        case str():
            return chr(ord(value[0]) ^ 1) + value[1:] if value else "x"
        case bytes():
            return bytes([value[0] ^ 1]) + value[1:]
        case float():
            return value + 2**-20
        case _:
            return value ^ 1 << 40


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_row_has_a_seal(path: Path, table: Table):
    filled(path)

    sealed = f"SELECT count(*) FROM {table.name} WHERE length(seal) = {SEAL_BYTES}"
    assert value(path, sealed) == value(path, f"SELECT count(*) FROM {table.name}") > 0


@pytest.mark.parametrize(
    ("table", "column"), COLUMNS, ids=[f"{table.name}.{column}" for table, column in COLUMNS]
)
def test_a_flipped_bit_costs_its_own_row_and_nothing_else(
    path: Path, table: Table, column: str, caplog: pytest.LogCaptureFixture
):
    filled(path)
    with closing(Database(path, writer="me", opening=READ_ONLY)) as store:
        kept, rows = contents(store)
        names = store.names()
    keys = ", ".join(table.columns[: table.keys])
    found = value(path, f"SELECT {column} FROM {table.name} ORDER BY {keys} LIMIT 1")
    execute(
        path,
        f"UPDATE {table.name} SET {column} = ? "
        f"WHERE ({keys}) IN (SELECT {keys} FROM {table.name} ORDER BY {keys} LIMIT 1)",
        flipped(found),
    )

    with (
        caplog.at_level(logging.WARNING),
        closing(Database(path, writer="me", opening=READ_ONLY)) as store,
    ):
        kept_after, rows_after = contents(store)
        names_after = store.names()
        left_out = store.left_out

    assert kept_after <= kept
    assert rows_after <= rows
    assert names_after.items() <= names.items()
    lost = len(kept - kept_after) + len(rows - rows_after) + len(names) - len(names_after)
    # What refers to a workload goes with it.
    assert lost == {"workloads": 5}.get(table.name, 1)
    if (table.name, column) != ("workloads", "key"):  # which nothing leads to any more
        assert left_out >= 1
        assert caplog.messages == [
            f"{path} holds rows that are damaged or make no sense; they are left out\n"
            'Fix: run "vyre store check", which says what to do'
        ]
    assert is_damaged(path)


def test_a_decision_whose_row_is_broken_can_be_made_again(path: Path):
    filled(path)
    execute(path, "UPDATE decisions SET detail = 'tampered'")

    with closing(Database(path, writer="me")) as store:
        assert store.get(workload(1)) is None
        store.put(decision(1))
        assert store.get(workload(1)) == decision(1)
        store.used([workload(2)])  # which seals nothing that is broken
        assert store.get(workload(2)) is None


numbers = st.integers(0, 2**63 - 1)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
outcomes = st.one_of(
    st.builds(Timed, st.just(decision(1).config), st.floats(0.001, 1e18)),
    st.builds(
        Timed,
        st.just(decision(1).config),
        st.just(5.0),
        clock=st.text(st.characters(exclude_categories=["C", "Zl", "Zp", "Zs"]), max_size=100),
    ),
    st.builds(Timed, st.just(decision(1).config), st.sampled_from([0.0, -0.0, 1.0, 1e15])),
    st.builds(Failed, st.just(decision(1).config), texts),
)
rows = st.builds(
    Measurement,
    writer=texts,
    sequence=numbers,
    workload=st.builds(workload, st.integers(0, 5)),
    outcome=outcomes,
    size=numbers,
    at_ns=numbers,
)


@settings(max_examples=50)
@given(st.lists(rows, max_size=5), texts, texts)
def test_whatever_is_written_comes_back_with_its_seal_whole(written, digest, text):
    with (
        TemporaryDirectory() as folder,
        closing(Database(Path(folder) / "store.sqlite3", writer="me")) as store,
    ):
        store.append(written)
        store.name({digest: text})
        store.put(replace(decision(1), detail=text))

        expected = {(row.writer, row.sequence): row for row in reversed(written)}
        assert {(row.writer, row.sequence): row for row in store.measurements()} == expected
        assert store.names() == {digest: text}
        assert store.get(workload(1)) == replace(decision(1), detail=text)
        assert store.left_out == 0


@given(st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1), texts, st.binary())))
def test_no_two_rows_share_a_seal_by_joining(row):
    assert seal("a", tuple(row)) != seal("b", tuple(row))
    assert seal("a", (*row, "")) != seal("a", tuple(row))
    assert seal("a", ("ab", "c", *row)) != seal("a", ("a", "bc", *row))
    assert seal("a", (b"x", *row)) != seal("a", ("x", *row))


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_store_of_an_earlier_version_is_sealed_and_keeps_its_rows(
    old_store: Old, old_rows: Rows, version: int
):
    path = old_store(version)
    assert not is_damaged(path)

    with closing(Database(path, writer="me")) as store:
        assert store.get(workload(1)) == decision(1)
        assert frozenset(store.measurements()) == old_rows()
        assert store.names() == ({"ab": "saxpy"} if version > 1 else {})
        assert store.left_out == 0
        store.put(decision(3))
        store.append([measurement(3, 100)])
        assert measurement(3, 100) in set(store.measurements())

    assert value(path, "PRAGMA user_version") == len(STEPS)
    assert not is_damaged(path)
    sealed = "SELECT count(*) FROM measurements WHERE length(seal) = 8 AND clock = ''"
    assert value(path, sealed) == 8


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_store_of_an_earlier_version_is_read_where_it_cannot_be_written(
    old_store: Old, old_rows: Rows, version: int
):
    """Another user's, or one on a full disk."""
    path = old_store(version)
    before = path.read_bytes()

    with closing(Database(path, writer="me", opening=READ_ONLY)) as store:
        assert store.get(workload(1)) == decision(1)
        assert len(list(store.kept())) == 2
        assert frozenset(store.measurements()) == old_rows()
        assert len(list(store.measurements(workload(1)))) == 4
        assert store.left_out == 0
        assert store.names() == ({"ab": "saxpy"} if version > 1 else {})
        assert store.related(workload(1)) == []

    assert path.read_bytes() == before


@pytest.mark.parametrize("change", ["size = 1", "schedule = 'x'", "seal = NULL"])
def test_a_migration_makes_no_broken_row_whole(old_store: Old, old_rows: Rows, change: str):
    path = old_store(3)
    execute(path, f"UPDATE measurements SET {change} WHERE sequence = 5")

    with closing(Database(path, writer="me")) as store:
        found = frozenset(store.measurements())
        assert store.left_out == 1

    assert len(found) == 7
    assert found < old_rows()
    assert is_damaged(path)


def test_what_a_process_of_schema_3_still_writes_counts(path: Path):
    """It runs on while another migrates the file under it, and seals the columns it knows."""
    filled(path)
    row = measurement_row(measurement(1, 99, "old"))[:8]
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "INSERT INTO measurements (writer, sequence, workload, schedule, elapsed_ns, failure, "
            "size, at_ns, seal) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*row, seal("measurements", row)),
        )
        connection.commit()

    with closing(Database(path, writer="me")) as store:
        found = {row.writer: row for row in store.measurements()}["old"]
        assert found.outcome == replace(measurement(1, 99).outcome, clock="")
        assert store.left_out == 0
    assert not is_damaged(path)


@pytest.mark.parametrize(
    "clock", ["x" * 101, "about\x1b[31m", "two\nlines", b"about", "\u202eabout", 7, None]
)
def test_a_clock_that_is_none_makes_no_sense(clock: object):
    row = measurement_row(measurement(1, 1))

    with pytest.raises(DamagedRow):
        read_measurement((*row[:-1], clock), workload(1))


def test_a_clock_that_is_none_is_not_written(path: Path):
    bad = replace(measurement(1, 1), outcome=Timed(decision(1).config, 5.0, clock="\ud800"))

    with closing(Database(path, writer="me")) as store:
        store.append([bad, measurement(1, 2)])
        assert list(store.measurements()) == [measurement(1, 2)]


def test_what_failed_has_no_clock():
    row = measurement_row(measurement(1, 6))
    assert row[-1] == ""

    with pytest.raises(DamagedRow):
        read_measurement((*row[:-1], "about 2048 MHz"), workload(1))


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER t AFTER INSERT ON names BEGIN DELETE FROM decisions; END",
        "CREATE VIEW v AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x FROM c) "
        "SELECT x FROM c",
        "ALTER TABLE names ADD COLUMN more TEXT GENERATED ALWAYS AS (hex(zeroblob(1000000000)))",
    ],
    ids=["trigger", "view", "column that computes"],
)
def test_nothing_in_another_file_runs_by_itself(path: Path, statement: str):
    filled(path)
    execute(path, statement)

    with pytest.raises(StoreFailed) as caught:
        Database(path, writer="me", opening=READ_ONLY)

    assert caught.value.fix == (
        'run "vyre store repair" as the user who writes it, or move it away'
    )


def test_a_table_that_is_a_view_is_refused(path: Path):
    filled(path)
    execute(path, "DROP TABLE names")
    execute(
        path,
        "CREATE VIEW names AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x FROM c) "
        "SELECT x AS digest, x AS text, x AS seal FROM c",
    )

    with pytest.raises(StoreFailed, match="holds views or triggers"):
        Database(path, writer="me", opening=READ_ONLY)
    with closing(Database(path, writer="me")) as store:  # our own file is repaired
        assert store.get(workload(1)) == decision(1)
        store.name({"ab": "saxpy"})
        assert store.names()["ab"] == "saxpy"
