"""Which calls share a choice where nobody says."""

from dataclasses import dataclass
from enum import Enum, IntEnum

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vyre
from vyre.adapter import alike as alike_module
from vyre.adapter.alike import alike, elements_in, named, sizes_in, traits_in


class Colour(Enum):
    RED = 1


class Level(IntEnum):
    LOW = 1


@dataclass(frozen=True)
class Seen:
    dtype: str
    shape: tuple[int, ...]
    device: int
    contiguous: bool = True


class Theirs:
    """How the arrays of another library look."""

    name = "theirs"

    def see(self, value):
        if value.seen.dtype == "none":
            raise RuntimeError("it has no place")
        return value.seen


class Array:
    def __init__(self, *seen, requires_grad=False):
        self.seen, self.requires_grad = Seen(*seen), requires_grad


class Torch(Array):
    """One that tells of its steps as torch does."""

    layout = "torch.strided"

    def __init__(self, shape, stride, layout=layout):
        super().__init__("float32", shape, -1, False)
        self.strides, self.layout = stride, layout

    def is_contiguous(self):
        return self.strides is None

    def stride(self):
        return self.strides


PLAIN = (
    st.integers(-(10**6), 10**6)
    | st.booleans()
    | st.floats()
    | st.text(max_size=100)
    | st.none()
    | st.sampled_from([Colour.RED, b"x", 1j, np.float32(2), np.int64(7), np.zeros(5), {}, object])
)
VALUES = st.recursive(PLAIN, lambda inner: st.lists(inner, max_size=40) | st.tuples(inner, inner))


@given(st.lists(VALUES, max_size=5))
def test_what_calls_have_in_common_can_be_looked_up_and_is_the_same_each_time(values):
    common = alike(values)

    assert hash(common) == hash(alike(values))
    assert common == alike(values)
    assert all(type(one) is int for one in sizes_in(common))
    assert all(type(one) is str for one in traits_in(common))
    assert elements_in(common) >= 1


@given(st.integers(0, 2**40))
def test_a_number_counts_by_its_doublings(number):
    (size,) = sizes_in(alike((number,)))

    assert size >= number
    assert size.bit_length() == number.bit_length()
    assert alike((-number,)) == alike((number,))
    assert sizes_in(alike((np.int64(number),))) == (size,)


@given(st.integers(0, 1000))
def test_a_size_counts_exactly(n):
    assert sizes_in(alike((np.zeros(n, "f4"),))) == (n,)


def test_types_and_axes_and_words_tell_calls_apart():
    kinds = [
        *(1, 1.0, True, None, "1", b"1", 1j, "True", "x" * 65, Colour.RED, Level.LOW, object()),
        *(np.float32(1), np.int32(1), np.zeros(1), np.zeros(1, "f4"), np.zeros((1, 1)), [1], (1,)),
        *([1, 1], [[1], [1]], [1] * 33, np.ma.zeros(1), vyre.open("reference").array([1.0])),
    ]
    common = [alike((kind,)) for kind in kinds]

    assert len(set(common)) == len(kinds)
    assert alike(("x" * 65,)) == alike(("y" * 66,))


def test_sizes_inside_of_lists_count_as_those_of_arguments_do():
    small, large = (alike(([np.zeros((2, n), "f4"), 7],)) for n in (300, 400))

    assert sizes_in(small) == (600, 7)
    assert sizes_in(large) == (800, 7)
    assert traits_in(small) == traits_in(large) == ("list of 2", "ndarray <f4 C 2", "int")
    assert elements_in(large) == 800


def test_what_is_passed_by_name_is_named():
    common = (named("x", np.zeros(10)), named("n", 1000))

    assert traits_in(common) == ("x= ndarray <f8 C 1", "n= int")
    assert sizes_in(common) == (10, 1023)
    assert elements_in(common) == 10


@pytest.mark.parametrize("values", [(), (1000,), ("text", 2.0), (np.zeros(0),)])
def test_where_nothing_has_elements_there_is_one(values):
    assert elements_in(alike(values)) == 1


@pytest.mark.parametrize(
    ("array", "common"),
    [
        (Array("float32", (4, 5), -1), ("theirs", "float32", "host", "C", 2, 20)),
        (Array("float32", (4, 5), 0), ("theirs", "float32", "device", "C", 2, 20)),
        (Array("float32", (4, 5), 1), ("theirs", "float32", "device", "C", 2, 20)),
        (Array("int8", (9,), 0, False), ("theirs", "int8", "device", "strided", 1, 9)),
        (
            Array("int8", (), 0, requires_grad=True),
            ("theirs", "int8", "device", "C", "gradients", 0, 1),
        ),
        (Array("none", (), 0), ("theirs", "Array")),
        (Torch((4, 5), None), ("theirs", "float32", "host", "C", 2, 20)),
        (Torch((4, 5), (1, 4)), ("theirs", "float32", "host", "strided 10", 2, 20)),
        (Torch((4, 5), None, "torch.coo"), ("theirs", "float32", "host", "torch.coo", 2, 20)),
    ],
)
def test_arrays_of_others_count_by_where_they_are(monkeypatch, array, common):
    monkeypatch.setattr(
        alike_module, "kind_of", lambda one: Theirs() if isinstance(one, Array) else None
    )

    assert alike((array,)) == (common,)
    assert sizes_in((common,)) == common[-1:] * (len(common) > 2)


def test_the_order_of_an_array_tells_calls_apart():
    x = np.zeros((4, 6))

    assert [alike((one,))[0][2] for one in (x, x.T, x[:, ::2], np.ma.zeros((2, 2)).T)] == [
        *("C", "strided 10", "strided 01", "strided 10")
    ]


def test_lists_in_lists_are_told_apart_as_far_as_a_call_can_wait_for_it():
    def nested(value, depth):
        return nested([value], depth - 1) if depth else value

    assert alike([nested(1, 3)]) != alike([nested(1.0, 3)])
    assert alike([nested(1, 5)]) == alike([nested(1.0, 5)])
