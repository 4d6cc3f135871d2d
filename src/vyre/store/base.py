"""What every store offers, and the rule by which two of them become one.

Measurements are rows with an identity and merge as a set union. Of two decisions for one workload
the later stamp wins. Both rules give the same result in any order and any number of times.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from vyre.errors import InvalidInput
from vyre.model import Decision, Measurement, Summary, Workload, config_order
from vyre.store.sound import LATEST_NS, sound_confidence, sound_gain, sound_span

DAY_NS = 24 * 3600 * 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A decision as a store keeps it, with what decides between two for one workload."""

    decision: Decision
    stamp_ns: int  # when it was put; above that of the one it replaced
    writer: str
    used_ns: int  # when it was last asked for, to the day

    def joined(self, other: Kept) -> Kept:
        """The later of two for one workload, last used when either was."""
        later = max(self, other, key=_rank)
        return replace(later, used_ns=max(self.used_ns, other.used_ns))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How much a store may hold; what was used longest ago goes first."""

    decisions: int = 100_000
    measurements: int = 1_000_000
    size_bytes: int = 256 << 20
    age_ns: int = 365 * DAY_NS  # of a measurement, and of a decision's last use

    def __post_init__(self) -> None:
        if min(self.decisions, self.measurements, self.size_bytes, self.age_ns) < 0:
            raise InvalidInput(f"{self} has a bound below 0", "give bounds of at least 0")


@dataclass(frozen=True, slots=True)
class Pruned:
    """How many rows a pruning removed."""

    decisions: int = 0
    measurements: int = 0


class Decisions(Protocol):
    """Remembers one decision per workload. `put` wins over whatever this store held before."""

    def get(self, workload: Workload) -> Decision | None: ...
    def put(self, *decisions: Decision) -> None: ...
    def used(self, workloads: Iterable[Workload]) -> None: ...
    def kept(self) -> Iterator[Kept]: ...
    def related(self, workload: Workload) -> list[Decision]:
        """Decisions for the same or a structurally equal program, on this device and toolchain."""
        ...


class Evidence(Protocol):
    """Remembers measurements, each once."""

    def append(self, rows: Iterable[Measurement]) -> None: ...
    def measurements(self, workload: Workload | None = None) -> Iterator[Measurement]: ...
    def summaries(self, workload: Workload) -> tuple[Summary, ...]: ...


class Naming(Protocol):
    """Remembers what digests stand for, for people: kernels, devices and toolchains."""

    def name(self, names: Mapping[str, str]) -> None: ...
    def names(self) -> dict[str, str]: ...


class Upkeep(Protocol):
    """Takes in what another store holds, and stays small."""

    def absorb(self, kept: Iterable[Kept], rows: Iterable[Measurement]) -> None: ...
    def prune(self, bounds: Bounds) -> Pruned: ...
    def close(self) -> None: ...


class Store(Decisions, Evidence, Naming, Upkeep, Protocol):
    """What was learned, kept. Read by one thread at a time, and written by one at a time.

    A method that cannot read or write raises StoreFailed and leaves what was there.
    """


def merge_into(target: Store, *sources: Store, now_ns: int | None = None) -> None:
    """Give `target` everything the sources hold; the order of stores does not matter.

    With `now_ns`, what they decided in the future is left out.
    """
    for source in sources:
        kept = (item for item in source.kept() if now_ns is None or is_from_now(item, now_ns))
        target.absorb(kept, source.measurements())
        known = target.names()
        target.name({key: text for key, text in source.names().items() if key not in known})


def stamp_after(now_ns: int, existing: Kept | None) -> int:
    """A stamp for what is put now, above that of what it replaces even if a clock went back.

    There is a last one: above it nothing can be kept, so what is put then has the same.
    """
    later = now_ns if existing is None else max(now_ns, existing.stamp_ns + 1)
    return min(max(later, 0), LATEST_NS - 1)


def is_from_now(item: object, now_ns: int) -> bool:
    """Whether something of another was not decided in the future, where nothing could replace it.

    Clocks differ, so tomorrow still counts as now.
    """
    return not isinstance(item, Kept) or item.stamp_ns <= now_ns + DAY_NS


def is_related(workload: Workload, other: Workload) -> bool:
    """Whether what was learned for one may serve as a guess for the other."""
    return (
        workload != other
        and (workload.device, workload.toolchain) == (other.device, other.toolchain)
        and (
            workload.fingerprint == other.fingerprint or workload.structure == other.structure != ""
        )
    )


def tidy(decision: Decision) -> Decision:
    """The decision without numbers that do not compare."""
    return replace(
        decision,
        gain=sound_gain(decision.gain),
        confidence=sound_confidence(decision.confidence),
        unfinished_s=sound_span(decision.unfinished_s),
    )


def _rank(kept: Kept) -> tuple[object, ...]:
    decision = kept.decision
    return (
        kept.stamp_ns,
        kept.writer,
        config_order(decision.config),
        decision.reason,
        decision.detail,
        float("-inf") if decision.gain is None else decision.gain,
        float("-inf") if decision.confidence is None else decision.confidence,
        () if decision.default is None else config_order(decision.default),
        float("-inf") if decision.unfinished_s is None else decision.unfinished_s,
    )
