"""Values people expect in kernels and calls: the same on every kind of device."""

from collections.abc import Callable

import numpy as np
import pytest

import vyre
from vyre import In, Out, f32, i32, u32
from vyre.errors import InvalidInput, VyreError

KINDS = ("reference", "cpu", "opencl")


def _opened(kind: str) -> vyre.Device:
    try:
        return vyre.open(kind)
    except VyreError as error:
        pytest.skip(f"no {kind} device here: {error}")


@pytest.fixture(params=KINDS)
def on(request: pytest.FixtureRequest) -> Callable[..., object]:
    """Calls a kernel on one kind of device, arrays there and back."""
    device = _opened(request.param)

    def call(kernel: vyre.Kernel, *arrays: np.ndarray, **named: object) -> object:
        found = kernel(*(device.array(array) for array in arrays), **named)
        if isinstance(found, tuple):
            return tuple(np.asarray(one) for one in found)
        return np.asarray(found)

    return call


@vyre.function
def first_above(x, limit, start=0):
    for k in range(start, len(x)):
        for step in (0.0, 0.5):
            if x[k] > limit + step:
                return k, step
    return len(x), -1.0


@vyre.kernel
def above(x: In[f32], at: Out[u32], step: Out[f32], limit: f32 = 2.5, least: u32 = 1):
    i = vyre.gid()
    at[i], step[i] = first_above(x, x[i] * limit, start=least)


@vyre.kernel
def edges(x: In[i32, 2], out: Out[i32, 2]):
    i, j = vyre.sgid()
    h, _ = x.shape
    s = 0
    for down, right in ((0, 1), (1, 0), (0, -1), (-1, 0)):
        if i + down < 0 or i + down >= i32(h):
            continue
        s += x[i + down, j + right]
        if s > 1000:
            break
    out[i, j] = s


@pytest.mark.parametrize("count", [0, 1, 31, 33, 257])
def test_functions_with_several_values_agree_with_python(on, count):
    x = np.random.default_rng(count).normal(size=count).astype(np.float32)

    def plain(limit: float, least: int) -> list[tuple[int, float]]:
        return [first_above(x, np.float32(v * np.float32(limit)), least) for v in x]

    for named, limit, least in (({}, 2.5, 1), ({"limit": -0.5, "least": 3}, -0.5, 3)):
        at, step = on(above, x, **named)
        want = plain(limit, least)
        assert at.tolist() == [k for k, _ in want]
        assert step.tolist() == [s for _, s in want]


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (31, 33)])
def test_signed_positions_and_loops_over_tuples_agree_with_numpy(on, shape):
    x = np.random.default_rng(1).integers(0, 900, shape).astype(np.int32)
    padded = np.pad(x, 1)
    want = np.zeros_like(x)
    for i, j in np.ndindex(shape):
        s = 0
        for down, right in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            if not 0 <= i + down < shape[0]:
                continue
            s += padded[i + down + 1, j + right + 1]
            if s > 1000:
                break
        want[i, j] = s

    assert (on(edges, x) == want).all()


def test_defaults_hold_in_every_way_to_use_a_kernel():
    x = np.arange(5, dtype=np.float32)
    want = above(x, limit=2.5, least=1)

    for _ in range(4):  # the short ways, too
        assert [one.tolist() for one in above(x)] == [one.tolist() for one in want]
        assert above(x, limit=0.1)[0].tolist() == above(x, limit=0.1, least=1)[0].tolist()
    launch = above.prepare(x)
    launch()
    assert "above" in str(above.explain(x))
    assert above.tune(x, budget_s=0.01) is not None
    assert "limit: f32 = 2.5, least: u32 = 1" in repr(above)


def test_positions_beyond_i32_are_refused():
    with pytest.raises(InvalidInput) as caught:
        edges(np.zeros((1, 1), np.int32), shape=(1, 2**31 + 1))

    assert str(caught.value) == (
        "edges takes positions as i32 (vyre.sgid), and 2147483649 elements along an axis are "
        "covered; i32 has places for 2147483648\n"
        "Fix: split the call, or use vyre.gid() in the kernel"
    )
