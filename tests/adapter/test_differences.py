"""How what one config wrote differs from what another did."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as np_st

from vyre.adapter.trial.differences import differ

ARRAYS = np_st.arrays(
    np_st.scalar_dtypes().filter(lambda dtype: dtype.itemsize > 0),
    np_st.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)


@given(ARRAYS)
def test_what_is_the_same_does_not_differ(array):
    assert differ([array], [array.copy()], ("out",), 0.0, 0.0) is None


@given(ARRAYS, st.data())
def test_one_bit_is_a_difference_and_it_is_found(array, data):
    if not array.size:
        return
    changed = array.copy(order="C")
    at = data.draw(st.integers(0, array.nbytes - 1))
    changed.reshape(-1).view(np.uint8)[at] ^= 1
    if array.dtype.kind in "fc" and (np.isnan(array) & np.isnan(changed)).any():
        return
    problem = differ([array], [changed], ("out",), 0.0, 0.0)

    assert problem is not None
    assert problem.startswith(f"out has 1 of {array.size} elements that differ, such as ")


def test_a_nan_is_a_nan_whatever_its_payload():
    one, other = np.uint32([0x7FC00000, 1]).view("f4"), np.uint32([0x7FC00001, 1]).view("f4")

    assert differ([one], [other], ("out",), 0.0, 0.0) is None


def test_minus_zero_is_not_zero_unless_something_is_allowed():
    one, other = np.float32([0.0]), np.float32([-0.0])

    assert differ([one], [other], ("out",), 0.0, 0.0) == (
        "out has 1 of 1 elements that differ, such as -0.0 at 0, where it should be 0.0"
    )
    assert differ([one], [other], ("out",), 0.0, 1e-9) is None


def test_numbers_that_are_not_finite_are_said_without_a_warning():
    one = np.complex64([complex(0, np.inf)])
    signalling = np.uint32([0, 0x7FA00000]).view("c8")

    assert differ([one], [signalling], ("out",), 0.0, 0.0) == (
        "out has 1 of 1 elements that differ, such as nanj at 0, where it should be infj"
    )


@pytest.mark.parametrize(("rtol", "atol"), [(0.1, 0.0), (0.0, 2.0)])
def test_what_is_close_enough_does_not_differ(rtol, atol):
    one = np.float64([10.0, np.nan, np.inf])

    assert differ([one], [one * 1.05], ("out",), rtol, atol) is None
    assert differ([one], [one * 2], ("out",), rtol, atol) == (
        "out has 1 of 3 elements that differ, such as 20.0 at 0, where it should be 10.0"
    )


def test_how_close_is_asked_of_floats_alone():
    assert differ([np.int32([100])], [np.int32([101])], ("out",), 1.0, 1.0) == (
        "out has 1 of 1 elements that differ, such as 101 at 0, where it should be 100"
    )


def test_the_place_of_the_first_is_told_along_each_axis():
    one = np.zeros((2, 3))
    other = one.copy()
    other[1, 2] = 5.0

    assert differ([one], [other], ("out",), 0.0, 0.0) == (
        "out has 1 of 6 elements that differ, such as 5.0 at 1, 2, where it should be 0.0"
    )


@pytest.mark.parametrize(
    ("wanted", "found", "said"),
    [
        ([1], [1, 2], "it gave 2 results, and not 1"),
        ([1, 2], [1], "it gave 1 results, and not 2"),
        (
            [np.zeros(2)],
            [np.zeros(3)],
            "out is float64 of shape (3,), and not float64 of shape (2,)",
        ),
        (
            [np.zeros(2)],
            [np.zeros(2, "f4")],
            "out is float32 of shape (2,), and not float64 of shape (2,)",
        ),
        (
            [np.float64(1.0)],
            [np.float64(2.0)],
            "out has 1 of 1 elements that differ, such as 2.0 at its one place, where it should "
            "be 1.0",
        ),
        (
            [0, 1],
            [0, 2],
            "result 1 has 1 of 1 elements that differ, such as 2 at its one place, where it "
            "should be 1",
        ),
        (
            [np.array(["a", None], object)],
            [np.array(["a", "b"], object)],
            "out has 1 of 2 elements that differ, such as b at 1, where it should be None",
        ),
    ],
)
def test_what_differs_is_said(wanted, found, said):
    assert differ(wanted, found, ("out",), 0.0, 0.0) == said


def test_what_lies_between_the_fields_of_a_record_is_nobodys():
    kind = np.dtype([("a", "i1"), ("b", "f8"), ("c", "f4", (2,))], align=True)
    one, other = np.zeros(2, kind), np.empty(2, kind)
    other.view(np.uint8)[:] = 0xFF
    other["a"], other["b"], other["c"] = 0, 0, 0

    assert differ([one], [other], ("out",), 0.0, 0.0) is None
    other["c"][1, 1] = -0.0
    assert differ([one], [other], ("out",), 0.0, 0.0) == (
        "out has 1 of 2 elements that differ, such as (0, 0.0, [0.0, -0.0]) at 1, where it "
        "should be (0, 0.0, [0.0, 0.0])"
    )


@pytest.mark.parametrize("atol", [0.0, 1e-9])
def test_a_part_of_a_number_that_is_no_number_does_not_hide_the_other(atol):
    one, other = np.complex128([complex(np.nan, 1)]), np.complex128([complex(np.nan, 2)])

    assert differ([one], [one.copy()], ("out",), 0.0, atol) is None
    assert differ([one], [other], ("out",), 0.0, atol) == (
        "out has 1 of 1 elements that differ, such as (nan+2j) at 0, where it should be (nan+1j)"
    )


def test_objects_of_other_types_differ_though_they_are_equal():
    one, other = np.array([1, np.nan, None], object), np.array([True, np.nan, None], object)

    assert differ([one], [one.copy()], ("out",), 0.0, 0.0) is None
    assert differ([one], [other], ("out",), 0.0, 0.0) == (
        "out has 1 of 3 elements that differ, such as True at 0, where it should be 1"
    )
