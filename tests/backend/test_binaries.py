"""Compiled binaries kept on disk."""

import os

import pytest

from vyre.backend.binaries import Binaries, name_of


def test_what_was_put_is_there_for_the_next_process(tmp_path):
    Binaries(tmp_path / "kept").put("a", b"binary")

    assert Binaries(tmp_path / "kept").get("a") == b"binary"


def test_what_was_never_put_is_missing(tmp_path):
    assert Binaries(tmp_path).get("a") is None


def test_putting_again_replaces(tmp_path):
    kept = Binaries(tmp_path)
    kept.put("a", b"first")
    kept.put("a", b"second")

    assert kept.get("a") == b"second"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("damage", [lambda b: b[:-1], lambda _: b"", lambda b: b[:40] + b"x"])
def test_a_damaged_file_counts_as_missing(tmp_path, damage):
    kept = Binaries(tmp_path)
    kept.put("a", b"binary" * 10)
    (tmp_path / "a").write_bytes(damage((tmp_path / "a").read_bytes()))

    assert kept.get("a") is None


def test_a_folder_in_the_place_of_a_file_counts_as_missing(tmp_path):
    (tmp_path / "a").mkdir()
    kept = Binaries(tmp_path)
    kept.put("a", b"binary")

    assert kept.get("a") is None


def test_a_folder_that_cannot_be_written_keeps_nothing_and_says_nothing(tmp_path):
    (tmp_path / "file").write_text("")
    kept = Binaries(tmp_path / "file" / "below")

    kept.put("a", b"binary")
    kept.prune()

    assert kept.get("a") is None


def test_pruning_drops_what_was_used_longest_ago_and_what_crashes_left(tmp_path):
    kept = Binaries(tmp_path)
    for number, name in enumerate("abc"):
        kept.put(name, bytes(100))
        os.utime(tmp_path / name, (number, number))
    (tmp_path / ".c.1234.tmp").write_bytes(b"")
    os.utime(tmp_path / ".c.1234.tmp", (0, 0))
    kept.get("a")  # used just now

    kept.prune(most_bytes=2 * 132)

    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "c"]


def test_names_tell_lists_apart_that_join_to_the_same_text():
    assert len({name_of("ab", "c"), name_of("a", "bc"), name_of("abc"), name_of("abc", "")}) == 4


def test_a_file_in_the_place_of_another_counts_as_missing(tmp_path):
    """What a name stands for is run under that name, so it must have been put under it."""
    kept = Binaries(tmp_path)
    kept.put("a", b"adds")
    kept.put("b", b"multiplies")
    (tmp_path / "b").replace(tmp_path / "a")

    assert kept.get("a") is None


def plant_a_link(path, tmp_path):
    (tmp_path / "elsewhere").write_bytes(path.read_bytes())
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")


def plant_a_pipe(path, _):
    path.unlink()
    os.mkfifo(path)


def open_to_a_group(path, _):
    path.chmod(0o664)
    os.chown(path, -1, 40_100)


def open_to_all(path, _):
    path.chmod(0o602)


def open_the_folder(path, _):
    path.parent.chmod(0o777)


def put_a_link_in_the_place_of_the_folder(path, tmp_path):
    path.parent.rename(tmp_path / "moved")
    path.parent.symlink_to(tmp_path / "moved")


@pytest.mark.skipif(os.name != "posix", reason="files have no owners there")
@pytest.mark.parametrize(
    "plant",
    [
        plant_a_link,
        plant_a_pipe,
        pytest.param(
            open_to_a_group,
            marks=pytest.mark.skipif(os.geteuid() != 0, reason="needs another group"),
        ),
        open_to_all,
        open_the_folder,
        put_a_link_in_the_place_of_the_folder,
    ],
)
def test_what_another_could_have_put_there_is_never_run(tmp_path, plant):
    kept = Binaries(tmp_path / "kept")
    kept.put("a", b"binary")
    plant(tmp_path / "kept" / "a", tmp_path)

    assert kept.get("a") is None


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="needs another user")
@pytest.mark.parametrize("whose", ["kept", "kept/a"])
def test_what_belongs_to_another_user_is_never_run(tmp_path, whose):
    kept = Binaries(tmp_path / "kept")
    kept.put("a", b"binary")
    os.chown(tmp_path / whose, 40_001, 40_001)

    assert kept.get("a") is None
    kept.put("b", b"binary")
    assert (tmp_path / "kept" / "b").exists() == (whose == "kept/a")


@pytest.mark.skipif(os.name != "posix", reason="files have no owners there")
def test_only_its_user_can_write_what_is_kept(tmp_path):
    before = os.umask(0)
    try:
        Binaries(tmp_path / "kept").put("a", b"binary")
    finally:
        os.umask(before)

    assert (tmp_path / "kept").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "kept" / "a").stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.name != "posix", reason="files have no owners there")
def test_a_folder_that_was_open_to_others_is_closed_and_used_again(tmp_path):
    """An earlier release made it so; what is in it by then is not trusted."""
    kept = Binaries(tmp_path / "kept")
    kept.put("a", b"binary")
    (tmp_path / "kept").chmod(0o777)
    (tmp_path / "kept" / "a").chmod(0o666)

    kept.put("b", b"binary")

    assert kept.get("b") == b"binary"
    assert kept.get("a") is None


def test_without_a_folder_nothing_is_kept():
    Binaries(None).put("a", b"binary")
    Binaries(None).prune()

    assert Binaries(None).get("a") is None
