"""What tests of adapters share: a process of their own to learn in."""

import pytest

from vyre.testing.foreign import Bench, learning


@pytest.fixture
def bench():
    """A memory and deciders of one's own."""
    with learning(Bench()) as made:
        yield made
