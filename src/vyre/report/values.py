"""What was learned as plain values, for `--json` and for the page."""

from __future__ import annotations

import json
import re
from math import isfinite
from typing import Any

from vyre.model import Config, Decision, DeviceInfo, Summary, Workload
from vyre.store.base import Kept

Value = dict[str, Any]

_UNUSUAL = re.compile(r"[^\n -~]")


def to_json(value: Any, *, indent: int | None = None) -> str:
    r"""The value as JSON that any reader takes, and that a terminal may show.

    A number that is none is null; what cannot be printed is escaped.

    >>> print(to_json({"gain": float("inf"), "name": "\x7f\u202eé"}))
    {"gain":null,"name":"\u007f\u202eé"}
    """
    separators = (",", ":") if indent is None else None
    text = json.dumps(
        _finite(value), indent=indent, separators=separators, ensure_ascii=False, allow_nan=False
    )
    return _UNUSUAL.sub(
        lambda found: found[0] if found[0].isprintable() else json.dumps(found[0])[1:-1], text
    )


def _finite(value: Any) -> Any:
    match value:
        case float():
            return value if isfinite(value) else None
        case dict():
            return {key: _finite(part) for key, part in value.items()}
        case list() | tuple():
            return [_finite(part) for part in value]
        case _:
            return value


def config_value(config: Config) -> Value:
    """A config in words, and by its fields."""
    return {"text": config.text, **config.value()}


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
        "schedule": config_value(decision.config),
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
    """What the measurements of one config say together."""
    return {
        "schedule": config_value(summary.config),
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
