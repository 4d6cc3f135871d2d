"""Whoever does exactly what an error advises loses nothing."""

import warnings

import numpy as np
import pytest

import vyre
from vyre import In, InOut, Out, f32, f64, i32, i64, u8
from vyre.errors import InvalidInput
from vyre.runtime.call import arguments


@vyre.kernel
def doubled(x: In[f32], out: Out[f32]):
    i = vyre.gid()
    out[i] = x[i] + x[i]


@vyre.kernel
def precise(x: In[f64], out: Out[f64]):
    i = vyre.gid()
    out[i] = x[i] + x[i]


@vyre.kernel
def whole(x: In[i32], out: Out[i32]):
    i = vyre.gid()
    out[i] = x[i] + x[i]


@vyre.kernel
def wide(x: In[i64], out: Out[i64]):
    i = vyre.gid()
    out[i] = x[i] + x[i]


@vyre.kernel
def tiny(x: In[u8], out: Out[u8]):
    i = vyre.gid()
    out[i] = x[i]


@vyre.kernel
def bump(x: InOut[f32]):
    i = vyre.gid()
    x[i] = x[i] + 1.0


@vyre.kernel
def summed(x: In[f32, 2], y: In[f32, 2], out: Out[f32, 2]):
    i, j = vyre.gid(0), vyre.gid(1)
    out[i, j] = x[i, j] + y[i, j]


@vyre.kernel
def split(x: In[f32], low: Out[f32], high: Out[f32]):
    i = vyre.gid()
    low[i] = x[i] - 1.0
    high[i] = x[i] + 1.0


@vyre.kernel
def scaled(x: In[f32], out: Out[f32], a: f32, b: f64):
    i = vyre.gid()
    out[i] = a * x[i] + f32(b)


def message(call) -> str:
    with pytest.raises(InvalidInput) as caught:
        call()
    return str(caught.value)


PAIR = np.dtype([("re", "f4"), ("im", "f4")])
DAYS = np.array(["2026-01-01", "2026-01-02"], "M8[D]")


@pytest.mark.parametrize(
    ("kernel", "x", "text"),
    [
        (
            doubled,
            np.array([1 + 2j, 3 - 4j]),
            "x of doubled is complex128, not f32 (float32)\n"
            "Fix: declare two arrays, and pass x.real and x.imag",
        ),
        (
            doubled,
            np.array([1.5, 2], object),
            "x of doubled is object, not f32 (float32)\n"
            "Fix: pass an array of numbers, such as numpy.array(x.tolist())",
        ),
        (
            whole,
            np.array([1.5, 2.5]),
            "x of whole is float64, not i32 (int32)\n"
            "Fix: declare it for float64, or pass x.astype(numpy.int32) "
            "if all of it is whole and from -2147483648 to 2147483647",
        ),
        (
            whole,
            np.array([1 << 40]),
            "x of whole is int64, not i32 (int32)\n"
            "Fix: declare it for int64, or pass x.astype(numpy.int32) "
            "if all of it is from -2147483648 to 2147483647",
        ),
        (
            whole,
            np.array([3], np.uint32),
            "x of whole is uint32, not i32 (int32)\n"
            "Fix: declare it for uint32, or pass x.astype(numpy.int32) "
            "if all of it is from -2147483648 to 2147483647",
        ),
        (
            wide,
            np.array([3], np.int32),
            "x of wide is int32, not i64 (int64)\n"
            "Fix: pass x.astype(numpy.int64), or declare it for int32",
        ),
        (
            whole,
            DAYS,
            "x of whole is datetime64[D], not i32 (int32)\n"
            "Fix: declare it for int64, and pass x.view(numpy.int64)",
        ),
        (
            doubled,
            np.zeros(2, PAIR),
            "x of doubled is void64, not f32 (float32)\n"
            "Fix: pass one of its fields, such as x['re']",
        ),
        (
            doubled,
            np.array(["1.5"]),
            "x of doubled is str96, not f32 (float32)\nFix: pass an array of numbers",
        ),
        (
            precise,
            np.zeros(2, np.longdouble),
            f"x of precise is {np.dtype(np.longdouble).name}, not f64 (float64)\n"
            "Fix: pass x.astype(numpy.float64)",
        ),
        (
            doubled,
            np.array([1.5, 2], ">f4"),
            "x of doubled is >f4, not f32 (<f4)\nFix: pass x.astype(numpy.float32)",
        ),
        (
            doubled,
            np.array([1.5, 2], np.float16),
            "x of doubled is float16, not f32 (float32)\n"
            "Fix: pass x.astype(numpy.float32), or declare it for float16",
        ),
        (
            doubled,
            np.array([True, False]),
            "x of doubled is bool, not f32 (float32)\n"
            "Fix: pass x.astype(numpy.float32), or declare it for uint8",
        ),
        (
            doubled,
            np.ma.masked_array([1.0, 2.0], [False, True], np.float32),
            "x of doubled is a masked array, and a kernel does not see its mask\n"
            "Fix: pass x.filled(value) with what stands for the masked elements",
        ),
        (
            whole,
            [1.5],
            "x of whole is a list, not an array\nFix: pass numpy.asarray(x)",
        ),
        (
            doubled,
            [1.5],
            "x of doubled is a list, not an array\nFix: pass numpy.asarray(x, dtype=numpy.float32)",
        ),
        (
            doubled,
            None,
            "x of doubled is None, not an array\n"
            "Fix: pass the array itself: a kernel that changes arrays in place returns None",
        ),
        (
            tiny,
            b"text",
            "x of tiny is a bytes, not an array\nFix: pass numpy.frombuffer(x, numpy.uint8)",
        ),
        (
            tiny,
            "text",
            "x of tiny is a str, not an array\nFix: pass numpy.frombuffer(x.encode(), numpy.uint8)",
        ),
        (
            doubled,
            bytearray(8),
            "x of doubled is a bytearray, not an array\n"
            "Fix: pass numpy.frombuffer(x, numpy.float32)",
        ),
        (doubled, "1.5", "x of doubled is a str, not an array\nFix: pass an array of float32"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, (np.ndarray, list)) else None,
)
def test_an_array_of_another_type_is_refused_with_advice_that_keeps_all_of_it(kernel, x, text):
    assert message(lambda: kernel(x)) == text


def test_each_part_of_a_complex_array_can_be_passed_as_advised():
    x = np.array([1 + 2j, 3 - 4j], np.complex64)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", vyre.CopyWarning)
        assert doubled(x.real).tolist() == [2, 6]
        assert doubled(x.imag).tolist() == [4, -8]


def test_a_complex_array_of_a_device_is_taken_apart_on_the_host():
    device = vyre.open("reference")
    x = device.array(np.array([1 + 2j, 3 - 4j], np.complex64))

    assert message(lambda: doubled(x)) == (
        "x of doubled is complex64, not f32 (float32)\n"
        "Fix: make arrays of numbers of numpy.asarray(x), and those device.array again"
    )
    parts = [device.array(part) for part in (np.asarray(x).real, np.asarray(x).imag)]
    assert [np.asarray(doubled(part)).tolist() for part in parts] == [[2, 6], [4, -8]]


def test_dates_and_fields_can_be_passed_as_advised():
    pairs = np.array([(1, 2), (3, 4)], PAIR)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", vyre.CopyWarning)
        assert doubled(pairs["re"]).tolist() == [2, 6]
    assert wide(DAYS.view(np.int64)).tolist() == (2 * DAYS.view(np.int64)).tolist()


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (
            np.zeros(8, np.float32)[::2],
            "x of bump is not contiguous (strides (8,)), so it is copied there and back for "
            "each call.\n"
            "Fix: pass c = numpy.ascontiguousarray(x), and then copy the result back: x[...] = c",
        ),
        (
            np.zeros(4, np.float32)[::-1],
            "x of bump is not contiguous (strides (-4,)), so it is copied there and back for "
            "each call.\n"
            "Fix: pass c = numpy.ascontiguousarray(x), and then copy the result back: x[...] = c",
        ),
        (
            np.zeros(17, np.uint8)[1:].view(np.float32),
            "x of bump is not aligned to its elements, so it is copied there and back for "
            "each call.\n"
            "Fix: pass c = x.copy(), and then copy the result back: x[...] = c",
        ),
    ],
    ids=["strided", "backwards", "unaligned"],
)
def test_results_come_back_to_an_array_that_cannot_be_written_as_it_lies(x, text, monkeypatch):
    monkeypatch.setattr(arguments, "_said", set())  # another array of its may have been copied
    with pytest.warns(vyre.CopyWarning) as caught:
        bump(x)

    assert x.tolist() == [1.0] * 4
    assert [str(item.message) for item in caught] == [text]
    c = x.copy()  # as advised
    bump(c)
    x[...] = c
    assert x.tolist() == [2.0] * 4


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (
            np.zeros(4),
            "x of bump is float64, not f32 (float32)\n"
            "Fix: make x an array of float32 from the start: "
            "the results of a converted copy would not be in x",
        ),
        (
            np.zeros(4, ">f4"),
            "x of bump is >f4, not f32 (<f4)\n"
            "Fix: make x an array of float32 from the start: "
            "the results of a converted copy would not be in x",
        ),
        (
            np.zeros(4, complex),
            "x of bump is complex128, not f32 (float32)\n"
            "Fix: make x an array of float32 from the start: "
            "the results of a converted copy would not be in x",
        ),
        (
            None,
            "x of bump is None, not an array\n"
            "Fix: pass the array itself: a kernel that changes arrays in place returns None",
        ),
        (
            [0.0],
            "x of bump is a list, not an array\n"
            "Fix: make it an array first, x = numpy.asarray(x, dtype=numpy.float32): "
            "the results are written to it",
        ),
        (
            np.broadcast_to(np.float32(1), 4),
            "x of bump is written, but its array is read-only\n"
            "Fix: pass a copy that you keep, c = x.copy(): the result is in c, not in x",
        ),
        (
            np.ma.masked_array(np.zeros(2, np.float32), [False, True]),
            "x of bump is a masked array, and a kernel does not see its mask\n"
            "Fix: pass x.data to write every element, masked or not",
        ),
    ],
    ids=["float64", "big endian", "complex", "None", "list", "read-only", "masked"],
)
def test_what_is_written_is_never_to_be_passed_as_a_copy_that_nobody_keeps(x, text):
    assert message(lambda: bump(x)) == text


@pytest.mark.parametrize(
    ("x", "y", "text"),
    [
        (
            (2, 3),
            (1, 3),
            "the inputs of summed differ in shape: x (2, 3), y (1, 3)\n"
            "Fix: pass numpy.broadcast_to(y, (2, 3)).copy() where elements at one place belong "
            "together, else shape= with the shape to cover; beyond the end of an array are zeros",
        ),
        (
            (2, 1),
            (2, 3),
            "the inputs of summed differ in shape: x (2, 1), y (2, 3)\n"
            "Fix: pass numpy.broadcast_to(x, (2, 3)).copy() where elements at one place belong "
            "together, else shape= with the shape to cover; beyond the end of an array are zeros",
        ),
        (
            (2, 3),
            (3, 3),
            "the inputs of summed differ in shape: x (2, 3), y (3, 3)\n"
            "Fix: pass arrays of one shape where elements at one place belong together, else "
            "shape= with the shape to cover; beyond the end of an array are zeros",
        ),
    ],
)
def test_shapes_that_differ_are_not_to_be_computed_with_zeros(x, y, text):
    given = np.ones(x, np.float32), np.ones(y, np.float32)

    assert message(lambda: summed(*given)) == text


def test_a_broadcast_copy_gives_what_numpy_gives():
    x, y = np.ones((2, 3), np.float32), np.arange(3, dtype=np.float32).reshape(1, 3)

    assert np.array_equal(summed(x, np.broadcast_to(y, (2, 3)).copy()), x + y)


def test_outputs_that_differ_are_not_to_be_cut():
    outs = np.zeros(4, np.float32), np.zeros(5, np.float32)

    assert message(lambda: split(np.ones(5, np.float32), out=outs)) == (
        "the outputs of split differ in shape: low (4,), high (5,)\n"
        "Fix: pass outputs of one shape; what is written beyond the end of one is dropped"
    )


def test_an_output_elsewhere_stays_where_it_is():
    device = vyre.open("reference")
    x, out = np.ones(4, np.float32), np.zeros(4, np.float32)

    assert message(lambda: doubled(x, out=device.array(out))).endswith(
        "Fix: move what is read to where out is, with device.array(x)"
    )
    assert message(lambda: doubled(device.array(x), out=out)).endswith(
        "Fix: move what is read to where out is, with numpy.asarray(x)"
    )
    assert message(lambda: split(x, out=(out, device.array(out)))).endswith(
        "Fix: make what is written, low, high, in one place, and pass that"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1j, "1j, which is complex\nFix: pass a float, and another for the imaginary part"),
        (
            np.complex64(1j),
            "1j, which is complex\nFix: pass a float, and another for the imaginary part",
        ),
        (np.timedelta64(5, "ns"), "np.timedelta64(5,'ns'), not a number\nFix: pass a float"),
        (np.ma.masked, "masked, not a number\nFix: pass a float"),
        (np.array([1.0]), "array([1.]), not a number\nFix: pass a float"),
        (10**5000, "<a whole number of 16610 bits>, too large for f32\n"
         "Fix: pass a number up to 3.40282e+38, or declare it f64"),
        (-(10**5000), "<a negative whole number of 16610 bits>, too large for f32\n"
         "Fix: pass a number up to 3.40282e+38, or declare it f64"),
    ],
    ids=["complex", "complex64", "timedelta", "masked", "one element", "huge", "negative"],
)  # fmt: skip
def test_a_number_that_a_scalar_cannot_hold_is_refused(value, text):
    x = np.ones(2, np.float32)

    assert message(lambda: scaled(x, a=value, b=0)) == f"a of scaled is {text}"


def test_a_number_too_large_for_the_largest_type_is_not_to_be_declared_larger():
    x = np.ones(2, np.float32)

    assert message(lambda: scaled(x, a=1, b=10**400)).endswith(
        "too large for f64\nFix: pass a number up to 1.79769e+308"
    )


@pytest.mark.parametrize(
    "x",
    [
        np.float32([[1, 2], [3, 4]]).view(np.matrix),
        np.float32([[1, 2], [3, 4]]),
        np.array(2, np.float32),
        np.float32([1, 2, 3])[::-1],
        np.float32([[1, 2], [3, 4]]).T,
        np.broadcast_to(np.float32(3), (4,)),
        np.frombuffer(np.float32([1, 2]).tobytes(), np.float32),
        np.frombuffer(b"\0" + np.float32([1, 2]).tobytes(), np.uint8)[1:].view(np.float32),
        np.zeros((0, 3), np.float32),
    ],
    ids=["matrix", "plain", "0-d", "backwards", "transposed", "broadcast", "read-only", "unaligned",
         "empty"],
)  # fmt: skip
def test_what_can_be_read_is_read_whatever_it_is(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", vyre.CopyWarning)
        found = doubled(x)

    assert found.shape == x.shape
    assert np.array_equal(found, 2 * np.asarray(x))


def test_flags_are_bytes():
    assert tiny(np.array([True, False])).tolist() == [1, 0]
