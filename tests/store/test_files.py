import errno
import os
from pathlib import Path

import pytest

from vyre.errors import StoreFailed
from vyre.store.files import exclusive, read_text, replace_text, safe_stem


@pytest.mark.parametrize(
    "name",
    [
        "native-sm120",
        "NVIDIA_H200.v1",
        "natural-launch-feedback-v1-468a69d9e8e439b836f13e3503f06271a3feae88ece1b6ff49d15be496184e60",
    ],
)
def test_a_plain_name_is_its_own_file_name(name: str):
    assert safe_stem(name) == name


@pytest.mark.parametrize(
    "name",
    [
        *("", ".", "..", "../../etc/passwd", "/etc/passwd", "a/b", "a\\b", "C:x", "con", "NUL.txt"),
        *("a\nb", "a\0b", "ends.", "-rf", "ä", "a" * 300, "\ud800", "a b", "*?"),
    ],
)
def test_any_other_name_becomes_one_that_stays_in_its_folder(name: str, tmp_path: Path):
    stem = safe_stem(name)
    (tmp_path / f"{stem}.toml").write_text("")

    assert [path.name for path in tmp_path.iterdir()] == [f"{stem}.toml"]
    assert len(stem) <= 100
    assert stem.split(".")[0].lower() not in ("con", "nul")


def test_names_that_differ_have_files_that_differ():
    names = ["a b", "a_b", "a/b", "a\\b", "a:b", "..", ".", "", "adapter"]

    assert len({safe_stem(name) for name in names}) == len(names)


def test_a_file_that_is_not_there_has_no_text(tmp_path: Path):
    assert read_text(tmp_path / "none", 10) is None
    assert read_text(tmp_path / "none" / "none", 10) is None


def test_a_file_beyond_the_limit_is_refused(tmp_path: Path):
    path = tmp_path / "large"
    path.write_text("a" * 11)

    with pytest.raises(StoreFailed) as caught:
        read_text(path, 10)

    assert str(caught.value) == (
        f"{path} has 11 bytes; 10 allowed\n"
        "Fix: remove entries from it, or keep them in several files"
    )


def test_bytes_that_are_not_text_are_refused_with_their_line(tmp_path: Path):
    path = tmp_path / "bytes"
    path.write_bytes(b"a\nb\n\xff")

    with pytest.raises(StoreFailed) as caught:
        read_text(path, 10)

    assert str(caught.value) == (
        f"{path} line 3 is not UTF-8\nFix: mend that line, or move the file away"
    )


def test_a_folder_is_not_a_file(tmp_path: Path):
    with pytest.raises(StoreFailed) as caught:
        read_text(tmp_path, 10)

    assert str(caught.value) == f"{tmp_path} is not a file\nFix: give the path of a file"


def test_a_file_that_may_not_be_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "secret"
    path.write_text("x")

    def forbidden(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "open", forbidden)
    with pytest.raises(StoreFailed) as caught:
        read_text(path, 10)

    assert str(caught.value) == (
        f"{path} cannot be read: Permission denied\n"
        "Fix: make it readable, or move it away; it is left as it is"
    )


def test_replacing_leaves_nothing_else_behind(tmp_path: Path):
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(0o640)
    (tmp_path / ".file.dead.tmp").write_text("left by a crash")

    replace_text(path, "new")

    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_replacing_through_a_link_keeps_the_link(tmp_path: Path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")

    replace_text(tmp_path / "link", "new")

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "file"
    path.write_text("old")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(*((os, "fsync") if step == "fsync" else (Path, "replace")), full)
    with pytest.raises(StoreFailed) as caught:
        replace_text(path, "new")

    assert str(caught.value) == (
        f"{path} cannot be written: No space left on device\n"
        "Fix: make room and give write permission there, or name another folder; that of the "
        "store is VYRE_CACHE_DIR"
    )
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_lock_makes_its_folder_or_says_why_not(tmp_path: Path):
    with exclusive(tmp_path / "new" / "folder" / "file"):
        assert (tmp_path / "new" / "folder").is_dir()

    (tmp_path / "blocked").write_text("a file")
    with (
        pytest.raises(StoreFailed, match=r"cannot be written: (File exists|Not a directory)"),
        exclusive(tmp_path / "blocked" / "file"),
    ):
        pass
