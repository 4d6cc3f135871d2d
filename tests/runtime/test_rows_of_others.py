"""What another user wrote to a shared store: at most it chooses among legal schedules."""

import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from vyre.model import Code, Decision, Failed, Measurement, Order, Reason, Schedule, Timed, Workload
from vyre.store.sqlite.database import Database
from vyre.store.sqlite.file import Opening

COMMAND = Path(sys.executable).with_name("vyre")
CALL = """
import numpy as np, vyre
from vyre.kernels import saxpy
x = np.arange(1000, dtype=np.float32)
device = vyre.open("opencl:0")
for mode in ("off", "natural"):
    with vyre.mode(mode):
        found = saxpy(device.array(x), device.array(x), a=2.0)
        assert (np.asarray(found) == 3 * x).all(), mode
print(saxpy.explain())
"""
ILLEGAL = (
    Schedule((4_294_967_295, 1, 1)),
    Schedule((1, 1, 4096)),
    Schedule((64, 1, 1), Code(items=4_294_967_295)),
    Schedule((64, 1, 1), Code(items=3, vector=7, unroll=5, order=Order.BLOCKED, checked=False)),
)

pytestmark = pytest.mark.usefixtures("opencl")


def run(cache: Path, *words: str) -> str:
    return subprocess.run(
        list(words),
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "VYRE_CACHE_DIR": str(cache)},
    ).stdout


def workload_of_saxpy(cache: Path) -> Workload:
    words = (str(COMMAND), "explain", "saxpy", "--size", "1000", "--device", "opencl:0", "--json")
    value = json.loads(run(cache, *words))["workload"]
    return Workload(
        fingerprint=bytes.fromhex(value["fingerprint"]),
        buckets=tuple(value["buckets"]),
        traits=tuple(value["traits"]),
        device=value["device"],
        toolchain=value["toolchain"],
    )


def test_a_schedule_that_is_not_legal_here_is_never_launched(tmp_path: Path):
    workload = workload_of_saxpy(tmp_path)
    path = tmp_path / "store.user-40001.sqlite3"
    outcomes = [Timed(schedule, 0.0) for schedule in ILLEGAL]
    outcomes += [Timed(schedule, 1e-3) for schedule in ILLEGAL]
    outcomes += [Failed(Schedule((64, 1, 1)), "\x1b[2J"), Timed(Schedule((64, 1, 1)), 1e18)]
    with closing(Database(path, writer="eve", opening=Opening(journal="delete"))) as store:
        store.append(
            Measurement(
                writer="eve",
                sequence=sequence,
                workload=workload,
                outcome=outcome,
                size=sequence % 2 * (2**63 - 1),
                at_ns=2**63 - 1,
            )
            for sequence, outcome in enumerate(outcomes)
        )
        for schedule in ILLEGAL:
            store.put(
                Decision(
                    workload=workload,
                    config=schedule,
                    reason=Reason.ADOPTED,
                    gain=1e9,
                    confidence=1.0,
                )
            )

    said = run(tmp_path, sys.executable, "-c", CALL)

    assert "its result does not depend on how it is launched" in said
    assert not any(schedule.text in said.partition("next")[0] for schedule in ILLEGAL)
    assert all(line.isprintable() for line in said.split("\n"))
