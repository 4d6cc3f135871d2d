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
    assert head.split() == ["choice", "gain", "differ", "host", "us", "own", "us", "chosen"]
    written = json.loads(out.read_text())
    assert written["dry"] is True
    assert list(written["results"]) == ["cupy raw", "cupy elements", "numba", "pyopencl"]
    assert len(rows) == 4
    for name in ("cupy raw", "cupy elements"):
        assert written["results"][name]["differ"] == 0
        assert len(written["results"][name]["blocks"]) > 3
