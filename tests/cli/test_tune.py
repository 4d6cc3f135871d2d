"""`vyre tune` through its real entry point."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from textwrap import dedent

import pytest
from typer.testing import CliRunner

from vyre.cli.main import app
from vyre.errors import StoreFailed
from vyre.policy.contest import Late
from vyre.store.sqlite.database import Database
from vyre.store.sqlite.schema import STEPS

pytestmark = pytest.mark.slow

COMMAND = Path(sys.executable).with_name("vyre")

TWO = dedent(
    """
    import numpy as np
    import vyre
    from vyre import In, Out, f32, u32


    @vyre.kernel
    def double(x: In[f32], out: Out[f32]):
        i = vyre.gid()
        out[i] = 2 * x[i]


    @vyre.kernel
    def power(x: In[f32], out: Out[f32], n: u32):
        i = vyre.gid()
        s = x[i]
        for _ in range(n):
            s = s * x[i]
        out[i] = s


    def power_arguments(size):
        return {"x": np.linspace(0, 1, size // 2, dtype=np.float32), "n": 3}
    """
)


def test_the_bundled_kernels_give_a_row_each(run):
    shown = run("tune", "--size", "20000", "--budget", "8s")

    assert shown.returncode == 0, shown.stderr
    for name in ("saxpy", "stencil5", "histogram", "nbody", "row_softmax", "dot"):
        assert f"\n{name} " in shown.stdout
    assert shown.stdout.endswith("store.sqlite3\n")
    assert _widest(shown.stdout) <= 80
    assert "\x1b" not in shown.stdout


def test_what_was_decided_is_answered_from_memory(inside, tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(TWO)
    first = inside("tune", "mine.py", "--size", "20000", "--budget", "60s")

    def measured(*_: object, **__: object) -> None:
        pytest.fail("it was measured again")

    monkeypatch.setattr("vyre.runtime.call.dispatch.tune", measured)
    second = inside("tune", "mine.py", "--size", "20000", "--budget", "60s", columns=60)

    assert first.returncode == second.returncode == 0, first.stderr + second.stderr
    assert "2 answered from memory; measure again with --again" in second.stdout
    assert _widest(second.stdout) <= 60


def test_what_was_not_decided_says_so_and_what_to_do(inside, tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(TWO)
    monkeypatch.setattr("vyre.runtime.call.tune._Ahead.wait", lambda *_: Late())

    shown = inside("tune", "mine.py:double", "--size", "3000", "--budget", "1s")
    value = json.loads(
        inside("tune", "mine.py:double", "--size", "3000", "--budget", "1s", "--json").stdout
    )
    listed = inside("store", "list")

    (row,) = [line for line in shown.stdout.splitlines() if line.startswith("double ")]
    assert "undecided" in row
    assert (
        "double: no other schedule could be compiled in time; give it more time with --budget"
        in " ".join(shown.stdout.split())
    )
    assert not value["results"][0]["decided"]
    assert "nothing is remembered yet" in listed.stdout


def test_every_command_gives_the_same_pair_of_times_and_the_same_gain(inside, tmp_path):
    """One source of what is shown: none of them has a rule of its own."""
    (tmp_path / "mine.py").write_text(TWO)
    words = ("mine.py:power", "--size", "20000")
    tuned = json.loads(inside("tune", *words, "--budget", "20s", "--json").stdout)["results"][0]
    again = json.loads(inside("tune", *words, "--budget", "20s", "--json").stdout)["results"][0]
    (shown,) = json.loads(inside("store", "show", "power", "--json").stdout)
    (listed,) = json.loads(inside("store", "list", "--json").stdout)
    (case,) = json.loads(inside("report", "--json").stdout)["cases"]
    explained = json.loads(inside("explain", *words, "--json").stdout)

    pair = (tuned["default_ns"], tuned["tuned_ns"])
    assert pair == (again["default_ns"], again["tuned_ns"])
    assert pair == (shown["default_ns"], shown["chosen_ns"])
    assert pair == (case["default_ns"], case["chosen_ns"])
    gains = [one["gain"] for one in (tuned, again, shown, listed, case, explained["decision"])]
    assert len(set(gains)) == 1
    assert gains[0] in (None, pair[0] / pair[1])
    times = {row["schedule"]["text"]: row["median_ns"] for row in explained["evidence"]}
    assert times == {row["text"]: row["median_ns"] for row in case["schedules"]}
    assert times == {row["schedule"]["text"]: row["median_ns"] for row in shown["evidence"]}
    assert pair == (times[explained["default"]["text"]], times[tuned["schedule"]["text"]])


def _widest(text: str) -> int:
    """A path is printed whole, to be copied; all else keeps to the terminal."""
    return max(len(line) for line in text.splitlines() if not line.startswith("saved in"))


def test_a_users_file_with_two_kernels_is_tuned(run, tmp_path):
    (tmp_path / "mine.py").write_text(TWO)

    shown = run("tune", "mine.py", "--size", "2^14", "--budget", "2s", "--json")

    assert shown.returncode == 0, shown.stderr
    found = json.loads(shown.stdout)
    rows = {row["kernel"]: row for row in found["results"]}
    assert {name: row["elements"] for name, row in rows.items()} == {"double": 16384, "power": 8192}
    assert rows["double"]["tuned_ns"] > 0
    assert found["saved_in"] == [str(tmp_path / "cache" / "store.sqlite3")]


def test_one_kernel_of_a_file_says_where_its_arguments_come_from(run, tmp_path):
    (tmp_path / "mine.py").write_text(TWO)

    shown = run("tune", "mine.py:double", "--size", "5000", "--budget", "1s")

    assert shown.returncode == 0, shown.stderr
    assert "power" not in shown.stdout
    assert (
        "arguments were made up for double; for your own, define double_arguments(size) in the file"
        in " ".join(shown.stdout.split())
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "x = (\n",
            "error: mine.py line 1 is not Python: '(' was never closed\nFix: mend that line\n",
        ),
        (
            "\n1 / 0\n",
            "error: mine.py line 2 raised ZeroDivisionError: division by zero\n"
            "Fix: mend that line; what is meant for a script alone belongs under "
            'if __name__ == "__main__"\n',
        ),
        (
            "import vyre\n",
            "error: mine.py defines no kernel\n"
            "Fix: write one with @vyre.kernel at the top level of the file\n",
        ),
    ],
    ids=["syntax", "raises", "empty"],
)
def test_a_file_with_an_error_ends_in_its_message(run, tmp_path, text, message):
    (tmp_path / "mine.py").write_text(text)

    shown = run("tune", "mine.py")

    assert (shown.returncode, shown.stdout, shown.stderr) == (1, "", message)


def test_a_mistake_in_a_kernel_is_shown_with_its_line_and_a_caret(run, tmp_path):
    (tmp_path / "mine.py").write_text(TWO.replace("2 * x[i]", "wrong * x[i]"))

    shown = run("tune", "mine.py")

    assert shown.returncode == 1
    assert "mine.py" in shown.stderr
    assert "^" in shown.stderr
    assert "\nFix: " in shown.stderr
    assert "Traceback" not in shown.stderr


def test_a_file_that_is_not_there_and_a_kernel_that_is_not_are_mistakes(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(TWO)
    monkeypatch.chdir(tmp_path)

    no_file = CliRunner().invoke(app, ["tune", "other.py"])
    no_kernel = CliRunner().invoke(app, ["tune", "mine.py:triple"])
    no_name = CliRunner().invoke(app, ["explain", "triple"])

    assert no_file.exit_code == no_kernel.exit_code == no_name.exit_code == 1
    assert no_file.stderr == "error: no file 'other.py'\nFix: give the path of a Python file\n"
    assert no_kernel.stderr == (
        "error: mine.py defines no kernel 'triple'\n"
        "Fix: name one of its kernels, or give mine.py for all of them\n"
    )
    assert no_name.stderr.startswith("error: no kernel 'triple'; bundled: saxpy, gelu")


def test_an_interrupt_ends_with_a_table_and_no_traceback(tmp_path):
    running = subprocess.Popen(
        [str(COMMAND), "tune", "--size", "50000", "--budget", "100s"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "VYRE_CACHE_DIR": str(tmp_path)},
    )
    store = tmp_path / "store.sqlite3"
    deadline = time.monotonic() + 60
    while not _measured(store) and time.monotonic() < deadline:
        time.sleep(0.1)
    running.send_signal(signal.SIGINT)
    out, errors = running.communicate(timeout=60)

    assert running.returncode == 130, errors
    assert "stopped; what was learned is kept" in out
    assert "Traceback" not in errors
    assert _measured(store)


def _measured(store: Path) -> int:
    if not store.exists():
        return 0
    connection = sqlite3.connect(store)
    try:
        return int(connection.execute("SELECT count(*) FROM measurements").fetchone()[0])
    except sqlite3.OperationalError:  # the tables are being made
        return 0
    finally:
        connection.close()


def test_a_device_that_is_not_there_is_a_mistake(run):
    shown = run("tune", "--device", "gpu")

    assert shown.returncode == 1
    assert shown.stderr.startswith("error: no device 'gpu': no backend 'gpu'")
    assert "Fix: use one of" in shown.stderr
    assert "Traceback" not in shown.stderr


def test_the_reference_has_nothing_to_tune(run):
    shown = run("tune", "--device", "reference")

    assert shown.returncode == 1
    assert shown.stderr == (
        "error: reference:0 runs every schedule alike, so there is nothing to tune on it\n"
        'Fix: run "vyre devices" to see what can be installed here\n'
    )


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--size", "many"], "'many' is not a size"),
        (["--size", "0"], "'0' is not from 1 to 2^31"),
        (["--budget", "soon"], "'soon' is not a span of time"),
        (["--sizes", "1"], "No such option"),
    ],
)
def test_a_wrong_option_ends_with_2(words, problem):
    shown = CliRunner().invoke(app, ["tune", *words])

    assert shown.exit_code == 2
    assert problem in shown.stderr


def test_a_store_from_a_newer_version_is_said_before_anything_is_measured(run, filled):
    connection = sqlite3.connect(filled)
    connection.execute("PRAGMA user_version = 99")
    connection.close()

    shown = run("tune")

    assert (shown.returncode, shown.stdout) == (1, "")
    assert shown.stderr == (
        f"error: {filled} has schema 99; this version of Vyre knows up to {len(STEPS)}\n"
        "Fix: upgrade vyre, or set VYRE_CACHE_DIR to another folder\n"
    )


def test_a_disk_that_fills_up_is_said_after_the_table(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(TWO)
    monkeypatch.chdir(tmp_path)

    def full(*_: object) -> None:
        raise StoreFailed("the disk is full", "make room")

    monkeypatch.setattr(Database, "append", full)
    shown = CliRunner().invoke(
        app, ["tune", "mine.py:double", "--size", "3000", "--budget", "1s", "--again"]
    )

    assert shown.exit_code == 1
    assert "double" in shown.stdout
    assert shown.stderr.endswith(
        "Fix: make room there, or set VYRE_CACHE_DIR to another folder; then run it again\n"
    )
    assert "error: not everything that was learned could be saved in " in shown.stderr
    assert "saved in" not in shown.stdout


def test_arguments_that_cannot_be_made_fail_their_kernel_alone(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(TWO.replace("np.linspace", "np.linspice"))
    monkeypatch.chdir(tmp_path)

    shown = CliRunner().invoke(
        app, ["tune", "mine.py", "--size", "2000", "--budget", "1s"], env={"COLUMNS": "300"}
    )

    assert shown.exit_code == 1
    assert shown.stdout.count("double") >= 1
    assert "power failed: power_arguments of mine.py raised AttributeError: " in shown.stdout
    assert "Fix: mend it; it was called with a size of 2000" in shown.stdout


def test_arguments_by_position_are_refused(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(f"{TWO}\n\ndef double_arguments(size):\n    return [size]\n")
    monkeypatch.chdir(tmp_path)

    shown = CliRunner().invoke(app, ["explain", "mine.py:double"])

    assert shown.exit_code == 1
    assert shown.stderr == (
        "error: double_arguments of mine.py returned list\n"
        'Fix: return a dictionary by parameter name, such as {"x": x, "a": 2.5}\n'
    )


def test_a_size_beyond_memory_is_a_mistake(monkeypatch):
    def too_large(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("vyre.cli.targets.sample", too_large)
    shown = CliRunner().invoke(app, ["explain", "saxpy"])

    assert (shown.exit_code, shown.stderr) == (
        1,
        "error: there is not enough memory\nFix: use a smaller --size\n",
    )
