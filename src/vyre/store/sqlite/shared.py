"""A store in a folder that hosts or users share: each writes a file of its own, all read all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from pathlib import Path
from typing import TypeVar

from vyre.errors import StoreFailed
from vyre.model import Decision, Measurement, Summary, Workload
from vyre.policy.measured import measured
from vyre.store.base import Bounds, Kept, Pruned, is_from_now, stamp_after, tidy
from vyre.store.notice import say_once
from vyre.store.sqlite.database import Database
from vyre.store.sqlite.file import Opening

T = TypeVar("T")

LARGEST = 1 << 30
"""Bytes of another's file that is read: four times of what a store may hold."""


class SharedFiles:
    """Our own database, and whatever others are beside it.

    SQLite's locks do not reach across hosts, and a log of one user is closed to the others, so a
    file of another is only read. One that cannot be read now is left out this time. Without a file
    of our own, everything is read and nothing written.
    """

    def __init__(
        self, own: Callable[[], Database] | None, others: Callable[[], Iterable[Path]]
    ) -> None:
        """Open our own file with `own`, and ask `others` for the rest whenever it is read."""
        # Writing looks up what it replaces, on connections that readers do not use.
        self._reading = _Files(own() if own else None, others)
        self._writing = _Files(own() if own else None, others)

    def get(self, workload: Workload) -> Decision | None:
        found = self._reading.find(workload)
        return None if found is None else found.decision

    def put(self, *decisions: Decision) -> None:
        files, own = self._writing, self._own()
        now = own.now_ns()
        kept = [
            Kept(
                decision=tidy(decision),
                stamp_ns=stamp_after(now, files.find(decision.workload)),
                writer=own.writer,
                used_ns=now,
            )
            for decision in decisions
        ]
        own.absorb(kept, ())

    def used(self, workloads: Iterable[Workload]) -> None:
        wanted, files, own = tuple(workloads), self._writing, self._own()
        # What another decided and we use is ours to keep: the other may forget it.
        absent = [workload for workload in wanted if own.find(workload) is None]
        own.absorb([kept for workload in absent if (kept := files.find(workload))], ())
        own.used(wanted)

    def kept(self) -> Iterator[Kept]:
        best: dict[Workload, Kept] = {}
        for item in self._reading.each(lambda store: list(store.kept())):
            workload = item.decision.workload
            best[workload] = best.get(workload, item).joined(item)
        return iter(best.values())

    def related(self, workload: Workload) -> list[Decision]:
        found = self._reading.each(lambda store: store.related(workload))
        return list({one.workload: one for one in found}.values())

    def append(self, rows: Iterable[Measurement]) -> None:
        self._own().append(rows)

    def measurements(self, workload: Workload | None = None) -> Iterator[Measurement]:
        found: dict[tuple[str, int], Measurement] = {}
        for row in self._reading.each(lambda store: list(store.measurements(workload))):
            found.setdefault((row.writer, row.sequence), row)
        return iter(found.values())

    def summaries(self, workload: Workload) -> tuple[Summary, ...]:
        return measured(self.measurements(workload)).summaries

    def name(self, names: Mapping[str, str]) -> None:
        self._own().name(names)

    def names(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for digest, text in self._reading.each(lambda store: list(store.names().items())):
            found.setdefault(digest, text)
        return found

    def absorb(self, kept: Iterable[Kept], rows: Iterable[Measurement]) -> None:
        self._own().absorb(kept, rows)

    def prune(self, bounds: Bounds) -> Pruned:
        return self._own().prune(bounds)

    def close(self) -> None:
        self._reading.close()
        self._writing.close()

    def _own(self) -> Database:
        if self._writing.own is None:
            raise StoreFailed(
                "this store is open for reading only",
                "give write permission to its folder, or set VYRE_CACHE_DIR to another one",
            )
        return self._writing.own


class _Files:
    """Every file of a folder, open; our own comes first."""

    def __init__(self, own: Database | None, others: Callable[[], Iterable[Path]]) -> None:
        self.own, self._others = own, others
        self._open: dict[Path, Database] = {}

    def find(self, workload: Workload) -> Kept | None:
        found = self.each(lambda store: [kept] if (kept := store.find(workload)) else [])
        return reduce(lambda a, b: b if a is None else a.joined(b), found, None)

    def each(self, read: Callable[[Database], list[T]]) -> Iterator[T]:
        if self.own is not None:
            yield from read(self.own)
        for path in self._others():
            try:
                found = read(self._opened(path))
            except StoreFailed as error:
                say_once(error, "what it holds is left out")
            else:
                now = self._open[path].now_ns()
                yield from (one for one in found if is_from_now(one, now))

    def _opened(self, path: Path) -> Database:
        if path not in self._open:
            refuse_large(path)
            self._open[path] = Database(path, writer="", opening=Opening(read_only=True))
        return self._open[path]

    def close(self) -> None:
        for store in (*([self.own] if self.own else ()), *self._open.values()):
            store.close()
        self._open = {}


def refuse_large(path: Path) -> None:
    """Raise where a file of another is larger than any store."""
    try:
        size = path.stat().st_size
    except OSError:
        return  # whoever opens it says what is wrong with it
    if size > LARGEST:
        raise StoreFailed(
            f"{path} has {size:,} bytes; {LARGEST:,} allowed",
            "ask its owner to make it smaller with vyre store prune",
        )
