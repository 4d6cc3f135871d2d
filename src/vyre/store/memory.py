"""A store that ends with its process: where no disk can be written, and in tests."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping

from vyre.model import Decision, Measurement, Summary, Workload
from vyre.policy.measured import measured
from vyre.store.base import Bounds, Kept, Pruned, is_related, stamp_after, tidy

ROW_BYTES = 512
"""What a row is taken to cost; only its share of a byte bound depends on it."""


class MemoryStore:
    """Keeps everything in two dictionaries."""

    def __init__(self, *, writer: str = "memory", now_ns: Callable[[], int] = time.time_ns) -> None:
        self._writer, self._now_ns = writer, now_ns
        self._kept: dict[Workload, Kept] = {}
        self._rows: dict[tuple[str, int], Measurement] = {}
        self._names: dict[str, str] = {}

    def get(self, workload: Workload) -> Decision | None:
        found = self._kept.get(workload)
        return None if found is None else found.decision

    def put(self, *decisions: Decision) -> None:
        for decision in decisions:
            now, before = self._now_ns(), self._kept.get(decision.workload)
            self._kept[decision.workload] = Kept(
                decision=tidy(decision),
                stamp_ns=stamp_after(now, before),
                writer=self._writer,
                used_ns=now if before is None else max(now, before.used_ns),
            )

    def used(self, workloads: Iterable[Workload]) -> None:
        now = self._now_ns()
        for workload in workloads:
            if found := self._kept.get(workload):
                self._kept[workload] = Kept(
                    decision=found.decision,
                    stamp_ns=found.stamp_ns,
                    writer=found.writer,
                    used_ns=max(now, found.used_ns),
                )

    def kept(self) -> Iterator[Kept]:
        return iter(tuple(self._kept.values()))

    def related(self, workload: Workload) -> list[Decision]:
        found = [kept.decision for kept in tuple(self._kept.values())]
        return [one for one in found if is_related(workload, one.workload)]

    def append(self, rows: Iterable[Measurement]) -> None:
        for row in rows:
            self._rows.setdefault((row.writer, row.sequence), row)

    def measurements(self, workload: Workload | None = None) -> Iterator[Measurement]:
        rows = tuple(self._rows.values())
        return (row for row in rows if workload is None or row.workload == workload)

    def summaries(self, workload: Workload) -> tuple[Summary, ...]:
        return measured(self.measurements(workload)).summaries

    def name(self, names: Mapping[str, str]) -> None:
        self._names |= names

    def names(self) -> dict[str, str]:
        return dict(self._names)

    def absorb(self, kept: Iterable[Kept], rows: Iterable[Measurement]) -> None:
        for item in kept:
            before = self._kept.get(item.decision.workload)
            self._kept[item.decision.workload] = item if before is None else before.joined(item)
        self.append(rows)

    def prune(self, bounds: Bounds) -> Pruned:
        oldest = self._now_ns() - bounds.age_ns
        room = bounds.size_bytes // ROW_BYTES
        kept = [item for item in self._kept.values() if item.used_ns >= oldest]
        kept.sort(key=lambda item: item.used_ns, reverse=True)
        kept = kept[: min(bounds.decisions, room)]
        rows = [row for row in self._rows.values() if row.at_ns >= oldest]
        rows.sort(key=lambda row: row.at_ns, reverse=True)
        rows = rows[: min(bounds.measurements, room - len(kept))]
        removed = Pruned(len(self._kept) - len(kept), len(self._rows) - len(rows))
        self._kept = {item.decision.workload: item for item in kept}
        self._rows = {(row.writer, row.sequence): row for row in rows}
        return removed

    def close(self) -> None:
        """Nothing to close."""
