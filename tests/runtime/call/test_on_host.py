"""Calls on NumPy arrays that a launch uses where they are: nothing but their time tells."""

import gc
import threading
import warnings
import weakref
from collections import deque

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import vyre
from vyre import In, InOut, Out, f32, i32, u8, u32
from vyre.backend.reference.device import Reference
from vyre.errors import DeviceFailed, InvalidInput, VyreError
from vyre.runtime.call import arguments, dispatch
from vyre.runtime.call.arguments import CopyWarning
from vyre.runtime.devices.device import Device


def saxpy(x: In[f32], y: In[f32], out: Out[f32], a: f32):
    i = vyre.gid()
    out[i] = a * x[i] + y[i]


def shifted(x: In[f32], out: Out[f32]):
    i = vyre.gid()
    out[i] = x[i + 1]


def bumped(x: InOut[f32], a: f32):
    i = vyre.gid()
    x[i] = x[i] + a


def stepped(x: In[f32], out: Out[f32], k: i32):
    i = vyre.gid()
    out[i] = x[i] + f32(k)


def split(x: In[f32], low: Out[f32], high: Out[f32]):
    i = vyre.gid()
    low[i] = x[i] - 1.0
    high[i] = x[i] + 1.0


def turned(x: In[f32, 2], out: Out[f32, 2]):
    i, j = vyre.gid(0), vyre.gid(1)
    out[i, j] = x[i, j] + f32(i)


def widened(x: In[u8], out: Out[u32]):
    i = vyre.gid()
    out[i] = u32(x[i]) + 1


def marked(out: Out[f32]):
    i = vyre.gid()
    if i % 2 == 0:
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
def backend(monkeypatch):
    """What runs calls on NumPy arrays."""
    made = Recording()
    device = Device("recording:0", made)
    monkeypatch.setattr(dispatch, "default", lambda: device)
    monkeypatch.setattr(arguments, "_said", set())  # each test hears of copies itself
    return made


def floats(*shape, start=0):
    return np.arange(start, start + np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)


def known(kernel, *arrays, **named):
    """Call until the arrays are known, and the numbers packed."""
    for _ in range(8):
        kernel(*arrays, **named)


# -- which way


def test_a_call_on_the_same_arrays_ends_up_with_everything_packed(backend):
    kernel = vyre.kernel(saxpy)
    x, y, out = floats(5), floats(5, start=9), np.zeros(5, np.float32)

    for _ in range(8):
        assert kernel(x, y, out=out, a=2.5) is out

    assert backend.ways[0] == "launch"
    assert backend.ways[1] == "bound"
    assert backend.ways[-1] == "fixed"
    assert np.array_equal(out, 2.5 * x + y)


def test_calls_on_ever_new_arrays_take_the_short_way_and_leave_nothing_behind(backend):
    kernel = vyre.kernel(saxpy)
    space = np.zeros(3 * 64, np.float32)
    start = -(space.ctypes.data // 4) % 16
    kept = []
    for number in range(20):
        x, y, out = (space[start + 48 * k :][:16] for k in range(3))  # of one alignment
        kept.append((x, y, out))
        x[...] = number
        kernel(x, y, out=out, a=2.0)

        assert out.tolist() == [2.0 * number] * 16
    assert backend.ways == ["launch"] + ["bound"] * 19
    assert not kernel._dispatcher.short.same


def test_calls_on_several_sets_of_arrays_in_turn_are_all_known(backend):
    kernel = vyre.kernel(saxpy)
    space = np.zeros(20 * 16, np.float32)
    start = -(space.ctypes.data // 4) % 16
    sets = [[space[start + 16 * (3 * n + k) :][:16] for k in range(3)] for n in range(6)]
    for turn in range(8):
        for number, (x, y, out) in enumerate(sets):
            x[...] = turn + number
            assert kernel(x, y, out=out, a=2.0).tolist() == [2.0 * (turn + number)] * 16

    assert backend.ways[-6:] == ["fixed"] * 6


def test_outputs_that_are_not_brought_are_new_each_time(backend):
    kernel = vyre.kernel(saxpy)
    x, y = floats(7), floats(7)
    results = [kernel(x, y, a=float(number)) for number in range(40)]

    for number, result in enumerate(results):
        assert np.array_equal(result, number * x + y)
    assert len({result.ctypes.data for result in results}) == 40
    assert backend.ways.count("launch") <= 4  # one for each alignment that they may have


def test_several_outputs_that_are_not_brought_come_in_a_tuple(backend):
    kernel, x = vyre.kernel(split), floats(3, start=1)
    for _ in range(30):
        low, high = kernel(x)

        assert (low.tolist(), high.tolist()) == ([0, 1, 2], [2, 3, 4])
    assert "bound" in backend.ways


def test_what_a_kernel_leaves_out_is_zero_every_time(backend):
    kernel = vyre.kernel(marked)
    for _ in range(20):
        made = kernel(shape=6)
        assert made.tolist() == [1, 0] * 3
        made[...] = 7  # where a later one may be made
        del made
    assert "bound" in backend.ways


@pytest.mark.usefixtures("backend")
def test_outputs_are_filled_only_where_something_may_be_left(monkeypatch):
    whole, partly = vyre.kernel(saxpy), vyre.kernel(marked)
    filled = []
    monkeypatch.setattr(np, "zeros", lambda *how, real=np.zeros: filled.append(how) or real(*how))
    x = floats(6)
    for _ in range(20):
        whole(x, x, a=1.0)
    after = filled.count(((6,), np.float32))
    for _ in range(20):
        partly(shape=6)

    assert after <= 4  # of the calls that took the long way, one for each alignment
    assert filled.count(((6,), np.float32)) == after + 20


def test_a_kernel_that_only_changes_its_arrays_gives_none(backend):
    kernel, x = vyre.kernel(bumped), np.zeros(4, np.float32)
    for number in range(1, 9):
        assert kernel(x, a=1.0) is None
        assert x.tolist() == [number] * 4
    assert backend.ways[-1] == "fixed"


def test_outputs_in_a_tuple_or_a_list_come_back_alike(backend):
    kernel, x = vyre.kernel(split), floats(4)
    low, high = np.zeros((2, 4), np.float32)
    for outs in ((low, high), [low, high]):
        for _ in range(4):
            result = kernel(x, out=outs)
            assert type(result) is tuple
            assert result[0] is low
            assert result[1] is high
    assert "bound" in backend.ways


def test_a_backend_that_cannot_use_host_memory_goes_the_long_way(backend):
    backend.uses_host_memory = False
    kernel = vyre.kernel(saxpy)
    x, y, out = floats(5), floats(5), np.zeros(5, np.float32)

    known(kernel, x, y, out=out, a=1.0)

    assert set(backend.ways) == {"launch"}


def test_device_arrays_of_such_a_backend_work_as_any(backend):
    device = Device("other:0", backend)
    kernel = vyre.kernel(saxpy)
    x, y, out = device.array(floats(6)), device.array(floats(6)), device.zeros(6, np.float32)
    for number in range(8):
        assert kernel(x, y, out=out, a=float(number)) is out
        assert np.array_equal(out, floats(6) * (number + 1))
        assert np.array_equal(kernel(floats(6), floats(6), a=2.0), floats(6) * 3)
    known(kernel, x, y, out=out, a=1.0)
    assert backend.ways[-1] == "fixed"


# -- arrays that are changed in place


def squeezed(array):
    array.shape = (2, 8)


def reinterpreted(array):
    array.dtype = np.int32


def swapped(array):
    array.dtype = array.dtype.newbyteorder()


def spread(array):
    array.shape = (8, 2)
    array.strides = (4, 32)


def cut(array):
    array.resize(8, refcheck=False)


def grown(array):
    array.resize(100_000, refcheck=False)


def frozen(array):
    array.setflags(write=False)


def restored(array):
    array.__setstate__((1, (4,), np.dtype(np.float32), False, np.ones(4, np.float32).tobytes()))


CHANGES = [squeezed, reinterpreted, swapped, spread, cut, grown, frozen, restored]


def outcome(call):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CopyWarning)
            result = call()
    except VyreError as error:
        return str(error)
    return result.shape, result.dtype, result.tobytes()


@pytest.mark.parametrize("which", range(3), ids=["x", "y", "out"])
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.usefixtures("backend")
def test_an_array_that_was_changed_in_place_is_taken_as_what_it_is_now(change, which):
    kernel = vyre.kernel(saxpy)
    arrays = [floats(16, start=100 * number).copy() for number in range(3)]
    known(kernel, *arrays[:2], out=arrays[2], a=2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of NumPy, which allows it still
        change(arrays[which])
    twins = [array.copy(order="K") for array in arrays]
    for one, twin in zip(arrays, twins, strict=True):
        twin.setflags(write=one.flags.writeable)

    for _ in range(4):
        found = outcome(lambda: kernel(*arrays[:2], out=arrays[2], a=2.0))
        expected = outcome(lambda: vyre.kernel(saxpy)(*twins[:2], out=twins[2], a=2.0))
        assert found == expected


@pytest.mark.parametrize("shape", [(8, 2), (4, 4), (2, 8)])
@pytest.mark.usefixtures("backend")
def test_extents_that_change_places_and_come_back_are_seen(shape):
    kernel = vyre.kernel(turned)
    x, out = floats(2, 8).copy(), np.zeros((2, 8), np.float32)
    known(kernel, x, out=out)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        for extents in ((8, 2), (4, 4), shape):  # NumPy's cache gives old memory out again
            x.shape = out.shape = extents

    kernel(x, out=out)

    assert np.array_equal(out, x + np.arange(shape[0], dtype=np.float32)[:, None])


@pytest.mark.usefixtures("backend")
def test_another_array_at_the_place_of_one_that_is_gone_is_told_apart():
    kernel = vyre.kernel(saxpy)
    y, out = np.zeros(64, np.float32), np.zeros(64, np.float32)
    for number in range(30):
        size = 64 if number % 2 else 48
        x = np.full(size, number, np.float32)
        for _ in range(6):
            kernel(x, y, out=out, a=1.0)
        assert out.tolist() == [number] * size + [0] * (64 - size)
        del x


@pytest.mark.usefixtures("backend")
def test_a_kernel_keeps_no_array_alive():
    kernel = vyre.kernel(saxpy)
    x, y, out = floats(8), floats(8).copy(), np.zeros(8, np.float32)
    x = x.copy()
    known(kernel, x, y, out=out, a=1.0)
    assert kernel._dispatcher.short.same
    alive = [weakref.ref(array) for array in (x, y, out)]

    del x, y, out
    gc.collect()

    assert [one() for one in alive] == [None] * 3


@pytest.mark.usefixtures("backend")
def test_an_array_that_was_used_can_still_be_resized():
    kernel, x = vyre.kernel(bumped), np.zeros(8, np.float32)
    known(kernel, x, a=1.0)

    x.resize(10, refcheck=False)  # which NumPy refuses where there are weak references
    kernel(x, a=1.0)

    assert x.tolist() == [9] * 8 + [1] * 2


# -- arrays that share memory


def test_an_output_that_is_an_input_is_written_in_place(backend):
    kernel, y = vyre.kernel(saxpy), np.zeros(6, np.float32)
    x = np.ones(6, np.float32)
    for number in range(1, 9):
        assert kernel(x, y, out=y, a=1.0) is y
        assert y.tolist() == [number] * 6
    assert backend.ways[-1] == "fixed"


@pytest.mark.parametrize("gap", range(5))
@pytest.mark.usefixtures("backend")
def test_an_input_that_overlaps_the_output_is_read_first_every_time(gap):
    kernel = vyre.kernel(shifted)
    memory = np.zeros(12, np.float32)
    apart = np.zeros(12, np.float32)
    for _ in range(6):
        memory[...] = np.arange(12)
        kernel(memory[:8], out=apart[:8])
        kernel(memory[:8], out=memory[gap : gap + 8])

        assert memory[gap : gap + 8].tolist() == [1, 2, 3, 4, 5, 6, 7, 0]


@pytest.mark.usefixtures("backend")
def test_outputs_that_overlap_are_refused_every_time():
    kernel, x, memory = vyre.kernel(split), floats(4), np.zeros(12, np.float32)
    for _ in range(4):
        kernel(x, out=(memory[:4], memory[4:8]))

    with pytest.raises(InvalidInput) as caught:
        kernel(x, out=(memory[:4], memory[3:7]))

    assert caught.value.problem == "low and high of split are both written and share memory"


# -- kinds of arrays, and numbers


@pytest.mark.usefixtures("backend")
def test_bools_are_bytes_every_time():
    kernel = vyre.kernel(widened)
    x, out = np.array([True, False, True]), np.zeros(3, np.uint32)
    for _ in range(8):
        out[...] = 0
        assert kernel(x, out=out).tolist() == [2, 1, 2]
        assert kernel(x.view(np.uint8), out=out).tolist() == [2, 1, 2]


@pytest.mark.usefixtures("backend")
def test_arrays_that_lie_otherwise_are_told_apart_from_those_that_do_not():
    kernel = vyre.kernel(saxpy)
    plain, out = floats(8).copy(), np.zeros(8, np.float32)
    strided = np.repeat(plain, 2)[::2]
    swapped_bytes = plain.astype(">f4")
    odd = np.zeros(33, np.uint8)[1:].view(np.float32)
    odd[...] = plain
    masked = np.ma.masked_array(plain, mask=plain > 3)
    for _ in range(6):
        for x in (plain, strided, odd):
            out[...] = -1
            outcome(lambda x=x: kernel(x, plain, out=out, a=1.0))
            assert np.array_equal(out, 2 * plain)
        assert "not f32 (<f4)" in outcome(lambda: kernel(swapped_bytes, plain, out=out, a=1.0))
        assert "masked array" in outcome(lambda: kernel(masked, plain, out=out, a=1.0))


@pytest.mark.usefixtures("backend")
def test_a_mapped_file_is_an_array_like_any(tmp_path):
    kernel = vyre.kernel(saxpy)
    x = np.memmap(tmp_path / "x", np.float32, "w+", shape=(8,))
    x[...] = floats(8)
    y, out = floats(8), np.zeros(8, np.float32)
    for number in range(8):
        assert kernel(x, y, out=out, a=float(number)) is out
        assert np.array_equal(out, number * floats(8) + y)


@pytest.mark.usefixtures("backend")
def test_arrays_without_axes_and_without_elements_are_told_apart():
    kernel = vyre.kernel(saxpy)
    for _ in range(5):
        for x in (np.array(2.0, np.float32), np.ones(1, np.float32), np.ones((1, 1), np.float32)):
            made = kernel(x, x, a=1.0)
            assert made.shape == x.shape
            assert made.tolist() == (2 * x).tolist()
        assert kernel(*np.zeros((2, 0), np.float32), a=1.0).shape == (0,)
        out = np.full(3, 7, np.float32)
        kernel(*np.zeros((2, 0), np.float32), out=out, a=1.0)
        assert out.tolist() == [0, 0, 0]


@pytest.mark.usefixtures("backend")
def test_a_whole_number_is_taken_as_it_is_every_time():
    kernel, x, out = vyre.kernel(stepped), floats(4), np.zeros(4, np.float32)
    for k in (1, 1, 1, 1, 1, 1, 2, 1, np.int32(1), np.int64(5), 1, 3, 3, 3, 3):
        kernel(x, out=out, k=k)
        assert np.array_equal(out, x + np.float32(k))
    for wrong in (True, 1.0, "1", None, 1 << 40):
        with pytest.raises(InvalidInput):
            kernel(x, out=out, k=wrong)


@pytest.mark.usefixtures("backend")
def test_a_number_in_an_array_that_is_changed_is_the_new_one():
    kernel, a = vyre.kernel(saxpy), np.array(1.0)
    x, y, out = np.ones(4, np.float32), np.zeros(4, np.float32), np.zeros(4, np.float32)
    for value in range(1, 9):
        a[...] = value
        assert kernel(x, y, out=out, a=a).tolist() == [value] * 4


@pytest.mark.usefixtures("backend")
def test_memory_that_is_not_to_be_had_is_said_as_the_first_time(monkeypatch):
    kernel, x = vyre.kernel(saxpy), floats(4)
    for _ in range(20):
        kernel(x, x, a=1.0)

    def nothing():
        raise MemoryError

    short = kernel._dispatcher.short
    monkeypatch.setattr(short, "_fresh", dict.fromkeys(short._fresh, lambda: None))
    short.same.clear()
    monkeypatch.setattr(np, "zeros", lambda *_: nothing())

    with pytest.raises(DeviceFailed) as caught:
        kernel(x, x, a=1.0)

    assert caught.value.problem == "the host has no 16 bytes for out of saxpy"


@pytest.mark.usefixtures("backend")
def test_threads_get_each_their_own_results():
    kernel, wrong = vyre.kernel(saxpy), []

    def work(number):
        x, out = np.full(32, number, np.float32), np.zeros(32, np.float32)
        for turn in range(60):
            kernel(x, x, out=out, a=float(turn))
            made = kernel(x, x, a=float(turn))
            expected = [number * (turn + 1.0)] * 32
            if out.tolist() != expected or made.tolist() != expected:
                wrong.append((number, turn))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []


@pytest.mark.usefixtures("backend")
def test_calls_are_counted_whatever_way_they_take():
    kernel = vyre.kernel(saxpy)
    x, y, out = floats(5), floats(5), np.zeros(5, np.float32)
    for _ in range(10):
        kernel(x, y, out=out, a=1.0)
        kernel(x, y, a=1.0)

    assert sum(site.dispatches for site in kernel._dispatcher.sites) == 20


# -- any sequence


class Pool:
    """Arrays of many kinds in one memory, some of which overlap; made anew for each sequence."""

    def __init__(self):
        self.memory = np.zeros(256, np.float32)
        first = -(self.memory.ctypes.data // 4) % 16
        self.floats = floats = self.memory[first : first + 160]
        self.read_only = floats[96:106]
        self.read_only.setflags(write=False)
        self.made = [
            *(floats[at : at + 10] for at in (0, 16, 32, 48, 4, 64)),
            floats[80:90].reshape(2, 5),
            self.read_only,
            floats[112:132:2],
            floats[140:148],
            np.zeros(10, np.int32),
            np.ma.masked_array(np.zeros(10, np.float32)),
        ]

    def refill(self):
        self.memory[...] = np.arange(256)
        self.made[10][...] = 3

    def contents(self):
        return self.memory.tobytes(), self.made[10].tobytes()


FUNCTIONS = {"saxpy": (saxpy, 2), "shifted": (shifted, 1), "bumped": (bumped, 1)}
INDEX = st.one_of(st.sampled_from([0, 1, 2]), st.integers(0, 11))
CALL = st.tuples(
    st.lists(INDEX, min_size=2, max_size=2),
    st.sampled_from(["none", "one", "one", "one", "tuple"]),
    INDEX,
    st.sampled_from([1.0, 1.0, 2.5, 2, True, np.float32(3), None]),
    st.sampled_from([None, None, None, 10, 5, (10,), 10.0]),
    st.sampled_from(["nothing"] * 6 + ["fold", "unfold", "freeze", "thaw"]),
    INDEX,
)


def change(pool, what, number):
    array = pool.made[number]
    warnings.simplefilter("ignore", DeprecationWarning)  # of NumPy, which allows it still
    if what == "fold" and array.shape == (10,) and array.flags.c_contiguous:
        array.shape = (5, 2)
    if what == "unfold" and array.flags.c_contiguous:
        array.shape = (array.size,)
    if what in ("freeze", "thaw") and number not in (7, 10):
        array.setflags(write=what == "thaw")


def result_of(pool, call):
    pool.refill()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CopyWarning)
            result = call()
    except VyreError as error:
        return str(error), pool.contents()
    for number, one in enumerate(pool.made):
        if one is result:
            return number, pool.contents()
    found = None if result is None else (result.shape, result.tobytes())
    return found, pool.contents()


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(sequence=st.lists(CALL, min_size=2, max_size=16))
@pytest.mark.usefixtures("backend")
def test_a_sequence_of_calls_gives_what_each_would_give_alone(name, sequence):
    function, inputs = FUNCTIONS[name]
    kernel, pool = vyre.kernel(function), Pool()
    for numbers, outs, number, a, shape, what, which in sequence:
        with warnings.catch_warnings():
            change(pool, what, which)
        out = pool.made[number]
        more = {"out": {"none": None, "one": out, "tuple": (out,)}[outs], "shape": shape}
        more |= {"a": a} if name != "shifted" and a is not None else {}
        arrays = [pool.made[at] for at in numbers[:inputs]]
        for _ in range(3):
            found = result_of(pool, lambda: kernel(*arrays, **more))  # noqa: B023  # at once
            expected = result_of(pool, lambda: vyre.kernel(function)(*arrays, **more))  # noqa: B023
            assert found == expected


# -- calls that were bound once


@pytest.mark.usefixtures("backend")
def test_a_call_on_the_host_can_be_prepared():
    x, y, out = floats(6), floats(6, start=1), np.zeros(6, np.float32)
    launch = vyre.kernel(saxpy).prepare(x, y, out=out, a=2.0)
    for number in range(4):
        x[...] = number
        assert launch() is out
        assert np.array_equal(out, 2.0 * x + y)


@pytest.mark.usefixtures("backend")
def test_a_prepared_call_makes_its_outputs_once():
    launch = vyre.kernel(saxpy).prepare(floats(4), floats(4), a=1.0)

    assert launch() is launch()
    assert launch().tolist() == [0, 2, 4, 6]


@pytest.mark.parametrize("change", [cut, frozen, grown], ids=lambda change: change.__name__)
@pytest.mark.usefixtures("backend")
def test_a_prepared_call_refuses_an_array_that_was_changed(change):
    x, out = floats(16).copy(), np.zeros(16, np.float32)
    launch = vyre.kernel(shifted).prepare(x, out=out)
    launch()
    change(x)

    with pytest.raises(InvalidInput) as caught:
        launch()

    assert str(caught.value) == (
        "x of shifted was changed since it was prepared\nFix: prepare the call again"
    )


@pytest.mark.filterwarnings("ignore::vyre.CopyWarning")
@pytest.mark.usefixtures("backend")
def test_an_array_that_would_be_copied_for_each_launch_cannot_be_prepared():
    with pytest.raises(InvalidInput) as caught:
        vyre.kernel(shifted).prepare(floats(16)[::2])

    assert str(caught.value) == (
        "x of shifted is not contiguous, or not aligned to its elements, so it would have to be "
        "copied for each launch\n"
        "Fix: prepare it with x.copy(), and copy what changes there"
    )


# -- learning


class Asking:
    """A learner that asks for the time of a launch, and hears of it."""

    best = None

    def __init__(self):
        self.heard = []

    def taking(self):
        self.heard.append("taking")

    def ran(self, config, ticket, size, share):
        self.heard.append((config, ticket.elapsed_ns() is not None, size, share))


@pytest.mark.parametrize("way", ["known arrays", "new arrays", "new outputs"])
@pytest.mark.usefixtures("backend")
def test_what_a_learner_asks_for_is_timed_whatever_way_a_call_takes(way):
    kernel, asking = vyre.kernel(saxpy), Asking()
    x, y, out = floats(16), floats(16), np.zeros(16, np.float32)
    for _ in range(20):
        kernel(x, y, out=out, a=1.0)
        kernel(x, y, a=1.0)
    sites = kernel._dispatcher.sites
    for site in sites:
        site.decider, site.asked = asking, deque([site.decision.config])
    given = {"out": None if way == "new outputs" else out}
    if way == "new arrays":
        given["out"] = out[...]  # another array, where the first one is

    made = kernel(x, y, a=2.0, **given)

    assert np.array_equal(made, 3 * x)
    assert asking.heard[0] == "taking"
    assert asking.heard[1:] == [(sites[0].decision.config, True, 16, 1.0)]
    assert sum(not site.asked for site in sites) == 1
