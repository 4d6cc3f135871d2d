import pytest
from hypothesis import given
from hypothesis import strategies as st

from vyre.errors import InvalidInput
from vyre.policy.budget import Budget

COSTS = st.lists(st.floats(0.05, 5.0), max_size=60)


@given(COSTS)
def test_what_fits_the_budget_keeps_the_promise(costs):
    """Losses are at most 1 % of the time spent and 20 dispatches of the default."""
    budget = Budget()
    for cost in costs:
        if budget.allows(cost - 1.0):
            budget = budget.ran(cost)

            assert budget.lost <= 0.01 * budget.spent + 20 + 1e-9


def test_what_was_saved_may_be_lost_again():
    budget = Budget().ran(0.5, dispatches=100)

    assert budget.lost == -50
    assert budget.allows(70.5)
    assert not budget.allows(71)


def test_many_dispatches_count_as_one_after_the_other():
    many, one = Budget().ran(1.5, dispatches=4), Budget()
    for _ in range(4):
        one = one.ran(1.5)

    assert many == one


def test_the_worst_of_all_dispatches_is_remembered():
    assert Budget().ran(3.0).ran(0.5).ran(2.0).worst == 2.0


def test_a_budget_that_is_none_is_refused():
    with pytest.raises(InvalidInput) as caught:
        Budget(share=1.5)

    assert str(caught.value) == (
        "a budget of 1.5 of the time and 20.0 dispatches\n"
        "Fix: give a share from 0 to below 1 and at least 0 dispatches"
    )
