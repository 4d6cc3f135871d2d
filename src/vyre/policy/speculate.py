"""Whether confirming early pays, by its commit rate: the Rust crate's rule, mended."""

from __future__ import annotations

from dataclasses import dataclass, replace

from vyre.errors import InvalidInput
from vyre.plan.counter_tail import PPM, SpeculationReport

DEFAULT_THRESHOLD_PCT = 15

PROBE_EVERY = 16
"""Dispatches without a report after which one is worth a probe."""

_EMA_SHIFT = 2
_HIGHEST_EMA = PPM - (1 << _EMA_SHIFT) + 1
"""Where an average that rises by a floored quarter of the distance to 1,000,000 comes to rest."""


@dataclass(frozen=True, slots=True)
class _State:
    ema_ppm: int
    enabled: bool = True
    samples: int = 0
    unreported: int = 0  # dispatches since the last report


class AdaptiveSpeculator:
    """Switches speculation off when few items commit, and on again when many do.

    A moving average of the commit rate is compared with a threshold that has a quarter of itself as
    margin on either side. Reports replace the whole state by one assignment, so that the average
    and the switch always belong together.

    >>> speculator = AdaptiveSpeculator(20)
    >>> speculator.record(SpeculationReport(1, 99))
    >>> speculator.record(SpeculationReport(1, 99))
    >>> speculator.commit_rate_ppm, speculator.should_speculate()
    (116875, False)
    """

    def __init__(self, threshold_pct: int = DEFAULT_THRESHOLD_PCT) -> None:
        if not 0 <= threshold_pct <= 100:
            raise InvalidInput(
                f"a threshold of {threshold_pct} %", "give a commit rate from 0 to 100 per cent"
            )
        self._threshold_ppm = threshold_pct * 10_000
        self._state = _State(self._threshold_ppm)

    @property
    def threshold_ppm(self) -> int:
        return self._threshold_ppm

    @property
    def commit_rate_ppm(self) -> int:
        """The moving average; it starts at the threshold."""
        return self._state.ema_ppm

    @property
    def samples(self) -> int:
        """How many reports counted."""
        return self._state.samples

    @property
    def disable_at_ppm(self) -> int:
        return self._threshold_ppm - self._threshold_ppm // 4

    @property
    def enable_at_ppm(self) -> int:
        """The average from which it switches on again.

        The threshold and its quarter, as in the Rust crate; where no average can get there, halfway
        from the threshold to the highest that one can.
        """
        wanted = self._threshold_ppm + self._threshold_ppm // 4
        if wanted <= _HIGHEST_EMA:
            return wanted
        return min((self._threshold_ppm + _HIGHEST_EMA) // 2, _HIGHEST_EMA)

    def should_speculate(self) -> bool:
        return self._state.enabled

    def should_probe(self) -> bool:
        """Whether what it knows is so old that a dispatch should be spent on finding out."""
        return self._state.unreported >= PROBE_EVERY

    def record(self, report: SpeculationReport) -> None:
        """Learn from one dispatch; one that attempted nothing says nothing."""
        if report.attempted_tiles == 0:
            return
        state = self._state
        ema = state.ema_ppm + ((report.commit_rate_ppm - state.ema_ppm) >> _EMA_SHIFT)
        enabled = ema >= (self.disable_at_ppm if state.enabled else self.enable_at_ppm)
        self._state = _State(ema, enabled, state.samples + 1)

    def skip(self) -> None:
        """A dispatch was over that could not tell how many items it committed."""
        self._state = replace(self._state, unreported=self._state.unreported + 1)
