"""The nouns shared by all layers: how a program may be run, where, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from html import escape
from math import inf, isfinite, log2, prod
from operator import attrgetter
from typing import Any

import blake3

from vyre.errors import InvalidInput
from vyre.plain import is_utf8, plain_lines, shown

Dim3 = tuple[int, int, int]

U32_MAX = 0xFFFF_FFFF


class Order(StrEnum):
    """Which elements one invocation takes when it takes several."""

    STRIDED = "strided"  # a workgroup apart, so that neighbouring lanes touch neighbouring elements
    BLOCKED = "blocked"  # side by side; of a tile's rows, all of one vector's columns at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a schedule says beside its workgroup; each part is here what it is unless it is said.

    All that keeps, shows or reads schedules goes by these fields, and by `WORDS`.
    """

    items: int = 1
    vector: int = 1
    unroll: int = 1
    order: Order = Order.STRIDED
    checked: bool = True
    rows: int = 1
    staged: bool = False  # what rows share is brought together before they read it
    lines: int = 1  # of items, one below the other, that an invocation takes along y
    planes: int = 1  # the same along z
    depth: int = 0  # rounds of a loop whose reads go through workgroup memory at once; 0: none do
    loaders: int = 0  # more invocations for each one of a workgroup, that only fill its memory
    fitted: bool = False  # compiled for the schedule's workgroup alone, and for whole tiles
    streamed: bool = False  # caches are told to give up what is stored before anything else
    sized: bool = False  # compiled for the schedule's workgroup alone, one of those that are named
    lanes: int = 1  # that share the rounds of one invocation's reductions: a team
    across: bool = False  # a team, or one invocation, stands for a row of positions along x
    shares: int = 1  # teams that share the rounds of one invocation, the last of which goes on
    keeps: int = 0  # rounds of each lane of a team, of which it keeps what is computed again
    abreast: int = 1  # teams that have a lane each in every row of a workgroup

    def parts(self) -> dict[str, Any]:
        """Every part by its name."""
        return {name: getattr(self, name) for name in PARTS}


PARTS: Mapping[str, int | Order] = {
    part.name: getattr(Parts(), part.name) for part in fields(Parts)
}
"""What each part is where nothing is said, in their order; a new one goes last."""

FLAGS = tuple(name for name, usual in PARTS.items() if isinstance(usual, bool))
"""Parts that are true or false."""

SIZES = tuple(name for name, usual in PARTS.items() if usual == 1 and name not in FLAGS)
"""Parts that are numbers of at least 1."""

COUNTS = tuple(name for name, usual in PARTS.items() if usual == 0 and name not in FLAGS)
"""Parts that are numbers of at least 0."""

WORDS = {
    "vector": "vectors of {}",
    "rows": "{} rows",
    "staged": "staged",
    "lines": "{} lines",
    "planes": "{} planes",
    "depth": "depth {}",
    "loaders": "loaders {}",
    "fitted": "fitted",
    "streamed": "streamed",
    "unroll": "unroll {}",
    "lanes": "teams of {}",
    "across": "across rows",
    "shares": "{} shares",
    "keeps": "{} kept",
    "abreast": "{} abreast",
}
"""How a text says a part that is not as usual; `items` and `order` are said in one."""

UNSAID = ("checked", "sized")
"""Parts that no text says, as they follow from the kernel and its launch."""

_OLDEST = ("items", "vector", "unroll", "order", "checked")
"""Parts that are always kept: versions that know no others want them said."""

_sizes, _counts = attrgetter(*SIZES), attrgetter(*COUNTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Code(Parts):
    """How a program is compiled: what a variant's source depends on.

    >>> Code(items=4, vector=4).items
    4
    """

    group: Dim3 | None = None  # the workgroup that it is compiled for alone; its schedule's

    def __post_init__(self) -> None:
        if not all(map(_is_size, _sizes(self))):
            raise InvalidInput(f"a code of {self._said(SIZES)}", "give whole numbers of at least 1")
        if not all(map(_is_count, _counts(self))):
            raise InvalidInput(
                f"a code of {self._said(COUNTS)}", "give whole numbers of at least 0"
            )
        if self.loaders and not self.depth:
            raise InvalidInput(
                f"loaders {self.loaders} of a code that fills no workgroup memory",
                "give a depth of at least 1 as well",
            )
        if self.order not in tuple(Order):
            raise InvalidInput(f"no order {shown(self.order)}", f"use one of {', '.join(Order)}")
        object.__setattr__(self, "order", Order(self.order))  # a plain "blocked" is one, too

    def __hash__(self) -> int:
        # A dataclass would hash the enum as well, which takes as long as all the rest; a part that
        # is not here makes no two equal.
        blocked = self.order is Order.BLOCKED
        sizes = (self.items, self.vector, self.unroll, self.rows, self.lines)
        team = (self.lanes, self.shares, self.keeps, self.abreast)
        return hash((sizes, team, blocked, self.checked, self.staged, self.depth, self.group))

    def _said(self, names: Iterable[str]) -> str:
        return ", ".join(f"{name} {shown(getattr(self, name))}" for name in names)

    @property
    def items_by_axis(self) -> Dim3:
        """How many positions an invocation takes along each axis."""
        return self.items, self.lines, self.planes

    @property
    def at_once(self) -> int:
        """Elements that its items access at once: what is brought for them may be wider."""
        return min(self.vector, self.items)

    def value(self) -> dict[str, Any]:
        """What stores and reports keep of it; newer parts only where they say something."""
        kept = {
            name: found
            for name, usual in PARTS.items()
            if (found := getattr(self, name)) != usual or name in _OLDEST
        }
        return {**kept, "order": self.order.value}


@dataclass(frozen=True, slots=True)
class Schedule:
    """One way to run a program of Vyre's without changing what it computes."""

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
        code: object = self.code
        if not isinstance(code, Code):
            raise InvalidInput(
                f"code {shown(code)} of a schedule", "give a vyre.Code, or leave it out"
            )
        laid_out = self.workgroup if code.depth or code.fitted or code.sized else None
        if code.group not in (None, laid_out):
            raise InvalidInput(
                f"workgroup {self.workgroup} of a code for {code.group}",
                f"use {code.group}, or a code of no group",
            )
        if code.group != laid_out:
            object.__setattr__(self, "code", replace(code, group=laid_out))

    @property
    def block(self) -> Dim3:
        """The invocations that are launched for one workgroup."""
        x, y, z = self.workgroup
        return x, y, z * (1 + self.code.loaders)

    @property
    def tile(self) -> Dim3:
        """The positions that one workgroup covers."""
        x, y, z = self.workgroup
        code = self.code
        if code.abreast > 1:  # its rows are lanes
            return x, 1, z
        if code.lanes > 1 or code.across:
            return U32_MAX + 1 if code.across else max(x // code.lanes, 1) * code.items, y, z
        return x * code.items, y * code.lines, z * code.planes

    @property
    def text(self) -> str:
        """The schedule in a few words; what follows from the kernel is not among them (`UNSAID`).

        >>> Schedule((64, 4, 1), Code(items=2, vector=2)).text
        '64x4, 2 items strided, vectors of 2'
        >>> Schedule((512, 8, 1), Code(vector=32, rows=4, order=Order.BLOCKED)).text
        '512x8, vectors of 32, 4 rows, blocked'
        """
        code = self.code
        width = max((axis for axis in (1, 2, 3) if self.workgroup[axis - 1] > 1), default=1)
        words = ["x".join(map(str, self.workgroup[:width]))]
        if code.items > 1:
            words.append(f"{code.items} items {code.order.value}")
        words += [
            form.format(found)
            for name, form in WORDS.items()
            if (found := getattr(code, name)) != PARTS[name]
        ]
        if code.order is Order.BLOCKED and code.items == 1:
            words.append("blocked")
        return ", ".join(words)

    @property
    def build(self) -> Code:
        """What has to be compiled for it: equals share a binary."""
        return self.code

    def value(self) -> dict[str, Any]:
        """What stores and reports keep of it; `of` reads it back."""
        return {"workgroup": list(self.workgroup), **self.code.value()}

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> Schedule:
        """The schedule of its value; a field that is missing has its default.

        Raises:
            InvalidInput: a field is not known, or holds what it cannot.
        """
        unknown = value.keys() - {"workgroup", *PARTS}
        if unknown:
            raise InvalidInput(
                f"a schedule with {', '.join(sorted(map(shown, unknown)))}",
                "upgrade vyre: another version has written it",
            )
        workgroup = value.get("workgroup")
        wrong = [name for name in FLAGS if not isinstance(value.get(name, PARTS[name]), bool)]
        if not isinstance(workgroup, list | tuple):
            wrong.insert(0, "workgroup")
        if wrong or not isinstance(workgroup, list | tuple):
            said = ", ".join(f"{name} {shown(value.get(name))}" for name in wrong)
            raise InvalidInput(f"{said} of a schedule", "give three sizes, and true or false")
        return cls(tuple(workgroup), Code(**{k: v for k, v in value.items() if k != "workgroup"}))

    def place(self) -> tuple[float, ...]:
        """Where it lies among others, in doublings; what has no size counts as half a doubling."""
        # One by one, because whole spaces are placed: a loop over the parts takes thrice as long.
        code, (_, y, z) = self.code, self.workgroup
        return (
            log2(prod(self.workgroup)),
            0.5 * log2(y * z),
            log2(code.items),
            log2(code.vector),
            0.5 * log2(code.unroll),
            0.5 * (code.order is Order.BLOCKED),
            0.5 * code.checked,
            log2(code.rows),
            0.5 * code.staged,
            log2(code.lines),
            log2(code.planes),
            0.5 * log2(1 + code.depth),
            0.5 * log2(1 + code.loaders),
            0.25 * code.fitted,
            0.25 * code.streamed,
            0.25 * code.sized,
            log2(code.lanes),
            0.25 * code.across,
            0.5 * log2(code.shares),
            0.25 * log2(1 + code.keeps),
            0.5 * log2(code.abreast),
        )


MOST_KNOBS, MOST_LETTERS = 64, 1024
"""Of one config: so many can be kept and shown whatever they are."""

Setting = bool | int | float | str
"""What a parameter of somebody's kernel can be set to."""


@dataclass(frozen=True, slots=True, eq=False)
class Knobs:
    """One way to run what Vyre did not write: its parameters, by name.

    >>> knobs = Knobs.of({"BLOCK": 256, "num_warps": 4})
    >>> knobs.text, knobs["BLOCK"]
    ('BLOCK=256, num_warps=4', 256)
    """

    settings: tuple[tuple[str, Setting], ...]

    def __post_init__(self) -> None:
        given: object = self.settings
        pairs = given if isinstance(given, tuple) else (given,)
        for pair in pairs:
            name, setting = pair if isinstance(pair, tuple) and len(pair) == 2 else (pair, None)
            if not isinstance(name, str) or not is_utf8(name) or not is_setting(setting):
                raise InvalidInput(
                    f"{shown(pair)} among knobs",
                    "give pairs of a name and a plain number of 64 bits, a text, or true or false",
                )
        if len({name for name, _ in self.settings}) < len(self.settings):
            raise InvalidInput(f"knobs that name one twice: {self.text}", "give each name once")
        letters = sum(len(part) for pair in self.settings for part in pair if isinstance(part, str))
        if len(self.settings) > MOST_KNOBS or letters > MOST_LETTERS:
            raise InvalidInput(
                f"{len(self.settings)} knobs of {letters} letters",
                f"give at most {MOST_KNOBS} of {MOST_LETTERS} letters together",
            )

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Knobs:
        """The knobs of a mapping, in its order.

        Raises:
            InvalidInput: it is none, a name is no text, or a setting is none.
        """
        given: object = settings
        if not isinstance(given, Mapping):
            raise InvalidInput(f"knobs of {shown(given)}", 'give a mapping, such as {"BLOCK": 64}')
        return cls(tuple(given.items()))

    def __getitem__(self, name: str) -> Setting:
        return dict(self.settings)[name]

    def __hash__(self) -> int:
        return hash(self._exactly)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Knobs) and self._exactly == other._exactly

    @property
    def _exactly(self) -> tuple[object, ...]:
        """What two are equal by: 1, 1.0 and True are three settings, whatever Python says."""
        return tuple((name, type(setting).__name__, setting) for name, setting in self.settings)

    @property
    def text(self) -> str:
        """The knobs in a few words."""
        return ", ".join(f"{name}={setting}" for name, setting in self.settings) or "as it is"

    @property
    def build(self) -> Knobs:
        """What has to be prepared for them: each differs in all it does, for all one knows."""
        return self

    def value(self) -> dict[str, Any]:
        """What stores and reports keep of them; `config_of` reads it back."""
        return {"knobs": dict(self.settings)}

    def place(self) -> tuple[float, ...]:
        """Where they lie among others that have the same names, in doublings."""
        return tuple(at for part in self.placed().values() for at in part)

    def placed(self) -> dict[str, tuple[float, ...]]:
        """The place of each setting, by its name and whether it has a size."""
        return {
            f"{name}:{'word' if isinstance(one, str) else 'size'}": _placed(one)
            for name, one in self.settings
        }


Config = Schedule | Knobs
"""One way to run something: a few words, a value to keep, a place among others."""


def config_of(value: object) -> Config:
    """The config of what its `value` gave.

    Raises:
        InvalidInput: it is none, or has fields that this version does not know.
    """
    if not isinstance(value, Mapping):
        raise InvalidInput(f"a config of {shown(value)}", "give what its value() gave")
    if "knobs" not in value:
        return Schedule.of(value)
    if value.keys() != {"knobs"} or not isinstance(value["knobs"], Mapping):
        raise InvalidInput(f"knobs of {shown(value)}", "give what their value() gave")
    return Knobs.of(value["knobs"])


def scheduled(config: Config) -> Schedule:
    """The config as what runs one of Vyre's own kernels."""
    assert isinstance(config, Schedule), f"{config.text} runs no kernel of Vyre's"
    return config


_ORDER_FIRST = ("items", "vector", "unroll", "rows")
_ordered = attrgetter(*_ORDER_FIRST, *(name for name in PARTS if name not in _ORDER_FIRST))


def config_order(config: Config) -> tuple[object, ...]:
    """A total order of configs, for ties that must fall the same way everywhere."""
    match config:
        case Schedule(workgroup, code):
            return (0, workgroup, *_ordered(code))
        case Knobs(settings):
            return (1, tuple((name, type(one).__name__, one) for name, one in settings))


def is_setting(setting: object) -> bool:
    """Whether a knob may have it: a number that is finite and of 64 bits, a text, true or false."""
    match setting:
        case float():
            return isfinite(setting)
        case bool():
            return True
        case int():
            return abs(setting) < 1 << 63
        case str():
            return is_utf8(setting)
        case _:
            return False


def _doublings(number: float) -> float:
    """The logarithm of a number, continued below 0, where there is none."""
    if number <= 0:
        return -1.0 if number == 0 else -2.0 - _doublings(1 - number)
    return log2(number) if number < 2**1000 else 1000.0


def _placed(setting: Setting) -> tuple[float, ...]:
    """The coordinates of one setting: sizes by their doublings, words anywhere near each other."""
    match setting:
        case bool():
            return (0.5 * setting,)
        case int() | float():
            return (_doublings(setting),)
        case str():
            # A word has no neighbours: two lie about half a doubling apart, wherever they are.
            spread = blake3.blake3(setting.encode(errors="replace")).digest(length=4)
            return tuple(byte / 255.0 * 0.6 for byte in spread)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a device can launch; 0 means that it does not say."""

    max_threads: int
    max_block: Dim3
    max_grid: Dim3
    max_threads_per_unit: int = 0
    max_buffer_bytes: int = 0
    group_bytes: int = 0  # of memory that the invocations of a workgroup share
    cache_bytes: int = 0  # of the largest cache, which all units share
    lockstep: int = 0  # lanes that tell each other what they have; 0 where that takes memory


class DeviceKind(StrEnum):
    """What sort of machine runs the kernels; it decides the default workgroup."""

    CPU = "cpu"
    GPU = "gpu"

    @property
    def default_width(self) -> int:
        return 64 if self is DeviceKind.CPU else 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Simd:
    """A processor whose invocations are lanes of its vectors, which tiles of work go through."""

    lanes: int  # of 32 bits, in one register
    l1_bytes: int
    l2_bytes: int


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
    simd: Simd | None = None  # where a code's vector is how many invocations run in lockstep

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
        return f"about {about} MHz{_THROTTLED if self.throttled else ''}"


_THROTTLED = ", throttled"


def is_throttled(state: str) -> bool:
    """Whether a state of clocks is one in which the device was held back.

    >>> is_throttled(Clocks(mhz=900, throttled=("heat",)).state), is_throttled("")
    (True, False)
    """
    return state.endswith(_THROTTLED)


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
    """A config that ran, and for how long on the device."""

    config: Config
    elapsed_ns: float
    idle_ns: float = field(default=0.0, compare=False, repr=False)  # of the device, per launch
    clock: str = ""  # the state of its clocks, as `Clocks` says it; empty where it does not tell
    share: float = field(default=1.0, compare=False, repr=False)  # of a dispatch, that ran so


@dataclass(frozen=True, slots=True)
class Failed:
    """A config that did not run, and why."""

    config: Config
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
    """What the measurements of one config say together."""

    config: Config
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
    """A config chosen, and why."""

    workload: Workload
    config: Config
    reason: Reason
    detail: str = ""
    gain: float | None = None  # default time / chosen time, where both were measured
    confidence: float | None = None
    default: Config | None = None  # what the gain is counted against, where that is known
    unfinished_s: float | None = None  # what a sweep was given that did not see everything in it

    @property
    def schedule(self) -> Schedule:
        """The config of one of Vyre's own kernels, which is a schedule."""
        return scheduled(self.config)

    def _repr_html_(self) -> str:
        rows = [
            ("runs", self.config.text),
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


def _is_count(count: object) -> bool:
    return isinstance(count, int) and not isinstance(count, bool) and count >= 0


def _is_size(size: object) -> bool:
    return isinstance(size, int) and not isinstance(size, bool) and size >= 1


def _digest(*parts: str) -> str:
    """BLAKE3 over length-prefixed parts, so that no two lists share a digest by joining."""
    hasher = blake3.blake3()
    for part in parts:
        data = part.encode()
        hasher.update(len(data).to_bytes(8, "little") + data)
    return hasher.hexdigest()
