"""`vyre scan` beside `grep -Fob`."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from vyre.cli.main import app

COMMAND = Path(sys.executable).with_name("vyre")
GREP = shutil.which("grep")

needs_grep = pytest.mark.skipif(GREP is None, reason="grep is not here")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scan")
    (folder / "a.txt").write_bytes(b"abcabc xx\nab\nzabcd")
    (folder / "b.txt").write_bytes(b"foo\n\nbar foofoo\n")
    (folder / "binary").write_bytes(b"\0abc\xff\xfeabc\n\x80bc")
    (folder / "empty").write_bytes(b"")
    (folder / "patterns").write_bytes(b"abc\nfoo\n")
    (folder / "none").write_bytes(b"")
    return folder


def run(program, words, folder, stdin=b""):
    return subprocess.run(
        [str(program), *words],
        capture_output=True,
        cwd=folder,
        input=stdin,
        timeout=120,
        env={**os.environ, "LC_ALL": "C", "VYRE_CACHE_DIR": str(folder / "cache")},
    )


@needs_grep
@pytest.mark.parametrize(
    "words",
    [
        ["abc", "a.txt"],
        ["abc\nab\nbcd", "a.txt", "b.txt"],
        ["abc\nab\nbcd", "b.txt", "a.txt", "binary", "empty"],
        ["foo\nfoofoo\no", "b.txt"],
        ["zzz", "a.txt"],
        ["", "a.txt"],
        ["", "empty"],
        ["\nab", "a.txt"],
        ["abc", "missing", "a.txt"],
        ["abc", ".", "a.txt"],
        ["abc", "-", "a.txt"],
        ["abc"],
        ["-f", "patterns", "a.txt", "b.txt"],
        ["-f", "none", "a.txt"],
    ],
    ids=repr,
)
def test_it_prints_and_ends_as_grep_does(folder, words, monkeypatch):
    stdin = b"in abc out"
    wanted = run(GREP, ["-aFob", *words], folder, stdin)
    monkeypatch.chdir(folder)

    shown = CliRunner().invoke(app, ["scan", *words], input=stdin)

    assert shown.stdout_bytes == wanted.stdout
    assert shown.exit_code == wanted.returncode
    assert shown.stderr_bytes.replace(b"vyre: ", GREP.encode() + b": ") == wanted.stderr


def test_patterns_are_needed():
    shown = CliRunner().invoke(app, ["scan"])

    assert shown.exit_code == 2
    assert "no patterns: give them before the files, or use -f" in shown.stderr


def test_a_file_of_patterns_that_is_not_there_is_an_error(folder):
    shown = run(COMMAND, ["scan", "-f", "missing", "a.txt"], folder)

    assert shown.returncode == 2
    assert shown.stderr == (
        b"error: patterns in missing: No such file or directory\n"
        b"Fix: name a file that can be read\n"
    )


def test_a_reader_that_has_enough_ends_it_quietly(folder):
    large = folder / "large"
    large.write_bytes(b"abc\n" * 300_000)
    line = f"{COMMAND} scan abc {large} | head -n 1"

    shown = subprocess.run([shutil.which("bash"), "-c", line], capture_output=True, timeout=120)

    assert shown.stdout == b"0:abc\n"
    assert shown.stderr == b""
