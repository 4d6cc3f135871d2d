"""What tells launches apart, quickly."""

import numpy as np
import pytest

from vyre.adapter.looks import Arrays, Looks


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


def test_arrays_are_looked_at_as_a_library_says():
    said = Arrays(exact=len, look=lambda held: bool(held))
    looks = Looks(lambda kind: said if kind is list else None)

    assert looks.exactly([[1, 2], 2]) == ((list, int), 2, 2)
    assert looks.at([[1, 2], 2]) == (True, (int, 2))
    assert looks.at([([1], 2)]) == ((tuple, True, (int, 2)),)
    assert looks.exactly([([1], 2)]) == ((tuple,), (tuple, True, (int, 2)))
