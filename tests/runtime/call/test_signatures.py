"""Whatever way a call is written, it ends up with everything packed; nothing but its time tells."""

import gc
from collections import namedtuple

import numpy as np
import pytest

import vyre
from vyre import In, InOut, Out, f32, i32, u32
from vyre.backend.reference.device import Reference
from vyre.errors import InvalidInput, VyreError
from vyre.runtime.call import dispatch
from vyre.runtime.call.fresh import like
from vyre.runtime.devices.device import Device


def spread(x: In[f32], y: In[f32], z: In[f32], low: Out[f32], high: Out[f32], a: f32):
    i = vyre.gid()
    low[i] = a * x[i] - y[i]
    high[i] = a * x[i] + z[i]


def saxpy(x: In[f32], y: In[f32], out: Out[f32], a: f32):
    i = vyre.gid()
    out[i] = a * x[i] + y[i]


def bumped(x: InOut[f32], y: In[f32], a: f32):
    i = vyre.gid()
    x[i] = a * y[i]


def shifted(x: In[f32], out: Out[f32], k: u32):
    i = vyre.gid()
    out[i] = x[i + k]


def raised(x: In[f32], out: Out[f32], k: i32, a: f32):
    i = vyre.gid()
    out[i] = x[i] + f32(k) * a


def marked(x: In[f32], out: Out[f32]):
    i = vyre.gid()
    if x[i] > 2.0:
        out[i] = 1.0


class Recording(Reference):
    """The reference, and how its launches were made."""

    def __init__(self):
        self.ways = []

    def launch(self, *given, **more):
        self.ways.append("launch")
        return super().launch(*given, **more)

    def bind(self, *bound):
        start = super().bind(*bound)

        def started(given, stream):
            start(given, stream)
            self.ways[-1] = "bound"

        return started

    def fix(self, *fixed):
        start = super().fix(*fixed)

        def started(stream):
            start(stream)
            self.ways[-1] = "fixed"

        return started


@pytest.fixture
def backend():
    return Recording()


@pytest.fixture(params=["host", "device"])
def make(request, backend, monkeypatch):
    """What makes arrays that calls use where they are: NumPy's, or a device's own."""
    device = Device("recording:0", backend)
    monkeypatch.setattr(dispatch, "default", lambda: device)
    if request.param == "host":
        return lambda *values: np.array(values, np.float32)
    return lambda *values: device.array(np.array(values, np.float32))


def told(array):
    return np.asarray(array).tolist()


Pair = namedtuple("Pair", "first second")

SPREADS = {
    "a tuple": lambda k, u, v, w, y, z: k(u, v, w, out=(y, z), a=2.0),
    "a list": lambda k, u, v, w, y, z: k(u, v, w, out=[y, z], a=2.0),
    "inputs by name": lambda k, u, v, w, y, z: k(x=u, y=v, z=w, out=(y, z), a=2.0),
    "some inputs by name": lambda k, u, v, w, y, z: k(u, z=w, y=v, out=[y, z], a=2.0),
    "outputs by name": lambda k, u, v, w, y, z: k(u, v, w, high=z, low=y, a=2.0),
    "all by name": lambda k, u, v, w, y, z: k(a=2.0, high=z, low=y, z=w, y=v, x=u),
    "a shape": lambda k, u, v, w, y, z: k(u, v, w, out=(y, z), a=2.0, shape=2),
    "a shape in a tuple": lambda k, u, v, w, y, z: k(u, v, w, out=(y, z), a=2.0, shape=(2,)),
    "a shape in a list": lambda k, u, v, w, y, z: k(u, v, w, out=(y, z), a=2.0, shape=[2]),
    "a shape of NumPy's": lambda k, u, v, w, y, z: k(u, v, w, out=(y, z), a=2.0, shape=np.int64(2)),
    "a shape and names": lambda k, u, v, w, y, z: k(u, v, z=w, low=y, high=z, a=2.0, shape=2),
}


@pytest.mark.parametrize("write", SPREADS.values(), ids=SPREADS)
def test_five_arrays_end_up_with_everything_packed(write, make, backend):
    kernel = vyre.kernel(spread)
    u, v, w, y, z = make(1, 2), make(3, 4), make(5, 6), make(0, 0), make(0, 0)
    for _ in range(8):
        low, high = write(kernel, u, v, w, y, z)

        assert low is y
        assert high is z
    assert (told(y), told(z)) == ([-1, 0], [7, 10])
    assert backend.ways[-1] == "fixed"
    assert "launch" not in backend.ways[1:]


def test_outputs_in_a_tuple_of_another_type_take_the_short_way(make, backend):
    kernel = vyre.kernel(spread)
    u, outs = make(1, 2), Pair(make(0, 0), make(0, 0))
    for _ in range(6):
        low, high = kernel(u, u, u, out=outs, a=2.0)

        assert low is outs.first
        assert high is outs.second
    assert backend.ways == ["launch"] + ["bound"] * 5


ONES = {
    "one in a tuple": lambda k, x, y, out: k(x, y, out=(out,), a=3.0),
    "one in a list": lambda k, x, y, out: k(x, y, out=[out], a=3.0),
    "by their names": lambda k, x, y, out: k(y=y, x=x, out=out, a=3.0),
}


@pytest.mark.parametrize("write", ONES.values(), ids=ONES)
def test_one_output_comes_back_as_it_is(write, make, backend):
    kernel = vyre.kernel(saxpy)
    x, y, out = make(1, 2), make(3, 4), make(0, 0)
    for _ in range(8):
        assert write(kernel, x, y, out) is out
    assert told(out) == [6, 10]
    assert backend.ways[-1] == "fixed"


@pytest.mark.parametrize("named", [False, True])
def test_a_kernel_without_outputs_gives_none(named, make, backend):
    kernel, x, y = vyre.kernel(bumped), make(0, 0), make(3, 4)
    for _ in range(8):
        made = kernel(x=x, y=y, a=2.0) if named else kernel(x, y, a=2.0)

        assert made is None
    assert told(x) == [6, 8]
    assert backend.ways[-1] == "fixed"
    assert kernel(x, y, a=2.0, out=()) is None
    assert kernel(x, y, a=2.0, out=()) is None


def test_outputs_that_are_not_brought_are_new_each_time(make, backend):
    kernel, u, v, w = vyre.kernel(spread), make(1, 2), make(3, 4), make(5, 6)
    kept = [kernel(u, v, w, a=float(number)) for number in range(40)]
    kept += [kernel(u, z=w, y=v, a=float(number)) for number in range(40)]

    assert len({id(one) for pair in kept for one in pair}) == 160
    for number, (low, high) in enumerate(kept):
        assert told(low) == [number % 40 - 3, 2 * (number % 40) - 4]
        assert told(high) == [number % 40 + 5, 2 * (number % 40) + 6]
    assert backend.ways[-1] == "bound"
    # One for each alignment that two of them may have, of each way to write the call.
    assert backend.ways.count("launch") <= 32


def test_what_a_kernel_leaves_out_of_new_outputs_is_zero(make):
    kernel, x = vyre.kernel(marked), make(1, 2, 3, 4)
    for _ in range(12):
        out = kernel(x)

        assert told(out) == [0, 0, 1, 1]
        kernel(make(9, 9, 9, 9), out=out)  # and what is freed is not zero


def test_new_outputs_that_there_is_no_room_for_are_left_to_the_long_way():
    wide = np.broadcast_to(np.float32(0), (1 << 58,))

    assert like([wide], [True])() is None
    assert like([np.zeros(2), wide], [True, True])() is None


# -- numbers


def test_whole_numbers_that_nothing_depends_on_are_numbers_like_any(make, backend):
    kernel, x, out = vyre.kernel(raised), make(1, 2), make(0, 0)
    for k in range(50):
        kernel(x, out=out, k=k, a=2.0)

        assert told(out) == [1 + 2 * k, 2 + 2 * k]
    assert len(kernel._dispatcher.sites) == 1
    assert backend.ways.count("launch") == 1
    for wrong in (True, 1.0, "1", None, 1 << 40):
        with pytest.raises(InvalidInput):
            kernel(x, out=out, k=wrong, a=2.0)


def test_whole_numbers_that_proofs_depend_on_are_each_proved_once(make, backend):
    kernel, x, out = vyre.kernel(shifted), make(1, 2, 3, 4), make(0, 0, 0, 0)
    some = (0, 1, np.uint32(2), 3, 4)
    for turn in range(12):
        for k in some:
            kernel(x, out=out, k=k)

            assert told(out) == [1, 2, 3, 4][k:] + [0] * int(k)
        assert turn == 0 or "launch" not in backend.ways[-5:]
    assert len(kernel._dispatcher.sites) == 5
    assert backend.ways[-5:] == ["fixed"] * 5
    for wrong in (True, 1.0, "1", None, -1, 1 << 40):
        with pytest.raises(InvalidInput):
            kernel(x, out=out, k=wrong)


# -- what may change between two calls


def test_a_list_of_outputs_is_read_each_time(make):
    kernel, x, outs = vyre.kernel(spread), make(1, 2), [make(0, 0), make(0, 0)]
    first, second = outs
    for _ in range(6):
        kernel(x, x, x, out=outs, a=3.0)
    outs.reverse()

    assert kernel(x, x, x, out=outs, a=3.0)[0] is second
    assert (told(first), told(second)) == ([4, 8], [2, 4])
    outs.pop()
    with pytest.raises(InvalidInput) as caught:
        kernel(x, x, x, out=outs, a=3.0)
    assert caught.value.problem == "out= has 1 arrays; spread writes 2 (low, high)"


def test_outputs_that_are_one_array_are_refused_every_time(make):
    kernel, x, y, z = vyre.kernel(spread), make(1, 2), make(0, 0), make(0, 0)
    for _ in range(6):
        kernel(x, x, x, out=(y, z), a=3.0)

    with pytest.raises(InvalidInput) as caught:
        kernel(x, x, x, out=(y, y), a=3.0)
    assert caught.value.problem == "low and high of spread are both written and share memory"


def test_arrays_where_others_were_are_not_taken_for_them(make):
    kernel, x = vyre.kernel(spread), make(1, 2)
    for number in range(60):
        y, z = make(number, 0), make(0, number)
        for _ in range(4):
            low, high = kernel(x, y=y, z=z, out=(make(0, 0), make(0, 0)), a=1.0)

            assert (told(low), told(high)) == ([1 - number, 2], [1, 2 + number])
        del low, high, y, z
        gc.collect(0)


WRONG = {
    "one too many": lambda k, x, y, out: k(x, y, out, a=1.0),
    "one too many, and an output": lambda k, x, y, out: k(x, y, x, out=out, a=1.0),
    "one too few": lambda k, x, y, out: k(x, out=out, a=1.0),  # noqa: ARG005  # as the others
    "an input in out=": lambda k, x, y, out: k(x, out=(y, out), a=1.0),
    "a number too few": lambda k, x, y, out: k(x, y, out=out),
    "a number too many": lambda k, x, y, out: k(x, y, out=out, a=1.0, b=2.0),
    "another number": lambda k, x, y, out: k(x, y, out=out, b=1.0),
    "one twice": lambda k, x, y, out: k(x, y, y=y, out=out, a=1.0),
    "one twice, as None": lambda k, x, y, out: k(x, x=None, y=y, out=out, a=1.0),
    "one that is None": lambda k, x, y, out: k(x, None, out=out, a=1.0),  # noqa: ARG005  # as the others
    "one that is None, by name": lambda k, x, y, out: k(x, y=None, out=out, a=1.0),  # noqa: ARG005  # as the others
    "an output that is None": lambda k, x, y, out: k(x, y, out=(None,), a=1.0),  # noqa: ARG005  # as the others
    "an array as a number": lambda k, x, y, out: k(x, y, out=out, a=y),
    "a shape that is none": lambda k, x, y, out: k(x, y, out=out, a=1.0, shape=2.0),
    "a stream": lambda k, x, y, out: k(x, y, out=out, a=1.0, stream=7),
    "a stream that is none": lambda k, x, y, out: k(x, y=y, out=out, a=1.0, stream="main"),
}


def refusal(write, kernel, *arrays):
    try:
        write(kernel, *arrays)
    except VyreError as error:
        return type(error), str(error)
    return None


@pytest.mark.parametrize("write", WRONG.values(), ids=WRONG)
def test_a_wrong_call_is_refused_in_the_same_words_after_right_ones(write, make):
    kernel, x, y, out = vyre.kernel(saxpy), make(1, 2), make(3, 4), make(0, 0)
    expected = refusal(write, vyre.kernel(saxpy), x, y, out)
    for _ in range(6):
        kernel(x, y, out=out, a=1.0)
        kernel(x, y, out=(out,), a=1.0)
        kernel(x, y=y, out=out, a=1.0)
        kernel(x=x, y=y, out=out, a=1.0)
        kernel(x, y, a=1.0)
        kernel(x, y, out=out, a=1.0, shape=2)

    assert expected is not None
    assert refusal(write, kernel, x, y, out) == expected
    assert refusal(write, kernel, x, y, out) == expected


@pytest.mark.parametrize("by_name", [False, True])
def test_an_array_that_was_changed_in_place_is_what_it_is_now(backend, monkeypatch, by_name):
    device = Device("recording:0", backend)
    monkeypatch.setattr(dispatch, "default", lambda: device)
    kernel = vyre.kernel(spread)
    u, y, z = (np.ones(4, np.float32) for _ in range(3))
    given = {"low": y, "high": z} if by_name else {"out": (y, z)}
    for _ in range(8):
        kernel(u, u, u, a=2.0, **given)
    u.resize(8, refcheck=False)  # and the rest of it is zeros
    u[...] = 2

    for _ in range(8):
        kernel(u, u, u, a=2.0, **given)
        assert (y.tolist(), z.tolist()) == ([2] * 4, [6] * 4)
    y.setflags(write=False)
    with pytest.raises(InvalidInput) as caught:
        kernel(u, u, u, a=2.0, **given)
    assert caught.value.problem == "low of spread is written, but its array is read-only"
