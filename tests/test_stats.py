"""Intervals of paired ratios, from few pairs and from many."""

from math import exp, inf
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vyre.stats import FEW, ratio_interval, student

RATIOS = st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=30)


def interval(ratios, confidence=0.99):
    return ratio_interval(ratios, [1.0] * len(ratios), Random(0), confidence)


@pytest.mark.parametrize(
    ("freedom", "confidence", "value"),
    [(1, 0.99, 63.657), (2, 0.99, 9.925), (3, 0.95, 3.182), (6, 0.99, 3.707), (30, 0.95, 2.042)],
)
def test_students_t_is_that_of_the_tables(freedom, confidence, value):
    assert student(freedom, confidence) == pytest.approx(value, abs=5e-4)


def test_three_pairs_that_agree_settle_a_large_gap():
    assert interval([30.0, 27.0, 33.0]).low > 15


def test_three_pairs_settle_no_gap_of_the_size_of_their_noise():
    assert interval([1.10, 1.04, 1.20]).low < 1


def test_one_disturbed_pair_among_a_few_settles_nothing():
    assert interval([30.0, 30.0, 0.3]).low < 1


def test_one_disturbed_pair_among_many_changes_nothing():
    assert interval([*[30.0] * 11, 0.3]).low > 25


@given(RATIOS)
def test_the_median_lies_within_its_bounds_and_these_within_all_numbers(ratios):
    found = interval(ratios)

    assert 0 < found.low <= found.middle <= found.high < inf


@pytest.mark.parametrize("pairs", [2, 3, 5, FEW - 1])
def test_bounds_of_few_pairs_hold_the_truth_as_often_as_they_say(pairs):
    """The best of a resampling of three would hold it three times in four."""
    rng = Random(pairs)
    held = 0
    for _ in range(2000):
        found = interval([exp(rng.gauss(0.5, 0.1)) for _ in range(pairs)], 0.95)
        held += found.low <= exp(0.5) <= found.high

    assert held / 2000 > 0.93


@pytest.mark.parametrize("ratios", [[2.0], [2.0, 2.0], [1e-300, 1e300]])
def test_one_ratio_equal_ones_and_absurd_ones_have_an_interval(ratios):
    found = interval(ratios)

    assert 0 < found.low <= found.high < inf
