"""Every benchmark and script starts: what they import is there."""

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
