"""With the constants that ship, the first guess is near the best of what was recorded on a GPU."""

import importlib
import sys
from dataclasses import replace
from functools import cache
from math import exp, log
from pathlib import Path

import pytest

from vyre import kernels
from vyre.analysis import Facts, analyse
from vyre.backend.replayed import GPU
from vyre.ir.program import Program
from vyre.plan.guess import guess
from vyre.testing.recordings import numbers_of, read, space_of, times_of

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
RECORDED = BENCHMARKS / "data" / "spaces-h200.json.gz"
H200 = replace(GPU, model="NVIDIA H200")
BUNDLED = {kernel.name for kernel in kernels.ALL}

pytestmark = pytest.mark.skipif(
    not RECORDED.exists(), reason="the recordings are not part of a package"
)


@cache
def programs() -> dict[str, tuple[Program, Facts]]:
    """The recorded kernels; scripts import those that are not bundled by name."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        calls = importlib.import_module("spaces_kernels").CALLS
    finally:
        sys.path.remove(str(BENCHMARKS))
    found = {kernel.name: kernel for kernel in kernels.ALL}
    found |= {name: kernel for name, (kernel, _) in calls.items()}
    return {name: (kernel.program, analyse(kernel.program)) for name, kernel in found.items()}


@cache
def ratios() -> dict[tuple[str, int], float]:
    """What the first guess took of every recorded space, over the best."""
    found = {}
    for one in read(RECORDED)["spaces"]:
        times, numbers = times_of(one), numbers_of(one)
        first = guess(space_of(one), *programs()[one["kernel"]], H200, numbers).ordered[0]
        found[one["kernel"], one["size"]] = times[first] / min(times.values())
    return found


def mean(values: list[float]) -> float:
    return exp(sum(map(log, values)) / len(values))


def test_every_recorded_kernel_is_guessed_for():
    recorded = {name for name, _ in ratios()}

    assert recorded <= set(programs())
    assert {kernel.name for kernel in kernels.MAPS} <= recorded


def test_the_bundled_kernels_start_within_3_per_cent_of_the_best():
    assert mean([ratio for (name, _), ratio in ratios().items() if name in BUNDLED]) <= 1.03


def test_all_recorded_kernels_start_within_6_per_cent_of_the_best():
    assert mean(list(ratios().values())) <= 1.06


def test_no_recorded_launch_starts_30_per_cent_from_the_best():
    assert {cell: ratio for cell, ratio in ratios().items() if ratio > 1.3} == {}
