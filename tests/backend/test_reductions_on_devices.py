"""Every compiled device reduces as the reference does, and as the model says."""

from __future__ import annotations

from random import Random

import pytest

import vyre
from vyre.model import Code
from vyre.runtime.devices.device import Device
from vyre.testing.compare import codes_of, differences
from vyre.testing.cuda_on_host import CudaOnHost, compiler
from vyre.testing.nested import nested, nests
from vyre.testing.programs import generate
from vyre.testing.reductions import modelled, rows

COMPILED = [device for device in vyre.devices() if device.backend.compiles]
ON_HOST = [Device("cuda-on-host", CudaOnHost())] if compiler() else []
DEVICES = pytest.mark.parametrize("device", [*COMPILED, *ON_HOST], ids=lambda device: device.name)


@DEVICES
@pytest.mark.parametrize("first", range(0, 48, 16))
def test_generated_programs_with_reductions_give_the_same_bits(device: Device, first: int):
    """A share of scripts/soak_backends.py --reductions."""
    cases = [generate(Random(seed), reductions=True) for seed in range(first, first + 16)]

    assert list(differences(device, cases, codes_of(device))) == []


@DEVICES
@pytest.mark.parametrize("seed", range(2))
def test_every_kind_of_reduction_gives_the_models_bits(device: Device, seed: int):
    """A share of scripts/soak_reductions.py."""
    cases = [modelled(row, Random(seed)) for row in rows(seed)]

    assert list(differences(device, cases, codes_of(device))) == []


@DEVICES
def test_reductions_in_rounds_of_others_give_the_models_bits(device: Device):
    """A share of scripts/soak_reductions.py --nested."""
    cases = [nested(one, Random(0)) for one in nests(0, 5)]
    several = () if device.info.simd else (Code(items=4, checked=False),)

    assert list(differences(device, cases, (*codes_of(device), *several))) == []
