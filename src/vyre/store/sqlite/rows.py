"""Values as rows and back; a row that makes no sense is refused, not guessed at."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from vyre.errors import InvalidInput
from vyre.model import (
    Config,
    Decision,
    Failed,
    Measurement,
    Outcome,
    Reason,
    Timed,
    Workload,
    config_of,
)
from vyre.store.base import Kept
from vyre.store.sound import (
    LONGEST,
    cut,
    is_sound_config,
    is_sound_decision,
    is_sound_measurement,
    is_sound_stamp,
    is_sound_workload,
)

Row = tuple[Any, ...]

_CONFIG = LONGEST  # letters of a config: more than any has
_CHOICE = 2 * _CONFIG  # of what was chosen, and instead of what
_DEFAULT, _UNFINISHED = "default", "unfinished_s"
_REASONS = frozenset(Reason)


class DamagedRow(ValueError):
    """A row that no version of this program wrote; it is left out, so nobody quotes it."""


@lru_cache(maxsize=4096)
def workload_key(workload: Workload) -> bytes:
    """The 32 bytes under which a workload is kept."""
    return bytes.fromhex(workload.key())


def workload_row(workload: Workload) -> Row:
    """A row of `workloads`."""
    return (
        workload_key(workload),
        workload.fingerprint,
        _json(list(workload.buckets)),
        _json(list(workload.traits)),
        workload.device,
        workload.toolchain,
    )


def read_workload(row: Row) -> Workload:
    """The workload of a row, which its key must name."""
    _, fingerprint, buckets, traits, device, toolchain = row
    found = (_parsed(buckets, LONGEST), _parsed(traits, 2 * LONGEST))
    if not (
        isinstance(fingerprint, bytes)
        and all(isinstance(part, list) for part in found)
        and all(type(bucket) is int for bucket in found[0])
        and all(isinstance(text, str) for text in (*found[1], device, toolchain))
    ):
        raise DamagedRow("a workload of other types")
    workload = Workload(
        fingerprint=fingerprint,
        buckets=tuple(found[0]),
        traits=tuple(found[1]),
        device=device,
        toolchain=toolchain,
    )
    if not is_sound_workload(workload) or workload_key(workload) != row[0]:
        raise DamagedRow("a workload under another key")
    return workload


@lru_cache(maxsize=4096)
def config_text(config: Config) -> str:
    """A config as JSON, every field named."""
    return _json(config.value())


def read_config(text: object) -> Config:
    """The config of its JSON."""
    if not isinstance(text, str) or len(text) > _CONFIG:
        raise DamagedRow("a config that is no short text")
    return _read_config(text)


@lru_cache(maxsize=4096)
def _read_config(text: str) -> Config:
    return _config(_parsed(text, _CONFIG))


def _config(value: object) -> Config:
    try:
        config = config_of(value)
    except InvalidInput:
        raise DamagedRow("a config that cannot be") from None
    if not is_sound_config(config):
        raise DamagedRow("a schedule that no device launches")
    return config


_CUT_SHORT = " within the budget"
"""Ends the detail of a sweep that earlier versions cut short and took for decided."""


def _choice_text(decision: Decision) -> str:
    """What was chosen, as JSON: a config, and beside its fields how it came to be chosen."""
    if decision.default is None and decision.unfinished_s is None:
        return config_text(decision.config)
    found = decision.config.value()
    if decision.default is not None:
        found[_DEFAULT] = decision.default.value()
    if decision.unfinished_s is not None:
        found[_UNFINISHED] = float(decision.unfinished_s)
    return _json(found)


def _read_choice(text: object, detail: str) -> tuple[Config, Config | None, float | None]:
    """The config of a decision, the default beside it, and what an unfinished sweep was given."""
    found = _parsed(text, _CHOICE)
    if not isinstance(found, dict):
        raise DamagedRow("a decision for no config")
    default, unfinished_s = found.pop(_DEFAULT, None), found.pop(_UNFINISHED, None)
    if unfinished_s is None and detail.endswith(_CUT_SHORT):
        unfinished_s = 0.0
    if not isinstance(unfinished_s, float | None):
        raise DamagedRow("a decision that took no number of seconds")
    return _config(found), None if default is None else _config(default), unfinished_s


def kept_row(kept: Kept) -> Row:
    """A row of `decisions`."""
    decision = kept.decision
    return (
        workload_key(decision.workload),
        _choice_text(decision),
        decision.reason.value,
        cut(decision.detail),
        decision.gain,
        decision.confidence,
        kept.stamp_ns,
        kept.writer,
        kept.used_ns,
    )


def read_kept(row: Row, workload: Workload) -> Kept:
    """What a row of `decisions` says of its workload."""
    key, schedule, reason, detail, gain, confidence, stamp_ns, writer, used_ns = row
    if not (
        isinstance(key, bytes)
        and isinstance(detail, str)
        and isinstance(writer, str)
        and isinstance(gain, float | None)
        and isinstance(confidence, float | None)
        and isinstance(stamp_ns, int)
        and isinstance(used_ns, int)
        and reason in _REASONS
    ):
        raise DamagedRow("a decision of other types")
    chosen, default, unfinished_s = _read_choice(schedule, detail)
    decision = Decision(
        workload=workload,
        config=chosen,
        reason=Reason(reason),
        detail=detail,
        gain=gain,
        confidence=confidence,
        default=default,
        unfinished_s=unfinished_s,
    )
    if not (
        is_sound_decision(decision)
        and is_sound_stamp(stamp_ns)
        and is_sound_stamp(used_ns)
        and len(writer) <= LONGEST
    ):
        raise DamagedRow("a decision beyond its bounds")
    return Kept(decision=decision, stamp_ns=stamp_ns, writer=writer, used_ns=used_ns)


def measurement_row(row: Measurement) -> Row:
    """A row of `measurements`."""
    elapsed_ns: float | None = None
    failure: str | None = None
    clock = ""
    match row.outcome:
        case Timed(elapsed_ns=time, clock=state):
            elapsed_ns, clock = float(time), state
        case Failed(reason=reason):
            failure = cut(reason)
    return (
        row.writer,
        row.sequence,
        workload_key(row.workload),
        config_text(row.outcome.config),
        elapsed_ns,
        failure,
        row.size,
        row.at_ns,
        clock,
    )


def read_measurement(row: Row, workload: Workload) -> Measurement:
    """What a row of `measurements` says of its workload."""
    writer, sequence, key, schedule, elapsed_ns, failure, size, at_ns, clock = row
    if not (
        isinstance(writer, str)
        and isinstance(key, bytes)
        and isinstance(clock, str)
        and all(isinstance(number, int) for number in (sequence, size, at_ns))
    ):
        raise DamagedRow("a measurement of other types")
    outcome: Outcome
    if isinstance(elapsed_ns, float) and failure is None:
        outcome = Timed(read_config(schedule), elapsed_ns, clock=clock)
    elif elapsed_ns is None and isinstance(failure, str) and not clock:
        outcome = Failed(read_config(schedule), failure)
    else:
        raise DamagedRow("a measurement that neither ran nor failed")
    try:
        found = Measurement(
            writer=writer,
            sequence=sequence,
            workload=workload,
            outcome=outcome,
            size=size,
            at_ns=at_ns,
        )
    except InvalidInput:
        raise DamagedRow("a measurement beyond its bounds") from None
    if not is_sound_measurement(found):
        raise DamagedRow("a measurement beyond its bounds")
    return found


def read_name(row: Row) -> tuple[str, str]:
    """A digest and what it stands for."""
    digest, text = row
    short = isinstance(digest, str) and isinstance(text, str) and len(digest) <= LONGEST
    if not short or len(text) > LONGEST:
        raise DamagedRow("a name that is no short text")
    return digest, text


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _parsed(text: object, most: int) -> Any:
    if not isinstance(text, str) or len(text) > most:
        raise DamagedRow("JSON that is no short text")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise DamagedRow("text that is not JSON") from None
