"""The clock of this machine's CPUs, as Linux tells it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from vyre.backend.sampled import Sampled
from vyre.model import Clocks

CPUS = Path("/sys/devices/system/cpu")

MOST_ASKED = 4
"""CPUs that are asked for their clock: each answer may interrupt the CPU that it is about."""


class Cpufreq:
    """The highest clock among some CPUs, since those that have just worked run fastest.

    Args:
        root: the folder that holds `cpu0`.
        cpus: the numbers of those that run kernels; without them, those of this process.
        now_ns: a clock that does not go back.
    """

    def __init__(
        self,
        root: Path = CPUS,
        cpus: Iterable[int] | None = None,
        now_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        asked = _spread(sorted(_own_cpus() if cpus is None else cpus))
        self._folders = tuple(root / f"cpu{number}" for number in asked)
        self._counts: Mapping[Path, int | None] | None = None  # as they stood when last looked at
        self.clocks = Sampled(self._read, now_ns)

    def _read(self) -> Clocks | None:
        told = (_number(folder / "cpufreq" / "scaling_cur_freq") for folder in self._folders)
        mhz = round(max((khz for khz in told if khz is not None), default=0) / 1000)
        return Clocks(mhz=mhz, throttled=self._throttled()) if mhz else None

    def _throttled(self) -> tuple[str, ...]:
        """What held CPUs back since the last reading; Linux counts since it was started."""
        before = self._counts
        if before is None:
            before = {path: None for folder in self._folders for path in _counters(folder)}
        self._counts = counts = {path: _number(path) for path in before}
        grown = {
            path.name.removesuffix("_count").replace("_", " ")
            for path, count in counts.items()
            if (last := before[path]) is not None and count is not None and count > last
        }
        return tuple(sorted(grown))


_here: Cpufreq | None = None


def clocks() -> Clocks | None:
    """The clock of the CPUs that this process runs on; None where Linux does not tell."""
    global _here  # a machine has one set of CPUs
    if _here is None:
        _here = Cpufreq()
    return _here.clocks()


def _own_cpus() -> Iterable[int]:
    try:
        return os.sched_getaffinity(0)
    except (AttributeError, OSError):  # not on every system
        return range(os.cpu_count() or 1)


def _spread(numbers: list[int]) -> list[int]:
    """At most `MOST_ASKED` of them, evenly apart.

    >>> _spread(list(range(32)))
    [0, 8, 16, 24]
    """
    count = min(len(numbers), MOST_ASKED)
    return [numbers[turn * len(numbers) // count] for turn in range(count)]


def _counters(folder: Path) -> list[Path]:
    try:
        return sorted((folder / "thermal_throttle").glob("*_count"))
    except OSError:
        return []


def _number(path: Path) -> int | None:
    try:
        text = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else None
