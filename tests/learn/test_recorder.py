import gc
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from vyre.errors import StoreFailed
from vyre.learn import recorder as module
from vyre.learn.recorder import Recorder, recorder_of
from vyre.model import Decision, Failed, Measurement, Timed
from vyre.store.base import Bounds, Kept, Pruned
from vyre.store.memory import MemoryStore
from vyre.store.notice import forget_said
from vyre.store.sqlite.database import Database
from vyre.testing.store_contract import decision, schedule, workload

NEVER_S = 3600.0


class Failing(MemoryStore):
    """A store whose disk is full until it is mended."""

    full = True

    def put(self, *decisions: Decision) -> None:
        self._write()
        super().put(*decisions)

    def append(self, rows: object) -> None:
        self._write()
        super().append(rows)  # type: ignore[arg-type]

    def _write(self) -> None:
        if self.full:
            raise StoreFailed("the disk is full", "make room")


class Counting(MemoryStore):
    """A store that counts what it is asked."""

    asked = 0
    marked = 0
    pruned = 0

    def get(self, wanted: object) -> Decision | None:
        self.asked += 1
        return super().get(wanted)  # type: ignore[arg-type]

    def used(self, workloads: object) -> None:
        self.marked += 1
        super().used(workloads)  # type: ignore[arg-type]

    def prune(self, bounds: Bounds) -> Pruned:
        self.pruned += 1
        return super().prune(bounds)


@pytest.fixture
def store() -> Counting:
    forget_said()
    return Counting()


@pytest.fixture
def recorder(store: Counting) -> Iterator[Recorder]:
    with closing(Recorder(store, linger_s=NEVER_S)) as made:
        yield made


def test_a_decision_holds_at_once_and_is_written_on_flush(recorder: Recorder, store: Counting):
    recorder.put(decision(1))

    assert recorder.get(workload(1)) == decision(1)
    assert store.get(workload(1)) is None
    assert recorder.flush()
    assert store.get(workload(1)) == decision(1)


def test_a_remembered_decision_is_read_once(recorder: Recorder, store: Counting):
    store.put(decision(1))

    assert [recorder.get(workload(1)) for _ in range(9)] == [decision(1)] * 9
    assert store.asked == 1


def test_an_unknown_workload_is_looked_up_once_in_a_while(
    recorder: Recorder, store: Counting, monkeypatch: pytest.MonkeyPatch
):
    now = 1000.0
    monkeypatch.setattr(module.time, "monotonic", lambda: now)

    assert [recorder.get(workload(1)) for _ in range(9)] == [None] * 9
    assert store.asked == 1
    store.put(decision(1))
    now += module.RECHECK_S
    assert recorder.get(workload(1)) == decision(1)


def test_what_is_asked_for_is_marked_as_used(recorder: Recorder, store: Counting):
    store.put(decision(1))
    recorder.get(workload(1))
    recorder.flush()

    assert store.marked == 1


def test_measurements_get_an_identity_and_are_counted_before_they_are_written(
    recorder: Recorder, store: Counting
):
    recorder.record(workload(1), Timed(schedule(1), 5.0), 100)
    recorder.record(workload(1), Timed(schedule(1), 7.0), 100)
    recorder.record(workload(2), Failed(schedule(1), "no"), 100)

    (before,) = recorder.summaries(workload(1))
    recorder.flush()
    (after,) = recorder.summaries(workload(1))

    assert before == after
    assert (after.count, after.median_ns) == (2, 6.0)
    rows = list(store.measurements())
    assert sorted(row.sequence for row in rows) == [0, 1, 2]
    assert len({row.writer for row in rows}) == 1


def test_a_time_that_is_none_is_left_out_and_said(
    recorder: Recorder, caplog: pytest.LogCaptureFixture
):
    recorder.record(workload(1), Timed(schedule(1), float("nan")), 100)

    assert recorder.flush()
    assert recorder.summaries(workload(1)) == ()
    assert caplog.messages == [
        "a measurement of nan ns; that measurement is left out\n"
        "Fix: give a finite time of at least 0, or a Failed outcome"
    ]


def test_a_batch_is_written_by_itself():
    written = threading.Event()

    class Telling(Counting):
        def append(self, rows: object) -> None:
            super().append(rows)
            written.set()

    with closing(Recorder(Telling(), linger_s=0.001)) as recorder:
        recorder.record(workload(1), Timed(schedule(1), 5.0), 1)

        assert written.wait(30)


def test_what_cannot_be_written_stays_in_memory_and_that_is_said_once(
    caplog: pytest.LogCaptureFixture,
):
    forget_said()
    store = Failing()
    with closing(Recorder(store, linger_s=NEVER_S)) as recorder:
        recorder.put(decision(1))
        recorder.record(workload(1), Timed(schedule(1), 5.0), 1)
        with caplog.at_level(logging.WARNING):
            assert [recorder.flush() for _ in range(3)] == [False] * 3

        assert recorder.get(workload(1)) == decision(1)
        assert len(recorder.summaries(workload(1))) == 1
        store.full = False
        assert recorder.flush()
    assert caplog.messages == [
        "the disk is full; what is learned stays in memory until it can be written\nFix: make room"
    ]
    assert store.get(workload(1)) == decision(1)
    assert len(list(store.measurements())) == 1


class Choosy(MemoryStore):
    """A sound store to which some things cannot be given; others in the same batch are not kept."""

    bad: tuple[object, ...] = ()
    error: BaseException = OverflowError("Python int too large to convert to SQLite INTEGER")

    def put(self, *decisions: Decision) -> None:
        self._refuse(decisions)
        super().put(*decisions)

    def append(self, rows: object) -> None:
        kept = list(rows)  # type: ignore[call-overload]
        self._refuse(row.outcome for row in kept)
        super().append(kept)

    def name(self, names: object) -> None:
        self._refuse(names)
        super().name(names)  # type: ignore[arg-type]

    def _refuse(self, items: object) -> None:
        if any(item in self.bad for item in items):  # type: ignore[attr-defined]
            raise self.error


BAD = Timed(schedule(2), 666.0)


@pytest.mark.parametrize("place", [0, 1, 50, 98, 99])
@pytest.mark.parametrize(
    "error", [OverflowError("too large"), UnicodeEncodeError("u", "", 0, 1, "")]
)
def test_one_bad_item_takes_no_other_with_it(place: int, error: Exception):
    store = Choosy()
    store.bad, store.error = (decision(place), BAD), error
    with closing(Recorder(store, linger_s=NEVER_S)) as recorder:
        for k in range(100):
            recorder.put(decision(k))
            recorder.record(workload(k), BAD if k == place else Timed(schedule(1), 5.0), 1)

        assert not recorder.flush(), "not all was written"
        assert len(list(store.kept())) == len(list(store.measurements())) == 99
        assert store.get(workload(place)) is None
        assert recorder.get(workload(place)) == decision(place)
        assert recorder.flush(), "nothing is pending any more"
        recorder.put(decision(777))
        assert recorder.flush()
        assert store.get(workload(777)) == decision(777)


def test_what_was_left_out_before_is_said_by_the_next_flush():
    """Also where the thread met it long ago."""
    written = threading.Event()

    class Telling(Choosy):
        def append(self, rows: object) -> None:
            super().append(rows)
            written.set()

    store = Telling()
    store.bad = (decision(1),)
    with closing(Recorder(store, linger_s=0.001)) as recorder:
        recorder.put(decision(1))
        recorder.put(decision(2))
        recorder.record(workload(1), Timed(schedule(1), 5.0), 1)
        assert written.wait(30)

        assert not recorder.flush()
        assert recorder.flush()
        assert store.get(workload(2)) == decision(2)


def test_the_thread_outlives_whatever_a_store_raises(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "PRUNE_EVERY", 1)
    monkeypatch.setattr(module, "RETRY_S", 0.0)
    pruned = threading.Semaphore(0)

    class Broken(MemoryStore):
        def prune(self, bounds: Bounds) -> Pruned:  # noqa: ARG002  # as every store's
            pruned.release()
            raise ZeroDivisionError

    store = Broken()
    with closing(Recorder(store, linger_s=0.001)) as recorder:
        for k in range(3):
            recorder.record(workload(k), Timed(schedule(1), 5.0), 1)
            assert pruned.acquire(timeout=30)

        assert len(list(store.measurements())) == 3


def test_an_interrupt_while_it_is_written_loses_nothing():
    store = Choosy()
    store.bad, store.error = (decision(3), Timed(schedule(1), 3.0)), KeyboardInterrupt()
    with closing(Recorder(store, linger_s=NEVER_S)) as recorder:
        for k in range(6):
            recorder.put(decision(k))
            recorder.record(workload(k), Timed(schedule(1), float(k)), 1)
        with pytest.raises(KeyboardInterrupt):
            recorder.flush()
        store.bad = ()

        assert recorder.flush()
    assert len(list(store.kept())) == len(list(store.measurements())) == 6


HOSTILE_STAMPS = [2**63 - 1, 2**63 - 2, 2**62, 0, -1, -(2**63)]


@pytest.mark.parametrize("stamp_ns", HOSTILE_STAMPS)
@pytest.mark.parametrize("used_ns", [0, 2**63 - 1])
def test_a_stamp_that_another_wrote_may_be_any_number(tmp_path: Path, stamp_ns: int, used_ns: int):
    with closing(Database(tmp_path / "store.sqlite3", writer="mallory")) as store:
        store.absorb(
            [Kept(decision=decision(1), stamp_ns=stamp_ns, writer="m", used_ns=used_ns)], []
        )
    with closing(Recorder(Database(tmp_path / "store.sqlite3", writer="me"))) as recorder:
        recorder.get(workload(1))
        recorder.put(decision(1, 2))
        recorder.put(decision(2))

        assert recorder.flush()
    with closing(Database(tmp_path / "store.sqlite3", writer="me")) as store:
        assert [store.get(workload(k)) for k in (1, 2)] == [decision(1, 2), decision(2)]


@pytest.mark.parametrize(
    "outcome",
    [Timed(schedule(1), "soon"), Timed(schedule(1), None), Timed(schedule(1), 1 + 2j)],
    ids=["text", "none", "complex"],
)
def test_what_is_no_measurement_takes_none_with_it(recorder: Recorder, outcome: object):
    recorder.record(workload(1), Timed(schedule(1), 5.0), 1)
    recorder.record(workload(1), outcome, 1)
    recorder.record(workload(1), Timed(schedule(1), 7.0), 1)

    assert not recorder.flush()
    assert recorder.summaries(workload(1))[0].count == 2


def test_a_clock_before_1970_loses_no_measurement(recorder: Recorder, monkeypatch):
    monkeypatch.setattr(module.time, "time_ns", lambda: -5)

    recorder.record(workload(1), Timed(schedule(1), 5.0), 1)

    assert recorder.flush()
    assert [row.at_ns for row in recorder.measurements(workload(1))] == [0]


def test_what_there_is_no_room_for_is_said(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MOST_PENDING", 10)
    store = Failing()
    with closing(Recorder(store, linger_s=NEVER_S)) as recorder:
        for k in range(15):
            recorder.record(workload(1), Timed(schedule(1), 1.0 + k), 1)
            assert not recorder.flush()
        for k in range(8):
            recorder.record(workload(1), Timed(schedule(1), 1.0 + k), 1)
        recorder._write()
        store.full = False

        assert not recorder.flush(), "some were dropped"
        assert recorder.flush()


def test_what_is_pending_is_bounded_and_the_newest_stays(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MOST_PENDING", 10)
    store = Failing()
    with closing(Recorder(store, linger_s=NEVER_S)) as recorder:
        for k in range(25):
            recorder.record(workload(1), Timed(schedule(1), 1.0 + k), 1)
            recorder.flush()
        store.full = False
        recorder.flush()

    assert sorted(row.outcome.elapsed_ns for row in store.measurements()) == [  # type: ignore[union-attr]
        16.0 + k for k in range(10)
    ]


def test_decisions_in_memory_are_bounded(recorder: Recorder, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MOST_IN_MEMORY", 100)
    for k in range(1000):
        recorder.put(decision(k))
        recorder.get(workload(k + 5000))

    assert len(recorder._known) <= 100
    assert len(recorder._absent) <= 100


def test_a_store_is_pruned_now_and_then(store: Counting, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "PRUNE_EVERY", 10)
    with closing(Recorder(store, bounds=Bounds(measurements=5), linger_s=NEVER_S)) as recorder:
        for k in range(25):
            recorder.record(workload(1), Timed(schedule(1), 1.0 + k), 1)
            recorder.flush()

    assert store.pruned in (2, 3)
    assert len(list(store.measurements())) <= 5 + 11


def test_a_call_that_does_not_write_reads_the_same_memory(store: Counting):
    store.put(decision(2))
    with closing(Recorder(store, linger_s=NEVER_S)) as recorder:
        recorder.put(decision(1), writes=False)

        assert recorder.get(workload(1), writes=False) == decision(1)
        assert recorder.get(workload(2), writes=False) == decision(2)
        recorder.put(decision(3))
        assert recorder.get(workload(3), writes=False) == decision(3)
        recorder.flush()
    assert {kept.decision for kept in store.kept()} == {decision(2), decision(3)}
    assert store.marked == 0


def test_nothing_is_made_for_those_who_only_read(tmp_path: Path):
    folder = tmp_path / "cache"
    with closing(recorder_of(folder)) as recorder:
        assert recorder.get(workload(1), writes=False) is None
        assert recorder.measurements(workload(1)) == []
        assert recorder.related(workload(1)) == []
        recorder.put(decision(1), writes=False)
        assert recorder.flush()

        assert not folder.exists()
        recorder.put(decision(2))
        assert recorder.flush()
        assert (folder / "store.sqlite3").exists()


def test_one_who_only_reads_finds_what_another_process_makes_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    now = 1000.0
    monkeypatch.setattr(module.time, "monotonic", lambda: now)
    with closing(recorder_of(tmp_path / "cache")) as recorder:
        assert recorder.get(workload(1), writes=False) is None
        with closing(recorder_of.__wrapped__(tmp_path / "cache")) as another:
            another.put(decision(1))
            another.flush()
        now += module.RECHECK_S

        assert recorder.get(workload(1), writes=False) == decision(1)


class Silent:
    """A store on a disk that holds nothing."""

    def get(self, _: object) -> None:
        return None

    def close(self) -> None:
        """Nothing to close."""


@pytest.mark.parametrize(
    ("calls", "opened"),
    [([False, False], [False]), ([True, False], [True]), ([False, True, False], [False, True])],
)
def test_one_who_writes_opens_a_store_to_be_written_and_so_migrated(calls, opened):
    flags: list[bool] = []

    def opens(writes: bool) -> Silent:
        flags.append(writes)
        return Silent()

    with closing(Recorder(opens, linger_s=NEVER_S)) as recorder:
        for number, writes in enumerate(calls):
            recorder.get(workload(number), writes=writes)

    assert flags == opened


class Following:
    """Hears what is decided."""

    def __init__(self) -> None:
        self.heard: list[Decision] = []

    def hear(self, decision: Decision) -> None:
        self.heard.append(decision)


def test_who_follows_hears_what_is_decided_and_what_is_found(recorder: Recorder, store: Counting):
    following = Following()
    recorder.follow(following)
    store.put(decision(2))

    recorder.put(decision(1))
    recorder.put(decision(1, 2), writes=False)
    for _ in range(3):
        recorder.get(workload(2))

    assert following.heard == [decision(1), decision(1, 2), decision(2)]


def test_who_is_gone_hears_nothing(recorder: Recorder):
    recorder.follow(Following())
    gc.collect()

    recorder.put(decision(1))

    assert len(recorder._followers) == 0


def test_closing_writes_what_is_pending(store: Counting):
    recorder = Recorder(store, linger_s=NEVER_S)
    recorder.put(decision(1))

    recorder.close()

    assert store.get(workload(1)) == decision(1)


def test_many_threads_record_and_nothing_is_lost(store: Counting):
    with closing(Recorder(store, linger_s=0.001)) as recorder:

        def work() -> None:
            for k in range(500):
                recorder.record(workload(k % 3), Timed(schedule(1), 5.0), 1)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    rows: list[Measurement] = list(store.measurements())
    assert len(rows) == 2000
    assert sorted(row.sequence for row in rows) == list(range(2000))


SCRIPT = """
import os, sys
from pathlib import Path
from vyre.model import Timed
from vyre.learn.recorder import recorder_of
from vyre.testing.store_contract import decision, schedule, workload
recorder = recorder_of(Path(sys.argv[1]))
recorder.put(decision(1))
recorder.record(workload(1), Timed(schedule(1), 5.0), 1)
"""


def run(folder: Path, ending: str) -> int:
    command = [sys.executable, "-c", SCRIPT + ending, str(folder)]
    return subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode


@pytest.mark.parametrize(("ending", "code"), [("", 0), ("sys.exit(3)", 3), ("1 / 0", 1)])
def test_the_end_of_the_interpreter_writes_what_is_pending(ending: str, code: int, tmp_path: Path):
    assert run(tmp_path, ending) == code

    with closing(Database(tmp_path / "store.sqlite3", writer="me")) as store:
        assert store.get(workload(1)) == decision(1)
        assert len(list(store.measurements())) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_fork_records_under_a_name_of_its_own(tmp_path: Path):
    ending = """
recorder.flush()
child = os.fork()
recorder.record(workload(2), Timed(schedule(1), 7.0), 1)
recorder.put(decision(2 if child else 3))
assert recorder.flush()
if child:
    assert os.waitpid(child, 0)[1] == 0
"""
    assert run(tmp_path, ending) == 0

    with closing(Database(tmp_path / "store.sqlite3", writer="me")) as store:
        assert all(store.get(workload(k)) == decision(k) for k in (1, 2, 3))
        rows = list(store.measurements())
    assert len(rows) == 3
    assert len({row.writer for row in rows}) == 2


def test_a_folder_has_one_recorder(tmp_path: Path):
    with closing(recorder_of(tmp_path)) as recorder:
        assert recorder_of(tmp_path) is recorder
