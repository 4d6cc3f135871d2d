"""What learning has come to so far: counts and sums, for people and for the pace."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from statistics import median

_KEPT = 9  # times of the default that say how long it takes


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """Counts of one workload; seconds are of its launches unless they say otherwise."""

    timings: int = 0
    probes: int = 0
    explored_s: float = 0.0  # in probes
    default_times: tuple[float, ...] = ()  # the latest, in nanoseconds
    fastest_ns: float = inf  # of all times
    spent: float = 0.0  # in default dispatches
    lost: float = 0.0  # against the default, in its dispatches; below 0 where time was saved
    fetches: int = 0  # that ended
    fetching: int = 0  # under way
    fetched_s: float = 0.0  # of compiling
    throttled: int = 0  # times that were taken while the device was
    throttled_by: tuple[str, ...] = ()  # what it said why, each reason once

    @property
    def default_ns(self) -> float | None:
        """What a launch of the default takes; None where none was timed."""
        return median(self.default_times) if self.default_times else None

    @property
    def spent_s(self) -> float:
        """What all launches took, as far as it is known."""
        return self.spent * (self.default_ns or 0.0) * 1e-9

    @property
    def saved_s(self) -> float:
        """Against the default; below 0 where time was lost."""
        return -self.lost * (self.default_ns or 0.0) * 1e-9

    def heard(self, elapsed_ns: float, *, default: bool, probe: bool) -> Ledger:
        """The ledger after one more timing."""
        times = (*self.default_times, elapsed_ns)[-_KEPT:] if default else self.default_times
        return replace(
            self,
            timings=self.timings + 1,
            probes=self.probes + probe,
            explored_s=self.explored_s + probe * elapsed_ns * 1e-9,
            default_times=times,
            fastest_ns=min(self.fastest_ns, elapsed_ns),
        )

    def held_back(self, reasons: tuple[str, ...]) -> Ledger:
        """The ledger after a timing while the device was throttled, for these reasons."""
        known = tuple(sorted({*self.throttled_by, *reasons}))
        return replace(self, throttled=self.throttled + 1, throttled_by=known)

    def fetch_cost_s(self, first_s: float) -> float:
        """What one more fetch is expected to take."""
        return self.fetched_s / self.fetches if self.fetches else first_s
