"""Values as rows and back; a row that makes no sense is refused, not guessed at."""

from __future__ import annotations

import json
from functools import lru_cache
from math import inf
from typing import Any

from vyre.errors import InvalidInput
from vyre.model import (
    Code,
    Decision,
    Failed,
    Measurement,
    Order,
    Outcome,
    Reason,
    Schedule,
    Timed,
    Workload,
)
from vyre.store.base import Kept

Row = tuple[Any, ...]


class DamagedRow(ValueError):
    """A row that no version of this program wrote."""


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
    """The workload of its fingerprint, buckets, traits, device and toolchain."""
    fingerprint, buckets, traits, device, toolchain = row
    found = (_parsed(buckets), _parsed(traits))
    if not (
        isinstance(fingerprint, bytes)
        and all(isinstance(part, list) for part in found)
        and all(type(bucket) is int for bucket in found[0])
        and all(isinstance(text, str) for text in (*found[1], device, toolchain))
    ):
        raise DamagedRow(f"workload {row!r}")
    return Workload(
        fingerprint=fingerprint,
        buckets=tuple(found[0]),
        traits=tuple(found[1]),
        device=device,
        toolchain=toolchain,
    )


@lru_cache(maxsize=4096)
def schedule_text(schedule: Schedule) -> str:
    """A schedule as JSON, every field named."""
    return _json(_fields(schedule))


def _fields(schedule: Schedule) -> dict[str, Any]:
    code = schedule.code
    return {
        "workgroup": list(schedule.workgroup),
        "items": code.items,
        "vector": code.vector,
        "unroll": code.unroll,
        "order": code.order,
        "checked": code.checked,
    }


@lru_cache(maxsize=4096)
def read_schedule(text: str) -> Schedule:
    """The schedule of its JSON."""
    return _schedule(_parsed(text))


def _schedule(value: object) -> Schedule:
    match value:
        case {
            "workgroup": [int() as x, int() as y, int() as z],
            "items": int() as items,
            "vector": int() as vector,
            "unroll": int() as unroll,
            "order": str() as order,
            "checked": bool() as checked,
        }:
            try:
                code = Code(
                    items=items, vector=vector, unroll=unroll, order=Order(order), checked=checked
                )
                return Schedule((x, y, z), code)
            except (InvalidInput, ValueError):
                raise DamagedRow(f"schedule {value!r}") from None
        case _:
            raise DamagedRow(f"schedule {value!r}")


_CUT_SHORT = " within the budget"
"""Ends the detail of a sweep that earlier versions cut short and took for decided."""


def _choice_text(decision: Decision) -> str:
    """What was chosen, as JSON: a schedule, and beside its fields how it came to be chosen."""
    if decision.default is None and decision.unfinished_s is None:
        return schedule_text(decision.schedule)
    found = _fields(decision.schedule)
    if decision.default is not None:
        found["default"] = _fields(decision.default)
    if decision.unfinished_s is not None:
        found["unfinished_s"] = float(decision.unfinished_s)
    return _json(found)


def _read_choice(text: object, detail: str) -> tuple[Schedule, Schedule | None, float | None]:
    """The schedule of a decision, the default beside it, and what an unfinished sweep was given."""
    found = _parsed(text)
    schedule = _schedule(found)
    default, unfinished_s = found.get("default"), found.get("unfinished_s")
    if unfinished_s is None and detail.endswith(_CUT_SHORT):
        unfinished_s = 0.0
    if not (unfinished_s is None or (type(unfinished_s) is float and 0 <= unfinished_s < inf)):
        raise DamagedRow(f"decision {text!r}")
    return schedule, None if default is None else _schedule(default), unfinished_s


def kept_row(kept: Kept) -> Row:
    """A row of `decisions`."""
    decision = kept.decision
    return (
        workload_key(decision.workload),
        _choice_text(decision),
        decision.reason.value,
        _text(decision.detail),
        decision.gain,
        decision.confidence,
        kept.stamp_ns,
        kept.writer,
        kept.used_ns,
    )


def read_kept(row: Row, workload: Workload) -> Kept:
    """What a row of `decisions`, without its key, says of its workload."""
    schedule, reason, detail, gain, confidence, stamp_ns, writer, used_ns = row
    if not (
        isinstance(detail, str)
        and isinstance(writer, str)
        and isinstance(gain, float | None)
        and isinstance(confidence, float | None)
        and isinstance(stamp_ns, int)
        and isinstance(used_ns, int)
        and reason in set(Reason)
    ):
        raise DamagedRow(f"decision {row!r}")
    chosen, default, unfinished_s = _read_choice(schedule, detail)
    return Kept(
        decision=Decision(
            workload=workload,
            schedule=chosen,
            reason=Reason(reason),
            detail=detail,
            gain=gain,
            confidence=confidence,
            default=default,
            unfinished_s=unfinished_s,
        ),
        stamp_ns=stamp_ns,
        writer=writer,
        used_ns=used_ns,
    )


def measurement_row(row: Measurement) -> Row:
    """A row of `measurements`."""
    elapsed_ns: float | None = None
    failure: str | None = None
    match row.outcome:
        case Timed(elapsed_ns=time):
            elapsed_ns = float(time)
        case Failed(reason=reason):
            failure = _text(reason)
    return (
        row.writer,
        row.sequence,
        workload_key(row.workload),
        schedule_text(row.outcome.schedule),
        elapsed_ns,
        failure,
        row.size,
        row.at_ns,
    )


def read_measurement(row: Row, workload: Workload) -> Measurement:
    """What a row of `measurements`, without its key, says of its workload."""
    writer, sequence, schedule, elapsed_ns, failure, size, at_ns = row
    outcome: Outcome
    if isinstance(elapsed_ns, float) and failure is None:
        outcome = Timed(read_schedule(schedule), elapsed_ns)
    elif elapsed_ns is None and isinstance(failure, str):
        outcome = Failed(read_schedule(schedule), failure)
    else:
        raise DamagedRow(f"measurement {row!r}")
    if not (isinstance(writer, str) and all(isinstance(n, int) for n in (sequence, size, at_ns))):
        raise DamagedRow(f"measurement {row!r}")
    try:
        return Measurement(
            writer=writer,
            sequence=sequence,
            workload=workload,
            outcome=outcome,
            size=size,
            at_ns=at_ns,
        )
    except InvalidInput:
        raise DamagedRow(f"measurement {row!r}") from None


def _text(text: str) -> str:
    """The text without what UTF-8 cannot hold, which a compiler's log may contain."""
    return text.encode(errors="replace").decode()


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _parsed(text: object) -> Any:
    if not isinstance(text, str):
        raise DamagedRow(f"{text!r} is not JSON")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise DamagedRow(f"{text!r} is not JSON") from None
