"""From a store to what a report says: one case per workload, with its evidence in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import TypeVar

from vyre.model import Decision, Failed, Measurement, Schedule, Summary, Timed, Workload
from vyre.plain import plain
from vyre.report.values import (
    Value,
    decision_value,
    schedule_value,
    workload_value,
)
from vyre.store.base import Kept, Store
from vyre.store.summary import summarise

T = TypeVar("T")

MOST_STEPS = 500
"""Dispatches that a picture of convergence shows; of more, evenly spaced ones."""

MOST_SAMPLES = 30
"""Timings that a picture shows of each schedule; of more, evenly spaced ones."""

NAME = 100
"""Letters of a name."""

MOST_CASES = 200
"""Workloads that a report holds: those that were decided last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """A schedule that ran: its timings, scaled to the case's size, in the order they came."""

    schedule: Schedule
    times_ns: tuple[float, ...]

    @property
    def median_ns(self) -> float:
        return median(self.times_ns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One workload: a kernel at about one size on one device."""

    kernel: str
    device: str
    toolchain: str
    workload: Workload
    elements: int  # the usual size of its dispatches; 0 where none was measured
    decision: Decision | None
    decided_at_ns: int
    writer: str
    tried: tuple[Tried, ...]  # the fastest first
    steps: tuple[tuple[Schedule, float], ...]  # every timing, as it came
    failures: tuple[tuple[Schedule, str], ...]
    writers: tuple[str, ...] = ()
    first_at_ns: int = 0
    last_at_ns: int = 0
    default: Schedule | None = None
    spent_ns: float = field(default=0.0)  # all timings together

    @property
    def timings(self) -> int:
        return len(self.steps)

    @property
    def chosen(self) -> Schedule | None:
        return None if self.decision is None else self.decision.schedule

    @property
    def chosen_ns(self) -> float | None:
        return self._time_of(self.chosen)

    @property
    def default_ns(self) -> float | None:
        """What the default takes: by the gain, which was measured in pairs, else by its median."""
        chosen = self.chosen_ns
        if chosen is not None and self.decision is not None and self.decision.gain is not None:
            return chosen * self.decision.gain
        return self._time_of(self.default)

    @property
    def saved_ns(self) -> float:
        """What each call saves; 0 where the default runs."""
        default, chosen = self.default_ns, self.chosen_ns
        return default - chosen if default and chosen and self.chosen != self.default else 0.0

    @property
    def explored(self) -> float:
        """The share of measured time that went into schedules other than default and chosen."""
        others = sum(ns for one, ns in self.steps if one not in (self.default, self.chosen))
        return others / self.spent_ns if self.spent_ns else 0.0

    def _time_of(self, schedule: Schedule | None) -> float | None:
        return next((one.median_ns for one in self.tried if one.schedule == schedule), None)

    def value(self) -> Value:
        """Everything that a page or a program may want to know."""
        number = {one.schedule: place for place, one in enumerate(self.tried)}
        return {
            "kernel": self.kernel,
            "device": self.device,
            "toolchain": self.toolchain,
            "workload": workload_value(self.workload),
            "elements": self.elements,
            "decision": None if self.decision is None else decision_value(self.decision),
            "decided_at_ns": self.decided_at_ns,
            "writer": self.writer,
            "writers": list(self.writers),
            "default": number.get(self.default) if self.default else None,
            "chosen": number.get(self.chosen) if self.chosen else None,
            "default_ns": self.default_ns,
            "chosen_ns": self.chosen_ns,
            "saved_ns": self.saved_ns,
            "spent_ns": self.spent_ns,
            "explored": self.explored,
            "timings": self.timings,
            "schedules": [
                {
                    **schedule_value(one.schedule),
                    "count": len(one.times_ns),
                    "median_ns": one.median_ns,
                    "samples_ns": [round(ns) for ns in _thinned(one.times_ns, MOST_SAMPLES)],
                }
                for one in self.tried
            ],
            "steps": [
                [place, number[schedule], round(ns)]
                for place, (schedule, ns) in _thinned(list(enumerate(self.steps)), MOST_STEPS)
            ],
            "failures": [
                {"schedule": schedule_value(schedule), "reason": reason}
                for schedule, reason in self.failures
            ],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything that was learned, the largest gains first."""

    cases: tuple[Case, ...]
    left_out: int = 0

    @property
    def timings(self) -> int:
        return sum(case.timings for case in self.cases)

    def value(self) -> Value:
        return {
            "cases": [case.value() for case in self.cases],
            "left_out": self.left_out,
            "timings": self.timings,
        }


def label(names: Mapping[str, str], digest: str) -> str:
    """The name of a digest as it is shown, or its first letters.

    >>> label({"ab" * 32: "saxpy"}, "ab" * 32), label({}, "ab" * 32), label({}, "")
    ('saxpy', 'abababab', 'any')
    """
    return plain(names.get(digest) or digest[:8] or "any", NAME)


def size_of(store: Store, workload: Workload) -> int:
    """The usual size of a workload's dispatches; 0 where none was measured."""
    return usual_size(store.measurements(workload))


def usual_size(rows: Iterable[Measurement]) -> int:
    """The middle one of the sizes that were dispatched; 0 where there are none."""
    sizes = sorted(row.size for row in rows)
    return sizes[len(sizes) // 2] if sizes else 0


def gather(store: Store) -> Report:
    """Everything that a store holds, as cases."""
    names = store.names()
    kept = {item.decision.workload: item for item in store.kept()}
    # A store may be too large for memory, so only what is shown is read whole.
    latest = {workload: item.stamp_ns for workload, item in kept.items()}
    for row in store.measurements():
        latest[row.workload] = max(row.at_ns, latest.get(row.workload, 0))
    shown = sorted(latest, key=lambda workload: -latest[workload])[:MOST_CASES]
    cases = [
        _case(workload, kept.get(workload), tuple(store.measurements(workload)), names)
        for workload in shown
    ]
    return Report(cases=tuple(sorted(cases, key=_place)), left_out=len(latest) - len(shown))


def _place(case: Case) -> tuple[object, ...]:
    """By device, the largest gain first, what is not decided last."""
    gain = (case.decision.gain if case.decision else None) or 1.0
    return (case.device, case.decision is None, -gain, case.kernel, case.elements)


def _case(
    workload: Workload, kept: Kept | None, rows: Sequence[Measurement], names: Mapping[str, str]
) -> Case:
    ordered = sorted(rows, key=lambda row: (row.at_ns, row.writer, row.sequence))
    size = usual_size(ordered)
    seen: set[Schedule] = set()
    steps: list[tuple[Schedule, float]] = []
    for row in ordered:
        if isinstance(row.outcome, Timed):
            schedule = row.outcome.schedule
            if schedule in seen:  # its first timing also loads its code
                steps.append((schedule, row.outcome.elapsed_ns * _scale(size, row.size)))
            seen.add(schedule)
    times: dict[Schedule, list[float]] = {}
    for schedule, ns in steps:
        times.setdefault(schedule, []).append(ns)
    tried = [Tried(schedule=one, times_ns=tuple(ns)) for one, ns in times.items()]
    tried.sort(key=lambda one: one.median_ns)
    return Case(
        kernel=label(names, workload.fingerprint.hex()),
        device=label(names, workload.device),
        toolchain=label(names, workload.toolchain),
        workload=workload,
        elements=size,
        decision=None if kept is None else kept.decision,
        decided_at_ns=0 if kept is None else kept.stamp_ns,
        writer="" if kept is None else kept.writer,
        tried=tuple(tried),
        steps=tuple(steps),
        failures=_failures(ordered),
        writers=tuple(dict.fromkeys(row.writer for row in ordered)),
        first_at_ns=ordered[0].at_ns if ordered else 0,
        last_at_ns=ordered[-1].at_ns if ordered else 0,
        default=_default(ordered, times),
        spent_ns=sum(ns for _, ns in steps),
    )


def _scale(usual: int, size: int) -> float:
    """Sizes of one workload are within a factor of two: there, time goes with size."""
    return usual / size if size else 1.0


def _default(rows: Iterable[Measurement], times: Mapping[Schedule, object]) -> Schedule | None:
    """The default is measured before anything else, and its code is plain."""
    for row in rows:
        code = row.outcome.schedule.code
        plain = code.items == code.vector == code.unroll == 1
        if plain and row.outcome.schedule in times:
            return row.outcome.schedule
    return None


def _failures(rows: Sequence[Measurement]) -> tuple[tuple[Schedule, str], ...]:
    summaries: tuple[Summary, ...] = summarise(
        row for row in rows if isinstance(row.outcome, Failed)
    )
    return tuple((one.schedule, reason) for one in summaries for reason in one.failures)


def _thinned(items: Sequence[T], most: int) -> Sequence[T]:
    """At most so many of them, evenly spaced, the first and the last among them."""
    if len(items) <= most:
        return items
    return [items[round(place * (len(items) - 1) / (most - 1))] for place in range(most)]
