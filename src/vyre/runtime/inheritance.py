"""What a new learner is told of the past: its own workload's, its neighbours', its lookalikes'."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import log

from vyre.model import Decision, Reason, Schedule, Summary, Workload
from vyre.plan.space import Space
from vyre.policy.belief import Remembered
from vyre.runtime.recorder import Recorder

FARTHEST = 4
"""Doublings beyond which what was learned for another size is no guess for this one."""

_OWN, _NEIGHBOUR, _PER_DOUBLING = 0.05, 0.08, 0.04
"""How far to believe a ratio to the default: of this workload, of another, and per doubling."""

Ratios = Mapping[Schedule, float]


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of another workload: its decision, and log times over that of the default."""

    decision: Decision
    ratios: Ratios = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Inherited:
    """Where to start: what to believe of schedules, what to launch, what not to try."""

    ratios: Mapping[Schedule, Remembered] = field(default_factory=dict)
    decision: Decision | None = None
    failures: Mapping[Schedule, str] = field(default_factory=dict)


def inherit(
    workload: Workload, space: Space, recorder: Recorder, neighbours: Iterable[Known]
) -> Inherited:
    """What may be believed of a workload before it has run.

    Args:
        workload: what is to be learned.
        space: the schedules that may run it.
        recorder: what earlier processes learned.
        neighbours: what this process has learned for other workloads.
    """
    legal, decision = set(space.legal), recorder.get(workload)
    summaries = recorder.summaries(workload)
    failures = {s.schedule: s.failures[-1] for s in summaries if not s.count and s.failures}
    if decision is not None and decision.schedule in legal:
        own = ratios_of(summaries, space.default) or _of(decision, space.default)
        return Inherited(
            {s: Remembered(ratio, _OWN) for s, ratio in own.items() if s in legal},
            replace(decision, reason=Reason.REMEMBERED),
            failures,
        )
    known = {one.decision.workload: one for one in neighbours}
    for one in recorder.related(workload):
        known.setdefault(one.workload, Known(one))
    near = _nearest(workload, [k for k in known.values() if k.decision.schedule in legal])
    if near is None:
        return Inherited(failures=failures)
    apart = distance(workload, near.decision.workload)
    ratios = near.ratios or ratios_of(recorder.summaries(near.decision.workload), space.default)
    ratios = ratios or _of(near.decision, space.default)
    spread = _NEIGHBOUR + _PER_DOUBLING * apart
    where = (
        "sizes nearby"
        if near.decision.workload.fingerprint == workload.fingerprint
        else ("a program of the same structure")
    )
    return Inherited(
        {s: Remembered(ratio, spread) for s, ratio in ratios.items() if s in legal},
        replace(
            near.decision,
            workload=workload,
            reason=Reason.TRANSFERRED,
            detail=f"from {where}, {apart} doublings away",
        ),
        failures,
    )


def ratios_of(summaries: Iterable[Summary], default: Schedule) -> dict[Schedule, float]:
    """Log times over that of the default; nothing where the default was not timed."""
    medians = {s.schedule: s.median_ns for s in summaries if s.count and s.median_ns}
    base = medians.get(default)
    return {s: log(ns / base) for s, ns in medians.items()} if base else {}


def distance(one: Workload, other: Workload) -> int:
    """Doublings between the sizes of two workloads, along the axis where they differ most."""
    if len(one.buckets) != len(other.buckets):
        return FARTHEST + 1
    return max((abs(a - b) for a, b in zip(one.buckets, other.buckets, strict=True)), default=0)


def _nearest(workload: Workload, known: Iterable[Known]) -> Known | None:
    """The closest in size; of those equally close, one of this very program."""
    ranked = sorted(
        known,
        key=lambda one: (
            distance(workload, one.decision.workload),
            one.decision.workload.fingerprint != workload.fingerprint,
            one.decision.workload.key(),
        ),
    )
    close = [one for one in ranked if distance(workload, one.decision.workload) <= FARTHEST]
    return close[0] if close else None


def _of(decision: Decision, default: Schedule) -> dict[Schedule, float]:
    if decision.gain is None or not decision.gain > 0:
        return {}
    return {default: 0.0, decision.schedule: -log(decision.gain)}
