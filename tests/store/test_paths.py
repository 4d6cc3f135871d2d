"""Places where no store can be: each is an error with a Fix, or work goes on in memory."""

import logging
import os
import stat
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

from vyre.errors import StoreFailed
from vyre.store.exchange.autotune_store import AutotuneStore
from vyre.store.exchange.tuner_cache import TunerCache
from vyre.store.files import exclusive, is_file, replace_text
from vyre.store.notice import forget_said
from vyre.store.open import open_store
from vyre.testing.store_contract import decision, workload

posix = pytest.mark.skipif(os.name != "posix", reason="no such places there")
pytestmark = posix


def a_loop(folder: Path) -> Path:
    (folder / "one").symlink_to("two")
    (folder / "two").symlink_to("one")
    return folder / "one"


def a_pipe(folder: Path) -> Path:
    os.mkfifo(folder / "pipe")
    return folder / "pipe"


def a_file(folder: Path) -> Path:
    (folder / "file").write_text("x")
    return folder / "file"


def holding(name: str, make: Callable[[Path], object]) -> Callable[[Path], Path]:
    def folder_with(folder: Path) -> Path:
        (folder / "held").mkdir()
        make(folder / "held" / name)
        return folder / "held"

    return folder_with


FOLDERS: dict[str, Callable[[Path], Path]] = {
    "a name that is too long": lambda folder: folder / ("x" * 300),
    "a path that is too long": lambda folder: folder.joinpath(*["y" * 200] * 30),
    "a loop of links": a_loop,
    "below a loop of links": lambda folder: a_loop(folder) / "below",
    "a pipe": a_pipe,
    "below a pipe": lambda folder: a_pipe(folder) / "below",
    "a file": a_file,
    "below a file": lambda folder: a_file(folder) / "below",
    "a null character": lambda folder: Path(f"{folder}/a\0b"),
    "a user that is not there": lambda _: Path("~nobodyhasthisname/x"),
    "relative": lambda _: Path("relative"),
    "nothing": lambda _: Path(),
    "the null device": lambda _: Path("/dev/null"),
    "a process": lambda _: Path("/proc/self"),
    "a store that is a pipe": holding("store.sqlite3", os.mkfifo),
    "a store that is a folder": holding("store.sqlite3", os.mkdir),
    "a store that is a loop": holding("store.sqlite3", lambda path: path.symlink_to(path.name)),
    "a store that is a device": holding("store.sqlite3", lambda path: path.symlink_to("/dev/zero")),
    "a lock that is a pipe": holding("store.sqlite3.lock", os.mkfifo),
    "a lock that is a folder": holding("store.sqlite3.lock", os.mkdir),
    "a lock that is a link": holding(
        "store.sqlite3.lock", lambda path: path.symlink_to("elsewhere")
    ),
    "a log that is a pipe": holding("store.sqlite3-wal", os.mkfifo),
    "a log that is a folder": holding("store.sqlite3-wal", os.mkdir),
}


@pytest.fixture(autouse=True)
def nothing_said_yet():
    forget_said()


@pytest.mark.parametrize("make", FOLDERS.values(), ids=FOLDERS)
def test_a_store_that_cannot_be_there_is_an_error_with_a_fix(
    tmp_path: Path, make: Callable[[Path], Path], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    folder = make(tmp_path)

    with pytest.raises(StoreFailed) as caught:
        open_store(folder, writer="me", mounts="", strict=True)

    assert all(line.isprintable() for line in str(caught.value).split("\n"))
    assert caught.value.fix
    assert "move /" not in caught.value.fix  # which would be wrong for a device


@pytest.mark.parametrize("make", FOLDERS.values(), ids=FOLDERS)
def test_where_no_store_can_be_work_goes_on_in_memory_and_that_is_said_once(
    tmp_path: Path,
    make: Callable[[Path], Path],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
):
    monkeypatch.chdir(tmp_path)
    folder = make(tmp_path)

    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            with closing(open_store(folder, writer="me", mounts="")) as store:
                store.put(decision(1))
                assert store.get(workload(1)) == decision(1)

    (message,) = caplog.messages
    assert "; what is learned is kept in memory only\nFix: " in message


@pytest.mark.parametrize("make", FOLDERS.values(), ids=FOLDERS)
def test_looking_at_such_a_place_makes_nothing_and_waits_for_nothing(
    tmp_path: Path, make: Callable[[Path], Path], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    folder = make(tmp_path)
    before = sorted(tmp_path.rglob("*"))

    with closing(open_store(folder, writer="me", read_only=True)) as store:
        assert store.get(workload(1)) is None

    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    "name",
    ["with space", "a\nb\x1b[2J", "ünï", "%41?mode=memory#x", "'; DROP TABLE names; --"],
)
def test_a_folder_of_any_name_is_a_place_for_a_store(tmp_path: Path, name: str):
    with closing(open_store(tmp_path / name, writer="me", mounts="", strict=True)) as store:
        store.put(decision(1))

    assert (tmp_path / name / "store.sqlite3").stat().st_size > 0


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names are text")
def test_a_folder_whose_name_is_no_text_is_a_place_for_a_store(tmp_path: Path):
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe"))

    with closing(open_store(folder, writer="me", mounts="", strict=True)) as store:
        store.put(decision(1))
    with closing(open_store(folder, writer="me", mounts="", strict=True)) as store:
        assert store.get(workload(1)) == decision(1)


def a_device(folder: Path) -> Path:
    if os.geteuid() != 0:
        pytest.skip("only root can make a device")
    os.mknod(folder / "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    return folder / "null"


ELSEWHERE = ("the null device", "a process", "relative", "a user that is not there", "a file")
FILES: dict[str, Callable[[Path], Path]] = {
    "a device": a_device,
    "a folder": lambda folder: folder,
} | {
    name: make
    for name, make in FOLDERS.items()
    if name not in ELSEWHERE and not name.startswith(("a store", "a lock", "a log"))
}


@pytest.mark.parametrize("make", FILES.values(), ids=FILES)
def test_an_exchange_file_that_cannot_be_there_is_an_error_with_a_fix(
    tmp_path: Path, make: Callable[[Path], Path], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    path = make(tmp_path)

    for write in (TunerCache({"a": (1, 1, 1)}).save, lambda path: replace_text(path, "text")):
        with pytest.raises(StoreFailed) as caught:
            write(path)
        assert caught.value.fix
    for load in (TunerCache.load, AutotuneStore.load, is_file):
        with suppress(StoreFailed):  # one that is not there is empty
            load(path)


def test_a_device_stays_a_device(tmp_path: Path):
    """`vyre report -o /dev/null` as root must not make it a file."""
    device = a_device(tmp_path)

    with pytest.raises(StoreFailed) as caught:
        replace_text(device, "text")

    assert str(caught.value) == f"{device} is not a file\nFix: give the path of a file"
    assert stat.S_ISCHR(device.stat().st_mode)


def test_a_lock_is_there_for_everybody_who_may_write_to_its_folder(tmp_path: Path):
    before = os.umask(0o077)
    modes = {}
    try:
        for mode in (0o700, 0o2770, 0o777, 0o755):
            folder = tmp_path / f"{mode:o}"
            folder.mkdir()
            folder.chmod(mode)
            with exclusive(folder / "a.toml"):
                found = (folder / "a.toml.lock").stat().st_mode
            modes[mode] = stat.S_IMODE(found)
    finally:
        os.umask(before)

    assert modes == {0o700: 0o600, 0o2770: 0o660, 0o777: 0o666, 0o755: 0o644}
