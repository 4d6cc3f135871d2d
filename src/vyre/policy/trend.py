"""How times grow with the size of a problem, so that those of different sizes compare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import isfinite, log

from vyre.errors import InvalidInput
from vyre.model import Config

_SLOPE, _STEEPEST = 0.8, 2.0  # between no growth, where launching is all, and twice that of memory
_WORTH = 0.2  # of that slope, as a sum of squares: as of five times over a doubling of sizes
_MOST = 4.0  # of all times together; older ones fade, so that a change is learned
_OFF, _OFF_LEAST = 0.05, 0.03  # how far from the line log times lie, before any did, and at least
_NEAR = 2.0  # of that; times further off count less, by the square
_LATEST = 8  # times that a centre, and how far off they lie, rest on


@dataclass(frozen=True, slots=True)
class _Centre:
    """Around which log size the log times of one schedule lie, and where."""

    size: float
    time: float
    count: int = 1


@dataclass(frozen=True, slots=True)
class Trend:
    """A line of log time over log size, of one slope for all schedules, each at its own height.

    The slope comes from how the times of each schedule differ among themselves; a schedule that is
    run for large sizes only does not make them seem slow. A time off the line says little.

    >>> trend = Trend()
    >>> for size in (1000, 1900, 1100, 1700) * 20:
    ...     trend = trend.told(0, size, log(5.0 * size))
    >>> round(trend.level(2000), 2), trend.level(1000)  # log(2) is 0.69
    (0.69, 0.0)
    """

    reference: float | None = None  # the first log size
    along: float = _WORTH  # sums over sizes, and over sizes and times, around the centres
    across: float = _WORTH * _SLOPE
    off: float = _OFF  # how far from the line times have been lately
    centres: Mapping[Config | int, _Centre] = field(default_factory=dict)

    @property
    def slope(self) -> float:
        """The growth of log time with log size: 1 where twice the size takes twice as long."""
        return min(max(self.across / self.along, 0.0), _STEEPEST)

    def level(self, size: int) -> float:
        """What to subtract from a log time at this size; 0 at the size that was told first."""
        at = _log(size)
        return 0.0 if self.reference is None else self.slope * (at - self.reference)

    def told(self, config: Config | int, size: int, log_ns: float) -> Trend:
        """The trend after one more time; one that is not finite tells nothing."""
        at = _log(size)
        if not isfinite(log_ns):
            return self
        centre = self.centres.get(config)
        if centre is None:
            first = at if self.reference is None else self.reference
            return replace(self, reference=first, centres=self._with(config, _Centre(at, log_ns)))
        further, longer = at - centre.size, log_ns - centre.time
        off, near = longer - self.slope * further, _NEAR * self.off
        # Times that are all off the line widen what counts as near, and so bend it; one does not.
        usual = self.off + (min(abs(off), 3 * self.off) - self.off) / _LATEST
        told = replace(self, off=max(usual, _OFF_LEAST))
        if off < -_NEAR * near:  # what disturbs a time makes it longer: the centre was disturbed
            return replace(told, centres=self._with(config, _Centre(at, log_ns)))
        weight = centre.count / (centre.count + 1)  # the centre is as uncertain as it is new
        weight *= min(1.0, (near / max(abs(off), near)) ** 2)
        along = self.along + weight * further**2
        across = self.across + weight * further * longer
        fade = min(1.0, _MOST / along)
        share = 1.0 / min(centre.count + 1, _LATEST)
        moved = _Centre(
            centre.size + share * further,
            centre.time + share * (longer - max(off - near, 0.0)),
            centre.count + 1,
        )
        centres = self._with(config, moved)
        return replace(told, along=fade * along, across=fade * across, centres=centres)

    def _with(self, config: Config | int, centre: _Centre) -> Mapping[Config | int, _Centre]:
        return {**self.centres, config: centre}


def _log(size: int) -> float:
    if size < 1:
        raise InvalidInput(f"a trend over a size of {size}", "give sizes of at least 1")
    return log(size)
