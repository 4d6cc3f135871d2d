"""From measurements to what they say of each schedule."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median

from vyre.model import Failed, Measurement, Schedule, Summary, Timed, schedule_order
from vyre.stats import spread


def summarise(rows: Iterable[Measurement]) -> tuple[Summary, ...]:
    """One summary per schedule, the same for the same set of rows in any order."""
    by_schedule: dict[Schedule, dict[tuple[str, int], Measurement]] = {}
    for row in rows:
        group = by_schedule.setdefault(row.outcome.schedule, {})
        group[row.writer, row.sequence] = row
    return tuple(
        _summary(schedule, list(by_schedule[schedule].values()))
        for schedule in sorted(by_schedule, key=schedule_order)
    )


def _summary(schedule: Schedule, rows: list[Measurement]) -> Summary:
    times = [row.outcome.elapsed_ns for row in rows if isinstance(row.outcome, Timed)]
    reasons = {row.outcome.reason for row in rows if isinstance(row.outcome, Failed)}
    return Summary(
        schedule=schedule,
        count=len(times),
        median_ns=median(times) if times else None,
        spread_ns=spread(times) if times else None,
        first_at_ns=min(row.at_ns for row in rows),
        last_at_ns=max(row.at_ns for row in rows),
        failures=tuple(sorted(reasons)),
    )
