"""Making a database: it is there whole, or not at all."""

import os
import resource
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from vyre.errors import StoreFailed
from vyre.store.open import open_store
from vyre.store.sqlite import make as module
from vyre.store.sqlite.database import Database
from vyre.store.sqlite.file import Opening
from vyre.store.sqlite.make import make
from vyre.testing.store_contract import decision, workload

OPENS = """
import sys
from pathlib import Path
from vyre.errors import StoreFailed
from vyre.store.sqlite.database import Database
from vyre.testing.store_contract import decision
try:
    store = Database(Path(sys.argv[1]), writer="me")
    store.put(*(decision(k) for k in range(400)))
except StoreFailed as error:
    print(error.problem)
"""


def open_in_a_process(path: Path, most_bytes: int) -> str:
    """What opening says where no file may grow beyond this."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))

    shown = subprocess.run(
        [sys.executable, "-B", "-c", OPENS, str(path)],
        capture_output=True,
        text=True,
        preexec_fn=limit,
    )
    assert shown.returncode == 0, shown.stderr
    return shown.stdout


@pytest.mark.parametrize("pages", [0, 1, 2, 3, 5, 7, 8])
def test_a_full_disk_leaves_no_half_of_a_database(path: Path, pages: int):
    said = open_in_a_process(path, 4096 * pages)

    assert "failed" in said or "cannot be written" in said
    assert not path.exists()
    assert [one.name for one in path.parent.iterdir() if one.name.endswith(".tmp")] == []
    with closing(Database(path, writer="me")) as store:  # now there is room
        store.put(decision(1))
        assert store.get(workload(1)) == decision(1)


@pytest.mark.parametrize("pages", [12, 20, 40])
def test_a_disk_that_fills_up_later_leaves_a_database_that_works(path: Path, pages: int):
    said = open_in_a_process(path, 4096 * pages)

    assert said
    with closing(Database(path, writer="me", opening=Opening(read_only=True))) as store:
        assert list(store.kept()) == []
    with closing(Database(path, writer="me")) as store:
        store.put(decision(1))
        assert store.get(workload(1)) == decision(1)
    assert not list(path.parent.glob("*.damaged-*"))


@pytest.fixture
def small_disk(tmp_path: Path):
    """A file system of very few pages."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = os.name == "posix" and os.geteuid() == 0
    if mounted:
        command = [
            shutil.which("mount") or "mount",
            "-t",
            "tmpfs",
            "-o",
            "size=28k",
            "tmpfs",
            str(folder),
        ]
        mounted = subprocess.run(command, capture_output=True).returncode == 0
    if not mounted:
        pytest.skip("no file system can be mounted here")
    yield folder
    subprocess.run([shutil.which("umount") or "", str(folder)], check=True)


def test_a_file_system_without_room_is_worked_on_in_memory_and_used_when_there_is_room(
    small_disk: Path,
):
    store = open_store(small_disk, writer="me", mounts="")
    store.put(decision(1))
    assert store.get(workload(1)) == decision(1)
    assert [one.name for one in small_disk.iterdir() if one.suffix != ".lock"] == []

    command = [shutil.which("mount") or "", "-o", "remount,size=9m", str(small_disk)]
    subprocess.run(command, check=True)
    with closing(open_store(small_disk, writer="me", mounts="", strict=True)) as store:
        store.put(decision(2))
        assert store.get(workload(2)) == decision(2)


def test_what_a_crash_left_is_cleared_away(path: Path):
    left = path.with_name(".store.sqlite3.0123abcd.tmp")
    left.write_bytes(b"half")
    left.with_name(left.name + "-journal").write_bytes(b"half")

    Database(path, writer="me").close()

    assert not list(path.parent.glob(".*"))


def test_an_error_in_the_midst_leaves_nothing(path: Path, monkeypatch: pytest.MonkeyPatch):
    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(module, "migrate", fail)

    with pytest.raises(sqlite3.OperationalError):
        make(path, journal="wal")
    assert list(path.parent.iterdir()) == []


def test_a_file_without_tables_that_an_earlier_release_left_is_made_whole(path: Path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = wal").fetchone()
    assert path.stat().st_size > 0

    with pytest.raises(StoreFailed) as caught:
        Database(path, writer="me", opening=Opening(read_only=True))
    with closing(Database(path, writer="me")) as store:
        store.put(decision(1))
        assert store.get(workload(1)) == decision(1)

    assert str(caught.value) == f"{path} holds no tables yet\nFix: tune or call a kernel first"


def test_an_empty_file_is_no_store_yet(path: Path):
    path.touch()

    with closing(open_store(path.parent, writer="me", read_only=True, strict=True)) as store:
        assert list(store.kept()) == []
    with closing(Database(path, writer="me")) as store:
        store.put(decision(1))
        assert store.get(workload(1)) == decision(1)


def test_a_link_to_a_place_for_the_database_stays_a_link(path: Path, tmp_path: Path):
    (tmp_path / "elsewhere").mkdir()
    path.symlink_to(tmp_path / "elsewhere" / "real.sqlite3")

    with closing(Database(path, writer="me")) as store:
        store.put(decision(1))

    assert path.is_symlink()
    assert (tmp_path / "elsewhere" / "real.sqlite3").stat().st_size > 0
