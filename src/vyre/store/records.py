"""What an autotune store keeps of a race of variants: who won, when, and what was measured."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date
from math import inf

from vyre.errors import InvalidInput
from vyre.model import (
    COUNTS,
    SIZES,
    Code,
    Config,
    Dim3,
    Knobs,
    Parts,
    Schedule,
    Workload,
    config_order,
)
from vyre.plain import shown
from vyre.store.fields import dim3, u32

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterEvidence:
    """What one process measured of one config."""

    writer: str
    schedule: Config
    count: int
    median_ns: float
    last_at_ns: int

    def __post_init__(self) -> None:
        if self.count < 1 or self.last_at_ns < 0 or not 0 <= self.median_ns < inf:
            raise InvalidInput(
                f"evidence of {self.count} times with a median of {self.median_ns} ns",
                "give at least one time, and times from 0",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class AutotuneRecord(Parts):
    """What won a race of variants, and the day it did.

    Schema 1 has its workgroup, unroll, tile and day; schema 2 alone keeps the rest.
    """

    workgroup_size: Dim3
    tile: Dim3 = (0, 0, 0)  # all zeros: not tiled
    recorded_at: str = ""  # YYYY-MM-DD, or empty
    provenance: str = ""
    workload: Workload | None = None
    evidence: tuple[WriterEvidence, ...] = ()
    knobs: Knobs | None = None  # of a kernel that Vyre did not write, in place of a schedule

    @classmethod
    def of_knobs(
        cls,
        knobs: Knobs,
        *,
        recorded_at: str = "",
        provenance: str = "",
        workload: Workload | None = None,
        evidence: tuple[WriterEvidence, ...] = (),
    ) -> AutotuneRecord:
        """What won for a kernel that Vyre did not write; it says nothing of a schedule.

        >>> AutotuneRecord.of_knobs(Knobs.of({"BLOCK": 256})).config.text
        'BLOCK=256'
        """
        return cls(
            workgroup_size=(1, 1, 1),
            recorded_at=recorded_at,
            provenance=provenance,
            workload=workload,
            evidence=evidence,
            knobs=knobs,
        )

    def __post_init__(self) -> None:
        dim3("workgroup_size", self.workgroup_size)
        dim3("tile", self.tile)
        if 0 in self.workgroup_size:
            raise InvalidInput(
                f"workgroup_size {self.workgroup_size} has an axis of 0",
                "give every axis at least 1",
            )
        if any(self.tile) and not all(self.tile):
            raise InvalidInput(
                f"tile {self.tile} has an axis of 0 beside others",
                "give every axis at least 1, or (0, 0, 0) for a variant that is not tiled",
            )
        if self.recorded_at and not _is_day(self.recorded_at):
            raise InvalidInput(
                f"recorded_at {self.recorded_at!r} is not a day",
                "write it as YYYY-MM-DD, or leave it empty",
            )
        for name in (*SIZES, *COUNTS):
            u32(name, getattr(self, name))
            if getattr(self, name) == 0 and name in SIZES and name != "unroll":
                raise InvalidInput(f"{name} is 0", "give at least 1")
        schedule = self.schedule  # it refuses parts that do not go together
        if self.knobs is not None and (schedule != _NO_SCHEDULE or any(self.tile)):
            raise InvalidInput(
                f"knobs {shown(self.knobs.text)} beside the schedule {schedule.text}",
                "give one of them",
            )

    @property
    def extended(self) -> bool:
        """Whether it says something that schema 1 has no field for."""
        plain = AutotuneRecord(
            workgroup_size=self.workgroup_size,
            unroll=self.unroll,
            tile=self.tile,
            recorded_at=self.recorded_at,
        )
        return self != plain

    @property
    def config(self) -> Config:
        """What it names: knobs, or a schedule."""
        return self.schedule if self.knobs is None else self.knobs

    @property
    def schedule(self) -> Schedule:
        """The schedule that it names; one that is not unrolled may say 0 or 1."""
        code = Code(**{**self.parts(), "unroll": max(self.unroll, 1)})
        return Schedule(self.workgroup_size, code)

    def joined(self, other: AutotuneRecord) -> AutotuneRecord:
        """The later of two for one key, with the evidence of both."""
        return max(self, other, key=_record_order).with_evidence_of(self).with_evidence_of(other)

    def with_evidence_of(self, other: AutotuneRecord) -> AutotuneRecord:
        """This record, with what `other` says was measured; of one writer, the larger count."""
        best: dict[tuple[str, Config], WriterEvidence] = {}
        for item in (*self.evidence, *other.evidence):
            name = (item.writer, item.schedule)
            best[name] = max(best.get(name, item), item, key=_evidence_order)
        return replace(self, evidence=tuple(sorted(best.values(), key=_evidence_place)))


_NO_SCHEDULE = Schedule((1, 1, 1))


def _record_order(record: AutotuneRecord) -> tuple[object, ...]:
    workload = record.workload.key() if record.workload else ""
    parts = record.parts()
    items, vector, unroll = (parts.pop(name) for name in ("items", "vector", "unroll"))
    return (
        record.recorded_at,
        *(record.workgroup_size, items, vector, unroll, record.tile),
        *parts.values(),
        record.provenance,
        workload,
        () if record.knobs is None else config_order(record.knobs),
    )


def _evidence_order(item: WriterEvidence) -> tuple[object, ...]:
    return (item.count, item.last_at_ns, item.median_ns)


def _evidence_place(item: WriterEvidence) -> tuple[object, ...]:
    return (item.writer, config_order(item.schedule))


def _is_day(text: str) -> bool:
    if not _DAY.fullmatch(text):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
