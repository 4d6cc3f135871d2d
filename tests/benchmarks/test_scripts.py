"""Every benchmark and script starts: what they import is there."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PARTS = {"measure.py"}  # imported by others
SCRIPTS = [
    path
    for folder in ("benchmarks", "scripts")
    for path in sorted((ROOT / folder).glob("*.py"))
    if path.name not in PARTS and not path.name.startswith(("cpu_", "gpu_"))
]


@pytest.mark.parametrize("path", [p for p in SCRIPTS if "argparse" in p.read_text()], ids=str)
def test_it_says_how_it_is_used(path):
    shown = subprocess.run(
        [sys.executable, str(path), "--help"], capture_output=True, text=True, cwd=ROOT
    )

    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.startswith("usage: ")


def test_first_calls_of_recorded_launches_are_near_the_best():
    """The guess, its opening and live learning together, on a clock that only launches move."""
    shown = subprocess.run(
        [
            *(sys.executable, "benchmarks/first_calls_recorded.py", "--print-only", "--jobs", "1"),
            *("--kernels", "saxpy,stencil5,mandelbrot,transpose,filter3,nearest,row_softmax,total"),
        ],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )

    assert shown.returncode == 0, shown.stderr
    lines = [line.split() for line in shown.stdout.splitlines()]
    for title in ("figures:", "reductions:"):
        at = lines.index([title])
        words, flat, paced = lines[at + 1 : at + 4]
        at_100, at_1000, worst = (
            words.index(one) + 1 for one in ("at_100", "at_1000", "worst_at_1000")
        )
        assert float(flat[at_100]) <= 1.08
        assert float(flat[at_1000]) <= 1.05
        assert float(paced[at_100]) <= 1.05
        assert float(paced[at_1000]) <= 1.03
        assert max(float(line[worst]) for line in (flat, paced)) <= 1.3


@pytest.mark.slow
@pytest.mark.usefixtures("opencl")
def test_templates_are_compared_on_any_opencl_device(tmp_path):
    """No time of it is judged; what differs is."""
    shown = subprocess.run(
        [sys.executable, "benchmarks/adapters_template.py", "--dry", "--out", tmp_path / "x.json"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=600,
    )

    assert shown.returncode == 0, shown.stderr
    rows = json.loads((tmp_path / "x.json").read_text())["results"]["rows"]
    assert [(row["template"], row["differed"], row["failed"]) for row in rows] == [
        ("product", 0, {}),
        ("neighbours", 0, {}),
    ]
