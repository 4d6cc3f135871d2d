"""Prefix sums: the bits of their rule, on every device, whatever the shape and the axis."""

import sys
from functools import cache
from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vyre
from vyre.errors import InvalidInput
from vyre.kernels import cumsum
from vyre.kernels.scan_blocks import TYPES, kernels_for
from vyre.model import Schedule
from vyre.runtime.devices.device import Device
from vyre.testing.cuda_on_host import CudaOnHost, compiler
from vyre.testing.scans import cumsum_by_rule

ON_HOST = sys.platform == "linux" and compiler() is not None
CUDA = pytest.param("cuda", marks=pytest.mark.skipif(not ON_HOST, reason="it takes g++"))
SIZES = (0, 1, 31, 32, 33, 1023, 1024, 1025)
LONG = (1 << 20) + 1


@cache
def on_host():
    return Device("cuda-on-host", CudaOnHost())


@pytest.fixture(params=["reference", "cpu", "opencl", CUDA])
def device(request):
    return on_host() if request.param == "cuda" else vyre.open(request.param)


@cache
def line(name, count):
    """Elements whose sums are rounded at every step, the first two of floats -0.0."""
    x = (1000 * np.abs(np.random.default_rng(count).standard_normal(count))).astype(name)
    if x.dtype.kind == "f":
        x[:2] = -0.0
        x[2::3] *= -1
    return x


@cache
def wanted(name, count):
    return cumsum_by_rule(line(name, count))


def digest(array):
    return sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]


def test_the_bits_are_what_they_were(golden):
    rows = [f"{name} {n} {digest(wanted(name, n))}" for name in TYPES for n in SIZES]
    rows.append(f"float32 {LONG} {digest(wanted('float32', LONG))}")

    golden("kernels/scans.txt", "\n".join(rows) + "\n")


@pytest.mark.parametrize("name", TYPES)
def test_a_line_of_any_length_is_summed_up_by_the_rule(device, name):
    for count in SIZES:
        found = np.asarray(cumsum(device.array(line(name, count))))
        assert found.dtype.name == name
        assert found.tobytes() == wanted(name, count).tobytes()


@pytest.mark.parametrize("place", ["cpu", "opencl"])
def test_blocks_of_blocks_are_summed_up_by_the_same_rule(place):
    found = np.asarray(cumsum(vyre.open(place).array(line("float32", LONG))))

    assert found.tobytes() == wanted("float32", LONG).tobytes()


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("exclusive", [False, True])
def test_each_axis_of_an_array(device, axis, exclusive):
    shape = [3, 2, 4]
    shape[axis] = 1100
    x = (1000 * np.random.default_rng(axis + 1).standard_normal(shape)).astype(np.float32)

    found = np.asarray(cumsum(device.array(x), axis, exclusive=exclusive))

    assert found.tobytes() == cumsum_by_rule(x, axis, exclusive=exclusive).tobytes()


@pytest.mark.parametrize("workgroup", [32, 64, 128, 256])
def test_each_workgroup_gives_the_same_bits(device, workgroup):
    x = np.stack([line("float32", 1025), line("float32", 1025)[::-1]])
    kernels, schedule = kernels_for("float32"), Schedule((workgroup, 1, 1))
    on, ends, out = (
        device.array(x),
        device.zeros((2, 2), np.float32),
        device.zeros(x.shape, np.float32),
    )

    kernels.row_totals(on, out=ends, shape=(2, 64), schedule=schedule)
    kernels.row_sums(on, ends, out=out, shape=(2, 64), shift=0, schedule=schedule)

    assert np.asarray(out).tobytes() == cumsum_by_rule(x).tobytes()


@settings(max_examples=25)
@given(
    shape=st.lists(st.integers(0, 5), min_size=1, max_size=3),
    name=st.sampled_from(tuple(TYPES)),
    exclusive=st.booleans(),
    long=st.sampled_from([1, 33, 400, 1025]),
    data=st.data(),
)
def test_arrays_of_numpy_strided_or_not(shape, name, exclusive, long, data):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    shape[axis] *= long
    x = (100 * np.random.default_rng(long).standard_normal([2 * n for n in shape])).astype(name)
    x = x[tuple(slice(None, None, data.draw(st.sampled_from([2, -2]))) for _ in shape)]
    kept = x.copy()

    found = cumsum(x, axis, exclusive=exclusive)

    assert found.tobytes() == cumsum_by_rule(x, axis, exclusive=exclusive).tobytes()
    assert x.tobytes() == kept.tobytes()


@pytest.mark.parametrize("exclusive", [False, True])
def test_it_writes_what_it_is_given(exclusive):
    x = line("float32", 1025)
    want = cumsum_by_rule(x, exclusive=exclusive)
    out, strided = np.full_like(x, 7), np.full((1025, 2), 7, np.float32)

    assert cumsum(x, out=out, exclusive=exclusive) is out
    cumsum(x, out=strided[:, 0], exclusive=exclusive)
    same = x.copy()
    cumsum(same, out=same, exclusive=exclusive)
    on = vyre.open("cpu").array(x)
    cumsum(on, out=on, exclusive=exclusive)

    assert {a.tobytes() for a in (out, strided[:, 0].copy(), same, np.asarray(on))} == {
        want.tobytes()
    }
    assert (strided[:, 1] == 7).all()


def test_it_is_that_of_numpy_where_nothing_is_rounded():
    x = np.random.default_rng(3).integers(-9, 9, (5, 3000)).astype(np.int32)

    assert (cumsum(x) == np.cumsum(x, 1)).all()
    assert (cumsum(x.astype(np.float64), 0) == np.cumsum(x, 0)).all()
    assert cumsum([[1.0, 2.0]]).tolist() == [[1.0, 3.0]]
    assert cumsum(x.astype(">i4")).tolist() == np.cumsum(x, 1).tolist()
    most = np.array([2**31 - 1, 1], np.int32)
    assert cumsum(most).tolist() == [2**31 - 1, -(2**31)]
    special = np.array([-0.0, -0.0, np.inf, -np.inf, 1], np.float32)
    assert np.signbit(cumsum(special)[:2]).all()
    assert np.isnan(cumsum(special)[3:]).all()


X = np.zeros((2, 3), np.float32)


@pytest.mark.parametrize(
    ("call", "problem", "fix"),
    [
        (
            lambda: cumsum(X, 2),
            "axis 2 of cumsum; x has 2 axes",
            "use a whole number from -2 to 1",
        ),
        (
            lambda: cumsum(X[0], None),
            "axis None of cumsum; x has 1 axis",
            "use a whole number from -1 to 0",
        ),
        (
            lambda: cumsum(X, True),
            "axis True of cumsum; x has 2 axes",
            "use a whole number from -2 to 1",
        ),
        (
            lambda: cumsum(np.float32(1)),
            "x of cumsum is one number, which has no axis",
            "pass an array",
        ),
        *(
            (
                lambda old=old: cumsum(X.astype(old)),
                f"x of cumsum is {old}; it sums up float32, float64, int32, uint32, int64, uint64",
                f"convert it first, for example x.astype(numpy.{new})",
            )
            for old, new in (
                ("float16", "float32"),
                ("bool", "uint32"),
                ("uint8", "uint32"),
                ("int16", "int32"),
                ("complex64", "float64"),
            )
        ),
        (
            lambda: cumsum(X, out=X[0]),
            "out of cumsum is float32[3], and x float32[2, 3]",
            "pass an array of the shape and type of x, or leave out= out",
        ),
        (
            lambda: cumsum(X, out=X.astype(np.float64)),
            "out of cumsum is float64[2, 3], and x float32[2, 3]",
            "pass an array of the shape and type of x, or leave out= out",
        ),
        (
            lambda: cumsum(X, out=[1.0]),
            "out of cumsum is a list, and x a ndarray",
            "pass both as arrays of one library",
        ),
        (
            lambda: cumsum(X, out=np.broadcast_to(X, X.shape)),
            "out of cumsum is written, but its array is read-only",
            "pass one that can be written",
        ),
        (
            lambda: cumsum(X, exclusive="yes"),
            "exclusive= of cumsum is 'yes'",
            "pass True or False",
        ),
        (
            lambda: cumsum(np.ma.masked_array(X)),
            "x of cumsum is a masked array, whose mask would be lost",
            "pass x.filled(value) with what stands for the masked elements",
        ),
        (
            lambda: cumsum([[1.0], [1.0, 2.0]]),
            "x of cumsum is a list",
            "pass an array of numbers",
        ),
    ],
)
def test_mistakes_are_named(call, problem, fix):
    with pytest.raises(InvalidInput) as caught:
        call()

    assert str(caught.value) == f"{problem}\nFix: {fix}"
