"""A call like an earlier one takes a short way; nothing but its time tells."""

import gc
import threading
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import vyre
from vyre import In, InOut, Out, f32, i32, u32
from vyre.errors import InvalidInput, VyreError
from vyre.runtime.arrays import array as arrays
from vyre.runtime.devices.device import Device


def saxpy(x: In[f32], y: In[f32], out: Out[f32], a: f32):
    i = vyre.gid()
    out[i] = a * x[i] + y[i]


def stepped(x: In[f32], out: Out[f32], k: i32, n: u32):
    i = vyre.gid()
    out[i] = x[i] + f32(k) * f32(n)


def split(x: In[f32], low: Out[f32], high: Out[f32]):
    i = vyre.gid()
    low[i] = x[i] - 1.0
    high[i] = x[i] + 1.0


def bumped(x: InOut[f32], a: f32):
    i = vyre.gid()
    x[i] = x[i] + a


def spread(x: In[f32], y: In[f32], z: In[f32], low: Out[f32], high: Out[f32], k: u32, a: f32):
    i = vyre.gid()
    low[i] = a * x[i] - y[i]
    high[i] = a * x[i + k] + z[i]


FUNCTIONS = {
    "saxpy": (saxpy, 2),
    "stepped": (stepped, 1),
    "split": (split, 1),
    "bumped": (bumped, 1),
    "spread": (spread, 3),
}
SCALARS = {
    "saxpy": ("a",),
    "stepped": ("k", "n"),
    "split": (),
    "bumped": ("a",),
    "spread": ("k", "a"),
}
ARRAYS = {
    "saxpy": ("x", "y", "out"),
    "stepped": ("x", "out"),
    "split": ("x", "low", "high"),
    "bumped": ("x",),
    "spread": ("x", "y", "z", "low", "high"),
}

KEPT = np.array(3.0)  # changed in place between calls
WHOLE = np.array(2)
NUMBERS = [
    1,
    True,
    1.0,
    2.5,
    -0.0,
    float("nan"),
    np.float32(1),
    np.float64(0.1),
    np.int64(1),
    np.uint8(7),
    np.bool_(True),
    np.array(1.0),
    np.array(1),
    np.array([1.0]),
    -1,
    1 << 32,
    10**400,
    1e39,
    1j,
    Fraction(1, 2),
    "1",
    None,
    KEPT,
    WHOLE,
]
SHAPES = [
    None,
    None,
    None,
    10,
    10.0,
    True,
    1,
    (10,),
    [10],
    (10.0,),
    (True,),
    np.int64(10),
    (2, 5),
    (2, 5.0),
    np.array(10),
    "10",
    -1,
    0,
    5,
]


class Pool:
    """Arrays of one device, a few of each kind; some are made anew now and then."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.made = [self.make(number) for number in range(12)]

    def make(self, number: int):
        shape = ((10,), (2, 5), (10,), (8,), (10,), (10,))[number % 6]
        dtype = np.int32 if number == 4 else np.float32
        values = np.arange(1, 1 + np.prod(shape), dtype=dtype).reshape(shape) + number
        return values if number == 11 else self.device.array(values)

    def refill(self) -> None:
        for number, one in enumerate(self.made):
            fresh = np.asarray(self.make(number))
            if isinstance(one, np.ndarray):
                one[...] = fresh
            else:
                self.device.backend.upload(one.memory, fresh)

    def contents(self) -> list:
        return [np.asarray(one).tobytes() for one in self.made]


def outcome(kernel, pool: Pool, call):
    """What a call gives, what is in the arrays afterwards, or the words of its error."""
    pool.refill()
    try:
        result = call(kernel)
    except VyreError as error:
        return type(error), str(error), pool.contents()
    return _known(pool, result), pool.contents()


def _known(pool: Pool, result):
    """A result by its place in the pool, or by its contents where the call has made it."""
    if isinstance(result, (tuple, list)):
        return type(result), [_known(pool, one) for one in result]
    for number, one in enumerate(pool.made):
        if one is result:
            return number
    return None if result is None else np.asarray(result).tobytes()


ALIKE = (0, 2, 6, 8, 5)  # of one kind, so that calls repeat
OUTS = ("none", "one", "one", "one", "tuple", "list", "pair", "pair", "pair list", "empty", "named")


@st.composite
def calls(draw, name):
    _, inputs = FUNCTIONS[name]
    count = draw(st.sampled_from([inputs] * 8 + [*range(inputs), inputs + 1]))
    picked = list(draw(st.sampled_from([ALIKE, ALIKE, ALIKE[::-1], (6, 0, 8, 2, 5)])))
    if not draw(st.integers(0, 3)):
        picked[draw(st.integers(0, 4))] = draw(st.integers(0, 11))
    positional, out = picked[:count], picked[3:]
    outs = draw(st.sampled_from(OUTS))
    named = {
        scalar: draw(st.one_of(st.sampled_from([1, 2.5, KEPT, WHOLE]), st.sampled_from(NUMBERS)))
        for scalar in SCALARS[name]
        if draw(st.integers(0, 19))
    }
    arrays = ARRAYS[name]
    by_name = dict(zip(arrays[count:inputs], picked[count:inputs], strict=False))
    if outs == "named":
        by_name |= dict(zip(arrays[inputs:], out, strict=False))
    if not draw(st.integers(0, 9)):
        by_name[draw(st.sampled_from((*arrays, "w")))] = draw(st.sampled_from([0, 3, 11]))
    by_name.pop("out", None)  # that is what every call has
    shape = draw(st.sampled_from(SHAPES))
    stream = draw(st.sampled_from([None] * 12 + [7, "main"]))
    before = draw(st.sampled_from(["nothing"] * 5 + ["change a number", "new arrays"]))
    times = draw(st.sampled_from([1, 2, 6]))
    return positional, outs, out, by_name, named, shape, stream, before, times


def run_all(name, device, sequence) -> None:
    """Each call on one kernel, now and then repeatedly, and on a kernel never called before."""
    function, _ = FUNCTIONS[name]
    kernel, pool = vyre.kernel(function), Pool(device)
    for positional, outs, out, by_name, named, shape, stream, before, times in sequence:
        if before == "change a number":
            KEPT[...] += 1
            WHOLE[...] = (WHOLE + 1) % 100
        if before == "new arrays":  # where the old ones were, as like as not
            pool.made[:4] = [None] * 4
            gc.collect()
            pool.made[:4] = [pool.make(number) for number in range(4)]
        picked = [pool.made[number] for number in out]
        given_out = {
            "none": None,
            "one": picked[0],
            "tuple": (picked[0],),
            "list": [picked[0]],
            "pair": tuple(picked),
            "pair list": picked,
            "empty": (),
            "named": None,
        }[outs]
        asked = {"shape": shape, "stream": stream, **named}

        def call(called, out=given_out, places=positional, names=by_name, asked=asked):
            arrays = {name: pool.made[number] for name, number in names.items()}
            return called(*(pool.made[number] for number in places), out=out, **arrays, **asked)

        expected = outcome(vyre.kernel(function), pool, call)
        for _ in range(times):
            assert outcome(kernel, pool, call) == expected


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("place", ["reference", "cpu", "opencl"])
@settings(max_examples=20, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_sequence_of_calls_gives_what_each_would_give_alone(name, place, request, data):
    if place == "opencl":
        request.getfixturevalue("opencl")
    sequence = data.draw(st.lists(calls(name), min_size=2, max_size=16))
    with vyre.mode("off"):
        run_all(name, vyre.open(place), sequence)


@pytest.fixture
def device():
    return vyre.open("reference")


def test_a_number_in_an_array_that_is_changed_in_place_is_the_new_one(device):
    kernel = vyre.kernel(saxpy)
    x, y = (device.array(np.ones(4, np.float32)) for _ in range(2))
    a, out = np.array(1.0), device.zeros(4, np.float32)

    for value in range(1, 8):
        a[...] = value
        kernel(x, y, a=a, out=out)

        assert np.asarray(out).tolist() == [value + 1.0] * 4


@pytest.mark.parametrize("shape", [4.0, np.float64(4), (4.0,), [4.0]], ids=repr)
def test_a_shape_that_equals_one_but_is_none_is_refused_every_time(device, shape):
    kernel = vyre.kernel(saxpy)
    x, y, out = (device.zeros(4, np.float32) for _ in range(3))
    for right in (4, (4,)):
        for _ in range(3):
            kernel(x, y, a=1.0, out=out, shape=right)

    with pytest.raises(InvalidInput) as caught:
        kernel(x, y, a=1.0, out=out, shape=shape)

    assert caught.value.fix == "pass whole numbers of at least 0"


def test_an_output_among_the_inputs_is_refused_every_time(device):
    kernel = vyre.kernel(saxpy)
    x, y, out = (device.zeros(4, np.float32) for _ in range(3))
    for _ in range(3):
        kernel(x, y, a=1.0, out=out)

    with pytest.raises(InvalidInput) as caught:
        kernel(x, y, out, a=1.0)

    assert caught.value.problem == "saxpy takes 2 input arrays (x, y), 3 given"


def test_outputs_in_a_list_come_back_as_they_do_the_first_time(device):
    kernel = vyre.kernel(split)
    x, one, two = (device.zeros(4, np.float32) for _ in range(3))
    outs = [one, two]
    first = kernel(x, out=outs)

    again = kernel(x, out=outs)

    assert first == again == (one, two)
    outs.reverse()
    assert kernel(x, out=outs) == (two, one)
    assert np.asarray(two).tolist() == [-1.0] * 4


def test_a_device_array_cannot_be_changed_in_place(device):
    x = device.zeros((2, 3), np.float32)

    with pytest.raises(InvalidInput) as caught:
        x.shape = (3, 2)

    assert str(caught.value) == (
        "shape of <DeviceArray float32[2, 3] on reference:0> cannot be set\n"
        "Fix: make another array, such as device.array(numpy.asarray(x).reshape(shape))"
    )


def test_devices_of_one_name_are_told_apart(device):
    other = Device(device.name, type(device.backend)())
    kernel = vyre.kernel(saxpy)
    for where in (device, other, device, other):
        x, out = where.array(np.ones(4, np.float32)), where.zeros(4, np.float32)
        kernel(x, x, a=1.0, out=out)

        assert np.asarray(out).tolist() == [2.0] * 4
    assert {launcher.device for launcher in kernel._dispatcher._launchers.values()} == {
        device,
        other,
    }


def test_kinds_of_arrays_that_threads_make_at_once_are_told_apart(device, monkeypatch):
    monkeypatch.setattr(arrays, "_keys", {})
    found = []

    def make(start):
        found.extend((size, device.empty(size, np.uint8).key) for size in range(start, 4000, 8))

    threads = [threading.Thread(target=make, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len({key for _, key in found}) == len(found)


def test_a_stream_of_ever_new_shapes_is_not_kept_for_ever(device, monkeypatch):
    monkeypatch.setattr(arrays, "_keys", {})
    monkeypatch.setattr(arrays, "MOST_KEYS", 100)
    keys = [device.empty(size, np.uint8).key for size in range(1000)]

    assert len(arrays._keys) <= 100
    assert len(set(keys)) == 1000
