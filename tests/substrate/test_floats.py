"""The float64 references, and how close the fixed-point steps come to them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vyre.errors import InvalidInput
from vyre.substrate import fixed, floats


def test_the_best_is_the_first_of_the_least_costs():
    assert floats.pick_best_config([3.0, 1.0, 4.0, 1.5, 9.0]) == 1
    assert floats.pick_best_config([2.0, 1.0, 1.0]) == 1
    assert floats.pick_best_config([[1.0, 0.0], [0.0, 1.0]]).tolist() == [1, 0]


def test_a_low_temperature_concentrates_on_the_best():
    low, best, high = floats.pick_config([5.0, 1.0, 5.0], 0.01)

    assert best > 0.99
    assert low < 0.01
    assert high < 0.01


def test_a_high_temperature_is_nearly_uniform():
    assert np.abs(floats.pick_config([1.0, 5.0, 9.0], 1000.0) - 1 / 3).max() < 0.01


def test_a_gradient_adds_up_to_minus_one():
    assert floats.config_gradient([1.0, 2.0, 3.0], 1.0).sum() == pytest.approx(-1.0)


def test_the_gradient_is_that_of_the_soft_minimum():
    costs, temperature, nudge = np.array([1.0, 2.0, 3.5]), 0.7, 1e-6

    def soft(values):
        return temperature * math.log(np.exp(-values / temperature).sum())

    slopes = [(soft(costs + nudge * e) - soft(costs - nudge * e)) / (2 * nudge) for e in np.eye(3)]
    assert floats.config_gradient(costs, temperature) == pytest.approx(slopes, abs=1e-8)


def test_temperatures_of_zero_and_infinity_are_the_limits():
    costs = [2.0, 1.0, 1.0]

    assert floats.pick_config(costs, 0.0).tolist() == [0.0, 0.5, 0.5]
    assert floats.pick_config(costs, math.inf).tolist() == pytest.approx([1 / 3] * 3)
    assert floats.pick_config(costs, 1e-300).tolist() == [0.0, 0.5, 0.5]
    assert floats.pick_config(costs, 1e300).tolist() == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize("pick", [floats.pick_config, floats.config_gradient])
@pytest.mark.parametrize("temperature", [-1.0, math.nan])
def test_a_temperature_that_means_nothing_is_refused(pick, temperature):
    with pytest.raises(InvalidInput) as error:
        pick([1.0], temperature)

    assert str(error.value) == (
        f"temperature {temperature}\n"
        "Fix: use 0 for the best alone, a positive number, or infinity for all alike"
    )


@pytest.mark.parametrize("cost", [math.nan, -math.inf])
def test_a_cost_that_means_nothing_is_refused(cost):
    with pytest.raises(InvalidInput) as error:
        floats.pick_config([1.0, cost], 1.0)

    assert str(error.value) == (
        f"a cost of {cost}\nFix: give numbers, and infinity for what cannot run"
    )


def test_no_candidates_are_refused():
    with pytest.raises(InvalidInput) as error:
        floats.pick_best_config([])

    assert str(error.value) == "no candidates to pick from\nFix: give at least one cost"


def test_an_infinite_cost_is_a_candidate_that_is_not_there():
    for temperature in (0.0, 1.0, math.inf):
        assert floats.pick_config([1.0, math.inf], temperature).tolist() == [1.0, 0.0]
    assert floats.pick_config([math.inf, math.inf], 1.0).tolist() == [0.5, 0.5]


@given(
    st.lists(st.integers(0, 1_000_000), min_size=1, max_size=60),
    st.integers(0, 1_000_000),
)
def test_fixed_point_probabilities_are_close_to_those_of_float64(costs, temperature):
    exact = floats.pick_config(costs, temperature) * fixed.ONE

    found = fixed.softmax_q16(fixed.weights_q16(np.array(costs), np.uint64(temperature)))

    # a unit of the result, and half a unit of each weight, of which the largest is 65536
    assert np.abs(found - exact).max() < 1 + 0.51 * (1 + len(costs))


@given(st.integers(1, 8), st.integers(0, 1 << 30))
def test_fixed_point_products_are_close_to_those_of_float64(n, seed):
    random = np.random.default_rng(seed)
    weights = random.integers(0, 65537, n)
    matrix = random.normal(size=(n, n))
    exact = floats.natural_config_gradient_magnitude(weights, matrix) * fixed.ONE

    found = fixed.precondition_q16(fixed.to_q16(matrix), fixed.softmax_q16(weights))

    # each term is rounded down, and each probability is a unit off at most
    assert np.abs(found - exact).max() < n + np.abs(matrix).sum(axis=1).max() + 1
