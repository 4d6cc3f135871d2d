"""A store in a folder that several hosts share: each writes its own file, all read every file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from pathlib import Path
from typing import TypeVar

from vyre.errors import StoreFailed
from vyre.model import Decision, Measurement, Summary, Workload
from vyre.policy.measured import measured
from vyre.store.base import Bounds, Kept, Pruned, stamp_after, tidy
from vyre.store.notice import say_once
from vyre.store.sqlite.database import Database
from vyre.store.sqlite.file import Opening

T = TypeVar("T")


class HostFiles:
    """Our own database, and whatever others are beside it.

    SQLite's locks do not reach across hosts, so a file of another host is only read. One that
    cannot be read now is left out this time.
    """

    def __init__(self, own: Callable[[], Database], others: Callable[[], Iterable[Path]]) -> None:
        """Write to what `own` opens; `others` names the other hosts' files, and is asked often."""
        # Writing looks up what it replaces, on connections that readers do not use.
        self._reading, self._writing = _Files(own(), others), _Files(own(), others)

    def get(self, workload: Workload) -> Decision | None:
        found = self._reading.find(workload)
        return None if found is None else found.decision

    def put(self, *decisions: Decision) -> None:
        files, own = self._writing, self._writing.own
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
        wanted, files = tuple(workloads), self._writing
        # What another host decided and we use is ours to keep: that host may forget it.
        absent = [workload for workload in wanted if files.own.find(workload) is None]
        files.own.absorb([kept for workload in absent if (kept := files.find(workload))], ())
        files.own.used(wanted)

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
        self._writing.own.append(rows)

    def measurements(self, workload: Workload | None = None) -> Iterator[Measurement]:
        found = {
            (row.writer, row.sequence): row
            for row in self._reading.each(lambda store: list(store.measurements(workload)))
        }
        return iter(found.values())

    def summaries(self, workload: Workload) -> tuple[Summary, ...]:
        return measured(self.measurements(workload)).summaries

    def name(self, names: Mapping[str, str]) -> None:
        self._writing.own.name(names)

    def names(self) -> dict[str, str]:
        return dict(self._reading.each(lambda store: list(store.names().items())))

    def absorb(self, kept: Iterable[Kept], rows: Iterable[Measurement]) -> None:
        self._writing.own.absorb(kept, rows)

    def prune(self, bounds: Bounds) -> Pruned:
        return self._writing.own.prune(bounds)

    def close(self) -> None:
        self._reading.close()
        self._writing.close()


class _Files:
    """Every file of a folder, open."""

    def __init__(self, own: Database, others: Callable[[], Iterable[Path]]) -> None:
        self.own, self._others = own, others
        self._open: dict[Path, Database] = {}

    def find(self, workload: Workload) -> Kept | None:
        found = self.each(lambda store: [kept] if (kept := store.find(workload)) else [])
        return reduce(lambda a, b: b if a is None else a.joined(b), found, None)

    def each(self, read: Callable[[Database], list[T]]) -> Iterator[T]:
        yield from read(self.own)
        for path in self._others():
            try:
                if path not in self._open:
                    opening = Opening(read_only=True)
                    self._open[path] = Database(path, writer=self.own.writer, opening=opening)
                found = read(self._open[path])
            except StoreFailed as error:
                say_once(error, "what that host learned is left out")
            else:
                yield from found

    def close(self) -> None:
        for store in (self.own, *self._open.values()):
            store.close()
        self._open = {}
