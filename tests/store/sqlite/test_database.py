import logging
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from vyre.errors import StoreFailed
from vyre.store.base import Bounds
from vyre.store.notice import forget_said
from vyre.store.sqlite.database import Database
from vyre.store.sqlite.file import Opening
from vyre.store.sqlite.schema import APPLICATION_ID, STEPS
from vyre.testing.store_contract import decision, measurement, workload


@pytest.fixture
def path(tmp_path: Path) -> Path:
    forget_said()
    return tmp_path / "store.sqlite3"


def filled(path: Path, count: int = 300) -> None:
    with closing(Database(path, writer="me")) as store:
        store.put(*(decision(k, k) for k in range(count)))
        store.append(measurement(k % 40, k) for k in range(4 * count))


def execute(path: Path, sql: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(sql)
        connection.commit()


def pragma(path: Path, name: str) -> object:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(f"PRAGMA {name}").fetchone()[0]


def test_what_is_put_is_there_for_the_next_process(path: Path):
    filled(path)

    with closing(Database(path, writer="you")) as store:
        assert store.get(workload(7)) == decision(7, 7)
        assert len(list(store.measurements(workload(7)))) == 30


def test_a_new_file_says_what_it_is(path: Path):
    filled(path, 1)

    assert pragma(path, "application_id") == APPLICATION_ID
    assert pragma(path, "user_version") == len(STEPS)
    assert pragma(path, "journal_mode") == "wal"


def test_hosts_that_share_a_folder_use_a_rollback_journal(path: Path):
    with closing(Database(path, writer="me", opening=Opening(journal="delete"))) as store:
        store.put(decision(1))

        assert pragma(path, "journal_mode") == "delete"
        assert not path.with_name("store.sqlite3-wal").exists()


def test_a_newer_version_is_refused_and_left_as_it_is(path: Path):
    filled(path, 1)
    execute(path, f"PRAGMA user_version = {len(STEPS) + 1}")
    before = path.read_bytes()

    with pytest.raises(StoreFailed) as caught:
        Database(path, writer="me")

    assert str(caught.value) == (
        f"{path} has schema {len(STEPS) + 1}; this version of Vyre knows up to {len(STEPS)}\n"
        "Fix: upgrade vyre, or set VYRE_CACHE_DIR to another folder"
    )
    assert path.read_bytes() == before


def test_a_database_of_another_program_is_refused_and_left_as_it_is(path: Path):
    execute(path, "CREATE TABLE bookmarks (url TEXT)")
    before = path.read_bytes()

    with pytest.raises(StoreFailed) as caught:
        Database(path, writer="me")

    assert str(caught.value) == (
        f"{path} is a database of another program\n"
        "Fix: move it away, or set VYRE_CACHE_DIR to another folder"
    )
    assert path.read_bytes() == before


def test_an_older_version_is_migrated_with_what_it_holds(path: Path):
    filled(path)
    steps = (*STEPS, ("ALTER TABLE decisions ADD COLUMN note TEXT", "CREATE TABLE notes (x TEXT)"))

    with closing(Database(path, writer="me", opening=Opening(steps=steps))) as store:
        assert store.get(workload(7)) == decision(7, 7)

    assert pragma(path, "user_version") == len(STEPS) + 1
    execute(path, "SELECT note FROM decisions")


def test_a_migration_that_fails_changes_nothing(path: Path):
    filled(path, 3)
    steps = (*STEPS, ("CREATE TABLE notes (x TEXT)", "no such statement"))

    with pytest.raises(StoreFailed, match="syntax error"):
        Database(path, writer="me", opening=Opening(steps=steps))

    assert pragma(path, "user_version") == len(STEPS)
    with closing(Database(path, writer="me")) as store:
        assert store.get(workload(2)) == decision(2, 2)


def test_a_store_open_for_reading_only_refuses_to_be_written(path: Path):
    filled(path, 3)

    with closing(Database(path, writer="me", opening=Opening(read_only=True))) as store:
        assert store.get(workload(2)) == decision(2, 2)
        with pytest.raises(StoreFailed) as caught:
            store.put(decision(1))

    assert str(caught.value) == (
        f"{path} is open for reading only\n"
        "Fix: give write permission there, or set VYRE_CACHE_DIR to another folder"
    )


def test_a_damaged_page_costs_its_own_rows_and_the_file_is_set_aside(
    path: Path, caplog: pytest.LogCaptureFixture
):
    filled(path)
    whole = path.read_bytes()
    leaf = next(
        at
        for at in range(4096 * 8, len(whole), 4096)
        if whole[at] == 0x0A and b"strided" in whole[at : at + 4096]
    )
    damaged = whole[:leaf] + bytes(4096) + whole[leaf + 4096 :]
    path.write_bytes(damaged)

    with caplog.at_level(logging.WARNING), closing(Database(path, writer="me")) as store:
        found = [store.get(workload(k)) for k in range(300)]
        rows = [row for k in range(40) for row in store.measurements(workload(k))]
        store.put(decision(999))

        assert store.get(workload(999)) == decision(999)
    assert all(item in (None, decision(k, k)) for k, item in enumerate(found))
    assert 1450 < sum(item is not None for item in found) + len(rows) < 1500
    aside = path.with_name("store.sqlite3.damaged-1")
    assert aside.read_bytes() == damaged
    (message,) = caplog.messages
    assert message.startswith(f"{path} was damaged and is now {aside.name}; ")
    assert message.endswith(
        f"could be read and are kept\nFix: delete {aside} when you do not need it any more"
    )


@pytest.mark.parametrize(
    "content", [b"no database at all\n" * 500, b"SQLite format 3\0" + bytes(90)]
)
def test_what_is_no_database_is_set_aside(content: bytes, path: Path):
    path.write_bytes(content)

    with closing(Database(path, writer="me")) as store:
        store.put(decision(1))

    assert path.with_name("store.sqlite3.damaged-1").read_bytes() == content
    with closing(Database(path, writer="me")) as store:
        assert store.get(workload(1)) == decision(1)


def test_a_second_damage_takes_the_next_name(path: Path):
    for content in (b"one" * 999, b"two" * 999):
        path.write_bytes(content)
        Database(path, writer="me").close()

    assert path.with_name("store.sqlite3.damaged-1").read_bytes() == b"one" * 999
    assert path.with_name("store.sqlite3.damaged-2").read_bytes() == b"two" * 999


def test_a_file_cut_short_gives_what_is_left_of_it(path: Path):
    filled(path)
    path.write_bytes(path.read_bytes()[:200_000])

    with closing(Database(path, writer="me")) as store:
        found = sum(store.get(workload(k)) == decision(k, k) for k in range(300))
        rows = sum(1 for k in range(40) for _ in store.measurements(workload(k)))

    assert found + rows > 100


def test_a_row_that_makes_no_sense_is_as_if_it_were_not_there(path: Path):
    filled(path, 3)
    execute(path, "UPDATE decisions SET schedule = '{}'")
    execute(path, "UPDATE measurements SET size = -1 WHERE sequence < 6")

    with closing(Database(path, writer="me")) as store:
        assert store.get(workload(1)) is None
        assert list(store.kept()) == []
        assert len(list(store.measurements())) == 6
        store.put(decision(1))
        assert store.get(workload(1)) == decision(1)


def test_a_full_disk_leaves_what_was_there(path: Path):
    filled(path, 20)
    store = Database(path, writer="me")
    connection = store._writing.connection()
    connection.execute(
        f"PRAGMA max_page_count = {connection.execute('PRAGMA page_count').fetchone()[0]}"
    )

    with pytest.raises(StoreFailed) as caught:
        store.append(measurement(1, k, "other") for k in range(5000))

    assert str(caught.value) == (
        f"{path} failed: database or disk is full\n"
        "Fix: make room and give write permission there, or set VYRE_CACHE_DIR to another folder"
    )
    assert store.get(workload(7)) == decision(7, 7)
    assert len(list(store.measurements())) == 80
    store.close()


def test_a_file_that_was_removed_is_made_again(path: Path):
    with closing(Database(path, writer="me")) as store:
        store.put(decision(1))
        for part in path.parent.iterdir():
            part.unlink()

        assert store.get(workload(1)) is None
        store.put(decision(2))
        assert store.get(workload(2)) == decision(2)


def test_a_file_that_was_replaced_is_read_anew(path: Path, tmp_path: Path):
    other = tmp_path / "other.sqlite3"
    with closing(Database(other, writer="you")) as theirs:
        theirs.put(decision(2))
    with closing(Database(path, writer="me")) as store:
        store.put(decision(1))
        other.rename(path)
        for part in ("-wal", "-shm"):
            path.with_name(path.name + part).unlink()

        assert store.get(workload(2)) == decision(2)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_fork_writes_on_a_connection_of_its_own(path: Path):
    code = f"""
import os
from pathlib import Path
from vyre.store.sqlite.database import Database
from vyre.testing.store_contract import decision
store = Database(Path({str(path)!r}), writer="me")
store.put(decision(1))
child = os.fork()
store.put(decision(2 if child else 3))
if child:
    assert os.waitpid(child, 0)[1] == 0
    store.put(decision(4))
"""
    subprocess.run([sys.executable, "-c", code], check=True)

    with closing(Database(path, writer="me")) as store:
        assert all(store.get(workload(k)) == decision(k) for k in (1, 2, 3, 4))


def test_pruning_gives_the_space_back(path: Path):
    filled(path, 1000)
    before = path.stat().st_size
    with closing(Database(path, writer="me")) as store:
        store.prune(Bounds(decisions=10, measurements=10))

    assert path.stat().st_size < before / 4


def test_two_writers_at_once_both_succeed(path: Path):
    with (
        closing(Database(path, writer="me")) as one,
        closing(Database(path, writer="you")) as two,
    ):
        for k in range(20):
            one.put(decision(k, 1))
            two.put(decision(k, 2))

        assert {one.get(workload(k)) for k in range(20)} == {decision(k, 2) for k in range(20)}
