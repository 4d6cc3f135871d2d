import logging
from pathlib import Path

import pytest

from vyre.errors import StoreFailed
from vyre.ir import Program
from vyre.model import Dim3, Limits, Mode
from vyre.policy.natural import (
    Q16_ONE,
    EmptyMeasurements,
    FisherMatrixShape,
    NaturalGradientPolicy,
    TuningMeasurement,
    identity_fisher_q16,
)
from vyre.seed.tuner import BackendTimer, Tuner
from vyre.store.keys import StaticProgramShape, TunerProgramKey
from vyre.store.notice import forget_said

PROGRAM = Program.wrapped((), (64, 1, 1), ())
KEY = TunerProgramKey.from_program(PROGRAM, StaticProgramShape.of(PROGRAM))
LIMITS = Limits(max_threads=1024, max_block=(1024, 1024, 64), max_grid=(65535,) * 3)
SIZES: list[Dim3] = [(64, 1, 1), (128, 1, 1), (256, 1, 1)]


class Timer:
    """Takes the time that a table says, and fails at one width."""

    def __init__(self, times: dict[int, list[int]] | None = None, fails_at: int = 0) -> None:
        self.times = times or {64: [12_000], 128: [8_000], 256: [10_000]}
        self.fails_at = fails_at
        self.measured: list[int] = []

    def measure_candidate_ns(self, program: Program, workgroup_size: Dim3) -> int:
        assert program == PROGRAM
        width = workgroup_size[0]
        self.measured.append(width)
        if width == self.fails_at:
            raise TimeoutError("timer failed")
        times = self.times.get(width, [50_000])
        return times[(self.measured.count(width) - 1) % len(times)]


def tuner(tmp_path: Path, mode: Mode = Mode.ON) -> Tuner:
    return Tuner("test adapter", mode, cache_dir=tmp_path)


def test_a_timer_is_anything_that_measures():
    timer: BackendTimer = Timer()

    assert timer.measure_candidate_ns(PROGRAM, (64, 1, 1)) == 12_000


def test_the_candidates_are_those_that_a_device_allows(tmp_path: Path):
    made = tuner(tmp_path)

    assert made.candidates_for(1024) == (32, 64, 128, 256, 512, 1024)
    assert made.candidates_for(300) == (32, 64, 128, 256)
    assert made.candidates_for(31) == ()
    assert made.candidates_for(1024, (128, 1, 1)) == (32, 64, 128)


def test_the_best_is_the_first_of_the_fastest(tmp_path: Path):
    made = tuner(tmp_path)
    timer = Timer({64: [9], 128: [8], 256: [8]})

    assert made.best_of(PROGRAM, SIZES, timer) == TuningMeasurement((128, 1, 1), 8)
    assert timer.measured == [64, 128, 256]
    assert made.best_of(PROGRAM, [], timer) is None


def test_a_timer_error_ends_the_sweep(tmp_path: Path):
    timer = Timer(fails_at=128)

    with pytest.raises(TimeoutError, match="timer failed"):
        tuner(tmp_path).best_of(PROGRAM, SIZES, timer)

    assert timer.measured == [64, 128]


def test_a_time_of_zero_does_not_win(tmp_path: Path):
    """In the seed it does."""
    timer = Timer({64: [12_000], 128: [0], 256: [10_000]})

    best = tuner(tmp_path).best_of(PROGRAM, SIZES, timer)

    assert best == TuningMeasurement((256, 1, 1), 10_000)


def test_repeats_keep_one_lucky_time_from_winning(tmp_path: Path):
    """The seed takes one sample of each, the first call included."""
    times = {64: [99_999, 1, 9_000, 9_000], 128: [99_999, 8_000, 8_000, 8_000], 256: [99_999]}

    best = tuner(tmp_path).best_of(PROGRAM, SIZES, Timer(times), warmups=1, repeats=3)

    assert best == TuningMeasurement((128, 1, 1), 8_000)


def test_the_natural_gradient_can_be_led_away_from_the_fastest(tmp_path: Path):
    fisher = list(identity_fisher_q16(3))
    fisher[0] = 8 * Q16_ONE
    timer = Timer()

    step = tuner(tmp_path).best_of_natural_gradient(
        PROGRAM, SIZES, timer, fisher, NaturalGradientPolicy(temperature_ns=4000)
    )

    assert timer.measured == [64, 128, 256]
    assert step.best_measured_workgroup_size == (128, 1, 1)
    assert step.selected_workgroup_size == (64, 1, 1)
    assert step.policy_weights_q16 == (12211, 33193, 20132)
    assert step.natural_gradient_q16 == (97688, 33193, 20132)


def test_a_timer_error_ends_a_natural_gradient_sweep(tmp_path: Path):
    timer = Timer(fails_at=128)

    with pytest.raises(TimeoutError):
        tuner(tmp_path).best_of_natural_gradient(PROGRAM, SIZES, timer, identity_fisher_q16(3))

    assert timer.measured == [64, 128]


def test_the_policys_errors_are_the_callers(tmp_path: Path):
    made = tuner(tmp_path)

    with pytest.raises(EmptyMeasurements):
        made.best_of_natural_gradient(PROGRAM, [], Timer(), ())
    with pytest.raises(FisherMatrixShape):
        made.natural_gradient_step([TuningMeasurement((64, 1, 1), 1)], ())


def test_what_is_not_known_is_the_default_or_what_is_declared(tmp_path: Path):
    made = tuner(tmp_path)

    assert made.resolve("unknown") == Tuner.default_workgroup_size() == (64, 1, 1)
    assert made.resolve_key(KEY, declared=(8, 8, 1)) == (8, 8, 1)


def test_what_is_recorded_is_resolved_and_persisted(tmp_path: Path):
    made = tuner(tmp_path)
    made.record_key_decision(KEY, (256, 1, 1))
    made.record_decision("other", (32, 1, 1))

    assert made.resolve_key(KEY) == (256, 1, 1)
    assert made.persist()
    assert tuner(tmp_path).resolve_key(KEY) == (256, 1, 1)
    assert tuner(tmp_path).resolve("other") == (32, 1, 1)


def test_a_choice_that_the_device_cannot_launch_is_not_resolved(tmp_path: Path):
    """The seed returns it, and the driver refuses the launch."""
    made = tuner(tmp_path)
    made.record_decision("a", (2048, 1, 1))
    made.record_decision("b", (1, 1, 128))

    assert made.resolve("a", declared=(32, 1, 1), limits=LIMITS) == (32, 1, 1)
    assert made.resolve("b", limits=LIMITS) == (64, 1, 1)
    assert made.resolve("a") == (2048, 1, 1)


@pytest.mark.parametrize("adapter", ["../../../escape", "/etc/passwd", "a\0b", ""])
def test_no_adapter_name_leaves_the_folder(adapter: str, tmp_path: Path):
    """The seed follows it anywhere."""
    path = Tuner.cache_path_for_adapter(adapter, tmp_path)

    assert path.parent == tmp_path / "tuner"
    assert path.suffix == ".toml"


def test_a_plain_adapter_has_the_seeds_path(tmp_path: Path):
    assert Tuner.cache_path_for_adapter("sm120", tmp_path) == tmp_path / "tuner" / "sm120.toml"


def test_an_unreadable_file_is_said_and_never_overwritten(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    """The seed starts empty and overwrites it."""
    forget_said()
    path = Tuner.cache_path_for_adapter("test adapter", tmp_path)
    path.parent.mkdir()
    path.write_text("not toml")

    with caplog.at_level(logging.WARNING):
        made = tuner(tmp_path)
    made.record_decision("a", (64, 1, 1))
    with pytest.raises(StoreFailed):
        made.persist()

    assert path.read_text() == "not toml"
    assert caplog.messages == [
        f"{path} is not TOML: Expected '=' after a key in a key/value pair (at line 1, column 5); "
        "its choices are not used, and the file is left as it is\n"
        "Fix: mend that place, or move the file away; it is left as it is"
    ]


def test_mode_on_sweeps_a_key_once_and_remembers_the_fastest(tmp_path: Path):
    """In the seed it is the same as off."""
    made, timer = tuner(tmp_path, Mode.ON), Timer()

    first = made.choose(PROGRAM, KEY, timer, LIMITS)
    measured = len(timer.measured)
    second = made.choose(PROGRAM, KEY, timer, LIMITS)

    assert first == second == (128, 1, 1)
    assert set(timer.measured) == {32, 64, 128, 256, 512, 1024}
    assert len(timer.measured) == measured


def test_mode_natural_remembers_what_the_gradient_suggests(tmp_path: Path):
    made = tuner(tmp_path, Mode.NATURAL_GRADIENT)

    assert made.choose(PROGRAM, KEY, Timer(), LIMITS) == (128, 1, 1)
    assert made.resolve_key(KEY) == (128, 1, 1)


def test_mode_off_measures_and_writes_nothing(tmp_path: Path):
    made, timer = tuner(tmp_path, Mode.OFF), Timer()
    made.record_decision("a", (32, 1, 1))

    assert made.choose(PROGRAM, KEY, timer, LIMITS) == PROGRAM.workgroup_size
    assert timer.measured == []
    assert not made.persist()
    assert list(tmp_path.iterdir()) == []


def test_a_timer_that_never_measures_leaves_the_declared_size(tmp_path: Path):
    timer = Timer({width: [0] for width in (32, 64, 128, 256, 512, 1024)})

    assert tuner(tmp_path).choose(PROGRAM, KEY, timer, LIMITS) == PROGRAM.workgroup_size


def test_without_a_home_nothing_is_written_beside_the_program():
    made = Tuner("a", Mode.ON, cache_dir=Path("~/.cache/vyre"))

    with pytest.raises(StoreFailed) as caught:
        made.persist()

    assert str(caught.value) == (
        "~/.cache/vyre/tuner/a.toml is not absolute, as if there were no home folder\n"
        "Fix: set HOME, or VYRE_CACHE_DIR to a folder"
    )


def test_the_mode_is_that_of_the_environment_where_none_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("VYRE_AUTOTUNER", "Off")

    assert Tuner("a", cache_dir=tmp_path).mode is Mode.OFF
