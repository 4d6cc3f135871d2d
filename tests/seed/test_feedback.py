from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from vyre.ir import DataType, Program
from vyre.ir import build as b
from vyre.ir.declare import BufferDecl
from vyre.learn import rules
from vyre.learn.recorder import Recorder
from vyre.model import Code, DeviceInfo, DeviceKind, Dim3, Limits, Mode, Schedule, Timed
from vyre.plan import DispatchConfig, LaunchLimits
from vyre.seed.feedback import LaunchFeedback, record_launch_measurement
from vyre.store.memory import MemoryStore
from vyre.store.sqlite.database import Database

LIMITS = LaunchLimits(
    backend="test",
    max_threads_per_block=1024,
    max_block_dim=(1024, 1024, 64),
    max_grid_dim=(2**32 - 1,) * 3,
)
CONFIG = DispatchConfig()


def program(count: int = 8192, *, barrier: bool = False) -> Program:
    body = [b.store("out", b.gid(), b.gid())]
    if barrier:
        body.append(b.barrier())
    out = BufferDecl.output("out", 0, DataType.U32).with_count(count)
    return Program.wrapped((out,), (32, 1, 1), body)


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    with closing(Recorder(MemoryStore(), linger_s=3600)) as made:
        yield made


def launch(feedback: LaunchFeedback, times: dict[int, float], n: int, rounds: int) -> list[int]:
    """Launch what the feedback asks for, and say that it took so many ns per element."""
    widths = []
    for _ in range(rounds):
        width, y, z = feedback.resolve(program(n), CONFIG, LIMITS, n)
        assert (y, z) == (1, 1)
        elapsed = round(times[width] * n)
        assert feedback.record(program(n), CONFIG, LIMITS, n, (width, 1, 1), elapsed)
        widths.append(width)
    return widths


# per element; the seed's estimates say 1024 is best and are far above any of these
TIMES = {32: 4.0, 64: 2.0, 128: 1.6, 256: 1.0, 512: 1.2, 1024: 1.5}


@pytest.mark.parametrize("n", [1024, 4096, 8192, 65_536, 1 << 20, 1 << 24])
def test_the_fastest_width_is_found_at_every_size(n: int, recorder: Recorder):
    """The seed compares times with estimates, and stays at its first width for all of these."""
    feedback = LaunchFeedback(recorder, Mode.NATURAL_GRADIENT)

    widths = launch(feedback, TIMES, n, 40)

    assert widths[0] in (512, 1024)
    assert widths[20:] == [256] * 20


def test_trying_is_bounded(recorder: Recorder):
    feedback = LaunchFeedback(recorder, Mode.NATURAL_GRADIENT)

    widths = launch(feedback, TIMES, 8192, 60)

    assert all(widths.count(width) <= 3 for width in TIMES if width != 256)
    assert widths.count(32) == 1


def test_sizes_of_one_bucket_learn_together(recorder: Recorder):
    """The seed's key is the exact count, so that every new size starts anew."""
    feedback = LaunchFeedback(recorder, Mode.NATURAL_GRADIENT)
    generic = Program.wrapped(
        (BufferDecl.read("x", 0, DataType.U32), BufferDecl.write("out", 1, DataType.U32)),
        (32, 1, 1),
        [b.store("out", b.gid(), b.load("x", b.gid()))],
    )
    for k in range(20):
        n = 8192 + 17 * k
        width = feedback.resolve(generic, CONFIG, LIMITS, n)
        feedback.record(generic, CONFIG, LIMITS, n, width, round(TIMES[width[0]] * n))

    assert feedback.resolve(generic, CONFIG, LIMITS, 12_345) == (256, 1, 1)


@pytest.mark.parametrize("width", [96, 48, 1000, 3])
def test_a_width_of_the_callers_own_is_tried_and_chosen_where_it_is_the_fastest(
    width: int, recorder: Recorder
):
    """The seed takes in what is measured beside its own widths."""
    feedback = LaunchFeedback(recorder, Mode.NATURAL_GRADIENT)
    n, times = 8192, {**TIMES, width: 0.5}

    assert feedback.record(program(n), CONFIG, LIMITS, n, (width, 1, 1), n // 2)
    widths = launch(feedback, times, n, 40)

    assert widths[20:] == [width] * 20
    assert LaunchFeedback(recorder, Mode.OFF).resolve(program(n), CONFIG, LIMITS, n)[0] == width
    again = LaunchFeedback(recorder, Mode.NATURAL_GRADIENT)
    assert again.resolve(program(n), CONFIG, LIMITS, n)[0] == width


def test_a_width_of_the_callers_own_that_is_slow_is_left(recorder: Recorder):
    feedback = LaunchFeedback(recorder, Mode.NATURAL_GRADIENT)
    assert feedback.record(program(), CONFIG, LIMITS, 8192, (96, 1, 1), 9 * 8192)

    widths = launch(feedback, TIMES | {96: 9.0}, 8192, 40)

    assert widths[20:] == [256] * 20


def test_sizes_of_one_bucket_compare_by_their_trend(recorder: Recorder):
    """Here time does not grow with size; per element, whatever ran large would look fast."""
    feedback = LaunchFeedback(recorder, Mode.NATURAL_GRADIENT)
    generic = Program.wrapped(
        (BufferDecl.read("x", 0, DataType.U32), BufferDecl.write("out", 1, DataType.U32)),
        (32, 1, 1),
        [b.store("out", b.gid(), b.load("x", b.gid()))],
    )
    for k in range(60):
        n = 8192 + 137 * k
        width = feedback.resolve(generic, CONFIG, LIMITS, n)
        feedback.record(generic, CONFIG, LIMITS, n, width, round(1e5 * TIMES[width[0]]))

    assert feedback.resolve(generic, CONFIG, LIMITS, 9000) == (256, 1, 1)


@pytest.mark.parametrize("ns", [0.0, 1e-300, 1.7e308])
@pytest.mark.parametrize("width", [256, 64, 10**6])
def test_rows_of_others_may_hold_any_number(recorder: Recorder, ns: float, width: int):
    feedback = LaunchFeedback(recorder, Mode.NATURAL_GRADIENT)
    of = feedback._workload(program(), LIMITS, 8192)
    for size in (0, 1, 8192, 2**63 - 1):
        recorder.record(of, Timed(Schedule((width, 1, 1)), ns), size)
    recorder.record(of, Timed(Schedule((64, 2, 1), Code(items=4)), 5.0), 8192)

    assert launch(feedback, TIMES, 8192, 40)[25:] == [256] * 15


def test_the_mode_that_holds_is_asked_for_each_launch(recorder: Recorder):
    feedback = LaunchFeedback(recorder)
    with rules.mode("off"):
        assert feedback.resolve(program(), CONFIG, LIMITS, 8192) == (32, 1, 1)
        assert not feedback.record(program(), CONFIG, LIMITS, 8192, (64, 1, 1), 100)

    assert feedback.record(program(), CONFIG, LIMITS, 8192, (64, 1, 1), 100)


def test_a_new_process_goes_on_where_the_last_one_ended(tmp_path: Path):
    """The seed keeps the choice without its times, and leaves it at the first new one."""
    path = tmp_path / "store.sqlite3"
    with closing(Recorder(Database(path, writer="1"))) as recorder:
        launch(LaunchFeedback(recorder, Mode.NATURAL_GRADIENT), TIMES, 8192, 20)
    with closing(Recorder(Database(path, writer="2"))) as recorder:
        feedback = LaunchFeedback(recorder, Mode.NATURAL_GRADIENT)

        assert launch(feedback, TIMES, 8192, 5) == [256] * 5


def test_mode_off_uses_what_is_remembered_and_records_nothing(recorder: Recorder):
    launch(LaunchFeedback(recorder, Mode.ON), TIMES, 8192, 20)
    off = LaunchFeedback(recorder, Mode.OFF)

    assert off.resolve(program(), CONFIG, LIMITS, 8192) == (256, 1, 1)
    assert off.resolve(program(100), CONFIG, LIMITS, 100) == (32, 1, 1)
    assert not off.record(program(), CONFIG, LIMITS, 8192, (64, 1, 1), 100)


def test_devices_learn_apart(recorder: Recorder):
    """In the seed two cards of equal limits share their entries."""
    card = DeviceInfo(
        backend="cuda",
        model="NVIDIA H200",
        driver="580.1",
        compiler="nvrtc 13.0",
        kind=DeviceKind.GPU,
        limits=Limits(max_threads=1024, max_block=(1024, 1024, 64), max_grid=(65535,) * 3),
    )
    launch(LaunchFeedback(recorder, Mode.ON, card), TIMES, 8192, 20)
    others = [replace(card, model="NVIDIA L4"), replace(card, driver="581"), card]

    found = [
        LaunchFeedback(recorder, Mode.OFF, other).resolve(program(), CONFIG, LIMITS, 8192)
        for other in others
    ]

    assert found == [(32, 1, 1), (32, 1, 1), (256, 1, 1)]


@pytest.mark.parametrize(
    ("config", "n", "workgroup", "elapsed_ns"),
    [
        (CONFIG, 8192, (64, 1, 1), 0),
        (CONFIG, 8192, (64, 1, 1), -1),
        (CONFIG, 8192, (64, 1, 1), 2**64),
        (CONFIG, 8192, (64, 1, 1), float("nan")),
        (CONFIG, 8192, (64, 1, 1), float("inf")),
        (DispatchConfig(workgroup_override=(64, 1, 1)), 8192, (64, 1, 1), 100),
        (DispatchConfig(grid_override=(64, 1, 1)), 8192, (64, 1, 1), 100),
        (CONFIG, 8192, (64, 2, 1), 100),
        (CONFIG, 8192, (64, 1, 2), 100),
        (CONFIG, 8192, (2048, 1, 1), 100),
        (CONFIG, 8192, (0, 1, 1), 100),
        (CONFIG, 0, (64, 1, 1), 100),
    ],
)
def test_a_launch_that_says_nothing_of_widths_is_not_recorded(
    config: DispatchConfig, n: int, workgroup: Dim3, elapsed_ns: int, recorder: Recorder
):
    feedback = LaunchFeedback(recorder, Mode.NATURAL_GRADIENT)

    accepted = record_launch_measurement(
        program(), config, LIMITS, n, workgroup, elapsed_ns, feedback=feedback
    )

    assert not accepted


def test_a_program_that_depends_on_its_shape_is_left_alone(recorder: Recorder):
    feedback = LaunchFeedback(recorder, Mode.NATURAL_GRADIENT)
    shaped = program(barrier=True)

    assert feedback.resolve(shaped, CONFIG, LIMITS, 8192) == (32, 1, 1)
    assert not feedback.record(shaped, CONFIG, LIMITS, 8192, (64, 1, 1), 100)


def test_overrides_are_the_callers(recorder: Recorder):
    feedback = LaunchFeedback(recorder, Mode.NATURAL_GRADIENT)
    config = DispatchConfig(workgroup_override=(96, 1, 1))

    assert feedback.resolve(program(), config, LIMITS, 8192) == (96, 1, 1)


def test_a_grid_that_is_too_small_for_a_width_leaves_it_out(recorder: Recorder):
    limits = replace(LIMITS, max_grid_dim=(65_535,) * 3)
    n = 67_107_841
    feedback = LaunchFeedback(recorder, Mode.NATURAL_GRADIENT)
    with pytest.raises(Exception, match="no width launches"):
        feedback.resolve(program(n), CONFIG, limits, n)


def test_without_a_feedback_of_its_own_a_launch_goes_to_the_processs(
    monkeypatch: pytest.MonkeyPatch, recorder: Recorder
):
    feedback = LaunchFeedback(recorder, Mode.NATURAL_GRADIENT)
    monkeypatch.setattr("vyre.seed.feedback.launch_feedback", lambda: feedback)

    assert record_launch_measurement(program(), CONFIG, LIMITS, 8192, (64, 1, 1), 100)
    (width,) = {
        row.config.workgroup[0]
        for row in recorder.summaries(feedback._workload(program(), LIMITS, 8192))
    }
    assert width == 64
