"""Looking at a call without making it."""

from dataclasses import replace

import numpy as np

import vyre
from vyre.kernels import dot, nbody, saxpy
from vyre.model import Code, Failed
from vyre.runtime.call.look import look_at, source_of


def look(size=1000):
    x = np.arange(size, dtype=np.float32)
    return look_at(saxpy, vyre.open("reference"), {"x": x, "y": x}, {"a": 2.0}), x


def test_a_look_knows_the_space_and_what_a_launch_moves():
    found, _ = look()

    assert found.elements == 1000
    assert found.space.default in found.space.legal
    assert found.moved_bytes == 12 * 1000
    assert found.known is None
    assert found.summaries == ()


def test_what_a_look_has_can_be_passed_to_the_kernel():
    found, x = look()

    out = saxpy(**found.inputs, out=found.outputs)

    assert np.array_equal(np.asarray(out), 3 * x)


def test_several_outputs_come_in_their_order():
    x = np.ones(8, np.float32)
    found = look_at(nbody, vyre.open("reference"), dict.fromkeys("xyzm", x), {})

    assert [array.shape for array in found.outputs] == [(8,)] * 3


def test_a_schedule_is_timed_or_says_why_not():
    found, _ = look()

    assert found.time(found.space.default) > 0
    default = found.space.default
    failed = found.time(replace(default, code=replace(default.code, vector=16)))
    assert isinstance(failed, Failed)
    assert failed.reason.startswith("vectors of 16 for this call of saxpy")


def test_the_source_is_in_the_language_of_the_device():
    assert "__kernel" in source_of(saxpy, vyre.open("reference"), Code())


def test_what_is_reduced_comes_from_memory_once():
    arrays = {name: np.ones(1000, np.float32) for name in "xy"}
    found = look_at(dot, vyre.open("reference"), arrays, {})

    assert found.moved_bytes == 4 * (1000 + 1000 + 1)
