import pytest
from hypothesis import given
from hypothesis import strategies as st

from vyre.errors import InvalidInput
from vyre.plan.counter_tail import SpeculationReport
from vyre.policy.speculate import DEFAULT_THRESHOLD_PCT, PROBE_EVERY, AdaptiveSpeculator

COUNTS = st.integers(0, 2**32 - 1)
REPORTS = st.builds(SpeculationReport, COUNTS, COUNTS)


def fed(threshold, *reports):
    speculator = AdaptiveSpeculator(threshold)
    for report in reports:
        speculator.record(report)
    return speculator


def test_an_empty_report_commits_nothing_and_reaches_only_the_threshold_0():
    report = SpeculationReport()

    assert (report.commit_rate_ppm, report.commit_rate_pct, report.attempted_tiles) == (0, 0, 0)
    assert report.rate == 0
    assert not report.worthwhile(1)
    assert report.worthwhile(0)


@pytest.mark.parametrize(
    ("committed", "rolled_back", "ppm", "pct"),
    [(1, 3, 250_000, 25), (1, 2, 333_333, 33), (2, 1, 666_666, 66), (1024, 0, 1_000_000, 100)],
)
def test_rates_round_down(committed, rolled_back, ppm, pct):
    report = SpeculationReport(committed, rolled_back)

    assert (report.commit_rate_ppm, report.commit_rate_pct) == (ppm, pct)


def test_a_rate_equal_to_the_threshold_is_worthwhile():
    assert SpeculationReport(20, 80).worthwhile(20)
    assert not SpeculationReport(20, 80).worthwhile(21)


def test_counts_at_their_limit_are_added_exactly():
    most = 2**32 - 1

    assert SpeculationReport(most, most).attempted_tiles == 2 * most
    assert SpeculationReport(most, most).commit_rate_ppm == 500_000


@pytest.mark.parametrize("counts", [(-1, 0), (0, -1), (2**32, 0)])
def test_counts_outside_32_bits_are_refused(counts):
    with pytest.raises(InvalidInput) as error:
        SpeculationReport(*counts)

    assert str(error.value) == (
        f"a report of {counts[0]} committed and {counts[1]} rolled back\n"
        "Fix: give counts from 0 to 4294967295"
    )


def test_a_speculator_starts_switched_on_at_its_threshold():
    speculator = AdaptiveSpeculator()

    assert speculator.should_speculate()
    assert speculator.commit_rate_ppm == speculator.threshold_ppm == DEFAULT_THRESHOLD_PCT * 10_000
    assert speculator.samples == 0


def test_two_reports_of_nothing_committed_switch_15_per_cent_off():
    nothing = SpeculationReport(0, 100)

    assert fed(15, nothing).commit_rate_ppm == 112_500
    assert fed(15, nothing).should_speculate(), "112,500 is the limit itself"
    assert fed(15, nothing, nothing).commit_rate_ppm == 84_375
    assert not fed(15, nothing, nothing).should_speculate()


def test_the_average_stalls_3_short_of_a_million_and_falls_to_0():
    risen = fed(15, *[SpeculationReport(1, 0)] * 200)
    fallen = fed(15, *[SpeculationReport(0, 1)] * 200)

    assert risen.commit_rate_ppm == 999_997
    assert fallen.commit_rate_ppm == 0


def test_many_commits_switch_it_on_again():
    low, high = [SpeculationReport(1, 99)] * 20, [SpeculationReport(80, 20)] * 20

    assert not fed(20, *low).should_speculate()
    assert fed(20, *low, *high).should_speculate()


def test_a_rate_near_the_threshold_changes_nothing():
    near = [SpeculationReport(20, 80)] * 50

    assert fed(20, *near).should_speculate()
    assert not fed(20, *[SpeculationReport(0, 1)] * 9, *near).should_speculate()


def test_a_report_of_no_attempts_says_nothing():
    speculator = fed(15, SpeculationReport())

    assert (speculator.commit_rate_ppm, speculator.samples) == (150_000, 0)


@pytest.mark.parametrize("threshold", range(101))
def test_every_threshold_can_be_switched_on_again(threshold):
    """From 80 % on, the threshold and its quarter are beyond what an average can reach."""
    nothing, everything = SpeculationReport(0, 1), SpeculationReport(1, 0)

    speculator = fed(threshold, *[nothing] * 100, *[everything] * 100)

    assert speculator.should_speculate()


@pytest.mark.parametrize("threshold", range(80))
def test_below_80_per_cent_it_switches_on_a_quarter_above(threshold):
    speculator = AdaptiveSpeculator(threshold)

    assert speculator.enable_at_ppm == threshold * 10_000 + threshold * 10_000 // 4
    assert speculator.disable_at_ppm == threshold * 10_000 - threshold * 10_000 // 4


@pytest.mark.parametrize("threshold", [-1, 101])
def test_a_threshold_that_is_no_percentage_is_refused(threshold):
    with pytest.raises(InvalidInput) as error:
        AdaptiveSpeculator(threshold)

    assert str(error.value) == (
        f"a threshold of {threshold} %\nFix: give a commit rate from 0 to 100 per cent"
    )


@given(st.integers(0, 100), st.lists(REPORTS, max_size=40))
def test_the_average_stays_between_what_it_saw_and_where_it_began(threshold, reports):
    speculator = fed(threshold, *reports)
    seen = [report.commit_rate_ppm for report in reports if report.attempted_tiles]
    seen.append(threshold * 10_000)

    assert min(seen) <= speculator.commit_rate_ppm <= max(seen)
    assert speculator.samples == len(seen) - 1


def test_dispatches_without_a_report_ask_for_a_probe_until_one_reports():
    speculator = AdaptiveSpeculator()
    for _ in range(PROBE_EVERY - 1):
        speculator.skip()

    assert not speculator.should_probe()
    speculator.skip()
    assert speculator.should_probe()
    speculator.record(SpeculationReport(1, 1))
    assert not speculator.should_probe()
