"""When work may be done beside calls."""

from itertools import pairwise

import pytest

from vyre.learn.gaps import HEARD, LATELY_S, QUICK, Gaps, Made, Manners
from vyre.learn.tally import Tally

CALLERS = Tally()
MANNERS = Manners(at_once=2, per_s=10.0, calls_apart=1_000, rest_s=0.5)
NOBODY = Made(0, None, 0)


def made(calls, tally=CALLERS):
    return Made(calls, tally, calls)


@pytest.mark.parametrize(
    ("calls", "paused"), [(0, True), (QUICK * 0.01, True), (QUICK * 0.01 + 1, False)]
)
def test_callers_pause_who_make_few_calls_in_a_while(calls, paused):
    assert made(7 + calls).few_since(made(7), 0.01) is paused


def test_other_callers_than_before_do_not_pause_for_a_short_while():
    assert not made(7, Tally()).few_since(made(7), 0.9 * HEARD / QUICK)


@pytest.mark.parametrize(("calls", "paused"), [(40, True), (QUICK * 0.04 + 1, False)])
def test_callers_that_take_turns_pause_if_all_of_them_make_few_calls(calls, paused):
    one, other = Made(1_000, Tally(), 900), Tally()

    assert Made(1_000 + calls, other, 100_000).few_since(one, 0.04) is paused


def test_calls_that_only_some_count_are_counted():
    assert not Made(10_000, CALLERS, 7).few_since(Made(0, CALLERS, 7), 0.01)


def test_callers_that_do_not_pause_are_disturbed_once_in_so_many_calls():
    gaps = Gaps(MANNERS, 0.0)

    disturbed = [calls for calls in range(0, 10_000, 32) if gaps.may_disturb(1.0, made(calls))]

    assert disturbed[0] >= 1_000
    assert all(b - a >= 1_000 for a, b in pairwise(disturbed))
    assert len(disturbed) == 9


def test_where_nobody_calls_planned_work_is_done_at_once_and_then_so_many_a_second():
    gaps = Gaps(MANNERS, 1.0)

    done = [gaps.may_plan(1.0 + number / 100, NOBODY) for number in range(101)]

    assert done[:2] == [True, True]
    assert sum(done) == 2 + MANNERS.per_s
    assert gaps.wait_s >= MANNERS.look_s


def test_a_pause_has_room_for_one_piece_and_the_next_one_for_another():
    gaps = Gaps(MANNERS, 1.0)
    gaps.may_disturb(0.9, made(7))

    assert gaps.may_plan(1.0, made(7))
    assert not gaps.may_plan(1.1, made(7))
    assert gaps.wait_s == pytest.approx(MANNERS.rest_s - 0.1)
    assert gaps.may_plan(1.2, made(8))


def test_callers_who_pause_for_long_are_not_there():
    gaps = Gaps(MANNERS, 1.0)
    gaps.may_disturb(0.9, made(7))

    assert gaps.may_plan(1.0, made(7))
    assert gaps.may_plan(1.0 + MANNERS.rest_s, made(7))


@pytest.mark.parametrize("dense_at", [None, 1.0 - LATELY_S])
def test_callers_who_did_not_make_many_calls_lately_wait_for_nothing(dense_at):
    gaps = Gaps(MANNERS, 1.0)
    if dense_at is not None:
        gaps.may_disturb(dense_at, made(7))

    assert gaps.may_plan(1.0, made(7))
    assert gaps.may_plan(1.01, made(7))
