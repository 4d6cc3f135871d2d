"""A store in one SQLite file."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeVar

from vyre.errors import StoreFailed
from vyre.model import Decision, Measurement, Summary, Workload
from vyre.policy.measured import measured
from vyre.store.base import DAY_NS, Bounds, Kept, Pruned, is_related, stamp_after, tidy
from vyre.store.sqlite.file import DatabaseFile, Opening
from vyre.store.sqlite.prune import prune
from vyre.store.sqlite.repair import ERRORS, TABLES
from vyre.store.sqlite.rows import (
    DamagedRow,
    Row,
    kept_row,
    measurement_row,
    read_kept,
    read_measurement,
    read_workload,
    workload_key,
    workload_row,
)

T = TypeVar("T")

_AT_ONCE = 5_000  # rows in a transaction; a long one would keep every other writer waiting

_ADD_WORKLOAD, _ADD_DECISION, _ADD_MEASUREMENT, _ADD_NAME = (table.insert for table in TABLES)
_PUT_DECISION = _ADD_DECISION.replace("OR IGNORE", "OR REPLACE")
_PUT_NAME = _ADD_NAME.replace("OR IGNORE", "OR REPLACE")
_FIND = """SELECT schedule, reason, detail, gain, confidence, stamp_ns, writer, used_ns
    FROM decisions WHERE workload = ?"""
_USED = "UPDATE decisions SET used_ns = ? WHERE workload = ? AND used_ns < ?"
_ALL_DECISIONS = """SELECT fingerprint, buckets, traits, device, toolchain,
    schedule, reason, detail, gain, confidence, stamp_ns, writer, used_ns
    FROM decisions JOIN workloads ON workloads.key = decisions.workload"""
_RELATED = f"""{_ALL_DECISIONS} WHERE device = ? AND toolchain = ?
    AND (fingerprint = ? OR instr(traits, ?)) ORDER BY stamp_ns DESC LIMIT 256"""
_MEASURED = """SELECT writer, sequence, schedule, elapsed_ns, failure, size, at_ns
    FROM measurements WHERE workload = ?"""
_ALL_MEASUREMENTS = """SELECT fingerprint, buckets, traits, device, toolchain,
    writer, sequence, schedule, elapsed_ns, failure, size, at_ns
    FROM measurements JOIN workloads ON workloads.key = measurements.workload"""


class Database:
    """A store that any number of processes on one host share.

    Reading and writing have a connection each, so that a look-up never waits for a commit.
    """

    def __init__(
        self,
        path: Path,
        *,
        writer: str,
        opening: Opening | None = None,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        """Open the file, or make it.

        Raises:
            StoreFailed: it cannot be opened, or is not a store that this version can use.
        """
        self.path, self.writer, self.now_ns = path, writer, now_ns
        self._reading = DatabaseFile(path, opening or Opening())
        self._writing = DatabaseFile(path, opening or Opening())
        self._reading.attempt(self._reading.connection)

    def get(self, workload: Workload) -> Decision | None:
        found = self.find(workload)
        return None if found is None else found.decision

    def find(self, workload: Workload) -> Kept | None:
        """What is kept for a workload; None also where its row makes no sense."""
        return self._reading.attempt(lambda: _find(self._reading.connection(), workload))

    def put(self, *decisions: Decision) -> None:
        def work() -> None:
            with self._writing.transaction() as connection:
                for decision in decisions:
                    now, before = self.now_ns(), _find(connection, decision.workload)
                    kept = Kept(
                        decision=tidy(decision),
                        stamp_ns=stamp_after(now, before),
                        writer=self.writer,
                        used_ns=now if before is None else max(now, before.used_ns),
                    )
                    _write(connection, kept)

        self._writing.attempt(work)

    def used(self, workloads: Iterable[Workload]) -> None:
        now = self.now_ns()
        # To the day: a process that asks all day writes once.
        changes = [(now, workload_key(workload), now - DAY_NS) for workload in workloads]

        def work() -> None:
            with self._writing.transaction() as connection:
                connection.executemany(_USED, changes)

        self._writing.attempt(work)

    def kept(self) -> Iterator[Kept]:
        for row in self._stream(_ALL_DECISIONS):
            with suppress(DamagedRow):
                yield read_kept(row[5:], read_workload(row[:5]))

    def related(self, workload: Workload) -> list[Decision]:
        given = (
            workload.device,
            workload.toolchain,
            workload.fingerprint,
            workload.structure or "no such trait",
        )
        found = []
        for row in self._reading.attempt(
            lambda: self._reading.connection().execute(_RELATED, given).fetchall()
        ):
            with suppress(DamagedRow):
                found.append(read_kept(row[5:], read_workload(row[:5])).decision)
        return [one for one in found if is_related(workload, one.workload)]

    def append(self, rows: Iterable[Measurement]) -> None:
        for batch in _batches(rows):
            self._writing.attempt(partial(self._append, batch))

    def measurements(self, workload: Workload | None = None) -> Iterator[Measurement]:
        if workload is None:
            for row in self._stream(_ALL_MEASUREMENTS):
                with suppress(DamagedRow):
                    yield read_measurement(row[5:], read_workload(row[:5]))
        else:
            key = (workload_key(workload),)
            for row in self._reading.attempt(
                lambda: self._reading.connection().execute(_MEASURED, key).fetchall()
            ):
                with suppress(DamagedRow):
                    yield read_measurement(row, workload)

    def summaries(self, workload: Workload) -> tuple[Summary, ...]:
        return measured(self.measurements(workload)).summaries

    def name(self, names: Mapping[str, str]) -> None:
        def work() -> None:
            with self._writing.transaction() as connection:
                connection.executemany(_PUT_NAME, names.items())

        if names:
            self._writing.attempt(work)

    def names(self) -> dict[str, str]:
        return dict(self._stream("SELECT digest, text FROM names"))

    def absorb(self, kept: Iterable[Kept], rows: Iterable[Measurement]) -> None:
        for batch in _batches(kept):
            self._writing.attempt(partial(self._join, batch))
        self.append(rows)

    def prune(self, bounds: Bounds) -> Pruned:
        def work() -> Pruned:
            return prune(
                self._writing.connection(), self._writing.transaction, bounds, self.now_ns()
            )

        return self._writing.attempt(work)

    def close(self) -> None:
        self._reading.close()
        self._writing.close()

    def _join(self, kept: Sequence[Kept]) -> None:
        with self._writing.transaction() as connection:
            for item in kept:
                before = _find(connection, item.decision.workload)
                joined = item if before is None else before.joined(item)
                if joined != before:
                    _write(connection, joined)

    def _append(self, rows: Sequence[Measurement]) -> None:
        workloads = {row.workload for row in rows}
        with self._writing.transaction() as connection:
            connection.executemany(_ADD_WORKLOAD, [workload_row(item) for item in workloads])
            connection.executemany(_ADD_MEASUREMENT, [measurement_row(row) for row in rows])

    def _stream(self, sql: str) -> Iterator[Row]:
        """Rows of a table that may be too large for memory.

        Damage that shows half-way is repaired, and what was read before it is not the whole.
        """
        cursor = self._reading.attempt(lambda: self._reading.connection().execute(sql))
        while True:
            try:
                found = cursor.fetchmany(1000)
            except ERRORS as error:
                self._reading.repair_after(error)
                raise StoreFailed(
                    f"{self.path} was damaged and has been repaired while it was read",
                    "read it again from the start",
                ) from error
            if not found:
                return
            yield from found


def _find(connection: sqlite3.Connection, workload: Workload) -> Kept | None:
    row = connection.execute(_FIND, (workload_key(workload),)).fetchone()
    if row is None:
        return None
    try:
        return read_kept(row, workload)
    except DamagedRow:
        return None


def _write(connection: sqlite3.Connection, kept: Kept) -> None:
    connection.execute(_ADD_WORKLOAD, workload_row(kept.decision.workload))
    connection.execute(_PUT_DECISION, kept_row(kept))


def _batches(items: Iterable[T]) -> Iterator[list[T]]:
    iterator = iter(items)
    while batch := list(islice(iterator, _AT_ONCE)):
        yield batch
