"""What the measurements of a workload say together, for all who start from them or show them.

Times of one workload differ in size, and were taken in different processes and at different clocks
of the device. Here they are brought to the workload's usual size, by `trend`, and to one speed of
the machine, by the default's times of each process and state of the clocks; so a ratio to the
default is one of like with like.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, log
from statistics import median

from vyre.model import (
    Config,
    Decision,
    Failed,
    Knobs,
    Measurement,
    Reason,
    Schedule,
    Summary,
    Timed,
    config_order,
)
from vyre.policy.trend import Trend
from vyre.stats import spread

SHORTEST_NS, LONGEST_NS = 1e-3, 1e15
"""To eleven days: what is not within them is no time of a launch, whoever says so."""

APART = 8
"""How far sizes of one workload lie apart: a factor of two along each of three axes."""

_ENOUGH = 4096  # of the latest times tell how they grow with size
_FEW = 3.0  # times of the default in a process, from which on its speed is rather believed than not


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What is known of the schedules of a workload; every time is as of its usual size."""

    size: int = 0  # the usual one; 0 where there is none
    default: Config | None = None
    summaries: tuple[Summary, ...] = ()
    steps: tuple[tuple[Config, float], ...] = ()  # each timing, as they came

    def of(self, config: Config | None) -> Summary | None:
        """What is known of one schedule."""
        return next((one for one in self.summaries if one.config == config), None)

    def time_of(self, config: Config | None) -> float | None:
        """The median of a schedule's times, in nanoseconds."""
        found = self.of(config)
        return None if found is None else found.median_ns

    @property
    def fastest(self) -> tuple[Summary, ...]:
        """What was timed, the fastest first."""
        timed = [one for one in self.summaries if one.median_ns is not None]
        return tuple(sorted(timed, key=lambda one: one.median_ns or 0.0))

    @property
    def failures(self) -> tuple[tuple[Config, str], ...]:
        """What failed, with each reason."""
        return tuple((one.config, why) for one in self.summaries for why in one.failures)

    def weigh(self, decision: Decision) -> Decision:
        """The decision with the gain that its evidence shows by now.

        Where the choice and the default were not both timed, the gain is what it was. Nobody is
        sure of a gain that the evidence does not show.
        """
        if decision.config == (self.default or decision.default):
            return replace(decision, gain=None, confidence=None)
        found = self.of(decision.config)
        if found is None or found.speed is None:
            return decision
        sure = decision.confidence if found.speed > 1.0 else None
        return replace(decision, gain=found.speed, confidence=sure)


def measured(rows: Iterable[Measurement], default: Config | None = None) -> Measured:
    """What rows of one workload say, the same for the same set of rows in any order."""
    unique = {(row.writer, row.sequence): row for row in rows}
    ordered = sorted(unique.values(), key=lambda row: (row.at_ns, row.writer, row.sequence))
    timed = [row for row in ordered if _is_time(row)]
    size = _middle([row.size for row in timed or ordered])
    timed = [row for row in timed if size <= APART * row.size and row.size <= APART * size]
    steps = _comparable(timed, size, default)
    times: dict[Config, list[float]] = {}
    for config, ns in steps:
        times.setdefault(config, []).append(ns)
    base = median(times[default]) if default in times else None
    by_schedule: dict[Config, list[Measurement]] = {}
    for row in ordered:
        by_schedule.setdefault(row.outcome.config, []).append(row)
    return Measured(
        size=size,
        default=default,
        summaries=tuple(
            _summary(config, by_schedule[config], times.get(config, []), base)
            for config in sorted(by_schedule, key=config_order)
        ),
        steps=tuple(steps),
    )


def default_of(rows: Iterable[Measurement], decision: Decision | None) -> Config | None:
    """What gains of a workload are counted against, where nobody is left who knows.

    The decision says it; or it is the default; else it is the plain schedule that was timed
    first, because whoever measures begins with the default.
    """
    if decision is not None and decision.default is not None:
        return decision.default
    if decision is not None and decision.reason in _OF_THE_DEFAULT:
        return decision.config
    plain = [row for row in rows if _is_time(row) and _is_plain(row.outcome.config)]
    first = min(plain, key=lambda row: (row.at_ns, row.writer, row.sequence), default=None)
    return None if first is None else first.outcome.config


def _is_plain(config: Config) -> bool:
    """Whether a default can look like that."""
    match config:
        case Schedule(code=code):
            # With lanes, a default has vectors, and rows.
            return code.items_by_axis == (1, 1, 1) and code.unroll == 1 and not code.depth
        case Knobs():
            return True


_OF_THE_DEFAULT = (Reason.DEFAULT, Reason.TAKEN_BACK, Reason.NOT_FREE)


def is_time(elapsed_ns: float) -> bool:
    """Whether a launch can have taken so long; a timer that says 0 has measured nothing.

    >>> [is_time(ns) for ns in (5e4, 0, -7, float("nan"), float("inf"), 1.7e308)]
    [True, False, False, False, False, False]
    """
    return SHORTEST_NS <= elapsed_ns <= LONGEST_NS


def _is_time(row: Measurement) -> bool:
    return isinstance(row.outcome, Timed) and is_time(row.outcome.elapsed_ns) and row.size > 0


def _middle(sizes: list[int]) -> int:
    return sorted(sizes)[len(sizes) // 2] if sizes else 0


def _comparable(
    rows: Sequence[Measurement], size: int, default: Config | None
) -> list[tuple[Config, float]]:
    """Each time as it would be at this size, and at the machine's usual speed.

    Times of different states of the clocks are compared through the default's times in each state,
    and not otherwise. So where a schedule was timed in some state in which the default was, too,
    its times in states in which the default never was are left out: of its median, its count and
    its ratio, as if they had not been taken. Where it shares no state with the default, its times
    stand as they are: they are all that is known of it. A device that does not tell its clocks has
    one state, the empty one.
    """
    slope = _slope(rows)
    sized = [(row, _elapsed(row) * (size / row.size) ** slope) for row in rows]
    slower = _slower(sized, default)
    known = {_clock(row) for row in rows if row.outcome.config == default}
    shared = {row.outcome.config for row in rows if _clock(row) in known}
    return [
        (row.outcome.config, ns / slower.get((row.writer, _clock(row)), 1.0))
        for row, ns in sized
        if _clock(row) in known or row.outcome.config not in shared
    ]


def _slope(rows: Sequence[Measurement]) -> float:
    """How log times grow with log sizes, among those of one schedule at one state of the clocks."""
    trend = Trend()
    numbers: dict[tuple[Config, str], int] = {}
    if len({row.size for row in rows}) > 1:
        for row in rows[-_ENOUGH:]:
            like = numbers.setdefault((row.outcome.config, _clock(row)), len(numbers))
            trend = trend.told(like, row.size, log(_elapsed(row)))
    return trend.slope


def _slower(
    sized: Sequence[tuple[Measurement, float]], default: Config | None
) -> Mapping[tuple[str, str], float]:
    """How many times slower than usual each process ran in each state of the clocks.

    A state is as slow as the default's median in it, whoever timed it. Within a state, a process is
    as slow as the default was there, and the less believed the fewer times it has of it; one that
    has none ran as the state does.
    """
    logs: dict[str, dict[str, list[float]]] = {}
    for row, ns in sized:
        if row.outcome.config == default:
            logs.setdefault(_clock(row), {}).setdefault(row.writer, []).append(log(ns))
    if not logs:
        return {}
    states = {clock: _all(by_writer.values()) for clock, by_writer in logs.items()}
    levels = {clock: median(times) for clock, times in states.items()}
    usual = median(_all(states.values()))

    def slowness(writer: str, clock: str) -> float:
        times = logs[clock].get(writer, [])
        own = median(times) - levels[clock] if times else 0.0
        return exp(levels[clock] - usual + own * len(times) / (len(times) + _FEW))

    groups = {(row.writer, _clock(row)) for row, _ in sized}
    return {group: slowness(*group) for group in groups if group[1] in logs}


def _all(lists: Iterable[Iterable[float]]) -> list[float]:
    return [one for some in lists for one in some]


def _clock(row: Measurement) -> str:
    """The state of the clocks that a time was taken at."""
    return row.outcome.clock if isinstance(row.outcome, Timed) else ""


def _elapsed(row: Measurement) -> float:
    assert isinstance(row.outcome, Timed)
    return row.outcome.elapsed_ns


def _summary(
    config: Config, rows: Sequence[Measurement], times: Sequence[float], base: float | None
) -> Summary:
    middle = median(times) if times else None
    return Summary(
        config=config,
        count=len(times),
        median_ns=middle,
        spread_ns=spread(times) if times else None,
        first_at_ns=min(row.at_ns for row in rows),
        last_at_ns=max(row.at_ns for row in rows),
        failures=tuple(sorted({r.outcome.reason for r in rows if isinstance(r.outcome, Failed)})),
        speed=base / middle if base is not None and middle is not None else None,
    )
