"""A store in one SQLite file."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import TypeVar

from vyre.errors import StoreFailed
from vyre.model import Decision, Measurement, Summary, Workload
from vyre.policy.measured import measured
from vyre.store.base import DAY_NS, Bounds, Kept, Pruned, is_related, stamp_after, tidy
from vyre.store.notice import say_once
from vyre.store.sound import cut, is_sound_measurement
from vyre.store.sqlite.file import DatabaseFile, Opening
from vyre.store.sqlite.prune import prune
from vyre.store.sqlite.repair import ERRORS
from vyre.store.sqlite.rows import (
    DamagedRow,
    Row,
    kept_row,
    measurement_row,
    read_kept,
    read_measurement,
    read_name,
    read_workload,
    workload_key,
    workload_row,
)
from vyre.store.sqlite.tables import DECISIONS, MEASUREMENTS, NAMES, WORKLOADS

T = TypeVar("T")

_AT_ONCE = 5_000  # rows in a transaction; a long one would keep every other writer waiting

_PUT_DECISION = DECISIONS.insert.replace("OR IGNORE", "OR REPLACE")
_PUT_NAME = NAMES.insert.replace("OR IGNORE", "OR REPLACE")
_WORKLOAD = len(WORKLOADS.columns) + 1  # values before those of a row that it is joined to


class _Queries:
    """What is read from tables of one version."""

    def __init__(self, version: int) -> None:
        workload, decision = WORKLOADS.listed(version), DECISIONS.listed(version)
        row = MEASUREMENTS.listed(version)
        # A row whose workload is gone is met, too: its own seal may tell that it was hit.
        joined = "LEFT JOIN workloads ON workloads.key ="
        self.find = f"SELECT {decision} FROM decisions WHERE workload = ?"  # noqa: S608  # our names
        self.kept = f"SELECT {workload}, {decision} FROM decisions {joined} workload"  # noqa: S608  # as above
        self.related = (
            f"{self.kept} WHERE device = ? AND toolchain = ? "
            "AND (fingerprint = ? OR instr(traits, ?)) ORDER BY stamp_ns DESC LIMIT 256"
        )
        self.measured = f"SELECT {row} FROM measurements WHERE workload = ?"  # noqa: S608  # as above
        self.measurements = f"SELECT {workload}, {row} FROM measurements {joined} workload"  # noqa: S608  # as above
        self.names = f"SELECT {NAMES.listed(version)} FROM names"  # noqa: S608  # as above
        if version < NAMES.since:
            self.names = "SELECT NULL WHERE FALSE"


_queries = cache(_Queries)


@lru_cache(maxsize=1024)
def _workload_of(row: Row, version: int) -> Workload:
    return read_workload(WORKLOADS.unsealed(row, version))


def _kept_of(row: Row, version: int) -> Kept | None:
    found = DECISIONS.unsealed(row[_WORKLOAD:], version)
    if row[0] is None:
        return None
    return read_kept(found, _workload_of(row[:_WORKLOAD], version))


def _measurement_of(row: Row, version: int) -> Measurement | None:
    found = MEASUREMENTS.unsealed(row[_WORKLOAD:], version)
    if row[0] is None:
        return None
    return read_measurement(found, _workload_of(row[:_WORKLOAD], version))


def _name_of(row: Row, version: int) -> tuple[str, str]:
    return read_name(NAMES.unsealed(row, version))


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
        self.left_out = 0  # rows that were read and make no sense
        self._reading = DatabaseFile(path, opening or Opening())
        self._writing = DatabaseFile(path, opening or Opening())
        self._reading.attempt(self._reading.connection)

    def get(self, workload: Workload) -> Decision | None:
        found = self.find(workload)
        return None if found is None else found.decision

    def find(self, workload: Workload) -> Kept | None:
        """What is kept for a workload; None also where its row makes no sense."""
        return self._reading.attempt(
            lambda: self._find(self._reading.connection(), self._reading.version, workload)
        )

    def put(self, *decisions: Decision) -> None:
        def work() -> None:
            with self._writing.transaction() as connection:
                for decision in decisions:
                    now, before = self.now_ns(), self._written(connection, decision.workload)
                    kept = Kept(
                        decision=tidy(decision),
                        stamp_ns=stamp_after(now, before),
                        writer=self.writer,
                        used_ns=now if before is None else max(now, before.used_ns),
                    )
                    _write(connection, kept)

        self._writing.attempt(work)

    def used(self, workloads: Iterable[Workload]) -> None:
        wanted = tuple(workloads)

        def work() -> None:
            now = self.now_ns()
            with self._writing.transaction() as connection:
                for workload in wanted:
                    kept = self._written(connection, workload)
                    # To the day: a process that asks all day writes once.
                    if kept is not None and kept.used_ns < now - DAY_NS:
                        _write(connection, replace(kept, used_ns=now))

        self._writing.attempt(work)

    def kept(self) -> Iterator[Kept]:
        return self._understood(self._stream(lambda queries: queries.kept), _kept_of)

    def related(self, workload: Workload) -> list[Decision]:
        given = (
            workload.device,
            workload.toolchain,
            workload.fingerprint,
            workload.structure or "no such trait",
        )
        rows = self._rows(lambda queries: queries.related, given)
        found = [kept.decision for kept in self._understood(rows, _kept_of)]
        return [one for one in found if is_related(workload, one.workload)]

    def append(self, rows: Iterable[Measurement]) -> None:
        for batch in _batches(rows):
            self._writing.attempt(partial(self._append, batch))

    def measurements(self, workload: Workload | None = None) -> Iterator[Measurement]:
        if workload is None:
            rows = self._stream(lambda queries: queries.measurements)
            return self._understood(rows, _measurement_of)
        found = self._rows(lambda queries: queries.measured, (workload_key(workload),))
        return self._understood(
            found,
            lambda row, version: read_measurement(MEASUREMENTS.unsealed(row, version), workload),
        )

    def summaries(self, workload: Workload) -> tuple[Summary, ...]:
        return measured(self.measurements(workload)).summaries

    def name(self, names: Mapping[str, str]) -> None:
        rows = [NAMES.sealed((digest, cut(text))) for digest, text in names.items()]

        def work() -> None:
            with self._writing.transaction() as connection:
                connection.executemany(_PUT_NAME, rows)

        if names:
            self._writing.attempt(work)

    def names(self) -> dict[str, str]:
        return dict(self._understood(self._stream(lambda queries: queries.names), _name_of))

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
                before = self._written(connection, item.decision.workload)
                joined = item if before is None else before.joined(item)
                if joined != before:
                    _write(connection, joined)

    def _append(self, rows: Sequence[Measurement]) -> None:
        sound = [row for row in rows if is_sound_measurement(row)]
        workloads = {row.workload for row in sound}
        with self._writing.transaction() as connection:
            for table, values in (
                (WORKLOADS, map(workload_row, workloads)),
                (MEASUREMENTS, map(measurement_row, sound)),
            ):
                connection.executemany(table.insert, map(table.sealed, values))

    def _written(self, connection: sqlite3.Connection, workload: Workload) -> Kept | None:
        """What a transaction finds, on its own connection: the file may be another by now."""
        return self._find(connection, self._writing.version, workload)

    def _find(
        self, connection: sqlite3.Connection, version: int, workload: Workload
    ) -> Kept | None:
        row = connection.execute(_queries(version).find, (workload_key(workload),)).fetchone()
        if row is None:
            return None
        try:
            return read_kept(DECISIONS.unsealed(row, version), workload)
        except DamagedRow:
            self._leave_out()
            return None

    def _understood(
        self, rows: Iterable[tuple[Row, int]], read: Callable[[Row, int], T | None]
    ) -> Iterator[T]:
        """What the rows say; those that make no sense are left out, counted, and said once."""
        for row, version in rows:
            try:
                found = read(row, version)
            except DamagedRow:
                self._leave_out()
            else:
                if found is not None:
                    yield found

    def _leave_out(self) -> None:
        self.left_out += 1
        if self.left_out > 1:
            return
        say_once(
            StoreFailed(
                f"{self.path} holds rows that are damaged or make no sense",
                'run "vyre store check", which says what to do',
            ),
            "they are left out",
        )

    def _rows(self, sql: Callable[[_Queries], str], given: Row) -> list[tuple[Row, int]]:
        file = self._reading

        def work() -> list[tuple[Row, int]]:
            connection = file.connection()
            rows = connection.execute(sql(_queries(file.version)), given)
            return [(row, file.version) for row in rows]

        return file.attempt(work)

    def _stream(self, sql: Callable[[_Queries], str]) -> Iterator[tuple[Row, int]]:
        """Rows of a table that may be too large for memory, and the version of the tables.

        Damage that shows half-way is repaired, and what was read before it is not the whole.
        """
        file = self._reading

        def work() -> tuple[sqlite3.Cursor, int]:
            connection = file.connection()
            return connection.execute(sql(_queries(file.version))), file.version

        cursor, version = file.attempt(work)
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
            yield from ((row, version) for row in found)


def _write(connection: sqlite3.Connection, kept: Kept) -> None:
    workload = workload_row(kept.decision.workload)
    connection.execute(WORKLOADS.insert, WORKLOADS.sealed(workload))
    connection.execute(_PUT_DECISION, DECISIONS.sealed(kept_row(kept)))


def _batches(items: Iterable[T]) -> Iterator[list[T]]:
    iterator = iter(items)
    while batch := list(islice(iterator, _AT_ONCE)):
        yield batch
