"""Which very objects a call brings."""

import numpy as np
import pytest

from vyre.runtime.call.identity import key_of


class Alike:
    """Equal to everything, with one hash for all."""

    def __eq__(self, _: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 1


@pytest.mark.parametrize("count", range(9))
def test_a_key_tells_any_object_in_any_place_apart(count: int):
    given = [np.zeros(1) if number % 2 else Alike() for number in range(count)]
    key = key_of("rule", 2, given)

    assert key == key_of("rule", 2, tuple(given))
    assert key[:2] == ("rule", 2)
    for place in range(count):
        other = [*given]
        other[place] = Alike()
        assert key_of("rule", 2, other) != key
    if count > 1:
        assert key_of("rule", 2, given[::-1]) != key
    assert key_of("rule", None, given) != key
