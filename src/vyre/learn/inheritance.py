"""What a new learner is told of the past: its own workload's, its neighbours', its lookalikes'."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from math import hypot, log, sqrt

from vyre.learn.recorder import Recorder
from vyre.model import Config, Decision, Reason, Summary, Workload
from vyre.policy.belief import Remembered
from vyre.policy.measured import Measured, measured
from vyre.policy.natural_step import FAR

FARTHEST = 4
"""Doublings beyond which what was learned for another size is no guess for this one."""

_OWN, _NEIGHBOUR, _PER_DOUBLING = 0.05, 0.08, 0.04
"""How far to believe a ratio to the default: of this workload, of another, and per doubling."""

_FEW, _FEW_ERROR = 3, 0.1  # times that say little of how far off they are, and what that may be

Ratios = Mapping[Config, float]


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of another workload: its decision, and log times over that of the default."""

    decision: Decision
    ratios: Ratios = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Inherited:
    """Where to start: what to believe of configs, what to launch, what not to try."""

    ratios: Mapping[Config, Remembered] = field(default_factory=dict)
    decision: Decision | None = None
    failures: Mapping[Config, str] = field(default_factory=dict)


def inherit(
    workload: Workload,
    candidates: Iterable[Config],
    default: Config,
    recorder: Recorder,
    neighbours: Iterable[Known],
) -> Inherited:
    """What may be believed of a workload before it has run.

    Its own measurements count, whether or not anything was decided from them.

    Args:
        workload: what is to be learned.
        candidates: what may run it.
        default: what the others are compared with.
        recorder: what earlier processes learned.
        neighbours: what this process has learned for other workloads.
    """
    able = frozenset(candidates)
    evidence = recorder.evidence(workload, able, default)
    failures = {
        one.config: one.failures[-1] for one in evidence.summaries if not one.count and one.failures
    }
    legal = able - failures.keys()
    own, decision = _remembered(evidence), recorder.get(workload)
    if decision is not None and decision.config in legal:
        ratios = {**_believed(_of(decision, default), _OWN), **own}
        decision = replace(decision, reason=Reason.REMEMBERED)
    else:
        ratios, decision = _transferred(workload, default, legal, recorder, neighbours)
        ratios = {**ratios, **own}
        if decision is not None and _denied(own.get(decision.config)):
            decision = None
    return Inherited({s: one for s, one in ratios.items() if s in legal}, decision, failures)


def _transferred(
    workload: Workload,
    default: Config,
    legal: Set[Config],
    recorder: Recorder,
    neighbours: Iterable[Known],
) -> tuple[dict[Config, Remembered], Decision | None]:
    """What the nearest size, or a program built like this one, gives to start from."""
    known = {one.decision.workload: one for one in neighbours}
    for one in recorder.related(workload):
        known.setdefault(one.workload, Known(one))
    near = _nearest(workload, [k for k in known.values() if k.decision.config in legal])
    if near is None:
        return {}, None
    there = near.decision.workload
    apart = distance(workload, there)
    ratios = near.ratios or ratios_of(measured(recorder.measurements(there), default))
    ratios = ratios or _of(near.decision, default)
    same = there.fingerprint == workload.fingerprint
    where = "sizes nearby" if same else "a program of the same structure"
    decision = replace(
        near.decision,
        workload=workload,
        reason=Reason.TRANSFERRED,
        detail=f"from {where}, {apart} doublings away",
        unfinished_s=None,
    )
    return _believed(ratios, _NEIGHBOUR + _PER_DOUBLING * apart), decision


def nearby(
    workload: Workload, default: Config, legal: Set[Config], neighbours: Iterable[Known]
) -> dict[Config, Remembered]:
    """What the nearest of some other workloads says of these configs, if any is near enough."""
    near = _nearest(workload, (one for one in neighbours if one.decision.config in legal))
    if near is None:
        return {}
    apart = distance(workload, near.decision.workload)
    ratios = near.ratios or _of(near.decision, default)
    believed = _believed(ratios, _NEIGHBOUR + _PER_DOUBLING * apart)
    return {config: one for config, one in believed.items() if config in legal}


def ratios_of(evidence: Measured) -> dict[Config, float]:
    """Log times over that of the default; nothing where the default was not timed."""
    return {one.config: -log(one.speed) for one in evidence.summaries if one.speed is not None}


def _remembered(evidence: Measured) -> dict[Config, Remembered]:
    """What a workload's own measurements say, believed the less the fewer they are."""
    base = evidence.of(evidence.default)
    return {
        one.config: Remembered(_within(-log(one.speed)), hypot(_OWN, _error(one), _error(base)))
        for one in evidence.summaries
        if one.speed is not None and base is not None
    }


def _error(summary: Summary) -> float:
    """How far the median of a schedule's times may be off, as a log time."""
    assert summary.median_ns is not None
    assert summary.spread_ns is not None
    if summary.count < _FEW:  # they have no spread to speak of, and one may be disturbed
        return _FEW_ERROR
    return summary.spread_ns / summary.median_ns / sqrt(summary.count)


def _believed(ratios: Ratios, spread: float) -> dict[Config, Remembered]:
    return {config: Remembered(_within(ratio), spread) for config, ratio in ratios.items()}


def _within(log_ratio: float) -> float:
    """A ratio that a belief can hold: what is said by others may be any number."""
    return min(max(log_ratio, -FAR), FAR)


def _denied(own: Remembered | None) -> bool:
    """Whether this workload's own times speak against a choice."""
    return own is not None and own.log_ratio > 0.0


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


def _of(decision: Decision, default: Config) -> dict[Config, float]:
    if decision.gain is None or not decision.gain > 0:
        return {}
    return {default: 0.0, decision.config: -log(decision.gain)}
