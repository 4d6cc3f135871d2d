"""Spaces of reductions are recorded and read back, on a device whose times are made up."""

import importlib
import random
import sys
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

import pytest

from vyre.backend.replayed import GPU, Replayed
from vyre.runtime.devices.device import Device
from vyre.testing.recordings import numbers_of, space_of, times_of

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(
    not (ROOT / "benchmarks").exists(), reason="benchmarks are not in a package"
)

WARPS = replace(GPU, limits=replace(GPU.limits, lockstep=32, group_bytes=48 << 10))


@pytest.fixture(scope="module")
def scripts():
    """The modules of the benchmarks import each other by name, as scripts do."""
    before, known = sys.path[:], set(sys.modules)
    sys.path.insert(0, str(ROOT / "benchmarks"))
    names = ("record_spaces", "spaces_kernels", "spaces_compile")
    yield Namespace(**{name: importlib.import_module(name) for name in names})
    sys.path[:] = before
    for name in set(sys.modules) - known:
        if str(ROOT / "benchmarks") in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def test_every_reduction_has_a_space_of_its_own_to_record(scripts):
    device = Device("replay:0", Replayed(lambda _: 1.0, info=WARPS))

    planned = {
        name: scripts.spaces_compile.planned(device, name, 1 << 14, 160)
        for name in scripts.spaces_kernels.reductions()
    }

    assert {"row_softmax", "layer_norm", "dot", "nearest", "total", "row_totals"} <= set(planned)
    assert all(len(some) > 1 for some in planned.values())
    assert all(some[0].code.lanes > 1 for some in planned.values())


@pytest.mark.parametrize("name", ["total", "row_softmax", "nearest"])
def test_what_is_recorded_of_a_reduction_is_read_back(scripts, name):
    device = Device("replay:0", Replayed(lambda _: 1.0, info=WARPS))
    call = scripts.spaces_kernels.called(name, 1 << 10)
    space = scripts.record_spaces.Space(device, name, 1 << 10, call)

    row = space.record(set(space.space.legal), 1, random.Random(0))

    assert set(times_of(row)) == set(space.space.legal)
    assert space_of(row).default == space.space.default
    assert numbers_of(row).extent == space.numbers.extent


def test_reductions_are_recorded_by_themselves_at_sizes_of_their_own(scripts):
    given = Namespace(kernels="", reductions=True, powers="")

    alone = scripts.record_spaces.cells(given, {"spaces": [{"kernel": "dot", "size": 1 << 20}]})
    others = scripts.record_spaces.cells(
        Namespace(kernels="", reductions=False, powers=""), {"spaces": []}
    )

    assert ("total", 1 << 14) in alone
    assert ("dot", 1 << 20) not in alone
    assert {name for name, _ in alone}.isdisjoint(name for name, _ in others)
