"""From a store to what a report says."""

from dataclasses import replace

from vyre.model import Code, Measurement, Schedule, Timed, Workload
from vyre.policy.measured import measured
from vyre.report.gather import MOST_CASES, MOST_STEPS, gather
from vyre.store.memory import MemoryStore

DEFAULT = Schedule((64, 1, 1))
FAST = Schedule((128, 1, 1), Code(items=4, vector=4))
WORKLOAD = Workload(fingerprint=b"", buckets=(10,), traits=(), device="d", toolchain="t")


def rows_of(told):
    """Rows of (schedule, nanoseconds, size), one after the other."""
    return [
        Measurement(
            writer="w",
            sequence=number,
            workload=WORKLOAD,
            outcome=Timed(schedule, ns),
            size=size,
            at_ns=number,
        )
        for number, (schedule, ns, size) in enumerate(told)
    ]


def test_each_workload_is_a_case_by_its_name_the_largest_gain_first(store):
    report = gather(store)

    assert [case.kernel for case in report.cases] == ["blur", "<b>&sharpen", "6e65772e"]
    assert {case.device for case in report.cases} == {"Acme G1"}
    assert [case.decision is None for case in report.cases] == [False, False, True]


def test_every_timing_is_there_and_none_is_hidden(store):
    """Whoever measures leaves out the launch that loads the code; the report does not, again."""
    (case, *_) = gather(store).cases
    rows = store.measurements(case.workload)

    timed = [row.outcome for row in rows if isinstance(row.outcome, Timed)]
    assert case.timings == len(timed)
    assert {one.config for one in case.tried} == {outcome.config for outcome in timed}
    assert sum(len(one.times_ns) for one in case.tried) == len(timed)


def test_timings_of_a_throttled_device_are_counted():
    states = ["about 2048 MHz", "", "about 1024 MHz, throttled", "about 724 MHz, throttled"]
    made = MemoryStore()
    for row, clock in zip(rows_of([(DEFAULT, 100.0, 1000)] * 4), states, strict=True):
        made.append([replace(row, outcome=replace(row.outcome, clock=clock))])

    (case,) = gather(made).cases

    assert case.throttled == case.value()["throttled"] == 2


def test_a_schedule_that_was_tried_once_is_shown():
    """As live learning leaves them: the default often, the choice often, the others once each."""
    others = [Schedule((width, 1, 1), Code(items=4)) for width in (32, 64, 128, 256, 512)]
    told = [DEFAULT] * 20 + others + [FAST] * 500
    made = MemoryStore()
    made.append(rows_of([(schedule, 100.0, 1000) for schedule in told]))

    (case,) = gather(made).cases

    assert len(case.tried) == 7
    assert len(case.value()["schedules"]) == 7
    assert case.explored > 0


def test_what_is_shown_of_default_and_choice_was_measured(store):
    case, plain, _ = gather(store).cases
    evidence = measured(store.measurements(case.workload), DEFAULT)

    assert case.default == DEFAULT
    assert case.default_ns == evidence.time_of(DEFAULT)
    assert case.chosen_ns == evidence.time_of(case.chosen)
    assert case.gain == case.default_ns / case.chosen_ns
    assert case.saved_ns == case.default_ns - case.chosen_ns
    assert (plain.saved_ns, plain.gain) == (0.0, None)
    assert 0 < case.explored < 1


def test_table_and_pictures_have_the_same_numbers(store):
    for case in gather(store).cases:
        value = case.value()
        shown = value["schedules"]
        if value["default"] is not None:
            assert shown[value["default"]]["median_ns"] == value["default_ns"]
        if value["chosen"] is not None:
            assert shown[value["chosen"]]["median_ns"] == value["chosen_ns"]
            assert value["gain"] in (None, shown[value["chosen"]]["speed"])


def test_what_failed_is_kept_with_its_reason(store):
    case, plain, _ = gather(store).cases

    assert case.failures == ((Schedule((1024, 1, 1)), "the compiler gave up: </script>"),)
    assert plain.failures == ()


def test_times_of_other_sizes_are_brought_to_the_usual_one_by_their_trend():
    """Here twice the size takes 1.4 times as long: in proportion, small ones would look slow."""
    sizes = [700, 800, 900, 1000, 1100, 1200, 1300, 1400] * 8
    made = MemoryStore()
    made.append(rows_of([(DEFAULT, 100.0 * (size / 1000) ** 0.5, size) for size in sizes]))

    (case,) = gather(made).cases

    assert case.elements == 1100
    assert max(case.tried[0].times_ns) < 1.06 * min(case.tried[0].times_ns)


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
