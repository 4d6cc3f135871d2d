"""What may come from outside: the bounds within which a value makes sense, whoever wrote it.

Databases and exchange files of others are data. What is beyond these bounds was written by no
version of this program, would overflow something later, or would fill a screen.
"""

from __future__ import annotations

from math import isfinite

from vyre.model import (
    COUNTS,
    SIZES,
    U32_MAX,
    Config,
    Decision,
    Failed,
    Knobs,
    Measurement,
    Schedule,
    Timed,
    Workload,
)

LONGEST = 16_384
"""Letters of one text."""

LONGEST_FIELD = LONGEST // 2
"""Letters of a field in an exchange file: a key and an adapter make one workload."""

LONGEST_CLOCK = 100
"""Letters of what a timing says of the device's clocks: four times of what `Clocks.state` gives."""

LATEST_NS = 1 << 62
"""Of a stamp: the year 2116, below what a column holds, so that one more can always be added."""

_MOST_GAIN = 1e9
_QUICKEST_NS, _SLOWEST_NS = 1e-3, 1e18
_WIDEST = 1 << 63


def is_sound_workload(workload: Workload) -> bool:
    """Whether a kernel could have had it: every part short, every bucket a number of 64 bits."""
    texts = (*workload.traits, workload.device, workload.toolchain)
    return (
        len(workload.fingerprint) <= LONGEST
        and len(workload.buckets) <= LONGEST
        and all(-_WIDEST <= bucket < _WIDEST for bucket in workload.buckets)
        and sum(map(len, texts)) + len(workload.traits) <= LONGEST
    )


def is_sound_config(config: Config) -> bool:
    """Whether any device could launch it; a truth value is no size."""
    match config:
        case Schedule(workgroup, code):
            numbers = (*workgroup, *(getattr(code, name) for name in (*SIZES, *COUNTS)))
            return all(type(number) is int and number <= U32_MAX for number in numbers)
        case Knobs():
            return True  # it is its author's, and has bounds of its own


def sound_gain(gain: float | None) -> float | None:
    """A gain that compares and multiplies; None for any other."""
    if gain is None or not isfinite(gain) or not 0.0 < gain <= _MOST_GAIN:
        return None
    return float(gain)


def sound_confidence(confidence: float | None) -> float | None:
    """A share of 1; None for anything else."""
    return float(confidence) if confidence is not None and 0.0 <= confidence <= 1.0 else None


def sound_span(seconds: float | None) -> float | None:
    """How long something took or may take; None for what no clock shows."""
    if seconds is None or not isfinite(seconds) or seconds < 0:
        return None
    return float(seconds)


def is_sound_decision(decision: Decision) -> bool:
    """Whether its schedule, its detail and its numbers are those of a decision."""
    return (
        is_sound_config(decision.config)
        and (decision.default is None or is_sound_config(decision.default))
        and len(decision.detail) <= LONGEST
        and decision.gain == sound_gain(decision.gain)
        and decision.confidence == sound_confidence(decision.confidence)
        and decision.unfinished_s == sound_span(decision.unfinished_s)
    )


def is_sound_stamp(stamp_ns: int) -> bool:
    """Whether it is a moment that a decision can have been made or used at."""
    return 0 <= stamp_ns < LATEST_NS


def is_sound_measurement(row: Measurement) -> bool:
    """Whether a dispatch can have taken that long, or failed with that reason."""
    match row.outcome:
        case Timed(elapsed_ns=ns, clock=clock):
            said = (ns == 0.0 or _QUICKEST_NS <= ns <= _SLOWEST_NS) and is_sound_clock(clock)
        case Failed(reason=reason):
            said = len(reason) <= LONGEST
    return said and is_sound_config(row.outcome.config) and len(row.writer) <= LONGEST


def is_sound_clock(clock: str) -> bool:
    """Whether it can be the label of a state of clocks, or the empty one of none."""
    return len(clock) <= LONGEST_CLOCK and clock.isprintable()


def cut(text: str) -> str:
    """The text as it is kept: not too long, and without what UTF-8 cannot hold."""
    return text[:LONGEST].encode(errors="replace").decode()
