"""Which schedules of a large space are recorded."""

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

from vyre.model import Code, Schedule

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

pytestmark = pytest.mark.skipif(not BENCHMARKS.exists(), reason="benchmarks are not in a package")

SPACE = [
    Schedule((width, 1, 1), Code(items=items, lines=lines, depth=depth, checked=False))
    for width in (32, 64, 96, 128, 256, 512)
    for items in (1, 2, 4, 8)
    for lines in (1, 2, 4, 8)
    for depth in (0, 8, 16)
]


@pytest.fixture
def sample(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    return importlib.import_module("spaces_sample")


def test_a_space_that_is_small_enough_is_recorded_whole(sample: Any):
    assert sample.sampled(SPACE[:100], SPACE[:100][::-1], "copy", 100) == SPACE[:100]
    assert sample.sampled(SPACE, SPACE[::-1], "copy", 0) == SPACE


def test_of_a_large_one_the_default_the_leaders_and_others_are_drawn_each_once(sample: Any):
    ordered = SPACE[::-1]
    found = sample.sampled(SPACE, ordered, "copy", 60, 20)

    assert len(found) == len(set(found)) == 60
    assert found[0] == SPACE[0]
    assert set(ordered[:20]) < set(found) < set(SPACE)


def test_every_kind_of_code_is_drawn(sample: Any):
    found = sample.sampled(SPACE, SPACE, "copy", 60, 20)

    assert {(s.code.lines > 1, s.code.depth > 0) for s in found} == {
        (lines, depth) for lines in (False, True) for depth in (False, True)
    }


def test_sizes_of_a_kernel_draw_mostly_the_same_and_kernels_do_not(sample: Any):
    smaller = [s for s in SPACE if s.workgroup[0] < 512]
    here = set(sample.sampled(SPACE, SPACE, "copy", 80, 0))
    there = set(sample.sampled(smaller, smaller, "copy", 80, 0))
    other = set(sample.sampled(SPACE, SPACE, "product", 80, 0))

    assert len(here & there) > 1.5 * len(here & other)
    assert len(here & there) >= 60
