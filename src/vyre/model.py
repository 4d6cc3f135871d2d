"""The nouns shared by all layers: how a program may be run, where, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from html import escape
from math import inf, log2

import blake3

from vyre.errors import InvalidInput
from vyre.plain import plain_lines, shown

Dim3 = tuple[int, int, int]

U32_MAX = 0xFFFF_FFFF


class Order(StrEnum):
    """Which elements one invocation takes when it takes several."""

    STRIDED = "strided"  # a workgroup apart, so that neighbouring lanes touch neighbouring elements
    BLOCKED = "blocked"  # side by side


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """How a program is compiled: what a variant's source depends on.

    >>> Code(items=4, vector=4).items
    4
    """

    items: int = 1
    vector: int = 1
    unroll: int = 1
    order: Order = Order.STRIDED
    checked: bool = True

    def __post_init__(self) -> None:
        sizes: tuple[object, ...] = (self.items, self.vector, self.unroll)
        if not all(map(_is_size, sizes)):
            raise InvalidInput(
                f"a code of items {shown(self.items)}, vector {shown(self.vector)}, "
                f"unroll {shown(self.unroll)}",
                "give whole numbers of at least 1",
            )
        if self.order not in tuple(Order):
            raise InvalidInput(f"no order {shown(self.order)}", f"use one of {', '.join(Order)}")
        object.__setattr__(self, "order", Order(self.order))  # a plain "blocked" is one, too


@dataclass(frozen=True, slots=True)
class Schedule:
    """One way to run a program without changing what it computes."""

    workgroup: Dim3
    code: Code = field(default_factory=Code)

    def __post_init__(self) -> None:
        given: object = self.workgroup
        sizes: tuple[object, ...] = given if isinstance(given, tuple) else ()
        if len(sizes) != 3 or not all(map(_is_size, sizes)):
            raise InvalidInput(
                f"workgroup {shown(self.workgroup)} of a schedule",
                "give three sizes of at least 1, such as (256, 1, 1)",
            )

    @property
    def text(self) -> str:
        """The schedule in a few words.

        >>> Schedule((64, 4, 1), Code(items=2, vector=2)).text
        '64x4, 2 items strided, vectors of 2'
        """
        code = self.code
        words = ["x".join(str(n) for n in self.workgroup if n > 1) or "1"]
        if code.items > 1:
            words.append(f"{code.items} items {code.order.value}")
        if code.vector > 1:
            words.append(f"vectors of {code.vector}")
        if code.unroll > 1:
            words.append(f"unroll {code.unroll}")
        return ", ".join(words)


def schedule_order(schedule: Schedule) -> tuple[object, ...]:
    """A total order of schedules, for ties that must fall the same way everywhere."""
    code = schedule.code
    return (schedule.workgroup, code.items, code.vector, code.unroll, code.order, code.checked)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a device can launch; 0 means that it does not say."""

    max_threads: int
    max_block: Dim3
    max_grid: Dim3
    max_threads_per_unit: int = 0
    max_buffer_bytes: int = 0


class DeviceKind(StrEnum):
    """What sort of machine runs the kernels; it decides the default workgroup."""

    CPU = "cpu"
    GPU = "gpu"

    @property
    def default_width(self) -> int:
        return 64 if self is DeviceKind.CPU else 256


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceInfo:
    """A device by everything that can change which schedule wins."""

    backend: str
    model: str
    driver: str
    compiler: str
    kind: DeviceKind
    limits: Limits
    compute_units: int = 1
    memory_bytes: int = 0
    traits: Mapping[str, str] = field(default_factory=dict)

    @property
    def identity(self) -> str:
        """A stable name of the device as timings see it, never an ordinal."""
        return _digest(
            "device",
            self.backend,
            self.model,
            str(self.compute_units),
            *(f"{name}={value}" for name, value in sorted(self.traits.items())),
        )

    @property
    def toolchain(self) -> str:
        """A stable name of what turns source into machine code there."""
        return _digest("toolchain", self.backend, self.driver, self.compiler)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clocks:
    """How fast a device runs: the clock of what computes, and why it is held back, if it is."""

    mhz: int
    throttled: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not _is_size(self.mhz):
            raise InvalidInput(
                f"a clock of {shown(self.mhz)} MHz", "give a whole number of at least 1"
            )

    @property
    def state(self) -> str:
        """A label; times of one state may be compared. A clock counts in eighths of a doubling.

        >>> Clocks(mhz=1980).state, Clocks(mhz=1965, throttled=("power cap",)).state
        ('about 2048 MHz', 'about 2048 MHz, throttled')
        """
        about = round(2 ** (round(8 * log2(self.mhz)) / 8))
        return f"about {about} MHz{', throttled' if self.throttled else ''}"


STRUCTURE = "structure="
"""Begins the trait that names a program's structure, which a rename leaves alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """What a choice is remembered for: everything that may change which schedule wins."""

    fingerprint: bytes
    buckets: tuple[int, ...]
    traits: tuple[str, ...]
    device: str
    toolchain: str

    @property
    def structure(self) -> str:
        """The trait that programs share which differ in names alone; empty where it is not said."""
        return next((trait for trait in self.traits if trait.startswith(STRUCTURE)), "")

    def key(self) -> str:
        """A collision-free name over the named fields, the same in every process.

        >>> w = Workload(fingerprint=b"", buckets=(20,), traits=(), device="d", toolchain="t")
        >>> w.key() == w.key()
        True
        """
        return _digest(
            "workload",
            self.fingerprint.hex(),
            ",".join(str(bucket) for bucket in self.buckets),
            ",".join(self.traits),
            self.device,
            self.toolchain,
        )


@dataclass(frozen=True, slots=True)
class Timed:
    """A schedule that ran, and for how long on the device."""

    schedule: Schedule
    elapsed_ns: float


@dataclass(frozen=True, slots=True)
class Failed:
    """A schedule that did not run, and why."""

    schedule: Schedule
    reason: str


Outcome = Timed | Failed


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One outcome of one dispatch; `writer` and `sequence` name it for good, in any store."""

    writer: str  # the process that saw it
    sequence: int  # its place among those that this writer saw
    workload: Workload
    outcome: Outcome
    size: int  # how many elements the dispatch covered
    at_ns: int  # since 1970

    def __post_init__(self) -> None:
        numbers = (self.sequence, self.size, self.at_ns)
        if min(numbers) < 0 or max(numbers) >= 1 << 63:
            raise InvalidInput(
                f"a measurement with sequence {self.sequence}, size {self.size}"
                f" and time {self.at_ns}",
                "give numbers from 0 to 2**63 - 1",
            )
        if isinstance(self.outcome, Timed) and not 0 <= self.outcome.elapsed_ns < inf:
            raise InvalidInput(
                f"a measurement of {self.outcome.elapsed_ns} ns",
                "give a finite time of at least 0, or a Failed outcome",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What the measurements of one schedule say together."""

    schedule: Schedule
    count: int  # of those that ran
    median_ns: float | None
    spread_ns: float | None  # as `stats.spread` has it
    first_at_ns: int
    last_at_ns: int
    failures: tuple[str, ...] = ()  # each reason once
    speed: float | None = None  # the default's median over its own, where both are known


class Mode(StrEnum):
    """Whether and how a process tunes; `VYRE_AUTOTUNER` says which.

    >>> Mode.parse("NG") is Mode.NATURAL_GRADIENT
    True
    """

    ON = "on"  # sweep when a workload is first seen
    NATURAL_GRADIENT = "natural"  # learn from the dispatches that happen anyway
    OFF = "off"  # use what is remembered, measure and write nothing

    @property
    def writes(self) -> bool:
        """Whether anything may be measured and written."""
        return self is not Mode.OFF

    @classmethod
    def parse(cls, word: object) -> Mode:
        """The mode that `word` names, whatever its case.

        Raises:
            InvalidInput: it names none.
        """
        names = {"on": cls.ON, "natural": cls.NATURAL_GRADIENT, "ng": cls.NATURAL_GRADIENT}
        names |= {"off": cls.OFF, "default": cls.OFF}
        mode = names.get(word.strip().lower()) if isinstance(word, str) else None
        if mode is None:
            raise InvalidInput(f"no mode {shown(word)}", f"use one of {', '.join(names)}")
        return mode


class Reason(StrEnum):
    """Where a decision comes from."""

    OVERRIDE = "override"
    OFF = "off"
    NOT_FREE = "not free"
    REMEMBERED = "remembered"
    TRANSFERRED = "transferred"
    COLD_START = "cold start"
    PROBE = "probe"
    ADOPTED = "adopted"
    TAKEN_BACK = "taken back"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A schedule chosen, and why."""

    workload: Workload
    schedule: Schedule
    reason: Reason
    detail: str = ""
    gain: float | None = None  # default time / chosen time, where both were measured
    confidence: float | None = None
    default: Schedule | None = None  # what the gain is counted against, where that is known
    unfinished_s: float | None = None  # what a sweep was given that did not see everything in it

    def _repr_html_(self) -> str:
        rows = [
            ("runs", self.schedule.text),
            ("because", ": ".join(filter(None, (self.reason.value, self.detail)))),
            ("gain", "" if self.gain is None else f"{self.gain:.2f}x the default's speed"),
            ("confidence", "" if self.confidence is None else f"{self.confidence:.0%}"),
        ]
        return html_rows("Decision", rows)


_UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))


def span(ns: float) -> str:
    """A span of time with three digits.

    >>> span(1234), span(56_700_000), span(0)
    ('1.23 µs', '56.7 ms', '0 ns')
    """
    for factor, unit in _UNITS:
        if abs(ns) >= factor:
            digits = 0 if abs(ns) / factor >= 100 else 1 if abs(ns) / factor >= 10 else 2
            return f"{ns / factor:.{digits}f} {unit}"
    return f"{ns:.0f} ns"


def html_rows(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """A small table for notebooks, in their own colours; rows that say nothing are left out."""
    cells = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th>"
        f"<td style='text-align:left;white-space:pre-wrap'>{escape(plain_lines(text))}</td></tr>"
        for name, text in rows
        if text
    )
    return f"<div><b>{escape(title)}</b><table>{cells}</table></div>"


def _is_size(size: object) -> bool:
    return isinstance(size, int) and not isinstance(size, bool) and size >= 1


def _digest(*parts: str) -> str:
    """BLAKE3 over length-prefixed parts, so that no two lists share a digest by joining."""
    hasher = blake3.blake3()
    for part in parts:
        data = part.encode()
        hasher.update(len(data).to_bytes(8, "little") + data)
    return hasher.hexdigest()
