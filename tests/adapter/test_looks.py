"""What tells launches apart, quickly."""

import numpy as np
import pytest

from vyre.adapter.looks import Looks


def look(value, looks=None):
    looks = Looks() if looks is None else looks
    return looks[type(value)](value)


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
    assert (look(one) == look(other)) is alike
    assert hash(look(one)) is not None


def test_arrays_are_looked_at_as_a_library_says():
    looks = Looks(lambda kind: len if kind is list else None)

    assert look([1, 2], looks) == 2
    assert look(2, looks) == (int, 2)
