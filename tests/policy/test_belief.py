import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vyre.errors import InvalidInput
from vyre.model import Code, Order, Schedule
from vyre.policy.belief import Belief, Prior, Remembered

SPACE = tuple(
    Schedule((width, 1, 1), Code(items=items)) for items in (1, 2, 4, 8) for width in (64, 128, 256)
)
EVIDENCE = st.lists(
    st.tuples(
        st.integers(0, len(SPACE) - 1), st.floats(-2, 2), st.sampled_from([0.0, 10.0, 400.0, 9e4])
    ),
    max_size=12,
)


def near(one: Belief, other: Belief) -> bool:
    return np.allclose(one.mean, other.mean, atol=1e-5) and np.allclose(
        one.covariance, other.covariance, atol=1e-5
    )


@given(EVIDENCE)
def test_evidence_told_bit_by_bit_is_believed_as_if_told_at_once(evidence):
    belief = Belief.of(SPACE, Prior())
    for place, location, precision in evidence:
        belief = belief.seen(place, location, precision)

    assert near(belief, belief.anew())


@given(EVIDENCE)
def test_only_the_latest_evidence_on_a_schedule_counts(evidence):
    latest = {place: (location, precision) for place, location, precision in evidence}
    told, once = Belief.of(SPACE, Prior()), Belief.of(SPACE, Prior())
    for place, location, precision in evidence:
        told = told.seen(place, location, precision)
    for place, (location, precision) in latest.items():
        once = once.seen(place, location, precision)

    assert near(told, once)


def test_evidence_can_be_taken_back():
    before = Belief.of(SPACE, Prior()).seen(0, 0.3, 500.0)

    after = before.seen(5, 2.0, 1e4).seen(5, 0.0, 0.0)

    assert near(before, after)


def test_a_precision_that_rounding_would_eat_is_taken_back_all_the_same():
    before = Belief.of(SPACE, Prior())

    after = before.seen(5, 2.0, 1e12).seen(5, 0.0, 0.0)

    assert near(before, after)


def test_what_is_measured_well_is_believed_and_no_longer_uncertain():
    belief = Belief.of(SPACE, Prior()).seen(3, 0.5, 1e6)

    assert belief.mean[3] == pytest.approx(0.5, abs=1e-3)
    assert belief.covariance[3, 3] < 1e-5


def test_neighbours_are_believed_to_be_alike():
    belief = Belief.of(SPACE, Prior()).seen(0, 0.0, 1e5)

    slow = belief.seen(1, 0.5, 1e5)  # twice the width of the first, one item

    moved = slow.mean - belief.mean
    assert moved[2] > moved[11] > 0  # four times the width; and with eight items


def test_before_any_evidence_times_rise_along_the_guess_by_a_few_per_cent():
    mean = Belief.of(SPACE, Prior()).mean

    assert np.all(np.diff(mean) > 0)
    assert 0.02 < mean[-1] - mean[0] < 0.3


def test_how_much_the_guess_is_worth_is_learned():
    first = Belief.of(SPACE, Prior()).seen(0, 0.0, 1e5)
    right = first.seen(11, 0.8, 1e5)
    wrong = first.seen(11, -0.8, 1e5)

    assert right.against(0)[0][6] > first.against(0)[0][6] > wrong.against(0)[0][6]


def test_what_is_uncertain_of_all_alike_is_not_uncertain_between_them():
    difference, variance = Belief.of(SPACE, Prior()).against(4)

    assert difference[4] == variance[4] == 0
    assert variance.max() < 1 < Belief.of(SPACE, Prior()).covariance[0, 0]


def test_every_part_of_a_schedule_tells_it_from_others():
    one = Schedule((64, 2, 1), Code(items=4, vector=2, unroll=2))
    others = (
        Schedule((128, 2, 1), one.code),
        Schedule((32, 4, 1), one.code),
        Schedule((64, 2, 1), Code(items=8, vector=2, unroll=2)),
        Schedule((64, 2, 1), Code(items=4, vector=4, unroll=2)),
        Schedule((64, 2, 1), Code(items=4, vector=2, unroll=4)),
        Schedule((64, 2, 1), Code(items=4, vector=2, unroll=2, order=Order.BLOCKED)),
        Schedule((64, 2, 1), Code(items=4, vector=2, unroll=2, checked=False)),
    )
    prior = Prior(own=0.0, slope_spread=0.0)

    shared = Belief.of((one, *others), prior).covariance[0]

    assert all(shared[1:] < shared[0])


def test_a_belief_cannot_be_written_to():
    belief = Belief.of(SPACE, Prior())

    with pytest.raises(ValueError, match="read-only"):
        belief.mean[0] = 1.0


RATIOS = st.dictionaries(
    st.integers(0, len(SPACE) - 1),
    st.builds(Remembered, st.floats(-1, 1), st.sampled_from([0.01, 0.1, 0.5])),
    max_size=len(SPACE),
)


@given(RATIOS, st.integers(0, len(SPACE) - 1))
def test_what_is_remembered_leaves_the_level_as_open_as_it_was(remembered, default):
    """So a machine that is now twice as slow as then is no surprise."""
    prior = Prior()

    belief = Belief.of(SPACE, prior, remembered, default)

    assert np.all(np.diag(belief.covariance) >= prior.level**2 - 1e-9)
    assert np.allclose(belief.covariance, belief.covariance.T)
    assert np.linalg.eigvalsh(belief.covariance).min() > -1e-9


@given(RATIOS, st.integers(0, len(SPACE) - 1))
def test_what_is_remembered_is_believed_as_if_measured_there_beside_a_known_default(
    remembered, default
):
    """Evidence on differences from the default is evidence on times, once its time is known."""
    free = Belief.of(SPACE, Prior(level=30.0))
    time = free.mean[default]
    free = free.seen(default, time, 1e8)
    for place, known in remembered.items():
        if place != default:
            free = free.seen(place, time + known.log_ratio, known.spread**-2)

    mean, variance = Belief.of(SPACE, Prior(), remembered, default).against(default)

    assert np.allclose(mean, free.anew().against(default)[0], atol=1e-3)
    assert np.allclose(variance, free.anew().against(default)[1], atol=1e-3)


def test_what_is_remembered_is_no_evidence():
    belief = Belief.of(SPACE, Prior(), {3: Remembered(-0.5, 0.1), 0: Remembered(1.0, 0.1)}, 0)

    assert not belief.precision.any()
    assert np.flatnonzero(belief.recalled).tolist() == [3]
    assert near(belief, belief.seen(5, 1.0, 100.0).seen(5, 0.0, 0.0))


@pytest.mark.parametrize(
    ("ratio", "spread"), [(float("nan"), 0.1), (float("inf"), 0.1), (0.0, 0.0), (0.0, -1.0)]
)
def test_a_ratio_that_says_nothing_is_refused(ratio, spread):
    with pytest.raises(InvalidInput) as caught:
        Remembered(ratio, spread)

    assert str(caught.value) == (
        f"a remembered log ratio of {ratio} to within {spread}\n"
        "Fix: give a finite log ratio, and a finite spread above 0"
    )
