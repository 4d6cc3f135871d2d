"""A folder that users share: each writes a file of its own and reads those of the others."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from vyre.errors import StoreFailed
from vyre.store.base import DAY_NS, Kept, merge_into
from vyre.store.memory import MemoryStore
from vyre.store.notice import forget_said
from vyre.store.open import files_in, is_own, journal_in, open_store
from vyre.store.sqlite.database import Database
from vyre.store.sqlite.file import Opening
from vyre.store.sqlite.shared import LARGEST, SharedFiles
from vyre.testing.store_contract import decision, measurement, workload

ADA = 40_001

pytestmark = pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0, reason="only root can give files to other users"
)


@pytest.fixture(autouse=True)
def nothing_said_yet():
    forget_said()


def given_to(path: Path, user: int, mode: int | None = None) -> Path:
    os.chown(path, user, user)
    if mode is not None:
        path.chmod(mode)
    return path


def store_of_ada(folder: Path, *numbers: int, journal: str = "delete") -> Path:
    path = folder / f"store.user-{ADA}.sqlite3"
    opening = Opening(journal=journal)  # type: ignore[arg-type]
    with closing(Database(path, writer="ada", opening=opening)) as store:
        store.put(*(decision(number, number) for number in numbers))
    return given_to(path, ADA)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".lock")


def test_the_owner_of_a_folder_has_the_plain_file(tmp_path: Path):
    with closing(open_store(tmp_path, writer="me", mounts="")) as store:
        store.put(decision(1))

    assert names(tmp_path) == ["store.sqlite3"]


def test_a_guest_has_a_file_of_its_own(tmp_path: Path):
    given_to(tmp_path, ADA, 0o2770)

    with closing(open_store(tmp_path, writer="me", mounts="")) as store:
        store.put(decision(1))

    assert names(tmp_path) == ["store.user-0.sqlite3"]


def test_a_guest_of_a_folder_on_a_network_has_a_file_for_each_host(tmp_path: Path):
    given_to(tmp_path, ADA, 0o2770)

    for host in ("one", "two"):
        store = open_store(tmp_path, writer="me", host=host, mounts="filer:/ / nfs4 rw 0 0")
        with closing(store):
            store.put(decision(1))

    assert names(tmp_path) == ["store.one.user-0.sqlite3", "store.two.user-0.sqlite3"]


def test_an_owner_whose_plain_file_a_guest_made_has_another(tmp_path: Path):
    """An earlier release let whoever came first make it."""
    with closing(Database(tmp_path / "store.sqlite3", writer="bob")) as store:
        store.put(decision(1))
    given_to(tmp_path / "store.sqlite3", ADA)

    with closing(open_store(tmp_path, writer="me", mounts="")) as store:
        store.put(decision(2))
        assert store.get(workload(1)) == decision(1)

    assert names(tmp_path) == ["store.sqlite3", "store.user-0.sqlite3"]


def test_a_link_in_the_place_of_our_file_is_refused(tmp_path: Path):
    """Whoever can write there could lead us to any file of ours."""
    folder = tmp_path / "team"
    folder.mkdir()
    given_to(folder, ADA, 0o777)
    precious = tmp_path / "precious.sqlite3"
    precious.write_bytes(b"precious")
    (folder / "store.user-0.sqlite3").symlink_to(precious)

    with pytest.raises(StoreFailed) as caught:
        open_store(folder, writer="me", mounts="", strict=True)

    assert str(caught.value) == (
        f"{folder / 'store.user-0.sqlite3'} is a link, and others can write there\n"
        "Fix: set VYRE_CACHE_DIR to another folder"
    )
    assert precious.read_bytes() == b"precious"


def test_a_link_in_the_place_of_our_lock_is_refused(tmp_path: Path):
    """To make a lock would empty the file that it leads to."""
    folder = tmp_path / "team"
    folder.mkdir()
    given_to(folder, ADA, 0o777)
    precious = tmp_path / "precious"
    precious.write_text("precious")
    (folder / "store.user-0.sqlite3.lock").symlink_to(precious)

    with pytest.raises(StoreFailed, match="cannot be written: Too many levels of symbolic links"):
        open_store(folder, writer="me", mounts="", strict=True)
    assert precious.read_text() == "precious"


@pytest.mark.parametrize("mode", [0o2770, 0o777, 0o1777, 0o775])
def test_where_others_can_write_there_is_no_log(tmp_path: Path, mode: int):
    """It would belong to whoever opened the store first, and keep its owner out."""
    with closing(Database(tmp_path / "store.sqlite3", writer="old")) as store:
        store.put(decision(1))
    given_to(tmp_path, 0, mode)
    os.chown(tmp_path, 0, ADA)

    assert journal_in(tmp_path, "") == "delete"
    with closing(open_store(tmp_path, writer="me", mounts="")) as store:
        store.put(decision(2))
        assert store.get(workload(1)) == decision(1)
        assert names(tmp_path) == ["store.sqlite3"]  # nor one that an earlier release began


def test_a_folder_that_only_its_owner_can_write_has_a_log(tmp_path: Path):
    given_to(tmp_path, 0, 0o755)

    assert journal_in(tmp_path, "") == "wal"


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_reading_anothers_file_leaves_nothing_beside_it(tmp_path: Path, journal: str):
    path = store_of_ada(tmp_path, 1, journal=journal)
    before = path.read_bytes()

    with closing(open_store(tmp_path, writer="me", mounts="")) as store:
        assert store.get(workload(1)) == decision(1, 1)
        assert not [name for name in names(tmp_path) if f"user-{ADA}" in name and "-" in name[-8:]]

    assert path.read_bytes() == before
    assert [name for name in names(tmp_path) if str(ADA) in name] == [path.name]


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_what_another_writes_while_we_read_is_seen(tmp_path: Path, journal: str):
    store_of_ada(tmp_path, 1, journal=journal)

    with closing(open_store(tmp_path, writer="me", mounts="")) as store:
        assert store.get(workload(2)) is None
        store_of_ada(tmp_path, 2, journal=journal)
        assert store.get(workload(2)) == decision(2, 2)
        assert store.get(workload(1)) == decision(1, 1)


def test_what_another_decided_last_holds_and_what_we_name_is_so_called(tmp_path: Path):
    with closing(open_store(tmp_path, writer="me", mounts="")) as store:
        store.put(decision(1, 1))
        store.name({"ab": "ours"})
        store.append([measurement(1, 0, "me")])
    path = store_of_ada(tmp_path, 1)
    with closing(Database(path, writer="ada", opening=Opening(journal="delete"))) as theirs:
        theirs.put(decision(1, 2))
        theirs.name({"ab": "theirs", "cd": "new"})
        theirs.append([replace(measurement(2, 0, "me"), size=7)])  # under the name of our row
    given_to(path, ADA)

    with closing(open_store(tmp_path, writer="me", mounts="")) as store:
        assert store.get(workload(1)) == decision(1, 2)
        assert store.names() == {"ab": "ours", "cd": "new"}
        assert list(store.measurements()) == [measurement(1, 0, "me")]


def from_the_future(now: int) -> Kept:
    return Kept(decision=decision(1, 5), stamp_ns=now + 2 * DAY_NS, writer="eve", used_ns=now)


def test_what_another_decided_in_the_future_is_left_out(tmp_path: Path):
    """Nothing that is decided here could ever replace it."""
    path = store_of_ada(tmp_path)
    with closing(Database(path, writer="eve", opening=Opening(journal="delete"))) as theirs:
        theirs.absorb([from_the_future(theirs.now_ns())], ())
    given_to(path, ADA)

    with closing(open_store(tmp_path, writer="me", mounts="")) as store:
        assert store.get(workload(1)) is None
        store.put(decision(1, 1))
        assert store.get(workload(1)) == decision(1, 1)
        assert [kept.decision for kept in store.kept()] == [decision(1, 1)]


def test_merging_leaves_out_what_was_decided_in_the_future():
    mine, other = MemoryStore(), MemoryStore()
    other.absorb([from_the_future(1000)], ())

    merge_into(mine, other, now_ns=1000)
    assert list(mine.kept()) == []
    merge_into(mine, other)
    assert len(list(mine.kept())) == 1


def test_a_file_of_another_that_is_larger_than_any_store_is_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    path = store_of_ada(tmp_path, 1)
    with path.open("r+b") as file:
        file.truncate(LARGEST + 1)

    with closing(open_store(tmp_path, writer="me", mounts="")) as store:
        assert store.get(workload(1)) is None

    assert caplog.messages == [
        f"{path} has 1,073,741,825 bytes; 1,073,741,824 allowed; what it holds is left out\n"
        "Fix: ask its owner to make it smaller with vyre store prune"
    ]


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_folder(path: Path) -> None:
    path.mkdir()


def a_loop(path: Path) -> None:
    path.symlink_to(path.name)


def a_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def no_store(path: Path) -> None:
    path.write_bytes(b"no store" * 1000)


def of_another_program(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE cookies (secret TEXT)")


@pytest.mark.parametrize("make", [a_pipe, a_folder, a_loop, a_device, no_store, of_another_program])
def test_whatever_another_puts_there_is_left_out_and_left_alone(
    tmp_path: Path, make: Callable[[Path], None], caplog: pytest.LogCaptureFixture
):
    make(tmp_path / "store.user-7.sqlite3")

    with closing(open_store(tmp_path, writer="me", mounts="")) as store:
        store.put(decision(1))
        assert store.get(workload(1)) == decision(1)
        assert store.get(workload(2)) is None
        assert isinstance(store, SharedFiles)

    (message,) = caplog.messages
    assert "; what it holds is left out\nFix: " in message
    assert set(names(tmp_path)) == {"store.sqlite3", "store.user-7.sqlite3"}


def test_where_we_cannot_write_the_files_of_others_are_read(tmp_path: Path):
    store_of_ada(tmp_path, 1)
    (tmp_path / "store.sqlite3").mkdir()  # stands for a folder that even root cannot write

    store = open_store(tmp_path, writer="me", mounts="")

    assert store.get(workload(1)) == decision(1, 1)
    with pytest.raises(StoreFailed) as caught:
        store.put(decision(2))
    store.close()
    assert str(caught.value) == (
        "this store is open for reading only\n"
        "Fix: give write permission to its folder, or set VYRE_CACHE_DIR to another one"
    )


def test_every_file_of_a_folder_is_listed_but_empty_ones(tmp_path: Path):
    store_of_ada(tmp_path, 1)
    (tmp_path / "store.empty.sqlite3").touch()
    (tmp_path / "store.sqlite3.damaged-1").write_bytes(b"x")

    assert files_in(tmp_path) == (tmp_path / f"store.user-{ADA}.sqlite3",)


def test_a_link_is_whose_that_made_it_so_nobody_repairs_it_for_them(tmp_path: Path):
    mine, link = tmp_path / "mine", tmp_path / f"store.user-{ADA}.sqlite3"
    mine.write_text("text")
    link.symlink_to(mine)
    os.chown(link, ADA, ADA, follow_symlinks=False)

    assert is_own(mine)
    assert not is_own(link)
