"""Remembers for a process: decisions at hand in memory, everything written on a thread of its own.

The calling thread appends to a queue and goes on. A batch is written a moment later, on `flush`,
and when the interpreter exits. Where the store cannot be written, the newest part of what is
pending stays in memory, and that is said once.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Set
from functools import cache
from itertools import count, islice
from pathlib import Path
from typing import Protocol, TypeVar
from zlib import crc32

from vyre.errors import InvalidInput, StoreFailed
from vyre.model import Config, Decision, DeviceInfo, Measurement, Outcome, Summary, Workload
from vyre.policy.measured import Measured, measured
from vyre.store.base import Bounds, Store, is_related
from vyre.store.memory import MemoryStore
from vyre.store.notice import say_once
from vyre.store.open import new_writer, open_store

log = logging.getLogger("vyre.store")

LINGER_S = 0.2  # how long a batch gathers
RECHECK_S = 30.0  # how long a workload counts as unknown before the store is asked again
RETRY_S = 5.0  # how long a store that failed is left alone
MOST_IN_MEMORY = 65_536
MOST_PENDING = 100_000
PRUNE_EVERY = 50_000  # rows
LONGEST_NAME = 200  # letters that people are shown

T = TypeVar("T")

_Seen = tuple[Workload, Outcome, int, int]

Opens = Callable[[bool], Store]
"""Opens a store: to be written, and made where there is none; or only to be read as it is."""


class Follower(Protocol):
    """Something that runs as was decided, and wants to hear what is decided later."""

    def hear(self, decision: Decision) -> None: ...


class Recorder:
    """The memory of a process: what it decided and measured, whoever asks.

    Whether anything is written is up to each call: mode `off` reads the same memory as all others.
    Nothing here makes the caller wait for a disk to write.
    """

    def __init__(
        self,
        store: Store | Opens,
        *,
        bounds: Bounds | None = None,
        linger_s: float = LINGER_S,
        writer: Callable[[], str] = new_writer,
    ) -> None:
        """Remember in `store`.

        Args:
            store: used by this recorder alone from now on; or what opens it when it is needed.
            bounds: how much the store may hold.
            linger_s: how long a batch gathers before it is written.
            writer: makes a name that no other process has.
        """
        self._open: Opens = store if callable(store) else lambda _: store
        self._bounds = bounds or Bounds()
        self._linger_s, self._new_writer = linger_s, writer
        self._written: Store | None = None  # once something was to be written
        self._read: Store | None = None  # until then
        self._may_write = False
        self._known: dict[Workload, Decision] = {}
        self._names: dict[str, str] = {}
        self._followers: weakref.WeakSet[Follower] = weakref.WeakSet()
        self._begin()
        _alive.add(self)
        atexit.register(self.close)

    def get(self, workload: Workload, *, writes: bool = True) -> Decision | None:
        """What was decided for a workload; the store is asked when it is not in memory.

        Where the caller `writes`, it is marked as used.
        """
        self._may_write = self._may_write or writes
        return self._known.get(workload) or self._look_up(workload, writes=writes)

    def at_hand(self, workload: Workload) -> Decision | None:
        """What was decided for a workload, if that is in memory."""
        return self._known.get(workload)

    def put(self, decision: Decision, *, writes: bool = True) -> None:
        """Remember a decision; it holds for this process at once, and for others once written."""
        self._remember(decision, replace=True)
        if writes and not self._closed.is_set():
            self._decided.append(decision)
            self._wake()

    def record(self, workload: Workload, outcome: Outcome, size: int) -> None:
        """Remember what came of a dispatch of `size` elements."""
        if not self._closed.is_set():
            self._lost += len(self._seen) == MOST_PENDING
            self._seen.append((workload, outcome, size, max(time.time_ns(), 0)))
            self._wake()

    def follow(self, follower: Follower) -> None:
        """Let `follower` hear each decision from now on, as long as it is there."""
        with self._following:
            self._followers.add(follower)

    def name(self, workload: Workload, kernel: str, device: DeviceInfo) -> None:
        """Remember for people what a workload's digests stand for."""
        names = {
            workload.fingerprint.hex(): kernel[:LONGEST_NAME],
            workload.device: device.model,
            workload.toolchain: f"{device.backend}, {device.driver}, {device.compiler}",
        }
        if not self._closed.is_set() and not names.items() <= self._names.items():
            self._names |= names
            self._unnamed.append(names)
            self._wake()

    def measurements(self, workload: Workload) -> list[Measurement]:
        """Every measurement of a workload, written or not, each once."""
        with self._writing:
            self._name_rows()
            rows = [row for row in self._rows if row.workload == workload]
        try:
            with self._reading:
                rows += self._readable().measurements(workload)
        except StoreFailed as error:
            say_once(error, "what it holds is left out")
        return list({(row.writer, row.sequence): row for row in rows}.values())

    def related(self, workload: Workload) -> list[Decision]:
        """What was decided for other sizes of the program, or for programs built like it."""
        rows = {one.workload: one for one in tuple(self._known.values())}
        try:
            with self._reading:
                stored = self._readable().related(workload)
        except StoreFailed as error:
            say_once(error, "what it holds is left out")
            stored = []
        rows = {one.workload: one for one in stored} | rows
        return [one for one in rows.values() if is_related(workload, one.workload)]

    def evidence(self, workload: Workload, able: Set[Config], default: Config) -> Measured:
        """What was measured of the configs that may run a workload, written or not.

        Another user's rows may tell of any other: they are left out.
        """
        rows = (row for row in self.measurements(workload) if row.outcome.config in able)
        return measured(rows, default)

    def summaries(self, workload: Workload) -> tuple[Summary, ...]:
        """What is known of each schedule for a workload, written or not."""
        return measured(self.measurements(workload)).summaries

    def flush(self) -> bool:
        """Write what is pending now; whether all of it was written, and all since the last time."""
        with self._writing:
            written = self._write()
            return self._forget_lost() == 0 and written

    def close(self) -> None:
        """Write what is pending and end the thread; what comes later stays in memory."""
        atexit.unregister(self.close)
        self._closed.set()
        self._pending.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()
        with self._writing:
            self._write()
        with self._reading, self._opening:
            # The last to close folds the log into the file, which one that only reads cannot.
            for store in (self._read, self._written):
                if store is not None:
                    store.close()

    def _begin(self) -> None:
        """Start as a process of its own: with its own name, locks and thread, and nothing pending.

        What a fork inherits is left to its parent to write.
        """
        self._writer, self._sequence = self._new_writer(), count()
        self._decided: deque[Decision] = deque(maxlen=MOST_PENDING)
        self._seen: deque[_Seen] = deque(maxlen=MOST_PENDING)
        self._used: deque[Workload] = deque(maxlen=MOST_PENDING)
        self._rows: deque[Measurement] = deque(maxlen=MOST_PENDING)
        self._unnamed: deque[dict[str, str]] = deque(maxlen=MOST_PENDING)
        self._absent: dict[Workload, float] = {}
        self._reading, self._writing = threading.Lock(), threading.Lock()
        self._opening, self._following = threading.Lock(), threading.Lock()
        self._pending = threading.Event()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._closed = threading.Event()
        self._retry_at = 0.0
        self._lost = 0  # items that were left out since the last flush
        # Short processes write a few rows each: some of them, by their name, prune for all.
        self._until_pruning = crc32(self._writer.encode()) % PRUNE_EVERY

    def _writable(self) -> Store:
        """The store, made where there is none."""
        with self._opening:
            if self._written is None:
                self._written = self._open(True)
            return self._written

    def _readable(self) -> Store:
        """The store as it is; nothing is made for one who only reads."""
        if self._written is not None or self._may_write:
            return self._writable()
        with self._opening:
            if self._read is None:
                found = self._open(False)
                if isinstance(found, MemoryStore):  # there is none; another process may make it
                    return found
                self._read = found
            return self._read

    def _wake(self) -> None:
        # Asked first, because setting takes a lock: 0.05 against 1.0 us (Python 3.11).
        if not self._pending.is_set():
            if self._thread is None or not self._thread.is_alive():
                self._start()
            self._pending.set()

    def _start(self) -> None:
        with self._starting:
            alive = self._thread is not None and self._thread.is_alive()
            if not alive and not self._closed.is_set():
                thread = threading.Thread(target=self._run, name="vyre-recorder", daemon=True)
                thread.start()
                self._thread = thread  # once it can be joined

    def _run(self) -> None:
        while not self._closed.is_set():
            self._pending.wait()
            self._closed.wait(self._linger_s)
            self._pending.clear()
            if time.monotonic() >= self._retry_at:
                with self._writing:
                    self._write()

    def _write(self) -> bool:
        """Write every queue, and keep what could not be written; the lock is held."""
        self._name_rows()
        if not (self._decided or self._rows or self._unnamed or self._used):
            return True  # and no file is made for that
        try:
            store = self._writable()
            sent = self._send(self._decided, lambda some: store.put(*some))
            sent += self._send(self._rows, store.append)
            self._send(self._unnamed, lambda some: store.name(_joined(some)))
            self._send(self._used, lambda some: store.used(dict.fromkeys(some)))
            self._prune(store, sent)
        except StoreFailed as error:
            say_once(error, "what is learned stays in memory until it can be written")
        except Exception:
            log.exception("what is learned stays in memory until it can be written")
        else:
            return True
        self._retry_at = time.monotonic() + RETRY_S
        return False

    def _send(self, queue: deque[T], write: Callable[[list[T]], None]) -> int:
        """Write a queue, and keep it where the store fails; how many were written.

        Where the store is sound and yet something cannot be written, it is looked for by halves,
        said, and left out: what stands beside it in the queue is not lost with it.
        """
        todo, sent = [_taken(queue)], 0  # parts of the queue, the next one last
        try:
            while todo:
                some = todo[-1]
                try:
                    if some:
                        write(some)
                except StoreFailed:
                    raise
                except Exception:
                    todo.pop()
                    if len(some) == 1:
                        self._lost += 1
                        log.exception("something cannot be written, and is left out: %.500r", some)
                    else:
                        todo += [some[len(some) // 2 :], some[: len(some) // 2]]
                else:
                    todo.pop()
                    sent += len(some)
        finally:  # an interrupt may come at any time
            later = [item for some in reversed(todo) for item in some]
            later += _taken(queue) if later else []
            self._lost += max(0, len(later) - MOST_PENDING)
            queue.extend(later)
        return sent

    def _forget_lost(self) -> int:
        """How many items were left out since this was last asked."""
        lost = self._lost
        self._lost = 0
        return lost

    def _prune(self, store: Store, written: int) -> None:
        self._until_pruning -= written
        if self._until_pruning < 0:
            store.prune(self._bounds)
            self._until_pruning = PRUNE_EVERY

    def _name_rows(self) -> None:
        """Give what was seen its identity, once; a time that is none is left out."""
        for workload, outcome, size, at_ns in _taken(self._seen):
            try:
                row = Measurement(
                    writer=self._writer,
                    sequence=next(self._sequence),
                    workload=workload,
                    outcome=outcome,
                    size=size,
                    at_ns=at_ns,
                )
            except InvalidInput as error:
                say_once(error, "that measurement is left out")
            except Exception:
                self._lost += 1
                log.exception("a measurement that is none is left out: %.500r", outcome)
            else:
                self._lost += len(self._rows) == MOST_PENDING
                self._rows.append(row)

    def _look_up(self, workload: Workload, *, writes: bool) -> Decision | None:
        now = time.monotonic()
        if now < self._absent.get(workload, 0.0):
            return None
        try:
            with self._reading:
                found = self._readable().get(workload)
        except StoreFailed as error:
            say_once(error, "what it holds is left out")
            found = None
        if found is None:
            _make_room(self._absent)
            self._absent[workload] = now + RECHECK_S
            return None
        if writes and not self._closed.is_set():
            self._used.append(workload)
            self._wake()
        return self._remember(found, replace=False)

    def _remember(self, decision: Decision, *, replace: bool) -> Decision:
        _make_room(self._known)
        if replace:
            self._known[decision.workload] = decision
        known = self._known.setdefault(decision.workload, decision)
        if known is decision:
            with self._following:
                followers = tuple(self._followers)
            for follower in followers:
                follower.hear(decision)
        return known


@cache
def recorder_of(folder: Path) -> Recorder:
    """This process's one memory of the store in a folder."""
    writer = new_writer()
    return Recorder(lambda writes: open_store(folder, writer=writer, read_only=not writes))


def _joined(names: Iterable[Mapping[str, str]]) -> dict[str, str]:
    return {key: text for some in names for key, text in some.items()}


def _taken(queue: deque[T]) -> list[T]:
    """Everything in a queue that other threads append to."""
    return [queue.popleft() for _ in range(len(queue))]


def _make_room(known: dict[Workload, T]) -> None:
    """Forget the tenth that was learned first when there is no room; the store still has it."""
    if len(known) >= MOST_IN_MEMORY:
        for workload in tuple(islice(known, MOST_IN_MEMORY // 10)):
            known.pop(workload, None)


_alive: weakref.WeakSet[Recorder] = weakref.WeakSet()


def _after_fork() -> None:
    for recorder in tuple(_alive):
        recorder._begin()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
