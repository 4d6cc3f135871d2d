"""What tells launches apart, quickly."""

import numpy as np
import pytest

from vyre.adapter.looks import _MOST_KINDS, NOT_SEEN, Arrays, Looks


def alike_exactly(one, other):
    looks = Looks()
    return looks.exactly([one]) == looks.exactly([other])


def alike_at_all(one, other):
    looks = Looks()
    return looks.at([one]) == looks.at([other])


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        (3, 2, True),
        (3, 4, False),
        (0, 0, True),
        (-3, 3, True),
        (np.int32(3), np.int32(2), True),
        (np.int32(3), np.int64(3), False),
        (np.int32(3), 3, False),
        (True, False, False),
        (True, 1, False),
        (0.5, 7.5, True),
        (float("nan"), 1.0, True),
        (np.float32(1), 1.0, False),
        (1j, 2j, True),
        (None, None, True),
        ((1, 2), (1, 3), True),
        ((1, 2), (1, 2.0), False),
        ((1, 2), (1,), False),
        ("a", "b", True),
    ],
)
def test_numbers_count_by_their_doublings_and_all_else_by_its_type(one, other, alike):
    assert alike_exactly(one, other) is alike
    assert alike_at_all(one, other) is alike
    assert hash(Looks().exactly([one])) is not None
    assert hash(Looks().at([one])) is not None


def test_how_many_there_are_and_where_they_stand_counts():
    given = [(), (1, 2.0), (2.0, 1), (True,), (False,), (1,), (1.0,), (1, 1), ((1,), 1), (1, (1,))]
    looks = Looks()

    assert len(set(map(looks.exactly, given))) == len(given)
    assert len(set(map(looks.at, given))) == len(given)


class Array:
    def __init__(self, size):
        self.size = size


def test_arrays_are_looked_at_as_a_library_says():
    said = Arrays(lambda x: x.size.bit_length(), ("size",))
    looks = Looks(lambda kind: said if kind is Array else None)

    assert looks.exactly([Array(5), 2]) == looks.exactly([Array(5), 3])
    assert looks.exactly([Array(5), 2]) != looks.exactly([Array(6), 2])
    assert looks.at([Array(5), 2]) == (3, (int, 2))
    assert looks.at([(Array(5), 2)]) == ((tuple, 3, (int, 2)),)
    assert looks.exactly([(Array(5), 2)]) != looks.exactly([(Array(8), 2)])


def test_arrays_without_attributes_that_say_it_are_asked():
    looks = Looks(lambda kind: Arrays(len) if kind is list else None)

    assert looks.exactly([[1, 2]]) == looks.exactly([[3, 4]]) != looks.exactly([[1]])


GIVEN = [(), (1,), (True,), (1, 2.0), (2.0, 1), (np.int32(1),), (np.float32(1),), ((1,),), (None,)]


@pytest.mark.parametrize("before", GIVEN)
@pytest.mark.parametrize("given", GIVEN)
def test_the_latest_way_to_look_gives_for_other_arguments_nothing_that_was_given(before, given):
    looks = Looks()
    kept = {looks.exactly(one) for one in GIVEN}
    expected = looks.exactly(before)

    assert looks.latest(before) == expected
    try:
        found = looks.latest(given)
    except NOT_SEEN:
        return
    assert found not in kept or found == looks.exactly(given)


@pytest.mark.parametrize("args", [None, 3, (1, 2), [1], iter([1])])
def test_what_cannot_be_looked_at_is_not_seen(args):
    looks = Looks()
    seen = looks.exactly([1])
    try:
        assert looks.latest(args) == seen
    except NOT_SEEN:
        assert args != [1]


class Lazy:
    """Says that it is something else, and cannot always be asked."""

    __class__ = property(lambda _: int)

    def bit_length(self):
        return 2

    @property
    def size(self):
        raise ZeroDivisionError("it is asked for its size")


def test_what_says_that_it_is_another_type_is_taken_for_none():
    looks = Looks()
    seen = looks.exactly([3])

    with pytest.raises(NOT_SEEN):
        looks.latest([Lazy()])
    assert looks.exactly([Lazy()]) != seen
    assert isinstance(Lazy(), int)


def test_nothing_is_asked_of_arguments_of_other_types():
    looks = Looks(lambda kind: Arrays(len, ("size",)) if kind is Array else None)
    looks.exactly([Array(5), Array(5)])

    with pytest.raises(NOT_SEEN):
        looks.latest([Array(5), Lazy()])


def test_ever_new_types_are_forgotten():
    looks, first = Looks(), [Array(1)]
    looks.exactly(first)
    for _ in range(2 * _MOST_KINDS):
        made = [type("New", (), {})()]
        looks.exactly(made)
        looks.at(made)

    assert len(looks._exact) == len(looks._looks) == _MOST_KINDS
    assert looks.exactly(first) == looks.exactly(first)
