import numpy as np
import pytest

from vyre.ir import DataType
from vyre.testing.compare import apart


@pytest.mark.parametrize(
    ("dtype", "kind"), [(DataType.F32, np.float32), (DataType.F64, np.float64)]
)
def test_floats_are_compared_in_units_of_the_last_place(dtype, kind):
    one = np.array([1.0, -1.0, 0.0, np.inf], kind)
    next_one = np.nextafter(one, kind(2))

    assert apart(dtype, one, next_one, ulp=0).tolist() == [0, 1, 2, 3]
    assert apart(dtype, one, next_one, ulp=1).tolist() == []
    assert apart(dtype, one, np.nextafter(next_one, kind(2)), ulp=1).tolist() == [0, 1, 2, 3]


def test_zeros_are_two_values_bit_for_bit_and_one_in_units():
    zeros = np.array([0.0]), np.array([-0.0])

    assert apart(DataType.F64, *zeros).tolist() == [0]
    assert apart(DataType.F64, *zeros, ulp=1).tolist() == []


def test_values_on_both_sides_of_zero_are_as_far_apart_as_they_are():
    tiny = np.nextafter(0.0, 1.0)

    assert apart(DataType.F64, np.array([tiny]), np.array([-tiny]), ulp=1).tolist() == [0]
    assert apart(DataType.F64, np.array([tiny]), np.array([-tiny]), ulp=2).tolist() == []


def test_a_nan_equals_any_nan_and_nothing_else():
    a, b = np.array([np.nan, np.nan, 1.0]), np.array([-np.nan, 1.0, np.nan])

    assert apart(DataType.F64, a, b, ulp=9).tolist() == [1, 2]
    assert apart(DataType.F64, a, b).tolist() == [1, 2]


def test_a_bf16_is_compared_as_the_float_it_is():
    nans = np.array([0x7FC0], np.uint16), np.array([0xFFC1], np.uint16)

    assert apart(DataType.BF16, *nans).tolist() == []
    assert apart(DataType.BF16, np.array([1], np.uint16), np.array([2], np.uint16)).tolist() == [0]
