"""The integer arithmetic of a step, against exact arithmetic and against the policy's own."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vyre.errors import InvalidInput
from vyre.model import U32_MAX
from vyre.policy.natural_step import natural_step_q16
from vyre.substrate import fixed

WEIGHTS = st.lists(
    st.one_of(st.integers(0, 3), st.integers(0, U32_MAX), st.just(U32_MAX)), min_size=1, max_size=80
)


def test_weights_are_normalised():
    assert fixed.softmax_q16(np.array([65_536, 131_072, 65_536])).tolist() == [16384, 32768, 16384]


def test_the_best_candidate_wins_where_a_numerator_of_32_bits_gave_it_nothing():
    """exp(0) is 65536 in 16.16, and 65536 shifted up by 16 is 0 in 32 bits."""
    weights = np.array([65_536, 40_000, 100])
    wrapped = [(int(weight) << 16) % (1 << 32) // int(weights.sum()) for weight in weights]

    found = fixed.softmax_q16(weights)

    assert wrapped[0] == 0
    assert found.argmax() == 0
    assert found.tolist() == [40659, 24815, 62]


def test_what_rounding_leaves_goes_to_the_largest_weights_a_unit_each_the_first_first():
    assert fixed.softmax_q16(np.array([1, 1, 1])).tolist() == [21846, 21845, 21845]
    assert fixed.softmax_q16(np.array([1, 2, 2])).tolist() == [13107, 26215, 26214]


def test_a_row_of_zeros_counts_as_one_of_equals():
    assert fixed.softmax_q16(np.zeros(3, np.uint32)).tolist() == [21846, 21845, 21845]


@given(WEIGHTS)
def test_probabilities_add_up_to_one_and_are_at_most_a_unit_from_exact(weights):
    found = fixed.softmax_q16(np.array(weights, np.uint32)).tolist()
    total = sum(weights)

    assert sum(found) == fixed.ONE
    for weight, share in zip(weights, found, strict=True):
        exact = Fraction(weight * fixed.ONE, total) if total else Fraction(fixed.ONE, len(weights))
        assert abs(share - exact) <= 1


def test_a_share_that_was_exact_may_get_a_unit():
    assert fixed.softmax_q16(np.array([1, 2, 3])).tolist() == [10922, 21845, 32769]


@given(WEIGHTS)
def test_a_larger_weight_never_gets_a_smaller_probability(weights):
    found = fixed.softmax_q16(np.array(weights, np.uint32))

    order = sorted(range(len(weights)), key=lambda i: (-weights[i], i))
    assert (np.diff(found[order].astype(np.int64)) <= 0).all()


@given(st.lists(WEIGHTS, min_size=1, max_size=4))
def test_rows_do_not_touch_each_other(rows):
    width = max(map(len, rows))
    padded = np.array([row + [0] * (width - len(row)) for row in rows], np.uint32)

    found = fixed.softmax_q16(padded)

    for row, alone in zip(found, padded, strict=True):
        assert row.tolist() == fixed.softmax_q16(alone).tolist()


def test_a_padded_row_is_the_row_and_zeros():
    assert fixed.softmax_q16(np.array([3, 1, 0, 0])).tolist() == [49152, 16384, 0, 0]


COSTS = st.lists(
    st.one_of(st.integers(0, 100), st.integers(-(1 << 63), fixed.ABSENT - 1)),
    min_size=1,
    max_size=40,
)


@given(COSTS, st.integers(1, fixed.HOTTEST - 1))
def test_a_weight_is_the_exponential_of_its_cost_to_half_a_unit(costs, temperature):
    found = fixed.weights_q16(np.array(costs), np.uint64(temperature)).tolist()

    for cost, weight in zip(costs, found, strict=True):
        exponent = float(Fraction(cost - min(costs), temperature))
        assert abs(weight - math.exp(-exponent) * fixed.ONE) < 0.51


@given(COSTS, st.integers(0, fixed.HOTTEST))
def test_the_least_cost_weighs_one_and_a_larger_cost_never_more_than_a_smaller(costs, temperature):
    found = fixed.weights_q16(np.array(sorted(costs)), np.uint64(temperature)).tolist()

    assert found[0] == fixed.ONE
    assert found == sorted(found, reverse=True)


def test_powers_of_a_half_fall_over_every_fraction():
    step = 1 << 20
    before = fixed.ONE
    for first in range(0, 1 << fixed.FRACTION, step):
        powers = fixed.power_of_half_q16(np.arange(first, first + step, dtype=np.uint64))
        powers = powers.astype(np.int64)
        assert powers[0] <= before
        assert (np.diff(powers) <= 0).all()
        before = powers[-1]
    assert before >= fixed.ONE // 2


def test_at_temperature_zero_only_the_least_costs_weigh_anything():
    found = fixed.weights_q16(np.array([7, 5, 5, 6]), np.uint64(0))

    assert found.tolist() == [0, 65536, 65536, 0]


def test_at_the_highest_temperature_all_costs_weigh_the_same():
    ends = np.array([-(1 << 63), 0, fixed.ABSENT - 1])

    assert fixed.weights_q16(ends, np.uint64(fixed.HOTTEST)).tolist() == [65536] * 3


def test_an_absent_candidate_weighs_nothing_at_any_temperature():
    costs = np.array([5, fixed.ABSENT])

    for temperature in (0, 1, fixed.HOTTEST):
        assert fixed.weights_q16(costs, np.uint64(temperature)).tolist() == [65536, 0]


I32 = st.one_of(st.integers(-100_000, 100_000), st.integers(fixed.I32_MIN, fixed.I32_MAX))


@st.composite
def products(draw):
    n = draw(st.integers(1, 6))
    cells = draw(st.lists(I32, min_size=n * n + n, max_size=n * n + n))
    return np.array(cells[n:]).reshape(n, n), np.array(cells[:n])


@given(products())
def test_a_product_is_exact_but_for_terms_rounded_down_and_ends_that_hold(operands):
    matrix, vector = operands
    exact = [
        sum(a * b >> 16 for a, b in zip(row, vector.tolist(), strict=True))
        for row in matrix.tolist()
    ]

    found = fixed.precondition_q16(matrix, vector).tolist()

    assert found == [min(max(total, fixed.I32_MIN), fixed.I32_MAX) for total in exact]


def test_a_sum_that_overflows_stops_at_the_end_of_its_sign():
    largest = np.full((2, 2), fixed.I32_MAX)
    largest[1] = fixed.I32_MIN

    assert fixed.precondition_q16(largest, np.array([65536, 65536])).tolist() == [
        fixed.I32_MAX,
        fixed.I32_MIN,
    ]


@given(st.integers(1, 24), st.integers(0, 1 << 30))
def test_the_step_gives_the_bits_of_the_policy_s_own(n, seed):
    random = np.random.default_rng(seed)
    root = random.integers(-(1 << 24), 1 << 24, (n, n))
    weights = fixed.softmax_q16(random.integers(0, 65537, n)).astype(np.int64)

    found = fixed.step(root, weights)

    assert found.dtype == np.int64
    assert found.tolist() == natural_step_q16(root, weights).tolist()


def test_a_step_with_an_entry_of_more_than_32_bits_is_refused():
    with pytest.raises(InvalidInput) as error:
        fixed.step(np.array([[1 << 31]]), np.array([65536]))

    assert str(error.value) == (
        "a matrix entry of 2147483648; -2147483648 to 2147483647 allowed\n"
        "Fix: use signed 16.16 numbers of 32 bits"
    )


def test_numbers_become_16_16_with_halves_to_even_and_ends_that_hold():
    found = fixed.to_q16(np.array([1.0, -0.5, 0.5 / 65536, 1.5 / 65536, 1e9, -1e9]))

    assert found.tolist() == [65536, -32768, 0, 2, fixed.I32_MAX, fixed.I32_MIN]
