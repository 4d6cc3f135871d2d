"""Arrays of any strides: read as they lie, and written back, whatever shares their memory."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vyre
from vyre import In, InOut, Out, f32
from vyre.errors import InvalidInput

pytestmark = pytest.mark.filterwarnings("ignore::vyre.CopyWarning")


@vyre.kernel
def mixed(x: In[f32, 2], acc: InOut[f32, 2], out: Out[f32, 2]):
    i, j = vyre.gid()
    h, w = x.shape
    out[i, j] = x[h - 1 - i, w - 1 - j] + 100 * acc[i, j]
    acc[i, j] = acc[i, j] + 2 * x[i, j]


@vyre.kernel
def pair(x: In[f32], a: Out[f32], b: Out[f32]):
    i = vyre.gid()
    a[i], b[i] = x[i] + 1, x[i] - 1


STEPS = st.sampled_from([-3, -2, -1, 1, 2, 3])


@st.composite
def views(draw: st.DrawFn, height: int, width: int) -> np.ndarray:
    """A view of that shape of memory of its own, at random: steps, turned round, off by a byte."""
    down, right = draw(STEPS), draw(STEPS)
    room = (abs(down) * height, abs(right) * width)
    turned = draw(st.booleans())
    size = 4 * room[0] * room[1]
    off = draw(st.sampled_from([0, 0, 1]))
    memory = np.zeros(size + 4, np.uint8)[off : size + off].view(np.float32)
    memory[...] = np.arange(memory.size)
    whole = memory.reshape(room[::-1] if turned else room)
    found = (whole.T if turned else whole)[::down, ::right]
    return found[:height, :width]


@given(data=st.data(), height=st.integers(0, 4), width=st.integers(0, 4))
def test_strided_arrays_are_read_and_written_as_numpy_does(data, height: int, width: int):
    x, acc, out = (data.draw(views(height, width)) for _ in range(3))
    bases = [array.base for array in (acc, out)]
    want_out = x[::-1, ::-1] + 100 * acc
    want_acc = acc + 2 * x
    before = [_outside(array) for array in (acc, out)]

    found = mixed(x, acc, out=out)

    assert found is out
    assert out.tolist() == want_out.tolist()
    assert acc.tolist() == want_acc.tolist()
    assert before == [_outside(array) for array in (acc, out)]
    assert bases == [array.base for array in (acc, out)]


def _outside(array: np.ndarray) -> bytes:
    """The memory around a view, without the view."""
    whole = array
    while isinstance(whole.base, np.ndarray):
        whole = whole.base
    kept, values = whole.copy(), array.copy()
    array[...] = 0
    left = whole.tobytes()
    whole[...] = kept
    array[...] = values
    return left


def test_one_array_forwards_and_backwards():
    x = np.arange(7, dtype=np.float32)
    before = x.copy()

    a, b = np.zeros((2, 7), np.float32)
    pair(x[::-1], out=(a[::-1], b))
    assert a.tolist() == (before + 1).tolist()
    assert b.tolist() == (before[::-1] - 1).tolist()
    doubled = np.zeros(14, np.float32)
    pair(x, out=(doubled[::2], doubled[1::2]))  # interleaved, and no element is shared
    assert doubled.reshape(7, 2).tolist() == np.stack([before + 1, before - 1], 1).tolist()
    square = np.arange(9, dtype=np.float32).reshape(3, 3)
    want_out, want_acc = square[::-1, ::-1] + 100 * square.T, square.T + 2 * square
    out = np.zeros((3, 3), np.float32)
    mixed(square, square.T, out=out[:, ::-1])
    assert out[:, ::-1].tolist() == want_out.tolist()
    assert square.T.tolist() == want_acc.tolist()


def _overlapping() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    x = np.zeros(20, np.float32)
    yield x[:8:2], x[2:10:2]
    yield x[:4], x[:8:2]
    yield x[3::-1], x[:4]


@pytest.mark.parametrize(("a", "b"), list(_overlapping()))
def test_two_outputs_that_share_an_element_are_refused(a: np.ndarray, b: np.ndarray):
    with pytest.raises(InvalidInput) as caught:
        pair(np.ones(4, np.float32), out=(a, b))

    assert str(caught.value) == (
        "a and b of pair are both written and share memory\nFix: pass arrays that do not overlap"
    )
    assert not a.any()


def test_an_output_whose_elements_share_memory_is_refused():
    a = np.lib.stride_tricks.as_strided(np.zeros(4, np.float32), (4,), (0,))

    with pytest.raises(InvalidInput) as caught:
        pair(np.ones(4, np.float32), out=(a, np.zeros(4, np.float32)))

    assert str(caught.value) == (
        "a of pair is written, and elements of its array share memory (strides (0,))\n"
        "Fix: pass a copy that you keep, c = a.copy(): the result is in c, not in a"
    )


def test_read_only_arrays_are_read():
    x = np.arange(6, dtype=np.float32)[::2]
    x.flags.writeable = False

    a, b = pair(x)

    assert (a.tolist(), b.tolist()) == ([1, 3, 5], [-1, 1, 3])
    spread, _ = pair(np.broadcast_to(np.float32(3), (5,)))
    assert spread.tolist() == [4] * 5
