"""The commands that only look, through their real entry point."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import vyre
from vyre.backend.base import Unusable
from vyre.backend.reference.device import Reference
from vyre.cli.main import app
from vyre.runtime.devices import opened

COMMAND = Path(sys.executable).with_name("vyre")


def test_the_version_is_the_packages(run):
    shown = run("version")

    assert (shown.returncode, shown.stdout) == (0, f"vyre {vyre.__version__}\n")


def test_devices_lists_what_is_here_and_says_how_to_get_what_is_not(run):
    shown, value = run("devices"), json.loads(run("devices", "--json").stdout)

    assert shown.returncode == 0
    assert "reference:0" in shown.stdout
    assert value["devices"][-1]["name"] == "reference:0"
    for missing in value["missing"]:
        assert missing["fix"] in shown.stdout.replace("\n", " ")


def test_devices_says_why_one_that_is_no_use_is_left_out(inside, monkeypatch):
    why = Unusable("Acme G1 is left out, because it is broken", "use another")
    monkeypatch.setitem(opened.BACKENDS, "listed", lambda: [Reference(), why])

    shown, value = inside("devices"), json.loads(inside("devices", "--json").stdout)

    assert "\nlisted:0 " in shown.stdout
    assert shown.stdout.endswith(
        "\n\nlisted: Acme G1 is left out, because it is broken\nFix: use another\n"
    )
    assert value["devices"][-1]["name"] == "listed:0"
    assert value["missing"][-1] == {
        "backend": "listed",
        "problem": "Acme G1 is left out, because it is broken",
        "fix": "use another",
    }


@pytest.mark.parametrize(
    ("listed", "problem", "fix"),
    [
        ([], "no {} device is here", "install a driver that offers {}"),
        ([Unusable("Acme G1 is left out", "mend it")], "Acme G1 is left out", "mend it"),
    ],
)
def test_devices_says_of_a_backend_without_any_what_is_missing_once(
    inside, monkeypatch, listed, problem, fix
):
    name = f"nothing{len(listed)}"
    monkeypatch.setitem(opened.BACKENDS, name, lambda: listed)

    shown = inside("devices").stdout

    assert shown.endswith(f"\n\n{name}: {problem.format(name)}\nFix: {fix.format(name)}\n")
    assert shown.count(f"{name}:") == 1


def test_explain_says_what_is_proved_and_what_may_run(run):
    shown = run("explain", "saxpy", "--size", "1000", columns=60)

    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.startswith("saxpy: its result does not depend on how it is launched\n")
    assert "1,000 elements on " in shown.stdout
    assert "none is remembered for this size; tune it, or call it" in shown.stdout.replace(
        "\n" + 14 * " ", " "
    )
    assert max(map(len, shown.stdout.splitlines())) <= 60


def test_explain_gives_the_reasons_of_a_kernel_that_is_left_alone(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(
        "import vyre\nfrom vyre import In, Out, f32\n\n\n@vyre.kernel\n"
        "def last(x: In[f32], out: Out[f32, 1]):\n    out[0] = x[vyre.gid()]\n"
    )
    monkeypatch.chdir(tmp_path)

    shown = CliRunner().invoke(app, ["explain", "mine.py", "--size", "100"])
    value = json.loads(
        CliRunner().invoke(app, ["explain", "mine.py", "--size", "100", "--json"]).stdout
    )

    assert shown.stdout.startswith("last: it is launched as declared, because\n")
    assert not value["free"]
    assert value["reasons"]
    assert len(value["legal"]) == 1


def test_source_prints_the_code_of_a_schedule(run):
    plain = run("source", "saxpy", "--device", "reference")
    several = run(
        "source", "saxpy", "--device", "reference", "--schedule", "64, 4 items strided", "--json"
    )

    assert plain.returncode == several.returncode == 0, plain.stderr + several.stderr
    assert "p_out[v_i] = (p_a * p_x[v_i]) + p_y[v_i];" in plain.stdout
    value = json.loads(several.stdout)
    assert value["schedule"]["items"] == 4
    assert "p_out[v3_i]" in value["source"]


def test_a_tuned_source_needs_tuning_first():
    shown = CliRunner().invoke(app, ["source", "saxpy", "--size", "7", "--schedule", "tuned"])

    assert shown.exit_code == 1
    assert shown.stderr == (
        "error: nothing is remembered for saxpy over 7 elements\n"
        'Fix: run "vyre tune" for it first, with --size 7\n'
    )


def test_a_schedule_that_cannot_be_read_ends_with_2():
    shown = CliRunner().invoke(app, ["source", "saxpy", "--schedule", "fast"])

    assert shown.exit_code == 2
    assert "'fast' is no part of a schedule" in shown.stderr


def test_bench_times_schedules_beside_the_default(run):
    words = ("bench", "saxpy", "--device", "reference", "--size", "100", "--schedule", "128")
    shown, value = run(*words, columns=60), json.loads(run(*words, "--json").stdout)

    assert shown.returncode == 0, shown.stderr
    assert "the first line is the default against itself" in " ".join(shown.stdout.split())
    assert max(map(len, shown.stdout.splitlines())) <= 60
    again, other = value["results"]
    assert again["low"] <= again["speed"] <= again["high"]
    assert other["schedule"]["workgroup"] == [128, 1, 1]


@pytest.mark.parametrize("schedule", ["128", "128,checked"])
def test_a_workgroup_that_is_named_is_timed_by_its_size_alone(inside, tmp_path, schedule):
    (tmp_path / "named.py").write_text(
        "import vyre\n\n\n@vyre.kernel(workgroup=vyre.among(32, 128))\n"
        "def twice(x: vyre.In[vyre.f32], out: vyre.Out[vyre.f32]):\n"
        "    i = vyre.gid()\n    out[i] = x[i] * 2\n"
    )

    words = ("named.py:twice", "--device", "cpu", "--size", "100", "--schedule")
    shown = inside("bench", *words, schedule, "--json")
    refused = inside("bench", *words, "64")

    assert shown.returncode == 0, shown.stderr
    timed = json.loads(shown.stdout)["results"][1]["schedule"]
    assert timed["workgroup"] == [128, 1, 1]
    assert timed["sized"]
    assert refused.stderr.startswith(
        "error: 64 could not be timed: workgroup 64 for this call of twice: it is not named\n"
    )


def test_a_schedule_that_is_not_legal_is_not_timed():
    shown = CliRunner().invoke(
        app,
        ["bench", "saxpy", "--device", "reference", "--size", "100", "--schedule", "64,vector=16"],
    )

    assert shown.exit_code == 1
    assert shown.stderr.startswith("error: 64, vectors of 16 could not be timed: ")
    assert "\nFix: name a schedule that is legal here; vyre explain --json lists them" in (
        shown.stderr
    )


def test_a_pipe_that_closes_early_is_no_error(filled):
    line = f"{COMMAND} store show blur --json | head -n 1; exit ${{PIPESTATUS[0]}}"

    shown = subprocess.run(
        ["/bin/bash", "-c", line],
        capture_output=True,
        text=True,
        env={**os.environ, "VYRE_CACHE_DIR": str(filled.parent), "PYTHONUNBUFFERED": "1"},
    )

    assert shown.stdout == "[\n"
    assert shown.stderr == ""
    assert shown.returncode in (0, 141)


def test_a_table_whose_reader_has_gone_is_no_error(tmp_path):
    reading, writing = os.pipe()
    os.close(reading)

    shown = subprocess.run(
        [str(COMMAND), "devices"],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "VYRE_CACHE_DIR": str(tmp_path)},
    )
    os.close(writing)

    assert (shown.returncode, shown.stderr) == (141, "")


@pytest.mark.parametrize("words", [["explain"], ["store", "show"], ["fly"]])
def test_a_command_without_what_it_needs_ends_with_2(words):
    assert CliRunner().invoke(app, words).exit_code == 2


def test_help_says_what_arguments_a_users_file_may_give(run):
    shown = run("tune", "--help", columns=100)

    assert "KERNEL_arguments(size) or vyre_arguments(size)" in shown.stdout


def test_a_shell_can_complete_the_names_of_kernels(run):
    shown = run(
        "explain", "his", _VYRE_COMPLETE="complete_bash", COMP_WORDS="vyre explain his",
        COMP_CWORD="2",
    )  # fmt: skip

    assert shown.stdout.split() == ["histogram"]
