"""Calls that were bound once, wishes for one call, and the short way."""

from functools import partial

import numpy as np
import pytest

import vyre
from vyre import In, InOut, Out, f32, u32
from vyre.backend.reference.device import Reference
from vyre.errors import InvalidInput, UnsupportedFeature
from vyre.runtime.call import dispatch
from vyre.runtime.call.arguments import scalar
from vyre.runtime.call.scalars import maker
from vyre.runtime.devices.device import Device


@vyre.kernel
def scaled(x: In[f32], out: Out[f32], a: f32, n: u32):
    i = vyre.gid()
    out[i] = a * x[i] + f32(n)


@vyre.kernel
def bump(x: InOut[f32]):
    i = vyre.gid()
    x[i] = x[i] + 1.0


@pytest.fixture(params=["reference", "cpu", "opencl"])
def device(request):
    if request.param == "opencl":
        request.getfixturevalue("opencl")
    return vyre.open(request.param)


def test_a_prepared_launch_gives_what_a_call_gives(device):
    x, out = device.array(np.arange(9, dtype=np.float32)), device.zeros(9, np.float32)
    launch = scaled.prepare(x, out=out, a=2.0, n=3)

    assert launch() is out
    assert np.array_equal(out, 2 * np.arange(9, dtype=np.float32) + 3)


def test_it_sees_what_its_arrays_hold_when_it_is_called(device):
    x = device.zeros(4, np.float32)
    launch = bump.prepare(x)
    for _ in range(5):
        assert launch() is None

    assert np.array_equal(x, np.full(4, 5, np.float32))


def test_outputs_that_were_not_given_are_made_once(device):
    x = device.array(np.ones(4, np.float32))
    launch = scaled.prepare(x, a=2.0, n=0)

    assert launch() is launch()


def test_a_prepared_launch_over_nothing_does_nothing(device):
    launch = scaled.prepare(device.zeros(0, np.float32), a=1.0, n=1)

    assert launch().shape == (0,)


def test_host_arrays_cannot_be_prepared_where_they_have_to_be_copied(monkeypatch):
    backend = Reference()
    backend.uses_host_memory = False
    monkeypatch.setattr(dispatch, "default", lambda: Device("elsewhere:0", backend))
    with pytest.raises(InvalidInput) as caught:
        scaled.prepare(np.ones(3, np.float32), a=1.0, n=1)

    assert caught.value.problem == "the arrays of scaled are on the host"
    assert caught.value.fix == "prepare it with arrays of a device, such as device.array(x)"


def test_arrays_that_share_memory_where_a_copy_is_needed_cannot_be_prepared(device):
    @vyre.kernel
    def shifted(x: In[f32], out: Out[f32]):
        i = vyre.gid()
        out[i] = x[i + 1]

    x = device.zeros(8, np.float32)
    with pytest.raises(InvalidInput) as caught:
        shifted.prepare(x, out=x)

    assert caught.value.problem == (
        "x of shifted shares memory with what is written, so it would have to be copied for "
        "each launch"
    )
    assert caught.value.fix == "prepare it with arrays that do not overlap"


def test_a_repeated_call_is_right_whatever_its_scalars(device):
    x, out = device.array(np.ones(5, np.float32)), device.zeros(5, np.float32)
    for a, n in ((1.0, 1), (2.5, 2), (-1, 2), (np.float32(3), np.uint32(7))):
        assert scaled(x, out=out, a=a, n=n) is out
        assert np.array_equal(out, np.full(5, np.float32(a) + n, np.float32))


def test_a_workgroup_in_config_is_pinned():
    x = np.ones(5, np.float32)
    config = vyre.DispatchConfig(workgroup_override=(32, 1, 1), label="mine")

    assert np.array_equal(scaled(x, a=2.0, n=1, config=config), np.full(5, 3, np.float32))


def test_wishes_that_a_call_cannot_honour_are_refused():
    with pytest.raises(UnsupportedFeature) as caught:
        scaled(np.ones(5, np.float32), a=1.0, n=1, config=vyre.DispatchConfig(cooperative=True))

    assert "a call of scaled" in caught.value.problem
    assert "cooperative" in caught.value.problem


def test_a_schedule_and_a_config_that_differ_are_refused():
    with pytest.raises(InvalidInput) as caught:
        scaled(
            np.ones(5, np.float32),
            a=1.0,
            n=1,
            schedule=vyre.Schedule((64, 1, 1)),
            config=vyre.DispatchConfig(workgroup_override=(32, 1, 1)),
        )

    assert caught.value.problem == (
        "schedule= of scaled has workgroup (64, 1, 1), config= (32, 1, 1)"
    )
    assert caught.value.fix == "pass one of them"


def test_a_stream_is_refused_where_there_are_none():
    with pytest.raises(InvalidInput) as caught:
        scaled(np.ones(5, np.float32), a=1.0, n=1, stream=7)

    assert caught.value.problem.startswith("stream= in a call of scaled on ")
    assert caught.value.fix == "leave it out: only CUDA devices have streams"


def made(make, value):
    """The bits and the type of a number, or the words of its error."""
    try:
        number = make(value)
    except InvalidInput as error:
        return str(error)
    return number.tobytes(), number.dtype


@pytest.mark.parametrize("value", [0.0, -0.0, 1.5, 1e38, -3.4e38, 7, True, 1e39, "x", None])
def test_the_quick_way_to_a_scalar_gives_what_the_exact_one_gives(value):
    kernel = scaled._translation
    for param in kernel.params[2:]:
        exact = partial(scalar, kernel, param)
        assert made(maker(kernel, param), value) == made(exact, value)


def test_a_call_is_launched_even_if_the_choice_changed_since_the_arrays_became_known(device):
    x, out = device.array(np.arange(8, dtype=np.float32)), device.zeros(8, np.float32)

    @vyre.kernel
    def negated(x: In[f32], out: Out[f32]):
        i = vyre.gid()
        out[i] = -x[i]

    for calls in range(4):  # long way, short way, known arrays, packed
        out = device.zeros(8, np.float32) if calls == 0 else out
        negated(x, out=out)
        device.backend.clear(out.memory, out.nbytes)
        for site in negated._dispatcher.sites:
            site.best = None  # as a learner does that has chosen something else

        negated(x, out=out)

        assert np.array_equal(out, -np.arange(8, dtype=np.float32))
