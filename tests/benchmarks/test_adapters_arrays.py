"""The benchmark of CuPy's, Numba's and PyOpenCL's kernels runs through, without a GPU."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_a_dry_run_ends_with_a_table_and_its_figures(tmp_path):
    out = tmp_path / "out.json"

    shown = subprocess.run(
        [
            *(sys.executable, "benchmarks/adapters_arrays.py", "--dry"),
            *("--calls", "60", "--out", str(out)),
        ],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=300,
    )

    assert shown.returncode == 0, shown.stderr
    head, *rows = shown.stdout.splitlines()
    assert head.split() == [
        "choice",
        "gain",
        "differ",
        "host",
        "us",
        "still",
        "own",
        "us",
        "chosen",
    ]
    written = json.loads(out.read_text())
    assert written["dry"] is True
    assert list(written["results"]) == ["cupy raw", "cupy elements", "numba", "pyopencl"]
    assert len(rows) == 4
    for name in ("cupy raw", "cupy elements"):
        assert written["results"][name]["differ"] == 0
        assert len(written["results"][name]["blocks"]) > 3


@pytest.mark.slow
def test_a_kernel_that_fails_takes_no_other_along(tmp_path):
    pytest.importorskip("numba.cuda")
    out = tmp_path / "out.json"
    broken = f"""
import sys, runpy
sys.path.insert(0, {str(ROOT / "benchmarks")!r})
sys.argv = ["adapters_arrays.py", "--dry", "--calls", "60", "--out", {str(out)!r}]
sys.modules["pyopencl"] = type(sys)("pyopencl")  # which has no platforms, and says so in its way
from vyre.testing import stand_ins
stand_ins.Dispatcher.launch = lambda *_: 1 / 0
runpy.run_path({str(ROOT / "benchmarks" / "adapters_arrays.py")!r}, run_name="__main__")
"""

    shown = subprocess.run(
        [sys.executable, "-c", broken], capture_output=True, text=True, cwd=ROOT, timeout=300
    )

    assert shown.returncode == 1, shown.stderr
    written = json.loads(out.read_text())["results"]
    assert written["numba"]["failed"] == "ZeroDivisionError: division by zero"
    assert written["pyopencl"].startswith("left out: AttributeError: module 'pyopencl' has no")
    assert len(written["cupy raw"]["blocks"]) > 3
    assert written["cupy raw"]["failed"] == written["cupy elements"]["failed"] == ""
