"""Loads beyond the edge of an array, arrays of four axes, and axes of size 1: as NumPy has them."""
# ruff: noqa: F821  # the words at arrays are no types, whatever an annotation's strings usually are

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vyre
from vyre import In, InOut, Out, f32, i8, i16, i32, i64, u8, u16, u32, u64
from vyre.errors import InvalidInput, LanguageError, VyreError
from vyre.ir import DataType

KINDS = ("reference", "cpu", "opencl")
TYPES = {"i8": i8, "i16": i16, "i32": i32, "i64": i64, "u8": u8, "u16": u16, "u32": u32, "u64": u64}


@pytest.fixture(scope="module", params=KINDS)
def device(request: pytest.FixtureRequest) -> vyre.Device:
    try:
        return vyre.open(request.param)
    except VyreError as error:
        pytest.skip(f"no {request.param} device here: {error}")


def taken(x: np.ndarray, at: np.ndarray, edge: str) -> np.ndarray:
    """What loads at `at` give, by the meaning of the word."""
    at = [int(one) for one in at]
    n = len(x)
    if not n:
        return np.zeros(len(at), x.dtype)
    if edge == "clamp":
        at = [min(max(one, 0), n - 1) for one in at]
    elif edge == "wrap":
        at = [one % n for one in at]
    elif edge == "broadcast" and n == 1:
        at = [0] * len(at)
    return np.array([x[one] if 0 <= one < n else 0 for one in at], x.dtype)


def gather(dtype: DataType, edge: str) -> vyre.Kernel:
    @vyre.kernel
    def gathered(x: In[f32, edge], at: In[dtype], out: Out[f32]):
        i = vyre.gid()
        out[i] = x[at[i]]

    return gathered


@pytest.mark.parametrize("edge", ["zero", "clamp", "wrap", "broadcast"])
@pytest.mark.parametrize("name", TYPES)
def test_an_index_of_any_type_goes_beyond_the_edge(device: vyre.Device, edge: str, name: str):
    kernel = gather(TYPES[name], edge)
    kind = np.dtype({"i": "int", "u": "uint"}[name[0]] + name[1:])
    limits = np.iinfo(kind)
    ends = [limits.min, limits.min + 1, limits.max - 1, limits.max]
    near = [v for v in range(-9, 10) if limits.min <= v]
    at = np.array([*near, *ends], kind)

    for n in (0, 1, 2, 5, 7):
        x = np.arange(1, n + 1, dtype=np.float32)
        found = kernel(device.array(x), device.array(at), shape=at.size)
        assert np.asarray(found).tolist() == taken(x, at, edge).tolist()


@vyre.kernel
def mirrored(x: In[f32, 2, "clamp"], y: In[f32, 2, "wrap"], out: Out[f32, 2], by: i32 = 1):
    i, j = vyre.sgid()
    out[i, j] = x[i - by, j + by] + 10 * y[i + by, j - by] + 100 * x[-1, 0] + y[0, -2]


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (31, 33)])
@pytest.mark.parametrize("by", [0, 1, 2, 40])
def test_each_axis_has_its_own_edge(device: vyre.Device, shape: tuple[int, int], by: int):
    rng = np.random.default_rng(by)
    x, y = rng.integers(0, 9, (2, *shape)).astype(np.float32)
    i, j = np.indices(shape)
    height, width = shape
    want = x[(i - by).clip(0, height - 1), (j + by).clip(0, width - 1)]
    want = want + 10 * y[(i + by) % height, (j - by) % width] + 100 * x[0, 0] + y[0, -2 % width]

    found = mirrored(device.array(x), device.array(y), by=by)

    assert np.asarray(found).tolist() == want.tolist()


def test_an_inout_reads_beyond_its_edge_and_stores_within(device: vyre.Device):
    @vyre.kernel
    def shift(x: InOut[f32, "clamp"], out: Out[f32]):
        i = vyre.gid()
        out[i] = x[i + 1]
        x[i + 100] = 9.0

    x = device.array(np.arange(5, dtype=np.float32))
    found = shift(x)

    assert np.asarray(found).tolist() == [1, 2, 3, 4, 4]
    assert np.asarray(x).tolist() == [0, 1, 2, 3, 4]


def test_a_fixed_array_has_edges_too(device: vyre.Device):
    @vyre.kernel
    def look(w: In[f32, (3,), "wrap"], v: In[f32, (2, 2), "clamp"], out: Out[f32]):
        i = vyre.sgid()
        out[i] = w[i - 4] + 10 * v[i, 7] + 100 * w[5] + 1000 * v[-3, -1]

    w, v = np.array([1, 2, 3], np.float32), np.array([[4, 5], [6, 7]], np.float32)
    found = look(device.array(w), device.array(v), shape=5)

    want = [w[(i - 4) % 3] + 10 * v[min(i, 1), 1] + 100 * w[2] + 1000 * v[0, 0] for i in range(5)]
    assert np.asarray(found).tolist() == want


def told(kernel: object) -> list[str]:
    with pytest.raises(LanguageError) as caught:
        vyre.kernel(kernel)
    first, *_, last = str(caught.value).splitlines()
    return [first.partition(": ")[2], last]


def test_a_position_that_wrapped_is_not_clamped_to_the_last_element():
    def before(x: In[f32, "clamp"], out: Out[f32]):
        i = vyre.gid()
        out[i] = x[i - 1]

    def around(x: In[f32, "wrap"], out: Out[f32]):
        i = vyre.gid()
        out[i] = x[i - 1]

    fix = (
        "Fix: compute it in a signed type, for example i32(i) - 1, or write vyre.wrap_sub(i, 1) "
        "if it is meant to wrap"
    )
    wraps = (
        "i - 1 wraps around below 0, as it is u32, and the {} of a load takes it for a large number"
    )
    assert told(before) == [wraps.format('"clamp"'), fix]
    assert told(around) == [wraps.format('"wrap"'), fix]


def test_reading_and_writing_at_one_index_beyond_the_edge_is_refused():
    def add(x: InOut[f32, "clamp"]):
        i = vyre.gid()
        x[i] += 1.0

    assert told(add) == [
        "'x' is read with \"clamp\" beyond its edge and written without, and this does both at one "
        "index",
        "Fix: write them apart: v = x[i], and then x[i] = ...",
    ]


@vyre.kernel
def added(x: In[f32, 2, "broadcast"], y: In[f32, 2, "broadcast"], out: Out[f32, 2]):
    i, j = vyre.gid()
    out[i, j] = 10 * x[i, j] + y[i, j]


SIDES = st.integers(1, 5)


@given(height=SIDES, width=SIDES, ones=st.tuples(*[st.booleans()] * 4))
def test_axes_of_size_1_are_spread_as_numpy_does(height: int, width: int, ones: tuple[bool, ...]):
    a, b, c, d = ones
    x = np.arange(height * width, dtype=np.float32).reshape(height, width)
    y = -x[: 1 if c else None, : 1 if d else None] - 1
    x = x[: 1 if a else None, : 1 if b else None]

    assert (added(x.copy(), y.copy()) == 10 * x + y).all()


def test_broadcasting_is_the_same_everywhere(device: vyre.Device):
    x, y = np.arange(4, dtype=np.float32)[:, None].copy(), np.arange(3, dtype=np.float32)[None]

    found = added(device.array(x), device.array(y))
    assert np.asarray(found).tolist() == (10 * x + y).tolist()
    given = device.array(np.zeros((4, 3), np.float32))
    added(device.array(x), device.array(y), out=given)
    assert np.asarray(given).tolist() == (10 * x + y).tolist()


def test_arrays_that_do_not_broadcast_are_refused():
    with pytest.raises(InvalidInput, match="the inputs of added differ in shape"):
        added(np.zeros((2, 3), np.float32), np.zeros((3, 2), np.float32))


@vyre.kernel
def windows(x: In[f32, 4], w: In[f32, (2, 1, 2, 2)], out: Out[f32, 4], scale: f32 = 1.0):
    n, c, p = vyre.gid()
    samples, channels, height, width = x.shape
    _, _, rows, columns = w.shape
    i, j = p // (width - 1), p % (width - 1)
    s = 0
    for a in range(rows):
        for b in range(columns):
            s += w[c, 0, a, b] * x[n, 0, i + a, j + b]
    out[n, c, i, j] = s * scale + f32(samples * channels * height * 0)


@pytest.mark.parametrize("shape", [(1, 1, 2, 2), (2, 1, 5, 7), (3, 1, 9, 4)])
def test_arrays_have_four_axes(device: vyre.Device, shape: tuple[int, ...]):
    rng = np.random.default_rng(3)
    x = rng.integers(-9, 9, shape).astype(np.float32)
    w = rng.integers(-9, 9, (2, 1, 2, 2)).astype(np.float32)
    n, _, height, width = shape
    out = device.array(np.zeros((n, 2, height - 1, width - 1), np.float32))
    covered = (n, 2, (height - 1) * (width - 1))

    windows(device.array(x), device.array(w), out=out, shape=covered)

    want = np.zeros((n, 2, height - 1, width - 1), np.float32)
    for a in range(2):
        for b in range(2):
            part = x[:, :, a : a + height - 1, b : b + width - 1]
            want += w[None, :, 0, a, b, None, None] * part
    assert np.asarray(out).tolist() == want.tolist()


@vyre.kernel
def four(x: In[u32, 4], at: In[i32, 2], out: Out[u32]):
    i = vyre.gid()
    out[i] = x[at[i, 0], at[i, 1], at[i, 2], at[i, 3]]


def test_each_of_four_axes_is_checked(device: vyre.Device):
    x = np.arange(1, 2 * 3 * 4 * 5 + 1, dtype=np.uint32).reshape(2, 3, 4, 5)
    at = np.random.default_rng(0).integers(-1, 6, (500, 4)).astype(np.int32)
    inside = ((at >= 0) & (at < x.shape)).all(1)
    want = np.where(inside, x[tuple(at.T % np.array(x.shape)[:, None])], 0)

    found = four(device.array(x), device.array(at), shape=500)

    assert np.asarray(found).tolist() == want.tolist()


def test_what_four_axes_cover_must_be_said():
    with pytest.raises(InvalidInput) as caught:
        windows(np.zeros((1, 1, 2, 2), np.float32), np.zeros((2, 1, 2, 2), np.float32))

    assert str(caught.value) == (
        "no array of this call says how many elements windows covers\n"
        "Fix: pass shape= with the shape to cover"
    )
