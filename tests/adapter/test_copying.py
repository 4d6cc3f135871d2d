"""Copies of what a call is given share no memory with it, and are not too large."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as np_st

import vyre
from vyre.adapter.trial import copying
from vyre.adapter.trial.copying import copied, refuse_beyond, refuse_to_copy_much
from vyre.adapter.trial.laid import Contiguous

ARRAYS = np_st.arrays(np_st.scalar_dtypes(), np_st.array_shapes(min_side=0, max_side=3))
VALUES = st.recursive(
    ARRAYS | st.integers() | st.text() | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
)


def arrays_in(value):
    if isinstance(value, np.ndarray):
        return [value]
    inner = value.values() if isinstance(value, dict) else value
    return (
        [x for one in inner for x in arrays_in(one)]
        if hasattr(inner, "__iter__") and not (isinstance(inner, str))
        else []
    )


@given(VALUES)
def test_a_copy_is_equal_and_shares_no_memory(value):
    made = copied(value)

    pairs = list(zip(arrays_in(value), arrays_in(made), strict=True))
    assert type(made) is type(value)
    for one, other in pairs:
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
        assert not np.shares_memory(one, other)


def test_a_copy_keeps_the_order_of_axes():
    assert copied(np.zeros((3, 4), order="F")).flags.f_contiguous


def test_objects_in_an_array_are_copied_too():
    array = np.array([[1], None], object)

    made = copied(array)

    made[0].append(2)
    assert array[0] == [1]


def test_an_array_of_a_device_is_copied_there():
    x = vyre.open("reference").array([1.0, 2.0])

    made = copied((x,))[0]

    assert made is not x
    assert made.device is x.device
    assert np.asarray(made).tolist() == [1.0, 2.0]


def test_what_a_device_holds_is_copied_to_the_host_on_its_way_and_counts_there(monkeypatch):
    monkeypatch.setattr(copying.host, "free_bytes", lambda: 20_000)

    with pytest.raises(vyre.InvalidInput) as caught:
        refuse_to_copy_much(((Contiguous(np.zeros(100), 0, 0),), {}), "check=", 5000)

    assert str(caught.value) == (
        "check= copies 5,800 bytes of arguments with 5,000 around each array, and 20,000 bytes of "
        "memory are free\nFix: try it on smaller arguments: at most 5,000 bytes may be copied"
    )


class Theirs:
    """An array of a library that has no `clone`."""

    def __init__(self, nbytes=0):
        self.nbytes = nbytes

    def copy(self):
        return "a copy"


class Bare:
    """One that has neither, and can be copied as anything can."""


def test_arrays_of_others_are_copied_by_their_library(monkeypatch):
    monkeypatch.setattr(copying, "kind_of", lambda one: isinstance(one, (Theirs, Bare)) or None)

    assert copied(Theirs()) == "a copy"
    assert isinstance(copied(Bare()), Bare)


def test_what_cannot_be_copied_is_refused():
    class Held:
        def __deepcopy__(self, _):
            raise TypeError("it is one of a kind")

        def __repr__(self):
            return "<held>"

    with pytest.raises(vyre.InvalidInput) as caught:
        copied((Held(),))

    assert str(caught.value) == (
        "<held> cannot be copied: TypeError: it is one of a kind\n"
        "Fix: pass arrays and plain values, or call it and let it learn"
    )


@given(st.integers(0, 10**12), st.integers(0, 10**12))
def test_copies_take_a_quarter_of_what_is_free_at_most(needed, free):
    if needed <= free // 4:
        refuse_beyond(needed, free, "it")
    else:
        with pytest.raises(vyre.InvalidInput):
            refuse_beyond(needed, free, "it")


def test_where_nothing_says_what_is_free_nothing_is_refused():
    refuse_beyond(10**30, None, "it")


@pytest.mark.parametrize(
    "value",
    [np.zeros(1000), [np.zeros(400), {"x": np.zeros(600)}], (np.zeros(500), (np.zeros(500),))],
)
def test_all_arrays_count_wherever_they_are_held(monkeypatch, value):
    monkeypatch.setattr(copying.host, "free_bytes", lambda: 31_999)

    with pytest.raises(vyre.InvalidInput) as caught:
        refuse_to_copy_much(value, "check=")

    assert str(caught.value) == (
        "check= copies 8,000 bytes of arguments, and 31,999 bytes of memory are free\n"
        "Fix: try it on smaller arguments: at most 7,999 bytes may be copied"
    )
    monkeypatch.setattr(copying.host, "free_bytes", lambda: 32_000)
    refuse_to_copy_much(value, "check=")


def test_arrays_of_a_device_count_there(monkeypatch):
    device = vyre.open("reference")
    x = device.array(np.zeros(1000))
    monkeypatch.setattr(type(device.backend), "free_bytes", lambda _: 100)

    with pytest.raises(vyre.InvalidInput, match="8,000 bytes of arguments, and 100 bytes"):
        refuse_to_copy_much((x, np.zeros(1)), "tuning f")


def test_arrays_that_have_no_place_count_nothing(monkeypatch):
    class Kind:
        def see(self, _):
            raise RuntimeError("it has no place")

    monkeypatch.setattr(copying, "kind_of", lambda one: Kind() if type(one) is Theirs else None)
    monkeypatch.setattr(copying.host, "free_bytes", lambda: 100)

    refuse_to_copy_much(Theirs(1000), "tuning f")


@pytest.mark.parametrize("ordinal", [-1, 2])
def test_arrays_of_others_count_where_they_are(monkeypatch, ordinal):
    class Kind:
        def see(self, _):
            return type("Seen", (), {"device": ordinal})

    class Place:
        device = vyre.open("reference")

    asked = []
    monkeypatch.setattr(copying, "kind_of", lambda one: Kind() if type(one) is Theirs else None)
    monkeypatch.setattr(copying, "cuda", lambda n: asked.append(n) or Place)
    monkeypatch.setattr(copying.host, "free_bytes", lambda: 100)

    with pytest.raises(vyre.InvalidInput, match="1,000 bytes of arguments, and 100 bytes"):
        refuse_to_copy_much(("plain", 1, Theirs(1000)), "tuning f")

    assert asked == ([] if ordinal < 0 else [2])
