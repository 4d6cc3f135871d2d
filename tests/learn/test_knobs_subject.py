"""Something that is no kernel of Vyre's is learned about, by the public seam alone.

Run as a script, this file is a process of its own that calls it and says what it came to.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

import pytest

import vyre
from vyre.learn import (
    Call,
    Elapsed,
    Fetched,
    Fetching,
    Later,
    Pace,
    Prepare,
    Question,
    Site,
    Step,
    Subject,
    explain,
    process,
    site_of,
    workload_of,
)
from vyre.learn import subject as subject_module
from vyre.learn.deciders import Deciders
from vyre.learn.desk import Desk
from vyre.learn.gaps import Manners
from vyre.learn.recorder import Recorder
from vyre.model import DeviceKind
from vyre.report.gather import gather
from vyre.report.page import page
from vyre.store.memory import MemoryStore
from vyre.store.open import open_store

SPACE = tuple(vyre.Knobs.of({"BLOCK": n, "num_warps": 4}) for n in (64, 128, 256, 32))
BEST, DEFAULT = SPACE[1], SPACE[2]
TIMES_NS = dict(zip(SPACE, (700_000, 400_000, 1_000_000, 900_000), strict=True))
PACE = Pace(advance_s=1e9, shortest_s=0.0, resting_s=0.0)  # nothing waits for the clock
DEVICE = vyre.DeviceInfo(
    backend="host",
    model="a table of times",
    driver="1",
    compiler="",
    kind=DeviceKind.GPU,
    limits=vyre.model.Limits(max_threads=1, max_block=(1, 1, 1), max_grid=(1, 1, 1)),
)
Times = Callable[[vyre.Knobs], Elapsed]


@dataclass(frozen=True)
class Table:
    """A function of somebody's that runs in a few ways, all of which are ready."""

    candidates: tuple[vyre.Knobs, ...] = SPACE

    def question(self) -> Question:
        return Question(
            workload=workload_of("def twice(x): ...", (1000,), DEVICE),
            name="twice",
            device=DEVICE,
            default=DEFAULT,
            candidates=self.candidates,
            warm=True,
        )

    def is_ready(self, config: vyre.Knobs) -> bool:
        return config in self.candidates

    def fetch(self, configs: Sequence[vyre.Knobs], done: Callable[[], object]) -> Fetching:
        raise NotImplementedError


@dataclass(frozen=True)
class Way:
    """One way to run it."""

    knobs: vyre.Knobs
    run: Times

    def start(self, arguments: Sequence[object], stream: int) -> None:
        del arguments, stream
        self.run(self.knobs)

    def timed(self, arguments: Sequence[object], stream: int) -> Elapsed:
        del arguments, stream
        return self.run(self.knobs)


@dataclass(frozen=True)
class Ways:
    run: Times

    def __call__(self, config: vyre.Knobs | None, *, if_ready: bool = False) -> Way:
        del if_ready
        return Way(config or DEFAULT, self.run)

    def is_capturing(self, stream: int) -> bool:
        del stream
        return False


@dataclass
class Twice:
    """What its author gives to users: it looks like a function."""

    times: Mapping[vyre.Knobs, int] = field(default_factory=lambda: dict(TIMES_NS))
    ran: list[vyre.Knobs] = field(default_factory=list)
    subject: Subject = field(default_factory=Table)
    called: list[tuple[Call, Site]] = field(default_factory=list)

    def __call__(self) -> None:
        if not self.called:
            call = Call.of(self.subject, Ways(self.run), size=1000, pace=PACE)
            self.called.append((call, site_of(call)))
        self.called[0][1].launch(())

    def run(self, knobs: vyre.Knobs) -> Elapsed:
        self.ran.append(knobs)
        return Elapsed(self.times[knobs])

    @property
    def site(self) -> Site:
        return self.called[0][1]

    def explain(self) -> vyre.Explanation:
        return explain("twice", self.called)


def call_until(twice: Twice, done: Callable[[], bool], most: int = 600) -> bool:
    """Call until something is so; what was learned from a call is known before the next."""
    for _ in range(most):
        twice()
        assert process.deciders().desk.drained(60)
        if done():
            return True
    return False


def deciders_at_ease() -> Deciders:
    """Those who plan whenever asked, and not so often a second."""
    return Deciders(Desk(Manners(look_s=0.0, rest_s=0.0, per_s=1e9)))


@pytest.fixture(autouse=True)
def own_process(monkeypatch):
    """A memory and deciders of its own for each test."""
    deciders, recorder = deciders_at_ease(), Recorder(MemoryStore(), linger_s=0.01)
    monkeypatch.setattr(process, "deciders", lambda: deciders)
    monkeypatch.setattr(process, "recorder", lambda: recorder)
    return recorder


def test_they_are_what_the_seam_asks_for():
    subject: Subject = Table()
    prepare: Prepare = Ways(Twice().run)
    step: Step | None = prepare(None)

    assert subject.question().default == DEFAULT
    assert step == prepare(DEFAULT)


def test_the_best_is_found_from_the_calls_alone():
    twice = Twice()

    assert call_until(twice, lambda: twice.site.chosen == BEST)
    calls = len(twice.ran)
    assert call_until(twice, lambda: False, 20) is False

    assert len(twice.ran) == calls + 20  # each call ran it once
    assert twice.ran[:3] == [DEFAULT] * 3
    assert twice.ran.count(BEST) >= 15


def test_what_a_launch_takes_after_another_config_is_not_taken_for_its_time(monkeypatch):
    """Of caches that others have left in order, every try would profit, and no choice."""
    quick = replace(PACE, led_ns=1e7, led_within=2.0)
    monkeypatch.setattr(sys.modules[__name__], "PACE", quick)
    slow = SPACE[0]
    twice = Twice(times={DEFAULT: 1_000_000, slow: 1_100_000})
    twice.subject = Table((DEFAULT, slow))
    plain = Twice.run

    def run(self, knobs):
        follows = bool(self.ran) and self.ran[-1] == knobs
        plain(self, knobs)
        return Elapsed(self.times[knobs] if follows or knobs == DEFAULT else 700_000)

    monkeypatch.setattr(Twice, "run", run)
    call_until(twice, lambda: False, 300)

    assert twice.site.chosen == DEFAULT
    pairs = sum(a == b == slow for a, b in zip(twice.ran, twice.ran[1:], strict=False))
    assert 2 <= pairs <= twice.ran.count(slow) - 2


def test_what_was_learned_is_explained():
    twice = Twice()
    assert call_until(twice, lambda: twice.site.chosen == BEST)
    call_until(twice, lambda: False, 20)

    said = str(twice.explain())

    head, _, *lines = said.splitlines()
    assert head == "twice: that its configs compute the same is stated by its author"
    assert lines[0] == "1,000 elements on a table of times"
    assert "  runs        BLOCK=128, num_warps=4\n" in said
    assert "  gain        2.50x the default's speed (100% sure to be faster)\n" in said
    assert "  because     adopted: the fastest; " in said
    assert "  default     BLOCK=256, num_warps=4" in said
    assert "  space       4 candidates of 4 legal configs" in said
    assert "  fastest       400 µs   2.50x " in said


@pytest.mark.parametrize(
    "others",
    [
        [{"BLOCK": 64}, {"BLOCK": 128, "num_warps": 4}],
        [{"BLOCK": "auto", "num_warps": 4}, {"BLOCK": 128, "num_warps": 4}],
        [{"BLOCK": True, "num_warps": 4}, {"num_warps": 4, "BLOCK": 128}],
    ],
)
def test_candidates_may_differ_in_their_names_and_kinds(others):
    one, two = (vyre.Knobs.of(settings) for settings in others)
    twice = Twice(times={one: 700_000, two: 400_000, DEFAULT: 1_000_000})
    twice.subject = Table((DEFAULT, one, two))

    assert call_until(twice, lambda: twice.site.chosen == two)


def test_what_is_fetched_and_never_gets_ready_is_dropped():
    class Never(Table):
        fetched: ClassVar[list[vyre.Knobs]] = []

        def is_ready(self, config):
            return config == DEFAULT

        def fetch(self, configs, done):
            self.fetched.append(configs[0])
            done()

            class Over:
                def taken(self):
                    return Fetched()

                def cancel(self):
                    pass

            return Over()

    twice = Twice(subject=Never())
    call_until(twice, lambda: False, 60)

    failures = twice.site.decider.standing.failures
    assert set(failures.values()) == {"it was fetched, and is not ready"}
    assert len(Never.fetched) == len(set(Never.fetched)) <= 3
    assert set(twice.ran) == {DEFAULT}


@pytest.mark.parametrize("share", [0.0, -1.0, float("nan"), 1.5])
def test_a_share_of_a_dispatch_is_one(share):
    with pytest.raises(vyre.InvalidInput) as caught:
        replace(Table().question(), share=share)

    assert str(caught.value) == (
        f"a try of twice that takes {share} of a dispatch\nFix: give a share above 0 and up to 1"
    )


def test_schedules_and_knobs_are_not_candidates_of_one_question():
    mixed = (DEFAULT, vyre.Schedule((64, 1, 1)))

    with pytest.raises(vyre.InvalidInput, match="that are schedules and knobs"):
        replace(Table().question(), candidates=mixed)


def test_a_name_of_any_length_leaves_a_store_sound(tmp_path):
    with closing(open_store(tmp_path, writer="a")) as store:
        with closing(Recorder(store, linger_s=0.01)) as recorder:
            recorder.name(Table().question().workload, "y" * 100_000, DEVICE)
            assert recorder.flush()
        store.name({"d" * 64: "z" * 100_000})
    with closing(open_store(tmp_path, writer="b")) as store:
        names = store.names().values()

    assert "y" * 200 in names
    assert max(map(len, names)) == 16_384


def test_before_it_was_called_there_is_little_to_explain():
    assert str(Twice().explain()).endswith("\n  it has not been called in this process")


def test_a_way_that_cannot_run_is_dropped_and_the_call_goes_on():
    def falls(knobs):
        if knobs == BEST:
            raise vyre.DeviceFailed("out of registers", "take fewer warps")
        return Elapsed(TIMES_NS[knobs])

    twice = Twice()
    twice.run = falls

    assert call_until(twice, lambda: twice.site.decider.standing.failures)
    call_until(twice, lambda: False, 50)
    assert twice.site.chosen == SPACE[0]
    assert "  dropped     BLOCK=128, num_warps=4: out of registers" in str(twice.explain())


def test_a_choice_is_taken_back_when_it_no_longer_wins(own_process):
    twice = Twice()
    assert call_until(twice, lambda: twice.site.chosen == BEST)

    twice.times = dict.fromkeys(SPACE, 3_000_000) | {DEFAULT: 1_000_000}

    assert call_until(twice, lambda: twice.site.chosen == DEFAULT, 1500)
    call_until(twice, lambda: False, 100)
    kept = own_process.get(twice.called[0][0].workload)
    assert (kept.config, kept.reason) == (DEFAULT, vyre.Reason.TAKEN_BACK)


def test_off_it_runs_its_default_and_learns_nothing():
    twice = Twice()
    with vyre.mode("off"):
        assert call_until(twice, lambda: False, 20) is False

    assert set(twice.ran) == {DEFAULT}
    assert "  because     off: nothing is remembered" in str(twice.explain())


def test_by_another_policy_it_learns_too():
    twice = Twice()
    with vyre.policy("sweep"):
        assert call_until(twice, lambda: twice.site.chosen == BEST)

    assert "adopted: chosen by the sweep" in str(twice.explain())


def test_a_space_that_no_longer_holds_what_is_remembered_ignores_it():
    twice = Twice()
    assert call_until(twice, lambda: twice.site.chosen == BEST)
    narrower = Table(tuple(one for one in SPACE if one != BEST))

    other = Twice(subject=narrower)
    process.deciders().forget(twice.called[0][0].workload)

    other()
    assert other.ran == [DEFAULT]


def test_a_size_of_nothing_is_refused():
    with pytest.raises(vyre.InvalidInput) as caught:
        Call.of(Table(), Ways(Twice().run), size=0)

    assert str(caught.value) == (
        "calls of twice over 0 elements\n"
        "Fix: give a size of at least 1, and launch nothing where there is nothing to do"
    )


class TestWhatIsNotReady:
    @dataclass(frozen=True)
    class Made(Table):
        """Ways that have to be made ready first; or that cannot be asked for."""

        ready: set[vyre.Knobs] = field(default_factory=lambda: {DEFAULT})
        fails: str = ""

        def is_ready(self, config):
            return config in self.ready

        def fetch(self, configs, done):
            if self.fails == "fetch":
                raise RuntimeError("no compiler")
            if not self.fails:
                self.ready.add(configs[0])
            done()
            return self

        def taken(self):
            if self.fails == "taken":
                raise RuntimeError("no answer")
            return Fetched(took_s=1e-3)

        def cancel(self):
            pass

    def test_it_is_fetched_and_learned(self):
        twice = Twice(subject=self.Made())

        assert call_until(twice, lambda: twice.site.chosen == BEST)

    def test_what_is_not_done_yet_is_asked_again(self):
        """A piece at a time, and nobody tells again that it came."""
        subject = self.Made()
        pieces = [Later(1e-3), Later(), Later()]
        object.__setattr__(subject, "taken", lambda: pieces.pop(0) if pieces else Fetched())
        twice = Twice(subject=subject)

        assert call_until(twice, lambda: twice.site.chosen == BEST)
        assert pieces == []

    @pytest.mark.parametrize("fails", ["fetch", "taken"])
    def test_where_it_cannot_be_the_default_runs(self, fails, caplog):
        twice = Twice(subject=self.Made(fails=fails))

        call_until(twice, lambda: False, 100)

        standing = twice.site.decider.standing
        assert twice.site.chosen == DEFAULT
        assert standing.broken.startswith("RuntimeError")
        assert standing.ledger.fetching == 0
        assert not standing.failures
        assert len(caplog.records) == 1


@dataclass
class Clock:
    """The host's, of which a test says how it goes on."""

    now_ns: int = 0

    def perf_counter_ns(self) -> int:
        return self.now_ns

    def sleep(self, seconds: float) -> None:
        self.now_ns += int(seconds * 1e9)


def test_a_function_that_takes_time_is_learned_by_the_hosts_clock(monkeypatch):
    spans = dict(zip(SPACE, (3e-3, 1e-3, 5e-3, 4e-3), strict=True))
    clock, twice = Clock(), Twice()
    monkeypatch.setattr(subject_module, "time", clock)
    twice.run = lambda knobs: Elapsed.of(lambda: clock.sleep(spans[knobs]))

    assert call_until(twice, lambda: twice.site.chosen == BEST, 300)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Where a first process has kept what it learned."""
    made = tmp_path_factory.mktemp("store")
    assert _run(made)["chosen"] == BEST.text
    return made


class TestOtherProcesses:
    def test_the_next_one_starts_with_what_was_learned(self, folder):
        second = _run(folder, calls=1)

        assert second["first"] == BEST.text
        assert second["reason"] == "remembered"

    def test_the_report_shows_its_name_and_its_configs(self, folder):
        with closing(open_store(folder, writer="reader", read_only=True)) as store:
            report = gather(store)

        (case,) = report.cases
        assert (case.kernel, case.device) == ("twice", "a table of times")
        assert (case.chosen, case.default) == (BEST, DEFAULT)
        assert case.gain == pytest.approx(2.5)
        (value,) = report.value()["cases"]
        assert value["schedules"][0]["knobs"] == {"BLOCK": 128, "num_warps": 4}
        shown = page(report)
        assert "BLOCK=128, num_warps=4" in shown
        assert "speed over the first knob and the others" in shown

    def test_the_store_is_shown(self, folder):
        shown = _vyre(folder, "store", "show", "twice")

        assert "  schedule   BLOCK=128, num_warps=4\n" in shown
        assert "  default    BLOCK=256, num_warps=4\n" in shown
        assert "  gain       2.50x" in shown
        assert "twice" in _vyre(folder, "store", "list")
        (whole,) = json.loads(_vyre(folder, "store", "show", "twice", "--json"))
        assert whole["schedule"]["knobs"] == {"BLOCK": 128, "num_warps": 4}
        assert whole["default"]["knobs"] == {"BLOCK": 256, "num_warps": 4}

    def test_a_report_is_written(self, folder, tmp_path):
        _vyre(folder, "report", "--output", str(tmp_path / "report.html"))

        assert "BLOCK=128" in (tmp_path / "report.html").read_text()


def _environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "VYRE_CACHE_DIR": str(folder)}


def _run(folder: Path, calls: int = 400) -> dict[str, str]:
    shown = subprocess.run(
        [sys.executable, __file__, str(calls)],
        env=_environment(folder),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return json.loads(shown.stdout)


def _vyre(folder: Path, *words: str) -> str:
    shown = subprocess.run(
        [sys.executable, "-c", "from vyre.cli.main import main; main()", *words],
        env={**_environment(folder), "COLUMNS": "160"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert shown.returncode == 0, shown.stdout + shown.stderr
    return shown.stdout


def main(calls: int) -> None:
    """Call it, and say how it began and what it came to."""
    deciders = deciders_at_ease()
    process.deciders = lambda: deciders
    twice = Twice()
    twice()
    first, reason = twice.ran[0], twice.site.decision.reason
    call_until(twice, lambda: False, calls - 1)
    said = {"first": first.text, "reason": reason.value, "chosen": twice.site.chosen.text}
    sys.stdout.write(json.dumps(said))


if __name__ == "__main__":
    main(int(sys.argv[1]))
