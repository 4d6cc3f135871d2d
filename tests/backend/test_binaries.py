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
