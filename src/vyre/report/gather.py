"""From a store to what a report says: one case per workload, with its evidence in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from vyre.model import Config, Decision, Measurement, Summary, Timed, Workload, is_throttled
from vyre.plain import plain
from vyre.policy.measured import Measured, default_of, measured
from vyre.report.values import (
    Value,
    config_value,
    decision_value,
    workload_value,
)
from vyre.store.base import Kept, Store

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
    """A schedule that ran, and each of its timings in the order they came."""

    summary: Summary
    times_ns: tuple[float, ...]

    @property
    def config(self) -> Config:
        return self.summary.config

    @property
    def median_ns(self) -> float:
        assert self.summary.median_ns is not None  # it ran
        return self.summary.median_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One workload: a kernel at about one size on one device."""

    kernel: str
    device: str
    toolchain: str
    workload: Workload
    measured: Measured
    decision: Decision | None
    decided_at_ns: int
    writer: str
    writers: tuple[str, ...] = ()
    first_at_ns: int = 0
    last_at_ns: int = 0
    throttled: int = 0  # timings that were taken while the device was held back

    @property
    def elements(self) -> int:
        """The usual size of its dispatches; 0 where none was measured."""
        return self.measured.size

    @property
    def tried(self) -> tuple[Tried, ...]:
        """Every schedule that ran, the fastest first."""
        times: dict[Config, list[float]] = {}
        for config, ns in self.steps:
            times.setdefault(config, []).append(ns)
        return tuple(
            Tried(summary=one, times_ns=tuple(times[one.config])) for one in self.measured.fastest
        )

    @property
    def steps(self) -> tuple[tuple[Config, float], ...]:
        """Every timing, as it came."""
        return self.measured.steps

    @property
    def failures(self) -> tuple[tuple[Config, str], ...]:
        return self.measured.failures

    @property
    def timings(self) -> int:
        return len(self.steps)

    @property
    def spent_ns(self) -> float:
        """All timings together."""
        return sum(ns for _, ns in self.steps)

    @property
    def default(self) -> Config | None:
        """What gains are counted against, if it was timed."""
        found = self.measured.of(self.measured.default)
        return None if found is None or not found.count else found.config

    @property
    def chosen(self) -> Config | None:
        return None if self.decision is None else self.decision.config

    @property
    def chosen_ns(self) -> float | None:
        return self.measured.time_of(self.chosen)

    @property
    def default_ns(self) -> float | None:
        return self.measured.time_of(self.default)

    @property
    def gain(self) -> float | None:
        """What the choice gains by what was measured until now; None for the default."""
        return None if self.decision is None else self.measured.weigh(self.decision).gain

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

    def value(self) -> Value:
        """Everything that a page or a program may want to know."""
        tried = self.tried
        number = {one.config: place for place, one in enumerate(tried)}
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
            "gain": self.gain,
            "saved_ns": self.saved_ns,
            "spent_ns": self.spent_ns,
            "explored": self.explored,
            "timings": self.timings,
            "throttled": self.throttled,
            "schedules": [
                {
                    **config_value(one.config),
                    "count": len(one.times_ns),
                    "median_ns": one.median_ns,
                    "speed": one.summary.speed,
                    "samples_ns": [round(ns) for ns in _thinned(one.times_ns, MOST_SAMPLES)],
                }
                for one in tried
            ],
            "steps": [
                [place, number[config], round(ns)]
                for place, (config, ns) in _thinned(list(enumerate(self.steps)), MOST_STEPS)
            ],
            "failures": [
                {"schedule": config_value(config), "reason": reason}
                for config, reason in self.failures
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


def evidence_of(rows: Iterable[Measurement], decision: Decision | None) -> Measured:
    """What rows of one workload say, beside what was decided for it."""
    seen = tuple(rows)
    return measured(seen, default_of(seen, decision))


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
    return (case.device, case.decision is None, -(case.gain or 1.0), case.kernel, case.elements)


def _case(
    workload: Workload, kept: Kept | None, rows: Sequence[Measurement], names: Mapping[str, str]
) -> Case:
    decision = None if kept is None else kept.decision
    evidence = evidence_of(rows, decision)
    stamps = [row.at_ns for row in rows]
    return Case(
        kernel=label(names, workload.fingerprint.hex()),
        device=label(names, workload.device),
        toolchain=label(names, workload.toolchain),
        workload=workload,
        measured=evidence,
        decision=decision,
        decided_at_ns=0 if kept is None else kept.stamp_ns,
        writer="" if kept is None else kept.writer,
        writers=tuple(sorted({row.writer for row in rows})),
        first_at_ns=min(stamps, default=0),
        last_at_ns=max(stamps, default=0),
        throttled=sum(
            isinstance(row.outcome, Timed) and is_throttled(row.outcome.clock) for row in rows
        ),
    )


def _thinned(items: Sequence[T], most: int) -> Sequence[T]:
    """At most so many of them, evenly spaced, the first and the last among them."""
    if len(items) <= most:
        return items
    return [items[round(place * (len(items) - 1) / (most - 1))] for place in range(most)]
