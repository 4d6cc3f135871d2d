"""Every compiled device computes what the reference computes."""

from random import Random

import pytest

import vyre
from vyre.model import Code
from vyre.testing.compare import differences
from vyre.testing.programs import generate

COMPILED = [device for device in vyre.devices() if device.backend.compiles]
SHARE = 256


@pytest.mark.parametrize("device", COMPILED, ids=lambda device: device.name)
@pytest.mark.parametrize("first", range(0, SHARE, 32))
def test_generated_programs_give_the_same_bits_on_a_device(device, first):
    """A share of what scripts/soak_backends.py runs."""
    cases = [generate(Random(seed)) for seed in range(first, first + 32)]

    found = list(differences(device, cases, (Code(), Code(checked=False))))

    assert found == []


@pytest.mark.parametrize("device", COMPILED, ids=lambda device: device.name)
def test_a_program_whose_nan_a_compiler_sees_gives_nan(device):
    """Found by the soak: PoCL folded floor of a constant NaN to what stood in a register."""
    assert list(differences(device, [generate(Random(3001633))])) == []
