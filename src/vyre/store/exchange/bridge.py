"""Between the store and the exchange files: what one knows, in the other's form.

A key of the Rust crate is a digest that cannot be undone. What is imported by such a key is
remembered for a workload that consists of it and the adapter, and is exported by it again.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime
from statistics import median

from vyre.errors import InvalidInput
from vyre.model import (
    Config,
    Decision,
    Knobs,
    Measurement,
    Reason,
    Schedule,
    Timed,
    Workload,
    config_order,
)
from vyre.store.base import Kept, Store
from vyre.store.exchange.autotune_store import AutotuneStore
from vyre.store.exchange.tuner_cache import TunerCache
from vyre.store.keys import AutotuneKey
from vyre.store.records import AutotuneRecord, WriterEvidence

_CACHE, _RECORD = "tuner cache", "autotune store"
_SECOND_NS = 1_000_000_000


def cache_workload(key: str, adapter: str) -> Workload:
    """What an entry of an adapter's tuner cache is remembered for."""
    return _exchanged(_CACHE, key, adapter)


def record_workload(key: AutotuneKey) -> Workload:
    """What a record of an autotune store is remembered for that names no workload itself."""
    return _exchanged(_RECORD, key.key_hex, key.adapter_id)


def import_cache(cache: TunerCache, adapter: str, store: Store, *, now_ns: int) -> None:
    """Put a cache's entries into a store; whatever the store knows of a key already stands."""
    store.absorb(
        [
            _kept(cache_workload(key, adapter), Schedule(size), "from a tuner cache", 0, now_ns)
            for key, size in cache.entries.items()
        ],
        (),
    )


def export_cache(store: Store, adapter: str) -> TunerCache:
    """A store's choices for keys of an adapter's tuner cache."""
    return TunerCache(
        {
            key: kept.decision.schedule.workgroup
            for kept in store.kept()
            if isinstance(kept.decision.config, Schedule)
            and (key := _key_in(kept.decision.workload, _CACHE)) is not None
            and kept.decision.workload.device == adapter
        }
    )


def import_records(records: AutotuneStore, store: Store, *, now_ns: int) -> None:
    """Put an autotune store's records into a store, each as of the day it was recorded.

    Evidence stays in the file: it is summed up there, and a store keeps single measurements. So
    does a tiled variant, which no schedule stands for.
    """
    store.absorb(
        [
            _kept(
                record.workload or record_workload(key),
                record.config,
                record.provenance or "from an autotune store",
                min(_day_ns(record.recorded_at), now_ns),  # nothing is recorded in the future
                now_ns,
            )
            for key, record in records
            if not any(record.tile)
        ],
        (),
    )


def export_records(store: Store, provenance: str) -> AutotuneStore:
    """A store's choices as records, with what each writer measured."""
    measured: dict[Workload, list[Measurement]] = {}
    for row in store.measurements():
        measured.setdefault(row.workload, []).append(row)
    records = {}
    for kept in store.kept():
        workload = kept.decision.workload
        if workload.traits[:1] == (_CACHE,):
            continue
        foreign = _key_in(workload, _RECORD)
        try:
            key = AutotuneKey(foreign or workload.key(), workload.device)
        except InvalidInput:
            continue  # no file can have been imported that had it
        records[key] = _record(kept, provenance, bool(foreign), measured.get(workload, []))
    return AutotuneStore(records)


def _record(
    kept: Kept, provenance: str, foreign: bool, rows: Iterable[Measurement]
) -> AutotuneRecord:
    # As they were timed: a record tells no size, and no clock, that they could be brought to.
    timed: dict[tuple[str, Config], list[tuple[float, int]]] = {}
    for row in rows:
        if isinstance(row.outcome, Timed):
            group = timed.setdefault((row.writer, row.outcome.config), [])
            group.append((row.outcome.elapsed_ns, row.at_ns))
    evidence = tuple(
        WriterEvidence(
            writer=writer,
            schedule=config,
            count=len(group),
            median_ns=median(elapsed_ns for elapsed_ns, _ in group),
            last_at_ns=max(at_ns for _, at_ns in group),
        )
        for (writer, config), group in sorted(timed.items(), key=_place)
    )
    provenance = "" if foreign else provenance
    workload = None if foreign else kept.decision.workload
    recorded_at = _day(kept.stamp_ns)
    match kept.decision.config:
        case Schedule(workgroup, code):
            return AutotuneRecord(
                workgroup_size=workgroup,
                **code.parts(),
                recorded_at=recorded_at,
                provenance=provenance,
                workload=workload,
                evidence=evidence,
            )
        case Knobs() as knobs:
            return AutotuneRecord.of_knobs(
                knobs,
                recorded_at=recorded_at,
                provenance=provenance,
                workload=workload,
                evidence=evidence,
            )


def _place(item: tuple[tuple[str, Config], object]) -> tuple[object, ...]:
    (writer, config), _ = item
    return (writer, config_order(config))


def _key_in(workload: Workload, form: str) -> str | None:
    """The key by which a workload came from an exchange file of that form."""
    known = workload.traits[1:] if workload.traits[:1] == (form,) else ()
    return known[0] if len(known) == 1 else None


def _exchanged(form: str, key: str, adapter: str) -> Workload:
    return Workload(fingerprint=b"", buckets=(), traits=(form, key), device=adapter, toolchain="")


def _kept(workload: Workload, config: Config, detail: str, stamp_ns: int, used_ns: int) -> Kept:
    decision = Decision(workload=workload, config=config, reason=Reason.REMEMBERED, detail=detail)
    return Kept(decision=decision, stamp_ns=stamp_ns, writer="", used_ns=used_ns)


def _day_ns(day: str) -> int:
    if not day:
        return 0
    at = datetime.combine(date.fromisoformat(day), datetime.min.time(), UTC)
    return max(0, int(at.timestamp())) * _SECOND_NS


def _day(stamp_ns: int) -> str:
    if stamp_ns == 0:
        return ""
    return datetime.fromtimestamp(stamp_ns // _SECOND_NS, UTC).date().isoformat()
