"""`vyre tune` of sources with macros, through its real entry point."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

COMMAND = Path(sys.executable).with_name("vyre")
ADD = """__kernel void add(__global float *c, __global const float *a, int n) {
    int i = get_global_id(0);
    if (i < n) c[i] = a[i] + 1;
}
"""
PARAMS = {
    "name": "add",
    "params": {"block_size_x": [1, 64]},
    "size": 100_000,
    "arguments": [
        {"type": "float32", "size": "size", "fill": "zeros"},
        {"type": "float32", "size": "size"},
        {"type": "int32", "value": 100_000},
    ],
}
T1 = {
    "ConfigurationSpace": {
        "TuningParameters": [{"Name": "block_size_x", "Type": "int", "Values": "[1, 64]"}],
        "Conditions": [],
    },
    "KernelSpecification": {
        "Language": "OpenCL",
        "KernelName": "add",
        "KernelFile": "add.cl",
        "ProblemSize": 100_000,
        "GridDivX": ["block_size_x"],
        "Arguments": [
            {"Name": "c", "Type": "float", "MemoryType": "Vector", "Size": 100_000,
             "FillType": "Constant", "FillValue": 0},
            {"Name": "a", "Type": "float", "MemoryType": "Vector", "Size": 100_000,
             "FillType": "Random"},
            {"Name": "n", "Type": "int32", "MemoryType": "Scalar", "FillValue": 100_000},
        ],
    },
}  # fmt: skip


@pytest.fixture(autouse=True)
def files(tmp_path, opencl):  # noqa: ARG001  # or there is nothing to run it
    (tmp_path / "add.cl").write_text(ADD)
    (tmp_path / "p.json").write_text(json.dumps(PARAMS))
    for name in ("t1.json", "t1.txt"):
        (tmp_path / name).write_text(json.dumps(T1))


def test_what_does_not_compile_is_told_below_the_table(run, tmp_path):
    (tmp_path / "add.cl").write_text("#if block_size_x == 64\n#error no such way\n#endif\n" + ADD)

    done = run("tune", "add.cl", "--params", "p.json", "--budget", "60s")
    shown = run("tune", "add.cl", "--params", "p.json", "--budget", "60s", "--again", "--json")

    said = "add dropped block_size_x=64: "
    assert done.returncode == shown.returncode == 0, done.stderr
    assert sum(line.startswith(said) for line in done.stdout.splitlines()) == 1
    (told,) = json.loads(shown.stdout)["results"][0]["dropped"]
    assert told.startswith(said.removeprefix("add dropped "))


def test_a_source_is_tuned_remembered_and_shown_like_any_other(run):
    first = run("tune", "add.cl", "--params", "p.json", "--budget", "60s")
    again = run("tune", "add.cl", "--params", "p.json", "--budget", "50s", "--json")
    listed = run("store", "list")

    assert first.returncode == again.returncode == listed.returncode == 0, first.stderr
    assert re.search(r"\nadd +100,000 .* block_size_x=64\n", first.stdout)
    assert first.stdout.endswith("store.sqlite3\n")
    assert max(map(len, first.stdout.splitlines()[:-1])) <= 80
    (result,) = json.loads(again.stdout)["results"]
    assert (result["kernel"], result["reason"], result["decided"]) == ("add", "remembered", True)
    assert "add" in listed.stdout


@pytest.mark.parametrize("words", [("t1.json",), ("--t1", "t1.txt")])
def test_a_t1_description_is_tuned(run, words):
    shown = run("tune", *words, "--budget", "60s")

    assert shown.returncode == 0, shown.stderr
    assert "block_size_x=64" in shown.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["add.cl"], "add.cl without its parameters\n"
         "Fix: name them in a file: vyre tune add.cl --params params.json"),
        (["--params", "p.json"], "--params p.json for no kernel\n"
         "Fix: name one source, such as vyre tune kernel.cu --params params.json"),
        (["saxpy", "--params", "p.json"], "--params p.json for saxpy\n"
         "Fix: name one source, such as vyre tune kernel.cu --params params.json"),
        (["saxpy", "t1.json"], "saxpy beside a description in JSON\n"
         "Fix: tune kernels of the two kinds in turn"),
        (["no.cl", "--params", "p.json"], "no file 'no.cl'\n"
         "Fix: give the path of a kernel's source"),
        (["add.cl", "--params", "no.json"], "no file 'no.json'\n"
         "Fix: give the path of a JSON file"),
        (["p.json"], "p.json has no KernelSpecification, so it is no T1 description\n"
         "Fix: give one, or a source and --params"),
        (["add.cl", "--params", "p.json", "--device", "cpu"],
         "cpu:0 runs no source in opencl, and add is one\n"
         "Fix: use the device opencl, and arrays of it"),
    ],
)  # fmt: skip
def test_a_mistake_is_said_without_a_traceback(inside, words, message):
    shown = inside("tune", *words)

    assert (shown.returncode, shown.stdout) == (1, "")
    assert shown.stderr == f"error: {message}\n"


def test_a_size_has_no_place_beside_a_file_that_says_it(inside):
    shown = inside("tune", "t1.json", "--size", "3")

    assert shown.returncode == 2
    assert "--size: the file says the size of the problem" in shown.stderr


def test_a_source_that_does_not_compile_fails_its_row(inside, tmp_path):
    (tmp_path / "add.cl").write_text(ADD.replace("+ 1", "+ nothing"))

    shown = inside("tune", "add.cl", "--params", "p.json", "--budget", "5s", columns=300)

    assert shown.returncode == 1
    assert "add failed: add does not compile under block_size_x=1: " in shown.stdout
    assert "add.cl:3:30: use of undeclared identifier 'nothing'" in shown.stdout
    assert "Traceback" not in shown.stdout + shown.stderr


def test_an_interrupt_keeps_what_was_found(tmp_path):
    many = {**PARAMS, "params": {"block_size_x": list(range(1, 201))}}
    (tmp_path / "p.json").write_text(json.dumps(many))
    running = subprocess.Popen(
        [str(COMMAND), "tune", "add.cl", "--params", "p.json", "--budget", "600s"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "VYRE_CACHE_DIR": str(tmp_path / "cache"), "COLUMNS": "80"},
    )
    store = tmp_path / "cache" / "store.sqlite3"
    deadline = time.monotonic() + 300
    while running.poll() is None and not measured(store) and time.monotonic() < deadline:
        time.sleep(0.1)
    running.send_signal(signal.SIGINT)
    out, errors = running.communicate(timeout=300)

    assert running.returncode == 130, out + errors
    assert "stopped; what was learned is kept" in out
    assert "Traceback" not in errors
    assert measured(store)


def measured(store: Path) -> int:
    if not store.exists():
        return 0
    with closing(sqlite3.connect(store)) as connection:
        try:
            return int(connection.execute("SELECT count(*) FROM measurements").fetchone()[0])
        except sqlite3.OperationalError:  # the tables are being made
            return 0
