"""What tells launches apart, quickly."""

import numpy as np
import pytest

from vyre.adapter.looks import NOT_SEEN, Arrays, Looks


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
