"""Damage: every readable row is kept, by one repair, whenever it is cut short."""

import logging
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from vyre.errors import StoreFailed
from vyre.model import Measurement
from vyre.store.base import Bounds
from vyre.store.sqlite import file as file_module
from vyre.store.sqlite.database import Database
from vyre.store.sqlite.file import DatabaseFile, Opening
from vyre.store.sqlite.log import PAGE, frames, hides_commits, journal_pages
from vyre.store.sqlite.repair import fault_of, is_damaged, move_away, put_back
from vyre.store.sqlite.schema import Damaged
from vyre.testing.store_contract import START_NS, decision, measurement, workload

COUNT = 200


def filled(path: Path, count: int = COUNT, **opening: str) -> None:
    how = Opening(**opening)  # type: ignore[arg-type]
    with closing(Database(path, writer="me", opening=how, now_ns=lambda: START_NS)) as store:
        store.put(*(decision(k, k) for k in range(count)))
        store.append(measurement(k % 40, k) for k in range(4 * count))


def whole(path: Path, count: int = COUNT) -> bool:
    """Whether everything that `filled` put there is there."""
    with closing(Database(path, writer="me")) as store:
        found = all(store.get(workload(k)) == decision(k, k) for k in range(count))
        return found and len(set(store.measurements())) == 4 * count


def asides(path: Path) -> list[str]:
    return sorted(one.name for one in path.parent.glob(f"{path.name}.damaged-?"))


def overwrite(path: Path, at: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)


def repair(path: Path) -> None:
    with closing(DatabaseFile(path, Opening())) as file:
        file.repair_after(Damaged("asked for"))


def inner_page(path: Path) -> int:
    """Where the root of the largest table is: rows below it have no other way to them."""
    with closing(sqlite3.connect(path)) as connection:
        sql = "SELECT rootpage FROM sqlite_master WHERE name = 'measurements'"
        return (connection.execute(sql).fetchone()[0] - 1) * PAGE


def test_rows_below_a_damaged_page_are_kept(path: Path):
    filled(path)
    root = inner_page(path)
    assert path.read_bytes()[root] == 2  # it has others below it
    overwrite(path, root, bytes(PAGE))

    repair(path)

    with closing(Database(path, writer="me")) as store:
        rows = len(list(store.measurements()))
    assert 4 * COUNT - 40 < rows < 4 * COUNT  # those on the page itself are gone
    assert asides(path) == ["store.sqlite3.damaged-1"]


def test_many_damaged_pages_cost_their_own_rows_only(path: Path):
    """A walk from either end would stop at the first of them."""
    filled(path)
    data = path.read_bytes()
    leaves = [
        at
        for at in range(PAGE, len(data), PAGE)
        if data[at] == 10 and b"strided" in data[at : at + PAGE]
    ]
    hit = leaves[::4]
    for at in hit:
        overwrite(path, at, Random(at).randbytes(PAGE))

    repair(path)

    with closing(Database(path, writer="me")) as store:
        found = len(list(store.kept())) + len(list(store.measurements()))
    assert 5 * COUNT - 25 * len(hit) < found < 5 * COUNT


@pytest.mark.parametrize(
    ("at", "data"),
    [
        (0, b"not a database.."),
        (16, b"\xff\xff"),  # the size of pages
        (18, b"\7\7"),  # how it is written
        (28, b"\xff\xff\xff\xff"),  # how many pages there are
        (56, b"\0\0\0\7"),  # the encoding of text
        (60, b"\xff\0\0\3"),  # the version of the tables
        (60, b"\0\0\0\0"),
        (60, b"\0\0\0\1"),
        (60, b"\0\0\0\2"),
        (60, b"\0\0\0\3"),
        (68, b"XXXX"),  # whose it is
        (0, bytes(100)),
        (0, bytes(PAGE)),  # and the list of tables with it
    ],
    ids=str,
)
def test_a_damaged_header_costs_nothing(path: Path, at: int, data: bytes):
    filled(path)
    overwrite(path, at, data)

    repair(path)

    assert whole(path)
    assert not is_damaged(path)


def forget_in_an_index(path: Path) -> None:
    """Let an index miss a row that its table has, as a lost write of a page does."""
    entry = "name = 'measurements_by_time'"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        saved = connection.execute(f"SELECT * FROM sqlite_master WHERE {entry}").fetchone()
        connection.execute(f"DELETE FROM sqlite_master WHERE {entry}")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DELETE FROM measurements WHERE sequence = 6")
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", saved)


def test_what_quick_check_misses_is_found_and_repaired_once(path: Path):
    filled(path)
    forget_in_an_index(path)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok"
        assert connection.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok"
        assert fault_of(connection, path)

    repair(path)
    repair(path)

    assert asides(path) == ["store.sqlite3.damaged-1"]
    with closing(Database(path, writer="me")) as store:
        assert len(list(store.measurements())) == 4 * COUNT - 1
        store.prune(Bounds(measurements=10))  # which goes by that index
        assert len(list(store.measurements())) == 10
    assert asides(path) == ["store.sqlite3.damaged-1"]


def test_a_store_whose_rows_are_broken_is_repaired_once(path: Path):
    filled(path, 3)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE measurements SET size = 1 WHERE sequence = 7")
        connection.commit()

    repair(path)
    repair(path)

    assert asides(path) == ["store.sqlite3.damaged-1"]
    with closing(Database(path, writer="me")) as store:
        assert len(list(store.measurements())) == 11
        assert store.left_out == 0


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_damaged_store_of_an_earlier_version_keeps_its_rows(
    old_store: Callable[..., Path], old_rows: Callable[..., frozenset[Measurement]], version: int
):
    path = old_store(version, 100)
    overwrite(path, 0, bytes(100))

    with closing(Database(path, writer="me")) as store:
        assert all(store.get(workload(k)) == decision(k) for k in range(100))
        assert frozenset(store.measurements()) == old_rows(100)
        assert store.names() == ({"ab": "saxpy"} if version > 1 else {})
    assert not is_damaged(path)


def test_rows_that_no_tree_leads_to_outlive_a_migration(
    old_store: Callable[..., Path], old_rows: Callable[..., frozenset[Measurement]]
):
    """A migration takes what SQLite finds and drops the rest, so damage is mended first."""
    path = old_store(3, 100)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    data = path.read_bytes()
    leaf = next(
        at
        for at in range(PAGE, len(data), PAGE)
        if data[at] == 10 and b"strided" in data[at : at + PAGE]
    )
    overwrite(path, leaf + 3, b"\0\1")  # the page says that it has one row

    with closing(Database(path, writer="me")) as store:
        kept, rows = len(list(store.kept())), frozenset(store.measurements())

    assert kept == 100
    assert rows == old_rows(100)
    assert asides(path) == ["store.sqlite3.damaged-1"]


def test_what_was_written_to_a_damaged_file_is_there_after_its_repair(path: Path):
    filled(path)
    overwrite(path, inner_page(path), bytes(PAGE))

    with closing(Database(path, writer="me")) as store:
        store.put(*(decision(k, k) for k in range(1000, 1050)))  # its pages are sound
        repair(path)
        assert all(store.get(workload(k)) == decision(k, k) for k in range(1000, 1050))


def moved_away(path: Path) -> None:
    move_away(path)


def half_moved_away(path: Path) -> None:
    path.rename(path.with_name("store.sqlite3.repairing"))


@pytest.mark.parametrize("cut_short", [moved_away, half_moved_away])
def test_a_repair_that_a_crash_cut_short_is_ended_by_whoever_comes_next(
    path: Path, cut_short: Callable[[Path], None]
):
    filled(path)
    with closing(Database(path, writer="me")) as store:
        store.put(decision(999))  # in the log alone
        copy = {end: path.with_name(path.name + end).read_bytes() for end in ("", "-wal")}
    for end, data in copy.items():
        path.with_name(path.name + end).write_bytes(data)
    cut_short(path)

    assert whole(path)
    with closing(Database(path, writer="me")) as store:
        assert store.get(workload(999)) == decision(999)
    assert asides(path) == ["store.sqlite3.damaged-1"]
    assert not list(path.parent.glob("*.repairing*"))


def test_a_commit_while_another_process_repairs_is_written_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
):
    filled(path, 3)
    times = []
    seal = Database._append

    def meanwhile(self: Database, rows: object) -> None:
        with self._writing.transaction() as connection:
            connection.execute("DELETE FROM names")
            if not times:
                times.append(1)
                move_away(path)
                put_back(path, journal="wal")
        monkeypatch.setattr(Database, "_append", seal)
        seal(self, rows)  # type: ignore[arg-type]

    with closing(Database(path, writer="me")) as store:
        store._writing.connection()
        monkeypatch.setattr(Database, "_append", meanwhile)
        store.append([measurement(1, 99, "late")])

    with closing(Database(path, writer="me")) as store:
        assert measurement(1, 99, "late") in set(store.measurements())


def test_a_log_without_its_database_gives_its_rows(path: Path):
    with closing(Database(path, writer="me")) as store:
        store.put(decision(1))
        log = path.with_name("store.sqlite3-wal").read_bytes()
    path.unlink()
    path.with_name("store.sqlite3-wal").write_bytes(log)

    with closing(Database(path, writer="me")) as store:
        assert store.get(workload(1)) == decision(1)


def logged(path: Path) -> tuple[bytes, bytes]:
    """A database and its log, as a kill leaves them: ten commits, all in the log."""
    with closing(Database(path, writer="me")) as store:
        for number in range(10):
            store.put(decision(number, number))
        return path.read_bytes(), path.with_name("store.sqlite3-wal").read_bytes()


def test_every_frame_of_a_sound_log_is_verified_and_hides_nothing(path: Path):
    _, log = logged(path)

    found = frames(log)
    assert len(found) == (len(log) - 32) // (24 + PAGE) > 10
    assert all(frame.verified for frame in found)
    assert not hides_commits(log)


@pytest.mark.parametrize("place", [0.1, 0.5, 0.9])
def test_a_log_cut_short_hides_nothing(path: Path, place: float):
    """It is what a kill in the midst of a commit leaves, and no damage."""
    _, log = logged(path)

    assert not hides_commits(log[: int(place * len(log))])


@pytest.mark.parametrize(
    "at",
    [
        *(0, 4, 9, 16, 20, 24, 30),  # the head: kind, version, size of pages, salts, sum
        *(32, 36, 40, 44, 48, 52),  # the first mark: page, commit, salts, sum
        *(56, 57, 2000),  # the first page
        *(32 + 4120 * 3 + at for at in (0, 4, 8, 12, 16, 20, 24, 400)),  # the fourth frame
    ],
)
def test_commits_behind_a_damaged_frame_are_kept(path: Path, at: int):
    """SQLite forgets them, and the next writer writes over them."""
    main, log = logged(path)
    damaged = log[:at] + bytes([log[at] ^ 0x55]) + log[at + 1 :]
    path.write_bytes(main)
    path.with_name("store.sqlite3-wal").write_bytes(damaged)
    path.with_name("store.sqlite3-shm").unlink(missing_ok=True)
    with closing(Database(path, writer="me")) as store:
        store.put(decision(77))
        found = [store.get(workload(k)) for k in range(10)]

    assert found == [decision(k, k) for k in range(10)]
    assert not is_damaged(path)


def test_looking_at_a_store_leaves_a_damaged_log_as_it_is(path: Path):
    main, log = logged(path)
    damaged = log[:400] + bytes([log[400] ^ 1]) + log[401:]
    path.write_bytes(main)
    path.with_name("store.sqlite3-wal").write_bytes(damaged)

    with closing(Database(path, writer="me", opening=Opening(read_only=True))) as store:
        store.get(workload(1))
    is_damaged(path)

    assert path.read_bytes() == main
    assert path.with_name("store.sqlite3-wal").read_bytes() == damaged


def test_a_transaction_that_a_kill_cut_short_is_undone_in_a_repair(path: Path, tmp_path: Path):
    """The journal has the pages as they were."""
    filled(path, journal="delete")
    copy = tmp_path / "copy" / path.name
    copy.parent.mkdir()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA cache_size = 2")  # so that pages are written before the commit
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("DELETE FROM measurements")
        for end in ("", "-journal"):
            shutil.copyfile(path.with_name(path.name + end), copy.with_name(copy.name + end))
        connection.execute("ROLLBACK")
    assert list(journal_pages(copy.with_name("store.sqlite3-journal").read_bytes()))
    overwrite(copy, 0, bytes(100))

    repair(copy)

    assert whole(copy)


def test_a_disk_that_seems_full_because_of_a_damaged_page_is_repaired(path: Path):
    """SQLite follows a pointer beyond the end of the file and calls the disk full."""
    filled(path)
    root = inner_page(path)
    overwrite(path, root + 8, b"\x7f\xff\xff\xf0")  # the last page below it

    with closing(Database(path, writer="me")) as store:
        store.append(measurement(1, k, "z") for k in range(50))
        assert len(list(store.measurements())) == 4 * COUNT + 50


def test_a_repair_is_said_once_with_what_was_kept(path: Path, caplog: pytest.LogCaptureFixture):
    filled(path, 5)
    overwrite(path, 0, bytes(100))

    with caplog.at_level(logging.WARNING):
        Database(path, writer="me").close()

    aside = path.with_name("store.sqlite3.damaged-1")
    assert caplog.messages == [
        f"{path} was damaged and is now {aside.name}; "
        "20 workloads, 5 decisions, 20 measurements, 0 names could be read and are kept\n"
        f"Fix: delete {aside} when you do not need it any more"
    ]


def test_a_file_that_is_always_another_one_is_given_up(path: Path, monkeypatch: pytest.MonkeyPatch):
    filled(path, 1)
    with closing(Database(path, writer="me")) as store:
        monkeypatch.setattr(file_module.DatabaseFile, "_is_still", lambda *_: False)
        with pytest.raises(StoreFailed) as caught:
            store.put(decision(1))

    assert str(caught.value) == (
        f"{path} is replaced again and again\nFix: end what replaces it, and try again"
    )
