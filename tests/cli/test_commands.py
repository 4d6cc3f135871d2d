"""The command through its real entry point."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import vyre

COMMAND = Path(sys.executable).with_name("vyre")


def vyre_command(*words: str, cache: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(COMMAND), *words],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "VYRE_CACHE_DIR": str(cache), "COLUMNS": "80"},
    )


def test_the_version_is_the_packages(tmp_path):
    shown = vyre_command("version", cache=tmp_path)

    assert (shown.returncode, shown.stdout) == (0, f"vyre {vyre.__version__}\n")


def test_tuning_prints_a_row_per_kernel_and_remembers(tmp_path):
    first = vyre_command("tune", "--size", "20000", "--budget", "10", cache=tmp_path)
    second = vyre_command("tune", "--size", "20000", "--budget", "10", cache=tmp_path)

    assert first.returncode == second.returncode == 0, first.stderr + second.stderr
    for name in ("saxpy", "gelu", "stencil5", "histogram", "nbody"):
        assert f" {name} " in first.stdout
    assert max(map(len, first.stdout.splitlines())) <= 80
    assert "10 answered from memory; measure again with --again" in second.stdout


def test_an_interrupt_ends_with_a_table_and_no_traceback(tmp_path):
    running = subprocess.Popen(
        [str(COMMAND), "tune", "--size", "50000", "--budget", "100"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "VYRE_CACHE_DIR": str(tmp_path)},
    )
    time.sleep(8)
    running.send_signal(signal.SIGINT)
    out, errors = running.communicate(timeout=60)

    assert running.returncode == 130, errors
    assert "stopped; what was learned is kept" in out
    assert "Traceback" not in errors


def test_a_users_mistake_ends_in_its_message_and_code_2(tmp_path):
    shown = subprocess.run(
        [str(COMMAND), "tune"],
        capture_output=True,
        text=True,
        env={**os.environ, "VYRE_CACHE_DIR": str(tmp_path), "VYRE_DEVICE": "gpu"},
    )

    assert shown.returncode == 2
    assert shown.stderr.startswith("error: no device 'gpu': no backend 'gpu'")
    assert "Fix: use one of" in shown.stderr
    assert "Traceback" not in shown.stderr
