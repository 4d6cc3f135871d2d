"""The command through its real entry point, and a store that was filled by hand."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from vyre.cli.main import app
from vyre.learn import rules
from vyre.model import Code, Decision, Failed, Measurement, Reason, Schedule, Timed, Workload
from vyre.store.sqlite.database import Database

COMMAND = Path(sys.executable).with_name("vyre")

DEFAULT, FAST, BROKEN = (
    Schedule((64, 1, 1)),
    Schedule((256, 1, 1), Code(items=4, vector=4)),
    Schedule((1024, 1, 1)),
)
WORKLOAD = Workload(
    fingerprint=bytes(range(32)), buckets=(21, 1, 1), traits=("aligned",), device="d", toolchain="t"
)


@pytest.fixture
def run(tmp_path):
    """Run `vyre` with a cache of its own."""

    def run_vyre(*words: str, cache: Path = tmp_path / "cache", columns: int = 80, **env: str):
        return subprocess.run(
            [str(COMMAND), *words],
            capture_output=True,
            text=True,
            timeout=300,
            cwd=tmp_path,
            env={**os.environ, "VYRE_CACHE_DIR": str(cache), "COLUMNS": str(columns), **env},
        )

    return run_vyre


@pytest.fixture
def inside(tmp_path, monkeypatch):
    """Run a command in this process, which is quicker; each has a test with `run` beside it."""
    monkeypatch.chdir(tmp_path)

    def run_inside(*words: str, cache: Path = tmp_path / "cache", columns: int = 80):
        monkeypatch.setenv("VYRE_CACHE_DIR", str(cache))
        rules.current.cache_clear()
        shown = CliRunner().invoke(app, list(words), env={"COLUMNS": str(columns)})
        return subprocess.CompletedProcess(words, shown.exit_code, shown.stdout, shown.stderr)

    yield run_inside
    rules.current.cache_clear()


def fill(folder: Path, *, workload: Workload = WORKLOAD, name: str = "blur") -> Path:
    """Make a store with one decision and what it came from."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "store.sqlite3"
    store = Database(path, writer="ada-1", now_ns=lambda: 1_700_000_000_000_000_000)
    outcomes = [Timed(s, ns) for s, ns in [(DEFAULT, 9000.0), (FAST, 3000.0)] for _ in range(4)]
    outcomes.append(Failed(BROKEN, "out of registers"))
    store.append(
        Measurement(
            writer="ada-1",
            sequence=sequence,
            workload=workload,
            outcome=outcome,
            size=1 << 20,
            at_ns=1_700_000_000_000_000_000 + sequence,
        )
        for sequence, outcome in enumerate(outcomes)
    )
    store.put(
        Decision(
            workload=workload,
            config=FAST,
            reason=Reason.ADOPTED,
            detail="3.00x the default's speed",
            gain=3.0,
            confidence=0.99,
        )
    )
    store.name({workload.fingerprint.hex(): name, "d": "Acme G1", "t": "acme, 1.2, cc 3"})
    store.close()
    return path


@pytest.fixture
def filled(tmp_path):
    """The path of a store in the folder that `run` uses."""
    return fill(tmp_path / "cache")


@pytest.fixture
def fill_store():
    return fill
