"""What a new learner is told of the past."""

from dataclasses import replace
from math import inf, log, nan

import pytest

from vyre.learn.inheritance import FARTHEST, Known, distance, inherit
from vyre.learn.recorder import Recorder
from vyre.model import Code, Decision, Failed, Reason, Schedule, Timed, Workload
from vyre.plan.space import Space
from vyre.store.memory import MemoryStore

DEFAULT, FAST, SLOW = (Schedule((width, 1, 1), Code()) for width in (256, 128, 512))
SPACE = Space(DEFAULT, (DEFAULT, FAST, SLOW), ())

SPACE_OF = (SPACE.legal, SPACE.default)


def workload(bucket=20, fingerprint=b"f", structure="structure=s"):
    return Workload(
        fingerprint=fingerprint,
        buckets=(bucket, 1, 1),
        traits=(structure,),
        device="d",
        toolchain="t",
    )


def decided(of, schedule=FAST, gain=2.0):
    return Decision(workload=of, config=schedule, reason=Reason.ADOPTED, gain=gain, confidence=0.99)


@pytest.fixture
def recorder():
    made = Recorder(MemoryStore(), linger_s=0.01)
    yield made
    made.close()


def test_nothing_known_gives_nothing(recorder):
    inherited = inherit(workload(), *SPACE_OF, recorder, [])

    assert (inherited.decision, inherited.ratios, inherited.failures) == (None, {}, {})


def test_its_own_decision_is_remembered_with_what_was_measured(recorder):
    recorder.put(decided(workload()))
    for schedule, ns in ((DEFAULT, 800.0), (FAST, 400.0), (SLOW, 1600.0)):
        recorder.record(workload(), Timed(schedule, ns), 1)

    inherited = inherit(workload(), *SPACE_OF, recorder, [])

    assert inherited.decision == replace(decided(workload()), reason=Reason.REMEMBERED)
    assert {s: r.log_ratio for s, r in inherited.ratios.items()} == pytest.approx(
        {DEFAULT: 0.0, FAST: -log(2), SLOW: log(2)}
    )


def test_without_measurements_the_gain_speaks(recorder):
    recorder.put(decided(workload(), gain=4.0))

    inherited = inherit(workload(), *SPACE_OF, recorder, [])

    assert {s: r.log_ratio for s, r in inherited.ratios.items()} == pytest.approx(
        {DEFAULT: 0.0, FAST: -log(4)}
    )


def test_a_decision_that_is_not_legal_here_is_left_out(recorder):
    recorder.put(decided(workload(), schedule=Schedule((77, 1, 1))))

    assert inherit(workload(), *SPACE_OF, recorder, []).decision is None


def test_the_nearest_size_is_transferred_and_believed_less_the_further_it_is(recorder):
    recorder.put(decided(workload(18)))
    recorder.put(decided(workload(21), schedule=SLOW, gain=1.5))

    inherited = inherit(workload(20), *SPACE_OF, recorder, [])
    further = inherit(workload(24), *SPACE_OF, recorder, [])

    assert inherited.decision.config == SLOW
    assert inherited.decision.reason is Reason.TRANSFERRED
    assert inherited.decision.workload == workload(20)
    assert inherited.decision.detail == "from sizes nearby, 1 doublings away"
    assert further.ratios[SLOW].spread > inherited.ratios[SLOW].spread


def test_what_is_too_far_away_is_no_guess(recorder):
    recorder.put(decided(workload(20 + FARTHEST + 1)))

    assert inherit(workload(20), *SPACE_OF, recorder, []).decision is None


def test_another_device_is_no_neighbour(recorder):
    recorder.put(decided(replace(workload(), buckets=(19, 1, 1), device="another")))

    assert inherit(workload(), *SPACE_OF, recorder, []).decision is None


def test_a_lookalike_serves_and_the_program_itself_comes_first(recorder):
    recorder.put(decided(workload(fingerprint=b"renamed"), schedule=SLOW))
    lookalike = inherit(workload(), *SPACE_OF, recorder, [])
    recorder.put(decided(workload(20), schedule=FAST))
    recorder.put(decided(replace(workload(), buckets=(20, 2, 1)), schedule=FAST))

    assert lookalike.decision.detail == "from a program of the same structure, 0 doublings away"
    assert inherit(workload(), *SPACE_OF, recorder, []).decision.config == FAST


def test_what_this_process_has_learned_counts_as_measured(recorder):
    known = Known(decided(workload(21)), {DEFAULT: 0.0, FAST: -1.0})

    inherited = inherit(workload(20), *SPACE_OF, recorder, [known])

    assert inherited.ratios[FAST].log_ratio == -1.0


def ratios(inherited):
    return {schedule: one.log_ratio for schedule, one in inherited.ratios.items()}


def test_measurements_count_whether_or_not_anything_was_decided(recorder):
    """A process that ended early leaves times and no decision."""
    for schedule, ns in ((DEFAULT, 800.0), (FAST, 400.0)):
        recorder.record(workload(), Timed(schedule, ns), 1)

    inherited = inherit(workload(), *SPACE_OF, recorder, [])

    assert inherited.decision is None
    assert ratios(inherited) == pytest.approx({DEFAULT: 0.0, FAST: -log(2)})


def test_its_own_measurements_stand_beside_what_neighbours_say_and_outweigh_it(recorder):
    known = Known(decided(workload(21)), {DEFAULT: 0.0, FAST: -1.0, SLOW: 0.3})
    for schedule, ns in ((DEFAULT, 800.0), (FAST, 400.0)):
        recorder.record(workload(), Timed(schedule, ns), 1)

    inherited = inherit(workload(), *SPACE_OF, recorder, [known])

    assert ratios(inherited) == pytest.approx({DEFAULT: 0.0, FAST: -log(2), SLOW: 0.3})
    assert inherited.decision.reason is Reason.TRANSFERRED


def test_a_neighbours_choice_that_was_slower_here_is_not_launched(recorder):
    for schedule, ns in ((DEFAULT, 400.0), (FAST, 800.0)):
        recorder.record(workload(), Timed(schedule, ns), 1)

    inherited = inherit(workload(), *SPACE_OF, recorder, [Known(decided(workload(21)))])

    assert inherited.decision is None
    assert inherited.ratios[FAST].log_ratio == pytest.approx(log(2))


def test_sizes_of_one_bucket_are_not_mixed(recorder):
    """The faster schedule ran the larger sizes, so its raw times are longer."""
    recorder.put(decided(workload()))
    for turn in range(20):
        small, large = 1000 + 25 * turn, 1450 + 25 * turn
        recorder.record(workload(), Timed(DEFAULT, 10.0 * small), small)
        recorder.record(workload(), Timed(FAST, 8.0 * large), large)

    inherited = inherit(workload(), *SPACE_OF, recorder, [])

    assert inherited.ratios[FAST].log_ratio == pytest.approx(log(0.8), abs=0.05)


def test_few_times_are_believed_less_than_many(recorder):
    for schedule, times in ((DEFAULT, 20), (FAST, 1), (SLOW, 20)):
        for _ in range(times):
            recorder.record(workload(), Timed(schedule, 100.0), 1)

    found = inherit(workload(), *SPACE_OF, recorder, []).ratios

    assert found[FAST].spread > 1.5 * found[SLOW].spread


@pytest.mark.parametrize("gain", [inf, 1.7e308, 5e-324, 0.0, -1.0, nan])
def test_a_gain_that_another_wrote_may_be_any_number(recorder, gain):
    recorder.put(decided(workload(), gain=gain))
    recorder.put(decided(workload(21), gain=gain))

    for of in (workload(), workload(22)):
        found = inherit(of, *SPACE_OF, recorder, [])
        assert all(abs(one.log_ratio) <= 5.0 for one in found.ratios.values())
        assert found.decision.config == FAST


@pytest.mark.parametrize("ns", [0.0, 5e-324, 1e-3, 1e15, 1.7e308])
@pytest.mark.parametrize("schedule", [DEFAULT, FAST])
def test_a_time_that_another_wrote_may_be_any_number(recorder, schedule, ns):
    recorder.record(workload(), Timed(DEFAULT, 100.0), 1)
    recorder.record(workload(), Timed(schedule, ns), 1)

    found = inherit(workload(), *SPACE_OF, recorder, [])

    assert all(abs(one.log_ratio) <= 5.0 for one in found.ratios.values())


def test_what_only_ever_failed_is_not_tried_again(recorder):
    recorder.record(workload(), Failed(SLOW, "it hung"), 1)
    recorder.record(workload(), Failed(FAST, "once"), 1)
    recorder.record(workload(), Timed(FAST, 5.0), 1)

    assert inherit(workload(), *SPACE_OF, recorder, []).failures == {SLOW: "it hung"}


def test_distance_is_that_of_the_axis_which_differs_most():
    one = workload(20)

    assert distance(one, replace(one, buckets=(22, 1, 2))) == 2
    assert distance(one, replace(one, buckets=(20, 1))) > FARTHEST
