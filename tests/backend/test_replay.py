from random import Random
from statistics import fmean, median, stdev

import pytest

from vyre.backend.replay import Noise, Replay
from vyre.errors import InvalidInput
from vyre.model import Code, Failed, Schedule, Timed

A, B = Schedule((64, 1, 1)), Schedule((64, 1, 1), Code(items=4))
TABLE = {A: 1000.0, B: 500.0}


def seen(noise: Noise, count: int = 2000) -> list[float]:
    rng = Random(1)
    return [noise.seen(1000.0, rng) for _ in range(count)]


def test_without_noise_the_table_itself_is_told():
    replay = Replay(TABLE)

    assert [replay.launch(A), replay.launch(B)] == [Timed(A, 1000.0), Timed(B, 500.0)]


def test_the_same_seed_tells_the_same_times():
    noise = Noise(spread=0.1, outliers=0.1, mode=1.2, step_ns=7.0)

    one, other = (Replay(TABLE, noise, Random(3)) for _ in range(2))

    assert [one.launch(A) for _ in range(50)] == [other.launch(A) for _ in range(50)]


def test_noise_is_in_what_is_told_and_not_in_what_passes():
    replay = Replay(TABLE, Noise(spread=0.5, outliers=0.5))
    for _ in range(10):
        replay.launch(B)

    assert replay.clock_ns == 5000.0


def test_normal_noise_spreads_as_it_says():
    times = seen(Noise(spread=0.03))

    assert stdev(times) == pytest.approx(30, rel=0.1)
    assert fmean(times) == pytest.approx(1000, rel=0.01)


def test_a_share_of_times_is_outliers():
    times = seen(Noise(outliers=0.05))

    assert sorted(set(times)) == [1000.0, 3000.0]
    assert times.count(3000.0) == pytest.approx(100, rel=0.3)


def test_two_modes_take_turns_by_chance():
    times = seen(Noise(mode=1.5))

    assert times.count(1500.0) == pytest.approx(1000, rel=0.1)


def test_a_coarse_timer_tells_whole_steps_and_never_nothing():
    assert set(seen(Noise(spread=0.03, step_ns=400.0))) <= {800.0, 1200.0}
    assert median(seen(Noise(step_ns=1e6))) == 1e6


def test_what_fails_says_why_and_takes_no_time():
    replay = Replay(TABLE, failing={B: "too many registers"})

    assert replay.launch(B) == Failed(B, "too many registers")
    assert replay.clock_ns == 0.0


def test_a_schedule_without_a_time_is_refused():
    with pytest.raises(InvalidInput) as caught:
        Replay({A: 1.0}).launch(B)

    assert str(caught.value) == (
        f"no time for {B} in a table of 1 schedules\nFix: launch schedules of the table only"
    )


def test_a_noise_that_is_none_is_refused():
    with pytest.raises(InvalidInput) as caught:
        Noise(outliers=2.0)

    assert str(caught.value) == (
        "Noise(spread=0.0, outliers=2.0, outlier=3.0, mode=1.0, step_ns=0.0)"
        " is no noise of a timer\n"
        "Fix: give a spread and a step from 0, a share from 0 to 1 and factors above 0"
    )


def test_a_slower_machine_takes_longer_for_everything():
    replay = Replay(TABLE)
    replay.speed = 0.5

    assert [replay.launch(A), replay.launch(B)] == [Timed(A, 2000.0), Timed(B, 1000.0)]
    assert replay.clock_ns == 3000.0


def test_codes_are_ready_one_after_the_other_as_time_passes():
    replay = Replay(TABLE, compile_ns=1500.0)
    replay.compile([A, B])
    replay.compile([A])
    stages = []
    for _ in range(4):
        stages.append((replay.ready, replay.compiling))
        replay.launch(A)

    assert stages == [
        (frozenset(), 2),
        (frozenset(), 2),
        (frozenset({A}), 1),
        (frozenset({A, B}), 0),
    ]


def test_a_code_makes_all_its_schedules_ready():
    wide, failing = Schedule((128, 1, 1), B.code), Schedule((256, 1, 1), B.code)
    replay = Replay({**TABLE, wide: 700.0}, failing={failing: "too many threads"})

    replay.compile([B])

    assert replay.ready == {B, wide, failing}
