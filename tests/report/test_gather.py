"""From a store to what a report says."""

from dataclasses import replace

from vyre.model import Schedule, Timed
from vyre.report.gather import MOST_CASES, MOST_STEPS, gather
from vyre.store.memory import MemoryStore


def test_each_workload_is_a_case_by_its_name_the_largest_gain_first(store):
    report = gather(store)

    assert [case.kernel for case in report.cases] == ["blur", "<b>&sharpen", "6e65772e"]
    assert {case.device for case in report.cases} == {"Acme G1"}
    assert [case.decision is None for case in report.cases] == [False, False, True]


def test_the_first_timing_of_a_schedule_is_left_out_because_it_loads_the_code(store):
    (case, *_) = gather(store).cases

    assert max(max(one.times_ns) for one in case.tried) < 1e6
    assert case.timings == 5 * len(case.tried)


def test_the_default_is_found_and_what_a_call_saves_follows_from_the_gain(store):
    case, plain, _ = gather(store).cases

    assert case.default == Schedule((64, 1, 1))
    assert case.chosen_ns is not None
    assert case.default_ns == case.chosen_ns * 2.34
    assert case.saved_ns == case.default_ns - case.chosen_ns
    assert plain.saved_ns == 0.0
    assert 0 < case.explored < 1


def test_what_failed_is_kept_with_its_reason(store):
    case, plain, _ = gather(store).cases

    assert case.failures == ((Schedule((1024, 1, 1)), "the compiler gave up: </script>"),)
    assert plain.failures == ()


def test_times_of_other_sizes_are_scaled_to_the_usual_one(store):
    row = next(row for row in store.measurements() if isinstance(row.outcome, Timed))
    made = MemoryStore()
    for number, (size, ns) in enumerate([(1000, 9.0), (1000, 10.0), (500, 5.0), (2000, 20.0)]):
        outcome = replace(row.outcome, elapsed_ns=ns)
        made.append([replace(row, sequence=number, at_ns=number, size=size, outcome=outcome)])

    (case,) = gather(made).cases

    assert case.elements == 1000
    assert case.tried[0].times_ns == (10.0, 10.0, 10.0)


def test_a_long_history_is_thinned_for_the_picture_and_counted_whole(store):
    rows = [row for row in store.measurements() if row.workload.fingerprint.startswith(b"blur")]
    long = MemoryStore()
    long.append(
        replace(row, writer=f"w{copy}", at_ns=row.at_ns + copy * 1000)
        for copy in range(20)
        for row in rows
    )

    (case,) = gather(long).cases

    assert case.timings > MOST_STEPS
    steps = case.value()["steps"]
    assert len(steps) == MOST_STEPS
    assert (steps[0][0], steps[-1][0]) == (0, case.timings - 1)


def test_a_store_with_very_many_workloads_says_how_many_are_left_out(store):
    (row, *_) = store.measurements()
    many = MemoryStore()
    many.append(
        replace(
            row, writer=f"w{n}", workload=replace(row.workload, buckets=(n,)), at_ns=row.at_ns + n
        )
        for n in range(MOST_CASES + 7)
    )

    report = gather(many)

    assert (len(report.cases), report.left_out) == (MOST_CASES, 7)


def test_an_empty_store_is_an_empty_report():
    report = gather(MemoryStore())

    assert report.value() == {"cases": [], "left_out": 0, "timings": 0}
