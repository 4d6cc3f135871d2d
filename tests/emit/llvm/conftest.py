"""Every processor that machine code can be run for on this machine."""

import pytest

pytest.importorskip("llvmlite")

from vyre.backend.base import Unbuilt
from vyre.backend.cpu import machine
from vyre.model import Code
from vyre.testing import emulated, native
from vyre.testing.compare import Judge
from vyre.testing.launches import TARGETS, Subject, Way, runs_here

CODES = (Code(), Code(vector=16, unroll=2))


@pytest.fixture(params=TARGETS)
def run_ways(request):
    """Runs cases in given ways on one processor; what differs from the reference fails the test."""
    name = request.param
    if name == "aarch64":
        if emulated.tools() is None:
            pytest.skip("no compiler or no emulator for aarch64 is installed")
    elif not runs_here(name, machine.cpuinfo()):
        pytest.skip(f"this processor lacks instructions of {name}")

    def run(wanted):
        found = emulated.run(wanted) if name == "aarch64" else native.run(TARGETS[name], wanted)
        judges = {}
        for (subject, way), arrays in zip(wanted, found, strict=True):
            assert not isinstance(arrays, Unbuilt), (way, arrays)
            judge = judges.setdefault(id(subject), Judge(subject.case))
            assert not list(judge.mismatches(arrays)), (way, subject.case.program)

    return run


@pytest.fixture
def run_cases(run_ways):
    """Runs cases under several codes, in workgroups as declared."""

    def run(cases, codes=CODES):
        subjects = [Subject(case) for case in cases]
        run_ways(
            [(s, Way(code, s.case.program.workgroup_size)) for s in subjects for code in codes]
        )

    return run
