import logging
from contextlib import closing
from pathlib import Path

import pytest

from vyre.store.memory import MemoryStore
from vyre.store.notice import forget_said
from vyre.store.open import files_in, new_writer, open_store
from vyre.store.sqlite.database import Database
from vyre.testing.store_contract import contents, decision, measurement, workload

SHARED = "filer:/x / nfs4 rw 0 0\n"


@pytest.fixture(autouse=True)
def nothing_said_yet():
    forget_said()


def test_a_local_folder_has_one_database(tmp_path: Path):
    with closing(open_store(tmp_path / "new", writer="me", mounts="")) as store:
        store.put(decision(1))

    assert isinstance(store, Database)
    assert [path.name for path in files_in(tmp_path / "new")] == ["store.sqlite3"]


def test_hosts_that_share_a_folder_write_a_file_each_and_read_all(tmp_path: Path):
    one = open_store(tmp_path, writer="1", host="one", mounts=SHARED)
    two = open_store(tmp_path, writer="2", host="two/../x", mounts=SHARED)
    one.put(decision(1, 1), decision(2, 1))
    two.put(decision(2, 2), decision(3, 2))
    one.append([measurement(1, 0, "1")])
    two.append([measurement(1, 0, "2")])

    assert [path.name[:13] for path in files_in(tmp_path)] == ["store.one.sql", "store.two_.._"]
    assert contents(one) == contents(two)
    assert one.get(workload(2)) == two.get(workload(2)) == decision(2, 2)
    assert one.summaries(workload(1))[0].count == 2
    one.put(decision(2, 3))
    assert two.get(workload(2)) == decision(2, 3)
    one.close()
    two.close()


def test_a_decision_of_another_host_that_is_used_becomes_ours(tmp_path: Path):
    one = open_store(tmp_path, writer="1", host="one", mounts=SHARED)
    two = open_store(tmp_path, writer="2", host="two", mounts=SHARED)
    one.put(decision(1))
    two.used([workload(1)])
    one.close()
    files_in(tmp_path)[0].unlink()

    assert two.get(workload(1)) == decision(1)
    two.close()


def test_a_file_of_another_host_that_cannot_be_read_is_left_out_and_left_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    other = tmp_path / "store.other.sqlite3"
    other.write_bytes(b"being written" * 999)

    with closing(open_store(tmp_path, writer="1", host="one", mounts=SHARED)) as store:
        store.put(decision(1))
        assert store.get(workload(1)) == decision(1)
        assert store.get(workload(2)) is None

    assert other.read_bytes() == b"being written" * 999
    assert caplog.messages == [
        f"{other} failed: file is not a database; what it holds is left out\n"
        'Fix: run "vyre store repair" as the user who writes it, or move it away'
    ]


def test_a_store_that_moved_to_a_local_disk_still_reads_its_hosts_files(tmp_path: Path):
    with closing(open_store(tmp_path, writer="1", host="one", mounts=SHARED)) as store:
        store.put(decision(1))

    with closing(open_store(tmp_path, writer="1", mounts="")) as store:
        assert store.get(workload(1)) == decision(1)


def test_without_a_home_work_goes_on_in_memory_and_that_is_said_once(
    caplog: pytest.LogCaptureFixture,
):
    with caplog.at_level(logging.WARNING):
        stores = [open_store(Path("~/.cache/vyre"), writer="me") for _ in range(3)]
    stores[0].put(decision(1))

    assert all(isinstance(store, MemoryStore) for store in stores)
    assert stores[0].get(workload(1)) == decision(1)
    assert caplog.messages == [
        "cache folder '~/.cache/vyre' is not absolute, as if there were no home folder; "
        "what is learned is kept in memory only\n"
        "Fix: set HOME, or VYRE_CACHE_DIR to a folder"
    ]
    assert not Path("~").exists()


def test_where_no_folder_can_be_made_work_goes_on_in_memory(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    (tmp_path / "file").write_text("not a folder")

    store = open_store(tmp_path / "file" / "vyre", writer="me", mounts="")

    assert isinstance(store, MemoryStore)
    assert len(caplog.messages) == 1
    assert "; what is learned is kept in memory only\nFix: make room" in caplog.messages[0]


def test_a_newer_store_is_not_touched_and_work_goes_on_in_memory(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    path = tmp_path / "store.sqlite3"
    with closing(Database(path, writer="me")) as store:
        store._writing.connection().execute("PRAGMA user_version = 99")
    before = path.read_bytes()

    assert isinstance(open_store(tmp_path, writer="me", mounts=""), MemoryStore)
    assert path.read_bytes() == before
    assert "has schema 99" in caplog.messages[0]


def test_reading_only_makes_nothing(tmp_path: Path):
    assert isinstance(open_store(tmp_path / "none", writer="me", read_only=True), MemoryStore)
    assert list(tmp_path.iterdir()) == []


def test_reading_only_reads_what_is_there(tmp_path: Path):
    with closing(open_store(tmp_path, writer="1", host="one", mounts=SHARED)) as store:
        store.put(decision(1))

    for host in ("one", "two"):
        with closing(
            open_store(tmp_path, writer="2", host=host, mounts=SHARED, read_only=True)
        ) as store:
            assert store.get(workload(1)) == decision(1)
    assert [path.name for path in files_in(tmp_path)] == ["store.one.sqlite3"]


def test_no_two_writers_share_a_name():
    assert new_writer("host").startswith("host-")
    assert new_writer() != new_writer()
