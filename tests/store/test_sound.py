"""What may come from outside has bounds, in every part."""

import pytest

from vyre.model import COUNTS, SIZES, U32_MAX, Code, Schedule
from vyre.store.sound import is_sound_config


@pytest.mark.parametrize("name", [*SIZES, *COUNTS])
def test_no_number_of_a_schedule_is_beyond_32_bits(name: str):
    most, beyond = (
        Schedule((1, 1, 1), Code(**{"depth": 1, name: number})) for number in (U32_MAX, U32_MAX + 1)
    )

    assert is_sound_config(most)
    assert not is_sound_config(beyond)


@pytest.mark.parametrize("axis", range(3))
def test_neither_is_an_axis_of_its_workgroup(axis: int):
    sizes = [1, 1, 1]
    sizes[axis] = U32_MAX + 1

    assert not is_sound_config(Schedule((sizes[0], sizes[1], sizes[2])))
