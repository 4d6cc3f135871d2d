"""What array objects hold is what NumPy says of them."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vyre.runtime.arrays import in_place
from vyre.runtime.arrays.array import alignment_of
from vyre.runtime.arrays.in_place import (
    CAN_READ,
    Watch,
    address_of,
    ask_all,
    asked_address,
    can_read,
    change_of,
    read_all,
)

reading = pytest.mark.skipif(not CAN_READ, reason="array objects are not as NumPy's interface says")


def test_cpython_can_read():
    assert (sys.implementation.name == "cpython") == CAN_READ


def test_another_interpreter_asks_numpy(monkeypatch):
    monkeypatch.setattr(sys.implementation, "name", "pypy")

    assert not can_read()


def test_fields_that_do_not_agree_are_not_read(monkeypatch):
    monkeypatch.setattr(in_place, "asked_address", lambda array: asked_address(array) + 8)

    assert not can_read()


@given(
    shape=st.lists(st.integers(0, 4), max_size=4),
    dtype=st.sampled_from("?bhilqefdBHILQ"),
    at=st.integers(0, 70),
    turned=st.booleans(),
)
@reading
def test_both_ways_to_see_an_array_agree(shape, dtype, at, turned):
    bytes_ = np.zeros(np.prod(shape, dtype=int) * np.dtype(dtype).itemsize + 70, np.uint8)
    array = bytes_[at : len(bytes_) - 70 + at].view(dtype).reshape(shape)
    array = array.T if turned else array
    read, asked = ([], []), ([], [])

    assert read_all([array, array], *read)
    assert ask_all([array, array], *asked)
    assert read == asked
    assert address_of(array) == array.ctypes.data
    assert read[0][3] == alignment_of(array)


@pytest.mark.parametrize(
    "other", [[1.0], None, 3, np.float32(1), np.ma.masked_array([1.0]), np.zeros(3).view(np.matrix)]
)
@pytest.mark.parametrize("see", [read_all, ask_all])
@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_what_is_no_plain_array_is_not_seen(see, other):
    assert not see([np.zeros(3), other], [], [])


@reading
def test_an_array_is_watched_without_being_kept():
    array = np.zeros((2, 3))
    count = sys.getrefcount(array)
    watch = Watch.of(array)

    assert sys.getrefcount(array) == count
    assert not watch.has_changed(array)
    array[...] = 7
    assert not watch.has_changed(array)


@pytest.mark.parametrize("quick", [pytest.param(True, marks=reading), False])
def test_changes_in_place_are_told(monkeypatch, quick):
    monkeypatch.setattr(in_place, "CAN_READ", quick)
    array = np.zeros(6)
    changed = change_of(array)
    assert not changed(array)

    array.setflags(write=False)
    assert changed(array)
    array.setflags(write=True)
    assert not changed(array)
    array.resize(5, refcheck=False)
    assert changed(array)


@reading
def test_an_object_of_another_type_is_a_change():
    assert Watch.of(np.zeros(3)).has_changed([0.0] * 3)
