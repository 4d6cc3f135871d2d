"""What was learned as plain values, for `--json` and for the page."""

from __future__ import annotations

from typing import Any

from vyre.model import Decision, DeviceInfo, Schedule, Summary, Workload
from vyre.store.base import Kept

Value = dict[str, Any]


def schedule_value(schedule: Schedule) -> Value:
    """A schedule by its fields, and in words."""
    code = schedule.code
    return {
        "text": schedule.text,
        "workgroup": list(schedule.workgroup),
        "items": code.items,
        "vector": code.vector,
        "unroll": code.unroll,
        "order": code.order.value,
        "checked": code.checked,
    }


def workload_value(workload: Workload) -> Value:
    """A workload by its key and fields."""
    return {
        "key": workload.key(),
        "fingerprint": workload.fingerprint.hex(),
        "buckets": list(workload.buckets),
        "traits": list(workload.traits),
        "device": workload.device,
        "toolchain": workload.toolchain,
    }


def decision_value(decision: Decision) -> Value:
    """A decision without its workload."""
    return {
        "schedule": schedule_value(decision.schedule),
        "reason": decision.reason.value,
        "detail": decision.detail,
        "gain": decision.gain,
        "confidence": decision.confidence,
        "unfinished_s": decision.unfinished_s,
    }


def kept_value(kept: Kept) -> Value:
    """A decision as a store keeps it."""
    return {
        "workload": workload_value(kept.decision.workload),
        **decision_value(kept.decision),
        "decided_at_ns": kept.stamp_ns,
        "used_at_ns": kept.used_ns,
        "writer": kept.writer,
    }


def summary_value(summary: Summary) -> Value:
    """What the measurements of one schedule say together."""
    return {
        "schedule": schedule_value(summary.schedule),
        "count": summary.count,
        "median_ns": summary.median_ns,
        "spread_ns": summary.spread_ns,
        "speed": summary.speed,
        "first_at_ns": summary.first_at_ns,
        "last_at_ns": summary.last_at_ns,
        "failures": list(summary.failures),
    }


def device_value(name: str, info: DeviceInfo) -> Value:
    """A device by what is worth knowing of it."""
    return {
        "name": name,
        "model": info.model,
        "kind": info.kind.value,
        "backend": info.backend,
        "driver": info.driver,
        "compiler": info.compiler,
        "compute_units": info.compute_units,
        "memory_bytes": info.memory_bytes,
        "identity": info.identity,
        "toolchain": info.toolchain,
    }
