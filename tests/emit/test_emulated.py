"""CUDA's own text, run without a GPU: a share of what scripts/emulate_cuda.py runs."""

import sys
from dataclasses import replace

import numpy as np
import pytest

import vyre
from vyre import In, Out, f32, i8, i16
from vyre.emit import CUDA
from vyre.model import Code, Schedule
from vyre.runtime.devices.device import Device
from vyre.testing.cuda_on_host import CudaOnHost, Strayed, compiler
from vyre.testing.tile_compare import compare

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or compiler() is None, reason="it takes g++ and Linux's fibers"
)
SHARE, AT_ONCE = 24, 4
PASSED_ON = Schedule((32, 2, 1), Code(items=4, vector=4, checked=False, fitted=True))
BROUGHT = Schedule((16, 4, 1), Code(lines=4, depth=1, checked=False))


@pytest.fixture(scope="module")
def device():
    return Device("cuda-on-host", CudaOnHost())


@pytest.mark.parametrize("whole", [True, False], ids=["whole tiles", "odd extents"])
@pytest.mark.parametrize("first", range(0, SHARE, AT_ONCE))
def test_every_schedule_of_cudas_text_gives_the_bits_of_the_reference(device, first, whole):
    tally = compare(device, range(first, first + AT_ONCE), count=3, whole=whole)

    assert tally.wrong == []
    assert tally.runs > AT_ONCE  # more than the plain schedules


@vyre.kernel
def neighbours(x: In[f32, 2], out: Out[f32, 2]):
    i, j = vyre.gid(0), vyre.gid(1)
    out[i, j] = x[i - 1, j] + x[i + 1, j] + 2.0 * x[i, j - 1] + 3.0 * x[i, j + 1] + x[i, j]


@vyre.kernel
def turned(x: In[f32, 2], out: Out[f32, 2]):
    i, j = vyre.gid(0), vyre.gid(1)
    out[i, j] = x[j, i]


def result(device, kernel, schedule=None):
    x = np.arange(1, 1 + 128 * 128, dtype=np.float32).reshape(128, 128)
    out = device.array(np.zeros_like(x))
    kernel(device.array(x), out=out, schedule=schedule)
    return np.asarray(out)


@pytest.mark.parametrize(
    ("kernel", "schedule"), [(neighbours, PASSED_ON), (turned, BROUGHT)], ids=lambda it: str(it)[:9]
)
def test_lanes_pass_elements_on_and_bring_them_together(device, kernel, schedule):
    text = device.source(kernel.program, schedule.code)

    assert ("__shfl_up_sync" in text) == (kernel is neighbours)
    assert ("__syncthreads" in text) == (kernel is turned)
    assert np.array_equal(result(device, kernel, schedule), result(vyre.open("reference"), kernel))


MISTAKES = {
    "the lane above for the lane below": (neighbours, {"from_lane_below": CUDA.from_lane_above}),
    "the lane below for the lane above": (neighbours, {"from_lane_above": CUDA.from_lane_below}),
    "a lane itself": (neighbours, {"from_lane_below": "{value}"}),
    "two lanes away": (neighbours, {"from_lane_above": CUDA.from_lane_above.replace("1)", "2)")}),
    "a mask that leaves lanes out": (
        neighbours,
        {"from_lane_below": CUDA.from_lane_below.replace("0xffffffffu", "0xfffffffeu")},
    ),
    "a vector an element on": (neighbours, {"vector_load": "*(const {vector}*)({at} + 1)"}),
    "no barrier": (turned, {"barrier": ";"}),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_cudas_words_is_seen(mistake):
    kernel, words = MISTAKES[mistake]
    wrong = Device("cuda-on-host", CudaOnHost(replace(CUDA, **words)))
    schedule = PASSED_ON if kernel is neighbours else BROUGHT

    try:
        found = result(wrong, kernel, schedule)
    except Strayed:
        return
    assert not np.array_equal(found, result(vyre.open("reference"), kernel))


def test_a_read_behind_the_end_of_an_array_is_seen():
    words = {"vector_load": "*(const {vector}*)({at} + 128 * 128)"}
    wrong = Device("cuda-on-host", CudaOnHost(replace(CUDA, **words)))

    with pytest.raises(Strayed, match="Segmentation fault, by lane"):
        result(wrong, neighbours, PASSED_ON)


@vyre.kernel
def halved(x: In[i16], out: Out[i16]):
    i = vyre.gid()
    out[i] = x[i] >> i16(1)


@vyre.kernel
def shaded(x: In[i8, 2], out: Out[i8, 2]):
    i, j = vyre.gid(0), vyre.gid(1)
    out[i, j] = x[i, j] - x[i, j + 1]


@pytest.mark.parametrize(
    ("kernel", "width", "element"), [(halved, 8, np.int16), (shaded, 16, np.int8)]
)
def test_signed_narrow_numbers_are_packed_into_words(device, kernel, width, element):
    x = np.arange(-128, 128).astype(element).reshape((256,) if kernel is halved else (2, 128))
    code = Code(items=width, vector=width, checked=False)
    exact, out = vyre.open("reference").array(np.zeros_like(x)), device.array(np.zeros_like(x))

    kernel(vyre.open("reference").array(x), out=exact)
    kernel(device.array(x), out=out, schedule=Schedule((4, 1, 1), code))

    assert "make_uint4(" in device.source(kernel.program, code)
    assert np.array_equal(np.asarray(out), np.asarray(exact))


@vyre.kernel
def counted_twice(x: In[f32, 2], out: Out[f32, 2]):
    i, j = vyre.gid(0), vyre.gid(1)
    found = 0.0
    for k in range(j % 5):  # as far as each position has its own
        found = 0.5 * found + x[i, k]
    for k in range(3, 100):  # as far for all of them
        found = 0.5 * found + x[k, j]
    out[i, j] = found


@pytest.mark.parametrize(
    "code",
    [
        Code(),
        Code(fitted=True),
        Code(unroll=2, fitted=True),
        Code(items=4, vector=4),
        Code(items=2, lines=2, fitted=True),
        Code(depth=1),
    ],
    ids=lambda code: Schedule((32, 2, 1), code).text,
)
def test_a_name_may_count_for_each_position_and_then_for_all(device, code):
    schedule = Schedule((32, 2, 1), Code(**{**code.parts(), "checked": False}))

    found = result(device, counted_twice, schedule)

    assert np.array_equal(found, result(vyre.open("reference"), counted_twice))


@vyre.kernel
def as_far_as_there_are(w: In[f32], x: In[f32], out: Out[f32]):
    i = vyre.gid()
    found = 0.0
    for k in range(len(w)):
        found = 0.5 * found + w[k] * x[i]
    for k in range(len(x) - i):  # beyond the array, four thousand million rounds
        found = 0.5 * found + x[k]
    out[i] = found


@pytest.mark.parametrize("loaders", [0, 1])
def test_a_lane_beyond_the_extent_counts_no_rounds(device, loaders):
    w, x = (np.arange(size, dtype=np.float32) for size in (40, 70))
    schedule = Schedule((32, 1, 1), Code(depth=8, loaders=loaders, checked=False))

    def result(where, schedule=None):
        out = where.array(np.zeros_like(x))
        as_far_as_there_are(where.array(w), where.array(x), out=out, schedule=schedule)
        return np.asarray(out)

    text = device.source(as_far_as_there_are.program, schedule.code)

    assert "    if (mine && column0 < n_x) {\n        for (" in text  # or the next line takes hours
    assert np.array_equal(result(device, schedule), result(vyre.open("reference")))


@vyre.kernel
def weighed(x: In[f32, 2], w: In[f32, (5, 5)], out: Out[f32, 2]):
    i, j = vyre.gid(0), vyre.gid(1)
    s = 0.0
    for di in range(5):
        for dj in range(5):
            s += w[di, dj] * x[i + di - 2, j + dj - 2]
    out[i, j] = s + w[4, 3] * x[i - 1, j]


@pytest.mark.parametrize(
    ("fitted", "parts"), [(False, {}), (True, {"lines": 4}), (False, {"lines": 3, "items": 8})]
)
def test_weights_in_vectors_and_rows_beside_each_other_are_the_right_ones(device, fitted, parts):
    shape = (96, 128) if fitted else (37, 44)
    x = np.random.default_rng(0).standard_normal(shape, np.float32)
    w = np.random.default_rng(1).standard_normal((5, 5), np.float32)
    code = Code(**({"items": 4, "vector": 4, "checked": False, "fitted": fitted} | parts))
    exact = vyre.open("reference")

    found = weighed(device.array(x), device.array(w), schedule=Schedule((8, 4, 1), code))

    assert "const float4 row_w" in device.source(weighed.program, code)
    expected = weighed(exact.array(x), exact.array(w))
    assert np.array_equal(np.asarray(found), np.asarray(expected))
