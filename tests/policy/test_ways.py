"""Ways as configs, and the hit rates they are learned by."""

from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vyre.policy.ways import FINEST_RATE, Way, regime_of, way_of


@pytest.mark.parametrize("way", Way)
def test_a_way_and_its_config_name_each_other(way):
    assert way_of(way.knobs) is way
    assert way.knobs.text == f"way={way.value}"


def test_the_configs_of_ways_differ():
    assert len({way.knobs for way in Way}) == len(Way)


@given(st.floats(0.0, 1.0))
def test_every_rate_has_a_regime_by_the_odds(rate):
    inside = min(max(rate, FINEST_RATE), 1 - FINEST_RATE)

    assert abs(regime_of(rate) - 2 * log2(inside / (1 - inside))) <= 0.5


@given(st.floats(0.0, 1.0), st.sets(st.integers(-28, 28)))
def test_a_known_regime_serves_what_is_next_to_it(rate, known):
    found = regime_of(rate, known)

    place = regime_of(rate)
    assert found == place or (found in known and abs(found - place) == 1)
    assert found in known or not {place - 1, place, place + 1} & known


@given(st.floats(0.001, 0.999), st.floats(0.001, 0.999))
def test_more_hits_are_never_a_lower_regime(one, other):
    low, high = sorted((one, other))

    assert regime_of(low) <= regime_of(high)
