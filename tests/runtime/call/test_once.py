"""Kernels that ask for no position: they run once, whatever their arrays."""

import numpy as np
import pytest

import vyre
from vyre import In, InOut, Out, f32, u32
from vyre.errors import InvalidInput

DEVICES = ("reference", "cpu", "opencl")


@vyre.kernel
def total(x: In[f32], out: Out[f32]):
    s = 0.0
    for k in range(len(x)):
        s += x[k]
    out[0] = s


@vyre.kernel
def corners(x: In[f32, 2], top: Out[f32, 2], sizes: Out[u32], n: u32):
    top[0, 0] = x[0, 0]
    sizes[0] = x.size + n


@vyre.kernel
def counted(c: InOut[u32]):
    vyre.atomic_add(c, 0, 1)


@vyre.kernel(workgroup=64)
def filled(out: Out[f32]):
    for k in range(len(out)):
        out[k] = f32(k)


@vyre.kernel
def everywhere(x: In[f32], c: InOut[u32]):
    if vyre.extent() > len(x) - 1:
        vyre.atomic_add(c, 0, 1)


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> vyre.Device:
    return vyre.open(request.param)


@pytest.mark.parametrize("count", [0, 1, 31, 1025])
def test_the_result_of_a_whole_array_is_one_element(device: vyre.Device, count: int):
    x = np.arange(count, dtype=np.float32)

    made = total(device.array(x))

    assert made.shape == (1,)
    assert np.asarray(made).tolist() == [x.sum()]


def test_calls_on_arrays_of_the_host_do_the_same_each_time():
    x = np.arange(100, dtype=np.float32)

    assert [total(x + turn).tolist() for turn in range(4)] == [
        [4950.0 + 100 * turn] for turn in range(4)
    ]


def test_every_output_that_nobody_gave_has_one_element_along_each_axis(device: vyre.Device):
    top, sizes = corners(device.array(np.full((3, 4), 7, np.float32)), n=5)

    assert np.asarray(top).tolist() == [[7]]
    assert np.asarray(sizes).tolist() == [17]


def test_a_shape_says_what_outputs_are_and_not_how_often_it_runs(device: vyre.Device):
    x = device.array(np.ones(9, np.float32))

    assert np.asarray(total(x, shape=3)).tolist() == [9, 0, 0]
    assert np.asarray(filled(shape=(5,))).tolist() == [0, 1, 2, 3, 4]
    cells = device.array(np.zeros(4, np.uint32))
    counted(cells, shape=1000)
    assert np.asarray(cells).tolist() == [1, 0, 0, 0]


def test_an_output_that_is_given_is_written(device: vyre.Device):
    out = device.array(np.full(3, 5, np.float32))
    total(device.array(np.ones(9, np.float32)), out=out)

    assert np.asarray(out).tolist() == [9, 5, 5]


def test_an_input_may_be_the_output(device: vyre.Device):
    x = device.array(np.arange(5, dtype=np.float32))
    total(x, out=x)

    assert np.asarray(x).tolist() == [10, 1, 2, 3, 4]


def test_an_atomic_asks_for_no_position(device: vyre.Device):
    cells = device.array(np.zeros(100, np.uint32))
    counted(cells)

    assert np.asarray(cells)[0] == 1


def test_a_size_of_the_launch_does(device: vyre.Device):
    cells = device.array(np.zeros(1, np.uint32))
    everywhere(device.array(np.ones(9, np.float32)), cells, shape=9)

    assert np.asarray(cells)[0] == 9


def test_a_launch_that_is_prepared_runs_once(device: vyre.Device):
    cells = device.array(np.zeros(100, np.uint32))
    launch = counted.prepare(cells)
    for _ in range(3):
        launch()

    assert np.asarray(cells)[0] == 3


def test_a_shape_of_other_axes_than_an_output_is_refused():
    with pytest.raises(InvalidInput) as caught:
        corners(np.zeros((3, 4), np.float32), n=5, shape=(2, 2))

    assert str(caught.value) == (
        "sizes of corners has 1 axes, the call covers (2, 2)\n"
        "Fix: pass out= with the array to write"
    )


def test_it_is_not_speculated_on():
    with pytest.raises(InvalidInput) as caught:
        vyre.speculate(prefilter=total, confirm=total)

    assert str(caught.value) == (
        "total cannot be speculated on: it asks for no position, and runs once\n"
        "Fix: let one invocation do one item: use gid()"
    )
