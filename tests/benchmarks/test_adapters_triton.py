"""The benchmark of `vyre.triton.autotune` goes its whole way, and its kernels compile."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

triton = pytest.importorskip("triton")
pytest.importorskip("torch")
from vyre.adapter.triton import compile as compiling  # noqa: E402  # it needs triton
from vyre.testing.triton_driver import FakeDriver, fresh, triton_on  # noqa: E402

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script():
    """The script, which finds its kernels beside it."""
    before = sys.path[:]
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        yield importlib.import_module("adapters_triton")
    finally:
        sys.path[:] = before
        for name in ("adapters_triton", "adapters_triton_kernels"):
            sys.modules.pop(name, None)


@pytest.mark.slow
def test_a_dry_run_goes_the_whole_way(tmp_path):
    """Processes, caches and the table; what it says of times means nothing."""
    out = tmp_path / "figures.json"
    command = [sys.executable, "benchmarks/adapters_triton.py", "--dry", "--settle", "0.2"]
    shown = subprocess.run(
        [*command, "--kernels", "add,attention", "--budget", "3000", "--out", str(out)],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )

    assert shown.returncode == 0, shown.stdout + shown.stderr
    *_, limits, titles, add, attention = shown.stdout.splitlines()
    assert (
        limits == "vyre over triton: first <= 0.1  choice <= 1.02  total_200 <= 0.5  host <= 0.35"
    )
    assert titles.split()[:5] == ["first", "choice", "total_200", "host", "second"]
    assert [line.split()[0] for line in (add, attention)] == ["add", "attention"]
    kept = json.loads(out.read_text())
    assert set(kept["kernels"]) == {"add", "attention"}
    assert kept["kernels"]["add"]["judge"].keys() == {"ratio", "vyre_us", "triton_us"}
    assert kept["kernels"]["add"]["second"]["first_config"]["kwargs"].keys() == {"BLOCK"}


@pytest.mark.parametrize("name", ["add", "softmax", "layer_norm", "product", "attention"])
def test_its_kernels_compile_for_a_gpu(script, name, tmp_path):
    """Under their first and their last config, by Triton's own compiler."""
    case = script.case_of(name, "cpu", small=True)
    made = case.decorated(lambda configs, **_: lambda kernel: (kernel, configs))
    (kernel, configs) = made
    values = {}
    if isinstance(kernel, triton.runtime.autotuner.Heuristics):
        values, kernel = {"EVEN": True}, kernel.fn
    with triton_on(FakeDriver(), tmp_path):
        for config in (configs[0], configs[-1]):
            jit = fresh(kernel)
            bound = compiling.bind(
                jit, 0, case.args, {**case.kwargs, **config.all_kwargs(), **values}
            )
            assert "ptx" in compiling.compiled(jit, 0, bound).asm


def test_a_table_shows_what_is_beyond_its_limit_and_what_failed(script):
    cell = {
        "vyre": {"first_s": 0.2, "total_200_s": 1.0, "config": {"a": 1}, "apart": 1e-7},
        "triton": {"first_s": 4.0, "total_200_s": 1.5, "config": {"a": 2}},
        "second": {"first_config": {"a": 1}},
        "judge": {"ratio": 1.01},
        "host": {"start_us": 6.0, "vyre_us": 9.0, "triton_us": 36.0, "ratio": 0.25},
    }
    lost = {"vyre": {"failed": "x"}, "triton": {}, "second": {}, "judge": {}, "host": {}}

    shown = script.table({"add": cell, "product": lost}).splitlines()

    assert shown[2:] == [
        "add             0.050      1.010      0.667!     0.250       yes       200"
        "    6.0 / 9.0 / 36.0    1e-07",
        "product             -          -          -          -    failed         -"
        "                   -        -",
    ]


def test_a_kernel_that_fails_leaves_the_others_their_figures(script, capsys):
    told = []

    def run(name):
        if name == "softmax":
            raise ValueError("no such thing")
        return {"ratio": 1.0}

    script.each(["add", "softmax", "product"], run, lambda found: told.append(dict(found)))

    assert told == [
        {"add": {"ratio": 1.0}},
        {"add": {"ratio": 1.0}, "softmax": {"failed": "ValueError: no such thing"}},
        {
            "add": {"ratio": 1.0},
            "softmax": {"failed": "ValueError: no such thing"},
            "product": {"ratio": 1.0},
        },
    ]
    assert "Traceback" in capsys.readouterr().err


def test_what_a_process_told_before_it_was_ended_counts(script):
    text = 'told {"first_s": 1.0}\nwords\ntold {"first_s": 1.0, "total_200_s": 2.0}\ntold {"conf'

    assert script.told_last(text) == {"first_s": 1.0, "total_200_s": 2.0}
    assert script.told_last("") == {}


def test_a_process_that_fails_is_told_of_with_what_it_wrote(script, tmp_path):
    task = {"do": "triton", "kernel": "nothing", "dry": True, "settle_s": 1.0}

    found = script.ask(task, tmp_path, 600.0)

    assert found["machine"]["triton"] == triton.__version__
    assert (
        found["failed"]
        == "AttributeError: module 'adapters_triton_kernels' has no attribute 'nothing'"
    )
    assert found["stderr"].startswith("Traceback")
    assert script.ask(task, tmp_path, 0.0) == {"failed": "no time was left"}


def test_a_table_of_what_was_never_begun_is_shown_all_the_same(script):
    (row,) = script.table({"add": {}}).splitlines()[2:]

    assert row.split() == ["add", "-", "-", "-", "-", "failed", "-", "-", "-"]
