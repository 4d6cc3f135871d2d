from itertools import pairwise
from math import log
from random import Random
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vyre.policy.evidence import RECENT, agreeing, doubted, locate, moved, noise_of

RNG = Random(5)
NOISY = [RNG.gauss(0.0, 0.03) for _ in range(128)]


def gaps(times):
    return [abs(b - a) for a, b in pairwise(times)]


def test_the_noise_is_learned_from_repeats():
    assert noise_of(()) == 0.03
    assert noise_of(gaps([4 * time for time in NOISY])) == pytest.approx(0.12, rel=0.15)
    assert noise_of(gaps([time / 4 for time in NOISY])) == pytest.approx(0.01, rel=0.15)


def test_a_few_outliers_hardly_raise_the_noise():
    times = [time + 1.1 * (at % 20 == 0) for at, time in enumerate(NOISY)]

    assert noise_of(gaps(times)) < 1.5 * noise_of(gaps(NOISY))


def test_two_modes_are_noise_as_wide_as_they_are_apart():
    times = [time + 0.3 * (RNG.random() < 0.5) for time in NOISY]

    assert noise_of(gaps(times)) > 0.1


def test_a_timer_of_few_values_is_uncertain_by_its_step():
    assert noise_of([0.0] * 50 + [0.1] * 3) == pytest.approx(0.03, rel=0.1)
    assert noise_of([0.0] * 500) >= 0.004


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=40), st.floats(-5, 5))
def test_times_that_are_all_longer_are_located_later_by_as_much(times, more):
    location, precision = locate(times, 0.03)
    later, same = locate([time + more for time in times], 0.03)

    assert later == pytest.approx(location + more, abs=1e-6)
    assert same == pytest.approx(precision, rel=1e-3)


def test_one_time_in_ten_that_is_tripled_moves_a_location_by_less_than_the_noise():
    times = NOISY[:20]
    disturbed = [*times[:18], times[18] + 1.1, times[19] + 1.1]

    assert abs(locate(disturbed, 0.03)[0] - locate(times, 0.03)[0]) < 0.01


def test_of_two_times_that_disagree_the_lower_counts_and_not_much():
    location, precision = locate([0.0, 1.1], 0.03)

    assert location == 0.0
    assert precision < locate([0.0], 0.03)[1]


def test_where_others_share_the_device_the_lowest_times_count():
    rng = Random(0)
    fast, slow = (
        [log(ns) + rng.expovariate(4.0) * rng.choice((0.1, 1.0)) for _ in range(8)]
        for ns in (100.0, 108.0)
    )
    noise = 0.2

    (here, known), (there, known_too) = locate(fast, noise), locate(slow, noise)

    assert min(fast) <= here < sorted(fast)[2]
    assert here < there
    assert known == known_too == pytest.approx((1.5 * noise / 8) ** -2, rel=0.01)


def test_more_times_are_more_precise_up_to_a_floor():
    precisions = [locate(NOISY[:count], 0.03)[1] for count in (1, 2, 8, 32, 128)]

    assert precisions == sorted(precisions)
    assert precisions[-1] < 1 / 0.002**2


def test_a_surprise_is_trusted_less_and_what_was_expected_is_not():
    assert doubted(0.1, 1000.0, 0.0, 0.04) == (0.1, 1000.0)
    location, precision = doubted(1.1, 1000.0, 0.0, 0.04)
    assert location == 1.1
    assert precision < 10


def test_a_change_of_speed_is_noticed_either_way():
    assert moved([*NOISY[:30], *(time + 0.2 for time in NOISY[:RECENT])], 0.03)
    assert moved([*NOISY[:30], *(time - 0.2 for time in NOISY[:RECENT])], 0.03)


def test_noise_and_a_few_outliers_in_a_row_are_no_change():
    assert not any(moved(NOISY[:count], 0.03) for count in range(len(NOISY)))
    assert not moved([*NOISY[:40], 1.1, 1.1, 1.1], 0.03)


def test_too_few_times_tell_no_change():
    assert not moved([0.0] * (RECENT - 1) + [1.0] * RECENT, 0.03)


def test_times_agree_where_most_of_them_lie():
    assert agreeing([], 0.03) == 0
    assert agreeing([0.0, 0.01, 1.1], 0.03) == 2
    assert agreeing([1.1, 1.12, 0.0], 0.03) == 2
    assert agreeing(NOISY, 0.03) > 120
    assert abs(locate(NOISY, 0.03)[0] - median(NOISY)) < 0.01
