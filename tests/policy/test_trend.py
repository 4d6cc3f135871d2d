from math import log
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vyre.errors import InvalidInput
from vyre.model import Schedule
from vyre.policy.trend import Trend

SIZES = st.integers(1000, 4000)
TIMES = st.floats(0, 20)
TOLD = st.lists(st.tuples(st.integers(0, 3), SIZES, TIMES), max_size=40)


def after(told, trend: Trend | None = None) -> Trend:
    trend = trend or Trend()
    for schedule, size, log_ns in told:
        trend = trend.told(schedule, size, log_ns)
    return trend


def line(slope: float, count: int, rng: Random, noise: float = 0.0, spread: int = 4):
    """Times of three schedules, one of which runs for the largest sizes only."""
    told = []
    for _ in range(count):
        schedule, size = rng.randrange(3), round(1000 * spread ** rng.random())
        size = size + 1000 * spread if schedule == 2 else size
        told.append((schedule, size, schedule + slope * log(size) + rng.gauss(0.0, noise)))
    return told


def test_without_any_time_nothing_is_subtracted():
    assert Trend().level(12345) == 0.0


@given(TOLD, SIZES, TIMES)
def test_nothing_is_subtracted_at_the_size_that_was_told_first(told, size, log_ns):
    assert after([(0, size, log_ns), *told]).level(size) == 0.0


@given(TOLD)
def test_the_slope_is_never_outside_of_what_is_plausible(told):
    assert 0.0 <= after(told).slope <= 2.0


@given(TOLD, SIZES, SIZES)
def test_a_larger_size_is_never_held_for_quicker(told, one, other):
    trend = after(told)

    assert trend.level(min(one, other)) <= trend.level(max(one, other))


@given(TOLD, SIZES)
def test_times_that_are_all_longer_by_a_factor_give_the_same_trend(told, size):
    longer = [(schedule, at, log_ns + 3.0) for schedule, at, log_ns in told]

    assert after(longer).level(size) == pytest.approx(after(told).level(size), abs=1e-6)


@given(TOLD, SIZES)
def test_a_schedule_that_is_slower_throughout_gives_the_same_trend(told, size):
    slower = [(schedule, at, log_ns + 0.7 * schedule) for schedule, at, log_ns in told]

    assert after(slower).level(size) == pytest.approx(after(told).level(size), abs=1e-6)


@given(st.lists(TIMES, min_size=1, max_size=40), SIZES)
def test_times_of_one_size_leave_the_slope_as_it_was(times, size):
    """However many: what was learned from others is not forgotten."""
    learned = after(line(1.2, 60, Random(0)))

    assert after([(9, size, time) for time in times], learned).slope == learned.slope


@pytest.mark.parametrize("slope", [0.0, 0.5, 1.0, 1.5, 2.0])
@pytest.mark.parametrize("seed", range(5))
def test_the_slope_is_learned(slope, seed):
    rng = Random(seed)

    assert after(line(slope, 60, rng)).slope == pytest.approx(slope, abs=0.25)
    assert after(line(slope, 300, rng, noise=0.03)).slope == pytest.approx(slope, abs=0.1)


@pytest.mark.parametrize("seed", range(5))
def test_sizes_within_a_doubling_are_enough(seed):
    trend = after(line(1.0, 100, Random(seed), noise=0.03, spread=2))

    assert trend.slope == pytest.approx(1.0, abs=0.15)


@given(st.integers(0, 60), st.integers(0, 10_000))
def test_one_tripled_time_does_not_swing_the_trend(count, seed):
    """Not even where it is among the first; sizes a doubling apart stay within a few per cent."""
    rng = Random(seed)
    told = line(1.0, 61, rng, noise=0.03)
    schedule, at, log_ns = told[count]
    tripled = [*told[:count], (schedule, at, log_ns + log(3)), *told[count + 1 :]]

    for upto in range(count, len(told), 5):
        shift = after(tripled[: upto + 1]).slope - after(told[: upto + 1]).slope
        assert abs(shift) * log(2) < 0.15


@pytest.mark.parametrize("seed", range(5))
def test_one_time_in_twenty_that_is_tripled_hardly_matters(seed):
    rng = Random(seed)
    told = [
        (schedule, size, log_ns + log(3) * (rng.random() < 0.05))
        for schedule, size, log_ns in line(1.0, 200, rng, noise=0.03)
    ]

    assert after(told).slope == pytest.approx(1.0, abs=0.12)


def test_another_slope_is_learned_in_time():
    trend = after(line(0.2, 400, Random(1)))

    assert after(line(1.2, 400, Random(2)), trend).slope == pytest.approx(1.2, abs=0.15)


def test_schedules_may_be_told_by_themselves():
    one, two = Schedule((64, 1, 1)), Schedule((128, 1, 1))
    named = [(one, 1000, 1.0), (two, 1500, 5.0), (one, 2000, 1.4), (two, 1000, 4.4)]
    numbered = [((one, two).index(schedule), *rest) for schedule, *rest in named]

    assert after(named).slope == after(numbered).slope != Trend().slope


@pytest.mark.parametrize("log_ns", [float("nan"), float("inf"), float("-inf")])
def test_a_time_that_is_none_tells_nothing(log_ns):
    assert Trend().told(0, 1000, log_ns) == Trend()


@pytest.mark.parametrize("size", [0, -5])
def test_a_size_of_nothing_is_refused(size):
    with pytest.raises(InvalidInput) as told:
        Trend().told(0, size, 1.0)
    with pytest.raises(InvalidInput) as level:
        Trend().level(size)

    said = f"a trend over a size of {size}\nFix: give sizes of at least 1"
    assert str(told.value) == str(level.value) == said
