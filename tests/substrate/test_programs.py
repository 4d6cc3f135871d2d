"""The programs give the host's bits on every device, and are built once."""

import numpy as np
import pytest

import vyre
from vyre.ir.validate import check
from vyre.substrate import programs
from vyre.testing.steps import step_case, step_differences

DEVICES = vyre.devices()
STEPS = (
    programs.softmax_step,
    programs.pick_step,
    programs.natural_step,
    programs.precondition,
    programs.best_step,
)


@pytest.mark.parametrize("device", DEVICES, ids=lambda device: device.name)
@pytest.mark.parametrize("n", [1, 6, 300])
def test_a_device_gives_the_bits_of_the_host(device, n):
    """A share of what scripts/soak_substrate.py runs; every way to share a row is in it."""
    found = [
        item
        for seed in range(6)
        for item in step_differences(device.dispatch, step_case(seed, n=n))
    ]

    assert found == []


@pytest.mark.parametrize("seed", range(12))
def test_the_reference_gives_the_bits_of_the_host_at_any_size(seed):
    case = step_case(1000 + seed, rows=3)

    assert list(step_differences(vyre.open("reference").dispatch, case)) == []


@pytest.mark.parametrize("n", [2, 5, 256, 257])
def test_the_comparison_sees_one_wrong_unit(n):
    def wrong(program, inputs, config):
        outputs = vyre.open("reference").dispatch(program, inputs, config)
        outputs[-1][-1] ^= 1
        return outputs

    found = list(step_differences(wrong, step_case(7, n=n)))

    assert found == [
        f"{name} of {n} candidates, seed 7"
        for name in ("softmax", "pick", "best", "precondition", "natural")
    ]


@pytest.mark.parametrize("step", STEPS)
def test_a_program_is_built_once_for_all_sizes_up_to_a_power_of_two(step):
    assert step(64) is step(64)
    assert step(33) is step(64)
    assert step(65) is not step(64)


@pytest.mark.parametrize("step", STEPS)
def test_programs_of_all_sizes_are_valid(step):
    for bits in range(17):
        check(step(min(1 << bits, programs.MOST_CANDIDATES)))


def test_lanes_share_a_row():
    assert [programs.softmax_step(n).workgroup_size for n in (1, 6, 64, 5000)] == [
        (1, 1, 1),
        (8, 1, 1),
        (64, 1, 1),
        (256, 1, 1),
    ]


def test_a_case_is_made_again_from_its_seed():
    first, again = step_case(5), step_case(5)

    assert first.n == again.n
    assert np.array_equal(first.pre_exp, again.pre_exp)
    assert np.array_equal(first.costs, again.costs)
