from dataclasses import replace
from inspect import signature
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vyre.errors import InvalidInput
from vyre.model import Limits
from vyre.policy.seed_cold_start import (
    WORKGROUP_CANDIDATES,
    estimate_cold_start_ns,
    seed_cold_start,
)

WIDE = Limits(max_threads=1024, max_block=(1024, 1024, 64), max_grid=(2**32 - 1,) * 3)

SEED_MAP = [
    (1, 32), (33, 64), (65, 128), (129, 256), (257, 512), (513, 1024), (609, 256), (641, 1024),
    (1025, 512), (1537, 1024), (2049, 512), (2561, 1024), (3073, 512), (3585, 1024),
]  # fmt: skip
RESIDENT_1536_MAP = [
    (1, 32), (33, 64), (65, 128), (129, 256), (257, 512), (513, 256), (769, 512),
]  # fmt: skip


def map_of(limits: Limits) -> list[tuple[int, int]]:
    """Where the width changes between 1 and 20,000 elements: the first count, and its width."""
    widths = ((n, seed_cold_start(n, 32, limits)) for n in range(1, 20_001))
    return [next(group) for _, group in groupby(widths, key=lambda entry: entry[1])]


def test_the_candidates_are_the_powers_of_two_from_32_to_1024():
    assert WORKGROUP_CANDIDATES == (32, 64, 128, 256, 512, 1024)


@pytest.mark.parametrize(
    ("n", "estimates"),
    [
        (1, [1272, 1528, 2040, 3064, 5112, 9208]),
        (100, [4320, 2272, 1248, 2272, 4320, 8416]),
        (1025, [34040, 17912, 10232, 7160, 7160, 10232]),
        (4097, [132344, 67064, 34808, 19448, 13304, 13304]),
        (0, [0, 0, 0, 0, 0, 0]),
    ],
)
def test_an_estimate_counts_groups_and_idle_lanes(n: int, estimates: list[int]):
    assert [estimate_cold_start_ns(n, width) for width in WORKGROUP_CANDIDATES] == estimates


@pytest.mark.parametrize(("n", "width"), [(-1, 32), (2**32, 32), (1, 0), (1, 2**32)])
def test_an_estimate_outside_32_bits_is_refused(n: int, width: int):
    with pytest.raises(InvalidInput) as caught:
        estimate_cold_start_ns(n, width)

    assert str(caught.value) == (
        f"an estimate for {n} elements in groups of {width}\n"
        "Fix: give 0 to 2**32 - 1 elements and a width of 1 to 2**32 - 1"
    )


def test_the_map_to_20000_elements_is_the_seeds():
    assert map_of(WIDE) == SEED_MAP


def test_units_of_1536_threads_leave_1024_out():
    assert map_of(replace(WIDE, max_threads_per_unit=1536)) == RESIDENT_1536_MAP


def test_units_of_2048_threads_keep_the_seeds_map():
    assert map_of(replace(WIDE, max_threads_per_unit=2048)) == SEED_MAP


def test_units_smaller_than_every_width_leave_all_of_them():
    limits = replace(WIDE, max_threads_per_unit=16)

    assert seed_cold_start(4096, 32, limits) == 1024


def test_a_declared_width_competes_with_the_candidates():
    assert seed_cold_start(1000, 1000, WIDE) == 1000


@pytest.mark.parametrize(("n", "width"), [(4096, 1024), (8192, 1024), (4097, 1024), (4608, 1024)])
def test_large_counts_start_at_1024(n: int, width: int):
    assert seed_cold_start(n, 32, WIDE) == width


def test_an_empty_dispatch_keeps_its_declared_width():
    assert seed_cold_start(0, 96, WIDE) == 96


def test_the_only_legal_width_is_chosen_and_not_the_declared_one_beyond_the_limit():
    limits = replace(WIDE, max_threads=32)

    assert seed_cold_start(4096, 64, limits) == 32


def test_a_width_beyond_the_blocks_first_axis_is_not_chosen():
    limits = replace(WIDE, max_block=(256, 1024, 64))

    assert seed_cold_start(4096, 32, limits) == 256


def test_a_width_whose_grid_is_too_large_is_not_chosen():
    assert seed_cold_start(1025, 32, WIDE) == 512
    assert seed_cold_start(1025, 32, replace(WIDE, max_grid=(2, 1, 1))) == 1024


def test_a_limit_the_device_does_not_state_excludes_nothing():
    unknown = Limits(max_threads=0, max_block=(0, 0, 0), max_grid=(0, 0, 0))

    assert seed_cold_start(4096, 32, unknown) == 1024


def test_a_dispatch_that_no_width_can_launch_is_refused():
    # One element more than 65,535 groups of 1024 hold, the grid that WebGPU guarantees.
    limits = replace(WIDE, max_grid=(65_535,) * 3)

    with pytest.raises(InvalidInput) as caught:
        seed_cold_start(67_107_841, 32, limits)

    assert str(caught.value) == (
        "no width launches 67107841 elements: neither (32, 64, 128, 256, 512, 1024) nor the"
        " declared 32 fits 1024 threads, a block of 1024 and a grid of 65535\n"
        "Fix: split the dispatch, or declare a workgroup that the device can launch"
    )
    assert seed_cold_start(67_107_840, 32, limits) == 1024


def test_a_cold_start_has_no_way_to_be_given_a_measurement():
    assert list(signature(seed_cold_start).parameters) == ["n", "declared", "limits"]


@given(
    n=st.integers(1, 2**32 - 1),
    declared=st.integers(0, 2048),
    max_threads=st.integers(32, 2048),
    max_block_x=st.integers(32, 2048),
    max_grid_x=st.sampled_from([65_535, 2**31 - 1, 2**32 - 1]),
    unit=st.sampled_from([0, 768, 1536, 2048]),
)
def test_a_chosen_width_covers_the_elements_within_the_limits(
    n: int, declared: int, max_threads: int, max_block_x: int, max_grid_x: int, unit: int
):
    limits = Limits(
        max_threads=max_threads,
        max_block=(max_block_x, 1, 1),
        max_grid=(max_grid_x, 1, 1),
        max_threads_per_unit=unit,
    )
    legal = {
        width
        for width in (*WORKGROUP_CANDIDATES, declared)
        if 0 < width <= min(max_threads, max_block_x) and width * max_grid_x >= n
    }

    if legal:
        assert seed_cold_start(n, declared, limits) in legal
    else:
        with pytest.raises(InvalidInput):
            seed_cold_start(n, declared, limits)
