"""Repeated calls on a CUDA device run on the stream they should, after what they wait for."""

import ctypes

import numpy as np
import pytest

pytest.importorskip("cuda.bindings.nvrtc")

import vyre
from vyre import In, Out, f32
from vyre.backend.cuda import found
from vyre.errors import InvalidInput
from vyre.runtime.arrays import foreign_kinds, shared
from vyre.runtime.devices.device import Device

LEGACY, SIDE, OTHER = 1, 0x50, 0x60


def saxpy(x: In[f32], y: In[f32], out: Out[f32], a: f32):
    i = vyre.gid()
    out[i] = a * x[i] + y[i]


@pytest.fixture
def cuda(driver, tmp_path, monkeypatch):
    (made,) = found(tmp_path, driver, tmp_path / "no such file")
    device = Device("cuda:0", made)
    monkeypatch.setattr(shared, "_find", lambda dlpack_type: (device,) if dlpack_type == 2 else ())
    monkeypatch.setattr(foreign_kinds, "_known", {})
    with vyre.mode("off"):
        yield device


@pytest.fixture
def kernel():
    return vyre.kernel(saxpy)


def ones(device):
    return device.array(np.ones(64, np.float32))


def streams(driver):
    return [launch[3] for launch in driver.launches]


def orders(driver, call):
    """What had to wait for what in a call: pairs of streams."""
    found = []
    wait = type(driver)._cuStreamWaitEvent

    def note(self, stream, event, flags):
        found.append((event.stream, int(stream)))
        return wait(self, stream, event, flags)

    type(driver)._cuStreamWaitEvent = note
    try:
        call()
    finally:
        type(driver)._cuStreamWaitEvent = wait
    return found


def test_a_stream_is_followed_however_often_a_call_is_made(cuda, driver, kernel):
    x, y, out = ones(cuda), ones(cuda), ones(cuda)
    for _ in range(8):
        kernel(x, y, out=out, a=2.0)
    for _ in range(8):
        kernel(x, y, out=out, a=2.0, stream=SIDE)
        kernel(x, y=y, out=(out,), a=2.0, stream=SIDE)
    for _ in range(8):
        kernel(x, y, out=out, a=2.0)

    assert streams(driver) == [LEGACY] * 8 + [SIDE] * 16 + [LEGACY] * 8
    assert len(kernel._dispatcher.short.same) == 2


def test_arrays_wait_once_for_what_was_done_to_them_on_another_stream(cuda, driver, kernel):
    x, y, out = ones(cuda), ones(cuda), ones(cuda)
    for _ in range(8):
        kernel(x, y, out=out, a=2.0)

    moved = orders(driver, lambda: kernel(x, y, out=out, a=2.0, stream=SIDE))
    again = orders(driver, lambda: kernel(x, y, out=out, a=2.0, stream=SIDE))
    back = orders(driver, lambda: kernel(x, y, out=out, a=2.0))

    assert moved == [(LEGACY, SIDE)] * 3
    assert again == []
    assert back == [(SIDE, LEGACY)] * 3


@pytest.mark.parametrize("names", [False, True])
def test_new_outputs_are_filled_before_the_stream_goes_on(cuda, driver, kernel, names):
    x, y = ones(cuda), ones(cuda)
    given = ((), {"x": x, "y": y}) if names else ((x, y), {})
    for _ in range(6):
        kernel(*given[0], **given[1], a=2.0, stream=SIDE)

    made = []
    moved = orders(driver, lambda: made.append(kernel(*given[0], **given[1], a=2.0, stream=SIDE)))

    assert moved == [(LEGACY, SIDE)]
    assert made[0].shape == (64,)
    assert driver.launches[-1][3] == SIDE


class Exposed:
    """An array of a library that tells by the CUDA array interface, and on which stream it is."""

    def __init__(self, stream=None):
        self.memory = ctypes.create_string_buffer(512)
        at = -(-ctypes.addressof(self.memory) // 256) * 256
        told = {"shape": (64,), "typestr": "<f4", "data": (at, False), "version": 3}
        self.__cuda_array_interface__ = told | ({} if stream is None else {"stream": stream})


@pytest.mark.usefixtures("cuda")
def test_arrays_that_say_on_which_stream_they_are_run_there_every_time(driver, kernel):
    x, y, out = Exposed(SIDE), Exposed(SIDE), Exposed()
    for _ in range(8):
        assert kernel(x, y, out=out, a=2.0) is out
        kernel(Exposed(SIDE), y, out=out, a=2.0)

    assert streams(driver) == [SIDE] * 16


@pytest.mark.usefixtures("cuda")
def test_a_stream_waits_for_that_of_the_arrays_every_time(driver, kernel):
    x, y, out = Exposed(SIDE), Exposed(SIDE), Exposed()
    for _ in range(8):
        kernel(x, y, out=out, a=2.0)

    assert (SIDE, OTHER) in orders(driver, lambda: kernel(x, y, out=out, a=2.0, stream=OTHER))
    for _ in range(4):
        moved = orders(driver, lambda: kernel(x, y, out=out, a=2.0, stream=OTHER))
        assert (SIDE, OTHER) in moved
    assert streams(driver)[-5:] == [OTHER] * 5


@pytest.mark.usefixtures("cuda")
def test_arrays_on_different_streams_are_refused_every_time(kernel):
    x, y, out = Exposed(SIDE), Exposed(OTHER), Exposed()
    for _ in range(4):
        with pytest.raises(InvalidInput) as caught:
            kernel(x, y, out=out, a=2.0)
        assert caught.value.problem.startswith("the arrays of saxpy are on different streams: ")
    for _ in range(4):
        kernel(x, y, out=out, a=2.0, stream=0x70)
    with pytest.raises(InvalidInput):
        kernel(x, y, out=out, a=2.0)


def test_a_stream_that_is_none_is_refused_every_time(cuda, kernel):
    x, y, out = ones(cuda), ones(cuda), ones(cuda)
    for _ in range(8):
        kernel(x, y, out=out, a=2.0, stream=SIDE)

    for wrong in ("main", True, -1, 1.5):
        with pytest.raises(InvalidInput) as caught:
            kernel(x, y, out=out, a=2.0, stream=wrong)
        assert caught.value.problem.endswith("not a CUDA stream")
    with pytest.raises(InvalidInput) as caught:
        kernel(x, y, out=out, a="2", stream="main")
    assert caught.value.problem == "a of saxpy is '2', not a number"


def test_an_input_that_is_also_the_output_takes_the_shortest_way(cuda, kernel):
    x, y = ones(cuda), ones(cuda)
    for _ in range(6):
        assert kernel(x, y, out=y, a=2.0) is y
        assert kernel(x, x, out=x, a=2.0) is x

    assert len(kernel._dispatcher.short.same) == 2


def test_memory_of_arrays_that_are_gone_is_not_kept(cuda, driver, kernel):
    x, y, out = ones(cuda), ones(cuda), ones(cuda)
    for _ in range(8):
        kernel(x, y, out=(out,), a=2.0)
        kernel(x=x, y=y, out=out, a=2.0)
        kernel(x, y, a=2.0)
    assert len(kernel._dispatcher.short.same) == 3
    assert len(driver.memory) == 3

    del x, y, out

    assert not kernel._dispatcher.short.same
    assert not driver.memory
