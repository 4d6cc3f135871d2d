from copy import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vyre.errors import InvalidInput
from vyre.policy.natural import (
    Q16_ONE,
    EmptyMeasurements,
    FisherMatrixShape,
    NaturalGradientPolicy,
    NaturalGradientTuningError,
    TuningMeasurement,
    ZeroTemperature,
    identity_fisher_q16,
    precondition_q16,
    softmax_weights_q16,
)

U32_MAX = 2**32 - 1
U64_MAX = 2**64 - 1


def measured(*times: int) -> list[TuningMeasurement]:
    """One candidate for each time, of width 64, 128, 256 and so on."""
    return [TuningMeasurement((64 << i, 1, 1), elapsed) for i, elapsed in enumerate(times)]


def test_one_is_two_to_the_sixteenth():
    assert Q16_ONE == 65536


def test_identity_suggests_the_fastest_of_three():
    step = NaturalGradientPolicy(4_000).suggest(
        measured(12_000, 8_000, 10_000), identity_fisher_q16(3)
    )

    assert step.policy_weights_q16 == (12211, 33193, 20132)
    assert step.natural_gradient_q16 == (12211, 33193, 20132)
    assert step.selected_workgroup_size == (128, 1, 1)
    assert step.best_measured_workgroup_size == (128, 1, 1)
    assert step.best_measured_elapsed_ns == 8_000


def test_a_matrix_can_suggest_another_than_the_fastest():
    fisher = (8 * Q16_ONE, *identity_fisher_q16(3)[1:])

    step = NaturalGradientPolicy(4_000).suggest(measured(12_000, 8_000, 10_000), fisher)

    assert step.natural_gradient_q16 == (97688, 33193, 20132)
    assert step.selected_workgroup_size == (64, 1, 1)
    assert step.best_measured_workgroup_size == (128, 1, 1)


def test_the_default_temperature_is_ten_microseconds():
    step = NaturalGradientPolicy().suggest(measured(12_000, 8_000, 10_000), identity_fisher_q16(3))

    assert step.policy_weights_q16 == (17649, 26330, 21557)
    assert NaturalGradientPolicy() == NaturalGradientPolicy(temperature_ns=10_000)


@pytest.mark.parametrize(
    ("count", "selected"), [(1, 0), (2, 1), (3, 2), (4, 3), (5, 4), (6, 4), (7, 6)]
)
def test_of_equal_times_the_last_of_the_largest_weights_is_selected(count: int, selected: int):
    times = measured(*[500] * count)

    step = NaturalGradientPolicy().suggest(times, identity_fisher_q16(count))

    assert step.selected_workgroup_size == times[selected].workgroup_size
    assert step.best_measured_workgroup_size == times[0].workgroup_size


def test_the_last_weight_takes_what_rounding_leaves_over():
    assert softmax_weights_q16([500] * 6, 10_000) == (10923,) * 5 + (10921,)
    assert softmax_weights_q16([500] * 7, 10_000) == (9362,) * 6 + (9364,)


def test_more_equal_candidates_than_units_give_the_units_to_the_first():
    weights = softmax_weights_q16([7] * 70_000, 1)

    assert set(weights[:65_536]) == {1}
    assert set(weights[65_536:]) == {0}


def test_shares_below_half_a_unit_all_go_to_the_last():
    weights = softmax_weights_q16([7] * 140_000, 1)

    assert set(weights[:-1]) == {0}
    assert weights[-1] == Q16_ONE


def test_half_a_unit_is_rounded_up_and_not_to_even():
    # 2**17 equal candidates have exactly half a unit each; round() would give each of them 0.
    weights = softmax_weights_q16([7] * 2**17, 1)

    assert set(weights[: 2**16]) == {1}
    assert set(weights[2**16 :]) == {0}


@pytest.mark.parametrize("base", [0, 1, 10, 1_000, U64_MAX - 2])
def test_weights_add_up_to_one_at_the_ends_of_the_range(base: int):
    weights = softmax_weights_q16([base, base + 1, base + 2], 1)

    assert weights == (43597, 16039, 5900)


@given(
    st.lists(st.integers(0, U64_MAX), min_size=1, max_size=12),
    st.integers(1, U64_MAX),
)
def test_weights_add_up_to_one_whatever_the_times(times: list[int], temperature: int):
    weights = softmax_weights_q16(times, temperature)

    assert sum(weights) == Q16_ONE
    assert min(weights) >= 0
    assert len(weights) == len(times)


@given(st.lists(st.integers(0, U64_MAX), min_size=1, max_size=8), st.data())
def test_a_suggestion_never_exceeds_the_largest_cell_so_saturating_and_wrapping_agree(
    times: list[int], data: st.DataObject
):
    n = len(times)
    matrix = data.draw(st.lists(st.integers(0, U32_MAX), min_size=n * n, max_size=n * n))

    step = NaturalGradientPolicy().suggest(measured(*times), matrix)

    assert max(step.natural_gradient_q16) <= max(matrix)


@given(st.lists(st.integers(0, 1_000_000), min_size=1, max_size=8))
def test_the_selected_is_the_last_maximum_and_the_best_the_first_minimum(times: list[int]):
    candidates = measured(*times)

    step = NaturalGradientPolicy().suggest(candidates, identity_fisher_q16(len(times)))

    gradient = step.natural_gradient_q16
    last = len(gradient) - 1 - gradient[::-1].index(max(gradient))
    assert step.selected_workgroup_size == candidates[last].workgroup_size
    first = times.index(min(times))
    assert step.best_measured_workgroup_size == candidates[first].workgroup_size


def test_each_product_is_floored_before_it_is_added():
    assert precondition_q16((1, 1, 0, 0), (65_535, 65_535)) == (0, 0)
    assert precondition_q16((1, 1, 0, 0), (65_536, 65_536)) == (2, 0)


def test_a_row_is_capped_at_the_largest_u32():
    assert precondition_q16((U32_MAX,), (U32_MAX,)) == (U32_MAX,)
    assert precondition_q16((U32_MAX, U32_MAX, 0, 1), (Q16_ONE, 1)) == (U32_MAX, 0)


def test_numpy_integers_do_not_wrap():
    matrix = np.array([U32_MAX], dtype=np.uint32)

    step = NaturalGradientPolicy().suggest(measured(5), matrix)  # type: ignore[arg-type]

    assert step.natural_gradient_q16 == (U32_MAX,)


def test_the_identity_has_ones_on_its_diagonal():
    assert identity_fisher_q16(0) == ()
    assert identity_fisher_q16(3) == (65536, 0, 0, 0, 65536, 0, 0, 0, 65536)


@pytest.mark.parametrize("count", [-1, 65_536])
def test_an_identity_that_no_device_could_hold_is_refused(count: int):
    with pytest.raises(InvalidInput) as caught:
        identity_fisher_q16(count)

    assert str(caught.value) == (
        f"an identity matrix for {count} candidates; 65535 allowed\n"
        "Fix: pass between 0 and 65535 candidates"
    )


def test_no_measurements_are_reported_before_a_zero_temperature():
    with pytest.raises(EmptyMeasurements) as caught:
        NaturalGradientPolicy(0).suggest([], [Q16_ONE])

    assert str(caught.value) == (
        "no measurements to suggest from\nFix: measure at least one candidate first"
    )


def test_a_zero_temperature_is_reported_before_a_wrong_matrix():
    with pytest.raises(ZeroTemperature) as caught:
        NaturalGradientPolicy(0).suggest(measured(1, 2), [Q16_ONE])

    assert str(caught.value) == "temperature_ns is 0\nFix: use a positive temperature_ns"


@pytest.mark.parametrize("cells", [0, 1, 8, 10])
def test_a_matrix_of_another_size_is_refused(cells: int):
    with pytest.raises(FisherMatrixShape) as caught:
        NaturalGradientPolicy().suggest(measured(1, 2, 3), [Q16_ONE] * cells)

    assert str(caught.value) == (
        f"a Fisher matrix of {cells} cells for 3 measurements, which need 9\n"
        "Fix: pass a row-major 3 by 3 matrix, such as identity_fisher_q16(3)"
    )


def test_the_three_errors_share_a_base_and_survive_a_process_boundary():
    for error in (EmptyMeasurements, ZeroTemperature, FisherMatrixShape):
        rebuilt = copy(error("problem", "fix"))  # by the same protocol as pickling

        assert type(rebuilt) is error
        assert str(rebuilt) == "problem\nFix: fix"
        assert isinstance(rebuilt, NaturalGradientTuningError)


def test_a_negative_cell_is_refused_since_the_matrix_is_unsigned():
    with pytest.raises(InvalidInput) as caught:
        NaturalGradientPolicy().suggest(measured(1, 2), [Q16_ONE, -1, 0, Q16_ONE])

    assert str(caught.value) == (
        "matrix cell 1 is -1; 0 to 4294967295 allowed\nFix: use unsigned 16.16 numbers"
    )


def test_a_time_below_zero_is_refused():
    with pytest.raises(InvalidInput) as caught:
        TuningMeasurement(workgroup_size=(64, 1, 1), elapsed_ns=-1)

    assert str(caught.value) == (
        "elapsed_ns -1 of workgroup (64, 1, 1) is outside 0 to 2**64 - 1\n"
        "Fix: give the time as a whole number of nanoseconds, at least 0"
    )


def test_a_temperature_below_zero_is_refused():
    with pytest.raises(InvalidInput) as caught:
        NaturalGradientPolicy(temperature_ns=-1)

    assert str(caught.value) == (
        "temperature_ns -1 is outside 1 to 2**64 - 1\n"
        "Fix: use a positive whole number of nanoseconds, such as 10_000"
    )
