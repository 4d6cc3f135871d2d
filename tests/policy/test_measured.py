"""The one meaning of evidence: what the measurements of a workload say together."""

from dataclasses import replace
from math import exp, isfinite, log
from random import Random
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vyre.model import Code, Decision, Failed, Measurement, Reason, Schedule, Timed, Workload
from vyre.policy.measured import APART, Measured, default_of, is_time, measured

DEFAULT, FAST, SLOW = (Schedule((width, 1, 1)) for width in (256, 128, 512))
CODED = Schedule((64, 1, 1), Code(items=4))
WORKLOAD = Workload(fingerprint=b"f", buckets=(20,), traits=(), device="d", toolchain="t")
LARGEST = 2**63 - 1


def rows(*told, writer="w", start=0):
    """Rows of (schedule, nanoseconds or a reason, size), one after the other."""
    return [
        Measurement(
            writer=writer,
            sequence=start + number,
            workload=WORKLOAD,
            outcome=Failed(schedule, said) if isinstance(said, str) else Timed(schedule, said),
            size=size,
            at_ns=start + number,
        )
        for number, (schedule, said, size) in enumerate(told)
    ]


def decided(schedule=FAST, **more):
    return Decision(
        **{
            "workload": WORKLOAD,
            "config": schedule,
            "reason": Reason.ADOPTED,
            "gain": 9.0,
            "confidence": 0.99,
            **more,
        }
    )


OUTCOMES = st.one_of(st.floats(0, 1e300), st.sampled_from(["lost", "hung"]))
TOLD = st.lists(
    st.tuples(st.sampled_from([DEFAULT, FAST, CODED]), OUTCOMES, st.integers(0, LARGEST)),
    max_size=25,
)


def test_nothing_says_nothing():
    assert measured([]) == Measured()


def test_times_of_one_size_are_summed_up_as_they_are():
    told = [(FAST, ns, 1000) for ns in (5.0, 9.0, 6.0)] + [(FAST, "lost", 1000)]

    (found,) = measured(rows(*told)).summaries

    assert (found.count, found.median_ns, found.spread_ns) == (3, 6.0, 1.4826)
    assert (found.first_at_ns, found.last_at_ns, found.failures) == (0, 3, ("lost",))
    assert found.speed is None


def test_every_timing_counts_the_first_one_too():
    """Whoever measures leaves out the launch that loads the code; nobody does so again."""
    found = measured(rows((DEFAULT, 8.0, 1), (FAST, 4.0, 1), (SLOW, 16.0, 1)), DEFAULT)

    assert {one.config: (one.count, one.speed) for one in found.summaries} == {
        DEFAULT: (1, 1.0),
        FAST: (1, 2.0),
        SLOW: (1, 0.5),
    }
    assert found.steps == ((DEFAULT, 8.0), (FAST, 4.0), (SLOW, 16.0))


@given(TOLD, st.randoms(use_true_random=False))
def test_rows_say_the_same_in_any_order_and_any_number_of_times(told, rng):
    one = rows(*told)
    other = [*one, *one[: len(one) // 2]]
    rng.shuffle(other)

    assert measured(one, DEFAULT) == measured(other, DEFAULT)


@given(TOLD, TOLD)
def test_whatever_rows_hold_what_they_say_is_finite(told, by_another):
    found = measured([*rows(*told), *rows(*by_another, writer="x")], DEFAULT)

    for one in found.summaries:
        numbers = [one.median_ns, one.spread_ns, one.speed]
        assert all(isfinite(number) for number in numbers if number is not None)
    assert all(0 < ns < float("inf") for _, ns in found.steps)


HOSTILE = [
    (0.0, 1000, 5),
    (5e-324, 1000, 5),
    (1.7e308, 1000, 5),
    (100.0, 0, 5),
    (100.0, LARGEST, 5),
    (100.0, 1, 5),
    (100.0, 1000, LARGEST),
    (1.7e308, LARGEST, LARGEST),
]


@pytest.mark.parametrize(("elapsed_ns", "size", "at_ns"), HOSTILE)
@pytest.mark.parametrize("schedule", [DEFAULT, FAST])
def test_one_hostile_row_changes_nothing_that_others_say(schedule, elapsed_ns, size, at_ns):
    good = rows(*[(one, ns, 1000) for ns in (100.0,) * 5 for one in (DEFAULT, FAST)])
    (bad,) = rows((schedule, elapsed_ns, size), writer="mallory")

    found = measured([*good, replace(bad, at_ns=at_ns)], DEFAULT)

    assert found.size == 1000
    assert [found.time_of(one) for one in (DEFAULT, FAST)] == [100.0, 100.0]
    assert found.of(FAST).speed == 1.0


@pytest.mark.parametrize("ns", [0, -1, 0.0, float("nan"), float("inf"), -float("inf"), 1.7e308])
def test_what_no_launch_can_have_taken_is_no_time(ns):
    assert not is_time(ns)


class TestSizes:
    @pytest.mark.parametrize("slope", [0.5, 0.8, 1.0, 1.3])
    @pytest.mark.parametrize("seed", range(4))
    def test_the_ratio_to_the_default_is_one_of_comparable_sizes(self, slope, seed):
        """Here the faster one ran the larger sizes: raw medians say that it is slower."""
        rng, told = Random(seed), []
        for _ in range(40):
            size = round(1000 * 1.4 ** rng.random())
            told.append((DEFAULT, 50 * size**slope * exp(rng.gauss(0, 0.03)), size))
            size = round(1400 * 1.4 ** rng.random())
            told.append((FAST, 50 * size**slope * exp(rng.gauss(-0.22, 0.03)), size))

        found = measured(rows(*told), DEFAULT)

        raw = [median(ns for one, ns, _ in told if one == s) for s in (DEFAULT, FAST)]
        assert slope < 0.8 or raw[1] > raw[0]
        assert -log(found.of(FAST).speed) == pytest.approx(-0.22, abs=0.08)

    def test_times_are_given_at_the_usual_size(self):
        told = [(DEFAULT, 10.0 * size, size) for size in (1000, 1000, 1000, 1400, 700, 1900, 550)]

        found = measured(rows(*told * 6), DEFAULT)

        assert found.size == 1000
        assert found.time_of(DEFAULT) == 10_000.0
        assert max(ns for _, ns in found.steps) < 1.1 * min(ns for _, ns in found.steps)

    def test_a_size_of_another_workload_says_nothing(self):
        told = [(DEFAULT, 100.0, 1000)] * 3 + [(DEFAULT, 5.0, APART * 1000 + 1)]

        assert measured(rows(*told)).of(DEFAULT).count == 3


class TestProcesses:
    def test_a_process_on_a_slower_machine_does_not_make_a_schedule_slow(self):
        """The choice was timed mostly while everything took three times as long."""
        quick = rows(*[(DEFAULT, 100.0, 1)] * 30, *[(FAST, 50.0, 1)] * 3, writer="a")
        slow = rows(*[(DEFAULT, 300.0, 1)] * 30, *[(FAST, 150.0, 1)] * 60, writer="b", start=900)

        found = measured([*quick, *slow], DEFAULT)

        assert found.of(FAST).speed == pytest.approx(2.0, rel=0.1)

    def test_times_of_one_process_are_left_as_they_are(self):
        found = measured(rows((DEFAULT, 100.0, 1), (DEFAULT, 300.0, 1), (FAST, 70.0, 1)), DEFAULT)

        assert found.steps == ((DEFAULT, 100.0), (DEFAULT, 300.0), (FAST, 70.0))


STATES = ("", "about 2048 MHz", "about 1024 MHz, throttled", "about 724 MHz")


def clocked(rows, clock):
    """The same rows, timed in a state of the clocks."""
    return [
        replace(row, outcome=replace(row.outcome, clock=clock))
        if isinstance(row.outcome, Timed)
        else row
        for row in rows
    ]


class TestClocks:
    def test_a_throttled_device_does_not_make_a_schedule_slow(self):
        """The choice was timed mostly while the clock was at a third, in the same process."""
        quick = rows(*[(DEFAULT, 100.0, 1)] * 2, *[(FAST, 50.0, 1)] * 3)
        slow = rows(*[(DEFAULT, 300.0, 1)], *[(FAST, 150.0, 1)] * 60, start=900)

        found = measured([*clocked(quick, STATES[1]), *clocked(slow, STATES[2])], DEFAULT)

        assert found.of(FAST).speed == pytest.approx(2.0)
        assert measured([*quick, *slow], DEFAULT).of(FAST).speed == pytest.approx(2 / 3)

    def test_times_in_a_state_without_the_default_are_left_out(self):
        shared = clocked(rows((DEFAULT, 100.0, 1), (FAST, 50.0, 1)), STATES[1])
        alone = clocked(rows(*[(FAST, 400.0, 1)] * 9, start=10), STATES[2])

        found = measured([*shared, *alone], DEFAULT)

        assert (found.of(FAST).speed, found.of(FAST).count) == (2.0, 1)
        assert found.of(FAST).last_at_ns == 18  # it was seen all the same
        assert found.steps == ((DEFAULT, 100.0), (FAST, 50.0))

    def test_what_shares_no_state_with_the_default_stands_as_it_was_timed(self):
        apart = clocked(rows((DEFAULT, 100.0, 1)), STATES[1])
        apart += clocked(rows((FAST, 50.0, 1), start=10), STATES[2])

        assert measured(apart, DEFAULT).of(FAST).speed == 2.0

    def test_without_a_default_every_time_counts(self):
        told = clocked(rows((FAST, 50.0, 1)), "") + clocked(rows((FAST, 90.0, 1), start=5), "x")

        assert measured(told).of(FAST).count == measured(told, DEFAULT).of(FAST).count == 2

    def test_a_process_without_the_default_counts_as_its_state_does(self):
        ours = clocked(rows(*[(DEFAULT, 100.0, 1)] * 5, writer="a"), STATES[1])
        ours += clocked(rows(*[(DEFAULT, 300.0, 1)] * 5, writer="a", start=10), STATES[2])
        theirs = clocked(rows((FAST, 150.0, 1), writer="b", start=20), STATES[2])

        assert measured([*ours, *theirs], DEFAULT).of(FAST).speed == pytest.approx(2.0)

    @given(
        st.lists(st.floats(0.1, 10), min_size=len(STATES), max_size=len(STATES)),
        st.lists(
            st.tuples(
                st.sampled_from([DEFAULT, FAST, SLOW, CODED]),
                st.sampled_from(range(len(STATES))),
                st.sampled_from("ab"),
            ),
            max_size=40,
        ),
        st.randoms(use_true_random=False),
    )
    def test_a_ratio_is_that_of_the_states_both_were_timed_in(self, speeds, launches, rng):
        """However fast each state is, and whatever was timed in which."""
        true_ns = {DEFAULT: 1000.0, FAST: 500.0, SLOW: 4000.0, CODED: 900.0}
        told = []
        for number, (one, state, writer) in enumerate(launches):
            made = rows((one, true_ns[one] * speeds[state], 1), writer=writer, start=number)
            told += clocked(made, STATES[state])
        rng.shuffle(told)

        found = measured(told, DEFAULT)

        known = {state for one, state, _ in launches if one == DEFAULT}
        for one in {one for one, _, _ in launches}:
            shared = [state for like, state, _ in launches if like == one and state in known]
            if shared:
                assert found.of(one).speed == pytest.approx(true_ns[DEFAULT] / true_ns[one])
                assert found.of(one).count == len(shared)

    @given(
        TOLD, st.lists(st.sampled_from(STATES), min_size=25, max_size=25), st.sampled_from(STATES)
    )
    def test_only_whether_states_are_the_same_counts(self, told, states, one):
        plain = rows(*told)
        several = [
            like
            for row, state in zip(plain, states, strict=False)
            for like in clocked([row], state)
        ]
        renamed = [
            like
            for row, state in zip(plain, states, strict=False)
            for like in clocked([row], f"{state}, renamed")
        ]

        assert measured(clocked(plain, one), DEFAULT) == measured(plain, DEFAULT)
        assert measured(renamed, DEFAULT) == measured(several, DEFAULT)
        assert measured(several[::-1], DEFAULT) == measured(several, DEFAULT)

    def test_sizes_compare_within_a_state(self):
        """Small ones ran at full speed, large ones throttled: that is no growth with size."""
        told = []
        for number in range(40):
            size, state, factor = ((1000, 1, 1.0), (1900, 2, 3.0))[number % 2]
            ns = (100.0 if number % 4 < 2 else 50.0) * factor
            config = DEFAULT if number % 4 < 2 else FAST
            told += clocked(rows((config, ns, size), start=number), STATES[state])

        assert measured(told, DEFAULT).of(FAST).speed == pytest.approx(2.0)


class TestDecisions:
    EVIDENCE = measured(rows((DEFAULT, 8.0, 1), (FAST, 4.0, 1), (SLOW, 16.0, 1)), DEFAULT)

    def test_a_gain_is_what_the_evidence_shows(self):
        assert self.EVIDENCE.weigh(decided()) == decided(gain=2.0)

    def test_nobody_is_sure_of_a_gain_that_the_evidence_does_not_show(self):
        assert self.EVIDENCE.weigh(decided(SLOW)) == decided(SLOW, gain=0.5, confidence=None)

    def test_the_default_gains_nothing(self):
        assert self.EVIDENCE.weigh(decided(DEFAULT)) == decided(DEFAULT, gain=None, confidence=None)

    @pytest.mark.parametrize("evidence", [Measured(), measured(rows((FAST, 4.0, 1)), DEFAULT)])
    def test_what_was_not_timed_beside_the_default_keeps_its_gain(self, evidence):
        assert evidence.weigh(decided()) == decided()

    def test_the_fastest_come_first(self):
        assert [one.config for one in self.EVIDENCE.fastest] == [FAST, DEFAULT, SLOW]


class TestDefault:
    ROWS = rows((CODED, 1.0, 1), (FAST, 0.0, 1), (DEFAULT, 2.0, 1), (FAST, 3.0, 1))

    def test_a_decision_says_what_it_was_weighed_against(self):
        assert default_of(self.ROWS, decided(default=SLOW)) == SLOW

    @pytest.mark.parametrize("reason", [Reason.DEFAULT, Reason.TAKEN_BACK, Reason.NOT_FREE])
    def test_a_decision_for_the_default_names_it(self, reason):
        assert default_of(self.ROWS, decided(SLOW, reason=reason)) == SLOW

    @pytest.mark.parametrize("decision", [None, decided()])
    def test_else_it_is_the_plain_schedule_that_was_timed_first(self, decision):
        assert default_of(self.ROWS, decision) == DEFAULT

    def test_without_one_nothing_is_taken_for_it(self):
        assert default_of(self.ROWS[:1], None) is None

    @pytest.mark.parametrize("parts", [{"lines": 2}, {"planes": 2}, {"depth": 8}])
    def test_a_schedule_that_takes_or_fills_more_is_none(self, parts):
        wider = Schedule((64, 1, 1), Code(**parts))

        assert default_of(rows((wider, 1.0, 1), (DEFAULT, 2.0, 1)), None) == DEFAULT
